package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// meter shows how something long comes along: a bar on a terminal, else a line
// for each long step. It is talk.
type meter struct {
	w     io.Writer // nil: nothing is shown
	bar   bool
	step  string
	shown time.Time
}

// meter is the program's, silent when it is told to be quiet.
func (p *program) meter() *meter {
	if p.flags.quiet {
		return &meter{}
	}
	return &meter{w: p.stderr, bar: terminal(p.stderr) && p.env("TERM") != "dumb"}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// barPause is how often a bar is drawn again.
const barPause = 100 * time.Millisecond

// show is what a store calls.
func (m *meter) show(at sqlstore.Progress) {
	switch {
	case m.w == nil:
	case m.bar:
		if at.Step != m.step || time.Since(m.shown) >= barPause {
			m.step, m.shown = at.Step, time.Now()
			fmt.Fprintf(m.w, "\r\x1b[K%s", drawn(at))
		}
	case at.Step != m.step && at.Total >= longRows:
		m.step = at.Step
		fmt.Fprintln(m.w, stepWords(at))
	}
}

// longRows is how many rows take long enough to be spoken of where there is no
// bar.
const longRows = 50_000

// end takes the bar away.
func (m *meter) end() {
	if m.w != nil && m.bar && m.step != "" {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

func stepWords(at sqlstore.Progress) string {
	switch at.Step {
	case "count":
		return "counting rows"
	case "check":
		return "checking pages"
	case "copy":
		return "writing " + thousands(at.Total) + " rows"
	}
	return "reading " + thousands(at.Total) + " rows"
}

const barWidth = 24

func drawn(at sqlstore.Progress) string {
	if at.Total <= 0 {
		return stepWords(at)
	}
	full := int(min(at.Done, at.Total) * barWidth / at.Total)
	return fmt.Sprintf("[%s%s] %3d%% %s  %s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), min(at.Done, at.Total)*100/at.Total, stepWords(at), at.Table)
}

// thousands is a number as people read it.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size is a number of bytes as people read it.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, names := float64(n)/unit, "KMGT"
	i := 0
	for ; v >= unit && i < len(names)-1; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %ciB", v, names[i])
}
