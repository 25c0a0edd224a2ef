//! Scope of ids: correlation ids and External ids are per process, so in a file of several programs (two ranks merged into one) the
//! same id means a different call in each.
//!
//! In these files, a GPU is a process of its own. The program that drives it is found by a common prefix of process ids
//! (`[TP00] 0`), by ids that only one program uses, by exclusion (a kernel never starts before its launch), and by file order. If
//! none of these decides, the link counts as ambiguous and is not made.

use crate::trace::Trace;
use crate::trace::labels::{prefix, text_key};
use crate::trace::tracks::{Key, ProcessId};

/// Index into [`GpuModel::hosts`](super::GpuModel::hosts).
pub type HostId = u16;

/// Tolerance in nanoseconds for kernels before their launch, since some files round times to microseconds.
pub const CLOCK_SLACK_NS: i64 = 1_000;

/// Program that drives a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    /// Exactly this one.
    One(HostId),
    /// Unknown: an id links only if a single program uses it.
    Unknown,
}

/// A possible launch of a kernel or copy, by one program.
pub struct Candidate {
    /// The program with the call.
    pub host: HostId,
    /// Whether the kernel starts at or after that call, within [`CLOCK_SLACK_NS`].
    pub is_possible: bool,
    /// Whether the call comes after the kernel in the file (profilers write calls first), and the distance in bytes.
    pub distance: (bool, u64),
}

/// Minimum share of votes that must agree.
const AGREEMENT: f64 = 0.95;

/// Votes of the kernels of one GPU for the program that drives it.
#[derive(Clone, Default)]
pub struct Votes {
    /// By host: kernels whose id only this one uses.
    unique: Vec<u64>,
    /// By host: kernels that start before the call there.
    impossible: Vec<u64>,
    /// By host: kernels whose nearest call in the file is there.
    nearest: Vec<u64>,
    /// By host: kernels with a call there.
    has_call: Vec<u64>,
    /// Kernels whose id several programs use.
    n_shared: u64,
}

impl Votes {
    /// No votes, for `n_hosts` programs.
    pub fn new(n_hosts: usize) -> Votes {
        let none = vec![0; n_hosts];
        Votes {
            unique: none.clone(),
            impossible: none.clone(),
            nearest: none.clone(),
            has_call: none,
            n_shared: 0,
        }
    }

    /// Counts one kernel or copy.
    pub fn add(&mut self, candidates: &[Candidate]) {
        for candidate in candidates {
            let host = usize::from(candidate.host);
            self.has_call[host] += 1;
            self.impossible[host] += u64::from(!candidate.is_possible);
        }
        match candidates {
            [] => {}
            [one] => self.unique[usize::from(one.host)] += 1,
            several => {
                self.n_shared += 1;
                let nearest = several.iter().min_by_key(|candidate| candidate.distance);
                if let Some(nearest) = nearest {
                    self.nearest[usize::from(nearest.host)] += 1;
                }
            }
        }
    }

    /// Whether several programs use the GPU, and no two of them the same id.
    fn decides_alone(&self) -> bool {
        self.n_shared == 0 && self.unique.iter().filter(|n| **n > 0).count() > 1
    }

    /// The host with nearly all of `votes`.
    fn leader(votes: &[u64]) -> Option<usize> {
        let sum: u64 = votes.iter().sum();
        let (leader, most) =
            votes.iter().enumerate().max_by_key(|(host, n)| (**n, std::cmp::Reverse(*host)))?;
        (sum > 0 && *most as f64 >= AGREEMENT * sum as f64).then_some(leader)
    }

    /// The only host whose calls are all possible.
    fn only_possible(&self) -> Option<usize> {
        let is_possible = |host: &usize| {
            self.has_call[*host] > 0
                && self.impossible[*host] as f64 <= (1.0 - AGREEMENT) * self.has_call[*host] as f64
        };
        let mut possible = (0..self.has_call.len()).filter(is_possible);
        let only = possible.next()?;
        possible.next().is_none().then_some(only)
    }
}

/// The driver of each GPU, from process names and votes.
pub fn drivers(trace: &Trace, hosts: &[ProcessId], gpus: &[ProcessId], votes: &[Votes]) -> Vec<Driver> {
    if let [_] = hosts {
        return vec![Driver::One(0); gpus.len()];
    }
    let by_name: Vec<Option<usize>> =
        gpus.iter().map(|gpu| host_of_same_prefix(trace, hosts, *gpu)).collect();
    let mut chosen: Vec<Option<usize>> = by_name
        .iter()
        .zip(votes)
        .map(|(by_name, votes)| {
            // Where no two programs use one id, each id says which program it is of.
            if votes.decides_alone() {
                return None;
            }
            by_name.or_else(|| Votes::leader(&votes.unique)).or_else(|| votes.only_possible())
        })
        .collect();
    exclude_taken(&mut chosen, votes);
    // File order is only trusted if it assigns a GPU to each program.
    let by_place: Vec<Option<usize>> = chosen
        .iter()
        .zip(votes)
        .map(|(chosen, votes)| {
            let nearest = Votes::leader(&votes.nearest);
            chosen.or_else(|| nearest.filter(|host| votes.impossible[*host] == 0))
        })
        .collect();
    let shares_ids = |host: &usize| votes.iter().any(|votes| votes.n_shared > 0 && votes.has_call[*host] > 0);
    if (0..hosts.len()).filter(shares_ids).all(|host| by_place.contains(&Some(host))) {
        chosen = by_place;
        exclude_taken(&mut chosen, votes);
    }
    let driver = |host: Option<usize>| host.map_or(Driver::Unknown, |host| Driver::One(host as HostId));
    chosen.into_iter().map(driver).collect()
}

/// Excludes programs that already drive another GPU with the same ids, since a launch has its kernels on one GPU.
fn exclude_taken(chosen: &mut [Option<usize>], votes: &[Votes]) {
    for gpu in 0..chosen.len() {
        if chosen[gpu].is_some() || votes[gpu].n_shared == 0 {
            continue;
        }
        let is_taken = |host: usize| {
            chosen.iter().zip(votes).any(|(other, votes)| *other == Some(host) && votes.n_shared > 0)
        };
        let of = &votes[gpu];
        let mut open = (0..of.has_call.len())
            .filter(|host| of.has_call[*host] > 0 && of.impossible[*host] == 0 && !is_taken(*host));
        if let (Some(only), None) = (open.next(), open.next()) {
            chosen[gpu] = Some(only);
        }
    }
}

fn host_of_same_prefix(trace: &Trace, hosts: &[ProcessId], gpu: ProcessId) -> Option<usize> {
    let wanted = prefix(text_key(trace, gpu)?)?;
    let is_same = |host: &usize| text_key(trace, hosts[*host]).and_then(prefix) == Some(wanted);
    let mut same = (0..hosts.len()).filter(is_same);
    let only = same.next()?;
    same.next().is_none().then_some(only)
}

/// Number of the GPU of a process: its id, or the part after the prefix or after `GPU`.
pub fn gpu_number(trace: &Trace, process: ProcessId) -> Option<i64> {
    match trace.processes.key.get(process.0 as usize)? {
        Key::Number(number) => Some(*number),
        Key::Text(_) => {
            let text = text_key(trace, process)?.trim_start();
            let number = prefix(text).or(text.starts_with("GPU ").then_some("GPU "))?;
            text.strip_prefix(number)?.trim().parse().ok()
        }
        Key::Digits(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(host: HostId, is_possible: bool, distance: u64) -> Candidate {
        Candidate { host, is_possible, distance: (false, distance) }
    }

    #[test]
    fn prefixes_end_with_the_bracket() {
        assert_eq!(prefix("[TP00] 1000"), Some("[TP00]"));
        assert_eq!(prefix("[TP00-EP01] 0"), Some("[TP00-EP01]"));
        assert_eq!((prefix("1000"), prefix("[TP00"), prefix("")), (None, None, None));
    }

    #[test]
    fn ids_that_one_program_uses_decide() {
        let mut votes = Votes::new(2);
        (0..20).for_each(|_| votes.add(&[candidate(1, true, 5)]));
        votes.add(&[candidate(0, true, 1), candidate(1, true, 9)]);
        assert_eq!(Votes::leader(&votes.unique), Some(1));
    }

    #[test]
    fn ids_without_double_need_no_driver() {
        let mut votes = Votes::new(2);
        (0..99).for_each(|_| votes.add(&[candidate(0, true, 1)]));
        assert!(!votes.decides_alone());
        votes.add(&[candidate(1, true, 1)]);
        assert!(votes.decides_alone());
        votes.add(&[candidate(0, true, 1), candidate(1, true, 1)]);
        assert!(!votes.decides_alone());
    }

    #[test]
    fn what_cannot_be_decides() {
        let mut votes = Votes::new(2);
        (0..3).for_each(|_| votes.add(&[candidate(0, false, 1), candidate(1, true, 9)]));
        assert_eq!((Votes::leader(&votes.unique), votes.only_possible()), (None, Some(1)));
    }
}
