#!/usr/bin/env bash
# Installs JupyterLab from PyPI and the Python package into a fresh virtual environment, and runs tests/browser/notebook.mjs, which
# drives JupyterLab in Chromium. The viewer is that of TRACEDROP_DIST, by default target/quick. The last line counts passed and
# failed tests.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh all
. target/env.sh
export TRACEDROP_CHROME
TRACEDROP_DIST=$(realpath "${TRACEDROP_DIST:-target/quick}")
export TRACEDROP_DIST
venv=$PWD/target/notebook-tests
python3 -m venv --clear "$venv"
if ! "$venv/bin/pip" install --quiet 'jupyterlab>=4,<5'; then
  if [ -n "${TRACEDROP_REQUIRE_CORPUS:-}" ]; then
    echo "PyPI cannot be reached, and TRACEDROP_REQUIRE_CORPUS is set." >&2
    exit 1
  fi
  printf '\n%s\n\n' "NOTEBOOK TESTS SKIPPED: PyPI cannot be reached, so JupyterLab is missing." >&2
  exit 0
fi
tools/wheel.sh dev notebook
"$venv/bin/pip" install --quiet --no-deps --no-index target/wheels/notebook/tracedrop-*.whl
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
TRACEDROP_JUPYTER="$venv/bin/jupyter" node --test --test-reporter=spec tests/browser/notebook.mjs 2>&1 | tee "$log" || code=$?
count() { sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -oE "^ℹ $1 [0-9]+" | grep -oE '[0-9]+' || echo 0; }
passed=$(count pass)
failed=$(($(count fail) + $(count cancelled) + $(count skipped)))
if [ "$failed" = 0 ] && { [ "$code" != 0 ] || [ "$passed" = 0 ]; }; then failed=1; fi
echo "notebook: $passed passed, $failed failed"
[ "$failed" = 0 ]
