//! Whole traces and corner cases against the reference's results.

use super::corpus::*;
use crate::support::import;
use serde_json::Value;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::import::perf_text::SEED_INFO;
use tracedrop::memory::view::{LabelledTrace, Options};
use tracedrop::memory_run::trace_table;
use tracedrop::trace::Trace;

const CASES: [&str; 5] = ["tiny-24", "formats", "mid-llama-5k", "mid-vllm-5k", "big-200k"];

fn query(golden: &Value, unknown: &str) -> MemoryQuery {
    let phases = golden["phase_boundaries"].to_string();
    MemoryQuery {
        phases: if phases == "null" { String::new() } else { phases },
        unknown: unknown.to_string(),
        ..MemoryQuery::default()
    }
}

#[test]
fn whole_traces_give_the_rows_labels_and_results_of_the_reference() {
    for case in CASES {
        let Some(golden) = find(&format!("cases/{case}.expected.json")) else {
            assert_eq!(case, "big-200k", "only the largest one may be left out");
            continue;
        };
        let golden: Value = serde_json::from_slice(&golden).unwrap();
        let input = golden["input"].as_str().unwrap().trim_end_matches(".gz");
        let trace = import(case, &read(&format!("inputs/{input}")), Some(&SEED_INFO)).unwrap();
        let run_id = golden["run_id"].as_str().unwrap();
        let parsed = &golden["parsed"];
        assert_eq!(trace.accesses.len() as u64, parsed["n_rows"].as_u64().unwrap(), "{case}");
        for policy in ["keep", "skip", "error"] {
            let query = query(&golden, policy);
            let view = LabelledTrace::new(&trace, &query.options());
            let golden = &golden[format!("labelled_{policy}")];
            if golden.is_null() {
                continue;
            }
            if let Some(message) = golden.get("message") {
                assert_eq!(view.stopped.as_ref().unwrap().to_string(), message.as_str().unwrap(), "{case}");
                continue;
            }
            let rows: Vec<Vec<String>> = labelled(&view).collect();
            assert_eq!(rows.len() as u64, golden["n_rows"].as_u64().unwrap(), "{case} {policy}");
            let sha256 = digest(run_id, rows.iter().cloned());
            assert_eq!(sha256, golden["rows_sha256"].as_str().unwrap(), "{case} {policy}");
            if policy == "keep" {
                // Without their labels they are the rows as parsed.
                let as_parsed = rows.into_iter().map(|mut row| {
                    row[8] = "unknown".to_string();
                    row[9] = "0".to_string();
                    row
                });
                assert_eq!(digest(run_id, as_parsed), parsed["rows_sha256"].as_str().unwrap(), "{case}");
            }
            let reports = reports(&trace, query);
            let what = format!("{case} {policy}");
            assert_objects(&what, table(&reports, "region_map"), &golden["region_map"]);
            assert_objects(&what, table(&reports, "kv_block_lifecycle"), &golden["kv_lifecycle"]);
            if let Some(analysis) = golden.get("analysis") {
                assert_results(&what, &reports, analysis, &[]);
            }
        }
    }
}

/// Cells in which the reference is wrong: case, table, row, column.
/// Q27: times above 2^53 go through doubles as soon as one region has no stores, and so does all that is made of them.
const WRONG: [(&str, &str, usize, &str); 14] = [
    ("big_time_gap", "retention_per_region", 0, "first_write_ns"),
    ("big_time_gap", "retention_per_region", 0, "retention_ns"),
    ("big_time_gap", "retention_per_region", 0, "retention_s"),
    ("big_time_gap", "retention_per_region", 1, "first_write_ns"),
    ("big_time_gap", "retention_summary", 1, "retention_p50_s"),
    ("big_time_gap", "retention_summary", 1, "retention_p90_s"),
    ("big_time_gap", "retention_summary", 1, "retention_p99_s"),
    ("big_time_gap", "retention_summary", 1, "retention_mean_s"),
    ("big_time_gap", "suitability", 1, "retention_p50_s"),
    ("big_time_gap", "suitability", 1, "retention_p99_s"),
    ("big_time_gap", "metrics", 1, "retention_p50_s"),
    ("big_time_gap", "metrics", 1, "retention_p90_s"),
    ("big_time_gap", "metrics", 1, "retention_p99_s"),
    ("big_time_gap", "metrics", 1, "retention_mean_s"),
];

#[test]
fn corner_cases_of_the_metrics() {
    let (edge, null) = (json("cases/analysers.edge.json"), json("cases/analysers.null.json"));
    for case in edge.as_array().unwrap().iter().chain(null.as_array().unwrap()) {
        let name = case["name"].as_str().unwrap();
        let mut trace = Trace::default();
        for row in case["rows"].as_array().unwrap() {
            let access = access(row, &mut trace);
            assert_eq!(access.page(), row["address_page"].as_u64().unwrap());
            trace.accesses.push(&access);
        }
        // The way that files take.
        let mut file = Vec::new();
        trace_table::write("r", || trace.accesses.iter(), &trace.strings, &mut file).unwrap();
        let trace = import("trace.parquet", &file, None).unwrap();
        let reports = reports(&trace, MemoryQuery::default());
        if case["expected"].get("error").is_some() {
            // The reference stops without rows; ours is empty and says so.
            assert_eq!(name, "empty");
            assert!(LabelledTrace::new(&trace, &Options::default()).metrics.regions.is_empty());
            continue;
        }
        let wrong: Vec<(&str, usize, &str)> = WRONG
            .iter()
            .filter(|(case, ..)| *case == name)
            .map(|(_, table, row, column)| (*table, *row, *column))
            .collect();
        assert_results(name, &reports, &case["expected"], &wrong);
    }
}
