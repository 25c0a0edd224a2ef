//! Exports for tools that draw flame graphs: valid by the formats' own rules, and with the times of our reports.

use crate::support::{data_dirs, files, import, own_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tracedrop::analysis::{self, Query};
use tracedrop::export::{self, Input, Options};
use tracedrop::import::FORMATS;
use tracedrop::report::{Cells, Document, Report};
use tracedrop::trace::cut::{Cut, is_of_window};
use tracedrop::trace::samples::StackId;
use tracedrop::trace::slices::Class;
use tracedrop::trace::stack_profiles::StackProfile;
use tracedrop::trace::{Run, Trace};

/// What the exporter `id` writes of `run`; `None` if it has nothing to write.
fn written(id: &str, run: &Run) -> Option<Vec<u8>> {
    let exporter = export::find(id).unwrap();
    let document = Document {
        title: "trace".to_string(),
        source: Vec::new(),
        ledger: Report::new("ledger", "Read"),
        reports: &[],
    };
    let (query, options) = (Query::default(), Options::default());
    let input = Input::new(run, &document, &query, &options);
    (exporter.applies)(run).then(|| export::to_bytes(exporter, &input))
}

fn json(bytes: &[u8]) -> Value {
    // Deep trees do not occur in these formats, so the parser's limit is none.
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Traces of all formats that have slices or samples.
fn traces() -> Vec<(String, Trace)> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for (system, endings) in
        [("chrome", [".json", ".gz"]), ("pytorch", [".json", ".gz"]), ("pysampling", [".jsonl", ".jsonl"])]
    {
        for dir in data_dirs(system) {
            paths.extend(files(&dir, &endings));
        }
    }
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        // The largest are of the same make as others.
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        (bytes.len() < 1 << 20).then(|| import(&name, &bytes, None).ok())?.map(|trace| (name, trace))
    };
    paths.into_iter().filter_map(read).collect()
}

/// As the collapsed format writes a name.
fn as_written(name: &str) -> String {
    let name = tracedrop::base::text::visible(&name.replace(';', ":"));
    match name.rsplit_once(' ') {
        Some((before, number)) if tracedrop::base::text::is_decimal(number) => {
            format!("{before}\u{a0}{number}")
        }
        _ => name,
    }
}

/// Self time of thread slices by name, as the report says.
fn reported(run: &Run) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    let reports = analysis::reports(run, &Query::default());
    // Wrappers that sum up what others hold have a table of their own.
    let tables = reports.iter().filter(|report| report.id == "slices").flat_map(|report| report.tables());
    for table in tables.filter(|table| ["slices", "summaries"].contains(&table.id.as_ref())) {
        assert_eq!(table.n_left_out, 0);
        let names = table.column("name").unwrap();
        let Cells::Integer(self_ns) = &table.column("self").unwrap().cells else { panic!("no integers") };
        for (row, ns) in self_ns.iter().enumerate() {
            *sums.entry(as_written(&names.cells.get(row).plain())).or_default() += ns.unwrap();
        }
    }
    sums.retain(|_, ns| *ns > 0);
    sums
}

/// Weights by leaf of collapsed stacks.
fn by_leaf(text: &str) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let leaf = stack.rsplit(';').next().unwrap();
        *sums.entry(leaf.to_string()).or_default() += weight.parse::<i64>().unwrap();
    }
    sums
}

fn is_deep(trace: &Trace) -> bool {
    trace.slices.depth.iter().any(|depth| depth > 1900)
}

#[test]
fn collapsed_stacks_add_up_to_the_self_times_of_the_report() {
    let mut n_checked = 0;
    for (name, trace) in traces() {
        let run = Run::single(trace);
        let expected = reported(&run);
        match written("collapsed", &run) {
            None => assert!(expected.is_empty(), "{name}"),
            Some(_) if is_deep(&run.traces[0]) => {}
            Some(bytes) => {
                n_checked += 1;
                assert_eq!(by_leaf(std::str::from_utf8(&bytes).unwrap()), expected, "{name}");
            }
        }
    }
    assert!(n_checked > 30, "{n_checked}");
}

#[test]
fn samples_by_place_keep_their_counts() {
    for (name, trace) in traces() {
        let counts: u128 = trace.profiles.iter().map(|profile| profile.sum_self()).sum();
        let weights: f64 = trace.samples.weight.iter().filter(|weight| weight.is_finite()).sum();
        let expected = counts as f64 + weights;
        let run = Run::single(trace);
        let Some(bytes) = written("collapsed-samples", &run) else { continue };
        let text = String::from_utf8(bytes).unwrap();
        let weight = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
        let sum: f64 = text.lines().map(weight).sum();
        assert!((sum - expected).abs() <= expected.abs() * 1e-12, "{name}: {sum} {expected}");
    }
}

/// Whether `value` is as `schema` says; the part of JSON Schema that the schema of speedscope uses.
fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return true };
    schema.iter().all(|(word, rule)| match word.as_str() {
        "$ref" => {
            let name = rule.as_str().unwrap().strip_prefix("#/definitions/").unwrap();
            is_valid(value, &root["definitions"][name], root)
        }
        "anyOf" => rule.as_array().unwrap().iter().any(|schema| is_valid(value, schema, root)),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            other => panic!("type {other}"),
        },
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "required" => rule.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
        "properties" => rule
            .as_object()
            .unwrap()
            .iter()
            .all(|(key, schema)| value.get(key).is_none_or(|member| is_valid(member, schema, root))),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| is_valid(item, rule, root))),
        "title" | "definitions" | "$schema" | "description" => true,
        other => panic!("the schema has {other}"),
    })
}

/// The longest that a child outlasts its parent by, in all of a trace.
fn slack(trace: &Trace) -> i64 {
    let (slices, end) = (&trace.slices, trace.span().map_or(0, |(_, end)| end));
    let over = |i: usize| {
        let parent = slices.parent[i].some().filter(|_| Class::of(slices.kind[i]) != Class::Instant)?;
        Some(slices.end(i, end) - slices.end(parent.0 as usize, end)).filter(|over| *over > 0)
    };
    (0..slices.len()).filter_map(over).sum()
}

#[test]
fn speedscope_files_are_valid_and_nested() {
    let schema = json(&std::fs::read(own_dir("speedscope").join("file-format-schema.json")).unwrap());
    let mut n_checked = 0;
    for (name, trace) in traces() {
        let slack = slack(&trace);
        let run = Run::single(trace);
        let Some(bytes) = written("speedscope", &run) else { continue };
        let file = json(&bytes);
        assert!(is_valid(&file, &schema, &schema), "{name}");
        n_checked += 1;
        let frames: Vec<&str> = file["shared"]["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|frame| frame["name"].as_str().unwrap())
            .collect();
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for profile in file["profiles"].as_array().unwrap() {
            let end = profile["endValue"].as_f64().unwrap();
            if profile["type"] == "sampled" {
                let weights = profile["weights"].as_array().unwrap();
                assert_eq!(profile["samples"].as_array().unwrap().len(), weights.len(), "{name}");
                let sum: f64 = weights.iter().map(|weight| weight.as_f64().unwrap()).sum();
                assert!((sum - end).abs() <= end.abs() * 1e-9, "{name}");
                continue;
            }
            let profile_name = profile["name"].as_str().unwrap();
            let is_of_thread = !profile_name.contains("async: ") && !profile_name.ends_with(" (states)");
            let mut open: Vec<usize> = Vec::new();
            let mut last = 0;
            for event in profile["events"].as_array().unwrap() {
                let (at, frame) = (event["at"].as_i64().unwrap(), event["frame"].as_u64().unwrap() as usize);
                assert!(at >= last && at as f64 <= end, "{name}: {event}");
                if let Some(top) = open.last().filter(|_| is_of_thread && at > last) {
                    *sums.entry(as_written(frames[*top])).or_default() += at - last;
                }
                last = at;
                if event["type"] == "O" {
                    open.push(frame);
                } else {
                    assert_eq!(open.pop(), Some(frame), "{name}: {event}");
                }
            }
            assert!(open.is_empty(), "{name}");
        }
        let expected = reported(&run);
        for (leaf, ns) in &expected {
            let got = sums.get(leaf).copied().unwrap_or(0);
            assert!((got - ns).abs() <= slack, "{name}: {leaf} has {got}, not {ns} (± {slack})");
        }
        if slack == 0 {
            assert_eq!(sums, expected, "{name}");
        }
    }
    assert!(n_checked > 30, "{n_checked}");
}

/// Nanoseconds of a number of milliseconds, by its digits.
fn ns(millis: &Value) -> i64 {
    let text = millis.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    whole.parse::<i64>().unwrap() * 1_000_000 + format!("{rest:0<6}").parse::<i64>().unwrap()
}

/// Columns of a table, all as long as it says.
fn columns<'a>(name: &str, table: &'a Value, wanted: &[&str]) -> Vec<&'a Vec<Value>> {
    let n = table["length"].as_u64().unwrap() as usize;
    let column = |column: &&str| {
        let values = table[*column].as_array().unwrap_or_else(|| panic!("{name}: no {column}"));
        assert_eq!(values.len(), n, "{name}: {column}");
        values
    };
    wanted.iter().map(column).collect()
}

#[test]
fn firefox_profiles_are_sound_and_add_up() {
    let mut n_checked = 0;
    for (name, trace) in traces() {
        let run = Run::single(trace);
        let Some(bytes) = written("firefox", &run) else { continue };
        n_checked += 1;
        let file = json(&bytes);
        assert_eq!(file["meta"]["preprocessedProfileVersion"], 58);
        let categories = file["meta"]["categories"].as_array().unwrap();
        assert_eq!(categories[0]["color"], "grey");
        let texts = file["shared"]["stringArray"].as_array().unwrap();
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        let mut ids = std::collections::BTreeSet::new();
        for thread in file["threads"].as_array().unwrap() {
            assert!(ids.insert((thread["pid"].to_string(), thread["tid"].to_string())), "{name}");
            assert!(thread["name"].is_string() && thread["isMainThread"].is_boolean());
            let number = |value: &Value, below: usize| {
                let number = value.as_u64().unwrap() as usize;
                assert!(number < below, "{name}: {number} of {below}");
                number
            };
            let funcs = columns(
                &name,
                &thread["funcTable"],
                &["name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"],
            );
            let frames = columns(
                &name,
                &thread["frameTable"],
                &[
                    "func",
                    "category",
                    "subcategory",
                    "address",
                    "inlineDepth",
                    "nativeSymbol",
                    "innerWindowID",
                    "line",
                    "column",
                ],
            );
            let stacks = columns(&name, &thread["stackTable"], &["frame", "prefix"]);
            for (i, prefix) in stacks[1].iter().enumerate().filter(|(_, prefix)| !prefix.is_null()) {
                assert!(number(prefix, i) < i, "{name}");
            }
            frames[1].iter().for_each(|category| {
                assert_eq!(number(category, categories.len()), category.as_u64().unwrap() as usize)
            });
            let samples = columns(&name, &thread["samples"], &["stack", "time", "weight"]);
            let times: Vec<i64> = samples[1].iter().map(ns).collect();
            assert!(times.is_sorted(), "{name}");
            if thread["samples"]["weightType"] == "tracing-ms" {
                for (stack, weight) in samples[0].iter().zip(samples[2]).filter(|(stack, _)| !stack.is_null())
                {
                    let frame = number(&stacks[0][number(stack, stacks[0].len())], frames[0].len());
                    let func = number(&frames[0][frame], funcs[0].len());
                    let text = texts[number(&funcs[0][func], texts.len())].as_str().unwrap();
                    *sums.entry(as_written(text)).or_default() += ns(weight);
                }
            }
            let markers = columns(
                &name,
                &thread["markers"],
                &["name", "category", "startTime", "endTime", "phase", "data"],
            );
            markers[0]
                .iter()
                .for_each(|text| assert_eq!(number(text, texts.len()), text.as_u64().unwrap() as usize));
            for (end, phase) in markers[3].iter().zip(markers[4]) {
                assert_eq!(end.is_number(), phase == 1, "{name}");
            }
        }
        assert_eq!(sums, reported(&run), "{name}");
    }
    assert!(n_checked > 30, "{n_checked}");
}

#[test]
fn nothing_to_draw_is_no_file() {
    let run = Run::single(import("empty.json", b"[]", None).unwrap());
    for id in ["speedscope", "firefox", "collapsed", "collapsed-samples"] {
        assert!(written(id, &run).is_none() && written(id, &Run::default()).is_none(), "{id}");
    }
}

/// Slices as text: name, start, duration, depth, self time.
fn slices(trace: &Trace) -> Vec<(String, i64, i64, u32, i64)> {
    let table = &trace.slices;
    let row = |i: usize| {
        let name = trace.strings.get(table.name[i]).to_string();
        (name, table.ts[i], table.dur.get(i), table.depth.get(i), table.self_ns.get(i))
    };
    (0..table.len()).map(row).collect()
}

#[test]
fn a_part_of_a_trace_is_what_touches_the_window_and_lies_not_too_deep() {
    for (name, trace) in traces().into_iter().filter(|(_, trace)| !trace.slices.is_empty()) {
        let (start, end) = trace.span().unwrap();
        let Some(length) = end.checked_sub(start) else { continue };
        let all = Cut { window: Some((0, length)), max_depth: Some(u32::MAX) }.of(&trace);
        assert_eq!(slices(&all), slices(&trace), "{name}");
        let window = (length / 3, length / 2);
        let part = Cut { window: Some(window), max_depth: Some(2) }.of(&trace);
        let is_in = |i: &usize| {
            let (from, to) = (trace.slices.ts[*i] - start, trace.slices.end(*i, end) - start);
            trace.slices.depth.get(*i) < 2 && is_of_window(window, from, to)
        };
        let expected: Vec<_> = (0..trace.slices.len()).filter(is_in).collect();
        let known = slices(&trace);
        let got = slices(&part);
        assert_eq!(got.len(), expected.len(), "{name}");
        for (got, i) in got.iter().zip(expected) {
            assert_eq!((&got.0, got.1, got.2), (&known[i].0, known[i].1, known[i].2), "{name}");
            assert!(got.3 <= known[i].3, "{name}");
        }
        // It can be written and read again.
        let bytes = written("chrome-trace", &Run::single(part)).unwrap();
        let again = import("again.json", &bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.slices.len(), got.len(), "{name}");
    }
}

/// Sums of the frames of samples are those of a loop over all samples.
#[test]
fn frames_of_samples_add_up() {
    let mut n = 0;
    for (name, trace) in traces() {
        if trace.samples.is_empty() || trace.stacks.is_empty() {
            continue;
        }
        let mut wanted: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
        for (row, stack) in trace.samples.stack.iter().enumerate() {
            let (mut at, mut seen) = (*stack, Vec::new());
            while at != StackId::NONE {
                let frame = trace.frames.get(trace.stacks.frame[at.0 as usize]);
                let text = |id| trace.strings.get_opt(id).unwrap_or("").to_string();
                let key = (text(frame.name), text(frame.module));
                let sums = wanted.entry(key.clone()).or_default();
                sums.0 += if seen.is_empty() { trace.samples.weight[row] } else { 0.0 };
                sums.1 += if seen.contains(&key) { 0.0 } else { trace.samples.weight[row] };
                seen.push(key);
                at = trace.stacks.parent[at.0 as usize];
            }
        }
        let run = Run::single(trace);
        let report = analysis::reports(&run, &Query::default())
            .into_iter()
            .find(|report| report.id == "slices")
            .unwrap();
        let table = report.tables().find(|table| table.id == "frames").unwrap();
        let text = |id: &str, row| match &table.column(id).unwrap().cells {
            Cells::Text(cells) => cells.get(row).unwrap_or("").to_string(),
            _ => panic!("{id} is no text"),
        };
        let number = |id: &str, row: usize| match &table.column(id).unwrap().cells {
            Cells::Float(cells) => cells[row].unwrap(),
            _ => panic!("{id} is no number"),
        };
        // Frames of slices are listed too.
        let found: BTreeMap<_, _> = (0..table.n_rows())
            .filter(|row| number("total", *row) != 0.0)
            .map(|row| {
                ((text("frame", row), text("module", row)), (number("self", row), number("total", row)))
            })
            .collect();
        assert!(found.keys().eq(wanted.keys()), "{name}");
        // Sums of doubles are rounded at each step, those of the report once.
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        for (key, (own, total)) in &found {
            let sums = wanted[key];
            assert!(
                is_near(*own, sums.0) && is_near(*total, sums.1),
                "{name}: {key:?}: {own}, {total}, not {sums:?}"
            );
        }
        n += 1;
    }
    assert!(n >= 1, "{n} traces with samples");
}

#[test]
fn the_overview_of_a_trace_with_samples_only_names_the_hottest_function() {
    let text = br#"{"traceEvents":[],"stackFrames":{"1":{"category":"libm.so","name":"main"},"2":{"category":"libm.so","name":"exp","parent":"1"}},
        "samples":[{"cpu":0,"tid":1,"ts":1,"name":"cycles","sf":2,"weight":1},{"cpu":0,"tid":1,"ts":2,"name":"cycles","sf":2,"weight":1},{"cpu":0,"tid":1,"ts":3,"name":"cycles","sf":1,"weight":1}]}"#;
    let run = Run::single(import("a.json", text, None).unwrap());
    let reports = analysis::reports(&run, &Query::default());
    let summary = |id: &str| reports.iter().find(|report| report.id == id).unwrap().summary.clone();
    let hottest = "exp is hottest: 66.7% self (2 of 3 samples).";
    assert_eq!(summary("overview"), format!("3 samples in 2.000 µs. {hottest}"));
    assert_eq!(summary("slices"), format!("No slices, only samples. {hottest}"));
    let load = tracedrop::timeline::load::load_of(&run).unwrap();
    assert_eq!(load.sort, tracedrop::timeline::answers::LoadSort::Events);
    assert_eq!(load.shares.iter().filter(|share| **share == 1.0).count(), 3);
}

/// Weights of the profiles of a trace, all of its weights together, by stack: frames with semicolons between them.
fn by_stack(trace: &Trace) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for profile in &trace.stack_profiles {
        for row in 0..profile.len() {
            let mut names = Vec::new();
            let mut at = profile.stack[row];
            while at != StackId::NONE {
                let frame = trace.frames.get(trace.stacks.frame[at.0 as usize]);
                names.push(trace.strings.get(frame.name).to_string());
                at = trace.stacks.parent[at.0 as usize];
            }
            names.reverse();
            *sums.entry(names.join(";")).or_insert(0.0) += profile.weight.get(row).unwrap().to_f64();
        }
    }
    sums
}

#[test]
fn negative_weights_and_samples_without_a_stack_come_back() {
    let trace = import("a.folded", b"main;x 10\nmain;x -4\nmain;y -3\n 5\n", None).unwrap();
    let wanted = BTreeMap::from([("", 5.0), ("main;x", 6.0), ("main;y", -3.0)]);
    let wanted: BTreeMap<String, f64> =
        wanted.into_iter().map(|(name, sum)| (name.to_string(), sum)).collect();
    assert_eq!(by_stack(&trace), wanted);
    let run = Run::single(trace);
    for (id, name) in [
        ("pprof", "a.pb.gz"),
        ("speedscope", "a.speedscope.json"),
        ("firefox", "a.json"),
        ("collapsed-samples", "a.folded"),
    ] {
        let again = import(name, &written(id, &run).unwrap(), None).unwrap();
        assert_eq!(by_stack(&again), wanted, "{id}");
    }
    let folded = written("collapsed-samples", &run).unwrap();
    assert_eq!(String::from_utf8(folded).unwrap(), "main;x 6\nmain;y -3\n 5\n");
}

#[test]
fn samples_of_one_name_in_two_modules_stay_two_functions() {
    let text = br#"{"traceEvents":[],"stackFrames":{"1":{"category":"libA","name":"f"},"2":{"category":"libB","name":"f"}},
        "samples":[{"cpu":0,"tid":1,"ts":1,"name":"cycles","sf":1,"weight":3},{"cpu":0,"tid":1,"ts":2,"name":"cycles","sf":2,"weight":4}]}"#;
    let run = Run::single(import("a.json", text, None).unwrap());
    for (id, name) in [
        ("pprof", "a.pb.gz"),
        ("speedscope", "a.speedscope.json"),
        ("firefox", "b.json"),
        ("collapsed-samples", "a.folded"),
    ] {
        let again = import(name, &written(id, &run).unwrap(), None).unwrap();
        let tree = tracedrop::stacks::CallTree::new(&again, &again.stack_profiles.iter().collect::<Vec<_>>());
        let mut sums: Vec<i128> = tree.functions().iter().map(|sum| sum.self_weight).collect();
        sums.retain(|sum| *sum > 0);
        sums.sort_unstable();
        assert_eq!(sums, [3, 4], "{id}");
    }
}

/// Threads that were recorded from 10 ms on, and from 0 ms on, stay beside each other, whole and in a part.
#[test]
fn profiles_over_time_keep_their_start_and_duration() {
    let bytes = br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"},{"name":"g"}]},"profiles":[
{"type":"evented","name":"t1","unit":"milliseconds","startValue":10,"endValue":20,"events":[{"type":"O","frame":0,"at":11},{"type":"C","frame":0,"at":19}]},
{"type":"sampled","name":"t2","unit":"milliseconds","startValue":0,"endValue":6,"samples":[[0],[0,1],[]],"weights":[1,2,3]}]}"#;
    let whole = Run::single(import("a.speedscope.json", bytes, None).unwrap());
    let cut = Cut { window: Some((3_000_000, 16_000_000)), max_depth: None };
    let part = Run::single(cut.of(&whole.traces[0]));
    let ranges = |run: &Run| {
        let file = json(&written("speedscope", run).unwrap());
        let of = |profile: &Value| {
            (profile["startValue"].as_f64().unwrap(), profile["endValue"].as_f64().unwrap())
        };
        file["profiles"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(ranges(&whole), [(10.0, 20.0), (0.0, 6.0)]);
    // From 3 ms on: t1 from 10 to 16, t2 from 3 to 6.
    assert_eq!(ranges(&part), [(7.0, 13.0), (0.0, 3.0)]);
    let duration = |name: &str, bytes: &[u8]| {
        let run = Run::single(import(name, bytes, None).unwrap());
        let reports = analysis::reports(&run, &Query::default());
        let facts = reports.iter().flat_map(|report| &report.blocks).filter_map(|block| match block {
            tracedrop::report::Block::Facts(facts) => Some(&facts.facts),
            _ => None,
        });
        facts.flatten().find(|fact| fact.id == "duration_ns").map(|fact| fact.value.plain())
    };
    let bytes = written("speedscope", &whole).unwrap();
    assert_eq!(duration("b.speedscope.json", &bytes).as_deref(), Some("20000000"));
}

#[test]
fn lines_with_only_a_count_are_no_difference() {
    // Two numbers could be anything, so the format is given.
    let folded = FORMATS.iter().find(|format| format.id == "folded").copied();
    let trace = import("a.folded", b" 4\n 2\n", folded).unwrap();
    assert_eq!(trace.stack_profiles.len(), 1);
    assert_eq!(by_stack(&trace), BTreeMap::from([(String::new(), 6.0)]));
}

#[test]
fn pprof_opens_with_the_weight_that_showed_first() {
    let json = br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[
        {"type":"sampled","name":"t","unit":"bytes","startValue":0,"endValue":7,"samples":[[0]],"weights":[7]},
        {"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":2,"samples":[[0]],"weights":[2]}]}"#;
    let run = Run::single(import("a.speedscope.json", json, None).unwrap());
    let again = import("a.pb.gz", &written("pprof", &run).unwrap(), None).unwrap();
    let name = |profile: &StackProfile| again.strings.get(profile.name).to_string();
    let all: Vec<String> = again.stack_profiles.iter().map(name).collect();
    assert_eq!(all, ["bytes", "weight"]);
    let default: Vec<String> = again.stack_profiles.iter().filter(|it| it.is_default).map(name).collect();
    assert_eq!(default, ["bytes"]);
}
