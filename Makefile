# Two commands matter: `make run` serves the dashboard, `make test` checks everything. `make help` lists the rest.
# Needs python3 (3.11 or newer) with its venv module, and make; `make test` also needs Chromium, and fetches Debian's
# when it may; it skips what needs redis-server where there is none and it may not fetch it. Everything else goes into
# $(VENV). Variables: PYTHON, VENV, OFFGRID_* (see README.md).

VENV ?= .venv
PYTHON ?=
PYTEST_ARGS ?=

python := $(VENV)/bin/python
engine := $(wildcard offgrid/engine/*.py)

# pip says only what matters, the same on every machine.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help run worker test unit check audit format install install-redis install-dev warm browser redis clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: install warm ## install what is needed and serve the dashboard on http://127.0.0.1:8050
	@exec $(python) app.py

worker: install-redis warm ## carry out searches for the servers that share the Redis server in OFFGRID_REDIS_URL
	@exec $(python) -m services.worker

test: install-dev warm browser redis check ## install what is needed, then every check and every test
	@$(python) -m pytest $(PYTEST_ARGS)

unit: install-dev warm check ## the checks, and the tests that need no browser
	@$(python) -m pytest -m "not browser" $(PYTEST_ARGS)

check: install-dev ## ruff, mypy and import-linter
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy
	@$(VENV)/bin/lint-imports

audit: $(VENV)/bin/pip ## look for known weaknesses in the pinned versions (asks a service on the web)
	@$(python) -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install -qq pip-audit
	@for file in requirements.txt requirements-dev.txt; do \
	    echo "Auditing $$file"; \
	    $(VENV)/audit/bin/pip-audit --requirement $$file --no-deps --disable-pip --strict --progress-spinner off || failed=1; \
	done; \
	if [ -n "$$failed" ]; then \
	    echo "The audit found something, or could not ask. docs/security.md says what to do in either case." >&2; exit 1; \
	fi

format: install-dev ## let ruff mend what it can
	@$(python) -m ruff check --fix .
	@$(python) -m ruff format .

install: $(VENV)/.requirements ## the virtual environment with requirements.txt

install-redis: $(VENV)/.requirements-redis ## the same with requirements-redis.txt

install-dev: $(VENV)/.requirements-dev ## the same with requirements-dev.txt

warm: $(VENV)/.warm

clean: ## remove the virtual environment and everything generated
	@rm -rf $(VENV) build dist *.egg-info test-artifacts
	@rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment is complete once it has pip: without Debian's python3-venv package it ends up with none.
$(VENV)/bin/pip:
	@set -e; found=""; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	    if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Off-the-grid needs Python 3.11 or newer, and found none: install it, or name it with 'make PYTHON=/path/to/python3 ...'." >&2; exit 1; \
	fi; \
	if ! $$found -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "$$($$found -V) has no venv module: install it (on Debian and Ubuntu: apt-get install python3-venv), then run make again." >&2; exit 1; \
	fi; \
	echo "Making a virtual environment in $(VENV) with $$($$found -V)"; \
	$$found -m venv $(VENV)

$(VENV)/.requirements: requirements.txt | $(VENV)/bin/pip
	@$(python) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "$(VENV) was made with $$($(python) -V 2>&1), and Off-the-grid needs 3.11 or newer: run 'make clean', then make again." >&2; exit 1; }
	@echo "Installing requirements.txt"
	@$(python) -m pip install -qq -r requirements.txt
	@touch $@

$(VENV)/.requirements-redis: requirements-redis.txt $(VENV)/.requirements
	@echo "Installing requirements-redis.txt"
	@$(python) -m pip install -qq -r requirements-redis.txt
	@touch $@

$(VENV)/.requirements-dev: requirements-dev.txt requirements-redis.txt $(VENV)/.requirements
	@echo "Installing requirements-dev.txt"
	@$(python) -m pip install -qq -r requirements-dev.txt
	@touch $@

# Compiled code is kept beside its source by numba, so this is slow once, and again only when the engine changes. All of it
# goes then: numba looks at a function's own file, not at those of the functions compiled into it.
$(VENV)/.warm: $(engine) $(VENV)/.requirements
	@echo "Compiling the numeric kernels"
	@rm -rf offgrid/engine/__pycache__
	@$(python) -c "from offgrid.engine import warmup; warmup()"
	@touch $@

browser:
	@set -e; \
	if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then exit 0; fi; \
	root=""; \
	if [ "$$(id -u)" -ne 0 ]; then root="sudo -n"; fi; \
	if ! command -v apt-get >/dev/null || ! $$root true 2>/dev/null; then \
	    echo "The browser tests need Chromium, which is not here and cannot be installed without apt-get as root: install it, or run 'make unit' for the other tests." >&2; exit 1; \
	fi; \
	echo "Installing Chromium for the browser tests"; \
	$$root apt-get -qq -o Acquire::Retries=3 update; \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends chromium fonts-liberation >/dev/null

redis:
	@set -e; \
	if command -v redis-server >/dev/null; then exit 0; fi; \
	root=""; \
	if [ "$$(id -u)" -ne 0 ]; then root="sudo -n"; fi; \
	if ! command -v apt-get >/dev/null || ! $$root true 2>/dev/null; then \
	    echo "No redis-server here, and it cannot be installed without apt-get as root: the tests that need it are skipped."; exit 0; \
	fi; \
	echo "Installing redis-server for the tests of many machines"; \
	$$root apt-get -qq -o Acquire::Retries=3 update; \
	$$root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends redis-server >/dev/null
