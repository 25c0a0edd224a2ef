//! Searching names and categories.

use super::tracks::Timeline;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::trace::Trace;
use regex_lite::RegexBuilder;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of a compiled regular expression.
const MAX_PATTERN: usize = 1 << 20;

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
    /// Names that contain `text` in any case; `/expression/` is a regular expression, `"a"|"b"` the very names. After `cat:`
    /// the same for categories. An error if the expression is none.
    fn new(trace: &Trace, text: &str) -> Result<Matches, String> {
        let (of, text) = match text.strip_prefix(CATEGORY) {
            Some(rest) => (Searched::Categories, rest),
            None => (Searched::Names, text),
        };
        let between = |mark: char| {
            text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)).filter(|it| !it.is_empty())
        };
        let all = trace.strings.all();
        let has = if let Some(pattern) = between('/') {
            let pattern = RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_PATTERN).build();
            let pattern = pattern.map_err(|error| error.to_string())?;
            all.map(|name| pattern.is_match(name)).collect()
        } else if let Some(names) = between('"') {
            let names: HashSet<&str> = names.split("\"|\"").collect();
            all.map(|name| names.contains(name)).collect()
        } else {
            let text = text.to_lowercase();
            all.map(|name| name.to_lowercase().contains(&text)).collect()
        };
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
