package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/proxy"
)

// Limits is everything about limits that can be set, as it stands in
// limits.yaml in the data directory: a section for each layer, the names as
// in its Limits with underscores (`recall_tokens: 800`, `recall_time: 600ms`),
// and `redaction: off`. What is left out keeps its default.
type Limits struct {
	Proxy  proxy.Limits
	Memory memory.Limits
	Ledger ledger.Limits
	// Upkeep are the times of jobs, leases, nodes and feeds, Background is how
	// often background work looks by itself.
	Upkeep     ledger.Upkeep
	Background memory.Pace
	API        APILimits
	// Redaction is on, the default, or off: whether secrets in a text are replaced
	// before it is stored.
	Redaction string
}

// redacts reports whether secrets are replaced.
func (l Limits) redacts() bool { return l.Redaction != "off" }

// APILimits bound bodies of the native API, in bytes.
type APILimits struct {
	Body   int64 // 1 MiB
	Import int64 // 64 MiB
}

// limitsFile is the name of the file in the data directory.
const limitsFile = "limits.yaml"

// loadLimits reads DIR/limits.yaml, if there is one. A name that is none and a
// negative number are errors: a limit that is not in force must not seem to be.
func loadLimits(dir string) (l Limits, err error) {
	path := filepath.Join(dir, limitsFile)
	k := koanf.New(".")
	switch err := k.Load(file.Provider(path), yaml.Parser()); {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return l, withFix(fmt.Errorf("%w: %s is not YAML%s", dhruva.ErrInvalid, path, atLine(err)), "correct it, or remove it to have the defaults")
	}
	err = k.UnmarshalWithConf("", &l, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &l, ErrorUnused: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), notNegative),
		MatchName: func(key, field string) bool {
			return strings.EqualFold(strings.ReplaceAll(key, "_", ""), field)
		},
	}})
	if err != nil {
		return l, withFix(fmt.Errorf("%w: %s: %w", dhruva.ErrInvalid, path, err), "correct it, or remove it to have the defaults")
	}
	if l.Redaction != "" && l.Redaction != "on" && l.Redaction != "off" {
		return l, withFix(fmt.Errorf("%w: %s: redaction is %q", dhruva.ErrInvalid, path, oneLine(l.Redaction, 40)), "write redaction: on, or redaction: off, or leave it out to have it on")
	}
	return l, nil
}

// notNegative refuses numbers below zero; zero means the default.
func notNegative(_, _ reflect.Type, v any) (any, error) {
	if n, ok := v.(int); ok && n < 0 {
		return v, fmt.Errorf("%d is negative", n)
	}
	if d, ok := v.(time.Duration); ok && d < 0 {
		return v, fmt.Errorf("%v is negative", d)
	}
	if f, ok := v.(float64); ok && f < 0 {
		return v, fmt.Errorf("%g is negative", f)
	}
	return v, nil
}
