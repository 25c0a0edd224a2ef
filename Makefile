# The commands of the project; `make help` lists them, CONTRIBUTING.md explains them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Inputs of the site, including folders: deleting a file changes its folder.
SITE_SOURCES := $(shell find src www -not -name '.*') index.html Trunk.toml Cargo.toml Cargo.lock \
	$(wildcard tools/*.sh) tools/bin/wasm-opt tools/finish-site.mjs tools/build-hash.mjs \
	tools/make-package.mjs tools/package-lock.json $(wildcard embed/*)

.PHONY: help setup serve quick dist zip wheel screenshots check test test-all test-native test-python test-notebook test-fleet test-fleet-small test-browser test-dist test-big readers bench bench-peers fuzz clean

help: ## list commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## find or install all tools (other commands do this when needed)
	@tools/setup.sh all
	@echo "The tools are ready."

serve: dist/index.html ## build and serve the page locally (PORT=8080)
	@exec node tools/serve.mjs

quick: target/quick/index.html ## build without optimization and serve the page locally
	@exec node tools/serve.mjs target/quick

dist: dist/index.html ## build the static site (dist/) and the npm package (target/npm/), and print sizes
	@tools/sizes.sh

zip: dist/index.html ## make release files in target/release-files/: site zip, npm package, build number
	@tools/release.sh

# Setup is part of the recipe: as a prerequisite it would yield this job slot to another waiting job.
dist/index.html: $(SITE_SOURCES)
	@tools/setup.sh site
	@tools/wasm.sh trunk build --quiet
	@node tools/make-package.mjs

# Bigger and slower than dist/, but the same code, and built in a fraction of the time: tests run on it.
target/quick/index.html: $(SITE_SOURCES)
	@tools/setup.sh site
	@TRACEDROP_QUICK=1 tools/wasm.sh trunk build --quiet --dist target/quick

wheel: ## build the Python package into target/wheels/
	@tools/wheel.sh release

screenshots: dist/index.html ## write screenshots of the page to tests/browser/output/
	@tools/setup.sh all
	@. target/env.sh; export TRACEDROP_CHROME; node tests/browser/screenshots.mjs

check: ## check formatting, lints and documentation
	@tools/check.sh

# Three jobs: compilers and browser tests mostly use one core each, of two, and often wait for a download or a page. The longest
# job starts first. Output is grouped per job if make supports it.
test: ## run everything that CI runs
	@+$(MAKE) --no-print-directory --jobs=3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) test-all

test-all: test-browser check test-native test-python test-notebook test-fleet-small

# These make what the others use.
ifneq ($(filter test-all,$(MAKECMDGOALS)),)
test-notebook: | test-browser test-python
test-fleet-small: | test-python
test-fleet-small: export FLEET_WHEELS = target/wheels/dev
endif

# Unit tests are a second build of the library: they take seconds without optimization, which makes that build fast.
test-native:
	@code=0; cargo test --no-fail-fast --bins --examples --test '*' || code=1; \
	cargo --config 'profile.dev.package.tracedrop.opt-level=0' test --no-fail-fast --lib || code=1; exit $$code

test-python: ## build the Python package for tests and run python/tests in a fresh environment (ONLY=sql)
	@tools/test-python.sh $(if $(ONLY),-k '$(ONLY)')

test-fleet: ## run DuckDB, Ray and Spark on made-up ranks and compare their rows (RANKS=64 MEGABYTES=0.2 each)
	@FLEET_RANKS=$(or $(RANKS),64) FLEET_MEGABYTES=$(or $(MEGABYTES),0.2) tools/test-fleet.sh

test-fleet-small:
	@FLEET_RANKS=8 tools/test-fleet.sh

# The page is built in the recipe, as for the browser tests.
test-notebook: ## run the Python package in a real JupyterLab, installed from PyPI
	@+$(MAKE) --no-print-directory target/quick/index.html
	@tools/test-notebook.sh

# Some tests compare the page with the command. The site is built in the recipe: as a prerequisite, its job would end before these
# tests, the longest of all, and they would wait for other jobs. The command is the one of the native tests: a plain build would
# compile the library once more, as development dependencies change features of others.
test-browser:
	@+$(MAKE) --no-print-directory target/quick/index.html
	@tools/setup.sh all
	@cargo test --quiet --no-run --test command
	@. target/env.sh; export TRACEDROP_CHROME TRACEDROP_MKDOCS TRACEDROP_PERFETTO; TRACEDROP_DIST=$(CURDIR)/target/quick node tests/browser/run.mjs $(ONLY)

test-dist: dist/index.html ## run the browser tests on the optimized site, and check its size
	@tools/setup.sh all
	@tools/sizes.sh
	@cargo test --quiet --no-run --test command
	@. target/env.sh; export TRACEDROP_CHROME TRACEDROP_MKDOCS TRACEDROP_PERFETTO; node tests/browser/run.mjs $(ONLY)

test-big: dist/index.html ## open a 2.5 GB trace in the page (GIGABYTES=2.5)
	@tools/setup.sh all
	@. target/env.sh; export TRACEDROP_CHROME; node tests/browser/big.mjs

readers: ## install pandas, pyarrow, Polars and DuckDB into target/readers; tests then read exports with them
	@python3 -m venv target/readers
	@target/readers/bin/pip install --quiet pyarrow pandas polars duckdb

bench: dist/index.html ## benchmark the readers, natively and in the browser (MEGABYTES=200)
	@tools/setup.sh all
	@tools/bench.sh $(or $(MEGABYTES),200)

bench-peers: dist/index.html ## benchmark other tools on the same traces and write docs/peers.md (ONLY=perfetto,duckdb)
	@tools/setup.sh all
	@tools/bench-peers.sh

fuzz: ## run each fuzz target (SECONDS=60 each)
	@tools/fuzz.sh $(or $(SECONDS),60)

clean: ## delete all build output (the tool cache stays)
	@rm -rf target dist fuzz/target tests/browser/output tests/browser/node_modules tools/node_modules
