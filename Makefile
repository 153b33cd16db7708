# What people and CI run. It needs python3 (3.11 or newer, with venv) and make, nothing else.
#
#   make plan        plan an example over the recorded prices, offline
#   make test        every check: format, lint, types, import contracts, tests
#   make test-long   the tests that take minutes
#   make interop     the packages that our exports are for read them (CHECKS names some)
#   make accuracy    errors of the estimates against public measurements: docs/accuracy.md
#   make bench       times and sizes of the program on the examples and on generated instances
#                    (docs/benchmarks/program.md), times of the catalog and of sizing; it takes
#                    up to 45 minutes, and goes on where it was stopped
#   make bench-peers our plan beside other ways to buy (docs/benchmarks/peers.md), up to an hour:
#                    INSTANCES="company small:5" for some, AGAIN=1, PLANS=folder to keep the plans
#   make bench-one   one generated instance: SIZE=small|medium|large|huge SEED=n, also SCALE=8,
#                    GAP=0.01, TIME=600 (seconds), AGAIN=1; a run that is known is not done again;
#                    MOVED=0.03 moves prices, KNOWN=300 begins from a plan of so many seconds before
#   make docs        write the generated parts of the docs anew
#   make lock        resolve requirements.lock and the pins of the interop check anew (needs uv)

PYTHON ?= python3
WORKLOADS ?= broker/examples/70b-two-continents.yaml
SIZE ?= small
SEED ?= 1
BIN := .venv/bin
ONE = $(BIN)/python tools/bench_program.py $(if $(AGAIN),--again)
PEERS = $(BIN)/python tools/bench_peers.py $(if $(AGAIN),--again) $(if $(PLANS),--plans $(PLANS))
LOCKED := .venv/.locked
READY := .venv/.ready

unexport PYTHONDONTWRITEBYTECODE # else each process that tests start compiles our code anew

.PHONY: plan test test-long interop lint accuracy bench bench-one bench-peers docs lock clean

plan: $(READY)
	@$(BIN)/gpubroker plan $(WORKLOADS) --recorded

test: lint
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long"

test-long: $(READY)
	@$(BIN)/pytest -m long || test $$? -eq 5 # 5: there are none

interop: $(READY)
	@PYTHONPATH=tests/support $(BIN)/python tools/interop.py $(CHECKS)

lint: $(READY)
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

accuracy: $(READY)
	@$(BIN)/python tools/accuracy/report.py

bench: $(READY)
	@$(BIN)/python tools/bench.py
	@$(BIN)/python tools/bench_catalog.py
	@$(BIN)/python tools/bench_sizing.py
	@for seed in 1 2 5; do $(ONE) small --seed $$seed || exit 1; done
	@for seed in 1 2 5; do $(ONE) small --scale 8 --seed $$seed || exit 1; done
	@for seed in 1 2 5; do $(ONE) medium --time-limit 480 --seed $$seed || exit 1; done

bench-one: $(READY)
	@$(ONE) $(SIZE) --seed $(SEED) $(if $(SCALE),--scale $(SCALE)) $(if $(GAP),--gap $(GAP)) \
		$(if $(TIME),--time-limit $(TIME)) $(if $(MOVED),--prices-moved $(MOVED)) \
		$(if $(KNOWN),--known-plan-s $(KNOWN))

bench-peers: $(READY)
	@$(PEERS) $(INSTANCES)

docs: $(READY)
	@$(BIN)/python tools/generate_docs.py

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header

lock:
	$(LOCK) --group dev pyproject.toml -o requirements.lock
	for pins in tools/interop/*.in; do $(LOCK) $$pins -o $${pins%.in}.txt; done

clean:
	rm -rf .venv dist

# The environment is made anew where the lock has changed; the project is put into it where its
# own metadata has. Both say so on stderr, as stdout belongs to the command.

$(LOCKED): requirements.lock
	@$(PYTHON) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11, or lacks venv (Debian: python3-venv)" >&2; \
		echo "hint: name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "making .venv from requirements.lock ..." >&2
	@rm -rf .venv
	@$(PYTHON) -m venv .venv >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		--require-hashes -r requirements.lock >&2
	@touch $@

$(READY): $(LOCKED) pyproject.toml
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		--no-deps --no-build-isolation -e . >&2
	@touch $@
