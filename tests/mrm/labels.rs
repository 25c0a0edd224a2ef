//! Labels of rows, regions, and blocks of the key/value cache, one by one.

use super::corpus::*;
use serde_json::Value;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::memory::kv::KvPages;
use tracedrop::memory::labeller::{Label, Labeller, Region};
use tracedrop::memory::phases::{EngineEvent, Phases};
use tracedrop::memory::ranges::AddressRange;
use tracedrop::memory::tracker::PageTracker;
use tracedrop::memory::view::{LabelledTrace, Options};
use tracedrop::memory::{Kind, Kinds, Rules, UnknownPolicy};
use tracedrop::report::Block;
use tracedrop::trace::Trace;
use tracedrop::trace::accesses::{Access, Op, RegionType};

fn rows(golden: &Value) -> Trace {
    let mut trace = Trace::default();
    for row in golden["rows"].as_array().unwrap() {
        let access = access(row, &mut trace);
        trace.accesses.push(&access);
    }
    trace
}

#[test]
fn rows_with_labels_of_their_own_and_out_of_order() {
    let golden = json("cases/labeller.rows.json");
    let trace = rows(&golden);
    for policy in ["keep", "skip", "error"] {
        let query = MemoryQuery { unknown: policy.to_string(), ..MemoryQuery::default() };
        let view = LabelledTrace::new(&trace, &query.options());
        let reports = reports(&trace, query);
        let golden = &golden[policy];
        assert_objects(policy, table(&reports, "region_map"), &golden["region_map"]);
        if let Some(message) = golden.get("message") {
            assert_eq!(view.stopped.as_ref().unwrap().to_string(), message.as_str().unwrap());
            continue;
        }
        assert_objects(policy, table(&reports, "kv_block_lifecycle"), &golden["kv_lifecycle"]);
        let labels: Vec<Value> = view
            .accesses()
            .map(|(row, label)| {
                Value::from(vec![
                    row.sample.into(),
                    view.kinds.name(label.kind).into(),
                    Value::from(label.region_id),
                ])
            })
            .collect();
        assert_eq!(&Value::from(labels), &golden["labels"], "{policy}");
    }
}

#[test]
fn regions_by_page_alone() {
    let golden = &json("cases/labeller.rows.json")["address_tracker"];
    let mut kinds = Kinds::default();
    let mut tracker = PageTracker::default();
    let updates = golden["updates"].as_array().unwrap();
    for (update, wanted) in updates.iter().zip(golden["returns"].as_array().unwrap()) {
        let kind = kinds.of_name(update[1].as_str().unwrap());
        let (id, kind) = tracker.update(update[0].as_u64().unwrap(), kind, update[2].as_i64().unwrap());
        assert_eq!((id, kinds.name(kind)), (wanted[0].as_u64().unwrap() as u32, wanted[1].as_str().unwrap()));
    }
    for (region, wanted) in tracker.regions().iter().zip(golden["region_map"].as_array().unwrap()) {
        let Region { id, kind, page_min, page_max, first_seen_ns, last_seen_ns, access_count } = *region;
        assert_eq!(
            (u64::from(id), kinds.name(kind), page_min, page_max, access_count),
            (
                wanted["region_id"].as_u64().unwrap(),
                wanted["region_type"].as_str().unwrap(),
                wanted["page_min"].as_u64().unwrap(),
                wanted["page_max"].as_u64().unwrap(),
                wanted["access_count"].as_u64().unwrap()
            )
        );
        let times = (wanted["first_seen_ns"].as_i64().unwrap(), wanted["last_seen_ns"].as_i64().unwrap());
        assert_eq!((first_seen_ns, last_seen_ns), times);
    }
    assert_eq!(tracker.regions().len(), golden["region_map"].as_array().unwrap().len());
}

#[test]
fn blocks_by_page() {
    for case in json("cases/kv-blocks.json").as_array().unwrap() {
        let mut pages = KvPages::default();
        for event in case["events"].as_array().unwrap() {
            let number = |at: usize| event[at].as_i64().unwrap();
            pages.add(number(2) as u32, number(0) as u64, number(1) as u64, event[3] == "store", number(4));
        }
        let wanted = case["lifecycle"].as_array().unwrap();
        assert_eq!(pages.pages().len(), wanted.len());
        for (page, wanted) in pages.pages().iter().zip(wanted) {
            let ours = [
                ("block_id", Value::from(page.block_id)),
                ("address", page.address.into()),
                ("address_page", page.page.into()),
                ("write_ns", page.write_ns.into()),
                ("last_read_ns", page.last_read_ns.into()),
                ("evict_ns", page.evict_ns.into()),
                ("total_reads", page.total_reads.into()),
                ("lifetime_ns", page.lifetime_ns().into()),
            ];
            for (name, ours) in ours {
                assert_eq!(ours, wanted[name], "{name} of {wanted}");
            }
        }
    }
}

fn label(labeller: &mut Labeller, trace: &Trace, kinds: &mut Kinds, address: u64) -> Label {
    let row = Access { address, ..Access::default() };
    labeller.label(&row, None, &trace.strings, kinds).unwrap().unwrap()
}

#[test]
fn ranges_are_known_before_the_first_access() {
    let (trace, mut kinds) = (Trace::default(), Kinds::default());
    let mut labeller = Labeller::new(Rules::default(), UnknownPolicy::Keep);
    let range = |addr_start, addr_end, region: &str| AddressRange {
        addr_start,
        addr_end,
        region_type: region.into(),
    };
    let ranges =
        [range(0x1000, 0x3001, "kv_cache"), range(0x2000, 0x5000, "weight"), range(0x9000, 0, "scratch")];
    assert_eq!(labeller.register(&ranges, &mut kinds), 3 + 1 + 1);
    let ours: Vec<(String, u32)> = [0x1008u64, 0x1010, 0x4000, 0x9fff, 0xa000]
        .into_iter()
        .map(|address| {
            let found = label(&mut labeller, &trace, &mut kinds, address);
            (kinds.name(found.kind).to_string(), found.region_id)
        })
        .collect();
    let wanted = [("kv_cache", 2), ("kv_cache", 3), ("weight", 1), ("scratch", 4), ("unknown", 0)];
    assert_eq!(ours, wanted.map(|(kind, id)| (kind.to_string(), id)));
}

#[test]
fn rules_of_ones_own_and_policies() {
    let mut trace = Trace::default();
    let symbol = trace.strings.intern("MyKernel<1>");
    for (ts, op) in [(1, Op::Store), (2, Op::Load)] {
        trace.accesses.push(&Access { ts, address: 8192, op, symbol: Some(symbol), ..Access::default() });
        trace.accesses.push(&Access { ts, address: 4096, op, ..Access::default() });
    }
    let rules = r#"[{"region_type":"activation","symbol_re":"^mykernel","op_type":"store","dso_re":null}]"#;
    let kinds_of = |unknown: &str, rules: &str| {
        let query = MemoryQuery { unknown: unknown.into(), rules: rules.into(), ..MemoryQuery::default() };
        assert_eq!(query.problem(), None);
        let view = LabelledTrace::new(&trace, &query.options());
        let kinds: Vec<String> =
            view.accesses().map(|(_, label)| view.kinds.name(label.kind).to_string()).collect();
        (kinds.join(" "), view.n_left_out)
    };
    assert_eq!(kinds_of("keep", rules), ("activation unknown activation unknown".into(), 0));
    assert_eq!(kinds_of("log_and_skip", rules), ("activation activation".into(), 2));
    assert_eq!(kinds_of("assign_runtime", ""), ("runtime runtime runtime runtime".into(), 0));
    for (rules, unknown) in [
        (r#"[{"symbol_re":"a"}]"#, ""),
        (r#"[{"region_type":"a","symbol_re":"("}]"#, ""),
        ("{}", ""),
        ("", "other"),
    ] {
        let query = MemoryQuery { rules: rules.into(), unknown: unknown.into(), ..MemoryQuery::default() };
        assert!(query.problem().is_some(), "{rules} {unknown}");
    }
}

/// Where labelling stops, metrics are those of the rows up to there, wherever blocks of rows end.
#[test]
fn what_stops_early_is_measured_up_to_there() {
    for (n, is_ordered) in
        [0u64, 5, 1023, 1024, 1025, 2048, 2500].into_iter().flat_map(|n| [(n, true), (n, false)])
    {
        let trace_of = |n_more: u64| {
            let mut trace = Trace::default();
            let symbol = trace.strings.intern("ggml_mul_mat");
            for at in 0..n + n_more {
                let ts = if is_ordered { at * 10 } else { (at * 10) ^ 64 };
                trace.accesses.push(&Access {
                    ts: ts as i64,
                    address: at % 300 * 520,
                    op: Op::ALL[(at % 2) as usize],
                    symbol: (at != n).then_some(symbol),
                    ..Access::default()
                });
            }
            trace
        };
        let options = || Options { unknown: UnknownPolicy::Error, ..Options::default() };
        // A page of no known kind stops it; so it is one of its own.
        let (short, mut long) = (trace_of(0), trace_of(0));
        long.accesses.push(&Access { ts: 1 << 20, address: 1 << 40, ..Access::default() });
        for row in trace_of(4000).accesses.iter().skip(n as usize + 1) {
            long.accesses.push(&Access { ts: row.ts + (1 << 20), ..row });
        }
        let (short, long) = (LabelledTrace::new(&short, &options()), LabelledTrace::new(&long, &options()));
        assert!(short.stopped.is_none() && long.stopped.is_some());
        assert_eq!(long.labels.len() as u64, n);
        assert_eq!(long.metrics.regions, short.metrics.regions, "{n} {is_ordered}");
        assert_eq!(long.metrics.strides, short.metrics.strides, "{n} {is_ordered}");
        let mut rows = 0;
        long.for_each_in_time(|_| rows += 1);
        assert_eq!(rows, n);
    }
}

#[test]
fn phases_overlap_and_come_from_events() {
    let list = r#"[{"phase":"a","start_ns":10,"end_ns":20},{"phase":"b","start_ns":15,"end_ns":30}]"#;
    let phases = Phases::parse(list).unwrap();
    let name = |ts| phases.at(ts).and_then(|at| phases.name(at)).unwrap_or("-");
    assert_eq!([9, 10, 19, 20, 29, 30].map(name), ["-", "a", "a", "b", "b", "-"]);
    for ts in 0..40 {
        let (at, from, until) = phases.by_time().at_and_until(ts);
        assert!(from <= ts && ts < until);
        assert!((from.max(0)..until.min(40)).all(|other| phases.at(other) == at));
    }
    let event = |event: &str, ns| EngineEvent { event: event.into(), ns };
    let events = [
        event("model_load_start", 100),
        event("token_emitted", 120),
        event("model_load_end", 150),
        event("generation_end", 160),
        event("teardown_start", 200),
    ];
    let phases = Phases::of_events(&events, 5);
    let list: Vec<(&str, i64, i64)> =
        phases.boundaries.iter().map(|phase| (phase.phase.as_str(), phase.start_ns, phase.end_ns)).collect();
    assert_eq!(list, [("weight_load", 105, 155), ("teardown", 205, i64::MAX)]);
    assert!(Phases::parse("[{}]").is_err());
}

#[test]
fn stretches_that_go_back_in_time_are_put_in_order() {
    let mut trace = Trace::default();
    for ts in [30, 10, 20] {
        trace.accesses.push(&Access { ts, address: ts as u64 * 4096, ..Access::default() });
    }
    let view = LabelledTrace::new(&trace, &Options::default());
    let region = &view.metrics.regions[0];
    assert_eq!((region.kind, region.mean_stride_bytes), (Kind::UNKNOWN, 10.0 * 4096.0));
}

/// Labels of a file stay until somebody says how accesses are to be labelled, and the report says which of both it shows.
#[test]
fn labels_of_a_file_stay_until_others_are_asked_for() {
    let mut trace = Trace::default();
    for n in 0..6u64 {
        let region = if n % 3 == 0 { RegionType::Unknown } else { RegionType::Activation };
        let region_id = if n % 3 == 0 { 0 } else { 100 + n as u32 };
        trace.accesses.push(&Access {
            ts: n as i64,
            address: n << 12,
            region,
            region_id,
            ..Access::default()
        });
    }
    trace.accesses.set_labelled(true);
    let range = r#"[{"addr_start": 0, "addr_end": 4096, "region_type": "weight"}]"#;
    let asked = |phases: &str, ranges: &str, unknown: &str| MemoryQuery {
        phases: phases.to_string(),
        ranges: ranges.to_string(),
        unknown: unknown.to_string(),
        ..MemoryQuery::default()
    };
    let phases = r#"[{"phase": "weight_load", "start_ns": 0, "end_ns": 9}]"#;
    for (query, ids, note) in [
        (asked("", "", ""), "101 102 104 105", "come from the file"),
        (asked("", "", "keep"), "101 102 104 105", "come from the file"),
        (asked(phases, "", ""), "101 102 104 105", "come from the file"),
        (asked("", "", "skip"), "2 3 4 5", "Relabeled"),
        (asked("", range, ""), "1 2 3 4 5", "Relabeled"),
    ] {
        let reports = reports(&trace, query);
        let regions = &table(&reports, "region_map").column("region_id").unwrap().cells;
        let got: Vec<String> = (0..regions.len()).map(|row| regions.get(row).plain()).collect();
        assert_eq!(got.join(" "), ids);
        let notes = reports[0].blocks.iter().filter_map(|block| match block {
            Block::Note(note) => Some(note.text.as_str()),
            _ => None,
        });
        assert_eq!(notes.filter(|text| text.contains(note)).count(), 1, "{note}");
    }
}
