//! Memory kinds by number.

use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::{StringId, StringTable};
use crate::trace::accesses::{Access, RegionType};

/// A memory kind: its number in [`Kinds`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kind(pub u32);

impl Kind {
    pub const ACTIVATION: Kind = Kind(0);
    pub const KV_CACHE: Kind = Kind(1);
    pub const RUNTIME: Kind = Kind(2);
    pub const UNKNOWN: Kind = Kind(3);
    pub const WEIGHT: Kind = Kind(4);
    /// Kind of unlabelled rows in a labelled source: their region gets its kind from the other rows, and
    /// tables by kind leave out regions without one.
    pub const NONE: Kind = Kind(5);

    /// Returns `None` for [`RegionType::Other`].
    #[inline]
    pub fn of_region(region: RegionType) -> Option<Kind> {
        match region {
            RegionType::Activation => Some(Kind::ACTIVATION),
            RegionType::KvCache => Some(Kind::KV_CACHE),
            RegionType::Runtime => Some(Kind::RUNTIME),
            RegionType::Unknown => Some(Kind::UNKNOWN),
            RegionType::Weight => Some(Kind::WEIGHT),
            RegionType::Other => None,
        }
    }
}

/// The built-in kinds, and others named by rules and files.
#[derive(Clone, Debug)]
pub struct Kinds {
    names: Vec<String>,
    by_name: HashMap<String, Kind>,
    /// Kinds by the trace's number of their name.
    of_texts: HashMap<StringId, Kind>,
}

impl Default for Kinds {
    fn default() -> Kinds {
        let mut kinds =
            Kinds { names: Vec::new(), by_name: HashMap::default(), of_texts: HashMap::default() };
        for name in ["activation", "kv_cache", "runtime", "unknown", "weight"] {
            kinds.of_name(name);
        }
        kinds.names.push(String::new());
        kinds
    }
}

impl Kinds {
    /// The kind of that name, added if new.
    pub fn of_name(&mut self, name: &str) -> Kind {
        if let Some(kind) = self.by_name.get(name) {
            return *kind;
        }
        let kind = Kind(self.names.len() as u32);
        self.names.push(name.to_string());
        self.by_name.insert(name.to_string(), kind);
        kind
    }

    /// The kind of a row in the source.
    pub fn of_row(&mut self, row: &Access, strings: &StringTable) -> Kind {
        if let Some(kind) = Kind::of_region(row.region) {
            return kind;
        }
        let Some(text) = row.region_text else { return Kind::NONE };
        if let Some(kind) = self.of_texts.get(&text) {
            return *kind;
        }
        let kind = self.of_name(strings.get(text));
        self.of_texts.insert(text, kind);
        kind
    }

    pub fn name(&self, kind: Kind) -> &str {
        self.names.get(kind.0 as usize).map_or("", String::as_str)
    }

    /// All kinds except [`Kind::NONE`], ordered by name.
    pub fn sorted(&self) -> Vec<Kind> {
        let all = (0..self.names.len() as u32).map(Kind);
        let mut all: Vec<Kind> = all.filter(|kind| *kind != Kind::NONE).collect();
        sort::by(&mut all, |a, b| self.name(*a).cmp(self.name(*b)));
        all
    }
}
