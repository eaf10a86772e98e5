package wire

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// separator stands between the client's string and what is appended to it.
const separator = `\n\n`

// splice is one edit at an offset of the client's body.
type splice struct {
	kind     dhruva.EditKind
	at, cut  int
	text     string // to insert; "" for a cut
	form     form
	partType string
}

func apply(r *Request, plan dhruva.Plan) ([]byte, []dhruva.Splice, error) {
	if plan.Empty() {
		return r.Body, nil, nil
	}
	splices, err := r.splices(plan)
	if err != nil {
		return nil, nil, fmt.Errorf("wire: apply: %w", err)
	}
	size := len(r.Body)
	for _, s := range splices {
		size += len(s.text) + len(s.text)/8 + 64
	}
	out := make([]byte, 0, size)
	done := make([]dhruva.Splice, 0, len(splices))
	from := 0
	for _, s := range splices {
		out = append(out, r.Body[from:s.at]...)
		start := len(out)
		out = s.appendTo(out)
		done = append(done, dhruva.Splice{Kind: s.kind, Offset: start, Len: len(out) - start, Cut: s.cut})
		from = s.at + s.cut
	}
	return append(out, r.Body[from:]...), done, nil
}

func (s splice) appendTo(out []byte) []byte {
	switch s.form {
	case formString:
		out = append(out, separator...)
		return appendEscaped(out, s.text)
	case formArray:
		out = append(out, `,{"type":"`...)
		out = append(out, s.partType...)
		out = append(out, `","text":"`...)
		out = appendEscaped(out, s.text)
		return append(out, `"}`...)
	}
	return out
}

// splices checks a plan against the dialect's rules and orders its edits.
func (r *Request) splices(plan dhruva.Plan) ([]splice, error) {
	if r.Projection.ProviderState {
		return nil, fmt.Errorf("the conversation lives at the provider: %w", dhruva.ErrInvalid)
	}
	remove := make(map[int]bool)
	var list []splice
	for _, e := range plan.Edits {
		if e.Message < 0 || e.Message >= len(r.Projection.Messages) {
			return nil, fmt.Errorf("there is no message %d: %w", e.Message, dhruva.ErrInvalid)
		}
		if err := r.allowed(e); err != nil {
			return nil, err
		}
		if e.Kind == dhruva.EditRemove {
			remove[e.Message] = true
			continue
		}
		a := r.anchors[e.Message]
		list = append(list, splice{kind: e.Kind, at: a.at, text: e.Text, form: a.form, partType: a.partType})
	}
	for _, e := range plan.Edits {
		if e.Kind != dhruva.EditRemove && remove[e.Message] {
			return nil, fmt.Errorf("message %d is both edited and removed: %w", e.Message, dhruva.ErrInvalid)
		}
	}
	cuts, err := r.cuts(remove)
	if err != nil {
		return nil, err
	}
	list = append(list, cuts...)
	// Stable: several texts for one message keep the order of the plan.
	slices.SortStableFunc(list, func(a, b splice) int { return cmp.Compare(a.at, b.at) })
	return list, nil
}

func (r *Request) allowed(e dhruva.Edit) error {
	m := &r.Projection.Messages[e.Message]
	switch e.Kind {
	case dhruva.EditInject:
		if r.Projection.Injectable != e.Message {
			return fmt.Errorf("message %d is not injectable: %w", e.Message, dhruva.ErrInvalid)
		}
	case dhruva.EditReplay:
		if !m.Human || r.anchors[e.Message].form == formNone {
			return fmt.Errorf("message %d is not a human message: %w", e.Message, dhruva.ErrInvalid)
		}
	case dhruva.EditRemove:
		if m.Protected {
			return fmt.Errorf("message %d is protected: %w", e.Message, dhruva.ErrInvalid)
		}
		return nil
	default:
		return fmt.Errorf("edit kind %q is not supported: %w", e.Kind, dhruva.ErrInvalid)
	}
	if e.Text == "" || !utf8.ValidString(e.Text) {
		return fmt.Errorf("the text for message %d is empty or not UTF-8: %w", e.Message, dhruva.ErrInvalid)
	}
	return nil
}

// cuts turns removed messages into runs with the comma that goes with them:
// the one before the run, or the one behind it when it opens the list.
func (r *Request) cuts(remove map[int]bool) ([]splice, error) {
	list := r.Projection.Messages
	if len(remove) > 0 && len(remove) == len(list) {
		return nil, fmt.Errorf("no message would be left: %w", dhruva.ErrInvalid)
	}
	var out []splice
	for i := 0; len(remove) > 0 && i < len(list); i++ {
		if !remove[i] {
			continue
		}
		first := i
		for i+1 < len(list) && remove[i+1] {
			i++
		}
		at, end := list[first].Start, list[i].End
		if first > 0 {
			at = list[first-1].End
		} else {
			end = list[i+1].Start
		}
		out = append(out, splice{kind: dhruva.EditRemove, at: at, cut: end - at})
	}
	return out, nil
}
