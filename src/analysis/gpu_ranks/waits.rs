//! Waits and stragglers.

use super::clocks::Clocks;
use super::sequences::{Line, Part, Sequence, Sequences};

/// One collective over all its ranks. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Index into the sequences.
    pub sequence: usize,
    /// Index within the sequence, from 0.
    pub k: usize,
    /// Index into [`Sequences::kinds`].
    pub kind: u32,
    /// Bytes of the whole message.
    pub message: Option<u64>,
    /// Number of ranks compared.
    pub n_ranks: usize,
    /// Shortest duration over ranks: that of a rank that hardly waits (TraceLens: `comm_latency`).
    pub latency: i64,
    /// Times that need aligned clocks; `None` if the collective does not synchronize.
    pub times: Option<Times>,
}

/// Times across ranks, in nanoseconds on the reference clock.
#[derive(Clone, Debug)]
pub struct Times {
    /// Start on the first rank.
    pub start: i64,
    /// Latest minus earliest start (TraceLens: `skew in start time`).
    pub start_skew: i64,
    /// Clock uncertainty between the first and the last rank.
    pub uncertainty: Option<i64>,
    /// Latest minus earliest end (TraceLens: `skew in end time`).
    pub end_skew: i64,
    /// Index of the rank that arrived first; at ties the last of them, as in TraceLens.
    pub first: usize,
    /// Index of the rank that arrived last.
    pub last: usize,
    /// Arrival of the last rank minus the second-to-last: the delay it caused.
    pub held_up: i64,
    /// Whether the clock uncertainty is small enough to be sure which rank was first.
    pub is_first_certain: bool,
    /// Whether the clock uncertainty is small enough to be sure which rank was last.
    pub is_last_certain: bool,
    /// Wait of the rank that waited longest.
    pub longest_wait: i64,
    /// Sum of waits over all ranks.
    pub total_wait: i64,
}

/// Waits of one rank, over all collectives with known [`Shared::times`]. Times are nanoseconds.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RankWaits {
    pub n_collectives: u64,
    /// From its own start to the latest start of any rank (TraceLens: `total_wait_time_us`), at most its own duration.
    pub wait: i64,
    /// Total duration. What is not waiting is transfer: moving and reducing data.
    pub communication: i64,
    /// Collectives whose last rank the clocks can tell.
    pub n_last_known: u64,
    /// Times it arrived last, of those.
    pub n_last: u64,
    /// Collectives whose first rank the clocks can tell.
    pub n_first_known: u64,
    /// Times it arrived first, of those.
    pub n_first: u64,
    /// Sum of [`Times::held_up`] over collectives in which it was certainly last.
    pub held_up: i64,
    /// Sum over the other ranks of the waits in these that it alone caused: after all others had arrived.
    pub caused_wait: i64,
}

impl RankWaits {
    /// Transfer time, in nanoseconds.
    pub fn wire(&self) -> i64 {
        self.communication.saturating_sub(self.wait)
    }
}

/// Waits of all collectives and ranks.
pub struct Waits {
    /// In order of sequence and k. Synchronizing collectives are included only if clocks are aligned.
    pub collectives: Vec<Shared>,
    /// By rank.
    pub ranks: Vec<RankWaits>,
}

/// A part with its times on the reference clock.
#[derive(Clone, Copy)]
struct Placed {
    rank: usize,
    start: i64,
    end: i64,
}

impl Waits {
    /// Waits in all collectives shared by several ranks.
    pub fn new(n_ranks: usize, sequences: &Sequences, clocks: &Clocks) -> Waits {
        let mut waits = Waits { collectives: Vec::new(), ranks: vec![RankWaits::default(); n_ranks] };
        for (number, (sequence, same)) in sequences.sequences.iter().zip(&clocks.is_same).enumerate() {
            waits.add(number, sequence, same, clocks);
        }
        waits
    }

    fn add(&mut self, number: usize, sequence: &Sequence, same: &[bool], clocks: &Clocks) {
        let lines = comparable(sequence, same, clocks);
        if lines.len() < 2 {
            return;
        }
        let mut placed: Vec<Placed> = Vec::with_capacity(lines.len());
        for k in 0..lines.first().map_or(0, |line| line.parts.len()) {
            let parts = || lines.iter().filter_map(|line| line.parts.get(k));
            let Some(shortest) = parts().min_by_key(|part| part.dur()) else { continue };
            placed.clear();
            placed.extend(lines.iter().filter_map(|line| Some(place(line.rank, line.parts.get(k)?, clocks))));
            let times = if sequence.is_synchronising { self.times(&placed, clocks) } else { None };
            self.collectives.push(Shared {
                sequence: number,
                k,
                kind: shortest.kind,
                message: shortest.message,
                n_ranks: lines.len(),
                latency: shortest.dur(),
                times,
            });
        }
    }

    /// Delay of each rank after the first arrival at a collective, with the index of the rank, in nanoseconds on the reference
    /// clock. Empty if times are unknown.
    pub fn arrivals(&self, shared: &Shared, sequences: &Sequences, clocks: &Clocks) -> Vec<(usize, i64)> {
        let of = sequences.sequences.get(shared.sequence).zip(clocks.is_same.get(shared.sequence));
        let (Some(times), Some((sequence, same))) = (&shared.times, of) else { return Vec::new() };
        let late = |line: &Line| {
            let start = clocks.time(line.rank, line.parts.get(shared.k)?.start);
            Some((line.rank, start.saturating_sub(times.start)))
        };
        comparable(sequence, same, clocks).into_iter().filter_map(late).collect()
    }

    /// Computes the times of one collective, and adds its waits to those of the ranks.
    fn times(&mut self, placed: &[Placed], clocks: &Clocks) -> Option<Times> {
        // At ties, the highest rank.
        let last = placed.iter().max_by_key(|part| part.start)?;
        let first = placed.iter().rev().min_by_key(|part| part.start)?;
        let before = placed.iter().filter(|part| part.rank != last.rank).max_by_key(|part| part.start)?;
        let after = placed.iter().filter(|part| part.rank != first.rank).min_by_key(|part| part.start)?;
        let held_up = last.start.saturating_sub(before.start);
        let lead = after.start.saturating_sub(first.start);
        let mut times = Times {
            start: first.start,
            start_skew: last.start.saturating_sub(first.start),
            // If all arrive at once, one rank is both.
            uncertainty: clocks
                .uncertainty(last.rank, if first.rank == last.rank { before.rank } else { first.rank }),
            end_skew: end(placed.iter().max_by_key(|part| part.end))
                .saturating_sub(end(placed.iter().min_by_key(|part| part.end))),
            first: first.rank,
            last: last.rank,
            held_up,
            is_first_certain: clocks.uncertainty(first.rank, after.rank).is_some_and(|ns| lead >= ns),
            is_last_certain: clocks.uncertainty(last.rank, before.rank).is_some_and(|ns| held_up >= ns),
            longest_wait: 0,
            total_wait: 0,
        };
        for part in placed {
            let (dur, wait) = (part.dur(), wait_of(part, last));
            times.longest_wait = times.longest_wait.max(wait);
            times.total_wait = times.total_wait.saturating_add(wait);
            if let Some(rank) = self.ranks.get_mut(part.rank) {
                rank.n_collectives += 1;
                rank.wait = rank.wait.saturating_add(wait);
                rank.communication = rank.communication.saturating_add(dur);
                rank.n_first_known += u64::from(times.is_first_certain);
                rank.n_last_known += u64::from(times.is_last_certain);
            }
        }
        if let Some(rank) = self.ranks.get_mut(first.rank).filter(|_| times.is_first_certain) {
            rank.n_first += 1;
        }
        if let Some(rank) = self.ranks.get_mut(last.rank).filter(|_| times.is_last_certain) {
            rank.n_last += 1;
            rank.held_up = rank.held_up.saturating_add(held_up);
            let caused = |part: &Placed| wait_of(part, last).min(held_up);
            let others = placed.iter().filter(|part| part.rank != last.rank);
            rank.caused_wait = others.map(caused).fold(rank.caused_wait, i64::saturating_add);
        }
        Some(times)
    }
}

impl Placed {
    fn dur(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

/// Wait of a rank for the last one, at most its own duration.
fn wait_of(part: &Placed, last: &Placed) -> i64 {
    last.start.saturating_sub(part.start).min(part.dur())
}

fn end(part: Option<&Placed>) -> i64 {
    part.map_or(0, |part| part.end)
}

fn place(rank: usize, part: &Part, clocks: &Clocks) -> Placed {
    Placed { rank, start: clocks.time(rank, part.start), end: clocks.time(rank, part.end) }
}

/// The lines that match and, for synchronizing sequences, share a reference clock.
fn comparable<'a>(sequence: &'a Sequence, same: &[bool], clocks: &Clocks) -> Vec<&'a Line> {
    let reference =
        |line: &Line| clocks.clocks.get(line.rank).copied().flatten().map(|clock| clock.reference);
    let lines: Vec<&Line> =
        sequence.lines.iter().zip(same).filter(|(_, same)| **same).map(|(line, _)| line).collect();
    if !sequence.is_synchronising {
        return lines;
    }
    // Matching lines have been joined, so there is only one reference.
    let of = lines.iter().find_map(|line| reference(line));
    lines.into_iter().filter(|line| of.is_some() && reference(line) == of).collect()
}
