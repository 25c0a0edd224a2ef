//! MB/s of each reader natively: bytes to finished trace, and to finished reports.
//!
//! The inputs are made by `examples/make_trace.rs`; `make bench` makes them and runs this and the browser's side.
//! `TRACEDROP_BENCH_DIR` holds them: `kineto-mi300.json`, `kineto-b200.json`, `chrome.json`, `chrome.json.gz`, `sway.jsonl`, `python.jsonl`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::PathBuf;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::Session;
use tracedrop::import::Import;
use tracedrop::trace::args::Content;

const CHUNK_BYTES: usize = 1 << 20;

fn readers(criterion: &mut Criterion) {
    let dir = PathBuf::from(std::env::var_os("TRACEDROP_BENCH_DIR").unwrap_or_else(|| "target/bench".into()));
    let mut group = criterion.benchmark_group("readers");
    group.sample_size(10);
    for name in [
        "kineto-mi300.json",
        "kineto-b200.json",
        "chrome.json",
        "chrome.json.gz",
        "sway.jsonl",
        "python.jsonl",
    ] {
        let path = dir.join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            // Only grown where the tool for that stands beside the checkout.
            if name.starts_with("kineto") {
                continue;
            }
            eprintln!("{} is missing: make bench makes it", path.display());
            continue;
        };
        // Of packed files the content counts.
        let content = std::fs::metadata(dir.join(name.trim_end_matches(".gz"))).map_or(0, |file| file.len());
        group.throughput(Throughput::BytesDecimal(content));
        let again: Rc<dyn Content> = Rc::new(bytes.clone());
        group.bench_function(format!("{name}/trace"), |bencher| {
            bencher.iter(|| {
                let mut import = Import::new(name, bytes.len() as u64);
                import.can_read_again(again.clone());
                bytes.chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
                black_box(import.finish().map(|trace| trace.ledger.n_records()))
            });
        });
        group.bench_function(format!("{name}/reports"), |bencher| {
            bencher.iter(|| {
                let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
                session.can_read_again(again.clone());
                bytes.chunks(CHUNK_BYTES).for_each(|chunk| session.feed(chunk));
                black_box(session.finish().is_ok());
                black_box(session.document().is_some())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
