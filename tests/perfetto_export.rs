//! Traces written as Perfetto traces and read again have the same slices, arguments, arrows and counters. Tracks that Tracedrop
//! adds are not read as events.

use crate::support;
use crate::support::{data_dirs, files, import};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tracedrop::analysis::gpu::GpuTrace;
use tracedrop::analysis::{self, Context, Query, gpu_breakdown, overview};
use tracedrop::base::protobuf::{Fields, Value as Field};
use tracedrop::base::strings::StringId;
use tracedrop::export::{self, Input, LeftOut, Options};
use tracedrop::report::Document;
use tracedrop::report::notes::{Anchor, Notes, Remark};
use tracedrop::trace::tracks::Key;
use tracedrop::trace::{Run, Trace};

/// The export of a file, and the trace it was made from.
fn exported(name: &str, bytes: &[u8], options: &Options) -> Option<(Trace, Vec<u8>)> {
    let trace = import(name, bytes, None).ok()?;
    let run = Run::single(trace.clone());
    (export::find("perfetto").unwrap().applies)(&run).then(|| (trace, export_of(&run, options).0))
}

/// The export of traces with their steps, and what is not in it.
fn export_of(run: &Run, options: &Options) -> (Vec<u8>, LeftOut) {
    let query = Query::default();
    let context = Context::new(run, &query);
    let reports = [(gpu_breakdown::INFO.run)(&context)];
    let document = Document {
        title: "x".into(),
        source: Vec::new(),
        ledger: tracedrop::report::Report::new("ledger", "Read"),
        reports: &reports,
    };
    let input = Input::new(run, &document, &query, options);
    let mut out = Vec::new();
    let left_out = export::render(export::find("perfetto").unwrap(), &input, &mut out).unwrap();
    (out, left_out)
}

/// Events of the category `tracedrop` in an export: track, start, duration, name, and arguments as `name=value`.
fn own_events(export: &[u8]) -> Vec<(String, i64, i64, String, String)> {
    fn field(message: &[u8], number: u64) -> Option<Field<'_>> {
        Fields::new(message).find(|(own, _)| *own == number).map(|(_, value)| value)
    }
    fn bytes(message: &[u8], number: u64) -> Option<&[u8]> {
        field(message, number)?.bytes()
    }
    let number = |message: &[u8], of: u64| match field(message, of) {
        Some(Field::Number(number)) => Some(number as i64),
        _ => None,
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut names, mut of_sequence) = (BTreeMap::new(), BTreeMap::new());
    let mut events = Vec::new();
    for packet in Fields::new(export).filter_map(|(_, value)| value.bytes()) {
        if let Some(track) = bytes(packet, 60) {
            names.insert(number(track, 1).unwrap(), text(bytes(track, 2).unwrap_or_default()));
        }
        let sequence = number(packet, 10);
        if let Some(snapshot) = bytes(packet, 6) {
            let track = bytes(packet, 59).and_then(|defaults| number(bytes(defaults, 11)?, 11)).unwrap();
            of_sequence.insert(sequence, (track, number(bytes(snapshot, 1).unwrap(), 2).unwrap(), None));
        }
        let Some(event) = bytes(packet, 11) else { continue };
        let (track, ts, open) = of_sequence.get_mut(&sequence).unwrap();
        *ts += number(packet, 8).unwrap();
        if bytes(event, 22) == Some(b"tracedrop") {
            let members =
                Fields::new(event).filter(|(of, _)| *of == 4).filter_map(|(_, value)| value.bytes());
            let member =
                |raw: &[u8]| format!("{}={}", text(bytes(raw, 10).unwrap()), text(bytes(raw, 6).unwrap()));
            let members: Vec<String> = members.map(member).collect();
            *open = Some(events.len());
            events.push((names[track].clone(), *ts, 0, text(bytes(event, 23).unwrap()), members.join(" ")));
        } else if let (Some(2), Some(of)) = (number(event, 9), open.take()) {
            events[of].2 = *ts - events[of].1;
        }
    }
    events
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

/// Operations of a TPU have no ids by which reports know GPU activity: exports state that their categories are certain, also when
/// exported again.
#[test]
fn operations_of_a_tpu_have_their_reports_in_exports() {
    let path = support::own_dir("situations").join("tpu-operation-without-duration.xplane.pb");
    let bytes = std::fs::read(path).unwrap();
    let options = Options::default();
    let chrome = |trace: &Trace| {
        let mut out = Vec::new();
        let mut sink = |bytes: &[u8]| out.extend_from_slice(bytes);
        export::chrome_trace::write(&Run::single(trace.clone()), &options, &mut sink);
        import("again.json", &out, None).unwrap()
    };
    let perfetto = |trace: &Trace| {
        import("again.pftrace", &export_of(&Run::single(trace.clone()), &options).0, None).unwrap()
    };
    let told = |trace: &Trace| {
        let reports = analysis::reports(&Run::single(trace.clone()), &Query::default());
        let ids: Vec<String> = reports.iter().map(|report| report.id.to_string()).collect();
        let table = reports.iter().flat_map(|report| report.tables()).find(|table| table.id == "kernels");
        let kernels = table.map(|table| {
            let order: Vec<u32> = (0..table.n_rows() as u32).collect();
            export::csv::table_csv(table, &order)
        });
        (ids.into_iter().filter(|id| id.starts_with("gpu-")).collect::<Vec<_>>(), kernels)
    };
    let trace = import("x.xplane.pb", &bytes, None).unwrap();
    let wanted = told(&trace);
    assert!(wanted.0.contains(&"gpu-kernels".to_string()) && wanted.1.is_some(), "{wanted:?}");
    for again in [chrome(&trace), perfetto(&trace), perfetto(&chrome(&trace)), chrome(&perfetto(&trace))] {
        assert_eq!(told(&again), wanted, "{}", again.source.format);
    }
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

const NOTED: &[u8] =
    br#"{"traceEvents":[{"ph":"X","name":"a","ts":5,"dur":3,"pid":1,"tid":2},{"ph":"X","name":"b","ts":8,"dur":3,"pid":1,"tid":2}]}"#;

fn noted() -> Notes {
    let note = |on: Anchor, text: &str| Remark { on, text: text.to_string() };
    let list = vec![
        note(Anchor::Range { from_ns: 1000, to_ns: 2000 }, "slow\nhere"),
        note(Anchor::Event { name: "a".into(), at_ns: 0 }, "this one"),
    ];
    Notes { title: String::new(), list }
}

#[test]
fn notes_are_on_a_track_that_is_not_read_as_events() {
    let options = Options { notes: Some(noted()), ..Options::default() };
    let (trace, out) = exported("a.json", NOTED, &options).unwrap();
    let row =
        |ts, dur, name: &str, args: &str| ("Notes".to_string(), ts, dur, name.to_string(), args.to_string());
    let rows = [row(5000, 0, "this one", "note=this one on=a"), row(6000, 1000, "slow", "note=slow\nhere")];
    assert_eq!(own_events(&out), rows);
    let again = import("a.pftrace", &out, None).unwrap();
    assert_eq!(slices(&again, 0), slices(&trace, 0));
    let issues: Vec<_> = again.ledger.issues.iter().map(|issue| (issue.kind.code, issue.count)).collect();
    assert_eq!(issues, [("perfetto-own-note", 2)]);
}

#[test]
fn notes_of_a_part_keep_their_times() {
    let cut = tracedrop::trace::cut::Cut { window: Some((3000, 6000)), max_depth: None };
    let mut notes = noted();
    notes.list.push(Remark { on: Anchor::Range { from_ns: 4000, to_ns: 5000 }, text: "later".into() });
    let options = Options { notes: Some(notes), cut, ..Options::default() };
    let (_, out) = exported("a.json", NOTED, &options).unwrap();
    let rows: Vec<_> = own_events(&out).into_iter().map(|(_, ts, dur, name, _)| (ts, dur, name)).collect();
    assert_eq!(rows, [(9000, 1000, "later".to_string())]);
}

#[test]
fn notes_of_a_trace_read_in_part_keep_their_times() {
    let mut trace = import("a.json", NOTED, None).unwrap();
    tracedrop::trace::cut::Cut { window: Some((3500, 6000)), max_depth: None }.apply_to(&mut trace);
    let mut notes = noted();
    notes.list = vec![Remark { on: Anchor::Range { from_ns: 4000, to_ns: 5000 }, text: "later".into() }];
    let options = Options { notes: Some(notes), ..Options::default() };
    let (out, _) = export_of(&Run::single(trace), &options);
    let rows: Vec<_> = own_events(&out).into_iter().map(|(_, ts, dur, name, _)| (ts, dur, name)).collect();
    // The trace starts at 5000, though only what ends at 11000 is left.
    assert_eq!(rows, [(9000, 1000, "later".to_string())]);
}

const PREFILL: &str = "execute_context_1(64)_generation_0(0)";
const DECODE: &str = "execute_context_0(0)_generation_8(8)";

/// A profile of a rank: annotated steps, each with a launch and its kernel, `late_us` after the start.
fn rank(rank: u32, base_ns: i64, late_us: i64) -> Trace {
    let mut events = String::new();
    for (step, name) in [PREFILL, DECODE, DECODE].iter().enumerate() {
        let (ts, launch) = (late_us + step as i64 * 100, step + 1);
        events.push_str(&format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"{name}","pid":7,"tid":1,"ts":{ts},"dur":90}},
            {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":1,"ts":{},"dur":5,"args":{{"correlation":{launch}}}}},
            {{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":50,"args":{{"device":0,"stream":7,"correlation":{launch}}}}},"#,
            ts + 1,
            ts + 10
        ));
    }
    let json = format!(
        r#"{{"schemaVersion":1,"deviceProperties":[],"baseTimeNanoseconds":{base_ns},"distributedInfo":{{"rank":{rank},"world_size":2}},
        "traceEvents":[{events}{{"ph":"M","name":"process_name","pid":7,"tid":0,"args":{{"name":"python"}}}}]}}"#
    );
    import(&format!("rank{rank}.json"), json.as_bytes(), None).unwrap()
}

#[test]
fn steps_and_phases_are_tracks_as_the_report_has_them() {
    let (out, _) = export_of(&Run::single(rank(0, 0, 1000)), &Options::default());
    let rows = own_events(&out);
    let of = |track: &str| {
        let rows = rows.iter().filter(|row| row.0.starts_with(track));
        rows.map(|(_, ts, dur, name, args)| format!("{ts} {dur} {name} {args}")).collect::<Vec<_>>()
    };
    assert_eq!(
        of("Steps: GPU 0"),
        [
            format!("1010000 100000 {PREFILL} phase=prefill"),
            format!("1110000 100000 {DECODE} phase=decode"),
            format!("1210000 50000 {DECODE} phase=decode"),
        ]
    );
    assert_eq!(of("Phases: GPU 0"), ["1010000 100000 prefill steps=1", "1110000 150000 decode steps=2"]);
    let again = import("again.pftrace", &out, None).unwrap();
    assert!(again.ledger.issues.is_empty(), "{:?}", again.ledger.issues);
    let own = again.source.record_kinds.iter().find(|(kind, _)| kind.contains("Tracedrop"));
    assert_eq!(own.map(|(_, n)| *n), Some(10));
}

#[test]
fn redacted_steps_are_numbered() {
    let mut options = Options::default();
    options.redact.symbols = true;
    let (out, _) = export_of(&Run::single(rank(0, 0, 1000)), &options);
    let names: Vec<String> = own_events(&out).into_iter().map(|row| format!("{}{}", row.3, row.4)).collect();
    assert_eq!(names, ["Step 1", "Step 2", "Step 3"]);
}

#[test]
fn ranks_are_processes_on_one_clock() {
    // The second began 3 us later, and counts from 1 ms before.
    let run = Run { traces: vec![rank(0, 5_000_000_000, 1000), rank(1, 4_999_000_000, 2003)] };
    let (out, left_out) = export_of(&run, &Options::default());
    assert_eq!(left_out.0, ["1 clock offset of a rank"]);
    let again = import("again.pftrace", &out, None).unwrap();
    let names: Vec<String> = again.processes.name.iter().map(|name| text(&again, *name)).collect();
    assert!(
        names.contains(&"Rank 0: python".to_string()) && names.contains(&"Rank 1: python".to_string()),
        "{names:?}"
    );
    let starts: Vec<i64> =
        slices(&again, 0).into_iter().filter(|row| row.2 == "gemm").map(|row| row.0).collect();
    assert_eq!(starts, [1_010_000, 1_013_000, 1_110_000, 1_113_000, 1_210_000, 1_213_000]);
    let tracks: Vec<String> = own_events(&out).into_iter().map(|row| row.0).collect();
    assert!(tracks.iter().any(|name| name == "Steps: rank 1, GPU 0"), "{tracks:?}");
}

/// Async slices, states, instants, series of a counter, and ids that are texts.
const KINDS: &[u8] = br#"{"traceEvents":[
    {"ph":"X","name":"work","ts":0,"dur":100,"pid":1,"tid":5},
    {"ph":"X","name":"kernel","ts":0,"dur":10,"pid":"host a","tid":"worker"},
    {"ph":"b","cat":"c","name":"req","id":"a","ts":0,"pid":1,"tid":5},
    {"ph":"b","cat":"c","name":"part","id":"a","ts":1,"pid":1,"tid":5},
    {"ph":"n","cat":"c","name":"tick","id":"a","ts":2,"pid":1,"tid":5},
    {"ph":"e","cat":"c","name":"part","id":"a","ts":3,"pid":1,"tid":5},
    {"ph":"e","cat":"c","name":"req","id":"a","ts":100,"pid":1,"tid":5},
    {"ph":"b","cat":"c","name":"req","id":"b","ts":50,"pid":1,"tid":5},
    {"ph":"b","cat":"c","name":"own","id2":{"local":"0x1"},"ts":60,"pid":1,"tid":5},
    {"ph":"e","cat":"c","name":"own","id2":{"local":"0x1"},"ts":70,"pid":1,"tid":5},
    {"ph":"i","s":"p","name":"of process","ts":7,"pid":1,"tid":5},
    {"ph":"i","s":"g","name":"of all","ts":8,"pid":1,"tid":5},
    {"ph":"T","name":"Running","ts":10,"dur":5,"pid":1,"tid":5},
    {"ph":"T","name":"Sleeping","ts":15,"dur":5,"pid":1,"tid":5},
    {"ph":"T","name":"beside","ts":16,"dur":2,"pid":1,"tid":5},
    {"ph":"T","name":"Running","ts":30,"dur":0,"pid":1,"tid":5},
    {"ph":"T","name":"Runnable","ts":40,"dur":60,"tracedrop_unfinished":true,"pid":1,"tid":5},
    {"ph":"C","name":"mem","id":"x","ts":0,"pid":1,"args":{"a":1,"b":2}},
    {"ph":"C","name":"mem","ts":0,"pid":1,"args":{"a":3,"b":4}}]}"#;

/// Where each slice is, and what it is.
fn placed(trace: &Trace) -> Vec<String> {
    let key = |key: Key| match key {
        Key::Number(number) => number.to_string(),
        Key::Text(id) | Key::Digits(id) => format!("{:?}", text(trace, id)),
    };
    let (slices, tracks) = (&trace.slices, &trace.tracks);
    let mut rows: Vec<String> = (0..slices.len())
        .map(|i| {
            let track = slices.track[i].0 as usize;
            let thread = tracks.thread[track].map(|thread| key(trace.threads.key[thread.0 as usize]));
            let process = tracks.process[track].map(|process| key(trace.processes.key[process.0 as usize]));
            format!(
                "{:?} {:?} {:?} on {process:?} {thread:?} of {}: {} {} {} self {}",
                slices.kind[i],
                tracks.kind[track],
                text(trace, tracks.name[track]),
                slices.depth.get(i),
                text(trace, slices.name[i]),
                slices.ts[i],
                slices.dur.get(i),
                slices.self_ns.get(i),
            )
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn what_is_no_thread_comes_back_as_what_it_was() {
    let (trace, out) = exported("a.json", KINDS, &Options::default()).unwrap();
    let wanted = placed(&trace);
    let n_of = |kind: &str| wanted.iter().filter(|row| row.starts_with(kind)).count();
    assert_eq!(["Async ", "AsyncInstant", "Instant", "State", "Complete"].map(n_of), [4, 1, 2, 5, 2]);
    let series = |trace: &Trace| {
        let (table, all) = (&trace.counters, &trace.counter_series);
        let mut rows: Vec<_> = (0..table.len())
            .map(|row| {
                let of = table.series[row] as usize;
                let name = (text(trace, all.name[of]), text(trace, all.id[of]), text(trace, all.key[of]));
                (name, table.ts[row], table.value[row].to_string())
            })
            .collect();
        rows.sort();
        rows
    };
    let again = import("again.pftrace", &out, None).unwrap();
    let (out, _) = export_of(&Run::single(again.clone()), &Options::default());
    let later = import("later.pftrace", &out, None).unwrap();
    for (what, other) in [("once", &again), ("twice", &later)] {
        assert_eq!(placed(other), wanted, "{what}");
        assert_eq!(series(other), series(&trace), "{what}");
        // Threads that only stand for tracks have no names, by which they would be listed.
        let names: Vec<String> = other.threads.name.iter().map(|name| text(other, *name)).collect();
        let named: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(named, ["worker"], "{what}");
    }
    let reports = |trace: &Trace| {
        let run = Run::single(trace.clone());
        let query = Query::default();
        let report = (overview::INFO.run)(&Context::new(&run, &query));
        report.summary
    };
    assert_eq!(reports(&again), reports(&trace));
}
