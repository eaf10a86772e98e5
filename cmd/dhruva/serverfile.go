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
}

func (s serving) write(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, serverFile+".*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("%s: %w", serverFile, err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, serverFile))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("%s: %w", serverFile, err)
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
	if err != nil {
		return serving{}, err
	}
	var s serving
	if err := json.Unmarshal(b, &s); err != nil || s.URL == "" {
		return serving{}, fmt.Errorf("%w: %s is damaged", dhruva.ErrInvalid, serverFile)
	}
	return s, nil
}

// aliveTime bounds the question whether a server is there.
const aliveTime = 2 * time.Second

// alive asks the server whether it is the one that wrote the file.
func (s serving) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	h, err := (&client.Client{BaseURL: s.URL}).Health(ctx)
	return err == nil && s.Instance != "" && h.Instance == s.Instance
}

// running is the live server of a data directory, ErrNotFound when there is none.
func running(ctx context.Context, dir string) (serving, error) {
	s, err := readServing(dir)
	if err != nil {
		return serving{}, err
	}
	if !s.alive(ctx) {
		return serving{}, fmt.Errorf("%w: %s is stale", dhruva.ErrNotFound, serverFile)
	}
	return s, nil
}
