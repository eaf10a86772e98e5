package sqlstore_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// fate is what becomes of something that a client sends.
type fate int

const (
	lost    fate = iota // the server does not get it
	applied             // the server gets it and answers, and the client does not get the answer
)

// cutter stands between clients and a server, and cuts a connection when it is
// told to.
type cutter struct {
	dir, server string

	mu    sync.Mutex
	armed bool
	fate  fate
	at    int // counts down what clients send
}

// cut puts a cutter in front of the server of a URL, and returns the URL
// through it.
func cut(t *testing.T, at string) (*cutter, string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "cut") // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	c := &cutter{dir: dir, server: filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL."+q.Get("port")))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.relay(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
		os.RemoveAll(dir)
	})
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return c, u.String()
}

// arm cuts the connection on which the n-th thing is sent from now on.
func (c *cutter) arm(n int, f fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.at, c.fate = true, n, f
}

// disarm says whether it has cut.
func (c *cutter) disarm() (cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cut, c.armed = !c.armed, false
	return cut
}

// due counts something that is sent.
func (c *cutter) due() (fate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return 0, false
	}
	c.at--
	c.armed = c.at > 0
	return c.fate, !c.armed
}

func (c *cutter) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	var answered sync.WaitGroup
	var mu sync.Mutex
	silent := false
	answered.Go(func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				client.Close()
				return
			}
			mu.Lock()
			quiet := silent
			mu.Unlock()
			if quiet { // it was applied
				client.Close()
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	c.send(client, server, func() { mu.Lock(); silent = true; mu.Unlock() })
	answered.Wait()
}

// send relays what the client sends, each write of it as a whole. The store's
// notifier and its readers are left alone.
func (c *cutter) send(client io.Reader, server net.Conn, silence func()) {
	defer server.Close()
	buffer := make([]byte, 1<<20)
	alone := false
	for sent := 0; ; sent++ {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		alone = alone || bytes.Contains(buffer[:n], []byte("pg_notify")) || bytes.Contains(buffer[:n], []byte("READ ONLY"))
		if sent > 1 && !alone { // it has started, and asked what server it is
			if f, due := c.due(); due && f == lost {
				return
			} else if due {
				silence()
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
