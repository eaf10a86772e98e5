# Dhruva: every command a contributor needs. `make run` and `make test` do
# everything on a fresh machine that has Go, and for the tests Node, a C compiler
# and the server programs of PostgreSQL.
GO      ?= go
BIN     := bin/dhruva
DATA    ?=
LISTEN  ?= 127.0.0.1:7373
export GOFLAGS := -mod=readonly -trimpath
FUZZTIME ?= 10s
# What the tests count is collected here, and printed at the end.
FIGURES := $(CURDIR)/bin/figures.txt
# The packages whose tests repeat things, and what they take time for.
DEEP    := ./store/... ./ledger

.PHONY: run build test check postgres race deep fuzz bench campaign golden sdk clean

## run: build, and serve on LISTEN with the embedded store; no key, no network
run: build
	$(BIN) serve --listen $(LISTEN) $(if $(DATA),--data $(DATA))

## build: the one static binary
build:
	CGO_ENABLED=0 $(GO) build -ldflags="-s -w" -o $(BIN) ./cmd/dhruva

## test: what CI runs: checks, every test under the race detector, the built
## binary with the official SDKs of Go and Node, and what repeats things (kills,
## faults, comparisons of stores) again without the detector, in larger numbers
test: postgres check race deep

## postgres: is there a server that the tests can start privately?
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  echo "the tests need the server programs of PostgreSQL 15 or later (Debian: apt-get install postgresql; macOS: brew install postgresql)"; exit 1; }

## check: formatting, vet, staticcheck
check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

## race: all tests
race: build sdk
	$(GO) test -race -timeout 15m ./...

## deep: what repeats things, without the race detector
deep: build sdk
	@rm -f $(FIGURES)
	DHRUVA_FIGURES=$(FIGURES) $(GO) test -count=1 -timeout 20m $(DEEP)
	@cat $(FIGURES)

## sdk: the npm packages that the end-to-end tests use as clients
sdk:
	cd internal/e2e/node && npm ci --no-audit --no-fund --loglevel=error

## fuzz: every fuzz target for FUZZTIME each
fuzz:
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done

## bench: the figures of docs/operate.md (proxy, store, footprint)
bench: build
	$(GO) run ./bench/proxy
	$(GO) run ./bench/store
	$(GO) run ./bench/footprint -binary $(BIN)

## campaign: the same tests with large counts; takes some hours. DHRUVA_SEED
## repeats one. docs/reliability.md keeps the figures of the last
campaign: postgres build sdk
	@rm -f $(FIGURES)
	DHRUVA_CAMPAIGN=1 DHRUVA_FIGURES=$(FIGURES) $(GO) test -count=1 -timeout 12h ./...
	@cat $(FIGURES)
	$(MAKE) fuzz FUZZTIME=5m

## golden: rewrite golden files from what the code does now; read the diff
golden:
	$(GO) test ./wire ./memory -update

## clean: what the other targets made
clean:
	rm -rf bin internal/e2e/node/node_modules
