package agents

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// cut is a text of at most so many characters; one that is longer ends in a mark.
func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:max-1])) + "…"
}

// age says how long ago something was.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / unit.size; n == 1 {
			return "1 " + unit.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return "just now"
}

// orNull is a text for JSON in which an empty one is null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
