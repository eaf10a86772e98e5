package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva/memory"
)

// Headers of our own. All others that begin with X-Dhruva- are refused.
const (
	prefix             = "X-Dhruva-"
	headerRequestID    = prefix + "Request-Id"
	headerReceiptID    = prefix + "Receipt-Id"
	headerMemory       = prefix + "Memory-State"
	headerContinuity   = prefix + "Continuity-State"
	headerOverhead     = prefix + "Overhead-Us"
	headerConversation = prefix + "Conversation"
)

// wish is what a client asks of memory for one request.
type wish struct {
	mode         memory.Mode
	compression  string
	space        string
	conversation string
	checkpoint   string
	provider     string
	require      bool
	inputBudget  int // bounds compression, which this version does not do
	recallBudget int
}

// parseWish reads the X-Dhruva headers strictly: an unknown name or value, an
// empty value or a duplicate is an error, in words for the client.
func parseWish(h http.Header) (wish, error) {
	var w wish
	for name, values := range h {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if len(values) != 1 {
			return w, fmt.Errorf("%s is sent %d times; send it once", name, len(values))
		}
		if err := w.set(name, values[0]); err != nil {
			return w, err
		}
	}
	if w.require && (w.mode == memory.ModeOff || w.mode == memory.ModeIngest) {
		return w, fmt.Errorf("%sRequire asks for recall, and %sMemory forbids it", prefix, prefix)
	}
	return w, nil
}

func (w *wish) set(name, value string) (err error) {
	switch strings.TrimPrefix(name, prefix) {
	case "Key": // the credential, read by auth
		return nil
	case "Memory":
		w.mode, err = modeOf(value)
	case "Compression":
		w.compression, err = oneOf(name, value, "passthrough", "shadow", "deterministic")
	case "Require":
		_, err = oneOf(name, value, "recall")
		w.require = true
	case "Space":
		w.space, err = word(name, value)
	case "Conversation":
		w.conversation, err = word(name, value)
	case "Checkpoint":
		w.checkpoint, err = word(name, value)
	case "Provider":
		w.provider, err = word(name, value)
	case "Input-Budget":
		w.inputBudget, err = positive(name, value)
	case "Recall-Budget":
		w.recallBudget, err = positive(name, value)
	case "Partition":
		err = fmt.Errorf("%s is not in this version; name a space with %sSpace", name, prefix)
	default:
		err = fmt.Errorf("%s is not a header that Dhruva knows", name)
	}
	return err
}

func modeOf(value string) (memory.Mode, error) {
	switch value {
	case "read":
		return memory.ModeRecall, nil
	case "write":
		return memory.ModeIngest, nil
	case "read-write":
		return memory.ModeBoth, nil
	}
	v, err := oneOf(prefix+"Memory", value, "off", "recall", "ingest", "both")
	return memory.Mode(v), err
}

func oneOf(name, value string, allowed ...string) (string, error) {
	if !slices.Contains(allowed, value) {
		return "", fmt.Errorf("%s is %.64q; use %s", name, value, strings.Join(allowed, ", "))
	}
	return value, nil
}

func word(name, value string) (string, error) {
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty; leave it out", name)
	case len(value) > maxWord:
		return "", fmt.Errorf("%s is longer than %d bytes", name, maxWord)
	}
	return value, nil
}

// maxWord bounds a name that a header gives.
const maxWord = 512

func positive(name, value string) (int, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 || value[0] == '+' {
		return 0, fmt.Errorf("%s is %.64q; use a whole number of tokens above 0", name, value)
	}
	return int(n), nil
}

// hintOf is the client's own name for the conversation: ours, or the session
// header of a known client, marked by whose it is. It names, it never grants.
func hintOf(w wish, h http.Header) string {
	if w.conversation != "" {
		return w.conversation
	}
	if id := h.Get("X-Claude-Code-Session-Id"); id != "" && len(id) <= maxWord {
		return "claude-code:" + id
	}
	if id := h.Get("session_id"); id != "" && len(id) <= maxWord {
		return "codex:" + id
	}
	return ""
}

// strip removes what must not reach a provider, by name. key is our key as the
// client sent it: wherever else it stands, it goes as well.
func strip(h http.Header, key string) {
	for name, values := range h {
		if dropped(name) || key != "" && slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, key) }) {
			delete(h, name)
		}
	}
}

func dropped(name string) bool {
	switch name {
	case "Cookie", "Forwarded", "X-Real-Ip",
		"Expect": // already met: the body is here
		return true
	}
	for _, p := range [...]string{prefix, "X-Forwarded-", "Cf-", "Proxy-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// credential puts the provider's credential into h, in the provider's form.
func (u Upstream) credential(h http.Header) {
	h.Del("Authorization")
	h.Del("X-Api-Key")
	if u.Key.IsZero() {
		return
	}
	switch u.Kind {
	case KindOpenAI:
		h.Set("Authorization", "Bearer "+u.Key.Reveal())
	case KindAnthropic:
		h.Set("X-Api-Key", u.Key.Reveal())
	}
}
