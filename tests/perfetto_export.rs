//! Traces written as Perfetto traces and read again have the same slices, arguments, arrows and counters.

mod support;

use serde_json::Value;
use std::path::PathBuf;
use support::{data_dirs, files, import};
use tracedrop::analysis::Query;
use tracedrop::analysis::gpu::GpuTrace;
use tracedrop::base::strings::StringId;
use tracedrop::export::{self, Input, Options};
use tracedrop::report::Document;
use tracedrop::report::notes::{Anchor, Notes, Remark};
use tracedrop::trace::{Run, Trace};

/// The export of a file, and the trace it was made from.
fn exported(name: &str, bytes: &[u8], options: &Options) -> Option<(Trace, Vec<u8>)> {
    let trace = import(name, bytes, None).ok()?;
    let run = Run::single(trace.clone());
    let exporter = export::find("perfetto").unwrap();
    if !(exporter.applies)(&run) {
        return None;
    }
    let query = Query::default();
    let document = Document {
        title: "x".into(),
        source: Vec::new(),
        ledger: tracedrop::report::Report::new("ledger", "Read"),
        reports: &[],
    };
    let input = Input { run: &run, document: &document, query: &query, options };
    Some((trace, export::to_bytes(exporter, &input)))
}

fn text(trace: &Trace, id: StringId) -> String {
    trace.strings.get_opt(id).unwrap_or_default().to_string()
}

/// Numbers as they mean the same; what doubles cannot hold is text.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(plain).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, plain(value))).collect(),
        Value::Number(number) => {
            let text = number.to_string();
            let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && text != "-0";
            match (is_whole, text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()) {
                (true, true) => Value::from(text),
                (false, _) => Value::from(text.parse::<f64>().unwrap().to_string()),
                (true, false) => Value::from(text),
            }
        }
        other => other,
    }
}

/// A slice without its thread: start, duration, name, category, arguments.
type Slice = (i64, i64, String, String, String);

fn slices(trace: &Trace, origin: i64) -> Vec<Slice> {
    let table = &trace.slices;
    (0..table.len())
        .map(|i| {
            let mut raw = Vec::new();
            trace.push_slice_args(i, &mut raw);
            let args = match raw.is_empty() {
                true => Value::Null,
                false => plain(serde_json::from_slice(&raw).unwrap()),
            };
            let args =
                if args.as_object().is_some_and(|members| members.is_empty()) { Value::Null } else { args };
            (
                table.ts[i] - origin,
                table.dur.get(i),
                text(trace, table.name[i]),
                text(trace, table.category[i]),
                args.to_string(),
            )
        })
        .collect()
}

fn counters(trace: &Trace, origin: i64) -> Vec<(String, String, i64, String)> {
    let (table, series) = (&trace.counters, &trace.counter_series);
    let mut rows: Vec<_> = (0..table.len())
        .map(|row| {
            let of = table.series[row] as usize;
            let name = match trace.strings.get_opt(series.id[of]) {
                Some(id) if !id.starts_with("track ") => format!("{} [{id}]", text(trace, series.name[of])),
                _ => text(trace, series.name[of]),
            };
            let key = text(trace, series.key[of]);
            (
                name,
                if key.is_empty() { "value".into() } else { key },
                table.ts[row] - origin,
                table.value[row].to_string(),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn check(what: &str, trace: &Trace, again: &Trace) {
    assert_eq!(again.ledger.accounted_bytes(), again.ledger.content_bytes, "{what}");
    assert_eq!(
        (again.ledger.skipped.records, again.ledger.repaired.records),
        (0, 0),
        "{what}: {:?}",
        again.ledger.issues
    );
    let origin = trace.span().map_or(0, |(start, _)| start.min(0));
    let (before, after) = (slices(trace, origin), slices(again, 0));
    let sorted = |rows: &[Slice]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    let (all, all_again) = (sorted(&before), sorted(&after));
    for (one, other) in all.iter().zip(&all_again) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(all.len(), all_again.len(), "{what}");
    let arrows = |trace: &Trace, rows: &[Slice]| {
        let ends = trace.flows.from.iter().zip(&trace.flows.to);
        let mut arrows: Vec<(Slice, Slice)> = ends
            .filter(|(from, to)| from != to)
            .map(|(from, to)| (rows[from.0 as usize].clone(), rows[to.0 as usize].clone()))
            .collect();
        for arrow in &mut arrows {
            if arrow.0 > arrow.1 && arrow.0.0 == arrow.1.0 {
                std::mem::swap(&mut arrow.0, &mut arrow.1);
            }
        }
        arrows.sort();
        arrows
    };
    let (flows, flows_again) = (arrows(trace, &before), arrows(again, &after));
    assert_eq!(flows.len(), flows_again.len(), "{what}");
    assert!(flows == flows_again, "{what}: arrows differ");
    assert_eq!(counters(trace, origin), counters(again, 0), "{what}");
    let gpu = |trace: &Trace| {
        let gpu = GpuTrace::new(trace);
        let n_linked = gpu.work.iter().filter(|work| work.launch != u32::MAX).count();
        let n_of_ops = gpu.work.iter().filter(|work| work.op != u32::MAX).count();
        let sum: i128 = gpu.work.iter().map(|work| i128::from(work.dur())).sum();
        let numbers: Vec<_> = gpu.devices.iter().map(|device| device.number).collect();
        (gpu.work.len(), sum, n_linked, n_of_ops, gpu.streams.len(), gpu.steps.steps.len(), numbers)
    };
    assert_eq!(gpu(trace), gpu(again), "{what}");
}

fn inputs() -> Vec<PathBuf> {
    let dirs = ["chrome", "pytorch"].iter().flat_map(|name| data_dirs(name));
    dirs.flat_map(|dir| files(&dir, &[".json", ".json.gz", ".pftrace"])).collect()
}

#[test]
fn exports_read_again_give_the_same() {
    let (mut n_files, mut failed) = (0, Vec::new());
    for path in inputs() {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 300 << 10 {
            continue;
        }
        let Some((trace, out)) = exported(&name, &bytes, &Options::default()) else { continue };
        n_files += 1;
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let again = import("again.pftrace", &out, None);
            match again {
                Ok(again) => check(&name, &trace, &again),
                Err(error) => {
                    assert!(trace.slices.is_empty() && trace.counters.is_empty(), "{name}: {error}")
                }
            }
        }));
        failed.extend(checked.is_err().then_some(name));
    }
    assert!(failed.is_empty(), "{n_files} files, of which {failed:?}");
    assert!(n_files > 10, "{n_files}");
}

#[test]
fn notes_are_events() {
    let json = br#"{"traceEvents":[{"ph":"X","name":"a","ts":5,"dur":3,"pid":1,"tid":2}]}"#;
    let note = |on: Anchor, text: &str| Remark { on, text: text.to_string() };
    let list = vec![
        note(Anchor::Range { from_ns: 1000, to_ns: 2000 }, "slow\nhere"),
        note(Anchor::Event { name: "a".into(), at_ns: 0 }, "this one"),
    ];
    let options = Options { notes: Some(Notes { title: String::new(), list }), ..Options::default() };
    let (_, out) = exported("a.json", json, &options).unwrap();
    let again = import("a.pftrace", &out, None).unwrap();
    let rows: Vec<_> =
        slices(&again, 0).into_iter().map(|(ts, dur, name, _, args)| (ts, dur, name, args)).collect();
    let row = |ts, dur, name: &str, args: &str| (ts, dur, name.to_string(), args.to_string());
    assert_eq!(
        rows,
        [
            row(5000, 3000, "a", "null"),
            row(5000, 0, "this one", r#"{"note":"this one","on":"a"}"#),
            row(6000, 1000, "slow", r#"{"note":"slow\nhere"}"#),
        ]
    );
}
