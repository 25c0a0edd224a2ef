//! Arguments of events as the raw JSON text they came in, decoded when someone looks.

use std::sync::Arc;

/// Number of an argument object in an [`ArgsTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArgsId(pub u32);

impl ArgsId {
    /// The event has no arguments.
    pub const NONE: ArgsId = ArgsId(u32::MAX);

    pub fn is_none(self) -> bool {
        self == ArgsId::NONE
    }
}

const BLOCK_BYTES: usize = 1 << 22;

/// Raw JSON objects, from `{` to `}`, bytes as in the file (so not always valid UTF-8).
///
/// A clone shares the text: partial reports are made from clones while reading goes on.
#[derive(Clone, Default)]
pub struct ArgsTable {
    /// Only a block that no clone shares is written to.
    blocks: Vec<Arc<Vec<u8>>>,
    /// Block and offset of each object.
    starts: Vec<(u32, u32)>,
    lens: Vec<u32>,
}

impl ArgsTable {
    /// Stores one raw object.
    pub fn push(&mut self, raw: &[u8]) -> ArgsId {
        let last = self.blocks.len().wrapping_sub(1) as u32;
        let (block, start) = match self.blocks.last_mut().and_then(Arc::get_mut) {
            Some(block) if block.capacity() - block.len() >= raw.len() => {
                let start = block.len() as u32;
                block.extend_from_slice(raw);
                (last, start)
            }
            _ => {
                let mut block = Vec::with_capacity(raw.len().max(BLOCK_BYTES));
                block.extend_from_slice(raw);
                self.blocks.push(Arc::new(block));
                (last.wrapping_add(1), 0)
            }
        };
        self.starts.push((block, start));
        self.lens.push(raw.len() as u32);
        ArgsId(self.starts.len() as u32 - 1)
    }

    /// The raw JSON object; `None` for [`ArgsId::NONE`].
    pub fn get(&self, id: ArgsId) -> Option<&[u8]> {
        let (block, start) = *self.starts.get(id.0 as usize)?;
        let len = self.lens[id.0 as usize] as usize;
        Some(&self.blocks[block as usize][start as usize..start as usize + len])
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}
