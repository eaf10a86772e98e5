# Dhruva: every command a contributor needs. `make run` and `make test` do
# everything on a fresh machine that has Go, Node and a C compiler.
GO      ?= go
BIN     := bin/dhruva
DATA    ?=
LISTEN  ?= 127.0.0.1:7373
export GOFLAGS := -mod=readonly -trimpath
FUZZTIME ?= 10s

.PHONY: run build test check race fuzz bench campaign golden sdk clean

## run: build, and serve on LISTEN with the embedded store; no key, no network
run: build
	$(BIN) serve --listen $(LISTEN) $(if $(DATA),--data $(DATA))

## build: the one static binary
build:
	CGO_ENABLED=0 $(GO) build -ldflags="-s -w" -o $(BIN) ./cmd/dhruva

## test: what CI runs: checks, every test under the race detector, the built
## binary with the official SDKs of Go and Node
test: check sdk race

## check: formatting, vet, staticcheck
check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

## race: all tests
race: build sdk
	$(GO) test -race -timeout 9m ./...

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

## campaign: the same tests with large counts; takes an hour
campaign:
	DHRUVA_CAMPAIGN=1 $(GO) test -race -timeout 120m ./...
	$(MAKE) fuzz FUZZTIME=5m

## golden: rewrite golden files from what the code does now; read the diff
golden:
	$(GO) test ./wire ./memory -update

## clean: what the other targets made
clean:
	rm -rf bin internal/e2e/node/node_modules
