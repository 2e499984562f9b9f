# Parley: `make up` starts it, `make test` tests it. Both find a Python >= 3.12, create .venv and install what they need.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help up test check test-long chaos bench lint format types page docs docker lock clean
python := .venv/bin/python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

up: ## install, build the page, start everything: http://127.0.0.1:8001 (AGENT_PORT, PARLEY_HOME, OPENAI_BASE_URL, ...)
	@$(MAKE) -j2 .venv/runtime.stamp try-packages
	@scripts/build-page || echo "page      missing: starting without it; \`make page\` tries again" >&2
	@exec $(python) -m cli.main up

test: ## all tests but the long ones; installs what they need, also Chromium and PostgreSQL where there are none (ARGS='-k name')
	@$(MAKE) -j2 .venv/dev.stamp try-browser
	@PYTHONDONTWRITEBYTECODE= $(python) -m pytest -n 4 --no-loadscope-reorder $(ARGS)

check: .venv/dev.stamp ## style, types, and the tests that need no service: under two minutes on a quiet machine
	@$(MAKE) -j2 lint types
	@PYTHONDONTWRITEBYTECODE= $(python) -m pytest -q -n 4 tests/unit tests/contract $(ARGS)

test-long: ## the tests that take minutes: every service killed, clusters, full stores
	@$(MAKE) test ARGS='-m long $(ARGS)'

chaos: .venv/dev.stamp ## inject faults while simulated users work, and check that nothing is lost or done twice (SECONDS=60 SEED=7, CLUSTER=1, POSTGRES=1)
	@$(python) -m chaos --seconds $(or $(SECONDS),60) --seed $(or $(SEED),7) $(if $(CLUSTER),--cluster) $(if $(POSTGRES),--postgres)

bench: .venv/dev.stamp ## measure Parley's overhead against bare NATS: some minutes (ARGS='--tiny', ARGS=--write for the documents)
	@$(python) -m bench.overhead $(ARGS)

lint: .venv/dev.stamp ## check style and common mistakes
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .

format: .venv/dev.stamp ## format the code
	@$(python) -m ruff check --fix --quiet . || true
	@$(python) -m ruff format .

types: .venv/dev.stamp ## mypy, strict
	@$(python) -m mypy

page: .venv/runtime.stamp ## build the page of web/ into services/gateway/page
	@scripts/build-page

docs: .venv/dev.stamp ## regenerate the generated documents (events, protocol, settings, workflows)
	@$(python) scripts/generate.py

docker: ## everything in containers, with PostgreSQL
	@$$(docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose) up --build

lock: ## compile the requirements with uv, with hashes and without a registry's host
	@for set in 'requirements.txt --group services' 'requirements-dev.txt --group dev' 'requirements-node.txt --group node'; do \
	  file=$${set%% *}; options=$${set#"$$file"}; echo "lock      $$file"; \
	  uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate $$options $$( [ $$file = requirements-node.txt ] || echo pyproject.toml ) -o $$file || exit 1; \
	done

clean: ## remove everything that make created (never .parley, your sessions)
	@rm -rf .venv .build web/node_modules web/dist services/gateway/page .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/runtime.stamp: requirements.txt
	@scripts/install runtime

.venv/dev.stamp: requirements-dev.txt
	@scripts/install dev

.PHONY: try-packages try-browser
try-packages: # beside the Python packages; the build that follows reports a failure
	@scripts/build-page packages 2>/dev/null || true

try-browser: .venv/dev.stamp try-packages # if it fails, the tests of the page fail
	@scripts/build-page; scripts/find-chromium >/dev/null; true
