//! Pictures of ranks: where the time of each went, and who came late.

use super::waits::Shared;
use super::{RankTime, Ranks};
use crate::analysis::gpu::parts::chart_parts;
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Bars, Chart, Line, Lines, Over, Plot, Tone};

/// Bars that lie one below the other, at most; of more there is a strip.
const MAX_LYING: usize = 40;
/// Bars of a strip, at most: more could not be told apart, and each costs the page time.
const MAX_BARS: usize = 160;
/// Lines that can be told apart.
const MAX_LINES: usize = 6;
/// Stretches that a line is divided into, at most; of each the largest value is drawn.
const MAX_POINTS: usize = 400;

impl Ranks<'_, '_> {
    /// One bar a GPU, in order of rank.
    pub(super) fn ranks_chart(&self) -> Chart {
        let rows = &self.times;
        let of_rank = |row: &RankTime| rows.iter().filter(|other| other.rank == row.rank).count();
        let label = |row: &RankTime| match (of_rank(row), self.files.ranks.get(row.rank)) {
            (2.., Some(rank)) => format!("rank {}, {}", rank.rank, rank.gpu.device_label(row.device)),
            _ => format!("rank {}", self.label(row.rank)),
        };
        let bars = Bars {
            labels: rows.iter().map(label).collect(),
            parts: chart_parts(rows.iter().map(|row| &row.parts)),
            unit: Unit::Ns,
            is_strip: rows.len() > MAX_LYING,
            what: format!("{} ranks in order", self.files.ranks.len()),
        };
        let caption = if rows.len() > MAX_BARS { "A bar is the mean of neighbouring ranks." } else { "" };
        Chart {
            id: "ranks_chart".into(),
            title: "Where the time of each rank went".to_string(),
            caption: caption.to_string(),
            plot: Plot::Bars(bars.at_most(MAX_BARS)),
        }
    }

    /// How much later than the first each rank came to each collective, in order of time. `None` where that is known of
    /// fewer than two collectives.
    pub(super) fn arrivals_chart(&self) -> Option<Chart> {
        let collectives = self.collectives_of_one_clock();
        if collectives.len() < 2 {
            return None;
        }
        let arrivals = |shared: &Shared| self.waits.arrivals(shared, &self.sequences, &self.clocks);
        let mut late: Vec<(usize, Option<i64>)> =
            (0..self.files.ranks.len()).map(|rank| (rank, None)).collect();
        for (rank, ns) in collectives.iter().flat_map(|shared| arrivals(shared)) {
            if let Some((_, sum)) = late.get_mut(rank) {
                *sum = Some(sum.unwrap_or(0).saturating_add(ns));
            }
        }
        late.retain(|(_, sum)| sum.is_some());
        let n_ranks = late.len();
        if n_ranks > MAX_LINES {
            late.sort_by_key(|(rank, sum)| (std::cmp::Reverse(*sum), *rank));
            late.truncate(MAX_LINES - 1);
            late.sort_unstable();
        }
        let mut lines: Vec<Line> = (0u8..)
            .zip(&late)
            .map(|(number, (rank, _))| Line {
                name: format!("rank {}", self.label(*rank)),
                tone: Tone::Other(number),
                points: Vec::new(),
            })
            .collect();
        let mut others: Vec<(i64, f64)> = Vec::new();
        for (number, shared) in (1..).zip(&collectives) {
            let mut latest = None;
            for (rank, ns) in arrivals(shared) {
                match late.iter().position(|(known, _)| *known == rank) {
                    Some(line) => lines[line].points.push((number, ns as f64)),
                    None => latest = latest.max(Some(ns)),
                }
            }
            others.extend(latest.map(|ns| (number, ns as f64)));
        }
        if !others.is_empty() {
            let name = "latest of the others".to_string();
            lines.push(Line { name, tone: Tone::Other(lines.len() as u8), points: others });
        }
        let lines = lines.into_iter().map(|line| line.at_most(MAX_POINTS)).collect();
        Some(Chart {
            id: "arrivals_chart".into(),
            title: "Arrival at collectives".to_string(),
            caption: self.arrivals_caption(n_ranks),
            plot: Plot::Lines(Lines::new(lines, Unit::Ns, Over::Number)),
        })
    }

    fn arrivals_caption(&self, n_ranks: usize) -> String {
        let mut text = "How much later than the first each rank came to each collective, of all groups in order of time."
            .to_string();
        if n_ranks > MAX_LINES {
            text.push_str(&format!(
                " The {} ranks that came latest in all have lines of their own.",
                MAX_LINES - 1
            ));
        }
        let uncertainty = self.clocks.clocks.iter().flatten().map(|clock| clock.uncertainty).max();
        if let Some(uncertainty) = uncertainty.filter(|ns| *ns > 0) {
            text.push_str(&format!(
                " Clocks are known to within {}; what is less than that apart means nothing.",
                format_ns(uncertainty)
            ));
        }
        text
    }

    /// Collectives whose times are known by one clock, that of most of them, in order of start.
    fn collectives_of_one_clock(&self) -> Vec<&Shared> {
        let reference = |shared: &Shared| {
            let first = shared.times.as_ref()?.first;
            Some(self.clocks.clocks.get(first).copied().flatten()?.reference)
        };
        let mut counts = vec![0u64; self.files.ranks.len()];
        for rank in self.waits.collectives.iter().filter_map(reference) {
            if let Some(count) = counts.get_mut(rank) {
                *count += 1;
            }
        }
        let most = (0..counts.len()).rev().max_by_key(|rank| counts[*rank]);
        let mut collectives: Vec<&Shared> = self
            .waits
            .collectives
            .iter()
            .filter(|shared| most.is_some() && reference(shared) == most)
            .collect();
        collectives.sort_by_key(|shared| shared.times.as_ref().map(|times| times.start));
        collectives
    }
}
