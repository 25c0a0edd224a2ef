//! Comparison with HolisticTraceAnalysis' trace diff and TraceLens' sums on the same pairs.

use crate::compare::sides::{compared, digest, golden_pairs, number, table, text};
use crate::gpu::golden::{Check, rows};
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::report::Table;

/// Slice names with counts and nanoseconds of both sides, summed over categories.
fn by_name(slices: &Table) -> BTreeMap<String, [(i128, i128); 2]> {
    let mut sums: BTreeMap<String, [(i128, i128); 2]> = BTreeMap::new();
    for row in 0..slices.n_rows() {
        let of = sums.entry(text(slices, row, "name")).or_default();
        for (side, letter) in ["a", "b"].into_iter().enumerate() {
            of[side].0 += number(slices, row, &format!("count_{letter}"));
            of[side].1 += number(slices, row, &format!("total_{letter}"));
        }
    }
    sums
}

#[test]
fn differences_agree_with_hta() {
    let mut check = Check::default();
    for (path, a, b, name) in golden_pairs("hta", "diff-", ".json") {
        check.name = name;
        let n = check.n;
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        // If a trace has several ProfilerSteps, the tool drops the last one.
        let n_steps = |trace: &tracedrop::trace::Trace| {
            let is_step = |name: &tracedrop::base::strings::StringId| {
                trace.strings.get_opt(*name).is_some_and(|name| name.starts_with("ProfilerStep#"))
            };
            trace.slices.name.iter().filter(|name| is_step(name)).count()
        };
        let is_cut = [n_steps(&a) > 1, n_steps(&b) > 1];
        let comparison = compared(&digest(vec![a]), &digest(vec![b]));
        let ours = by_name(table(&comparison, "compare-slices", "slices"));
        for row in rows(&golden["compare_all"]) {
            let name = row["name"].as_str().unwrap();
            let of = ours.get(name).copied().unwrap_or_default();
            let field = |what: &str| row[what].as_f64().unwrap();
            for (side, who) in ["control", "test"].into_iter().enumerate() {
                let (count, ns) = of[side];
                let wanted = field(&format!("{who}_counts"));
                if is_cut[side] {
                    check.that(
                        format!("{name}, {who}_counts: {count} below {wanted}"),
                        count as f64 >= wanted,
                    );
                    continue;
                }
                check.same(format!("{name}, {who}_counts"), count as f64, wanted);
                // Each event is rounded inwards to whole microseconds.
                let us = ns as f64 / 1e3;
                check.near(
                    format!("{name}, {who}_total_duration"),
                    us,
                    field(&format!("{who}_total_duration")),
                    2.0 * wanted + 1e-6,
                );
            }
            if is_cut == [false, false] {
                let difference = of[1].0 - of[0].0;
                check.same(format!("{name}, diff_counts"), difference as f64, field("diff_counts"));
                let sign = match difference {
                    0 => "=",
                    difference if difference > 0 => "+",
                    _ => "-",
                };
                check.same(format!("{name}, sign"), sign, row["counts_change_categories"].as_str().unwrap());
            }
        }
        if is_cut == [false, false] {
            let change = |[(a, _), (b, _)]: [(i128, i128); 2]| match (a, b) {
                (0, _) => "added",
                (_, 0) => "deleted",
                (a, b) if b > a => "increased",
                (a, b) if b < a => "decreased",
                _ => "unchanged",
            };
            for (what, names) in golden["ops_diff"].as_object().unwrap() {
                for name in names.as_array().unwrap().iter().filter_map(Value::as_str) {
                    check.same(
                        format!("{name}, change"),
                        ours.get(name).map_or("", |of| change(*of)),
                        what.as_str(),
                    );
                }
            }
        }
        println!("{}: {} comparisons", check.name, check.n - n);
        assert!(check.n > n);
    }
    check.finish();
}

/// TraceLens compares kernels launched in operators, below the common parts of two trees. In these pairs, these are the kernels
/// linked to a call, in steps if there are any.
#[test]
fn kernel_time_agrees_with_tracelens() {
    let mut check = Check::default();
    for (path, a, b, name) in golden_pairs("tracelens", "diff-", ".json") {
        check.name = name;
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let comparison = compared(&digest(vec![a]), &digest(vec![b]));
        let operations = table(&comparison, "compare-gpu", "operations");
        let main = text(operations, 0, "phase");
        for source in golden["kernel_time_by_source"].as_array().unwrap() {
            let letter = if source[0] == "trace1" { "a" } else { "b" };
            let (mut ns, mut count) = (0, 0);
            for row in (0..operations.n_rows()).filter(|row| text(operations, *row, "phase") == main) {
                ns += number(operations, row, &format!("total_{letter}"));
                count += number(operations, row, &format!("count_{letter}"));
            }
            check.same(format!("count of {letter}"), count as f64, source[2].as_f64().unwrap());
            // Each end is off by up to a quarter of a microsecond in its doubles.
            check.near(
                format!("time of {letter}"),
                ns as f64 / 1e3,
                source[1].as_f64().unwrap(),
                0.25 * count as f64,
            );
        }
    }
    check.finish();
}
