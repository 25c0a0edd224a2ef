//! Which changes are steps that Back walks. The browser keeps the steps; this only knows the last one.

use super::{Action, Place, TableName};

/// Changes of one filter that follow each other as quickly are one step back.
const TYPING_MS: f64 = 3_000.0;

/// What a change is for the browser's history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nothing has changed, or the change came from the history.
    None,
    /// The entry that shows gets another address.
    Replace,
    Push,
}

/// What was done since the last entry.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Log {
    /// The place of the entry that shows.
    last: Place,
    since: Since,
    /// The filter of the last entry, and when it was changed.
    typed: Option<(TableName, f64)>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
enum Since {
    /// Only what is no step of its own.
    #[default]
    Details,
    /// One filter.
    Filter(TableName),
    Step,
}

impl Log {
    /// Notes an action that has changed something.
    pub fn note(&mut self, action: &Action) {
        let next = match action {
            Action::Filter { table, .. } => Since::Filter(table.clone()),
            Action::Search(_)
            | Action::MoveSort { .. }
            | Action::ChooseColumns { .. }
            | Action::SelectRows { .. }
            | Action::Restore(_) => Since::Details,
            _ => Since::Step,
        };
        self.since = match (std::mem::take(&mut self.since), next) {
            (Since::Details, next) => next,
            (before, Since::Details) => before,
            (Since::Filter(before), Since::Filter(next)) if before == next => Since::Filter(next),
            _ => Since::Step,
        };
    }

    /// What the actions since the last entry are, now that `place` shows.
    pub fn settle(&mut self, place: &Place, now_ms: f64) -> Entry {
        let since = std::mem::take(&mut self.since);
        if self.last == *place {
            return Entry::None;
        }
        self.last = place.clone();
        let typed = match since {
            Since::Details => return Entry::Replace,
            Since::Step => None,
            Since::Filter(table) => Some((table, now_ms)),
        };
        let is_same = match (&typed, &self.typed) {
            (Some((table, now)), Some((before, then))) => table == before && now - then < TYPING_MS,
            _ => false,
        };
        self.typed = typed;
        if is_same { Entry::Replace } else { Entry::Push }
    }

    /// An entry of the history shows.
    pub fn went_to(&mut self, place: Place) {
        *self = Log { last: place, ..Log::default() };
    }
}
