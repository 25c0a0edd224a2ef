//! Levels of detail of one row: groups of neighboring boxes that start within the same power of two of nanoseconds.
//!
//! ```text
//! level 12    [   5 boxes   ][            23 boxes            ]      4096 ns each
//! level 10    .  .  [12 boxes] .  [17] .                             1024 ns each
//! boxes       |  |  |||||||||| |  |||| |
//! ```
//! Only groups of at least [`MIN_GROUP`] boxes are stored; the rest is read box by box. So the number of steps for a window depends
//! on its pixels, not on its boxes, and a row takes about 2 bytes a box for all levels; 4.4 in the benchmark, whose boxes come in
//! bursts.

/// Boxes in the smallest stored group.
pub const MIN_GROUP: u32 = 8;
/// Bits by which the intervals of a level are longer than those of the level below.
const STEP_BITS: u32 = 1;
/// About how many boxes there are in the intervals of the lowest level, in bits, where the row is dense.
const LOWEST_BITS: u32 = 6;
/// Rows with fewer boxes have no levels.
pub const MIN_ROW: u32 = 64;

/// Neighboring boxes of a row. Everything a pixel needs is here, because looking at the boxes themselves costs a cache miss each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Position in the row of the first box.
    pub first: u32,
    pub count: u32,
    /// Number of the longest box; the first of several.
    pub longest: u32,
    /// Lengths of the longest and of the last box in nanoseconds; [`Group::LONG`] if longer.
    longest_ns: u32,
    last_ns: u32,
    sum: [u32; 2],
    last_at: [u32; 2],
}

fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn whole(halves: [u32; 2]) -> u64 {
    u64::from(halves[0]) | u64::from(halves[1]) << 32
}

impl Group {
    const LONG: u32 = u32::MAX;

    fn new(open: &Open) -> Group {
        Group {
            first: open.first,
            count: open.count,
            longest: open.longest,
            longest_ns: u32::try_from(open.longest_ns).unwrap_or(Group::LONG),
            last_ns: u32::try_from(open.last_ns).unwrap_or(Group::LONG),
            sum: halves(open.sum),
            last_at: halves(open.last_at),
        }
    }

    /// Summed lengths in nanoseconds.
    #[inline]
    pub fn sum(&self) -> u64 {
        whole(self.sum)
    }

    /// Position behind the last box.
    #[inline]
    pub fn end(&self) -> u32 {
        self.first + self.count
    }

    /// Start of the last box in nanoseconds from the start of the trace.
    #[inline]
    pub fn last_at(&self) -> u64 {
        whole(self.last_at)
    }

    /// Length of the longest box, unless it is beyond 4.29 seconds.
    #[inline]
    pub fn longest_ns(&self) -> Option<i64> {
        (self.longest_ns != Group::LONG).then_some(i64::from(self.longest_ns))
    }

    /// Length of the last box, unless it is beyond 4.29 seconds.
    #[inline]
    pub fn last_ns(&self) -> Option<i64> {
        (self.last_ns != Group::LONG).then_some(i64::from(self.last_ns))
    }
}

/// Groups of one size of interval, by position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    /// Intervals have 2^`bits` nanoseconds, from the start of the trace.
    pub bits: u32,
    pub groups: Vec<Group>,
}

/// Levels of a row, from short intervals to long ones.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Levels(Vec<Level>);

impl Levels {
    /// Groups for pixels of 2^`bits` nanoseconds: none lies across two pixels.
    #[inline]
    pub fn for_pixels(&self, bits: u32) -> &[Group] {
        let n = self.0.partition_point(|level| level.bits <= bits);
        n.checked_sub(1).map_or(&[], |at| &self.0[at].groups)
    }

    /// Bytes in memory.
    pub fn n_bytes(&self) -> usize {
        self.0.iter().map(|level| level.groups.capacity() * size_of::<Group>()).sum()
    }
}

/// How dense the boxes of a row are: the number of distances between neighboring starts, by their number of bits.
#[derive(Clone)]
pub struct Density([u32; 65]);

impl Default for Density {
    fn default() -> Density {
        Density([0; 65])
    }
}

impl Density {
    #[inline]
    pub fn add(&mut self, distance: u64) {
        self.0[(u64::BITS - distance.leading_zeros()) as usize] += 1;
    }

    /// Bits of the shortest interval that is worth a level, from the distance below which a quarter of all boxes are.
    fn finest_bits(&self) -> u32 {
        let n: u64 = self.0.iter().map(|n| u64::from(*n)).sum();
        let mut below = 0;
        let at = self.0.iter().position(|distances| {
            below += u64::from(*distances);
            below * 4 >= n.max(1)
        });
        (at.unwrap_or(0) as u32 + LOWEST_BITS).min(62)
    }
}

/// A group that may grow.
#[derive(Clone, Copy, Default)]
struct Open {
    interval: u64,
    first: u32,
    count: u32,
    longest: u32,
    longest_ns: i64,
    last_at: u64,
    last_ns: i64,
    sum: u64,
}

/// Collects the levels of a row while its boxes are added in order.
pub struct LevelsBuilder {
    finest_bits: u32,
    /// By level; the last one has a single interval.
    open: Vec<Open>,
    done: Vec<Vec<Group>>,
    n: u32,
}

impl LevelsBuilder {
    /// `span` is the distance from the start of the trace to the last start in nanoseconds.
    pub fn new(density: &Density, span: u64) -> LevelsBuilder {
        let finest_bits = density.finest_bits();
        let span_bits = u64::BITS - span.leading_zeros();
        let n = (span_bits.saturating_sub(finest_bits)).div_ceil(STEP_BITS) as usize + 1;
        LevelsBuilder { finest_bits, open: vec![Open::default(); n], done: vec![Vec::new(); n], n: 0 }
    }

    /// Adds the next box; `at` is its start in nanoseconds from the start of the trace, not before that of the last one.
    #[inline]
    pub fn push(&mut self, id: u32, at: u64, length: i64) {
        let interval = at >> self.finest_bits;
        let one = Open {
            interval,
            first: self.n,
            count: 1,
            longest: id,
            longest_ns: length,
            last_at: at,
            last_ns: length,
            sum: length as u64,
        };
        self.n += 1;
        self.add(0, one);
    }

    fn add(&mut self, level: usize, group: Open) {
        let (mut level, mut group) = (level, group);
        while let Some(open) = self.open.get_mut(level) {
            if open.count > 0 && open.interval == group.interval {
                open.count += group.count;
                open.sum = open.sum.saturating_add(group.sum);
                (open.last_at, open.last_ns) = (group.last_at, group.last_ns);
                if group.longest_ns > open.longest_ns {
                    (open.longest, open.longest_ns) = (group.longest, group.longest_ns);
                }
                return;
            }
            let full = std::mem::replace(open, group);
            if full.count == 0 {
                return;
            }
            self.keep(level, &full);
            group = Open { interval: full.interval >> STEP_BITS, ..full };
            level += 1;
        }
    }

    fn keep(&mut self, level: usize, group: &Open) {
        if group.count >= MIN_GROUP {
            self.done[level].push(Group::new(group));
        }
    }

    pub fn finish(mut self) -> Levels {
        for level in 0..self.open.len() {
            let last = std::mem::take(&mut self.open[level]);
            if last.count == 0 {
                continue;
            }
            self.keep(level, &last);
            self.add(level + 1, Open { interval: last.interval >> STEP_BITS, ..last });
        }
        let mut levels: Vec<Level> = Vec::new();
        let grouped = |groups: &[Group]| groups.iter().map(|group| u64::from(group.count)).sum::<u64>();
        for (groups, bits) in self.done.into_iter().zip((self.finest_bits..).step_by(STEP_BITS as usize)) {
            // A level that groups little more than the one below is not worth its memory.
            let is_alike = levels.last().is_some_and(|last| {
                groups.len() * 3 > last.groups.len() * 2 && grouped(&groups) / 8 * 7 <= grouped(&last.groups)
            });
            if !groups.is_empty() && !is_alike {
                let mut groups = groups;
                groups.shrink_to_fit();
                levels.push(Level { bits, groups });
            }
        }
        Levels(levels)
    }
}
