//! Reports on timelines, over a small trace put together by hand.

use crate::support;
use tracedrop::analysis::{self, Query};
use tracedrop::base::strings::StringId;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{DocumentView, ReportView};
use tracedrop::engine::{Session, Shown};
use tracedrop::report::{Block, Report, Table, Value};
use tracedrop::trace::args::ArgsPlace;
use tracedrop::trace::samples::{FrameId, StackId};
use tracedrop::trace::slices::{SliceId, SliceKind, UNFINISHED};
use tracedrop::trace::tracks::{Key, ProcessId, ThreadId, TrackId, TrackKind};
use tracedrop::trace::{Run, Trace};

/// ```text
///          0    10   20   30   40   50
/// worker   [outer              ][outer…      unfinished
///            [leaf]  [leaf ]
/// overlap       [late              ]
/// async         [request                ]
/// mem      1    3         2
/// ```
fn trace() -> Trace {
    let mut trace = Trace::default();
    let process = trace.processes.push(Key::Number(7));
    let thread = trace.threads.push(process, Key::Number(8));
    trace.processes.name[0] = trace.strings.intern("server");
    trace.threads.name[0] = trace.strings.intern("worker");
    let request = trace.strings.intern("request");
    let on_thread = trace.tracks.push(TrackKind::Thread, StringId::NONE, Some(process), Some(thread));
    let overflow = trace.tracks.push(TrackKind::ThreadOverflow, StringId::NONE, Some(process), Some(thread));
    let lane = trace.tracks.push(TrackKind::AsyncGlobal, request, Some(process), None);
    let mut add =
        |ts, dur, self_ns, name: &str, category: Option<&str>, track: TrackId, kind, depth, parent| {
            let slices = &mut trace.slices;
            slices.ts.push(ts);
            slices.dur.push(dur);
            slices.self_ns.push(self_ns);
            slices.name.push(trace.strings.intern(name));
            slices.category.push(category.map_or(StringId::NONE, |category| trace.strings.intern(category)));
            slices.track.push(track);
            slices.kind.push(kind);
            slices.depth.push(depth);
            slices.parent.push(parent);
            slices.places.push(0, (0, 0));
        };
    use SliceKind::{Async, BeginEnd, Complete, Instant};
    let none = SliceId::NONE;
    add(1000, 20, 9, "outer", Some("io"), on_thread, Complete, 0, none);
    add(1002, 5, 5, "leaf", None, on_thread, Complete, 1, SliceId(0));
    add(1005, 20, 20, "late", Some("io"), overflow, Complete, 0, none);
    add(1005, 25, 25, "request", Some("io"), lane, Async, 0, none);
    add(1010, 6, 6, "leaf", None, on_thread, Complete, 1, SliceId(0));
    add(1012, 0, 0, "tick", None, on_thread, Instant, 2, SliceId(4));
    add(1020, UNFINISHED, 30, "outer", Some("io"), on_thread, BeginEnd, 0, none);
    let (begin, end) = (br#"{"a": 1, "b": "x"}"#, br#"{"b":2}"#);
    trace.args.keep(0, begin);
    trace.args.keep(100, end);
    trace.slices.places.near[0] = (0, 0, begin.len() as u16);
    trace.slices.end_args.push((SliceId(0), ArgsPlace { offset: 100, len: end.len() as u32 }));

    let (mem, used) = (trace.strings.intern("mem"), trace.strings.intern("used"));
    trace.counter_series.process.push(ProcessId(0));
    trace.counter_series.name.push(mem);
    trace.counter_series.id.push(StringId::NONE);
    trace.counter_series.key.push(used);
    for (ts, value) in [(1000, 1.0), (1005, 3.0), (1015, 2.0)] {
        trace.counters.ts.push(ts);
        trace.counters.series.push(0);
        trace.counters.value.push(value);
    }

    trace.flows.from.push(SliceId(1));
    trace.flows.to.push(SliceId(4));
    trace.flows.name.push(used);
    trace.flows.category.push(StringId::NONE);

    for name in ["main", "work"] {
        let name = trace.strings.intern(name);
        trace.frames.name.push(name);
        trace.frames.module.push(StringId::NONE);
    }
    // main → work → main: the frame is on the stack twice and counts once.
    for (frame, parent) in [(0, StackId::NONE), (1, StackId(0)), (0, StackId(1))] {
        trace.stacks.frame.push(FrameId(frame));
        trace.stacks.parent.push(parent);
    }
    for (ts, stack, weight) in [(1001, 0, 1.0), (1050, 2, 3.0)] {
        trace.samples.ts.push(ts);
        trace.samples.thread.push(ThreadId(0));
        trace.samples.stack.push(StackId(stack));
        trace.samples.weight.push(weight);
        trace.samples.name.push(StringId::NONE);
    }
    trace
}

fn report(id: &str) -> Report {
    let reports = analysis::reports(&Run::single(trace()), &Query::default());
    reports.into_iter().find(|report| report.id == id).unwrap()
}

fn table<'a>(report: &'a Report, id: &str) -> &'a Table {
    report.tables().find(|table| table.id == id).unwrap_or_else(|| panic!("no table {id}"))
}

/// The cells of some columns, plain, a line a row.
fn rows(table: &Table, columns: &[&str]) -> Vec<String> {
    let cells = |row| columns.iter().map(move |id| table.column(id).unwrap().cells.get(row).plain());
    (0..table.n_rows()).map(|row| cells(row).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn slices_add_up() {
    let report = report("slices");
    let slices = table(&report, "slices");
    let columns = ["name", "category", "count", "total", "self", "median", "min", "max", "unfinished"];
    assert_eq!(
        rows(slices, &columns),
        ["outer io 2 50 39 20 20 30 1", "late io 1 20 20 20 20 20 0", "leaf  2 11 11 5 5 6 0"]
    );
    assert_eq!(slices.column("self_share").unwrap().cells.get(0), Value::Float(39.0 / 70.0));
    // Asynchronous slices may run at the same time: they stand apart and have no share.
    let asyncs = table(&report, "async_slices");
    assert_eq!(rows(asyncs, &columns), ["request io 1 25 25 25 25 25 0"]);
    assert!(asyncs.column("self_share").is_none());
    assert_eq!(
        rows(table(&report, "categories"), &["category", "kind", "count", "self"]),
        ["io thread 3 59", " thread 2 11", "io async 1 25"]
    );
    assert_eq!(rows(table(&report, "instants"), &["name", "count"]), ["tick 1"]);
    assert_eq!(rows(table(&report, "flows"), &["name", "count", "mean_delay", "max_delay"]), ["used 1 8 8"]);
}

#[test]
fn frames_count_once_a_stack() {
    let report = report("slices");
    assert_eq!(
        rows(table(&report, "frames"), &["frame", "samples", "self", "total"]),
        ["main 2 4 4", "work 0 0 3"]
    );
}

#[test]
fn counters_are_weighed_by_time() {
    let report = report("counters");
    // (1·5 + 3·10 + 2·35) / 50
    assert_eq!(
        rows(
            table(&report, "counters"),
            &["process", "name", "key", "points", "first", "last", "min", "max", "mean"]
        ),
        ["server (7) mem used 3 1 2 1 3 2.1"]
    );
}

#[test]
fn the_longest_come_first_with_their_arguments() {
    let report = report("longest");
    assert_eq!(
        rows(table(&report, "thread_slices"), &["name", "thread", "start", "duration", "depth", "args"]),
        [
            "outer worker (8) 20 30 0 ",
            "outer worker (8) 0 20 0 {\"a\":1,\"b\":2}",
            "late worker (8) 5 20 0 ",
            "leaf worker (8) 10 6 1 ",
            "leaf worker (8) 2 5 1 ",
        ]
    );
    assert_eq!(rows(table(&report, "longest_async"), &["name", "duration"]), ["request 25"]);
}

#[test]
fn the_overview_counts_busy_time_once() {
    let report = report("overview");
    // The two tracks of the thread together are busy from 0 to 50, whatever overlaps.
    assert_eq!(
        rows(table(&report, "processes"), &["key", "name", "threads", "slices", "busy"]),
        ["7 server 1 6 50"]
    );
    assert_eq!(
        rows(
            table(&report, "threads"),
            &["name", "slices", "instants", "max_depth", "busy", "first", "last"]
        ),
        ["worker 5 1 2 50 0 50"]
    );
}

#[test]
fn a_slice_that_outlasts_its_parent_is_busy_to_its_end() {
    let text = r#"[{"ph":"B","name":"outer","ts":0,"pid":1,"tid":1},{"ph":"B","name":"inner","ts":1,"pid":1,"tid":1},
        {"ph":"E","name":"outer","ts":4,"pid":1,"tid":1},{"ph":"X","name":"last","ts":20,"dur":1,"pid":2,"tid":1}]"#;
    let trace = support::import("open.json", text.as_bytes(), None).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let report = reports.iter().find(|report| report.id == "overview").unwrap();
    assert_eq!(rows(table(report, "processes"), &["key", "busy"]), ["1 21000", "2 1000"]);
    assert_eq!(rows(table(report, "threads"), &["process", "busy"]), ["1 21000", "2 1000"]);
}

#[test]
fn an_empty_trace_says_so() {
    let reports = analysis::reports(&Run::single(Trace::default()), &Query::default());
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].summary, "The trace is empty.");
}

/// Reports that are made before the others are among the reports that are there in the end, and then nothing tells that some
/// were made before others.
fn sample(name: &str) -> Vec<Report> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("www/samples").join(name);
    let trace = support::import(name, &std::fs::read(path).unwrap(), None).unwrap();
    analysis::reports(&Run::single(trace), &Query::default())
}

/// Reports are there only with content, and warnings come before what they limit.
#[test]
fn reports_have_content_and_lead_with_warnings() {
    for (name, there, missing) in [
        ("serving.json", "slices", &["gpu-memory", "gpu-cpu", "gpu-communication"][..]),
        ("gpu-serving.json", "gpu-memory", &["mrm", "counters"]),
        ("kv-cache.parquet", "mrm-kv", &["slices", "longest"]),
    ] {
        let reports = sample(name);
        let has = |id: &str| reports.iter().any(|report| report.id == id);
        assert!(has(there), "{name}: {there}");
        missing.iter().for_each(|id| assert!(!has(id), "{name}: {id}"));
        for report in &reports {
            let n = report.warnings().count();
            let first = Report { blocks: report.blocks[..n].to_vec(), ..report.clone() };
            assert_eq!(first.warnings().count(), n, "{name}: {}", report.id);
        }
    }
    // Memory accesses have no threads.
    let reports = sample("kv-cache.parquet");
    let overview = reports.iter().find(|report| report.id == "overview").unwrap();
    let facts = overview.blocks.iter().find_map(|block| match block {
        Block::Facts(facts) => Some(facts.facts.iter().map(|fact| &*fact.id).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(facts.unwrap(), ["events", "accesses"]);
}

#[test]
fn early_reports_are_part_of_all() {
    let path = support::own_dir("pytorch").join("small-bert-h100.json.gz");
    let bytes = std::fs::read(&path).unwrap();
    let read = || {
        let mut session = Session::new("qwen.json.gz", bytes.len() as u64, None, Query::default());
        session.feed(&bytes);
        session
    };
    let mut whole = read();
    whole.finish().unwrap();
    let whole = whole.document().unwrap();
    let mut session = read();
    assert!(session.finish_early().unwrap());
    let early = session.document().unwrap();
    assert!(early.partial && early.is_read && !whole.partial && whole.is_read);
    let is_in = |report: &ReportView| whole.reports.iter().any(|known| known.id == report.id);
    assert!(early.reports.len() >= 3 && early.reports.len() < whole.reports.len());
    assert!(early.reports.iter().all(is_in));
    let mut n_reports = early.reports.len();
    while session.make_next_report() {
        // Each stands where it is going to be from then on.
        let so_far = session.document().unwrap();
        n_reports += 1;
        assert!(so_far.partial && so_far.reports.len() == n_reports);
        let mut all = whole.reports.iter();
        assert!(so_far.reports.iter().all(|report| all.any(|known| known.id == report.id)));
    }
    // How many documents there were before is no part of what it says.
    let as_first =
        |session: &Session| DocumentView { revision: whole.revision, ..session.document().unwrap() };
    assert_eq!(as_first(&session), whole);
    assert!(!session.make_next_report());
    assert_eq!(as_first(&session), whole);
    // Of other traces all reports are made at once.
    let mut small = Session::new("a.json", 2, None, Query::default());
    small.feed(br#"[{"ph":"X","ts":1,"dur":2,"name":"a","pid":1,"tid":1}]"#);
    assert!(!small.finish_early().unwrap() && !small.document().unwrap().partial);
}

/// ROCm says how a kernel is launched with the call, and not always with the kernel.
#[test]
fn launch_configurations_are_those_of_the_call_where_the_kernel_has_none() {
    let event = |category: &str, name: &str, ts: u32, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":0,"tid":0,"ts":{ts},"dur":4,"args":{{{args}}}}}"#
        )
    };
    let call = |ts, grid: &str, id: u32| {
        let args = format!(r#""grid":[{grid},1,1],"block":[256,1,1],"shared memory":64,"correlation":{id}"#);
        event("cuda_runtime", "hipLaunchKernel", ts, &args)
    };
    let kernel = |ts, more: &str, id: u32| {
        event("kernel", "add", ts, &format!(r#""device":2,"stream":0,"correlation":{id}{more}"#))
    };
    let own = r#","grid":[7,1,1],"block":[64,1,1]"#;
    let events = [call(0, "8", 1), call(10, "8", 2), call(20, "9", 3), call(30, "9", 4)].into_iter().chain([
        kernel(40, "", 1),
        kernel(50, "", 2),
        kernel(60, "", 3),
        kernel(70, own, 4),
    ]);
    let text = format!("[{}]", events.collect::<Vec<_>>().join(","));
    let mut session = Session::new("t.json", text.len() as u64, None, Query::default());
    session.feed(text.as_bytes());
    session.finish().unwrap();
    let report = session.reports().iter().find(|report| report.id == "gpu-kernels").unwrap();
    let table = report.tables().find(|table| table.id == "configurations").unwrap();
    let csv = tracedrop::export::csv::table_csv(table, &[0, 1, 2]);
    let columns = ["grid", "block", "count", "shared_bytes"];
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let at = columns.map(|id| head.iter().position(|column| *column == id).unwrap());
    let mut rows: Vec<[&str; 4]> = lines.map(|row| at.map(|at| row[at])).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            ["7 × 1 × 1", "64 × 1 × 1", "1", ""],
            ["8 × 1 × 1", "256 × 1 × 1", "2", ""],
            ["9 × 1 × 1", "256 × 1 × 1", "1", ""]
        ]
    );
}

/// A trace whose file can be read again gives the reports that it gives where everything of it is kept.
#[test]
fn what_is_kept_of_arguments_is_what_reports_need() {
    let launch = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":7}}"#;
    let kernel = |category: &str, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":5,"dur":4,"args":{{"correlation":7,"stream":7,"device":0,{args}}}}}"#
        )
    };
    let pair = concat!(
        r#"{"ph":"B","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":5,"args":{"correlation":7,"stream":7,"device":0,"Collective name":"allreduce","In msg nelems":64,"dtype":"Float"}},"#,
        r#"{"ph":"E","pid":0,"tid":7,"ts":9}"#
    );
    let copy = r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":5,"dur":4,"args":{"correlation":7,"stream":7,"device":0,"bytes":4096,"memory bandwidth (GB/s)":1.024}}"#;
    for event in [
        kernel(
            "kernel",
            r#""Collective name":"allreduce","In msg nelems":1024,"dtype":"Float","Group size":2"#,
        ),
        kernel("kernel", r#""In msg nelems":1024,"dtype":"Float""#),
        kernel("mtia_ccp_events", r#""Collective name":"allreduce","In msg nelems":1024,"dtype":"Float""#),
        pair.to_string(),
        copy.to_string(),
    ] {
        let json = format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"G"}}],"traceEvents":[{launch},{event}]}}"#
        );
        let bytes = json.into_bytes();
        let read = |again: bool| {
            let mut session = Session::new("a.json", bytes.len() as u64, None, Query::default());
            if again {
                session.can_read_again(std::rc::Rc::new(bytes.clone()));
            }
            session.feed(&bytes);
            session.finish().unwrap();
            let mut out = Vec::new();
            let json = tracedrop::export::find("json").unwrap();
            session.export(json, &tracedrop::export::Options::default(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let whole = read(false);
        assert!(whole.contains("gpu-"), "{whole}");
        support::assert_same_text(&event, &read(true), &whole);
    }
}

/// Block lifetimes and region retention are different measures, so texts name which one they mean.
#[test]
fn kinds_of_memory_say_what_their_retention_is_of() {
    let reports = sample("kv-cache.parquet");
    let report = reports.iter().find(|report| report.id == "mrm").unwrap();
    let table = report.tables().find(|table| table.id == "kinds").unwrap();
    let cell = |row: usize, id: &str| table.column(id).unwrap().cells.get(row).display(Unit::None);
    let row = |kind: &str| (0..table.n_rows()).find(|row| cell(*row, "kind") == kind).unwrap();
    assert_eq!([row("weight"), row("kv_cache")].map(|row| cell(row, "suitability")), ["high", "low"]);
    assert!(cell(row("kv_cache"), "reason").contains("median region retention is"));
    assert!(
        table.caption.contains("Block lifetimes of the KV cache are another measure"),
        "{}",
        table.caption
    );
    let sort = table.sort.as_ref().unwrap();
    assert_eq!((&*table.columns[sort.column as usize].id, sort.descending), ("bytes", true));
}

/// With several files, the headline counts those of all of them.
#[test]
fn the_overview_of_several_files_is_of_all_of_them() {
    let event = |name: &str, tid: u32, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let small = format!("[{},{}]", event("a", 1, 0, 10), event("a2", 1, 20, 10));
    let large = format!(
        "[{},{},{},{}]",
        event("b", 5, 0, 1000),
        event("b2", 5, 1000, 900),
        event("b3", 6, 2000, 900),
        event("b4", 7, 2100, 100)
    );
    let traces = [("a.json", small), ("b.json", large)];
    let traces = traces.map(|(name, text)| support::import(name, text.as_bytes(), None).unwrap());
    let reports = analysis::reports(&Run { traces: traces.into() }, &Query::default());
    let overview = reports.iter().find(|report| report.id == "overview").unwrap();
    assert_eq!(
        overview.summary,
        "6 slices on 4 threads in 2 files. Most self time: b (1.000 ms in 1 slice)."
    );
}
