//! PyTorch profiler traces: quirks of the dialect, one per file, and real recordings parsed in parts.

use crate::support::{
    Random, assert_same_text, data_dirs, files, for_each_cut, import, import_in_parts, own_dir, stem,
};
use serde_json::Value;
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export;
use tracedrop::import::{FormatInfo, ImportError, chrome_trace, unpack};
use tracedrop::trace::Trace;
use tracedrop::trace::slices::SliceId;

const CHROME: Option<&'static FormatInfo> = Some(&chrome_trace::INFO);

fn edge(name: &str) -> Result<Trace, ImportError> {
    let path = own_dir("pytorch").join("edge").join(name);
    import(name, &std::fs::read(path).unwrap(), None)
}

fn slice(trace: &Trace, name: &str) -> usize {
    let found = (0..trace.slices.len()).find(|i| trace.strings.get(trace.slices.name[*i]) == name);
    found.unwrap_or_else(|| panic!("no slice {name}"))
}

/// Whether `below` is a descendant of `above`.
fn is_under(trace: &Trace, below: &str, above: &str) -> bool {
    let above = SliceId(slice(trace, above) as u32);
    let mut at = trace.slices.parent[slice(trace, below)].some();
    while let Some(parent) = at.filter(|parent| *parent != above) {
        at = trace.slices.parent[parent.0 as usize].some();
    }
    at.is_some()
}

/// All content of a report.
fn report(name: &str, trace: Trace) -> String {
    let mut session = Session::of_trace(trace, Query::default());
    let mut out = Vec::new();
    let json = export::find("json").unwrap();
    session.export(json, &export::Options::default(), &mut out).unwrap();
    assert!(session.document().is_some(), "{name}");
    String::from_utf8(out).unwrap()
}

#[test]
fn every_oddity_is_read_as_it_should() {
    for dir in data_dirs("pytorch") {
        let expected = std::fs::read(dir.join("edge/expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        for (name, expected) in expected.as_object().unwrap() {
            let bytes = std::fs::read(dir.join("edge").join(name)).unwrap();
            let result = import(name, &bytes, None);
            if expected["status"] == "refuse" {
                assert!(result.is_err(), "{name} is read");
                continue;
            }
            let ledger = result.unwrap_or_else(|error| panic!("{name}: {error}")).ledger;
            let no_events = ["element-not-object", "broken-event", "cut-event"];
            let n_lost: u64 = no_events.iter().map(|code| ledger.count_of(code)).sum();
            if let Some(events) = expected["events"].as_u64() {
                assert_eq!(ledger.n_records() - n_lost, events, "{name}");
            }
            if expected["status"] == "loss" {
                assert!(!ledger.issues.is_empty(), "{name}");
            }
            for_each_cut(name, &bytes, None, &mut |cut, result| {
                let trace = result.unwrap();
                assert_eq!(trace.ledger.kept, ledger.kept, "{name} {cut}");
                assert_eq!(trace.ledger.issues.len(), ledger.issues.len(), "{name} {cut}");
            });
        }
    }
}

#[test]
fn texts_are_kept() {
    let trace = edge("windows-backslash.json").unwrap();
    slice(&trace, r"torch\cuda\__init__.py(219): _lazy_init");
    let trace = edge("nan-infinity.json").unwrap();
    let mut args = Vec::new();
    (0..trace.slices.len()).for_each(|i| trace.push_slice_args(i, &mut args));
    let args = String::from_utf8(args).unwrap();
    assert!(!args.contains("\"raw\""), "{args}");
}

#[test]
fn times_are_kept_where_they_make_sense() {
    let trace = edge("time-forms.json").unwrap();
    let ts = |name: &str| trace.slices.ts[slice(&trace, name)];
    assert_eq!(ts("ns2") - ts("ns"), 1);
    assert_eq!(ts("ns"), 1_712_195_496_123_456_789);
    for name in ["nodur", "neg"] {
        let slice = slice(&trace, name);
        assert_eq!(trace.slices.dur.get(slice), 0);
        assert!(trace.slices.no_duration.contains(&SliceId(slice as u32)));
    }
    assert_eq!((trace.ledger.count_of("no-duration"), trace.ledger.count_of("negative-duration")), (1, 1));
}

#[test]
fn rounding_does_not_break_nesting() {
    let trace = edge("rounding-nest.json").unwrap();
    assert!(is_under(&trace, "child", "parent") && is_under(&trace, "late", "parent"));
    assert_eq!(trace.ledger.count_of("overlapping-slice"), 0);
    let trace = edge("overlap-not-nested.json").unwrap();
    assert_eq!(trace.ledger.count_of("overlapping-slice"), 1);
    assert!(!is_under(&trace, "b", "a"));
}

#[test]
fn an_end_closes_the_innermost_slice() {
    let trace = edge("begin-end-crossed.json").unwrap();
    let of = |name: &str| {
        let slice = slice(&trace, name);
        (trace.slices.ts[slice], trace.slices.dur.get(slice))
    };
    assert_eq!((of("a"), of("b")), ((0, 3000), (1000, 1000)));
    assert_eq!(trace.ledger.count_of("end-name-differs"), 2);
    assert_eq!(trace.ledger.skipped.records, 0);
}

#[test]
fn arrows_are_joined_by_category_and_id() {
    let trace = edge("flows.json").unwrap();
    let name = |id: SliceId| trace.strings.get(trace.slices.name[id.0 as usize]);
    let arrows: Vec<(&str, &str)> =
        trace.flows.from.iter().zip(&trace.flows.to).map(|(from, to)| (name(*from), name(*to))).collect();
    assert_eq!(
        arrows,
        [("aten::mm", "cudaLaunchKernel"), ("cudaLaunchKernel", "sgemm"), ("cudaLaunchKernel", "sgemm")]
    );
    assert_eq!(trace.ledger.skipped.records, 0);
    // An end without a start is normal for this profiler.
    assert_eq!(trace.ledger.count_of("flow-without-start"), 0);
}

#[test]
fn counters_are_told_apart_by_id() {
    let trace = edge("counters.json").unwrap();
    let series = &trace.counter_series;
    let mut tracks: Vec<_> = (0..series.len()).map(|i| (series.name[i], series.id[i])).collect();
    tracks.sort();
    tracks.dedup();
    assert_eq!((tracks.len(), series.len()), (3, 4));
}

#[test]
fn recordings_are_read_in_parts_like_whole() {
    let Some(dir) = data_dirs("pytorch").into_iter().nth(1) else { return };
    let mut random = Random(11);
    for path in files(&dir, &[".json.gz"]) {
        let packed = std::fs::read(&path).unwrap();
        let mut bytes = Vec::new();
        let mut unpacker = unpack::Unpacker::new(unpack::Packing::sniff(&packed).unwrap());
        unpacker
            .feed(&packed, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok::<(), ImportError>(())
            })
            .unwrap();
        let name = stem(&path);
        let whole = report(&name, import("trace", &bytes, CHROME).unwrap());
        let max_stretch = (bytes.len() as u64 / 20).max(100);
        let parts = import_in_parts("trace", &bytes, CHROME, &mut random, max_stretch).unwrap();
        assert_same_text(&name, &report(&name, parts), &whole);
    }
}
