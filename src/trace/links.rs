//! Ids by which a call and the work it caused on a GPU name each other, and what else GPU reports need of the arguments
//! of every such event.
//!
//! Most arguments stay in the file until someone looks. These few are wanted of hundreds of thousands of events at once, so
//! they are taken along while reading.

use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// Categories of events that take place on a GPU and keep it busy, as the PyTorch profiler names them today and did in 2021.
pub const WORK_CATEGORIES: &[&str] =
    &["kernel", "Kernel", "mtia_ccp_events", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"];

/// Members around the events that only the PyTorch profiler writes.
pub const PROFILER_MEMBERS: &[&str] =
    &["schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"];

/// What an event says of its place between computer and GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Joins a call with the work it caused. [`LinkTable::NONE`] where not given.
    pub correlation: i64,
    /// Names the operator in whose scope it happened; of old profilers a copy of the correlation.
    /// [`LinkTable::NONE`] where not given.
    pub external: i64,
    /// Stream of the GPU; [`LinkTable::NO_STREAM`] where not given.
    pub stream: i32,
    /// Bytes moved; [`LinkTable::NONE`] where not given.
    pub bytes: i64,
}

/// Links of events in the order of the file, by the byte at which the event starts.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct LinkTable {
    /// Byte in the decompressed file where the event starts; ascending.
    pub offset: Vec<u64>,
    /// See [`Link::correlation`].
    pub correlation: Vec<i64>,
    /// See [`Link::external`].
    pub external: Vec<i64>,
    /// See [`Link::stream`].
    pub stream: Vec<i32>,
    /// Sparse, sorted by row: see [`Link::bytes`].
    pub bytes: Vec<(u32, i64)>,
    /// Sparse, sorted by row: work of a GPU that has a record and no time, with its name. It has no slice.
    pub untimed: Vec<(u64, StringId)>,
}

impl LinkTable {
    /// An id or a size that is not given.
    pub const NONE: i64 = i64::MIN;
    /// A stream that is not given. Profilers write -1 for "none of them", which is something else.
    pub const NO_STREAM: i32 = i32::MIN;

    pub fn len(&self) -> usize {
        self.offset.len()
    }

    pub fn is_empty(&self) -> bool {
        self.offset.is_empty()
    }

    /// Adds the link of the event at `offset`, which lies behind all others.
    pub fn push(&mut self, offset: u64, link: Link) {
        if link.bytes != LinkTable::NONE {
            self.bytes.push((self.offset.len() as u32, link.bytes));
        }
        self.offset.push(offset);
        self.correlation.push(link.correlation);
        self.external.push(link.external);
        self.stream.push(link.stream);
    }

    /// The one added last is of work without a time.
    pub fn mark_untimed(&mut self, name: StringId) {
        if let Some(last) = self.offset.len().checked_sub(1) {
            self.untimed.push((last as u64, name));
        }
    }

    /// Adds the links of what comes right behind all that is here; `text` gives the number that a text of theirs has here.
    pub fn append(&mut self, more: LinkTable, text: impl Fn(StringId) -> StringId) {
        let n_before = self.offset.len() as u32;
        let untimed = more.untimed.into_iter();
        self.untimed.extend(untimed.map(|(row, name)| (row.saturating_add(u64::from(n_before)), text(name))));
        self.offset.extend(more.offset);
        self.correlation.extend(more.correlation);
        self.external.extend(more.external);
        self.stream.extend(more.stream);
        self.bytes.extend(more.bytes.into_iter().map(|(row, bytes)| (row.saturating_add(n_before), bytes)));
    }

    /// The row of the event at `offset`. It is sought from `near` on, the row found last: events are mostly asked for in
    /// the order of the file.
    pub fn find(&self, offset: u64, near: usize) -> Option<usize> {
        let from = if self.offset.get(near).is_some_and(|at| *at <= offset) { near } else { 0 };
        let rest = &self.offset[from..];
        // Doubling steps find what is near at once.
        let mut step = 1;
        while rest.get(step).is_some_and(|at| *at < offset) {
            step *= 2;
        }
        let end = rest.len().min(step + 1);
        rest[step / 2..end].binary_search(&offset).ok().map(|at| from + step / 2 + at)
    }

    /// The link in `row`.
    pub fn get(&self, row: usize) -> Link {
        let bytes = self.bytes.binary_search_by_key(&(row as u32), |(row, _)| *row).ok();
        Link {
            correlation: self.correlation[row],
            external: self.external[row],
            stream: self.stream[row],
            bytes: bytes.map_or(LinkTable::NONE, |at| self.bytes[at].1),
        }
    }

    /// Whether columns are of one length and in order.
    pub fn is_sound(&self) -> bool {
        let n = self.offset.len();
        [self.correlation.len(), self.external.len(), self.stream.len()].iter().all(|len| *len == n)
            && self.offset.is_sorted()
            && self.bytes.is_sorted_by_key(|(row, _)| *row)
            && self.bytes.last().is_none_or(|(row, _)| (*row as usize) < n)
            && self.untimed.is_sorted_by_key(|(row, _)| *row)
            && self.untimed.last().is_none_or(|(row, _)| *row < n as u64)
    }
}

/// What tells operators with equal inputs from others: a hash of the texts of their shapes, types, strides and scalars; and
/// kernels that were launched alike: one of their grid, block, registers and shared memory (grid and block also of calls, where ROCm has them). Of copies it is the bandwidth
/// that they claim, as the bits of a double, in GB/s.
/// With it one of each kind is read from the file again, not all of them.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct SignatureTable {
    /// Byte in the decompressed file where the event starts; ascending.
    pub offset: Vec<u64>,
    pub hash: Vec<u64>,
}

impl SignatureTable {
    /// Adds that of the event at `offset`, which lies behind all others.
    pub fn push(&mut self, offset: u64, hash: u64) {
        self.offset.push(offset);
        self.hash.push(hash);
    }

    /// Adds those of what comes right behind all that is here.
    pub fn append(&mut self, more: SignatureTable) {
        self.offset.extend(more.offset);
        self.hash.extend(more.hash);
    }

    /// That of the event at `offset`, if it has inputs.
    pub fn get(&self, offset: u64) -> Option<u64> {
        self.offset.binary_search(&offset).ok().map(|at| self.hash[at])
    }

    /// Whether columns are of one length and in order.
    pub fn is_sound(&self) -> bool {
        self.offset.len() == self.hash.len() && self.offset.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_from_anywhere() {
        let mut table = LinkTable::default();
        for i in 0..100u64 {
            let bytes = if i % 3 == 0 { i as i64 } else { LinkTable::NONE };
            table.push(i * i, Link { correlation: i as i64, external: 0, stream: 7, bytes });
        }
        assert!(table.is_sound());
        for near in [0, 1, 50, 99, 100, usize::MAX] {
            for i in 0..100 {
                assert_eq!(table.find(i * i, near), Some(i as usize));
                assert_eq!(table.find(i * i + 2, near).is_some(), i * i + 2 == (i + 1) * (i + 1));
            }
        }
        assert_eq!((table.get(3).bytes, table.get(4).bytes), (3, LinkTable::NONE));
        let mut twice = table.clone();
        table.mark_untimed(StringId(5));
        twice.append(table, |id| StringId(id.0 + 1));
        assert_eq!(twice.untimed, [(199, StringId(6))]);
        assert_eq!((twice.get(103).bytes, twice.len()), (3, 200));
    }
}
