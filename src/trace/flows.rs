//! Flow arrows between slices.

use super::slices::SliceId;
use crate::base::strings::StringId;

/// Arrows, from the slice that starts earlier to the later one.
#[derive(Clone, Default)]
pub struct FlowTable {
    pub from: Vec<SliceId>,
    pub to: Vec<SliceId>,
    /// Name and category of the flow events; [`StringId::NONE`] for arrows given by `bind_id`.
    pub name: Vec<StringId>,
    pub category: Vec<StringId>,
}

impl FlowTable {
    pub fn len(&self) -> usize {
        self.from.len()
    }

    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }
}
