package sqlstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// childTask is the variable that makes this test binary another process on a
// store: its value is a task.
const childTask = "DHRUVA_STORE_CHILD"

// task is what such a process does.
type task struct {
	// Role is a key of roles; URL names the store.
	Role, URL string
	// Name begins the id of everything that the process writes.
	Name string
	Seed uint64
	// Dir is where processes meet outside the store.
	Dir string
	// Spaces are written to; Updates is how many to make, 0: until it is killed.
	Spaces  []string
	Updates int
}

// roles are what a process can be told to do.
var roles = map[string]func(context.Context, *sqlstore.Store, task) error{
	"notes":    noteForever,
	"together": workTogether,
}

func TestMain(m *testing.M) {
	flag.Parse()
	if text := os.Getenv(childTask); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(text string) error {
	var do task
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlstore.Open(ctx, do.URL, sqlstore.Options{})
	if err != nil {
		return err
	}
	if err := roles[do.Role](ctx, s, do); err != nil {
		return fmt.Errorf("%s: %w", do.Name, err)
	}
	return s.Close()
}

// process is a running child. It reads lines and writes lines.
type process struct {
	*testing.T
	task
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func spawn(t *testing.T, do task) *process {
	t.Helper()
	text, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{T: t, task: do, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childTask+"="+string(text))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() }) // of one that has ended: nothing
	return p
}

// line is the next line of the child.
func (p *process) line() string {
	p.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Fatalf("%s ended: %v", p.Name, err)
	}
	return strings.TrimSpace(line)
}

func (p *process) tell(line string) {
	p.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.Fatalf("%s: %v", p.Name, err)
	}
}

// kill ends the process without warning, and returns what it had still said.
func (p *process) kill() []string {
	p.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.Fatal(err)
	}
	rest, _ := io.ReadAll(p.out)
	p.cmd.Wait() // says that it was killed
	lines := strings.Split(string(rest), "\n")
	return lines[:len(lines)-1] // the last one is empty, or not whole
}

// wait wants the process to end well.
func (p *process) wait() {
	p.Helper()
	if err := p.cmd.Wait(); err != nil {
		p.Errorf("%s: %v", p.Name, err)
	}
}

// say prints a line in one write, so that it is whole or not there.
func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
