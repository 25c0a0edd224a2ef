//! Which changes are steps that Back walks. The browser keeps the steps; this only knows the last one.

use super::{Action, Place, TableName};

/// Changes of one filter, or of what is in view in a timeline, that follow each other as quickly are one step back.
const GRADUAL_MS: f64 = 3_000.0;

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
    /// What the last entry changed little by little, and when.
    gradual: Option<(Gradual, f64)>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
enum Since {
    /// Only what is no step of its own.
    #[default]
    Details,
    Gradual(Gradual),
    Step,
}

/// What changes little by little.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Gradual {
    /// A filter, letter by letter.
    Filter(TableName),
    /// What is in view in the timeline of a tab.
    Time(u32),
    /// What is searched for in the flame graph of a tab, letter by letter.
    Flame(u32),
}

impl Log {
    /// Notes an action that has changed something.
    pub fn note(&mut self, action: &Action) {
        let next = match action {
            Action::Filter { table, .. } => Since::Gradual(Gradual::Filter(table.clone())),
            Action::LookAtTime { tab, is_step: false, .. } => Since::Gradual(Gradual::Time(*tab)),
            Action::LookAtFlame { tab, is_step: false, .. } => Since::Gradual(Gradual::Flame(*tab)),
            Action::Search(_)
            | Action::MoveSort { .. }
            | Action::ChooseColumns { .. }
            | Action::SelectRows { .. }
            | Action::ArriveAtTime { .. }
            | Action::Restore(_) => Since::Details,
            _ => Since::Step,
        };
        self.since = match (std::mem::take(&mut self.since), next) {
            (Since::Details, next) => next,
            (before, Since::Details) => before,
            (Since::Gradual(before), Since::Gradual(next)) if before == next => Since::Gradual(next),
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
        let gradual = match since {
            Since::Details => return Entry::Replace,
            Since::Step => None,
            Since::Gradual(what) => Some((what, now_ms)),
        };
        let is_same = match (&gradual, &self.gradual) {
            (Some((what, now)), Some((before, then))) => what == before && now - then < GRADUAL_MS,
            _ => false,
        };
        self.gradual = gradual;
        if is_same { Entry::Replace } else { Entry::Push }
    }

    /// An entry of the history shows.
    pub fn went_to(&mut self, place: Place) {
        *self = Log { last: place, ..Log::default() };
    }
}
