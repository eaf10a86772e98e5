// Package remote asks models over HTTP: OpenAI's Chat Completions (and every
// server that speaks it: OpenRouter, Ollama, vLLM, LM Studio) and Anthropic's
// Messages.
//
// Invariants:
//  1. A redirect is never followed, so a key goes to the configured host only.
//  2. An error carries the provider's words cut and masked, never a raw body,
//     a key or a resolved address; it is an *llm.Error.
//  3. Text is what a person would see: reasoning, inline thinking, refusals
//     and tool arguments are left out.
//  4. A stream counts as complete only when the provider said so; one that
//     merely ends is an error beside the text so far.
//  5. When JSON was asked for, Text is one valid JSON value or the call fails.
//
// The package stores nothing. Clients may be used from many goroutines.
package remote
