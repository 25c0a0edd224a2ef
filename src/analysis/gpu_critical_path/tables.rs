//! Tables of the path.

use super::graph::EdgeKind;
use super::path::{Bound, CriticalPath, Segment};
use crate::analysis::gpu::stats::share;
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace};
use crate::analysis::timeline::{cut, integers, shown, texts, thread_label, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Facts, Table};

impl Bound {
    /// Words for the summary.
    pub(super) fn phrase(self) -> &'static str {
        match self {
            Bound::Cpu => "CPU time (operators and calls)",
            Bound::Compute => "GPU computation",
            Bound::Communication => "GPU communication",
            Bound::Memory => "GPU copies",
            Bound::Launch => "launch delay",
            Bound::BetweenWork => "gaps between kernels",
            Bound::Link => "waiting",
        }
    }

    /// The verb after [`Bound::phrase`].
    pub(super) fn accounts(self) -> &'static str {
        match self {
            Bound::Memory | Bound::BetweenWork => "account",
            _ => "accounts",
        }
    }
}

/// Length of the path and size of the graph.
pub fn facts(named: &NamedTrace<'_, '_>, path: &CriticalPath) -> Facts {
    let mut facts = Facts::new(named.title("Path"));
    facts.push("length", "Length", path.length, Unit::Ns);
    if let Some(passed) = path.passed() {
        facts
            .push("passed", "Elapsed", passed, Unit::Ns)
            .hint("from the start of the path to its end; includes time the path doesn't count, such as between operators");
    }
    if let Some((start, end)) = path.extent {
        facts
            .push("window", "Window", end.saturating_sub(start), Unit::Ns)
            .hint("from the first start to the last end of all events analyzed");
    }
    facts.push("segments", "Segments", path.segments.len() as u64, Unit::Count);
    facts.push("nodes", "Graph nodes", path.n_nodes as u64, Unit::Count).hint("starts and ends of events");
    facts.push("edges", "Graph edges", path.n_edges as u64, Unit::Count);
    facts
}

/// Time by resource; parts add up to the path.
pub fn bounds(named: &NamedTrace<'_, '_>, what: &str, path: &CriticalPath) -> Table {
    let rows: Vec<(Bound, i64, u64)> = Bound::ALL
        .into_iter()
        .map(|bound| {
            let (ns, n) = path.sum(|segment| segment.bound == bound);
            (bound, ns, n)
        })
        .filter(|row| row.2 > 0)
        .collect();
    Table::new(
        named.id("critical_path"),
        named.title("By resource"),
        vec![
            Column::key("bound", "bound by", Content::Plain, texts(rows.iter().map(|row| Some(row.0.name())))),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.1)).with_bar(),
            Column::float("share", "share", Unit::Ratio, rows.iter().map(|row| share(row.1, path.length)).collect()),
            Column::counts("segments", "segments", Unit::Count, rows.iter().map(|row| row.2)),
        ],
    )
    .caption(format!(
        "Range: {what}, with everything that starts on the CPU in it and the kernels it launched. Launch time counts from the end \
         of the call if the stream was idle; otherwise the gap after the previous kernel counts. Dependencies and waits link \
         segments and take no time."
    ))
    .if_empty("The path is empty.")
}

/// Name of a segment's kind.
fn kind_name(gpu: &GpuTrace<'_>, segment: &Segment) -> &'static str {
    match segment.kind {
        EdgeKind::Dependency => return "dependency",
        EdgeKind::Launch => return "launch",
        EdgeKind::BetweenWork => return "gap",
        EdgeKind::Sync => return "wait",
        EdgeKind::Inside => {}
    }
    match gpu.kind_of(segment.slice as usize) {
        Kind::Op => "operator",
        Kind::Call => "GPU call",
        Kind::Copy => "copy",
        Kind::Fill => "fill",
        _ if segment.bound == Bound::Communication => "communication",
        _ => "kernel",
    }
}

#[derive(Default)]
struct Sums {
    count: u64,
    ns: i64,
    max: i64,
}

/// Time by kind and name.
pub fn names(named: &NamedTrace<'_, '_>, path: &CriticalPath) -> Table {
    let gpu = named.gpu;
    let mut by_name: HashMap<(&'static str, StringId), Sums> = HashMap::default();
    for segment in path.segments.iter().filter(|segment| segment.dur() > 0) {
        let name = gpu.group_name(segment.slice as usize);
        let sums = by_name.entry((kind_name(gpu, segment), name)).or_default();
        sums.count += 1;
        sums.ns = sums.ns.saturating_add(segment.dur());
        sums.max = sums.max.max(segment.dur());
    }
    let mut rows: Vec<(&'static str, &str, Sums)> =
        by_name.into_iter().map(|((kind, name), sums)| (kind, shown(gpu.shown_name(name)), sums)).collect();
    sort::by(&mut rows, |a, b| b.2.ns.cmp(&a.2.ns).then_with(|| (a.1, a.0).cmp(&(b.1, b.0))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("critical_names"),
        named.title("By name"),
        vec![
            Column::key("kind", "kind", Content::Plain, texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| Some(row.1)))),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.2.ns)).with_bar(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.2.ns, path.length)).collect(),
            ),
            Column::counts("count", "segments", Unit::Count, rows.iter().map(|row| row.2.count)),
            integers("max", "max", Unit::Ns, rows.iter().map(|row| row.2.max)),
        ],
    )
    .sorted_by("time", true)
    .caption(
        "Time on the path by name. Operators and calls count self time only. Launches and gaps are named after the kernel that \
         follows.",
    )
    .if_empty("The path is empty.");
    with_left_out(table, n_left_out)
}

/// Segments in order. Those without duration are left out, except waits, where the path switches between CPU and GPU or streams.
pub fn segments(named: &NamedTrace<'_, '_>, path: &CriticalPath) -> Table {
    let gpu = named.gpu;
    let is_shown = |segment: &&Segment| segment.dur() > 0 || segment.kind == EdgeKind::Sync;
    let mut rows: Vec<&Segment> = path.segments.iter().filter(is_shown).collect();
    let n_left_out = cut(&mut rows);
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let slices = &gpu.trace.slices;
    let places = Places::new(gpu);
    let table = Table::new(
        named.id("critical_segments"),
        named.title("Path segments"),
        vec![
            integers(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|row| row.start.saturating_sub(start)),
            )
            .as_key(),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.dur())).with_bar(),
            Column::text(
                "kind",
                "kind",
                Content::Plain,
                texts(rows.iter().map(|row| Some(kind_name(gpu, row)))),
            ),
            Column::text(
                "name",
                "name",
                Content::Symbol,
                texts(rows.iter().map(|row| Some(shown(gpu.shown_name(slices.name[row.slice as usize]))))),
            ),
            Column::text(
                "where",
                "where",
                Content::Plain,
                texts(rows.iter().map(|row| places.get(gpu, row.slice))),
            ),
        ],
    )
    .caption("In order of time. Segments without duration are left out, except waits.")
    .if_empty("The path is empty.");
    with_left_out(table, n_left_out)
}

/// Names of threads and streams, by track.
struct Places {
    by_track: Vec<Option<String>>,
}

impl Places {
    fn new(gpu: &GpuTrace<'_>) -> Places {
        let tracks = &gpu.trace.tracks;
        let mut by_track: Vec<Option<String>> = tracks
            .thread
            .iter()
            .map(|thread| thread.map(|thread| thread_label(gpu.trace, thread.0 as usize)))
            .collect();
        let mut is_stream = vec![false; by_track.len()];
        for work in &gpu.work {
            // All kernels of a track are on one stream.
            let track = gpu.trace.slices.track[work.slice as usize].0 as usize;
            if !std::mem::replace(&mut is_stream[track], true) {
                by_track[track] = Some(gpu.stream_of_device_label(work.stream));
            }
        }
        Places { by_track }
    }

    fn get(&self, gpu: &GpuTrace<'_>, slice: u32) -> Option<&str> {
        let track = gpu.trace.slices.track[slice as usize].0 as usize;
        self.by_track.get(track)?.as_deref()
    }
}
