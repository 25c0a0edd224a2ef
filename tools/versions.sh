# Versions of the tools the project is built with; read by tools/setup.sh and tools/fuzz.sh.
# wasm-bindgen-cli is not here: it must equal the wasm-bindgen crate in Cargo.lock and is read from there.
# wasm-opt, playwright-core and axe-core are pinned in tools/package.json and tests/browser/package.json.
TRUNK_VERSION=0.21.14
CARGO_FUZZ_VERSION=0.13.2
LLVM_VERSION=19
