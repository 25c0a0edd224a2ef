//! Native benchmark of the timeline: time and memory of its index, and time for one view at any zoom.
//!
//! `cargo bench --bench timeline` makes its own traces of 10 and 28 million slices: 20 threads of three depths, whose slices come
//! in bursts. `TRACEDROP_BENCH_SLICES` names other numbers, separated by colons, `TRACEDROP_BENCH_FILES` traces that are measured
//! after them. A view is 60 rows of 1,600 pixels, at a random place and zoom; times are over 400 of them.

use std::hint::black_box;
use std::time::Instant;
use tracedrop::base::strings::StringId;
use tracedrop::import::Import;
use tracedrop::timeline::{RowLine, SliceBoxes, TimelineIndex, Window, read_rows};
use tracedrop::trace::Trace;
use tracedrop::trace::slices::{SliceId, SliceKind};
use tracedrop::trace::tracks::{TrackId, TrackKind};

const N_TRACKS: u64 = 20;
const N_VIEWS: usize = 400;
const N_PIXELS: u32 = 1600;

fn main() {
    let counts = std::env::var("TRACEDROP_BENCH_SLICES").unwrap_or_else(|_| "10000000:28000000".to_string());
    for n in counts.split(':').filter_map(|n| n.parse().ok()) {
        measure(&made(n));
    }
    let files = std::env::var("TRACEDROP_BENCH_FILES").unwrap_or_default();
    for path in files.split(':').filter(|path| !path.is_empty()) {
        match std::fs::read(path).map(|bytes| read_trace(path, &bytes)) {
            Ok(Some(trace)) => measure(&trace),
            _ => eprintln!("{path} could not be read"),
        }
    }
}

fn read_trace(path: &str, bytes: &[u8]) -> Option<Trace> {
    let mut import = Import::new(path, bytes.len() as u64);
    import.feed(bytes);
    import.finish().ok()
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Slices of three depths on each track: an outer one with two or three others in it. Nine in ten groups follow each other at
/// once, the rest after a longer break.
fn made(n: usize) -> Trace {
    let mut state = 7;
    let mut rows: Vec<(i64, i64, u32, u32)> = Vec::with_capacity(n + 4);
    let mut ends = vec![0_i64; N_TRACKS as usize];
    while rows.len() < n {
        // The track that is behind the others.
        let track = (0..ends.len()).min_by_key(|track| ends[*track]).unwrap_or(0);
        let mixed = random(&mut state);
        let gap = if mixed.is_multiple_of(10) { mixed >> 40 & 0xF_FFFF } else { mixed >> 40 & 0xFF };
        let start = ends[track] + gap as i64;
        let inner = 200 + (mixed >> 16 & 0x7FF) as i64;
        rows.push((start, inner * 3, track as u32, 0));
        rows.push((start + 10, inner, track as u32, 1));
        rows.push((start + 20, inner - 30, track as u32, 2));
        rows.push((start + inner + 20, inner, track as u32, 1));
        ends[track] = start + inner * 3;
    }
    rows.truncate(n);
    rows.sort_unstable();
    let mut trace = Trace::default();
    let name = trace.strings.intern("slice");
    for _ in 0..N_TRACKS {
        trace.tracks.push(TrackKind::Thread, StringId::NONE, None, None);
    }
    let slices = &mut trace.slices;
    for (ts, dur, track, depth) in rows {
        slices.ts.push(ts);
        slices.dur.push(dur);
        slices.self_ns.push(dur);
        slices.name.push(name);
        slices.category.push(StringId::NONE);
        slices.track.push(TrackId(track));
        slices.kind.push(SliceKind::Complete);
        slices.depth.push(depth);
        slices.parent.push(SliceId::NONE);
        slices.places.push(0, (0, 0));
    }
    trace
}

fn measure(trace: &Trace) {
    let n = trace.slices.len();
    let start = Instant::now();
    let index = TimelineIndex::new(SliceBoxes::new(trace), trace.span().map_or(0, |span| span.0));
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{n} slices: index in {seconds:.2} s, {:.1} bytes a slice, {} rows",
        index.n_bytes() as f64 / n as f64,
        index.rows.len()
    );
    let Some((first, last)) = trace.span() else { return };
    let span = (last - first) as u64;
    let boxes = SliceBoxes::new(trace);
    let rows: Vec<usize> = (0..index.rows.len().min(60)).collect();
    let mut lines: Vec<RowLine> = Vec::new();
    let mut state = 11;
    let mut times: Vec<(f64, u32)> = Vec::with_capacity(N_VIEWS);
    let most = (span / u64::from(N_PIXELS)).max(1).ilog2();
    for view in 0..N_VIEWS {
        let bits = view as u32 % (most + 1);
        let length = u64::from(N_PIXELS) << bits;
        let at = random(&mut state) % span.saturating_sub(length).max(1);
        let window = Window { first_pixel: at >> bits, bits, n_pixels: N_PIXELS };
        let start = Instant::now();
        read_rows(&index, boxes, &rows, &window, &mut lines);
        black_box(&lines);
        times.push((start.elapsed().as_secs_f64() * 1e3, bits));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!(
        "{n} slices: a view takes {:.2} ms (median), {:.2} ms (p99, pixels of 2^{} ns)",
        at(50).0,
        at(99).0,
        at(99).1
    );
}
