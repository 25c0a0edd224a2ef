//! Findings about GPU idle time.

use super::reader::{Row, TableOf};
use super::{Evidence, with_facts};
use crate::analysis::gpu::Tool;
use crate::analysis::gpu::gaps::{BETWEEN_KERNELS, CLOCKS, HOST, ON_GPU, UNKNOWN};
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::analysis::{gpu_cpu, gpu_idle};
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::{Facts, Finding, RowsOf};

/// Gaps between such kernels stay below this share of time in ordinary back-to-back execution.
const MANY_GAPS: f64 = 0.03;
/// Share of time with unknown cause that justifies recording again.
const MUCH_UNKNOWN: f64 = 0.05;
/// Share of kernels shorter than their launch call from which the finding is reported.
const MANY_SHORT: f64 = 0.2;
/// Share of the wait from which the CPU slice that ran during it is named.
const MUCH_OF_WAITING: f64 = 0.1;

/// ID of the finding on waits for the host.
pub(super) const HOST_BOUND: &str = "waits-for-host";

/// Totals of one cause in the idle table, over all GPUs.
struct OfCause {
    time: i64,
    /// Part of `time` after a late launch; 0 for [`HOST`].
    after_late_launch: i64,
    gaps: i64,
    /// Those of `gaps` after a late launch.
    late_gaps: i64,
    /// Median gap on the GPU with the most idle time.
    p50: i64,
}

fn of_cause(evidence: &Evidence<'_>, cause: &str) -> Option<OfCause> {
    let table = evidence.reader.table(gpu_idle::IDLE)?;
    let rows: Vec<Row<'_>> = table.rows().filter(|row| row.text("cause") == cause).collect();
    let most = rows.iter().max_by_key(|row| row.integer("time"))?;
    let sum = |column: &str| rows.iter().filter_map(|row| row.integer(column)).sum_ns();
    Some(OfCause {
        time: sum("time"),
        after_late_launch: sum("after_late_launch"),
        gaps: sum("gaps"),
        late_gaps: sum("late_gaps"),
        p50: most.integer("p50").unwrap_or(0),
    })
}

/// The longest gaps of a cause, which have times and so a place in the timeline; its totals if none of the longest gaps is of it.
fn gaps_with(evidence: &Evidence<'_>, cause: &str) -> Option<RowsOf> {
    let has_cause = |table: &TableOf<'_>| table.rows().any(|row| row.text("cause") == cause);
    let tables =
        [gpu_idle::GAPS, gpu_idle::IDLE].into_iter().filter_map(|handle| evidence.reader.table(handle));
    tables.into_iter().find(has_cause).map(|table| table.rows_where(&[("cause", cause)]))
}

/// Host-bound: the next kernel was launched only after the previous one had ended.
pub fn waits_for_host(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(host) = of_cause(evidence, HOST) else { return };
    let waited = host.time;
    if !evidence.is_worth_saying(waited) || !evidence.knows_launches() {
        return;
    }
    let reader = &evidence.reader;
    let mut text =
        format!("Host-bound: the GPU waited for the host {} of the time", evidence.idle_share(waited));
    let mut facts = Facts::default();
    facts.push("waited", "host-bound idle", waited, Unit::Ns);
    facts.push("gaps", "gaps", host.gaps, Unit::Count);
    facts.push("p50", "p50", host.p50, Unit::Ns);
    let by_phase = reader.table(gpu_idle::IDLE_BY_PHASE);
    let phases = by_phase.iter().flat_map(|table| table.rows()).filter(|row| row.text("cause") == HOST);
    if let Some(most) = phases.max_by_key(|row| row.integer("time"))
        && let Some(of_time) = most.float("share")
    {
        let at_least = evidence.at_least();
        text.push_str(&format!(", {at_least}{} of {} time", percent(of_time), most.text("phase")));
    }
    let cpu = reader.table(gpu_cpu::CPU);
    let (nothing, ran): (Vec<Row<'_>>, Vec<Row<'_>>) =
        cpu.iter().flat_map(|table| table.rows()).partition(|row| row.text("name") == gpu_cpu::NOTHING);
    // Of the wait of threads: several GPUs may wait for one at once.
    let of_wait = |row: Option<&Row<'_>>| row?.float("waited_share");
    let is_much = |share: &f64| (MUCH_OF_WAITING..=1.0).contains(share);
    let most = ran.iter().max_by_key(|row| row.integer("waited"));
    let (unknown, known) = (of_wait(nothing.first()), of_wait(most).filter(is_much));
    if let Some(share) = unknown.filter(|share| is_much(share) && *share >= known.unwrap_or(0.0)) {
        let share = percent(share);
        text.push_str(&format!("; nothing was recorded on the launching thread in {share} of that wait"));
    }
    if let (Some(share), Some(most)) = (known, most) {
        let name = most.text("name");
        let kind = if most.text("kind") == gpu_cpu::PROFILER { " (profiler overhead)" } else { "" };
        text.push_str(&format!("; `{}`{kind} accounts for {} of that wait", function(&name), percent(share)));
        facts.push("meanwhile", "CPU activity", name, Unit::None);
    }
    text.push('.');
    let mut finding = evidence.finding(HOST_BOUND, text, Some(waited));
    finding.rows = gaps_with(evidence, HOST);
    findings.push(with_facts(finding, facts));
}

/// Launch-bound: kernels run shorter than the calls that launch them.
pub fn waits_for_launches(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(table) = evidence.reader.table(gpu_idle::LAUNCHES) else { return };
    let (short, work, calls) = (table.sum("short"), table.sum("work"), table.sum("calls"));
    let Some(host) = of_cause(evidence, HOST).filter(|_| evidence.knows_launches()) else { return };
    // The median, since a call that loads a module first may take a second.
    let usual = |row: Row<'_>| row.integer("calls")?.checked_mul(row.integer("cpu_p50")?);
    let in_calls: i64 = table.rows().filter_map(usual).fold(0, i64::saturating_add);
    // Even with free launches the GPU would still wait for the rest of the host's work.
    let at_stake = host.time.min(in_calls);
    if !evidence.is_worth_saying(at_stake) || work <= 0 || (short as f64) < MANY_SHORT * work as f64 {
        return;
    }
    let launch_bound = format!(
        "Launch-bound: {} of {} ran shorter than {}",
        group_digits(i128::from(short)),
        counted(work as u64, "kernel or copy", "kernels and copies"),
        if short == 1 { "its launch call" } else { "their launch calls" },
    );
    let mut facts = Facts::default();
    facts.push("calls", "launch calls", calls, Unit::Count);
    facts.push("cpu_time", "time in calls (count × p50)", in_calls, Unit::Ns);
    // The same time is one opportunity.
    let same = findings.iter_mut().find(|it| it.id == HOST_BOUND && it.time == Some(at_stake));
    if let Some(host_bound) = same {
        host_bound.text.push_str(&format!(" {launch_bound}. Use CUDA graphs or fuse kernels."));
        host_bound.evidence.extend(facts.facts);
        return;
    }
    let text =
        format!("{launch_bound}; this is part of the host-bound time. Use CUDA graphs or fuse kernels.");
    let mut finding = evidence.finding("waits-for-launches", text, Some(at_stake));
    finding.rows = Some(table.all_rows());
    findings.push(with_facts(finding, facts));
}

/// Short gaps before kernels whose launch call had begun that add up. Whether it had ended too, and the kernel was queued, isn't said.
pub fn gaps_between_kernels(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(gaps) = of_cause(evidence, BETWEEN_KERNELS) else { return };
    // After a late launch, nothing was queued.
    let time = gaps.time.saturating_sub(gaps.after_late_launch);
    let n = gaps.gaps.saturating_sub(gaps.late_gaps);
    if evidence.share(time) < MANY_GAPS || n <= 0 {
        return;
    }
    // The median of the table is of all of them.
    let usual = match gaps.late_gaps {
        0 => format!("p50 {}", format_ns(gaps.p50)),
        _ => format!("mean {}", format_ns(time / n)),
    };
    let text = format!(
        "Short gaps between kernels take {} of the time, with the next launch already begun: {}, {usual}. Fuse kernels to get \
         fewer, larger ones.",
        evidence.idle_share(time),
        counted(n as u64, "gap", "gaps"),
    );
    let mut facts = Facts::default();
    facts.push("gaps", "gaps", n, Unit::Count);
    facts.push("time", "total", time, Unit::Ns);
    let mut finding = evidence.finding("gaps-between-kernels", text, Some(time));
    finding.rows =
        evidence.reader.table(gpu_idle::IDLE).map(|table| table.rows_where(&[("cause", BETWEEN_KERNELS)]));
    findings.push(with_facts(finding, facts));
}

/// The next kernel had been launched but started late.
pub fn waits_on_gpu(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(other) = of_cause(evidence, ON_GPU) else { return };
    let time = other.time;
    if !evidence.is_worth_saying(time) || !evidence.knows_launches() {
        return;
    }
    let mut text = format!(
        "The GPU was stalled after launch for {} of the time: the next kernel was queued but waited for an event, another stream \
         or a resource.",
        evidence.idle_share(time),
    );
    let mut gaps = evidence.reader.table(gpu_idle::GAPS).into_iter().flat_map(TableOf::rows);
    let longest = gaps.find(|row| row.text("cause") == ON_GPU);
    let meanwhile = longest.and_then(|row| Some((row.integer("time")?, row.text("meanwhile"))));
    if let Some((ns, call)) = meanwhile.filter(|(ns, call)| *ns >= time / 2 && !call.is_empty()) {
        text.push_str(&format!(
            " In the longest stall, of {}, the launching thread spent the most time in `{}`.",
            format_ns(ns),
            function(&call)
        ));
    }
    let mut facts = Facts::default();
    facts.push("time", "total", time, Unit::Ns);
    facts.push("after_late_launch", "after late launches", other.after_late_launch, Unit::Ns);
    let mut finding = evidence.finding("waits-on-gpu", text, Some(time));
    finding.rows = gaps_with(evidence, ON_GPU);
    findings.push(with_facts(finding, facts));
}

/// Idle time whose cause is unknown because the launch was not recorded, or may be one of several.
pub fn unknown_launches(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(unknown) = of_cause(evidence, UNKNOWN) else { return };
    if evidence.share(unknown.time) < MUCH_UNKNOWN {
        return;
    }
    let share = evidence.idle_share(unknown.time);
    // TPUs have no such calls.
    let advice = match evidence.tool {
        Tool::Xprof => "",
        _ => " Start recording earlier, or include runtime calls.",
    };
    let text = match evidence.reader.ambiguous_launches() {
        Some(why) => format!(
            "The GPU was idle for unknown reasons {share} of the time: which calls launched the kernels that follow is unknown, \
             since {why}."
        ),
        None => format!(
            "The GPU was idle for unknown reasons {share} of the time: the launches of the kernels that follow are not in the \
             trace.{advice}"
        ),
    };
    let mut facts = Facts::default();
    facts.push("gaps", "gaps", unknown.gaps, Unit::Count);
    facts.push("time", "total", unknown.time, Unit::Ns);
    let mut finding = evidence.finding("launches-not-recorded", text, Some(unknown.time));
    finding.rows = gaps_with(evidence, UNKNOWN);
    findings.push(with_facts(finding, facts));
}

/// Idle time before kernels that start before their own launch.
pub fn unknown_clocks(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(clocks) = of_cause(evidence, CLOCKS) else { return };
    if evidence.share(clocks.time) < MUCH_UNKNOWN {
        return;
    }
    let text = format!(
        "The GPU was idle for unknown reasons {} of the time: the kernels that follow start before their own launch, so the clocks \
         of CPU and GPU disagree.",
        evidence.idle_share(clocks.time)
    );
    let mut facts = Facts::default();
    facts.push("gaps", "gaps", clocks.gaps, Unit::Count);
    let mut finding = evidence.finding("clocks-disagree", text, Some(clocks.time));
    finding.rows = gaps_with(evidence, CLOCKS);
    findings.push(with_facts(finding, facts));
}

/// Function name of a frame: `schedule` of `scheduler.py(187): schedule`.
fn function(name: &str) -> &str {
    name.rsplit_once("): ").map_or(name, |(_, function)| function)
}
