# Every target works on a fresh clone with nothing but Python and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Tests start hundreds of interpreters: bytecode is kept (in __pycache__, as by default) even where the shell says not to.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-docs test-slow test-attack test-doors optunahub lint format docs serve-docs screens pictures bench release clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.demo ## Solve two real problems and show the result
	$(BIN)/meco demo

QUICK := tests/tr tests/test_contract.py tests/test_reference.py tests/test_imports.py tests/rules \
	tests/engines/test_shade.py tests/engines/test_maes.py tests/paper \
	tests/run/test_minimize.py tests/run/folder/test_resume.py tests/run/folder/test_kill.py
quick: $(VENV)/.dev ## Test the default method, the registry, the reference kit, resume and the paper, in a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal $(QUICK)

test: $(VENV)/.dev ## Run the tests: every fact once, in minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-docs: $(VENV)/.dev ## Run what the documentation, the examples and the pages promise
	$(BIN)/python -m pytest -n 2 --dist worksteal -m docs

test-slow: $(VENV)/.dev ## Run the trainings and the long runs
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

ATTACK ?= --kind all
test-attack: $(VENV)/.dev ## Attack it for hours; resumable, outcomes in out/attack (ATTACK="--tries 5" LONG="--evaluations 1000")
	$(BIN)/python -m pytest -n 2 --dist worksteal -m attack
	$(BIN)/python tests/attack/attack.py $(ATTACK)
	$(BIN)/python benchmarks/long_runs.py $(LONG)

DOORS ?=
test-doors: ## Test each door with its real package in an environment of its own (DOORS="openmdao gest")
	$(PYTHON) tools/test_doors.py $(DOORS)

optunahub: ## Write the folder that OptunaHub's registry takes into out/optunahub
	$(PYTHON) tools/optunahub.py

CODE := src tests tools benchmarks examples
lint: $(VENV)/.dev ## Check style and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check -q $(CODE)
	$(BIN)/mypy

format: $(VENV)/.dev ## Repair the style where that can be done by itself
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(VENV)/.docs ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q

serve-docs: $(VENV)/.docs ## Serve the documentation while writing it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

screens: docs $(VENV)/.demo ## Take the screenshots that the documentation shows (needs chromium)
	$(BIN)/python -m tools.screenshots

pictures: $(VENV)/.dev ## Draw every picture of the documentation again (needs chromium)
	$(BIN)/python tools/draw_features.py
	$(BIN)/python tools/draw_generated.py docs/images/generated.png
	$(MAKE) screens

bench: $(VENV)/.dev ## Measure the fast benchmarks, and say what got slower
	$(BIN)/python benchmarks/bench.py

release: $(VENV)/.dev ## Build a release and try it from a local index in a fresh environment
	$(BIN)/python tools/release.py

clean: ## Remove everything that was built
	rm -rf $(VENV) .venv-doors site build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e ".[cli]" --group demo
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e . --group docs
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt benchmarks/rwco/pyproject.toml | $(VENV)/bin/python
	$(PIP) install -c constraints.txt "torch"
	$(PIP) install -c constraints.txt -e ".[all]" --group dev
	$(PIP) install -c constraints.txt -e benchmarks/rwco
	@touch $@ $(VENV)/.demo $(VENV)/.docs
