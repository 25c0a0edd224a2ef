//! Ranks of one distributed run: time breakdown by rank, stragglers and waits.

mod charts;
pub mod clocks;
pub mod files;
pub mod sequences;
mod tables;
pub mod waits;

use self::clocks::Clocks;
use self::files::{Files, LeftOut, MAX_LISTED, Rank};
use self::sequences::{MatchedBy, Sequences};
use self::waits::Waits;
use super::gpu::parts::{Activity, Parts};
use super::gpu::stats::share;
use super::gpu::{self, GpuTrace};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Facts, Report};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "gpu-ranks", title: "Ranks", applies, run, group: Group::Summary, is_late: false };

/// Tables that findings read.
pub const RANKS: TableHandle = TableHandle { report: &INFO, id: "ranks" };
pub const STRAGGLERS: TableHandle = TableHandle { report: &INFO, id: "stragglers" };

/// Column of the table of ranks that is there where they recorded different numbers of steps.
pub const PER_STEP: &str = "computation_per_step";

/// Share of the longest recording from which another is as long, so that their totals can be compared.
const ALIKE: f64 = 0.9;

fn applies(run: &Run) -> bool {
    let has_work = |trace: &&Trace| gpu::has_work(trace);
    run.traces.iter().filter(has_work).nth(1).is_some()
}

fn run(context: &Context<'_>) -> Report {
    let mut ranks = Ranks::new(context.gpu());
    for trace in context.run.traces.iter().filter(|trace| !gpu::is_of_gpu(trace)) {
        let why = "no GPU activity".to_string();
        ranks.files.left_out.push(LeftOut { file: &trace.source.file_name, rank: None, why });
    }
    ranks.report()
}

/// Time of a GPU of a rank.
pub struct RankTime {
    /// Index into the ranks.
    pub rank: usize,
    /// Index into [`gpu::GpuModel::devices`].
    pub device: u32,
    /// From the start of its first kernel or copy to the end of its last.
    pub parts: Parts,
}

/// All results across ranks.
pub struct Ranks<'a, 'b> {
    /// Files by rank.
    pub files: Files<'a, 'b>,
    /// Matched collectives.
    pub sequences: Sequences,
    /// Clock offsets.
    pub clocks: Clocks,
    /// Waits and stragglers.
    pub waits: Waits,
    /// Time of each GPU, rank by rank.
    pub times: Vec<RankTime>,
}

impl<'a, 'b> Ranks<'a, 'b> {
    /// Compares all of `traces` that belong to one run.
    pub fn new(traces: &'a [GpuTrace<'b>]) -> Ranks<'a, 'b> {
        let files = Files::new(traces);
        let sequences = Sequences::new(&files.ranks);
        let clocks = Clocks::aligned(&files.ranks, &sequences);
        let waits = Waits::new(files.ranks.len(), &sequences, &clocks);
        let times = files.ranks.iter().enumerate().flat_map(|(number, rank)| times(number, rank)).collect();
        Ranks { files, sequences, clocks, waits, times }
    }

    /// Text for the rank at an index.
    fn label(&self, rank: usize) -> String {
        self.files.ranks.get(rank).map_or(String::new(), |rank| rank.rank.to_string())
    }

    fn report(&self) -> Report {
        let mut report = Report::new(INFO.id, INFO.title);
        report.summary = self.summary();
        if self.files.ranks.len() < 2 {
            report.table(self.left_out_table());
            return report;
        }
        report.facts(self.facts());
        self.add_warnings(&mut report);
        // Without shared clocks or collectives the tables would be empty; warnings say so.
        let has_collectives = !self.waits.collectives.is_empty();
        if has_collectives {
            report.table(self.stragglers_table());
        }
        report.chart(self.ranks_chart());
        report.table(self.ranks_table());
        if !self.files.left_out.is_empty() {
            report.table(self.left_out_table());
        }
        if let Some(chart) = self.arrivals_chart() {
            report.chart(chart);
        }
        if has_collectives {
            report.table(self.kinds_table());
            report.table(self.collectives_table());
        }
        self.add_notes(&mut report);
        report
    }

    /// The ranks that delayed the others longest: several if equally long, none if no rank did.
    fn stragglers(&self) -> Vec<usize> {
        let ranks = &self.waits.ranks;
        let longest = ranks.iter().map(|rank| rank.held_up).max().filter(|ns| *ns > 0);
        (0..ranks.len()).filter(|rank| Some(ranks[*rank].held_up) == longest).collect()
    }

    /// Wait time and total time in compared collectives, over all ranks, in nanoseconds.
    fn waiting(&self) -> (i64, i64) {
        self.waits.ranks.iter().fold((0, 0), |(wait, all): (i64, i64), rank| {
            (wait.saturating_add(rank.wait), all.saturating_add(rank.communication))
        })
    }

    /// Compute time of each GPU in nanoseconds, and whether it is per step, as where ranks recorded different numbers of steps. `None`
    /// if recordings differ in length and have no steps: then totals say nothing about balance.
    fn computation(&self) -> Option<(Vec<i64>, bool)> {
        let all = || self.times.iter().map(|time| time.parts.computation);
        let steps: Vec<usize> = self.files.ranks.iter().map(|rank| rank.gpu.steps.len()).collect();
        if steps.windows(2).all(|pair| pair[0] == pair[1]) {
            let lengths = || self.times.iter().map(|time| time.parts.total);
            let (longest, shortest) = (lengths().max()?, lengths().min()?);
            let is_alike = steps.iter().any(|n| *n > 0) || shortest as f64 >= ALIKE * longest as f64;
            return is_alike.then(|| (all().collect(), false));
        }
        let per_step = |time: &RankTime| {
            let n = steps.get(time.rank).filter(|n| **n > 0)?;
            Some(time.parts.computation / *n as i64)
        };
        Some((self.times.iter().map(per_step).collect::<Option<Vec<i64>>>()?, true))
    }

    /// Longest compute time of a GPU divided by the mean of all: 1 if even.
    pub fn imbalance(&self) -> Option<f64> {
        let (all, _) = self.computation()?;
        let sum: i64 = all.iter().copied().fold(0, i64::saturating_add);
        share(all.iter().copied().max()?, sum).map(|share| share * all.len() as f64)
    }

    fn summary(&self) -> String {
        let n = self.files.ranks.len() as u64;
        if n < 2 {
            let left = match &self.files.ranks[..] {
                [one] => format!(": only rank {} is left", one.rank),
                _ => String::new(),
            };
            return format!(
                "These files cannot be compared as ranks of one run{left}. See the table for reasons."
            );
        }
        let mut text = counted(n, "rank", "ranks");
        let (wait, all) = self.waiting();
        match share(wait, all) {
            Some(share) => text
                .push_str(&format!("; {:.1}% of collective time is waiting for other ranks", 100.0 * share)),
            None => {
                text.push_str("; wait times are unknown because no shared collective aligns their clocks")
            }
        }
        let stragglers = self.stragglers();
        match stragglers[..] {
            [] => {}
            [straggler] => {
                let waits = &self.waits.ranks[straggler];
                text.push_str(&format!(
                    ". Rank {} is the straggler: {}, {} of total delay",
                    self.label(straggler),
                    last_in(waits.n_last, waits.n_last_known, waits.n_collectives),
                    format_ns(waits.held_up)
                ));
            }
            [first, ..] => {
                let ranks = stragglers.iter().filter_map(|rank| Some(self.files.ranks.get(*rank)?.rank));
                let ranks: Vec<i64> = ranks.collect();
                let held_up = self.waits.ranks[first].held_up;
                text.push_str(&format!(". {}", no_single_straggler(&ranks, held_up)));
            }
        }
        text.push('.');
        text
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::new("Ranks");
        let n = self.files.ranks.len() as u64;
        facts.push("ranks", "Ranks compared", n, Unit::Count);
        if let Some(size) = self.files.world_size {
            facts
                .push("world_size", "World size", size, Unit::Count)
                .hint("ranks in the run, from the files");
        }
        let n = self.waits.collectives.len() as u64;
        facts.push("collectives", "Collectives", n, Unit::Count).hint("found on more than one rank");
        let (wait, all) = self.waiting();
        facts
            .push("waiting", "Waiting", share(wait, all), Unit::Ratio)
            .hint("share of collective time, over all ranks, before the last rank arrived");
        facts
            .push("imbalance", "Compute imbalance", self.imbalance(), Unit::Plain)
            .hint("longest compute time of a GPU divided by the mean, per step where ranks recorded different numbers of steps; 1 is balanced");
        let clocks = || self.clocks.clocks.iter().flatten();
        facts
            .push(
                "clock_offset",
                "Clock offset",
                clocks().map(|clock| clock.offset.saturating_abs()).max(),
                Unit::Ns,
            )
            .hint("largest correction relative to the reference clock");
        facts
            .push(
                "clock_uncertainty",
                "Clock uncertainty",
                clocks().map(|clock| clock.uncertainty).max(),
                Unit::Ns,
            )
            .hint("largest over ranks; ignore smaller time differences");
        facts
    }

    fn add_warnings(&self, report: &mut Report) {
        self.warn_of_missing(report);
        self.warn_of_clocks(report);
        let sum =
            |get: fn(&sequences::Sequence) -> u64| self.sequences.sequences.iter().map(get).sum::<u64>();
        let n_unmatched = sum(|sequence| sequence.n_unmatched);
        if n_unmatched > 0 {
            report.warning(format!(
                "{} no counterpart on the other ranks of the group and {} left out. Recording may have started or stopped at \
                 different points.",
                counted(n_unmatched, "collective has", "collectives have"),
                if n_unmatched == 1 { "is" } else { "are" }
            ));
        }
        if self.sequences.sequences.iter().any(|sequence| sequence.matched_by == MatchedBy::UnequalOrder) {
            report.warning(
                "Some collectives occur a different number of times on each rank and cannot be matched; these are not compared.",
            );
        }
        let mut uneven: Vec<usize> =
            self.sequences.sequences.iter().flat_map(|sequence| sequence.uneven.iter().copied()).collect();
        uneven.sort_unstable();
        uneven.dedup();
        if !uneven.is_empty() {
            let ranks = uneven.iter().filter_map(|rank| Some(self.files.ranks.get(*rank)?.rank));
            let ranks: Vec<i64> = ranks.collect();
            let n = ranks.len() as u64;
            report.warning(format!(
                "Some collectives of {} {} occur a different number of times than on most ranks of the group and cannot be matched; \
                 these are not compared.",
                if n == 1 { "rank" } else { "ranks" },
                listed(&ranks, n)
            ));
        }
        let n_differing = sum(|sequence| sequence.n_differing);
        if n_differing > 0 {
            report.warning(format!(
                "{} different message sizes across ranks, so the match may be wrong.",
                counted(n_differing, "collective has", "collectives have")
            ));
        }
    }

    fn warn_of_missing(&self, report: &mut Report) {
        if let Some(missing) = self.files.missing().filter(|missing| missing.n > 0) {
            let so = match self.waits.collectives.is_empty() {
                true => "",
                false => ", so waits shown are lower bounds",
            };
            let n = missing.n;
            let (ranks, are) = (counted(n, "rank", "ranks"), if n == 1 { "is" } else { "are" });
            let mut text = format!("{ranks} of the run {are} missing ({}){so}.", listed(&missing.first, n));
            let left_out = &missing.left_out;
            if !left_out.is_empty() {
                let n = left_out.len() as u64;
                let word = if n == 1 { "Files of rank" } else { "Files of ranks" };
                text.push_str(&format!(
                    " {word} {} are left out; see “Files not compared”.",
                    listed(left_out, n)
                ));
            }
            report.warning(text);
        }
        let impossible = self.files.impossible();
        if let (false, Some(world)) = (impossible.is_empty(), self.files.world_size) {
            let n = impossible.len() as u64;
            report.warning(format!(
                "{} {} cannot be in a run of {}, so these files may be of different runs.",
                if n == 1 { "Rank" } else { "Ranks" },
                listed(&impossible, n),
                counted(u64::try_from(world).unwrap_or(0), "rank", "ranks"),
            ));
        }
    }

    fn warn_of_clocks(&self, report: &mut Report) {
        if !self.clocks.are_any_comparable() {
            let all = &self.sequences.sequences;
            let is_matched = |sequence: &&sequences::Sequence| sequence.matched_by != MatchedBy::UnequalOrder;
            report.warning(if all.is_empty() {
                "The ranks share no collective, so their clocks cannot be aligned. Times across ranks are not compared."
            } else if !all.iter().any(|sequence| is_matched(&sequence)) {
                "No collective can be matched across ranks, so their clocks cannot be aligned. Times across ranks are not compared."
            } else if !all.iter().filter(is_matched).any(|sequence| sequence.is_synchronising) {
                "The shared collectives do not synchronize all ranks (a broadcast doesn't), so clocks cannot be aligned. Times across \
                 ranks are not compared."
            } else {
                "Similar collectives on these ranks never overlap, whatever the clock offset. They may belong to different groups \
                 or be recorded at different times. Times across ranks are not compared."
            });
            return;
        }
        let alone: Vec<String> = (0..self.files.ranks.len())
            .filter(|rank| self.clocks.clocks[*rank].is_none())
            .map(|rank| self.label(rank))
            .collect();
        if !alone.is_empty() {
            let (word, their, are) = match alone.len() {
                1 => ("Rank", "its clock", "its times are"),
                _ => ("Ranks", "their clocks", "their times are"),
            };
            report.warning(format!(
                "{word} {}: no collective can be matched with other ranks, so {their} cannot be aligned and {are} not compared.",
                alone.join(", ")
            ));
        }
        self.warn_of_others(report);
    }

    /// Warns about ranks with collectives that don't match the others.
    fn warn_of_others(&self, report: &mut Report) {
        let mut ranks: Vec<usize> = Vec::new();
        for (sequence, same) in self.sequences.sequences.iter().zip(&self.clocks.is_same) {
            if sequence.matched_by == MatchedBy::UnequalOrder {
                continue;
            }
            let differing =
                sequence.lines.iter().zip(same).filter(|(_, same)| sequence.is_synchronising && !**same);
            ranks.extend(differing.map(|(line, _)| line.rank));
        }
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| self.clocks.clocks[*rank].is_some());
        if !ranks.is_empty() {
            let labels: Vec<String> = ranks.into_iter().map(|rank| self.label(rank)).collect();
            report.warning(format!(
                "Some collectives of {} {} don't overlap with their counterparts in the group, so they are not the same ones and \
                 are left out.",
                if labels.len() == 1 { "rank" } else { "ranks" },
            labels.join(", ")
            ));
        }
    }

    /// Says why no rank is called the straggler though ranks wait.
    fn note_on_straggler(&self, report: &mut Report) {
        let is_any_certain = self.waits.ranks.iter().any(|rank| rank.n_last_known > 0);
        let known = || self.clocks.clocks.iter().flatten();
        let uncertainty = known().map(|clock| clock.uncertainty).max().unwrap_or(0);
        if is_any_certain || self.waiting().0 == 0 || uncertainty == 0 {
            return;
        }
        let mut text = format!(
            "No straggler can be named: the last two ranks at each collective arrive less far apart than the clock uncertainty of {}. \
             Waits are as uncertain.",
            format_ns(uncertainty)
        );
        // 0 for the reference itself.
        let n = known().map(|clock| clock.n_collectives).filter(|n| *n > 0).min();
        if let Some(n) = n.filter(|n| *n < clocks::MIN_FOR_SPREAD) {
            text.push_str(&format!(
                " Clocks are known better from {} shared collectives on; some ranks share {n}.",
                clocks::MIN_FOR_SPREAD
            ));
        }
        report.info(text);
    }

    fn add_notes(&self, report: &mut Report) {
        self.note_on_straggler(report);
        if self.sequences.is_by_kernel {
            report.info(
                "Some collectives have no recorded group. They are matched by kernel name and order, over all ranks.",
            );
        }
        if self.sequences.n_alone > 0 {
            let n = counted(self.sequences.n_alone, "collective belongs", "collectives belong");
            report.info(format!("{n} to groups with only one rank loaded."));
        }
        let from_names: Vec<String> = self
            .files
            .ranks
            .iter()
            .filter(|rank| rank.is_from_name)
            .map(|rank| rank.rank.to_string())
            .collect();
        if !from_names.is_empty() {
            report.info(format!(
                "Rank taken from the file name, as the file has none: {}.",
                from_names.join(", ")
            ));
        }
    }
}

/// In how many collectives a rank is last, among those whose last rank the clocks can tell.
pub fn last_in(n_last: u64, n_known: u64, n_collectives: u64) -> String {
    let text = format!("last in {n_last} of {}", counted(n_known, "collective", "collectives"));
    match n_collectives.saturating_sub(n_known) {
        0 => text,
        n => format!("{text} ({} within the clock uncertainty)", counted(n, "more is", "more are")),
    }
}

/// `No single straggler: ranks 0, 1 each delay the others by 900.0 µs`.
pub fn no_single_straggler(ranks: &[i64], held_up: i64) -> String {
    let ranks = listed(ranks, ranks.len() as u64);
    format!("No single straggler: ranks {ranks} each delay the others by {}", format_ns(held_up))
}

/// The first of `n` ranks, as text: `1, 2, 5, …`.
pub fn listed(ranks: &[i64], n: u64) -> String {
    let shown: Vec<String> = ranks.iter().take(MAX_LISTED).map(i64::to_string).collect();
    format!("{}{}", shown.join(", "), if shown.len() as u64 == n { "" } else { ", …" })
}

/// Time of each GPU of a rank.
fn times(number: usize, rank: &Rank<'_, '_>) -> Vec<RankTime> {
    let of_device = |device: u32| {
        let activity = Activity::new(rank.gpu, device);
        Some(RankTime { rank: number, device, parts: activity.parts(activity.window?) })
    };
    (0..rank.gpu.devices.len() as u32).filter_map(of_device).collect()
}
