#!/usr/bin/env bash
# Prints the size of the site, in dist/ and compressed as a server sends it, and fails when a program outgrew its limit.
set -euo pipefail
cd "$(dirname "$0")/.."

kb() { awk -v n="$1" 'BEGIN { printf "%.1f", n / 1000 }'; }
line() { printf '  %-34s %10s kB %10s kB gzip\n' "$1" "$(kb "$2")" "$(kb "$3")"; }

# In kB, compressed: what someone waits for before the first trace can be dropped.
limit() { case $1 in *app-*) echo 800 ;; *worker-*) echo 2650 ;; *) echo 1000000 ;; esac; }

total=0 total_gzip=0 too_big=()
echo "dist/"
while IFS= read -r -d '' file; do
  size=$(wc -c <"$file")
  gzip=$(gzip -9c "$file" | wc -c)
  total=$((total + size)) total_gzip=$((total_gzip + gzip))
  case $file in *.wasm) line "${file#dist/}" "$size" "$gzip" ;; esac
  [ "$gzip" -le "$(limit "$file")000" ] || too_big+=("${file#dist/}")
done < <(find dist -type f -print0 | sort -z)
line "all files" "$total" "$total_gzip"

if [ ${#too_big[@]} -gt 0 ]; then
  echo "Above its limit in tools/sizes.sh: ${too_big[*]}" >&2
  exit 1
fi
