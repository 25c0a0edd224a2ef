#!/usr/bin/env bash
# Builds the files of a release besides the commands: the site as a zip, the npm package, and the hash of the build.
# Writes them to target/release-files/.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"

out=target/release-files
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
rm -rf "$out"
mkdir -p "$out"
# Python is on more computers than zip.
if has zip; then
  (cd dist && zip --quiet -X -r "../$out/tracedrop-$version.zip" .)
else
  has python3 || stop "zip is missing" "there is neither zip nor python3" "install zip"
  (cd dist && python3 -m zipfile -c "../$out/tracedrop-$version.zip" ./*)
fi
(cd target/npm/trace-drop && npm pack --silent --pack-destination "$root/$out" >/dev/null)
node tools/build-hash.mjs dist >"$out/build.txt"
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "$out/"
ls -l "$out" | awk 'NR > 1 { printf "  %-34s %10.1f kB\n", $NF, $5 / 1000 }'
