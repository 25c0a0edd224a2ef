//! Many ranks of one distributed run, read together: where the time of each went, and who waited for whom.

mod charts;
pub mod clocks;
pub mod files;
pub mod sequences;
mod tables;
pub mod waits;

use self::clocks::Clocks;
use self::files::{Files, LeftOut, Rank};
use self::sequences::{MatchedBy, Sequences};
use self::waits::Waits;
use super::gpu::parts::{Activity, Parts};
use super::gpu::stats::share;
use super::gpu::{self, GpuTrace};
use super::{AnalysisInfo, Context};
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Facts, Report};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "gpu-ranks", title: "Ranks", applies, run, reference: None, is_late: false };

fn applies(run: &Run) -> bool {
    let has_work = |trace: &&Trace| gpu::has_work(trace);
    run.traces.iter().filter(has_work).nth(1).is_some()
}

fn run(context: &Context<'_>) -> Report {
    let mut ranks = Ranks::new(context.gpu());
    for trace in context.run.traces.iter().filter(|trace| !gpu::is_of_gpu(trace)) {
        let why = "it holds no work of a GPU".to_string();
        ranks.files.left_out.push(LeftOut { file: &trace.source.file_name, rank: None, why });
    }
    ranks.report()
}

/// What a GPU of a rank did.
pub struct RankTime {
    /// Index into the ranks.
    pub rank: usize,
    /// Index into [`gpu::GpuModel::devices`].
    pub device: u32,
    /// From the start of its first work to the end of its last.
    pub parts: Parts,
}

/// Everything there is to say of ranks together.
pub struct Ranks<'a, 'b> {
    /// Which file is of which rank.
    pub files: Files<'a, 'b>,
    /// Which collective is which.
    pub sequences: Sequences,
    /// How far clocks are apart.
    pub clocks: Clocks,
    /// Who waits for whom.
    pub waits: Waits,
    /// What each GPU did, rank by rank.
    pub times: Vec<RankTime>,
}

impl<'a, 'b> Ranks<'a, 'b> {
    /// Compares all of `traces` that belong together.
    pub fn new(traces: &'a [GpuTrace<'b>]) -> Ranks<'a, 'b> {
        let files = Files::new(traces);
        let sequences = Sequences::new(&files.ranks);
        let clocks = Clocks::aligned(&files.ranks, &sequences);
        let waits = Waits::new(files.ranks.len(), &sequences, &clocks);
        let times = files.ranks.iter().enumerate().flat_map(|(number, rank)| times(number, rank)).collect();
        Ranks { files, sequences, clocks, waits, times }
    }

    /// The rank of that index, for people.
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
        report.chart(self.ranks_chart());
        report.table(self.ranks_table());
        if !self.files.left_out.is_empty() {
            report.table(self.left_out_table());
        }
        if let Some(chart) = self.arrivals_chart() {
            report.chart(chart);
        }
        // Without clocks or collectives in common the warnings say so, and tables would be empty.
        if !self.waits.collectives.is_empty() {
            report.table(self.stragglers_table());
            report.table(self.kinds_table());
            report.table(self.collectives_table());
        }
        self.add_notes(&mut report);
        report
    }

    /// The rank that held up the others longest.
    fn straggler(&self) -> Option<usize> {
        let ranks = &self.waits.ranks;
        (0..ranks.len()).max_by_key(|rank| ranks[*rank].held_up).filter(|rank| ranks[*rank].held_up > 0)
    }

    /// Waiting and all communication that was compared, of all ranks, nanoseconds.
    fn waiting(&self) -> (i64, i64) {
        self.waits.ranks.iter().fold((0, 0), |(wait, all): (i64, i64), rank| {
            (wait.saturating_add(rank.wait), all.saturating_add(rank.communication))
        })
    }

    /// Largest computation of a GPU by the mean of all: 1 if all compute as long.
    pub fn imbalance(&self) -> Option<f64> {
        let all = || self.times.iter().map(|time| time.parts.computation);
        let sum: i64 = all().fold(0, i64::saturating_add);
        share(all().max()?, sum).map(|share| share * self.times.len() as f64)
    }

    fn summary(&self) -> String {
        let n = self.files.ranks.len() as u64;
        if n < 2 {
            return "These files can not be compared as ranks of one run; the table says why.".to_string();
        }
        let mut text = counted(n, "rank", "ranks");
        let (wait, all) = self.waiting();
        match share(wait, all) {
            Some(share) => text.push_str(&format!(
                "; {:.1} % of the time in collectives is waiting for other ranks",
                100.0 * share
            )),
            None => text
                .push_str("; waiting can not be told, as they share no collective that tells their clocks"),
        }
        if let Some(straggler) = self.straggler() {
            let waits = &self.waits.ranks[straggler];
            text.push_str(&format!(
                ". Rank {} holds the others up most: it comes last in {} of {}, by {} in all",
                self.label(straggler),
                waits.n_last,
                counted(waits.n_collectives, "collective", "collectives"),
                format_ns(waits.held_up)
            ));
        }
        text.push('.');
        text
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::new("Ranks");
        let n = self.files.ranks.len() as u64;
        facts.push("ranks", "Ranks compared", n, Unit::Count);
        if let Some(size) = self.files.world_size {
            facts.push("world_size", "Ranks of the run", size, Unit::Count).hint("as the files say");
        }
        let n = self.waits.collectives.len() as u64;
        facts.push("collectives", "Collectives", n, Unit::Count).hint("found on more than one rank");
        let (wait, all) = self.waiting();
        facts
            .push("waiting", "Waiting", share(wait, all), Unit::Ratio)
            .hint("share of the time in collectives, of all ranks, before the last rank came");
        facts
            .push("imbalance", "Imbalance of computation", self.imbalance(), Unit::Plain)
            .hint("longest computation of a GPU by the mean of all; 1 is even");
        let clocks = || self.clocks.clocks.iter().flatten();
        facts
            .push(
                "clock_offset",
                "Clocks apart",
                clocks().map(|clock| clock.offset.saturating_abs()).max(),
                Unit::Ns,
            )
            .hint("the largest offset to the reference that was taken into account");
        facts
            .push(
                "clock_uncertainty",
                "Clocks uncertain",
                clocks().map(|clock| clock.uncertainty).max(),
                Unit::Ns,
            )
            .hint("the largest; differences of times below it mean nothing");
        facts
    }

    fn add_warnings(&self, report: &mut Report) {
        if let Some(n) = self.files.n_missing().filter(|n| *n > 0) {
            let so = match self.waits.collectives.is_empty() {
                true => "",
                false => ", so the last to come may be one of them: waits are at least what is shown",
            };
            let (ranks, are) = (counted(n, "rank", "ranks"), if n == 1 { "is" } else { "are" });
            report.warning(format!("{ranks} of the run {are} not here{so}."));
        }
        self.warn_of_clocks(report);
        let sum =
            |get: fn(&sequences::Sequence) -> u64| self.sequences.sequences.iter().map(get).sum::<u64>();
        let n_unmatched = sum(|sequence| sequence.n_unmatched);
        if n_unmatched > 0 {
            report.warning(format!(
                "{} of single ranks have no counterpart on another rank of their group and are left out; the recordings may have \
                 begun or ended at different places.",
                counted(n_unmatched, "collective", "collectives")
            ));
        }
        if self.sequences.sequences.iter().any(|sequence| sequence.matched_by == MatchedBy::UnequalOrder) {
            report.warning(
                "Ranks have different numbers of some collectives, and nothing tells which is which; these are not compared.",
            );
        }
        let n_differing = sum(|sequence| sequence.n_differing);
        if n_differing > 0 {
            report.warning(format!(
                "{} have messages of different sizes on different ranks, which can not be: they may not be the same ones.",
                counted(n_differing, "collective", "collectives")
            ));
        }
    }

    fn warn_of_clocks(&self, report: &mut Report) {
        if !self.clocks.are_any_comparable() {
            let n = self.clocks.is_same.iter().flatten().count();
            report.warning(if n == 0 {
                "The ranks have no collective in common, so nothing tells how far their clocks are apart: times across ranks are not \
                 compared."
            } else {
                "The collectives that look alike on these ranks never run at the same time, however the clocks are moved. They may be \
                 of different groups, not ones that all ranks wait for, or recorded at different times, so times across ranks are not \
                 compared."
            });
            return;
        }
        let alone: Vec<String> = (0..self.files.ranks.len())
            .filter(|rank| self.clocks.clocks[*rank].is_none())
            .map(|rank| self.label(rank))
            .collect();
        if !alone.is_empty() {
            let (word, their, are) = match alone.len() {
                1 => ("Rank", "its clock is", "its times are"),
                _ => ("Ranks", "their clocks are", "their times are"),
            };
            report.warning(format!(
                "{word} {}: no collective that runs at the same time as on other ranks, so how far {their} apart is not known and {are} \
                 not compared.",
                alone.join(", ")
            ));
        }
        self.warn_of_others(report);
    }

    /// Says of which ranks some collectives are not those of the others.
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
                "Some collectives of rank {} do not run at the same time as those of the same number on other ranks of their group, \
                 so they are not the same ones and are left out.",
                labels.join(", ")
            ));
        }
    }

    fn add_notes(&self, report: &mut Report) {
        if self.sequences.is_by_kernel {
            report.info(
                "Some collectives do not say their group. These were matched by the name of the kernel and their order, over all ranks.",
            );
        }
        if self.sequences.n_alone > 0 {
            let n = counted(self.sequences.n_alone, "collective", "collectives");
            report.info(format!("{n} are of groups of which only one rank is here."));
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
                "The rank is taken from the file's name, as the file does not say it: {}.",
                from_names.join(", ")
            ));
        }
    }
}

/// What each GPU of a rank did.
fn times(number: usize, rank: &Rank<'_, '_>) -> Vec<RankTime> {
    let of_device = |device: u32| {
        let activity = Activity::new(rank.gpu, device);
        Some(RankTime { rank: number, device, parts: activity.parts(activity.window?) })
    };
    (0..rank.gpu.devices.len() as u32).filter_map(of_device).collect()
}
