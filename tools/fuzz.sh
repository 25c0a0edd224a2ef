#!/usr/bin/env bash
# Runs every target in fuzz/fuzz_targets/ for some seconds: tools/fuzz.sh [SECONDS, 60 if not given]
#
# An input that breaks a target stays in fuzz/artifacts/; the line cargo-fuzz prints runs it again.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$root/tools/versions.sh"
cd "$root"
seconds=${1:-60}

shopt -s nullglob
targets=(fuzz/fuzz_targets/*.rs)
if [ ${#targets[@]} = 0 ]; then
  echo "fuzz: no targets in fuzz/fuzz_targets/"
  exit
fi

# Compiled with a sanitizer, which stable Rust has but hides.
export RUSTC_BOOTSTRAP=1
if ! dir=$(cargo_tool cargo-fuzz "$CARGO_FUZZ_VERSION" cargo-fuzz --locked); then
  [ -n "${TRACEDROP_FUZZ_OPTIONAL:-}" ] || exit 1
  echo "fuzz: left out, there is no cargo-fuzz"
  exit
fi
# Who runs them for seconds waits for the compiler, not for them.
flags=()
if [ "$seconds" -le 10 ]; then
  flags=(--codegen-units 16)
  export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0
fi
failed=()
for target in "${targets[@]}"; do
  name=$(basename "$target" .rs)
  echo "fuzz: $name, $seconds s"
  mkdir -p "fuzz/corpus/$name"
  # Small files from the tests are a good start.
  seeds=()
  [ -d tests/data ] && seeds=(tests/data)
  "$dir/cargo-fuzz" run "${flags[@]}" "$name" "fuzz/corpus/$name" "${seeds[@]}" -- \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=0 || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || { echo "fuzz: ${#targets[@]} targets, failed: ${failed[*]}"; exit 1; }
echo "fuzz: ${#targets[@]} targets, nothing found"
