// Package egress is the one door out: every connection Dhruva opens to a model
// provider, a webhook or an identity provider is dialed here.
//
// Invariants:
//  1. The address is judged at the socket, after name resolution, on every
//     dial: no connection is made to an address CheckAddr refuses, whatever
//     name, spelling, redirect or changed DNS answer led to it.
//  2. Refusal is the default. Only globally reachable unicast is let through;
//     private, shared and loopback ranges need AllowPrivate; link-local,
//     metadata services, multicast, reserved and tunnelled ranges never pass.
//  3. Every request's URL is checked as well, so plain http, user info and
//     odd ports cannot come back in by a redirect or a rewritten request.
//  4. Redirects are not followed, HTTP_PROXY is not read, response bodies are
//     not decompressed, and certificates are always verified.
//  5. No error text contains a resolved address.
//
// What it cannot see: behind a configured proxy the target's address is the
// proxy's to judge (only literal addresses are refused here), and a network
// that translates IPv6 to IPv4 under a prefix of its own looks global.
//
// It stores nothing. A transport may be used from many goroutines; callers
// keep one for each credential so that no connection carries two tenants.
package egress
