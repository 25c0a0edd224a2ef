//! Alignment compared with a brute-force version, and comparisons of traces without a GPU.

use crate::compare::sides::{compared, digest, digest_of, lists, number, sum, table, text};
use crate::support::{Random, all_files, data_dirs, import};
use proptest::prelude::*;
use tracedrop::compare::align::{GAP_EXTEND, GAP_OPEN, Scores, Step, align, align_within, score};
use tracedrop::compare::{CompareQuery, Digest, Problem, compare};
use tracedrop::report::Block;
use tracedrop::report::view::{TableQuery, row_order};

/// Letters: equal ones score high, those of equal case low, others are never paired.
struct Letters(Vec<u8>, Vec<u8>);

impl Scores for Letters {
    fn pair(&self, a: usize, b: usize) -> Option<i32> {
        let (a, b) = (self.0[a], self.1[b]);
        match () {
            () if a == b => Some(6),
            () if a.is_ascii_lowercase() == b.is_ascii_lowercase() => Some(2),
            () => None,
        }
    }
}

/// The best possible score, from all cells of three tables.
fn best(letters: &Letters) -> i64 {
    const NEVER: i64 = i64::MIN / 4;
    let (n, m) = (letters.0.len(), letters.1.len());
    let (open, extend) = (i64::from(GAP_OPEN), i64::from(GAP_EXTEND));
    // Paths that end with a pair, in a gap of A, in a gap of B.
    let mut cells = vec![vec![[NEVER; 3]; m + 1]; n + 1];
    cells[0][0][0] = 0;
    for i in 0..=n {
        for j in 0..=m {
            let any = |cell: [i64; 3]| cell.into_iter().max().unwrap();
            if i > 0 && j > 0 {
                let worth = letters.pair(i - 1, j - 1).map_or(NEVER, i64::from);
                cells[i][j][0] = any(cells[i - 1][j - 1]) + worth;
            }
            if i > 0 {
                let from = cells[i - 1][j];
                cells[i][j][1] = (from[1] - extend).max(any(from) - open - extend);
            }
            if j > 0 {
                let from = cells[i][j - 1];
                cells[i][j][2] = (from[2] - extend).max(any(from) - open - extend);
            }
        }
    }
    cells[n][m].into_iter().max().unwrap()
}

/// Every place once, in order, without forbidden pairs.
fn check(steps: &[Step], letters: &Letters) {
    let (mut a, mut b) = (0, 0);
    for step in steps {
        match step {
            Step::Pair(at, beside) => {
                assert_eq!((*at, *beside), (a, b));
                assert!(letters.pair(*at as usize, *beside as usize).is_some());
                (a, b) = (a + 1, b + 1);
            }
            Step::OnlyA(at) => {
                assert_eq!(*at, a);
                a += 1;
            }
            Step::OnlyB(at) => {
                assert_eq!(*at, b);
                b += 1;
            }
        }
    }
    assert_eq!((a as usize, b as usize), (letters.0.len(), letters.1.len()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn alignments_are_the_best(a in "[abAB]{0,40}", b in "[abAB]{0,40}") {
        let letters = Letters(a.into_bytes(), b.into_bytes());
        let steps = align(letters.0.len(), letters.1.len(), &letters);
        check(&steps, &letters);
        prop_assert_eq!(score(&steps, &letters), best(&letters));
    }

    #[test]
    fn narrow_bands_give_alignments(a in "[abAB]{0,300}", b in "[abAB]{0,300}") {
        let letters = Letters(a.into_bytes(), b.into_bytes());
        let steps = align_within(letters.0.len(), letters.1.len(), &letters, 0);
        check(&steps, &letters);
    }
}

/// Sequences of a model: layers with insertions and deletions. The band finds the global optimum.
#[test]
fn bands_hold_the_best_path_of_layers() {
    let mut random = Random(9);
    for _ in 0..10 {
        let mut side = |chance: u64| -> Vec<u8> {
            let mut out = Vec::new();
            for _ in 0..60 {
                for letter in b"aBcDDe" {
                    if random.below(100) >= chance {
                        out.push(*letter);
                    }
                    if random.below(100) < chance / 2 {
                        out.push(b'X');
                    }
                }
            }
            out
        };
        let letters = Letters(side(0), side(10));
        let steps = align_within(letters.0.len(), letters.1.len(), &letters, 1);
        check(&steps, &letters);
        assert_eq!(score(&steps, &letters), best(&letters));
    }
}

/// A hundred thousand kernels vs seventy thousand, in linear space.
#[test]
fn long_sequences_are_aligned() {
    let mut random = Random(5);
    let mut side = |chance: u64| -> Vec<u8> {
        (0..100_000).filter(|_| random.below(100) >= chance).map(|at| b"aBcDDeFgH"[at % 9]).collect()
    };
    let letters = Letters(side(0), side(30));
    let steps = align(letters.0.len(), letters.1.len(), &letters);
    check(&steps, &letters);
}

pub fn call(prompt: &str, ms: f64, hit: bool) -> String {
    format!(
        r#"{{"ts": 1.0, "probe": "p", "view_id": "base", "prompt_hash": "{prompt}", "top_k": 5, "op": "next_token_dist", "wall_ms": {ms}, "hit": {hit}}}"#
    )
}

/// A duration that is no number is in no sum, so the sums are said to lack it.
#[test]
fn calls_without_a_finite_duration_are_told() {
    let a = digest_of("a.jsonl", &[call("x", 2.0, false), call("x", f64::NAN, false)].join("\n"));
    let b = digest_of("b.jsonl", &call("x", 2.0, false));
    let comparison = compared(&a, &b);
    let Some(Block::Note(note)) = comparison.reports[0].blocks.first() else { panic!("no warning") };
    assert_eq!(note.text, "A: 1 call of a.jsonl has a non-finite duration: compared times are without it.");
}

#[test]
fn hits_are_gained_and_lost() {
    let a = digest_of(
        "a.jsonl",
        &[call("x", 2.5, false), call("x", 0.1, true), call("y", 3.0, false), call("gone", 1.0, false)]
            .join("\n"),
    );
    let b = digest_of(
        "b.jsonl",
        &[call("x", 2.0, false), call("x", 2.0, false), call("y", 0.001, true)].join("\n"),
    );
    let comparison = compared(&a, &b);
    let calls = table(&comparison, "compare-sway-calls", "calls");
    let row =
        |prompt: &str| (0..calls.n_rows()).find(|row| text(calls, *row, "prompt_hash") == prompt).unwrap();
    let report = comparison.reports.iter().find(|report| report.id == "compare-sway-calls").unwrap();
    assert!(report.summary.ends_with(" 1 hit gained, 1 lost."), "{}", report.summary);
    let lines: Vec<String> =
        lists(report).flat_map(|list| list.findings.iter().map(|finding| list.line(finding))).collect();
    assert_eq!(
        lines,
        [
            "−2.999 ms p · base · next_token_dist · y · top k 5 (same count, 3,000× shorter each)",
            "+1.400 ms p · base · next_token_dist · x · top k 5 (same count, 1.54× longer each)",
            "−1.000 ms p · base · next_token_dist · gone · top k 5 (only in A)",
        ]
    );
    assert_eq!(number(calls, row("x"), "hits_difference"), -1);
    assert_eq!(number(calls, row("y"), "hits_difference"), 1);
    assert_eq!(
        (text(calls, row("gone"), "change"), number(calls, row("gone"), "time_difference")),
        ("▽ only in A".into(), -1_000_000)
    );
    assert_eq!(sum(calls, "time_difference"), 4_001_000 - 6_600_000);
    for (report, id, column) in
        [("compare-sway-summary", "per_probe", "total_ms"), ("compare-sway-summary", "per_view", "total_ms")]
    {
        assert_eq!(
            sum(table(&comparison, report, id), &format!("{column}_difference")),
            4_001_000 - 6_600_000
        );
    }
}

pub fn profile(interval_us: u32, work: u32, idle: u32) -> String {
    let id = "0".repeat(32);
    let lines = [
        format!(
            r#"{{"type":"meta","v":0,"run_id":"{id}","sample_interval_usec":{interval_us},"mode":"wall"}}"#
        ),
        format!(
            r#"{{"type":"string_table","v":0,"run_id":"{id}","strings":[{{"str_id":0,"value":"work"}},{{"str_id":1,"value":"/srv/app.py"}},{{"str_id":2,"value":"idle"}}]}}"#
        ),
        format!(
            r#"{{"type":"frame_table","v":0,"run_id":"{id}","frames":[{{"frame_id":0,"path_str_id":1,"func_str_id":0,"line":3}},{{"frame_id":1,"path_str_id":1,"func_str_id":2,"line":9}}]}}"#
        ),
        format!(
            r#"{{"type":"agg","v":0,"run_id":"{id}","kind":"frame","scope":"final","samples_total":{},"entries":[{{"frame_id":0,"self":{work},"cumulative":{work}}},{{"frame_id":1,"self":{idle},"cumulative":{idle}}}]}}"#,
            work + idle
        ),
        format!(r#"{{"type":"end","v":0,"run_id":"{id}","samples_total":{}}}"#, work + idle),
    ];
    lines.join("\n")
}

#[test]
fn frames_are_matched_by_function_and_path() {
    let comparison =
        compared(&digest_of("a.jsonl", &profile(1000, 10, 30)), &digest_of("b.jsonl", &profile(500, 60, 20)));
    let functions = table(&comparison, "compare-hot-frames", "functions");
    let row =
        |name: &str| (0..functions.n_rows()).find(|row| text(functions, *row, "function") == name).unwrap();
    let work = row("work");
    // Samples, seconds and shares of each side; cumulative ones too.
    assert_eq!(
        (number(functions, work, "self_difference"), number(functions, work, "self_time_ns_difference")),
        (50, 20_000_000)
    );
    assert_eq!(
        (text(functions, work, "share_a"), text(functions, work, "share_b")),
        ("0.25".into(), "0.75".into())
    );
    assert_eq!(text(functions, work, "share_difference"), "0.5");
    let report = comparison.reports.iter().find(|report| report.id == "compare-hot-frames").unwrap();
    // Samples stand for 1 ms in A and for 0.5 ms in B, so it is thread time that is compared first.
    assert_eq!(report.summary, "Thread time: 40.00 ms in A, 40.00 ms in B (no change).");
    let lines: Vec<String> =
        lists(report).flat_map(|list| list.findings.iter().map(|finding| list.line(finding))).collect();
    assert_eq!(
        lines,
        [
            "−20.00 ms idle · /srv/app.py (75.0% in A, 25.0% in B)",
            "+20.00 ms work · /srv/app.py (25.0% in A, 75.0% in B)",
        ]
    );
    assert_eq!(number(functions, work, "cumulative_at_least_difference"), 50);
    assert_eq!(number(functions, row("idle"), "self_time_ns_difference"), -20_000_000);
}

/// A difference of lower bounds is none, so it is left out unless both are exact: of a function with one frame, but not of one
/// that calls itself from two lines.
#[test]
fn lower_bounds_have_no_difference() {
    let side = |counts: [[u32; 2]; 3]| {
        let [main, first, second] = counts.map(|[own, all]| format!(r#""self":{own},"cumulative":{all}"#));
        let lines = [
            r#"{"type":"meta","v":0,"run_id":"r","sample_interval_usec":1000,"mode":"wall"}"#.to_string(),
            r#"{"type":"string_table","v":0,"run_id":"r","strings":[{"str_id":0,"value":"/a.py"},{"str_id":1,"value":"main"},{"str_id":2,"value":"rec"}]}"#.to_string(),
            r#"{"type":"frame_table","v":0,"run_id":"r","frames":[{"frame_id":0,"path_str_id":0,"func_str_id":1,"line":1},{"frame_id":1,"path_str_id":0,"func_str_id":2,"line":2},{"frame_id":2,"path_str_id":0,"func_str_id":2,"line":3}]}"#.to_string(),
            format!(
                r#"{{"type":"agg","v":0,"run_id":"r","kind":"frame","scope":"final","samples_total":100,"entries":[{{"frame_id":0,{main}}},{{"frame_id":1,{first}}},{{"frame_id":2,{second}}}]}}"#
            ),
            r#"{"type":"end","v":0,"run_id":"r","samples_total":100}"#.to_string(),
        ];
        digest_of("p.jsonl", &lines.join("\n"))
    };
    // `rec` is on the stack in 30 to 55 samples of A and in 45 to 75 of B.
    let comparison = compared(&side([[60, 100], [20, 30], [20, 25]]), &side([[40, 90], [30, 30], [30, 45]]));
    let functions = table(&comparison, "compare-hot-frames", "functions");
    let of = |name: &str| {
        let row = (0..functions.n_rows()).find(|row| text(functions, *row, "function") == name).unwrap();
        ["at_least_difference", "exact_a", "exact_b"]
            .map(|id| text(functions, row, &format!("cumulative_{id}")))
    };
    assert_eq!(of("main"), ["-10", "true", "true"]);
    assert_eq!(of("rec"), ["", "false", "false"]);
    let lines = table(&comparison, "compare-hot-frames", "lines");
    let exact: Vec<String> =
        (0..lines.n_rows()).map(|row| text(lines, row, "cumulative_at_least_difference")).collect();
    assert!(exact.iter().all(|difference| !difference.is_empty()), "{exact:?}");
}

/// CPython's binary profiles say how they were sampled, as its JSONL does.
#[test]
fn binary_python_profiles_of_other_sampling_are_told() {
    for dir in data_dirs("stacks") {
        let Ok(bytes) = std::fs::read(dir.join("same_le.tachyon.bin")) else { continue };
        let side = |interval_us: u64, mode: u32| {
            let mut bytes = bytes.clone();
            bytes[20..28].copy_from_slice(&interval_us.to_le_bytes());
            // One more than the number of the mode; 0 is unknown.
            bytes[60..64].copy_from_slice(&mode.to_le_bytes());
            digest(vec![import("p.bin", &bytes, None).unwrap()])
        };
        let warnings = |a: &Digest, b: &Digest| {
            let comparison = compared(a, b);
            let blocks = comparison.reports.iter().flat_map(|report| report.blocks.clone());
            blocks
                .filter_map(|block| if let Block::Note(note) = block { Some(note.text) } else { None })
                .collect::<Vec<_>>()
        };
        assert!(warnings(&side(1000, 1), &side(1000, 1)).is_empty());
        assert_eq!(
            warnings(&side(1000, 1), &side(10_000, 1)),
            ["A was sampled every 1.000 ms, B every 10.00 ms: compare shares, not samples."]
        );
        let refused = compare(&side(1000, 1), &side(1000, 3), &CompareQuery::default());
        assert_eq!(refused.err(), Some(Problem::UnlikeModes("wall".to_string(), "gil".to_string())));
        assert_eq!(
            warnings(&side(1000, 2), &side(1000, 0)),
            ["Sampling modes of A (cpu) and B (not recorded) may differ, so counts may not be comparable."]
        );
    }
}

/// A side without stores may simply not have sampled them.
#[test]
fn a_recording_of_loads_alone_is_not_one_without_stores() {
    let line = |i: usize, event: &str| {
        format!("python 7 [000] 1.{i:06}: {event}: ffff{i:08x} decode+0x1 (libtorch.so)\n")
    };
    let loads: String = (0..40).map(|i| line(i, "cpu/mem-loads/P")).collect();
    let stores: String = (40..60).map(|i| line(i, "cpu/mem-stores/P")).collect();
    let [a, b] = [loads.clone(), loads + &stores].map(|text| digest_of("a.txt", &text));
    let warnings = |a: &Digest, b: &Digest| -> Vec<String> {
        let comparison = compared(a, b);
        let blocks = comparison.reports.iter().flat_map(|report| &report.blocks);
        let texts = blocks.filter_map(|block| match block {
            Block::Note(note) => Some(note.text.clone()),
            _ => None,
        });
        texts.filter(|text| text.contains("were not sampled")).collect()
    };
    assert_eq!(
        warnings(&a, &b),
        ["A has no stores. If they were not sampled, do not compare reads, writes, or their ratio."]
    );
    assert!(warnings(&b, &b).is_empty());
}

/// Each change leads to its row, whatever its keys are: words, numbers, or both. It leads to no other, except to rows that differ
/// by a key which this one lacks: no filter finds what is missing.
#[test]
fn changes_lead_to_their_rows() {
    let (mut n, mut n_alone) = (0, 0);
    for (system, ending) in [
        ("sway", ".jsonl"),
        ("pysampling", ".jsonl"),
        ("chrome", ".json"),
        ("memsnapshot", ".pickle"),
        ("mrm", ".txt"),
    ] {
        for dir in data_dirs(system) {
            let traces = all_files(&dir, &[ending])
                .into_iter()
                .filter(|path| path.metadata().unwrap().len() < 400_000)
                .filter_map(|path| {
                    import(path.file_name()?.to_str()?, &std::fs::read(&path).ok()?, None).ok()
                });
            let sides: Vec<Digest> = traces.map(|trace| digest(vec![trace])).collect();
            for pair in sides.windows(2) {
                let Ok(comparison) = compare(&pair[0], &pair[1], &Default::default()) else { continue };
                for report in comparison.reports.iter().filter(|report| report.id.starts_with("compare-")) {
                    let findings = lists(report).flat_map(|list| &list.findings);
                    for rows in findings.filter_map(|finding| finding.rows.as_ref()) {
                        let table = report.tables().find(|table| table.id == rows.table).unwrap();
                        let query = TableQuery { filter: rows.filter.clone(), ..TableQuery::default() };
                        if rows.filter.is_empty() {
                            continue;
                        }
                        let found = row_order(table, &query).map(|found| found.len());
                        assert!(
                            found.as_ref().is_ok_and(|found| *found > 0),
                            "{}: {}: {found:?}",
                            comparison.title,
                            rows.filter
                        );
                        n += 1;
                        n_alone += u32::from(found == Ok(1));
                    }
                }
            }
        }
    }
    assert!(n > 50 && n_alone * 20 > n * 19, "{n_alone} of {n}");
}

/// Numbers of a truncated side are lower bounds, which comes before them.
#[test]
fn a_truncated_side_is_named_first() {
    let events = |n: usize| {
        let event = |i| format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"f","ts":{},"dur":5}}"#, i * 10);
        (0..n).map(event).collect::<Vec<_>>().join(",\n")
    };
    let whole = digest_of("whole.json", &format!("[{}]", events(40)));
    let cut = digest_of("cut.json", &format!("[{},\n{{\"ph\":\"X\",\"pid\":1,\"ti", events(20)));
    let first = |a: &Digest, b: &Digest| match &compared(a, b).reports[0].blocks[0] {
        Block::Note(note) => Some(note.text.clone()),
        _ => None,
    };
    let said = Some("B: cut.json is truncated: numbers cover only what could be read.".to_string());
    assert_eq!(first(&whole, &cut), said);
    assert_eq!(first(&whole, &whole), None);
}

/// What B has by file is not 0: nothing tells it. The same with operators.
#[test]
fn what_one_side_did_not_record_is_not_compared() {
    let a = digest_of("a.txt", "main (a.py:1);work (a.py:2) 10\nmain (a.py:1) 5\n");
    let b = digest_of("b.txt", "main;work 12\nmain 5\n");
    for (a, b, only) in [(&a, &b, "A"), (&b, &a, "B")] {
        let comparison = compared(a, b);
        let report = comparison.reports.iter().find(|report| report.id == "compare-stack-functions").unwrap();
        assert!(report.tables().all(|table| !table.id.starts_with("files")));
        let is_said = |block: &Block| matches!(block, Block::Note(note) if note.text == format!("Files: only {only} has this table, so it is not compared."));
        assert!(report.blocks.iter().any(is_said));
        let mut measures = comparison.measures.iter();
        assert!(measures.all(|measure| !measure.id.starts_with("stack-functions.files")));
    }
    let kernel = r#"{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":5,"args":{"device":0,"stream":7,"correlation":1}}"#;
    let launch = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":5,"args":{"correlation":1}}"#;
    let op = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":9,"dur":7,"args":{}}"#;
    let with = digest_of("a.json", &format!("[{op},{launch},{kernel}]"));
    let without = digest_of("b.json", &format!("[{kernel}]"));
    for (a, b) in [(&with, &without), (&without, &with)] {
        let comparison = compared(a, b);
        let report = comparison.reports.iter().find(|report| report.id == "compare-gpu-ops").unwrap();
        assert_eq!(report.summary, "A and B have nothing in common to compare.");
        assert_eq!(report.tables().count(), 0);
    }
}
