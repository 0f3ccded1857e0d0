# Two commands are enough on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
export PYTHONDONTWRITEBYTECODE ?= 1

.PHONY: help demo test fast sweep simulate live lint format bench bench-kernel soak clean requirements

help:
	@echo "make demo    the main job, killed in the middle and started again (no key; no network but to install)"
	@echo "make test    every test, sweeps as samples"
	@echo "make sweep   the crash sweeps, whole"
	@echo "make simulate  ten thousand drawn worlds, under virtual time (SEEDS=1..500)"
	@echo "make live    the errors of real client libraries, raised on loopback (its own environment)"
	@echo "make lint    formatter, linter, type checkers, import direction"
	@echo "make bench   the suite of benchmarks, beside the limits and five peers (some 30 minutes)"
	@echo "make soak    sessions, faults and kills at full speed (MINUTES=30)"
	@echo "make fast    the quick tests; make format: formatter and fixes; make clean: no environments"

# The environment is rebuilt when the pinned requirements change.
.venv/.stamp: .ci/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement .ci/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/.lint: .venv/.stamp .ci/lint.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement .ci/lint.txt
	@touch $@

demo: .venv/.stamp
	$(BIN)/ukemi demo

# Tests start hundreds of processes. What is compiled is kept, apart from the sources, so that it is
# compiled once.
PYTEST := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/.venv/bytecode $(BIN)/python -m pytest

# Side by side on all cores; what asserts real time runs alone.
SPREAD := --numprocesses auto --maxprocesses 8 --dist worksteal

test: .venv/.stamp
	$(PYTEST) $(SPREAD) -m "not sweep and not realtime"
	$(PYTEST) -m "realtime and not sweep"

fast: .venv/.stamp
	$(PYTEST) $(SPREAD) -m "not slow and not realtime"

sweep: .venv/.stamp
	$(PYTEST) $(SPREAD) -m sweep

# Worlds drawn from seeds: the whole runtime under virtual time. WORLD=FILE lives one that a report
# has written; MUTANT=NAME lives them in a build that is broken on purpose.
SEEDS ?= 1..10000
simulate: .venv/.stamp
	PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/tests/support $(BIN)/python -m worlds \
		$(if $(WORLD),--world $(WORLD),$(SEEDS)) $(if $(MUTANT),--mutant $(MUTANT))

# Real libraries raise real errors on loopback, and each is classified. A case whose library is not in
# the environment is skipped and named; PostgreSQL's need UKEMI_ERRORS_PG=host:port.
LIVE := tests/data/errors/live
.venv-live/.stamp: .ci/live.txt
	$(PYTHON) -m venv .venv-live
	.venv-live/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement .ci/live.txt
	.venv-live/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

live: .venv-live/.stamp
	UKEMI_CLASSIFY=adapter:class_name PYTHONPATH=$(LIVE) .venv-live/bin/python -m pytest -q -rs -W ignore -p no:cacheprovider -c /dev/null --rootdir $(LIVE) $(LIVE)/live_errors.py

lint: .venv/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# All workloads beside the limits and the peers, which it installs into .venv-peers-agents.
bench: .venv/.stamp
	$(BIN)/python -m benchmarks suite --minutes 28

# Beside pykka and xoscar, which it installs into .venv-peers.
bench-kernel: .venv/.stamp
	$(BIN)/python -m benchmarks kernel

# MINUTES=5 for less.
MINUTES ?= 30
soak: .venv/.stamp
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

# Pins with hashes and no index address; needs uv.
requirements:
	uv pip compile --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --group dev pyproject.toml -o .ci/requirements.txt
	uv pip compile --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --group lint --group dev pyproject.toml -o .ci/lint.txt
	uv pip compile --universal --generate-hashes --no-header --no-annotate --no-emit-index-url .ci/live.in -o .ci/live.txt

clean:
	rm -rf .venv .venv-live .venv-peers .venv-peers-agents build dist *.egg-info
