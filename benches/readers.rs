//! Native throughput of each reader in MB/s: bytes to finished trace, and to finished reports; and of their building blocks.
//!
//! `make bench` creates the inputs with `examples/make_trace.rs` and runs this and the browser benchmark. Inputs in
//! `TRACEDROP_BENCH_DIR`: `kineto-mi300.json`, `kineto-b200.json`, `chrome.json`, `chrome.json.gz`, `chrome-lines.jsonl`,
//! `sway.jsonl`, `python.jsonl`, `perf.txt`, `kineto-mi300.pftrace`, `nsys.sqlite`. The CUDA memory snapshot is made by the benchmark itself.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use tracedrop::analysis::{ANALYSES, AnalysisInfo, Context, Query};
use tracedrop::base::zstd::Decoder;
use tracedrop::engine::{Session, Shown};
use tracedrop::export;
use tracedrop::import::{Import, chrome_trace};
use tracedrop::index::Index;
use tracedrop::trace::Run;
use tracedrop::trace::args::Content;

const CHUNK_BYTES: usize = 1 << 20;
const STRETCH_BYTES: usize = 16 << 20;

fn readers(criterion: &mut Criterion) {
    let dir = PathBuf::from(std::env::var_os("TRACEDROP_BENCH_DIR").unwrap_or_else(|| "target/bench".into()));
    let mut group = criterion.benchmark_group("readers");
    group.sample_size(10);
    for name in [
        "kineto-mi300.json",
        "kineto-b200.json",
        "chrome.json",
        "chrome.json.gz",
        "chrome-lines.jsonl",
        "sway.jsonl",
        "python.jsonl",
        "perf.txt",
        "kineto-mi300.pftrace",
        "nsys.sqlite",
    ] {
        let path = dir.join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            // Only made if the tool for it is next to the checkout.
            if name.starts_with("kineto") || name.starts_with("nsys") {
                continue;
            }
            eprintln!("{} is missing: run make bench", path.display());
            continue;
        };
        // Throughput of compressed files is that of their content.
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
        if name.starts_with("kineto") && name.ends_with(".json") {
            let mut import = Import::new(name, bytes.len() as u64);
            import.can_read_again(again.clone());
            bytes.chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
            let Ok(trace) = import.finish() else { continue };
            let run = Run::single(trace);
            // Cost of GPU reports on top of reading, with the model they share: the most expensive one, and all of them.
            let of_gpu: Vec<&AnalysisInfo> = ANALYSES
                .iter()
                .copied()
                .filter(|analysis| analysis.id.starts_with("gpu-") && (analysis.applies)(&run))
                .collect();
            let make = |analyses: &[&AnalysisInfo]| {
                let query = Query::default();
                let context = Context::new(&run, &query);
                analyses.iter().map(|analysis| (analysis.run)(&context).blocks.len()).sum::<usize>()
            };
            let dearest = of_gpu.iter().max_by_key(|analysis| {
                let start = Instant::now();
                black_box(make(&[**analysis]));
                start.elapsed()
            });
            if let Some(dearest) = dearest {
                eprintln!("{name}: the most expensive report is {}", dearest.id);
                group.bench_function(format!("{name}/gpu-one"), |bencher| bencher.iter(|| make(&[*dearest])));
            }
            group.bench_function(format!("{name}/gpu"), |bencher| bencher.iter(|| make(&of_gpu)));
        }
    }
    group.finish();
}

/// Baseline: a program that only needs the events, with a general JSON parser.
#[derive(serde::Deserialize)]
struct TypedTrace<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<TypedEvent<'a>>,
}

#[derive(serde::Deserialize)]
#[allow(dead_code, reason = "what counts is that they are read")]
struct TypedEvent<'a> {
    #[serde(borrow)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default, borrow)]
    pid: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tid: Option<&'a RawValue>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
}

/// Bytes to event rows only, compared with serde_json on the same bytes.
fn scanner(criterion: &mut Criterion) {
    let dir = PathBuf::from(std::env::var_os("TRACEDROP_BENCH_DIR").unwrap_or_else(|| "target/bench".into()));
    let mut group = criterion.benchmark_group("scanner");
    group.sample_size(10);
    for name in ["kineto-mi300.json", "kineto-b200.json", "chrome.json"] {
        let Ok(bytes) = std::fs::read(dir.join(name)) else { continue };
        group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
        group.bench_function(format!("{name}/rows"), |bencher| {
            let Some(parts) = chrome_trace::INFO.parts else { return };
            let mut reader = (parts.reader)();
            bencher.iter(|| {
                let mut rows = 0;
                // In ranges, as workers do it.
                for start in (0..bytes.len()).step_by(STRETCH_BYTES) {
                    reader.start(start as u64, (start + STRETCH_BYTES) as u64);
                    bytes[start..].chunks(CHUNK_BYTES).any(|chunk| !reader.feed(chunk));
                    rows += reader.finish().n_rows();
                }
                black_box(rows)
            });
        });
        group.bench_function(format!("{name}/serde_json typed"), |bencher| {
            bencher.iter(|| {
                serde_json::from_slice::<TypedTrace<'_>>(&bytes).map(|trace| black_box(trace.events.len()))
            });
        });
    }
    group.finish();
}

/// Writing an index, opening it, and reading all of its tables, for a trace whose arguments stay in its file.
fn index(criterion: &mut Criterion) {
    let dir = PathBuf::from(std::env::var_os("TRACEDROP_BENCH_DIR").unwrap_or_else(|| "target/bench".into()));
    let mut group = criterion.benchmark_group("index");
    group.sample_size(10);
    for name in ["kineto-mi300.json", "chrome.json"] {
        let Ok(bytes) = std::fs::read(dir.join(name)) else { continue };
        let again: Rc<dyn Content> = Rc::new(bytes.clone());
        let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
        session.can_read_again(again.clone());
        session.feed(&bytes);
        if session.finish().is_err() {
            continue;
        }
        let Some(exporter) = export::find("index") else { continue };
        let write = |session: &mut Session| {
            let mut out = Vec::new();
            session.export(exporter, &export::Options::default(), &mut out).map(|_| out).unwrap_or_default()
        };
        let index: Rc<dyn Content> = Rc::new(write(&mut session));
        println!(
            "{name}: the index has {:.1}% of its bytes",
            index.n_bytes() as f64 / bytes.len() as f64 * 100.0
        );
        group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
        group.bench_function(format!("{name}/write"), |bencher| {
            bencher.iter(|| black_box(write(&mut session).len()));
        });
        group.bench_function(format!("{name}/open"), |bencher| {
            bencher.iter(|| {
                let index = Index::open(index.clone());
                let session =
                    index.and_then(|index| Session::of_index(index, Some(again.clone()), Query::default()));
                black_box(session.is_ok_and(|session| session.document().is_some()))
            });
        });
        group.bench_function(format!("{name}/tables"), |bencher| {
            bencher.iter(|| {
                let trace = Index::open(index.clone()).and_then(|index| index.trace(Some(again.clone())));
                black_box(trace.map_or(0, |trace| trace.slices.len()))
            });
        });
    }
    group.finish();
}

/// CUDA memory snapshots, which are made here: bytes to finished trace.
fn memory_snapshot(criterion: &mut Criterion) {
    let bytes = snapshot(400_000);
    let mut group = criterion.benchmark_group("memory_snapshot");
    group.sample_size(10);
    group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
    group.bench_function("snapshot.pickle/trace", |bencher| {
        bencher.iter(|| {
            let mut import = Import::new("snapshot.pickle", bytes.len() as u64);
            bytes.chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
            let trace = import.finish().unwrap_or_else(|error| panic!("{error}"));
            black_box(trace.ledger.n_records())
        });
    });
    group.finish();
}

/// A pickle of protocol 4, in which each text is written once.
struct Pickle {
    bytes: Vec<u8>,
    n_memo: u32,
    texts: HashMap<String, u32>,
}

impl Pickle {
    fn memoize(&mut self) -> u32 {
        self.bytes.push(0x94);
        self.n_memo += 1;
        self.n_memo - 1
    }

    fn again(&mut self, slot: u32) {
        self.bytes.push(b'j');
        self.bytes.extend_from_slice(&slot.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        if let Some(slot) = self.texts.get(text) {
            return self.again(*slot);
        }
        self.bytes.extend_from_slice(&[0x8c, text.len() as u8]);
        self.bytes.extend_from_slice(text.as_bytes());
        let slot = self.memoize();
        self.texts.insert(text.to_string(), slot);
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&[0x8a, 8]);
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// An empty dict (`}`) or list (`]`).
    fn empty(&mut self, opcode: u8) -> u32 {
        self.bytes.push(opcode);
        self.memoize()
    }
}

/// A snapshot of `n_events` events as Python's pickler writes it: each frame once, a new list of frames for each event.
fn snapshot(n_events: usize) -> Vec<u8> {
    const N_FRAMES: usize = 200;
    const DEPTH: usize = 20;
    /// Events in one batch of a list.
    const BATCH: usize = 1000;
    let mut out = Pickle { bytes: vec![0x80, 4], n_memo: 0, texts: HashMap::default() };
    out.empty(b'}');
    out.bytes.push(b'(');
    out.text("segments");
    out.empty(b']');
    out.text("device_traces");
    out.empty(b']');
    out.bytes.push(b'(');
    out.empty(b']');
    let mut frames: [Option<u32>; N_FRAMES] = [None; N_FRAMES];
    for event in 0..n_events {
        if event % BATCH == 0 {
            out.bytes.push(b'(');
        }
        let scattered = (event as u64 / 2).wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
        out.empty(b'}');
        out.bytes.push(b'(');
        out.text("action");
        out.text(if event % 2 == 0 { "alloc" } else { "free_completed" });
        let numbers = [
            ("addr", 0x7f3a_4000_0000 + scattered * 512),
            ("size", 512 + scattered % 4096),
            ("stream", 0),
            ("time_us", 1_795_751_917_000_000 + event as u64),
        ];
        for (key, number) in numbers {
            out.text(key);
            out.number(number);
        }
        out.text("frames");
        out.empty(b']');
        out.bytes.push(b'(');
        for depth in 0..DEPTH {
            let frame = (scattered as usize + depth * 7) % N_FRAMES;
            if let Some(slot) = frames[frame] {
                out.again(slot);
                continue;
            }
            frames[frame] = Some(out.empty(b'}'));
            out.bytes.push(b'(');
            out.text("name");
            out.text(&format!("function_{frame}"));
            out.text("filename");
            out.text("/home/me/model.py");
            out.text("line");
            out.number(frame as u64 + 1);
            out.bytes.push(b'u');
        }
        out.bytes.extend_from_slice(b"eu");
        if event % BATCH == BATCH - 1 || event + 1 == n_events {
            out.bytes.push(b'e');
        }
    }
    out.bytes.extend_from_slice(b"eu.");
    out.bytes
}

/// In-memory zstd decompression, compared with the streaming decoder: number columns as in Parquet (times and addresses), and
/// text.
fn zstd(criterion: &mut Criterion) {
    const N_VALUES: u64 = 100_000;
    let mut group = criterion.benchmark_group("zstd");
    let scattered = |at: u64| at.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
    let column = |value: &dyn Fn(u64) -> u64| (0..N_VALUES).flat_map(|at| value(at).to_le_bytes()).collect();
    let contents: [(&str, Vec<u8>); 3] = [
        ("times", column(&|at| 12_345_000_000_000 + at * 60_000 + scattered(at) % 60 * 1000)),
        ("addresses", column(&|at| 0x7f3a_4000_0000 + scattered(at) * 64)),
        (
            "text",
            (0..N_VALUES / 8)
                .flat_map(|at| format!("{at} aten::mm_{}\n", scattered(at) % 50).into_bytes())
                .collect(),
        ),
    ];
    for (name, content) in contents {
        let packed = compress_to_vec(content.as_slice(), CompressionLevel::Fastest);
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        group.throughput(Throughput::BytesDecimal(content.len() as u64));
        group.bench_function(format!("{name}/whole"), |bencher| {
            bencher.iter(|| black_box(decoder.unpack(&packed, content.len(), &mut out).is_ok()));
        });
        assert!(out == content);
        group.bench_function(format!("{name}/ruzstd"), |bencher| {
            bencher.iter(|| {
                out.clear();
                let stream = StreamingDecoder::new(packed.as_slice());
                black_box(stream.is_ok_and(|mut stream| stream.read_to_end(&mut out).is_ok()))
            });
        });
    }
    group.finish();
}

/// Threads and names that collide under well-known hash functions, compared with consecutive ones: both must take the same
/// time per byte, for any number of them.
fn chosen_keys(criterion: &mut Criterion) {
    /// Inverse of the multiplier of rustc-hash 2, so that all products are small.
    const INVERSE: u64 = inverse(0xf135_7aea_2e62_a9c5);
    let mut group = criterion.benchmark_group("chosen keys");
    group.sample_size(10);
    let event =
        |tid: i64| format!("{{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":{tid}}},\n");
    for n in [25_000u64, 100_000] {
        for (name, factor) in [("counting", 1), ("colliding", INVERSE)] {
            let events: String = (1..=n).map(|at| event(at.wrapping_mul(factor) as i64)).collect();
            let bytes = format!("[\n{}]", events.trim_end_matches(",\n")).into_bytes();
            group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
            group.bench_function(format!("{n} threads, {name}"), |bencher| {
                bencher.iter(|| {
                    let mut import = Import::new("threads.json", bytes.len() as u64);
                    bytes.chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
                    black_box(import.finish().map(|trace| trace.threads.len()))
                });
            });
        }
    }
    group.finish();
}

/// Multiplicative inverse of an odd number.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

criterion_group!(benches, scanner, readers, memory_snapshot, index, zstd, chosen_keys);
criterion_main!(benches);
