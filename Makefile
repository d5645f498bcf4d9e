# Two set-up commands, and both stay true on a fresh clone: make demo, make test.
# PYTHON is the interpreter of the virtual environments (3.11 or newer).
PYTHON ?= python3
PIP_FLAGS = --quiet --disable-pip-version-check -c constraints.txt
BASE = .venv/.installed
DEV = .venv/.installed-dev
TORCH = .venv-torch/.installed

.PHONY: help demo test test-base test-torch lint bench fuzz reliability docs cards clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

demo: $(BASE)  ## take a real draft through verify, launch, card and release (no torch, no GPU, no account)
	@PATH="$(CURDIR)/.venv/bin:$$PATH" bash examples/demo.sh

test:  ## the whole suite: first what needs no torch, beside it the type check, which takes one core; then torch
	@$(MAKE) --no-print-directory -j2 lint test-base
	@$(MAKE) --no-print-directory test-torch

# A worker begins with one part of the tests and takes over what is left of others': tests of one file meet
# the same servers and caches.
test-base: $(DEV)
	.venv/bin/python -m pytest -n auto --dist worksteal -m "not torch and not gpu"

test-torch: $(TORCH)
	OMP_NUM_THREADS=1 .venv-torch/bin/python -m pytest -n auto --dist worksteal -m "torch and not gpu"

lint: $(DEV)  ## ruff and a strict type check
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: $(DEV)  ## ratios against peers, measured in the same run
	.venv/bin/python -m pytest benchmarks -q --benchmark-only --benchmark-disable-gc -s

fuzz: $(DEV)  ## a million mutated headers against the safetensors library (minutes)
	.venv/bin/python -m tests.checkpoint.fuzz

reliability: $(DEV)  ## every request of a release times every fault; writes docs/reliability.md (minutes)
	.venv/bin/python -m tests.reliability.matrix

docs: $(BASE)  ## write docs/cli.md and docs/rules.md again, which are made from the code
	.venv/bin/python -m scripts.docs

cards: $(BASE)  ## render the cards of this zoo again
	@for recipe in recipes/*.yaml; do .venv/bin/zoo card "$$(basename "$$recipe" .yaml)"; done

clean:  ## remove what make made
	rm -rf .venv .venv-torch .demo .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

$(BASE): pyproject.toml constraints.txt | .venv/bin/python
	.venv/bin/pip install $(PIP_FLAGS) -e .
	@.venv/bin/python -m compileall -q zoo
	@touch $@

# The base install is a part of this one.
$(DEV): pyproject.toml constraints.txt | .venv/bin/python
	.venv/bin/pip install $(PIP_FLAGS) -e '.[dev]'
	@.venv/bin/python -m compileall -q zoo
	@touch $(BASE) $@

# Another environment, so that the first part of the tests proves that the tool needs no torch.
$(TORCH): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/pip install $(PIP_FLAGS) -e '.[dev,torch]'
	@touch $@
