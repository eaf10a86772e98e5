package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// given is a checkpoint to be saved, as flags and a file say it.
type given struct {
	client.CheckpointInput
	// space is the one that was named, else that of the checkpoint that was edited.
	space string
	// edits is the checkpoint whose JSON was edited; zero when it was no such.
	edits dhruva.Hash
}

// madeFields are what `show --json` prints and the server makes.
func madeFields() []string {
	return []string{"id", "hash", "space_id", "window", "created_at", "items", "redactions", "replayed"}
}

// placeFields say where the checkpoint that is shown came from, which is not where
// one that is made of it comes from.
func placeFields() []string { return []string{"session_id", "parents"} }

func (p *program) readCheckpoint(path string) (in given, err error) {
	text, err := p.checkpointText(path)
	if err != nil {
		return in, withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give an existing file to --from-json")
	}
	ignored, err := in.read(text)
	if err != nil {
		return in, withFix(fmt.Errorf("%w: the checkpoint is not JSON as expected: %w", dhruva.ErrInvalid, err),
			`give {"title": …, "summary": …, "decisions": [ … ], "tasks": [ … ]}, or use --title, --decision, …`)
	}
	if len(ignored) > 0 {
		p.say("ignored, since the server makes it: %s", strings.Join(ignored, ", "))
	}
	return in, nil
}

func (p *program) checkpointText(path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	s, err := p.text("-")
	return []byte(s), err
}

// read takes the JSON of a checkpoint to be saved, or of one that was shown, and
// tells what of it is not taken. Any other field is a fault: it may be a slip.
func (g *given) read(text []byte) (ignored []string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	var was struct {
		Hash  dhruva.Hash `json:"hash"`
		Space string      `json:"space_id"`
	}
	if err := json.Unmarshal(text, &was); err != nil {
		return nil, err
	}
	g.edits, g.space = was.Hash, was.Space
	made := madeFields()
	if !g.edits.IsZero() {
		made = append(made, placeFields()...)
	}
	for _, name := range made {
		if _, there := fields[name]; there {
			ignored = append(ignored, name)
			delete(fields, name)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(rest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&g.CheckpointInput); err != nil {
		return nil, err
	}
	if !g.edits.IsZero() && g.uncite() {
		ignored = append(ignored, "cites")
	}
	return ignored, nil
}

// uncite takes the cites away: they are turns of the window of the checkpoint that
// was edited. Blame finds them there.
func (g *given) uncite() (any bool) {
	drop := func(cites *[]client.Cite) {
		any = any || len(*cites) > 0
		*cites = nil
	}
	for _, list := range [][]client.Item{g.Decisions, g.Assumptions, g.Questions, g.Entities} {
		for i := range list {
			drop(&list[i].Cites)
		}
	}
	for i := range g.Tasks {
		drop(&g.Tasks[i].Cites)
	}
	for i := range g.Artifacts {
		drop(&g.Artifacts[i].Cites)
	}
	return any
}

// identified gives every item that its author calls nothing its own id, by which
// it stays the same item when its text is edited.
func identified(k client.Checkpoint) client.Checkpoint {
	ids := map[dhruva.ItemKind][]string{}
	for _, i := range k.Items {
		ids[i.Kind] = append(ids[i.Kind], string(i.ID))
	}
	name := func(kind dhruva.ItemKind, n int, id *string) {
		if *id == "" && n < len(ids[kind]) {
			*id = ids[kind][n]
		}
	}
	for kind, list := range map[dhruva.ItemKind]*[]client.Item{
		dhruva.KindDecision: &k.Decisions, dhruva.KindAssumption: &k.Assumptions, dhruva.KindQuestion: &k.Questions, dhruva.KindEntity: &k.Entities,
	} {
		*list = slices.Clone(*list)
		for n := range *list {
			name(kind, n, &(*list)[n].ID)
		}
	}
	k.Tasks, k.Artifacts = slices.Clone(k.Tasks), slices.Clone(k.Artifacts)
	for n := range k.Tasks {
		name(dhruva.KindTask, n, &k.Tasks[n].ID)
	}
	for n := range k.Artifacts {
		name(dhruva.KindArtifact, n, &k.Artifacts[n].ID)
	}
	return k
}

func (p *program) save(c *cobra.Command, api *client.Client, in given) error {
	space, err := spaceFor(c, api, in.space, in.Session)
	if err != nil {
		return err
	}
	k, err := api.CreateCheckpoint(c.Context(), space, in.CheckpointInput)
	if err != nil {
		return in.elsewhere(err)
	}
	p.sayRedacted(k.Redactions)
	p.saySaved(c, api, in, k)
	return p.print(k, func(w io.Writer) { fmt.Fprintln(w, k.Hash) })
}

// elsewhere says what to do where a session stands elsewhere than the branch that
// was named: nobody stated the parent that the answer speaks of.
func (g given) elsewhere(err error) error {
	if g.Session == "" || len(g.Parents) > 0 || !errors.Is(err, dhruva.ErrConflict) || !strings.Contains(err.Error(), "not at the stated parent") {
		return err
	}
	return withFix(err, "leave --branch out to save on a branch of its own, or mount what that branch is at first: dhruva mount %s CHECKPOINT", g.Session)
}

// saySaved tells where a checkpoint went, and how to go on from it.
func (p *program) saySaved(c *cobra.Command, api *client.Client, in given, k client.Checkpoint) {
	p.say("saved on branch %s", oneLine(k.Branch, 60))
	if !in.edits.IsZero() && len(k.Parents) > 0 && k.Parents[0] != in.edits {
		p.say("that branch was not at %s, which was edited, but at %s: dhruva diff %s %s", in.edits.Short(), k.Parents[0].Short(), k.Parents[0].Short(), k.Hash.Short())
	}
	if in.Session != "" && !p.flags.quiet {
		if s, err := api.Session(c.Context(), in.Session); err == nil { // what was saved is saved, whether this is known or not
			p.sayMounted(s, k, in.Branch == "")
		}
	}
	p.say("next: dhruva mount %s %s", or(string(in.Session), "SESSION"), k.Hash.Short())
}

// sayMounted tells what saving leaves as it is: a session goes on from what it has
// mounted. chosen: the branch is the server's choice.
func (p *program) sayMounted(s client.Session, k client.Checkpoint, chosen bool) {
	switch {
	case s.Mount == nil:
	case chosen && s.Branch != k.Branch:
		p.say("%s, which the session has mounted, is not where its branch %s is at: hence a branch of its own; mount what was saved to go on from it",
			s.Mount.Checkpoint.Short(), oneLine(s.Branch, 60))
	default:
		p.say("the session still has %s mounted; mount what was saved to go on from it", s.Mount.Checkpoint.Short())
	}
}
