//! Levels of detail of one row: groups of neighboring boxes that start within the same power of two of nanoseconds.
//!
//! ```text
//! level 14    [   5 boxes   ][            23 boxes            ]     16384 ns each
//! level 12    .  .  [12 boxes] .  [17] .                             4096 ns each
//! boxes       |  |  |||||||||| |  |||| |
//! ```
//! Only groups of at least [`MIN_GROUP`] boxes are stored; the rest is read box by box. So the number of steps for a window depends
//! on its pixels, not on its boxes, and a row takes about 2 bytes a box for all levels.

/// Boxes in the smallest stored group.
pub const MIN_GROUP: u32 = 6;
/// Boxes in the largest group; more that start in one interval are several groups.
const MAX_GROUP: u32 = u16::MAX as u32;
/// Bits by which the intervals of a level are longer than those of the level below.
const STEP_BITS: u32 = 2;
/// About how many boxes there are in the intervals of the lowest level, in bits, where the row is dense.
const LOWEST_BITS: u32 = 7;
/// Rows with fewer boxes have no levels.
pub const MIN_ROW: u32 = 64;
/// Lengths within intervals of this many bits or more may not fit into 32 bits.
const WIDE_BITS: u32 = 32;

/// Neighboring boxes of a row that start in one interval. What a pixel needs is here, because looking at the boxes themselves
/// costs a cache miss each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Position in the row of the first box.
    pub first: u32,
    /// Number of the interval, from the start of the trace.
    interval: u32,
    count: u16,
    /// The longest box, from the first; the first of several.
    longest: u16,
    /// Its length in nanoseconds; [`Group::LONG`] if longer.
    longest_ns: u32,
    /// Summed lengths within the interval in nanoseconds, up to [`WIDE_BITS`].
    inside_ns: u32,
    /// How far the last box reaches beyond the interval in nanoseconds; [`Group::LONG`] if farther. No other can.
    beyond_ns: u32,
}

impl Group {
    const LONG: u32 = u32::MAX;

    #[inline]
    pub fn count(&self) -> u32 {
        u32::from(self.count)
    }

    /// Position behind the last box.
    #[inline]
    pub fn end(&self) -> u32 {
        self.first + self.count()
    }

    /// Position of the longest box; the first of several.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.first + u32::from(self.longest)
    }

    /// Length of the longest box, unless it is beyond 4.29 seconds.
    #[inline]
    pub fn longest_ns(&self) -> Option<i64> {
        (self.longest_ns != Group::LONG).then_some(i64::from(self.longest_ns))
    }

    /// How far the last box reaches beyond the interval, unless it is beyond 4.29 seconds.
    #[inline]
    pub fn beyond_ns(&self) -> Option<u64> {
        (self.beyond_ns != Group::LONG).then_some(u64::from(self.beyond_ns))
    }
}

/// Groups of one size of interval, by position.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Level {
    /// Intervals have 2^`bits` nanoseconds, from the start of the trace.
    bits: u32,
    pub groups: Vec<Group>,
    /// By group, from [`WIDE_BITS`] on: summed lengths within its interval in nanoseconds.
    inside_ns: Vec<u64>,
}

impl Level {
    /// The interval of a group: its start and its end in nanoseconds from the start of the trace.
    #[inline]
    pub fn interval(&self, group: &Group) -> (u64, u64) {
        interval(u64::from(group.interval), self.bits)
    }

    /// Summed lengths in nanoseconds of the boxes of group number `at`, as far as they are in its interval.
    #[inline]
    pub fn inside_ns(&self, at: usize) -> u64 {
        self.inside_ns.get(at).copied().unwrap_or_else(|| u64::from(self.groups[at].inside_ns))
    }

    fn push(&mut self, open: &Open) {
        let (_, end) = interval(open.interval, self.bits);
        let beyond = open.last_end.saturating_sub(end);
        let inside = open.sum.saturating_sub(beyond);
        if self.bits >= WIDE_BITS {
            self.inside_ns.push(inside);
        }
        self.groups.push(Group {
            first: open.first,
            interval: open.interval as u32,
            count: open.count as u16,
            longest: (open.longest - open.first) as u16,
            longest_ns: u32::try_from(open.longest_ns).unwrap_or(Group::LONG),
            inside_ns: u32::try_from(inside).unwrap_or(u32::MAX),
            beyond_ns: u32::try_from(beyond).unwrap_or(Group::LONG),
        });
    }

    fn n_boxes(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    fn n_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.inside_ns.capacity() * size_of::<u64>()
    }
}

/// Start and end of an interval of 2^`bits` nanoseconds.
#[inline]
fn interval(number: u64, bits: u32) -> (u64, u64) {
    let start = number.checked_shl(bits).unwrap_or(0);
    (start, start.saturating_add(1_u64.checked_shl(bits).unwrap_or(u64::MAX)))
}

/// Levels of a row, from short intervals to long ones.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Levels(Vec<Level>);

impl Levels {
    /// The level for pixels of 2^`bits` nanoseconds: none of its groups starts in two pixels.
    #[inline]
    pub fn for_pixels(&self, bits: u32) -> Option<&Level> {
        let n = self.0.partition_point(|level| level.bits <= bits);
        Some(&self.0[n.checked_sub(1)?])
    }

    /// Bytes in memory.
    pub fn n_bytes(&self) -> usize {
        self.0.iter().map(|level| size_of::<Level>() + level.n_bytes()).sum()
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

    /// Bits of the shortest interval that is worth a level, from the distance below which a quarter of all boxes are. Numbers of
    /// intervals up to `span` have 32 bits.
    fn finest_bits(&self, span: u64) -> u32 {
        let n: u64 = self.0.iter().map(|n| u64::from(*n)).sum();
        let mut below = 0;
        let at = self.0.iter().position(|distances| {
            below += u64::from(*distances);
            below * 4 >= n.max(1)
        });
        let span_bits = u64::BITS - span.leading_zeros();
        (at.unwrap_or(0) as u32 + LOWEST_BITS).max(span_bits.saturating_sub(u32::BITS)).min(62)
    }
}

/// A group that may grow.
#[derive(Clone, Copy, Default)]
struct Open {
    interval: u64,
    /// Positions in the row.
    first: u32,
    longest: u32,
    count: u32,
    longest_ns: i64,
    last_end: u64,
    sum: u64,
}

impl Open {
    /// Whether a group that follows belongs to it.
    #[inline]
    fn goes_on(&self, interval: u64, count: u32) -> bool {
        self.count > 0 && self.interval == interval && self.count + count <= MAX_GROUP
    }

    #[inline]
    fn extend(&mut self, group: &Open) {
        self.count += group.count;
        self.sum = self.sum.saturating_add(group.sum);
        self.last_end = group.last_end;
        if group.longest_ns > self.longest_ns {
            (self.longest, self.longest_ns) = (group.longest, group.longest_ns);
        }
    }
}

/// Collects the levels of a row while its boxes are added in order.
pub struct LevelsBuilder {
    finest_bits: u32,
    /// By level; the last one has a single interval.
    open: Vec<Open>,
    done: Vec<Level>,
    n: u32,
}

impl LevelsBuilder {
    /// `span` is the distance from the start of the trace to the last start in nanoseconds.
    pub fn new(density: &Density, span: u64) -> LevelsBuilder {
        let finest_bits = density.finest_bits(span);
        let span_bits = u64::BITS - span.leading_zeros();
        let n = span_bits.saturating_sub(finest_bits).div_ceil(STEP_BITS) + 1;
        let level = |level| Level { bits: finest_bits + level * STEP_BITS, ..Level::default() };
        LevelsBuilder {
            finest_bits,
            open: vec![Open::default(); n as usize],
            done: (0..n).map(level).collect(),
            n: 0,
        }
    }

    /// Adds the next box; `at` is its start in nanoseconds from the start of the trace, not before that of the last one.
    #[inline]
    pub fn push(&mut self, at: u64, length: i64) {
        let one = Open {
            interval: at >> self.finest_bits,
            first: self.n,
            longest: self.n,
            count: 1,
            longest_ns: length,
            last_end: at.saturating_add(length as u64),
            sum: length as u64,
        };
        self.n += 1;
        match &mut self.open[0] {
            // Nearly always, where the row is dense.
            open if open.goes_on(one.interval, 1) => open.extend(&one),
            _ => self.add(0, one),
        }
    }

    fn add(&mut self, level: usize, group: Open) {
        let (mut level, mut group) = (level, group);
        while let Some(open) = self.open.get_mut(level) {
            if open.goes_on(group.interval, group.count) {
                return open.extend(&group);
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
            self.done[level].push(group);
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
        for mut level in self.done {
            // A level that groups little more than the one below is not worth its memory.
            let is_alike = levels.last().is_some_and(|last| {
                level.groups.len() * 3 > last.groups.len() * 2 && level.n_boxes() / 8 * 7 <= last.n_boxes()
            });
            if !level.groups.is_empty() && !is_alike {
                level.groups.shrink_to_fit();
                level.inside_ns.shrink_to_fit();
                levels.push(level);
            }
        }
        Levels(levels)
    }
}
