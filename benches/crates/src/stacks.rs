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

/// Seconds of one run.
fn seconds<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed().as_secs_f64())
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

    let run = read("bench.folded", &text);
    let (graphs, to_graph) = seconds(|| graphs(&run));
    let mut cache = Cache::default();
    let mut view = |query: &FlameQuery| seconds(|| flame::view(&graphs, query, &mut cache).expect("a graph")).1;
    let first = view(&FlameQuery::default());
    let inverted = FlameQuery { direction: flame::Direction::Ends, ..FlameQuery::default() };
    let turned = view(&inverted);
    let searched = view(&FlameQuery { search: "function_7".to_string(), ..FlameQuery::default() });
    let back = view(&inverted);
    println!("{N_STACKS} stacks: first picture {:.0} ms after reading", (to_graph + first) * 1e3);
    println!("bottom-up {:.0} ms, search {:.0} ms, bottom-up again {:.0} ms\n", turned * 1e3, searched * 1e3, back * 1e3);

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
