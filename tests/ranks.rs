//! Ranks opened together: reference outputs of TraceLens and HTA, and synthetic ranks with known clocks and stragglers.
//! Differences from TraceLens' goldens:
//! - `summary_long` is empty, and the columns on groups, names and sizes are null: TraceLens knows these from the arguments of
//!   kernels alone, which these files do not have. Names here are from the ranges around the launches.
//! - `implicit_sync_summary` has a single row, as all collectives are "Unknown"; here there is one per kind. Sums are compared.
//! - It sorts stragglers by total wait, here they are sorted by the delay they caused.
//! - For nccl-sampled2 it only has `long`, as 126 ranks are missing; here, because the collectives of the two ranks don't overlap.

use crate::support;
use crate::support::{Random, data_dirs, import, own_dir};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tracedrop::analysis::gpu_ranks::clocks::Clocks;
use tracedrop::analysis::gpu_ranks::sequences::{MatchedBy, Sequences};
use tracedrop::analysis::gpu_ranks::waits::{Times, Waits};
use tracedrop::analysis::gpu_ranks::{self, Ranks};
use tracedrop::analysis::{Context, Query};
use tracedrop::engine::{Session, Shown};
use tracedrop::export;
use tracedrop::report::chart::{Over, Plot};
use tracedrop::report::{Block, Chart, Report};
use tracedrop::trace::{Run, Trace};

fn read(path: &Path) -> Trace {
    let name = path.file_name().unwrap().to_string_lossy();
    import(&name, &fs::read(path).unwrap(), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn with_ranks<T>(traces: Vec<Trace>, look: impl FnOnce(&Ranks<'_, '_>, &Report) -> T) -> T {
    let (run, query) = (Run { traces }, Query::default());
    let context = Context::new(&run, &query);
    let report = (gpu_ranks::INFO.run)(&context);
    look(&Ranks::new(context.gpu()), &report)
}

/// All texts of a report.
fn words(report: &Report) -> String {
    let mut words = vec![report.summary.clone()];
    words.extend(report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) => Some(note.text.clone()),
        _ => None,
    }));
    words.join("\n")
}

/// A sheet of a golden: a cell by its column and row.
struct Sheet<'a>(&'a Value);

impl Sheet<'_> {
    fn rows(&self) -> &[Value] {
        self.0["rows"].as_array().unwrap()
    }

    fn number(&self, row: &Value, column: &str) -> f64 {
        let columns = self.0["columns"].as_array().unwrap();
        let at =
            columns.iter().position(|name| name == column).unwrap_or_else(|| panic!("no column {column}"));
        row[at].as_f64().unwrap_or_else(|| panic!("{column}: {}", row[at]))
    }
}

fn golden(dir: &Path, name: &str) -> Value {
    let path = dir.join("golden").join(name);
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .unwrap()
}

#[track_caller]
fn assert_us(ns: i64, us: f64, what: &str) {
    assert!((ns as f64 / 1e3 - us).abs() < 0.05, "{what}: {ns} ns instead of {us} µs");
}

/// Start and duration of each collective of each rank, in order of start.
fn long(ranks: &Ranks<'_, '_>) -> Vec<Vec<(i64, i64)>> {
    let mut all = vec![Vec::new(); ranks.files.ranks.len()];
    for line in ranks.sequences.sequences.iter().flat_map(|sequence| &sequence.lines) {
        all[line.rank].extend(line.parts.iter().map(|part| (part.start, part.dur())));
    }
    all.iter_mut().for_each(|parts| parts.sort_unstable());
    all
}

fn check_long(ranks: &Ranks<'_, '_>, golden: &Value) {
    let sheet = Sheet(&golden["long"]);
    let all = long(ranks);
    let mut n = 0;
    for row in sheet.rows() {
        let rank = sheet.number(row, "rank") as i64;
        let Some(at) = ranks.files.ranks.iter().position(|known| known.rank == rank) else { continue };
        let (start, dur) = all[at][sheet.number(row, "index_in_group") as usize];
        assert_eq!(start, sheet.number(row, "ts") as i64 * 1000, "rank {rank}");
        assert_us(dur, sheet.number(row, "dur"), "duration");
        n += 1;
    }
    assert_eq!(n, all.iter().map(Vec::len).sum::<usize>());
}

/// Times of all collectives in order of start.
fn by_start(waits: &Waits) -> Vec<(&Times, i64)> {
    let mut all: Vec<(&Times, i64)> =
        waits.collectives.iter().map(|shared| (shared.times.as_ref().unwrap(), shared.latency)).collect();
    all.sort_by_key(|(times, _)| times.start);
    all
}

fn check_implicit_sync(waits: &Waits, golden: &Value) {
    let sheet = Sheet(&golden["implicit_sync"]);
    let mut rows: Vec<&Value> = sheet.rows().iter().collect();
    rows.sort_by_key(|row| row[0].as_str().unwrap().parse::<u32>().unwrap());
    let ours = by_start(waits);
    assert_eq!(rows.len(), ours.len());
    for (row, (times, latency)) in rows.iter().zip(&ours) {
        assert_us(*latency, sheet.number(row, "comm_latency"), "latency");
        assert_us(times.start_skew, sheet.number(row, "skew in start time"), "start skew");
        assert_us(times.end_skew, sheet.number(row, "skew in end time"), "end skew");
        assert_eq!(times.first as f64, sheet.number(row, "earliest arrival rank"));
        let waits: Vec<f64> =
            (0..8).map(|rank| sheet.number(row, &format!("rank_{rank}_wait_time"))).collect();
        assert_us(times.total_wait / 8, sheet.number(row, "avg_wait_time"), "mean wait");
        assert_us(times.longest_wait, waits.iter().copied().fold(0.0, f64::max), "longest wait");
        assert_eq!(waits[times.last], 0.0);
    }
    let summary = Sheet(&golden["implicit_sync_summary"]);
    let row = &summary.rows()[0];
    let mean = |get: fn(&(&Times, i64)) -> i64| ours.iter().map(get).sum::<i64>() / ours.len() as i64;
    assert_eq!(ours.len() as f64, summary.number(row, "count"));
    assert_us(mean(|row| row.1), summary.number(row, "comm_latency_mean"), "mean latency");
    assert_us(
        mean(|row| row.0.start_skew),
        summary.number(row, "skew in start time_mean"),
        "mean start skew",
    );
    assert_us(mean(|row| row.0.end_skew), summary.number(row, "skew in end time_mean"), "mean end skew");
    let total: i64 = ours.iter().map(|row| row.1).sum();
    assert_us(total, summary.number(row, "Total comm latency (ms)") * 1e3, "total latency");
}

fn check_stragglers(waits: &Waits, golden: &Value) {
    let sheet = Sheet(&golden["straggler"]);
    assert_eq!(sheet.rows().len(), waits.ranks.len());
    for row in sheet.rows() {
        let rank = &waits.ranks[sheet.number(row, "rank") as usize];
        assert_us(rank.wait, sheet.number(row, "total_wait_time_us"), "wait");
        assert_us(rank.communication, sheet.number(row, "total_nccl_dur_us"), "communication");
        assert_eq!(rank.n_collectives as f64, sheet.number(row, "num_collectives"));
        assert_eq!(rank.n_last as f64, sheet.number(row, "times_arrived_last"));
        assert_eq!(rank.n_first as f64, sheet.number(row, "times_arrived_first"));
        let mean = rank.wait as f64 / rank.n_collectives as f64 / 1e3;
        assert!((mean - sheet.number(row, "mean_wait_time_us")).abs() < 0.051);
    }
}

/// HTA's "compute" excludes fills; times of this set are whole microseconds, so everything is exact.
fn check_breakdown(ranks: &Ranks<'_, '_>, golden: &Value) {
    let sheet = Sheet(&golden["temporal_breakdown"]);
    for time in &ranks.times {
        let rank = ranks.files.ranks[time.rank].rank as f64;
        let row = sheet.rows().iter().find(|row| sheet.number(row, "rank") == rank).unwrap();
        assert_us(time.parts.idle, sheet.number(row, "idle_time(us)"), "idle");
        assert_us(time.parts.kernels_only, sheet.number(row, "compute_time(us)"), "compute");
        assert_us(time.parts.total, sheet.number(row, "kernel_time(us)"), "total");
    }
}

/// The two files in the checkout are the first of the eight in the corpus.
#[test]
fn dlrm_is_as_in_tracelens_and_hta() {
    for dir in data_dirs("pytorch") {
        let paths: Vec<PathBuf> = support::all_files(&dir.join("dlrm8"), &[".json.gz"]);
        let n = paths.len();
        let nccl = golden(&dir, "tracelens/nccl-dlrm8.json");
        with_ranks(paths.iter().map(|path| read(path)).collect(), |ranks, report| {
            assert_eq!(ranks.files.ranks.len(), n);
            assert!(ranks.files.left_out.is_empty());
            check_long(ranks, &nccl);
            // A plain checkout only has part of the ranks.
            let of_all = dir.join("golden/hta/dlrm8-ranks.json");
            let name = if of_all.exists() { "hta/dlrm8-ranks.json" } else { "hta/dlrm8.json" };
            check_breakdown(ranks, &golden(&dir, name));
            // All clocks agree, as all GPUs are on one host.
            for clock in ranks.clocks.clocks.iter().flatten() {
                assert!(clock.offset == 0 && clock.uncertainty <= 10_000, "{clock:?}");
            }
            assert_eq!(ranks.clocks.clocks.iter().flatten().count(), n);
            let names: Vec<&str> = ranks.sequences.kinds.iter().map(|kind| kind.name.as_str()).collect();
            assert!(names.contains(&"all_to_all") && names.contains(&"all_reduce"), "{names:?}");
            assert_eq!(words(report).contains("6 ranks of the run are missing"), n == 2);
            if n == 8 {
                let raw = Waits::new(n, &ranks.sequences, &Clocks::raw(n, &ranks.sequences));
                check_implicit_sync(&raw, &nccl);
                check_stragglers(&raw, &nccl);
                assert!(report.summary.contains("Rank 7 is the straggler"), "{}", report.summary);
            }
        });
    }
}

#[test]
fn collectives_at_different_times_are_not_compared() {
    let Some(dir) = data_dirs("pytorch").into_iter().nth(1) else { return };
    let traces = (0..2).map(|rank| read(&dir.join(format!("sampled-rank{rank}.json.gz")))).collect();
    with_ranks(traces, |ranks, report| {
        let nccl = golden(&dir, "tracelens/nccl-sampled2.json");
        check_long(ranks, &nccl);
        assert!(Sheet(&nccl["implicit_sync"]).rows().is_empty() && ranks.waits.collectives.is_empty());
        assert!(ranks.clocks.clocks.iter().all(Option::is_none));
        assert!(words(report).contains("Times across ranks are not compared"), "{}", words(report));
    });
}

/// Synthetic ranks on one or several hosts. Times are nanoseconds.
struct Made {
    world: i64,
    /// By rank: how much its clock is behind.
    behind: Vec<i64>,
    /// By rank: its delay at each collective.
    late: Vec<i64>,
    n: usize,
    /// Maximum difference of ends between ranks.
    jitter: u64,
}

const BASE: i64 = 1_767_189_312_000_000_000;
const BEGIN: i64 = 1_000_000_000;
const STEP: i64 = 1_000_000;
const WIRE: i64 = 50_000;

fn us(ns: i64) -> Value {
    serde_json::from_str(&format!("{}.{:03}", ns / 1000, ns % 1000)).unwrap()
}

fn kernel(name: &str, start: i64, dur: i64, args: Value) -> Value {
    let mut all = json!({"stream": 20, "device": 0, "correlation": start});
    all.as_object_mut().unwrap().extend(args.as_object().cloned().unwrap_or_default());
    json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 20, "ts": us(start), "dur": us(dur), "args": all})
}

const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

fn group(ranks: &[i64]) -> Value {
    json!({"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1_000_000, "Out msg nelems": 1_000_000,
           "Group size": ranks.len(), "Process Group Name": format!("{}", 7 + ranks[0]),
           "Process Group Ranks": format!("{ranks:?}")})
}

fn file(name: &str, rank: Option<i64>, world: i64, events: Vec<Value>) -> Trace {
    let mut file = json!({"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": BASE, "traceEvents": events});
    if let Some(rank) = rank {
        file["distributedInfo"] = json!({"backend": "nccl", "rank": rank, "world_size": world});
    }
    import(name, file.to_string().as_bytes(), None).unwrap()
}

impl Made {
    fn new(n_ranks: usize) -> Made {
        Made { world: n_ranks as i64, behind: vec![0; n_ranks], late: vec![0; n_ranks], n: 40, jitter: 0 }
    }

    /// The k-th collective of `ranks` on one of them, on its own clock: start and duration.
    fn collective(&self, ranks: &[i64], rank: i64, k: usize) -> (i64, i64) {
        let due = BEGIN + k as i64 * STEP;
        // Deterministic, so that all ranks agree on each arrival.
        let random = |rank: i64, what: u64| {
            let mut random =
                Random(0x9e37_79b9_7f4a_7c15 ^ ((rank as u64 + 1) << 40) ^ ((k as u64 + 1) << 8) ^ what);
            random.next();
            random.next();
            random.next()
        };
        let start = |rank: i64| due + self.late[rank as usize] + (random(rank, 1) % 30_000) as i64;
        let all_there = ranks.iter().map(|rank| start(*rank)).max().unwrap();
        let end = all_there + WIRE + (random(rank, 2) % (self.jitter + 1)) as i64;
        (start(rank) - self.behind[rank as usize], end - start(rank))
    }

    fn events(&self, ranks: &[i64], rank: i64, from: usize, args: &dyn Fn(usize) -> Value) -> Vec<Value> {
        let event = |k| {
            let (start, dur) = self.collective(ranks, rank, k);
            kernel(ALL_REDUCE, start, dur, args(k))
        };
        let compute = kernel(
            "gemm",
            BEGIN - STEP - self.behind[rank as usize],
            400_000 + rank * 100_000,
            json!({"stream": 7}),
        );
        std::iter::once(compute).chain((from..self.n).map(event)).collect()
    }

    /// All ranks in one group.
    fn traces(&self) -> Vec<Trace> {
        let all: Vec<i64> = (0..self.world).collect();
        let of = |rank: i64| {
            let events = self.events(&all, rank, 0, &|_| group(&all));
            file(&format!("rank{rank}.json"), Some(rank), self.world, events)
        };
        all.iter().map(|rank| of(*rank)).collect()
    }
}

#[track_caller]
fn assert_clocks(ranks: &Ranks<'_, '_>, behind: &[i64]) {
    for (rank, clock) in ranks.clocks.clocks.iter().enumerate() {
        let clock = clock.unwrap_or_else(|| panic!("rank {rank} has no clock"));
        let truth = behind[rank] - behind[clock.reference];
        assert!(
            (clock.offset - truth).abs() <= clock.uncertainty,
            "rank {rank}: {clock:?}, in truth {truth}"
        );
        assert!(clock.uncertainty < 20_000, "rank {rank}: {clock:?}");
    }
}

#[test]
fn clocks_and_stragglers_are_found() {
    let made = Made {
        behind: vec![0, 137_001, -2_345_678, 900],
        late: vec![0, 0, 0, 300_000],
        jitter: 4_000,
        ..Made::new(4)
    };
    with_ranks(made.traces(), |ranks, report| {
        assert_clocks(ranks, &made.behind);
        // The clock of the last rank agrees with the first within the uncertainty.
        assert_eq!(ranks.clocks.clocks[3].unwrap().offset, 0);
        assert_ne!(ranks.clocks.clocks[1].unwrap().offset, 0);
        let waits = &ranks.waits.ranks;
        assert_eq!(waits.iter().map(|rank| rank.n_last).collect::<Vec<_>>(), [0, 0, 0, 40]);
        assert!(waits[3].wait < 40 * 10_000 && waits[3].held_up > 40 * 250_000, "{:?}", waits[3]);
        for rank in &waits[..3] {
            assert!((rank.wait - 40 * 300_000).abs() < 40 * 50_000, "{rank:?}");
            assert!((rank.wire() - 40 * WIRE).abs() < 40 * 15_000, "{rank:?}");
        }
        assert!(report.summary.contains("Rank 3 is the straggler: last in 40 of 40"));
        // With uncorrected clocks, another rank would be blamed.
        let raw = Waits::new(4, &ranks.sequences, &Clocks::raw(4, &ranks.sequences));
        assert_eq!(raw.ranks[2].n_last, 40);
        assert_eq!(ranks.sequences.sequences[0].matched_by, MatchedBy::Order);
        // 400, 500, 600 and 700 µs.
        assert!((ranks.imbalance().unwrap() - 700.0 / 550.0).abs() < 1e-9);
    });
}

#[test]
fn bandwidth_is_of_the_shortest() {
    with_ranks(Made { late: vec![0, 500_000], ..Made::new(2) }.traces(), |ranks, report| {
        let shared = &ranks.waits.collectives[0];
        assert_eq!((shared.latency, shared.message), (WIRE, Some(2_000_000)));
        let table = report.tables().find(|table| table.id == "collectives_across_ranks").unwrap();
        let bandwidth = |id: &str| table.column(id).unwrap().cells.get(0);
        // 2 MB in 50 µs; 2(n − 1)/n of two ranks is 1.
        assert_eq!(bandwidth("algorithm"), tracedrop::report::Value::Float(40e9));
        assert_eq!(bandwidth("bus"), bandwidth("algorithm"));
    });
}

#[test]
fn few_collectives_tell_less() {
    let made = Made { behind: vec![0, 5_000_000], n: 3, jitter: 4_000, ..Made::new(2) };
    with_ranks(made.traces(), |ranks, _| {
        let clock = ranks.clocks.clocks[1].unwrap();
        assert!((clock.offset - 5_000_000).abs() <= clock.uncertainty, "{clock:?}");
        assert!(clock.uncertainty > 30_000, "three could all have ended late: {clock:?}");
    });
}

/// Rank 1 starts each of five collectives 200 µs after rank 0, if the clocks agree; they may differ by more.
#[test]
fn who_is_first_is_as_uncertain_as_who_is_last() {
    let all = [0, 1];
    let traces = all.map(|rank| {
        let late = rank * 200_000;
        let event = |k: i64| kernel(ALL_REDUCE, BEGIN + k * STEP + late, 350_000 - late, group(&all));
        file(&format!("rank{rank}.json"), Some(rank), 2, (0..5).map(event).collect())
    });
    with_ranks(Vec::from(traces), |ranks, report| {
        for shared in &ranks.waits.collectives {
            let times = shared.times.as_ref().unwrap();
            assert!(times.uncertainty.unwrap() > times.start_skew, "{times:?}");
            assert!(!times.is_first_certain && !times.is_last_certain);
        }
        assert!(words(report).contains("No straggler can be named"), "{}", words(report));
        assert!(
            words(report).contains("from 8 shared collectives on; some ranks share 5."),
            "{}",
            words(report)
        );
        for (id, columns) in [
            ("stragglers", ["held_up", "last", "first"]),
            ("collectives_across_ranks", ["held_up", "last", "first"]),
        ] {
            let table = report.tables().find(|table| table.id == id).unwrap();
            assert!(table.n_rows() > 1);
            for column in columns {
                let cells = &table.column(column).unwrap().cells;
                assert!((0..table.n_rows()).all(|row| cells.get(row).plain().is_empty()), "{id}: {column}");
            }
        }
    });
    let made = Made { late: vec![0, 200_000], jitter: 4_000, ..Made::new(2) };
    with_ranks(made.traces(), |ranks, _| {
        let [first, second] = &ranks.waits.ranks[..] else { panic!("two ranks") };
        assert_eq!((first.n_first, second.n_last, second.n_first, first.n_last), (40, 40, 0, 0));
    });
}

/// Ranks 0 and 3 share no group, nor do 1 and 2.
#[test]
fn clocks_are_joined_over_groups() {
    let made = Made { behind: vec![0, 50_000_000, -70_000_000, 9_000_000], jitter: 2_000, ..Made::new(4) };
    let groups: [&[i64]; 3] = [&[0, 1], &[0, 2], &[2, 3]];
    let of = |rank: i64| {
        let mine = groups.iter().filter(|group| group.contains(&rank));
        let events = mine.flat_map(|ranks| made.events(ranks, rank, 0, &|_| group(ranks))).collect();
        file(&format!("rank{rank}.json"), Some(rank), 4, events)
    };
    with_ranks((0..4).map(of).collect(), |ranks, _| {
        assert_clocks(ranks, &made.behind);
        assert!(ranks.clocks.clocks.iter().flatten().all(|clock| clock.reference == 0));
        let of = |rank: usize| ranks.clocks.clocks[rank].unwrap().uncertainty;
        assert!(of(3) > of(2), "what is not known adds up");
    });
    // Without the group between them there are two pairs.
    let of = |rank: i64| {
        let ranks: &[i64] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        file(&format!("rank{rank}.json"), Some(rank), 4, made.events(ranks, rank, 0, &|_| group(ranks)))
    };
    with_ranks((0..4).map(of).collect(), |ranks, report| {
        let references: Vec<usize> =
            ranks.clocks.clocks.iter().flatten().map(|clock| clock.reference).collect();
        assert_eq!(references, [0, 0, 2, 2]);
        assert_eq!(ranks.clocks.uncertainty(0, 2), None);
        assert!(report.tables().any(|table| table.column("reference").is_some()));
    });
}

#[test]
fn a_missing_rank_is_said() {
    let mut traces = Made { late: vec![0, 200_000, 0, 0], ..Made::new(4) }.traces();
    traces.remove(2);
    with_ranks(traces, |ranks, report| {
        assert_eq!(ranks.files.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1, 3]);
        assert!(words(report).contains("1 rank of the run is missing (2), so waits"), "{}", words(report));
        assert_eq!(ranks.waits.ranks[1].n_last, 40);
        assert_eq!(ranks.waits.collectives[0].n_ranks, 3);
    });
}

#[test]
fn ranks_are_checked_against_the_world_size() {
    // Two of two, of which one cannot be.
    let made = Made::new(6);
    let of = |rank: i64| {
        let events = made.events(&[0, 5], rank, 0, &|_| group(&[0, 5]));
        file(&format!("rank{rank}.json"), Some(rank), 2, events)
    };
    with_ranks([0, 5].map(of).into(), |_, report| {
        let words = words(report);
        assert!(words.contains("1 rank of the run is missing (1)"), "{words}");
        assert!(words.contains("Rank 5 cannot be in a run of 2 ranks"), "{words}");
    });
    // One that is there twice.
    let mut traces = Made::new(4).traces();
    traces.push(traces[1].clone());
    with_ranks(traces, |_, report| {
        let words = words(report);
        assert!(words.contains("1 rank of the run is missing (1)"), "{words}");
        assert!(words.contains("Files of rank 1 are left out"), "{words}");
    });
    // Of a huge world, the first are named.
    let mut traces = Made::new(2).traces();
    for trace in &mut traces {
        let of_run = trace.source.metadata.iter_mut().find(|(key, _)| key == "distributedInfo").unwrap();
        of_run.1 = of_run.1.replace("\"world_size\":2", &format!("\"world_size\":{}", i64::MAX));
    }
    with_ranks(traces, |_, report| {
        assert!(words(report).contains("missing (2, 3, 4, 5, 6, 7, 8, 9, …)"), "{}", words(report));
    });
}

#[test]
fn files_that_do_not_belong_are_left_out() {
    let made = Made::new(4);
    let reasons = |traces: Vec<Trace>| {
        with_ranks(traces, |ranks, report| {
            assert_eq!(report.tables().any(|table| table.id == "left_out"), !ranks.files.left_out.is_empty());
            let left_out = ranks.files.left_out.iter();
            (ranks.files.ranks.len(), left_out.map(|file| file.why.clone()).collect::<Vec<_>>())
        })
    };
    // Two files of one rank.
    let mut traces = made.traces();
    traces.push(traces[1].clone());
    let (n, why) = reasons(traces);
    assert!(n == 3 && why.len() == 2 && why[0].contains("2 files have rank 1"), "{why:?}");
    // A different world size.
    let mut traces = made.traces();
    traces[3] = Made::new(8).traces().remove(3);
    let (n, why) = reasons(traces);
    assert!(n == 3 && why[0].contains("world size is 8"), "{why:?}");
    // A different time.
    let mut traces = made.traces();
    traces[3] = Made { behind: vec![-3_600_000_000_000; 4], ..Made::new(4) }.traces().remove(3);
    let (n, why) = reasons(traces);
    assert!(n == 3 && why[0].contains("after the others"), "{why:?}");
    // No rank, or only in the file name.
    let all: Vec<i64> = (0..4).collect();
    let events = |rank| made.events(&all, rank, 0, &|_| group(&all));
    let traces = vec![
        file("a.json", None, 4, events(0)),
        file("run_worker1.json", None, 4, events(1)),
        file("rank-2.json", None, 4, events(2)),
    ];
    with_ranks(traces, |ranks, report| {
        assert_eq!(ranks.files.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [1, 2]);
        assert!(ranks.files.left_out[0].why.contains("unknown rank"));
        assert!(words(report).contains("taken from the file name"));
        assert!(ranks.files.missing().is_none());
    });
}

/// The sessions of two ranks start 2 s apart, and times in each count from its start: rank 1's are 2 s less than those of rank 0,
/// so in UTC its kernels run at the same time.
#[test]
fn ranks_of_nsight_are_compared_in_utc() {
    let dir = own_dir("nsys_ranks");
    let traces = || (0..2).map(|rank| read(&dir.join(format!("rank{rank}.sqlite"))));
    with_ranks(traces().collect(), |ranks, _| {
        assert!(ranks.files.left_out.is_empty());
        assert_eq!(ranks.files.ranks[1].base - ranks.files.ranks[0].base, 2_000_000_000);
        assert!(ranks.clocks.clocks.iter().all(|clock| clock.is_some_and(|clock| clock.offset == 0)));
    });
    // The other session starts two hours later.
    let mut traces: Vec<Trace> = traces().collect();
    let start = traces[1].source.metadata.iter_mut().find(|(key, _)| key == "utcEpochNs").unwrap();
    assert_eq!(start.1, "1700000002000000000");
    start.1 = "1700007202000000000".to_string();
    with_ranks(traces, |ranks, _| {
        assert_eq!(ranks.files.ranks.len(), 1);
        assert!(ranks.files.left_out[0].why.contains("after the others"), "{}", ranks.files.left_out[0].why);
    });
}

#[test]
fn a_rank_without_collectives_is_not_compared() {
    let mut traces = Made::new(3).traces();
    traces[1] = file("rank1.json", Some(1), 3, vec![kernel("gemm", BEGIN, 500_000, json!({}))]);
    with_ranks(traces, |ranks, report| {
        let known: Vec<bool> = ranks.clocks.clocks.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, false, true]);
        assert!(words(report).contains("Rank 1: no collective can be matched"), "{}", words(report));
        assert_eq!((ranks.waits.ranks[1].n_collectives, ranks.waits.ranks[0].n_collectives), (0, 40));
    });
    // None has any.
    let of = |rank: i64| {
        file(&format!("rank{rank}.json"), Some(rank), 2, vec![kernel("gemm", BEGIN, 5_000, json!({}))])
    };
    with_ranks((0..2).map(of).collect(), |ranks, report| {
        assert!(ranks.waits.collectives.is_empty());
        assert!(words(report).contains("share no collective"), "{}", words(report));
    });
}

/// The recording of one rank starts three collectives later.
#[test]
fn collectives_are_matched_by_number_or_step() {
    let made = Made { behind: vec![0, 40_000], ..Made::new(2) };
    let all = [0, 1];
    let matched = |events: &dyn Fn(i64, usize) -> Vec<Value>| {
        let of =
            |rank: i64| file(&format!("rank{rank}.json"), Some(rank), 2, events(rank, 3 * rank as usize));
        with_ranks((0..2).map(of).collect(), |ranks, report| {
            let sequence = &ranks.sequences.sequences[0];
            let lens: Vec<usize> = sequence.lines.iter().map(|line| line.parts.len()).collect();
            let right = ranks.clocks.clocks[1]
                .is_some_and(|clock| (clock.offset - 40_000).abs() <= clock.uncertainty);
            (sequence.matched_by, lens, sequence.n_unmatched, right, words(report))
        })
    };
    let numbered = |k: usize| {
        let mut args = group(&all);
        args["Seq"] = json!(k + 100);
        args
    };
    let (by, lens, n_unmatched, right, words) =
        matched(&|rank, from| made.events(&all, rank, from, &numbered));
    assert_eq!((by, &lens[..], n_unmatched, right), (MatchedBy::Number, &[37, 37][..], 3, true));
    assert!(words.contains("3 collectives have no counterpart"), "{words}");
    // Steps of eight collectives, launched long before they run.
    let stepped = |rank: i64, from: usize| {
        let mut events = made.events(&all, rank, from, &|k| {
            let mut args = group(&all);
            args["correlation"] = json!(k + 1);
            args
        });
        let cpu = |cat: &str, name: String, ts: usize, dur: usize, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": 5, "ts": ts, "dur": dur, "args": args});
        for k in from..made.n {
            events.push(cpu(
                "cuda_runtime",
                "cudaLaunchKernel".into(),
                100 * k,
                5,
                json!({"correlation": k + 1}),
            ));
        }
        for step in 0..made.n / 8 {
            events.push(cpu("user_annotation", format!("ProfilerStep#{step}"), 800 * step, 790, json!({})));
        }
        events
    };
    let (by, lens, n_unmatched, right, _) = matched(&stepped);
    assert_eq!((by, &lens[..], n_unmatched, right), (MatchedBy::Step, &[32, 32][..], 8, true));
    // Only the ends allow a match.
    let plain = |_: usize| group(&all);
    let (by, lens, n_unmatched, right, _) = matched(&|rank, from| made.events(&all, rank, from, &plain));
    assert_eq!((by, &lens[..], n_unmatched, right), (MatchedBy::Fit, &[37, 37][..], 3, true));
    // No match is possible.
    let even = |rank: i64, from: usize| -> Vec<Value> {
        let start = |k: usize| BEGIN + k as i64 * STEP + rank * 100;
        (from..20).map(|k| kernel(ALL_REDUCE, start(k), WIRE, group(&all))).collect()
    };
    let (by, _, _, right, words) = matched(&even);
    assert_eq!((by, right), (MatchedBy::UnequalOrder, false));
    assert!(words.contains("cannot be matched") && !words.contains("never overlap"), "{words}");
}

/// Ranks 0 and 1 have ten collectives, rank 2 lacks two in between: which ones, nothing says.
#[test]
fn ranks_with_as_many_collectives_are_compared_without_the_others() {
    let made = Made { n: 10, ..Made::new(3) };
    let mut traces = made.traces();
    let all = [0, 1, 2];
    let mut events = made.events(&all, 2, 0, &|_| group(&all));
    for k in [7, 3] {
        // After the kernel that computes.
        events.remove(1 + k);
    }
    traces[2] = file("rank2.json", Some(2), 3, events);
    with_ranks(traces, |ranks, report| {
        assert_eq!(ranks.sequences.sequences[0].uneven, [2]);
        let known: Vec<bool> = ranks.clocks.clocks.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, true, false]);
        assert_eq!(ranks.waits.ranks.iter().map(|rank| rank.n_collectives).collect::<Vec<_>>(), [10, 10, 0]);
        let words = words(report);
        assert!(words.contains("Some collectives of rank 2 occur a different number of times"), "{words}");
    });
}

/// All ranks have collectives 3 to 39, two of three also 0 to 2.
#[test]
fn collectives_without_counterpart_count_once_for_all_ranks() {
    let made = Made::new(3);
    let all = [0, 1, 2];
    let of = |rank: i64| {
        let numbered = |k: usize| {
            let mut args = group(&all);
            args["Seq"] = json!(k);
            args
        };
        let events = made.events(&all, rank, if rank == 2 { 3 } else { 0 }, &numbered);
        file(&format!("rank{rank}.json"), Some(rank), 3, events)
    };
    with_ranks(all.map(of).into(), |_, report| {
        assert!(words(report).contains("3 collectives have no counterpart"), "{}", words(report));
    });
}

/// No rank of a broadcast waits for all others, so it says nothing about clocks.
#[test]
fn broadcasts_align_no_clocks() {
    let of = |rank: i64| {
        let args = || {
            let mut args = group(&[0, 1]);
            args["Collective name"] = json!("broadcast");
            args
        };
        let name = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        let events = (0..10).map(|k| kernel(name, BEGIN + k * STEP, WIRE, args())).collect();
        file(&format!("rank{rank}.json"), Some(rank), 2, events)
    };
    with_ranks((0..2).map(of).collect(), |_, report| {
        let words = words(report);
        assert!(words.contains("do not synchronize all ranks") && !words.contains("overlap"), "{words}");
    });
}

/// Ten collectives that end at once on both ranks, the first of which takes 350 µs on rank 0. Rank 1 starts every second one 140 µs
/// later, and the others at the same time, so only five of them have a last rank.
///
/// Rank 0 waits for 5 · 140 = 700 µs, of 10 · 350 + 5 · 350 + 5 · 210 = 6,300 µs that both ranks are in collectives: 11.1%.
#[test]
fn summary_and_finding_have_one_share_and_only_known_last_ranks() {
    let of = |rank: i64| {
        let late = |k: i64| if k % 2 == 0 { rank * 140_000 } else { 0 };
        let event = |k| kernel(ALL_REDUCE, BEGIN + k * STEP + late(k), 350_000 - late(k), group(&[0, 1]));
        file(&format!("rank{rank}.json"), Some(rank), 2, (0..10).map(event).collect())
    };
    let run = Run { traces: (0..2).map(of).collect() };
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = |id: &str| reports.iter().find(|report| report.id == id).unwrap();
    let last = "last in 5 of 5 collectives (5 more are within the clock uncertainty)";
    assert_eq!(
        report("gpu-ranks").summary,
        format!(
            "2 ranks; 11.1% of collective time is waiting for other ranks. Rank 1 is the straggler: {last}, 700.0 µs of total \
             delay."
        )
    );
    let lists = report("gpu-findings").blocks.iter().filter_map(|block| match block {
        Block::Findings(findings) => Some(&findings.findings),
        _ => None,
    });
    let straggler = lists.flatten().find(|finding| finding.id == "straggler").unwrap();
    assert_eq!(
        straggler.text,
        format!(
            "Rank 1 is the straggler: {last}, it delayed the others by 700.0 µs; 11.1% of collective time is waiting for it."
        )
    );
    // Where both arrive at once, the uncertainty is still that between two clocks: of whole microseconds.
    with_ranks(run.traces, |ranks, _| {
        let known: Vec<_> = ranks.waits.collectives.iter().filter_map(|one| one.times.as_ref()).collect();
        assert_eq!(known.len(), 10);
        assert!(known.iter().all(|times| times.uncertainty == Some(1000)));
    });
}

#[test]
fn sizes_that_differ_are_said() {
    let made = Made::new(2);
    let of = |rank: i64| {
        let events = made.events(&[0, 1], rank, 0, &|k| {
            let mut args = group(&[0, 1]);
            if (k as i64, rank) == (5, 1) {
                args["In msg nelems"] = json!(7);
            }
            args
        });
        file(&format!("rank{rank}.json"), Some(rank), 2, events)
    };
    with_ranks((0..2).map(of).collect(), |ranks, report| {
        assert_eq!(ranks.sequences.sequences[0].n_differing, 1);
        assert!(words(report).contains("different message sizes"));
    });
}

fn charts<'a>(report: &'a Report) -> Vec<&'a Chart> {
    let chart = |block: &'a Block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    };
    report.blocks.iter().filter_map(chart).collect()
}

#[test]
fn pictures_show_what_the_tables_say() {
    for n in [3, 8] {
        let mut made = Made::new(n);
        made.late[1] = 300_000;
        with_ranks(made.traces(), |ranks, report| {
            let [breakdown, arrivals] = charts(report)[..] else { panic!("{} charts", charts(report).len()) };
            let Plot::Bars(bars) = &breakdown.plot else { panic!("{breakdown:?}") };
            assert_eq!(bars.labels, (0..n).map(|rank| format!("rank {rank}")).collect::<Vec<_>>());
            for (at, time) in ranks.times.iter().enumerate() {
                let sum: f64 = bars.parts.iter().map(|part| part.values[at]).sum();
                assert_eq!(sum, time.parts.total as f64);
            }
            let Plot::Lines(lines) = &arrivals.plot else { panic!("{arrivals:?}") };
            assert_eq!(lines.over, Over::Number);
            // At most six lines: with more ranks, the last line combines the others.
            assert_eq!(lines.lines.len(), n.min(6));
            assert_eq!(lines.lines.last().unwrap().name == "latest other rank", n > 6);
            assert_eq!(arrivals.caption.contains("latest ranks"), n > 6);
            let late = lines.lines.iter().find(|line| line.name == "rank 1").unwrap();
            let times: Vec<&Times> = by_start(&ranks.waits).into_iter().map(|(times, _)| times).collect();
            assert_eq!(late.points.len(), times.len());
            for ((number, ns), (at, times)) in late.points.iter().zip((1..).zip(times)) {
                assert_eq!((*number, *ns as i64), (at, times.start_skew));
            }
        });
    }
}

#[test]
fn there_is_no_picture_of_arrivals_where_clocks_are_unknown() {
    let traces = (0..2).map(|rank| {
        let events = vec![kernel("gemm", BEGIN, STEP, json!({}))];
        file(&format!("rank{rank}.json"), Some(rank), 2, events)
    });
    with_ranks(traces.collect(), |_, report| {
        let ids: Vec<&str> = charts(report).iter().map(|chart| chart.id.as_ref()).collect();
        assert_eq!(ids, ["ranks_chart"]);
    });
}

#[test]
fn one_file_has_no_report_on_ranks() {
    let mut traces = Made::new(2).traces();
    let applies = |traces: Vec<Trace>| (gpu_ranks::INFO.applies)(&Run { traces });
    assert!(applies(traces.clone()));
    traces.pop();
    assert!(!applies(traces));
    assert!(!applies(Vec::new()));
    with_ranks(Vec::new(), |ranks, _| assert!(ranks.files.ranks.is_empty()));
    let none: &[_] = &[];
    assert!(Sequences::new(none).sequences.is_empty());
}

#[test]
fn sessions_are_put_together() {
    let sessions = |n: usize| -> Vec<Session> {
        let query = Query { top: 3, ..Query::default() };
        Made::new(n).traces().into_iter().map(|trace| Session::of_trace(trace, query.clone())).collect()
    };
    let mut session = Session::together(sessions(3)).unwrap();
    assert_eq!((session.query().top, session.run().traces.len()), (3, 3));
    let ids: Vec<&str> = session.reports().iter().map(|report| report.id.as_ref()).collect();
    assert_eq!(ids[..2], ["gpu-findings", "gpu-ranks"]);
    let document = session.document().unwrap();
    assert_eq!(document.file.name, "rank0.json, rank1.json, rank2.json");
    assert_eq!(document.ledger.kept.records, 3 * 41);
    // Each file keeps its own parsing details.
    let mut text = Vec::new();
    session.export(export::find("json").unwrap(), &export::Options::default(), &mut text).unwrap();
    let text: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(text["source"].as_array().unwrap().len(), 3);
    // An index covers one trace.
    let index = export::find("index").unwrap();
    assert!(session.export(index, &export::Options::default(), &mut Vec::new()).is_err());
    assert!(session.why_not_exported(index).contains("only one trace"));
    assert!(!session.can_be_kept());
    assert!(Session::together(sessions(1)).unwrap().can_be_kept());
    assert!(Session::together(Vec::new()).unwrap().document().is_none());
}

/// Headlines are of all ranks, and findings call them as charts do.
#[test]
fn texts_on_ranks_are_of_all_and_by_rank() {
    for dir in data_dirs("pytorch") {
        let Ok(folder) = fs::read_dir(dir.join("dlrm8")) else { continue };
        let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(".json.gz"));
        files.sort();
        let n = files.len();
        let run = Run { traces: files.iter().map(|path| read(path)).collect() };
        let reports = tracedrop::analysis::reports(&run, &Query::default());
        let report = |id: &str| reports.iter().find(|report| report.id == id).unwrap();
        for id in ["gpu-kernels", "gpu-communication"] {
            assert!(report(id).summary.contains(&format!(" in {n} files")), "{}", report(id).summary);
        }
        for block in &report("gpu-findings").blocks {
            let Block::Findings(findings) = block else { continue };
            assert!(findings.findings.iter().all(|finding| !finding.text.contains(".json.gz: ")));
        }
    }
}
