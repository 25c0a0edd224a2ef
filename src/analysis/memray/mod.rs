//! Peak memory of a Python program: live bytes at the peak, by thread and allocator; and memory by code location: at the peak,
//! leaked, and temporary.
//!
//! Takes the metadata and the stack profiles from the capture parser. Whole stacks are in the functions by stack and in the flame
//! graphs.

use super::timeline::texts;
use super::{AnalysisInfo, Context, Group};
use crate::analysis::gpu::facts::{integer, text};
use crate::analysis::gpu::stats::share;
use crate::analysis::mrm::clock::Clock;
use crate::analysis::several::{name_notes, numbered, titled};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes};
use crate::report::{Column, Content, Facts, Report, Table};
use crate::trace::builder::{for_each_element, for_each_member};
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "memray", title: "Peak memory", applies, run, group: Group::Summary, is_late: false };

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| value(trace, "peak_live_bytes").is_some())
}

fn value<'a>(trace: &'a Trace, name: &str) -> Option<&'a str> {
    let mut metadata = trace.source.metadata.iter();
    metadata.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// A thread or allocator with live memory at the peak.
struct Holder {
    name: String,
    bytes: i64,
    n: i64,
}

fn holders(trace: &Trace, name: &str) -> Vec<Holder> {
    let mut all = Vec::new();
    for_each_element(value(trace, name).unwrap_or("[]").as_bytes(), |raw| {
        let mut holder = Holder { name: String::new(), bytes: 0, n: 0 };
        for_each_member(raw, |key, value| match key.bytes {
            b"name" => holder.name = text(value).unwrap_or_default(),
            b"bytes" => holder.bytes = integer(value).unwrap_or(0),
            b"allocations" => holder.n = integer(value).unwrap_or(0),
            _ => {}
        });
        all.push(holder);
    });
    sort::by_key(&mut all, |holder| std::cmp::Reverse(holder.bytes));
    all
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let is_of_memory = |trace: &&Trace| value(trace, "peak_live_bytes").is_some();
    let traces: Vec<&Trace> = context.run.traces.iter().filter(is_of_memory).collect();
    for (number, trace) in traces.iter().enumerate() {
        let n_before = report.blocks.len();
        let title = |title: &str| titled(title, trace, traces.len());
        let id = |id: &str| numbered(id, number).into_owned();
        let known = |name: &str| value(trace, name).and_then(|value| value.parse::<i64>().ok());
        let number_of = |name: &str| known(name).unwrap_or(0);
        let (peak, n) = (number_of("peak_live_bytes"), number_of("peak_live_allocations"));
        let after = known("peak_after_ms").map(|ms| ms.saturating_mul(1_000_000));
        let is_aggregated = value(trace, "aggregated").is_some();
        let threads = holders(trace, "peak_by_thread");
        if report.summary.is_empty() {
            report.summary = summary(peak, n, after, threads.first());
        }
        let mut facts = Facts::new(title("Memory"));
        facts.push("peak", "Peak", peak, Unit::Bytes).hint("most bytes live at once");
        facts.push("peak_allocations", "Allocations at peak", n, Unit::Count);
        if let Some(after) = after {
            facts
                .push("peak_after", "Time of peak", after, Unit::Ns)
                .hint("from the start of the capture; resolution about 10 ms");
        }
        facts.push("at_end", "Live at end", number_of("live_at_end_bytes"), Unit::Bytes);
        let sites = Sites::new(trace);
        facts.push("leaked_allocations", "Allocations live at end", sites.sum(3), Unit::Count).hint(LEAKED);
        if !is_aggregated {
            facts.push("temporary", "Temporary memory", sites.sum(4), Unit::Bytes).hint(TEMPORARY);
            facts
                .push("temporary_allocations", "Temporary allocations", sites.sum(5), Unit::Count)
                .hint(TEMPORARY);
        }
        for (id, label, name) in [
            ("allocated", "Total allocated", "allocated_bytes"),
            ("largest", "Largest allocation", "largest_allocation_bytes"),
            ("max_rss", "Max RSS", "max_rss_bytes"),
        ] {
            if let Some(bytes) = known(name) {
                facts.push(id, label, bytes, Unit::Bytes);
            }
        }
        report.facts(facts);
        if is_aggregated {
            report.info(
                "Aggregated capture: memory at the peak and at the end. For the time of the peak, temporary allocations and \
                 totals, record without --aggregate.",
            );
        }
        let n_unknown = number_of("frees_of_unknown_memory").max(0) as u64;
        if n_unknown > 0 {
            let frees = counted(n_unknown, "free", "frees");
            report.info(format!("Excludes {frees} of memory allocated before the capture started."));
        }
        report.table(table(id("peak_threads"), title("Live at peak, by thread"), "thread", &threads, peak));
        let allocators = holders(trace, "peak_by_allocator");
        report.table(table(
            id("peak_allocators"),
            title("Live at peak, by allocator"),
            "allocator",
            &allocators,
            peak,
        ));
        report.table(sites.table(id("allocation_sites"), title("Allocation sites"), trace, is_aggregated));
        name_notes(&mut report, n_before, trace, traces.len());
    }
    report
}

/// A weight of the capture's stack profiles.
struct Weight {
    measure: &'static str,
    column: &'static str,
    label: &'static str,
    unit: Unit,
    hint: &'static str,
}

const fn weight(
    measure: &'static str,
    column: &'static str,
    label: &'static str,
    unit: Unit,
    hint: &'static str,
) -> Weight {
    Weight { measure, column, label, unit, hint }
}

const LEAKED: &str = "not freed by the end of the capture";
const TEMPORARY: &str = "freed by its thread after at most one more allocation";

const WEIGHTS: [Weight; 6] = [
    weight("peak memory", "peak", "at peak", Unit::Bytes, "live at the peak"),
    weight("peak allocations", "peak_allocations", "allocations at peak", Unit::Count, "live at the peak"),
    weight("leaked memory", "leaked", "leaked", Unit::Bytes, LEAKED),
    weight("leaked allocations", "leaked_allocations", "leaked allocations", Unit::Count, LEAKED),
    weight("temporary memory", "temporary", "temporary", Unit::Bytes, TEMPORARY),
    weight("temporary allocations", "temporary_allocations", "temporary allocations", Unit::Count, TEMPORARY),
];

/// Weights at the start of [`WEIGHTS`] that are of live memory, which aggregated captures have.
const N_OF_LIVE: usize = 4;

/// Amounts of each weight by innermost frame; `None` for allocations without a stack.
struct Sites {
    rows: Vec<(Option<Frame>, [i64; WEIGHTS.len()])>,
}

impl Sites {
    fn new(trace: &Trace) -> Sites {
        let mut rows = Vec::new();
        let mut number_of: HashMap<Option<Frame>, usize> = HashMap::default();
        for profile in &trace.stack_profiles {
            let measure = trace.strings.get_opt(profile.measure);
            let Some(at) = WEIGHTS.iter().position(|weight| Some(weight.measure) == measure) else {
                continue;
            };
            for (row, stack) in profile.stack.iter().enumerate() {
                let frame =
                    (*stack != StackId::NONE).then(|| trace.frames.get(trace.stacks.frame[stack.0 as usize]));
                let number = *number_of.entry(frame).or_insert_with(|| {
                    rows.push((frame, [0; WEIGHTS.len()]));
                    rows.len() - 1
                });
                let amount = profile.weight.digits_at(row).and_then(|digits| i64::try_from(digits).ok());
                let sum: &mut i64 = &mut rows[number].1[at];
                *sum = sum.saturating_add(amount.unwrap_or(i64::MAX));
            }
        }
        // The most memory at the peak first, then the most allocations, and so on.
        sort::by_key(&mut rows, |(_, amounts)| std::cmp::Reverse(*amounts));
        Sites { rows }
    }

    /// Sum of a weight.
    fn sum(&self, at: usize) -> i64 {
        self.rows.iter().fold(0, |sum, (_, amounts)| sum.saturating_add(amounts[at]))
    }

    fn table(&self, id: String, title: String, trace: &Trace, is_aggregated: bool) -> Table {
        let text = |of: fn(&Frame) -> crate::base::strings::StringId| {
            let frames = self.rows.iter().map(|(frame, _)| frame.as_ref());
            texts(frames.map(|frame| trace.strings.get_opt(of(frame?))))
        };
        let line = |frame: &Option<Frame>| frame.map(|it| it.line).filter(|line| *line != NO_LINE);
        let mut columns = vec![
            Column::key("function", "function", Content::Symbol, text(|frame| frame.name)),
            Column::key("file", "file", Content::Path, text(|frame| frame.file)),
            Column::integer("line", "line", Unit::Id, self.rows.iter().map(|(it, _)| line(it)).collect())
                .as_key(),
        ];
        let n_weights = if is_aggregated { N_OF_LIVE } else { WEIGHTS.len() };
        for (at, weight) in WEIGHTS[..n_weights].iter().enumerate() {
            let amounts = self.rows.iter().map(|(_, amounts)| Some(amounts[at])).collect();
            let column = Column::integer(weight.column, weight.label, weight.unit, amounts);
            let column = column.hint(weight.hint).adds_up();
            columns.push(if at == 0 { column.with_bar() } else { column });
        }
        Table::new(id, title, columns)
            .sorted_by("peak", true)
            .caption("One row per code location that allocated.")
            .if_empty("No memory at the peak, none leaked or temporary.")
    }
}

fn summary(peak: i64, n: i64, after: Option<i64>, most: Option<&Holder>) -> String {
    let mut summary = format!(
        "Peak memory: {} in {}",
        format_bytes(peak.max(0) as u64),
        counted(n.max(0) as u64, "allocation", "allocations"),
    );
    if let Some(after) = after {
        summary.push_str(&format!(", {} after the start", Clock::TenMs.words(after)));
    }
    if let Some((most, share)) = most.and_then(|most| Some((most, share(most.bytes, peak)?))) {
        summary.push_str(&format!(
            "; {:.1}% from thread {}",
            100.0 * share,
            crate::base::text::visible(&most.name)
        ));
    }
    summary.push('.');
    summary
}

fn table(id: String, title: String, what: &'static str, rows: &[Holder], peak: i64) -> Table {
    Table::new(
        id,
        title,
        vec![
            Column::key(what, what, Content::Plain, texts(rows.iter().map(|row| Some(row.name.as_str())))),
            Column::integer("bytes", "live", Unit::Bytes, rows.iter().map(|row| Some(row.bytes)).collect())
                .with_bar()
                .adds_up(),
            Column::float(
                "share",
                "% of peak",
                Unit::Ratio,
                rows.iter().map(|row| share(row.bytes, peak)).collect(),
            ),
            Column::integer(
                "allocations",
                "allocations",
                Unit::Count,
                rows.iter().map(|row| Some(row.n)).collect(),
            )
            .adds_up(),
        ],
    )
    .sorted_by("bytes", true)
    .if_empty("No live memory.")
}
