//! Perfetto traces: what is read equals the answers of an independent reader and the rows that Perfetto's own tests state, however
//! the file is cut.

use crate::support;
use crate::support::{Random, all_files, data_dirs, files, for_each_cut, import, own_dir};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tracedrop::analysis::gpu::GpuTrace;
use tracedrop::base::protobuf::PushFields;
use tracedrop::base::strings::StringId;
use tracedrop::import::{Import, ImportError};
use tracedrop::trace::Trace;
use tracedrop::trace::samples::{NO_LINE, StackId};
use tracedrop::trace::slices::{Class, SliceKind, UNFINISHED};
use tracedrop::trace::tracks::{Key, TrackKind};

/// Files with expected results: path of the file, and of the result.
fn cases() -> Vec<(PathBuf, PathBuf)> {
    let mut cases = Vec::new();
    for dir in data_dirs("perfetto") {
        for path in files(&dir, &[".pftrace", ".pftrace.gz"]) {
            let expected = dir.join("expected").join(format!("{}.json", support::stem(&path)));
            if expected.is_file() {
                cases.push((path, expected));
            }
        }
    }
    cases
}

/// Codes of issues by the names that the reference gives them.
const ISSUES: &[(&str, &str)] = &[
    ("bad_packet", "perfetto-bad-packet"),
    ("no_timestamp", "perfetto-no-timestamp"),
    ("other_top_level_field", "perfetto-other-field"),
    ("bad_compressed", "perfetto-bad-compressed"),
    ("flow_end_without_start", "flow-without-start"),
    ("unknown_clock", "perfetto-unknown-clock"),
    ("needs_lost_state", "perfetto-needs-lost-state"),
    ("previous_packet_dropped", "perfetto-packets-lost"),
    ("end_without_begin", "stray-end"),
    ("counter_on_other_track", "perfetto-counter-on-other-track"),
    ("counter_without_value", "perfetto-counter-without-value"),
    ("missing_interned", "perfetto-missing-interned"),
    ("undescribed_track", "perfetto-undescribed-track"),
    ("unclosed", "unfinished-slice"),
    ("negative_duration", "end-before-begin"),
];

/// Issues that the reference states elsewhere, or not at all.
const STATED_ELSEWHERE: &[&str] = &[
    "overlapping-slice",
    "perfetto-unknown-arguments",
    "perfetto-truncated",
    "packed-cut-off",
    "legacy-async",
];

fn text(trace: &Trace, id: StringId) -> String {
    trace.strings.get_opt(id).unwrap_or_default().to_string()
}

/// A track as the reference names it: `pid tid` of a thread, else its uuid.
fn label_of(track: &Value) -> String {
    match track["kind"].as_str() {
        Some("thread") => format!("{} {}", track["pid"], track["tid"]),
        _ => track["uuid"].to_string(),
    }
}

fn label(trace: &Trace, thread: usize) -> String {
    match trace.threads.key[thread] {
        Key::Number(tid) => {
            let Key::Number(pid) = trace.processes.key[trace.threads.process[thread].0 as usize] else {
                panic!("a thread of no process")
            };
            format!("{pid} {tid}")
        }
        Key::Text(id) => text(trace, id).replace("track ", ""),
        Key::Digits(id) => text(trace, id),
    }
}

/// A slice to be compared: all but its depth.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug, Clone)]
struct Slice {
    track: String,
    ts: i64,
    dur: i64,
    name: String,
    args: String,
    is_instant: bool,
    is_unclosed: bool,
}

struct Slices {
    rows: Vec<Slice>,
    /// `None` where it is among others that overlap it.
    depths: Vec<Option<u64>>,
    categories: Vec<String>,
    states: Vec<(String, i64, String)>,
    /// Row of each slice.
    row_of: BTreeMap<u32, usize>,
}

fn args_of(trace: &Trace, slice: usize) -> Value {
    let mut raw = Vec::new();
    trace.push_slice_args(slice, &mut raw);
    if raw.is_empty() { Value::Null } else { serde_json::from_slice(&raw).unwrap() }
}

fn slices(trace: &Trace) -> Slices {
    let mut out = Slices {
        rows: Vec::new(),
        depths: Vec::new(),
        categories: Vec::new(),
        states: Vec::new(),
        row_of: BTreeMap::new(),
    };
    let (table, tracks) = (&trace.slices, &trace.tracks);
    let end = trace.span().map_or(0, |(_, end)| end);
    // Threads with slices beside their own track.
    let overflowing: BTreeSet<_> = (0..tracks.len())
        .filter(|track| tracks.kind[*track] == TrackKind::ThreadOverflow)
        .map(|track| tracks.thread[track])
        .collect();
    for i in 0..table.len() {
        let track = table.track[i].0 as usize;
        let thread = tracks.thread[track].unwrap().0 as usize;
        let label = label(trace, thread);
        let (ts, name) = (table.ts[i], text(trace, table.name[i]));
        if Class::of(table.kind[i]) == Class::State {
            out.states.push((label, ts, name));
            continue;
        }
        let (dur, is_unclosed) = match table.dur.get(i) {
            UNFINISHED => ((end - ts).max(0), true),
            dur => (dur, false),
        };
        out.row_of.insert(i as u32, out.rows.len());
        out.rows.push(Slice {
            track: label,
            ts,
            dur,
            name,
            args: args_of(trace, i).to_string(),
            is_instant: table.kind[i] == SliceKind::Instant,
            is_unclosed,
        });
        let is_beside = overflowing.contains(&tracks.thread[track]);
        out.depths.push((!is_beside).then(|| u64::from(table.depth.get(i))));
        out.categories.push(text(trace, table.category[i]));
    }
    out
}

fn check(what: &str, trace: Result<Trace, ImportError>, expected: &Value) {
    let account = &expected["account"];
    if account["packets"] == 0 {
        let n_slices = trace.map(|trace| trace.slices.len());
        assert!(n_slices.is_err() || n_slices == Ok(0), "{what}");
        return;
    }
    let trace = trace.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(trace.source.format, "perfetto", "{what}");
    check_account(what, &trace, account);
    let found = slices(&trace);
    check_tracks(what, &trace, expected, &found);
    check_totals(what, &trace, expected, &found);
    if expected.get("slices").is_some() {
        check_slices(what, &trace, expected, &found);
    }
}

fn check_account(what: &str, trace: &Trace, account: &Value) {
    let ledger = &trace.ledger;
    assert_eq!(ledger.accounted_bytes(), ledger.content_bytes, "{what}: {ledger:?}");
    assert_eq!(Value::from(ledger.n_records()), account["packets"], "{what}: {ledger:?}");
    let n_content = account.get("inflated_bytes").unwrap_or(&account["bytes"]);
    assert_eq!(Value::from(ledger.content_bytes), *n_content, "{what}: {ledger:?}");
    let n_events = trace.source.record_kinds.iter().find(|(kind, _)| kind == "track events");
    assert_eq!(Value::from(n_events.map_or(0, |(_, n)| *n)), account["events"], "{what}");
    let mut wanted = BTreeMap::new();
    for group in ["skipped", "repaired"] {
        for (name, n) in account[group].as_object().unwrap() {
            let code = ISSUES.iter().find(|(theirs, _)| theirs == name);
            wanted.insert(code.unwrap_or_else(|| panic!("{what}: {name}")).1, n.as_u64().unwrap());
        }
    }
    let got: BTreeMap<&str, u64> = ledger
        .issues
        .iter()
        .map(|issue| (issue.kind.code, issue.count))
        .filter(|(code, _)| !STATED_ELSEWHERE.contains(code))
        .collect();
    assert_eq!(got, wanted, "{what}: {:?}", ledger.issues);
    let n_cut = account.get("truncated_bytes").map_or(0, |n| n.as_u64().unwrap());
    assert_eq!(ledger.issue("perfetto-truncated").is_some(), n_cut > 0, "{what}: {:?}", ledger.issues);
    if account["skipped"].get("other_top_level_field").is_none() {
        assert_eq!(ledger.unused_bytes, n_cut, "{what}");
    }
}

fn has_values(expected: &Value, track: &Value) -> bool {
    expected["counters"].as_array().unwrap().iter().any(|row| row[0] == track["uuid"])
}

fn check_tracks(what: &str, trace: &Trace, expected: &Value, found: &Slices) {
    for track in expected["tracks"].as_array().unwrap() {
        let label = label_of(track);
        let n = found.rows.iter().filter(|slice| slice.track == label).count();
        assert_eq!(Value::from(n), track["slices"], "{what}: {track}");
        let name = track["name"].as_str().unwrap_or_default();
        match track["kind"].as_str() {
            Some("thread") => {
                let thread = (0..trace.threads.len()).find(|thread| self::label(trace, *thread) == label);
                let thread = thread.unwrap_or_else(|| panic!("{what}: no {track}"));
                assert_eq!(text(trace, trace.threads.name[thread]), name, "{what}: {track}");
            }
            Some("process") => {
                let is_it = |process: usize| {
                    trace.processes.key[process] == Key::Number(track["pid"].as_i64().unwrap())
                        && text(trace, trace.processes.name[process]) == name
                };
                assert!((0..trace.processes.len()).any(is_it), "{what}: no {track}");
            }
            // Those without values are no series.
            Some("counter") if !has_values(expected, track) => {}
            Some("counter") => {
                let table = &trace.counter_series;
                let series = (0..table.len()).find(|series| text(trace, table.name[*series]) == name);
                let series = series.unwrap_or_else(|| panic!("{what}: no {track}"));
                assert_eq!(
                    text(trace, table.key[series]),
                    track["unit"].as_str().unwrap(),
                    "{what}: {track}"
                );
            }
            Some("undescribed") => {}
            other => panic!("{what}: a track that is {other:?}"),
        }
    }
}

fn check_totals(what: &str, trace: &Trace, expected: &Value, found: &Slices) {
    let totals = &expected["totals"];
    let n_instants = found.rows.iter().filter(|slice| slice.is_instant).count();
    let max_depth = found.depths.iter().flatten().max().copied().unwrap_or(0);
    let mut got = vec![
        ("slices", (found.rows.len() - n_instants) as i64),
        ("instants", n_instants as i64),
        ("counter_values", trace.counters.len() as i64),
        ("states", found.states.len() as i64),
        ("flows", trace.flows.len() as i64),
        ("sum_dur_ns", found.rows.iter().map(|slice| slice.dur).sum()),
    ];
    if found.depths.iter().all(Option::is_some) {
        got.push(("max_depth", max_depth as i64));
    }
    if let Some((first, last)) = trace.span() {
        got.extend([("first_ns", first), ("last_ns", last)]);
    }
    for (key, got) in got {
        assert_eq!(Value::from(got), totals[key], "{what}: {key}");
    }
    let mut by_name: BTreeMap<&str, (i64, i64, i64, i64)> = BTreeMap::new();
    for slice in &found.rows {
        let row = by_name.entry(&slice.name).or_insert((0, 0, i64::MAX, i64::MIN));
        *row = (row.0 + 1, row.1 + slice.dur, row.2.min(slice.dur), row.3.max(slice.dur));
    }
    let wanted = expected["by_name"].as_object().unwrap();
    assert_eq!(
        by_name.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>(),
        "{what}"
    );
    for (name, (count, sum, min, max)) in by_name {
        let row = &wanted[name];
        for (key, got) in [("count", count), ("sum", sum), ("min", min), ("max", max)] {
            assert_eq!(Value::from(got), row[key], "{what}: {key} of {name}");
        }
    }
}

fn check_slices(what: &str, trace: &Trace, expected: &Value, found: &Slices) {
    let labels: BTreeMap<String, String> = expected["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|track| (track["uuid"].to_string(), label_of(track)))
        .collect();
    let is = |slice: &Value, key: &str| slice.get(key).is_some_and(|value| *value == true);
    let wanted: Vec<Slice> = expected["slices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slice| Slice {
            track: labels[&slice["track"].to_string()].clone(),
            ts: slice["ts"].as_i64().unwrap(),
            dur: slice["dur"].as_i64().unwrap(),
            name: slice.get("name").map_or("", |name| name.as_str().unwrap()).to_string(),
            args: slice.get("args").unwrap_or(&Value::Null).to_string(),
            is_instant: is(slice, "instant"),
            // A call in a group whose end was cut off has a length of 0.
            is_unclosed: is(slice, "unclosed") && slice["dur"] != 0,
        })
        .collect();
    let with_depths = |rows: &[Slice], depths: Vec<Option<u64>>| {
        let mut rows: Vec<(Slice, Option<u64>)> = rows.iter().cloned().zip(depths).collect();
        rows.sort();
        rows
    };
    let depths = expected["slices"].as_array().unwrap().iter().zip(&wanted);
    let beside: BTreeSet<&String> = found
        .rows
        .iter()
        .zip(&found.depths)
        .filter(|(_, depth)| depth.is_none())
        .map(|(row, _)| &row.track)
        .collect();
    let depths: Vec<Option<u64>> =
        depths.map(|(slice, row)| slice["depth"].as_u64().filter(|_| !beside.contains(&row.track))).collect();
    let got = with_depths(&found.rows, found.depths.clone());
    let all = with_depths(&wanted, depths);
    for (got, wanted) in got.iter().zip(&all) {
        assert_eq!(got, wanted, "{what}");
    }
    assert_eq!(got.len(), all.len(), "{what}");
    let is_gpu = trace.source.producer.is_some();
    for (slice, row) in expected["slices"].as_array().unwrap().iter().zip(&wanted) {
        let at = found.rows.iter().position(|other| other == row).unwrap();
        let cats: Vec<&str> = slice
            .get("cats")
            .into_iter()
            .flat_map(|cats| cats.as_array().unwrap())
            .map(|cat| cat.as_str().unwrap())
            .collect();
        if !is_gpu {
            assert_eq!(found.categories[at], cats.join(","), "{what}: {row:?}");
        }
    }
    // Arrows, by the slices at both ends.
    let mut got: Vec<(&Slice, &Slice)> = trace
        .flows
        .from
        .iter()
        .zip(&trace.flows.to)
        .map(|(from, to)| (&found.rows[found.row_of[&from.0]], &found.rows[found.row_of[&to.0]]))
        .collect();
    let mut flows: Vec<(&Slice, &Slice)> = expected["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| {
            let at = |end: usize| &wanted[flow[end].as_u64().unwrap() as usize];
            (at(0), at(1))
        })
        .collect();
    got.sort();
    flows.sort();
    assert_eq!(got, flows, "{what}");
    // Counters, by the name of their track.
    let names: BTreeMap<String, &str> = expected["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|track| (track["uuid"].to_string(), track["name"].as_str().unwrap_or_default()))
        .collect();
    let mut values: Vec<(String, i64, String)> = (0..trace.counters.len())
        .map(|row| {
            let series = trace.counters.series[row] as usize;
            let name = text(trace, trace.counter_series.name[series]);
            (name, trace.counters.ts[row], trace.counters.value[row].to_string())
        })
        .collect();
    let mut wanted: Vec<(String, i64, String)> = expected["counters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let value = row[2].as_f64().unwrap().to_string();
            (names[&row[0].to_string()].to_string(), row[1].as_i64().unwrap(), value)
        })
        .collect();
    values.sort();
    wanted.sort();
    assert_eq!(values, wanted, "{what}");
}

fn expected_in(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn all_files_equal_the_reference_in_all_ways_of_reading() {
    let (mut n_files, mut failed) = (0, Vec::new());
    for (path, expected) in cases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let expected = expected_in(&expected);
        n_files += 1;
        if bytes.len() > 1 << 20 {
            check(&format!("{name}, whole"), import(name, &bytes, None), &expected);
            continue;
        }
        let checked = std::panic::catch_unwind(|| {
            for_each_cut(name, &bytes, None, &mut |how, trace| {
                check(&format!("{name}, {how}"), trace, &expected);
            });
        });
        failed.extend(checked.is_err().then(|| name.to_string()));
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(n_files >= 17, "{n_files} files");
}

/// Reads one of the files from Perfetto's tests.
fn google(name: &str) -> Trace {
    let path = own_dir("perfetto").join(format!("google_{name}.pftrace"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut traces: Vec<Trace> = Vec::new();
    for_each_cut(name, &bytes, None, &mut |how, trace| {
        let trace = trace.unwrap_or_else(|error| panic!("{name}, {how}: {error}"));
        assert_eq!(trace.ledger.accounted_bytes(), trace.ledger.content_bytes, "{name}, {how}");
        let first = traces.first().unwrap_or(&trace);
        assert_eq!(rows_of(first), rows_of(&trace), "{name}, {how}");
        traces.push(trace);
    });
    traces.swap_remove(0)
}

/// Slices as (thread, process, start, duration, category, name), in order of time.
fn rows_of(trace: &Trace) -> Vec<(String, String, i64, i64, String, String)> {
    let slices = &trace.slices;
    (0..slices.len())
        .map(|i| {
            let track = slices.track[i].0 as usize;
            let thread = trace.tracks.thread[track];
            let process = trace.tracks.process_of(slices.track[i], &trace.threads);
            (
                thread.map_or(String::new(), |thread| {
                    let name = text(trace, trace.threads.name[thread.0 as usize]);
                    if name.is_empty() { label(trace, thread.0 as usize) } else { name }
                }),
                process
                    .map_or(String::new(), |process| text(trace, trace.processes.name[process.0 as usize])),
                slices.ts[i],
                slices.dur.get(i),
                text(trace, slices.category[i]),
                text(trace, slices.name[i]),
            )
        })
        .collect()
}

/// What [`rows_of`] has of each slice, as texts.
fn told(trace: &Trace) -> Vec<String> {
    let rows = rows_of(trace).into_iter();
    rows.map(|(thread, process, ts, dur, _, name)| format!("{thread}/{process} {ts}+{dur} {name}")).collect()
}

fn arrows(trace: &Trace) -> Vec<String> {
    let name = |slice: u32| text(trace, trace.slices.name[slice as usize]);
    let ends = trace.flows.from.iter().zip(&trace.flows.to);
    let mut arrows: Vec<String> =
        ends.map(|(from, to)| format!("{} > {}", name(from.0), name(to.0))).collect();
    arrows.sort();
    arrows
}

/// Issues by code.
fn issues(trace: &Trace) -> Vec<(&str, u64)> {
    trace.ledger.issues.iter().map(|issue| (issue.kind.code, issue.count)).collect()
}

/// Rows of the tests that state slices. Where Perfetto shows -1, a slice has no end; a track that the tests do not name is by
/// its number.
#[test]
fn slices_equal_the_rows_of_perfettos_tests() {
    let cases: &[(&str, &[&str])] = &[
        (
            "track_event_instant_slices",
            &["t1/ 1000+0 instant_on_t1", "t1/ 2000+0 legacy_instant_on_t1", "t1/ 3000+0 legacy_mark_on_t1"],
        ),
        ("track_event_same_tids_slices", &["t1/ 1000+0 name1", "t2/ 2000+0 name2"]),
        (
            "track_event_state",
            &[
                "ProcState/Browser 1000+-1 Foreground",
                "ThreadState/Browser 2000+-1 Running",
                "GlobalState/Global tracks 3000+-1 Active",
            ],
        ),
        (
            "track_event_simple_state",
            &[
                "MyStateTrack/Global tracks 1000+2000 state_active",
                "MyStateTrack/Global tracks 3000+1000 state_idle",
            ],
        ),
        ("track_event_out_of_order_state_descriptors", &["Priority/Process track 1000+-1 High"]),
        (
            "track_event_monotonic_trace_clock_slices",
            &["1/Global tracks 1000+0 name1", "1/Global tracks 2000+0 name2"],
        ),
        // Perfetto drops what is before the range of interest.
        (
            "range_of_interest",
            &[
                "123 345/ 10000+5993000 slice1",
                "123 345/ 11000+5990000 slice2",
                "123 345/ 12000+-1 slice3",
                "123 345/ 13000+5987000 slice4",
            ],
        ),
        (
            "track_event_tracks",
            &[
                "t1/p1 1000+0 event1_on_t1",
                "t2/p1 2000+0 event1_on_t2",
                "t2/p1 3000+0 event2_on_t2",
                "10/p1 4000+0 event1_on_p1",
                "async/p1 5000+0 event1_on_async",
                "async2/p1 5100+100 event1_on_async2",
                "async3/p1 6000+0 event1_on_async3",
                "t1/p1 6000+0 event3_on_t1",
                "t3/p1 11000+0 event1_on_t3",
                "20/p2 21000+0 event1_on_p2",
                "t4/p2 22000+0 event1_on_t4",
                "Default Track/Global tracks 30000+0 event1_on_t1",
                "/p2 31000+0 event2_on_p2",
                "t4/p2 32000+0 event2_on_t4",
                "event_and_track_async3/p1 40000+0 event_and_track_async3",
            ],
        ),
        (
            "track_event_counters",
            &[
                "t1/Browser 1000+100 event1_on_t1",
                "t1/Browser 2000+200 event2_on_t1",
                "t1/Browser 2000+200 event3_on_t1",
                "t1/Browser 4000+0 event4_on_t1",
                "t4/Browser 4000+100 event1_on_t3",
                "t1/Browser 4300+0 float_counter_on_t1",
                "t1/Browser 4500+0 float_counter_on_t1",
            ],
        ),
        (
            "legacy_async_event",
            &["/ 1000+7000 name1", "/ 2000+1000 name1", "/ 3000+0 name1", "/ 5000+0 name1"],
        ),
    ];
    for (name, wanted) in cases {
        let mut got = told(&google(name));
        got.sort();
        let mut wanted: Vec<String> = wanted.iter().map(|row| row.to_string()).collect();
        wanted.sort();
        assert_eq!(got, wanted, "{name}");
    }
}

#[test]
fn refused_events_are_those_of_perfettos_tests() {
    for (name, code, rows) in [
        (
            "track_event_absolute_timestamp_us_overflow",
            "perfetto-bad-timestamp",
            &["track/Global tracks 999999+0 good"][..],
        ),
        (
            "track_event_delta_timestamp_addition_overflow",
            "perfetto-bad-timestamp",
            &["track/Global tracks 1000000+0 good"],
        ),
        (
            "streaming_profile_timestamp_delta_overflow",
            "perfetto-bad-timestamp",
            &["track/Global tracks 1000001+0 good"],
        ),
        ("state_track_legacy_fallback_error", "perfetto-state-on-other-track", &[]),
        ("track_event_state_on_non_state_track", "perfetto-state-on-other-track", &[]),
    ] {
        let trace = google(name);
        assert_eq!(trace.ledger.count_of(code), 1, "{name}: {:?}", issues(&trace));
        assert_eq!(told(&trace), rows, "{name}");
    }
}

#[test]
fn arrows_equal_the_rows_of_perfettos_tests() {
    for (name, wanted) in [
        (
            "flow_events_proto_v1",
            &[
                "FlowBeginSlice > FlowEndSlice_1",
                "FlowEndSlice_1 > FlowStepSlice",
                "FlowStepSlice > FlowEndSlice_2",
            ][..],
        ),
        (
            "flow_events_proto_v2",
            &[
                "FlowBeginSlice > FlowEndSlice_1",
                "FlowBeginSlice > FlowStepSlice",
                "FlowStepSlice > FlowEndSlice_2",
            ],
        ),
        (
            "flow_events_track_event",
            &[
                "FlowSlice1Start > FlowSlice1End",
                "FlowSlice1Start2Start > FlowSlice1End",
                "FlowSlice1Start2Start > FlowSlice2End",
                "FlowSlice3Begin > FlowSlice3End4Begin",
                "FlowSlice3End4Begin > FlowSlice4Step",
                "FlowSlice4Step > FlowSlice4Step2_FlowIdOnAsyncEndEvent",
                "FlowSlice4Step2_FlowIdOnAsyncEndEvent > FlowSlice4Step2_FlowIdOnEndEvent",
                "FlowSlice4Step2_FlowIdOnEndEvent > FlowSlice4End",
            ],
        ),
    ] {
        assert_eq!(arrows(&google(name)), wanted, "{name}");
    }
}

#[test]
fn counters_equal_the_rows_of_perfettos_tests() {
    let values = |name: &str| -> Vec<String> {
        let trace = google(name);
        (0..trace.counters.len())
            .map(|row| {
                let series = trace.counters.series[row] as usize;
                let name = text(&trace, trace.counter_series.name[series]);
                let unit = text(&trace, trace.counter_series.key[series]);
                format!("{name} {unit} {} {}", trace.counters.ts[row], trace.counters.value[row])
            })
            .collect()
    };
    assert_eq!(
        values("incremental_counter_sequences"),
        ["100 100", "150 50", "200 110", "250 55"].map(|row| format!("MyIncrementalCounter value {row}"))
    );
    // The thread time of older writers (`t4`) is not read.
    assert_eq!(
        values("track_event_counters"),
        [
            "thread_time ns 1000 1000000",
            "thread_time ns 1100 1010000",
            "thread_time ns 2000 2000000",
            "thread_time ns 2000 2010000",
            "thread_time ns 2200 2020000",
            "thread_time ns 2200 2030000",
            "MySizeCounter bytes 3000 1024",
            "MySizeCounter bytes 3100 2048",
            "thread_time ns 4000 2040000",
            "MySizeCounter bytes 4000 1024",
            "MyDoubleCounter value 4200 3.1415926",
            "MyDoubleCounter value 4300 0.5",
            "MySizeCounter bytes 4500 4096",
            "MyDoubleCounter value 4500 2.71828",
        ]
    );
}

#[test]
fn names_and_order_equal_the_rows_of_perfettos_tests() {
    let names = |name: &str| -> Vec<String> {
        let trace = google(name);
        let mut names: Vec<String> = trace.threads.name.iter().map(|name| text(&trace, *name)).collect();
        names.sort();
        names
    };
    // "Event Name" is that of the first event on a track without a name.
    assert_eq!(names("track_event_name_resolution"), ["After Event", "Event Name", "Second Name"]);
    assert_eq!(
        names("track_event_name_resolution_extended"),
        ["After Event", "Child Event", "Event Name", "Second Name"]
    );
    assert_eq!(names("track_event_name_resolution_null_override"), ["First Name"]);
    assert_eq!(names("track_event_same_tids_threads"), ["t1", "t2"]);
    for (name, process, thread) in [
        ("track_descriptor_process_thread_sort_index", Some(5), Some(42)),
        ("track_descriptor_process_thread_sort_index_default_ignored", None, None),
    ] {
        let trace = google(name);
        assert_eq!(text(&trace, trace.processes.name[0]), "ProcessA");
        assert_eq!(text(&trace, trace.threads.name[0]), "ThreadA");
        assert_eq!((trace.processes.sort_index[0], trace.threads.sort_index[0]), (process, thread), "{name}");
    }
    let trace = google("track_event_tracks_ordering");
    let mut ranks: Vec<(Option<i32>, String)> = trace
        .threads
        .sort_index
        .iter()
        .copied()
        .zip(trace.threads.name.iter().map(|name| text(&trace, *name)))
        .collect();
    ranks.sort_by(|a, b| a.1.cmp(&b.1));
    let wanted = [
        (Some(1), "async"),
        (Some(2), "async2"),
        (None, "async3"),
        (Some(-10), "child_1"),
        (Some(-2), "child_2"),
        (None, "child_3"),
        (Some(-10), "p1_child_1"),
        (Some(-2), "p1_child_2"),
    ];
    assert_eq!(ranks, wanted.map(|(rank, name)| (rank, name.to_string())));
}

#[test]
fn arguments_and_stacks_equal_the_rows_of_perfettos_tests() {
    let trace = google("track_event_merged_debug_annotations");
    assert_eq!(trace.slices.len(), 1);
    let mut args = args_of(&trace, 0);
    // Text of JSON stays a text.
    args["debug2"] = serde_json::from_str(args["debug2"].as_str().unwrap()).unwrap();
    assert_eq!(
        args,
        serde_json::json!({
            "debug1": {"key1": 10, "key2": [20, 21, 22, 23], "key3": 30},
            "debug2": {"key1": 10, "key2": [20, 21, 22, 23], "key3": {"key31": 31, "key32": 32}, "key4": 40},
            "debug3": 32,
            "debug4": {"key1": 10, "key2": [20, 21]},
        })
    );
    let trace = google("track_event_callstacks");
    let leaves: Vec<(String, String)> = trace
        .slices
        .stacks
        .iter()
        .map(|(slice, start, _)| {
            let frame = trace.stacks.frame[start.0 as usize];
            let name = text(&trace, trace.frames.name[frame.0 as usize]);
            (text(&trace, trace.slices.name[slice.0 as usize]), name)
        })
        .collect();
    let wanted =
        [("Inline Slice 1", "InlineLeaf"), ("Inline Slice 2", "InlineLeaf"), ("Interned Slice", "FuncB")];
    assert_eq!(leaves, wanted.map(|(slice, leaf)| (slice.to_string(), leaf.to_string())));
}

/// PyTorch's layout: kernels, their calls, operators and steps are those of Kineto.
#[test]
fn gpu_profiles_of_pytorch_are_known() {
    let bytes = std::fs::read(own_dir("perfetto").join("torch_monitor.pftrace")).unwrap();
    let trace = import("x.pftrace", &bytes, None).unwrap();
    assert_eq!(trace.source.producer.as_deref(), Some("PyTorch profiler"));
    let gpu = GpuTrace::new(&trace);
    assert_eq!((gpu.work.len(), gpu.devices.len(), gpu.streams.len()), (120, 1, 2));
    let n_linked = gpu.work.iter().filter(|work| work.launch != u32::MAX).count();
    let n_in_steps = gpu.work.iter().filter(|work| work.step != u32::MAX).count();
    let n_of_ops = gpu.work.iter().filter(|work| work.op != u32::MAX).count();
    assert_eq!((n_linked, n_in_steps, n_of_ops), (120, 120, 120));
    assert_eq!(gpu.steps.steps.len(), 3);
    let sum: i64 = gpu.work.iter().map(|work| work.dur()).sum();
    let expected = expected_in(&own_dir("perfetto").join("expected/torch_monitor.json"));
    let wanted = expected["slices"].as_array().unwrap().iter();
    let wanted = wanted.filter(|slice| slice["track"].as_u64().is_some_and(|track| track > 10));
    assert_eq!(sum, wanted.map(|slice| slice["dur"].as_i64().unwrap()).sum::<i64>());
}

/// Groups are joined by place also where their events do not fit in memory together.
#[test]
fn more_events_than_memory_have_the_same_kernels() {
    let bytes = std::fs::read(own_dir("perfetto").join("torch_monitor.pftrace")).unwrap();
    let whole = import("x.pftrace", &bytes, None).unwrap();
    let mut wanted: Vec<(i64, i64)> =
        GpuTrace::new(&whole).work.iter().map(|work| (work.start, work.end)).collect();
    wanted.sort();
    for max_events in [50, 100, 301] {
        let mut import = Import::new("x.pftrace", bytes.len() as u64);
        import.hold_at_most(max_events);
        bytes.chunks(1000).for_each(|chunk| import.feed(chunk));
        let trace = import.finish().unwrap();
        let work = &trace.aggregated.as_ref().unwrap().work;
        let mut got: Vec<(i64, i64)> = work.start.iter().copied().zip(work.end.iter().copied()).collect();
        got.sort();
        assert_eq!(got, wanted, "{max_events}");
    }
}

/// Damaged files are read as far as they go, and every byte is accounted for.
#[test]
fn damage_is_survived() {
    let mut random = Random(7);
    for path in all_files(&own_dir("perfetto"), &[".pftrace"]) {
        let bytes = std::fs::read(&path).unwrap();
        for round in 0..30 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
            bytes.truncate(bytes.len() - random.below(bytes.len() as u64 / 4 + 1) as usize);
            let what = format!("{}, round {round}", path.display());
            let mut told = Vec::new();
            for_each_cut_fast(&bytes, &mut |trace| {
                if let Ok(trace) = &trace {
                    assert_eq!(trace.ledger.accounted_bytes(), trace.ledger.content_bytes, "{what}");
                }
                told.push(trace.map(|trace| (rows_of(&trace), format!("{:?}", trace.ledger))).ok());
            });
            assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "{what}");
        }
    }
}

fn for_each_cut_fast(bytes: &[u8], check: &mut dyn FnMut(Result<Trace, ImportError>)) {
    let format = Some(&tracedrop::import::perfetto::INFO);
    for size in [usize::MAX, 1, 37, 4099] {
        check(support::import_cut("x", bytes, format, &mut |_| size));
    }
}

/// Names of operators by kernel, of all kernels in order; empty without one.
fn ops_of_kernels(trace: &Trace) -> Vec<(String, String)> {
    let gpu = GpuTrace::new(trace);
    let op = |launch: u32| gpu.op_of(launch).map_or(String::new(), |op| gpu.name(op).to_string());
    gpu.work.iter().map(|work| (gpu.name(work.slice).to_string(), op(work.launch))).collect()
}

#[test]
fn calls_on_tracks_of_their_own_belong_to_the_operators_of_their_threads() {
    let bytes = std::fs::read(own_dir("perfetto").join("torch_monitor.pftrace")).unwrap();
    let trace = import("torch_monitor.pftrace", &bytes, None).unwrap();
    let wanted = [
        ("ncclDevKernel", "c10d::allreduce_"),
        ("void flash_fwd", "aten::scaled_dot_product_attention"),
        ("triton_poi_fused", "inductor::triton_poi_fused_add_mul_silu_3"),
        ("ampere_bf16", "aten::mm"),
        ("void at::native::vectorized", "aten::add"),
    ];
    let ops = ops_of_kernels(&trace);
    assert_eq!(ops.len(), 120);
    for (kernel, op) in ops {
        let (_, wanted) = wanted.iter().find(|(start, _)| kernel.starts_with(start)).unwrap();
        assert_eq!(op, *wanted, "{kernel}");
    }
    // Main thread 7 waits in a step while thread 8 runs operators; then both run some.
    let slice = |name: &str, cat: &str, pid: u32, tid: u32, ts: u32, dur: u32, args: &str| {
        format!(
            r#"{{"ph":"X","name":"{name}","cat":"{cat}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
    };
    let launch = |id: u32, ts: u32| {
        [
            slice("cudaLaunchKernel", "cuda_runtime", 7, 70, ts, 2, &format!(r#""correlation":{id}"#)),
            slice(
                &format!("kernel {id}"),
                "kernel",
                0,
                5,
                ts + 3,
                4,
                &format!(r#""correlation":{id},"stream":5,"device":0"#),
            ),
        ]
        .join(",")
    };
    let events = [
        r#"{"ph":"M","name":"thread_name","pid":7,"tid":70,"args":{"name":"CUDA runtime 7"}}"#.to_string(),
        slice("ProfilerStep#1", "user_annotation", 7, 7, 0, 100, ""),
        slice("aten::mm", "cpu_op", 7, 8, 10, 10, ""),
        launch(1, 12),
        slice("aten::add", "cpu_op", 7, 7, 30, 20, ""),
        slice("aten::mul", "cpu_op", 7, 8, 30, 20, ""),
        launch(2, 32),
        launch(3, 60),
    ];
    let json = format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
    let ops = ops_of_kernels(&import("a.json", json.as_bytes(), None).unwrap());
    let ops: Vec<(&str, &str)> = ops.iter().map(|(kernel, op)| (kernel.as_str(), op.as_str())).collect();
    // Of the second one, nothing says which thread made it.
    assert_eq!(ops, [("kernel 1", "aten::mm"), ("kernel 2", ""), ("kernel 3", "")]);
}

/// Writes the fields of a packet.
type Packet<'a> = &'a dyn Fn(&mut Vec<u8>);

/// A trace whose packets are given.
fn trace_of(packets: &[Packet<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        bytes.message(1, |out| {
            out.number(10, 1);
            packet(out);
        });
    }
    bytes
}

/// Interned data of two call stacks: `main` > `work (x.cc:7)`, and `main` > an address in `/usr/libx.so`.
fn interned(out: &mut Vec<u8>) {
    let text = |out: &mut Vec<u8>, field: u64, iid: u64, text: &str| {
        out.message(field, |out| {
            out.number(1, iid);
            out.bytes(2, text.as_bytes());
        });
    };
    out.number(13, 1);
    out.message(12, |out| {
        for (iid, name) in [(1, "main"), (2, "work")] {
            text(out, 5, iid, name);
        }
        for (iid, name) in [(1, "usr"), (2, "libx.so")] {
            text(out, 17, iid, name);
        }
        text(out, 18, 1, "x.cc");
        out.message(19, |out| {
            [(1, 1), (7, 1), (7, 2)].iter().for_each(|(field, value)| out.number(*field, *value))
        });
        for fields in [
            &[(1, 1), (2, 1), (3, 1), (4, 16)][..],
            &[(1, 2), (2, 2), (5, 1), (6, 7)],
            &[(1, 3), (3, 1), (4, 0x1234)],
        ] {
            out.message(6, |out| fields.iter().for_each(|(field, value)| out.number(*field, *value)));
        }
        for (iid, frames) in [(1, [1, 2]), (2, [1, 3])] {
            out.message(7, |out| {
                out.number(1, iid);
                frames.iter().for_each(|frame| out.number(2, *frame));
            });
        }
    });
}

/// Frames of a stack, outermost first.
fn frames_of(trace: &Trace, mut stack: StackId) -> Vec<String> {
    let mut frames = Vec::new();
    while stack != StackId::NONE {
        let frame = trace.frames.get(trace.stacks.frame[stack.0 as usize]);
        let line = if frame.line == NO_LINE { String::new() } else { format!(":{}", frame.line) };
        let place = [frame.module, frame.file].map(|id| text(trace, id)).concat();
        frames.insert(0, format!("{} {place}{line}", text(trace, frame.name)));
        stack = trace.stacks.parent[stack.0 as usize];
    }
    frames
}

/// Checks a trace whole, in pieces and in parts, and that it is read as far as it goes wherever it is cut.
fn check_each_cut(bytes: &[u8], check: &mut dyn FnMut(&str, &Trace)) {
    for_each_cut("x.pftrace", bytes, Some(&tracedrop::import::perfetto::INFO), &mut |way, read| {
        let trace = read.unwrap();
        assert_eq!(trace.ledger.accounted_bytes(), bytes.len() as u64, "{way}");
        check(way, &trace);
    });
    for end in 1..bytes.len() {
        if let Ok(trace) = import("x.pftrace", &bytes[..end], Some(&tracedrop::import::perfetto::INFO)) {
            assert_eq!(trace.ledger.accounted_bytes(), end as u64, "cut at {end}");
        }
    }
}

fn perf_sample(out: &mut Vec<u8>, ts: u64, fields: &[(u64, u64)]) {
    out.number(8, ts);
    out.message(66, |out| fields.iter().for_each(|(field, value)| out.number(*field, *value)));
}

#[test]
fn cpu_samples_are_stacks_of_their_threads() {
    let thread = |out: &mut Vec<u8>| {
        out.message(60, |out| {
            out.number(1, 77);
            out.message(4, |out| {
                out.number(1, 10);
                out.number(2, 11);
                out.bytes(5, b"worker");
            });
        });
    };
    let bytes = trace_of(&[
        &interned,
        &|out| perf_sample(out, 200, &[(1, 0), (2, 10), (3, 11), (4, 2)]),
        &|out| perf_sample(out, 100, &[(2, 10), (3, 11), (4, 1)]),
        &|out| perf_sample(out, 300, &[(2, 10), (3, 11), (4, 9)]),
        // Skipped by the profiler, lost in the kernel.
        &|out| perf_sample(out, 400, &[(2, 10), (3, 11), (18, 2)]),
        &|out| perf_sample(out, 500, &[(1, 3), (17, 5)]),
        &thread,
    ]);
    check_each_cut(&bytes, &mut |way, trace| {
        let samples = &trace.samples;
        assert_eq!(samples.ts, [100, 200, 300], "{way}");
        let stacks: Vec<Vec<String>> = samples.stack.iter().map(|stack| frames_of(trace, *stack)).collect();
        assert_eq!(stacks[0], ["main /usr/libx.so", "work x.cc:7"], "{way}");
        assert_eq!(stacks[1], ["main /usr/libx.so", "libx.so+0x1234 /usr/libx.so"], "{way}");
        assert_eq!(stacks[2], ["(missing) "], "{way}");
        assert!(samples.thread.iter().all(|it| label(trace, it.0 as usize) == "10 11"), "{way}");
        assert_eq!(text(trace, trace.threads.name[samples.thread[0].0 as usize]), "worker", "{way}");
        let ledger = &trace.ledger;
        assert_eq!(ledger.count_of("perfetto-lost-samples"), 2, "{way}");
        assert_eq!(ledger.count_of("perfetto-missing-interned"), 1, "{way}");
        assert_eq!((ledger.kept.records, ledger.skipped.records), (5, 2), "{way}");
    });
}

#[test]
fn streamed_samples_count_from_their_thread_descriptor() {
    let thread = |out: &mut Vec<u8>| {
        out.message(44, |out| {
            [(1, 5), (2, 6), (6, 1_000)].iter().for_each(|(field, value)| out.number(*field, *value))
        });
    };
    let samples = |deltas: &'static [u64]| {
        move |out: &mut Vec<u8>| {
            out.message(54, |out| {
                [1, 2].iter().for_each(|iid| out.number(1, *iid));
                // Packed.
                let mut packed = Vec::new();
                deltas.iter().for_each(|delta| packed.varint(*delta));
                out.bytes(2, &packed);
            });
        }
    };
    let bytes =
        trace_of(&[&interned, &samples(&[1, 1]), &thread, &samples(&[10, 20]), &samples(&[u64::MAX, 5, 7])]);
    check_each_cut(&bytes, &mut |way, trace| {
        // The last one of three deltas has no stack, and counts for what follows.
        assert_eq!(trace.samples.ts, [1_010_000, 1_029_000, 1_030_000, 1_034_000], "{way}");
        assert!(trace.samples.thread.iter().all(|it| label(trace, it.0 as usize) == "5 6"), "{way}");
        assert_eq!(trace.ledger.count_of("perfetto-delta-without-reference"), 1, "{way}");
    });
}

/// A stack and its weight.
type Weighted = (Vec<String>, String);

#[test]
fn heap_profiles_are_memory_by_stack() {
    let dump = |samples: &'static [&'static [(u64, u64)]]| {
        move |out: &mut Vec<u8>| {
            out.message(37, |out| {
                out.message(5, |out| {
                    out.number(1, 42);
                    out.bytes(11, b"libc.malloc");
                    for sample in samples {
                        out.message(2, |out| {
                            sample.iter().for_each(|(field, value)| out.number(*field, *value))
                        });
                    }
                });
            });
        }
    };
    // Totals since the start: the last ones count, and what a later dump leaves out stays.
    let bytes = trace_of(&[
        &interned,
        &dump(&[&[(1, 1), (2, 100), (3, 40), (5, 10), (6, 4)], &[(1, 2), (2, 8), (3, 8), (5, 1), (6, 1)]]),
        &dump(&[&[(1, 1), (2, 300), (3, 50), (5, 30), (6, 5)]]),
    ]);
    check_each_cut(&bytes, &mut |way, trace| {
        let found: Vec<(String, bool, Vec<Weighted>)> = trace
            .stack_profiles
            .iter()
            .map(|profile| {
                assert_eq!(text(trace, profile.name), "libc.malloc");
                assert_eq!(text(trace, profile.process_id), "42");
                let rows = (0..profile.len()).map(|row| {
                    (frames_of(trace, profile.stack[row]), profile.weight.get(row).unwrap().to_string())
                });
                (text(trace, profile.measure), profile.is_default, rows.collect())
            })
            .collect();
        let names: Vec<(&str, bool)> = found.iter().map(|(name, is, _)| (name.as_str(), *is)).collect();
        let wanted = [
            ("memory not freed", true),
            ("allocations not freed", false),
            ("memory allocated", false),
            ("allocations", false),
        ];
        assert_eq!(names, wanted, "{way}");
        let weights = |at: usize| found[at].2.iter().map(|(_, weight)| weight.as_str()).collect::<Vec<_>>();
        assert_eq!((weights(0), weights(1)), (vec!["250"], vec!["25"]), "{way}");
        assert_eq!((weights(2), weights(3)), (vec!["300", "8"], vec!["30", "1"]), "{way}");
        assert_eq!(found[0].2[0].0, ["main /usr/libx.so", "work x.cc:7"], "{way}");
        assert_eq!(trace.ledger.skipped.records, 0, "{way}");
    });
}

#[test]
fn task_switches_are_thread_states() {
    let switch = |out: &mut Vec<u8>, ts: u64, (from, state): (u64, u64), to: u64, name: &str| {
        out.message(2, |out| {
            out.number(1, ts);
            out.message(4, |out| {
                [(2, from), (4, state), (6, to)].iter().for_each(|(field, value)| out.number(*field, *value));
                out.bytes(5, name.as_bytes());
            });
        });
    };
    let tree = |out: &mut Vec<u8>| {
        out.message(2, |out| {
            out.message(1, |out| {
                out.number(1, 10);
                out.bytes(3, b"/bin/app");
                out.bytes(3, b"--flag");
            });
            out.message(2, |out| {
                out.number(1, 11);
                out.bytes(2, b"worker");
                out.number(3, 10);
            });
        });
    };
    let bytes = trace_of(&[
        &|out| {
            out.message(1, |out| {
                out.number(1, 0);
                switch(out, 100, (0, 0), 11, "worker");
                switch(out, 200, (11, 1), 12, "other");
                // A wake-up.
                out.message(2, |out| {
                    out.number(1, 250);
                    out.message(17, |out| out.number(2, 11));
                });
            });
        },
        &|out| {
            out.message(1, |out| {
                out.message(4, |out| {
                    out.bytes(5, b"worker");
                    for (field, values) in [(1, [300, 50]), (2, [0x100, 2]), (3, [11, 0]), (6, [0, 0])] {
                        let mut packed = Vec::new();
                        values.iter().for_each(|value| packed.varint(*value));
                        out.bytes(field, &packed);
                    }
                });
            });
        },
        &tree,
        // Only other events.
        &|out| out.message(1, |out| out.message(2, |out| out.number(1, 400))),
    ]);
    check_each_cut(&bytes, &mut |way, trace| {
        let mut states: Vec<(i64, i64, String, String, String)> = (0..trace.slices.len())
            .filter(|row| Class::of(trace.slices.kind[*row]) == Class::State)
            .map(|row| {
                let track = trace.slices.track[row].0 as usize;
                assert_eq!(trace.tracks.kind[track], TrackKind::ThreadState, "{way}");
                let thread = trace.tracks.thread[track].unwrap().0 as usize;
                let process = trace.threads.process[thread].0 as usize;
                (
                    trace.slices.ts[row],
                    trace.slices.dur.get(row),
                    text(trace, trace.processes.name[process]),
                    text(trace, trace.threads.name[thread]),
                    text(trace, trace.slices.name[row]),
                )
            })
            .collect();
        states.sort();
        let found: Vec<(i64, &str, &str, &str)> = states
            .iter()
            .map(|(ts, _, process, thread, name)| (*ts, process.as_str(), thread.as_str(), name.as_str()))
            .collect();
        let wanted = [
            (100, "/bin/app", "worker", "Running"),
            (200, "/bin/app", "worker", "Sleeping"),
            (200, "Global tracks", "other", "Running"),
            (300, "/bin/app", "worker", "Running"),
            (300, "Global tracks", "other", "Runnable (preempted)"),
            (350, "/bin/app", "worker", "Uninterruptible sleep"),
        ];
        let sorted = |mut rows: Vec<(i64, &'static str, &'static str, &'static str)>| {
            rows.sort();
            rows
        };
        let mut found = found;
        found.sort();
        assert_eq!(found, sorted(wanted.to_vec()), "{way}");
        // A state lasts until the next one of its thread.
        let of = |ts: i64, thread: &str| states.iter().find(|it| it.0 == ts && it.3 == thread).unwrap().1;
        assert_eq!((of(100, "worker"), of(200, "worker"), of(200, "other")), (100, 100, 100), "{way}");
        let kinds: Vec<(&str, u64)> =
            trace.source.record_kinds.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        for kind in
            [("task switches", 4), ("other kernel events", 2), ("ftrace bundles", 3), ("process trees", 1)]
        {
            assert!(kinds.contains(&kind), "{way}: {kinds:?}");
        }
        assert_eq!(trace.ledger.count_of("perfetto-ftrace"), 1, "{way}");
        assert_eq!(trace.ledger.count_of("perfetto-other-ftrace"), 1, "{way}");
    });
}

/// A `TrackDescriptor` of thread 11 of process 10, with uuid 2.
fn thread_track(out: &mut Vec<u8>) {
    out.message(60, |out| {
        out.number(1, 2);
        out.message(4, |out| {
            [(1, 10), (2, 11)].iter().for_each(|(field, value)| out.number(*field, *value));
            out.bytes(5, b"main");
        });
    });
}

/// Begin (1) or end (2) of a slice, on the track with uuid 2 or on that of its sequence.
fn track_event(kind: u64, ts: u64, has_track: bool) -> impl Fn(&mut Vec<u8>) {
    move |out: &mut Vec<u8>| {
        out.number(8, ts);
        out.message(11, |out| {
            out.number(9, kind);
            if has_track {
                out.number(11, 2);
            }
            out.bytes(23, b"step");
        });
    }
}

/// Names of processes, and names of the threads of slices.
fn places(trace: &Trace) -> (Vec<String>, Vec<String>) {
    let processes = trace.processes.name.iter().map(|name| text(trace, *name)).collect();
    let thread = |row: usize| trace.tracks.thread[trace.slices.track[row].0 as usize].unwrap().0 as usize;
    let threads = (0..trace.slices.len()).map(|row| text(trace, trace.threads.name[thread(row)])).collect();
    (processes, threads)
}

#[test]
fn threads_of_older_writers_have_their_names() {
    let (begin, end) = (track_event(1, 1000, false), track_event(2, 3000, false));
    let process = |out: &mut Vec<u8>| {
        out.message(43, |out| {
            out.number(1, 10);
            out.bytes(6, b"app");
        });
    };
    let thread = |out: &mut Vec<u8>| {
        out.message(44, |out| {
            [(1, 10), (2, 11), (3, 7)].iter().for_each(|(field, value)| out.number(*field, *value));
            out.bytes(5, b"CrRendererMain");
        });
    };
    check_each_cut(&trace_of(&[&process, &thread, &begin, &end]), &mut |way, trace| {
        assert_eq!(places(trace), (vec!["app".to_string()], vec!["CrRendererMain".to_string()]), "{way}");
        assert_eq!(trace.threads.sort_index, [Some(7)], "{way}");
    });
}

#[test]
fn tracks_that_are_described_late_leave_no_empty_process() {
    let (begin, end) = (track_event(1, 1000, true), track_event(2, 3000, true));
    let memory = |out: &mut Vec<u8>| {
        out.message(60, |out| {
            out.number(1, 7);
            out.bytes(2, b"memory");
            out.message(8, |_| {});
        });
    };
    let value = |out: &mut Vec<u8>| {
        out.number(8, 2000);
        out.message(11, |out| {
            [(9, 4), (11, 7), (30, 5)].iter().for_each(|(field, value)| out.number(*field, *value))
        });
    };
    let late: [[Packet<'_>; 3]; 2] = [[&begin, &thread_track, &end], [&begin, &end, &thread_track]];
    for packets in &late {
        check_each_cut(&trace_of(packets), &mut |way, trace| {
            assert_eq!(places(trace), (vec![String::new()], vec!["main".to_string()]), "{way}");
            assert_eq!(trace.processes.key, [Key::Number(10)], "{way}");
            assert!(trace.threads.process.iter().all(|process| process.0 == 0), "{way}");
        });
    }
    // It stays for a counter that belongs to no process.
    check_each_cut(&trace_of(&[&begin, &end, &thread_track, &memory, &value]), &mut |way, trace| {
        let (processes, threads) = places(trace);
        assert_eq!(processes.iter().filter(|name| *name == "Global tracks").count(), 1, "{way}");
        let of_counter = trace.counter_series.process[0].0 as usize;
        assert_eq!(
            (processes[of_counter].as_str(), threads),
            ("Global tracks", vec!["main".to_string()]),
            "{way}"
        );
    });
}

#[test]
fn kernel_threads_that_are_described_leave_no_empty_process() {
    let (begin, end) = (track_event(1, 1500, true), track_event(2, 3500, true));
    let switch = |out: &mut Vec<u8>, ts: u64, from: u64, to: u64| {
        out.message(2, |out| {
            out.number(1, ts);
            out.number(2, from);
            out.message(4, |out| {
                [(2, from), (4, 1), (6, to)].iter().for_each(|(field, value)| out.number(*field, *value));
            });
        });
    };
    let switches = |out: &mut Vec<u8>| {
        out.message(1, |out| {
            out.number(1, 0);
            switch(out, 1000, 0, 11);
            switch(out, 5000, 11, 0);
        });
    };
    check_each_cut(&trace_of(&[&thread_track, &begin, &end, &switches]), &mut |way, trace| {
        assert_eq!(trace.processes.key, [Key::Number(10)], "{way}");
    });
}
