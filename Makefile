# Every target sets up what it needs: a virtual environment in .venv with the package installed in place.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Byte code is compiled when first imported: doing so for all of every dependency doubles the time to set up.
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile
# Where no byte code may be written, every process that the tests start would compile its imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check bench chaos fleet-chaos day photographs docs clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[plots,serve,client]'
	@touch $@

$(VENV)/dev: pyproject.toml $(VENV)/base
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $@

$(VENV)/docs: pyproject.toml $(VENV)/base
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[docs]'
	@touch $@

demo: $(VENV)/base  ## the main job at small scale, ending in a report
	$(BIN)/rankloop demo

# Neighbours among the tests stay in one process, which compiles what they share once. Some of them wait rather than
# compute, so there is one process more than CI has cores.
test: $(VENV)/dev  ## the tests
	$(BIN)/python -m pytest -n 3 --dist worksteal

check: $(VENV)/dev  ## style, types and the order of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/dev  ## speed, as ratios to the naive form in the same run
	$(BIN)/python benchmarks/dueling.py
	$(BIN)/python benchmarks/lists.py
	$(BIN)/python benchmarks/features.py
	$(BIN)/python benchmarks/click_models.py
	$(BIN)/python benchmarks/parsers.py
	$(BIN)/python benchmarks/interleaving.py
	$(BIN)/python benchmarks/lock.py
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/live_sizes.py
	$(BIN)/python benchmarks/runner.py
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/suite.py

day: $(VENV)/dev  ## 24 hours in fast motion: 2 million impressions
	$(BIN)/python tests/live_day.py

chaos: $(VENV)/dev  ## kill -9 under load, 200 times for each kind of store
	rm -rf chaos-store && mkdir chaos-store
	$(BIN)/python tests/live/chaos.py chaos-store/shop.db --kills 200
	$(BIN)/python tests/live/chaos.py postgres --kills 200
	rm -rf chaos-store

fleet-chaos: $(VENV)/dev  ## four workers on PostgreSQL, killed, stopped, cut off and replaced under load
	$(BIN)/python tests/service/fleet_chaos.py --rounds 3

photographs: $(VENV)/dev  ## the pictures of the dashboard in docs, taken with Chromium
	PYTHONPATH=tests $(BIN)/python tests/service/dashboard/photographs.py docs/images

docs: $(VENV)/docs  ## the site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open it in a browser: file://$(CURDIR)/site/index.html"

clean:  ## remove what the other targets made
	rm -rf $(VENV) site demo-results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
