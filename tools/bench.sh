#!/usr/bin/env bash
# Parsing speed, natively and in the browser: tools/bench.sh [MEGABYTES, default 200]
#
# Generates the inputs once (examples/make_trace.rs). Compare numbers within one run, not between days: ratios are
# meaningful, absolute numbers are not.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
megabytes=${1:-200}
dir=$root/target/bench/$megabytes
mkdir -p "$dir"
make_trace() {
  [ "$dir/$2" -nt examples/make_trace.rs ] || cargo run --quiet --release --example make_trace -- "$1" "$megabytes" "$dir/$2"
}
make_trace chrome chrome.json
make_trace chrome-lines chrome-lines.jsonl
make_trace sway sway.jsonl
make_trace perf perf.txt
make_trace python python.jsonl
make_trace mrm mrm.txt
[ "$dir/chrome.json.gz" -nt "$dir/chrome.json" ] || gzip --fast --stdout "$dir/chrome.json" > "$dir/chrome.json.gz"

real=("$(grown "$megabytes" kineto-mi300.json --preset mi300)" "$(grown "$megabytes" kineto-b200.json --preset b200)")
# Other formats: the first of these profiles as a Perfetto trace; an Nsight Systems export and a memory snapshot, with the collection.
[ "$dir/kineto-mi300.pftrace" -nt "${real[0]}" ] ||
  cargo run --quiet --release -- export "${real[0]}" --to perfetto -o "$dir/kineto-mi300.pftrace" --quiet
captures() {
  repeated "$1" nsys.sqlite grow-nsys.py nsys/mfu_2gpu_before.sqlite.gz
  repeated "$1" snapshot.pickle grow-snapshot.py memsnapshot/medium.pickle.gz
}
captures "$megabytes" > /dev/null

echo "bench: native"
TRACEDROP_BENCH_DIR=$dir cargo bench --bench readers
node tools/bench-ratios.mjs

echo "bench: memory accesses, native"
if [ ! "$dir/mrm.parquet" -nt "$dir/mrm.txt" ]; then
  rm -rf "$dir/mrm-run"
  cargo run --quiet --release -- export "$dir/mrm.txt" --to mrm-run -o "$dir/mrm-run" --quiet
  mv "$dir/mrm-run/trace.parquet" "$dir/mrm.parquet"
fi
TRACEDROP_BENCH_DIR=$dir cargo bench --bench memory
# The reference package takes about 0.1 ms per line, so both it and Tracedrop get only the first lines.
[ "$dir/mrm-200k.txt" -nt "$dir/mrm.txt" ] || head -n 200000 "$dir/mrm.txt" > "$dir/mrm-200k.txt"
if [ ! "$dir/mrm-200k.parquet" -nt "$dir/mrm-200k.txt" ]; then
  rm -rf "$dir/mrm-run"
  cargo run --quiet --release -- export "$dir/mrm-200k.txt" --to mrm-run -o "$dir/mrm-run" --quiet
  mv "$dir/mrm-run/trace.parquet" "$dir/mrm-200k.parquet"
fi
TRACEDROP_BENCH_DIR=$dir TRACEDROP_BENCH_FILES=mrm-200k.txt:mrm-200k.parquet cargo bench --bench memory
reference=$root/target/peers/mrm
if ! cmp -s tools/peers/mrm-requirements.txt "$reference/mrm-requirements.txt"; then
  rm -rf "$reference"
  python3 -m venv "$reference"
  "$reference/bin/pip" --disable-pip-version-check install --quiet -r tools/peers/mrm-requirements.txt >&2 &&
    cp tools/peers/mrm-requirements.txt "$reference"
fi
for file in mrm-200k.txt mrm-200k.parquet; do
  "$reference/bin/python" tools/peers/mrm.py "$dir/$file" || say "bench: mrm-trace could not be measured"
done

echo "bench: stack profiles and a flame graph of a million stacks, native, beside inferno"
cargo run --quiet --release --manifest-path benches/crates/Cargo.toml -- stacks

echo "bench: the scanner as WebAssembly"
tools/wasm.sh cargo build --quiet --profile worker --target wasm32-unknown-unknown --no-default-features --features bench --bin scanner
node tools/bench-scanner.mjs target/wasm/wasm32-unknown-unknown/worker/scanner.wasm "${real[@]}" "$dir"/mrm.txt "$dir"/mrm.parquet

echo "bench: browser, from choosing a file to the complete overview on screen"
. target/env.sh
export TRACEDROP_CHROME
# The memory measurement needs WebSocket, which Node.js before version 22 hides behind this option.
export NODE_OPTIONS="--experimental-websocket ${NODE_OPTIONS:-}"
node tests/browser/bench.mjs "${real[@]}" "$dir"/chrome.json "$dir"/chrome.json.gz "$dir"/chrome-lines.jsonl "$dir"/sway.jsonl "$dir"/python.jsonl "$dir"/mrm.txt "$dir"/mrm.parquet

echo "bench: browser, large traces"
mapfile -t captured < <(captures 1000)
packed=$(grown 500 kineto-mi300.json --preset mi300).gz
[ -s "$packed" ] || gzip --fast --keep "${packed%.gz}"
ROUNDS=${ROUNDS:-3} node tests/browser/bench.mjs \
  "$(grown 100 kineto-mi300.json --preset mi300)" \
  "$(grown 500 kineto-mi300.json --preset mi300)" "$packed" \
  "$(grown 1000 kineto-mi300.json --preset mi300)" \
  "$(grown 1000 kineto-b200.json --preset b200)" \
  "$(grown 1000 compact-mi300.json --preset mi300 --style compact)" \
  "${captured[@]}"

echo "bench: browser, the timeline beside Perfetto's page"
TRACEDROP_PERFETTO=$TRACEDROP_PERFETTO node tests/browser/bench-timeline.mjs "$(grown 100 kineto-mi300.json --preset mi300)"

echo "bench: browser, two traces compared"
node tests/browser/bench-compare.mjs "$(grown 500 kineto-mi300.json --preset mi300)" "$(grown 500 kineto-b200.json --preset b200)"
node tests/browser/bench-compare.mjs "$(grown 1000 kineto-mi300.json --preset mi300)" "$(grown 1000 kineto-b200.json --preset b200)"
