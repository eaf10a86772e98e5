package dhruva

// Dialect names a provider wire format.
type Dialect string

// The three dialects; see docs/format.md for what each request looks like.
const (
	DialectChat      Dialect = "chat"      // OpenAI Chat Completions
	DialectResponses Dialect = "responses" // OpenAI Responses
	DialectMessages  Dialect = "messages"  // Anthropic Messages
)

// Part is one visible text of a message. Start and End are byte offsets of the
// JSON string literal in the request body, quotes included, so that
// body[Start:End] is the literal as the client wrote it.
type Part struct {
	Start, End int
	Text       string // decoded
}

// Message is one entry of a request as the provider will read it.
type Message struct {
	Role  Role
	Parts []Part // visible text, in order
	// Start and End are byte offsets of the whole JSON value in the body.
	Start, End int
	// Human: a user message with at least one visible text once scaffolding
	// and our own blocks are removed, and no tool result.
	Human bool
	// Text is the visible text after removing scaffolding and our own blocks,
	// parts joined by a newline. It is what capture stores and recall asks.
	Text string
	// Protected: the message must never be removed or edited (system, tools,
	// reasoning, unknown keys or part types: anything doubtful).
	Protected bool
	// ToolResult: the message carries a tool's reply.
	ToolResult bool
	// ToolCall: the message carries a call that is waiting for a reply.
	ToolCall bool
	// Thinking: the message holds thinking, redacted or reasoning blocks.
	Thinking bool
	// Breakpoint: a prompt-cache breakpoint lies inside the message.
	Breakpoint bool
	// Fingerprints identify an assistant message for sticky replay: signature
	// hashes, tool call ids, else a hash of the first 256 characters of text.
	Fingerprints []string
	// Estimate is the estimated number of tokens (Estimate).
	Estimate int
}

// Projection is what a provider request says, without any policy: wire makes
// it from bytes, memory turns it into a Plan. Offsets refer to the decoded
// request body it was made from.
type Projection struct {
	Dialect  Dialect
	Model    string
	Stream   bool
	Messages []Message
	// Injectable is the index of the message into which text may be spliced
	// under the dialect's rules (the last one, and a human turn), or -1 with
	// the reason in NotInjectable.
	Injectable    int
	NotInjectable string
	// ProviderState: the conversation lives at the provider
	// (previous_response_id, conversation, item_reference, thread).
	ProviderState bool
	// SideRequest: a shape known not to be a conversation turn (title, quota
	// probe, compaction).
	SideRequest bool
	// Background: the answer will not be in this response.
	Background bool
	// Choices is how many alternative answers were asked for (n), at least 1.
	Choices int
	// Breakpoints is how many prompt-cache breakpoints the request carries
	// anywhere: system, tools, messages, top level. Removal pays only against
	// the cache it spoils (P5), and none may be added or lost (R7).
	Breakpoints int
	// Estimate is the estimated input tokens of the whole request.
	Estimate int
}

// LastHuman returns the index of the last human message, or -1.
func (p *Projection) LastHuman() int {
	for i := len(p.Messages) - 1; i >= 0; i-- {
		if p.Messages[i].Human {
			return i
		}
	}
	return -1
}

// EditKind says what an edit of a Plan does.
type EditKind string

// The kinds of edit. Repair is reserved for the provider's own repair switches.
const (
	EditInject EditKind = "inject"
	EditReplay EditKind = "replay"
	EditRemove EditKind = "remove"
	EditRepair EditKind = "repair"
)

// Edit is one change that a Plan asks for. Inject and Replay append Text to
// message Message as the last visible text of it; Remove takes the message out.
type Edit struct {
	Kind    EditKind
	Message int
	Text    string
}

// Plan is what is to be done to a request. The empty Plan leaves every byte
// as it is: Apply(r, Plan{}) = r.
type Plan struct {
	Edits []Edit
}

// Empty reports whether the plan changes nothing.
func (p Plan) Empty() bool { return len(p.Edits) == 0 }

// Splice is one executed edit, for the receipt: Len bytes now stand at Offset
// of the forwarded body where Cut bytes of the client's body stood.
type Splice struct {
	Kind   EditKind `json:"kind"`
	Offset int      `json:"offset"`
	Len    int      `json:"len"`
	Cut    int      `json:"cut,omitempty"`
}

// Terminal says how a provider's answer ended.
type Terminal string

// The ways an answer can end (memory-plane: request receipt).
const (
	TerminalCompleted          Terminal = "completed"
	TerminalFailed             Terminal = "failed"
	TerminalIncomplete         Terminal = "incomplete"
	TerminalClientAbort        Terminal = "client_abort"
	TerminalUpstreamCut        Terminal = "upstream_cut"
	TerminalAcceptedBackground Terminal = "accepted_background"
)

// Observation is what was seen of an answer on a copy of its bytes: visible
// assistant text and accounting, never reasoning, arguments or refusals.
type Observation struct {
	Text         string // visible text of choice 0
	Interim      bool   // text stood beside tool calls
	Truncated    bool   // cut by the provider's length limit or by our capture limit
	Terminal     Terminal
	FinishReason string
	ResponseID   string
	InputTokens  int // 0 = unknown
	OutputTokens int
	Overflow     bool // the observer stopped looking (bounds), the relay went on
	// Fingerprints of the answer, for sticky replay.
	Fingerprints []string
}

// Estimate is the estimated number of tokens of a text: ceil(ASCII bytes / 4)
// plus one for each other scalar. It is deterministic and monotone and uses no
// tokenizer; every number made from it is labelled estimated. Invalid bytes
// count one each.
func Estimate(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// MessageOverhead is the estimated cost of a message or item besides its text.
const MessageOverhead = 4
