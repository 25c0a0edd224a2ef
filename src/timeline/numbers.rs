//! Numbers of boxes, row by row, in 2 bytes each where those of a row are near each other, and 6 elsewhere.
//!
//! ```text
//! blocks   [base 70,000      ][base 70,300      ][in `wide`        ]     of 64 numbers
//! low      [0, 2, 9, …       ][0, 1, 5, …       ][                 ]     what to add to the base
//! wide                                           [71,000, 990,000, …]    too far from each other, or of several rows
//! ```

/// Numbers in a block.
const BLOCK: usize = 64;

/// Neighboring numbers.
#[derive(Clone, Copy)]
struct Block {
    /// The first one; [`Block::UNSET`] before it is known.
    base: u32,
    /// Where in [`Numbers::wide`] they are; [`Block::NARROW`] if they are in [`Numbers::low`].
    wide: u32,
}

impl Block {
    const UNSET: u32 = u32::MAX;
    const NARROW: u32 = u32::MAX;
}

/// Numbers in rows, ascending in each.
#[derive(Clone, Default)]
pub struct Numbers {
    low: Vec<u16>,
    blocks: Vec<Block>,
    wide: Vec<u32>,
}

impl Numbers {
    /// Room for rows that start at the places `first`; the last one is the end of the last row.
    pub fn new(first: &[u32]) -> Numbers {
        let n = first.last().map_or(0, |end| *end as usize);
        let block = Block { base: Block::UNSET, wide: Block::NARROW };
        let mut numbers =
            Numbers { low: vec![0; n], blocks: vec![block; n.div_ceil(BLOCK)], wide: Vec::new() };
        for start in
            first.iter().map(|start| *start as usize).filter(|start| start % BLOCK != 0 && *start < n)
        {
            numbers.widen(start / BLOCK, 0);
        }
        numbers
    }

    /// Moves the first `n` numbers of a block to where there is room for any number.
    #[cold]
    fn widen(&mut self, block: usize, n: usize) {
        let Block { base, wide } = self.blocks[block];
        if wide != Block::NARROW {
            return;
        }
        self.blocks[block].wide = self.wide.len() as u32;
        let low = &self.low[block * BLOCK..][..n];
        self.wide.extend(low.iter().map(|low| base + u32::from(*low)));
        self.wide.resize(self.blocks[block].wide as usize + BLOCK, 0);
    }

    /// Sets a number, after those before it in its row.
    #[inline]
    pub fn set(&mut self, at: usize, number: u32) {
        let block = &mut self.blocks[at / BLOCK];
        if block.wide == Block::NARROW {
            if block.base == Block::UNSET {
                block.base = number;
            }
            if let Ok(low) = u16::try_from(number.wrapping_sub(block.base)) {
                self.low[at] = low;
                return;
            }
            self.widen(at / BLOCK, at % BLOCK);
        }
        let wide = self.blocks[at / BLOCK].wide as usize;
        self.wide[wide + at % BLOCK] = number;
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        let block = self.blocks[at / BLOCK];
        match block.wide {
            Block::NARROW => block.base.wrapping_add(u32::from(self.low[at])),
            wide => self.wide[wide as usize + at % BLOCK],
        }
    }

    /// Gives back memory that was reserved for more.
    pub fn shrink(&mut self) {
        self.wide.shrink_to_fit();
    }

    /// The row from one place up to another.
    pub fn row(&self, places: std::ops::Range<usize>) -> RowNumbers<'_> {
        RowNumbers { all: self, from: places.start, len: places.len() }
    }

    /// Bytes in memory.
    pub fn n_bytes(&self) -> usize {
        self.low.capacity() * size_of::<u16>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.wide.capacity() * size_of::<u32>()
    }
}

/// The numbers of a row, ascending.
#[derive(Clone, Copy)]
pub struct RowNumbers<'a> {
    all: &'a Numbers,
    from: usize,
    len: usize,
}

impl<'a> RowNumbers<'a> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at a position below [`RowNumbers::len`].
    #[inline]
    pub fn at(&self, position: usize) -> u32 {
        debug_assert!(position < self.len);
        self.all.get(self.from + position)
    }

    pub fn get(&self, position: usize) -> Option<u32> {
        (position < self.len).then(|| self.at(position))
    }

    /// Those from a position on.
    pub fn iter_from(self, position: usize) -> impl Iterator<Item = u32> + 'a {
        (position..self.len).map(move |position| self.at(position))
    }

    /// How many come before the first that is not `before`, see [`slice::partition_point`].
    #[inline]
    pub fn partition_point(&self, before: impl Fn(u32) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            match before(self.at(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Position of a number.
    pub fn position_of(&self, number: u32) -> Option<usize> {
        let at = self.partition_point(|other| other < number);
        (self.get(at) == Some(number)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_they_were_set() {
        // Dense, sparse, with a gap in the middle of a block, and rows shorter than a block.
        let rows: Vec<Vec<u32>> = vec![
            (0..200).map(|i| i * 3).collect(),
            (0..100).map(|i| i * 70_000 + 1).collect(),
            (0..130).map(|i| if i < 90 { i + 7 } else { i + 1_000_000 }).collect(),
            vec![5],
            Vec::new(),
            vec![0, u32::MAX - 1],
            (0..64).map(|i| 65_535 + i * 1041).collect(),
        ];
        let mut first = vec![0_u32];
        rows.iter().for_each(|row| first.push(first.last().unwrap() + row.len() as u32));
        let mut numbers = Numbers::new(&first);
        // Rows grow beside each other.
        for at in 0..200 {
            for (row, start) in rows.iter().zip(&first) {
                if let Some(number) = row.get(at) {
                    numbers.set(*start as usize + at, *number);
                }
            }
        }
        for (at, row) in rows.iter().enumerate() {
            let found = numbers.row(first[at] as usize..first[at + 1] as usize);
            assert_eq!(found.iter_from(0).collect::<Vec<_>>(), *row);
            assert_eq!((found.len(), found.get(row.len())), (row.len(), None));
            for (position, number) in row.iter().enumerate() {
                assert_eq!(found.position_of(*number), Some(position));
                assert_eq!(found.partition_point(|other| other <= *number), position + 1);
                assert_eq!(found.position_of(number + 1), row.binary_search(&(number + 1)).ok());
            }
        }
    }
}
