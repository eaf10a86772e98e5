package arch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// anyOurs stands for every package of the module that is not for tests only.
const anyOurs = "*"

// rule is a row of the table: packages at path, and below it, may import these
// of ours, besides what lies below themselves. The first row that matches
// counts.
type rule struct {
	path string
	may  []string
}

// table is the import table of docs/design.md. The root is the vocabulary and
// its sentinel errors are everybody's, so that every row may import it.
var table = []rule{
	{"llm/echo", []string{"llm", "wire"}},
	{"llm/remote", []string{"llm", "egress"}},
	{"llm", []string{"llm"}},
	{"wire", nil},
	{"auth", nil},
	{"egress", nil},
	{"limit", nil},
	{"redact", nil},
	{"store", nil},
	{"client", nil},
	{"ledger", []string{"redact"}},
	{"recall", []string{"llm"}},
	{"memory", []string{"ledger", "recall", "llm"}},
	{"agents", []string{"ledger", "memory"}},
	{"transcript", []string{"ledger", "memory"}},
	{"serve/internal/edge", []string{"auth"}},
	{"serve/proxy", []string{"memory", "ledger", "agents", "transcript", "auth", "serve/internal/edge", "wire", "client"}},
	{"serve/api", []string{"memory", "ledger", "agents", "transcript", "auth", "serve/internal/edge", "client"}}, // the JSON shapes of the native API stand once, in client
	{"serve", []string{"memory", "ledger", "agents", "transcript", "auth", "serve/internal/edge"}},
	{"cmd", []string{anyOurs}},
	{"bench", []string{anyOurs, "internal/testkit", "internal/pgtest"}},
	{"internal/recallbench", []string{"llm", "recall"}},
	{"internal/testkit", nil},
	{"internal/pgtest", nil},
	{"internal/e2e", []string{anyOurs, "internal/testkit"}},
	{"internal/arch", nil},
}

// testOnly are packages that no program is built of.
var testOnly = []string{"internal/testkit", "internal/pgtest", "internal/e2e", "internal/arch", "store/storetest"}

func ruleFor(path string) (rule, bool) {
	if path == "." {
		return rule{path: "."}, true
	}
	for _, r := range table {
		if under(path, r.path) {
			return r, true
		}
	}
	return rule{}, false
}

func (r rule) allows(from, to string) bool {
	switch {
	case from == ".":
		return false
	case to == "." || slices.Contains(r.may, to) || strings.HasPrefix(to, from+"/"):
		return true
	}
	return slices.Contains(r.may, anyOurs) && !slices.Contains(testOnly, to)
}

func importViolations(pkgs []pkg) (found []string) {
	for _, p := range pkgs {
		r, ok := ruleFor(p.path())
		if !ok {
			found = append(found, fmt.Sprintf("%s has no row in the import table", p.path()))
			continue
		}
		for _, i := range p.Imports {
			if ours(i) && !r.allows(p.path(), within(i)) {
				found = append(found, fmt.Sprintf("%s imports %s, which its row (%s) does not allow", p.path(), within(i), r.path))
			}
		}
	}
	return found
}

func TestImportsGoDownOnly(t *testing.T) { report(t, importViolations(packages(t))) }

func TestTheImportTableCatches(t *testing.T) {
	p := func(path string, imports ...string) pkg {
		out := pkg{ImportPath: module + "/" + path}
		if path == "." {
			out.ImportPath = module
		}
		for _, i := range imports {
			if i == "." {
				out.Imports = append(out.Imports, module)
			} else {
				out.Imports = append(out.Imports, module+"/"+i)
			}
		}
		return out
	}
	for _, good := range []pkg{
		p("."), p("ledger", ".", "redact"), p("memory", ".", "ledger", "recall", "llm"), p("llm/echo", ".", "llm", "wire"),
		p("store/sqlstore", ".", "store/sqlstore/internal/ddl"), p("serve/proxy", "wire", "client"),
		p("cmd/dhruva", "store/sqlstore", "serve/api", "llm/remote"), p("bench/store", "internal/testkit"),
	} {
		report(t, importViolations([]pkg{good}))
	}
	for _, bad := range []pkg{
		p(".", "wire"), p("ledger", "recall"), p("ledger", "llm"), p("recall", "ledger"), p("memory", "llm/remote"), p("memory", "store/memstore"),
		p("llm/remote", "wire"), p("store/sqlstore", "store/memstore"), p("serve/api", "serve/proxy"), p("serve/mcpserver", "wire"),
		p("auth", "ledger"), p("client", "serve/api"), p("agents", "transcript"), p("cmd/dhruva", "internal/testkit"), p("cmd/dhruva", "store/storetest"),
		p("util"), p("models/user"), p("serve/internal/edge", "memory"), p("ledgerx"),
	} {
		if len(importViolations([]pkg{bad})) == 0 {
			t.Errorf("%s importing %v passed", bad.path(), bad.Imports)
		}
	}
}

// confined are packages that only some places may import (test files are free):
// what they stand for must not spread.
var confined = []struct {
	imports string // the package and all below it
	to      []string
	why     string
}{
	{"net", []string{"egress", "llm/remote", "llm/echo", "wire", "auth", "limit", "client", "serve", "cmd", "bench", "internal"}, "no network below the edges"},
	{"os/exec", []string{"agents", "cmd", "bench", "internal"}, "we run no commands but git's and our own"},
	{"unsafe", nil, "nothing here needs it"},
	{"plugin", nil, "configuration never becomes code"},
	{"encoding/gob", nil, "data never becomes types"},
	{"math/rand", []string{"bench", "internal", "store/storetest"}, "randomness is crypto/rand; a seeded one is given by the caller"},
	{"database/sql", []string{"store", "bench"}, "SQL lives in the stores"},
	{"modernc.org/sqlite", []string{"store", "bench"}, "the driver lives in the stores"},
	{"github.com/jackc/pgx", []string{"store", "bench", "internal/pgtest"}, "the driver lives in the stores"},
	{"github.com/danielgtaylor/huma", []string{"serve"}, "an edge's framework"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"serve/mcpserver", "cmd", "bench"}, "an edge's protocol"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line's"},
	{"github.com/knadh/koanf", []string{"cmd"}, "the configuration's"},
	{"github.com/zricethezav/gitleaks", []string{"redact"}, "its rules are data for one place"},
	{"github.com/pelletier/go-toml", []string{"redact"}, "the form of those rules"},
	{"github.com/openai/openai-go", []string{"bench", "internal"}, "providers are spoken to by our own code; SDKs are clients in tests"},
	{"github.com/anthropics/anthropic-sdk-go", []string{"bench", "internal"}, "providers are spoken to by our own code; SDKs are clients in tests"},
}

// confinedNet: these below net are values, not connections.
var confinedNet = []string{"net/netip", "net/url", "net/textproto"}

func confinementViolations(pkgs []pkg) (found []string) {
	for _, p := range pkgs {
		for _, i := range p.Imports {
			for _, c := range confined {
				free := slices.ContainsFunc(c.to, func(dir string) bool { return under(p.path(), dir) })
				if under(i, c.imports) && !free && !slices.Contains(confinedNet, i) {
					found = append(found, fmt.Sprintf("%s imports %s: %s", p.path(), i, c.why))
				}
			}
		}
	}
	return found
}

func TestNetworkSQLAndFrameworksStayInTheirPlaces(t *testing.T) {
	report(t, confinementViolations(packages(t)))
	bad := []pkg{
		{ImportPath: module + "/ledger", Imports: []string{"net/http"}},
		{ImportPath: module, Imports: []string{"net"}},
		{ImportPath: module + "/memory", Imports: []string{"database/sql"}},
		{ImportPath: module + "/auth", Imports: []string{"math/rand/v2"}},
	}
	if n := len(confinementViolations(bad)); n != len(bad) {
		t.Errorf("the check sees %d of %d violations", n, len(bad))
	}
	if found := confinementViolations([]pkg{{ImportPath: module + "/ledger", Imports: []string{"net/url", "network"}}}); found != nil {
		t.Errorf("the check is too eager: %v", found)
	}
}
