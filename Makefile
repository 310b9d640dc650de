# One command for each thing: `make help` lists them.
# Everything is installed into .venv from the hashed locks in requirements/. A stamp file, written
# last, marks it as done, so that a set-up is quick if nothing has changed.

PYTHON ?= python3
# More processes than cores, because many tests wait for a time or a process; but each one collects
# all tests and starts servers of its own.
JOBS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 2)")
ARGS ?=
LOAD ?=
PACKAGES := ojs_wire ojs_server ojs_ui ojs_worker ojs_django ojs_starlette ojs_cli pytest_ojs conformance benchmarks
PROTOS := ojs_server/grpc/proto ojs_server/systems/zeebe/grpc/proto
# Further versions of Python; the oldest one runs all tests.
PYTHONS := 3.12 3.13
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)

# Overrides the environment, so that the many short processes of a test run do not compile
# everything again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup postgres nginx mariadb run demo demo-ui screenshots recordings test test-distribution test-oldest test-pythons test-schemathesis browser test-browser clients test-clients bench bench-check bench-long bench-budgets proto openapi reference dist conformance-pyz lint format check conformance apart faults mutants chaos simulate fuzz lock clean again
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile
	@echo "  variables: PYTHON=python3.13 chooses the Python, JOBS=4 the test processes, ARGS=... is passed on"

setup: $(VENV)/.dev postgres ## Install everything for checking and testing into .venv

postgres: $(VENV)/.dev ## Install the distribution's PostgreSQL, which tests start, where apt-get has it
	@$(BIN)/python -m tests.postgres_programs || sh requirements/postgres.sh

run: $(VENV)/.run ## Start the server on the embedded store (ARGS="--help" shows its options)
	$(BIN)/ojs-server $(ARGS)

demo-ui: $(VENV)/.run ## Run a small shop that moves, and serve its dashboard (ARGS="--port 8080")
	$(BIN)/python -m demo.dashboard $(ARGS)

screenshots: $(VENV)/.dev browser ## Take the pictures of the documentation from that shop
	$(BIN)/python -m demo.screenshots $(ARGS)

recordings: $(VENV)/.dev ## Record the command line for the documentation, in that shop
	$(BIN)/python -m demo.recordings $(ARGS)

demo: $(VENV)/.run ## Play a hand-over: a worker ends in the middle of 200 jobs, another one finishes them
	$(BIN)/python -m demo.handover $(ARGS)

nginx: ## Unpack the distribution's nginx, which tests start, where apt-get has it
	@command -v nginx >/dev/null || test -x build/nginx/usr/sbin/nginx || sh requirements/nginx.sh

mariadb: ## Unpack the distribution's MariaDB, which tests start, where apt-get has it
	@command -v mariadbd >/dev/null || test -x build/mariadb/usr/sbin/mariadbd || sh requirements/mariadb.sh

test: $(VENV)/.dev postgres nginx mariadb ## Run the whole test suite on both stores (ARGS="-k claim" selects)
	@$(BIN)/python -m compileall -q $(PACKAGES)  # once, and not in each test process
	$(BIN)/pytest --numprocesses=$(JOBS) --dist=worksteal --durations=10 $(ARGS)

test-distribution: export OJS_TEST_POSTGRES_BIN := distribution
test-distribution: $(VENV)/.dev postgres ## Run on the distribution's PostgreSQL what is made for it, the contract suite, the end-to-end tests and other systems
	@$(BIN)/python -m compileall -q $(PACKAGES)
	$(BIN)/pytest --numprocesses=$(JOBS) --dist=worksteal --durations=10 -m "store_distribution and not schemathesis" $(ARGS)
	# Then the tests for any PostgreSQL, except those that have just run.
	$(BIN)/pytest --numprocesses=$(JOBS) --dist=worksteal --durations=10 \
		-m "store_postgres and not store_distribution" tests/store tests/e2e $(ARGS)

# Tests that use each of the required packages: on SQLite, and of the driver on PostgreSQL.
test-oldest: build/oldest/.ready ## Run tests with the oldest versions that pyproject.toml allows
	PYTHONPATH=$(CURDIR) build/oldest/bin/python -m pytest --numprocesses=$(JOBS) -p no:cacheprovider \
		-m "not store_postgres and not store_distribution" tests/wire tests/connection tests/http/system \
		tests/http/schemas tests/http/streams tests/systems/jobmanager/socketio tests/grpc/test_ojs_v1.py tests/terminal/test_output.py \
		tests/django \
		$(patsubst %,tests/e2e/test_%.py,start stop sockets plain_uvicorn websocket) tests/conformance/verdicts/test_contract.py \
		$(patsubst %,tests/worker/test_%.py,servers encryption compression otel) tests/worker/outbox/test_sending.py \
		$(patsubst %,tests/worker/transport/test_%.py,transport tls direct) $(ARGS)
	PYTHONPATH=$(CURDIR) build/oldest/bin/python -m pytest --numprocesses=$(JOBS) -p no:cacheprovider \
		-m "store_postgres and not store_distribution" tests/e2e/test_start.py \
		$(patsubst %,tests/store/postgres/test_%.py,arrays commit connect failures floors listen outcomes pipe pooled silence) $(ARGS)

# Units and contracts, on SQLite; the tests of Django, which is there in its newest version; and the
# conformance suite as one file, with each Python.
test-pythons: $(VENV)/.dev ## Run the tests of units and contract, and those of Django 6, with the other versions of Python, and the suite as one file
	@for version in $(PYTHONS); do \
		python=$$(sh requirements/python.sh $$version) || { \
			echo "NOT RUN: the tests with Python $$version, which is not here" >&2; continue; }; \
		$(MAKE) --no-print-directory PYTHON=$$python build/python$$version/.ready || exit 1; \
		PYTHONPATH=$(CURDIR) build/python$$version/bin/python -m pytest --numprocesses=$(JOBS) -p no:cacheprovider \
			-m "not store_postgres and not store_distribution" tests/domain tests/wire tests/store/contract $(ARGS) || exit 1; \
		PYTHONPATH=$(CURDIR) build/python$$version/bin/python -m pytest --numprocesses=$(JOBS) -p no:cacheprovider \
			tests/django $(ARGS) || exit 1; \
	done
	$(BIN)/pytest -m pythons tests/packaging $(ARGS)

build/oldest/.ready: requirements/oldest.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	@touch $@

build/python%/.ready: requirements/units.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	@touch $@

test-schemathesis: $(VENV)/.dev postgres ## Have schemathesis play the contract on both stores
	@$(BIN)/python -m compileall -q $(PACKAGES)
	$(BIN)/pytest --numprocesses=$(JOBS) -m schemathesis tests/openapi $(ARGS)

browser: ## Install Chromium, where apt-get has it
	@command -v chromium >/dev/null || sh requirements/browser.sh

test-browser: $(VENV)/.dev postgres browser ## See the dashboard in Chromium on both stores, and what pages of other origins can do
	$(BIN)/pytest --numprocesses=$(JOBS) --dist=worksteal -m browser tests/browser $(ARGS)

clients: build/clients/jobmanager/.ready build/clients/pyzeebe/.ready build/clients/node/.ready ## Install the published clients of other systems, each in an environment of its own

test-clients: $(VENV)/.dev postgres clients ## Run published clients of other systems against the server, and judge the example workers
	$(BIN)/pytest --numprocesses=$(JOBS) -m clients tests/clients $(ARGS)

build/clients/%/.ready: requirements/clients/%.txt $(VENV)/.created
	$(PYTHON) -m venv --clear build/clients/$*
	build/clients/$*/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	@touch $@

# If it cannot be installed, its tests report that.
build/clients/node/.ready: requirements/clients/package.json requirements/clients/package-lock.json
	@mkdir -p $(@D)
	@cp $^ $(@D)
	-cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch .ready

bench: $(VENV)/.dev ## Measure the hot calls beside the floor, a fleet and a flood, on both stores (LOAD=load generator)
	$(BIN)/python -m benchmarks.throughput --load "$(LOAD)" --peer $(ARGS)
	$(BIN)/python -m benchmarks.budgets steady overload

bench-check: $(VENV)/.dev ## Fail where the hot calls have become slower beside the floor (LOAD=load generator)
	$(BIN)/python -m benchmarks.throughput --load "$(LOAD)" --check $(ARGS)

bench-long: $(VENV)/.dev ## Measure FETCH beside a million waiting jobs, and ten minutes of work, on both stores (40 minutes)
	$(BIN)/python -m benchmarks.budgets depth soak

bench-budgets: $(VENV)/.dev ## Fail where a budget is not kept (ARGS="gateway jobs=50"); list all budgets without ARGS
	$(BIN)/python -m benchmarks.budgets $(ARGS)

proto: $(VENV)/.dev ## Make the modules of messages anew from the .proto files
	for place in $(PROTOS); do $(BIN)/python -m grpc_tools.protoc --proto_path=$$place \
		--python_out=$$place --pyi_out=$$place $$place/*.proto || exit 1; done
	$(BIN)/python -m grpc_tools.protoc $(PROTOS:%=--proto_path=%) --include_imports \
		--descriptor_set_out=conformance/rpc/messages.binpb $(PROTOS:%=%/*.proto)

openapi: $(VENV)/.dev ## Write openapi.yaml from its parts in openapi/
	$(BIN)/python -m tests.openapi

reference: $(VENV)/.dev ## Write docs/reference/ from the docstrings and signatures of the SDK, and the tables of the nouns of ojs
	$(BIN)/python -m tests.reference

lint: $(VENV)/.dev ## Check format, lint rules, types, first words of comments, and names
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(PACKAGES) demo examples tests requirements/sbom.py requirements/one_file.py requirements/one_file_start.py
	$(BIN)/python -m tests.words $(PACKAGES) demo examples tests docs requirements .ci/run Makefile $(wildcard *.toml)

format: $(VENV)/.dev ## Rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test ## Lint and test before a change is handed in, with a tenth of the planted faults, a few mutants, and a minute of simulation
	$(BIN)/python -m tests.faulty --tenth today
	$(BIN)/python -m tests.mutants --count 20 --tenth today
	$(BIN)/python -m tests.simulation --seeds 0:90

conformance: $(VENV)/.dev ## Judge the server on both stores, over HTTP and gRPC, and the worker; reports in build/conformance
	$(BIN)/python -m tests.e2e.judged sqlite postgres worker over-grpc $(ARGS)

apart: $(VENV)/.dev ## Play each own case on a fresh server, in random order (ARGS="SEED" repeats an order)
	$(BIN)/python -m tests.e2e.judged sqlite --apart $(ARGS)

faults: $(VENV)/.dev ## Plant each known fault and see that the conformance suite catches it (ARGS="NAME" selects)
	$(BIN)/python -m tests.faulty $(ARGS)

mutants: $(VENV)/.dev ## Change the domain's rules in 200 small ways, and see that the conformance suite catches it (ARGS="--count 20")
	$(BIN)/python -m tests.mutants $(ARGS)

chaos: $(VENV)/.dev ## Kill PostgreSQL and nodes under load, strike the files of SQLite, and account for every job (ARGS="--help" shows its options)
	nice $(BIN)/python -m tests.chaos $(ARGS)

simulate: $(VENV)/.dev ## Simulate whole systems in virtual time, seed by seed (ARGS="--help" shows its options)
	nice $(BIN)/python -m tests.simulation $(ARGS)

fuzz: $(VENV)/.dev ## Send raw bytes that are hardly HTTP, at every place of openapi.yaml (ARGS="--help" shows its options)
	nice $(BIN)/python -m tests.fuzz $(ARGS)

# The time of the last commit, so that the same sources always give the same files.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: $(VENV)/.dev ## Build the source distribution, the wheel, and the list of their components (SBOM), in dist/
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python requirements/sbom.py requirements/run.txt >dist/components.cdx.json

conformance-pyz: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
conformance-pyz: $(VENV)/.dev ## Build the conformance suite as one file for CPython on Linux, dist/ojs-conformance.pyz (ARGS="cp311-x86_64" selects)
	$(BIN)/python requirements/one_file.py dist/ojs-conformance.pyz $(ARGS)

lock: ## Renew the locks within pyproject.toml's ranges (needs uv; ARGS=--upgrade for newer versions)
	$(COMPILE) --extra server --extra conformance pyproject.toml requirements/build.in \
		--output-file requirements/run.txt
	$(COMPILE) --extra conformance pyproject.toml --constraint requirements/run.txt \
		--output-file requirements/conformance.txt
	$(COMPILE) --all-extras pyproject.toml requirements/build.in requirements/dev.in \
		--constraint requirements/run.txt --output-file requirements/dev.txt
	$(COMPILE) --extra server --extra django pyproject.toml requirements/units.in --constraint requirements/dev.txt \
		--output-file requirements/units.txt
	$(COMPILE) --resolution lowest-direct --all-extras pyproject.toml requirements/oldest.in \
		--output-file requirements/oldest.txt
	$(COMPILE) requirements/clients/jobmanager.in --output-file requirements/clients/jobmanager.txt
	$(COMPILE) requirements/clients/pyzeebe.in --output-file requirements/clients/pyzeebe.txt
	cd requirements/clients && npm install --package-lock-only --ignore-scripts --no-audit --no-fund \
		--omit-lockfile-registry-resolved

clean: ## Remove the environment and all caches
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The environment is created again after an interrupted installation.
$(VENV)/.created: $(if $(wildcard $(VENV)/.unfinished),again)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, and $(PYTHON) is missing or older;" \
			"name one: make PYTHON=python3.13" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.%: requirements/%.txt pyproject.toml $(VENV)/.created
	@touch $(VENV)/.unfinished
	$(PIP) install --require-hashes --requirement $<
	@rm $(VENV)/.unfinished
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
