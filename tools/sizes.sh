#!/usr/bin/env bash
# Prints the size of the site, in dist/ and compressed as a server sends it.
set -euo pipefail
cd "$(dirname "$0")/.."

kb() { awk -v n="$1" 'BEGIN { printf "%.1f", n / 1000 }'; }
line() { printf '  %-34s %10s kB %10s kB gzip\n' "$1" "$(kb "$2")" "$(kb "$3")"; }

total=0 total_gzip=0
echo "dist/"
while IFS= read -r -d '' file; do
  size=$(wc -c <"$file")
  gzip=$(gzip -9c "$file" | wc -c)
  total=$((total + size)) total_gzip=$((total_gzip + gzip))
  case $file in *.wasm) line "${file#dist/}" "$size" "$gzip" ;; esac
done < <(find dist -type f -print0 | sort -z)
line "all files" "$total" "$total_gzip"
