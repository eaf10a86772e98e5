package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
)

// The Australia and New Zealand script at random. The model below knows turns as
// nodes that point to what they follow, and for each one the mount that its
// request saw; it has no seams, no stretches and no store.

// said is a turn of the model.
type said struct {
	seq    int64
	follow *said // nil at the root
	role   dhruva.Role
	text   string
	// began is the number after which its request began; one that was on its way
	// when something was mounted began before that.
	began int64
	// mount is the mount that its request saw, 0 for none.
	mount  int
	purged bool
	// aside: a copy of what the fork's source did not show any more.
	aside bool
}

// talk is a session of the model.
type talk struct {
	id    dhruva.SessionID
	key   string // of an import, "" for others
	lines []*said
	tip   *said
	// mount counts the mounts; mounted tells whether the last one holds.
	mount   int
	mounted bool
	base    int64
	at      dhruva.Hash
	// ends are the ends of the checkpoints that were saved from here.
	ends map[dhruva.Hash]int64
	// floor is, in a fork from a turn, the last copy of what its source had set
	// aside.
	floor int64
}

// script drives a ledger and the model.
type script struct {
	*rig
	t      *rapid.T
	space  dhruva.SpaceID
	talks  []*talk
	flying []*sending
	saves  []dhruva.Checkpoint
	n      int
	did    map[string]int
}

// sending is a request on its way.
type sending struct {
	talk   *talk
	began  ledger.Began
	mount  int
	parent *said // of an edit; nil is a new beginning
	edit   bool
	again  *said // the answer that is to be made again
}

func (k *talk) now() int {
	if k.mounted {
		return k.mount
	}
	return 0
}

func (k *talk) last() int64 { return int64(len(k.lines)) }

func (k *talk) line(seq int64) *said {
	if seq == 0 {
		return nil
	}
	return k.lines[seq-1]
}

func (k *talk) add(role dhruva.Role, text string, follow *said, began int64, mount int) *said {
	s := &said{seq: k.last() + 1, follow: follow, role: role, text: text, began: began, mount: mount}
	k.lines = append(k.lines, s)
	k.tip = s
	return s
}

// comesTo reports whether a turn leads to another.
func (s *said) comesTo(end *said) bool {
	for at := end; at != nil; at = at.follow {
		if at == s {
			return true
		}
	}
	return false
}

// visible are the turns that must reach the model when the conversation ends with
// end, by when they were said and began: after is the boundary.
func (k *talk) visible(end *said, after int64) (out []*said) {
	for _, s := range k.lines {
		if s.comesTo(end) && !s.purged && !s.aside && s.seq > after && s.began >= after {
			out = append(out, s)
		}
	}
	return out
}

// underMount is visible while something is mounted, told by the mount that each
// request saw and by no number.
func (k *talk) underMount(end *said) (out []*said) {
	for _, s := range k.lines {
		if s.comesTo(end) && !s.purged && s.mount == k.mount {
			out = append(out, s)
		}
	}
	return out
}

func textsOf(lines []*said) []string {
	out := []string{}
	for _, s := range lines {
		out = append(out, s.text)
	}
	return out
}

func contents(turns []dhruva.Turn) []string {
	out := []string{}
	for _, t := range turns {
		out = append(out, t.Content)
	}
	return out
}

func (c *script) pick() *talk { return rapid.SampledFrom(c.talks).Draw(c.t, "session") }

// words are found nowhere else.
func (c *script) words(what string) string {
	c.n++
	return fmt.Sprintf("sentinel %s number %d of the script", what, c.n)
}

func (c *script) begins(k *talk) *sending {
	f := &sending{talk: k, began: c.begin(k.id), mount: k.now()}
	if len(k.lines) > 0 {
		switch rapid.IntRange(0, 9).Draw(c.t, "kind") {
		case 0, 1:
			f.edit, f.parent = true, k.line(rapid.Int64Range(0, k.last()).Draw(c.t, "parent"))
		case 2, 3:
			a := rapid.SampledFrom(k.lines).Draw(c.t, "answer")
			if a.role == dhruva.RoleAssistant && a.follow != nil && a.follow.role == dhruva.RoleUser {
				f.again = a
			}
		}
	}
	return f
}

func (c *script) lands(f *sending) {
	k, in := f.talk, exchange(c.words("question"), c.words("answer"))
	follow := k.tip
	switch {
	case f.edit:
		follow, in.Parent = f.parent, ptr(int64(0))
		if f.parent != nil {
			in.Parent = ptr(f.parent.seq)
		}
	case f.again != nil:
		follow, in.Regenerate, in.User.Text = f.again.follow, f.again.seq, ""
	}
	turns, err := c.l.AppendExchange(c.ctx(), f.began, in)
	count := int64(2)
	if f.again != nil {
		count = 1
		aside := f.mount == k.now() && k.mounted && !slices.Contains(k.visible(follow, k.base), follow)
		if follow.purged || aside {
			c.did["refused"]++
			c.is(err, dhruva.ErrConflict)
			return
		}
	}
	began := f.began.After
	if f.mount != k.now() && k.mounted { // it was on its way when this was mounted
		switch {
		case k.base > 0:
			began = min(began, k.base-1)
		case k.last() > 0:
			c.did["fenced"]++
			c.is(err, dhruva.ErrFenced)
			return
		default: // the mount moves behind them
			k.base = count
		}
		c.did["late"]++
	} else if k.mounted {
		began = max(began, k.base)
	}
	c.must(err)
	if f.again == nil {
		follow = k.add(dhruva.RoleUser, in.User.Text, follow, began, f.mount)
	}
	k.add(dhruva.RoleAssistant, in.Assistant.Text, follow, began, f.mount)
	if got := turns[len(turns)-1]; got.Seq != k.last() || int64(len(turns)) != count {
		c.Fatalf("%d turns, the last is %d, want %d and %d", len(turns), got.Seq, count, k.last())
	}
}

func (c *script) mounts(k *talk) {
	if len(c.saves) == 0 {
		return
	}
	at := rapid.SampledFrom(c.saves).Draw(c.t, "checkpoint")
	must[dhruva.Session](c.rig)(c.l.Mount(c.ctx(), k.id, at.Hash.String(), rapid.SampledFrom([]int{1, 3}).Draw(c.t, "depth")))
	k.mount, k.mounted, k.base, k.at = k.mount+1, true, k.last(), at.Hash
}

func (c *script) saved(k *talk) {
	at := c.save(k.id, c.words("checkpoint"))
	c.saves = append(c.saves, at)
	k.ends[at.Hash] = 0
	if k.tip != nil {
		k.ends[at.Hash] = k.tip.seq
	}
	if at.Window.Through != k.ends[at.Hash] {
		c.Fatalf("window %+v, the tip is %d", at.Window, k.ends[at.Hash])
	}
}

func (c *script) selects(k *talk) {
	if len(k.lines) == 0 {
		return
	}
	to := rapid.SampledFrom(k.lines).Draw(c.t, "line")
	must[dhruva.Session](c.rig)(c.l.SelectTip(c.ctx(), k.id, to.seq))
	for _, s := range k.lines {
		if to.comesTo(s) {
			k.tip = s
		}
	}
	var others []int64
	for _, s := range k.lines {
		if s != to && s.follow == to.follow && s.role == to.role {
			others = append(others, s.seq)
		}
	}
	got := must[[]dhruva.Turn](c.rig)(c.l.Siblings(c.ctx(), k.id, to.seq))
	if diff := cmp.Diff(append([]int64{}, others...), seqs(got)); diff != "" {
		c.Fatalf("siblings of %d: %s", to.seq, diff)
	}
}

func (c *script) purges(k *talk) {
	if len(k.lines) == 0 {
		return
	}
	s := rapid.SampledFrom(k.lines).Draw(c.t, "purged")
	c.update(c.space, func(tx dhruva.Tx) error { return tx.RedactTurn(k.id, s.seq) })
	s.purged = true
}

func (c *script) imports() {
	var k *talk
	for _, other := range c.talks {
		if other.key != "" && rapid.Bool().Draw(c.t, "more") {
			k = other
		}
	}
	if k == nil {
		k = &talk{key: c.words("key"), ends: map[dhruva.Hash]int64{}}
	}
	in := ledger.ImportInput{Space: c.space, Key: k.key, Title: "imported"}
	for range rapid.IntRange(1, 4).Draw(c.t, "lines") {
		role := rapid.SampledFrom([]dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant}).Draw(c.t, "role")
		in.Turns = append(in.Turns, ledger.ImportedTurn{Role: role, Text: c.words("import")})
	}
	res := must[ledger.ImportResult](c.rig)(c.l.ImportTurns(c.ctx(), in))
	if k.id == "" {
		k.id = res.Session
		c.talks = append(c.talks, k)
	}
	for _, t := range in.Turns {
		k.add(t.Role, t.Text, k.tip, k.last(), k.now())
	}
}

func (c *script) forks() {
	if len(c.saves) == 0 {
		return
	}
	at := rapid.SampledFrom(c.saves).Draw(c.t, "from")
	f := must[dhruva.Session](c.rig)(c.l.Fork(c.ctx(), ledger.ForkInput{Checkpoint: at.Hash.String()}))
	c.talks = append(c.talks, &talk{id: f.ID, ends: map[dhruva.Hash]int64{}})
}

// boundary is where the context of a session that has mounted nothing begins: at
// the end of the newest checkpoint that it saved itself.
func (k *talk) boundary(shown []dhruva.Checkpoint) (after int64) {
	after = k.floor
	for _, at := range shown {
		if end, ok := k.ends[at.Hash]; ok {
			after = max(k.floor, end)
		}
	}
	return after
}

// forksFromTurn takes what came up to a turn to a new session, and holds what is
// shown there against what the source shows there.
func (c *script) forksFromTurn(k *talk) {
	if len(k.lines) == 0 {
		return
	}
	at := rapid.SampledFrom(k.lines).Draw(c.t, "turn")
	end := at
	if at.role == dhruva.RoleUser {
		end = at.follow
	}
	scope := rapid.SampledFrom([]ledger.ForkScope{"", ledger.ForkPath, ledger.ForkRelated, ledger.ForkAll}).Draw(c.t, "scope")
	var to int64
	if end != nil {
		to = end.seq
	}
	source := c.resolve(k.id, ledger.ContextRequest{At: &to})
	shown := k.expected(end, source)
	f, err := c.l.Fork(c.ctx(), ledger.ForkInput{Session: k.id, Seq: at.seq, Scope: scope})
	if end == nil && scope == ledger.ForkAll {
		c.is(err, dhruva.ErrInvalid)
		return
	}
	if errors.Is(err, dhruva.ErrConflict) && scope == ledger.ForkRelated && len(shown) == 0 {
		return // all that leads to the turn is left out
	}
	c.must(err)
	out := &talk{id: f.ID, ends: map[dhruva.Hash]int64{}}
	copies := map[*said]*said{nil: nil}
	for _, s := range k.lines {
		late := s.seq > source.Base && s.began < source.Base
		switch {
		case scope == ledger.ForkAll:
		case scope == ledger.ForkRelated && end != nil && (s == end || !end.comesTo(s)), scope != ledger.ForkRelated && s.comesTo(end):
			if late {
				copies[s] = copies[s.follow]
				continue
			}
		default:
			continue
		}
		n := out.add(s.role, s.text, copies[s.follow], out.last(), 0)
		if scope == ledger.ForkAll {
			n.began = s.began
		}
		n.purged, n.aside = s.purged, s.aside || s.seq <= source.Base || late
		if copies[s] = n; s.seq <= source.Base {
			out.floor = n.seq
		}
	}
	if scope == ledger.ForkAll {
		out.floor = source.Base
	}
	out.tip = copies[end]
	c.talks = append(c.talks, out)
	got := c.resolve(f.ID, ledger.ContextRequest{})
	if diff := cmp.Diff(textsOf(shown), contents(got.Turns)); diff != "" {
		c.Fatalf("fork %q at %d (-source +fork): %s", scope, at.seq, diff)
	}
	if got.Mode != dhruva.ModeForked || f.ForkedSession != k.id || f.ForkedSeq != at.seq || f.LastSeq != out.last() {
		c.Fatalf("%s %+v", got.Mode, f)
	}
}

// expected is what a context without limits must show.
func (k *talk) expected(end *said, got ledger.Context) []*said {
	if k.mounted {
		return k.underMount(end)
	}
	return k.visible(end, k.boundary(got.Checkpoints))
}

// holds compares a session's contexts with the model.
func (c *script) holds(k *talk) {
	end := k.tip
	req := ledger.ContextRequest{}
	if len(k.lines) > 0 && rapid.IntRange(0, 3).Draw(c.t, "at") == 0 {
		at := rapid.Int64Range(0, k.last()).Draw(c.t, "seq")
		end, req.At = k.line(at), &at
	}
	got := c.resolve(k.id, req)
	want := k.expected(end, got)
	if diff := cmp.Diff(textsOf(want), contents(got.Turns)); diff != "" {
		c.Fatalf("%s of session %s, base %d (-want +got): %s", got.Badge, k.id, got.Base, diff)
	}
	if k.mounted && (got.Mode != dhruva.ModeMounted || got.Checkpoints[len(got.Checkpoints)-1].Hash != k.at || got.Base != k.base) {
		c.Fatalf("%s at %d, mounted is %s at %d", got.Badge, got.Base, k.at, k.base)
	}
	for _, t := range got.Turns {
		if t.Session != k.id || !got.Holds(t.Seq) {
			c.Fatalf("turn %d of %s", t.Seq, t.Session)
		}
	}
	c.newest(k, req, want)
	c.pair(k, end, req)
}

// newest: bounds keep the latest and count the rest.
func (c *script) newest(k *talk, req ledger.ContextRequest, want []*said) {
	req.MaxTurns = rapid.IntRange(1, 6).Draw(c.t, "most")
	got := c.resolve(k.id, req)
	cut := max(0, len(want)-req.MaxTurns)
	if diff := cmp.Diff(textsOf(want[cut:]), contents(got.Turns)); diff != "" || got.Cut != cut {
		c.Fatalf("cut %d, want %d: %s", got.Cut, cut, diff)
	}
}

// pair: the explicit pair of the compatible API, at any base.
func (c *script) pair(k *talk, end *said, req ledger.ContextRequest) {
	if len(c.saves) == 0 {
		return
	}
	base := rapid.Int64Range(0, k.last()).Draw(c.t, "base")
	req.Mount = &ledger.Pair{Checkpoint: c.saves[0].Hash.String(), Base: &base}
	var want []*said
	for _, s := range k.lines {
		if s.comesTo(end) && !s.purged && s.seq > base && s.began >= base {
			want = append(want, s)
		}
	}
	if diff := cmp.Diff(textsOf(want), contents(c.resolve(k.id, req).Turns)); diff != "" {
		c.Fatalf("pair with base %d: %s", base, diff)
	}
}

func (c *script) act() *talk {
	k := c.pick()
	what := rapid.SampledFrom([]string{"send", "send", "send", "send", "begin", "begin", "land", "land", "late", "late", "mount", "mount", "unmount", "save", "select", "purge",
		"import", "fork", "fork from turn", "fork from turn", "open"}).Draw(c.t, "act")
	c.did[what]++
	switch what {
	case "send":
		c.lands(c.begins(k))
	case "begin":
		c.flying = append(c.flying, c.begins(k))
	case "land":
		if len(c.flying) > 0 {
			i := rapid.IntRange(0, len(c.flying)-1).Draw(c.t, "flight")
			f := c.flying[i]
			c.flying = slices.Delete(c.flying, i, i+1)
			c.lands(f)
			k = f.talk
		}
	case "late":
		f := c.begins(k)
		if rapid.Bool().Draw(c.t, "meanwhile") {
			c.lands(c.begins(k))
		}
		c.mounts(k)
		c.lands(f)
	case "mount":
		c.mounts(k)
	case "unmount":
		must[dhruva.Session](c.rig)(c.l.Unmount(c.ctx(), k.id))
		k.mounted = false
	case "save":
		c.saved(k)
	case "select":
		c.selects(k)
	case "purge":
		c.purges(k)
	case "import":
		c.imports()
	case "fork":
		c.forks()
	case "fork from turn":
		c.forksFromTurn(k)
	case "open":
		c.talks = append(c.talks, &talk{id: c.session(c.space).ID, ends: map[dhruva.Hash]int64{}})
	}
	return k
}

// S25 to S29, state-plane 7.1, 7.8 and 7.12: whatever was done in whatever order,
// the turns of a context are those that the model says, in their order, and no
// other; also when every time is the same.
func TestS25_S27_B1_NewZealandScript(t *testing.T) {
	counts := map[string]int{
		"memory": testkit.Count(300, 10_000, 200_000), "sqlite": testkit.Count(3, 40, 2000), "postgres": testkit.Count(3, 20, 500),
	}
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			checks(t, counts[name])
			keys, did, tenants := newRig(t, nil).keys, map[string]int{}, 0
			store := open(t)
			rapid.Check(t, func(rt *rapid.T) {
				if tenants++; name == "memory" { // where a new one costs nothing
					store = open(t)
				}
				r := newRig(failing{t, rt}, store)
				r.keys, r.still = keys, rapid.Bool().Draw(rt, "still")
				r.owner.Tenant = dhruva.TenantID(fmt.Sprint("run-", tenants))
				r.l = &ledger.Ledger{Store: r.store, Keys: keys, Redact: ledger.Verbatim, Now: r.clock}
				c := &script{rig: r, t: rt, space: r.space("trip").ID, did: did}
				c.talks = []*talk{{id: c.session(c.space).ID, ends: map[dhruva.Hash]int64{}}}
				c.saved(c.talks[0])
				for range rapid.IntRange(6, 30).Draw(rt, "acts") {
					c.holds(c.act())
				}
			})
			testkit.Figure(t, "acts of the script: %v", did)
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
