//! The ledger accounts for everything a file holds, whatever is wrong with the file.

mod support;

use std::path::PathBuf;
use support::{data_dirs, files};
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};

/// Small files of all formats.
fn inputs(max_bytes: u64) -> Vec<PathBuf> {
    let folders = [
        ("chrome", ""),
        ("chrome", "ours"),
        ("sway", ""),
        ("pysampling", ""),
        ("pytorch", ""),
        ("pytorch", "edge"),
        ("mrm", "real"),
        ("mrm", "memray"),
        ("mrm", "inputs"),
        ("mrm", "parquet-variants"),
    ];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all = folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[""]));
    all.filter(|path| path.metadata().unwrap().len() < max_bytes).collect()
}

/// All exports of a file, read anew.
fn exports(name: &str, bytes: &[u8]) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.feed(bytes);
    session.finish().ok()?;
    let exporters = session.exporters();
    let of = |exporter: &'static export::ExporterInfo| {
        let mut out = Vec::new();
        session.export(exporter, &Options::default(), &mut out).ok().map(|_| (exporter.id, out))
    };
    Some(exporters.into_iter().filter_map(of).collect())
}

/// Maps have other secrets each time a file is read.
#[test]
fn nothing_depends_on_the_order_of_maps() {
    let mut n_read = 0;
    for path in inputs(40_000) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (first, second) = (exports(name, &bytes), exports(name, &bytes));
        for (a, b) in first.iter().flatten().zip(second.iter().flatten()) {
            assert!(a == b, "{} as {}", path.display(), a.0);
        }
        assert_eq!(first.map(|all| all.len()), second.map(|all| all.len()), "{}", path.display());
        n_read += 1;
    }
    assert!(n_read > 50, "{n_read}");
}
