//! Byte-for-byte output of `sway trace` in dlm-sway 0.1.0.
//!
//! One intentional difference: in a terminal, names are shown literally, with control characters made visible, where
//! the original interprets them as markup.

use super::TextFormat;
use crate::analysis::Query;
use crate::analysis::sway_summary::summary::{CallRef, ProbeName, Summary, UNASSIGNED, probe_of, top_k_of};
use crate::base::compat::python::{float_json, format_fixed, format_percent, push_json_string};
use crate::base::compat::rich_table::{Align, layout_table, wrap_paragraph};
use crate::base::text::visible;
use crate::base::units::group_decimal;
use crate::trace::Run;
use std::fmt::Write;

/// Writes the summary of `run`, including its slowest calls.
pub fn write(run: &Run, query: &Query, format: TextFormat) -> String {
    let summary = Summary::compute(run, query.top as usize);
    match format {
        TextFormat::Terminal { width } => write_terminal(run, &summary, width),
        TextFormat::Markdown => write_markdown(run, &summary),
        TextFormat::Json => write_json(run, &summary),
    }
}

/// `None` for a call without a probe.
fn assigned(name: ProbeName) -> Option<String> {
    (!name.is_unassigned()).then_some(name.text)
}

fn ms(value: f64) -> String {
    group_decimal(value, 1)
}

/// Cells of one row in the table of slowest calls.
struct SlowRow<'a> {
    probe: String,
    view_id: &'a str,
    op: &'a str,
    wall_ms: String,
    hit: &'static str,
}

fn slow_row(run: &Run, call: CallRef) -> SlowRow<'_> {
    let trace = &run.traces[call.trace];
    let calls = &trace.scoring_calls;
    SlowRow {
        probe: assigned(probe_of(run, call)).unwrap_or_else(|| "—".to_string()),
        view_id: trace.strings.get(calls.view_id[call.row]),
        op: trace.strings.get(calls.op[call.row]),
        wall_ms: ms(calls.wall_ms[call.row]),
        hit: if calls.hit[call.row] { "yes" } else { "no" },
    }
}

/// A name with control characters made visible, except tabs, which the layout expands like the reference.
fn name(text: &str) -> String {
    text.split('\t').map(visible).collect::<Vec<String>>().join("\t")
}

fn write_terminal(run: &Run, summary: &Summary, width: usize) -> String {
    let headline = format!(
        "sway trace — {} events, total {}s, cache hit rate {}",
        summary.n_events,
        format_fixed(summary.total_wall_ms / 1000.0, 2),
        format_percent(summary.hit_rate())
    );
    let mut lines = wrap_paragraph(&headline, width);
    lines.push(String::new());

    let probes: Vec<Vec<String>> = summary
        .probes
        .iter()
        .map(|probe| {
            vec![
                name(&probe.key.text),
                probe.n_events.to_string(),
                ms(probe.total_ms),
                probe.hits.to_string(),
                format_percent(probe.hit_rate()),
            ]
        })
        .collect();
    let columns = [
        ("probe", Align::Left),
        ("events", Align::Right),
        ("wall_ms", Align::Right),
        ("hits", Align::Right),
        ("hit_rate", Align::Right),
    ];
    lines.extend(layout_table("per-probe", &columns, &probes, width));
    lines.push(String::new());

    let views: Vec<Vec<String>> = summary
        .views
        .iter()
        .map(|view| vec![name(&view.key), view.n_events.to_string(), ms(view.total_ms)])
        .collect();
    let columns = [("view_id", Align::Left), ("events", Align::Right), ("wall_ms", Align::Right)];
    lines.extend(layout_table("per-view", &columns, &views, width));
    lines.push(String::new());

    if !summary.slowest.is_empty() {
        let rows: Vec<Vec<String>> = summary
            .slowest
            .iter()
            .map(|call| {
                let row = slow_row(run, *call);
                vec![name(&row.probe), name(row.view_id), name(row.op), row.wall_ms, row.hit.to_string()]
            })
            .collect();
        let columns = [
            ("probe", Align::Left),
            ("view", Align::Left),
            ("op", Align::Left),
            ("wall_ms", Align::Right),
            ("hit", Align::Left),
        ];
        lines.extend(layout_table(&format!("slowest {} events", rows.len()), &columns, &rows, width));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn write_markdown(run: &Run, summary: &Summary) -> String {
    let mut out = format!(
        "# sway trace — {} events, total {}s, hit rate {}\n",
        summary.n_events,
        format_fixed(summary.total_wall_ms / 1000.0, 2),
        format_percent(summary.hit_rate())
    );
    out.push_str(
        "\n## per-probe\n\n| probe | events | wall_ms | hits | hit_rate |\n|---|---:|---:|---:|---:|\n",
    );
    for probe in &summary.probes {
        let (n, hits) = (probe.n_events, probe.hits);
        let (total, rate) = (ms(probe.total_ms), format_percent(probe.hit_rate()));
        let _ = writeln!(out, "| {} | {n} | {total} | {hits} | {rate} |", probe.key.text);
    }
    out.push_str("\n## per-view\n\n| view_id | events | wall_ms |\n|---|---:|---:|\n");
    for view in &summary.views {
        let _ = writeln!(out, "| {} | {} | {} |", view.key, view.n_events, ms(view.total_ms));
    }
    if !summary.slowest.is_empty() {
        let _ = write!(out, "\n## slowest {} events\n\n", summary.slowest.len());
        out.push_str("| probe | view | op | wall_ms | hit |\n|---|---|---|---:|---|\n");
        for call in &summary.slowest {
            let SlowRow { probe, view_id, op, wall_ms, hit } = slow_row(run, *call);
            let _ = writeln!(out, "| {probe} | {view_id} | {op} | {wall_ms} | {hit} |");
        }
    }
    out
}

/// Objects of a list in the layout of `json.dumps` with an indent of 2.
struct Items<'a> {
    out: &'a mut String,
    any: bool,
}

impl<'a> Items<'a> {
    fn start(out: &'a mut String, name: &str) -> Items<'a> {
        let _ = write!(out, ",\n  \"{name}\": [");
        Items { out, any: false }
    }

    fn push(&mut self, fields: &[(&str, String)]) {
        self.out.push_str(if self.any { ",\n    {" } else { "\n    {" });
        self.any = true;
        for (number, (name, value)) in fields.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let _ = write!(self.out, "{comma}\n      \"{name}\": {value}");
        }
        self.out.push_str("\n    }");
    }

    fn end(self) {
        self.out.push_str(if self.any { "\n  ]" } else { "]" });
    }
}

fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_json_string(text, &mut out);
    out
}

fn json_probe(name: &ProbeName) -> String {
    let mut out = String::new();
    name.push_json(&mut out);
    out
}

fn write_json(run: &Run, summary: &Summary) -> String {
    // Python's `sum` of an empty list is an integer.
    let total = if summary.n_events == 0 { "0".to_string() } else { float_json(summary.total_wall_ms) };
    let mut out = format!(
        "{{\n  \"total_events\": {},\n  \"total_wall_ms\": {total},\n  \"overall_hit_rate\": {}",
        summary.n_events,
        float_json(summary.hit_rate())
    );
    let mut items = Items::start(&mut out, "per_probe");
    for probe in &summary.probes {
        items.push(&[
            ("probe", json_probe(&probe.key)),
            ("n_events", probe.n_events.to_string()),
            ("total_ms", float_json(probe.total_ms)),
            ("cache_hits", probe.hits.to_string()),
            ("cache_misses", probe.misses().to_string()),
            ("hit_rate", float_json(probe.hit_rate())),
        ]);
    }
    items.end();
    let mut items = Items::start(&mut out, "per_view");
    for view in &summary.views {
        items.push(&[
            ("view_id", json_string(&view.key)),
            ("n_events", view.n_events.to_string()),
            ("total_ms", float_json(view.total_ms)),
        ]);
    }
    items.end();
    let mut items = Items::start(&mut out, "slowest");
    for call in &summary.slowest {
        let trace = &run.traces[call.trace];
        let calls = &trace.scoring_calls;
        let text = |id| json_string(trace.strings.get(id));
        items.push(&[
            ("ts", float_json(calls.ts[call.row])),
            ("probe", json_probe(&probe_of(run, *call))),
            ("view_id", text(calls.view_id[call.row])),
            ("prompt_hash", text(calls.prompt_hash[call.row])),
            ("top_k", top_k_of(run, *call)),
            ("op", text(calls.op[call.row])),
            ("wall_ms", float_json(calls.wall_ms[call.row])),
            ("hit", calls.hit[call.row].to_string()),
        ]);
    }
    items.end();
    out.push_str("\n}");
    debug_assert!(
        summary.probes.iter().all(|probe| !probe.key.is_unassigned() || probe.key.text == UNASSIGNED)
    );
    out
}
