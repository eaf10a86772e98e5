package storetest

import (
	"time"

	"github.com/dhruva-memory/dhruva"
)

// cut is a page of a list whose cursors are ids of few.
func (d draw) cut() dhruva.Page {
	return dhruva.Page{After: pick(d, "after", "", "", d.id(), d.text()), Limit: d.n()}
}

func (d draw) lineageOps() []func() op {
	return []func() op{
		func() op {
			h, when := d.hash(), at(d.n()).Add(pick[time.Duration](d, "more", 0, 1, 1000))
			if d.n() == 0 {
				when = time.Time{}.Add(pick[time.Duration](d, "never", 0, 999, -time.Hour))
			}
			return put("HideCheckpoint", func(tx dhruva.Tx) error { return tx.HideCheckpoint(h, when) }, h, when)
		},
		func() op {
			q := dhruva.OutlineQuery{Space: d.space(), Branch: d.filter(d.text()),
				Page: dhruva.Page{After: pick(d, "after", d.hash().String(), "", "bad"), Limit: d.n()}}
			return ask("ListOutlines", dhruva.Tx.ListOutlines, q)
		},
		func() op {
			h, limit := d.hash(), d.n()*3-1
			return call("Ancestry", func(tx dhruva.Tx) ([]dhruva.Outline, error) { return tx.Ancestry(h, limit) }, h, limit)
		},
	}
}

func (d draw) branchOps() []func() op {
	return []func() op{
		func() op {
			row, old := dhruva.Branch{Space: d.space(), Name: d.id(), Head: d.hash(), Disposition: d.text(), UpdatedAt: at(d.n())}, d.hash()
			return put("SwapBranch", func(tx dhruva.Tx) error { return tx.SwapBranch(row, old) }, row, old)
		},
		func() op {
			id, name := d.space(), d.id()
			return call("Branch", func(tx dhruva.Tx) (dhruva.Branch, error) { return tx.Branch(id, name) }, id, name)
		},
		func() op { return ask("ListBranches", dhruva.Tx.ListBranches, d.space()) },
		func() op { // mostly of the head that is there
			id, name, old, like := d.space(), pick(d, "branch", d.id(), d.id(), d.text()), d.hash(), d.n() > 0
			return put("DropBranch", func(tx dhruva.Tx) error {
				if b, err := tx.Branch(id, name); like && err == nil {
					return tx.DropBranch(id, name, b.Head)
				}
				return tx.DropBranch(id, name, old)
			}, id, name, old, like)
		},
	}
}

func (d draw) headMoveOps() []func() op {
	return []func() op{
		func() op {
			s := d.row()
			return write("AppendHeadMove", dhruva.Tx.AppendHeadMove, dhruva.HeadMove{Tenant: s.Tenant(), Space: s.Space(), Branch: d.id(),
				Seq: d.small(), From: d.hash(), To: d.hash(), Act: pick(d, "act", "commit", "undo", ""), Undoes: d.small(),
				By: dhruva.PrincipalID(d.text()), At: at(d.n())})
		},
		func() op {
			return ask("HeadMoves", dhruva.Tx.HeadMoves, dhruva.HeadMoveQuery{Space: d.space(), Branch: d.filter(d.id(), d.text()),
				Before: d.small() - 1, Limit: d.n()})
		},
	}
}

func (d draw) noteOps() []func() op {
	return []func() op{
		func() op {
			s := d.row()
			return write("PutNote", dhruva.Tx.PutNote, dhruva.Note{Tenant: s.Tenant(), Space: s.Space(), Checkpoint: d.hash(), ID: dhruva.NoteID(d.id()),
				Kind: pick(d, "kind", dhruva.NotePlain, dhruva.NoteNoise, ""), Author: d.text(), Text: d.text(), Redacted: d.n() == 0, CreatedAt: at(d.n())})
		},
		func() op {
			return ask("ListNotes", dhruva.Tx.ListNotes, dhruva.NoteQuery{Space: d.space(), Checkpoint: d.hash(), Page: d.cut()})
		},
		func() op {
			s, id := d.space(), dhruva.NoteID(pick(d, "note", d.id(), d.id(), d.text()))
			return put("RedactNote", func(tx dhruva.Tx) error { return tx.RedactNote(s, id) }, s, id)
		},
	}
}

func (d draw) claimOps() []func() op {
	status := func() dhruva.ClaimStatus {
		return pick(d, "status", dhruva.ClaimActive, dhruva.ClaimActive, dhruva.ClaimDone, dhruva.ClaimStatus(d.text()))
	}
	return []func() op{
		func() op {
			s := d.row()
			return write("PutClaim", dhruva.Tx.PutClaim, dhruva.Claim{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.ClaimID(d.id()), Agent: d.text(),
				Scope: d.text(), Base: d.hash(), Status: status(), ClaimedAt: at(d.n()), ExpiresAt: at(d.n()), UpdatedAt: at(d.n())})
		},
		func() op { return ask("Claim", dhruva.Tx.Claim, dhruva.ClaimID(d.id())) },
		func() op {
			q := dhruva.ClaimQuery{Space: d.space(), Page: d.cut()}
			if d.flag() {
				q.Status = status()
			}
			if d.flag() {
				q.Live = at(d.n()).Add(pick[time.Duration](d, "more", 0, 999, -1))
			}
			return ask("ListClaims", dhruva.Tx.ListClaims, q)
		},
	}
}

func (d draw) worktreeOps() []func() op {
	status := func() dhruva.WorktreeStatus {
		return pick(d, "status", dhruva.WorktreeOpen, dhruva.WorktreeClosed, dhruva.WorktreeStatus(d.text()))
	}
	return []func() op{
		func() op {
			s := d.row()
			row := dhruva.Worktree{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.WorktreeID(d.id()), Agent: d.text(), Branch: d.text(), Base: d.text(),
				Path: d.text(), Status: status(), CreatedAt: at(d.n())}
			if d.flag() {
				row.ClosedAt = at(d.n())
			}
			return write("PutWorktree", dhruva.Tx.PutWorktree, row)
		},
		func() op { return ask("Worktree", dhruva.Tx.Worktree, dhruva.WorktreeID(d.id())) },
		func() op {
			q := dhruva.WorktreeQuery{Space: d.space(), Page: d.cut()}
			if d.flag() {
				q.Status = status()
			}
			return ask("ListWorktrees", dhruva.Tx.ListWorktrees, q)
		},
	}
}

func (d draw) documentOps() []func() op {
	kind := func() string { return pick(d, "kind", "k", "k", "K", "") }
	return []func() op{
		func() op {
			s := d.row()
			return write("PutDocument", dhruva.Tx.PutDocument, dhruva.Document{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.DocumentID(d.id()),
				Kind: kind(), Session: dhruva.SessionID(d.id()), Title: d.text(), Text: d.text(), CreatedAt: at(d.n()), UpdatedAt: at(d.n())})
		},
		func() op { return ask("Document", dhruva.Tx.Document, dhruva.DocumentID(d.id())) },
		func() op {
			return ask("ListDocuments", dhruva.Tx.ListDocuments, dhruva.DocumentQuery{Space: d.space(), Kind: pick(d, "kind", "", "", kind(), d.text()),
				Session: dhruva.SessionID(d.filter(d.id())), Page: d.cut()})
		},
		func() op {
			id := dhruva.DocumentID(pick(d, "document", d.id(), d.text()))
			return put("DropDocument", func(tx dhruva.Tx) error { return tx.DropDocument(id) }, id)
		},
	}
}
