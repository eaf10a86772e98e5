// Package redact finds secrets in a text and puts placeholders in their place,
// so that they can be left out before a text is stored.
//
// What is a secret comes from two places. The rules for keys of known makers
// (their prefixes, lengths and surroundings) are those of gitleaks, read as data
// from that module; docs/design.md says why and how. What has no maker's mark
// (passwords, tokens, headers, connection strings, private keys) is found here,
// by the name it is given and by how random it looks.
//
// Invariants:
//
//  1. Redact is a pure function of its text: no clock, no randomness, no state.
//  2. Outside the placeholders the text is byte for byte what it was.
//  3. Redacting twice changes nothing: Redact(Redact(t)) is Redact(t).
//  4. A placeholder is "[redacted:kind]" and says nothing else of the secret,
//     not its length either.
//  5. The time is bounded by the length of the text. A text made to exceed what
//     its rules may cost is replaced as a whole (KindUnscanned).
//  6. What was found is told as kinds and counts. Nothing is logged.
//
// It stores nothing.
//
// Concurrency: a Redactor is safe for concurrent use. Its rules are read at the
// first text, a rule's expression at the first text that has its keyword.
package redact
