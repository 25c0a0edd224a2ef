//! State of a part besides its rows, from its reader to the reader of the whole file.

use super::rows::Seen;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct PartNotes {
    /// The part ended before an event that is not its own.
    pub at_event: bool,
    /// The last token read was a comma.
    pub after_comma: bool,
    /// There are no commas between events.
    pub are_lines: bool,
    n_by_phase: Vec<(u8, u64)>,
    only_ferrum_like: bool,
    n_elements: u64,
}

impl PartNotes {
    /// Notes with the counts of `seen`.
    pub fn new(at_event: bool, after_comma: bool, are_lines: bool, seen: &Seen) -> PartNotes {
        let phases = seen.n_by_phase.iter().enumerate().filter(|(_, n)| **n > 0);
        PartNotes {
            at_event,
            after_comma,
            are_lines,
            n_by_phase: phases.map(|(phase, n)| (phase as u8, *n)).collect(),
            only_ferrum_like: seen.only_ferrum_like,
            n_elements: seen.n_elements,
        }
    }

    /// Decodes notes; `None` if `bytes` are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<PartNotes> {
        postcard::from_bytes(bytes).ok()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // Writing to memory cannot fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Adds the part's counts to those of the whole file.
    pub fn add_to(&self, seen: &mut Seen) {
        for (phase, n) in &self.n_by_phase {
            seen.n_by_phase[usize::from(*phase)] += n;
        }
        seen.only_ferrum_like &= self.only_ferrum_like;
        seen.n_elements += self.n_elements;
    }
}
