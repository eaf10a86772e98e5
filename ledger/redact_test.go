package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// secretText says something with a password that is made up here, and what is
// left of it when it is stored.
func secretText(n int) (text, kept, secret string) {
	secret = fmt.Sprintf("Lighthouse%d!", 1000+n)
	const says = "The harbour office's password: %s opens table %d."
	return fmt.Sprintf(says, secret, n), fmt.Sprintf(says, "[redacted:password]", n), secret
}

// patLike looks like a token of a maker, and is none.
const patLike = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

// Everything that is made of a text is made of what is left of it.
func TestStoredWithoutSecrets(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		user, userKept, _ := secretText(1)
		answer, answerKept, _ := secretText(2)
		old, oldKept, _ := secretText(3)
		receipt := r.opened("proxy", sp.ID)
		in := call(sp.ID, old, "an old answer to it", user, answer)
		in.Receipt = &receipt
		got := r.capture(in)
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))
		var stored []string
		for _, t := range turns {
			stored = append(stored, t.Content)
		}
		if diff := cmp.Diff([]string{oldKept, "an old answer to it", userKept, answerKept}, stored); diff != "" {
			r.Error(diff)
		}
		id := dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, userKept)
		src := must[ledger.SourceView](r)(r.l.Source(r.ctx(), sp.ID, id))
		if src.Digest != dhruva.DigestText(userKept) || src.Size != len(userKept) || src.Text != userKept {
			r.Errorf("%+v", src)
		}
		kept := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), receipt.ID))
		if got.Redactions != 3 || kept.Redactions != 3 {
			r.Errorf("%d counted, %d in the receipt", got.Redactions, kept.Redactions)
		}
	})
}

// The client resends what it said with its secrets: it is known again, counts
// nothing twice, and stays in its session.
func TestConversationWithSecretsIsKnownAgain(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		user, _, _ := secretText(1)
		answer, _, _ := secretText(2)
		first := r.capture(call(sp.ID, user, answer))
		again := r.capture(call(sp.ID, user, answer))
		if again.Session != first.Session || again.Skipped != ledger.SkippedKnown || again.Redactions != 0 {
			r.Errorf("again: %+v", again)
		}
		next := r.capture(call(sp.ID, user, answer, "and what is next then?", "this is next now"))
		if next.Session != first.Session || next.Backfilled != 0 || next.Redactions != 0 {
			r.Errorf("next: %+v", next)
		}
		other, _, _ := secretText(9)
		other = strings.Replace(other, "table 9", "table 1", 1) // the same but for the secret
		apart := r.capture(call(sp.ID, other, answer))
		if apart.Session == first.Session {
			r.Error("two conversations that differ in a secret are one")
		}
		views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})
		r.must(err)
		if len(views) != 4 { // what both said is one source each
			r.Errorf("%d sources", len(views))
		}
	})
}

// What is cut in two by a limit could not be told: it goes with its word, or its
// line. A text that was cut by its observer makes the same turn as the whole.
func TestNoHalfSecretAtACut(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		for shift := range 16 {
			secret := fmt.Sprintf("Ab%dcD%deF%dgH%diJ", 1234+shift, 5678, 9012, 3456)
			line := strings.Repeat(".", shift%7) + " the API token: " + secret + " is on this line\n"
			long := fmt.Sprintf("%d ", shift) + strings.Repeat(line, 64<<10/len(line)*2)
			got := r.capture(call(sp.ID, fmt.Sprintf("%d: a question that is asked", shift), long))
			turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))
			text := turns[1].Content
			if !turns[1].Truncated {
				r.Fatal("it was not cut")
			}
			for n := 4; n < len(secret); n++ {
				if strings.Contains(text, secret[:n]) || strings.Contains(text, secret[n:]) {
					r.Fatalf("a part of the secret stands in it: %d", n)
				}
			}
			next := r.capture(call(sp.ID, fmt.Sprintf("%d: a question that is asked", shift), long, "the next question now", "its answer now"))
			if next.Session != got.Session || next.Backfilled != 0 {
				r.Errorf("the long answer was not known again: %+v", next)
			}
		}
	})
}

// A text of placeholders alone says nothing: it is a turn and no source.
func TestASecretAloneMakesNoSource(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		secret := patLike
		got := r.capture(call(sp.ID, secret, "Thank you for the key, it works."))
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))
		if turns[0].Content != "[redacted:github-pat]" || len(got.Sources) != 1 {
			r.Errorf("%q, %d sources", turns[0].Content, len(got.Sources))
		}
	})
}

// Everything that an operation stores first is without secrets, and names that
// cannot be replaced are refused.
func TestEveryTextIsWithoutSecrets(t *testing.T) {
	each(t, func(r *rig) {
		text, kept, secret := secretText(1)
		sp := must[dhruva.Space](r)(r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "work", Description: text, ProjectRoot: "https://bob:" + secret + "@example.com/a"}))
		if sp.Description != kept || sp.ProjectRoot != "https://bob:[redacted:url-password]@example.com/a" {
			r.Errorf("%+v", sp)
		}
		sp = must[dhruva.Space](r)(r.l.UpdateSpace(r.ctx(), sp.ID, ledger.SpacePatch{Description: &text}))
		s := must[dhruva.Session](r)(r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: sp.ID, Title: text}))
		if s.Title != kept || sp.Description != kept {
			r.Errorf("%q %q", s.Title, sp.Description)
		}
		if s = must[dhruva.Session](r)(r.l.SetTitle(r.ctx(), s.ID, text)); s.Title != kept {
			r.Errorf("%q", s.Title)
		}
		in := exchange(text, text)
		receipt := r.opened("send", sp.ID)
		in.Receipt, in.Title = &receipt, text
		turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(s.ID), in))
		if turns[0].Content != kept || turns[1].Content != kept || receipt.Redactions != 2 {
			r.Errorf("%q %d", turns[0].Content, receipt.Redactions)
		}
		if s = must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)); s.Title != kept {
			r.Errorf("%q", s.Title)
		}
		secrets := 0
		c := r.commit(ledger.CommitInput{Session: s.ID, Title: text, Objective: text, Summary: text, Author: text, Redactions: &secrets,
			Decisions: []ledger.ItemInput{{Text: text}}, Artifacts: []ledger.ItemInput{{Text: text, Attrs: []dhruva.Attr{{Name: dhruva.AttrLabel, Value: text}}}}})
		for _, i := range c.Items {
			if i.Text != kept {
				r.Errorf("%s: %q", i.Kind, i.Text)
			}
		}
		if c.Author != kept || c.Of(dhruva.KindArtifact)[0].Attr(dhruva.AttrLabel) != kept || secrets != 6 {
			r.Errorf("%q, %d secrets", c.Author, secrets)
		}
		f := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Title: text}))
		if f.Title != kept {
			r.Errorf("%q", f.Title)
		}
		src := must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: text}))
		if src.ID != dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleAssistant, kept) {
			r.Errorf("%+v", src)
		}
		_, err := r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: "an ordinary note", SourceID: dhruva.SourceID(patLike)})
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.Commit(r.ctx(), ledger.CommitInput{Space: sp.ID, Title: "t", Decisions: []ledger.ItemInput{{Text: "x y z", Attrs: []dhruva.Attr{{Name: patLike, Value: "v"}}}}})
		r.is(err, dhruva.ErrInvalid)
	})
}

// A name by which something is addressed is refused when it looks like a secret:
// its placeholder would be the name of many.
func TestNamesThatLookLikeSecretsAreRefused(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		name := "zz " + patLike
		refused := func(what string, err error) {
			r.is(err, dhruva.ErrInvalid)
			if err != nil && (!strings.Contains(err.Error(), "looks like a secret") || strings.Contains(err.Error(), patLike)) {
				r.Errorf("%s: %v", what, err)
			}
		}
		_, err := r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: name})
		refused("create", err)
		_, err = r.l.EnsureSpace(r.ctx(), name)
		refused("ensure", err)
		_, err = r.l.UpdateSpace(r.ctx(), sp.ID, ledger.SpacePatch{Name: &name})
		refused("rename", err)
		if _, err = r.l.Space(r.ctx(), name); err == nil || strings.Contains(err.Error(), patLike) {
			r.Errorf("%v", err)
		}
		c := r.commit(ledger.CommitInput{Space: sp.ID, Title: "one"})
		_, err = r.l.Commit(r.ctx(), ledger.CommitInput{Space: sp.ID, Title: "two", Branch: patLike, NewBranch: true})
		refused("branch of a checkpoint", err)
		_, err = r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Branch: patLike})
		refused("branch of a fork", err)
		_, err = r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: "a", Scope: "s", Branch: patLike})
		refused("branch of a claim", err)
	})
}

// What comes from outside in a receipt is stored without secrets.
func TestAReceiptHidesWhatComesFromOutside(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		receipt := r.opened("proxy", sp.ID)
		receipt.Upstream.RequestID, receipt.Upstream.Error, receipt.Provider, receipt.Model, receipt.ModeRequested = patLike, "bad key "+patLike, patLike, patLike, patLike
		r.must(r.l.CloseReceipt(r.ctx(), receipt))
		got := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), receipt.ID))
		if text := fmt.Sprintf("%+v", got); strings.Contains(text, patLike) || got.Upstream.RequestID != "[redacted:github-pat]" {
			r.Error(text)
		}
	})
}

// An import counts the secrets of what is new, and a call that is repeated is
// told what the first one replaced.
func TestImportsAndCallsCountSecrets(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		in := ledger.ImportInput{Space: sp.ID, Key: "k"}
		for n := range 150 { // two Updates
			text, _, _ := secretText(n)
			in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: text})
		}
		call := ledger.Call{Route: "import", Key: "once", Request: []byte("x")}
		var first ledger.ImportResult
		out := must[ledger.Outcome](r)(r.l.Once(r.ctx(), call, func(l *ledger.Ledger) (err error) {
			first, err = l.ImportTurns(r.ctx(), in)
			return err
		}))
		again := must[ledger.Outcome](r)(r.l.Once(r.ctx(), call, func(*ledger.Ledger) error { return dhruva.ErrInvalid }))
		if first.Redactions != 150 || out.Redactions() != 150 || again.Redactions() != 150 || !again.Replayed {
			r.Errorf("%+v, %d, then %d", first, out.Redactions(), again.Redactions())
		}
		text, kept, _ := secretText(150)
		in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: text})
		more := must[ledger.ImportResult](r)(r.l.ImportTurns(r.ctx(), in))
		if more.New != 1 || more.Redactions != 1 {
			r.Errorf("%+v", more)
		}
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), more.Session, 150, 1))
		if turns[0].Content != kept {
			r.Errorf("%q", turns[0].Content)
		}
	})
}

// A failed call's text is kept once, without its secrets.
func TestAFailedCallIsKeptWithoutSecrets(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		text, kept, _ := secretText(1)
		first, second := r.capture(call(sp.ID, text, "")), r.capture(call(sp.ID, text, ""))
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), first.Session, 0, 0))
		if len(turns) != 1 || turns[0].Content != kept || first.Redactions != 1 || second.Redactions != 0 {
			r.Errorf("%+v %+v", first, second)
		}
	})
}

func TestVerbatimStoresWhatComes(t *testing.T) {
	each(t, func(r *rig) {
		r.l.Redact = ledger.Verbatim
		sp := r.space("work")
		text, _, _ := secretText(1)
		got := r.capture(call(sp.ID, text, "an answer to it"))
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))
		if turns[0].Content != text || got.Redactions != 0 {
			r.Errorf("%q", turns[0].Content)
		}
	})
}

// A client resends all of its history with every call: what is known of it is
// not looked through again.
func TestAKnownHistoryIsNotLookedThroughAgain(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		looked, redact := 0, r.l.Redact
		r.l.Redact = func(text string) (string, int) {
			if strings.Contains(text, " number ") {
				looked++
			}
			return redact(text)
		}
		texts := long(20)
		r.capture(call(sp.ID, texts...))
		if looked != len(texts) {
			r.Errorf("%d of %d texts were looked through", looked, len(texts))
		}
		looked = 0
		r.capture(call(sp.ID, append(texts, "question number 20 here", "answer number 20 here")...))
		if looked != 3 { // the new ones, and the last known answer, to tell it from another
			r.Errorf("%d texts were looked through", looked)
		}
	})
}
