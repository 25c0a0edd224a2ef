//! Columns of numbers that nearly always fit in few bytes; the wide ones are stored apart, sparsely.

use super::args::ArgsPlace;

/// Duration of a slice without an end in the file.
pub const UNFINISHED: i64 = -1;

/// Nanoseconds, mostly below 4.29 seconds.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Nanoseconds {
    /// `u32::MAX` for values in `long`.
    pub short: Vec<u32>,
    /// Sparse, sorted by row.
    pub long: Vec<(u32, i64)>,
}

impl Nanoseconds {
    const LONG: u32 = u32::MAX;

    pub fn len(&self) -> usize {
        self.short.len()
    }

    pub fn is_empty(&self) -> bool {
        self.short.is_empty()
    }

    #[inline]
    pub fn push(&mut self, ns: i64) {
        let short = u32::try_from(ns).unwrap_or(Nanoseconds::LONG);
        if short == Nanoseconds::LONG {
            self.long.push((self.short.len() as u32, ns));
        }
        self.short.push(short);
    }

    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        match self.short[row] {
            Nanoseconds::LONG => {
                let at = self.long.binary_search_by_key(&(row as u32), |(row, _)| *row);
                // Always found if the column is valid.
                at.map_or(i64::from(Nanoseconds::LONG), |at| self.long[at].1)
            }
            short => i64::from(short),
        }
    }

    /// Whether all large values are present and in order.
    pub fn is_sound(&self) -> bool {
        let aside = (0..).zip(&self.short).filter(|(_, short)| **short == Nanoseconds::LONG);
        aside.map(|(row, _)| row).eq(self.long.iter().map(|(row, _): &(u32, i64)| *row))
    }
}

/// Takes over the memory. Durations must not be [`UNFINISHED`].
impl From<Durations> for Nanoseconds {
    fn from(durations: Durations) -> Nanoseconds {
        let Durations { mut short, long: all_long } = durations;
        let mut long = Vec::new();
        for (row, value) in (0..).zip(&mut short) {
            if *value >= Durations::ASIDE {
                let ns = all_long.get((*value - Durations::ASIDE) as usize).copied().unwrap_or(0);
                *value = u32::try_from(ns).unwrap_or(Nanoseconds::LONG);
                if *value == Nanoseconds::LONG {
                    long.push((row, ns));
                }
            }
        }
        Nanoseconds { short, long }
    }
}

impl FromIterator<i64> for Nanoseconds {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Nanoseconds {
        let values = values.into_iter();
        let mut column = Nanoseconds { short: Vec::with_capacity(values.size_hint().0), long: Vec::new() };
        values.for_each(|ns| column.push(ns));
        column
    }
}

/// Durations, mostly below 2.15 seconds, or [`UNFINISHED`]; each can be changed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Durations {
    /// Nanoseconds; for a large value, its index into [`Durations::long`] with the highest bit set.
    pub short: Vec<u32>,
    /// Large values in nanoseconds, in order of insertion.
    pub long: Vec<i64>,
}

impl Durations {
    const OPEN: u32 = u32::MAX;
    const ASIDE: u32 = 1 << 31;

    pub fn len(&self) -> usize {
        self.short.len()
    }

    pub fn is_empty(&self) -> bool {
        self.short.is_empty()
    }

    pub fn capacity(&self) -> usize {
        self.short.capacity()
    }

    pub fn reserve_exact(&mut self, n: usize) {
        self.short.reserve_exact(n);
    }

    #[inline]
    pub fn push(&mut self, ns: i64) {
        let short = self.narrowed(ns);
        self.short.push(short);
    }

    /// Changes the value of a row. A large value stays in `long`.
    #[inline]
    pub fn set(&mut self, row: usize, ns: i64) {
        match self.aside(self.short[row]) {
            Some(at) => self.long[at] = ns,
            None => self.short[row] = self.narrowed(ns),
        }
    }

    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        match self.short[row] {
            Durations::OPEN => UNFINISHED,
            short if short < Durations::ASIDE => i64::from(short),
            short => self.long[(short - Durations::ASIDE) as usize],
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    fn narrowed(&mut self, ns: i64) -> u32 {
        match u32::try_from(ns) {
            Ok(short) if short < Durations::ASIDE => short,
            _ if ns == UNFINISHED => Durations::OPEN,
            _ => {
                self.long.push(ns);
                // Row numbers have 32 bits, and memory does not suffice for that many.
                Durations::ASIDE + (self.long.len() - 1) as u32
            }
        }
    }

    fn aside(&self, short: u32) -> Option<usize> {
        (short >= Durations::ASIDE && short != Durations::OPEN).then(|| (short - Durations::ASIDE) as usize)
    }

    /// Whether all large values are present.
    pub fn is_sound(&self) -> bool {
        self.short.iter().all(|short| self.aside(*short).is_none_or(|at| at < self.long.len()))
    }
}

impl Durations {
    /// `n` durations of 0.
    pub fn zeros(n: usize) -> Durations {
        Durations { short: vec![0; n], long: Vec::new() }
    }
}

impl FromIterator<i64> for Durations {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Durations {
        let values = values.into_iter();
        let mut column = Durations { short: Vec::with_capacity(values.size_hint().0), long: Vec::new() };
        values.for_each(|ns| column.push(ns));
        column
    }
}

/// Depths, mostly below 65,535.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Depths {
    /// `u16::MAX` for values in `deep`.
    pub shallow: Vec<u16>,
    /// Sparse, sorted by row.
    pub deep: Vec<(u32, u32)>,
}

impl Depths {
    const DEEP: u16 = u16::MAX;

    pub fn len(&self) -> usize {
        self.shallow.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shallow.is_empty()
    }

    pub fn reserve_exact(&mut self, n: usize) {
        self.shallow.reserve_exact(n);
    }

    #[inline]
    pub fn push(&mut self, depth: u32) {
        let shallow = u16::try_from(depth).unwrap_or(Depths::DEEP);
        if shallow == Depths::DEEP {
            self.deep.push((self.shallow.len() as u32, depth));
        }
        self.shallow.push(shallow);
    }

    #[inline]
    pub fn get(&self, row: usize) -> u32 {
        match self.shallow[row] {
            Depths::DEEP => {
                let at = self.deep.binary_search_by_key(&(row as u32), |(row, _)| *row);
                // Always found if the column is valid.
                at.map_or(u32::from(Depths::DEEP), |at| self.deep[at].1)
            }
            shallow => u32::from(shallow),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Whether all large values are present and in order.
    pub fn is_sound(&self) -> bool {
        let aside = (0..).zip(&self.shallow).filter(|(_, shallow)| **shallow == Depths::DEEP);
        aside.map(|(row, _)| row).eq(self.deep.iter().map(|(row, _): &(u32, u32)| *row))
    }
}

impl FromIterator<u32> for Depths {
    fn from_iter<I: IntoIterator<Item = u32>>(values: I) -> Depths {
        let mut column = Depths::default();
        values.into_iter().for_each(|depth| column.push(depth));
        column
    }
}

/// Places of events in a file, and of their arguments relative to them.
///
/// Neighboring events are mostly close to each other, and arguments start and end within 64 KiB.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Places {
    /// Offset from the first event of the block, offset from there to the arguments, and their length. A length of `u16::MAX`
    /// means that the first number is an index into [`Places::far`].
    pub near: Vec<(u32, u16, u16)>,
    /// Offset in the decompressed file of the first event of each block.
    pub blocks: Vec<u64>,
    /// Offset of the event in the decompressed file, offset from there to its arguments, and their length.
    pub far: Vec<(u64, u32, u32)>,
}

impl Places {
    /// Events per block, as a power of two.
    const BLOCK_BITS: u32 = 12;
    const FAR: u16 = u16::MAX;

    pub fn with_capacity(n: usize) -> Places {
        Places { near: Vec::with_capacity(n), blocks: Vec::new(), far: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.near.len()
    }

    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    /// Adds an event at `offset` of the decompressed file, with arguments of `args_len` bytes that start `args_at` bytes
    /// later; 0 if there are none.
    #[inline]
    pub fn push(&mut self, offset: u64, (args_at, args_len): (u32, u32)) {
        let block = self.near.len() >> Places::BLOCK_BITS;
        let base = match self.blocks.get(block) {
            Some(base) => *base,
            None => {
                self.blocks.push(offset);
                offset
            }
        };
        let near = (offset.wrapping_sub(base) as u32, args_at as u16, args_len as u16);
        let is_near = base.checked_add(u64::from(near.0)) == Some(offset)
            && u32::from(near.1) == args_at
            && u32::from(near.2) == args_len
            && near.2 != Places::FAR;
        if is_near {
            self.near.push(near);
        } else {
            self.near.push((self.far.len() as u32, 0, Places::FAR));
            self.far.push((offset, args_at, args_len));
        }
    }

    /// The values that were pushed.
    #[inline]
    pub fn get(&self, row: usize) -> (u64, (u32, u32)) {
        match self.near[row] {
            (far, _, Places::FAR) => {
                let (offset, args_at, args_len) = self.far[far as usize];
                (offset, (args_at, args_len))
            }
            (behind, args_at, args_len) => {
                let offset = self.blocks[row >> Places::BLOCK_BITS] + u64::from(behind);
                (offset, (u32::from(args_at), u32::from(args_len)))
            }
        }
    }

    /// Offset of the event in the decompressed file.
    #[inline]
    pub fn offset(&self, row: usize) -> u64 {
        self.get(row).0
    }

    /// Place of its arguments.
    #[inline]
    pub fn args(&self, row: usize) -> ArgsPlace {
        let (offset, (at, len)) = self.get(row);
        ArgsPlace { offset: offset + u64::from(at), len }
    }

    /// The same events without arguments.
    pub fn without_args(&self) -> Places {
        let mut places = Places::with_capacity(self.len());
        (0..self.len()).for_each(|row| places.push(self.offset(row), (0, 0)));
        places
    }

    /// Whether all indexes are valid and no sum overflows.
    pub fn is_sound(&self) -> bool {
        let fits =
            |offset: u64, at: u32, len: u32| offset.checked_add(u64::from(at) + u64::from(len)).is_some();
        let is_near = |row: usize, (behind, at, len): (u32, u16, u16)| {
            let base = self.blocks.get(row >> Places::BLOCK_BITS);
            let offset = base.and_then(|base| base.checked_add(u64::from(behind)));
            offset.is_some_and(|offset| fits(offset, at.into(), len.into()))
        };
        self.far.iter().all(|(offset, at, len)| fits(*offset, *at, *len))
            && self.near.iter().enumerate().all(|(row, near)| match near {
                (far, _, Places::FAR) => (*far as usize) < self.far.len(),
                near => is_near(row, *near),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Including numbers near the limits of the narrow forms.
    fn number() -> impl Strategy<Value = u64> {
        let ends = [0xFFFE, 0xFFFF, 0x1_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0000_0000, u64::MAX >> 1];
        prop_oneof![3 => 0..1000_u64, 2 => proptest::sample::select(ends.to_vec()), 1 => 0..u64::MAX >> 1]
    }

    fn duration() -> impl Strategy<Value = i64> {
        let ends = [-2, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, i64::MIN, i64::MAX];
        prop_oneof![Just(UNFINISHED), 0..1000_i64, proptest::sample::select(ends.to_vec()), any::<i64>()]
    }

    proptest! {
        #[test]
        fn nanoseconds_come_back(values in prop::collection::vec((number(), any::<bool>()), 0..60)) {
            let values: Vec<i64> = values.iter().map(|(value, minus)| if *minus { -(*value as i64) } else { *value as i64 }).collect();
            let column: Nanoseconds = values.iter().copied().collect();
            prop_assert!(column.is_sound());
            let back: Vec<i64> = (0..column.len()).map(|row| column.get(row)).collect();
            prop_assert_eq!(back, values);
        }

        /// Also after changes, as for slices once their ends come.
        #[test]
        fn durations_come_back(values in prop::collection::vec((duration(), duration()), 0..60)) {
            let mut column: Durations = values.iter().map(|(first, _)| *first).collect();
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), values.iter().map(|(first, _)| *first).collect::<Vec<_>>());
            for (row, (_, last)) in values.iter().enumerate().rev() {
                column.set(row, *last);
            }
            prop_assert!(column.is_sound());
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), values.iter().map(|(_, last)| *last).collect::<Vec<_>>());
        }

        #[test]
        fn durations_become_nanoseconds(values in prop::collection::vec(duration(), 0..60)) {
            let values: Vec<i64> = values.into_iter().map(|value| value.max(0)).collect();
            let column = Nanoseconds::from(values.iter().copied().collect::<Durations>());
            prop_assert_eq!(&column, &values.iter().copied().collect::<Nanoseconds>());
        }

        #[test]
        fn depths_come_back(values in prop::collection::vec(number(), 0..60)) {
            let values: Vec<u32> = values.iter().map(|value| *value as u32).collect();
            let column: Depths = values.iter().copied().collect();
            prop_assert!(column.is_sound());
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), values);
        }

        #[test]
        fn places_come_back(rows in prop::collection::vec((number(), number(), number()), 1..60)) {
            let mut places = Places::default();
            // More than one block.
            let rows = || rows.iter().cycle().take(2 << Places::BLOCK_BITS);
            let args = |at: &u64, len: &u64| (*at as u32, *len as u32);
            rows().for_each(|(offset, at, len)| places.push(*offset, args(at, len)));
            prop_assert!(places.is_sound());
            for (row, (offset, at, len)) in rows().enumerate() {
                prop_assert_eq!(places.get(row), (*offset, args(at, len)));
            }
            let without = places.without_args();
            prop_assert!((0..without.len()).all(|row| without.get(row) == (places.offset(row), (0, 0))));
        }
    }

    #[test]
    fn columns_that_point_nowhere_are_told() {
        let mut places = Places::default();
        places.push(5, (1, 2));
        for change in [
            |places: &mut Places| places.blocks.clear(),
            |places: &mut Places| places.blocks[0] = u64::MAX,
            |places: &mut Places| places.near[0] = (0, 0, Places::FAR),
            |places: &mut Places| places.far.push((u64::MAX, 1, 0)),
        ] {
            let mut changed = places.clone();
            change(&mut changed);
            assert!(places.is_sound() && !changed.is_sound());
        }
        assert!(!Nanoseconds { short: vec![Nanoseconds::LONG], long: Vec::new() }.is_sound());
        assert!(!Nanoseconds { short: vec![0], long: vec![(0, 1)] }.is_sound());
    }
}
