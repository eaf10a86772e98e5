// Package wire recognises a provider request, finds its visible text, splices
// text in or cuts messages out without touching another byte, and observes the
// reply on a copy. It knows bytes and dialects, and no policy: which message
// may be removed, or whether anything is recalled at all, is decided elsewhere
// and arrives as a [dhruva.Plan].
//
// # Invariants
//
//  1. Apply(r, Plan{}) returns r.Body: the same slice, not an equal copy.
//  2. A body is never unmarshalled and marshalled again. An edit is a splice at
//     an offset; undoing the splices gives back the client's bytes.
//  3. Decisions are taken only from names that cannot be read in two ways:
//     duplicate and case-variant spellings of the deciding keys are refused
//     with an error that wraps [dhruva.ErrInvalid]. Every other duplicate,
//     unknown key, number and escape passes as it is.
//  4. Injected text is always appended behind the last visible text of a human
//     message. System text, tools, assistant messages and tool results are
//     never edited.
//  5. An [Observer] keeps visible assistant text only. Reasoning, refusals,
//     arguments and partial JSON never enter its buffers longer than the parse
//     of one event. Inline reasoning of open models (<think> and the
//     like) counts as reasoning, in every dialect.
//  6. Memory is bounded: nesting, number of messages and parts, event size,
//     captured text and decoded size all have limits.
//
// # Strictness
//
// The scanner follows RFC 8259: UTF-8 only, no byte-order mark, one value and
// nothing behind it. A lone surrogate escape such as "\ud800" is legal by that
// grammar and passes untouched; where its text is needed it reads as U+FFFD.
// A body that is not an object is invalid. A member with an unexpected type
// ("messages": 3) is not an error here: it projects to nothing, and the
// provider's own complaint reaches the client.
//
// Inserted text is escaped minimally: the quote, the backslash and control
// characters. HTML characters and U+2028/U+2029 stay as they are, which is
// legal JSON.
//
// # State and concurrency
//
// The package stores nothing. A Dialect is immutable and safe for concurrent
// use; a Request is read-only after Parse; an Observer belongs to one
// goroutine at a time.
package wire
