.DEFAULT_GOAL := help

# The machine that template.yaml asks for, so that it is said in one place.
# "make ARCH=amd64 ..." overrides it.
ARCH = $(if $(shell grep -E '^ *Architectures: *\[x86_64\]' template.yaml),amd64,arm64)

SHELL = bash
.SHELLFLAGS = -o pipefail -c

# Keeps the output of a target, which is long, in a file that is named if the target fails.
KEEP = 2>&1 | tee .ci/failed/make-$@.txt || { echo "The whole output is in .ci/failed/make-$@.txt"; exit 1; }

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## run examples/orders on this machine, with a queue and orders to ship
	go run ./cmd/sqsbatch local

.PHONY: man
man: ## write the tool's manual pages, which a release packs, to dist/man
	go run ./cmd/sqsbatch man dist/man

.PHONY: test
test: ## run the tests
	@mkdir -p .ci/failed
	go test ./... $(KEEP)

.PHONY: race
race: ## run the tests under the race detector
	@mkdir -p .ci/failed
	go test -race ./... $(KEEP)

.PHONY: cover
cover: ## run the tests and show what they cover (cover.out)
	go test -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

.PHONY: record
record: ## write what README.md and docs show of sqsbatch local and sqsbatch sqs
	go test ./cmd/sqsbatch -run TestPages -update

.PHONY: bench
bench: ## run the benchmarks, six times each, for benchstat
	go test -run='^$$' -bench=. -benchmem -count=6 ./...

.PHONY: size
size: ## compare the size of the example's bootstrap with one that only links the SDK
	go run ./test/bench size

.PHONY: measure
measure: ## size and cost of the core, compared with earlier and with the goal (40 s)
	go run ./test/bench measure

.PHONY: deadline
deadline: ## 1,000 invocations of real processes with hanging records (3 min)
	go run ./test/bench deadline -n 1000

.PHONY: fuzz
fuzz: ## run each fuzz target for a while (FUZZTIME=30s)
	FUZZTIME=$${FUZZTIME:-30s} .ci/run fuzz

.PHONY: lint
lint: ## check formatting, go vet, staticcheck, go.mod
	.ci/run gofmt vet staticcheck tidy

.PHONY: compat
compat: ## list the checks with other tools: "make sam" runs one, "make sam rie" runs two
	go run ./test/compat

COMPAT = sam samlocal samdeploy terraform starter snippets migrating rie containers s3payload dynamodb elasticmq emulators clients
.PHONY: $(COMPAT)
$(COMPAT):
	go run ./test/compat $@

.PHONY: live
live: ## lint --live against moto and, in Docker, LocalStack
	go run ./test/compat live -localstack

.PHONY: coldstart
coldstart: ## init, first invocation and memory compared with functions without sqsbatch (Linux)
	go run ./test/bench coldstart -rounds 100

.PHONY: simulate
simulate: ## random histories of both modes in virtual time (SEED=1 HISTORIES=10000)
	@mkdir -p .ci/failed
	go test ./test/simulate -run '^TestSimulate$$' -count=1 -v -timeout=0 -args -seed=$${SEED:-1} -histories=$${HISTORIES:-10000} $(KEEP)

.PHONY: mutate
mutate: ## change the core in one place at a time, and list what no test notices (MUTANTS=200 SEED=1)
	go run ./test/mutate -sample $${MUTANTS:-200} -seed $${SEED:-1}

.PHONY: conform
conform: ## compare a server with what AWS documents (ENDPOINT=http://127.0.0.1:9324)
	go run ./emulator/sqs/conformance -endpoint "$(ENDPOINT)"

.PHONY: consume
consume: ## the long poll compared with a loop by hand and gocloud.dev (2 min)
	cd test/gocloud && go run . consume

.PHONY: send
send: ## the sender compared with single sends, a loop by hand and gocloud.dev (2 min)
	cd test/gocloud && go run . send

.PHONY: otlp
otlp: ## telemetry/otel over OTLP, in processes that are frozen and stopped (30 s)
	cd test/compat/formats && go test .

.PHONY: stores
stores: ## the stores of idempotency with SQLite, PostgreSQL, Redis and Valkey (6 min; their servers)
	.ci/run stores

.PHONY: lifecycle
lifecycle: ## programs in other frameworks' life cycles: errgroup, gRPC, fx, cobra (20 s)
	cd examples/lifecycle && go test ./...

.PHONY: outbox
outbox: ## examples/outbox: relays that are killed at random places, over SQLite (30 s)
	cd examples/outbox && go test ./...

.PHONY: alerts
alerts: ## the alerts and Grafana's dashboard under Prometheus' own engine (20 s)
	cd test/compat/formats && go test ./prometheus

.PHONY: chaos
chaos: ## 100,000 messages through kills, stops and network faults
	cd test/chaos && go run .

.PHONY: soak
soak: ## one container for two hours under faults: what it uses must not grow (HOURS=2); a plot in soak.svg
	cd test/chaos && GOTOOLCHAIN=go1.27.4 go run . soak -hours $${HOURS:-2} -plot "$(CURDIR)/soak.svg"

.PHONY: image
image: ## build the container image of examples/orders (BuildKit)
	docker build -t orders .

.PHONY: dist
dist: ## what a release consists of, for six platforms, into dist: archives, checksums, SBOMs (4 min)
	go run ./test/release

.PHONY: browser
browser: ## the page of --ui in a real browser, and its pictures in docs/observability
	cd test/browser && go test -v . -args -pictures $(CURDIR)/docs/observability

.PHONY: gocloud
gocloud: ## gocloud.dev's conformance tests of its driver for SQS, against the emulator
	cd test/gocloud && go test -v ./...

.PHONY: ci
ci: ## everything that a change must pass
	.ci/run

.PHONY: nightly
nightly: ## what is random in it, many times over: histories, fuzz targets, kills (hours)
	NIGHTLY=1 .ci/run $(or $(STAGES),fuzz windows goreleaser vulnerabilities simulate mutate other_go stores chaos deadletters otlp lifecycle outbox)

# What "sam build" calls for OrdersFunction. Everything that decides what comes
# out is on the line: without CGO_ENABLED=0 the binary would want the build
# machine's C library, and -buildvcs=false makes the same source the same file.
# lambda.norpc leaves out what only the retired go1.x runtime needed.
.PHONY: build-OrdersFunction
build-OrdersFunction:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) GOAMD64= GOARM64= GOFLAGS= go build -trimpath -buildvcs=false \
		-tags lambda.norpc -ldflags "-s -w" -o "$(ARTIFACTS_DIR)/bootstrap" ./examples/orders
