//! Names that NVTX gives to its domains and categories, as rows among its ranges.
//!
//! A library that annotates itself (NCCL, CCCL, cuDNN) does so in a domain of its own. Domains are numbered in each process, and
//! categories in each domain; 0 is the domain of the program itself, and no category.
//!
//! Rows are in no particular order, so a range may come before the name of its domain: see [`NvtxNames::lacks`].

use super::names::Names;
use crate::base::hash::HashMap;
use crate::import::kineto::Args;

/// Event types of NVTX.
pub mod event {
    pub const CATEGORY: i64 = 33;
    pub const MARK: i64 = 34;
    pub const PUSH_POP: i64 = 59;
    pub const START_END: i64 = 60;
    pub const DOMAIN: i64 = 75;

    /// Whether rows of this type are ranges or marks.
    pub fn is_shown(kind: i64) -> bool {
        matches!(kind, MARK | PUSH_POP | START_END)
    }
}

/// Domain of a range, and its category in that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// A `globalPid`.
    pub process: Option<i64>,
    pub domain: i64,
    pub category: i64,
}

impl Group {
    fn key_of_domain(self) -> Key {
        (self.process, self.domain, 0)
    }

    fn key_of_category(self) -> Option<Key> {
        (self.category != 0).then_some((self.process, self.domain, self.category))
    }
}

/// Process, domain and category; category 0 stands for the domain itself.
type Key = (Option<i64>, i64, i64);

/// A name as the file has it: a text, or an id in its dictionary.
pub enum Name {
    Text(Vec<u8>),
    Id(i64),
}

/// Names of domains and categories.
#[derive(Default)]
pub struct NvtxNames {
    by_key: HashMap<Key, Name>,
    /// All rows of the table were looked at, so what is missing has no name.
    is_complete: bool,
}

impl NvtxNames {
    /// Takes a row of [`event::DOMAIN`] or [`event::CATEGORY`]. The first row of the file counts.
    pub fn insert(&mut self, kind: i64, group: Group, name: Name) {
        let key = match kind {
            event::DOMAIN => Some(group.key_of_domain()),
            event::CATEGORY => group.key_of_category(),
            _ => None,
        };
        if let Some(key) = key {
            self.by_key.entry(key).or_insert(name);
        }
    }

    /// Whether names may come later in the file.
    pub fn is_incomplete(&self) -> bool {
        !self.is_complete
    }

    /// Whether `group` has a name that may come later in the file.
    pub fn lacks(&self, group: Group) -> bool {
        let is_missing = |key: Key| !self.by_key.contains_key(&key);
        !self.is_complete
            && ((group.domain != 0 && is_missing(group.key_of_domain()))
                || group.key_of_category().is_some_and(is_missing))
    }

    /// No more names will come.
    pub fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Adds domain and category to the arguments of a range: their names, or their numbers if they have none.
    pub fn put(&self, group: Group, names: &Names, args: &mut Args) {
        let mut put = |argument: &str, key: Key, number: i64| {
            let text = match self.by_key.get(&key) {
                Some(Name::Text(text)) => Some(text.as_slice()),
                Some(Name::Id(id)) => names.get(*id),
                None => None,
            };
            match text {
                Some(text) => args.text(argument, text),
                None => args.int(argument, Some(number)),
            }
        };
        if group.domain != 0 {
            put("domain", group.key_of_domain(), group.domain);
        }
        if let Some(key) = group.key_of_category() {
            put("category", key, group.category);
        }
    }
}
