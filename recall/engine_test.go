package recall

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// rig is a store with one space, and an engine over it.
type rig struct {
	t     *testing.T
	store dhruva.Store
	keys  dhruva.Keyring
	e     *Engine
	now   time.Time
	seq   int64
}

const (
	rigTenant  = dhruva.TenantID("t1")
	rigSpace   = dhruva.SpaceID("s1")
	rigSession = dhruva.SessionID("c1")
)

func newRig(t *testing.T) *rig {
	r := &rig{t: t, store: memstore.New(), keys: auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef")), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	r.e = NewEngine(r.store, r.keys)
	r.e.Now = func() time.Time { return r.now }
	r.update(dhruva.TenantScope(rigTenant), func(tx dhruva.Tx) error {
		return errors.Join(
			tx.PutSpace(dhruva.Space{Tenant: rigTenant, ID: rigSpace, Name: "one", CreatedAt: r.now, UpdatedAt: r.now}),
			tx.PutSpace(dhruva.Space{Tenant: rigTenant, ID: "s2", Name: "two", CreatedAt: r.now, UpdatedAt: r.now}),
			tx.PutSession(dhruva.Session{Tenant: rigTenant, Space: rigSpace, ID: rigSession, Kind: dhruva.SessionChat, CreatedAt: r.now, UpdatedAt: r.now}))
	})
	return r
}

func (r *rig) update(s dhruva.Scope, fn func(dhruva.Tx) error) {
	r.t.Helper()
	if err := r.store.Update(context.Background(), []dhruva.Scope{s}, fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) principal() dhruva.Principal {
	return dhruva.Principal{Tenant: rigTenant, ID: "p1", Key: "k1", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}}
}

func (r *rig) ctx() context.Context {
	return dhruva.WithPrincipal(context.Background(), r.principal())
}

// say stores a turn and its source, as capture does.
func (r *rig) say(role dhruva.Role, class dhruva.SourceClass, text string) dhruva.SourceID {
	r.t.Helper()
	r.seq++
	id := dhruva.ContentID(r.keys, rigTenant, rigSpace, role, text)
	src := dhruva.Source{Tenant: rigTenant, Space: rigSpace, Generation: 1, ID: id, Class: class, State: dhruva.SourceReady,
		Role: role, Digest: dhruva.DigestText(text), Size: len(text), EventTime: r.now, CreatedAt: r.now}
	dhruva.SignSource(r.keys, &src)
	seq := r.seq
	r.update(dhruva.SpaceScope(rigTenant, rigSpace), func(tx dhruva.Tx) error {
		return errors.Join(
			tx.AppendTurn(dhruva.Turn{Tenant: rigTenant, Space: rigSpace, Session: rigSession, Seq: seq, ID: dhruva.TurnID(id), Role: role, Content: text, CreatedAt: r.now}),
			tx.PutSource(src),
			tx.AddReference(dhruva.Reference{Space: rigSpace, Generation: 1, Source: id, Session: rigSession, Seq: seq}),
			announce(tx, dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(id), At: r.now}))
	})
	return id
}

func announce(tx dhruva.Tx, c dhruva.Change) error {
	_, err := tx.AppendChange(rigSpace, c)
	return err
}

func (r *rig) user(text string) dhruva.SourceID {
	return r.say(dhruva.RoleUser, dhruva.ClassUserTyped, text)
}

func (r *rig) recall(query string) dhruva.Recall {
	r.t.Helper()
	out, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: query, TopK: 8})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestRecallFindsWhatWasSaid(t *testing.T) {
	r := newRig(t)
	r.user("The staging database listens on port 6543.")
	r.user("We go to Lisbon in May.")
	out := r.recall("which port does the staging database use?")
	if out.Status != dhruva.RecallRecalled || out.Reason != dhruva.GatePassed || !strings.Contains(out.Answer, "6543") {
		t.Fatalf("%+v", out)
	}
	ev := out.Evidence[0]
	if ev.Trust != .9 || ev.Role != dhruva.RoleUser || ev.Session != rigSession || len(ev.Why) == 0 {
		t.Errorf("evidence %+v", ev)
	}
	if got := r.recall("zebra quantum"); got.Status != dhruva.RecallEmpty || got.Reason != dhruva.GateNoCandidates {
		t.Errorf("nothing shared: %+v", got)
	}
}

// M59 in small: what follows the feed and what is built from rows agree.
func TestM59_FollowedAndRebuiltAgree(t *testing.T) {
	r := newRig(t)
	r.user("The cat is called Miso.")
	r.recall("cat") // from here on the engine follows
	r.user("The dog is called Biscuit and hates cats.")
	followed := r.recall("what is the cat called?")
	r.e = NewEngine(r.store, r.keys)
	r.e.Now = func() time.Time { return r.now }
	rebuilt := r.recall("what is the cat called?")
	if len(followed.Evidence) != len(rebuilt.Evidence) || len(rebuilt.Evidence) == 0 {
		t.Fatalf("followed %d, rebuilt %d", len(followed.Evidence), len(rebuilt.Evidence))
	}
	for i := range followed.Evidence {
		f, b := followed.Evidence[i], rebuilt.Evidence[i]
		if f.Source != b.Source || f.Score != b.Score {
			t.Errorf("%d: %v %v / %v %v", i, f.Source, f.Score, b.Source, b.Score)
		}
	}
}

// M13 to M18: each check refuses on its own, when only that attribute is wrong.
func TestM13_M18_GateChecksEachAttribute(t *testing.T) {
	const text = "The vault code word is heliotrope."
	corruptIndex := func(change func(*entry)) func(*rig, dhruva.SourceID) {
		return func(r *rig, id dhruva.SourceID) {
			// the hit keeps its reference; what the index believes of it is wrong
			entries := r.e.space(dhruva.SpaceScope(rigTenant, rigSpace)).entries
			en := entries[string(id)]
			change(&en)
			entries[string(id)] = en
		}
	}
	corruptRow := func(change func(*dhruva.Source)) func(*rig, dhruva.SourceID) {
		return func(r *rig, id dhruva.SourceID) {
			r.update(dhruva.SpaceScope(rigTenant, rigSpace), func(tx dhruva.Tx) error {
				src, err := tx.Source(rigSpace, 1, id)
				if err != nil {
					return err
				}
				change(&src)
				return tx.PutSource(src) // no change is announced: the index lags
			})
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*rig, dhruva.SourceID)
		want  dhruva.GateReason
	}{
		{"M13 tenant", corruptIndex(func(e *entry) { e.scope = dhruva.SpaceScope("t2", rigSpace) }), dhruva.GateTenantMismatch},
		{"M14 namespace", corruptIndex(func(e *entry) { e.scope = dhruva.SpaceScope(rigTenant, "s2") }), dhruva.GateNamespaceMismatch},
		{"M15 generation", corruptIndex(func(e *entry) { e.generation = 7 }), dhruva.GateStaleGeneration},
		{"M17 another source", corruptIndex(func(e *entry) { e.source = "gone" }), dhruva.GateSourceNotReady},
		{"M17 another text", corruptIndex(func(e *entry) { e.digest[0]++ }), dhruva.GateSourceNotReady},
		{"M17 held", corruptRow(func(s *dhruva.Source) { s.State = dhruva.SourceHeld }), dhruva.GateSourceNotReady},
		{"M17 purge pending", corruptRow(func(s *dhruva.Source) { s.State = dhruva.SourcePurgePending }), dhruva.GateSourceNotReady},
		{"M18 class raised", corruptRow(func(s *dhruva.Source) { s.Class = dhruva.ClassUserCommitted }), dhruva.GateProvenanceInvalid},
		{"M18 role changed", corruptRow(func(s *dhruva.Source) { s.Role = dhruva.RoleAssistant }), dhruva.GateProvenanceInvalid},
		{"M18 unknown key", corruptRow(func(s *dhruva.Source) { s.KID = "other" }), dhruva.GateProvenanceInvalid},
		{"M10 no trust", corruptRow(func(s *dhruva.Source) {
			s.Class = dhruva.ClassExternal
			dhruva.SignSource(newRig(t).keys, s)
		}), dhruva.GateSourceNotReady},
		{"M63 tombstone", func(r *rig, id dhruva.SourceID) {
			r.update(dhruva.SpaceScope(rigTenant, rigSpace), func(tx dhruva.Tx) error {
				return tx.PutTombstone(dhruva.Tombstone{Space: rigSpace, Generation: 1, Source: id, State: "pending", CreatedAt: r.now})
			})
		}, dhruva.GateSourceTombstoned},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			id := r.user(text)
			if got := r.recall("vault code word"); got.Status != dhruva.RecallRecalled {
				t.Fatalf("before: %+v", got)
			}
			c.spoil(r, id)
			got := r.recall("vault code word")
			if got.Status != dhruva.RecallRefused || got.Reason != c.want || len(got.Evidence) != 0 || got.Answer != "" {
				t.Errorf("status %s, reason %s, evidence %d; want refused, %s", got.Status, got.Reason, len(got.Evidence), c.want)
			}
		})
	}
}

// M16: rights are the asker's, checked at every recall.
func TestM16_ACL(t *testing.T) {
	r := newRig(t)
	r.user("The vault code word is heliotrope.")
	for name, p := range map[string]dhruva.Principal{
		"no right":      {Tenant: rigTenant, ID: "x", Scopes: []dhruva.KeyScope{dhruva.MemoryWrite}},
		"another space": {Tenant: rigTenant, ID: "x", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}, Spaces: []dhruva.SpaceID{"s2"}},
		"other tenant":  {Tenant: "t2", ID: "x", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}},
	} {
		out, err := r.e.Recall(dhruva.WithPrincipal(context.Background(), p), Ask{Space: rigSpace, Text: "vault code word", TopK: 8})
		if err == nil || len(out.Evidence) > 0 {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
	if _, err := r.e.Recall(context.Background(), Ask{Space: rigSpace, Text: "vault"}); !errors.Is(err, dhruva.ErrUnauthenticated) {
		t.Errorf("no principal: %v", err)
	}
}

// M12, M19, M20: one global top k, the answer is the first piece only.
func TestM12_OneTopK(t *testing.T) {
	r := newRig(t)
	for _, w := range []string{"red", "green", "blue", "black", "white"} {
		r.user("The " + w + " lantern hangs in the hall.")
	}
	out, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: "lantern in the hall", TopK: 3})
	if err != nil || len(out.Evidence) != 3 || out.Answer != out.Evidence[0].Snippet {
		t.Errorf("%d pieces, answer %q, %v", len(out.Evidence), out.Answer, err)
	}
}

// M10: trust weighs before admission: of two equal statements, the user's wins.
func TestM10_TrustBeforeRank(t *testing.T) {
	r := newRig(t)
	r.say(dhruva.RoleAssistant, dhruva.ClassDerived, "The reactor limit is 40 degrees in summer mode.")
	id := r.user("The reactor limit is 45 degrees in summer mode.")
	if out := r.recall("what is the reactor limit in summer mode?"); out.Evidence[0].Source != id {
		t.Errorf("first is %q", out.Evidence[0].Snippet)
	}
}

// G7: the question said back, and an answer that nothing is remembered, are
// not evidence.
func TestG7_EchoAndDenial(t *testing.T) {
	r := newRig(t)
	r.user("What is the wifi password of the cabin?")
	r.say(dhruva.RoleAssistant, dhruva.ClassAssistantVisible, "I don't have any memory of the wifi password of the cabin.")
	out := r.recall("what is the wifi password of the cabin?")
	if out.Status != dhruva.RecallEmpty || out.Reason != dhruva.GateInsufficientSupport {
		t.Errorf("%s %s %v", out.Status, out.Reason, out.Evidence)
	}
}

// Read-your-writes and isolation of the visible set.
func TestAllowIsTheVisibleSet(t *testing.T) {
	r := newRig(t)
	in := r.user("The meeting room is called Orion.")
	r.user("The meeting room is called Lyra.")
	out, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: "meeting room called", TopK: 8, Allow: map[dhruva.SourceID]bool{in: true}})
	if err != nil || len(out.Evidence) != 1 || out.Evidence[0].Source != in {
		t.Errorf("%+v %v", out, err)
	}
	alone := newRig(t)
	alone.user("The meeting room is called Orion.")
	want := alone.recall("meeting room called")
	if out.Evidence[0].Score != want.Evidence[0].Score {
		t.Errorf("score %v with others outside the set, %v without", out.Evidence[0].Score, want.Evidence[0].Score)
	}
}

// M21: a token resolves to exactly the span, multibyte edges included; all that
// is wrong with one is the same answer.
func TestM21_ReadIsByteExact(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("Füllsatz über nichts. ", 60) + "Der Schlüssel für Tür 7 liegt bei Zoë 🗝️. " + strings.Repeat("Noch ein Füllsatz. ", 60)
	id := r.user(long)
	out := r.recall("Schlüssel Tür 7 Zoë")
	ev := out.Evidence[0]
	if !strings.Contains(ev.Snippet, "Zoë 🗝️") || len(ev.Snippet) > 800 || long[ev.Start:ev.End] != ev.Snippet {
		t.Fatalf("span %d-%d %q", ev.Start, ev.End, ev.Snippet)
	}
	other := newRig(t)
	foreign := other.e.seal(dhruva.Principal{Tenant: "t2"}, admitted{checked: checked{source: dhruva.Source{Space: rigSpace, ID: id}}})
	read, err := r.e.Read(r.ctx(), []string{ev.Token, "garbage", ev.Token[:len(ev.Token)-4], foreign})
	if err != nil {
		t.Fatal(err)
	}
	if !read[0].Found || read[0].Text != ev.Snippet || read[0].Source != id {
		t.Errorf("read %+v", read[0])
	}
	for _, bad := range read[1:] {
		if bad != (dhruva.ReadResult{}) {
			t.Errorf("answered %+v", bad)
		}
	}
	r.update(dhruva.SpaceScope(rigTenant, rigSpace), func(tx dhruva.Tx) error {
		return tx.PutTombstone(dhruva.Tombstone{Space: rigSpace, Generation: 1, Source: id, State: "completed", CreatedAt: r.now})
	})
	if read, _ = r.e.Read(r.ctx(), []string{ev.Token}); read[0].Found {
		t.Error("a purged source is read")
	}
}

func TestReadTokenExpires(t *testing.T) {
	r := newRig(t)
	r.user("The spare tyre is in the barn.")
	token := r.recall("spare tyre").Evidence[0].Token
	r.now = r.now.Add(15 * time.Minute)
	if read, err := r.e.Read(r.ctx(), []string{token}); err != nil || read[0].Found {
		t.Errorf("%+v %v", read, err)
	}
}

// A budget takes whole items only; what the asker sees takes no seat.
func TestBudgetAndVisible(t *testing.T) {
	r := newRig(t)
	r.user("The garden gate squeaks, it squeaks a lot, and it has squeaked since the storm took the roof of the shed.")
	short := r.user("The garden gate is green.")
	out, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: "garden gate", TopK: 8, Budget: 10})
	if err != nil || len(out.Evidence) != 1 || out.Evidence[0].Source != short {
		t.Errorf("%+v %v", out.Evidence, err)
	}
	out, err = r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: "garden gate", TopK: 8, Visible: func(s string) bool { return strings.Contains(s, "green") }})
	if err != nil || len(out.Evidence) != 1 || out.Evidence[0].Source == short {
		t.Errorf("%+v %v", out.Evidence, err)
	}
}

// A store that fails gives degraded with a reason, never an empty answer.
func TestRecallDegrades(t *testing.T) {
	r := newRig(t)
	r.user("The spare tyre is in the barn.")
	r.e.Store = failing{r.store}
	out, err := r.e.Recall(r.ctx(), Ask{Space: rigSpace, Text: "spare tyre", TopK: 8})
	if !errors.Is(err, dhruva.ErrUnavailable) || out.Status != dhruva.RecallDegraded || out.Reason != dhruva.GateDependencyError {
		t.Errorf("%+v %v", out, err)
	}
}

type failing struct{ dhruva.Store }

func (failing) View(context.Context, dhruva.Scope, func(dhruva.Tx) error) error {
	return errors.New("disk on fire")
}
