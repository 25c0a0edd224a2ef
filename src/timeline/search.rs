//! Searching names, categories and arguments.

use super::answers::ARGUMENTS;
use super::arguments::Hits;
use super::boxes::BoxTable;
use super::tracks::{Part, Timeline};
use crate::base::hash::HashMap;
use crate::base::pattern::Pattern;
use crate::base::strings::StringId;
use crate::trace::{Trace, emit_nvtx};
use std::cell::RefCell;
use std::rc::Rc;

/// What a search finds in a trace.
pub(super) enum Matches {
    /// By text: whether boxes of that name are found.
    Names(Vec<bool>),
    /// The same of a category.
    Categories(Vec<bool>),
    /// Slices with arguments that are found.
    Slices(Hits),
}

/// Texts found by the last search, by trace, so that pictures do not search again.
pub(super) type LastSearch = RefCell<(String, HashMap<usize, Rc<Matches>>)>;

/// Starts a search for categories.
const CATEGORY: &str = "cat:";

impl Matches {
    /// Names that `text` finds as a [`Pattern`]; after `cat:`, categories. An error if its expression is none.
    fn new(trace: &Trace, text: &str) -> Result<Matches, String> {
        let (of, text): (fn(Vec<bool>) -> Matches, &str) = match text.strip_prefix(CATEGORY) {
            Some(rest) => (Matches::Categories, rest),
            None => (Matches::Names, text),
        };
        let pattern = Pattern::new(text)?;
        // Tables have one row for all names of an operator.
        let finds = |name: &str| {
            pattern.finds(name) || emit_nvtx::operator(name).is_some_and(|name| pattern.finds(name))
        };
        Ok(of(trace.strings.all().map(finds).collect()))
    }

    /// Whether a box of a table is found; only slices have arguments.
    #[inline]
    pub fn has_box(&self, boxes: impl BoxTable, id: usize) -> bool {
        match self {
            Matches::Names(texts) => has(texts, boxes.name(id)),
            Matches::Categories(texts) => boxes.category(id).is_some_and(|text| has(texts, text)),
            Matches::Slices(hits) => hits.has(id),
        }
    }

    /// Calls `hit` with the found boxes of a part, in order.
    pub fn for_each(&self, part: &Part, trace: &Trace, hit: impl FnMut(usize)) {
        match self {
            Matches::Names(found) => each_of(found, part.names(trace), hit),
            Matches::Categories(found) => each_of(found, part.categories(trace), hit),
            Matches::Slices(_) if part.own.is_some() => {}
            Matches::Slices(hits) => hits.for_each(hit),
        }
    }
}

/// Calls `hit` with the places of found texts.
fn each_of(found: &[bool], texts: &[StringId], hit: impl FnMut(usize)) {
    (0..texts.len()).filter(|id| has(found, texts[*id])).for_each(hit);
}

#[inline]
fn has(found: &[bool], text: StringId) -> bool {
    found.get(text.0 as usize).copied().unwrap_or(false)
}

impl Timeline {
    /// What a search finds in a trace; of arguments, what [`Timeline::search_arguments`] has found so far.
    pub(super) fn matches(&self, number: usize, trace: &Trace, text: &str) -> Result<Rc<Matches>, String> {
        if text.starts_with(ARGUMENTS) {
            return Ok(self.argument_hits(number, text));
        }
        let mut last = self.last_search.borrow_mut();
        if last.0 != text {
            *last = (text.to_string(), HashMap::default());
        }
        if let Some(known) = last.1.get(&number) {
            return Ok(known.clone());
        }
        let matches = Rc::new(Matches::new(trace, text)?);
        last.1.insert(number, matches.clone());
        Ok(matches)
    }
}
