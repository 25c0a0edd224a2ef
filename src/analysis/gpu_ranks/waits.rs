//! Who waits for whom.

use super::clocks::Clocks;
use super::sequences::{Line, Part, Sequence, Sequences};

/// One collective over all its ranks. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Index into the sequences.
    pub sequence: usize,
    /// It is the k-th of it, from 0.
    pub k: usize,
    /// Index into [`Sequences::kinds`].
    pub kind: u32,
    /// Bytes of the whole message.
    pub message: Option<u64>,
    /// Ranks of which it was compared.
    pub n_ranks: usize,
    /// The shortest duration over ranks, which is that of a rank that hardly waits (TraceLens: `comm_latency`).
    pub latency: i64,
    /// What clocks are needed for; `None` if ranks do not wait for all others in it.
    pub times: Option<Times>,
}

/// What needs times of several ranks. Nanoseconds by the clock of the reference.
#[derive(Clone, Debug)]
pub struct Times {
    /// Start on the rank that came first.
    pub start: i64,
    /// Latest minus earliest start (TraceLens: `skew in start time`).
    pub start_skew: i64,
    /// How far the clocks of the first and the last rank may be wrong against each other.
    pub uncertainty: Option<i64>,
    /// Latest minus earliest end (TraceLens: `skew in end time`).
    pub end_skew: i64,
    /// Index of the rank that came first; of several the last of them, as in TraceLens.
    pub first: usize,
    /// Index of the rank that came last.
    pub last: usize,
    /// How much later it came than the one before it: what the others would have been spared.
    pub held_up: i64,
    /// The clocks are known well enough to tell that it was that rank.
    pub is_last_certain: bool,
    /// Wait of the rank that waited longest.
    pub longest_wait: i64,
    /// Waits of all ranks added up.
    pub total_wait: i64,
}

/// What one rank waited, over all collectives whose [`Shared::times`] are known. Times are nanoseconds.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RankWaits {
    pub n_collectives: u64,
    /// From its own start to the latest start of any rank (TraceLens: `total_wait_time_us`), at most its own duration.
    pub wait: i64,
    /// Its durations; what is not waiting is the wire: moving and reducing data.
    pub communication: i64,
    /// Times it came last, where clocks tell.
    pub n_last: u64,
    /// Times it came first.
    pub n_first: u64,
    /// Sum of [`Times::held_up`] over those in which it came last for certain.
    pub held_up: i64,
}

impl RankWaits {
    /// Time in which data moved, nanoseconds.
    pub fn wire(&self) -> i64 {
        self.communication.saturating_sub(self.wait)
    }
}

/// Everything there is to say of waiting.
pub struct Waits {
    /// In order of sequence and k. Those of which all ranks wait for all others are only here if clocks are known.
    pub collectives: Vec<Shared>,
    /// By rank.
    pub ranks: Vec<RankWaits>,
}

/// A part with its times by the clock of the reference.
#[derive(Clone, Copy)]
struct Placed {
    rank: usize,
    start: i64,
    end: i64,
}

impl Waits {
    /// Of all collectives that several ranks share, by `clocks`.
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

    /// How much later than the first each rank came to a collective, by index of the rank; nothing where its times are not
    /// known. Nanoseconds by the clock of the reference.
    pub fn arrivals(&self, shared: &Shared, sequences: &Sequences, clocks: &Clocks) -> Vec<(usize, i64)> {
        let of = sequences.sequences.get(shared.sequence).zip(clocks.is_same.get(shared.sequence));
        let (Some(times), Some((sequence, same))) = (&shared.times, of) else { return Vec::new() };
        let late = |line: &Line| {
            let start = clocks.time(line.rank, line.parts.get(shared.k)?.start);
            Some((line.rank, start.saturating_sub(times.start)))
        };
        comparable(sequence, same, clocks).into_iter().filter_map(late).collect()
    }

    /// Times of one collective; its waits are added to those of ranks.
    fn times(&mut self, placed: &[Placed], clocks: &Clocks) -> Option<Times> {
        // The last of equals, which is the highest rank.
        let last = placed.iter().max_by_key(|part| part.start)?;
        let first = placed.iter().rev().min_by_key(|part| part.start)?;
        let before = placed.iter().filter(|part| part.rank != last.rank).max_by_key(|part| part.start)?;
        let held_up = last.start.saturating_sub(before.start);
        let mut times = Times {
            start: first.start,
            start_skew: last.start.saturating_sub(first.start),
            uncertainty: clocks.uncertainty(last.rank, first.rank),
            end_skew: end(placed.iter().max_by_key(|part| part.end))
                .saturating_sub(end(placed.iter().min_by_key(|part| part.end))),
            first: first.rank,
            last: last.rank,
            held_up,
            is_last_certain: clocks.uncertainty(last.rank, before.rank).is_some_and(|ns| held_up >= ns),
            longest_wait: 0,
            total_wait: 0,
        };
        for part in placed {
            let dur = part.end.saturating_sub(part.start);
            let wait = last.start.saturating_sub(part.start).min(dur);
            times.longest_wait = times.longest_wait.max(wait);
            times.total_wait = times.total_wait.saturating_add(wait);
            if let Some(rank) = self.ranks.get_mut(part.rank) {
                rank.n_collectives += 1;
                rank.wait = rank.wait.saturating_add(wait);
                rank.communication = rank.communication.saturating_add(dur);
            }
        }
        if let Some(rank) = self.ranks.get_mut(first.rank) {
            rank.n_first += 1;
        }
        if let Some(rank) = self.ranks.get_mut(last.rank).filter(|_| times.is_last_certain) {
            rank.n_last += 1;
            rank.held_up = rank.held_up.saturating_add(held_up);
        }
        Some(times)
    }
}

fn end(part: Option<&Placed>) -> i64 {
    part.map_or(0, |part| part.end)
}

fn place(rank: usize, part: &Part, clocks: &Clocks) -> Placed {
    Placed { rank, start: clocks.time(rank, part.start), end: clocks.time(rank, part.end) }
}

/// The lines that are the same collectives, and whose times can be compared with each other where that is wanted.
fn comparable<'a>(sequence: &'a Sequence, same: &[bool], clocks: &Clocks) -> Vec<&'a Line> {
    let reference =
        |line: &Line| clocks.clocks.get(line.rank).copied().flatten().map(|clock| clock.reference);
    let lines: Vec<&Line> =
        sequence.lines.iter().zip(same).filter(|(_, same)| **same).map(|(line, _)| line).collect();
    if !sequence.is_synchronising {
        return lines;
    }
    // Lines that are the same collectives have been joined with each other, so there is only one.
    let of = lines.iter().find_map(|line| reference(line));
    lines.into_iter().filter(|line| of.is_some() && reference(line) == of).collect()
}
