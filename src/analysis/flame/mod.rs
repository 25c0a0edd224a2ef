//! Flame graphs: of kernel time by what launched it, of threads by their slices, and of sampled stacks.
//!
//! ```text
//! Run → sources → StackGraph ──┬─→ view(query) → FlameView, for the page
//!       (two of them: difference) └─→ a report with the graphs as they open, for exports
//! ```

mod boxes;
mod sources;
mod table;
mod view;

use super::stack_functions::amounts::is_of_time;
use super::{AnalysisInfo, Context, Group, TO_HOLD_MORE};
use crate::base::text;
use crate::base::units::{counted, format_float, format_ratio, group_digits, in_words};
use crate::report::chart::Plot;
use crate::report::{Block, Chart, Report};
use crate::stacks::graph::StackGraph;
use crate::trace::{Run, Trace};
use sources::MAX_SLICES;
pub use sources::{compared_graphs, graphs, recorded_ns, whole_graphs};
pub use table::report_of_tops;
pub use view::{
    Cache, Direction, FlameInfo, FlameQuery, FlameRow, FlameView, LabelKey, RowOrder, Scale, Widths, view,
};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "flame-graph",
    title: "Flame graph",
    applies,
    run,
    group: Group::Timeline,
    is_late: true,
};

/// Whether a run has stacks of any kind.
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(Trace::has_stacks)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = report(&graphs(context));
    warn(&mut report, context.run);
    report
}

/// Whether a run has more slices of threads than a graph of them is made for.
pub fn lacks_slices(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.slices.len() > MAX_SLICES)
}

/// Says what the graphs of a run lack.
pub fn warn(report: &mut Report, run: &Run) {
    if run.traces.iter().any(|trace| trace.aggregated.is_some()) {
        report.warning(format!(
            "Trace too large for memory: the graph has only the longest slices. Limit the time range, or {TO_HOLD_MORE}.",
        ));
    }
    if lacks_slices(run) {
        report.warning(format!(
            "Slices by thread are missing: their graph is made for up to {} slices. Limit the time range.",
            group_digits(MAX_SLICES as i128)
        ));
    }
}

/// Each graph from its callers and from its ends.
pub fn report(graphs: &[StackGraph]) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let mut cache = Cache::default();
    let mut notes: Vec<String> = Vec::new();
    for (number, graph) in graphs.iter().enumerate() {
        let mut of = |direction| {
            // Queries without patterns have no errors.
            let query = FlameQuery { graph: number as u32, direction, ..FlameQuery::default() };
            view(graphs, &query, &mut cache).ok().flatten()
        };
        let (Some(down), Some(up)) = (of(Direction::Callers), of(Direction::Ends)) else { continue };
        let id = |what: &str| format!("flame_{what}_{}_chart", number + 1).into();
        if report.summary.is_empty() {
            report.summary = summary(graph, &down);
        }
        notes.extend(down.notes.into_iter().map(|note| match graphs.len() {
            1 => note,
            _ => format!("{}: {note}", graph.title),
        }));
        let caption = match graph.is_difference {
            true => format!("{} {DIFFERENCE}", graph.caption),
            false => graph.caption.clone(),
        };
        report.chart(Chart {
            id: id("down"),
            title: graph.title.clone(),
            caption,
            plot: Plot::Flame(down.flame),
        });
        report.chart(Chart {
            id: id("up"),
            title: format!("{}, bottom-up", graph.title),
            caption: "Leaf frames at the top, callers below.".to_string(),
            plot: Plot::Flame(up.flame),
        });
    }
    if report.summary.is_empty() {
        report.summary = "No stacks with any weight in this trace.".to_string();
    }
    notes.dedup();
    notes.into_iter().for_each(|note| report.warning(note));
    report
}

/// Graphs of the report beside others.
const MAX_BESIDE: usize = 4;

/// The first graphs from their callers, for a document with all reports. `None` without any.
pub fn report_beside_others(graphs: &[StackGraph]) -> Option<Report> {
    let mut report = report(&graphs[..graphs.len().min(MAX_BESIDE)]);
    report.blocks.retain(|block| match block {
        Block::Chart(chart) => chart.id.starts_with("flame_down"),
        _ => true,
    });
    if graphs.len() > MAX_BESIDE {
        let more = counted((graphs.len() - MAX_BESIDE) as u64, "more flame graph", "more flame graphs");
        report.info(format!("{more} not shown; export this report alone to see all."));
    }
    report.has_content().then_some(report)
}

const DIFFERENCE: &str = "Widths are B. Red: more than in A; teal: less.";

/// The summary of a graph that nobody has looked at yet.
fn summary_of(graph: &StackGraph) -> String {
    // Queries without patterns have no errors.
    let view =
        view(std::slice::from_ref(graph), &FlameQuery::default(), &mut Cache::default()).ok().flatten();
    view.map(|view| summary(graph, &view)).unwrap_or_default()
}

fn summary(graph: &StackGraph, view: &FlameView) -> String {
    let amount = |weight: f64| in_words(weight, graph.unit);
    if graph.is_difference {
        let (b, a) = (view.total.0 - view.no_stack.0, view.total.1 - view.no_stack.1);
        return format!("{} in A, {} in B.", amount(a), amount(b));
    }
    let of_which = if view.no_stack.0 != 0.0 { " with a stack" } else { "" };
    let with_stack = format!("{}{of_which}", amount(view.total.0 - view.no_stack.0));
    match view.hottest() {
        Some((hottest, share)) => format!(
            "{} {}: {}self ({} of {with_stack}).",
            text::shortened(&hottest.name, text::IN_A_SENTENCE),
            if is_of_time(graph.unit) { "is hottest" } else { "has the most" },
            share.map_or(String::new(), |share| format!("{} ", format_ratio(share))),
            format_float(hottest.own, graph.unit),
        ),
        None if view.no_stack.0 != 0.0 => format!("{}, none with a stack.", amount(view.no_stack.0)),
        None => format!("{with_stack} in all."),
    }
}

/// Whether two graphs are of one kind: same title and unit.
pub fn is_like(a: &StackGraph, b: &StackGraph) -> bool {
    a.title == b.title && a.unit == b.unit
}

/// Differences of the graphs of two sides, those of one kind.
pub fn differences(a: &[StackGraph], b: &[StackGraph]) -> Vec<StackGraph> {
    let pairs = b.iter().filter_map(|b| Some((a.iter().find(|a| is_like(a, b))?, b)));
    let is_whole = |(a, b): &(&StackGraph, &StackGraph)| a.is_sound() && b.is_sound();
    pairs.filter(is_whole).map(|(a, b)| StackGraph::difference(a, b)).collect()
}

/// The [report] of the [`differences`] of two sides, with the graphs that only one of them has.
pub fn report_of_differences(differences: &[StackGraph], a: &[StackGraph], b: &[StackGraph]) -> Report {
    let mut report = report(differences);
    if differences.is_empty() {
        report.summary = match (a, b) {
            ([], []) => "No stacks with any weight in A or B.".to_string(),
            _ => "Nothing to compare: A and B have no flame graph in common.".to_string(),
        };
    }
    for (letter, own, others) in [("A", a, b), ("B", b, a)] {
        let is_alone = |graph: &&StackGraph| !others.iter().any(|other| is_like(graph, other));
        let alone: Vec<String> =
            own.iter().filter(is_alone).map(|graph| format!("\u{201c}{}\u{201d}", graph.title)).collect();
        if !alone.is_empty() {
            report.info(format!("Only {letter} has {}.", alone.join(", ")));
        }
    }
    report
}
