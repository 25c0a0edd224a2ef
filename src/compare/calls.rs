//! Calls of a scoring backend by request: the rows whose hits and misses are compared.

use crate::analysis::sway_summary::{self, call_names};
use crate::base::hash::HashMap;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Report, Table, TextCells};
use crate::trace::{Run, Trace};

/// Sums of calls with the same request.
#[derive(Default)]
struct Sums {
    calls: u64,
    hits: u64,
    ns: i128,
}

/// Says how many calls of a file have a duration that is no finite number: no sum has it.
pub fn without_duration(run: &Run) -> Vec<String> {
    let sentence = |trace: &Trace| {
        let n = trace.scoring_calls.wall_ms.iter().filter(|ms| !ms.is_finite()).count() as u64;
        let calls = counted(n, "call of", "calls of");
        let (have, them) = if n == 1 { ("has", "it") } else { ("have", "them") };
        let file = &trace.source.file_name;
        (n > 0).then(|| {
            format!("{calls} {file} {have} a non-finite duration: compared times are without {them}.")
        })
    };
    run.traces.iter().filter_map(sentence).collect()
}

/// Table with one row per probe, view, operation, prompt and `top_k`. `None` without calls.
pub fn report(run: &Run) -> Option<Report> {
    let mut rows: Vec<([String; 5], Sums)> = Vec::new();
    let mut by_key: HashMap<[String; 5], usize> = HashMap::default();
    for (number, trace) in run.traces.iter().enumerate() {
        let calls = &trace.scoring_calls;
        for row in 0..calls.len() {
            let key = call_names(run, number, row);
            let at = *by_key.entry(key.clone()).or_insert_with(|| {
                rows.push((key, Sums::default()));
                rows.len() - 1
            });
            let sums = &mut rows[at].1;
            sums.calls += 1;
            sums.hits += u64::from(calls.hit[row]);
            let ms = calls.wall_ms[row];
            // Non-finite times are skipped.
            sums.ns = sums.ns.saturating_add(if ms.is_finite() { (ms * 1e6).round() as i128 } else { 0 });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let key = |id: &'static str, label: &str, content: Content, at: usize| {
        Column::key(id, label, content, rows.iter().map(|row| row.0[at].as_str()).collect::<TextCells>())
    };
    let table = Table::new(
        "calls",
        "Calls by request",
        vec![
            key("probe", "probe", Content::Plain, 0),
            key("view_id", "view", Content::Plain, 1),
            key("op", "operation", Content::Symbol, 2),
            key("prompt_hash", "prompt", Content::Plain, 3),
            key("top_k", "top k", Content::Plain, 4),
            Column::integer(
                "time",
                "time",
                Unit::Ns,
                rows.iter().map(|row| Some(super::narrow(row.1.ns))).collect(),
            )
            .with_bar()
            .adds_up(),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)).adds_up(),
            Column::counts("hits", "hits", Unit::Count, rows.iter().map(|row| row.1.hits))
                .adds_up()
                .hint("more hits are gains, fewer are losses"),
            Column::counts("misses", "misses", Unit::Count, rows.iter().map(|row| row.1.calls - row.1.hits))
                .adds_up(),
        ],
    )
    .sorted_by("time", true)
    .caption("One row per request: probe, view, operation, prompt and number of tokens.");
    let mut report = Report::new("sway-calls", format!("{} by prompt", sway_summary::INFO.title));
    report.table(table);
    Some(report)
}
