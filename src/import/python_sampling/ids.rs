//! Ids of a file to row numbers.

use std::collections::BTreeMap;

const FREE: u32 = u32::MAX;

/// Rows by id. Ids usually count from 0, so most are in a vector; others go to a tree, whose worst case is as good as its
/// best. The vector never grows out of proportion to its content.
#[derive(Clone, Default)]
pub(super) struct IdIndex {
    dense: Vec<u32>,
    sparse: BTreeMap<u64, u32>,
    len: u32,
}

impl IdIndex {
    /// Row of `id`, and whether it is new (then it is the number of rows so far).
    #[inline]
    pub fn row(&mut self, id: u64) -> (usize, bool) {
        if let Some(row) = self.dense.get(id as usize)
            && *row != FREE
            && usize::try_from(id).is_ok()
        {
            return (*row as usize, false);
        }
        self.row_slow(id)
    }

    fn row_slow(&mut self, id: u64) -> (usize, bool) {
        if let Some(row) = self.sparse.get(&id) {
            return (*row as usize, false);
        }
        let row = self.len;
        self.len += 1;
        if id <= 64 + 4 * u64::from(row) {
            let at = id as usize;
            if self.dense.len() <= at {
                self.dense.resize(at + 1, FREE);
            }
            self.dense[at] = row;
        } else {
            self.sparse.insert(id, row);
        }
        (row as usize, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_plain_map() {
        let mut index = IdIndex::default();
        let mut plain: BTreeMap<u64, usize> = BTreeMap::new();
        let mut state = 7u64;
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let id = match state >> 62 {
                0 => step,
                1 => (state >> 30) % 40_000,
                2 => u64::MAX - (state >> 30) % 1000,
                _ => (state >> 30) % (1 << 33),
            };
            let next = plain.len();
            let new = !plain.contains_key(&id);
            let row = *plain.entry(id).or_insert(next);
            assert_eq!(index.row(id), (row, new), "{id}");
        }
    }
}
