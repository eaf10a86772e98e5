package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// beginCall captures the beginning of a proxied request.
func (r *rig) beginCall(in ledger.CaptureInput) ledger.CaptureInput {
	r.Helper()
	var err error
	in.Generation, in.Began, err = r.l.BeginCapture(r.ctx(), in.Space, in.Hint, in.Chain)
	r.must(err)
	return in
}

func (r *rig) proxied(in ledger.CaptureInput) ledger.Captured {
	r.Helper()
	return r.capture(r.beginCall(in))
}

func (r *rig) wantWindow(id dhruva.SessionID, mode dhruva.Mode, want ...int64) {
	r.Helper()
	got := r.resolve(id, ledger.ContextRequest{})
	if got.Mode != mode {
		r.Errorf("mode %s, want %s", got.Mode, mode)
	}
	if diff := cmp.Diff(append([]int64{}, want...), seqs(got.Turns)); diff != "" {
		r.Errorf("window: %s", diff)
	}
}

func TestBeginCapture(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		in := r.beginCall(call(sp.ID, "first thing said", "first answer"))
		if in.Generation != 1 || in.Began != nil {
			r.Errorf("%d %+v", in.Generation, in.Began)
		}
		at := r.capture(in)
		next := call(sp.ID, "first thing said", "first answer", "second thing said", "second answer")
		got, began, err := r.l.BeginCapture(r.with(dhruva.MemoryWrite), sp.ID, "", next.Chain)
		r.must(err)
		want := r.begin(at.Session)
		if diff := cmp.Diff(&want, began); diff != "" || got != 1 {
			r.Errorf("generation %d %s", got, diff)
		}
		for _, scope := range []dhruva.KeyScope{dhruva.MemoryRead, dhruva.StateWrite, dhruva.ProxyUse} {
			_, _, err = r.l.BeginCapture(r.with(scope), sp.ID, "", next.Chain)
			r.is(err, dhruva.ErrDenied)
		}
		_, _, err = r.l.BeginCapture(r.ctx(), "nowhere", "", next.Chain)
		r.is(err, dhruva.ErrNotFound)
		r.clear(sp.ID)
		if got, _, err := r.l.BeginCapture(r.ctx(), sp.ID, "a hint", nil); err != nil || got != 2 {
			r.Errorf("%d %v", got, err)
		}
	})
}

// S27 for proxied calls: what was in flight when a mount was made is not in the
// mounted window, and not after a checkpoint that was saved meanwhile.
func TestS27InFlightCaptureStaysOutside(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		first := r.proxied(call(sp.ID, "first thing said", "first answer"))
		c := r.save(first.Session, "start")
		late := r.beginCall(call(sp.ID, "first thing said", "first answer", "second thing said", "second answer"))
		must[dhruva.Session](r)(r.l.Mount(r.ctx(), first.Session, c.Hash.String(), 1))
		r.save(first.Session, "while it flies")
		r.capture(late)
		r.wantWindow(first.Session, dhruva.ModeMounted)
		r.proxied(call(sp.ID, "first thing said", "first answer", "second thing said", "second answer", "third thing said", "third answer"))
		r.wantWindow(first.Session, dhruva.ModeMounted, 5, 6)
		must[dhruva.Session](r)(r.l.Unmount(r.ctx(), first.Session))
		r.wantWindow(first.Session, dhruva.ModeHead, 5, 6)
	})
}

// Contracts 14: a save ends at the last turn; what began before that turn is in
// no later window. What began after it, and was on its way when it was saved,
// is: it is in no checkpoint, and nothing was said in between.
func TestS27CaptureInFlightAtASave(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		first := r.proxied(call(sp.ID, "first thing said", "first answer"))
		late := r.beginCall(call(sp.ID, "first thing said", "first answer", "second thing said", "second answer"))
		next := r.beginCall(call(sp.ID, "first thing said", "first answer", "third thing said", "third answer"))
		r.capture(next)
		flying := r.beginCall(call(sp.ID, "first thing said", "first answer", "third thing said", "third answer", "fourth thing said", "fourth answer"))
		r.save(first.Session, "three")
		r.capture(late) // turns 5 and 6, begun at 2
		r.wantWindow(first.Session, dhruva.ModeHead)
		r.capture(flying) // turns 7 and 8, begun at 4
		r.wantWindow(first.Session, dhruva.ModeHead, 7, 8)
	})
}

// The session was not there when the request began, or the request began in
// another: it saw nothing of this one.
func TestS27CaptureBegunBeforeTheSession(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		late := r.beginCall(call(sp.ID, "first thing said", "another answer"))
		if late.Began != nil {
			r.Fatalf("%+v", late.Began)
		}
		first := r.proxied(call(sp.ID, "first thing said", "first answer"))
		c := r.save(first.Session, "start")
		r.capture(late) // turn 3, a sibling answer
		r.wantWindow(first.Session, dhruva.ModeHead)
		must[dhruva.Session](r)(r.l.Mount(r.ctx(), first.Session, c.Hash.String(), 1))
		other := r.proxied(call(sp.ID, "something else", "its answer"))
		stray := call(sp.ID, "first thing said", "first answer", "second thing said", "second answer")
		began := r.begin(other.Session)
		stray.Began = &began
		r.capture(stray)
		r.wantWindow(first.Session, dhruva.ModeMounted)
		r.proxied(call(sp.ID, "first thing said", "first answer", "third thing said", "third answer"))
		r.wantWindow(first.Session, dhruva.ModeMounted, 6, 7)
	})
}
