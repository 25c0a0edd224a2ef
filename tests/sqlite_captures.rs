//! SQLite captures, and their tables as Parquet files: what is read equals the answers of plain SQL, however the file is cut.

use crate::support;
use crate::support::{
    Slice, all_files, data_dirs, dump, files, for_each_cut, import, own_dir, slices, stem, unpacked,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracedrop::analysis::gpu::model::NONE;
use tracedrop::analysis::gpu::{GpuTrace, Kind};
use tracedrop::analysis::{self, Query};
use tracedrop::archive::tar::list_tar;
use tracedrop::import::{Import, ImportError};
use tracedrop::trace::samples::StackId;
use tracedrop::trace::slices::{SliceKind, UNFINISHED};
use tracedrop::trace::tracks::Key;
use tracedrop::trace::{Run, Trace};

/// Files with expected results: path of the file, and the result.
fn cases(system: &str) -> Vec<(PathBuf, Value)> {
    let mut cases = Vec::new();
    for dir in data_dirs(system) {
        for path in files(&dir, &[".sqlite", ".sqlite.gz", ".db", ".rpd"]) {
            let expected = dir.join("expected").join(format!("{}.json", stem(&path)));
            if expected.is_file() {
                cases.push((path, serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap()));
            }
        }
    }
    assert!(!cases.is_empty());
    cases
}

fn read(path: &Path) -> Result<Trace, ImportError> {
    let bytes = std::fs::read(path).unwrap();
    let mut import = Import::new(path.file_name().unwrap().to_str().unwrap(), bytes.len() as u64);
    import.can_read_again(std::rc::Rc::new(bytes.clone()));
    bytes.chunks(50_001).for_each(|chunk| import.feed(chunk));
    import.finish()
}

/// Count, sum, least and largest duration in nanoseconds, and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Stats {
    count: i64,
    sum: i64,
    min: i64,
    max: i64,
    bytes: i64,
}

type ByKey = BTreeMap<String, Stats>;

fn add(all: &mut ByKey, key: String, other: Stats) {
    let own = all.entry(key).or_insert(Stats { min: i64::MAX, ..Stats::default() });
    own.count += other.count;
    own.sum += other.sum;
    own.min = own.min.min(other.min);
    own.max = own.max.max(other.max);
    own.bytes += other.bytes;
}

impl Slice {
    fn stats(&self) -> Stats {
        let bytes = self.args["bytes"].as_i64().unwrap_or(0);
        Stats { count: 1, sum: self.dur, min: self.dur, max: self.dur, bytes }
    }
}

fn grouped(slices: &[Slice], category: &str, key: impl Fn(&Slice) -> String) -> ByKey {
    let mut all = ByKey::new();
    for slice in slices.iter().filter(|slice| slice.category == category) {
        add(&mut all, key(slice), slice.stats());
    }
    all
}

/// Rows of the reference by what `shown` makes of their keys.
fn expected(rows: &Value, shown: impl Fn(&Value) -> String) -> ByKey {
    let mut all = ByKey::new();
    for row in rows.as_array().unwrap() {
        let number = |name: &str| row[name].as_i64().unwrap_or(0);
        let stats = Stats {
            count: number("count"),
            sum: number("sum"),
            min: number("min"),
            max: number("max"),
            bytes: number("bytes"),
        };
        add(&mut all, shown(&row["key"]), stats);
    }
    all
}

fn plain(key: &Value) -> String {
    key.as_str().map_or_else(|| key.to_string(), str::to_string)
}

/// Names of calls without the version of the runtime.
fn without_version(key: &Value) -> String {
    let name = plain(key);
    match name.rsplit_once("_v") {
        Some((bare, version)) if name.starts_with("cuda") && version.len() >= 4 => bare.to_string(),
        _ => name,
    }
}

fn copy_name(kind: i64) -> String {
    let known = [(1, "HtoD"), (2, "DtoH"), (8, "DtoD"), (10, "PtoP")];
    known
        .iter()
        .find(|(number, _)| *number == kind)
        .map_or(format!("kind {kind}"), |(_, name)| (*name).to_string())
}

fn is_graph(slice: &Slice) -> bool {
    slice.name.starts_with("CUDA graph")
}

/// Launches of kernels as the reference counts them.
fn launches(trace: &Trace, version: impl Fn(&str) -> String) -> (i64, i64, BTreeMap<String, i64>, i64, i64) {
    let gpu = GpuTrace::new(trace);
    let (mut linked, mut not_linked, mut sum, mut early) = (0, 0, 0, 0);
    let mut by_api = BTreeMap::new();
    let is_kernel = |slice| !gpu.name(slice).starts_with("CUDA graph");
    for work in gpu.work.iter().filter(|work| work.kind == Kind::Kernel && is_kernel(work.slice)) {
        if work.launch == NONE {
            not_linked += 1;
            continue;
        }
        linked += 1;
        *by_api.entry(version(gpu.name(work.launch))).or_insert(0) += 1;
        let delay = work.start - gpu.end_of(work.launch);
        sum += delay;
        early += i64::from(delay < 0);
    }
    (linked, not_linked, by_api, sum, early)
}

fn check_launches(name: &str, trace: &Trace, wanted: &Value) {
    let (linked, not_linked, by_api, sum, early) = launches(trace, str::to_string);
    let mut wanted_apis = BTreeMap::new();
    for (api, n) in wanted["by_api"].as_object().unwrap() {
        *wanted_apis.entry(without_version(&json!(api))).or_insert(0) += n.as_i64().unwrap();
    }
    assert_eq!(json!(linked), wanted["linked"], "{name}: linked");
    assert_eq!(json!(not_linked), wanted["not_linked"], "{name}: not linked");
    assert_eq!(by_api, wanted_apis, "{name}: launches by call");
    assert_eq!(json!(sum), wanted["sum_start_minus_api_end"], "{name}: delays");
    assert_eq!(json!(early), wanted["starts_before_api_end"], "{name}: kernels before the end of their call");
}

fn check_gpus(name: &str, trace: &Trace, wanted: &Value) {
    let gpu = GpuTrace::new(trace);
    let mut all = BTreeMap::new();
    for device in 0..gpu.devices.len() as u32 {
        let Key::Number(number) = trace.processes.key[gpu.devices[device as usize].process.0 as usize] else {
            panic!("{name}: a GPU without a number")
        };
        let sum = |spans: Vec<(i64, i64)>| spans.iter().map(|(start, end)| end - start).sum::<i64>();
        let is_kernel = |slice: u32| !gpu.name(slice).starts_with("CUDA graph");
        let of_kernels =
            |work: &tracedrop::analysis::gpu::Work| work.kind == Kind::Kernel && is_kernel(work.slice);
        let any = gpu.busy(device, |_| true);
        let (first, last) = (any.first().unwrap().0, any.last().unwrap().1);
        let any = sum(any);
        let kernels = gpu
            .work
            .iter()
            .filter(|work| gpu.streams[work.stream as usize].device == device && of_kernels(work));
        all.insert(
            number,
            json!({
                "device": number, "first": first, "last": last, "span": last - first,
                "kernel_busy": sum(gpu.busy(device, of_kernels)), "any_busy": any, "idle": last - first - any,
                "kernel_sum": kernels.map(|work| work.dur()).sum::<i64>(),
            }),
        );
    }
    assert_eq!(Value::Array(all.into_values().collect()), *wanted, "{name}: GPUs");
}

fn check_nsys(name: &str, trace: &Trace, wanted: &Value) {
    let all = slices(trace);
    let (graphs, rest): (Vec<Slice>, Vec<Slice>) = all.into_iter().partition(is_graph);
    let of = |category: &str, key: &dyn Fn(&Slice) -> String| grouped(&rest, category, key);
    let no_bytes = |mut all: ByKey| {
        all.values_mut().for_each(|stats| stats.bytes = 0);
        all
    };
    let named = |slice: &Slice| slice.name.clone();
    let arg = |slice: &Slice, name: &str| slice.args[name].to_string();
    let unquoted = |text: String| text.trim_matches('"').to_string();
    let kernels = expected(&wanted["kernels_by_demangled_name"], plain);
    assert_eq!(of("kernel", &named), kernels, "{name}: kernels");
    assert_eq!(
        of("kernel", &|slice| unquoted(arg(slice, "short name"))),
        expected(&wanted["kernels_by_short_name"], plain),
        "{name}: kernels by short name"
    );
    assert_eq!(
        of("kernel", &|slice| format!("{}/{}", arg(slice, "device"), arg(slice, "stream"))),
        expected(&wanted["kernels_by_device_stream"], plain),
        "{name}: streams"
    );
    let copied = |slice: &Slice| {
        let kind = slice.name.strip_prefix("Memcpy ").unwrap_or_default();
        kind.split(" (").next().unwrap_or_default().to_string()
    };
    let copies = expected(&wanted["memcpy_by_kind"], |key| copy_name(key.as_i64().unwrap()));
    assert_eq!(of("gpu_memcpy", &copied), copies, "{name}: copies");
    let fills = of("gpu_memset", &|_| String::new()).remove("").unwrap_or_default();
    assert_eq!(
        json!({ "count": fills.count, "sum": fills.sum, "bytes": fills.bytes }),
        wanted["memset"],
        "{name}: fills"
    );
    let calls = ["cuda_runtime", "cuda_driver"].map(|category| of(category, &named));
    let mut all_calls = ByKey::new();
    calls.into_iter().flatten().for_each(|(key, stats)| add(&mut all_calls, key, stats));
    assert_eq!(all_calls, expected(&wanted["runtime_by_name"], without_version), "{name}: calls");
    assert_eq!(of("os_runtime", &named), expected(&wanted["osrt_by_name"], plain), "{name}: system calls");
    let syncs = expected(&wanted["sync_by_type"], |key| {
        let kinds = ["", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"];
        kinds[key.as_u64().unwrap() as usize].to_string()
    });
    assert_eq!(of("cuda_sync", &named), syncs, "{name}: waits");
    let of_graphs = grouped(&graphs, "kernel", |slice| arg(slice, "graph id"));
    assert_eq!(no_bytes(of_graphs), expected(&wanted["graph_traces"], plain), "{name}: graphs");
    check_ranges(name, &rest, wanted);
    check_launches(name, trace, &wanted["launch_to_kernel"]);
    check_gpus(name, trace, &wanted["gpu"]);
}

fn check_ranges(name: &str, all: &[Slice], wanted: &Value) {
    let of_nvtx = || all.iter().filter(|slice| slice.category == "user_annotation");
    let closed = of_nvtx().filter(|slice| !slice.is_instant && slice.dur != UNFINISHED);
    let mut ranges = ByKey::new();
    closed.for_each(|slice| add(&mut ranges, slice.name.clone(), slice.stats()));
    let wanted_ranges = &wanted["nvtx_ranges"];
    let count: i64 = ranges.values().map(|stats| stats.count).sum();
    let sum: i64 = ranges.values().map(|stats| stats.sum).sum();
    assert_eq!(
        json!({ "count": count, "sum": sum, "names": ranges.len() }),
        json!({ "count": wanted_ranges["count"], "sum": wanted_ranges["sum"], "names": wanted_ranges["names"] }),
        "{name}: ranges"
    );
    for (key, stats) in expected(&wanted_ranges["first"], plain) {
        assert_eq!(ranges.get(&key), Some(&stats), "{name}: range {key}");
    }
    let n_open = of_nvtx().filter(|slice| !slice.is_instant && slice.dur == UNFINISHED).count();
    assert_eq!(json!(n_open), wanted["nvtx_open_ranges"], "{name}: open ranges");
    let n_marks = of_nvtx().filter(|slice| slice.is_instant).count() as u64;
    let wanted_marks = wanted["nvtx_marks"].as_object().unwrap().values();
    assert_eq!(n_marks, wanted_marks.map(|n| n.as_u64().unwrap()).sum::<u64>(), "{name}: marks");
}

#[test]
fn nsys_exports_have_the_rows_of_plain_sql() {
    for (path, wanted) in cases("nsys") {
        let name = stem(&path);
        if wanted["kernels_by_demangled_name"].is_null() || name == "odd_other_database" {
            continue;
        }
        let trace = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(trace.source.format, "nsys-sqlite", "{name}");
        check_nsys(&name, &trace, &wanted);
        let ledger = &trace.ledger;
        assert_eq!(ledger.unaccounted_bytes(), 0, "{name}");
        assert_eq!(ledger.count_of("sqlite-wal"), u64::from(name == "odd_wal_mode"), "{name}");
        for issue in ["sqlite-damaged-page", "sqlite-damaged-row", "sqlite-truncated", "bytes-unaccounted"] {
            assert_eq!(ledger.count_of(issue), 0, "{name}: {issue}");
        }
    }
}

/// Sum of the union of spans, the first start and the last end.
fn busy(mut spans: Vec<(i64, i64)>) -> (i64, i64, i64) {
    spans.sort_unstable();
    let (first, mut end, mut sum) = (spans[0].0, i64::MIN, 0);
    for (from, to) in spans {
        sum += (to - from.max(end)).max(0);
        end = end.max(to);
    }
    (sum, first, end)
}

/// Kernels by number of a GPU, with their busy time.
fn check_busy(
    name: &str,
    all: &[Slice],
    number: &str,
    wanted: &Value,
    labels: [&str; 2],
    is_work: impl Fn(&Slice) -> bool,
) {
    let mut spans: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for slice in all.iter().filter(|slice| is_work(slice)) {
        let device = slice.args[number].as_i64().unwrap();
        spans.entry(device).or_default().push((slice.start, slice.start + slice.dur));
    }
    let found = spans.into_iter().map(|(device, spans)| {
        let (busy, first, last) = busy(spans);
        json!({ labels[0]: device, labels[1]: busy, "first": first, "last": last })
    });
    assert_eq!(Value::Array(found.collect()), *wanted, "{name}: GPUs");
}

#[test]
fn rocpd_databases_have_the_rows_of_plain_sql() {
    for (path, wanted) in cases("rocpd").into_iter().filter(|(path, _)| stem(path) != "made") {
        let name = stem(&path);
        let trace = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let all = slices(&trace);
        let no_bytes = |mut all: ByKey| {
            all.values_mut().for_each(|stats| stats.bytes = 0);
            all
        };
        let named = |slice: &Slice| slice.name.clone();
        assert_eq!(
            grouped(&all, "kernel", named),
            expected(&wanted["kernels_by_name"], plain),
            "{name}: kernels"
        );
        let place = |slice: &Slice| format!("{}/{}", slice.args["agent"], slice.args["stream"]);
        assert_eq!(
            grouped(&all, "kernel", place),
            expected(&wanted["by_agent_stream"], plain),
            "{name}: streams"
        );
        let copied = |key: &Value| match plain(key).as_str() {
            "MEMORY_COPY_HOST_TO_DEVICE" => "Memcpy HtoD".to_string(),
            "MEMORY_COPY_DEVICE_TO_HOST" => "Memcpy DtoH".to_string(),
            other => panic!("{name}: {other}"),
        };
        assert_eq!(grouped(&all, "gpu_memcpy", named), expected(&wanted["copies"], copied), "{name}: copies");
        let regions = no_bytes(grouped(&all, "cuda_runtime", named));
        assert_eq!(regions, expected(&wanted["regions_by_name"], plain), "{name}: regions");
        check_busy(&name, &all, "agent", &wanted["gpu"], ["agent", "kernel_busy"], |slice| {
            slice.category == "kernel"
        });
        assert_eq!(
            json!(trace.ledger.count_of("capture-negative-duration")),
            wanted["negative_durations"],
            "{name}: negative durations"
        );
        let version = trace.source.metadata.iter().find(|(key, _)| key == "schema_version");
        assert_eq!(json!(version.map(|(_, value)| value)), wanted["schema_version"], "{name}: version");
        // The reference also links rows that end before they start.
        let (linked, not_linked, ..) = launches(&trace, str::to_string);
        let wanted = &wanted["launch_to_kernel"];
        let n_negative = trace.ledger.count_of("capture-negative-duration") as i64;
        let wanted = [wanted["linked"].as_i64().unwrap(), wanted["not_linked"].as_i64().unwrap()];
        let n_lost = wanted[0] + wanted[1] - linked - not_linked;
        assert!(linked <= wanted[0] && not_linked <= wanted[1] && n_lost <= n_negative, "{name}: launches");
        assert!(n_negative > 0 || [linked, not_linked] == wanted, "{name}: launches");
    }
}

#[test]
fn rpd_databases_have_the_rows_of_plain_sql() {
    let (path, wanted) = cases("rocpd").into_iter().find(|(path, _)| stem(path) == "made").unwrap();
    let trace = read(&path).unwrap();
    let all = slices(&trace);
    let named = |slice: &Slice| slice.name.clone();
    assert_eq!(grouped(&all, "kernel", named), expected(&wanted["kernels_by_name"], plain));
    let kind = |slice: &Slice| match slice.category.as_str() {
        "kernel" => "KernelExecution".to_string(),
        _ => format!("Copy{}", slice.name.replace("Memcpy HtoD", "HostToDevice")),
    };
    let is_work = |slice: &Slice| matches!(slice.category.as_str(), "kernel" | "gpu_memcpy");
    let grouped_work = |key: &dyn Fn(&Slice) -> String| {
        let mut all_work = ByKey::new();
        all.iter()
            .filter(|slice| is_work(slice))
            .for_each(|slice| add(&mut all_work, key(slice), slice.stats()));
        all_work
    };
    assert_eq!(grouped_work(&kind), expected(&wanted["ops_by_type"], plain));
    let place = |slice: &Slice| format!("{}/{}", slice.args["device"], slice.args["stream"]);
    assert_eq!(grouped_work(&place), expected(&wanted["by_device_queue"], plain));
    assert_eq!(grouped(&all, "cuda_runtime", named), expected(&wanted["api_by_name"], plain));
    check_busy("made", &all, "device", &wanted["gpu"], ["device", "busy"], is_work);
    let gpu = GpuTrace::new(&trace);
    let n_linked = gpu.work.iter().filter(|work| work.launch != NONE).count();
    let launch = &wanted["launch_to_op"];
    assert_eq!(json!({ "linked": n_linked, "not_linked": gpu.work.len() - n_linked }), *launch);
}

#[test]
fn captures_do_not_depend_on_how_they_are_cut() {
    let small = [
        "made_devices",
        "made_domains",
        "made_sampled",
        "made_unlisted",
        "made_small_pages_overflow",
        "made_host",
        "made_page_64k",
        "made_odd",
        "odd_cut",
        "odd_loop",
        "odd_damaged_page",
    ];
    let nsys = all_files(&own_dir("nsys"), &[".sqlite", ".gz"])
        .into_iter()
        .filter(|path| small.contains(&stem(path).as_str()));
    for path in nsys.chain(all_files(&own_dir("rocpd"), &[".db", ".rpd", ".gz"])) {
        assert_cuts_do_not_matter(&path);
    }
}

/// A capture says the same however it is cut on the way to the reader.
fn assert_cuts_do_not_matter(path: &Path) {
    let name = stem(path);
    let bytes = unpacked(path);
    let mut first: Option<String> = None;
    for_each_cut("unknown", &bytes, None, &mut |way, trace| {
        let told = trace.map_or_else(|error| error.to_string(), |trace| dump(&trace));
        let first = first.get_or_insert_with(|| told.clone());
        support::assert_same_text(&format!("{name}, {way}"), &told, first);
    });
}

/// Rows of a trace, with how many of each there are.
fn row_counts(trace: &Trace) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for slice in slices(trace) {
        let Slice { category, start, dur, .. } = slice;
        *counts.entry(format!("{category} {start} {dur}")).or_insert(0) += 1;
    }
    counts
}

/// A made capture: see `made_domains.sql`.
fn made_domains() -> Trace {
    read(&own_dir("nsys").join("made_domains.sqlite")).unwrap()
}

/// Time, device, name and value of all counters.
fn counters(trace: &Trace) -> Vec<(i64, &str, &str, f64)> {
    let text = |id| trace.strings.get_opt(id).unwrap_or_default();
    let (counters, series) = (&trace.counters, &trace.counter_series);
    (0..counters.len())
        .map(|i| {
            let of = counters.series[i] as usize;
            let process = trace.processes.name[series.process[of].0 as usize];
            (counters.ts[i], text(process), text(series.name[of]), counters.value[i])
        })
        .collect()
}

#[test]
fn metrics_of_gpus_are_counters() {
    let trace = read(&own_dir("nsys").join("made_sampled.sqlite")).unwrap();
    let wanted = [
        (1000, "GPU 1", "SMs Active [Throughput %]", 40.0),
        (1000, "GPU 1", "DRAM Read [Throughput %]", 12.0),
        // No row of the capture names the CUDA device of GPU 3.
        (1000, "GPU 3 (metrics)", "metric 9", 7.0),
        (2000, "GPU 1", "SMs Active [Throughput %]", 90.0),
    ];
    assert_eq!(counters(&trace), wanted);
    assert_eq!(trace.ledger.count_of("capture-no-value"), 1);
    assert_eq!(trace.ledger.count_of("capture-other-table"), 0);
    assert_eq!(trace.ledger.unaccounted_bytes(), 0);
}

/// A made capture: see `made_host.sql`.
fn made_host() -> Trace {
    let trace = read(&own_dir("nsys").join("made_host.sqlite")).unwrap();
    assert_eq!(trace.ledger.count_of("capture-other-table"), 0);
    assert_eq!(trace.ledger.count_of("capture-missing-name"), 0);
    assert_eq!(trace.ledger.unaccounted_bytes(), 0);
    trace
}

#[test]
fn metrics_of_network_adapters_are_counters() {
    let wanted = [
        (1000, "NIC mlx5_0", "port 1: IB: Bytes sent [B/ms]", 12500.0),
        (1000, "NIC mlx5_0", "port 1: IB: Bytes received", 300.0),
        (1100, "NIC mlx5_0", "port 1: IB: Bytes sent [B/ms]", 0.0),
        // No row of the capture names this one.
        (1100, "NIC 8000", "port 2: metric 9 of list 4", 5.0),
    ];
    assert_eq!(counters(&made_host()), wanted);
}

#[test]
fn cpu_samples_have_their_call_chains() {
    let trace = made_host();
    let text = |id| trace.strings.get_opt(id).unwrap_or_default();
    // Module, name and kind of each frame, from the outermost.
    let stack = |mut stack: StackId| {
        let mut frames = Vec::new();
        while stack != StackId::NONE {
            let frame = trace.frames.get(trace.stacks.frame[stack.0 as usize]);
            frames.push(format!("{}/{} {}", text(frame.module), text(frame.name), text(frame.category)));
            stack = trace.stacks.parent[stack.0 as usize];
        }
        frames.reverse();
        frames
    };
    let samples = &trace.samples;
    let all: Vec<(i64, Key, Vec<String>)> = (0..samples.len())
        .map(|i| {
            let thread = trace.threads.key[samples.thread[i].0 as usize];
            (samples.ts[i], thread, stack(samples.stack[i]))
        })
        .collect();
    let (main, train, copy) = ("trainer/main ", "trainer/train ", "[kernel.kallsyms]/copy_user kernel");
    let mut deep = vec![main];
    deep.extend(["trainer/deep "; 60]);
    deep.push(copy);
    let of = |frames: &[&str]| frames.iter().map(|frame| frame.to_string()).collect::<Vec<_>>();
    let wanted = [
        (1000, Key::Number(100), of(&[main, train])),
        (1500, Key::Number(101), of(&deep)),
        (2000, Key::Number(100), of(&[main, train, copy])),
        (3000, Key::Number(100), of(&[])),
    ];
    assert_eq!(all, wanted);
    assert!(samples.weight.iter().all(|weight| *weight == 1.0));
    // Folders may name people.
    assert!(!trace.strings.all().any(|text| text.contains("anna")));
}

#[test]
fn page_faults_and_migrations_of_unified_memory_are_events_of_their_device() {
    let trace = made_host();
    let of_threads = |slice: &Slice| {
        let thread = slice.thread;
        let process = trace.processes.name[trace.threads.process[thread].0 as usize];
        let [process, thread] = [process, trace.threads.name[thread]];
        format!("{}/{}", trace.strings.get(process), trace.strings.get(thread))
    };
    let faults: Vec<Value> = slices(&trace)
        .iter()
        .filter(|slice| slice.category == "unified_memory")
        .map(|slice| {
            json!([of_threads(slice), slice.name, slice.start, slice.dur, slice.is_instant, slice.args])
        })
        .collect();
    let wanted = json!([
        ["/Unified memory", "CPU page fault", 1050, 0, true, {
            "address": "0x7f0000000000", "program counter": "0x401000", "function": "touch_pages", "module": "trainer"
        }],
        ["GPU 0/Unified memory", "GPU page faults (Read)", 1600, 100, false, {
            "device": 0, "address": "0x7f0000010000", "page faults": 3
        }],
        ["GPU 0/Unified memory", "GPU page faults", 1650, 100, false, {
            "device": 0, "address": "0x7f0000020000", "page faults": 1
        }],
    ]);
    assert_eq!(Value::Array(faults), wanted);
    assert_eq!(trace.ledger.count_of("capture-negative-duration"), 1);
    let copies: Vec<Value> = slices(&trace)
        .iter()
        .filter(|slice| slice.category == "gpu_memcpy")
        .map(|slice| json!([slice.name, slice.args["migration cause"], slice.args["address"]]))
        .collect();
    let wanted = json!([
        ["Memcpy Unified HtoD", "Page fault", "0x7f0000000000"],
        ["Memcpy HtoD", null, null],
        ["Memcpy Unified DtoH", 9, "0x7f0000000000"],
    ]);
    assert_eq!(Value::Array(copies), wanted);
}

/// Cells of a table of the reports of a trace.
fn cells(trace: Trace, table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let table = reports.iter().flat_map(|report| report.tables()).find(|own| own.id == table).unwrap();
    let column = |id: &&str| table.columns.iter().find(|column| column.id == *id).unwrap();
    let row = |row| columns.iter().map(|id| column(id).cells.get(row).plain()).collect();
    (0..table.n_rows()).map(row).collect()
}

/// A made capture of programs that number their GPUs differently: see `made_devices.sql`.
fn made_devices() -> Trace {
    read(&own_dir("nsys").join("made_devices.sqlite")).unwrap()
}

/// GPUs of a trace by name, with the busy time of their kernels.
fn busy_of_gpus(trace: &Trace) -> BTreeMap<String, i64> {
    let gpu = GpuTrace::new(trace);
    let busy = |device| {
        let spans = gpu.busy(device, |work| work.kind == Kind::Kernel);
        spans.iter().map(|(start, end)| end - start).sum()
    };
    (0..gpu.devices.len() as u32).map(|device| (gpu.device_label(device), busy(device))).collect()
}

#[test]
fn gpus_of_programs_are_those_of_the_machine() {
    let trace = made_devices();
    // Programs 100 and 300 share GPU 1: 1000 to 3000, and 2900 to 3200. Device 0 of program 200 is another.
    let wanted = [("GPU 1".to_string(), 2200), ("GPU 2".to_string(), 1000)];
    assert_eq!(busy_of_gpus(&trace), BTreeMap::from(wanted));
    let mut counters = counters(&trace);
    counters.sort_by(|a, b| a.1.cmp(b.1));
    let name = "SMs Active [Throughput %]";
    assert_eq!(counters, [(1000, "GPU 0 (metrics)", name, 3.0), (1000, "GPU 2", name, 40.0)]);
    // Nothing says which GPUs those of program 400, and of a kernel without a program, are.
    let wanted = [("GPU 0 of an unknown process", 2000), ("GPU 0 of process 400", 1000), ("GPU 1", 3000)]
        .map(|(name, busy)| (name.to_string(), busy));
    let trace = read(&own_dir("nsys").join("made_unlisted.sqlite")).unwrap();
    assert_eq!(busy_of_gpus(&trace), BTreeMap::from(wanted));
}

#[test]
fn gpus_have_the_facts_of_the_model_that_ran() {
    let trace = made_devices();
    let gpu = GpuTrace::new(&trace);
    let models: Vec<&str> = gpu
        .devices
        .iter()
        .map(|device| gpu.facts.gpu_of(device.number.unwrap()).unwrap().name.as_str())
        .collect();
    assert_eq!(models, ["NVIDIA H100 80GB HBM3"; 2]);
    drop(gpu);
    let unused = cells(trace, "configurations", &["count", "unused"]);
    // 12 blocks on 132 SMs, not on the 6 of the GPU that did nothing.
    let [row] = unused.as_slice() else { panic!("{unused:?}") };
    assert_eq!(row[0], "4");
    assert!((row[1].parse::<f64>().unwrap() - 120.0 / 132.0).abs() < 1e-6, "{row:?}");
    // A program that sees only GPU 0 as its device 1.
    let trace = read(&own_dir("nsys").join("made_sampled.sqlite")).unwrap();
    assert_eq!(busy_of_gpus(&trace).keys().collect::<Vec<_>>(), ["GPU 1"]);
}

#[test]
fn memsets_have_their_kind_of_memory() {
    let names: Vec<String> = slices(&made_devices())
        .into_iter()
        .filter(|slice| slice.category == "gpu_memset")
        .map(|slice| slice.name)
        .collect();
    assert_eq!(names, ["Memset (Managed)", "Memset (Device)", "Memset (Unknown)"]);
}

#[test]
fn copies_of_managed_memory_are_told_apart_by_direction() {
    let rows = cells(made_devices(), "copy_rates", &["kind", "changes"]);
    assert_eq!(rows, [["Memcpy Unified DtoH", "1"], ["Memcpy Unified HtoD", "1"], ["Memset", "3"]]);
}

#[test]
fn operators_of_emit_nvtx_have_shapes() {
    let rows = cells(made_devices(), "shapes", &["name", "shapes", "types", "direct", "calls", "flops"]);
    // Two calls of 1000 ns each, with equal inputs; FLOPs need types. The third kernel has no operator.
    let missing = String::new();
    assert_eq!(
        rows,
        [
            ["aten::mm", "[8, 4] [4, 2]", &missing, "2000", "2", &missing],
            ["cudaLaunchKernel", &missing, &missing, "1000", "1", &missing],
        ]
    );
    let rows = cells(made_devices(), "coverage", &["what", "there"]);
    assert!(rows.contains(&vec!["shapes".to_string(), "true".to_string()]), "{rows:?}");
}

#[test]
fn states_without_an_end_are_no_slices_without_an_end() {
    let trace = read(&own_dir("nsys").join("made_sampled.sqlite")).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let overview = reports.iter().find(|report| report.id == "overview").unwrap();
    let told = format!("{overview:?}");
    assert!(told.contains("2 thread states have no end and last to the end of the trace."), "{told}");
    assert!(!told.contains("upper bounds"), "{told}");
}

#[test]
fn switches_of_threads_are_states() {
    let trace = read(&own_dir("nsys").join("made_sampled.sqlite")).unwrap();
    let table = &trace.slices;
    let is_state = |i: &usize| table.kind[*i] == SliceKind::State;
    let states: Vec<(&str, i64, i64, Value)> = (0..table.len())
        .filter(is_state)
        .map(|i| {
            let mut args = Vec::new();
            trace.push_slice_args(i, &mut args);
            let args: Value = serde_json::from_slice(&args).unwrap();
            let name = trace.strings.get_opt(table.name[i]).unwrap();
            (name, table.ts[i], table.dur.get(i), args["cpu"].clone())
        })
        .collect();
    let wanted = [
        ("Running", 900, 500, json!(3)),
        ("Running", 1000, UNFINISHED, json!(1)),
        ("Interruptible", 1400, 600, json!(3)),
        ("Running", 2000, 500, json!(0)),
        ("Off CPU", 2500, UNFINISHED, json!(0)),
    ];
    assert_eq!(states, wanted);
    // States are no calls of the thread.
    assert_eq!(GpuTrace::new(&trace).work.len(), 1);
}

#[test]
fn ranges_have_the_names_of_their_domains_and_categories() {
    let trace = made_domains();
    let ranges: Vec<(String, i64, Value, Value)> = slices(&trace)
        .into_iter()
        .filter(|slice| slice.category == "user_annotation" && (slice.args != Value::Null))
        .map(|slice| (slice.name, slice.dur, slice.args["domain"].clone(), slice.args["category"].clone()))
        .collect();
    let wanted = [
        // Another process has another domain of that number.
        ("sort", 500, json!("CCCL"), Value::Null),
        // It outlasts the operator in which it starts.
        ("ncclAllReduce", 1000, json!("NCCL"), json!("collectives")),
        ("a category without a name", 100, Value::Null, json!(7)),
        ("a domain without a name", 100, json!(3), Value::Null),
        ("a mark", 0, json!("NCCL"), Value::Null),
    ];
    assert_eq!(ranges, wanted.map(|(name, dur, domain, category)| (name.to_string(), dur, domain, category)));
    assert_eq!(trace.ledger.count_of("capture-missing-name"), 0);
}

#[test]
fn ranges_of_domains_that_overlap_are_on_tracks_of_their_own() {
    let trace = made_domains();
    let table = &trace.slices;
    let track_of = |name: &str| {
        let is_it = |i: &usize| trace.strings.get_opt(table.name[*i]) == Some(name);
        (0..table.len()).find(is_it).map(|i| table.track[i])
    };
    let (operator, overlapping) = (track_of("aten::addmm, seq = 6, op_id = 13"), track_of("ncclAllReduce"));
    assert!(operator.is_some() && overlapping.is_some() && operator != overlapping);
}

#[test]
fn ranges_of_emit_nvtx_are_operators() {
    let trace = made_domains();
    // Events keep the names of the file.
    assert!(slices(&trace).iter().any(|slice| slice.name == "aten::mm, op_id = 12"));
    let gpu = GpuTrace::new(&trace);
    let ops: Vec<&str> = gpu.work.iter().map(|work| gpu.name(work.op)).collect();
    assert_eq!(ops, ["aten::mm", "aten::addmm"]);
    assert_eq!(gpu.work.iter().map(|work| work.step).collect::<Vec<_>>(), [0, 1]);
    drop(gpu);
    let run = Run::single(trace);
    let reports = analysis::reports(&run, &Query::default());
    let rows = |table: &str, columns: &[&str]| -> Vec<Vec<String>> {
        let table = reports.iter().flat_map(|report| report.tables()).find(|own| own.id == table).unwrap();
        let column = |id: &&str| table.columns.iter().find(|column| column.id == *id).unwrap();
        (0..table.n_rows())
            .map(|row| columns.iter().map(|id| column(id).cells.get(row).plain()).collect())
            .collect()
    };
    let of_operators = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
        rows.into_iter().filter(|row| row[0].starts_with("aten::")).collect()
    };
    // Two calls, with different sequence numbers and sizes.
    let mut by_name = of_operators(rows("slices", &["name", "count", "total", "self", "median"]));
    by_name.sort();
    assert_eq!(
        by_name,
        [["aten::addmm", "2", "2000", "800", "1000"], ["aten::mm", "1", "600", "500", "600"]]
    );
    let mut operators = rows("ops", &["name", "direct", "subtree", "calls"]);
    operators.sort();
    assert_eq!(operators, [["aten::addmm", "700", "1700", "1"], ["aten::mm", "1000", "1000", "1"]]);
    let mut on_cpu = of_operators(rows("cpu", &["name", "kind", "count"]));
    on_cpu.sort();
    assert_eq!(on_cpu, [["aten::addmm", "operator", "2"], ["aten::mm", "operator", "1"]]);
    // Collectives, steps and other ranges stay annotations, without the ids of calls.
    let annotations: Vec<String> = rows("ranges", &["name"]).into_iter().flatten().collect();
    for name in ["nccl:all_reduce", "step 1", "ncclAllReduce"] {
        assert!(annotations.iter().any(|own| own == name), "{name}: {annotations:?}");
    }
    assert!(!annotations.iter().any(|name| name.starts_with("aten::")), "{annotations:?}");
}

/// Parquet exports, each with the SQLite export of the same capture: in the same folder if it had to be ordered by table first.
fn parquet_exports() -> Vec<(PathBuf, PathBuf)> {
    let pair = |path: PathBuf| {
        let endings = ["sqlite", "sqlite.gz"].map(|ending| format!("/{}.{ending}", stem(&path)));
        let endings = endings.each_ref().map(String::as_str);
        let of =
            ["nsys_parquet", "nsys"].into_iter().find_map(|dir| all_files(&own_dir(dir), &endings).pop());
        let of = of.unwrap_or_else(|| panic!("{}: no SQLite export", path.display()));
        (path, of)
    };
    let pairs: Vec<_> = all_files(&own_dir("nsys_parquet"), &[".tar.gz"]).into_iter().map(pair).collect();
    assert!(!pairs.is_empty());
    pairs
}

#[test]
fn parquet_exports_have_the_rows_of_plain_sql() {
    for (path, of) in parquet_exports() {
        let name = stem(&path);
        let trace = import(&name, &unpacked(&path), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(trace.source.format, "nsys-parquet", "{name}");
        let answers = own_dir("nsys").join("expected").join(format!("{name}.json"));
        if let Ok(answers) = std::fs::read(answers) {
            check_nsys(&name, &trace, &serde_json::from_slice(&answers).unwrap());
        }
        assert_eq!(row_counts(&trace), row_counts(&import(&name, &unpacked(&of), None).unwrap()), "{name}");
        for issue in ["capture-damaged-table", "capture-damaged-column", "capture-truncated"] {
            assert_eq!(trace.ledger.count_of(issue), 0, "{name}: {issue}");
        }
    }
}

#[test]
fn parquet_exports_give_the_reports_of_sqlite_exports() {
    for (path, of) in parquet_exports() {
        let name = stem(&path);
        let reports = |path: &Path| {
            analysis::reports(&Run::single(import(&name, &unpacked(path), None).unwrap()), &Query::default())
        };
        let (own, of) = (reports(&path), reports(&of));
        assert!(own.iter().any(|report| report.id == "gpu-kernels"), "{name}");
        assert_eq!(own.len(), of.len(), "{name}");
        for (own, of) in own.iter().zip(&of) {
            let told = |report| format!("{report:#?}");
            support::assert_same_text(&format!("{name}, {}", own.id), &told(own), &told(of));
        }
    }
}

#[test]
fn parquet_exports_do_not_depend_on_how_they_are_cut() {
    for (path, _) in parquet_exports() {
        assert_cuts_do_not_matter(&path);
    }
}

#[test]
fn cut_parquet_exports_are_read_as_far_as_they_go() {
    let (path, of) = parquet_exports().into_iter().find(|(path, _)| stem(path) == "made_odd").unwrap();
    let (bytes, whole) = (unpacked(&path), row_counts(&read(&of).unwrap()));
    let mut n_kept = Vec::new();
    let tables = list_tar(&bytes).files;
    for share in [3, 6, 9] {
        // Inside of a table.
        let table = &tables[tables.len() * share / 10].range;
        let cut = &bytes[..(table.start + table.end) as usize / 2];
        let trace = import("cut", cut, None).unwrap();
        assert_eq!(trace.ledger.count_of("capture-truncated"), 1);
        assert_eq!(trace.ledger.unaccounted_bytes(), 0);
        assert!(row_counts(&trace).iter().all(|(row, n)| whole.get(row).is_some_and(|all| n <= all)));
        n_kept.push(trace.ledger.kept.records);
    }
    assert!(n_kept.is_sorted() && n_kept[2] > n_kept[0], "{n_kept:?}");
    // Bytes of a column that no longer are what they were.
    let mut damaged = bytes.clone();
    let at = memchr::memmem::find(&damaged, b"CUPTI_ACTIVITY_KIND_KERNEL.parquet").unwrap() + 512 + 4;
    damaged[at..at + 200].fill(0xff);
    let trace = import("damaged", &damaged, None).unwrap();
    assert!(trace.ledger.count_of("capture-damaged-column") > 0, "{:?}", trace.ledger.issues);
}

#[test]
fn damaged_exports_are_read_as_far_as_they_go() {
    let mut n_checked = 0;
    for dir in data_dirs("nsys") {
        let Some(whole) = files(&dir, &["made_plain.sqlite"]).pop() else { continue };
        let whole = row_counts(&read(&whole).unwrap());
        for path in files(&dir, &["odd_cut.sqlite", "odd_loop.sqlite", "odd_damaged_page.sqlite"]) {
            let name = stem(&path);
            let trace = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let ledger = &trace.ledger;
            assert!(ledger.kept.records > 0, "{name}");
            assert!(ledger.count_of("sqlite-damaged-page") > 0, "{name}: {:?}", ledger.issues);
            assert_eq!(ledger.count_of("sqlite-truncated"), u64::from(name == "odd_cut"), "{name}");
            for (row, n) in row_counts(&trace) {
                assert!(whole.get(&row).is_some_and(|of_whole| n <= *of_whole), "{name}: {row}");
            }
            n_checked += 1;
        }
    }
    assert!(n_checked == 0 || n_checked == 3);
}

#[test]
fn deleted_rows_do_not_appear() {
    for dir in data_dirs("nsys") {
        for path in files(&dir, &["made_freelist.sqlite"]) {
            let trace = read(&path).unwrap();
            assert!(!trace.strings.all().any(|text| text.contains("dropped") || text.contains("deleted")));
        }
    }
}

#[test]
fn other_databases_are_refused_with_their_tables() {
    let path = own_dir("nsys").join("odd_other_database.sqlite");
    let error = read(&path).err().unwrap();
    assert_eq!(error.code, "unknown-format");
    assert!(error.what.contains("notes"), "{error}");
    // Damaged, encrypted, or too short.
    let bytes = std::fs::read(&path).unwrap();
    for (changed, n_bytes) in [(100, bytes.len()), (16, bytes.len()), (0, 99), (0, 16)] {
        let mut bytes = bytes[..n_bytes].to_vec();
        if changed > 0 {
            bytes[changed] ^= 0x55;
        }
        let error = import("x.sqlite", &bytes, None).err().unwrap();
        assert!(error.what.contains("damaged or encrypted"), "{error}");
    }
}

#[test]
fn changed_databases_never_panic() {
    for system in ["nsys", "nsys_parquet", "rocpd"] {
        for path in all_files(&own_dir(system), &[".sqlite", ".gz", ".db", ".rpd"]) {
            let bytes = unpacked(&path);
            let mut random = support::Random(7);
            for _ in 0..12 {
                let changed = support::changed(&bytes, &mut random);
                if let Ok(trace) = import("unknown", &changed, None) {
                    assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{}", path.display());
                }
            }
        }
    }
}
