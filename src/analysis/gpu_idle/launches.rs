//! Durations of launch calls, and delays until the launched kernels start.

use crate::analysis::gpu::launched::Silence;
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::Durations;
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};

/// Limit for slow calls, and for short kernels: HTA's default, 50 µs.
const SLOW_CALL_NS: i64 = 50_000;
/// Limit for long launch delays: HTA's default, 100 µs.
const LONG_DELAY_NS: i64 = 100_000;

/// Launch calls of one name.
#[derive(Default)]
struct Calls {
    /// Durations of the calls.
    cpu: Vec<i64>,
    /// Per call with timed kernels or copies: from the end of the call to the start of the first one (for a graph, its first
    /// kernel). 0 if that starts during the call.
    delay: Vec<i64>,
    n_work: u64,
    n_short: u64,
    n_slow: u64,
    n_delayed: u64,
    is_graph: bool,
    /// Calls without a device record, except those captured into a graph.
    n_missing: u64,
    n_captured: u64,
    n_untimed: u64,
    /// Kernels and copies that start before their call.
    n_impossible: u64,
}

/// What tables of launches say without any.
pub fn none_told(gpu: &GpuTrace<'_>) -> &'static str {
    if gpu.ambiguous.n() > 0 {
        "No launch in this trace is linked to a kernel or copy."
    } else {
        "No launches in this trace."
    }
}

/// Launches by call, with short kernels and slow calls.
pub fn tables(named: &NamedTrace<'_, '_>) -> Vec<Table> {
    let gpu = named.gpu;
    let slices = &gpu.trace.slices;
    let mut by_call: HashMap<StringId, Calls> = HashMap::default();
    let mut seen: HashSet<u32> = HashSet::default();
    let mut delayed: HashSet<u32> = HashSet::default();
    let mut n_unknown = 0u64;
    for work in &gpu.work {
        if work.launch == NONE {
            n_unknown += u64::from(work.kind == Kind::Kernel);
            continue;
        }
        let call = work.launch as usize;
        let cpu = slices.dur.get(call).max(0);
        let calls = by_call.entry(slices.name[call]).or_default();
        if seen.insert(work.launch) {
            calls.cpu.push(cpu);
            calls.n_slow += u64::from(cpu > SLOW_CALL_NS);
        }
        calls.is_graph |= gpu.is_graph_launch(work.launch);
        calls.n_work += 1;
        calls.n_short += u64::from(cpu <= SLOW_CALL_NS && work.dur() < cpu && !calls.is_graph);
        if work.is_before_launch {
            calls.n_impossible += 1;
            continue;
        }
        // `work` is sorted by start, so this is the first of the launch.
        if delayed.insert(work.launch) {
            let delay = work.start.saturating_sub(slices.ts[call]).saturating_sub(cpu).max(0);
            calls.delay.push(delay);
            calls.n_delayed += u64::from(delay > LONG_DELAY_NS);
        }
    }
    for silent in &gpu.silent {
        let call = silent.slice as usize;
        let calls = by_call.entry(slices.name[call]).or_default();
        calls.cpu.push(slices.dur.get(call).max(0));
        match silent.why {
            Silence::NoRecord => calls.n_missing += 1,
            Silence::Captured => calls.n_captured += 1,
            Silence::Untimed => calls.n_untimed += 1,
            Silence::Outside => {}
        }
    }
    let mut rows: Vec<(String, Calls)> = by_call
        .into_iter()
        .map(|(name, calls)| (gpu.trace.strings.get_opt(name).unwrap_or("").to_string(), calls))
        .collect();
    let most = |calls: &Calls| (calls.n_work, calls.cpu.len());
    sort::by(&mut rows, |a, b| (most(&b.1), &a.0).cmp(&(most(&a.1), &b.0)));
    let n_left_out = cut(&mut rows);
    let cpu: Vec<Durations> =
        rows.iter_mut().map(|row| Durations::new(std::mem::take(&mut row.1.cpu))).collect();
    let delay: Vec<Durations> =
        rows.iter_mut().map(|row| Durations::new(std::mem::take(&mut row.1.delay))).collect();
    let of =
        |all: &[Durations], get: &dyn Fn(&Durations) -> Option<i64>| all.iter().map(get).collect::<Vec<_>>();
    let mut caption = "Launch calls by name. Delay is the time from the end of the call to the start of the first kernel or copy \
                       it launched. A short kernel runs shorter than its launch call (calls up to 50 µs)."
        .to_string();
    if n_unknown > 0 {
        let known = if gpu.ambiguous.n() > 0 { "known" } else { "recorded" };
        let have = counted(n_unknown, "kernel has", "kernels have");
        caption.push_str(&format!(" {have} no {known} launch."));
    }
    let mut table = Table::new(
        named.id(super::LAUNCHES.id),
        named.title("Launches"),
        vec![
            Column::key("call", "call", Content::Symbol, texts(rows.iter().map(|row| Some(row.0.as_str())))),
            Column::counts("calls", "calls", Unit::Count, cpu.iter().map(Durations::count)),
            Column::counts("work", "kernels", Unit::Count, rows.iter().map(|row| row.1.n_work))
                .hint("kernels, copies and fills launched; a graph launch starts many"),
            integers("cpu_time", "CPU time", Unit::Ns, cpu.iter().map(Durations::total)).with_bar(),
            Column::integer("cpu_p50", "CPU p50", Unit::Ns, of(&cpu, &|row| row.quantile(0.5))),
            Column::integer("cpu_p99", "CPU p99", Unit::Ns, of(&cpu, &|row| row.quantile(0.99))),
            Column::integer("delay_p50", "delay p50", Unit::Ns, of(&delay, &|row| row.quantile(0.5))),
            Column::integer("delay_p99", "delay p99", Unit::Ns, of(&delay, &|row| row.quantile(0.99))),
            Column::integer("delay_max", "delay max", Unit::Ns, of(&delay, &Durations::max)),
            Column::counts("short", "short kernels", Unit::Count, rows.iter().map(|row| row.1.n_short)),
            Column::counts("slow", "calls > 50 µs", Unit::Count, rows.iter().map(|row| row.1.n_slow)),
            Column::counts("delayed", "delays > 100 µs", Unit::Count, rows.iter().map(|row| row.1.n_delayed)),
        ],
    )
    .if_empty(none_told(gpu));
    // Columns on missing data, if any is missing.
    for (id, label, hint, get) in [
        (
            "missing",
            "no device record",
            "calls without a kernel or copy in the trace; the time around them does not count as idle",
            (|calls| calls.n_missing) as fn(&Calls) -> u64,
        ),
        ("captured", "captured", "calls captured into a graph, which run nothing", |calls| calls.n_captured),
        ("untimed", "untimed", "calls whose kernels have no timestamps", |calls| calls.n_untimed),
        (
            "impossible",
            "starts before launch",
            "kernels and copies that start before their launch call (clock skew), so they have no delay",
            |calls| calls.n_impossible,
        ),
    ] {
        if rows.iter().any(|row| get(&row.1) > 0) {
            let counts = rows.iter().map(|row| get(&row.1));
            table.columns.push(Column::counts(id, label, Unit::Count, counts).hint(hint));
        }
    }
    vec![with_left_out(table.caption(caption), n_left_out)]
}
