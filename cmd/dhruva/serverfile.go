package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// serverFile is the name of the file that says which process serves a data
// directory.
const serverFile = "serve.json"

// serving is the content of serve.json. Instance is random: only the process
// that wrote it answers /health with it, so a key is never sent to another
// process that has taken the port since.
type serving struct {
	URL      string `json:"url"`
	PID      int    `json:"pid"`
	Instance string `json:"instance"`
	// Store is the URL of what it serves from, without a password; "" in a file
	// of an older version.
	Store string `json:"store,omitempty"`
}

func (s serving) write(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeWhole(dir, serverFile, append(b, '\n'))
}

// writeWhole puts a file in a directory in one step, for its owner alone.
func writeWhole(dir, name string, content []byte) error {
	tmp, err := os.CreateTemp(dir, name+".*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// remove takes the file away if it is still this server's.
func (s serving) remove(dir string) {
	if now, err := readServing(dir); err == nil && now.Instance == s.Instance {
		_ = os.Remove(filepath.Join(dir, serverFile)) // a stale one is detected
	}
}

func readServing(dir string) (serving, error) {
	b, err := os.ReadFile(filepath.Join(dir, serverFile))
	if errors.Is(err, fs.ErrNotExist) {
		return serving{}, fmt.Errorf("%w: %s", dhruva.ErrNotFound, serverFile)
	}
	if errors.Is(err, fs.ErrPermission) {
		return serving{}, err
	}
	var s serving
	if err != nil || json.Unmarshal(b, &s) != nil || s.URL == "" {
		return serving{}, damaged(filepath.Join(dir, serverFile))
	}
	return s, nil
}

// damaged is a server file that says nothing: it is taken as absent, and the
// next server writes it anew.
type damaged string

// Error names the file.
func (d damaged) Error() string { return string(d) + " is damaged" }

// Is: whoever wants to know whether a server runs gets the answer of an absent
// file.
func (damaged) Is(target error) bool { return target == dhruva.ErrNotFound }

// aliveTime bounds the question whether a server is there.
const aliveTime = 2 * time.Second

// alive asks the server whether it is the one that wrote the file.
func (s serving) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	h, err := (&client.Client{BaseURL: s.URL}).Health(ctx)
	return err == nil && s.Instance != "" && h.Instance == s.Instance
}

// running is the live server of a data directory, ErrNotFound when there is
// none. warn is told of a file that is damaged.
func running(ctx context.Context, dir string, warn func(string)) (serving, error) {
	s, err := readServing(dir)
	if bad := damaged(""); errors.As(err, &bad) {
		warn(bad.Error() + " and taken as absent; `dhruva serve` writes it anew")
	}
	if err != nil {
		return serving{}, err
	}
	if !s.alive(ctx) {
		return serving{}, fmt.Errorf("%w: %s is stale", dhruva.ErrNotFound, serverFile)
	}
	return s, nil
}
