//! The longest slices of each class, with their position and arguments.

use super::timeline::{self, integers, shown, texts};
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Report, Table};
use crate::trace::slices::{Class, UNFINISHED};
use crate::trace::summaries::Summaries;
use crate::trace::{Run, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "longest",
    title: "Longest slices",
    applies,
    run,
    group: Group::Trace,
    is_late: false,
};

/// Limit on the arguments shown, in characters.
const ARGS_CHARS: usize = 400;

/// Limit on the length of a list.
const MAX_TOP: usize = 10_000;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.slices.kind.iter().any(|kind| Class::of(*kind) != Class::Instant))
}

/// Sort key: duration, then earlier first. The greatest are kept.
type Rank = (i64, Reverse<usize>, Reverse<usize>);

fn run(context: &Context<'_>) -> Report {
    let (run, query) = (context.run, context.query);
    let mut report = Report::new(INFO.id, INFO.title);
    let top = (query.top as usize).min(MAX_TOP);
    if top == 0 {
        return report;
    }
    let classes = [
        (Class::Thread, "thread_slices", "Longest thread slices"),
        (Class::Async, "longest_async", "Longest async slices"),
        (Class::State, "states", "Longest thread states"),
    ];
    let mut heaps: [BinaryHeap<Reverse<Rank>>; 3] = Default::default();
    let mut n_summaries = 0;
    let spans: Vec<(i64, i64)> = run.traces.iter().map(|trace| trace.span().unwrap_or((0, 0))).collect();
    for (t, trace) in run.traces.iter().enumerate() {
        let slices = &trace.slices;
        let summaries = Summaries::of(trace);
        for i in 0..slices.len() {
            let heap = match Class::of(slices.kind[i]) {
                Class::Thread => &mut heaps[0],
                Class::Async => &mut heaps[1],
                Class::State => &mut heaps[2],
                Class::Instant | Class::Summary => continue,
            };
            if summaries.has(slices.name[i], slices.track[i]) {
                n_summaries += 1;
                continue;
            }
            let dur = slices.length(i, spans[t].1);
            let rank = (dur, Reverse(t), Reverse(i));
            if heap.len() < top {
                heap.push(Reverse(rank));
            } else if heap.peek().is_some_and(|Reverse(least)| rank > *least) {
                heap.pop();
                heap.push(Reverse(rank));
            }
        }
    }
    for ((_, id, title), heap) in classes.into_iter().zip(heaps) {
        let rows: Vec<Row<'_>> = heap
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse((dur, Reverse(t), Reverse(i)))| Row {
                trace: &run.traces[t],
                start: spans[t].0,
                dur,
                i,
            })
            .collect();
        if rows.is_empty() {
            continue;
        }
        if let Some(first) = rows.first().filter(|_| report.summary.is_empty()) {
            report.summary = format!(
                "Longest: {} ({}).",
                crate::base::text::visible(shown(
                    first.trace.strings.get_opt(first.trace.slices.name[first.i])
                )),
                crate::base::units::format_ns(first.dur)
            );
        }
        report.table(table(id, title, &rows));
    }
    if n_summaries > 0 {
        let slices = counted(n_summaries, "slice that summarizes", "slices that summarize");
        report.info(format!("Excludes {slices} others. See “Summaries” in Slices by name."));
    }
    if run.traces.iter().any(|trace| trace.args.are_missing()) {
        report.warning(
            "Arguments are missing: the index doesn't contain them. Open the original trace to see them.",
        );
    }
    if let Some(why) = run.traces.iter().find_map(|trace| trace.args.take_problem()) {
        report.warning(format!("Arguments are missing: {why}. Open the file again."));
    }
    report
}

struct Row<'a> {
    trace: &'a Trace,
    /// Start of the trace on the trace clock.
    start: i64,
    dur: i64,
    i: usize,
}

impl Row<'_> {
    fn process(&self) -> Option<String> {
        let track = self.trace.slices.track[self.i];
        let process = self.trace.tracks.process_of(track, &self.trace.threads)?;
        Some(timeline::process_label(self.trace, process.0 as usize))
    }

    fn thread(&self) -> Option<String> {
        let track = self.trace.slices.track[self.i].0 as usize;
        let thread = self.trace.tracks.thread.get(track).copied().flatten()?;
        Some(timeline::thread_label(self.trace, thread.0 as usize))
    }

    /// Arguments of begin and end as strict JSON, truncated.
    fn args(&self) -> Option<String> {
        let mut out = Vec::new();
        self.trace.push_slice_args(self.i, &mut out);
        if out.is_empty() {
            return None;
        }
        let mut text = String::from_utf8(out).ok()?;
        if let Some((at, _)) = text.char_indices().nth(ARGS_CHARS) {
            text.truncate(at);
            text.push('…');
        }
        Some(text)
    }
}

fn table(id: &'static str, title: &str, rows: &[Row<'_>]) -> Table {
    let name = |row: &Row<'_>| {
        row.trace.strings.get_opt(row.trace.slices.name[row.i]).map(|name| shown(Some(name)).to_string())
    };
    Table::new(
        id,
        title,
        vec![
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(name))),
            // Next to the name, as process and thread names can take the whole width.
            integers("duration", "duration", Unit::Ns, rows.iter().map(|row| row.dur)).with_bar(),
            integers("self", "self", Unit::Ns, rows.iter().map(|row| row.trace.slices.self_ns.get(row.i)))
                .hint("exclusive time: without children and without overlapping slices that started later"),
            Column::key(
                "category",
                "category",
                Content::Plain,
                texts(rows.iter().map(|row| row.trace.strings.get_opt(row.trace.slices.category[row.i]))),
            ),
            Column::key("process", "process", Content::Plain, texts(rows.iter().map(Row::process))),
            Column::key("thread", "thread", Content::Plain, texts(rows.iter().map(Row::thread))),
            integers(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|row| row.trace.slices.ts[row.i].saturating_sub(row.start)),
            )
            .hint("from the start of the trace"),
            Column::counts(
                "depth",
                "depth",
                Unit::Count,
                rows.iter().map(|row| u64::from(row.trace.slices.depth.get(row.i))),
            )
            .hint("number of enclosing slices"),
            Column::bool(
                "unfinished",
                "unfinished",
                rows.iter().map(|row| Some(row.trace.slices.dur.get(row.i) == UNFINISHED)).collect(),
            )
            .hint("no end in the file; the duration extends to the end of the trace"),
            Column::text("args", "arguments", Content::Record, texts(rows.iter().map(Row::args))),
        ],
    )
    .sorted_by("duration", true)
}
