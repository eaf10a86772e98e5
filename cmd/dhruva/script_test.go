package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
)

// asProgram, when set, makes the test binary the program itself, for tests
// that need a process to signal.
const asProgram = "DHRUVA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestScript runs testdata/script: the command line as people use it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("DHRUVA_DATA", filepath.Join(e.WorkDir, "data"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"dhruva": cmdDhruva, "exits": cmdExits, "get": cmdGet, "serve": cmdServe, "repeat": cmdRepeat, "twins": cmdTwins,
			"http": cmdHTTP, "erase": cmdErase, "cut": cmdCut, "sql": cmdSQL, "mode": cmdMode, "holds": cmdHolds, "change": cmdChange,
		},
		RequireUniqueNames: true,
	})
}

// cmdDhruva runs the program in this process: dhruva ARGS... [<FILE]. Files are
// named absolutely, since the process has one working directory.
func cmdDhruva(ts *testscript.TestScript, neg bool, args []string) {
	if code := inScript(ts, args); (code != exitOK) != neg {
		ts.Fatalf("exit code %d", code)
	}
}

// cmdExits is cmdDhruva with the exit code that is wanted: exits CODE dhruva
// ARGS... Every error must end with its fix.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "dhruva" {
		ts.Fatalf("usage: exits CODE dhruva ARGS...")
	}
	var errs bytes.Buffer
	code := runInScript(ts, args[2:], io.MultiWriter(&errs, ts.Stderr()))
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if code != exitOK && !strings.Contains(errs.String(), "\nfix: ") && !(slices.Contains(args, "--json") && strings.Contains(errs.String(), `,"fix":"`)) {
		ts.Fatalf("the error does not end with a fix: %s", errs.String())
	}
}

func inScript(ts *testscript.TestScript, args []string) int {
	return runInScript(ts, args, ts.Stderr())
}

func runInScript(ts *testscript.TestScript, args []string, stderr io.Writer) int {
	stdin := ""
	if n := len(args) - 1; n >= 0 && strings.HasPrefix(args[n], "<") {
		stdin, args = ts.ReadFile(args[n][1:]), args[:n]
	}
	return run(context.Background(), args, strings.NewReader(stdin), ts.Stdout(), stderr, ts.Getenv)
}

// cmdGet takes a value out of the JSON of the last command into a variable:
// get NAME path.to.value
func cmdGet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: get NAME PATH")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for _, step := range strings.Split(args[1], ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[step]
		case []any:
			n, err := strconv.Atoi(step)
			ts.Check(err)
			if n >= len(t) {
				ts.Fatalf("%s: only %d items", args[1], len(t))
			}
			v = t[n]
		}
	}
	switch t := v.(type) {
	case string:
		ts.Setenv(args[0], t)
	case float64:
		ts.Setenv(args[0], strconv.FormatFloat(t, 'f', -1, 64))
	default:
		ts.Fatalf("%s is %v", args[1], v)
	}
}

// cmdServe runs the server in this process until the script ends, and sets URL
// when it is ready: serve ARGS...
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	ctx, stop := context.WithCancel(context.Background())
	pr, pw := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		c := run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), pw, &errs, ts.Getenv)
		_ = pw.Close()
		code <- c
	}()
	line, _ := bufio.NewReader(pr).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		stop()
		<-code
		ts.Fatalf("serve said %q; %s", line, errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, pr) }()
	ts.Setenv("URL", url)
	ts.Setenv("ADDR", strings.TrimPrefix(url, "http://"))
	ts.Defer(func() {
		stop()
		if c := <-code; c != exitOK {
			ts.Fatalf("serve ended with %d: %s", c, errs.String())
		}
		if _, err := os.Stat(filepath.Join(ts.Getenv("DHRUVA_DATA"), serverFile)); err == nil {
			ts.Fatalf("%s is still there", serverFile)
		}
	})
}

// cmdTwins makes two spaces of one name, as no command does, and puts the id of
// the first into TWIN: twins NAME
func cmdTwins(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.Getenv("DHRUVA_DATA")
	in, err := open(context.Background(), dir, "", (&program{env: ts.Getenv}).providersOrFault(dir), discard())
	ts.Check(err)
	ctx := dhruva.WithPrincipal(context.Background(), auth.LocalPrincipal())
	for range 2 {
		s, err := in.memory.Ledger.CreateSpace(ctx, ledger.SpaceInput{Name: args[0]})
		ts.Check(err)
		ts.Setenv("TWIN", string(s.ID))
	}
	ts.Check(in.closeSoon())
}

// cmdChange writes a file, or an output, with a text in place of each of another:
// change FROM TO OLD NEW
func cmdChange(ts *testscript.TestScript, _ bool, args []string) {
	before := ts.ReadFile(args[0])
	if !strings.Contains(before, args[2]) {
		ts.Fatalf("%s does not hold %q", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(before, args[2], args[3])), 0o600))
}

// cmdRepeat writes a file of a text many times over, \n in it for a line's end:
// repeat FILE N TEXT
func cmdRepeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(strings.ReplaceAll(args[2], `\n`, "\n"), n)), 0o600))
}
