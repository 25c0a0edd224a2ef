//! Stack profiles beside inferno, and the flame graph of a million distinct stacks.

use crate::{measure, ratio, scattered};
use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options as PerfOptions};
use inferno::flamegraph;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;
use tracedrop::analysis::flame::{self, Cache, FlameQuery};
use tracedrop::analysis::{Context, Query};
use tracedrop::import::Import;
use tracedrop::stacks::graph::StackGraph;
use tracedrop::stacks::merged::StackQuery;
use tracedrop::trace::Run;

const N_STACKS: u64 = 1_000_000;
const N_SAMPLES: u64 = 200_000;
/// As the page reads a file.
const CHUNK_BYTES: usize = 1 << 20;

/// A stack of 8 to 23 frames out of 2,000 functions; deeper frames differ more often.
fn frames(at: u64) -> impl Iterator<Item = u64> {
    let depth = 8 + scattered(at) % 16;
    (0..depth).map(move |level| scattered(at % (3 << level).min(N_STACKS) * 31 + level) % 2000)
}

fn folded() -> String {
    let mut text = String::new();
    for at in 0..N_STACKS {
        text.push_str("main");
        for frame in frames(at) {
            let _ = write!(text, ";module_{}::function_{frame}", frame % 40);
        }
        let _ = writeln!(text, " {}", scattered(at) % 90 + 1);
    }
    text
}

/// As `perf script` writes samples with call chains.
fn perf() -> String {
    let mut text = String::new();
    for at in 0..N_SAMPLES {
        let micros = 12_345_000_000 + at * 997;
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let _ = writeln!(text, "server  4600/46{:02} {seconds}.{rest:06}:     250000 cycles:u: ", at % 8);
        for frame in frames(at).collect::<Vec<_>>().into_iter().rev() {
            let _ = writeln!(text, "\t    7f3a4{frame:07x} function_{frame}+0x1f (/opt/server/lib/libserver.so)");
        }
        text.push('\n');
    }
    text
}

fn read(name: &str, text: &str) -> Run {
    let mut import = Import::new(name, text.len() as u64);
    text.as_bytes().chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
    Run::single(import.finish().expect("a profile"))
}

fn graphs(run: &Run) -> Vec<StackGraph> {
    flame::graphs(&Context::new(run, &Query::default()))
}

/// Rounds of looks at a flame graph, of which the fastest counts.
const N_ROUNDS: usize = 5;

/// Milliseconds to the first picture of a million stacks, and of each look after it.
fn looks(run: &Run) {
    let plain = FlameQuery::default();
    let inverted = FlameQuery { direction: flame::Direction::Ends, ..plain.clone() };
    let around = FlameQuery { direction: flame::Direction::Around, ..plain.clone() };
    let search = "function_7".to_string();
    let hides = StackQuery { hidden: vec!["\"module_7::function_7\"".to_string()], ..StackQuery::default() };
    let queries = [
        ("first picture after reading", plain.clone()),
        ("bottom-up", inverted.clone()),
        ("search, bottom-up", FlameQuery { search: search.clone(), ..inverted }),
        ("search, top-down", FlameQuery { search, ..plain.clone() }),
        ("one function", around),
        ("a function hidden", FlameQuery { stacks: hides, ..plain }),
    ];
    let mut best = [f64::INFINITY; 6];
    for _ in 0..N_ROUNDS {
        let mut start = Instant::now();
        let graphs = graphs(run);
        let mut cache = Cache::default();
        for ((_, query), best) in queries.iter().zip(&mut best) {
            black_box(flame::view(&graphs, query, &mut cache).expect("a graph"));
            *best = best.min(start.elapsed().as_secs_f64());
            start = Instant::now();
        }
    }
    for ((name, _), best) in queries.iter().zip(best) {
        println!("{:42} {:9.1} ms", format!("{N_STACKS} stacks: {name}"), best * 1e3);
    }
    println!();
}

pub fn stacks() {
    let text = folded();
    let ours = measure("folded: read, graph and first picture", text.len(), || {
        let graphs = graphs(&read("bench.folded", &text));
        black_box(flame::view(&graphs, &FlameQuery::default(), &mut Cache::default()).expect("a graph"));
    });
    let theirs = measure("folded: inferno-flamegraph, to SVG", text.len(), || {
        let mut options = flamegraph::Options::default();
        flamegraph::from_reader(&mut options, text.as_bytes(), std::io::sink()).expect("a graph");
    });
    ratio(ours, theirs);

    looks(&read("bench.folded", &text));

    let text = perf();
    let ours = measure("perf script: read and graph", text.len(), || {
        black_box(self::graphs(&read("bench.perf", &text)));
    });
    let theirs = measure("perf script: inferno-collapse-perf", text.len(), || {
        let mut options = PerfOptions::default();
        options.nthreads = 1;
        Folder::from(options).collapse(text.as_bytes(), std::io::sink()).expect("samples");
    });
    ratio(ours, theirs);
}
