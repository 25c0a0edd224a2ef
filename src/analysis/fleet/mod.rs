//! Fleet: ranks of a run by step, from a dataset of summaries (`tracedrop fleet add`).
//!
//! Ranks wait for each other in collectives, so all may have the same GPU time although one of them is slow. Both the GPU time
//! and the computation of a rank are compared with the medians over ranks.

mod heat;
mod runs;
mod tables;

use self::runs::{Measure, RankOfRun, RunOfFleet, label_of_one, n_ranks};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::sort;
use crate::base::units::{counted, format_ratio};
use crate::report::Report;
use crate::report::chart::Chart;
use crate::trace::Run;
use std::collections::BTreeMap;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "fleet", title: "Fleet", applies, run, group: Group::Summary, is_late: false };

/// One row per rank.
pub const RANKS: TableHandle = TableHandle { report: &INFO, id: "ranks" };

/// Runs with heat maps.
const MAX_RUNS: usize = 6;

/// Smaller differences from the median are not mentioned.
const NOTABLE: f64 = 0.01;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.fleet.is_some())
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let runs = runs::of(context.run);
    report.summary = summary(&runs);
    warn(&runs, &mut report);
    let with_steps: Vec<&RunOfFleet<'_>> = runs.iter().filter(|run| !run.steps.is_empty()).collect();
    for (number, run) in with_steps.iter().take(MAX_RUNS).enumerate() {
        let name = if runs.len() > 1 { run.label() } else { String::new() };
        let charts = Measure::ALL.map(|measure| heat::chart(run, measure, number, &name));
        // A map on which all ranks are alike is shown only if there is no other.
        let any_differs = charts.iter().any(heat::has_differences);
        let is_shown = |at: usize, chart: &Chart| match any_differs {
            true => heat::has_differences(chart),
            false => at == 0,
        };
        let shown = charts.into_iter().enumerate().filter(|(at, chart)| is_shown(*at, chart));
        shown.for_each(|(_, chart)| report.chart(chart));
    }
    if with_steps.len() > MAX_RUNS {
        let n = (with_steps.len() - MAX_RUNS) as u64;
        report.info(format!(
            "{} without a heat map: they are in the tables.",
            counted(n, "more run", "more runs")
        ));
    }
    report.table(tables::ranks(&runs));
    report.table(tables::steps(&runs));
    report
}

/// Name of the slowest rank by a measure, or number of those that are equally slow, with a verb; and how far it is above the
/// median.
fn slowest(runs: &[RunOfFleet<'_>], measure: Measure) -> Option<(String, f64)> {
    let ranks = || {
        let all = runs.iter().flat_map(|run| run.ranks.iter().map(move |rank| (run, rank)));
        all.filter_map(|(run, rank)| Some((run, rank, rank.over_median(measure)?)))
    };
    let (run, _, most) = ranks().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let equal: Vec<_> = ranks().filter(|(.., over)| *over == most).collect();
    let of_run = |run| equal.iter().filter(move |(of, ..)| std::ptr::eq(*of, run)).map(|(_, rank, _)| *rank);
    let n: usize = runs.iter().map(|run| n_ranks(of_run(run))).sum();
    let (is, are) = match measure {
        Measure::GpuTime => ("is slowest", "are slowest"),
        Measure::Computation => ("computes longest", "compute longest"),
    };
    let of_one: Vec<_> = of_run(run).collect();
    let name = label_of_one(&of_one, run.has_several_devices()).filter(|_| n == 1);
    let text = match (name, runs.len()) {
        (Some(name), 1) => format!("{name} {is}"),
        (Some(name), _) => format!("{name} of {} {is}", run.label()),
        (None, _) => format!("{} {are}", counted(n as u64, "rank", "ranks")),
    };
    Some((text, most))
}

fn summary(runs: &[RunOfFleet<'_>]) -> String {
    let n_ranks: usize = runs.iter().map(RunOfFleet::n_ranks).sum();
    let n_steps: usize = runs.iter().map(|run| run.steps.len()).sum();
    let n_unreadable: usize =
        runs.iter().map(|run| run.ranks.iter().filter(|rank| !rank.is_readable()).count()).sum();
    let of = match runs {
        [] => return "The dataset has no files and no steps.".to_string(),
        [run] => run.label(),
        runs => counted(runs.len() as u64, "run", "runs"),
    };
    let mut text = format!(
        "{}, {}, {of}",
        counted(n_ranks as u64, "rank", "ranks"),
        counted(n_steps as u64, "step", "steps")
    );
    if n_unreadable > 0 {
        text.push_str(&format!(", {}", counted(n_unreadable as u64, "unreadable file", "unreadable files")));
    }
    let notable = |measure| slowest(runs, measure).filter(|(_, over)| *over >= NOTABLE);
    match (notable(Measure::GpuTime), notable(Measure::Computation)) {
        (Some((slowest, over)), _) => {
            text.push_str(&format!(": {slowest}, {} over the median GPU time", format_ratio(over)));
            text.push_str(&slow_hosts(runs, Measure::GpuTime));
        }
        (None, Some((slowest, over))) => {
            text.push_str(&format!(": {slowest}, {} over the median", format_ratio(over)));
            text.push_str(&slow_hosts(runs, Measure::Computation));
            text.push_str(&format!("; GPU times are within {}", format_ratio(NOTABLE)));
        }
        (None, None) if slowest(runs, Measure::GpuTime).is_some() => {
            text.push_str(&format!(": no rank is more than {} over the median", format_ratio(NOTABLE)))
        }
        (None, None) => text.push_str("; no steps with GPU time"),
    }
    text.push('.');
    text
}

/// Clause on hosts with several ranks, all of them slow: then it may be the host. Empty if there are none.
fn slow_hosts(runs: &[RunOfFleet<'_>], measure: Measure) -> String {
    let mut slow: Vec<(&str, usize, f64)> = Vec::new();
    for run in runs {
        // A rank may have several GPUs.
        let mut by_host: BTreeMap<&str, (Vec<&RankOfRun<'_>>, f64)> = BTreeMap::new();
        for rank in &run.ranks {
            let host = rank.file.and_then(|file| file.host);
            if let (Some(host), Some(over)) = (host, rank.over_median(measure)) {
                let (ranks, least) = by_host.entry(host).or_insert((Vec::new(), f64::MAX));
                ranks.push(rank);
                *least = least.min(over);
            }
        }
        if by_host.len() > 1 {
            let hosts =
                by_host.into_iter().map(|(host, (ranks, least))| (host, n_ranks(ranks.into_iter()), least));
            slow.extend(hosts.filter(|(_, n_ranks, least)| *n_ranks > 1 && *least >= NOTABLE));
        }
    }
    sort::by(&mut slow, |a, b| b.2.total_cmp(&a.2));
    let Some((host, n_ranks, least)) = slow.first() else { return String::new() };
    let others = match slow.len() as u64 - 1 {
        0 => String::new(),
        n => format!(", and all ranks of {} are over it", counted(n, "more host", "more hosts")),
    };
    format!("; all {n_ranks} ranks of host {host} are at least {} over it{others}", format_ratio(*least))
}

fn warn(runs: &[RunOfFleet<'_>], report: &mut Report) {
    let sum = |get: fn(&RunOfFleet<'_>) -> u64| runs.iter().map(get).fold(0, u64::saturating_add);
    let n_interrupted = sum(|run| run.n_interrupted);
    if n_interrupted > 0 {
        report.warning(format!(
            "{} left out: no part of table=files has the same name, so the call of tracedrop fleet add was interrupted. Add these files again.",
            counted(n_interrupted, "step of an incomplete part", "steps of incomplete parts")
        ));
    }
    let n_ambiguous = sum(|run| run.n_ambiguous);
    if n_ambiguous > 0 {
        report.warning(format!(
            "{} left out: several files have the same rank, or none, so it is unknown which file they belong to.",
            counted(n_ambiguous, "step", "steps")
        ));
    }
    if runs.iter().any(|run| !run.has_files && !run.steps.is_empty()) {
        report.info("Without table=files, hosts and file names are unknown, and so are files that cannot be read. Open the whole folder of the dataset.");
    }
    if runs.iter().any(|run| run.has_files && run.steps.is_empty()) {
        report.info(
            "Without rows of table=steps, GPU times are unknown. Open the whole folder of the dataset.",
        );
    }
}
