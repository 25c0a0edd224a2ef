//! Comparison with wafer-core's `trace_compare` on the same pairs. It gives A / B and A − B, in doubles of microseconds.

use crate::compare::sides::{compared, digest, golden_pairs, number, table, text};
use crate::gpu::golden::Check;
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::compare::Comparison;
use tracedrop::gpu::reference::{self, Platform};
use tracedrop::report::Table;

/// Sums of kernels of one operation or name: nanoseconds and counts of A and B.
type Sums = BTreeMap<String, [(i128, i128); 2]>;

#[test]
fn operations_agree_with_wafer() {
    let mut check = Check::default();
    for (dir, a, b, name) in golden_pairs("wafer", "pair-", "") {
        check.name = name;
        let n = check.n;
        let comparison = compared(&digest(vec![a]), &digest(vec![b]));
        let read = |file: &str| -> Option<Value> {
            Some(serde_json::from_slice(&std::fs::read(dir.join(file)).ok()?).unwrap())
        };
        let ours = Ours::of(&comparison);
        if let Some(golden) = read("analyze-all.json") {
            totals(&ours, &golden["metadata"], &mut check);
            operations(&ours, &golden, "", true, &mut check);
        }
        // Without phases it calls everything decode (Q4); otherwise it assigns kernels to phases by when they ran.
        if let Some(golden) = read("analyze-decode.json")
            && golden["metadata"]["trace1_kernels"]
                == read("analyze-all.json").unwrap()["metadata"]["trace1_kernels"]
        {
            operations(&ours, &golden, " (Decode)", true, &mut check);
        }
        if let Some(golden) = read("fused.json") {
            let golden = &golden["analyze"];
            // It drops large graphs before summing (Q12), so a side may be incomplete.
            let all = read("analyze-all.json").map(|all| all["metadata"].clone()).unwrap_or_default();
            let is_whole = |number: &str| {
                let id = format!("{number}_kernels");
                golden["metadata"][&id] == all[&id]
            };
            if is_whole("trace1") && is_whole("trace2") {
                totals(&ours, &golden["metadata"], &mut check);
                operations(&ours, golden, "", false, &mut check);
            }
            copies(&comparison, &golden["metadata"], &mut check);
            calls(&comparison, &golden["metadata"], &mut check);
        }
        if let Some(golden) = read("fusion.json") {
            simple_types(&ours, &golden, &mut check);
        }
        println!("{}: {} comparisons", check.name, check.n - n);
        assert!(check.n > n);
    }
    check.finish();
}

struct Ours<'a> {
    kernels: &'a Table,
}

impl Ours<'_> {
    fn of(comparison: &Comparison) -> Ours<'_> {
        Ours { kernels: table(comparison, "compare-gpu", "kernels") }
    }

    /// Kernels by `key` of name and side, summed over phases. It doesn't count copies and fills as kernels.
    fn sums(&self, key: impl Fn(usize, &str) -> String) -> Sums {
        let mut sums = Sums::new();
        for row in 0..self.kernels.n_rows() {
            let name = text(self.kernels, row, "name");
            if ["Memcpy", "Memset"].contains(&&*text(self.kernels, row, "operation"))
                && name.starts_with("Mem")
            {
                continue;
            }
            for (side, letter) in ["a", "b"].into_iter().enumerate() {
                let count = number(self.kernels, row, &format!("count_{letter}"));
                if count > 0 {
                    let sum = &mut sums.entry(key(side, &name)).or_default()[side];
                    sum.0 += number(self.kernels, row, &format!("total_{letter}"));
                    sum.1 += count;
                }
            }
        }
        sums
    }
}

fn platforms(metadata: &Value) -> [Platform; 2] {
    ["trace1_platform", "trace2_platform"].map(|platform| match metadata[platform].as_str() {
        Some("AMD") => Platform::Amd,
        _ => Platform::Nvidia,
    })
}

/// Totals, to the six decimals it writes.
fn totals(ours: &Ours<'_>, metadata: &Value, check: &mut Check) {
    let sums = ours.sums(|_, _| String::new());
    let all = sums.get("").copied().unwrap_or_default();
    for (side, number) in ["trace1", "trace2"].into_iter().enumerate() {
        let field = |what: &str| &metadata[format!("{number}_{what}")];
        check.same(format!("{number}_kernels"), all[side].1, i128::from(field("kernels").as_u64().unwrap()));
        check.near(
            format!("{number}_total_ms"),
            all[side].0 as f64 / 1e6,
            field("total_ms").as_f64().unwrap(),
            1e-6,
        );
    }
}

/// Kernels by the coarse types of its fusion analysis: counts, and the time of those it reports. Its verdicts are based on counts
/// only (Q10) and have no counterpart here.
fn simple_types(ours: &Ours<'_>, golden: &Value, check: &mut Check) {
    let sums = ours.sums(|_, name| reference::simple_type(name).to_string());
    // Kernels lost by its alignment have no type: those without correlation (Q15), of graphs without a partner (Q12), next to
    // another type, or of rare types.
    let types = golden["global_counts"].as_object().unwrap();
    let is_whole = ["trace1", "trace2"].map(|number| {
        let counted: u64 = types.values().map(|row| row[format!("{number}_count")].as_u64().unwrap()).sum();
        Some(counted) == golden["metadata"][format!("{number}_total_kernels")].as_u64()
    });
    for (kind, row) in types {
        let of = sums.get(kind).copied().unwrap_or_default();
        for (side, number) in ["trace1", "trace2"].into_iter().enumerate() {
            let theirs = i128::from(row[format!("{number}_count")].as_u64().unwrap());
            if is_whole[side] {
                check.same(format!("{kind}, {number}"), of[side].1, theirs);
            } else {
                check.same(format!("{kind}, {number}: at least"), of[side].1.min(theirs), theirs);
            }
        }
    }
    for row in golden["fusion_opportunities"].as_array().unwrap() {
        let kind = row["kernel_type"].as_str().unwrap();
        let of = sums.get(kind).copied().unwrap_or_default();
        for (side, number) in ["trace1", "trace2"].into_iter().enumerate().filter(|(side, _)| is_whole[*side])
        {
            let theirs = row[format!("{number}_time_ms")].as_f64().unwrap();
            check.near(format!("{kind}, time of {number}"), of[side].0 as f64 / 1e6, theirs, 1e-6);
        }
    }
}

/// Each operation: whole fields, and the kernels inside.
fn operations(ours: &Ours<'_>, golden: &Value, suffix: &str, is_plain: bool, check: &mut Check) {
    let platforms = platforms(&golden["metadata"]);
    let sums = ours.sums(|side, name| reference::operation(name, platforms[side]).0.to_string());
    let rows = golden["operations"].as_array().unwrap();
    // Its plain output skips operations of one side only (Q5).
    let wanted = sums.values().filter(|[a, b]| !is_plain || (a.1 > 0 && b.1 > 0)).count();
    check.same("operations", rows.len(), wanted);
    for row in rows {
        let name = row["operation"].as_str().unwrap();
        let name = name.strip_suffix(suffix).unwrap_or(name);
        let of = sums.get(name).copied().unwrap_or_default();
        let field = |what: &str| row[what].as_f64().unwrap();
        let mean = |side: usize| of[side].0 as f64 / 1e3 / (of[side].1.max(1)) as f64;
        for (side, number) in ["trace1", "trace2"].into_iter().enumerate() {
            check.same(
                format!("{name}, {number}_count"),
                of[side].1 as f64,
                field(&format!("{number}_count")),
            );
            check.near(
                format!("{name}, {number}_total_ms"),
                of[side].0 as f64 / 1e6,
                field(&format!("{number}_total_ms")),
                1e-6,
            );
            check.near(
                format!("{name}, {number}_avg_us"),
                mean(side),
                field(&format!("{number}_avg_us")),
                1e-5,
            );
        }
        let gap = (of[0].0 - of[1].0) as f64 / 1e6;
        check.near(format!("{name}, gap_ms"), gap, field("gap_ms"), 2e-6);
        let totals = if of[1].0 == 0 { 0.0 } else { of[0].0 as f64 / of[1].0 as f64 };
        let ratio = if is_plain { mean(0) / mean(1) } else { totals };
        check.near(format!("{name}, ratio"), ratio, field("ratio"), 1e-6 * ratio.max(1.0));
        let status = match is_plain {
            true if gap > 5.0 => "slower",
            true if gap < -5.0 => "faster",
            false if ratio > 1.1 => "slower",
            false if ratio < 0.9 => "faster",
            _ => "similar",
        };
        check.same(format!("{name}, status"), status, row["status"].as_str().unwrap());
        if is_plain {
            kernels(ours, row, name, platforms, check);
        }
    }
}

/// Kernels of an operation by name; and that the one pattern it names is among them (which one is by chance, Q6).
fn kernels(ours: &Ours<'_>, row: &Value, operation: &str, platforms: [Platform; 2], check: &mut Check) {
    let by_name = ours.sums(|_, name| name.to_string());
    for (side, number) in ["trace1", "trace2"].into_iter().enumerate() {
        let of = |name: &&String| {
            reference::operation(name, platforms[side]).0 == operation && by_name[*name][side].1 > 0
        };
        let names: Vec<&String> = by_name.keys().filter(of).collect();
        let Some(wanted) = row[format!("{number}_kernels")].as_array() else { continue };
        check.same(format!("{operation}, names of {number}"), names.len(), wanted.len());
        for kernel in wanted {
            let name = kernel["name"].as_str().unwrap();
            let (ns, count) = by_name.get(name).copied().unwrap_or_default()[side];
            check.same(format!("{name}, count"), count as f64, kernel["count"].as_f64().unwrap());
            check.near(
                format!("{name}, total_us"),
                ns as f64 / 1e3,
                kernel["total_us"].as_f64().unwrap(),
                1e-3,
            );
            let mean = ns as f64 / 1e3 / count.max(1) as f64;
            check.near(format!("{name}, avg_us"), mean, kernel["avg_us"].as_f64().unwrap(), 1e-5);
        }
        let pattern = row[format!("{number}_kernel")].as_str().unwrap_or("");
        let is_known = names.iter().any(|name| reference::operation(name, platforms[side]).1 == pattern);
        check.that(format!("{operation}, pattern {pattern}"), is_known || pattern == "unknown");
    }
}

/// Copies by direction.
fn copies(comparison: &Comparison, metadata: &Value, check: &mut Check) {
    let table = table(comparison, "compare-gpu", "kernels");
    for (letter, number_) in [("a", "trace1"), ("b", "trace2")] {
        let mut ours: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
        for row in 0..table.n_rows() {
            let (name, count) = (text(table, row, "name"), number(table, row, &format!("count_{letter}")));
            if text(table, row, "operation") != "Memcpy" || !name.starts_with("Memcpy") || count == 0 {
                continue;
            }
            let direction = ["HtoD", "DtoD", "DtoH"].into_iter().find(|direction| name.contains(direction));
            let sum = ours.entry(direction.unwrap_or("Other")).or_default();
            *sum = (sum.0 + count, sum.1 + number(table, row, &format!("total_{letter}")));
        }
        let golden = metadata[format!("{number_}_memcpy")].as_object().unwrap();
        let wanted: Vec<&String> = golden.keys().filter(|key| !key.starts_with('_')).collect();
        check.same(format!("{number_}, directions of copies"), ours.len(), wanted.len());
        for direction in wanted {
            let (count, ns) = ours.get(direction.as_str()).copied().unwrap_or_default();
            check.same(
                format!("{number_}, {direction}"),
                count as f64,
                golden[direction]["count"].as_f64().unwrap(),
            );
            check.near(
                format!("{number_}, {direction}"),
                ns as f64 / 1e3,
                golden[direction]["total_us"].as_f64().unwrap(),
                1e-3,
            );
        }
    }
}

/// Calls that wait, from the table of slices. HIP's are not counted by it (Q7).
fn calls(comparison: &Comparison, metadata: &Value, check: &mut Check) {
    let slices = table(comparison, "compare-slices", "slices");
    for (letter, number_) in [("a", "trace1"), ("b", "trace2")] {
        let golden = metadata[format!("{number_}_sync")].as_object().unwrap();
        for (name, wanted) in golden.iter().filter(|(name, _)| !name.starts_with('_')) {
            let rows = (0..slices.n_rows()).filter(|row| {
                text(slices, *row, "name") == *name && text(slices, *row, "category") == "cuda_runtime"
            });
            let (mut count, mut ns) = (0, 0);
            for row in rows {
                count += number(slices, row, &format!("count_{letter}"));
                ns += number(slices, row, &format!("total_{letter}"));
            }
            check.same(format!("{number_}, {name}"), count as f64, wanted["count"].as_f64().unwrap());
            check.near(
                format!("{number_}, {name}"),
                ns as f64 / 1e3,
                wanted["total_us"].as_f64().unwrap(),
                1e-3,
            );
        }
    }
}
