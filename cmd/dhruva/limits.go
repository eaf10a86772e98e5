package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

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
	if err := knownNames(k.Raw(), reflect.TypeFor[Limits](), ""); err != nil {
		return l, withFix(fmt.Errorf("%w: %s: %w", dhruva.ErrInvalid, path, err), "correct the name, or remove it to have the default")
	}
	err = k.UnmarshalWithConf("", &l, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &l, ErrorUnused: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), notNegative),
		MatchName:  matches,
	}})
	if err != nil {
		return l, withFix(fmt.Errorf("%w: %s: %w", dhruva.ErrInvalid, path, err), "correct it, or remove it to have the defaults")
	}
	if l.Redaction != "" && l.Redaction != "on" && l.Redaction != "off" {
		return l, withFix(fmt.Errorf("%w: %s: redaction is %q", dhruva.ErrInvalid, path, oneLine(l.Redaction, 40)), "write redaction: on, or redaction: off, or leave it out to have it on")
	}
	return l, nil
}

// knownNames refuses a name that is none, and says which there are.
func knownNames(have map[string]any, in reflect.Type, section string) error {
	names := map[string]reflect.Type{}
	for n := range in.NumField() {
		if f := in.Field(n); f.IsExported() {
			names[underscored(f.Name)] = f.Type
		}
	}
	known := slices.Sorted(maps.Keys(names))
	for _, key := range slices.Sorted(maps.Keys(have)) {
		at := slices.IndexFunc(known, func(name string) bool { return matches(key, strings.ReplaceAll(name, "_", "")) })
		if at < 0 {
			return fmt.Errorf("%s%q is no limit; there are %s", section, key, strings.Join(known, ", "))
		}
		if inner, ok := have[key].(map[string]any); ok && names[known[at]].Kind() == reflect.Struct {
			if err := knownNames(inner, names[known[at]], "in section "+known[at]+", "); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches: a name of the file is that of a field.
func matches(key, field string) bool {
	return strings.EqualFold(strings.ReplaceAll(key, "_", ""), field)
}

// underscored is a field's name as the file has it.
func underscored(field string) string {
	var out strings.Builder
	for n, r := range field {
		if n > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(field[n-1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
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
