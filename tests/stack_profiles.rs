//! Stack profiles of all formats: what is read equals the answers of an independent reader, however the file is cut.

use crate::support;
use crate::support::{all_files, data_dirs, files, for_each_cut, import, own_dir};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::analysis::stack_functions::Weight;
use tracedrop::base::protobuf::PushFields;
use tracedrop::base::strings::{StringId, StringTable};
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::import::ImportError;
use tracedrop::index::Index;
use tracedrop::report::{Block, Value as Cell};
use tracedrop::stacks::{CallTree, Function, functions_in_order};
use tracedrop::trace::cut::Cut;
use tracedrop::trace::stack_profiles::{Amount, StackProfile};
use tracedrop::trace::{Run, Severity, Trace};

/// Files with expected results: path of the file, and of the result.
fn cases() -> Vec<(PathBuf, PathBuf)> {
    let mut cases = Vec::new();
    for dir in data_dirs("stacks") {
        for path in files(&dir, &[""]) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let expected = dir.join("expected").join(format!("{name}.json"));
            if expected.is_file() {
                cases.push((path.clone(), expected));
            }
        }
        let of_python = files(&dir.join("expected"), &[".collapsed.gz.json", ".gecko.gz.json"]);
        for expected in of_python {
            let name = expected.file_name().unwrap().to_str().unwrap();
            let name = name.strip_prefix("pysampling_").unwrap().strip_suffix(".json").unwrap();
            let path = dir.parent().unwrap().join("pysampling").join(name);
            if path.is_file() {
                cases.push((path, expected));
            }
        }
    }
    cases
}

/// Formats by the names that the reference gives them.
const FORMATS: &[(&str, &str)] = &[
    ("folded", "folded"),
    ("folded-diff", "folded"),
    ("speedscope", "speedscope"),
    ("cpuprofile", "cpuprofile"),
    ("heapprofile", "heapprofile"),
    ("gecko", "firefox-profile"),
    ("firefox-processed", "firefox-profile"),
    ("pprof", "pprof"),
    ("perf-script", "perf-stacks"),
    ("cpython-binary", "python-binary"),
];

fn text(strings: &StringTable, id: StringId) -> Value {
    strings.get_opt(id).map_or(Value::Null, Value::from)
}

/// A number of the reference: an integer to the last digit, or a double.
fn check_number(what: &str, got: Amount, expected: &Value) {
    let wanted = expected.to_string();
    if !wanted.contains(['.', 'e', 'E']) {
        let whole = got.at(0).filter(|digits| got == Amount { digits: *digits, places: 0 });
        match whole {
            Some(digits) => assert_eq!(digits.to_string(), wanted, "{what}"),
            // Divided evenly, to so many places.
            None => assert!(
                (got.to_f64() - wanted.parse::<f64>().unwrap()).abs() < 1e-9,
                "{what}: {got} {wanted}"
            ),
        }
        return;
    }
    let wanted: f64 = wanted.parse().unwrap();
    assert!(
        (got.to_f64() - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
        "{what}: {got} instead of {wanted}"
    );
}

fn function_of(strings: &StringTable, function: Function) -> (Value, Value) {
    (text(strings, function.0), text(strings, function.1))
}

fn check_profile(what: &str, trace: &Trace, profile: &StackProfile, expected: &Value) {
    let strings = &trace.strings;
    let tree = CallTree::new(trace, &[profile]);
    let plain = |id: StringId| strings.get_opt(id).unwrap_or_default().to_string();
    let wanted = |key: &str| match &expected[key] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (key, id) in [
        ("name", profile.name),
        ("thread", profile.thread),
        ("pid", profile.process_id),
        ("tid", profile.thread_id),
        ("unit", profile.unit),
        ("event", profile.event),
    ] {
        assert_eq!(plain(id), wanted(key), "{what}: {key}");
    }
    if expected.get("kind").is_some() {
        assert_eq!(plain(profile.kind), wanted("kind"), "{what}: kind");
    }
    let counts = [
        ("n_samples", tree.weights.n_samples),
        ("n_no_stack", tree.weights.n_no_stack),
        ("n_frames", tree.n_frames as u64),
        ("n_functions", tree.functions.len() as u64),
        ("max_depth", u64::from(tree.max_depth)),
        ("n_tree_nodes", tree.len() as u64),
        ("n_inverted_nodes", tree.inverted().len() as u64),
    ];
    for (key, got) in counts {
        assert_eq!(Value::from(got), expected[key], "{what}: {key}");
    }
    check_number(&format!("{what}: total"), tree.amount(tree.weights.total), &expected["total_weight"]);
    check_number(
        &format!("{what}: no stack"),
        tree.amount(tree.weights.no_stack),
        &expected["no_stack_weight"],
    );
    match expected.get("start").filter(|start| !start.is_null()) {
        Some(start) => {
            let span = profile.span.unwrap_or_else(|| panic!("{what}: no span"));
            check_number(&format!("{what}: start"), span.0, start);
            check_number(&format!("{what}: end"), span.1, &expected["end"]);
        }
        None => assert_eq!(profile.span, None, "{what}: span"),
    }

    let mut sums = tree.functions();
    assert_eq!(sums.iter().map(|sum| sum.self_weight).sum::<i128>(), tree.weights.total, "{what}");
    functions_in_order(&mut sums, strings);
    let expected_sums = expected["self_by_function"].as_array().unwrap();
    assert_eq!(expected_sums.len(), sums.len().min(30), "{what}");
    for (sum, expected) in sums.iter().zip(expected_sums) {
        let function = function_of(strings, sum.function);
        assert_eq!(function, (expected["name"].clone(), expected["file"].clone()), "{what}");
        check_number(
            &format!("{what}: self of {}", function.0),
            tree.amount(sum.self_weight),
            &expected["self"],
        );
        check_number(&format!("{what}: total of {}", function.0), tree.amount(sum.total), &expected["total"]);
    }
    let Some(sandwich) = expected.get("sandwich") else { return };
    let got = tree.sandwich(sums[0].function, strings);
    for (key, got, around) in [("callers", &got.callers, "(root)"), ("callees", &got.callees, "(self)")] {
        let sum: i128 = got.iter().map(|(_, weight)| weight).sum();
        assert_eq!(sum, sums[0].total, "{what}: {key}");
        let name_of = |function: Option<Function>| match function {
            Some(function) => function_of(strings, function),
            None => (Value::from(around), Value::Null),
        };
        // Rows of one weight may be in another order where the reference sorts by name alone.
        let got: Vec<_> = got.iter().map(|(function, weight)| (name_of(*function), *weight)).collect();
        for row in sandwich[key].as_array().unwrap() {
            let wanted = (row["name"].clone(), row["file"].clone());
            let found = got.iter().find(|(name, _)| *name == wanted);
            let (_, weight) = found.unwrap_or_else(|| panic!("{what}: {key} {wanted:?} in {got:?}"));
            check_number(&format!("{what}: {key} {}", wanted.0), tree.amount(*weight), &row["weight"]);
        }
        assert_eq!(sandwich[key].as_array().unwrap().len(), got.len().min(10), "{what}: {key}");
    }
}

/// Kinds of warnings of the reference.
fn warnings_of(expected: &Value) -> BTreeSet<String> {
    let of = |value: &Value| -> Vec<String> {
        let list = value["warnings"].as_array().into_iter().flatten();
        list.map(|kind| kind.as_str().unwrap().replace('_', "-")).collect()
    };
    let of_profiles = expected["profiles"].as_array().into_iter().flatten().flat_map(of);
    of(expected).into_iter().chain(of_profiles).collect()
}

/// What we say beyond the reference, and why.
const SAID_TOO: &[(&str, &str)] = &[
    // A line that is no stack; the reference does not mention it where no line has a count.
    ("odd_folded_nocounts.txt", "bad-line"),
    // Threads of an event with and without periods, which the reference does not add up.
    ("odd_perf_heads.txt", "no-period"),
];

/// The same for what was read.
fn warnings_in(trace: &Trace) -> BTreeSet<String> {
    let kinds = trace.ledger.issues.iter().map(|issue| issue.kind.code);
    kinds
        .map(|code| match code {
            // Cut inside the packing.
            "packed-cut-off" => "truncated",
            // The reference doesn't tell apart what is left out.
            "stacks-ignored-value" => "bad-value",
            code => code.strip_prefix("stacks-").unwrap_or(code),
        })
        .map(str::to_string)
        .collect()
}

fn check(what: &str, result: Result<Trace, ImportError>, expected: &Value) {
    let format = expected["format"].as_str().unwrap();
    if expected.get("error").is_some() || ["empty", "unknown"].contains(&format) {
        let error = result.err().unwrap_or_else(|| panic!("{what}: read"));
        assert!(!error.what.is_empty(), "{what}");
        return;
    }
    let trace = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    let (_, id) = FORMATS.iter().find(|(theirs, _)| *theirs == format).unwrap();
    assert_eq!(trace.source.format, *id, "{what}");
    assert_eq!(trace.ledger.accounted_bytes(), trace.ledger.content_bytes, "{what}: {:?}", trace.ledger);
    let mut wanted = warnings_of(expected);
    let said_too = SAID_TOO.iter().filter(|(name, _)| what.starts_with(name));
    wanted.extend(said_too.map(|(_, kind)| kind.to_string()));
    assert_eq!(warnings_in(&trace), wanted, "{what}: {:?}", trace.ledger.issues);
    if let Some(n) = expected.get("bad_lines") {
        assert_eq!(Value::from(trace.ledger.count_of("stacks-bad-line")), *n, "{what}");
    }
    let profiles = expected["profiles"].as_array().unwrap();
    let got = &trace.stack_profiles;
    let names: Vec<_> = got.iter().map(|profile| trace.strings.get_opt(profile.name)).collect();
    assert_eq!(got.len(), profiles.len(), "{what}: {names:?}");
    for (number, (profile, expected)) in got.iter().zip(profiles).enumerate() {
        check_profile(&format!("{what}, profile {number}"), &trace, profile, expected);
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Integers keep all their digits only as text.
fn expected_in(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    // As far as it can be unpacked.
    _ = std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes), &mut content);
    content
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn all_files_equal_the_reference_in_all_ways_of_reading() {
    let mut n_by_format = BTreeMap::<String, u32>::new();
    let mut failed: Vec<String> = Vec::new();
    for (path, expected) in cases() {
        let (name, expected) = (name_of(&path), expected_in(&expected));
        let format = expected["format"].as_str().unwrap();
        let is_read = FORMATS.iter().any(|(theirs, _)| *theirs == format);
        if !is_read && !["empty", "unknown", "cleopatra", "pprof-legacy"].contains(&format) {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let first = std::panic::catch_unwind(|| check(name, support::import(name, &bytes, None), &expected));
        if first.is_err() {
            failed.push(name.to_string());
            continue;
        }
        for_each_cut(name, &bytes, None, &mut |how, result| {
            check(&format!("{name}, {how}"), result, &expected)
        });
        let is_packed = bytes.starts_with(b"\x1f\x8b");
        if is_packed && !name.contains("gz_cut") {
            let content = unpacked(&bytes);
            check(&format!("{name}, unpacked"), support::import("content", &content, None), &expected);
        } else if !is_packed {
            let result = support::import("content", &packed(&bytes), None);
            check(&format!("{name}, packed"), result, &expected);
        }
        *n_by_format.entry(format.to_string()).or_default() += 1;
    }
    assert!(failed.is_empty(), "{failed:?}");
    for (format, _) in FORMATS {
        assert!(n_by_format.contains_key(*format), "{format}: {n_by_format:?}");
    }
}

/// Exports of a session, by exporter.
fn exported(session: &mut Session, id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    session.export(export::find(id).unwrap(), &Options::default(), &mut out).unwrap();
    out
}

#[test]
fn an_index_says_the_same() {
    for path in all_files(&own_dir("stacks"), &[".txt", ".json", ".cpuprofile", ".pb.gz"]) {
        let name = name_of(&path);
        let bytes = std::fs::read(&path).unwrap();
        let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
        session.feed(&bytes);
        if session.finish().is_err() {
            continue;
        }
        let index = exported(&mut session, "index");
        let opened = Index::open(Rc::new(index.clone())).unwrap();
        let mut reopened = Session::of_index(opened, None, Query::default()).ok().unwrap();
        assert!(exported(&mut reopened, "json") == exported(&mut session, "json"), "{name}");
        assert!(exported(&mut reopened, "index") == index, "{name}");
    }
}

/// Name, self and total of each function.
type Sums = Vec<(String, String, String)>;

/// One profile in all formats: by function, all numbers are equal.
#[test]
fn one_profile_is_the_same_in_every_format() {
    let mut first: Option<(String, Sums)> = None;
    for path in data_dirs("stacks").iter().flat_map(|dir| files(dir, &[""])) {
        let name = name_of(&path).to_string();
        // Begins and ends join equal samples, and microseconds are no samples.
        if !name.starts_with("same") || ["evented", "cpuprofile"].iter().any(|part| name.contains(part)) {
            continue;
        }
        let trace = support::import(&name, &std::fs::read(&path).unwrap(), None).unwrap();
        let tree = CallTree::new(&trace, &[&trace.stack_profiles[0]]);
        let mut sums: Sums = tree
            .functions()
            .iter()
            .map(|sum| {
                let name = trace.strings.get(sum.function.0).to_string();
                (name, tree.amount(sum.self_weight).to_string(), tree.amount(sum.total).to_string())
            })
            .collect();
        sums.sort();
        match &first {
            Some((other, wanted)) => assert_eq!(sums, *wanted, "{name} and {other}"),
            None => first = Some((name, sums)),
        }
    }
    assert!(first.is_some());
}

/// CPython compresses samples with zstd: what unpacks before the damage is read, and said to be cut.
#[test]
fn damaged_zstd_samples_are_read_as_far_as_they_unpack() {
    let dir = own_dir("stacks");
    let bytes = std::fs::read(dir.join("odd_tachyon_zstd_blocks.bin")).unwrap();
    let n_samples = |bytes: &[u8]| {
        let trace = support::import("a.bin", bytes, None).unwrap();
        let n: usize = trace.stack_profiles.iter().map(StackProfile::len).sum();
        (n, trace.ledger.count_of("stacks-truncated"))
    };
    assert_eq!(n_samples(&bytes), (40_000, 0));
    let mut damaged = bytes.clone();
    let middle = bytes.len() / 2;
    damaged[middle..middle + 40].fill(0xff);
    // The samples end early, and the last one of them is cut.
    let (n, n_cut) = n_samples(&damaged);
    assert!((1..40_000).contains(&n) && n_cut == 2, "{n} {n_cut}");
    // Not zstd at all.
    let mut plain = bytes;
    plain[64..72].fill(0);
    assert_eq!(n_samples(&plain), (0, 1));
}

/// Summary and notes of the report on functions.
fn told(text: &str) -> (String, Vec<String>) {
    let run = Run::single(import("a.txt", text.as_bytes(), None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = reports.iter().find(|report| report.id == "stack-functions").unwrap();
    let notes = report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) => Some(note.text.clone()),
        _ => None,
    });
    (report.summary.clone(), notes.collect())
}

#[test]
fn a_thread_is_no_hottest_function() {
    let speedscope = |samples: &str, weights: &str| {
        format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json",
            "shared":{{"frames":[{{"name":"thread (7): MainThread"}},{{"name":"main","file":"a.py"}},{{"name":"fib","file":"a.py"}}]}},
            "profiles":[{{"type":"sampled","name":"t","unit":"seconds","startValue":0,"endValue":10,
            "samples":{samples},"weights":{weights}}}]}}"#
        )
    };
    let (summary, notes) = told(&speedscope("[[0],[0,1,2],[0,1]]", "[6,3,1]"));
    assert_eq!(summary, "fib is hottest: 30.0% self (3.000 s of 10.00 s).");
    assert!(notes.is_empty(), "{notes:?}");
    // Without any function, the thread is all there is.
    let (summary, _) = told(&speedscope("[[0]]", "[10]"));
    assert_eq!(summary, "thread (7): MainThread is hottest: 100.0% self (10.00 s of 10.00 s).");
}

#[test]
fn functions_without_symbols_come_with_advice() {
    let (summary, notes) = told("main;[unknown] 9\nmain;read 1\n");
    assert_eq!(summary, "[unknown] is hottest: 90.0% self (9 of 10 samples).");
    assert!(notes[0].starts_with("90.0% of self weight is in functions without a name"), "{notes:?}");
    assert!(told("main;[unknown] 1\nmain;read 19\n").1.is_empty());
}

#[test]
fn profiles_without_weight_above_zero_say_so() {
    // All samples have stacks.
    assert_eq!(told("main;a 0\nmain;b 0\n").0, "The weights of 2 samples add up to 0.");
    // 5 of 7 are 71.4%.
    assert_eq!(told("main;a -5\nmain;b -2\n").0, "a has the most: 71.4% self (−5 of −7 samples).");
    // All functions are new: there is nothing before.
    assert_eq!(told("main;a 0 5\nmain;b 0 3\n").0, "a is hottest by after: 62.5% self (5 of 8 samples).");
}

/// Name and value of the file's metadata in the report on functions.
fn metadata_of(name: &str, content: &[u8]) -> Vec<(String, String)> {
    let run = Run::single(import(name, content, None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = reports.iter().find(|report| report.id == "stack-functions").unwrap();
    let table = report.tables().find(|table| table.id == "metadata").unwrap();
    let cell = |column: &str, row| table.column(column).unwrap().cells.get(row).plain();
    (0..table.n_rows()).map(|row| (cell("name", row), cell("value", row))).collect()
}

#[test]
fn markers_of_firefox_are_counted_by_name() {
    let gecko = br#"{"meta":{"version":36,"interval":1,"startTime":0,"processType":0},"libs":[],"threads":[{"name":"T","pid":1,"tid":1,
        "samples":{"schema":{"stack":0,"time":1},"data":[[0,1.0]]},
        "markers":{"schema":{"name":0,"startTime":1},"data":[[1,1.0],[2,1.5],[1,2.0]]},
        "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
        "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["main","GC","Paint"]}],"processes":[]}"#;
    let processed = br#"{"meta":{"preprocessedProfileVersion":57,"version":31,"interval":1,"startTime":0},
        "shared":{"stringArray":["main","GC","Paint"]},"threads":[{"name":"T","pid":"1","tid":"1",
        "samples":{"length":1,"stack":[0],"time":[1]},
        "markers":{"length":3,"name":[1,2,1],"startTime":[1,1.5,2]},
        "stackTable":{"length":1,"frame":[0],"prefix":[null]},"frameTable":{"length":1,"func":[0]},
        "funcTable":{"length":1,"name":[0]}}]}"#;
    for content in [&gecko[..], processed] {
        let metadata = metadata_of("a.json", content);
        assert!(metadata.contains(&("interval".to_string(), "1".to_string())), "{metadata:?}");
        assert!(metadata.contains(&("markers".to_string(), "GC (2), Paint (1)".to_string())), "{metadata:?}");
    }
}

#[test]
fn samples_without_times_are_not_said_to_be_spread() {
    let profile = |end: &str| {
        format!(
            r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1}},
            "children":[2]}},{{"id":2,"callFrame":{{"functionName":"f","url":"a.js","lineNumber":0,"columnNumber":0}}}}],
            "startTime":1000,{end}"samples":[2,2]}}"#
        )
    };
    for (end, code, unit) in
        [("", "stacks-counted", "samples"), (r#""endTime":2000,"#, "stacks-no-times", "microseconds")]
    {
        let trace = import("a.cpuprofile", profile(end).as_bytes(), None).unwrap();
        assert_eq!(trace.ledger.count_of(code), 1, "{:?}", trace.ledger.issues);
        assert_eq!(trace.strings.get(trace.stack_profiles[0].unit), unit);
    }
}

#[test]
fn kinds_of_values_of_one_name_stay_apart() {
    // Two sample types "t" in "u", and one sample of function "f" with 5 and 6.
    let profile = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x01\x10\x02\x12\x06\x08\x01\x10\x05\x10\x06\
        \x22\x06\x08\x01\x22\x02\x08\x01\x2a\x04\x08\x01\x10\x03\x32\x00\x32\x01t\x32\x01u\x32\x01f";
    let trace = import("a.pb", profile, None).unwrap();
    let weights = Weight::all(&trace);
    let of_weight =
        |weight: &Weight<'_>| (weight.name(), CallTree::new(&trace, &weight.profiles).weights.total);
    let all: BTreeSet<_> = weights.iter().map(of_weight).collect();
    assert_eq!(all, BTreeSet::from([("t".to_string(), 5), ("t (2)".to_string(), 6)]));
}

#[test]
fn parts_of_a_nanosecond_are_kept() {
    // The third sample has no stack, so 5 + 1.5 are all.
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"a"}]},
        "profiles":[{"type":"sampled","name":"t","unit":"nanoseconds","startValue":0,"endValue":7.5,
        "samples":[[0,1],[0],[]],"weights":[5,1.5,1]}]}"#;
    let run = Run::single(import("a.json", text.as_bytes(), None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = reports.iter().find(|report| report.id == "stack-functions").unwrap();
    let table = report.tables().find(|table| table.id == "functions").unwrap();
    let column = |id: &str| (0..2).map(|row| table.column(id).unwrap().cells.get(row)).collect::<Vec<_>>();
    assert_eq!(column("self"), [Cell::Float(5.0), Cell::Float(1.5)]);
    assert_eq!(column("total"), [Cell::Float(5.0), Cell::Float(6.5)]);
}

/// Facts of the report on functions, by label.
fn facts_of(text: &str) -> Vec<String> {
    let run = Run::single(import("a.txt", text.as_bytes(), None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = reports.iter().find(|report| report.id == "stack-functions").unwrap();
    let facts = report.blocks.iter().find_map(|block| match block {
        Block::Facts(facts) => Some(facts.facts.iter().map(|it| format!("{}: {}", it.label, it.display()))),
        _ => None,
    });
    facts.unwrap().collect()
}

#[test]
fn facts_of_stacks_say_each_number_once() {
    let has =
        |facts: &[String], label: &str| facts.iter().any(|fact| fact.starts_with(&format!("{label}: ")));
    let each_once = facts_of("main;a 1\nmain;b 1\n");
    assert_eq!(each_once[0], "Total: 2 samples");
    assert!(!has(&each_once, "Unit") && !has(&each_once, "Sample records"), "{each_once:?}");
    // A line stands for several samples, and a thread without frames has no stack.
    let summed = facts_of("thread (7): MainThread 6\nthread (7): MainThread;main;fib 3\nthread (7);main 1\n");
    assert_eq!(
        summed[..4],
        [
            "Total: 4 samples",
            "Sample records: 3",
            "Samples without a stack: 1",
            "Weight without a stack: 6 samples"
        ]
    );
}

/// A file as an exporter writes it, and what is missing there; or why it cannot.
fn written_as(name: &str, text: &str, exporter: &str, cut: Cut) -> Result<(Vec<u8>, Vec<String>), String> {
    written_from(name, text.as_bytes(), exporter, cut)
}

fn written_from(
    name: &str,
    bytes: &[u8],
    exporter: &str,
    cut: Cut,
) -> Result<(Vec<u8>, Vec<String>), String> {
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.feed(bytes);
    session.finish().unwrap();
    let (mut out, options) = (Vec::new(), Options { cut, ..Options::default() });
    let exporter = export::find(exporter).unwrap();
    let left_out = session.export(exporter, &options, &mut out).map_err(|error| error.to_string())?;
    Ok((out, left_out.0))
}

/// Collapsed stacks of a part of a profile, by line, or why there are none.
fn part_of(name: &str, text: &str, cut: Cut) -> Result<Vec<String>, String> {
    let (out, _) = written_as(name, text, "collapsed-samples", cut)?;
    Ok(String::from_utf8(out).unwrap().lines().map(|line| line.trim().to_string()).collect())
}

/// A file as the Firefox Profiler has it, and what is missing there.
fn as_firefox(name: &str, text: &str) -> (Value, Vec<String>) {
    let (bytes, left_out) = written_as(name, text, "firefox", Cut::default()).unwrap();
    (serde_json::from_slice(&bytes).unwrap(), left_out)
}

/// Times of the samples of each thread.
fn times_of(profile: &Value) -> Vec<Value> {
    profile["threads"].as_array().unwrap().iter().map(|thread| thread["samples"]["time"].clone()).collect()
}

#[test]
fn threads_share_the_time_axis_of_a_firefox_export() {
    // From 10 s on, in milliseconds: the second thread has its sample 0.5 ms after the first, the third 4 ms after.
    let perf = "a 1/1 10.000000: 1 cycles:\n\t1 f+0x0 (/a)\n\na 1/1 10.001000: 1 cycles:\n\t1 f+0x0 (/a)\n\n\
                a 1/2 10.000500: 1 cycles:\n\t1 f+0x0 (/a)\n\nb 3/3 10.004000: 1 cycles:\n\t1 f+0x0 (/a)\n\n";
    let (profile, left_out) = as_firefox("a.txt", perf);
    assert_eq!(times_of(&profile), [serde_json::json!([0, 1]), [0.5].into(), [4].into()]);
    assert_eq!(profile["meta"]["profilingEndTime"], 4);
    assert_eq!(left_out, ["weights by cycles, samples"]);
    // Other units are on it too: 90 ms is 85 ms after 0.005 s.
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"s","unit":"seconds","startValue":0.005,"endValue":0.007,"samples":[[0]],"weights":[0.002]},
        {"type":"sampled","name":"t","unit":"milliseconds","startValue":90,"endValue":97,"samples":[[0]],"weights":[7]}]}"#;
    let (profile, _) = as_firefox("a.json", text);
    assert_eq!(times_of(&profile)[0], serde_json::json!([0]));
    assert_eq!(profile["meta"]["profilingEndTime"], 92);
}

#[test]
fn a_firefox_export_invents_no_times() {
    let (profile, left_out) = as_firefox("a.txt", "main;f 3\nmain;g 4\nmain 1\n");
    assert_eq!(times_of(&profile), [serde_json::json!([0, 0, 0])]);
    assert_eq!((&profile["meta"]["sampleUnits"]["time"], &left_out[..]), (&"bytes".into(), &[][..]));
    let again = import("a.json", profile.to_string().as_bytes(), None).unwrap();
    let first = &again.stack_profiles[0];
    assert_eq!((first.span, first.time.is_empty(), first.len()), (None, true, 3));
    assert_eq!(Weight::all(&again)[0].duration_ns(), None);
    // The time of the second sample is no number.
    let gecko = r#"{"meta":{"version":36,"interval":1,"startTime":0,"processType":0},"libs":[],"threads":[{"name":"T","pid":1,"tid":1,
        "samples":{"schema":{"stack":0,"time":1},"data":[[0,1.0],[0,"x"],[0,2.5]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
        "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["main"]}],"processes":[]}"#;
    let (profile, left_out) = as_firefox("a.json", gecko);
    assert_eq!(times_of(&profile), [serde_json::json!([0, 0, 1.5])]);
    assert_eq!(left_out, ["times of 1 sample, which has none (written with the time of the sample before)"]);
}

#[test]
fn a_line_with_only_a_count_is_a_sample_without_a_stack() {
    let trace = import("a.txt", b"a 5\nb 3\n 9\n", None).unwrap();
    let weights = CallTree::new(&trace, &trace.stack_profiles.iter().collect::<Vec<_>>()).weights;
    assert_eq!((weights.total, weights.no_stack, weights.n_no_stack), (8, 9, 1));
    // Numbers alone could be anything.
    assert!(import("a.txt", b" 5\n 9\n", None).is_err());
}

/// A pprof profile of CPU time by hand: `main;work` for 30 ms in thread A and 10 ms in thread B, and 20 ms without a stack; a sample
/// every 10 ms, 35 ms in all. Or the same numbers of another unit.
fn pprof_of_two_threads(unit: &str) -> Vec<u8> {
    let texts = ["", "samples", "count", "cpu", unit, "main", "work", "thread", "A", "B"];
    let text = |text: &str| texts.iter().position(|known| *known == text).unwrap() as u64;
    let message = |fields: &[(u64, u64)]| {
        let mut out = Vec::new();
        fields.iter().for_each(|(field, value)| out.number(*field, *value));
        out
    };
    let mut out = Vec::new();
    for (name, unit) in [("samples", "count"), ("cpu", unit)] {
        out.bytes(1, &message(&[(1, text(name)), (2, text(unit))]));
    }
    for (id, name) in [(1, "main"), (2, "work")] {
        out.bytes(5, &message(&[(1, id), (2, text(name))]));
        let mut location = message(&[(1, id)]);
        location.bytes(4, &message(&[(1, id)]));
        out.bytes(4, &location);
    }
    for (n, thread) in [(3, Some("A")), (1, Some("B")), (2, None)] {
        // The innermost location comes first.
        let locations: &[(u64, u64)] = if thread.is_some() { &[(1, 2), (1, 1)] } else { &[] };
        let mut sample = message(locations);
        sample.extend(message(&[(2, n), (2, n * 10_000_000)]));
        if let Some(thread) = thread {
            sample.bytes(3, &message(&[(1, text("thread")), (2, text(thread))]));
        }
        out.bytes(2, &sample);
    }
    out.extend(message(&[(9, 1_700_000_000_000_000_000), (10, 35_000_000), (12, 10_000_000)]));
    out.bytes(11, &message(&[(1, text("cpu")), (2, text(unit))]));
    texts.iter().for_each(|text| out.bytes(6, text.as_bytes()));
    out
}

#[test]
fn pprof_keeps_a_sample_with_several_values_as_one() {
    let (bytes, left_out) =
        written_from("a.pb", &pprof_of_two_threads("nanoseconds"), "pprof", Cut::default()).unwrap();
    assert_eq!(left_out, ["labels of samples: thread (2 values)"]);
    let again = import("a.pb.gz", &bytes, None).unwrap();
    // One for the stack of both threads, whose labels are no part of the trace, and one without a stack.
    assert_eq!(again.ledger.kept.records, 2);
    let sums = |profile: &StackProfile| (0..profile.len()).map(|row| profile.weight.digits_at(row)).collect();
    let all: Vec<Vec<Option<i128>>> = again.stack_profiles.iter().map(sums).collect();
    // Without another word, the last type is the one to show.
    assert_eq!(all, [[Some(40_000_000), Some(20_000_000)], [Some(4), Some(2)]]);
    let mut facts = again.source.metadata.clone();
    facts.retain(|(name, _)| name != "comment");
    let wanted = [
        ("time_nanos", "1700000000000000000"),
        ("duration_nanos", "35000000"),
        ("period", "10000000"),
        ("period_type", "cpu (nanoseconds)"),
    ];
    assert_eq!(facts, wanted.map(|(name, value)| (name.to_string(), value.to_string())));
    let (_, left_out) = written_from("a.pb.gz", &bytes, "pprof", Cut::default()).unwrap();
    assert_eq!(left_out, [""; 0]);
    // A unit that only the file knows stays, too.
    let (bytes, _) =
        written_from("a.pb", &pprof_of_two_threads("kilobytes"), "pprof", Cut::default()).unwrap();
    let again = import("a.pb.gz", &bytes, None).unwrap();
    let units: Vec<&str> = Weight::all(&again).iter().map(Weight::unit).collect();
    assert_eq!(units, ["kilobytes", "count"]);
    // Times of another format say how long it took: from 0 to 4 s.
    let (bytes, _) = written_as("a.json", OF_ONE_NAME, "pprof", Cut::default()).unwrap();
    let again = import("a.pb.gz", &bytes, None).unwrap();
    assert_eq!(again.source.metadata[0], ("duration_nanos".to_string(), "4000000000".to_string()));
}

#[test]
fn a_refused_export_says_what_a_stack_profile_lacks() {
    // It has samples, but a Chrome trace and a Perfetto trace have no place for weighted stacks.
    for (id, needs) in [
        ("chrome-trace", "forward passes or samples (not those of stack profiles); this file"),
        ("chrome-trace-gz", "forward passes or samples with times (not those of stack profiles); this file"),
        ("perfetto", "needs slices, counters or memory accesses; this file"),
    ] {
        let why = written_as("a.txt", "main;f 3\n", id, Cut::default()).unwrap_err();
        assert!(why.contains(needs) && why.ends_with("has none. Export as Firefox Profiler"), "{id}: {why}");
    }
}

#[test]
fn weights_without_a_unit_are_named_as_such() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"t","unit":"bytes","startValue":0,"endValue":7,"samples":[[0]],"weights":[7]},
        {"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":2,"samples":[[0]],"weights":[2]}]}"#;
    let trace = import("a.json", text.as_bytes(), None).unwrap();
    let names: Vec<String> = Weight::all(&trace).iter().map(Weight::name).collect();
    assert_eq!(names, ["bytes", "weight"]);
    let (_, left_out) = written_as("a.json", text, "collapsed-samples", Cut::default()).unwrap();
    assert_eq!(left_out, ["weights without a unit"]);
}

#[test]
fn exports_say_which_unit_they_lack() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"t","unit":"kilobytes","startValue":0,"endValue":7,"samples":[[0]],"weights":[7]}]}"#;
    for id in ["speedscope", "firefox"] {
        let (_, left_out) = written_as("a.json", text, id, Cut::default()).unwrap();
        assert_eq!(left_out, ["the unit kilobytes"], "{id}");
        let (_, left_out) = written_as("a.txt", "main;f 3\n", id, Cut::default()).unwrap_or_default();
        assert_eq!(left_out, [""; 0], "{id}");
    }
}

#[test]
fn exports_say_which_digits_they_lack() {
    let all = Cut::default();
    let missing = |text: &str| written_as("a.txt", text, "pprof", all).unwrap().1;
    assert_eq!(missing("main;a 9007199254740993\n"), ["the last digits of 1 weight of 2^53 or more"]);
    assert_eq!(missing("main;a 9007199254740991\n"), [""; 0]);
    let beyond = "main;a 9223372036854775808\nmain;b 1.5\n";
    assert_eq!(missing(beyond), ["fractions of 1 weight", "the part of 1 weight beyond 64 bits"]);
    let deep = |n: usize| format!("{} 1\nf 2\n", vec!["f"; n].join(";"));
    let missing = |text: &str| written_as("a.txt", text, "collapsed-samples", all).unwrap().1;
    assert_eq!(missing(&deep(2000)), [""; 0]);
    assert_eq!(missing(&deep(2001)), ["frames deeper than 2,000, in 1 line"]);
}

#[test]
fn collapsed_stacks_read_back_as_what_they_were() {
    let frames = |names: &str, weights: &str| {
        format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{names}]}},
            "profiles":[{{"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":12,"samples":[[0],[1]],"weights":[{weights}]}}]}}"#
        )
    };
    let all = Cut::default();
    // Two numbers at the end of all lines would be a difference, and a number sign starts a comment.
    let numbered = frames(r#"{"name":"worker 1"},{"name":"worker 2"}"#, "5,7");
    let lines = part_of("a.json", &numbered, all).unwrap();
    assert_eq!(lines, ["worker\u{a0}1 5", "worker\u{a0}2 7"]);
    let again = import("a.txt", lines.join("\n").as_bytes(), None).unwrap();
    assert_eq!(again.stack_profiles.len(), 1);
    let lines = part_of("a.json", &frames(r##"{"name":"#inc"},{"name":"f"}"##, "5,7"), all).unwrap();
    assert_eq!(n_rows_of("a.txt", &lines.join("\n"), "functions"), 2, "{lines:?}");
    // Functions of two modules or files stay two.
    let placed = frames(r#"{"name":"f","file":"a.so"},{"name":"f","file":"b.so"}"#, "5,7");
    assert_eq!(part_of("a.json", &placed, all).unwrap(), ["f (a.so) 5", "f (b.so) 7"]);
}

/// A speedscope file of two sampled profiles with one name: 3 s of `main;a` and 1 s of `main`; then 4 s of `main`.
const OF_ONE_NAME: &str = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json",
    "shared":{"frames":[{"name":"main"},{"name":"a"}]},"profiles":[
    {"type":"sampled","name":"t","unit":"seconds","startValue":0,"endValue":4,"samples":[[0,1],[0]],"weights":[3,1]},
    {"type":"sampled","name":"t","unit":"seconds","startValue":0,"endValue":4,"samples":[[0]],"weights":[4]}]}"#;

#[test]
fn a_part_of_a_profile_has_its_samples_and_outer_frames() {
    let ms = 1_000_000;
    let window = |from, to| Cut { window: Some((from, to)), max_depth: None };
    // Samples at 0, 1, 2 and 4 ms, of which the last has no stack; weights are periods.
    let perf = "app 7/8 [000] 100.000000: 1000 cycles:u:\n\t1040 parse+0x1 (/app)\n\t1000 main+0x0 (/app)\n\n\
                app 7/8 [000] 100.001000: 3000 cycles:u:\n\t1000 main+0x5 (/app)\n\n\
                app 7/8 [001] 100.002000: 2000 cycles:u:\n\t1000 main+0x0 (/app)\n\n\
                app 7/8 [001] 100.004000: 500 cycles:u:\n\n";
    assert_eq!(
        part_of("a.txt", perf, window(0, ms)).unwrap(),
        ["main (/app) 3000", "main (/app);parse (/app) 1000"]
    );
    assert_eq!(part_of("a.txt", perf, window(2 * ms, 9 * ms)).unwrap(), ["main (/app) 2000", "500"]);
    let outer = Cut { window: None, max_depth: Some(1) };
    assert_eq!(part_of("a.txt", perf, outer).unwrap()[0], "main (/app) 6000");
    // A sample that lasts has its time in the range: 2 s of 3, half a second of 1, and 2.5 s of 4.
    let lines = part_of("a.json", OF_ONE_NAME, window(1_000 * ms, 3_500 * ms)).unwrap();
    assert_eq!(lines, ["t;main 0.5", "t;main;a 2", "t #2;main 2.5"]);
    // Nothing says when these were.
    let why = part_of("a.txt", "main;f 3\nmain;g 4\n", window(0, ms)).unwrap_err();
    assert!(why.contains("needs times"), "{why}");
    assert_eq!(part_of("a.txt", "main;f 3\nmain;g 4\n", outer).unwrap(), ["main 7"]);
}

/// The report on functions of a range of a profile, in milliseconds from its start.
fn report_of_range(text: &str, (from, to): (i64, i64)) -> tracedrop::report::Report {
    let mut session = Session::new("a.json", text.len() as u64, None, Query::default());
    session.hold_only_from_start(from * 1_000_000, to * 1_000_000);
    session.feed(text.as_bytes());
    session.finish().unwrap();
    let reports = tracedrop::analysis::reports(session.run(), &Query::default());
    reports.into_iter().find(|report| report.id == "stack-functions").unwrap()
}

/// A fact by its label, of each weight that has it.
fn facts_with(report: &tracedrop::report::Report, label: &str) -> Vec<String> {
    let facts = report.blocks.iter().filter_map(|block| match block {
        Block::Facts(facts) => Some(&facts.facts),
        _ => None,
    });
    facts.flatten().filter(|fact| fact.label == label).map(|fact| fact.display()).collect()
}

/// Speedscope profiles by unit, each with 2 of `f` from 0 on and 3 of `g`.
fn profiles_by_unit(units: &[&str]) -> String {
    let profile = |unit: &&str| {
        format!(
            r#"{{"type":"sampled","name":"{unit}","unit":"{unit}","startValue":0,"endValue":5,"samples":[[0],[1]],"weights":[2,3]}}"#
        )
    };
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"f"}},{{"name":"g"}}]}},
        "profiles":[{}]}}"#,
        units.iter().map(profile).collect::<Vec<_>>().join(",")
    )
}

#[test]
fn a_range_is_of_what_has_times() {
    // The first millisecond has half of f; bytes have no times.
    let report = report_of_range(&profiles_by_unit(&["milliseconds", "bytes"]), (0, 1));
    assert_eq!(facts_with(&report, "Total"), ["1.000 ms", "5 B"]);
    let ranges = facts_with(&report, "Time range");
    assert_eq!(ranges.last().map(String::as_str), Some("whole file (no times)"), "{ranges:?}");
    // Only T's sample at 2 ms is in the range from 1 ms on; U has one at 0.
    let gecko = r#"{"meta":{"version":36,"interval":1,"startTime":0,"processType":0},"libs":[],"threads":[
        {"name":"T","pid":1,"tid":1,"samples":{"schema":{"stack":0,"time":1},"data":[[0,0.5],[0,2.0]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
        "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["main"]},
        {"name":"U","pid":1,"tid":2,"samples":{"schema":{"stack":0,"time":1},"data":[[0,0.0]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
        "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["main"]}],"processes":[]}"#;
    assert_eq!(facts_with(&report_of_range(gecko, (1, 3)), "Threads"), ["1"]);
    assert_eq!(report_of_range(gecko, (1, 1)).summary, "No samples in the chosen time range.");
}

/// Samples that are left out are skipped, not only noted.
#[test]
fn samples_that_are_left_out_are_skipped() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"s","unit":"none","startValue":0,"endValue":1,"samples":[[0],[0],[0]],"weights":["5",null,2]}]}"#;
    let trace = import("a.json", text.as_bytes(), None).unwrap();
    assert_eq!((trace.ledger.kept.records, trace.ledger.skipped.records), (1, 2));
    assert_eq!(trace.ledger.issue("stacks-bad-value").unwrap().kind.severity, Severity::Skipped);
}

#[test]
fn the_last_sample_ends_a_profile() {
    // 1 + 7 s from 0 on, though the file ends at 0.03 s.
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"s","unit":"seconds","startValue":0,"endValue":0.03,"samples":[[0],[0]],"weights":[1,7]}]}"#;
    let trace = import("a.json", text.as_bytes(), None).unwrap();
    assert_eq!(Weight::all(&trace)[0].duration_ns(), Some(8_000_000_000));
    assert_eq!(trace.ledger.count_of("stacks-end-before-last"), 1);
    // Sums of doubles are off by less.
    let rounded = text.replace("0.03", "7.9999999999");
    assert_eq!(
        import("a.json", rounded.as_bytes(), None).unwrap().ledger.count_of("stacks-end-before-last"),
        0
    );
}

#[test]
fn weights_in_other_units_of_time_have_names_of_their_own() {
    let trace = import("a.json", profiles_by_unit(&["milliseconds", "seconds"]).as_bytes(), None).unwrap();
    let names: Vec<String> = Weight::all(&trace).iter().map(Weight::compared_name).collect();
    assert_eq!(names, ["time", "time (seconds)"]);
}

#[test]
fn a_skipped_stack_is_shown_whole() {
    let trace = import("a.txt", b"main;f;g\nmain;f 3\n", None).unwrap();
    let examples: Vec<String> = trace.ledger.issues.iter().map(|issue| format!("{:?}", issue)).collect();
    assert!(examples.iter().any(|issue| issue.contains("main;f;g")), "{examples:?}");
}

/// Rows of a table of the report on functions.
fn n_rows_of(name: &str, text: &str, table: &str) -> usize {
    let run = Run::single(import(name, text.as_bytes(), None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = reports.iter().find(|report| report.id == "stack-functions").unwrap();
    report.tables().find(|known| known.id == table).map_or(0, |table| table.n_rows())
}

#[test]
fn profiles_of_one_name_are_threads_of_their_own() {
    assert_eq!(n_rows_of("a.json", OF_ONE_NAME, "threads"), 2);
}

#[test]
fn own_collapsed_stacks_have_their_threads_again() {
    let text = "T1 (thread 1, process 1);main (app.py:10) 5\nT1 (thread 1, process 1);f (lib.so) 2\nT1 (thread 1, process 2);f (lib.so) 4\n 3\n";
    assert_eq!((n_rows_of("a.txt", text, "threads"), n_rows_of("a.txt", text, "functions")), (3, 2));
    // app.py and lib.so
    assert_eq!(n_rows_of("a.txt", text, "files"), 2);
    let all = Cut { window: None, max_depth: None };
    // The samples without a stack are of no thread.
    let lines = part_of("a.txt", text, all).unwrap();
    assert!(text.lines().all(|line| lines.iter().any(|known| known == line.trim())), "{lines:?}");
}

#[test]
fn processes_of_firefox_are_on_one_axis() {
    // The child started 4 s after the parent; both have samples at 1 and 11 ms of their own time: 4,010 ms from first to last.
    let process = |start: u32, pid: u32, processes: &str| {
        format!(
            r#"{{"meta":{{"version":36,"interval":1,"startTime":{start},"processType":0,"stackwalk":1}},"libs":[],
            "threads":[{{"name":"t","pid":{pid},"tid":{pid},"samples":{{"schema":{{"stack":0,"time":1}},"data":[[0,1.0],[0,11.0]]}},
            "stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[[null,0]]}},
            "frameTable":{{"schema":{{"location":0}},"data":[[0]]}},"stringTable":["main"]}}],"processes":[{processes}]}}"#
        )
    };
    let trace = import("a.json", process(1000, 1, &process(5000, 2, "")).as_bytes(), None).unwrap();
    let spans: Vec<_> = trace.stack_profiles.iter().map(|it| (it.span, it.span_of_file())).collect();
    let ms = |a: i32, b: i32| Some((Amount::whole(a), Amount::whole(b)));
    assert_eq!(spans, [(ms(1, 11), ms(1, 11)), (ms(1, 11), ms(4001, 4011))]);
    let weights = tracedrop::analysis::stack_functions::Weight::all(&trace);
    assert_eq!(weights[0].duration_ns(), Some(4_010_000_000));
}
