//! Peak memory of a Python program: live bytes at the peak, by thread and allocator.
//!
//! Takes the metadata from the capture parser. Allocation stacks aren't available.

use super::timeline::texts;
use super::{AnalysisInfo, Context, Group};
use crate::analysis::gpu::facts::{integer, text};
use crate::analysis::gpu::stats::share;
use crate::base::units::{Unit, counted, format_bytes, format_ns};
use crate::report::{Column, Content, Facts, Report, Table};
use crate::trace::builder::{for_each_element, for_each_member};
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
    all.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    all
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let is_of_memory = |trace: &&Trace| value(trace, "peak_live_bytes").is_some();
    let traces: Vec<&Trace> = context.run.traces.iter().filter(is_of_memory).collect();
    for (number, trace) in traces.iter().enumerate() {
        let title = |title: &str| match traces.len() {
            1 => title.to_string(),
            _ => format!("{title}: {}", trace.source.file_name),
        };
        let id = |id: &str| if number == 0 { id.to_string() } else { format!("{id}_{}", number + 1) };
        let number_of =
            |name: &str| value(trace, name).and_then(|value| value.parse::<i64>().ok()).unwrap_or(0);
        let (peak, n) = (number_of("peak_live_bytes"), number_of("peak_live_allocations"));
        let after = number_of("peak_after_ms").saturating_mul(1_000_000);
        let threads = holders(trace, "peak_by_thread");
        if report.summary.is_empty() {
            report.summary = summary(peak, n, after, threads.first());
        }
        let mut facts = Facts::new(title("Memory"));
        facts.push("peak", "Peak", peak, Unit::Bytes).hint("most bytes live at once");
        facts.push("peak_allocations", "Allocations at peak", n, Unit::Count);
        facts
            .push("peak_after", "Time of peak", after, Unit::Ns)
            .hint("from the start of the capture; resolution about 10 ms");
        facts.push("at_end", "Live at end", number_of("live_at_end_bytes"), Unit::Bytes);
        facts.push("allocated", "Total allocated", number_of("allocated_bytes"), Unit::Bytes);
        facts.push("largest", "Largest allocation", number_of("largest_allocation_bytes"), Unit::Bytes);
        facts.push("max_rss", "Max RSS", number_of("max_rss_bytes"), Unit::Bytes);
        report.facts(facts);
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
    }
    report
}

fn summary(peak: i64, n: i64, after: i64, most: Option<&Holder>) -> String {
    let mut summary = format!(
        "Peak memory: {} in {}, {} after the start",
        format_bytes(peak.max(0) as u64),
        counted(n.max(0) as u64, "allocation", "allocations"),
        format_ns(after)
    );
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
