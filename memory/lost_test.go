package memory_test

import (
	"errors"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/memory"
)

// An answer that cannot be kept closes its receipt, which was opened because
// evidence was given: no receipt stays open without an end.
func TestAnAnswerThatIsNotKeptClosesItsReceipt(t *testing.T) {
	r := newRig(t)
	sp := r.space("x")
	_, err := r.m.RememberIn(r.ctx(), memory.RememberInput{Space: sp.Name, Text: "The bicycle lock code is 4711.", Authority: "user"})
	r.must(err)
	s := r.session(sp.ID)
	r.model.Default = func(llm.Request) llm.Reply { // the session goes while the model thinks
		r.must(r.m.Ledger.DeleteSession(r.ctx(), s.ID))
		return llm.Reply{Text: "It is 4711."}
	}
	_, err = r.m.Send(r.ctx(), memory.SendInput{Session: s.ID, Message: "What is the bicycle lock code?"}, nil)
	if !errors.Is(err, dhruva.ErrNotFound) {
		t.Fatalf("%v", err)
	}
	all, _, err := r.m.Ledger.ListReceipts(r.ctx(), dhruva.ReceiptQuery{Kind: "send"})
	r.must(err)
	if len(all) != 1 || all[0].State != "final" || all[0].Ingest != "dropped" || all[0].Recall.Evidence != 1 {
		t.Errorf("%+v", all)
	}
}
