//! Dictionaries of a capture: from an id to a text or a value.

use super::issues::MISSING_NAME;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::{Position, TraceBuilder};

/// Shown for a name that is not in the file.
pub const MISSING: &str = "(missing)";

/// Longest text that can be a name. Captures keep whole files in the same table.
const MAX_NAME_BYTES: usize = 1 << 20;
/// Ids that may be left out between two that are stored densely.
const MAX_GAP: u64 = 16;

/// Values by id. Ids mostly count up, so most values need no hash table.
pub struct IdMap<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<i64, T>,
}

impl<T> Default for IdMap<T> {
    fn default() -> IdMap<T> {
        IdMap { dense: Vec::new(), sparse: HashMap::default() }
    }
}

impl<T> IdMap<T> {
    pub fn insert(&mut self, id: i64, value: T) {
        match u64::try_from(id).ok().filter(|id| *id <= self.dense.len() as u64 + MAX_GAP) {
            Some(at) => {
                let at = at as usize;
                while self.dense.len() <= at {
                    self.dense.push(None);
                }
                self.dense[at] = Some(value);
            }
            None => {
                self.sparse.insert(id, value);
            }
        }
    }

    pub fn get(&self, id: i64) -> Option<&T> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at)?.as_ref());
        dense.or_else(|| self.sparse.get(&id))
    }
}

/// Texts by id. Only those that events refer to go to the trace: the others may be secrets (environment, paths, logs).
#[derive(Default)]
pub struct Names {
    texts: Vec<u8>,
    /// Start and length in [`Names::texts`].
    places: IdMap<(usize, u32)>,
    interned: IdMap<StringId>,
}

impl Names {
    pub fn insert(&mut self, id: i64, text: &[u8]) {
        if text.len() <= MAX_NAME_BYTES {
            self.places.insert(id, (self.texts.len(), text.len() as u32));
            self.texts.extend_from_slice(text);
        }
    }

    pub fn get(&self, id: i64) -> Option<&[u8]> {
        let (start, len) = *self.places.get(id)?;
        self.texts.get(start..)?.get(..len as usize)
    }

    /// The name of an id; `(missing)`, with an issue at `offset`, if there is none.
    pub fn intern(&mut self, id: Option<i64>, offset: u64, out: &mut TraceBuilder) -> StringId {
        self.intern_as(id, offset, out, |text| text)
    }

    /// Like [`Names::intern`], with what `shown` makes of the text.
    pub fn intern_as(
        &mut self,
        id: Option<i64>,
        offset: u64,
        out: &mut TraceBuilder,
        shown: impl Fn(&[u8]) -> &[u8],
    ) -> StringId {
        if let Some(known) = id.and_then(|id| self.interned.get(id)) {
            return *known;
        }
        let Some((id, text)) = id.and_then(|id| Some((id, self.get(id)?))) else {
            return missing(id, offset, out);
        };
        let interned = out.trace.strings.intern_bytes(shown(text));
        self.interned.insert(id, interned);
        interned
    }
}

/// The name of something whose name is not in the file.
pub fn missing(id: Option<i64>, offset: u64, out: &mut TraceBuilder) -> StringId {
    let example = id.map_or("null".to_string(), |id| id.to_string());
    out.trace.ledger.file(&MISSING_NAME, Position { byte: offset, line: None }, example.as_bytes());
    out.trace.strings.intern(MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_be_any_number() {
        let mut map = IdMap::default();
        for id in [1, 2, 3, 40, i64::MAX, -7, 4, 41, 2] {
            map.insert(id, id.wrapping_mul(2) % 1000);
        }
        for id in [1, 2, 3, 4, 40, 41, i64::MAX, -7] {
            assert_eq!(map.get(id), Some(&(id.wrapping_mul(2) % 1000)), "{id}");
        }
        assert!(map.get(0).is_none() && map.get(5).is_none() && map.get(i64::MIN).is_none());
    }
}
