#!/usr/bin/env bash
# Builds the standard library for wasm from Debian's rust-web-src, once, and prints its sysroot folder.
#
# Only for computers where rustup cannot add the target. The result is in the cache, not in /usr/lib, and is passed to rustc
# as --sysroot: the folder's name contains a checksum of the library, so that cargo notices changes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

target=wasm32-unknown-unknown
version=$(/usr/bin/rustc --version | awk '{ print $2 }')
source=$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library

ready=$(compgen -G "$cache/std-$version-*/lib/rustlib/$target/lib/libstd-*.rlib" | head -n 1 || true)
if [ -n "$ready" ]; then
  printf '%s\n' "${ready%%/lib/rustlib/*}"
  exit
fi
[ -d "$source/std" ] ||
  stop "the source of Rust's standard library is missing" "there is nothing at $source" "apt-get install rust-web-src"

say "setup: building the standard library for $target, which takes a few minutes, once"
work=$cache/std-build
rm -rf "$work"
mkdir -p "$work/src"
touch "$work/src/lib.rs"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "std_for_wasm"
version = "0.0.0"
edition = "2021"
[workspace]
TOML

# embed-bitcode: the project links with lto = "fat". The remapping keeps this machine's folders out of the site.
build() {
  (cd "$work" && env -u RUSTUP_TOOLCHAIN -u CARGO_TARGET_DIR \
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 __CARGO_DEFAULT_LIB_METADATA=stablestd \
    RUSTFLAGS="-C embed-bitcode=yes --remap-path-prefix=${source%/library}=/rust --remap-path-prefix=$(readlink -f "$source/..")=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
    /usr/bin/cargo build --quiet --release -Z build-std=std,panic_abort --target "$target" "$@" >&2)
}
# Debian ships the crates that std needs, so no network is required; otherwise the registry is used.
if [ -d "$source/vendor" ]; then
  mkdir -p "$work/.cargo"
  printf '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "%s"\n' "$source/vendor" >"$work/.cargo/config.toml"
fi
{ [ -d "$work/.cargo" ] && build --offline; } || { rm -rf "$work/.cargo" && build; } ||
  stop "the standard library for $target is missing" "cargo could not build it (its output is above)" \
  "check that cargo can reach its registry, or use a Rust from https://rustup.rs: rustup target add $target"

rlibs=$work/target/$target/release/deps
rm -f "$rlibs"/libstd_for_wasm-*.rlib
sum=$(cat "$rlibs"/*.rlib | cksum | tr -d ' ')
sysroot=$cache/std-$version-$sum
mkdir -p "$sysroot.new/lib/rustlib/$target/lib"
cp "$rlibs"/*.rlib "$sysroot.new/lib/rustlib/$target/lib/"
mv "$sysroot.new" "$sysroot"
rm -rf "$work"
printf '%s\n' "$sysroot"
