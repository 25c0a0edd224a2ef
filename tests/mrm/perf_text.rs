//! Text of perf script: the right rows of every layout, the reference's rows where its grammar is asked for, whatever the
//! pieces it comes in.

use super::corpus::*;
use crate::support::{for_each_cut, import};
use serde_json::Value;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::import::perf_text::{INFO, SEED_INFO};
use tracedrop::import::{FormatInfo, Import, ImportError};
use tracedrop::memory::LabelledTrace;
use tracedrop::trace::Trace;

const LAYOUTS: [&str; 3] = ["layout-full", "layout-mem", "layout-memsym"];
const REAL: [&str; 7] = [
    "real-breakpoint",
    "real-pf-addr-ip",
    "real-pf-addrsym",
    "real-pf-callchain",
    "real-pf-collector-fields",
    "real-pf-header-nosym",
    "real-pf-pidtid-ns",
];

fn input(name: &str) -> Vec<u8> {
    read(&if name.starts_with("real") { format!("real/{name}.txt") } else { format!("inputs/{name}.txt") })
}

fn rows(trace: &Trace) -> Vec<Vec<String>> {
    trace.accesses.iter().map(|row| canonical(trace, &row, None, "unknown", 0)).collect()
}

/// A row of the truth as text: time, address, operation, symbol, object, processor, thread, latency, level.
fn truth(row: &Value) -> Vec<String> {
    let names = [
        "timestamp_ns",
        "address",
        "op_type",
        "symbol",
        "dso",
        "cpu_id",
        "thread_id",
        "access_latency",
        "cache_level",
    ];
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    names.iter().map(|name| plain(&row[*name])).collect()
}

/// The same of our rows.
fn shown(trace: &Trace) -> Vec<Vec<String>> {
    const PLACES: [usize; 9] = [1, 3, 5, 6, 7, 13, 14, 10, 11];
    rows(trace).into_iter().map(|row| PLACES.map(|at| row[at].clone()).to_vec()).collect()
}

#[test]
fn every_line_gives_the_row_that_is_right() {
    for case in json("inputs/formats.truth.json").as_array().unwrap() {
        let line = case["text"].as_str().unwrap();
        let trace = import("line", line.as_bytes(), Some(&INFO)).unwrap();
        let wanted: Vec<Vec<String>> =
            if case["row"].is_null() { Vec::new() } else { vec![truth(&case["row"])] };
        assert_eq!(shown(&trace), wanted, "line {}: {line}", case["line"]);
    }
}

#[test]
fn whole_files_of_one_layout() {
    for name in LAYOUTS {
        let trace = import(name, &input(name), None).unwrap();
        assert_eq!(trace.source.format, INFO.id, "{name}");
        let wanted: Vec<Vec<String>> =
            json(&format!("inputs/{name}.truth.json")).as_array().unwrap().iter().map(truth).collect();
        assert_eq!(shown(&trace), wanted, "{name}");
    }
}

/// The layout that the old grammar was written for is read alike by both.
#[test]
fn both_grammars_agree_on_what_the_old_one_is_for() {
    let case = json("inputs/formats.truth.json");
    let is_plain = |case: &&Value| matches!(case["row"]["layout"].as_str(), Some("doc" | "docp"));
    let lines: Vec<&str> =
        case.as_array().unwrap().iter().filter(is_plain).map(|case| case["text"].as_str().unwrap()).collect();
    assert!(lines.len() > 15);
    for line in lines {
        let [ours, seed] =
            [&INFO, &SEED_INFO].map(|format| rows(&import("line", line.as_bytes(), Some(format)).unwrap()));
        assert_eq!(ours, seed, "{line}");
    }
}

#[test]
fn real_recordings_give_the_rows_of_the_reference() {
    let golden = json("real/real.expected.json");
    for name in REAL {
        let golden = &golden[format!("{name}.txt.gz")];
        let seed = &golden["seed_version"];
        let trace = import(name, &input(name), Some(&SEED_INFO)).unwrap();
        assert_eq!(trace.accesses.len() as u64, seed["rows"].as_u64().unwrap(), "{name}");
        let sha256 = digest(&format!("{name}.txt.gz"), rows(&trace).into_iter());
        assert_eq!(sha256, seed["sha256"].as_str().unwrap(), "{name}");
        // What is no row is skipped, and said.
        let lines =
            input(name).split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let ledger = &trace.ledger;
        assert_eq!(ledger.kept.records + ledger.skipped.records, lines as u64, "{name}");
        let reports = reports(&trace, MemoryQuery::default());
        if trace.accesses.is_empty() {
            continue;
        }
        assert_objects(name, table(&reports, "region_map"), &seed["region_map"]);
        assert_objects(name, table(&reports, "kv_block_lifecycle"), &seed["kv_lifecycle"]);
        assert_results(name, &reports, &seed["analysis"], &[]);
    }
}

#[test]
fn real_recordings_are_read_whatever_was_printed() {
    // Samples in each: all lines but headers, frames and empty ones.
    for name in REAL {
        let bytes = input(name);
        let samples = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty() && !matches!(line.first(), Some(b'#' | b'\t')));
        let trace = import(name, &bytes, None).unwrap();
        assert_eq!((trace.source.format, trace.accesses.len()), (INFO.id, samples.count()), "{name}");
        assert_eq!(trace.ledger.skipped.records, 0, "{name}");
    }
    let symbols = |name: &str| {
        let trace = import(name, &input(name), None).unwrap();
        let first = rows(&trace)[0].clone();
        (first[6].clone(), first[7].clone())
    };
    let wanted = ("elf_load".to_string(), "[kernel.kallsyms]".to_string());
    assert_eq!(symbols("real-pf-addr-ip"), wanted);
    assert_eq!(symbols("real-breakpoint"), wanted);
    let wanted = ("__TMC_END__".to_string(), "/opt/tinyinfer/tinyinfer".to_string());
    assert_eq!(symbols("real-pf-addrsym"), wanted);
    assert_eq!(symbols("real-pf-collector-fields"), wanted);
}

/// A file without the address of the data has that of the instruction in its place, which is said; others are not blamed.
#[test]
fn addresses_of_instructions_are_doubted() {
    for (name, is_doubted) in [
        ("real-pf-pidtid-ns", true),
        ("real-pf-addrsym", false),
        ("real-pf-addr-ip", false),
        ("layout-full", false),
        ("mid-llama-5k", false),
        ("mid-vllm-5k", false),
    ] {
        let trace = import(name, &input(name), None).unwrap();
        let said = format!("{:?}", reports(&trace, MemoryQuery::default()));
        assert_eq!(said.contains("look like instruction addresses"), is_doubted, "{name}");
    }
    // Code without a symbol is no evidence of data: 60 cache misses in six functions, and one elsewhere.
    let misses: String = (0..60)
        .map(|at| format!("a 1 [000] 1.{at:06}: 10 cache-misses: 40{at:02}00 work{}+0x1 (/a)\n", at % 6))
        .collect();
    let misses = misses + "a 1 [000] 2.0: 10 cache-misses: 7f0012345678 [unknown] (/lib/c.so)\n";
    let trace = import("misses", misses.as_bytes(), None).unwrap();
    assert_eq!((trace.source.format, trace.accesses.len()), (INFO.id, 61));
    let said = format!("{:?}", reports(&trace, MemoryQuery::default()));
    assert!(said.contains("look like instruction addresses"), "{said}");
}

fn dump(result: Result<Trace, ImportError>) -> String {
    match result {
        Ok(trace) => format!("{:?} {:?} {:?}", trace.ledger, trace.source, rows(&trace)),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn pieces_make_no_difference() {
    let formats: [&'static FormatInfo; 2] = [&INFO, &SEED_INFO];
    for format in formats {
        for name in ["tiny-24", "formats", "layout-full", "real-pf-callchain", "mid-vllm-5k"] {
            let bytes = input(name);
            let mut first: Option<String> = None;
            for_each_cut(name, &bytes, Some(format), &mut |how, result| {
                let dump = dump(result);
                let first = first.get_or_insert_with(|| dump.clone());
                assert!(*first == dump, "{name} {how}");
            });
        }
    }
}

#[test]
fn oddities_are_counted() {
    let text = b"# header\r\n\r\nperf: lost 12 events\rx 1 [000] 99999999999.5: e: 10\nx 1 [000] 1.5: e: 11223344556677889\n\tff f (x)\n x -1/-1 [001]  1.5: e:u: 10 f (x)\n\n";
    let trace = import("odd", text, Some(&INFO)).unwrap();
    let counts =
        ["perf-comment", "perf-not-a-sample", "perf-out-of-range", "perf-call-chain", "perf-negative-thread"]
            .map(|code| trace.ledger.count_of(code));
    assert_eq!(counts, [1, 1, 2, 1, 1]);
    assert_eq!((trace.accesses.len(), trace.accesses.get(0).unwrap().thread), (1, None));
    assert_eq!(trace.ledger.n_records(), 4);
}

/// Lines of nothing but blanks are framing, to either grammar, however many blanks there are.
#[test]
fn lines_of_blanks_are_passed_over() {
    let sample = "a 1 [0] 1.5: x: 10 free y\n";
    for format in [&INFO, &SEED_INFO] {
        for blank in ["", " ", "\t", "  ", "\t\t", "   ", " \t ", "\u{b}\u{c}", "     \r"] {
            let text = format!("{blank}\n{sample}{blank}\n{sample}{blank}");
            let trace = import("blank", text.as_bytes(), Some(format)).unwrap();
            let found = (trace.accesses.len(), trace.ledger.skipped.records);
            assert_eq!(found, (2, 0), "{} {blank:?}", format.id);
        }
    }
}

/// Names of commands may start with what lists in JSON start with.
#[test]
fn commands_in_brackets_are_taken() {
    for command in ["[kw]", "[kworker/0:1]", "[1]", "[a b", "[-]", "[.x"] {
        let line = format!("{command:>11} 10718 [005] 12345.018232: e/P:     7f3a40002000 f (/x)\n");
        for text in [line.repeat(3), format!("# header\n{line}"), line.clone()] {
            let trace = import("x", text.as_bytes(), None).unwrap_or_else(|error| panic!("{text}: {error}"));
            let n_lines = text.lines().filter(|line| !line.starts_with('#')).count();
            assert_eq!((trace.source.format, trace.accesses.len()), (INFO.id, n_lines), "{text}");
        }
    }
}

/// Nothing else is taken for text of perf.
#[test]
fn other_text_is_not_taken() {
    for text in [
        "{\"ts\": 1.5, \"op\": \"x\"}\n",
        "[{\"ph\":\"X\",\"ts\":1.0,\"name\":\"12 1.5: 10\"}]",
        "[ \"12 1.5: 10\"]\n",
        "[[\"12 1.5: 10\"]]\n",
        "a;b;c 12\nmain;f 1.5\n",
        "2024-01-01 12:00:00.5: hello\n",
        "hello world\n",
        "",
    ] {
        let mut import = Import::new("x", text.len() as u64);
        import.feed(text.as_bytes());
        let format = import.finish().map(|trace| trace.source.format).unwrap_or_default();
        assert!(!format.starts_with("perf"), "{text}");
    }
}

/// Rows of an empty file of perf: reports are there without any.
#[test]
fn nothing_gives_empty_tables() {
    let trace = Trace::default();
    let view = LabelledTrace::new(&trace, &MemoryQuery::default().options());
    assert!(view.metrics.regions.is_empty() && view.labels.is_empty());
    let header =
        b"# ========\n# captured on    : Mon May  5 10:00:00 2025\n# header version : 1\n# ========\n#\n";
    let trace = import("perf_script.txt", header, None).unwrap();
    assert_eq!(trace.source.format, "perf-text");
    assert!(trace.accesses.is_empty() && trace.accesses.is_expected());
}
