# Everything a developer types. Set-up happens by itself, in .venv, and again only when pyproject.toml changes.

PYTHON_IN_VENV := .venv/bin/python
READY := .venv/.ready
BROWSER := .venv/.browser

# Tests start hundreds of processes; an environment that forbids bytecode has each of them compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-fast check format bench bench-long pictures clean

help: ## Show what can be typed
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: $(READY) ## Run the example on Spark: a real network loses links, and its views follow; ENGINE=local needs no Java
	@$(PYTHON_IN_VENV) examples/backbone/live.py --engine $(or $(ENGINE),spark)

test: check $(BROWSER) ## Run everything that must pass: the checks, then the tests
	@$(PYTHON_IN_VENV) -m pytest -n auto --dist worksteal

test-fast: $(READY) ## Run the quick tests of every layer, without Spark and without a browser
	@$(PYTHON_IN_VENV) -m pytest -n auto --dist worksteal -m "not slow and not spark and not browser"

check: $(READY) ## Run the linter, the format check and the type checker
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m ruff format --check .
	@$(PYTHON_IN_VENV) -m mypy

format: $(READY) ## Reformat the code and fix what the linter can fix
	@$(PYTHON_IN_VENV) -m ruff check --fix .
	@$(PYTHON_IN_VENV) -m ruff format .

bench: $(READY) ## Compare whence with DuckDB and others; QUICK=1 takes small sizes
	@$(PYTHON_IN_VENV) -m benchmarks $(if $(QUICK),--quick)

bench-long: $(READY) ## Follow streams on Spark for half an hour and see what grows; QUICK=1 takes a minute
	@$(PYTHON_IN_VENV) -m benchmarks soak $(if $(QUICK),--quick)

pictures: $(BROWSER) ## Draw all pictures of the documentation again: benchmarks, a terminal session, the page
	@$(PYTHON_IN_VENV) -m benchmarks.page
	@$(PYTHON_IN_VENV) -m benchmarks.pictures
	@$(PYTHON_IN_VENV) scripts/record_session.py
	@$(PYTHON_IN_VENV) scripts/screenshots.py

setup: $(READY) ## Only set up: find Python, make .venv, install what is needed

clean: ## Remove everything that set-up, tests and tools have made
	rm -rf .venv .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BROWSER): $(READY)
	@sh scripts/browser.sh
	@touch $(BROWSER)

$(READY): pyproject.toml
	@sh scripts/setup.sh
	@touch $(READY)
