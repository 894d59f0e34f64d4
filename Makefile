# `make` lists the targets. Everything that is needed in addition to Go, Python 3, Node and a
# shell is installed into this checkout.

SHELL := /bin/sh
GO ?= go
PYTHON3 ?= python3
NPM ?= npm
TOOL = $(GO) tool -modfile=tools/go.mod
# The branch that `buf breaking` compares the API with.
AGAINST ?= .git\#branch=main

# The control plane of the tests. With KUBERNETES=1.36 it is that of e2e/cluster/go.1.36.mod, from
# which a test upgrades, and the program is bin/devcluster-1.36. tools/kubernetes.sh writes such files.
KUBERNETES =
KUBERNETES_MODFILE = $(KUBERNETES:%=-modfile=go.%.mod)
KUBERNETES_VERSION = $(shell cd e2e/cluster && $(GO) list $(KUBERNETES_MODFILE) -m -f '{{.Version}}' k8s.io/kubernetes)
KUBERNETES_LDFLAGS = -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION) \
	-X k8s.io/client-go/pkg/version.gitVersion=$(KUBERNETES_VERSION)

# Every step builds the control plane with the same flags, because other flags would compile all of
# Kubernetes once more. Nothing but the standard library, which the service shares, is compiled with
# debugging information, because the linker would omit it.
KUBERNETES_FLAGS = $(KUBERNETES_MODFILE) -trimpath -gcflags=all=-dwarf=false -gcflags=std=

# The compiler collects garbage less often: it needs a tenth less time, and a tenth more memory.
COMPILE = GOGC=400

# Prints one line before each step.
say = @printf '==> %s\n'

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: kubeconnect devcluster ## Build bin/kubeconnect and bin/devcluster.

.PHONY: kubeconnect
kubeconnect: console
	$(say) 'kubeconnect: the service'
	@$(GO) build -trimpath -o bin/kubeconnect ./cmd/server

.PHONY: devcluster
devcluster:
	$(say) 'devcluster: a control plane in one binary (the first time this takes several minutes)'
	@cd e2e/cluster && $(COMPILE) GO='$(GO)' sh ../../tools/build.sh ../../bin/devcluster$(KUBERNETES:%=-%) \
		$(KUBERNETES_FLAGS) -ldflags '-s -w $(KUBERNETES_LDFLAGS)' .

# Kubernetes' own end-to-end tests and the kubectl that some of them run, of the version of the control plane and with
# the same flags: most packages are compiled once for all three. `go test -c` cannot show its progress.
.PHONY: upstream-e2e
upstream-e2e:
	$(say) "upstream-e2e: Kubernetes' own end-to-end tests in one binary (the first time this takes several minutes)"
	@cd e2e/upstream && $(COMPILE) $(GO) test -vet=off -c -o ../../bin/upstream-e2e $(KUBERNETES_FLAGS) \
		-ldflags '-s -w $(KUBERNETES_LDFLAGS)' k8s.io/kubernetes/test/e2e
	@cd e2e/upstream && $(COMPILE) $(GO) build -o ../../bin/kubectl $(KUBERNETES_FLAGS) \
		-ldflags '-s -w $(KUBERNETES_LDFLAGS)' k8s.io/kubernetes/cmd/kubectl

.PHONY: console
console: .cache/console.built

.cache/console.built: clients/node_modules/.installed $(shell find clients/ts clients/web -type f \
		! -path '*/node_modules/*' ! -path '*/dist/*' ! -path '*/test/*')
	$(say) 'console: build the console and the TypeScript client'
	@cd clients && $(NPM) run --silent build
	@mkdir -p $(@D) && touch $@

clients/node_modules/.installed: clients/package.json clients/package-lock.json clients/ts/package.json clients/web/package.json
	$(say) 'clients: install the dependencies of the TypeScript client and the console'
	@cd clients && $(NPM) ci --silent --no-audit --no-fund --ignore-scripts # no package needs to run code
	@touch $@

.venv/.installed: clients/python/pyproject.toml
	$(say) 'clients: install the Python client and its development tools'
	@$(PYTHON3) -m venv .venv
	@sh tools/install_python.sh .venv
	@touch $@

# What a user of the Python client installs with it, and what builds it from its sdist. A test
# installs the client from here.
.cache/wheels/.downloaded: .venv/.installed
	$(say) 'clients: download the requirements of the Python client'
	@rm -rf $(@D)
	@.venv/bin/python -m pip download --quiet --disable-pip-version-check -d $(@D) 'clients/python[k8s,metrics,yaml]' 'hatchling>=1.27'
	@touch $@

bin/grpcurl: tools/go.mod tools/go.sum
	$(say) 'tools: build grpcurl (the first time this takes some minutes)'
	@$(GO) build -modfile=tools/go.mod -o $@ github.com/fullstorydev/grpcurl/cmd/grpcurl

# Helm, of the version whose library the tests of the chart use.
bin/helm: e2e/deploy/go.mod e2e/deploy/go.sum
	$(say) 'helm: the program that installs the chart (the first time this takes some minutes)'
	@cd e2e/deploy && $(GO) build -trimpath -o ../../$@ helm.sh/helm/v3/cmd/helm

# The runtimes of JavaScript in which tests run the TypeScript client and the official client, as far as they exist for
# this machine.
.cache/runtimes/.installed: tools/runtimes/install.sh tools/runtimes/package.json tools/runtimes/package-lock.json
	$(say) 'e2e: install Node.js 20 and 22, Deno and Bun for a test of the TypeScript client'
	@NPM='$(NPM)' sh tools/runtimes/install.sh $(@D)
	@touch $@

# The OpenID issuer that the tests of the console sign in with.
.PHONY: bin/issuer
bin/issuer:
	$(say) 'issuer: an OpenID issuer for the tests'
	@cd e2e/issuer && $(GO) build -trimpath -o ../../bin/issuer .

# The end-to-end tests run without the race detector: the service that they call is a program of its own, built
# without it, so that it would find races in the tests only, for a fifth more processor time and more. The tests that
# inject faults, which have the most goroutines, and those of ./auth, which call the code itself, run with it, as
# `make soak` does. With E2E_RACE=-race all of them do.
E2E_RACE ?=

# Builds everything that the end-to-end tests run before the first of them starts.
.PHONY: e2e-programs
e2e-programs: build bin/grpcurl bin/helm bin/issuer .venv/.installed .cache/runtimes/.installed
	$(say) 'e2e: compile the tests'
	@$(GO) build -o bin/docs-watch ./docs/snippets/go/watch
	@$(GO) list $(E2E_RACE) -test -export $(E2E_PACKAGES) >/dev/null
	@$(GO) list -race -test -export ./auth $(WITH_RACE) >/dev/null
	@for module in e2e/deploy e2e/monitoring e2e/operators; do (cd $$module && $(GO) list $(E2E_RACE) -test -export ./... >/dev/null) || exit 1; done

# What an image of this checkout says of its source.
REVISION = $(shell git rev-parse HEAD)$(shell git diff --quiet HEAD || echo -dirty)

# With FIPS=-fips the image has the cryptographic module for FIPS 140, and is dist/image-fips.
FIPS ?=

.PHONY: image
image: console ## Build dist/image, a container image (OCI layout); `make push IMAGE=…` uploads it.
	$(say) 'image$(FIPS): linux/amd64 and linux/arm64'
	@cd tools/release && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(GO) run . image$(FIPS) -source ../.. -output ../../dist -revision '$(REVISION)'

.PHONY: push
push: ## Upload dist/image to IMAGE, such as registry.example.com/kubeconnect:0.1.0.
	@cd tools/release && $(GO) run . push ../../dist/image$(FIPS) '$(IMAGE)'

# The version of the source, which is the only one that a release can have.
VERSION ?= $(shell sed -n 's/^const Number = "\(.*\)"$$/\1/p' internal/version/version.go)

.PHONY: release
release: .venv/.installed ## Write all that users install to dist/VERSION, from the last commit.
	$(say) 'release: $(VERSION)'
	@GO='$(GO)' NPM='$(NPM)' sh tools/release.sh '$(VERSION)' 'dist/$(VERSION)'

##@ Run

.PHONY: run
run: build .venv/.installed ## Serve a demo cluster on 127.0.0.1:8080, or the one of KUBECONFIG.
	@$(GO) build -o bin/demo ./e2e/demo
	@bin/demo

##@ Check

.PHONY: quick
quick: ## Check what has changed since main: formats, vet, unit tests of it and of what depends on it.
	@GO='$(GO)' sh tools/quick.sh

# The packages whose tests need no control plane, without the rules for the repository in its root. The tests of
# the other packages share e2e/kit: they are skipped without E2E=1, but take long to link.
UNIT = $$($(GO) list -f '$(IMPORTS)' ./... | grep -Ev '/e2e/kit|/kubeconnect/kubeconnect ' | cut -d ' ' -f 1)
IMPORTS = {{.ImportPath}} {{.TestImports}} {{.XTestImports}}

.PHONY: unit
unit: console .venv/.installed .cache/wheels/.downloaded ## Run the unit tests of all languages, without the race detector.
	$(say) 'unit: Go'
	@$(GO) test . $(UNIT)
	$(say) 'unit: Python'
	@cd clients/python && KUBECONNECT_WHEELS=../../.cache/wheels ../../.venv/bin/python -m pytest -q
	$(say) 'unit: TypeScript'
	@cd clients && $(NPM) test --silent

.PHONY: test
test: check e2e ## Test everything, from a clean checkout.
	$(say) 'all tests passed'

# The parts of `make check` that run at the same time, JOBS of them: most use one processor. The longest is first.
# Generated code is compared before, because that writes it.
JOBS ?= 2
PARTS = check-go check-python check-ts docs
SYNC = $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

.PHONY: check
check: check-proto ## Run everything except the end-to-end tests.
	@$(MAKE) --no-print-directory --jobs=$(JOBS) $(SYNC) $(PARTS)

.PHONY: check-proto
check-proto: clients/node_modules/.installed .venv/.installed
	$(say) 'proto: lint, format, breaking changes'
	@$(TOOL) buf lint
	@$(TOOL) buf format --diff --exit-code
	@$(TOOL) buf breaking --against '$(AGAINST)'
	$(say) 'proto: check that the generated code is up to date'
	@sh tools/drift.sh

.PHONY: check-go
check-go: vet-go test-go

# The other Go modules, except for that of the control plane, whose build has flags of its own.
MODULES = e2e/deploy e2e/monitoring e2e/operators e2e/issuer tools/release
ERRCHECK = errcheck -exclude $(CURDIR)/tools/errcheck.txt
# What runs for callers, and must end with their calls; not what tests share.
SERVICE_PACKAGES = $$($(GO) list ./auth/... ./cmd/... ./informerhub/... ./internal/... ./server/... | grep -v 'test$$')

.PHONY: vet-go
vet-go: console bin/contextcheck
	$(say) 'go: gofmt, vet, staticcheck, errcheck, contextcheck'
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "run gofmt on: $$unformatted"; exit 1; }
	@$(GO) vet ./...
	@$(TOOL) staticcheck ./...
	@$(TOOL) $(ERRCHECK) ./...
	@bin/contextcheck -test=false $(SERVICE_PACKAGES)
	$(say) 'go: vet of the control plane (the first time this compiles Kubernetes: several minutes)'
	@cd e2e/cluster && $(COMPILE) $(GO) vet $(KUBERNETES_FLAGS) ./...
	$(say) 'go: vet, staticcheck and errcheck of the other modules: $(MODULES)'
	@for module in $(MODULES); do \
		(cd $$module && $(GO) vet ./... && $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./... && \
			$(GO) tool -modfile=$(CURDIR)/tools/go.mod $(ERRCHECK) ./...) || exit 1; done

bin/contextcheck: tools/go.mod tools/go.sum tools/contextcheck/main.go
	@cd tools && $(GO) build -o ../bin/contextcheck ./contextcheck

# What vet finds in tests, vet-go finds. The packages with the longest tests are first, so that the others run
# next to them. The rules for the repository, in its root, start no goroutine: with the race detector they would
# need twenty times as long.
.PHONY: test-go
test-go: console
	$(say) 'go: tests with the race detector'
	@$(GO) test -race -vet=off ./server ./server/... ./informerhub/... ./auth $(UNIT)
	@$(GO) test -vet=off .
	@cd e2e/cluster && $(GO) test -vet=off $(KUBERNETES_FLAGS) ./...
	@cd e2e/deploy && $(GO) test -vet=off ./...
	@cd e2e/monitoring && $(GO) test -vet=off -count=1 ./...
	$(say) 'go: build the image twice (the first time this compiles the service for arm64)'
	@cd tools/release && $(GO) test -vet=off ./...

# Python programs outside of the client.
PROGRAMS = ../../e2e/callers/python ../../bench/python ../../bench/drills
# The Python programs of the documentation, which have a ruff.toml of their own.
SNIPPETS = ../../docs/snippets/python

.PHONY: check-python
check-python: .venv/.installed .cache/wheels/.downloaded
	$(say) 'python: ruff, mypy, tests'
	@cd clients/python && ../../.venv/bin/ruff check --config pyproject.toml . $(PROGRAMS)
	@cd clients/python && ../../.venv/bin/ruff format --check --config pyproject.toml . $(PROGRAMS)
	@cd clients/python && ../../.venv/bin/ruff check $(SNIPPETS) && ../../.venv/bin/ruff format --check $(SNIPPETS)
	@cd clients/python && ../../.venv/bin/mypy
	@cd clients/python && for programs in $(PROGRAMS) $(SNIPPETS); do ../../.venv/bin/mypy --config-file pyproject.toml $$programs || exit 1; done
	@cd clients/python && KUBECONNECT_WHEELS=../../.cache/wheels ../../.venv/bin/python -m pytest -q

.PHONY: check-pythons
check-pythons: .venv/.installed ## Test the Python client with each installed version of Python.
	$(say) 'python: tests with the other versions of Python that are installed'
	@sh tools/pythons.sh

.PHONY: check-ts
check-ts: console
	$(say) 'typescript: tsc, eslint, prettier, tests'
	@cd clients && $(NPM) run --silent check
	@cd clients && $(NPM) test --silent

# Builds the release of the last commit twice, and tests what users install from it.
.PHONY: check-release
check-release: e2e-programs .cache/wheels/.downloaded ## Build a release twice, install its packages in empty folders, and use them.
	@$(MAKE) --no-print-directory release
	@GO='$(GO)' NPM='$(NPM)' sh tools/release.sh '$(VERSION)' dist/again
	$(say) 'release: compare both builds'
	@diff dist/$(VERSION)/SHA256SUMS dist/again/SHA256SUMS
	$(say) 'release: install the wheel, the sdist and the npm package'
	@cd clients/python && KUBECONNECT_DIST=../../dist/$(VERSION) KUBECONNECT_WHEELS=../../.cache/wheels \
		../../.venv/bin/python -m pytest -q tests/test_package_build.py
	@KUBECONNECT_DIST=$(CURDIR)/dist/$(VERSION) CHROMIUM=$$(sh tools/browser.sh) E2E=1 \
		$(GO) test -count=1 -timeout $(call minutes,10) -run TestPackage ./e2e/clients
	$(say) 'release: the binary for FIPS 140, with approved algorithms only'
	@rm -rf .cache/fips && mkdir -p .cache/fips
	@tar -xzf dist/$(VERSION)/kubeconnect_$(VERSION)_fips_linux_$$($(GO) env GOARCH).tar.gz -C .cache/fips
	@.cache/fips/kubeconnect version | grep 'FIPS 140 module v'
	@KUBECONNECT_BIN=$(CURDIR)/.cache/fips/kubeconnect E2E=1 \
		$(GO) test -count=1 -timeout $(call minutes,10) -run TestFIPS ./e2e/permissions

# With E2E_PATIENCE=N tests wait N times as long before they fail. The default depends on the
# machine, see e2e/harness/patience.go. The timeout of a test package is multiplied by it too.
minutes = $(shell awk -v minutes=$(1) -v patience='$(E2E_PATIENCE)' \
	'BEGIN { patience += 0; printf "%.0fm", minutes * (patience > 1 ? patience : 1) }')

# The packages of the end-to-end tests, except for those that run with the race detector in any case.
E2E_PACKAGES = $$($(GO) list -f '$(IMPORTS)' ./e2e/... | grep ' .*/e2e/kit' | cut -d ' ' -f 1 | grep -v '$(WITH_RACE:./%=/%)$$')
WITH_RACE = ./e2e/faults
TEST_E2E = E2E=1 $(GO) test -vet=off -count=1
# The packages with the longest tests, which start first.
LONGEST = ./e2e/clients ./e2e/limits ./e2e/scenarios ./e2e/queries

.PHONY: e2e
e2e: e2e-programs ## Run the end-to-end tests: real cluster, real clients, a real browser.
	@$(MAKE) --no-print-directory --jobs=$(E2E_JOBS) $(SYNC) e2e-main e2e-others

# Two packages at a time. With E2E_JOBS=2, one of e2e-others runs next to them: that takes a quarter less time, because
# tests wait for most of their time, and makes two processors so busy that calls can take seconds.
E2E_JOBS ?= 1
.PHONY: e2e-main
e2e-main:
	$(say) 'e2e: real clients against a real control plane'
	@CHROMIUM=$$(sh tools/browser.sh) $(TEST_E2E) $(E2E_RACE) -p 2 -timeout $(call minutes,30) $(LONGEST) $(E2E_PACKAGES)

.PHONY: e2e-others
e2e-others:
	$(say) 'e2e: with the race detector: faults, and the tests of auth with a real API server'
	@$(TEST_E2E) -race -timeout $(call minutes,30) $(WITH_RACE)
	@$(TEST_E2E) -race -timeout $(call minutes,10) -run '^TestReal' ./auth
	$(say) 'e2e: the Helm chart and its permissions, against a real API server'
	@cd e2e/deploy && $(TEST_E2E) $(E2E_RACE) -timeout $(call minutes,20) ./...
	$(say) 'e2e: an operator that is built with controller-runtime'
	@cd e2e/operators && $(TEST_E2E) $(E2E_RACE) -timeout $(call minutes,10) .
	$(say) 'e2e: the alerts and the dashboard, with injected faults'
	@cd e2e/monitoring && $(TEST_E2E) $(E2E_RACE) -timeout $(call minutes,10) ./alerts

# What the tests of Kubernetes call: apiserver, which is the baseline, or kubeconnect, a service in front of it.
TARGET ?= apiserver
# A regular expression that narrows the tests, such as Watchers.
FOCUS ?=

.PHONY: e2e-upstream
e2e-upstream: build upstream-e2e ## Run Kubernetes' own tests of its API against TARGET (apiserver, or kubeconnect).
	$(say) "e2e: Kubernetes' own tests, against $(TARGET)"
	@UPSTREAM_E2E_TARGET='$(TARGET)' UPSTREAM_E2E_FOCUS='$(FOCUS)' $(TEST_E2E) -v -timeout $(call minutes,60) ./e2e/conformance

# The previous version of Kubernetes, and the tests that depend most on the API server.
PREVIOUS = 1.36
WITH_PREVIOUS = ./auth ./e2e/permissions ./e2e/queries ./e2e/scenarios ./e2e/transport ./e2e/writes

.PHONY: e2e-previous
e2e-previous: e2e-programs ## Run end-to-end tests with the previous version of Kubernetes, and upgrade it.
	@$(MAKE) --no-print-directory devcluster KUBERNETES=$(PREVIOUS)
	$(say) 'e2e: real clients against a control plane with Kubernetes $(PREVIOUS)'
	@DEVCLUSTER_BIN=$(CURDIR)/bin/devcluster-$(PREVIOUS) CHROMIUM=$$(sh tools/browser.sh) E2E=1 \
		$(GO) test -race -count=1 -p 2 -timeout $(call minutes,30) $(WITH_PREVIOUS)
	$(say) 'e2e: upgrade from Kubernetes $(PREVIOUS)'
	@E2E=1 $(GO) test -race -count=1 -timeout $(call minutes,10) -run '^TestUpgrade_' ./e2e/faults

# The versions of Kubernetes that e2e-versions tests, besides that of e2e/cluster/go.mod. They are exact, because their
# modules are.
VERSIONS = 1.36.1 1.35.4 1.34.3 1.33.5

.PHONY: e2e-versions
e2e-versions: e2e-programs ## Run end-to-end tests with each version of VERSIONS; builds each control plane first, in ten minutes and more.
	@for version in $(VERSIONS); do $(MAKE) --no-print-directory e2e-version KUBERNETES_PATCH=$$version || exit 1; done

# The minor version of KUBERNETES_PATCH, which names its go.mod.
KUBERNETES_MINOR = $(basename $(KUBERNETES_PATCH))

.PHONY: e2e-version
e2e-version:
	@grep -qs 'k8s.io/kubernetes v$(KUBERNETES_PATCH)$$' e2e/cluster/go.$(KUBERNETES_MINOR).mod || GO='$(GO)' sh tools/kubernetes.sh $(KUBERNETES_PATCH)
	@$(MAKE) --no-print-directory devcluster KUBERNETES=$(KUBERNETES_MINOR)
	$(say) 'e2e: real clients against a control plane with Kubernetes $(KUBERNETES_PATCH)'
	@DEVCLUSTER_BIN=$(CURDIR)/bin/devcluster-$(KUBERNETES_MINOR) CHROMIUM=$$(sh tools/browser.sh) E2E=1 \
		$(GO) test -count=1 -p 2 -timeout $(call minutes,30) $(WITH_PREVIOUS)

# The duration of each fuzz target.
FUZZ ?= 1m

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZ (1m).
	$(say) 'fuzz: each target for $(FUZZ)'
	@sh tools/fuzz.sh $(FUZZ)

.PHONY: advisories
advisories: console ## Check the service for known vulnerabilities; GOVULNDB is the URL of a copy of the database.
	$(say) 'advisories: check for known vulnerabilities'
	@GO='$(GO)' sh tools/advisories.sh

##@ Measure

.PHONY: coverage
coverage: build ## Write docs/coverage.md: every resource and verb, compared with client-go.
	@UPDATE=1 E2E=1 $(GO) test -race -count=1 -timeout $(call minutes,10) ./e2e/coverage

.PHONY: informers
informers: e2e-programs ## Write docs/informers.md: stores that follow the cluster, compared with client-go's.
	@UPDATE=1 E2E=1 SOAK=1m $(GO) test -race -count=1 -timeout $(call minutes,20) ./e2e/informer

.PHONY: bench
bench: build .venv/.installed bench-python ## Compare the service with the alternatives that callers have; takes about twenty minutes.
	@$(GO) run ./bench

# The service whose callers `make attacks` and `make drills` measure, such as that of another checkout.
SERVICE ?= bin/kubeconnect

.PHONY: attacks
attacks: build ## Measure what one caller does to another, with the service of SERVICE; takes about ten minutes.
	@$(GO) run ./bench/attacks -service '$(SERVICE)'

# The checkout with the clients of `make drills`.
CLIENTS ?= .

.PHONY: drills
drills: build .venv/.installed ## Measure what callers see while something fails, with SERVICE and the clients of CLIENTS; takes about twelve minutes.
	@$(GO) run ./bench/drills -service '$(SERVICE)' -clients '$(CLIENTS)'

.PHONY: sizing
sizing: build ## Write docs/sizing.md: what a service needs, against simulated clusters; takes about twenty minutes.
	@$(GO) run ./bench -only sizing

.PHONY: sizing-page
sizing-page: ## Write docs/sizing.md again from the figures that were measured last.
	@$(GO) run ./bench sizing-page

# The Python clients that the bench compares, in an environment of their own.
.PHONY: bench-python
bench-python: .cache/bench-python/.installed

.cache/bench-python/.installed: bench/python/requirements.txt clients/python/pyproject.toml
	$(say) 'bench: install the Python clients that are compared'
	@$(PYTHON3) -m venv .cache/bench-python
	@.cache/bench-python/bin/python -m pip install --quiet --disable-pip-version-check -r bench/python/requirements.txt -e clients/python
	@touch $@

# The duration of random faults in `make soak`, which runs the tests that depend on SOAK: they run longer
# than in `make e2e`, with more rounds, or only here.
SOAK ?= 10m

.PHONY: soak
soak: e2e-programs ## Inject random faults for SOAK (10m), then single faults; every stream is validated.
	@tests=$$($(GO) run ./e2e/soaktests) && \
		E2E=1 SOAK=$(SOAK) $(GO) test -race -count=1 -v -p 1 -timeout 0 -run "$$tests" ./e2e/...

##@ Write

.PHONY: generate
generate: clients/node_modules/.installed .venv/.installed ## Regenerate the code from proto/ and the version of Kubernetes.
	@$(TOOL) buf generate
	@cd clients/python && ../../.venv/bin/python generate.py
	@cd clients && $(NPM) run --silent generate

.PHONY: chart
chart: ## Write the README of the chart from the comments of values.yaml.
	@cd e2e/deploy && UPDATE=1 $(GO) test -count=1 -run TestReadme .

.PHONY: dashboard
dashboard: ## Write the dashboard for Grafana that the chart installs.
	@cd e2e/monitoring && UPDATE=1 $(GO) test -count=1 -run TestDashboard_IsGenerated .

ADDRESS ?= http://127.0.0.1:8080
# The tests that bring the console into the states that the cluster of `make run` does not have.
STATES = TestConsole_IsAccessibleWithoutPermissions|TestConnection_SaysThatTheDataIsOutdated

.PHONY: screenshots
screenshots: clients/node_modules/.installed ## Write docs/screenshots from the cluster of `make run`, which serves at ADDRESS.
	@mkdir -p docs/screenshots
	@CHROMIUM=$$(sh tools/browser.sh) node e2e/callers/console/shots.mjs $(ADDRESS) docs/screenshots
	@CHROMIUM=$$(sh tools/browser.sh) E2E=1 $(GO) test -count=1 -run '$(STATES)' ./e2e/console
	@for state in forbidden-table stale-object; do \
		cp e2e/artifacts/$$state-desktop-light.png docs/screenshots/$$state.png; done
	@cd e2e/monitoring && UPDATE=1 E2E=1 $(GO) test -count=1 -run TestOrdinaryDay ./alerts

# MkDocs and its theme, in an environment of their own.
.cache/site-env/.installed: tools/site/requirements.txt
	$(say) 'docs: install what builds the site'
	@$(PYTHON3) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# The theme announces its successor in each build.
MKDOCS = NO_MKDOCS_2_WARNING=1 .cache/site-env/bin/mkdocs

.PHONY: docs
docs: references ## Write the site of the documentation, with the references of the clients, to .cache/site.
	$(say) 'docs: build the site; a link that leads nowhere fails'
	@$(MKDOCS) build

.PHONY: docs-serve
docs-serve: references ## Serve the site of the documentation on 127.0.0.1:8000, and build it again when a page changes.
	@$(MKDOCS) serve

.PHONY: references
references: .venv/.installed .cache/site-env/.installed clients/node_modules/.installed
	@cd clients/python && ../../.venv/bin/python reference.py ../../.cache/docs/python
	@cd clients && $(NPM) run --silent docs --workspace=ts

.PHONY: format
format: clients/node_modules/.installed .venv/.installed ## Format everything.
	@$(TOOL) buf format -w
	@gofmt -w $$(git ls-files '*.go')
	@cd clients/python && ../../.venv/bin/ruff format .
	@cd clients && $(NPM) run --silent format

.PHONY: clean
clean: ## Remove everything that was built or installed here.
	rm -rf bin dist .cache .venv .run clients/node_modules clients/*/node_modules clients/ts/dist clients/web/dist/*
