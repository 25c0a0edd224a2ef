# Shared by the scripts in tools/: paths, messages, downloads.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${TRACEDROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tracedrop}
env_file=$root/target/env.sh

say() { printf '%s\n' "$*" >&2; }

# stop WHAT WHY WHAT-TO-DO
stop() {
  say ""
  say "error: $1"
  say "  why: $2"
  say "  try: $3"
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command with a time limit in seconds, where the system has `timeout`.
within() {
  local seconds=$1
  shift
  if has timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

# The version of the wasm-bindgen crate in Cargo.lock.
wasm_bindgen_version() {
  awk '/^name = "wasm-bindgen"$/ { found = 1 } found && /^version = / { gsub(/"/, "", $3); print $3; exit }' "$root/Cargo.lock"
}

# install_packages WHAT-FOR PACKAGE... : through apt when that is possible, else says what is missing.
install_packages() {
  local what=$1
  shift
  if ! has apt-get; then
    stop "$what is missing" "there is no apt-get here to install it with" \
      "install the equivalent of these Debian packages: $*"
  fi
  if [ "$(id -u)" != 0 ]; then
    stop "$what is missing" "installing it needs root" \
      "sudo apt-get install --no-install-recommends $*"
  fi
  say "setup: installing $*"
  apt-get update -qq >&2 || say "setup: apt-get update failed, continuing with the existing package lists"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 ||
    stop "$what is missing" "apt-get could not install it (its output is above)" \
      "apt-get install --no-install-recommends $*"
}

# cargo_tool CRATE VERSION BINARY [cargo install options] : prints the folder that holds the binary.
# Order: the right version on PATH, in the cache, prebuilt, built from source.
cargo_tool() {
  local crate=$1 version=$2 binary=$3 dir
  shift 3
  if has "$binary" && "$binary" --version 2>/dev/null | grep -qwF "$version"; then
    dirname "$(command -v "$binary")"
    return
  fi
  dir=$cache/$crate-$version
  if [ -x "$dir/bin/$binary" ]; then
    printf '%s\n' "$dir/bin"
    return
  fi
  mkdir -p "$dir/bin"
  if has cargo-binstall; then
    say "setup: downloading $crate $version"
    within 300 cargo binstall --no-confirm --install-path "$dir/bin" "$crate@$version" >&2 ||
      say "setup: no prebuilt $crate $version available"
  fi
  if [ ! -x "$dir/bin/$binary" ]; then
    say "setup: building $crate $version, which takes a few minutes, once"
    # They run for seconds, so build time matters more than speed.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=64 \
      CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=true \
      cargo install "$crate" --version "$version" --root "$dir" --target-dir "$cache/build" --no-track --force --quiet "$@" >&2 ||
      stop "$crate $version is missing" "cargo could not build it (its output is above)" \
        "put $binary $version on PATH, or check that cargo can reach its registry"
    rm -rf "$cache/build"
  fi
  printf '%s\n' "$dir/bin"
}

# A file of the collection, repeated up to that many megabytes by a tool of this folder; nothing without the collection.
# Made once: repeated MEGABYTES NAME TOOL FILE
repeated() {
  local file=$root/target/bench/$1/$2 from=$root/../shared/corpus/$4
  mkdir -p "$(dirname "$file")"
  if [ ! -s "$file" ] && [ -f "$from" ] && has python3; then
    python3 "$root/tools/$3" "$from" "$file" "$1" >&2 || rm -f "$file"
  fi
  [ ! -s "$file" ] || echo "$file"
}

# A real trace of that many megabytes, grown by a tool next to some checkouts; elsewhere a generated one.
# Made once: grown MEGABYTES NAME [arguments of the tool]
grown() {
  local file=$root/target/bench/$1/$2 megabytes=$1 grow=$root/../shared/tools/make_big_trace.py
  shift 2
  mkdir -p "$(dirname "$file")"
  if [ ! -s "$file" ]; then
    if [ -f "$grow" ] && has python3; then
      python3 "$grow" "$file" --size "${megabytes}MB" "$@" >&2 || rm -f "$file"
    else
      cargo run --quiet --release --example make_trace -- chrome "$megabytes" "$file" >&2
    fi
  fi
  echo "$file"
}
