# Everyday commands; `make` alone lists them. Only Python 3.11 or newer with venv, git and make are needed.
.DEFAULT_GOAL := help
.PHONY: help setup models dev run chat quick types imports test check rooms nightly test-llm test-live chaos screenshots transcripts format lock clean

VENV := .venv
BIN := $(VENV)/bin
export PYTHON VENV
unexport PYTHONDONTWRITEBYTECODE # compiling 4,000 modules anew takes each process of the tests seconds

# $(call step,what,command,fix): run one step of the gate and say in one line which one failed.
step = @echo "· $(1)"; $(2) || { echo "check: $(1) failed; $(3)" >&2; exit 1; }

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

setup: ## make .venv with all that Kaiwa needs to run
	@scripts/setup.sh runtime

models: ## the same with the SDKs of OpenAI and Anthropic
	@scripts/setup.sh models

dev: ## all of that with the tools of the gate
	@scripts/setup.sh dev

run: setup ## web server, worker and page in one process
	@exec $(BIN)/kaiwa run

chat: setup ## talk in this terminal
	@exec $(BIN)/kaiwa chat

TESTS = pytest --quiet --numprocesses=auto --dist=loadfile --no-loadscope-reorder
COVERAGE = $(BIN)/python -W "ignore:Unable to activate pytest" -m slipcover --out .coverage.json

quick: dev ## the tests that need no browser, no process and no other vendor than Gemini, for while you work
	@$(BIN)/$(TESTS) --quick --hypothesis-profile=quick

types: dev # with the packages of VENV
	@$(BIN)/mypy --no-error-summary --cache-dir .mypy_cache/$(VENV)

IMPORTS = said=$$($(BIN)/lint-imports --no-logo) || { echo "$$said"; false; }
imports: dev
	@$(IMPORTS)

test: check ## the whole gate, as CI runs it

check: dev ## format, lint, types, import directions, tests with coverage; stops at the first failure
	$(call step,format,$(BIN)/ruff format --quiet --check .,make format fixes it)
	$(call step,lint,$(BIN)/ruff check --quiet .,make format fixes some of it)
	$(call step,types,scripts/types.sh,fix the types above)
	$(call step,imports,$(IMPORTS),see the contracts in pyproject.toml)
	$(call step,tests,$(COVERAGE) --json -m $(TESTS) $(PROPERTIES),see the tests above)
	$(call step,coverage,$(COVERAGE) --fail-under 95 --merge .coverage.json,see the lines above that no test plays)

rooms: dev ## take each feature away, and play the quick tests without it
	@$(BIN)/python scripts/rooms.py

nightly: PROPERTIES = --hypothesis-profile=nightly
nightly: check ## the gate with long property runs, then kills around questions and chaos; SEED=7 draws it again
	$(call step,kills,$(BIN)/pytest --quiet --numprocesses=auto tests/process/nightly,see the tests above)
	$(call step,chaos,$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)),see the report above)

test-llm: dev ## talk to a real small model on this machine; downloads 125 MB once
	@scripts/setup.sh llm
	@$(BIN)/pytest --quiet tests/llm

test-live: dev ## ask the real services, those there are keys and a network for; only reads
	@$(BIN)/pytest --quiet -rs tests/live

chaos: dev ## kill processes, the store and connections under load, and count what is lost; SEED=7 draws again
	@$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED))

screenshots: dev ## take the pictures of docs/images anew; needs Chromium
	@$(BIN)/python -m tests.docs.screenshots

transcripts: dev ## write the conversations of docs/conversations.md anew, and what LINE and Slack are sent in them
	@$(BIN)/pytest --quiet --write-tables tests/docs

format: dev ## format the code and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

MODELS = --extra anthropic --extra openai
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
LOCK = $(COMPILE) pyproject.toml --group build
lock: dev ## compile the requirements from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(LOCK) --output-file requirements.txt
	@$(LOCK) --output-file requirements-models.txt $(MODELS) --constraints requirements.txt
	@$(LOCK) --output-file requirements-dev.txt --extra dev $(MODELS) --constraints requirements-models.txt
	@$(LOCK) --output-file requirements-benchmarks.txt --extra benchmarks $(MODELS) --constraints requirements-models.txt
	@$(COMPILE) --output-file requirements-llm.txt --group llm --no-deps

clean: ## remove .venv and everything made by tools; your data in .kaiwa stays
	@rm -rf .venv .venv-3.* .coverage* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
