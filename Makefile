# Two commands need nothing but Python 3.11 or newer: `make bench` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: bench test golden slow lint benchmarks docs clean

bench: $(VENV)/.bench
	$(BIN)/agentmem-bench bench

test: $(STAMP)
	$(BIN)/pytest -n auto -m "not slow"

golden: $(STAMP)
	$(BIN)/pytest -n auto -m golden

slow: $(STAMP)
	$(BIN)/pytest -n auto -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict agentmem harness suites

benchmarks: $(STAMP)
	$(BIN)/pytest benchmarks -o python_files='bench_*.py' --benchmark-only \
		--benchmark-json=results/benchmarks/latest.json

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(STAMP): pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.bench

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
