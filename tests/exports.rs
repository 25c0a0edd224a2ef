//! Exports: what is written is well-formed, does nothing, and reads back as what it was.

use crate::support::{assert_same_text, data_dirs, files, import};
use std::panic::AssertUnwindSafe;
use tracedrop::analysis::{self, Query};
use tracedrop::base::units::Unit;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Input, Options};
use tracedrop::parquet::{ParquetFile, Values};
use tracedrop::report::{Cells, Column, Content, Document, Facts, Report, Table, Value};
use tracedrop::trace::slices::{Class, SliceKind, UNFINISHED};
use tracedrop::trace::tracks::{Key, TrackKind};
use tracedrop::trace::{Run, Trace};

/// Text that wants to be a formula, markup, a table cell, a control sequence.
const HOSTILE: [&str; 6] =
    ["=1+1", "a|b", "<script>alert(1)</script>", "\u{1b}[31m\nx", "say \"hi\", you", "[x](http://a)"];

fn document<'a>(reports: &'a [Report]) -> Document<'a> {
    let mut source = Facts::new("file");
    source.push("file_name", "File", "@evil", Unit::None);
    Document {
        title: "-file".to_string(),
        source: vec![source],
        ledger: Report::new("ledger", "Read"),
        reports,
    }
}

fn hostile_report() -> Report {
    let mut report = Report::new("r", "Report");
    report.summary = "One *summary*.".to_string();
    report.warning("look out: <b>");
    let numbers = [Some(u64::MAX), Some(0), None, Some(1), Some(2), Some(3)];
    let floats = [Some(f64::NAN), Some(f64::INFINITY), None, Some(-1.5), Some(1e20), Some(3.0)];
    let mut table = Table::new(
        "t",
        "Table",
        vec![
            Column::key("name", "name", Content::Symbol, HOSTILE.into_iter().collect()),
            Column::unsigned("total", "total", Unit::Ns, numbers.to_vec()),
            Column::float("mean", "mean", Unit::Plain, floats.to_vec()),
        ],
    )
    .sorted_by("total", true);
    table.n_left_out = 5;
    report.table(table);
    report
}

fn write(id: &str, document: &Document<'_>) -> String {
    let run = Run::default();
    let (query, options) = (Query::default(), Options::default());
    let input = Input::new(&run, document, &query, &options);
    String::from_utf8(export::to_bytes(export::find(id).unwrap(), &input)).unwrap()
}

/// Three calls: one without a duration, one with both times, one without a timestamp.
const CALLS: &str = r#"{"ts": 100.0, "probe": "a", "view_id": "base", "prompt_hash": "h", "top_k": 1, "op": "x", "wall_ms": NaN, "hit": false}
{"ts": 101.0, "probe": "a", "view_id": "base", "prompt_hash": "h", "top_k": 1, "op": "x", "wall_ms": 5.0, "hit": true}
{"ts": NaN, "probe": "a", "view_id": "base", "prompt_hash": "h", "top_k": 1, "op": "x", "wall_ms": 7.0, "hit": false}
"#;

/// A call without a valid time and one without a valid duration are told apart, as in the table of calls.
#[test]
fn what_calls_lack_is_named() {
    let mut session = Session::new("a.jsonl", CALLS.len() as u64, None, Query::default());
    session.feed(CALLS.as_bytes());
    session.finish().unwrap();
    let mut export =
        |id: &str| session.export(export::find(id).unwrap(), &Options::default(), &mut Vec::new());
    assert_eq!(
        export("chrome-trace").unwrap().0,
        ["1 call without a valid timestamp", "1 call without a valid duration"]
    );
    // Calls have times, but are no slices.
    let why = export("perfetto").unwrap_err().to_string();
    let is_right = why.contains("needs slices, counters or memory accesses; this file");
    assert!(is_right && why.contains("Export a Chrome trace"), "{why}");
    let run = Run::single(import("a.jsonl", CALLS.as_bytes(), None).unwrap());
    let reports = analysis::reports(&run, &Query::default());
    let text = write("markdown", &document(&reports));
    assert!(text.contains("1 call has a non-finite duration, so sums that include it are"), "{text}");
}

/// A file of our own is not taken for a trace that lacks something.
#[test]
fn tables_of_our_own_are_known_as_such() {
    let report = hostile_report();
    let bytes = export::parquet::table_file(report.tables().next().unwrap(), "");
    let error = import("r.t.parquet", &bytes, None).err().unwrap();
    assert_eq!(error.code, "parquet-own-table");
}

#[test]
fn markdown_shows_text_letter_by_letter() {
    let reports = [hostile_report()];
    let text = write("markdown", &document(&reports));
    assert_same_text(
        "markdown",
        &text,
        "# \\-file\n\n### file\n\n- File: \\@evil\n\n## Report\n\nOne \\*summary\\*.\n\n> **Warning:** look out: \\<b\\>\n\n### Table\n\n\
         | name | total | mean |\n| --- | ---: | ---: |\n\
         | =1+1 | 18,446,744,073 s | nan |\n\
         | a\\|b | 0 ns | inf |\n\
         | \\<script\\>alert(1)\\</script\\> | – | – |\n\
         | \\\\x1b\\[31m\\\\nx | 1 ns | −1.5 |\n\
         | say \"hi\", you | 2 ns | 1.000e20 |\n\
         | \\[x\\](http\\://a) | 3 ns | 3 |\n\n5 more rows not shown.\n\n## Read\n",
    );
}

#[test]
fn csv_is_rfc_4180_and_runs_nothing() {
    let reports = [hostile_report()];
    let text = write("csv", &document(&reports));
    assert_same_text(
        "csv",
        &text,
        "file\r\nname,value,unit\r\nfile_name,@evil,\r\n\r\nReport: note\r\nnote\r\nlook out: <b>\r\n\r\nReport: Table\r\n\
         name,total_ns,mean\r\n'=1+1,18446744073709551615,NaN\r\na|b,0,inf\r\n<script>alert(1)</script>,,\r\n\
         \"\\x1b[31m\nx\",1,-1.5\r\n\"say \"\"hi\"\", you\",2,100000000000000000000\r\n\
         [x](http://a),3,3\r\n(5 more rows not shown)\r\n",
    );
    let table = reports[0].tables().next().unwrap();
    assert_eq!(
        export::csv::table_csv(table, &[5, 99, 0]),
        "name,total_ns,mean\r\n[x](http://a),3,3\r\n'=1+1,18446744073709551615,NaN\r\n"
    );
    assert_eq!(
        export::csv::table_tsv(table, &[4]),
        "name\ttotal_ns\tmean\n\"say \"\"hi\"\", you\"\t2\t1".to_string() + &"0".repeat(20) + "\n"
    );
    assert_eq!(
        export::markdown::table_markdown(table, &[5]).lines().nth(2),
        Some("| \\[x\\](http\\://a) | 3 ns | 3 |")
    );
}

#[test]
fn json_is_exact() {
    let reports = [hostile_report()];
    let text = write("json", &document(&reports));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "tracedrop-report/1");
    let table = &value["reports"][0]["blocks"][1];
    assert_eq!(table["columns"][1]["unit"], "ns");
    assert_eq!(table["rows_left_out"].to_string(), "5");
    assert_eq!(table["rows"][0].to_string(), r#"["=1+1",18446744073709551615,null]"#);
    assert_eq!(table["rows"][2].to_string(), r#"["<script>alert(1)</script>",null,null]"#);
    assert_eq!(table["rows"][3][0], "\u{1b}[31m\nx");
}

#[test]
fn the_terminal_gets_no_control_characters_and_its_width() {
    let reports = [hostile_report()];
    let text = write("terminal", &document(&reports));
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()), "{text}");
    assert!(text.contains("\\x1b[31m\\nx"));
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

/// A trace as its Chrome trace.
/// Every cell of every table, as it was.
fn check_parquet(what: &str, document: &Document<'_>) {
    let bytes = {
        let run = Run::default();
        let (query, options) = (Query::default(), Options::default());
        let input = Input::new(&run, document, &query, &options);
        export::to_bytes(export::find("parquet").unwrap(), &input)
    };
    let archive = tracedrop::archive::list(&bytes).unwrap();
    let reports = || document.reports.iter().chain([&document.ledger]);
    let n_tables: usize = reports().map(|report| report.tables().count()).sum();
    assert_eq!(archive.files.len(), n_tables, "{what}");
    for report in reports() {
        for table in report.tables() {
            let path = format!("{}.{}.parquet", report.id, table.id);
            let entry = archive.files.iter().find(|file| file.path == path).expect(&path);
            let mut content = Vec::new();
            tracedrop::archive::unpack(&bytes, entry, &mut |piece| {
                content.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
            let file = ParquetFile::open(content.as_slice()).unwrap();
            assert_eq!(file.n_rows(), table.n_rows() as u64, "{what}: {path}");
            for (number, column) in table.columns.iter().enumerate() {
                let mut row = 0;
                for group in 0..file.n_row_groups() {
                    let read = file.read_column(group, number).unwrap();
                    let n_rows = file.rows_of(group);
                    for at in 0..n_rows {
                        let value = match (&read.values, read.is_valid(at)) {
                            (_, false) => Value::Missing,
                            (Values::Ints(ints), _) if matches!(column.cells, Cells::Unsigned(_)) => {
                                Value::Unsigned(ints[at] as u64)
                            }
                            (Values::Ints(ints), _) => Value::Integer(ints[at]),
                            (Values::Floats(floats), _) => Value::Float(floats[at]),
                            (Values::Bools(bools), _) => Value::Bool(bools[at]),
                            (Values::Texts(..), _) => Value::Text(read.text(at).unwrap().to_string()),
                            (Values::Codes(..), _) => {
                                panic!("one column is read with its numbers spelled out")
                            }
                            (Values::Null, _) => Value::Missing,
                        };
                        let (is, was) = (value.plain(), column.cells.get(row).plain());
                        assert_eq!(is, was, "{what}: {path}, {}, row {row}", column.id);
                        row += 1;
                    }
                }
                assert_eq!(row, table.n_rows());
            }
        }
    }
}

#[test]
fn parquet_tables_hold_every_cell() {
    let reports = [hostile_report()];
    check_parquet("made up", &document(&reports));
    let mut n = 0;
    for (system, endings) in
        [("sway", &[".jsonl"][..]), ("pysampling", &[".jsonl"]), ("chrome", &[".json"]), ("mrm", &[".txt"])]
    {
        for (name, trace) in traces(system, endings).into_iter().take(6) {
            let run = Run::single(trace);
            let reports = analysis::reports(&run, &Query::default());
            let id = |id: &str| id.to_string();
            check_parquet(&name, &analysis::document(&run, &reports, &id));
            n += 1;
        }
    }
    assert!(n > 6);
}

fn chrome(trace: &Trace) -> Vec<u8> {
    let run = Run::single(trace.clone());
    let mut out = Vec::new();
    export::chrome_trace::write(&run, &Options::default(), &mut |bytes| out.extend_from_slice(bytes));
    out
}

/// Every slice as a line: what it is called, when, how long, how deep, with what arguments.
fn slices(trace: &Trace) -> Vec<String> {
    let start = trace.span().map_or(0, |(start, _)| start);
    let table = &trace.slices;
    let mut lines: Vec<String> = (0..table.len())
        .map(|i| {
            let mut args = Vec::new();
            trace.push_slice_args(i, &mut args);
            format!(
                "{:?} {:?} {} {:?} ts {} dur {} self {} depth {} cpu {:?} {}",
                trace.strings.get(table.name[i]),
                trace.strings.get_opt(table.category[i]),
                if table.category[i].is_none() { "-" } else { "+" },
                Class::of(table.kind[i]),
                table.ts[i] - start,
                table.dur.get(i),
                table.self_ns.get(i),
                table.depth.get(i),
                table
                    .thread_time
                    .iter()
                    .find(|(slice, ..)| slice.0 as usize == i)
                    .map(|(_, ts, dur)| (ts, dur)),
                String::from_utf8_lossy(&args),
            )
        })
        .collect();
    lines.sort();
    lines
}

/// The tables of one report as text, rows sorted, without the columns `but`.
fn tables(trace: &Trace, report: &str, but: &[&str]) -> String {
    let reports = analysis::reports(&Run::single(trace.clone()), &Query { top: 10, ..Query::default() });
    let mut all = String::new();
    for table in reports.iter().filter(|it| it.id == report).flat_map(|report| report.tables()) {
        let columns = || table.columns.iter().filter(|column| !but.contains(&&*column.id));
        let row = |row: usize| -> String {
            columns().map(|column| format!("{}={:?} ", column.id, column.cells.get(row))).collect()
        };
        let mut rows: Vec<String> = (0..table.n_rows()).map(row).collect();
        rows.sort();
        all += &format!("{}\n{}\n", table.id, rows.join("\n"));
    }
    all
}

/// Under one tid, slices are one inside the other or apart.
fn assert_nested(what: &str, trace: &Trace) {
    let tracks = &trace.tracks;
    let mut overflow = (0..tracks.len()).filter(|track| tracks.kind[*track] == TrackKind::ThreadOverflow);
    assert!(
        overflow.all(|track| tracks.shown_as[track].is_some()),
        "{what}: slices of one tid partly overlap"
    );
}

/// Writes a trace, reads it, writes it again.
fn check_round_trip(what: &str, trace: &Trace, same_slices: bool) {
    let first = chrome(trace);
    let text = std::str::from_utf8(&first).unwrap_or_else(|error| panic!("{what}: {error}"));
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
    // The parser of the tests gives up at some depth, which is not what is tested here.
    if let Err(error) = parsed {
        assert!(error.to_string().contains("recursion limit"), "{what}: {error}");
    }
    for surrogate in ["\\ud8", "\\ud9", "\\uda", "\\udb", "\\uD", "\\udc"] {
        assert!(!text.contains(surrogate), "{what}: {surrogate}");
    }
    let again = import("again.json", &first, None).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    assert_nested(what, &again);
    assert_eq!(again.ledger.skipped.records, 0, "{what}: {:?}", again.ledger.issues);
    let second = chrome(&again);
    let second_text = String::from_utf8_lossy(&second);
    if same_slices {
        assert_same_text(what, &slices(&again).join("\n"), &slices(trace).join("\n"));
        assert_same_text(what, &tables(&again, "slices", &[]), &tables(trace, "slices", &[]));
        let but = ["name", "labels"];
        // What comes after the threads is of the file, not of the trace.
        let head = |text: String| {
            let end = ["kinds\n", "metadata\n"].iter().filter_map(|id| text.find(id)).min();
            text[..end.unwrap_or(text.len())].to_string()
        };
        let ours = [tables(&again, "overview", &but), tables(trace, "overview", &but)].map(head);
        assert_same_text(what, &ours[0], &ours[1]);
        let but = ["process"];
        assert_same_text(what, &tables(&again, "counters", &but), &tables(trace, "counters", &but));
        assert_same_text(what, &second_text, text);
    } else {
        let third = chrome(&import("third.json", &second, None).unwrap());
        assert_same_text(what, &String::from_utf8_lossy(&third), &second_text);
    }
}

fn traces(system: &str, endings: &[&str]) -> Vec<(String, Trace)> {
    let mut traces = Vec::new();
    for path in data_dirs(system).iter().flat_map(|dir| files(dir, endings)) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let bytes = std::fs::read(&path).unwrap();
        // Files that give nothing at all are other tests' business.
        if let Ok(trace) = import(&name, &bytes, None) {
            traces.push((name, trace));
        }
    }
    traces
}

/// Whether the newer events can say all that the trace says. They can not say
/// - that something is inside a slice that has ended: a slice without an end is cut at the end of the one it lies in,
///   but only once a later event comes, so that what starts at the very time of that end still counts as inside;
/// - that steps of the older asynchronous form overlap each other.
fn can_be_written(trace: &Trace) -> bool {
    let slices = &trace.slices;
    let end = |slice: usize| slices.ts[slice].saturating_add(slices.dur.get(slice));
    let after_parent = (0..slices.len()).any(|slice| {
        let parent = slices.parent[slice].some().map(|parent| parent.0 as usize);
        parent.is_some_and(|parent| slices.dur.get(parent) > 0 && slices.ts[slice] >= end(parent))
    });
    let steps: Vec<usize> =
        (0..slices.len()).filter(|slice| slices.kind[*slice] == SliceKind::LegacyStep).collect();
    let overlap = steps
        .windows(2)
        .any(|pair| slices.parent[pair[0]] == slices.parent[pair[1]] && slices.ts[pair[1]] < end(pair[0]));
    !after_parent && !overlap
}

#[test]
fn chrome_traces_read_back_the_same() {
    let mut failed = Vec::new();
    for (name, trace) in traces("chrome", &[".json", ".gz"]) {
        if std::panic::catch_unwind(AssertUnwindSafe(|| {
            check_round_trip(&name, &trace, can_be_written(&trace))
        }))
        .is_err()
        {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// All that the GPU reports of a trace say.
fn gpu_reports(trace: &Trace) -> String {
    let mut reports = analysis::reports(&Run::single(trace.clone()), &Query::default());
    reports.retain(|report| report.id.starts_with("gpu"));
    write("json", &document(&reports))
}

#[test]
fn exports_have_the_same_gpus_and_streams() {
    let mut n = 0;
    let mut failed = Vec::new();
    for (name, trace) in traces("pytorch", &[".json.gz"]) {
        // Large ones take long and show nothing else.
        if trace.slices.len() > MAX_GPU_SLICES {
            continue;
        }
        n += 1;
        let same = || {
            let exported = chrome(&trace);
            let mut again = import("again.json", &exported, None).unwrap();
            // Whether the file was whole is of the file.
            again.ledger = trace.ledger.clone();
            assert_same_text(&name, &gpu_reports(&again), &gpu_reports(&trace));
            let twice = chrome(&again);
            assert_same_text(&name, &String::from_utf8_lossy(&twice), &String::from_utf8_lossy(&exported));
        };
        if std::panic::catch_unwind(AssertUnwindSafe(same)).is_err() {
            failed.push(name);
        }
    }
    assert!(n >= 13 && failed.is_empty(), "{failed:?} of {n}");
}

#[test]
fn gpus_of_several_traces_stay_apart_in_one_file() {
    let of = |kernel: &str| {
        let text = format!(
            r#"{{"schemaVersion":1,"traceEvents":[{{"ph":"X","cat":"kernel","name":"{kernel}","pid":0,"tid":0,"ts":1,"dur":2}}]}}"#
        );
        import("rank.json", text.as_bytes(), None).unwrap()
    };
    let run = Run { traces: vec![of("a"), of("b")] };
    let mut first = Vec::new();
    export::chrome_trace::write(&run, &Options::default(), &mut |bytes| first.extend_from_slice(bytes));
    let again = import("again.json", &first, None).unwrap();
    assert_eq!(again.processes.key, [Key::Number(0), Key::Number(2)]);
    assert_eq!(again.threads.key, [Key::Number(0), Key::Number(0)]);
    assert_same_text("twice", &String::from_utf8_lossy(&chrome(&again)), &String::from_utf8_lossy(&first));
}

#[test]
fn what_an_earlier_export_said_is_kept() {
    let text = r#"{"traceEvents":[{"ph":"X","name":"a","pid":5,"tid":6,"ts":-1,"dur":2}],"metadata":{"tracedrop":
        {"origin_ns":7000,"flows_left_out":2,"clock":"unix","renumbered":[{"pid":5,"was":"x"},{"pid":5,"tid":6,"was":-3},
        {"pid":"5","was":1},{"pid":5,"tid":6,"was":null},{"was":2},7],"renumbered_left_out":3}}}"#;
    let trace = import("odd.json", text.as_bytes(), None).unwrap();
    let said = "\"tracedrop\":{\"origin_ns\":6000,\"flows_left_out\":2,\"clock\":\"unix\",\"renumbered\":[{\"pid\":1,\"was\":\"x\"}],\
                \"renumbered_left_out\":3}";
    let exported = String::from_utf8(chrome(&trace)).unwrap();
    assert!(exported.contains(said), "{exported}");
    check_round_trip("odd", &trace, false);
}

/// Slices of a trace whose export is read again for its GPU reports, at most.
const MAX_GPU_SLICES: usize = 30_000;

#[test]
fn marks_of_overlaps_lose_nothing_however_they_are_set() {
    let mark = |tid: u32, of: &str| {
        format!(r#"{{"name":"tracedrop_overlap","ph":"M","pid":1,"tid":{tid},"args":{{"of":{of}}}}}"#)
    };
    let slice = |tid: u32| format!(r#"{{"name":"on {tid}","ph":"X","ts":1,"dur":1,"pid":1,"tid":{tid}}}"#);
    for marks in [
        vec![mark(2, "3"), mark(3, "4")],
        vec![mark(3, "4"), mark(2, "3")],
        vec![mark(2, "3"), mark(3, "2")],
        vec![mark(2, "2"), mark(3, "\"x\""), mark(4, "{}")],
        vec![mark(2, "4"), mark(2, "3")],
        vec![mark(2, "99")],
    ] {
        let events: Vec<String> = marks.into_iter().chain([2, 3, 4].map(slice)).collect();
        let text = format!("[{}]", events.join(","));
        let trace = import("marks.json", text.as_bytes(), None).unwrap();
        let exported = String::from_utf8(chrome(&trace)).unwrap();
        for tid in [2, 3, 4] {
            assert!(exported.contains(&format!("\"on {tid}\"")), "{text}\n{exported}");
        }
        assert!(tables(&trace, "overview", &[]).contains("slices=Unsigned(3)"), "{text}");
    }
}

#[test]
fn scoring_calls_become_a_timeline() {
    for (name, trace) in traces("sway", &[".jsonl", ".jsonl.gz"]) {
        check_round_trip(&name, &trace, false);
    }
}

#[test]
fn states_without_an_end_keep_their_lengths() {
    // The trace ends at 5 us.
    let json = br#"{"traceEvents":[{"ph":"X","name":"a","ts":0,"dur":5,"pid":1,"tid":2},
        {"ph":"T","name":"Running","ts":1,"dur":2,"pid":1,"tid":2},
        {"ph":"T","name":"Runnable","ts":3,"dur":2,"tracedrop_unfinished":true,"pid":1,"tid":2}]}"#;
    let states = |trace: &Trace| {
        let table = &trace.slices;
        let of_state = (0..table.len()).filter(|i| Class::of(table.kind[*i]) == Class::State);
        of_state.map(|i| (table.ts[i], table.dur.get(i), table.length(i, 5000))).collect::<Vec<_>>()
    };
    let trace = import("a.json", json, None).unwrap();
    let wanted = [(1000, 2000, 2000), (3000, UNFINISHED, 2000)];
    assert_eq!(states(&trace), wanted);
    let bytes = chrome(&trace);
    let text = String::from_utf8_lossy(&bytes);
    // Other readers need a length.
    assert!(text.contains(r#""dur":2,"tracedrop_unfinished":true}"#), "{text}");
    assert_eq!(text.matches("unfinished").count(), 1, "{text}");
    let again = import("again.json", &bytes, None).unwrap();
    assert_eq!(states(&again), wanted);
    assert!(again.ledger.issues.is_empty(), "{:?}", again.ledger.issues);
}

#[test]
fn chrome_traces_are_not_offered_where_they_would_be_empty() {
    // As a file, and for Perfetto, which has nothing to show of counts without times.
    for (system, endings, wanted) in [
        ("mrm", &[".txt"], [true, true]),
        ("chrome", &[".json"], [true, true]),
        ("sway", &[".jsonl"], [true, true]),
        ("pysampling", &[".jsonl"], [true, false]),
    ] {
        for (name, trace) in traces(system, endings) {
            let is_empty = trace.accesses.is_expected() && trace.accesses.is_empty();
            // Forward passes are events of Chrome traces only.
            let is_forward = !trace.scoring_calls.is_empty();
            let run = Run::single(trace);
            let offers = |id: &str| (export::find(id).unwrap().applies)(&run);
            assert_eq!(offers("perfetto"), wanted[1] && !is_empty && !is_forward, "{system} {name} perfetto");
            let wanted = wanted.map(|wanted| wanted && !is_empty);
            for (id, wanted) in ["chrome-trace", "chrome-trace-gz"].into_iter().zip(wanted) {
                assert_eq!(offers(id), wanted, "{system} {name} {id}");
            }
        }
    }
}

#[test]
fn sample_counts_get_no_time_axis() {
    for (name, trace) in traces("pysampling", &[".jsonl", ".jsonl.gz"]) {
        check_round_trip(&name, &trace, false);
        let again = import("again.json", &chrome(&trace), None).unwrap();
        assert!(again.slices.is_empty() && again.samples.is_empty(), "{name}");
    }
}

/// A trace of accesses as its Chrome trace, with `options`.
fn timeline(trace: &Trace, query: &Query, options: &Options) -> Vec<u8> {
    let run = Run::single(trace.clone());
    let reports = [];
    let document = document(&reports);
    let input = Input::new(&run, &document, query, options);
    export::to_bytes(export::find("chrome-trace").unwrap(), &input)
}

fn memory_inputs() -> Vec<(String, Trace)> {
    let mut traces = Vec::new();
    for dir in data_dirs("mrm") {
        let inputs =
            [files(&dir.join("inputs"), &[".txt", "k.txt.gz"]), files(&dir.join("real"), &[".txt.gz"])];
        for path in inputs.concat() {
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            traces.push((name.clone(), import(&name, &std::fs::read(&path).unwrap(), None).unwrap()));
        }
    }
    traces
}

#[test]
fn of_very_many_regions_the_least_accessed_are_left_out_and_that_is_said() {
    let mut text = String::new();
    for at in 0..20_003u64 {
        // Far from each other, and of the last three only one access each.
        for nth in 0..if at < 20_000 { 2 } else { 1 } {
            let (time, address) = (at * 10 + nth, 0x7f00_0000_0000 + (at << 24));
            let symbol = "ggml_compute_forward_mul_mat+0x1 (/lib/libggml.so)";
            text += &format!("llama-cli 7 [001] 1.{time:09}: cpu/mem-loads/P: {address:x} {symbol}\n");
        }
    }
    let run = Run::single(import("many.txt", text.as_bytes(), None).unwrap());
    let (query, options, reports) = (Query::default(), Options::default(), []);
    let document = document(&reports);
    let input = Input::new(&run, &document, &query, &options);
    for id in ["chrome-trace", "chrome-trace-gz"] {
        let left_out = export::render(export::find(id).unwrap(), &input, &mut std::io::sink()).unwrap();
        assert_eq!(left_out.0, ["the 3 least accessed memory regions"], "{id}");
    }
    let left_out = export::render(export::find("json").unwrap(), &input, &mut std::io::sink()).unwrap();
    assert!(left_out.0.is_empty());
}

#[test]
fn accesses_to_memory_become_a_timeline() {
    let mut n = 0;
    for (name, trace) in memory_inputs() {
        let query = Query::default();
        let first = timeline(&trace, &query, &Options::default());
        let again = import("again.json", &first, None).unwrap();
        assert_eq!(again.ledger.skipped.records, 0, "{name}: {:?}", again.ledger.issues);
        assert_nested(&name, &again);
        let second = chrome(&again);
        assert_same_text(&name, &String::from_utf8_lossy(&second), &String::from_utf8_lossy(&first));
        if trace.accesses.is_empty() {
            continue;
        }
        n += 1;
        // Every region is there, from its first access to its last one, and none overlaps another of its thread.
        let view = tracedrop::memory::LabelledTrace::new(&trace, &query.memory.options());
        let table = &again.slices;
        assert!(table.depth.iter().all(|depth| depth == 0), "{name}");
        let of_kind = |kind| (0..table.len()).filter(move |slice| table.kind[*slice] == kind);
        let regions: Vec<usize> = of_kind(SliceKind::Complete).collect();
        let told: serde_json::Value = serde_json::from_slice(&first).unwrap();
        let left_out = |what: &str| told["metadata"]["tracedrop"][what].as_u64().unwrap_or(0) as usize;
        let n_regions = regions.len() + left_out("regions_left_out");
        assert_eq!(n_regions, view.regions.regions().len(), "{name}");
        for region in view.regions.regions() {
            let called = format!("{} {}", view.kinds.name(region.kind), region.id);
            let is_it = |slice: &&usize| again.strings.get(table.name[**slice]) == called;
            let Some(slice) = regions.iter().find(is_it).copied() else {
                assert!(left_out("regions_left_out") > 0, "{name}: {called}");
                continue;
            };
            let mut args = Vec::new();
            again.push_slice_args(slice, &mut args);
            let args: serde_json::Value = serde_json::from_slice(&args).unwrap();
            assert_eq!(args["accesses"], region.access_count, "{name}: {called}");
            assert_eq!(args["first_address"], format!("{:#x}", region.page_min << 12));
        }
        let n_lives = of_kind(SliceKind::Async).count();
        assert_eq!(n_lives + left_out("blocks_left_out"), view.kv_blocks.len(), "{name}");
        // What all counters of reads and writes add up to are all accesses; what was touched is what reports say.
        let (series, counters) = (&again.counter_series, &again.counters);
        let text = |id| again.strings.get(id);
        let points = |chart: &str, key: Option<&str>| {
            let wanted: Vec<u32> = (0..series.len() as u32)
                .filter(|at| text(series.name[*at as usize]) == chart)
                .filter(|at| key.is_none_or(|key| text(series.key[*at as usize]) == key))
                .collect();
            let rows = (0..counters.len()).filter(move |row| wanted.contains(&counters.series[*row]));
            rows.map(|row| counters.value[row]).collect::<Vec<f64>>()
        };
        assert_eq!(points("accesses", None).iter().sum::<f64>(), trace.accesses.len() as f64, "{name}");
        let touched: f64 = view
            .kinds
            .sorted()
            .iter()
            .filter_map(|kind| points("touched so far (bytes)", Some(view.kinds.name(*kind))).last().copied())
            .sum();
        assert!(touched >= (view.pages.len() << 12) as f64, "{name}");
    }
    assert!(n >= 6, "{n}");
}

#[test]
fn timelines_of_memory_have_phases_and_can_be_cut() {
    let (_, trace) = memory_inputs().into_iter().find(|(name, _)| name == "tiny-24.txt").unwrap();
    let (start, end) = trace.accesses.span().unwrap();
    let mut query = Query::default();
    let middle = (start + end) / 2;
    query.memory.phases = format!(
        r#"[{{"phase":"load","start_ns":0,"end_ns":{middle}}},{{"phase":"run","start_ns":{middle},"end_ns":{0}}},
        {{"phase":"later","start_ns":{0},"end_ns":{0}}},{{"phase":"inverted","start_ns":9,"end_ns":3}}]"#,
        i64::MAX
    );
    let phases = |bytes: &[u8]| {
        let trace = import("again.json", bytes, None).unwrap();
        let slices = &trace.slices;
        let is_phase = |slice: &usize| trace.strings.get_opt(slices.category[*slice]) == Some("phase");
        let told = |slice: usize| {
            let (ts, dur) = (slices.ts[slice], slices.dur.get(slice));
            (trace.strings.get(slices.name[slice]).to_string(), ts, ts + dur)
        };
        (0..slices.len()).filter(is_phase).map(told).collect::<Vec<_>>()
    };
    let whole = timeline(&trace, &query, &Options::default());
    let load = ("load".to_string(), start, middle);
    assert_eq!(phases(&whole), [load.clone(), ("run".to_string(), middle, end)]);
    let window = Some((0, (end - start) / 10));
    let cut = tracedrop::trace::cut::Cut { window, max_depth: None };
    let part = timeline(&trace, &query, &Options { cut, ..Options::default() });
    assert_eq!(phases(&part), [load]);
    assert!(part.len() * 4 < whole.len());
    // Kinds of memory are no names of code.
    let redact = export::redact::Classes { paths: true, symbols: true, ..Default::default() };
    let redacted = timeline(&trace, &query, &Options { redact, ..Options::default() });
    assert_same_text("redacted", &String::from_utf8_lossy(&redacted), &String::from_utf8_lossy(&whole));
}
