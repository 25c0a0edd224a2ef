#!/usr/bin/env bash
# Installs DuckDB, Ray and PySpark from PyPI, and the Python package, into target/fleet-tests, and runs examples/fleet/test_engines.py
# on made-up ranks: FLEET_RANKS of them (64) with FLEET_MEGABYTES of JSON each (0.2). Java comes from Debian if it is missing.
# `tools/test-fleet.sh ARGS…` passes arguments to pytest. The last line counts passed and failed tests.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
venv=$root/target/fleet-tests
export FLEET_RANKS=${FLEET_RANKS:-64} FLEET_MEGABYTES=${FLEET_MEGABYTES:-0.2}

# Without an engine its tests are left out, but not where all tests have to run.
missing() {
  [ -z "${TRACEDROP_REQUIRE_CORPUS:-}" ] || { say "$1, and TRACEDROP_REQUIRE_CORPUS is set."; exit 1; }
  printf '\n%s\n\n' "FLEET TESTS SKIPPED: $1." >&2
  exit 0
}
# Kept between runs: PySpark alone has 400 MB. Ray Data looks for aiohttp, through fsspec, and does not ask for it.
if [ ! -f "$venv/complete" ]; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet pytest duckdb pyarrow aiohttp 'ray[data]' 'pyspark>=4' || missing "PyPI cannot be reached, so DuckDB, Ray and PySpark are missing"
  touch "$venv/complete"
fi
has java || (install_packages "Java (runs Spark)" default-jre-headless) || missing "Java is missing, which Spark needs"

# FLEET_WHEELS is a folder with a wheel that another test has built.
wheels=${FLEET_WHEELS:-}
if [ -z "$wheels" ] || ! compgen -G "$wheels/tracedrop-*.whl" >/dev/null; then
  tools/wheel.sh "${FLEET_PROFILE:-dev}" fleet
  wheels=target/wheels/fleet
  [ "${FLEET_PROFILE:-dev}" != release ] || wheels=target/wheels
fi
"$venv/bin/pip" install --quiet --no-deps --no-index --force-reinstall "$wheels"/tracedrop-*.whl

log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
# Both report their use to their makers unless told not to.
export RAY_USAGE_STATS_ENABLED=0 RAY_ENABLE_UV_RUN_RUNTIME_ENV=0 SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$venv/bin/python
(cd examples/fleet && "$venv/bin/python" -m pytest -q -p no:cacheprovider --color=no test_engines.py "$@") 2>&1 | tee "$log" || code=$?
count() { tail -n 1 "$log" | grep -oE "[0-9]+ $1" | grep -oE '[0-9]+' || echo 0; }
failed=$(($(count failed) + $(count error) + $(count skipped)))
if [ "$code" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
echo "fleet: $(count passed) passed, $failed failed"
[ "$failed" = 0 ]
