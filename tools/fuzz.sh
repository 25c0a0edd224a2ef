#!/usr/bin/env bash
# Runs every fuzz target, as `fuzz/check.rs` lists them: tools/fuzz.sh [SECONDS per target, default 60]
#
# Inputs that crash a target are saved in fuzz/artifacts/; the printed command runs them again.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$root/tools/versions.sh"
cd "$root"
seconds=${1:-60}

# Sanitizers are available in stable Rust, but hidden.
export RUSTC_BOOTSTRAP=1
dir=$(cargo_tool cargo-fuzz "$CARGO_FUZZ_VERSION" cargo-fuzz --locked)
"$dir/cargo-fuzz" build
program=fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release/target

run() { # target
  local name=$1 log=$logs/$1.log
  mkdir -p "fuzz/corpus/$name" "fuzz/artifacts/$name"
  if TRACEDROP_FUZZ=$name "$program" "fuzz/corpus/$name" tests/data -artifact_prefix="fuzz/artifacts/$name/" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 >"$log" 2>&1; then
    echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no crashes"
  else
    cat "$log"
    echo "fuzz: $name: failed; to reproduce: TRACEDROP_FUZZ=$name cargo fuzz run target fuzz/artifacts/$name/FILE"
    touch "$logs/$name.failed"
  fi
}

# One target uses one processor.
logs=$root/target/fuzz-logs
rm -rf "$logs"
mkdir -p "$logs"
n_processors=$(nproc 2>/dev/null || echo 1)
mapfile -t targets < <("$program")
for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$n_processors" ]; do wait -n || true; done
  run "$target" &
done
wait
shopt -s nullglob
failed=("$logs"/*.failed)
[ ${#failed[@]} = 0 ] || { echo "fuzz: ${#targets[@]} targets, failed: ${failed[*]}"; exit 1; }
echo "fuzz: ${#targets[@]} targets, no crashes"
