#!/usr/bin/env bash
# Builds the Python package into target/wheels/: `tools/wheel.sh release` for users, `tools/wheel.sh dev [NAME]` for tests, into
# target/wheels/dev/, or target/wheels/NAME/. Installs maturin from PyPI into target/maturin if it is missing.
# The viewer for notebooks, tracedrop.html, is included if it is built, in dist/ or TRACEDROP_DIST.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-release}

# One at a time: the package has one copy of the viewer, and maturin one folder.
mkdir -p target
if command -v flock >/dev/null; then
  exec 9>target/wheel.lock
  flock -n 9 || { echo "wheel: waiting for another build of the package to finish" >&2; flock 9; }
fi

maturin=$(command -v maturin || true)
if [ -z "$maturin" ]; then
  maturin=$PWD/target/maturin/bin/maturin
  if [ ! -x "$maturin" ]; then
    python3 -m venv target/maturin
    target/maturin/bin/pip install --quiet 'maturin>=1.14,<2'
  fi
fi

# Its own target folder: builds of the command and of the package do not wait for each other.
export CARGO_TARGET_DIR=$PWD/target/python
out=target/wheels
[ "$profile" = release ] || out=target/wheels/${2:-$profile}
mkdir -p "$out"
rm -f "$out"/tracedrop-*.whl

viewer=${TRACEDROP_DIST:-dist}/tracedrop.html
included=python/lib/tracedrop/tracedrop.html
if [ -f "$viewer" ]; then
  cp "$viewer" "$included"
else
  rm -f "$included"
  [ "$profile" != release ] || echo "$viewer is missing, so view() will need TRACEDROP_VIEWER; \`make dist\` builds it." >&2
fi

# Wheels for PyPI are built in the release workflow, against an old libc.
"$maturin" build --quiet --manifest-path python/Cargo.toml --profile "$profile" --out "$out" ${WHEEL_OPTIONS:-}
ls "$out"/tracedrop-*.whl
