//! JSONL of Python's sampling profiler: whole expected outputs, the profiler's other outputs of the same samples,
//! and properties that hold for any order of records.

use crate::support;
use crate::support::{data_dirs, files, for_each_cut, import, import_cut, import_in_parts, stem};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use tracedrop::analysis::hot_frames::{self, places, totals};
use tracedrop::analysis::{self, Query};
use tracedrop::base::strings::StringId;
use tracedrop::import::{Import, ImportError, python_sampling};
use tracedrop::report::{Block, Report, Table};
use tracedrop::trace::profiles::ProfileRun;
use tracedrop::trace::{Run, Trace};

/// Length of the lists in the expected files.
const TOP: usize = 15;

/// Whatever integer, exactly.
fn number(value: impl Display) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn optional(value: Option<impl Display>) -> Value {
    value.map_or(Value::Null, number)
}

fn text(trace: &Trace, id: StringId) -> Value {
    trace.strings.get_opt(id).map_or(Value::Null, |text| json!(text))
}

/// The trace in the shape of the expected files.
fn dump(trace: &Trace) -> Value {
    let ledger = &trace.ledger;
    json!({
        "lines": number(ledger.n_records()),
        "bad_lines": number(ledger.count_of("profile-bad-line") + ledger.count_of("profile-line-too-long")),
        "ignored_records": number(ledger.count_of("profile-ignored-record")),
        "runs": trace.profiles.iter().map(|run| dump_run(trace, run)).collect::<Vec<_>>(),
    })
}

fn dump_run(trace: &Trace, run: &ProfileRun) -> Value {
    let frames = &run.frames;
    let rows = |rows: Vec<u32>| -> Vec<Value> {
        rows.into_iter().take(TOP).map(|row| dump_frame(trace, run, row as usize)).collect()
    };
    let functions: Vec<Value> = totals::functions(run)
        .iter()
        .take(TOP)
        .map(|total| {
            json!({
                "path": text(trace, total.key.0),
                "func": text(trace, total.key.1),
                "self": number(total.self_samples),
                "max_frame_cumulative": number(total.max_frame_cumulative),
                "frames": number(total.n_frames),
            })
        })
        .collect();
    let files: Vec<Value> = totals::files(run)
        .iter()
        .take(TOP)
        .map(|total| json!({ "path": text(trace, total.key), "self": number(total.self_samples) }))
        .collect();
    assert!(frames.frame_id.is_sorted_by(|a, b| a < b), "one row an id, in order");
    json!({
        "run_id": run.run_id,
        "has_meta": run.has_meta,
        "mode": run.mode,
        "sample_interval_usec": optional(run.sample_interval_us),
        "complete": run.complete,
        "end_samples_total": optional(run.end_samples_total),
        "agg_samples_total": optional(run.agg_samples_total),
        "strings": number(run.n_strings),
        "frames": number(run.n_frames()),
        "agg_entries": number(run.n_counted()),
        "frames_without_agg": number(run.n_frames_without_counts()),
        "agg_without_frame": number(run.n_counts_without_frame()),
        "duplicate_meta": number(run.n_duplicate_meta),
        "end_records": number(run.n_end_records),
        "unsupported_version_records": number(run.n_unsupported_version),
        "ignored_agg_records": number(run.n_ignored_agg),
        "skipped_entries": number(run.n_skipped_entries),
        "sum_self": number(run.sum_self()),
        "top_self": rows(totals::rows_by_self(run)),
        "top_cumulative": rows(totals::rows_by_cumulative(run)),
        "functions_top_self": functions,
        "files_top_self": files,
    })
}

fn dump_frame(trace: &Trace, run: &ProfileRun, row: usize) -> Value {
    let frames = &run.frames;
    json!({
        "frame_id": number(frames.frame_id[row]),
        "path": text(trace, frames.path[row]),
        "func": text(trace, frames.func[row]),
        "line": optional(frames.line.get(row)),
        "end_line": optional(frames.end_line.get(row)),
        "col": optional(frames.col.get(row)),
        "end_col": optional(frames.end_col.get(row)),
        "self": number(frames.self_samples[row]),
        "cumulative": number(frames.cumulative[row]),
    })
}

/// All inputs of all folders.
fn inputs() -> Vec<PathBuf> {
    data_dirs("pysampling").iter().flat_map(|dir| files(dir, &[".jsonl", ".jsonl.gz"])).collect()
}

fn gunzip(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

fn read(path: &Path) -> Trace {
    import("unknown", &std::fs::read(path).unwrap(), None)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn assert_ledger_adds_up(what: &str, trace: &Trace, n_bytes: Option<usize>) {
    let ledger = &trace.ledger;
    assert_eq!(ledger.record_noun, "records", "{what}");
    let record_bytes = ledger.kept.bytes + ledger.repaired.bytes + ledger.skipped.bytes;
    assert!(record_bytes <= ledger.content_bytes, "{what}");
    assert_eq!(record_bytes + ledger.framing_bytes, ledger.content_bytes, "{what}");
    if let Some(n_bytes) = n_bytes {
        assert_eq!(ledger.content_bytes, n_bytes as u64, "{what}");
    }
    let by_kind: u64 = trace.source.record_kinds.iter().map(|(_, n)| n).sum();
    let bad = ledger.count_of("profile-bad-line") + ledger.count_of("profile-line-too-long");
    assert_eq!(by_kind + bad, ledger.n_records(), "{what}");
    for issue in &ledger.issues {
        assert!(issue.first.line.is_some(), "{what}: {issue:?}");
        assert!(issue.first.byte < ledger.content_bytes, "{what}: {issue:?}");
    }
}

#[test]
fn every_file_reads_as_expected_however_it_is_cut() {
    let mut n = 0;
    for path in inputs() {
        let name = stem(&path);
        let expected = path.parent().unwrap().join("expected").join(format!("{name}.json"));
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(expected).unwrap()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut whole = None;
        for_each_cut("unknown", &bytes, None, &mut |cut, trace| {
            let all = all_of(&trace);
            support::assert_same_text(
                &format!("{name}, {cut}"),
                &all,
                whole.get_or_insert_with(|| all.clone()),
            );
            let trace = trace.unwrap_or_else(|error| panic!("{name}, {cut}: {error}"));
            assert_eq!(trace.source.format, "python-sampling", "{name}");
            assert_same(&format!("{name}, {cut}"), &dump(&trace), &expected);
            let packed = !trace.source.compression.is_empty();
            assert_ledger_adds_up(&name, &trace, (!packed).then_some(bytes.len()));
        });
        n += 1;
    }
    assert!(n >= 20, "{n} files");
}

/// Everything that is known of a file, down to the numbers of texts and the order of oddities.
fn all_of(trace: &Result<Trace, ImportError>) -> String {
    let trace = match trace {
        Ok(trace) => trace,
        Err(error) => return format!("{error:?}"),
    };
    let runs: Vec<String> = trace
        .profiles
        .iter()
        .map(|run| {
            let frames = &run.frames;
            let row = |row: usize| {
                format!(
                    "{:?}",
                    (
                        frames.frame_id[row],
                        (frames.path[row], frames.func[row]),
                        (frames.line.get(row), frames.end_line.get(row)),
                        (frames.col.get(row), frames.end_col.get(row)),
                        (frames.self_samples[row], frames.cumulative[row]),
                        (frames.has_frame[row], frames.has_counts[row]),
                    )
                )
            };
            let head = ProfileRun { frames: Default::default(), ..run.clone() };
            let rows: Vec<String> = (0..frames.len()).map(row).collect();
            format!("{:?}\n{}", postcard::to_allocvec(&head).unwrap(), rows.join("\n"))
        })
        .collect();
    let texts: Vec<&str> =
        (0..trace.strings.len() as u32).map(|id| trace.strings.get(StringId(id))).collect();
    let ledger = &trace.ledger;
    format!(
        "{}\n{texts:?}\n{:?}\n{:?}\n{:#?}",
        runs.join("\n"),
        (&trace.source.producer, &trace.source.metadata, &trace.source.record_kinds),
        (ledger.content_bytes, ledger.kept, ledger.repaired, ledger.skipped, &ledger.record_noun),
        ledger.issues
    )
}

/// Compares field by field, so that a failure names the field.
fn assert_same(what: &str, got: &Value, expected: &Value) {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            let keys =
                |map: &Map<String, Value>| map.keys().cloned().collect::<std::collections::BTreeSet<_>>();
            assert_eq!(keys(got), keys(expected), "{what}");
            for (key, value) in got {
                assert_same(&format!("{what}.{key}"), value, &expected[key]);
            }
        }
        (Value::Array(got), Value::Array(expected)) => {
            for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
                assert_same(&format!("{what}[{i}]"), got, expected);
            }
            assert_eq!(got.len(), expected.len(), "{what}");
        }
        _ => assert_eq!(got, expected, "{what}"),
    }
}

#[test]
fn noise_order_and_later_fields_change_nothing() {
    let pairs = [
        ("unknown_records_and_fields", "cpu_threads"),
        ("record_order_and_duplicates", "gc_native"),
        ("noise_lines", "gc_native"),
        ("crlf_bom", "gc_native"),
    ];
    for dir in data_dirs("pysampling") {
        for (changed, plain) in pairs {
            let run = |name: &str| {
                let trace = read(&dir.join(format!("{name}.jsonl")));
                let mut run = dump_run(&trace, &trace.profiles[0]);
                // How often something came is the difference; what it says is not.
                for count in ["duplicate_meta", "end_records", "ignored_agg_records"] {
                    run.as_object_mut().unwrap().remove(count);
                }
                run
            };
            assert_same(changed, &run(changed), &run(plain));
        }
    }
}

type LineCounts = BTreeMap<(String, String, i128), u64>;

/// Self counts by base name, function and line, and the total.
fn counts_of(trace: &Trace) -> (LineCounts, u64) {
    let run = &trace.profiles[0];
    let mut counts = LineCounts::new();
    for row in 0..run.frames.len() {
        let count = run.frames.self_samples[row];
        let path = trace.strings.get(run.frames.path[row]);
        let func = trace.strings.get(run.frames.func[row]).to_string();
        // Synthetic frames go by their name alone there.
        let file = if path == "~" { "" } else { places::display_name(path) };
        let line = run.frames.line.get(row).unwrap_or(0);
        if count > 0 {
            *counts.entry((file.to_string(), func, line)).or_default() += count;
        }
    }
    (counts, u64::try_from(run.samples()).unwrap())
}

#[test]
fn collapsed_stacks_of_the_same_samples_have_the_same_leaves() {
    let mut n = 0;
    for dir in data_dirs("pysampling") {
        for path in files(&dir, &[".collapsed.gz"]) {
            let trace = read(&dir.join(format!("{}.jsonl", stem(&path))));
            let (counts, total) = counts_of(&trace);
            let mut expected = LineCounts::new();
            let mut expected_total = 0;
            for line in gunzip(&path).lines() {
                let (stack, count) = line.rsplit_once(' ').unwrap();
                let count: u64 = count.parse().unwrap();
                let leaf = stack.rsplit(';').next().unwrap();
                let mut parts = leaf.rsplitn(2, ':');
                let place = match (parts.next(), parts.next()) {
                    (Some(line), Some(rest)) => {
                        let (file, func) = rest.split_once(':').unwrap();
                        (file.to_string(), func.to_string(), line.parse().unwrap())
                    }
                    _ => (String::new(), leaf.to_string(), 0),
                };
                *expected.entry(place).or_default() += count;
                expected_total += count;
            }
            assert_eq!(counts, expected, "{}", path.display());
            assert_eq!(total, expected_total, "{}", path.display());
            n += 1;
        }
    }
    assert!(n >= 5);
}

#[test]
fn terminal_tables_of_the_same_samples_agree() {
    let mut n_rows = 0;
    for dir in data_dirs("pysampling") {
        for path in files(&dir, &[".pstats.txt"]) {
            let trace = read(&dir.join(format!("{}.jsonl", stem(&path))));
            let run = &trace.profiles[0];
            // By file, function and line: self, largest and sum of cumulative.
            let mut places_of: BTreeMap<(String, String, i128), (u64, u64, u64)> = BTreeMap::new();
            for row in 0..run.frames.len() {
                let file = places::display_name(trace.strings.get(run.frames.path[row])).to_string();
                let func = trace.strings.get(run.frames.func[row]).to_string();
                let line = run.frames.line.get(row).unwrap_or(0);
                let place = places_of.entry((file, func, line)).or_default();
                place.0 += run.frames.self_samples[row];
                place.1 = place.1.max(run.frames.cumulative[row]);
                place.2 += run.frames.cumulative[row];
            }
            let table = std::fs::read_to_string(&path).unwrap();
            for row in table.lines().skip(2).take_while(|row| !row.trim().is_empty()) {
                let words: Vec<&str> = row.split_whitespace().collect();
                let (direct, cumulative) = words[0].split_once('/').unwrap();
                let (place, func) = row.rsplit_once('(').unwrap();
                let place = place.rsplit("  ").next().unwrap();
                let (file, line) = place.rsplit_once(':').unwrap();
                let key = (file.to_string(), func.trim_end_matches(')').to_string(), line.parse().unwrap());
                let found = places_of.get(&key).unwrap_or_else(|| panic!("{}: {row}", path.display()));
                let (direct, cumulative): (u64, u64) = (direct.parse().unwrap(), cumulative.parse().unwrap());
                assert_eq!(found.0, direct, "{}: {row}", path.display());
                assert!((found.1..=found.2).contains(&cumulative), "{}: {row}", path.display());
                n_rows += 1;
            }
        }
    }
    assert!(n_rows > 40, "{n_rows} rows");
}

fn only_report(trace: Trace) -> Report {
    let run = Run::single(trace);
    assert!((hot_frames::INFO.applies)(&run));
    let mut reports = analysis::reports(&run, &Query::default());
    let at = reports.iter().position(|report| report.id == "hot-frames").unwrap();
    reports.swap_remove(at)
}

fn table<'a>(report: &'a Report, id: &str) -> &'a Table {
    report.tables().find(|table| table.id == id).unwrap_or_else(|| panic!("no table {id}"))
}

fn cell(table: &Table, column: &str, row: usize) -> String {
    table.column(column).unwrap().cells.get(row).plain()
}

fn warnings(report: &Report) -> String {
    let notes = report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) if note.level == tracedrop::report::NoteLevel::Warning => Some(note.text.as_str()),
        _ => None,
    });
    notes.collect::<Vec<_>>().join("\n")
}

#[test]
fn reports_hold_every_row_and_add_up() {
    for path in inputs() {
        let trace = read(&path);
        let runs = trace.profiles.clone();
        let report = only_report(trace);
        let mut ids: Vec<&str> = report.tables().map(|table| &*table.id).collect();
        let n_tables = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n_tables, "{}", path.display());
        for (i, run) in runs.iter().enumerate() {
            let id = |name: &str| if i == 0 { name.to_string() } else { format!("{name}_{}", i + 1) };
            assert_eq!(table(&report, &id("frames")).n_rows(), run.frames.len());
            for name in ["frames", "functions", "lines", "files", "packages"] {
                let table = table(&report, &id(name));
                let sum: u128 =
                    (0..table.n_rows()).map(|row| cell(table, "self", row).parse::<u128>().unwrap()).sum();
                assert_eq!(sum, run.sum_self(), "{}, {name}", path.display());
                for column in &table.columns {
                    assert_eq!(
                        column.cells.len(),
                        table.n_rows(),
                        "{}, {name}, {}",
                        path.display(),
                        column.id
                    );
                }
            }
        }
    }
}

#[test]
fn functions_are_on_the_stack_at_least_as_often_as_they_are_the_leaf() {
    for path in inputs() {
        let trace = read(&path);
        for run in trace.profiles.iter().filter(|run| run.checks() == Default::default()) {
            for total in totals::functions(run) {
                let least = total.cumulative_at_least();
                assert!(total.self_samples <= least && least <= total.sum_cumulative.min(run.samples()));
                assert!(least >= u128::from(total.max_frame_cumulative));
            }
        }
    }
}

#[test]
fn damage_is_told_in_report_and_ledger() {
    for dir in data_dirs("pysampling") {
        let trace = read(&dir.join("damaged_references.jsonl"));
        for (code, count) in [
            ("profile-dangling-string", 2),
            ("profile-dangling-frame", 1),
            ("profile-frame-without-counts", 2),
            ("profile-self-not-total", 1),
            ("profile-totals-differ", 1),
            ("profile-self-over-cumulative", 1),
        ] {
            assert_eq!(trace.ledger.count_of(code), count, "{code}");
        }
        assert_eq!(trace.ledger.issue("profile-dangling-frame").unwrap().first.line, Some(4));
        let report = only_report(trace);
        let text = warnings(&report);
        for part in [
            "add up to 13, but the file reports 12",
            "reports 10 samples",
            "more self than cumulative",
            "no description",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let frames = table(&report, "frames");
        assert_eq!(cell(frames, "function", 1), "frame 42");
        assert_eq!(
            (cell(frames, "path", 0), cell(frames, "place", 0)),
            (String::new(), "5:0–6:0".to_string())
        );

        let newer = read(&dir.join("version_1_everywhere.jsonl"));
        assert_eq!(newer.ledger.count_of("profile-unsupported-version"), 5);
        assert!(warnings(&only_report(newer)).contains("newer profiler"));
        let cut = read(&dir.join("truncated_no_end.jsonl"));
        assert_eq!(cut.ledger.count_of("profile-incomplete-run"), 1);
        assert!(warnings(&only_report(cut)).contains("no closing record"));
        let odd = read(&dir.join("unicode.jsonl"));
        assert_eq!(odd.ledger.issue("profile-replaced-text").unwrap().example, "bytes-\u{fffd}-name.py");
        assert_eq!(odd.ledger.repaired.records, 1);
        assert_eq!(odd.profiles[0].checks(), Default::default());
    }
}

fn import_text(text: &str) -> Trace {
    import("unknown", text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn big_integers_stay_exact_and_floats_with_whole_values_are_integers() {
    let lines = [
        r#"{"type":"frame_table","frames":[{"frame_id":18446744073709551615,"path_str_id":0.0,"func_str_id":1e0,"line":9007199254740993,"end_line":null,"col":-1,"end_col":1.5},{"frame_id":18446744073709551616,"path_str_id":0,"func_str_id":0},{"frame_id":true,"path_str_id":0,"func_str_id":0},{"frame_id":-1,"path_str_id":0,"func_str_id":0},7]}"#,
        r#"{"entries":[{"frame_id":18446744073709551615,"self":9007199254740993,"cumulative":18446744073709551615},{"frame_id":1,"self":1}],"samples_total":9007199254740993,"scope":"final","kind":"frame","run_id":null,"v":0.0,"type":"agg"}"#,
        r#"{"type":"string_table","v":-0,"strings":[{"str_id":0,"value":"a.py"},{"str_id":1,"value":"f"},{"str_id":2,"value":null},{"value":"x"}]}"#,
        r#"{"type":"end","v":"0","samples_total":1}"#,
        r#"{"type":"end","v":null,"samples_total":1}"#,
        r#"{"type":"end","v":true,"samples_total":1}"#,
    ];
    let trace = import_text(&lines.join("\n"));
    let [run] = &trace.profiles[..] else { panic!("one run without an id") };
    assert_eq!(run.run_id, "");
    assert_eq!((run.n_skipped_entries, run.n_unsupported_version, run.complete), (7, 3, false));
    assert_eq!(
        dump_frame(&trace, run, 0),
        json!({
            "frame_id": u64::MAX, "path": "a.py", "func": "f", "line": 9007199254740993u64, "end_line": null,
            "col": -1, "end_col": null, "self": 9007199254740993u64, "cumulative": u64::MAX,
        })
    );
    assert_eq!((run.frames.len(), run.samples()), (1, 9007199254740993));
    assert_eq!(trace.ledger.count_of("profile-cumulative-over-total"), 1);
    assert_eq!(cell(table(&only_report(trace), "frames"), "self", 0), "9007199254740993");
}

#[test]
fn a_head_of_one_cut_line_is_enough_to_know_the_format() {
    let table = |head: &str, tail: &str| {
        let entries: Vec<String> = (0..3000)
            .map(|i| format!(r#"{{"frame_id":{i},"path_str_id":0,"func_str_id":0,"line":{i}}}"#))
            .collect();
        format!("{head}\"frames\":[{}]{tail}\n", entries.join(","))
    };
    for text in [
        table(r#"{"type":"frame_table","v":0,"run_id":"a","#, "}"),
        table(r#"{"v":0,"run_id":"a","#, r#","type":"frame_table"}"#),
        table("{", r#","type":"frame_table"}"#),
        format!("{}\n{}", "noise [\n".repeat(100), r#"{"type":"end","v":0,"samples_total":0}"#),
        "\u{feff} \r\n{\"type\":\"agg\",\"entries\":[]}".to_string(),
    ] {
        assert_eq!(import_text(&text).source.format, "python-sampling");
    }
    for other in [
        r#"{"traceEvents":[{"ph":"M","name":"process_name","args":{"name":"x"}}],"type":"trace"}"#,
        "[\n{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"meta\"},\n",
        r#"{"ts":1.5,"pass_id":"a","adapter":"b","wall_ms":3.0,"cache":"hit"}"#,
        r#"{"type":"span","v":0,"run_id":"a"}"#,
        "",
        "{",
    ] {
        assert_eq!(
            (python_sampling::INFO.sniff)(other.as_bytes()),
            tracedrop::import::Confidence::No,
            "{other}"
        );
    }
}

#[test]
fn a_line_that_does_not_end_is_skipped_and_the_next_is_read() {
    let mut bytes = br#"{"type":"meta","v":0,"run_id":"a"}"#.to_vec();
    bytes.extend_from_slice(b"\n{\"type\":\"agg\",\"x\":\"");
    bytes.resize((64 << 20) + 1000, b'x');
    bytes.extend_from_slice(b"\"}\n{\"type\":\"end\",\"run_id\":\"a\",\"samples_total\":0}\n");
    let trace = import_cut("x", &bytes, None, &mut |_| 1 << 20).unwrap();
    let issue = trace.ledger.issue("profile-line-too-long").unwrap();
    assert_eq!((issue.count, issue.first.line), (1, Some(2)));
    assert!(trace.profiles[0].complete && trace.profiles[0].frames.is_empty());
    assert_ledger_adds_up("long", &trace, Some(bytes.len()));
}

#[test]
fn an_endless_first_line_is_named_as_such() {
    let mut import = Import::with_format("x", 0, None);
    import.feed(br#"{"type":"meta","v":0,"run_id":"a","sample_interval_usec":1000,"x":""#);
    let more = vec![b'x'; 1 << 20];
    (0..65).for_each(|_| import.feed(&more));
    let error = import.finish().err().unwrap();
    assert!(
        error.what.starts_with(
            "no Python sampling profile record in 1 line; the first line is longer than 64.0 MiB, the limit, and starts with: \
             {\"type\":\"meta\""
        ),
        "{}",
        error.what
    );
}

#[test]
fn runs_beyond_number_are_skipped_and_counted() {
    let lines: String = (0..70_000)
        .map(|i| format!("{{\"type\":\"end\",\"run_id\":\"{i}\",\"samples_total\":1}}\n"))
        .collect();
    let trace = import_text(&lines);
    assert_eq!(trace.profiles.len(), 1 << 16);
    assert_eq!(trace.ledger.count_of("profile-too-many-runs"), 70_000 - (1 << 16));
    let format = Some(&python_sampling::INFO);
    let parts = import_in_parts("t", lines.as_bytes(), format, &mut support::Random(7), 1 << 20);
    support::assert_same_text("in parts", &all_of(&parts), &all_of(&import("t", lines.as_bytes(), format)));
    let report = only_report(trace);
    assert_eq!(table(&report, "runs").n_rows(), 1 << 16);
    assert!(warnings(&report).contains("first 64 profiles"));
}

#[test]
fn a_file_without_any_record_is_an_error() {
    let error = import("x.jsonl", b"nothing\n{}\n", Some(&python_sampling::INFO)).err().unwrap();
    assert_eq!(error.code, "unknown-format");
    assert!(error.what.contains("nothing"), "{error}");
}

#[test]
fn a_partial_report_can_be_had_at_any_time_and_changes_nothing() {
    for dir in data_dirs("pysampling") {
        let bytes = std::fs::read(dir.join("interleaved_two_runs.jsonl")).unwrap();
        let mut import = Import::new("unknown", bytes.len() as u64);
        let mut n_snapshots = 0;
        // The head decides on the format only when it is full; forcing one shows all of the way.
        let mut forced = Import::with_format("unknown", bytes.len() as u64, Some(&python_sampling::INFO));
        for piece in bytes.repeat(12).chunks(997) {
            forced.feed(piece);
            if let Some(trace) = forced.snapshot() {
                n_snapshots += 1;
                for run in &trace.profiles {
                    assert!(
                        run.sum_self() > 0 || !run.complete || run.samples() == 0 || !run.frames.is_empty()
                    );
                }
                if n_snapshots % 20 == 0 && !trace.profiles.is_empty() {
                    only_report(trace);
                }
            }
        }
        assert!(n_snapshots > 20, "{n_snapshots}");
        import.feed(&bytes);
        let plain = dump(&import.finish().unwrap());
        let repeated = forced.finish().unwrap();
        for (i, run) in repeated.profiles.iter().enumerate() {
            assert_eq!(dump_run(&repeated, run)["top_self"], plain["runs"][i]["top_self"]);
        }
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// One table entry for each record, so that any order of them can be tried.
    fn single_entry_records(ids: &[(u64, u64, u64)]) -> Vec<String> {
        let mut records = Vec::new();
        for (id, count, name) in ids {
            records.push(format!(
                r#"{{"type":"string_table","v":0,"run_id":"r","strings":[{{"str_id":{name},"value":"name {name}"}}]}}"#
            ));
            records.push(format!(
                r#"{{"type":"frame_table","v":0,"run_id":"r","frames":[{{"frame_id":{id},"path_str_id":{name},"func_str_id":{name},"line":{id}}}]}}"#
            ));
            records.push(format!(
                r#"{{"type":"agg","v":0,"run_id":"r","kind":"frame","scope":"final","samples_total":7,"entries":[{{"frame_id":{id},"self":{count},"cumulative":{count}}}]}}"#
            ));
        }
        records
            .push(r#"{"type":"meta","v":0,"run_id":"r","mode":"cpu","sample_interval_usec":10}"#.to_string());
        records.push(r#"{"type":"end","v":0,"run_id":"r","samples_total":7}"#.to_string());
        records
    }

    /// A line with its end, of a few ids, so that they are met again.
    fn any_line() -> impl Strategy<Value = String> {
        let id = || prop_oneof![0..6u64, Just(u64::MAX)];
        let run = prop::sample::select(vec!["a", "a", "b"]);
        let record = prop_oneof![
            (0..3u8).prop_map(|mode| format!(r#""type":"meta","mode":"{mode}","sample_interval_usec":{mode}"#)),
            prop::collection::vec((id(), 0..4u8), 0..3).prop_map(|entries| {
                let entries = entries.iter().map(|(id, name)| format!(r#"{{"str_id":{id},"value":"s{name}\udcff"}}"#));
                format!(r#""type":"string_table","strings":[{}]"#, entries.collect::<Vec<_>>().join(","))
            }),
            prop::collection::vec((id(), id(), id(), -2..5i64), 0..3).prop_map(|entries| {
                let entries = entries.iter().map(|(id, path, func, line)| {
                    format!(r#"{{"frame_id":{id},"path_str_id":{path},"func_str_id":{func},"line":{line}}}"#)
                });
                format!(r#""type":"frame_table","frames":[{}]"#, entries.collect::<Vec<_>>().join(","))
            }),
            (prop::collection::vec((id(), -1..9i64, 0..9u64), 0..3), 0..20u64).prop_map(|(entries, total)| {
                let entries = entries.iter().map(|(id, own, cumulative)| {
                    format!(r#"{{"frame_id":{id},"self":{own},"cumulative":{cumulative}}}"#)
                });
                let entries = entries.collect::<Vec<_>>().join(",");
                format!(
                    r#""type":"agg","kind":"frame","scope":"final","samples_total":{total},"entries":[{entries}]"#
                )
            }),
            (-1..20i64).prop_map(|total| format!(r#""type":"end","samples_total":{total}"#)),
            Just(r#""type":"agg","kind":"line","scope":"final","samples_total":1,"entries":[]"#.to_string()),
            Just(r#""type":"other""#.to_string()),
            (0..3u8).prop_map(|version| format!(r#""type":"meta","v":{version}"#)),
        ];
        let end = prop::sample::select(vec!["\n", "\n", "\r\n", "\n\n", "", "\r"]);
        (record, run, end).prop_map(|(record, run, end)| format!(r#"{{{record},"run_id":"{run}"}}{end}"#))
    }

    fn what_it_says(trace: &Trace) -> Value {
        let mut run = dump_run(trace, &trace.profiles[0]);
        let run_map = run.as_object_mut().unwrap();
        run_map.remove("duplicate_meta");
        run_map.remove("end_records");
        run
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn order_and_repeats_change_nothing(
            ids in prop::collection::btree_map(
                prop_oneof![0..40u64, 0..u64::MAX, Just(u64::MAX)], (0..1000u64, 0..500u64), 1..30),
            seed in 1..u64::MAX,
            n_repeats in 0..20usize,
        ) {
            let ids: Vec<(u64, u64, u64)> =
                ids.into_iter().map(|(id, (count, name))| (id, count, name)).collect();
            let mut records = single_entry_records(&ids);
            let plain = import_text(&records.join("\n"));
            let mut random = support::Random(seed);
            for _ in 0..n_repeats {
                let again = records[random.below(records.len() as u64) as usize].clone();
                records.push(again);
            }
            for i in (1..records.len()).rev() {
                records.swap(i, random.below(i as u64 + 1) as usize);
            }
            let shuffled = import_text(&records.join("\r\n"));
            prop_assert_eq!(what_it_says(&shuffled), what_it_says(&plain));
            assert_ledger_adds_up("shuffled", &shuffled, None);
        }

        /// Records of two runs in any order, whole, broken and repeated: which of them count depends on those before.
        #[test]
        fn any_records_are_read_alike_in_parts(
            lines in prop::collection::vec(any_line(), 0..80),
            seed in 1..u64::MAX,
            max_stretch in 1..3000u64,
        ) {
            let bytes = lines.concat();
            let format = Some(&python_sampling::INFO);
            let whole = all_of(&import("t", bytes.as_bytes(), format));
            let parts = import_in_parts("t", bytes.as_bytes(), format, &mut support::Random(seed), max_stretch);
            prop_assert_eq!(all_of(&parts), whole, "{}", bytes);
        }

        #[test]
        fn no_bytes_do_harm(
            pieces in prop::collection::vec(prop_oneof![
                Just(r#"{"type":"agg","v":0,"kind":"frame","scope":"final","entries":["#.to_string()),
                Just(r#"{"frame_id":1,"self":2,"cumulative":3}"#.to_string()),
                Just(r#"{"type":"end","samples_total":18446744073709551615}"#.to_string()),
                Just(r#"{"type":"frame_table","frames":[{"frame_id":1,"path_str_id":9,"func_str_id":9}]}"#.to_string()),
                Just("\n".to_string()),
                Just("]}".to_string()),
                Just("\\ud800\"".to_string()),
                ".{0,8}",
            ], 0..40),
            step in 1..50usize,
        ) {
            let bytes = pieces.concat();
            let read = |step| {
                import_cut("x", bytes.as_bytes(), Some(&python_sampling::INFO), &mut |_| step)
                    .map(|trace| (dump(&trace), only_report(trace).blocks.len()))
                    .map_err(|error| error.code)
            };
            prop_assert_eq!(read(step), read(usize::MAX));
        }
    }
}

/// Of three runs, the second has most samples. It leads, by its name; tables keep the numbers of their places in the file.
#[test]
fn the_largest_of_several_profiles_leads() {
    let record = |run: &str, kind: &str, rest: &str| {
        format!(r#"{{"type":"{kind}","v":0,"run_id":"{run}",{rest}}}"#) + "\n"
    };
    let mut text = String::new();
    for (run, n) in [("aaaaaaaa-1", 100), ("bbbbbbbb-2", 900), ("cccccccc-3", 200)] {
        text += &record(run, "meta", r#""sample_interval_usec":1000,"mode":"wall""#);
        let strings = r#"{"str_id":0,"value":"work"},{"str_id":1,"value":"app.py"}"#;
        text += &record(run, "string_table", &format!(r#""strings":[{strings}]"#));
        let frame = r#"{"frame_id":0,"path_str_id":1,"func_str_id":0,"line":3}"#;
        text += &record(run, "frame_table", &format!(r#""frames":[{frame}]"#));
        let counts = format!(r#"{{"frame_id":0,"self":{n},"cumulative":{n}}}"#);
        let about = format!(r#""kind":"frame","scope":"final","samples_total":{n}"#);
        text += &record(run, "agg", &format!(r#"{about},"entries":[{counts}]"#));
        text += &record(run, "end", &format!(r#""samples_total":{n}"#));
    }
    let trace = import("runs.jsonl", text.as_bytes(), None).unwrap();
    let reports = tracedrop::analysis::reports(&Run::single(trace), &Query::default());
    let report = reports.iter().find(|report| report.id == "hot-frames").unwrap();
    assert_eq!(
        report.summary,
        "3 profiles. In the largest, bbbbbbbb: work is hottest: 100.0% self (900 of 900 samples)."
    );
    let tables: Vec<(&str, &str)> = report.tables().map(|table| (&*table.id, &*table.title)).collect();
    let functions: Vec<_> = tables.into_iter().filter(|(_, title)| title.starts_with("Functions")).collect();
    let wanted = [
        ("functions_2", "Functions of bbbbbbbb"),
        ("functions_3", "Functions of cccccccc"),
        ("functions", "Functions of aaaaaaaa"),
    ];
    assert_eq!(functions, wanted);
}
