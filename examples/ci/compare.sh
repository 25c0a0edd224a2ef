#!/usr/bin/env bash
# Compares BEFORE with AFTER: writes comparison.md, comparison.html and junit.xml into OUT, and exits with 3 if a limit of FAIL_ON
# (one a line) is exceeded.
set -euo pipefail
out=${OUT:-tracedrop-report}
mkdir -p "$out"
limits=()
while IFS= read -r limit; do
  [ -z "${limit// /}" ] || limits+=(--fail-on "$limit")
done <<< "${FAIL_ON:-}"
tracedrop compare --quiet "$BEFORE" "$AFTER" --format markdown > "$out/comparison.md"
tracedrop compare --quiet "$BEFORE" "$AFTER" --format html > "$out/comparison.html"
tracedrop compare --quiet "$BEFORE" "$AFTER" --format junit ${limits[@]+"${limits[@]}"} > "$out/junit.xml"
