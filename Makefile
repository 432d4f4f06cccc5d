# `make` alone lists the targets. Each sets up .venv by itself when it is missing or out of date.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
PEERS  := .venv/.peers
NEEDED := .venv/.examples
MANUAL := .venv/.manual
RAY    := .venv-ray/.ready
ARENA  ?=
RELIABILITY ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

OLDEST := .venv-oldest
define OLDEST_OF
import tomllib
project = tomllib.load(open('pyproject.toml', 'rb'))['project']
print(*(one.replace('>=', '==') for one in project['dependencies'] + project['optional-dependencies']['test']))
endef
export OLDEST_OF

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help javascript demo test tests test-oldest test-ray browser pictures lint readme gallery docs bench torture mutations arena reliability paper reproduction applications pages-check clean

help: ## list the targets
	@echo "usage: make TARGET [PYTHON=python3.12] [ARENA='--group peers --runs 5']"
	@awk -F ' *## ' '/^[a-z-]+:.*## / { sub(/:.*/, "", $$1); printf "  %-12s  %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## find the best region of the paper's first function, and draw it
	@$(BIN)/zonal demo

# One BLAS thread a worker: the matrices are small and the workers share the cores.
test tests test-oldest test-ray docs torture arena reliability paper reproduction applications pages-check: export OPENBLAS_NUM_THREADS := 1
test tests test-oldest arena reliability applications pages-check: export MPLBACKEND := Agg
# Whatever the shell says, bytecode is kept: the tests start hundreds of processes and rewrite their own assertions.
test tests test-oldest torture: export PYTHONDONTWRITEBYTECODE :=

# Stealing leaves the tests of a file with one worker, which makes what they share once, and ends all together.
# A worker more than cores: some tests wait for processes, servers and browsers.
# Types are checked beside the tests, on what they leave idle.
test: $(READY) browser node_modules ## lint, and run all tests with three workers
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: $(READY)
	@$(BIN)/python -m pytest -n 3 --dist worksteal

# Debian's Chromium, where it may be installed, without windows, which is half the work; or any other.
# Without one the tests of the page are skipped, counted and named.
browser:
	@command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		export DEBIAN_FRONTEND=noninteractive && { apt-get install -qq -y chromium-headless-shell || \
		{ apt-get update -qq && { apt-get install -qq -y chromium-headless-shell || command -v chromium || \
		apt-get install -qq -y chromium; }; }; } >/dev/null 2>&1; } || command -v chromium >/dev/null || \
		echo "No chromium, and it may not be installed here: the tests of the page will be skipped."

pictures: $(READY) browser ## take screenshots of the page's main states, into build/pictures
	@ZONAL_PICTURES=$(CURDIR)/build/pictures OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/web/test_page.py
	@echo "build/pictures"

test-oldest: ## run all tests with the oldest version of every dependency that we say we work with
	@rm -rf $(OLDEST)
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -qq $$($(PYTHON) -c "$$OLDEST_OF")
	@$(OLDEST)/bin/python -m pip install -qq --no-deps --editable .
	@# Old packages do what newer ones beneath them have deprecated since.
	@$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning

test-ray: $(RAY) ## run the tests of the driver on Ray, in an environment of its own
	@.venv-ray/bin/python -m pytest tests/study/test_ray.py

lint: $(READY) ## check style, format, types, the direction of imports, and names
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/check_names.py
	@$(BIN)/python docs/check_types.py
	@$(MAKE) --no-print-directory javascript

# The page's scripts: format, style, types, and tests of what needs no browser. The tools come from npm; the page has none of them.
javascript: node_modules
	@if [ -x node_modules/.bin/tsc ]; then \
		node_modules/.bin/prettier --log-level warn --check 'src/zonal/web/page/static/*.js' 'tests/web/javascript/*.js' && \
		node_modules/.bin/eslint src/zonal/web/page/static tests/web/javascript && \
		node_modules/.bin/tsc && \
		node --test --test-reporter=dot tests/web/javascript; \
	fi

node_modules: package.json
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
		npm install --no-package-lock --no-audit --no-fund --silent || \
			echo "npm cannot install its packages here: the page's JavaScript is not checked, nor the page by axe."; \
		mkdir -p $@ && touch $@; \
	else echo "No node and npm here: the page's JavaScript is not checked, nor the page by axe."; fi

readme: $(READY) browser ## run the README's examples, put what they print below them, take its pictures
	@OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python docs/make_readme.py

gallery: $(READY) ## run the code of docs/gallery.md, and draw its twelve pictures
	@OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python docs/make_gallery.py

docs: $(MANUAL) ## build the manual into build/docs, every example run, every warning an error
	@$(BIN)/python -m sphinx -q -W --keep-going -E -b html -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

paper: $(READY) ## run all experiments of the paper, and check its theory, into zonal-paper
	@$(BIN)/python -m reproduction all

reproduction: $(READY) ## regenerate docs/reproduction.md: all experiments, both presets, 300 runs of the comparison
	@$(BIN)/python docs/make_reproduction.py

applications: $(NEEDED) ## rerun the applications and the power analysis, and renew their pages and pictures
	@$(BIN)/python docs/make_applications.py

pages-check: $(NEEDED) ## play a row of each page's tables again; fail, with page and row, where it shows something else
	@$(BIN)/python docs/check_pages.py

arena: $(PEERS) ## play Zonal against its peers for hours, resumed where it stopped; renew docs/arena.md
	@$(BIN)/python -m benchmarks.arena $(ARENA)

reliability: $(READY) ## play thousands of campaigns, resumed where it stopped; renew docs/reliability.md and its diagram
	@nice -n 10 $(BIN)/python -m benchmarks.reliability play docs/results/reliability.csv $(RELIABILITY)
	@$(BIN)/python -m benchmarks.reliability page docs/results/reliability.csv

bench: $(READY) ## measure speed, as ratios within one run
	@$(BIN)/python -m benchmarks.speed

torture: $(READY) browser ## try every case of every law, interrupt studies at every line, kill 10,000 processes and 100 servers, mutate 1,000 recipes
	@ZONAL_EVERY_LINE=1 $(BIN)/python -m pytest -q -n 2 -m 'one_in or tries or torture or hypothesis'
	@ZONAL_EVERY_LINE=1 $(BIN)/python -m pytest -q -n 2 tests/study/test_run.py tests/engine/test_forks.py
	@ZONAL_MUTATIONS=1000 $(BIN)/python -m pytest -q tests/study/test_recipe.py -k mutated
	@ZONAL_ROUNDS=100 $(BIN)/python -m pytest -q tests/cli/test_trials.py -k killed
	@ZONAL_EVERY_LINE=1 ZONAL_LOAD=1 ZONAL_KILLS=100 $(BIN)/python -m pytest -q -s tests/web/test_load.py
	@$(BIN)/python benchmarks/torture.py

mutations: $(READY) ## make thirty deliberate faults, one after the other, each of which the tests must catch
	@$(BIN)/python -m benchmarks.mutations

clean: ## remove .venv, caches and builds
	@rm -rf .venv $(OLDEST) .venv-ray node_modules build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Zonal needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)" >&2; \
		echo "Name another one, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "Setting up .venv (first use, or pyproject.toml has changed) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(MANUAL): $(READY)
	@echo "Installing what the manual is built with ..."
	@$(BIN)/python -m pip install -qq --editable '.[docs]'
	@touch $@

$(RAY): pyproject.toml
	@echo "Setting up .venv-ray ..."
	@$(PYTHON) -m venv .venv-ray
	@.venv-ray/bin/python -m pip install -qq --editable . 'pytest>=8' 'ray>=2.9'
	@touch $@

$(NEEDED): $(READY)
	@echo "Installing what the applications need ..."
	@$(BIN)/python -m pip install -qq --editable '.[examples]'
	@touch $@

$(PEERS): $(READY)
	@echo "Installing the arena's peers ..."
	@$(BIN)/python -m pip install -qq --editable '.[arena]'
	@touch $@
