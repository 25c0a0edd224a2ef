//! Searching arguments, which are mostly in the file only: piece by piece, so that others are answered in between.

use super::answers::ARGUMENTS;
use super::search::Matches;
use super::tracks::Timeline;
use crate::base::pattern::Pattern;
use crate::trace::{Run, Trace};
use std::cell::RefCell;
use std::rc::Rc;

/// Arguments and slices of a piece, whichever is reached first: some 20 ms in a browser.
const PIECE_BYTES: usize = 4 << 20;
const PIECE_SLICES: usize = 1 << 18;

/// Slices that were found, a bit each.
#[derive(Default)]
pub struct Hits(Vec<u64>);

impl Hits {
    fn add(&mut self, slice: usize) {
        if self.0.len() <= slice / 64 {
            self.0.resize(slice / 64 + 1, 0);
        }
        self.0[slice / 64] |= 1 << (slice % 64);
    }

    #[inline]
    pub fn has(&self, slice: usize) -> bool {
        self.0.get(slice / 64).is_some_and(|bits| bits >> (slice % 64) & 1 == 1)
    }

    /// Calls `hit` with each slice, in order.
    pub fn for_each(&self, mut hit: impl FnMut(usize)) {
        for (at, bits) in self.0.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                hit(at * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

/// The last search of arguments.
#[derive(Default)]
pub struct ArgumentSearch {
    text: String,
    /// `None` before the first search, and if its expression is none.
    pattern: Option<Pattern>,
    /// By trace.
    found: Vec<Rc<Matches>>,
    /// The trace and the slice to go on with.
    next: (usize, usize),
    n_done: usize,
    /// Why it does not go on.
    problem: Option<String>,
}

/// Shared by questions.
pub type LastArgumentSearch = RefCell<ArgumentSearch>;

impl ArgumentSearch {
    fn new(run: &Run, text: &str) -> ArgumentSearch {
        let pattern = Pattern::in_text(text.strip_prefix(ARGUMENTS).unwrap_or(text));
        let found = run.traces.iter().map(|_| Rc::new(Matches::Slices(Hits::default()))).collect();
        let are_missing = run.traces.iter().any(|trace| trace.args.are_missing());
        let problem = match &pattern {
            Err(problem) => Some(problem.clone()),
            Ok(_) if are_missing => Some(MISSING.to_string()),
            Ok(_) => None,
        };
        ArgumentSearch {
            text: text.to_string(),
            pattern: pattern.ok(),
            found,
            next: (0, 0),
            n_done: 0,
            problem,
        }
    }

    fn go_on(&mut self, run: &Run) {
        let Some(pattern) = self.pattern.as_ref().filter(|_| self.problem.is_none()) else { return };
        let (mut n_bytes, mut n_slices) = (0, 0);
        while let Some(trace) = run.traces.get(self.next.0) {
            let Some(Matches::Slices(hits)) = self.found.get_mut(self.next.0).and_then(Rc::get_mut) else {
                return;
            };
            trace.args.without_counting(|| {
                while self.next.1 < trace.slices.len() {
                    if n_bytes >= PIECE_BYTES || n_slices >= PIECE_SLICES {
                        break;
                    }
                    if finds(pattern, trace, self.next.1, &mut n_bytes) {
                        hits.add(self.next.1);
                    }
                    self.next.1 += 1;
                    self.n_done += 1;
                    n_slices += 1;
                }
            });
            if let Some(why) = trace.args.take_problem() {
                self.problem = Some(format!("could not read arguments: {why}"));
                return;
            }
            if self.next.1 < trace.slices.len() {
                return;
            }
            self.next = (self.next.0 + 1, 0);
        }
    }
}

/// Arguments are not in an index.
const MISSING: &str =
    "this trace was opened without its file, which has the arguments: open the file to search them";

/// Whether the arguments of a slice have what is looked for, as the file writes them. Adds their bytes.
fn finds(pattern: &Pattern, trace: &Trace, slice: usize, n_bytes: &mut usize) -> bool {
    let args = [trace.args.get(trace.slices.args_of(slice)), trace.slice_end_args(slice)];
    args.into_iter().flatten().any(|args| {
        *n_bytes += args.len();
        pattern.finds(&String::from_utf8_lossy(&args))
    })
}

impl Timeline {
    /// Goes on with a search of arguments, for a piece. Returns the share of slices that is left to search, or why it does not go on.
    pub(super) fn search_arguments(&self, run: &Run, text: &str) -> Result<f64, String> {
        let mut last = self.last_argument_search.borrow_mut();
        if last.text != text {
            *last = ArgumentSearch::new(run, text);
        }
        last.go_on(run);
        let n: usize = run.traces.iter().map(|trace| trace.slices.len()).sum();
        match &last.problem {
            Some(problem) => Err(problem.clone()),
            None => Ok((n - last.n_done) as f64 / n.max(1) as f64),
        }
    }

    /// What it has found in a trace so far.
    pub(super) fn argument_hits(&self, trace: usize, text: &str) -> Rc<Matches> {
        let last = self.last_argument_search.borrow();
        let found = last.found.get(trace).filter(|_| last.text == text).cloned();
        found.unwrap_or_else(|| Rc::new(Matches::Slices(Hits::default())))
    }
}
