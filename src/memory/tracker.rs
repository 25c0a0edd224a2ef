//! Regions by page alone: all weight pages form one region, every other page is a region.
//!
//! The reference contains this next to its labeller without using it; the kind of a page never changes.

use super::kinds::Kind;
use super::labeller::{Region, RegionMap};
use crate::base::hash::HashMap;

/// State of the pages so far.
#[derive(Clone, Debug, Default)]
pub struct PageTracker {
    pages: HashMap<u64, (Kind, u32)>,
    map: RegionMap,
}

impl PageTracker {
    /// Region and kind of a page accessed at `ts` with proposed `kind`.
    pub fn update(&mut self, page: u64, kind: Kind, ts: i64) -> (u32, Kind) {
        let (kind, id) = match self.pages.get(&page) {
            Some(known) => *known,
            None => {
                let id = if kind == Kind::WEIGHT { Region::WEIGHTS } else { self.map.next_id() };
                self.pages.insert(page, (kind, id));
                (kind, id)
            }
        };
        self.map.count(id, kind, page, ts);
        (id, kind)
    }

    pub fn regions(&self) -> &[Region] {
        self.map.regions()
    }
}
