#!/usr/bin/env bash
# Speed of the readers, natively and in the browser: tools/bench.sh [MEGABYTES, 200 if not given]
#
# Makes the inputs once (examples/make_trace.rs). Compare figures of one run with each other, not with those of
# another day: the ratio tells, the number does not.
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
make_trace sway sway.jsonl
make_trace python python.jsonl
[ "$dir/chrome.json.gz" -nt "$dir/chrome.json" ] || gzip --fast --stdout "$dir/chrome.json" > "$dir/chrome.json.gz"

# Real traces, grown by a tool that stands beside some checkouts.
grow=$root/../shared/tools/make_big_trace.py
real=()
for preset in mi300 b200; do
  file=$dir/kineto-$preset.json
  if [ ! -s "$file" ] && [ -f "$grow" ] && has python3; then
    python3 "$grow" "$file" --size "${megabytes}MB" --preset "$preset" >&2 || rm -f "$file"
  fi
  [ ! -s "$file" ] || real+=("$file")
done

echo "bench: native"
TRACEDROP_BENCH_DIR=$dir cargo bench --bench readers

echo "bench: browser, from a File to the finished report"
. target/env.sh
export TRACEDROP_CHROME
node tests/browser/bench.mjs "${real[@]}" "$dir"/chrome.json "$dir"/chrome.json.gz "$dir"/sway.jsonl "$dir"/python.jsonl
