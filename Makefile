# What there is to do here. `make` alone lists it.

GO     ?= go
SHARED ?= ../shared
LOCAL  := localcluster/bin/localcluster
# Of all packages, those whose tests need no API server.
UNIT   = $(shell $(GO) list ./... | grep -v '^kro.run/kro/test/')
# Packages that start a server of their own for some of their tests when there is one.
LIVE   = $(addprefix ./,$(shell grep -rl KUBEBUILDER_ASSETS --include='*_test.go' internal | xargs -r -n1 dirname | sort -u))
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# A regular expression of case names, for make conformance.
ONLY   ?= .
# The version that the kro binary tells, for a release.
VERSION ?=

.DEFAULT_GOAL := help
.PHONY: help build up down status localcluster test test-unit test-api lint conformance corpus corpus-table bench bench-check soak faults simulate fuzz generate clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/kro
	@$(GO) build $(if $(VERSION),-ldflags '-X kro.run/kro/internal/version.version=$(VERSION)') -o bin/kro ./cmd/kro

localcluster: $(LOCAL) ## Build the local control plane (the first time: 10 to 20 minutes)

$(LOCAL): $(shell find localcluster -name '*.go' ! -name '*_test.go') localcluster/go.mod localcluster/go.sum
	@$(GO) run -C localcluster ./cmd/build

bin/kubectl:
	@mkdir -p bin && ln -sf ../localcluster/bin/kubectl bin/kubectl

up: $(LOCAL) bin/kubectl ## Start a control plane, kro on it and examples/nginx; again: only what is missing
	@echo "Building bin/kro (the first time: a few minutes)"
	@$(MAKE) --no-print-directory build
	@$(LOCAL) up --crds config/crd --kro bin/kro --example examples/nginx --kubectl bin/kubectl

down: ## Stop all that make up has started; what is stored stays
	@if [ -d .kro ] && [ -x $(LOCAL) ]; then $(LOCAL) down; else echo "nothing runs: make up has not been here"; fi

status: ## Show the processes of make up
	@if [ -d .kro ] && [ -x $(LOCAL) ]; then $(LOCAL) status; else echo "nothing runs: make up has not been here"; fi

test: test-unit test-api ## Run all tests

test-unit: ## Run the tests that need no API server, in seconds
	@$(GO) test $(UNIT)

test-api: $(LOCAL) ## Run the tests that need an API server, on one control plane for all
	@cd localcluster && $(GO) test ./internal/... ./cmd/...
	@$(if $(LIVE),KUBEBUILDER_ASSETS=$(CURDIR)/localcluster/bin $(GO) test -count=1 -p=1 $(LIVE))
	@$(LOCAL) run --state .kro/test --crds config/crd -- \
		env KUBECONFIG_OF_TESTS={kubeconfig} $(GO) test -count=1 -p=1 -parallel=6 -timeout=30m ./test/...

lint: ## Run gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	cd localcluster && $(GO) vet ./internal/... ./cmd/...
	cd localcluster && $(GO) run $(STATICCHECK) ./internal/... ./cmd/...

conformance: build $(LOCAL) ## Run the cases of ../shared/conformance (ONLY=regexp for some)
	@if [ ! -d $(SHARED)/conformance ]; then echo "$(SHARED)/conformance is not here: nothing to run"; exit 0; fi; \
		$(GO) build -C $(SHARED)/conformance -o $(CURDIR)/bin/conformance . && \
		$(LOCAL) run --state .kro/conformance --controller-manager=false --simulator=false --crds config/crd --kro bin/kro -- \
			bin/conformance -kubeconfig {kubeconfig} -only '$(ONLY)' -p 4 $(SHARED)/conformance/cases/*.yaml

corpus: $(LOCAL) ## Bring the published examples of ../shared up
	@if [ ! -d $(SHARED)/corpus/upstream-examples/kubernetes ]; then echo "$(SHARED)/corpus is not here: nothing to bring up"; exit 0; fi; \
		$(LOCAL) run --state .kro/corpus --crds config/crd -- env KUBECONFIG_OF_TESTS={kubeconfig} CORPUS=$(abspath $(SHARED))/corpus/upstream-examples/kubernetes \
			$(GO) test -count=1 -timeout=20m -v -run PublishedExamples ./test/e2e

# How many instances make bench and make soak work with, and how long make soak breaks things.
N      ?= 1000
FOR    ?= 5m

corpus-table: ## Compile all published definitions of ../shared and compare with the table of outcomes
	@if [ ! -d $(SHARED)/corpus ]; then echo "$(SHARED)/corpus is not here: nothing to compile"; exit 0; fi; \
		CORPUS_DIR=$(abspath $(SHARED))/corpus $(GO) test -count=1 ./test/corpus

bench: build $(LOCAL) ## Measure bin/kro beside the bare floor (N=1000 instances)
	@$(GO) run ./test/bench -binary bin/kro -n $(N) -json bin/bench.json

bench-check: build $(LOCAL) ## The same, and fail when a bound of test/bench/bounds.json is passed
	@$(GO) run ./test/bench -binary bin/kro -n $(N) -check

soak: build $(LOCAL) ## Break things at random for a while (FOR=5m, N=1000) and compare the end with what should be
	@$(GO) run ./test/soak -binary bin/kro -n $(N) -duration $(FOR)

faults: $(LOCAL) ## Fail each request of a few lives on a real API server in every way, and kill -9 at each (ten minutes)
	@$(LOCAL) run --state .kro/faults --crds config/crd -- env FAULTS=all KUBECONFIG_OF_TESTS={kubeconfig} $(GO) test -count=1 -timeout=60m ./test/faults

simulate: ## Run 100,000 generated graphs of each front door through generated histories with faults (RUNS=n for another number)
	@$(GO) test ./internal/controller/instance ./internal/controller/graph -run AnyCourse -rapid.checks=$(or $(RUNS),100000) -rapid.nofailfile -timeout 120m

fuzz: ## Fuzz scanner, SimpleSchema, schemas, paths and compiler for a minute each
	@for target in ./cel:FuzzScan ./simpleschema:FuzzLexMarkers ./simpleschema:FuzzBuild ./schema/internal/slim:FuzzReduce ./graph:FuzzParsePath ./graph:FuzzCompile ./graph:FuzzCompileGraph; do \
		$(GO) test "$${target%:*}" -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(or $(FUZZ),1m) || exit 1; done

generate: ## Write generated code and CRDs anew
	$(GO) generate ./config/...

clean: ## Stop everything; remove what was built and stored
	@for state in .kro/test .kro/conformance .kro/corpus .kro/scratch .kro; do \
		if [ -d $$state ] && [ -x $(LOCAL) ]; then $(LOCAL) down --purge --state $$state || exit 1; fi; done
	rm -rf .kro bin localcluster/bin
