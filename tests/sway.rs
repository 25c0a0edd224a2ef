//! Traces of dlm-sway: what is read, what is filed, and the three reference layouts to the byte.

use crate::support::{
    Random, assert_same_text, data_dirs, files, for_each_cut, import, import_in_parts, own_dir, stem,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tracedrop::analysis::{Context, Query, sway_summary};
use tracedrop::base::compat::python;
use tracedrop::base::units::group_decimal;
use tracedrop::export::reference::{TextFormat, sway_trace};
use tracedrop::import::{Import, ImportError, detect, sway};
use tracedrop::trace::{Run, Trace};

/// Expected files that are not met, and why: stem, ending, reason. All others must be.
const NOT_COMPARED: [(&str, &str, &str); 4] = [
    ("text", "term.txt", "the reference takes names for markup; ours prints them as they are"),
    ("text_bad_markup", "term.txt", "as text"),
    ("lone_surrogate", "md", "the reference could not write half a surrogate pair and left an empty file"),
    ("lone_surrogate", "term.txt", "as its Markdown"),
];

fn inputs() -> Vec<PathBuf> {
    let dirs = data_dirs("sway");
    dirs.iter().flat_map(|dir| files(dir, &[".jsonl", ".jsonl.gz"])).collect()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn layout(trace: &Trace, top: u32, format: TextFormat) -> String {
    let run = Run::single(trace.clone());
    sway_trace::write(&run, &Query { top, ..Query::default() }, format)
}

fn import_forced(bytes: &[u8]) -> Trace {
    import("any", bytes, Some(&sway::INFO)).unwrap()
}

/// Everything a reader is responsible for, as text.
fn dump(result: Result<Trace, ImportError>) -> String {
    let trace = match result {
        Ok(trace) => trace,
        Err(error) => return format!("{error:?}"),
    };
    let calls = &trace.scoring_calls;
    let text = |ids: &[tracedrop::base::strings::StringId]| {
        format!("{:?}", ids.iter().map(|id| trace.strings.get_opt(*id)).collect::<Vec<_>>())
    };
    let source = &trace.source;
    format!(
        "{} {:?} {:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{}\n{}\n{}\n{}\n{:?} {:?}\n{:?}\n{:?}",
        source.format,
        source.producer,
        source.record_kinds,
        trace.ledger,
        calls.ts,
        calls.wall_ms,
        calls.probe_kind,
        text(&calls.probe),
        text(&calls.view_id),
        text(&calls.prompt_hash),
        text(&calls.op),
        calls.top_k,
        calls.wide_top_k,
        calls.hit,
        calls.offset
    )
}

#[test]
fn reference_layouts_are_met_to_the_byte() {
    let mut n_compared = 0;
    for path in inputs() {
        let trace = import_forced(&read(&path));
        for (top, variant, width) in
            [(10, "", 100), (3, ".k3", 100), (0, ".k0", 100), (10, ".w60", 60), (10, ".w25", 25)]
        {
            for (ending, format) in [
                ("json", TextFormat::Json),
                ("md", TextFormat::Markdown),
                ("term.txt", TextFormat::Terminal { width }),
            ] {
                let stem = stem(&path);
                let file = path.parent().unwrap().join(format!("expected/{stem}{variant}.{ending}"));
                let skipped = NOT_COMPARED.iter().any(|(name, end, _)| (*name, *end) == (&stem, ending));
                if !file.exists() || skipped {
                    continue;
                }
                let mut expected = std::fs::read_to_string(&file).unwrap();
                if stem == "lone_surrogate" {
                    // Ours keeps text as Unicode, which has no half pairs.
                    expected = expected.replace("\\udcff", "\\ufffd");
                }
                assert_same_text(&file.display().to_string(), &layout(&trace, top, format), &expected);
                n_compared += 1;
            }
        }
    }
    assert!(n_compared > 80, "{n_compared}");
}

#[test]
fn any_cut_gives_the_same_trace() {
    for path in inputs() {
        let mut whole = None;
        for_each_cut("unknown", &read(&path), Some(&sway::INFO), &mut |how, result| {
            let dump = dump(result);
            let whole = whole.get_or_insert_with(|| dump.clone());
            assert_same_text(&format!("{} {how}", path.display()), &dump, whole);
        });
    }
}

/// Lines of all kinds with ends of all kinds, in any order, read in parts: numbers of lines included.
#[test]
fn any_lines_are_read_alike_in_parts() {
    let lines: [&[u8]; 8] = [
        br#"{"ts": 1.5, "probe": "p", "view_id": "base", "prompt_hash": "abc", "top_k": 8, "op": "x", "wall_ms": 1.25, "hit": false}"#,
        br#"{"ts": 2, "probe": null, "view_id": "ft", "prompt_hash": "d\u00e4", "top_k": 99999999999999999999, "op": "y", "wall_ms": 3, "hit": true}"#,
        br#"{"wall_ms": "nan", "view_id": "x", "more": [1, 2]}"#,
        b"garbage",
        b"",
        b"  ",
        b"{\"wall_ms\": 1, \"view_id\": \"\xff\"}",
        b"[1, 2]",
    ];
    let ends: [&[u8]; 5] = [b"\n", b"\n", b"\r\n", b"\r", b"\n\n"];
    for seed in 1..400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = Vec::new();
        for _ in 0..random.below(60) {
            bytes.extend_from_slice(lines[random.below(8) as usize]);
            bytes.extend_from_slice(ends[random.below(5) as usize]);
        }
        if random.below(2) == 0 {
            bytes.extend_from_slice(lines[random.below(8) as usize]);
        }
        let whole = dump(import("t", &bytes, Some(&sway::INFO)));
        let max_stretch = 1 << (3 + random.below(9));
        let parts = import_in_parts("t", &bytes, Some(&sway::INFO), &mut random, max_stretch);
        assert_same_text(&format!("seed {seed}"), &dump(parts), &whole);
    }
}

#[test]
fn format_is_found_by_content() {
    for path in inputs() {
        let bytes = read(&path);
        let forced = import_forced(&bytes);
        if forced.scoring_calls.is_empty() {
            continue;
        }
        let found =
            import("unknown", &bytes, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(found.source.format, "sway", "{}", path.display());
        assert_same_text(&path.display().to_string(), &dump(Ok(found)), &dump(Ok(forced)));
    }
    let sniff = |head: &str| (sway::INFO.sniff)(head.as_bytes());
    use tracedrop::import::Confidence::*;
    let call = r#"{"wall_ms": 1, "view_id": "base", "op": "x"}"#;
    for (head, confidence) in [
        ("", No),
        ("\n \n", No),
        ("garbage", No),
        ("{}", Possible),
        ("{\"ts\": 1}\n{\"foo\": 2}\n", No),
        ("{\"foo\": 1}\n", No),
        (&format!("garbage\n[1]\n{call}\n"), Certain),
        (&format!("garbage\r[1]\r{call}"), Certain),
        ("{\"wall_ms\": 3}", Likely),
        ("{\"ts\": 1.0, \"probe\": \"p\", \"view_id\": \"ba", Likely),
        ("{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"args\": {\"wall_ms\": 1, \"view_id\": 2}}]}", No),
        ("[{\"ph\": \"X\", \"ts\": 1},\n{\"ph\": \"X\", \"ts\": 2}]", No),
        ("{\"ph\": \"X\", \"wall_ms\": 1, \"view_id\": \"a\", \"op\": \"b\"}\n", No),
        ("{\"type\": \"meta\", \"run_id\": \"a\", \"ts\": 1}\n{\"type\": \"sample\"}\n", No),
        ("{\n  \"traceEvents\": [\n", No),
    ] {
        assert_eq!(sniff(head), confidence, "{head}");
    }
    // A head that is cut in its last line, or nothing but one long line.
    let long = format!("{}\n{call}", "x".repeat(detect::HEAD_BYTES - 20));
    assert_eq!(sniff(&long[..detect::HEAD_BYTES]), No);
    let long = format!("{{\"view_id\": \"a\", \"wall_ms\": 1, \"x\": \"{}", "x".repeat(detect::HEAD_BYTES));
    assert_eq!(sniff(&long[..detect::HEAD_BYTES]), Likely);
}

/// Lines as Python's universal newlines see them, stripped.
fn n_lines_not_blank(content: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(content).replace("\r\n", "\n").replace('\r', "\n");
    text.split('\n').filter(|line| !python::strip(line).is_empty()).count() as u64
}

#[test]
fn ledger_adds_up() {
    for path in inputs() {
        let bytes = read(&path);
        let mut content = Vec::new();
        if path.extension().unwrap() == "gz" {
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut content).unwrap();
        } else {
            content.clone_from(&bytes);
        }
        let trace = import_forced(&bytes);
        let ledger = &trace.ledger;
        let name = path.display();
        assert_eq!(ledger.content_bytes, content.len() as u64, "{name}");
        assert_eq!(ledger.n_records(), n_lines_not_blank(&content), "{name}");
        assert_eq!(ledger.kept.records + ledger.repaired.records, trace.scoring_calls.len() as u64, "{name}");
        let counted = ledger.kept.bytes + ledger.repaired.bytes + ledger.skipped.bytes;
        assert_eq!(counted + ledger.framing_bytes, content.len() as u64, "{name}");
        assert!(counted <= content.len() as u64, "{name}");
        let skips =
            ledger.issues.iter().filter(|issue| issue.kind.severity == tracedrop::trace::Severity::Skipped);
        assert_eq!(skips.map(|issue| issue.count).sum::<u64>(), ledger.skipped.records, "{name}");
        assert_eq!(ledger.record_noun, "lines");
    }
}

#[test]
fn as_many_calls_as_the_reference_keeps() {
    for dir in data_dirs("sway") {
        let summary = std::fs::read_to_string(dir.join("expected/_summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        for path in files(&dir, &[".jsonl", ".jsonl.gz"]) {
            let entry = &summary[path.file_name().unwrap().to_str().unwrap()];
            let Some(expected) = entry["tolerant_events"].as_u64().or(entry["events"].as_u64()) else {
                continue;
            };
            assert_eq!(
                import_forced(&read(&path)).scoring_calls.len() as u64,
                expected,
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn every_skipped_line_has_a_reason() {
    let mut n_checked = 0;
    for path in inputs() {
        let trace = import_forced(&read(&path));
        let issues: Vec<(&str, u64, Option<u64>)> = trace
            .ledger
            .issues
            .iter()
            .filter(|issue| issue.kind.severity > tracedrop::trace::Severity::Note)
            .map(|issue| (issue.kind.code, issue.count, issue.first.line))
            .collect();
        let expected: &[(&str, u64, Option<u64>)] = match stem(&path).as_str() {
            "crash_array_line" | "crash_null_line" | "crash_number_line" | "crash_string_line"
            | "crash_true_line" => &[("sway-not-an-object", 1, Some(2))],
            "crash_deep_nesting" => &[("sway-too-deep", 1, Some(2))],
            "crash_dict_probe" | "crash_list_probe" => &[("sway-bad-probe", 1, Some(2))],
            "crash_huge_int_wall" | "crash_inf_top_k" => &[("sway-out-of-range", 1, Some(2))],
            "crash_int_digits" => &[("sway-integer-too-long", 1, Some(2))],
            "crash_invalid_utf8" => &[("sway-bad-utf8", 1, Some(2))],
            "bom" => &[("sway-byte-order-mark", 1, Some(1))],
            "truncated_tail" => &[("sway-cut", 1, Some(108))],
            "lone_surrogate" => &[("sway-lone-surrogate", 1, Some(1))],
            "malformed_lines" => &[("sway-not-json", 7, Some(2))],
            "coercions" => &[
                ("sway-bad-ts", 3, Some(3)),
                ("sway-bad-top-k", 3, Some(25)),
                ("sway-bad-wall-ms", 5, Some(36)),
            ],
            "ties" | "run_appended" | "text" | "long_names" => &[],
            _ => continue,
        };
        n_checked += 1;
        assert_eq!(issues, expected, "{}", path.display());
    }
    assert!(n_checked > 15);
}

#[test]
fn an_empty_file_is_a_report_of_nothing_if_asked_for() {
    assert_eq!(import("unknown", b"", None).err().map(|error| error.code), Some("empty"));
    let trace = import_forced(b"");
    assert_eq!(trace.scoring_calls.len(), 0);
    assert!((sway_summary::INFO.applies)(&Run::single(trace)));
}

#[test]
fn compressed_files_read_the_same() {
    let plain = b"{\"wall_ms\": 1.5, \"view_id\": \"base\", \"op\": \"x\", \"hit\": true}\n".repeat(500);
    let mut packed = flate2::read::GzEncoder::new(&plain[..], flate2::Compression::default());
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
    for_each_cut("unknown", &bytes, None, &mut |how, result| {
        let trace = result.unwrap();
        assert_eq!((trace.source.format, trace.scoring_calls.len()), ("sway", 500), "{how}");
        assert_eq!(trace.source.compression, ["gzip"]);
        assert_eq!(trace.ledger.content_bytes, plain.len() as u64);
    });
}

#[test]
fn long_lines_are_skipped_in_little_memory() {
    let mut import = Import::with_format("x", 0, Some(&sway::INFO));
    import.feed(b"{\"wall_ms\": 1}\r");
    for _ in 0..300 {
        import.feed(&[b'x'; 1 << 16]);
    }
    import.feed(b"\r");
    import.feed(b"\n{\"wall_ms\": 2}");
    let trace = import.finish().unwrap();
    assert_eq!(trace.scoring_calls.wall_ms, [1.0, 2.0]);
    assert_eq!(trace.ledger.count_of("sway-line-too-long"), 1);
    assert_eq!((trace.ledger.skipped.bytes, trace.ledger.framing_bytes), (300 << 16, 3));
}

#[test]
fn hostile_lines_cost_no_more_than_their_length() {
    let line = |value: String| format!("{{\"view_id\": {value}, \"wall_ms\": 1}}\n");
    let deep = line("[".repeat(40_000) + &"]".repeat(40_000));
    let too_deep = line("[".repeat(60_000) + &"]".repeat(60_000));
    let repeated = line("{\"a\": 0, \"a\": ".repeat(40_000) + "1" + &"}".repeat(40_000));
    let wide = line(format!("[{}0]", "0, ".repeat(200_000)));
    let trace = import_forced([deep, too_deep, repeated, wide].concat().as_bytes());
    assert_eq!((trace.scoring_calls.len(), trace.ledger.count_of("sway-too-deep")), (3, 1));
    let report = layout(&trace, 10, TextFormat::Terminal { width: 100 });
    assert!(report.contains('…'));
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let line = "{\"probe\": \"a\\u001b[31m\\u202eb\\nc\\td\", \"view_id\": \"\\u0007\", \"wall_ms\": 1}\n";
    let text = layout(&import_forced(line.as_bytes()), 10, TextFormat::Terminal { width: 100 });
    // A tab reaches to the next multiple of eight, which the column was not measured for: as in the reference, the rest wraps.
    assert!(text.contains(" a\\x1b[31m\\u{202e}b\\nc        1 "), "{text}");
    assert!(text.contains("\n d  "), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\t']));
    for width in 0..60 {
        layout(&import_forced(line.as_bytes()), 10, TextFormat::Terminal { width });
    }
}

#[test]
fn report_says_what_was_computed_again() {
    let line = |prompt: &str, wall: f64, hit: bool, ts: f64| {
        format!(
            "{{\"ts\": {ts:?}, \"probe\": null, \"view_id\": \"base\", \"prompt_hash\": \"{prompt}\", \
             \"top_k\": 99999999999999999999, \"op\": \"logprob_of\", \"wall_ms\": {wall:?}, \"hit\": {hit}}}\n"
        )
    };
    let text = [
        line("a", 10.0, false, 101.0),
        line("b", 20.0, false, 102.0),
        line("a", 0.5, true, 103.0),
        line("a", 30.0, false, 104.0),
        line("a", 5.0, false, 105.0),
    ]
    .concat();
    let run = Run::single(import_forced(text.as_bytes()));
    let report = (sway_summary::INFO.run)(&Context::new(&run, &Query { top: 2, ..Query::default() }));
    let table = report.tables().find(|table| table.id == "repeated_misses").unwrap();
    let value = |id: &str| table.column(id).unwrap().cells.get(0).plain();
    assert_eq!(table.n_rows(), 1);
    assert_eq!(
        ["prompt_hash", "top_k", "cache_misses", "total_ms", "repeated_ms"].map(value),
        ["a", "99999999999999999999", "3", "45", "35"]
    );
    let slowest = report.tables().find(|table| table.id == "slowest").unwrap();
    assert_eq!(slowest.column("wall_ms").unwrap().cells.get(1).plain(), "20");
    assert_eq!(slowest.column("probe").unwrap().cells.get(1).plain(), "");
    let fact = |id: &str| {
        report.blocks.iter().find_map(|block| match block {
            tracedrop::report::Block::Facts(facts) => {
                facts.facts.iter().find(|fact| fact.id == id).map(|fact| fact.value.plain())
            }
            _ => None,
        })
    };
    assert_eq!(fact("span_ms").as_deref(), Some("4010.000000000005"));
    assert_eq!(fact("overall_hit_rate").as_deref(), Some("0.2"));
    let none = (sway_summary::INFO.run)(&Context::new(&run, &Query { top: 0, ..Query::default() }));
    assert!(none.tables().all(|table| table.id != "slowest"));
}

#[test]
fn numbers_that_are_not_finite_sort_to_the_ends() {
    let text = "{\"wall_ms\": NaN, \"probe\": \"a\"}\n{\"wall_ms\": 3, \"probe\": \"b\"}\n\
                {\"wall_ms\": Infinity, \"probe\": \"c\"}\n{\"wall_ms\": \"-inf\", \"probe\": \"d\"}\n";
    let trace = import_forced(text.as_bytes());
    let markdown = layout(&trace, 10, TextFormat::Markdown);
    let order: Vec<&str> = markdown.lines().filter_map(|line| line.strip_prefix("| ")?.get(..1)).collect();
    assert_eq!(order.concat(), "pcbdav pcbda");
    assert!(markdown.starts_with("# sway trace — 4 events, total nans, hit rate 0.0%\n"));
    let json = layout(&trace, 1, TextFormat::Json);
    assert!(json.contains("\"total_wall_ms\": NaN") && json.contains("\"wall_ms\": Infinity"));
}

/// `python_floats.txt`: bits of a double, then what Python makes of `repr`, `,.1f`, `.2f` and `.1%`.
#[test]
fn floats_are_written_as_python_writes_them() {
    let path = own_dir("sway").join("python_floats.txt");
    let expected = std::fs::read_to_string(path).unwrap();
    let write = |line: &str| {
        let bits = line.split(' ').next().unwrap();
        let value = f64::from_bits(bits.parse().unwrap());
        let (repr, fixed) = (python::float_repr(value), python::format_fixed(value, 2));
        let (grouped, percent) = (group_decimal(value, 1), python::format_percent(value));
        format!("{bits} {repr} {grouped} {fixed} {percent}\n")
    };
    assert_same_text("floats", &expected.lines().map(write).collect::<String>(), &expected);
}

proptest::proptest! {
    #[test]
    fn floats_survive_being_written(bits: u64) {
        let value = f64::from_bits(bits);
        let text = python::float_repr(value);
        let back = python::parse_float(&text).unwrap();
        proptest::prop_assert!(back.to_bits() == value.to_bits() || (back.is_nan() && value.is_nan()), "{}", text);
    }

    #[test]
    fn integers_survive_being_written(value: i128) {
        let text = value.to_string();
        proptest::prop_assert_eq!(python::parse_int(&text), Some(text));
    }

    #[test]
    fn any_text_is_read_without_panic(lines in proptest::collection::vec("[\\PC\r\n{}\\[\\]\",:0-9]{0,80}", 0..6)) {
        let trace = import_forced(lines.join("\n").as_bytes());
        layout(&trace, 10, TextFormat::Terminal { width: 30 });
    }
}
