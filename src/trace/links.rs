//! Ids that link a call with the kernel or copy it launched, and other arguments that GPU reports need of every such event.
//!
//! Most arguments stay in the file until they are looked at. These few are needed of hundreds of thousands of events at once,
//! so they are extracted while reading.

use super::split_column::SplitColumn;
use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// Categories of kernels, copies and memsets, as the PyTorch profiler names them today and did in 2021.
pub const WORK_CATEGORIES: &[&str] =
    &["kernel", "Kernel", "mtia_ccp_events", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"];

/// Categories of operators, as the PyTorch profiler names them today and did in 2021.
pub const OPERATOR_CATEGORIES: &[&str] = &["cpu_op", "Operator"];

/// Categories of calls of a runtime or driver, as the PyTorch profiler names them today and did in 2021: CUDA and HIP, Intel (XPU),
/// MTIA, and backends outside of PyTorch (PrivateUse1).
pub const CALL_CATEGORIES: &[&str] = &[
    "cuda_runtime",
    "cuda_driver",
    "Runtime",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
];

/// Beginnings of names of tracks for calls of the runtime or driver, beside the threads that made them.
pub const CALL_TRACKS: &[&str] = &["CUDA runtime", "CUDA driver", "HIP runtime"];

/// Top-level members that only the PyTorch profiler writes.
pub const PROFILER_MEMBERS: &[&str] =
    &["schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"];

/// Link of an event between CPU and GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Id shared by a call and the kernel or copy it launched. [`LinkTable::NONE`] if not given.
    pub correlation: i64,
    /// Id of the operator in whose scope it happened; a copy of the correlation in old profilers. [`LinkTable::NONE`] if not
    /// given.
    pub external: i64,
    /// GPU stream; [`LinkTable::NO_STREAM`] if not given.
    pub stream: i32,
    /// Bytes moved; [`LinkTable::NONE`] if not given.
    pub bytes: i64,
}

/// Links of events in file order, by the offset of the event.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct LinkTable {
    /// Offset of the event in the decompressed file; ascending.
    pub offset: SplitColumn<u32>,
    /// See [`Link::correlation`].
    pub correlation: SplitColumn<u32>,
    /// See [`Link::external`]. Empty if no link has one.
    pub external: SplitColumn<u32>,
    /// See [`Link::stream`].
    pub stream: SplitColumn<u8>,
    /// Sparse, sorted by row: see [`Link::bytes`].
    pub bytes: Vec<(u32, i64)>,
    /// Sparse, sorted by row: kernels and copies without a time, with their names. They have no slice.
    pub untimed: Vec<(u64, StringId)>,
}

impl LinkTable {
    /// Missing id or size.
    pub const NONE: i64 = i64::MIN;
    /// Missing stream. Profilers write -1 for "no stream", which is different.
    pub const NO_STREAM: i32 = i32::MIN;

    pub fn len(&self) -> usize {
        self.offset.len()
    }

    pub fn is_empty(&self) -> bool {
        self.offset.is_empty()
    }

    /// Adds the link of the event at `offset`, which comes after all others.
    pub fn push(&mut self, offset: u64, link: Link) {
        let row = self.len();
        if link.bytes != LinkTable::NONE {
            self.bytes.push((row as u32, link.bytes));
        }
        if link.external != LinkTable::NONE || !self.external.is_empty() {
            while self.external.len() < row {
                self.external.push(LinkTable::NONE);
            }
            self.external.push(link.external);
        }
        self.offset.push(offset as i64);
        self.correlation.push(link.correlation);
        self.stream.push(i64::from(link.stream));
    }

    /// Frees memory that is reserved for more links.
    pub fn shrink_to_fit(&mut self) {
        self.offset.shrink_to_fit();
        self.correlation.shrink_to_fit();
        self.external.shrink_to_fit();
        self.stream.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }

    /// Marks the last link as a kernel or copy without a time.
    pub fn mark_untimed(&mut self, name: StringId) {
        if let Some(last) = self.offset.len().checked_sub(1) {
            self.untimed.push((last as u64, name));
        }
    }

    /// Appends the links of what directly follows; `text` maps their text ids to ids here.
    pub fn append(&mut self, more: LinkTable, text: impl Fn(StringId) -> StringId) {
        let n_before = self.offset.len() as u32;
        for row in 0..more.len() {
            self.push(more.offset.get(row) as u64, more.without_bytes(row));
        }
        let untimed = more.untimed.into_iter();
        self.untimed.extend(untimed.map(|(row, name)| (row.saturating_add(u64::from(n_before)), text(name))));
        self.bytes.extend(more.bytes.into_iter().map(|(row, bytes)| (row.saturating_add(n_before), bytes)));
    }

    /// Inserts the links of other events of the file; those of the same event stay as they are. Neither table has any without a time.
    pub fn insert(&mut self, more: LinkTable) {
        if self.is_empty() {
            *self = more;
            return;
        }
        let own = std::mem::take(self);
        let (mut a, mut b) = (0, 0);
        while a < own.len() || b < more.len() {
            if a < own.len() && b < more.len() && own.offset.get(a) == more.offset.get(b) {
                b += 1;
                continue;
            }
            let is_own = b >= more.len() || a < own.len() && own.offset.get(a) < more.offset.get(b);
            let (from, row) = if is_own { (&own, &mut a) } else { (&more, &mut b) };
            self.push(from.offset.get(*row) as u64, from.get(*row));
            *row += 1;
        }
    }

    /// Row of the event at `offset`. The search starts at `near`, the last row found: events are mostly looked up in file
    /// order.
    pub fn find(&self, offset: u64, near: usize) -> Option<usize> {
        let at = |row: usize| self.offset.get(row) as u64;
        let from = if near < self.len() && at(near) <= offset { near } else { 0 };
        let n = self.len() - from;
        // Doubling steps quickly find what is near.
        let mut step = 1;
        while step < n && at(from + step) < offset {
            step *= 2;
        }
        self.offset.find(offset, from + step / 2..from + n.min(step + 1))
    }

    /// Link in `row`.
    pub fn get(&self, row: usize) -> Link {
        let bytes = self.bytes.binary_search_by_key(&(row as u32), |(row, _)| *row).ok();
        Link { bytes: bytes.map_or(LinkTable::NONE, |at| self.bytes[at].1), ..self.without_bytes(row) }
    }

    fn without_bytes(&self, row: usize) -> Link {
        Link {
            correlation: self.correlation.get(row),
            external: self.external(row),
            stream: self.stream(row),
            bytes: LinkTable::NONE,
        }
    }

    /// See [`Link::external`].
    pub fn external(&self, row: usize) -> i64 {
        if self.external.is_empty() { LinkTable::NONE } else { self.external.get(row) }
    }

    /// See [`Link::stream`].
    pub fn stream(&self, row: usize) -> i32 {
        // Made from an `i32`.
        self.stream.get(row) as i32
    }

    /// Whether columns have equal lengths and are in order.
    pub fn is_sound(&self) -> bool {
        let n = self.offset.len();
        let external = self.external.len();
        (self.correlation.len(), self.stream.len()) == (n, n)
            && (external == n || external == 0)
            && [&self.offset, &self.correlation, &self.external].iter().all(|column| column.is_sound())
            && self.stream.is_sound()
            && self.offset.iter().is_sorted_by_key(|offset| offset as u64)
            && self.bytes.is_sorted_by_key(|(row, _)| *row)
            && self.bytes.last().is_none_or(|(row, _)| (*row as usize) < n)
            && self.untimed.is_sorted_by_key(|(row, _)| *row)
            && self.untimed.last().is_none_or(|(row, _)| *row < n as u64)
    }
}

/// Hashes that identify equal events, so that one of each kind is read from the file again instead of all. For operators: a
/// hash of shapes, types, strides and scalars of the inputs. For kernels: a hash of grid, block, registers and shared memory
/// (for calls, grid and block, where ROCm has them). For copies, instead of a hash: the bandwidth they claim in GB/s, as the
/// bits of a double.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct SignatureTable {
    /// Offset of the event in the decompressed file; ascending.
    pub offset: SplitColumn<u32>,
    pub hash: Vec<u64>,
}

impl SignatureTable {
    /// Adds the signature of the event at `offset`, which comes after all others.
    pub fn push(&mut self, offset: u64, hash: u64) {
        self.offset.push(offset as i64);
        self.hash.push(hash);
    }

    /// Frees memory that is reserved for more signatures.
    pub fn shrink_to_fit(&mut self) {
        self.offset.shrink_to_fit();
        self.hash.shrink_to_fit();
    }

    /// Appends the signatures of what directly follows.
    pub fn append(&mut self, more: SignatureTable) {
        more.offset.iter().for_each(|offset| self.offset.push(offset));
        self.hash.extend(more.hash);
    }

    /// Inserts the signatures of other events of the file; those of the same event stay as they are.
    pub fn insert(&mut self, more: SignatureTable) {
        if self.hash.is_empty() {
            *self = more;
            return;
        }
        let own = std::mem::take(self);
        let (mut a, mut b) = (0, 0);
        while a < own.hash.len() || b < more.hash.len() {
            if a < own.hash.len() && b < more.hash.len() && own.offset.get(a) == more.offset.get(b) {
                b += 1;
                continue;
            }
            let is_own = b >= more.hash.len() || a < own.hash.len() && own.offset.get(a) < more.offset.get(b);
            let (from, row) = if is_own { (&own, &mut a) } else { (&more, &mut b) };
            self.push(from.offset.get(*row) as u64, from.hash[*row]);
            *row += 1;
        }
    }

    /// Signature of the event at `offset`, if it has one.
    pub fn get(&self, offset: u64) -> Option<u64> {
        self.offset.find(offset, 0..self.hash.len()).map(|at| self.hash[at])
    }

    /// Whether columns have equal lengths and are in order.
    pub fn is_sound(&self) -> bool {
        self.offset.len() == self.hash.len()
            && self.offset.is_sound()
            && self.offset.iter().is_sorted_by_key(|offset| offset as u64)
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
