#!/usr/bin/env bash
# Benchmarks the same traces in other tools and in Tracedrop: tools/bench-peers.sh
#
# Installs the tools from npm and PyPI to target/peers, measures them one by one (about 14 minutes; less with
# ONLY=perfetto,duckdb) and writes the table in docs/peers.md. Build the page first; the command is measured if it is built.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
peers=$root/target/peers
mkdir -p "$peers/node"

# Nothing is downloaded when the lists have not changed.
same() { cmp -s "tools/peers/$1" "$2/$1"; }

has python3 || install_packages "Python (runs the native tools)" python3 python3-venv
if ! same requirements.txt "$peers/venv"; then
  say "bench-peers: Python packages"
  rm -rf "$peers/venv"
  python3 -m venv "$peers/venv"
  "$peers/venv/bin/pip" --cache-dir "$peers/pip" --disable-pip-version-check install --quiet --no-deps \
    -r tools/peers/requirements.txt >&2 ||
    stop "the Python packages are missing" "pip could not install them (its output is above)" \
      "check the network of this computer"
  cp tools/peers/requirements.txt "$peers/venv"
fi
if ! same package-lock.json "$peers/node" || [ ! -d "$peers/node/node_modules/speedscope" ]; then
  say "bench-peers: npm packages"
  cp tools/peers/package.json tools/peers/package-lock.json "$peers/node"
  (cd "$peers/node" && npm ci --cache "$peers/npm" --no-audit --no-fund --ignore-scripts --loglevel=error >&2) || {
    rm -rf "$peers/node/node_modules"
    stop "the npm packages are missing" "npm could not install them (its output is above)" \
      "check the network of this computer"
  }
fi

files=()
for megabytes in 100 500 1000; do files+=("$(grown "$megabytes" kineto-mi300.json --preset mi300)"); done
# For breakdowns of GPU time: a profile of NCCL and DLRM kernels, a copy of which has 0.87 MB.
repeated=$root/target/bench/100/dlrm.json
[ -s "$repeated" ] || python3 tools/peers/repeat.py tests/data/pytorch/dlrm8/rank1.json.gz 114 "$repeated"
# For flame graphs: different stacks of 8 to 23 frames.
stacks=$root/target/bench/100/stacks.folded
[ -s "$stacks" ] || python3 tools/peers/stacks.py 260000 "$stacks"

# A copy, so that a concurrent build has no effect.
rm -rf "$peers/dist"
cp -r dist "$peers/dist"
rm -f "$peers/tracedrop"
[ ! -x target/release/tracedrop ] || cp target/release/tracedrop "$peers/tracedrop"

. target/env.sh
export TRACEDROP_CHROME
export TRACEDROP_PEERS=$peers TRACEDROP_DIST=$peers/dist
node tools/peers/bench.mjs "$peers/results.json" "${files[@]}"
node tools/peers/table.mjs "$peers/results.json" docs/peers.md
