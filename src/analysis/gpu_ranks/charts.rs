//! Charts of ranks: time breakdown, and arrival at collectives.

use super::waits::Shared;
use super::{RankTime, Ranks};
use crate::analysis::gpu::parts::chart_parts;
use crate::base::sort;
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Bars, Chart, Line, Lines, Over, Plot, Tone};

/// Maximum horizontal bars; more are drawn as a strip.
const MAX_LYING: usize = 40;
/// Maximum bars of a strip: more would be too narrow to see, and each costs rendering time.
const MAX_BARS: usize = 160;
/// Maximum lines that can be distinguished.
const MAX_LINES: usize = 6;
/// Maximum intervals of a line; the largest value of each is drawn.
const MAX_POINTS: usize = 400;

impl Ranks<'_, '_> {
    /// One bar per GPU, in order of rank.
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
        let caption = if rows.len() > MAX_BARS { "Each bar is the mean of adjacent ranks." } else { "" };
        Chart {
            id: "ranks_chart".into(),
            title: "Time breakdown by rank".to_string(),
            caption: caption.to_string(),
            plot: Plot::Bars(bars.at_most(MAX_BARS)),
        }
    }

    /// Lateness of each rank relative to the first arrival, per collective in order of time. `None` for fewer than two collectives
    /// with known times.
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
            sort::by_key(&mut late, |(rank, sum)| (std::cmp::Reverse(*sum), *rank));
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
            let name = "latest other rank".to_string();
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
        let mut text =
            "Delay of each rank after the first arrival, for each collective of all groups in order of time."
                .to_string();
        if n_ranks > MAX_LINES {
            text.push_str(&format!(" Shows the {} latest ranks; the others are combined.", MAX_LINES - 1));
        }
        let uncertainty = self.clocks.clocks.iter().flatten().map(|clock| clock.uncertainty).max();
        if let Some(uncertainty) = uncertainty.filter(|ns| *ns > 0) {
            text.push_str(&format!(
                " Clock uncertainty is {}; ignore smaller differences.",
                format_ns(uncertainty)
            ));
        }
        text
    }

    /// Collectives with times on the most common clock, in order of start.
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
        sort::by_key(&mut collectives, |shared| shared.times.as_ref().map(|times| times.start));
        collectives
    }
}
