//! The ledger counts every byte of a file, whatever is wrong with the file.

use crate::support::{Random, data_dirs, files, import, import_cut, import_in_parts};
use std::path::{Path, PathBuf};
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::import::{FORMATS, issue_kind};
use tracedrop::report::Report;
use tracedrop::trace::Trace;
use tracedrop::trace::losses::LOSSES;

/// Small files of all formats.
fn inputs(max_bytes: u64) -> Vec<PathBuf> {
    let folders = [
        ("chrome", ""),
        ("chrome", "ours"),
        ("sway", ""),
        ("pysampling", ""),
        ("pytorch", ""),
        ("pytorch", "edge"),
        ("mrm", "real"),
        ("mrm", "memray"),
        ("mrm", "inputs"),
        ("mrm", "parquet-variants"),
        ("stacks", ""),
        ("memsnapshot", ""),
    ];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all = folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[""]));
    all.filter(|path| path.metadata().unwrap().len() < max_bytes).collect()
}

/// All exports of a file, read from scratch.
fn exports(name: &str, bytes: &[u8]) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.feed(bytes);
    session.finish().ok()?;
    let exporters = session.exporters();
    let of = |exporter: &'static export::ExporterInfo| {
        let mut out = Vec::new();
        session.export(exporter, &Options::default(), &mut out).ok().map(|_| (exporter.id, out))
    };
    Some(exporters.into_iter().filter_map(of).collect())
}

/// Hash maps are seeded differently on each read.
#[test]
fn nothing_depends_on_the_order_of_maps() {
    let mut n_read = 0;
    for path in inputs(40_000) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (first, second) = (exports(name, &bytes), exports(name, &bytes));
        for (a, b) in first.iter().flatten().zip(second.iter().flatten()) {
            assert!(a == b, "{} as {}", path.display(), a.0);
        }
        assert_eq!(first.map(|all| all.len()), second.map(|all| all.len()), "{}", path.display());
        n_read += 1;
    }
    assert!(n_read > 50, "{n_read}");
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Every byte belongs to a record, to recognized framing, or is unused and reported.
fn check_bytes(trace: &Trace, what: &str) {
    assert_eq!(wrong_bytes(trace, what), None);
}

fn wrong_bytes(trace: &Trace, what: &str) -> Option<String> {
    let ledger = &trace.ledger;
    let (n, n_content) = (ledger.accounted_bytes(), ledger.content_bytes);
    let is_right = ledger.count_of("bytes-unaccounted") == 0 && n == n_content;
    (!is_right).then(|| format!("{what}: {n} of {n_content} bytes, {:?}", ledger.issues))
}

/// Number of records in a JSON file of events, by another parser; `None` if it is not JSON.
fn records_in_json(bytes: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let len = |value: Option<&serde_json::Value>| {
        value.and_then(|list| list.as_array()).map(|list| list.len() as u64)
    };
    match &value {
        serde_json::Value::Array(list) => Some(list.len() as u64),
        // A duplicate member appears only once in the value.
        serde_json::Value::Object(object) if count_of(bytes, b"\"traceEvents\"") == 1 => {
            Some(len(object.get("traceEvents"))? + len(object.get("samples")).unwrap_or(0))
        }
        _ => None,
    }
}

fn count_of(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).filter(|window| *window == what).count()
}

/// Number of records in a file of lines.
fn records_in_lines(bytes: &[u8], is_perf: bool, has_lone_cr: bool) -> u64 {
    let lines = bytes.split(|byte| *byte == b'\n' || has_lone_cr && *byte == b'\r');
    let is_record = |line: &&[u8]| {
        let line = line.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(line);
        let is_blank = String::from_utf8_lossy(line).chars().all(|char| char.is_whitespace() || char < ' ');
        let is_comment = is_perf && matches!(line.first(), Some(b'#' | b'\t'));
        !is_blank && !is_comment
    };
    lines.filter(is_record).count() as u64
}

/// Decompressed content of a file.
fn content_of(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(b"\x1f\x8b") {
        return bytes;
    }
    let mut content = Vec::new();
    // As far as it can be decompressed.
    _ = std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes.as_slice()), &mut content);
    content
}

/// Number of records found by a simple scan of the content.
fn records_in(trace: &Trace, content: &[u8]) -> Option<u64> {
    match trace.source.format {
        "chrome-trace" if trace.ledger.count_of("list-of-other-name") == 0 => records_in_json(content),
        // Damaged lines may contain several samples.
        _ if trace.ledger.count_of("perf-several-samples") > 0 => None,
        "python-sampling" => Some(records_in_lines(content, false, false)),
        "sway" => Some(records_in_lines(content, false, true)),
        "perf-text" => Some(records_in_lines(content, true, true)),
        _ => None,
    }
}

#[test]
fn all_records_and_bytes_of_files_are_accounted_for() {
    let mut random = Random(0x5eed_0001);
    let mut n_by_format = std::collections::BTreeMap::<&str, u32>::new();
    for path in inputs(100_000) {
        let (content, name) = (content_of(&path), name_of(&path));
        let Ok(whole) = import(name, &content, None) else { continue };
        let what = path.display().to_string();
        check_bytes(&whole, &what);
        if let Some(n_records) = records_in(&whole, &content) {
            assert_eq!(whole.ledger.n_records(), n_records, "{what}: {:?}", whole.ledger.issues);
            *n_by_format.entry(whole.source.format).or_default() += 1;
        }
        let mut next_len = |_: usize| 1 + random.below(5000) as usize;
        let cut = import_cut(name, &content, None, &mut next_len).unwrap();
        let parts = import_in_parts(name, &content, None, &mut random, 20_000).unwrap();
        for other in [&cut, &parts] {
            check_bytes(other, &what);
            let (a, b) = (&whole.ledger, &other.ledger);
            assert_eq!((a.n_records(), a.framing_bytes), (b.n_records(), b.framing_bytes), "{what}");
        }
    }
    assert!(n_by_format.len() >= 4 && n_by_format.values().sum::<u32>() > 40, "{n_by_format:?}");
}

/// Makes one change somewhere in the bytes; returns its offset.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) -> usize {
    let at = random.below(bytes.len() as u64) as usize;
    let n = (1 + random.below(6) as usize).min(bytes.len() - at);
    match random.below(8) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 | 3 => drop(bytes.drain(at..at + n)),
        4 => drop(bytes.drain(at..at + 1)),
        5 => {
            const TOKENS: [&[u8]; 8] = [b"\"", b"{", b"}", b"[", b"]", b",", b"\\", b"\n"];
            let token = TOKENS[random.below(8) as usize];
            bytes.splice(at..at, token.iter().copied());
        }
        6 => {
            let noise: Vec<u8> = (0..n).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, noise);
        }
        _ => bytes.truncate(at),
    }
    at
}

/// Whatever happens at one place of a file, no byte is lost silently, and what precedes that place is read as before.
#[test]
fn damage_is_accounted_for() {
    let (mut n_read, mut wrong) = (0, Vec::new());
    for path in inputs(100_000) {
        let content = content_of(&path);
        // By file, so that a new file changes nothing for the others.
        let seed =
            name_of(&path).bytes().fold(0x5eed_0002_u64, |seed, byte| seed.rotate_left(7) ^ u64::from(byte));
        let mut random = Random(seed);
        if content.is_empty() || content.len() > 200_000 {
            continue;
        }
        let Ok(sound) = import(name_of(&path), &content, None) else { continue };
        let (n_sound, format) = (sound.ledger.n_records(), sound.source.format);
        for round in 0..(200_000 / content.len()).clamp(3, 30) {
            let mut bytes = content.clone();
            let at = damage(&mut bytes, &mut random);
            let what = || format!("{} round {round}, changed at {at}", path.display());
            let Ok(trace) = import(name_of(&path), &bytes, None) else { continue };
            if trace.source.format != format {
                continue;
            }
            n_read += 1;
            wrong.extend(wrong_bytes(&trace, &what()));
            let n_records = trace.ledger.n_records();
            if let Some(expected) = records_in(&trace, &bytes) {
                if n_records != expected {
                    wrong.push(format!(
                        "{}: {n_records} records, not {expected} {:?}",
                        what(),
                        trace.ledger.issues
                    ));
                }
            } else if format == "chrome-trace" && at < bytes.len() {
                // One event may be lost together with its neighbors; it may also look like several.
                let (least, most) = (n_sound.saturating_sub(3), n_sound + 4);
                if !(least..=most).contains(&n_records) {
                    wrong.push(format!("{}: {n_records} of {n_sound} {:?}", what(), trace.ledger.issues));
                }
            }
            let step = 1 + random.below(200) as usize;
            let cut = import_cut(name_of(&path), &bytes, None, &mut |_| step).unwrap();
            let (a, b) = (&trace.ledger, &cut.ledger);
            let counts = |ledger: &tracedrop::trace::Ledger| {
                (ledger.kept, ledger.repaired, ledger.skipped, ledger.unused_bytes, ledger.framing_bytes)
            };
            if counts(a) != counts(b) {
                wrong.push(format!("{} in steps of {step}: {:?}, not {:?}", what(), counts(b), counts(a)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {n_read}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_read > 500, "{n_read}");
}

/// Events, members and samples after a wrong quote, bracket or name.
#[test]
fn what_lies_behind_damage_is_read() {
    let event = r#"{"ph":"X","name":"a","ts":1,"dur":1}"#;
    let sample = r#"{"cpu":0,"tid":1,"ts":1,"name":"c","weight":1}"#;
    for (text, n_records, code) in [
        (format!(r#"{{"traceEvents":[{event}],"o":{{"a":"b}},"samples":[{sample}]}}"#), 2, "broken-member"),
        (format!(r#"{{"traceEvents":[{event}],"o":"b,"samples":[{sample}]}}"#), 2, "broken-member"),
        (format!(r#"{{"traceEvents":[{event}],"o"x:{{"a":1}},"samples":[{sample}]}}"#), 2, "stray-text"),
        (format!(r#"{{"traceEvents":[{event}]}},"samples":[{sample}]}}"#), 2, "member-after-end"),
        (format!(r#"{{"traceEvents":[{event},"samples":[{sample}]}}"#), 2, "list-not-closed"),
        (format!(r#"{{"o":{{"a":"b}},"traceEvents":[{event},{event}]}}"#), 2, "broken-member"),
        (
            format!(
                r#"{{"a":1,"stackFrames":{{"1":{{"name":"b}},"2":{{"name":"c"}}}},"traceEvents":[{event},{event}]}}"#
            ),
            2,
            "broken-member",
        ),
        (format!(r#"{{"a":1,"tlaceEvents":[{event},{event}]}}"#), 2, "list-of-other-name"),
        (format!(r#"{{"tlaceEvents":[{event},{event}]}}"#), 2, "list-of-other-name"),
        (format!(r#"{{"a":1,traceEvents":[{event},{event}]}}"#), 2, "list-without-name"),
        (format!(r#"{{"a":1,"traceEvents:[{event},{event}]}}"#), 2, "list-without-name"),
        (format!(r#"{{"a":1,"traceEvents"[{event},{event}]}}"#), 2, "list-without-name"),
        (format!(r#"{{"a":1,"traceEvents":{event},{event}]}}"#), 2, "list-not-opened"),
        (format!(r#"{{"traceEvents":[{event}],"more":[{event}]}}"#), 1, "second-list"),
        (format!(r#"{{"traceEvents":[{event}],"cut":{{"a":"#), 1, "cut-member"),
        (format!(r#"{{"traceEvents":[{event}],"sbmples":[{sample}]}}"#), 2, "list-of-other-name"),
        (
            format!(r#"{{"traceEvents":[{event},{{"name:"b","ts":1,"x":[}}],"samples":[{sample}]}}"#),
            2,
            "broken-event",
        ),
    ] {
        let whole = import("a.json", text.as_bytes(), None).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ledger = &whole.ledger;
        check_bytes(&whole, &text);
        let n_used = ledger.kept.records + ledger.repaired.records;
        assert_eq!((n_used, ledger.count_of(code)), (n_records, 1), "{text}: {:?}", ledger.issues);
        for step in 1..text.len() {
            let cut = import_cut("a.json", text.as_bytes(), None, &mut |_| step).unwrap();
            let other = &cut.ledger;
            let counts = (other.kept, other.skipped, other.unused_bytes, other.framing_bytes);
            assert_eq!(
                counts,
                (ledger.kept, ledger.skipped, ledger.unused_bytes, ledger.framing_bytes),
                "{text} {step}"
            );
        }
    }
}

/// Arguments of any length that swallowed the next event are detected.
#[test]
fn a_short_event_that_swallows_its_neighbour_is_broken() {
    let main = r#"{"ph":"B","name":"main","ts":100,"pid":1,"tid":1}"#;
    let end = r#"{"ph":"E","name":"main","ts":120,"pid":1,"tid":1}"#;
    for (begin, behind) in [
        (
            r#"{"ph":"B","name":"find","ts":101,"pid":1,"tid":1,"args":{"arguments":"(\"abc\", '"')"}}"#,
            r#"{"ph":"E","name":"find","ts":103,"pid":1,"tid":1,"args":{"retval":"\"c\""}}"#,
        ),
        // Likewise without a backslash, and in unknown members.
        (
            r#"{"ph":"B","name":"find","ts":101,"pid":1,"tid":1,"args":{"a":"b"c"}}"#,
            r#"{"ph":"E","name":"find","ts":103,"pid":1,"tid":1,"args":{"r":"d"e"}}"#,
        ),
        (
            r#"{"ph":"B","name":"find","ts":101,"pid":1,"tid":1,"x":{"a":"C:\"},"y":1}"#,
            r#"{"ph":"E","name":"find","ts":103,"pid":1,"tid":1,"x":{"r":"\"c\""}}"#,
        ),
    ] {
        let text = format!("[{main},\n{begin},\n{behind},\n{end}]");
        let whole = import("a.json", text.as_bytes(), None).unwrap();
        check_bytes(&whole, &text);
        let ledger = &whole.ledger;
        assert_eq!(ledger.n_records(), 4, "{text}: {:?}", ledger.issues);
        assert!(ledger.count_of("broken-event") >= 1, "{text}: {:?}", ledger.issues);
        let is_sure =
            (0..whole.slices.len()).all(|slice| whole.strings.get(whole.slices.name[slice]) != "find");
        assert!(is_sure, "{text}");
    }
}

/// A lost line end between two samples loses neither of them.
#[test]
fn two_samples_on_a_line_are_two() {
    let line = |at: u32| {
        format!("  app  12 [000]  {at}.000100:  4000 cpu/mem-loads/P:  7f3a4006{at:04} main+0x10 (/opt/app)")
    };
    let lines = |n: u32| (1..=n).map(|at| format!("{}\n", line(at))).collect::<String>();
    let text = format!("{}{}{}\n{}", lines(20), line(21), line(22), lines(3));
    let trace = import("perf.txt", text.as_bytes(), None).unwrap();
    check_bytes(&trace, &text);
    assert_eq!((trace.ledger.kept.records, trace.ledger.repaired.records), (23, 2));
    assert_eq!((trace.accesses.len(), trace.ledger.count_of("perf-several-samples")), (25, 1));
    assert_eq!(trace.accesses.iter().nth(21).map(|row| row.address), Some(0x7f3a_4006_0022));
}

/// Reports on a file with that content.
fn reports_on(content: &[u8]) -> Vec<Report> {
    let mut session = Session::new("a.json", content.len() as u64, None, Query::default());
    session.feed(content);
    session.finish().unwrap();
    tracedrop::analysis::reports(session.run(), &Query::default())
}

/// Issues of single records, whatever their codes say: these are counted, and all others are read.
const OF_RECORDS: [&str; 3] = ["perfetto-heap-cut", "sqlite-damaged-row", "xplane-damaged-event"];

#[test]
fn issues_of_truncated_and_damaged_files_are_losses() {
    for kind in FORMATS.iter().flat_map(|format| format.issues) {
        let tells = kind.code.split('-').any(|word| ["cut", "truncated", "damaged"].contains(&word));
        let is_listed = LOSSES.iter().any(|(code, _)| *code == kind.code);
        assert!(!tells || is_listed || OF_RECORDS.contains(&kind.code), "{}", kind.code);
    }
}

/// Numbers of a part of a file come with that it is a part.
#[test]
fn reports_on_a_truncated_file_begin_with_that() {
    for (code, _) in LOSSES {
        assert!(issue_kind(code).is_some(), "{code}");
    }
    let event = |cat: &str, ts: u32| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"f{ts}","pid":1,"tid":1,"ts":{ts},"dur":5,"args":{{"device":0}}}}"#
        )
    };
    for (cat, bearers) in [("cpu_op", &["overview"][..]), ("kernel", &["gpu-findings", "gpu-breakdown"])] {
        let whole = format!(r#"{{"schemaVersion":1,"traceEvents":[{},{}]}}"#, event(cat, 10), event(cat, 20));
        let warns = |report: &Report| report.warnings().next().is_some_and(|text| text.contains("truncated"));
        assert!(!reports_on(whole.as_bytes()).iter().any(warns));
        // Without the closing brace, and inside the second event.
        for n_lost in [1, 20] {
            let reports = reports_on(&whole.as_bytes()[..whole.len() - n_lost]);
            let ids: Vec<&str> = reports.iter().filter(|report| warns(report)).map(|it| &*it.id).collect();
            assert_eq!(ids, bearers, "{cat}, {n_lost} bytes less");
            let first = reports[0].warnings().next();
            assert_eq!(first, Some("The file is truncated: numbers cover only what could be read."));
        }
    }
}
