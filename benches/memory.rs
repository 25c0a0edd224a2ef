//! Native benchmark of memory accesses: speed of reading, labelling and metrics, and memory use.
//!
//! `cargo bench --bench memory` reads `mrm.txt` and `mrm.parquet` in the folder `TRACEDROP_BENCH_DIR` (`make bench` creates
//! them); `TRACEDROP_BENCH_FILES` names other files, separated by colons. Each stage is timed separately. Peak memory is that
//! of the process so far, so the most important file should come first.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tracedrop::base::threads::{self, n_threads};
use tracedrop::import::parts::Part;
use tracedrop::import::{Import, mrm_parquet, perf_text};
use tracedrop::memory::{LabelledTrace, Options};
use tracedrop::trace::args::Content;
use tracedrop::trace::{Trace, TraceBuilder};

const CHUNK_BYTES: usize = 1 << 20;
const STRETCH_BYTES: u64 = 16 << 20;
/// Bytes of text read for the single-worker measurement.
const MAX_STRETCHED_BYTES: u64 = 512 << 20;

fn main() {
    let dir = PathBuf::from(std::env::var_os("TRACEDROP_BENCH_DIR").unwrap_or_else(|| "target/bench".into()));
    let names = std::env::var("TRACEDROP_BENCH_FILES").unwrap_or_else(|_| "mrm.txt:mrm.parquet".into());
    for name in names.split(':') {
        let path = dir.join(name);
        if let Err(error) = measure(&path) {
            eprintln!("{}: {error}", path.display());
        }
    }
}

fn measure(path: &Path) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let n_bytes = std::fs::metadata(path)?.len();
    if name.ends_with(".txt") {
        let (bytes, rows, seconds) = stretches(path)?;
        println!(
            "{name}: one worker reads {:.0} MB/s, {:.1} million rows/s",
            bytes as f64 / seconds / 1e6,
            rows as f64 / seconds / 1e6
        );
    }
    if name.ends_with(".parquet") {
        let content = SharedContent(Arc::new(std::fs::read(path)?));
        let mut counts = vec![1, 2, n_threads()];
        counts.dedup();
        for n_threads in counts {
            // In its own thread, which starts no others from then on.
            let bench = || row_groups(&content, n_threads);
            let Ok((rows, seconds)) = std::thread::scope(|scope| scope.spawn(bench).join()) else { continue };
            println!(
                "{name}: {n_threads} threads read and join {:.1} million rows/s",
                rows as f64 / seconds / 1e6
            );
        }
    }
    let Some((trace, seconds)) = read(path, &name, n_bytes)? else { return Ok(()) };
    let n_rows = trace.accesses.len() as f64;
    println!(
        "{name}: {:.1} million accesses in {:.1} bytes each, read in {seconds:.2} s ({:.0} MB/s, {:.1} million rows/s); peak {} MB",
        n_rows / 1e6,
        trace.accesses.n_bytes() as f64 / n_rows,
        n_bytes as f64 / seconds / 1e6,
        n_rows / seconds / 1e6,
        peak_mb()
    );
    let start = Instant::now();
    let view = LabelledTrace::new(&trace, &Options::default());
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: labelled and measured in {seconds:.2} s ({:.1} million rows/s), {} regions, {} pages; peak {} MB",
        n_rows / seconds / 1e6,
        view.regions.regions().len(),
        view.pages.len(),
        peak_mb()
    );
    black_box(view.metrics.regions.len());
    Ok(())
}

/// Bytes, rows and seconds of a worker that reads one range after the other.
fn stretches(path: &Path) -> std::io::Result<(u64, usize, f64)> {
    let Some(parts) = perf_text::INFO.parts else { return Ok((0, 0, 1.0)) };
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_STRETCHED_BYTES).read_to_end(&mut bytes)?;
    let mut reader = (parts.reader)();
    let mut n_rows = 0;
    let start = Instant::now();
    for from in (0..bytes.len() as u64).step_by(STRETCH_BYTES as usize) {
        reader.start(from, from + STRETCH_BYTES);
        bytes[from as usize..].chunks(CHUNK_BYTES).any(|chunk| !reader.feed(chunk));
        let part = reader.finish();
        n_rows += part.n_rows();
        // As sent to the joining worker.
        black_box(part.into_bytes());
    }
    Ok((bytes.len() as u64, n_rows, start.elapsed().as_secs_f64()))
}

/// Bytes shared by several threads.
#[derive(Clone)]
struct SharedContent(Arc<Vec<u8>>);

impl Content for SharedContent {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn n_bytes(&self) -> u64 {
        self.0.n_bytes()
    }
}

/// Rows and seconds of `n_threads` threads that read ranges of a Parquet file and join them into one table.
fn row_groups(content: &SharedContent, n_threads: usize) -> (usize, f64) {
    let Some(parts) = mrm_parquet::INFO.parts else { return (0, 1.0) };
    let start = Instant::now();
    let n_bytes = content.n_bytes();
    let n_stretches = n_bytes.div_ceil(STRETCH_BYTES) as usize;
    let sent = threads::map(n_stretches, &mut vec![(); n_threads], |number, _| {
        threads::be_one_of_several();
        let mut reader = (parts.reader)();
        reader.lend(Rc::new(content.clone()));
        let from = number as u64 * STRETCH_BYTES;
        reader.start(from, from + STRETCH_BYTES);
        reader.finish().into_sent()
    });
    let mut whole = TraceBuilder::default();
    whole.trace.accesses.set_given_positions();
    for part in sent.into_iter().filter_map(Part::from_sent) {
        black_box(part.rows.merge_into(&mut whole, &[], 0));
    }
    (whole.trace.accesses.len(), start.elapsed().as_secs_f64())
}

/// Reads a file with one thread; returns the seconds, for Parquet without the time to read from disk.
fn read(path: &Path, name: &str, n_bytes: u64) -> std::io::Result<Option<(Trace, f64)>> {
    let mut import = Import::new(name, n_bytes);
    let mut file: Box<dyn Read> = Box::new(File::open(path)?);
    if name.ends_with(".parquet") {
        let content = SharedContent(Arc::new(std::fs::read(path)?));
        import.can_read_again(Rc::new(content.clone()));
        // Reading uses random access, so this only counts bytes.
        file = Box::new(std::io::Cursor::new(content.0.to_vec()));
    }
    let start = Instant::now();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            n => import.feed(&chunk[..n]),
        }
    }
    Ok(import.finish().ok().map(|trace| (trace, start.elapsed().as_secs_f64())))
}

/// Peak memory of the process, if the system reports it.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1000
}
