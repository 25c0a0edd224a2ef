#!/usr/bin/env bash
# Checks before a change goes in: formatting, lints of all targets, documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh site
. target/env.sh

# Runs all checks, even after a failure.
found=0
run() {
  printf '+ %s\n' "$*"
  "$@" || found=1
}

# A separate target folder, so that checks and builds do not block each other.
export TRACEDROP_WASM_TARGET=$PWD/target/wasm-check

run cargo fmt --check
run cargo clippy --quiet --all-targets -- -D warnings
# Both programs of the page at once: the library is checked once for them.
wasm=(--quiet --target wasm32-unknown-unknown --no-default-features --features app,worker --bin app --bin worker)
if [ -z "$TRACEDROP_WASM_RUSTC" ]; then
  run tools/wasm.sh cargo clippy "${wasm[@]}" -- -D warnings
else
  # Debian's Rust for the web has no clippy.
  TRACEDROP_WASM_EXTRA_RUSTFLAGS='-D warnings' run tools/wasm.sh cargo check "${wasm[@]}"
fi
# The Python package is a workspace of its own.
run cargo fmt --check --manifest-path python/Cargo.toml
run rustfmt --check --edition 2024 fuzz/target.rs
CARGO_TARGET_DIR=$PWD/target/python run cargo clippy --quiet --manifest-path python/Cargo.toml -- -D warnings
RUSTDOCFLAGS='-D warnings' run cargo doc --quiet --no-deps --lib
exit $found
