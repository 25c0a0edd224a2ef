//! Single numbers and answers of the reference.

use super::corpus::*;
use serde_json::Value;
use tracedrop::import::perf_text::{sample, seed};
use tracedrop::memory::Rules;
use tracedrop::memory::exact_quantiles::Spread;
use tracedrop::memory::numbers;
use tracedrop::memory::suitability::Thresholds;
use tracedrop::memory::telemetry::*;

fn all(name: &str) -> Vec<Value> {
    json("cases/units.json")[name].as_array().unwrap().clone()
}

fn float(value: &Value) -> f64 {
    value.to_string().parse().unwrap()
}

#[test]
fn quantiles_and_means() {
    for case in all("quantile") {
        let values: Vec<f64> = case["values"].as_array().unwrap().iter().map(float).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            assert_eq!(
                numbers::quantile(&sorted, q).unwrap().to_bits(),
                float(&case[name]).to_bits(),
                "{name}"
            );
        }
        assert_eq!(numbers::mean(&values).unwrap().to_bits(), float(&case["mean"]).to_bits());
        if case["values"].as_array().unwrap().iter().all(Value::is_u64) {
            let mut spread = Spread::default();
            case["values"].as_array().unwrap().iter().for_each(|value| spread.add(value.as_u64().unwrap()));
            let wanted = ["p50", "p90", "p99"].map(|name| float(&case[name]));
            assert_eq!(spread.quantiles([0.5, 0.9, 0.99]).unwrap(), wanted);
            assert_eq!(spread.median().unwrap(), float(&case["median"]));
            assert_eq!(spread.mean().unwrap(), float(&case["mean"]));
        }
    }
}

#[test]
fn kinds_by_symbol() {
    let rules = Rules::default();
    for case in all("classify_symbol") {
        let text = |at: usize| case[at].as_str();
        let found = rules.classify(text(0).unwrap_or(""), "", text(1), text(2).unwrap_or(""));
        assert_eq!(found.unwrap_or("unknown"), text(3).unwrap_or("unknown"), "{case}");
    }
}

#[test]
fn parts_of_lines() {
    for case in all("event_op") {
        let is_store = seed::is_store_event(case[0].as_str().unwrap().as_bytes());
        assert_eq!(is_store, case[1] == "store", "{case}");
    }
    for case in all("time_ns") {
        let (seconds, fraction) = case[0].as_str().unwrap().split_once('.').unwrap();
        let ns = sample::nanoseconds(seconds.as_bytes(), fraction.as_bytes());
        assert_eq!(ns, case[1].as_i64(), "{case}");
    }
    for case in all("line_regex") {
        let found = seed::parse(case[0].as_str().unwrap().as_bytes()).map(Result::unwrap);
        assert_eq!(found.is_some(), !case[1].is_null(), "{case}");
        let Some(found) = found else { continue };
        let text = |name: &str| case[1][name].as_str().unwrap_or("");
        let (seconds, fraction) = text("time").split_once('.').unwrap();
        assert_eq!(found.address, u64::from_str_radix(text("addr"), 16).unwrap());
        assert_eq!(found.ts, sample::nanoseconds(seconds.as_bytes(), fraction.as_bytes()).unwrap());
        assert_eq!(found.symbol, text("sym").split('+').next().unwrap().as_bytes(), "{case}");
        assert_eq!(found.dso, text("dso").as_bytes());
        assert_eq!((found.thread, found.cpu), (text("pid").parse().ok(), text("cpu").parse().ok()));
    }
}

#[test]
fn suitability() {
    for case in all("suitability") {
        // No ratio at all stands as null.
        let [ratio, p99, p50] =
            [0, 1, 2].map(|at| if case[at].is_null() { f64::NAN } else { float(&case[at]) });
        let found = Thresholds::default().judge(ratio, p99, p50);
        assert_eq!(found.name(), case[3].as_str().unwrap(), "{case}");
        assert!(!Thresholds::default().reason(Some(ratio), p99, p50, &|s| s.to_string()).is_empty());
    }
}

#[test]
fn validity_of_runs() {
    for case in all("validity") {
        let conditions = Conditions {
            observer_cpu_pct: float(&case[0]),
            observer_mem_frac: float(&case[1]),
            thermal_throttle_events: case[2].as_i64().unwrap(),
            baseline_cpu_pct: float(&case[3]),
            io_contention_detected: case[4].as_bool().unwrap(),
            peak_temp_c: None,
        };
        let (found, reasons) = validity(&conditions, RuleSet::Seed);
        assert_eq!(found.name(), case[5].as_str().unwrap(), "{case}");
        assert_eq!(Value::from(reasons), case[6], "{case}");
    }
    for case in all("validity_from_summary") {
        let number = |name: &str| case[0].get(name).map(float);
        let stored = StoredSummary {
            observer_cpu_overhead_pct_max: number("observer_cpu_overhead_pct_max"),
            observer_memory_overhead_mb_peak: number("observer_memory_overhead_mb_peak"),
            observer_memory_overhead_frac: number("observer_memory_overhead_frac"),
            thermal_throttle_events: case[0].get("thermal_throttle_events").and_then(Value::as_i64),
            baseline_cpu_pct: number("baseline_cpu_pct"),
            io_contention_detected: case[0].get("io_contention_detected").and_then(Value::as_bool),
            ..StoredSummary::default()
        };
        let conditions = stored.conditions(float(&case[1]), RuleSet::Seed);
        let (found, reasons) = validity(&conditions, RuleSet::Seed);
        assert_eq!(found.name(), case[2].as_str().unwrap(), "{case}");
        assert_eq!(conditions.observer_mem_frac, float(&case[3]), "{case}");
        assert_eq!(Value::from(reasons), case[4], "{case}");
    }
    // The later rules also look at the temperature and at what ran before.
    let warm = Conditions { peak_temp_c: Some(88.0), ..Conditions::default() };
    assert_eq!(validity(&warm, RuleSet::Seed).0, RunValidity::Clean);
    assert_eq!(validity(&warm, RuleSet::Later).0, RunValidity::Marginal);
    let busy = Conditions { baseline_cpu_pct: 40.0, ..Conditions::default() };
    assert_eq!(validity(&busy, RuleSet::Seed).0, RunValidity::Marginal);
    assert_eq!(validity(&busy, RuleSet::Later).0, RunValidity::Contaminated);
}

#[test]
fn what_watching_costs() {
    for case in all("observer_effect") {
        let samples = |name: &str| -> Vec<ProcessSample> {
            let of = |sample: &Value| ProcessSample {
                cpu_pct: float(&sample["cpu_pct"]),
                rss_mb: float(&sample["rss_mb"]),
                write_bytes: sample["write_bytes"].as_i64().unwrap(),
            };
            case[name].as_array().unwrap().iter().map(of).collect()
        };
        let found = observer_effect(
            &samples("observer"),
            &samples("target"),
            case["thermal_throttle_events"].as_i64().unwrap(),
            float(&case["baseline_cpu_pct"]),
            RuleSet::Seed,
        );
        let wanted = &case["expected"];
        for (name, ours) in [
            ("observer_cpu_overhead_pct_max", found.cpu_overhead_pct_max),
            ("observer_cpu_overhead_pct_mean", found.cpu_overhead_pct_mean),
            ("observer_memory_overhead_mb_peak", found.memory_overhead_mb_peak),
            ("observer_memory_overhead_frac", found.memory_overhead_frac),
            ("target_rss_mb_peak", found.target_rss_mb_peak),
            ("baseline_cpu_pct", found.baseline_cpu_pct),
        ] {
            assert_eq!(ours.to_bits(), float(&wanted[name]).to_bits(), "{name}");
        }
        assert_eq!(found.io_contention_detected, wanted["io_contention_detected"].as_bool().unwrap());
        assert_eq!(Some(found.thermal_throttle_events), wanted["thermal_throttle_events"].as_i64());
        assert_eq!(Some(found.n_observer_samples), wanted["n_observer_samples"].as_u64());
        assert_eq!(Some(found.n_target_samples), wanted["n_target_samples"].as_u64());
    }
    for case in all("thermal") {
        let after = case[1].as_object().unwrap();
        let events = thermal_events(
            |cpu| case[0].get(cpu).and_then(Value::as_i64),
            after.iter().map(|(cpu, count)| (cpu.as_str(), count.as_i64().unwrap())),
        );
        assert_eq!(Some(events), case[2].as_i64(), "{case}");
    }
}
