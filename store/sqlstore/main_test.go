package sqlstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// The environment of a child: this test binary, run again to be another
// process on a store.
const (
	childPath   = "DHRUVA_STORE_CHILD"
	childPrefix = "DHRUVA_STORE_PREFIX"
	childEach   = "DHRUVA_STORE_EACH"
)

var kills = flag.Int("kills", 3, "cycles of the kill test")

func TestMain(m *testing.M) {
	flag.Parse()
	if path := os.Getenv(childPath); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childWriters = 8

// command is a child that makes each captures with every writer.
func command(path, prefix string, each int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childPrefix+"="+prefix, childEach+"="+strconv.Itoa(each))
	cmd.Stderr = os.Stderr
	return cmd
}

func child(path string) error {
	each, err := strconv.Atoi(os.Getenv(childEach))
	if err != nil {
		return err
	}
	s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{})
	if err != nil {
		return err
	}
	return errors.Join(note(s, os.Getenv(childPrefix), each), s.Close())
}

// shared is the session that all writers of all processes append to.
var shared = dhruva.SpaceScope("t1", "shared")

// note makes captures with concurrent writers, each in a session of its own
// and in the shared one, and prints the id of each when it is acknowledged.
func note(s *sqlstore.Store, prefix string, each int) error {
	errs := make([]error, childWriters)
	var wg sync.WaitGroup
	for w := range childWriters {
		wg.Go(func() {
			for n := 0; n < each && errs[w] == nil; n++ {
				id := fmt.Sprintf("%s-%d-%d", prefix, w, n)
				if errs[w] = noteOne(s, id); errs[w] == nil {
					os.Stdout.WriteString(id + "\n") // one write: a line is whole or not there
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// noteOne appends a turn with the id to the shared session, with a source, its
// reference, a change and a receipt.
func noteOne(s *sqlstore.Store, id string) error {
	return s.Update(context.Background(), []dhruva.Scope{shared}, func(tx dhruva.Tx) error {
		row, err := tx.Session("s")
		if errors.Is(err, dhruva.ErrNotFound) {
			row = dhruva.Session{Tenant: "t1", Space: "shared", ID: "s"}
		} else if err != nil {
			return err
		}
		row.LastSeq++
		_, change := tx.AppendChange("shared", dhruva.Change{Kind: dhruva.ChangeSource, Ref: id})
		return errors.Join(change, tx.PutSession(row),
			tx.AppendTurn(dhruva.Turn{Tenant: "t1", Space: "shared", Session: "s", Seq: row.LastSeq, ID: dhruva.TurnID(id), Content: id}),
			tx.PutSource(dhruva.Source{Tenant: "t1", Space: "shared", Generation: 1, ID: dhruva.SourceID(id), State: dhruva.SourceReady}),
			tx.AddReference(dhruva.Reference{Space: "shared", Generation: 1, Source: dhruva.SourceID(id), Session: "s", Seq: row.LastSeq}),
			tx.PutReceipt(dhruva.Receipt{Tenant: "t1", Space: "shared", ID: dhruva.ReceiptID(id), Session: "s"}))
	})
}
