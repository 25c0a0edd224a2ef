#!/usr/bin/env bash
# Builds the Python package, installs it into a fresh virtual environment with pandas, Polars, PyArrow and DuckDB, and runs
# python/tests. `tools/test-python.sh ARGS…` passes arguments to pytest, such as `-k sql`. The last line counts passed and failed
# tests.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/target/python-tests
python3 -m venv --clear "$venv"
if ! "$venv/bin/pip" install --quiet pytest pandas polars pyarrow duckdb mcp jsonschema mypy pyyaml; then
  if [ -n "${TRACEDROP_REQUIRE_CORPUS:-}" ]; then
    echo "PyPI cannot be reached, and TRACEDROP_REQUIRE_CORPUS is set." >&2
    exit 1
  fi
  printf '\n%s\n\n' "PYTHON TESTS SKIPPED: PyPI cannot be reached, so pandas, Polars, PyArrow and DuckDB are missing." >&2
  exit 0
fi
tools/wheel.sh dev
"$venv/bin/pip" install --quiet --no-deps --no-index target/wheels/dev/tracedrop-*.whl
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
(cd python && "$venv/bin/python" -m pytest -q -p no:cacheprovider --color=no "$@") 2>&1 | tee "$log" || code=$?
# A folder without tests, or a broken import, is a failure too.
count() { tail -n 1 "$log" | grep -oE "[0-9]+ $1" | grep -oE '[0-9]+' || echo 0; }
failed=$(($(count failed) + $(count error)))
if [ "$code" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
echo "python: $(count passed) passed, $failed failed"
exit "$code"
