//! Searching names and categories.

use super::tracks::Timeline;
use crate::base::hash::HashMap;
use crate::base::pattern::Pattern;
use crate::base::strings::StringId;
use crate::trace::{Trace, emit_nvtx};
use std::cell::RefCell;
use std::rc::Rc;

/// What a search looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Searched {
    Names,
    Categories,
}

/// Which texts of a trace a search finds.
pub(super) struct Matches {
    pub of: Searched,
    /// By text.
    has: Vec<bool>,
}

/// Texts found by the last search, by trace, so that pictures do not search again.
pub(super) type LastSearch = RefCell<(String, HashMap<usize, Rc<Matches>>)>;

/// Starts a search for categories.
const CATEGORY: &str = "cat:";

impl Matches {
    /// Names that `text` finds as a [`Pattern`]; after `cat:`, categories. An error if its expression is none.
    fn new(trace: &Trace, text: &str) -> Result<Matches, String> {
        let (of, text) = match text.strip_prefix(CATEGORY) {
            Some(rest) => (Searched::Categories, rest),
            None => (Searched::Names, text),
        };
        let pattern = Pattern::new(text)?;
        // Tables have one row for all names of an operator.
        let finds = |name: &str| {
            pattern.finds(name) || emit_nvtx::operator(name).is_some_and(|name| pattern.finds(name))
        };
        let has = trace.strings.all().map(finds).collect();
        Ok(Matches { of, has })
    }

    #[inline]
    pub fn has(&self, name: StringId) -> bool {
        self.has.get(name.0 as usize).copied().unwrap_or(false)
    }
}

impl Timeline {
    /// What a search finds in a trace.
    pub(super) fn matches(&self, number: usize, trace: &Trace, text: &str) -> Result<Rc<Matches>, String> {
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
