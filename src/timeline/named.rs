//! All boxes that a search finds, looked at together.

use super::answers::{BoxLink, BoxName, Lengths, Named};
use super::boxes::Boxes;
use super::search::Matches;
use super::tracks::{Part, Timeline};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Run;
use crate::trace::Trace;
use crate::trace::labels::shown;
use std::rc::Rc;

/// Boxes and names that are listed.
const MAX_LISTED: usize = 5;
/// Bins of lengths.
const N_BINS: usize = 24;
/// Bins grow by a factor if the longest box is at least this many times as long as the shortest.
const MANY_TIMES: u64 = 8;

impl Lengths {
    /// Empty bins from `min_ns` to `max_ns`.
    fn new(min_ns: u64, max_ns: u64) -> Lengths {
        let is_log = min_ns > 0 && max_ns / min_ns >= MANY_TIMES;
        let n = if min_ns == max_ns { 1 } else { N_BINS };
        Lengths { min_ns, max_ns, is_log, bins: vec![0; n] }
    }

    /// Where a length lies between the shortest and the longest, from 0 to 1.
    fn place(&self, ns: u64) -> f64 {
        let scale = |ns: u64| if self.is_log { (ns as f64).ln() } else { ns as f64 };
        let (min, max) = (scale(self.min_ns), scale(self.max_ns));
        if max > min { (scale(ns) - min) / (max - min) } else { 0.0 }
    }

    fn add(&mut self, ns: u64) {
        let at = (self.place(ns) * self.bins.len() as f64) as usize;
        let last = self.bins.len() - 1;
        if let Some(bin) = self.bins.get_mut(at.min(last)) {
            *bin += 1;
        }
    }
}

/// Sums over boxes while they are found.
#[derive(Default)]
struct Sums {
    n: u64,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Lengths and boxes, the longest first.
    longest: Vec<(u64, BoxName)>,
}

impl Sums {
    fn add(&mut self, ns: u64, is_in_total: bool, of: BoxName) {
        self.min_ns = if self.n == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.n += 1;
        if is_in_total {
            self.total_ns = self.total_ns.saturating_add(ns);
        }
        if self.longest.len() < MAX_LISTED || self.longest.last().is_some_and(|(shortest, _)| ns > *shortest)
        {
            let at = self.longest.partition_point(|(longer, _)| *longer >= ns);
            self.longest.insert(at, (ns, of));
            self.longest.truncate(MAX_LISTED);
        }
    }
}

/// Name of the box directly around a box.
fn around(part: &Part, trace: &Trace, id: usize) -> Option<StringId> {
    let parents = part.own.as_ref().map_or(&trace.slices.parent, |boxes| &boxes.parent);
    let parent = parents.get(id)?.some()?;
    Some(part.name(trace, parent.0 as usize))
}

/// Whether a call of a sampled stack is in none of those before it. Their table counts recursion once, other than that of slices.
/// `covered_to` is the end of the last outermost one, by track.
fn is_outermost(boxes: &Boxes, id: usize, covered_to: &mut HashMap<u32, i64>) -> bool {
    let covered_to = covered_to.entry(boxes.track[id]).or_insert(i64::MIN);
    let is_outermost = boxes.start[id] >= *covered_to;
    if is_outermost {
        *covered_to = boxes.start[id].saturating_add(boxes.length[id]);
    }
    is_outermost
}

impl Timeline {
    /// What the boxes that `text` finds have in common; `None` if it finds none.
    pub(super) fn named(&self, run: &Run, text: &str) -> Option<Named> {
        let found: Vec<Rc<Matches>> = (self.parts.iter())
            .map(|part| self.matches(part.trace, &run.traces[part.trace], text).ok())
            .collect::<Option<_>>()?;
        let parts = || self.parts.iter().zip(&found).enumerate();
        let mut sums = Sums::default();
        let mut callers: HashMap<String, u64> = HashMap::default();
        for (number, (part, matches)) in parts() {
            let trace = &run.traces[part.trace];
            let mut covered_to: HashMap<u32, i64> = HashMap::default();
            let mut of_part: HashMap<StringId, u64> = HashMap::default();
            matches.for_each(part, trace, |id| {
                let of = BoxName { part: number as u32, id: id as u32 };
                let is_outer = part.own.as_ref().is_none_or(|boxes| is_outermost(boxes, id, &mut covered_to));
                sums.add(part.length(trace, id), is_outer, of);
                if let Some(name) = around(part, trace, id) {
                    *of_part.entry(name).or_default() += 1;
                }
            });
            for (name, n) in of_part {
                *callers.entry(shown(trace.strings.get_opt(name)).to_string()).or_default() += n;
            }
        }
        let mut lengths = Lengths::new(sums.min_ns, sums.max_ns);
        for (_, (part, matches)) in parts() {
            let trace = &run.traces[part.trace];
            matches.for_each(part, trace, |id| lengths.add(part.length(trace, id)));
        }
        let mut callers: Vec<(String, u64)> = callers.into_iter().collect();
        sort::by(&mut callers, |(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        let n_callers = callers.len() as u64;
        callers.truncate(MAX_LISTED);
        let link = |(_, of): &(u64, BoxName)| self.link(run, of.part as usize, of.id as usize);
        let longest: Vec<BoxLink> = sums.longest.iter().map(link).collect();
        let details = self.details(run, longest.first()?.of)?;
        Some(Named { n: sums.n, total_ns: sums.total_ns, lengths, longest, callers, n_callers, details })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_has_its_bin() {
        let mut even = Lengths::new(100, 124);
        [100, 112, 124, 124].into_iter().for_each(|ns| even.add(ns));
        assert_eq!((even.is_log, even.bins.len()), (false, 24));
        assert_eq!([even.bins[0], even.bins[12], even.bins[23]], [1, 1, 2]);
        // Each bin of two decades is 10^(1/12) times as wide as the one before.
        let mut wide = Lengths::new(10, 1000);
        [10, 101, 1000].into_iter().for_each(|ns| wide.add(ns));
        assert!(wide.is_log);
        assert_eq!([wide.bins[0], wide.bins[12], wide.bins[23]], [1, 1, 1]);
        let mut one = Lengths::new(7, 7);
        one.add(7);
        assert_eq!(one.bins, [1]);
    }
}
