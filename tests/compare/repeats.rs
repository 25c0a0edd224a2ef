//! Groups of repeated runs: their spread determines the noise.

use crate::compare::others::{call, profile};
use crate::compare::sides::{compared, digest, lists, table, text};
use crate::support::{all_files, data_dirs, import};
use tracedrop::compare::{Comparison, Digest};

/// One side of files with this content.
fn side(name: &str, contents: &[String]) -> Digest {
    let read = |content: &String| import(name, content.as_bytes(), None).unwrap();
    digest(contents.iter().map(read).collect())
}

fn lines(comparison: &Comparison, id: &str) -> Vec<String> {
    let report = comparison.reports.iter().find(|report| report.id == id).unwrap();
    lists(report).flat_map(|list| list.findings.iter().map(|finding| list.line(finding))).collect()
}

fn status(comparison: &Comparison, report: &str, id: &str, key: &str, name: &str) -> String {
    let table = table(comparison, report, id);
    let row = (0..table.n_rows()).find(|row| text(table, *row, key) == name).unwrap();
    text(table, row, "file_status")
}

#[test]
fn profiles_tell_what_is_noise() {
    let of = |runs: &[[u32; 2]]| {
        side("p.jsonl", &runs.iter().map(|[work, idle]| profile(1000, *work, *idle)).collect::<Vec<_>>())
    };
    let a = of(&[[100, 50], [104, 48], [98, 52]]);
    let b = of(&[[160, 51], [158, 49], [163, 53]]);
    let comparison = compared(&a, &b);
    let is = |name| status(&comparison, "compare-hot-frames", "functions", "function", name);
    assert_eq!((is("work").as_str(), is("idle").as_str()), ("▲ more in B", "≈ within noise"));
    assert_eq!(
        lines(&comparison, "compare-hot-frames"),
        ["+179 samples work · /srv/app.py (66.8% in A, 75.9% in B)", "+3 samples 1 other row, within noise"]
    );
    let measure = |id: &str| comparison.measures.iter().find(|measure| measure.id == id).unwrap();
    let by_file = measure("hot-frames.functions.self.per_file");
    assert!(by_file.noise.is_some_and(|noise| noise > 1.0 && noise < 50.0), "{by_file:?}");
    let sums = measure("hot-frames.functions.self");
    assert!((sums.noise.unwrap() - 3.0 * by_file.noise.unwrap()).abs() < 1e-9);
    // The same files twice: no difference, and not "within noise".
    let same = compared(&a, &a);
    assert_eq!(status(&same, "compare-hot-frames", "functions", "function", "work"), "= same");
}

#[test]
fn calls_of_unlike_groups_are_told_by_file() {
    let of = |runs: &[f64]| {
        side(
            "s.jsonl",
            &runs
                .iter()
                .map(|ms| [call("x", *ms, false), call("y", 1.0, false)].join("\n"))
                .collect::<Vec<_>>(),
        )
    };
    // One new run vs five old ones.
    let (old, new) = (of(&[2.0, 2.1, 1.9, 2.05, 1.95]), of(&[4.0]));
    let comparison = compared(&old, &new);
    let report = comparison.reports.iter().find(|report| report.id == "compare-sway-calls").unwrap();
    assert!(
        report.summary.starts_with("Time per file: 3.000 ms in A, 5.000 ms in B (+66.7%), significant"),
        "{}",
        report.summary
    );
    assert_eq!(
        lines(&comparison, "compare-sway-calls"),
        ["+2.000 ms p · base · next_token_dist · x · top k 5 (66.7% in A, 80.0% in B)"]
    );
    // What changed is told by file, as sums of five files and one go the other way.
    let change = |comparison: &Comparison, prompt: &str| {
        let calls = table(comparison, "compare-sway-calls", "calls");
        let row = (0..calls.n_rows()).find(|row| text(calls, *row, "prompt_hash") == prompt).unwrap();
        text(calls, row, "change")
    };
    assert_eq!(change(&comparison, "x"), "▲ more per file in B");
    let close = compared(&old, &of(&[2.02]));
    assert_eq!(change(&close, "x"), "≈ within noise");
    assert_eq!(lines(&close, "compare-sway-calls"), ["+20.00 µs 1 row, within noise"]);
    // One run vs one: significance is unknown and not shown.
    let single = compared(&of(&[2.0]), &of(&[2.1]));
    assert!(table(&single, "compare-sway-calls", "calls").column("file_status").is_none());
}

/// Means per file are not rounded: 43 samples in two files are 21.5 each.
#[test]
fn means_per_file_keep_their_decimals() {
    let of = |runs: &[[u32; 2]]| {
        let content = |[b, c]: &[u32; 2]| format!("a;b {b}\na;c {c}\n");
        side("s.folded", &runs.iter().map(content).collect::<Vec<_>>())
    };
    let comparison = compared(&of(&[[11, 5], [12, 5], [13, 5]]), &of(&[[21, 5], [22, 4]]));
    assert_eq!(
        lines(&comparison, "compare-stack-functions"),
        ["+9.5 samples b (70.6% in A, 82.7% in B)", "−0.5 samples 1 other row, within noise"]
    );
    let functions = table(&comparison, "compare-stack-functions", "functions");
    let mean = |name: &str| {
        let row = (0..functions.n_rows()).find(|row| text(functions, *row, "function") == name).unwrap();
        [text(functions, row, "file_a"), text(functions, row, "file_b")]
    };
    assert_eq!(
        (mean("b"), mean("c")),
        (["12", "21.5"].map(str::to_string), ["5", "4.5"].map(str::to_string))
    );
    // One sample of each function in one of two files: 0.5 each, so the sum of rows is that of the total.
    let each = |of: &[&str]| of.iter().map(|name| format!("a;{name} 1\n")).collect::<String>();
    let halves =
        compared(&side("s.folded", &[each(&["f", "g"])]), &side("s.folded", &[each(&["f"]), each(&["g"])]));
    assert_eq!(lines(&halves, "compare-stack-functions"), ["−1 sample 2 rows, within noise"]);
}

/// One file of B has stacks and no slices: it has not 0 of them, but none.
#[test]
fn files_of_another_kind_do_not_count() {
    let slices = r#"{"traceEvents":[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":100}]}"#;
    let read = |name: &str, content: &str| import(name, content.as_bytes(), None).unwrap();
    let a = digest(vec![read("a.json", slices), read("b.json", slices)]);
    let mixed = digest(vec![read("a.json", slices), read("b.folded", "main;f 3\n")]);
    let comparison = compared(&a, &mixed);
    let report = comparison.reports.iter().find(|report| report.id == "compare-slices").unwrap();
    let wanted = "Self per file: 100.0 µs in A, 100.0 µs in B (no change).";
    assert!(report.summary.starts_with(wanted), "{}", report.summary);
    assert!(format!("{:?}", report.blocks).contains("A has 2 files, B has such data in 1 of 2 files;"));
    let mean = comparison.measures.iter().find(|it| it.id == "slices.slices.self.per_file").unwrap();
    assert_eq!((mean.a, mean.b), (100_000.0, 100_000.0));
}

/// Values per file add up to those of their side, for every format.
#[test]
fn files_add_up_to_their_side() {
    let mut n = 0;
    for (system, ending) in [("sway", ".jsonl"), ("pysampling", ".jsonl"), ("chrome", ".json")] {
        for dir in data_dirs(system) {
            let traces: Vec<_> = all_files(&dir, &[ending])
                .into_iter()
                // Sums with a time that is no number are no number.
                .filter(|path| {
                    path.metadata().unwrap().len() < 400_000 && !path.to_string_lossy().contains("nonfinite")
                })
                .filter_map(|path| {
                    import(path.file_name()?.to_str()?, &std::fs::read(&path).ok()?, None).ok()
                })
                .collect();
            for pair in traces.chunks_exact(3) {
                let [a, b] = [digest(pair[..2].to_vec()), digest(pair.to_vec())];
                let Ok(comparison) = tracedrop::compare::compare(&a, &b, &Default::default()) else {
                    continue;
                };
                for measure in comparison.measures.iter() {
                    let Some(id) = measure.id.strip_suffix(".per_file") else { continue };
                    let sums = comparison.measures.iter().find(|known| known.id == id).unwrap();
                    for (mean, n_files, sum) in [(measure.a, 2.0, sums.a), (measure.b, 3.0, sums.b)] {
                        let is_close = (mean * n_files - sum).abs() <= 1e-9 * sum.abs();
                        // Sums end at the largest number.
                        assert!(is_close || sum.abs() > 9e18, "{}: {id}: {mean} {sum}", a.files.join(", "));
                    }
                    n += 1;
                }
            }
        }
    }
    assert!(n > 20, "{n}");
}

/// Values of counters don't add up, so those of several files say nothing about a side.
#[test]
fn counters_of_several_files_are_not_compared() {
    let of = |values: [u32; 2]| {
        let event = |value: u32| {
            format!(
                r#"[{{"ph":"X","name":"a","ts":0,"dur":9,"pid":1,"tid":1}},{{"ph":"C","name":"m","ts":1,"pid":1,"args":{{"v":{value}}}}}]"#
            )
        };
        side("k.json", &values.map(event))
    };
    let comparison = compared(&of([1, 2]), &of([1000, 2000]));
    let report = comparison.reports.iter().find(|report| report.id == "compare-counters").unwrap();
    assert_eq!(report.summary, "Counters: not compared, as values of several files don't add up.");
    let counters = table(&comparison, "compare-counters", "counters");
    assert_eq!(text(counters, 0, "change"), "– not compared");
    // Nor are those of one file with those of several.
    let event = r#"[{"ph":"X","name":"a","ts":0,"dur":9,"pid":1,"tid":1},{"ph":"C","name":"m","ts":1,"pid":1,"args":{"v":1}}]"#;
    let comparison = compared(&side("k.json", &[event.to_string()]), &of([1, 1]));
    let counters = table(&comparison, "compare-counters", "counters");
    assert_ne!(text(counters, 0, "change"), "≠ different");
}
