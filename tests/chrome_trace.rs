//! Chrome traces: every corpus file compared with Perfetto, read in all ways that must give the same result.
//!
//! `expected/NAME.json` is the content of Perfetto's trace processor after loading a file. [`DEVIATIONS`] lists intentional
//! differences by member, with the reason; `ours/NAME.json` has our values.

use crate::support;
use crate::support::{
    Random, data_dirs, files, for_each_cut, import, import_cut, import_in_parts, own_dir, stem,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracedrop::base::json::{Number, RawStr, unescape_to_string};
use tracedrop::base::strings::StringId;
use tracedrop::import::part_scheduler::{Next, PartScheduler};
use tracedrop::import::{FormatInfo, Import, ImportError, chrome_trace};
use tracedrop::trace::Trace;
use tracedrop::trace::builder::{for_each_element, for_each_member};
use tracedrop::trace::samples::StackId;
use tracedrop::trace::slices::{SliceId, SliceKind};
use tracedrop::trace::tracks::{Key, TrackKind};

const SYSTEM: &str = "chrome";
const CHROME: Option<&FormatInfo> = Some(&chrome_trace::INFO);

/// Placeholder for a number only Perfetto knows: its own id of a process or thread with a text id.
const ANY_NUMBER: &str = "any number";

/// Above this number of argument rows the reference lists none.
const MOST_ARGS: usize = 800;

/// Files with members that differ intentionally. `load_ok`: Perfetto rejects the file.
const DEVIATIONS: &[(&str, &[&str], &str)] = &[
    (
        "catapult_x_event_trace",
        &["by_name", "by_track", "count_by_depth", "slices_last", "stats"],
        "a slice that ends when it begins has no duration; Perfetto closes it at the end of its parent, cuts what is open \
        meanwhile and counts that",
    ),
    ("ferrum_flush_then_drop", &["load_ok"], "an empty list is an empty trace"),
    ("hand2_argsurr", &["args"], "surrogate pairs in arguments are decoded"),
    ("hand2_bad_dur", &["slice_count", "slices"], "a bad duration costs its event only"),
    ("hand2_deep600", &["slice_count", "slices"], "slices deeper than 512 are kept"),
    ("hand2_elem", &["load_ok"], "an element that is no object is skipped"),
    ("hand2_midsyntax", &["load_ok"], "broken syntax costs its element only"),
    ("hand_async", &["slices"], "the scope is part of an identity"),
    ("hand_big_ints", &["args", "slices"], "integers and times keep all digits"),
    ("hand_bom", &["load_ok"], "a byte order mark is stepped over"),
    ("hand_counters", &["counter_tracks", "counters"], "the reference cuts the digits of 1e300 after 255"),
    ("hand_empty_array", &["load_ok"], "an empty list is an empty trace"),
    ("hand_empty_object", &["load_ok"], "an empty object is an empty trace"),
    ("hand_escapes", &["load_ok"], "surrogate pairs are decoded"),
    ("hand_lone_surrogate", &["load_ok"], "lone surrogates become U+FFFD"),
    ("hand_metadata", &["stats"], "metadata without a usable name are counted also when `args` is empty"),
    ("hand_ndjson", &["processes", "slice_count", "slices", "threads"], "events one a line are read"),
    (
        "hand_nesting",
        &["slices"],
        "an overlapping slice has the shortest slice around it for a parent, on whatever lane",
    ),
    ("hand_not_trace_events_array", &["load_ok"], "refused in our own words"),
    ("hand_object_unclosed", &["load_ok"], "an object cut anywhere is read up to there"),
    ("hand_pid_tid_forms", &["processes", "slices", "threads"], "negative ids are kept"),
    ("hand_ts_forms", &["slice_count", "slices"], "negative times are kept"),
    ("hta_event_sync", &["slices", "threads"], "negative ids are kept"),
    (
        "speedscope_multi-thread-with-samples",
        &["slices", "threads"],
        "the name a file gives a thread wins over its \
        id in text; with Perfetto whatever event came last",
    ),
    (
        "tracelens_sglang_decode",
        &["by_track", "count_by_depth"],
        "a slice lies on the lane of its parent, also where that overlaps another slice",
    ),
];

/// Perfetto's error counts and our corresponding issues.
const STATS: &[(&str, &[&str])] = &[
    ("json_tokenizer_failure", &["no-phase", "no-time", "bad-time", "bad-duration", "bad-thread-time"]),
    (
        "json_parser_failure",
        &[
            "no-duration",
            "async-without-id",
            "async-without-pid",
            "instant-without-tid",
            "instant-without-pid",
            "counter-without-args",
            "bad-counter-value",
            "bad-metadata",
        ],
    ),
    ("slice_negative_duration", &["negative-duration"]),
    ("misplaced_end_event", &["misplaced-end"]),
    ("slice_spill_overlapping_complete_event", &["overlapping-slice"]),
    ("flow_invalid_id", &["bad-flow-id", "bad-bind-id"]),
    ("flow_without_direction", &["flow-without-direction"]),
    ("flow_no_enclosing_slice", &["flow-without-slice"]),
    ("flow_duplicate_id", &["duplicate-flow-start", "duplicate-bound-flow"]),
    ("legacy_v8_cpu_profile_invalid_callsite", &["profile-node-without-parent"]),
    ("legacy_v8_cpu_profile_invalid_sample", &["profile-sample-without-node"]),
];

/// Perfetto's counts without a counterpart: it warns of `displayTimeUnit`, which has no effect; it drops slices below depth
/// 512 and before time 0, which we keep.
const STATS_WITHOUT_COUNTERPART: &[&str] =
    &["json_display_time_unit", "slice_max_depth_exceeded", "trace_sorter_negative_timestamp_dropped"];

fn text_or_null(trace: &Trace, id: StringId) -> Value {
    match trace.strings.get(id) {
        "" => Value::Null,
        text => json!(text),
    }
}

fn key_value(key: Key) -> Value {
    match key {
        Key::Number(number) => json!(number),
        Key::Text(_) | Key::Digits(_) => json!(ANY_NUMBER),
    }
}

/// Slices as Perfetto counts them: thread states are in another table, the legacy async form is ignored.
fn shown_slices(trace: &Trace) -> Vec<usize> {
    let is_ours = |kind| matches!(kind, SliceKind::State | SliceKind::LegacyAsync | SliceKind::LegacyStep);
    // Perfetto drops slices without a valid duration.
    let has_none = |i: &usize| trace.slices.no_duration.contains(&SliceId(*i as u32));
    (0..trace.slices.len()).filter(|i| !is_ours(trace.slices.kind[*i]) && !has_none(i)).collect()
}

fn dump_slices(trace: &Trace) -> Vec<Value> {
    let shown = shown_slices(trace);
    let number: BTreeMap<usize, usize> = shown.iter().enumerate().map(|(number, i)| (*i, number)).collect();
    let slices = &trace.slices;
    shown
        .iter()
        .enumerate()
        .map(|(id, &i)| {
            let track = slices.track[i].0 as usize;
            let kind = trace.tracks.kind[track];
            let track_type = match kind {
                TrackKind::Thread => "thread_execution",
                TrackKind::ThreadOverflow => "thread_overlapping_slice",
                TrackKind::ThreadState => "thread_state",
                TrackKind::ProcessInstants => "chrome_process_instant",
                TrackKind::GlobalInstants => "legacy_chrome_global_instants",
                TrackKind::AsyncGlobal => "legacy_async_global_slice",
                TrackKind::AsyncProcess => "legacy_async_process_slice",
                TrackKind::AsyncLegacy => "legacy",
            };
            let thread = trace.tracks.thread[track].map(|thread| thread.0 as usize);
            // Perfetto's global tracks belong to no process.
            let process = trace.tracks.process[track]
                .filter(|_| !matches!(kind, TrackKind::AsyncGlobal | TrackKind::AsyncLegacy))
                .map(|process| process.0 as usize);
            let name = match trace.strings.get(slices.name[i]) {
                "" => "[No name]",
                name => name,
            };
            json!({
                "id": id,
                "ts": slices.ts[i],
                "dur": slices.dur.get(i),
                "name": name,
                "category": text_or_null(trace, slices.category[i]),
                "depth": slices.depth.get(i),
                "parent_id": slices.parent[i].some().and_then(|parent| number.get(&(parent.0 as usize))),
                "track_type": track_type,
                "track_name": text_or_null(trace, trace.tracks.name[track]),
                "tid": thread.map_or(Value::Null, |thread| key_value(trace.threads.key[thread])),
                "thread": thread.map_or(Value::Null, |thread| text_or_null(trace, trace.threads.name[thread])),
                "pid": process.map_or(Value::Null, |process| key_value(trace.processes.key[process])),
                "process": process.map_or(Value::Null, |process| text_or_null(trace, trace.processes.name[process])),
            })
        })
        .collect()
}

/// Flat members of one raw value, as Perfetto names them; a duplicate key replaces the value in place.
fn flatten(flat_key: &str, key: &str, raw: &[u8], out: &mut Vec<(String, String, Value)>) {
    let value = match raw.first() {
        Some(b'{') => {
            for_each_member(raw, |name, value| {
                let name = unescape_to_string(name);
                flatten(&format!("{flat_key}.{name}"), &format!("{key}.{name}"), value, out);
            });
            return;
        }
        Some(b'[') => {
            let mut index = 0;
            for_each_element(raw, |value| {
                flatten(flat_key, &format!("{key}[{index}]"), value, out);
                index += 1;
            });
            return;
        }
        Some(b'"') => {
            let bytes = &raw[1..raw.len() - 1];
            match unescape_to_string(RawStr { bytes, escaped: bytes.contains(&b'\\') }) {
                text if text.is_empty() => Value::Null,
                text => json!(text),
            }
        }
        Some(b't') => json!("1"),
        Some(b'f') => json!("0"),
        _ => match Number::parse(raw) {
            None => return,
            Some(number) if number.is_integer_literal => json!(String::from_utf8_lossy(raw)),
            Some(_) => json!(format!("{:?}", Number::as_f64(raw).unwrap())),
        },
    };
    match out.iter_mut().find(|row| row.1 == key) {
        Some(row) => row.2 = value,
        None => out.push((flat_key.to_string(), key.to_string(), value)),
    }
}

fn lossy(raw: Cow<'_, [u8]>) -> String {
    String::from_utf8_lossy(&raw).into_owned()
}

fn dump_args(trace: &Trace) -> Vec<Value> {
    let slices = &trace.slices;
    let mut rows = Vec::new();
    for (id, &i) in shown_slices(trace).iter().enumerate() {
        let mut members = Vec::new();
        let mut add = |raw: Option<Cow<'_, [u8]>>| {
            if let Some(raw) = raw {
                flatten("args", "args", &raw, &mut members);
            }
        };
        add(trace.args.get(slices.args_of(i)));
        for (_, args) in slices.end_args.iter().filter(|row| row.0 == SliceId(i as u32)) {
            add(trace.args.get(*args));
        }
        let name = text_or_null(trace, slices.name[i]);
        rows.extend(
            members.into_iter().map(|(flat_key, key, value)| json!([id, name, flat_key, key, value])),
        );
    }
    rows
}

fn dump_counters(trace: &Trace, members: &mut Map<String, Value>) {
    let series = &trace.counter_series;
    let name_of = |i: usize| {
        let name = trace.strings.get(series.name[i]);
        let key = trace.strings.get(series.key[i]);
        match trace.strings.get_opt(series.id[i]) {
            Some(id) => format!("{name} id: {id} {key}"),
            None => format!("{name} {key}"),
        }
    };
    let pid_of = |i: usize| key_value(trace.processes.key[series.process[i].0 as usize]);
    let counters = &trace.counters;
    members.insert("counter_count".into(), json!(counters.len()));
    let mut tracks: Vec<Value> = Vec::new();
    for i in 0..series.len() {
        let points: Vec<usize> =
            (0..counters.len()).filter(|at| counters.series[*at] as usize == i).collect();
        let values: Vec<f64> = points.iter().map(|at| counters.value[*at]).collect();
        tracks.push(json!({
            "track": name_of(i), "pid": pid_of(i), "n": points.len(),
            "first_ts": counters.ts[points[0]], "last_ts": counters.ts[points[points.len() - 1]],
            "min_value": values.iter().copied().fold(f64::INFINITY, f64::min),
            "max_value": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }));
    }
    let values: Vec<Value> = (0..counters.len())
        .map(|at| {
            let i = counters.series[at] as usize;
            json!({"ts": counters.ts[at], "track": name_of(i), "pid": pid_of(i), "value": counters.value[at]})
        })
        .collect();
    members.insert("counter_tracks".into(), json!(tracks));
    members.insert("counters".into(), json!(values));
}

/// A trace in the form of `expected/NAME.json`. `short`: the form for many slices.
fn dump(trace: &Trace, short: bool) -> Map<String, Value> {
    let mut members = Map::new();
    let slices = dump_slices(trace);
    members.insert("slice_count".into(), json!(slices.len()));
    if short {
        let mut depths: BTreeMap<String, u64> = BTreeMap::new();
        let mut names: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        let mut tracks: BTreeMap<String, (Value, u64, i64, u64)> = BTreeMap::new();
        for slice in &slices {
            let (dur, depth) = (slice["dur"].as_i64().unwrap(), slice["depth"].as_u64().unwrap());
            *depths.entry(depth.to_string()).or_default() += 1;
            let name = names.entry(slice["name"].as_str().unwrap().to_string()).or_default();
            *name = (name.0 + 1, name.1 + dur);
            let key = json!([slice["pid"], slice["tid"], slice["track_type"]]);
            let track = tracks.entry(key.to_string()).or_insert((key, 0, 0, 0));
            (track.1, track.2, track.3) = (track.1 + 1, track.2 + dur, track.3.max(depth));
        }
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        members.insert("slices_first".into(), json!(slices[..100]));
        members.insert("slices_last".into(), json!(slices[slices.len() - 50..]));
        members.insert("count_by_depth".into(), json!(depths));
        members.insert(
            "by_name".into(),
            names.into_iter().map(|(name, (count, sum))| json!([name, count, sum])).collect(),
        );
        members.insert(
            "by_track".into(),
            tracks
                .into_values()
                .map(|(key, count, sum, depth)| json!([key[0], key[1], key[2], count, sum, depth]))
                .collect(),
        );
    } else {
        members.insert("slices".into(), json!(slices));
        members.insert("args".into(), json!(dump_args(trace)));
    }
    dump_counters(trace, &mut members);
    let flows = &trace.flows;
    members.insert("flow_count".into(), json!(flows.len()));
    let name = |slice: SliceId| text_or_null(trace, trace.slices.name[slice.0 as usize]);
    let ts = |slice: SliceId| trace.slices.ts[slice.0 as usize];
    let rows: Vec<Value> = (0..flows.len())
        .map(|i| {
            let (from, to) = (flows.from[i], flows.to[i]);
            json!({"out_ts": ts(from), "out_name": name(from), "in_ts": ts(to), "in_name": name(to)})
        })
        .collect();
    members.insert("flows".into(), json!(rows));
    let mut processes = Vec::new();
    for i in 0..trace.processes.len() {
        processes.push(json!({
            "pid": key_value(trace.processes.key[i]),
            "name": text_or_null(trace, trace.processes.name[i]),
            "sort_index": trace.processes.sort_index[i],
        }));
    }
    members.insert("processes".into(), json!(processes));
    // Perfetto makes a main thread for every process.
    let mut threads = Vec::new();
    for i in 0..trace.processes.len() {
        let key = trace.processes.key[i];
        let known = (0..trace.threads.len())
            .any(|t| trace.threads.process[t].0 as usize == i && trace.threads.key[t] == key);
        if !known {
            threads.push(
                json!({"tid": key_value(key), "pid": key_value(key), "name": null, "is_main_thread": 1}),
            );
        }
    }
    for i in 0..trace.threads.len() {
        let (key, process) = (trace.threads.key[i], trace.processes.key[trace.threads.process[i].0 as usize]);
        threads.push(json!({
            "tid": key_value(key), "pid": key_value(process), "name": text_or_null(trace, trace.threads.name[i]),
            "is_main_thread": u8::from(key == process),
        }));
    }
    members.insert("threads".into(), json!(threads));
    let mut stats = Map::new();
    for (stat, codes) in STATS {
        let mut count: u64 = codes.iter().map(|code| trace.ledger.count_of(code)).sum();
        if *stat == "json_parser_failure" {
            // Perfetto takes every `T` for a thread state, which needs a duration.
            let n_states = trace.slices.kind.iter().filter(|kind| **kind == SliceKind::State).count() as u64;
            let n_steps =
                trace.source.record_kinds.iter().filter(|row| row.0.starts_with("T ")).map(|row| row.1);
            count += n_steps.sum::<u64>() - n_states;
        }
        if count > 0 {
            stats.insert((*stat).to_string(), json!(count));
        }
    }
    members.insert("stats".into(), json!(stats));
    let has_profiles = trace.source.record_kinds.iter().any(|(kind, _)| kind == "P sample");
    let n_samples = (0..trace.samples.len())
        .filter(|i| {
            has_profiles && trace.samples.name[*i].is_none() && trace.samples.stack[*i] != StackId::NONE
        })
        .count();
    members.insert("v8_samples".into(), json!(n_samples));
    members
}

/// Brings Perfetto's members to the form of [`dump`].
fn normalise(expected: &Value) -> Map<String, Value> {
    let mut members = expected.as_object().unwrap().clone();
    for name in ["file", "load_ok", "error"] {
        members.remove(name);
    }
    for name in ["args", "flows", "counters", "counter_tracks", "slices"] {
        let is_short = members.contains_key("slices_first") && (name == "slices" || name == "args");
        if !is_short {
            members.entry(name).or_insert_with(|| json!([]));
        }
    }
    let mut stats = Map::new();
    for stat in members["stats"].as_array().unwrap() {
        if !STATS_WITHOUT_COUNTERPART.contains(&stat["name"].as_str().unwrap()) {
            stats.insert(stat["name"].as_str().unwrap().to_string(), stat["value"].clone());
        }
    }
    members.insert("stats".into(), json!(stats));
    // The first thread exists without any event.
    let threads: Vec<Value> =
        members["threads"].as_array().unwrap().iter().filter(|t| t["utid"] != json!(0)).cloned().collect();
    members.insert("threads".into(), json!(threads));
    for name in ["threads", "processes"] {
        for row in members[name].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().retain(|key, _| key != "utid" && key != "upid");
        }
    }
    members
}

/// Whether values are equal except for ids only Perfetto knows and the last digits of printed doubles.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::String(text), Value::Number(_)) if text == ANY_NUMBER => true,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => {
            a == b || {
                let (a, b) = (a.to_string(), b.to_string());
                let is_double = a.contains(['.', 'e']) || b.contains(['.', 'e']);
                let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
                is_double && ((a - b).abs() < 1e-6 || (a - b).abs() <= a.abs() * 1e-12)
            }
        }
        (a, b) => a == b,
    }
}

/// Whether rows match one to one, in any order.
fn same_set(ours: &Value, theirs: &Value) -> bool {
    let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
    let mut left: Vec<&Value> = ours.iter().collect();
    // Rows without placeholders are matched first.
    left.sort_by_key(|row| row.to_string().contains(ANY_NUMBER));
    let mut theirs: Vec<&Value> = theirs.iter().collect();
    left.iter().all(|ours| match theirs.iter().position(|theirs| same(ours, theirs)) {
        Some(at) => {
            theirs.swap_remove(at);
            true
        }
        None => false,
    }) && theirs.is_empty()
}

fn same_member(name: &str, ours: &Value, theirs: &Value) -> bool {
    match name {
        "processes" | "threads" | "counter_tracks" | "by_track" => same_set(ours, theirs),
        "flows" => {
            // Perfetto's list has only the first 600.
            let theirs = theirs.as_array().unwrap();
            let ours = ours.as_array().unwrap();
            same_set(&json!(ours[..ours.len().min(600)]), &json!(theirs))
        }
        // The reference leaves out arguments if there are many.
        "args" if theirs == &json!([]) && ours.as_array().unwrap().len() > MOST_ARGS => true,
        "by_name" => {
            let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
            theirs.len() == ours.len().min(100) && theirs.iter().all(|row| ours.contains(row))
        }
        _ => same(ours, theirs),
    }
}

/// First row that differs, for the message.
fn difference(ours: &Value, theirs: &Value) -> String {
    if let (Some(a), Some(b)) = (ours.as_array(), theirs.as_array()) {
        let lens = format!("{} rows instead of {}", a.len(), b.len());
        return match a.iter().zip(b).position(|(a, b)| !same(a, b)) {
            Some(at) => format!("{lens}, row {at}\n    ours: {}\n  theirs: {}", a[at], b[at]),
            None => lens,
        };
    }
    format!("\n    ours: {ours}\n  theirs: {theirs}")
}

fn inputs(dir: &Path) -> Vec<PathBuf> {
    files(dir, &[".json", ".gz"])
}

#[test]
fn agrees_with_perfetto() {
    let mut problems = Vec::new();
    let update = std::env::var_os("UPDATE").is_some();
    let ours_dir = own_dir("chrome").join("ours");
    for dir in data_dirs(SYSTEM) {
        for path in inputs(&dir) {
            let name = stem(&path);
            // The reference does not cover files we made.
            if name.starts_with("own_") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let expected_text = std::fs::read_to_string(dir.join(format!("expected/{name}.json")))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected: Value = serde_json::from_str(&expected_text).unwrap();
            let deviation = DEVIATIONS.iter().find(|(file, _, _)| *file == name);
            let allowed = deviation.map_or(&[][..], |(_, members, _)| members);
            let result = import("unknown", &bytes, CHROME);
            let mut differing: Map<String, Value> = Map::new();
            let mut report = String::new();
            match &result {
                Err(error) => {
                    differing.insert("load_ok".into(), json!(format!("{}: {error}", error.code)));
                }
                Ok(trace) if expected["load_ok"] == json!(false) => {
                    let mut members = dump(trace, false);
                    members
                        .retain(|_, value| *value != json!([]) && *value != json!(0) && *value != json!({}));
                    differing.insert("load_ok".into(), json!(members));
                }
                Ok(trace) => {
                    let theirs = normalise(&expected);
                    let ours = dump(trace, theirs.contains_key("slices_first"));
                    for name in theirs.keys().chain(ours.keys().filter(|name| !theirs.contains_key(*name))) {
                        let none = Value::Null;
                        let (a, b) = (ours.get(name).unwrap_or(&none), theirs.get(name).unwrap_or(&none));
                        if !same_member(name, a, b) {
                            report.push_str(&format!("\n  {name}: {}", difference(a, b)));
                            differing.insert(name.clone(), a.clone());
                        }
                    }
                }
            }
            let found: Vec<&str> = differing.keys().map(String::as_str).collect();
            let mut allowed_sorted = allowed.to_vec();
            allowed_sorted.sort_unstable();
            if found != allowed_sorted {
                problems.push(format!("{name}: differs in {found:?}, should in {allowed:?}{report}"));
                continue;
            }
            if differing.is_empty() {
                continue;
            }
            let golden = ours_dir.join(format!("{name}.json"));
            let mut text = serde_json::to_string_pretty(&Value::Object(differing.clone())).unwrap() + "\n";
            if text.len() > 30_000 {
                text = serde_json::to_string(&Value::Object(differing)).unwrap() + "\n";
            }
            if update {
                std::fs::write(&golden, &text).unwrap();
            }
            let expected = std::fs::read_to_string(&golden).unwrap_or_default();
            if text != expected {
                problems.push(format!("{name}: ours is not {}", golden.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Entire content of a trace as text, without how it was read: to compare ways of reading, and for data Perfetto does not
/// have.
fn dump_text(trace: &Trace, with_slices: bool) -> String {
    let text = |id: StringId| trace.strings.get_opt(id).unwrap_or("-").to_string();
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let ledger = &trace.ledger;
    for (name, tally) in [("kept", ledger.kept), ("repaired", ledger.repaired), ("skipped", ledger.skipped)] {
        line(format!("{name}: {} {}, {} bytes", tally.records, ledger.record_noun, tally.bytes));
    }
    let not_used = match ledger.unused_bytes {
        0 => String::new(),
        bytes => format!(", not used: {bytes}"),
    };
    line(format!("content: {} bytes, framing: {}{not_used}", ledger.content_bytes, ledger.framing_bytes));
    for issue in &ledger.issues {
        let (code, count) = (issue.kind.code, issue.count);
        line(format!("issue {code} x{count} at {}: {}", issue.first.byte, issue.example));
    }
    line(format!("producer: {:?}", trace.source.producer));
    line(format!("kinds: {:?}", trace.source.record_kinds));
    for (name, value) in &trace.source.metadata {
        line(format!("fact {name} = {:.200}", value));
    }
    let slices = &trace.slices;
    for i in 0..slices.len() {
        let is_ours =
            matches!(slices.kind[i], SliceKind::State | SliceKind::LegacyAsync | SliceKind::LegacyStep);
        if !with_slices && !is_ours {
            continue;
        }
        let track = slices.track[i].0 as usize;
        line(format!(
            "{:?} {} +{} self {} {} [{}] depth {} parent {:?} on {:?} {track} args {:?} at {}",
            slices.kind[i],
            slices.ts[i],
            slices.dur.get(i),
            slices.self_ns.get(i),
            text(slices.name[i]),
            text(slices.category[i]),
            slices.depth.get(i),
            slices.parent[i].some().map(|parent| parent.0),
            trace.tracks.kind[track],
            trace.args.get(slices.args_of(i)).map(lossy),
            slices.offset(i),
        ));
    }
    for (slice, tts, tdur) in &slices.thread_time {
        line(format!("thread time of {}: {tts} +{tdur}", slice.0));
    }
    for (slice, args) in &slices.end_args {
        line(format!("end args of {}: {:?}", slice.0, trace.args.get(*args).map(lossy)));
    }
    let stack = |mut id: StackId| {
        let mut frames = Vec::new();
        while id != StackId::NONE {
            let frame = trace.stacks.frame[id.0 as usize].0 as usize;
            frames.push(text(trace.frames.name[frame]));
            id = trace.stacks.parent[id.0 as usize];
        }
        frames.join(" < ")
    };
    for (slice, start, end) in &slices.stacks {
        line(format!("stacks of {}: {} | {}", slice.0, stack(*start), stack(*end)));
    }
    let objects = &trace.objects;
    for i in 0..objects.len() {
        let args = trace.args.get(objects.args[i]).map(lossy);
        let (name, id) = (text(objects.name[i]), text(objects.id[i]));
        line(format!("object {:?} {} {name} {id} {args:?}", objects.event[i], objects.ts[i]));
    }
    let samples = &trace.samples;
    for i in 0..samples.len() {
        let (thread, name) = (samples.thread[i].0, text(samples.name[i]));
        let (ts, weight) = (samples.ts[i], samples.weight[i]);
        line(format!("sample {ts} thread {thread} {name} x{weight}: {}", stack(samples.stack[i])));
    }
    let flows = &trace.flows;
    for i in 0..flows.len() {
        line(format!("flow {} -> {}", flows.from[i].0, flows.to[i].0));
    }
    for i in 0..trace.counters.len() {
        let (ts, series, value) = (trace.counters.ts[i], trace.counters.series[i], trace.counters.value[i]);
        line(format!("counter {ts} {series} {value}"));
    }
    for i in 0..trace.processes.len() {
        let (name, labels) = (text(trace.processes.name[i]), text(trace.processes.labels[i]));
        line(format!(
            "process {:?} {name} {labels} {:?}",
            trace.processes.key[i], trace.processes.sort_index[i]
        ));
    }
    for i in 0..trace.threads.len() {
        let (process, name) = (trace.threads.process[i].0, text(trace.threads.name[i]));
        line(format!("thread {process} {:?} {name} {:?}", trace.threads.key[i], trace.threads.sort_index[i]));
    }
    out
}

/// Checks invariants of any trace.
fn check_invariants(what: &str, trace: &Trace) {
    let ledger = &trace.ledger;
    let counted = ledger.kept.bytes + ledger.repaired.bytes + ledger.skipped.bytes;
    assert!(counted <= ledger.content_bytes, "{what}: {counted} bytes of {}", ledger.content_bytes);
    let slices = &trace.slices;
    assert!(slices.ts.is_sorted(), "{what}: slices are not sorted");
    assert!(trace.counters.ts.is_sorted() && trace.samples.ts.is_sorted(), "{what}: not sorted");
    for i in 0..slices.len() {
        assert!(slices.dur.get(i) >= -1 && slices.self_ns.get(i) >= 0, "{what}: slice {i}");
        match slices.parent[i].some() {
            None => assert_eq!(slices.depth.get(i), 0, "{what}: slice {i}"),
            Some(parent) => {
                let parent = parent.0 as usize;
                let (own, around) = (slices.track[i].0 as usize, slices.track[parent].0 as usize);
                assert!(parent < i, "{what}: slice {i}");
                assert_eq!(trace.tracks.thread[own], trace.tracks.thread[around], "{what}: slice {i}");
                assert_eq!(slices.depth.get(i), slices.depth.get(parent) + 1, "{what}: slice {i}");
            }
        }
    }
    assert!(
        slices.end_args.is_sorted_by_key(|row| row.0) && slices.thread_time.is_sorted_by_key(|row| row.0)
    );
}

fn text_of(result: &Result<Trace, ImportError>) -> String {
    match result {
        Ok(trace) => dump_text(trace, true),
        Err(error) => format!("{}: {error}", error.code),
    }
}

#[test]
fn tells_what_perfetto_does_not() {
    let own = own_dir("chrome");
    let mut problems = Vec::new();
    for path in inputs(&own) {
        let name = stem(&path);
        let result = import("unknown", &std::fs::read(&path).unwrap(), CHROME);
        let text = match &result {
            Ok(trace) => dump_text(trace, trace.slices.len() <= 30),
            Err(error) => format!("{}: {error}\n", error.code),
        };
        let golden = own.join(format!("ours/{name}.txt"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        if std::fs::read_to_string(&golden).unwrap_or_default() != text {
            problems.push(format!("{name}: not as {}:\n{text}", golden.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_cut_gives_the_same() {
    for dir in data_dirs(SYSTEM) {
        for path in inputs(&dir) {
            let name = stem(&path);
            let bytes = std::fs::read(&path).unwrap();
            let whole = text_of(&import("unknown", &bytes, CHROME));
            for_each_cut("unknown", &bytes, CHROME, &mut |cut, result| {
                if let Ok(trace) = &result {
                    check_invariants(&name, trace);
                }
                support::assert_same_text(&format!("{name}, {cut}"), &text_of(&result), &whole);
            });
        }
    }
}

/// Number of list elements in a file, by another parser.
fn n_elements(bytes: &[u8]) -> Option<u64> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let len = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, |list| list.len() as u64);
    Some(match &value {
        Value::Array(list) => list.len() as u64,
        Value::Object(members) => len(members.get("traceEvents")) + len(members.get("samples")),
        _ => return None,
    })
}

#[test]
fn the_ledger_adds_up() {
    for dir in data_dirs(SYSTEM) {
        for path in files(&dir, &[".json"]) {
            let name = stem(&path);
            let bytes = std::fs::read(&path).unwrap();
            let Ok(trace) = import(&name, &bytes, CHROME) else { continue };
            assert_eq!(trace.ledger.content_bytes, bytes.len() as u64, "{name}");
            // If two lists have the same name, the other parser keeps the last.
            if let Some(n) = n_elements(&bytes).filter(|_| name != "hand_wrong_shapes") {
                assert_eq!(trace.ledger.n_records(), n, "{name}");
            }
        }
    }
}

#[test]
fn content_tells_the_format() {
    // Not a trace, empty, or cut at the start: not recognizable.
    const UNTOLD: &[&str] = &["hand_empty_file"];
    for dir in data_dirs(SYSTEM) {
        for path in inputs(&dir) {
            let name = stem(&path);
            let bytes = std::fs::read(&path).unwrap();
            let found = import("unknown", &bytes, None);
            let forced = import("unknown", &bytes, CHROME);
            if UNTOLD.contains(&name.as_str()) {
                assert_eq!(found.err().map(|error| error.code), Some("empty"), "{name}");
                continue;
            }
            support::assert_same_text(&name, &text_of(&found), &text_of(&forced));
        }
    }
}

/// Names and depths, and other columns of Perfetto's own tests.
fn check_csv(name: &str, columns: &[&str], row: &dyn Fn(&Trace, usize) -> Option<Vec<String>>) {
    for dir in data_dirs(SYSTEM) {
        let csv = dir.join(format!("expected/{name}.difftest.csv"));
        let Ok(expected) = std::fs::read_to_string(csv) else { continue };
        let trace = import(name, &std::fs::read(dir.join(format!("{name}.json"))).unwrap(), CHROME).unwrap();
        let mut lines: Vec<String> =
            vec![columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",")];
        lines.extend((0..trace.slices.len()).filter_map(|i| row(&trace, i)).map(|cells| cells.join(",")));
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn agrees_with_perfetto_on_thread_time_and_states() {
    let quoted = |text: &str| format!("\"{text}\"");
    check_csv(
        "perfetto_string_tts_and_tdur",
        &["ts", "dur", "name", "thread_ts", "thread_dur"],
        &|trace, i| {
            let slices = &trace.slices;
            let (_, tts, tdur) = slices.thread_time[i];
            let name = quoted(trace.strings.get(slices.name[i]));
            Some(vec![
                slices.ts[i].to_string(),
                slices.dur.get(i).to_string(),
                name,
                tts.to_string(),
                tdur.to_string(),
            ])
        },
    );
    let columns = ["ts", "dur", "state", "io_wait", "blocked_function", "tid", "pid"];
    check_csv("perfetto_json_thread_state", &columns, &|trace, i| {
        let slices = &trace.slices;
        assert_eq!(slices.kind[i], SliceKind::State);
        let args: Value = trace
            .args
            .get(slices.args_of(i))
            .map_or(Value::Null, |raw| serde_json::from_slice(&raw).unwrap());
        let thread = trace.tracks.thread[slices.track[i].0 as usize].unwrap().0 as usize;
        let process = trace.threads.process[thread].0 as usize;
        let key = |key: Key| key_value(key).to_string();
        let or_null = |value: &Value| match value {
            Value::Null => quoted("[NULL]"),
            value => value.to_string(),
        };
        Some(vec![
            slices.ts[i].to_string(),
            slices.dur.get(i).to_string(),
            quoted(trace.strings.get(slices.name[i])),
            or_null(&args["io_wait"]),
            or_null(&args["blocked_function"]),
            key(trace.threads.key[thread]),
            key(trace.processes.key[process]),
        ])
    });
}

#[test]
fn metadata_are_facts() {
    let text =
        br#"{"metadata":{"source":"DevTools","n":12},"traceEvents":[],"schemaVersion":1,"with_stack":1}"#;
    let trace = import("a.json", text, None).unwrap();
    let facts: Vec<(&str, &str)> =
        trace.source.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        facts,
        [("metadata.source", "DevTools"), ("metadata.n", "12"), ("schemaVersion", "1"), ("with_stack", "1")]
    );
    assert_eq!(trace.source.producer.as_deref(), Some("PyTorch profiler"));
}

fn joined(events: impl Iterator<Item = String>) -> Vec<u8> {
    format!("[{}]", events.collect::<Vec<_>>().join(",")).into_bytes()
}

/// Shapes that would take quadratic time or a deep stack in a naive implementation.
#[test]
fn hostile_shapes_are_read_in_linear_time() {
    const N: usize = 100_000;
    let event = |ph: &str, name: usize, ts: usize, rest: &str| {
        format!(r#"{{"name":"n{name}","ph":"{ph}","ts":{ts},"pid":1,"tid":1{rest}}}"#)
    };
    // Begins, then their ends from the outside in.
    let begins = (0..N).map(|i| event("B", i, i, ""));
    let trace = import("a", &joined(begins.chain((0..N).map(|i| event("E", i, N, "")))), CHROME).unwrap();
    assert_eq!((trace.slices.len(), trace.ledger.count_of("stray-end")), (N, 0));
    assert_eq!(trace.slices.depth.get(N - 1), N as u32 - 1);
    // Everything overlaps.
    let stairs = (0..N).map(|i| event("X", i, i, &format!(r#","dur":{N}"#)));
    let trace = import("a", &joined(stairs), CHROME).unwrap();
    assert_eq!(trace.ledger.count_of("overlapping-slice"), N as u64 - 1);
    // Proper nesting, and brackets within arguments.
    let nested = (0..N).map(|i| event("X", i, i, &format!(r#","dur":{}"#, 2 * (N - i))));
    let trace = import("a", &joined(nested), CHROME).unwrap();
    assert_eq!(trace.slices.depth.get(N - 1), N as u32 - 1);
    let deep = format!(r#","dur":1,"args":{{"a":{}{}}}"#, "[".repeat(N), "]".repeat(N));
    let trace = import("a", &joined(std::iter::once(event("X", 0, 0, &deep))), CHROME).unwrap();
    assert_eq!(trace.slices.len(), 1);
    // A cycle of parents.
    let frames = br#"{"stackFrames":{"1":{"name":"a","parent":2},"2":{"name":"b","parent":1}},"traceEvents":[{"ph":"P","name":"s","ts":1,"pid":1,"tid":1,"sf":1}]}"#;
    assert_eq!(import("a", frames, CHROME).unwrap().samples.len(), 1);
}

#[test]
fn mutations_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for dir in data_dirs(SYSTEM) {
        for path in files(&dir, &[".json"]) {
            let original = std::fs::read(&path).unwrap();
            if original.is_empty() || original.len() > 30_000 {
                continue;
            }
            for _ in 0..40 {
                let mut bytes = original.clone();
                for _ in 0..random.below(8) + 1 {
                    let at = random.below(bytes.len() as u64) as usize;
                    match random.below(4) {
                        0 => bytes[at] = random.next() as u8,
                        1 => bytes[at] = br#"{}[]",:\-0e."#[random.below(12) as usize],
                        2 => drop(bytes.drain(at..(at + random.below(30) as usize).min(bytes.len()))),
                        _ => bytes.truncate(at.max(1)),
                    }
                    if bytes.is_empty() {
                        bytes.push(b'[');
                    }
                }
                let whole = import("unknown", &bytes, CHROME);
                if let Ok(trace) = &whole {
                    check_invariants(&format!("{} mutated", stem(&path)), trace);
                }
                let cut = import_cut("unknown", &bytes, CHROME, &mut |_| random.below(60) as usize + 1);
                let what = format!("{} mutated: {}", stem(&path), String::from_utf8_lossy(&bytes));
                support::assert_same_text(&what, &text_of(&cut), &text_of(&whole));
                let max_stretch = 1 << (4 + random.below(8));
                let parts = import_in_parts("unknown", &bytes, CHROME, &mut random, max_stretch);
                let what = format!("{} in parts", what);
                support::assert_same_text(&what, &text_of(&parts), &text_of(&whole));
            }
        }
    }
}

/// Regular input is left to parts; the joining reader reads only what is between them.
#[test]
fn parts_fit_where_a_file_is_regular() {
    let event = |i: usize| {
        format!(
            r#"{{"ph": "X", "name": "n{}", "pid": 1, "tid": {}, "ts": {i}, "dur": 1, "args": {{"list": [{{"name": "x"}}, {{"a": ", {{"}}]}}}}"#,
            i % 7,
            i % 3
        )
    };
    let events: Vec<String> = (0..20_000).map(event).collect();
    for separator in [",", ",\n  ", " , ", "\n", "\r\n", " \n\n  ", "\n, "] {
        let events = events.join(separator);
        let is_list = separator.contains(',') && !separator.starts_with('\n');
        let text = if is_list { format!("{{\"traceEvents\": [{events}]}}") } else { events };
        let bytes = text.as_bytes();
        let mut import = Import::with_format("regular", bytes.len() as u64, CHROME);
        import.can_read_again(std::rc::Rc::new(bytes.to_vec()));
        import.feed(&bytes[..100_000]);
        let parts = import.parts().unwrap();
        let mut scheduler = PartScheduler::new(100_000..bytes.len() as u64, 100_000);
        let mut n_fed = 0;
        loop {
            while let Some(stretch) = scheduler.next_range() {
                let mut reader = (parts.reader)();
                reader.start(stretch.start, stretch.end);
                bytes[stretch.start as usize..].chunks(1000).any(|chunk| !reader.feed(chunk));
                scheduler.put_back(&stretch, Some(reader.finish()));
            }
            match scheduler.advance(&mut import) {
                Next::Feed(range) => {
                    n_fed += range.end - range.start;
                    import.feed(&bytes[range.start as usize..range.end as usize]);
                }
                _ => break,
            }
        }
        assert!(n_fed < 500, "{n_fed}");
        assert_eq!(import.finish().unwrap().slices.len(), 20_000);
    }
}

/// Where no part fits, searching for its start costs no more than reading, and ends.
#[test]
fn parts_give_up_on_what_is_irregular() {
    const STRETCH: u64 = 1 << 20;
    let event = r#",{"ph":"X","name":"n","ts":1,"dur":1,"pid":1,"tid":1}"#;
    let blanks = "\n".repeat(300_000);
    for text in [
        r#",{"a":[0"#.to_string(),
        "abcdefgh".to_string(),
        format!(r#"{event},{{"a":[1"#),
        "\"".to_string(),
        "\n".to_string(),
        format!("{blanks},7"),
    ] {
        let bytes = text.repeat((24 << 20) / text.len());
        for chunk_bytes in [64 << 10, 16 << 20] {
            let mut reader = (chrome_trace::INFO.parts.unwrap().reader)();
            reader.start(0, STRETCH);
            let n_chunks = bytes.as_bytes().chunks(chunk_bytes).position(|chunk| !reader.feed(chunk));
            assert!(n_chunks.is_some(), "{text} is read to the end of the file");
            let part = reader.finish();
            assert!(part.start == u64::MAX || part.end >= part.start);
        }
    }
}

fn any_event() -> impl Strategy<Value = String> {
    let phase = prop::sample::select(vec![
        "X", "X", "X", "B", "E", "i", "b", "e", "n", "S", "T", "p", "F", "s", "t", "f", "C",
    ]);
    (phase, 0..4u8, 0..60i64, 0..20i64, 0..3u8, 0..3u8).prop_map(|(phase, name, ts, dur, tid, id)| {
        let dur = if phase == "X" { format!(r#","dur":{dur}"#) } else { String::new() };
        format!(
            r#"{{"name":"n{name}","cat":"c","ph":"{phase}","ts":{ts},"pid":1,"tid":{tid},"id":{id}{dur},"args":{{"v":{ts},"step":"s"}}}}"#
        )
    })
}

const EVENT_LINE: &str = r#"{"name":"first","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}"#;

/// Texts and arguments that look like events without their context.
fn deceptive_event() -> impl Strategy<Value = String> {
    const EVENT: &str = r#"{"name":"no","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}"#;
    prop_oneof![
        any_event(),
        (0..60i64).prop_map(|ts| {
            format!(r#"{{"name":"n","ph":"X","ts":{ts},"dur":2,"pid":1,"tid":1,"args":{{"l":[0,{EVENT}, {EVENT}]}}}}"#)
        }),
        (0..60i64).prop_map(|ts| {
            let text = EVENT.replace('"', "\\\"");
            format!(r#"{{"name":"a ,{text},{text}","ph":"i","ts":{ts},"pid":1,"tid":1}}"#)
        }),
        // A text with unescaped quotes is ambiguous; all ways must agree.
        (0..60i64).prop_map(|ts| format!(r#"{{"name":"a ,{EVENT},{EVENT}","ph":"i","ts":{ts},"pid":1,"tid":1}}"#)),
        // Cut in the middle, and over several lines.
        Just(r#"{"name":"cut","ph":"X","ts":1,"args":{"a":["#.to_string()),
        Just(EVENT.replace(',', ",\n ")),
        // A stray quote or missing brackets, in arguments long enough to be searched for swallowed events.
        (0..60i64, 0..3usize, any::<bool>()).prop_map(|(ts, n_closed, is_quoted)| {
            let text = "x".repeat(250 + ts as usize);
            let (quote, end) = (if is_quoted { "\"" } else { "" }, "}".repeat(n_closed));
            format!(
                r#"{{"name":"open","ph":"X","ts":{ts},"dur":1,"pid":1,"tid":1,"args":{{"k":"{text}{quote}{text}"{end}"#
            )
        }),
        Just(r#"{"ph":"i","name":"l","ts":3,"pid":1,"tid":1,"args":{"l":[
{"ph":"i","name":"no"}
{"ph":"i"}]}}"#.to_string()),
        Just("7".to_string()),
        Just(format!("[1,{EVENT}]")),
        // The list seems to end, or an event has no start.
        Just("]".to_string()),
        Just(format!("{EVENT}]")),
        Just("W0722 14:03 cuda.cpp:77] Warning: \"foo\" {bar}, [x]".to_string()),
        Just(EVENT[1..].to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_is_read_alike(events in prop::collection::vec(any_event(), 0..60), seed in 1..u64::MAX) {
        let n = events.len() as u64;
        let bytes = joined(events.into_iter());
        let whole = import("unknown", &bytes, CHROME);
        let mut random = Random(seed);
        let cut = import_cut("unknown", &bytes, CHROME, &mut |_| random.below(100) as usize + 1);
        prop_assert_eq!(text_of(&cut), text_of(&whole));
        let trace = whole.unwrap();
        check_invariants("stream", &trace);
        prop_assert_eq!(trace.ledger.n_records(), n);
        prop_assert_eq!(trace.ledger.framing_bytes, n.saturating_sub(1) + 2);
    }

    #[test]
    fn any_stream_is_read_alike_in_parts(
        events in prop::collection::vec(deceptive_event(), 0..60),
        around in 0..3,
        separator in prop::sample::select(vec![",\n", ",", "\n,", "\n"]),
        close in any::<bool>(),
        seed in 1..u64::MAX,
        max_stretch in 1..4000u64,
    ) {
        let events = events.join(separator);
        let list = format!("[{events}{}", if close { "]" } else { "" });
        let text = match around {
            0 => list,
            1 => format!("{{\"a\":[1,2],\"traceEvents\":{list},\"b\":\"c\"}}"),
            // Lines without brackets around them.
            _ => format!("{EVENT_LINE}\n{events}{}", if close { "\n" } else { "" }),
        };
        let whole = import("unknown", text.as_bytes(), CHROME);
        let parts = import_in_parts("unknown", text.as_bytes(), CHROME, &mut Random(seed), max_stretch);
        prop_assert_eq!(text_of(&parts), text_of(&whole), "{}", text);
    }
}
