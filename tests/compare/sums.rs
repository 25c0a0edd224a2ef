//! Invariants of any pair: rows add up to the difference of the totals, and a trace doesn't differ from itself.

use crate::compare::sides::{answer, compared, digest, lists, number, sum, table, text};
use crate::gpu::golden;
use crate::support::{data_dirs, files, import};
use tracedrop::compare::gpu::side::Slot;
use tracedrop::compare::{CompareQuery, Comparison, Digest, Measure, Problem, compare, measures_of};
use tracedrop::report::{Cells, Compared, Finding, Report, Table};
use tracedrop::trace::{Run, Trace};

/// Digests of profiler recordings, with the total duration of all GPU activity, one recording at a time.
fn recordings() -> Vec<(String, Digest, i64)> {
    let mut out = Vec::new();
    for path in golden::paths() {
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&path).display().to_string();
        let trace = crate::compare::sides::read(&path);
        let work = work_of(&trace);
        let side = digest(vec![trace]);
        measures_itself(&name, &side);
        out.push((name, side, work));
    }
    out
}

fn work_of(trace: &Trace) -> i64 {
    let (run, query) = (Run::single(trace.clone()), tracedrop::analysis::Query::default());
    let context = tracedrop::analysis::Context::new(&run, &query);
    context.gpu().iter().flat_map(|gpu| &gpu.work).map(|work| work.dur()).sum()
}

/// All tables of a comparison: rows are differences and add up to independent totals.
pub fn check_sums(what: &str, comparison: &Comparison, work: [i64; 2]) {
    for report in &comparison.reports {
        for table in report.tables() {
            assert!(table.is_sound(), "{what}: {}", table.id);
            check_differences(what, table);
            // Totals of the general layer are in a separate table.
            let totals = report.tables().find(|totals| totals.id == format!("{}_totals", table.id));
            if let Some(totals) = totals {
                let columns: Vec<_> = table
                    .columns
                    .iter()
                    .filter(|column| {
                        column.compared == Compared::AddsUp && column.id.ends_with("_difference")
                    })
                    .collect();
                assert_eq!(columns.len(), totals.n_rows(), "{what}: {}", table.id);
                for column in columns {
                    let id = column.id.strip_suffix("_difference").unwrap();
                    let label = column.label.strip_prefix("B − A: ").unwrap();
                    let row = (0..totals.n_rows()).find(|row| text(totals, *row, "total") == label).unwrap();
                    // Sums beyond the range of a cell saturate.
                    if ["a", "b", "difference"]
                        .iter()
                        .any(|end| number(totals, row, end).abs() >= i128::from(i64::MAX))
                    {
                        continue;
                    }
                    for (end, total) in [("a", "a"), ("b", "b"), ("difference", "difference")] {
                        let rows = sum(table, &format!("{id}_{end}"));
                        assert_eq!(rows, number(totals, row, total), "{what}: {}, {id}_{end}", table.id);
                    }
                }
            }
        }
    }
    comparison.reports.iter().for_each(|report| check_answer(what, report, comparison));
    if comparison.reports.iter().any(|report| report.id == "compare-gpu") {
        for id in ["operations", "kernels"] {
            let table = table(comparison, "compare-gpu", id);
            for (column, work) in
                [("total_a", work[0]), ("total_b", work[1]), ("total_difference", work[1] - work[0])]
            {
                assert_eq!(sum(table, column), i128::from(work), "{what}: {id}, {column}");
            }
        }
        if let Some(answer) = answer(comparison) {
            // With missing device records on a side, time is busy time.
            let find = |id: &str| comparison.measures.iter().find(|measure| measure.id == id);
            let measure = find("gpu.per_step").or_else(|| find("gpu.busy")).unwrap();
            let rows = answer.findings.iter().filter_map(|line| line.time).sum::<i64>() as f64;
            let off = (rows - (measure.b - measure.a)).abs();
            assert!(off <= answer.findings.len() as f64 + 3.0, "{what}: the answer is {off} ns off");
        }
    }
}

/// Lines of the largest changes add up to their total: of the first table, or the first that changed if that did not. With unlike
/// numbers of files, it is that of the means per file.
fn check_answer(what: &str, report: &Report, comparison: &Comparison) {
    let all = || report.tables().filter(|table| table.id.ends_with("_totals"));
    let is_changed = |totals: &&Table| ["gained", "lost"].iter().any(|id| number(totals, 0, id) != 0);
    let Some(totals) =
        all().next().filter(is_changed).or_else(|| all().find(is_changed)).or_else(|| all().next())
    else {
        return;
    };
    let values = ["a", "b", "difference", "gained", "lost"].map(|id| number(totals, 0, id));
    if values.iter().any(|value| value.abs() >= i128::from(i64::MAX)) {
        return;
    }
    assert_eq!(values[3] - values[4], values[2], "{what}: {}, gained and lost", report.id);
    let Some(list) = lists(report).next() else { panic!("{what}: {} has no answer", report.id) };
    let differences = |finding: &Finding| {
        let of = |side: &str| {
            let fact = finding.evidence.iter().find(|fact| fact.id == side).unwrap();
            fact.value.plain().parse::<i128>().unwrap()
        };
        of("b") - of("a")
    };
    let mut expected = values[2];
    if list.caption.contains("\u{201d} per file in table ") {
        let id =
            format!("{}.{}.", &report.id["compare-".len()..], totals.id.strip_suffix("_totals").unwrap());
        let is_it = |it: &&Measure| it.id.starts_with(&id) && it.id.ends_with(".per_file");
        let mean = comparison.measures.iter().find(is_it).unwrap();
        expected = mean.b.round() as i128 - mean.a.round() as i128;
    }
    assert_eq!(list.findings.iter().map(differences).sum::<i128>(), expected, "{what}: {}", report.id);
}

/// `x_difference` is `x_b` − `x_a` wherever a table has all three.
fn check_differences(what: &str, table: &Table) {
    for column in &table.columns {
        let Some(id) = column.id.strip_suffix("_difference").filter(|id| !["of", "share"].contains(id))
        else {
            continue;
        };
        let (a, b) = (format!("{id}_a"), format!("{id}_b"));
        let is_whole = !matches!(column.cells, Cells::Float(_));
        if table.column(&a).is_none() || column.cells.is_empty() || !is_whole {
            continue;
        }
        for row in 0..table.n_rows() {
            if column.cells.get(row).plain().is_empty() {
                continue;
            }
            let difference = number(table, row, &b) - number(table, row, &a);
            let is_at_end = |id: &str| number(table, row, id).abs() >= i128::from(i64::MAX);
            if [a.as_str(), b.as_str(), &*column.id].into_iter().any(is_at_end) {
                continue;
            }
            assert_eq!(number(table, row, &column.id), difference, "{what}: {}, {id}, row {row}", table.id);
        }
    }
}

/// Nothing differs.
fn check_zeros(what: &str, comparison: &Comparison) {
    for report in &comparison.reports {
        for table in report.tables() {
            for column in table
                .columns
                .iter()
                .filter(|column| column.id.ends_with("difference") && column.id != "of_difference")
            {
                for row in 0..table.n_rows() {
                    let cell = column.cells.get(row).as_f64().unwrap_or(0.0);
                    assert!(cell == 0.0, "{what}: {}, {}, row {row}: {cell}", table.id, column.id);
                }
            }
            for gone in ["fusion", "choices"] {
                assert!(table.id != gone || table.n_rows() == 0, "{what}: {gone}");
            }
        }
    }
    assert!(answer(comparison).is_none_or(|answer| answer.findings.is_empty()), "{what}: an answer");
    for measure in &comparison.measures {
        assert_eq!(measure.a.to_bits(), measure.b.to_bits(), "{what}: {}", measure.id);
    }
}

#[test]
fn pairs_of_recordings_add_up() {
    let all = recordings();
    let mut n = 0;
    for (at, (name_a, a, work_a)) in all.iter().enumerate() {
        check_zeros(name_a, &compared(a, a));
        let back: Digest = postcard::from_bytes(&postcard::to_allocvec(a).unwrap()).unwrap();
        assert!(back == *a, "{name_a} is another one after a journey");
        let (name_b, b, work_b) = &all[(at + 1) % all.len()];
        for (name, a, b, work) in [
            (format!("{name_a} and {name_b}"), a, b, [*work_a, *work_b]),
            (format!("{name_b} and {name_a}"), b, a, [*work_b, *work_a]),
        ] {
            check_sums(&name, &compared(a, b), work);
            n += 1;
        }
    }
    assert!(n > 20);
}

/// Every pair with golden outputs, and both sides vs nothing.
#[test]
fn reference_pairs_add_up() {
    for (_, a, b, name) in crate::compare::sides::golden_pairs("wafer", "pair-", "") {
        let work = [work_of(&a), work_of(&b)];
        let (a, b) = (digest(vec![a]), digest(vec![b]));
        check_sums(&name, &compared(&a, &b), work);
        let empty = crate::compare::sides::digest_of("empty.json", r#"{"traceEvents":[]}"#);
        check_sums(&name, &compared(&a, &empty), [work[0], 0]);
        check_sums(&name, &compared(&empty, &b), [0, work[1]]);
        check_zeros(&name, &compared(&empty, &empty));
        for phase in [tracedrop::compare::PhaseFilter::Prefill, tracedrop::compare::PhaseFilter::Decode] {
            match compare(&a, &b, &CompareQuery { phase }) {
                Ok(comparison) => assert!(comparison.reports[0].tables().all(Table::is_sound)),
                Err(problem) => {
                    assert!(matches!(problem, Problem::NoSuchPhase(..)));
                    let has = |side: &Digest| {
                        side.gpu.as_ref().unwrap().slots().iter().any(|slot| slot.passes(phase))
                    };
                    assert!(!has(&a) && !has(&b), "{name}: {problem}");
                }
            }
        }
    }
}

/// Limits on one trace are checked on the same numbers that a comparison has of it.
fn measures_itself(what: &str, side: &Digest) {
    let told = |measures: &[Measure]| {
        let of = |it: &Measure| (it.id.clone(), it.what.clone(), it.unit, it.a.to_bits());
        measures.iter().map(of).collect::<Vec<_>>()
    };
    let compared = compare(side, side, &CompareQuery::default()).unwrap();
    assert_eq!(told(&measures_of(side)), told(&compared.measures), "{what}");
}

/// Traces of every other format, each with itself and with all others.
#[test]
fn pairs_of_other_formats_add_up() {
    for (system, endings) in [
        ("sway", &[".jsonl", ".jsonl.gz"][..]),
        ("pysampling", &[".jsonl", ".json"]),
        ("chrome", &[".json", ".json.gz"]),
    ] {
        let mut all: Vec<(String, Digest, i64)> = Vec::new();
        for dir in data_dirs(system) {
            for path in files(&dir, endings) {
                let name = path.display().to_string();
                let bytes = std::fs::read(&path).unwrap();
                // The largest take long without covering anything new.
                if bytes.len() > 4_000_000 {
                    continue;
                }
                if let Ok(trace) = import(path.file_name().unwrap().to_str().unwrap(), &bytes, None) {
                    let work = work_of(&trace);
                    let side = digest(vec![trace]);
                    measures_itself(&name, &side);
                    all.push((name, side, work));
                }
            }
        }
        let mut n = 0;
        for (at, (name_a, a, work_a)) in all.iter().enumerate() {
            for (other, (name_b, b, work_b)) in all.iter().enumerate() {
                match compare(a, b, &CompareQuery::default()) {
                    Ok(comparison) if other == at => check_zeros(name_a, &comparison),
                    Ok(comparison) => {
                        check_sums(&format!("{name_a} and {name_b}"), &comparison, [*work_a, *work_b]);
                    }
                    Err(_) => continue,
                }
                n += 1;
            }
        }
        assert!(n > all.len(), "{system}: {n} of {}", all.len());
    }
}

/// Kinds of memory are compared; quantiles, shares and verdicts are shown for both sides.
#[test]
fn accesses_to_memory_are_compared() {
    let root = crate::support::own_dir("mrm");
    let read = |path: &str| {
        let bytes = std::fs::read(root.join(path)).unwrap();
        digest(vec![import("trace.parquet", &bytes, None).unwrap()])
    };
    let a = read("runs-latest/node-a/demo-model/demo_mem_rep1/trace.parquet");
    let b = read("runs-latest/node-b/demo-model/demo_memsym_rep1/trace.parquet");
    let without_rows = read("parquet-variants/zero-rows.parquet");
    for (x, y) in [(&a, &b), (&b, &a), (&a, &without_rows), (&without_rows, &a)] {
        check_sums("runs", &compared(x, y), [0, 0]);
    }
    check_zeros("one run", &compared(&a, &a));
    let comparison = compared(&a, &b);
    // Kinds can share pages, so their working sets have no sum.
    assert!(comparison.measures.iter().all(|measure| measure.id != "mrm.kinds.bytes"));
    let kinds = table(&comparison, "compare-mrm", "kinds");
    for row in 0..kinds.n_rows() {
        let float = |id: &str| kinds.column(id).unwrap().cells.get(row).as_f64();
        assert_eq!(
            float("kept_difference"),
            float("kept_b").zip(float("kept_a")).map(|(b, a)| b - a),
            "{}",
            text(kinds, row, "kind")
        );
        let is_in = |letter: &str| !text(kinds, row, &format!("bytes_{letter}")).is_empty();
        for letter in ["a", "b"] {
            assert_eq!(is_in(letter), !text(kinds, row, &format!("suitability_{letter}")).is_empty());
        }
    }
    for id in ["metrics", "iai", "locality_summary"] {
        assert!(table(&comparison, "compare-mrm", id).n_rows() > 0, "{id}");
    }
}

/// A group is the sum of its files.
#[test]
fn groups_are_sums() {
    let dir = crate::support::own_dir("pytorch");
    let rank = |n: usize| crate::compare::sides::read(&dir.join(format!("dlrm8/rank{n}.json.gz")));
    let one = [0, 1].map(|n| digest(vec![rank(n)]));
    let both = digest(vec![rank(0), rank(1)]);
    let work = [work_of(&rank(0)), work_of(&rank(1))];
    let comparison = compared(&one[0], &both);
    check_sums("one rank and two", &comparison, [work[0], work[0] + work[1]]);
    check_zeros("two ranks", &compared(&both, &both));
    let gpu = |digest: &Digest| digest.gpu.clone().unwrap();
    assert_eq!(gpu(&both).n_devices, gpu(&one[0]).n_devices + gpu(&one[1]).n_devices);
    // Steps of two ranks are two samples of a step.
    let n = |digest: &Digest| {
        gpu(digest).stretches.iter().filter(|stretch| stretch.slot != Slot::Outside).count()
    };
    assert_eq!(n(&both), n(&one[0]) + n(&one[1]));
}
