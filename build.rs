//! Sets a hash of the sources, so that results cached by an older build are not reused.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without influence on cached results.
const LEFT_OUT: [&str; 3] = ["src/app", "src/cli", "src/worker"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if LEFT_OUT.iter().any(|left_out| path.ends_with(left_out)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn main() {
    println!("cargo::rerun-if-changed=src");
    let mut found = Vec::new();
    sources(Path::new("src"), &mut found);
    found.sort();
    // FNV-1a: the same on every computer and with every compiler.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in found {
        let bytes = fs::read(&path).unwrap_or_default();
        // Line ends depend on how the sources were checked out.
        for byte in bytes.into_iter().filter(|byte| *byte != b'\r') {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=TRACEDROP_SOURCES={hash:016x}");
}
