# The commands of the project; `make help` lists them, CONTRIBUTING.md explains them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Everything the site is made of, folders too: a deleted file makes its folder newer.
SITE_SOURCES := $(shell find src www -not -name '.*') index.html Trunk.toml Cargo.toml Cargo.lock \
	$(wildcard tools/*.sh) tools/bin/wasm-opt tools/finish-site.mjs tools/build-hash.mjs \
	tools/make-package.mjs tools/package-lock.json $(wildcard embed/*)

.PHONY: help setup setup-site serve quick dist zip screenshots check test test-all test-native test-browser test-big test-fuzz readers bench bench-peers fuzz clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## find or install all tools (the other commands do it when needed)
	@tools/setup.sh all
	@echo "The tools are ready."

setup-site:
	@tools/setup.sh site

serve: dist/index.html ## build the page and serve it on this computer (PORT=8080)
	@exec node tools/serve.mjs

quick: setup-site ## the same without optimizing, for trying things out
	@TRACEDROP_QUICK=1 tools/wasm.sh trunk build --quiet --dist target/quick
	@exec node tools/serve.mjs target/quick

dist: dist/index.html ## build the static site into dist/, the package trace-drop into target/npm/, and print sizes
	@tools/sizes.sh

zip: dist/index.html ## the files of a release, in target/release-files/: the site as a zip, the package, the number of the build
	@tools/release.sh

# Setup stands in the recipe: as a prerequisite it would hand this job's turn to whatever waits beside it.
dist/index.html: $(SITE_SOURCES)
	@tools/setup.sh site
	@tools/wasm.sh trunk build --quiet
	@node tools/make-package.mjs

screenshots: dist/index.html ## write pictures of the page to tests/browser/output/
	@tools/setup.sh all
	@. target/env.sh; export TRACEDROP_CHROME; node tests/browser/screenshots.mjs

check: ## formatting, lints, documentation
	@tools/check.sh

# Two at a time: compilers and browser tests keep one processor busy for most of their time. What takes longest starts first.
# Each prints as a whole once it is done, where make can do that.
test: ## everything that CI runs
	@+$(MAKE) --no-print-directory --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) test-all

test-all: test-browser check test-native test-fuzz

test-native:
	@cargo test --no-fail-fast

# Some tests hold the page against the command.
test-browser: dist/index.html
	@tools/setup.sh all
	@tools/sizes.sh
	@cargo build --quiet
	@. target/env.sh; export TRACEDROP_CHROME TRACEDROP_MKDOCS; node tests/browser/run.mjs $(ONLY)

test-big: dist/index.html ## a trace of 2.5 GB in the page (GIGABYTES=2.5)
	@tools/setup.sh all
	@. target/env.sh; export TRACEDROP_CHROME; node tests/browser/big.mjs

test-fuzz:
	@TRACEDROP_FUZZ_OPTIONAL=1 tools/fuzz.sh 5

readers: ## install pandas, pyarrow, Polars and DuckDB into target/readers; tests then have them read what is exported
	@python3 -m venv target/readers
	@target/readers/bin/pip install --quiet pyarrow pandas polars duckdb

bench: dist/index.html ## MB/s of the readers, natively and in the browser (MEGABYTES=200)
	@tools/setup.sh all
	@tools/bench.sh $(or $(MEGABYTES),200)

bench-peers: dist/index.html ## the same traces in other tools, writes docs/peers.md (ONLY=perfetto,duckdb)
	@tools/setup.sh all
	@tools/bench-peers.sh

fuzz: ## run each fuzz target, SECONDS=60 each
	@tools/fuzz.sh $(or $(SECONDS),60)

clean: ## delete everything that was built (the cache of tools stays)
	@rm -rf target dist fuzz/target tests/browser/output tests/browser/node_modules tools/node_modules
