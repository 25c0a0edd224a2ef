#!/usr/bin/env bash
# Runs every target in fuzz/fuzz_targets/: tools/fuzz.sh [SECONDS per target, default 60]
#
# Inputs that crash a target are saved in fuzz/artifacts/; the printed command runs them again.
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

# Sanitizers are available in stable Rust, but hidden.
export RUSTC_BOOTSTRAP=1
if ! dir=$(cargo_tool cargo-fuzz "$CARGO_FUZZ_VERSION" cargo-fuzz --locked); then
  [ -n "${TRACEDROP_FUZZ_OPTIONAL:-}" ] || exit 1
  echo "fuzz: skipped, cargo-fuzz is not installed"
  exit
fi
# In short runs, compiling dominates. They look for panics, which need no sanitizer; no code of ours is `unsafe`.
flags=()
if [ "$seconds" -le 10 ]; then
  flags=(--codegen-units 16 --sanitizer none)
  export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0
fi
host=$(rustc -vV | sed -n 's/^host: //p')
"$dir/cargo-fuzz" build "${flags[@]}"

# Small test files are good seeds. Short runs have no time to parse all of them, so a target gets those of its formats (its line
# `// seeds:`) and the smallest of the others.
MAX_SEEDS=200
seeds_of() { # target
  local folder
  for folder in $(sed -n 's,^// seeds: ,,p' "fuzz/fuzz_targets/$1.rs"); do
    find "tests/data/$folder" -type f -size "-$([ "$folder" = . ] && echo 2048 || echo 8192)c"
  done
  find tests/data -type f -size -512c
}

run() { # target
  local name=$1 log=$logs/$1.log seeds=(tests/data)
  mkdir -p "fuzz/corpus/$name" "fuzz/artifacts/$name"
  if [ "$seconds" -le 10 ]; then
    seeds_of "$name" | sort -u >"$logs/$name.all"
    # Of all folders alike.
    awk -v step="$(($(wc -l <"$logs/$name.all") / MAX_SEEDS + 1))" 'NR % step == 0' "$logs/$name.all" | paste -sd , - >"$logs/$name.seeds"
    seeds=("-seed_inputs=@$logs/$name.seeds")
  fi
  if "fuzz/target/$host/release/$name" "fuzz/corpus/$name" "${seeds[@]}" -artifact_prefix="fuzz/artifacts/$name/" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 >"$log" 2>&1; then
    echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no crashes"
  else
    cat "$log"
    echo "fuzz: $name: failed; to reproduce: cargo fuzz run $name fuzz/artifacts/$name/FILE"
    touch "$logs/$name.failed"
  fi
}

# One target uses one processor.
logs=$root/target/fuzz-logs
rm -rf "$logs"
mkdir -p "$logs"
n_processors=$(nproc 2>/dev/null || echo 1)
for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$n_processors" ]; do wait -n || true; done
  run "$(basename "$target" .rs)" &
done
wait
failed=("$logs"/*.failed)
[ ${#failed[@]} = 0 ] || { echo "fuzz: ${#targets[@]} targets, failed: ${failed[*]}"; exit 1; }
echo "fuzz: ${#targets[@]} targets, no crashes"
