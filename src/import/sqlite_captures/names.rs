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
    /// By [`Shown`].
    interned: [IdMap<StringId>; 2],
}

/// The part of a text that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    Whole,
    /// A call of the runtime without its version.
    Call,
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
        self.intern_as(id, offset, out, Shown::Whole)
    }

    /// Like [`Names::intern`], with the part of the text that is shown.
    pub fn intern_as(
        &mut self,
        id: Option<i64>,
        offset: u64,
        out: &mut TraceBuilder,
        shown: Shown,
    ) -> StringId {
        // One text may be the name of a call and of something else.
        if let Some(known) = id.and_then(|id| self.interned[shown as usize].get(id)) {
            return *known;
        }
        let Some((id, text)) = id.and_then(|id| Some((id, self.get(id)?))) else {
            return missing(id, offset, out);
        };
        let text = match shown {
            Shown::Whole => text,
            Shown::Call => without_version(text),
        };
        let interned = out.trace.strings.intern_bytes(text);
        self.interned[shown as usize].insert(id, interned);
        interned
    }
}

/// `cudaLaunchKernel` of `cudaLaunchKernel_v7000`. Versions of calls of the driver (`_v2`) tell different calls apart.
fn without_version(name: &[u8]) -> &[u8] {
    let at = memchr::memmem::rfind(name, b"_v").filter(|_| name.starts_with(b"cuda"));
    match at {
        Some(at) if name.len() - at >= 6 && name[at + 2..].iter().all(u8::is_ascii_digit) => &name[..at],
        _ => name,
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

    #[test]
    fn versions_of_runtime_calls_are_left_out() {
        let shown = |name: &str| String::from_utf8_lossy(without_version(name.as_bytes())).into_owned();
        assert_eq!(shown("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(shown("cudaGraphInstantiate_v12000"), "cudaGraphInstantiate");
        for kept in
            ["cuMemcpyHtoDAsync_v2", "cudaMalloc", "cudaX_v2", "my_v3020", "cuda_v30a0", "cuCtx_v3020"]
        {
            assert_eq!(shown(kept), kept);
        }
    }
}
