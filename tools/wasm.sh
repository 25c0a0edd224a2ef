#!/usr/bin/env bash
# Runs a command in the environment of a wasm build: tools/wasm.sh trunk build
#
# Wasm has a separate target folder, because its toolchain may differ from the native one.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ -f "$env_file" ] || stop "the build tools are not set up" "there is no target/env.sh" "make setup"
. "$env_file"

# simd128 is in every current browser. The remapping keeps this machine's folders out of panic messages.
flags="-C target-feature=+simd128"
# Type-erased components: smaller, and faster to compile.
flags+=" --cfg erase_components"
flags+=" --remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
flags+=" --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rust"
[ -z "$TRACEDROP_STD" ] || flags+=" --sysroot $TRACEDROP_STD"

export CARGO_TARGET_DIR=${TRACEDROP_WASM_TARGET:-$root/target/wasm}
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$flags ${TRACEDROP_WASM_EXTRA_RUSTFLAGS:-}"
if [ -n "${TRACEDROP_QUICK:-}" ]; then
  # For development: builds in seconds instead of minutes, but bigger and slower.
  export CARGO_TARGET_DIR=$root/target/wasm-quick
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_INCREMENTAL=true
fi
[ -z "$TRACEDROP_WASM_LINKER" ] || export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$TRACEDROP_WASM_LINKER
[ -z "$TRACEDROP_WASM_CC" ] || export CC_wasm32_unknown_unknown=$TRACEDROP_WASM_CC AR_wasm32_unknown_unknown=$TRACEDROP_WASM_AR
[ -z "$TRACEDROP_WASM_RUSTC" ] || export RUSTC=$TRACEDROP_WASM_RUSTC
# The remapped folders above are rustup's; when RUSTC is another one, its own were remapped when its std was built.
# Quieter: no check for newer versions, no backtrace of Trunk itself when a build fails.
export TRUNK_SKIP_VERSION_CHECK=true RUST_LIB_BACKTRACE=0
export TRACEDROP_WASM_OPT PATH=$root/tools/bin:$TRACEDROP_WASM_PATH:$PATH
exec "$@"
