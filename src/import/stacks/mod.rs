//! Weighted stacks, as profilers write them: a module per format, and what they share.
//!
//! All of them become [`StackProfile`]s: one per thread, or per kind of weight. Damaged files are read as far as they go.

pub mod firefox;
pub mod folded;
pub mod issues;
mod json;
pub mod perf;
pub mod pprof;
pub mod python_binary;
pub mod speedscope;
mod text;
pub mod v8;

use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{counted, group_digits};
use crate::trace::samples::{Frame, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile};
use crate::trace::{IssueKind, Position, TraceBuilder};

/// Name of a frame that the file refers to and does not have.
const MISSING: &str = "(missing)";
/// Name of a function without a name.
const UNKNOWN: &str = "(unknown)";

/// Reports an issue that has no single place in the file.
fn note(out: &mut TraceBuilder, kind: &'static IssueKind, example: &str) {
    out.trace.ledger.file(kind, Position::NOWHERE, example.as_bytes());
}

/// Names in a list of counts; further ones are counted together.
const MAX_NAMES: usize = 20;

/// `b (3), a (1)`: names with how often they occur, the most frequent first, then by name.
fn counts_in_words(counts: impl IntoIterator<Item = (String, u64)>) -> String {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    sort::by(&mut counts, |a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let n_more = counts.len().saturating_sub(MAX_NAMES) as u64;
    counts.truncate(MAX_NAMES);
    let mut words: Vec<String> =
        counts.iter().map(|(name, n)| format!("{name} ({})", group_digits(i128::from(*n)))).collect();
    words.extend((n_more > 0).then(|| counted(n_more, "more name", "more names")));
    words.join(", ")
}

/// Adds a sample, and notes a negative weight.
fn push_sample(profile: &mut StackProfile, stack: StackId, weight: Amount, out: &mut TraceBuilder) {
    if weight.is_negative() {
        note(out, &issues::NEGATIVE_WEIGHT, &weight.to_string());
    }
    profile.push(stack, weight);
}

/// What is below a row of a table of stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    Nothing,
    Row(usize),
    /// A row that is not there.
    Missing,
}

/// A table of stacks in which each row has a frame and refers to the row below it, possibly in circles.
struct StackRows {
    below: Vec<Below>,
    known: Vec<Option<StackId>>,
    /// Stacks of rows that lead into a circle; each has its own.
    of_circles: HashMap<usize, StackId>,
    /// Number of the walk that last came by.
    seen: Vec<u32>,
    walk: u32,
    n_steps_left: usize,
}

/// Steps around circles, all together; beyond that, stacks in circles are cut to their innermost frame.
const MAX_CIRCLE_STEPS: usize = 10_000_000;

impl StackRows {
    fn new(below: Vec<Below>) -> StackRows {
        let n_rows = below.len();
        StackRows {
            below,
            known: vec![None; n_rows],
            of_circles: HashMap::default(),
            seen: vec![0; n_rows],
            walk: 0,
            n_steps_left: MAX_CIRCLE_STEPS,
        }
    }

    fn len(&self) -> usize {
        self.below.len()
    }

    /// Stack whose innermost frame is that of `row`. Rows for which `frame` is `None` are left out.
    fn stack(
        &mut self,
        row: usize,
        frame: &mut dyn FnMut(usize, &mut TraceBuilder) -> Option<Frame>,
        out: &mut TraceBuilder,
    ) -> StackId {
        if let Some(stack) = self.of_circles.get(&row) {
            return *stack;
        }
        self.walk += 1;
        let (mut path, mut at, mut is_circle) = (Vec::new(), row, false);
        let mut stack = loop {
            if let Some(known) = self.known[at] {
                break known;
            }
            if self.seen[at] == self.walk {
                note(out, &issues::CYCLE, "");
                is_circle = true;
                break StackId::NONE;
            }
            self.seen[at] = self.walk;
            path.push(at);
            match self.below[at] {
                Below::Nothing => break StackId::NONE,
                Below::Row(below) if below < self.len() => at = below,
                _ => {
                    note(out, &issues::DANGLING_ID, "");
                    break StackId::NONE;
                }
            }
        };
        if is_circle {
            if path.len() > self.n_steps_left {
                path.truncate(1);
            }
            self.n_steps_left -= path.len().min(self.n_steps_left);
        }
        for at in path.into_iter().rev() {
            if let Some(frame) = frame(at, out) {
                stack = out.stack(stack, frame);
            }
            if !is_circle {
                self.known[at] = Some(stack);
            }
        }
        if is_circle {
            self.of_circles.insert(row, stack);
        }
        stack
    }
}

/// Number of the file's own as a text; no text without one.
fn number_text(number: Option<u64>, out: &mut TraceBuilder) -> StringId {
    number.map_or(StringId::NONE, |number| out.trace.strings.intern(&number.to_string()))
}
