//! What holds for arbitrary bytes (`fuzz/check.rs`), held for small test files and for what little damage makes of them.

#[path = "../fuzz/check.rs"]
mod check;
use crate::support::{Random, changed, own_dir};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tracedrop::import::detect::detect;

/// Maximum size of files that their own reader gets, and of those that every other target gets.
const MAX_BYTES: [usize; 2] = [8192, 512];
/// Maximum number of files of each of the two kinds for one target, taken evenly from all folders.
const MAX_FILES: [usize; 2] = [120, 40];

/// Prints the file of a panic.
struct About<'a>(&'a str, &'a Path);

impl Drop for About<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("target {} with {}, or the same damaged", self.0, self.1.display());
        }
    }
}

/// All files in `dir` and below, sorted.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// The target for a file of the test data: its format or what it is instead.
fn target_of(path: &Path, bytes: &[u8]) -> &'static str {
    let name = path.file_name().unwrap().to_str().unwrap();
    if bytes.starts_with(b"PK") {
        return if name.ends_with(".tracedrop") { "tracedrop-file" } else { "archive" };
    }
    match detect(bytes, name) {
        Some((format, _)) => format.id,
        None if path.parent().is_some_and(|dir| dir.ends_with("link")) => "link",
        None => "anything",
    }
}

/// At most `max` of `files`, evenly.
fn some(files: Vec<&(PathBuf, Vec<u8>)>, max: usize) -> impl Iterator<Item = &(PathBuf, Vec<u8>)> {
    let step = files.len().div_ceil(max).max(1);
    files.into_iter().step_by(step)
}

#[test]
fn small_files_keep_what_holds_for_any_bytes() {
    let mut files = Vec::new();
    for path in below(&own_dir("")) {
        if path.metadata().unwrap().len() <= MAX_BYTES[0] as u64 {
            let bytes = std::fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
    let own = |(path, bytes): &(PathBuf, Vec<u8>)| target_of(path, bytes);
    let targets: Vec<&str> = check::targets().collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            let fits = |file: &&(PathBuf, Vec<u8>)| own(file) == target && file.1.len() <= MAX_BYTES[0];
            let is_small = |file: &&(PathBuf, Vec<u8>)| !fits(file) && file.1.len() <= MAX_BYTES[1];
            let of_it = some(files.iter().filter(fits).collect(), MAX_FILES[0]);
            for (path, bytes) in of_it.chain(some(files.iter().filter(is_small).collect(), MAX_FILES[1])) {
                let _about = About(target, path);
                check::run(target, bytes);
                if !bytes.is_empty() {
                    check::run(target, &changed(bytes, &mut random));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(work);
        }
    });
}
