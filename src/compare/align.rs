//! Alignment of two sequences: global, with affine gaps, in linear space, within a band.
//!
//! ```text
//! A  norm quant gemm rope attention …
//! B  norm   –   gemm rope attention …      a gap costs its opening and each place
//! ```
//! Scores are maximized with the method of Gotoh (1982), and the path is found with that of Myers and Miller ("Optimal alignments
//! in linear space", 1988): split A in the middle, find where the best path crosses in B with a pass from either end, and recurse
//! into both halves.
//!
//! Long sequences are searched only in a band of [`MAX_CELLS`] cells around the diagonal. Traces of one model repeat the same
//! layers, so paths stay near it. The result is the best path within the band, and globally optimal if the band covers everything.

use crate::base::sort;

/// Maximum cells visited in the first pass; the recursion visits about as many again.
pub const MAX_CELLS: u64 = 80_000_000;

/// Half the width of the narrowest band.
const MIN_HALF: usize = 64;

/// Scores of pairs.
pub trait Scores {
    /// Score of a pair of places; `None` if the two must not be paired.
    fn pair(&self, a: usize, b: usize) -> Option<i32>;
}

/// Cost of a gap, whatever its length.
pub const GAP_OPEN: i32 = 3;
/// Cost of each place in a gap.
pub const GAP_EXTEND: i32 = 1;

/// One column of an alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Aligned places of A and B.
    Pair(u32, u32),
    /// A place of A without counterpart.
    OnlyA(u32),
    /// A place of B without counterpart.
    OnlyB(u32),
}

/// Worse than any path. Paths subtract little per place, so even millions of places stay far from overflow.
const NEVER: i32 = i32::MIN / 4;

/// Aligns `n_a` places with `n_b`. The result contains every place once, in order; where gaps of both sides meet, A's comes first.
pub fn align(n_a: usize, n_b: usize, scores: &impl Scores) -> Vec<Step> {
    align_within(n_a, n_b, scores, MAX_CELLS)
}

/// [`align`] with a custom number of cells.
pub fn align_within(n_a: usize, n_b: usize, scores: &impl Scores, max_cells: u64) -> Vec<Step> {
    let half = (max_cells / 2 / (n_a as u64).max(1)).clamp(MIN_HALF as u64, u64::from(u32::MAX)) as usize;
    let row = || vec![NEVER; n_b + 1];
    let mut aligner = Aligner {
        scores,
        n_a,
        n_b,
        half,
        forward: [row(), row()],
        backward: [row(), row()],
        steps: Vec::with_capacity(n_a.max(n_b)),
    };
    aligner.solve(Part { a: (0, n_a), b: (0, n_b), open: (GAP_OPEN, GAP_OPEN) });
    let mut steps = aligner.steps;
    // Gaps that meet at a split may have come in either order.
    let mut at = 0;
    while at < steps.len() {
        let end = steps[at..].iter().position(|step| matches!(step, Step::Pair(..)));
        let end = end.map_or(steps.len(), |n| at + n);
        sort::by_key(&mut steps[at..end], |step| matches!(step, Step::OnlyB(_)));
        at = end + 1;
    }
    steps
}

/// Score of an alignment, as [`align`] computes it.
pub fn score(steps: &[Step], scores: &impl Scores) -> i64 {
    let mut sum = 0i64;
    let mut last = None;
    for step in steps {
        let gap = match step {
            Step::Pair(a, b) => {
                sum += i64::from(scores.pair(*a as usize, *b as usize).unwrap_or(NEVER));
                None
            }
            Step::OnlyA(_) => Some(true),
            Step::OnlyB(_) => Some(false),
        };
        if gap.is_some() {
            sum -= i64::from(GAP_EXTEND);
            sum -= if gap == last { 0 } else { i64::from(GAP_OPEN) };
        }
        last = gap;
    }
    sum
}

/// A rectangle to align, and the cost of opening a gap of A (places of A alone) at its start and end: 0 if one is already open.
#[derive(Clone, Copy)]
struct Part {
    a: (usize, usize),
    b: (usize, usize),
    open: (i32, i32),
}

struct Aligner<'a, S> {
    scores: &'a S,
    n_a: usize,
    n_b: usize,
    /// Half the width of the band.
    half: usize,
    /// Best score by place of B: of any path, and of paths that end in a gap of A.
    forward: [Vec<i32>; 2],
    backward: [Vec<i32>; 2],
    steps: Vec<Step>,
}

impl<S: Scores> Aligner<'_, S> {
    /// Appends the best path of a part. Pending parts are kept in a list to avoid deep recursion.
    fn solve(&mut self, whole: Part) {
        let mut waiting = vec![whole];
        while let Some(part) = waiting.pop() {
            let (n_a, n_b) = (part.a.1 - part.a.0, part.b.1 - part.b.0);
            if n_b == 0 {
                self.steps.extend((part.a.0..part.a.1).map(|a| Step::OnlyA(a as u32)));
            } else if n_a == 0 {
                self.steps.extend((part.b.0..part.b.1).map(|b| Step::OnlyB(b as u32)));
            } else if n_a == 1 {
                self.single(part);
            } else {
                let (first, second) = self.split(part);
                waiting.push(second);
                waiting.push(first);
            }
        }
    }

    /// Aligns a single place of A: paired with one of B, or in a gap.
    fn single(&mut self, part: Part) {
        let (a, (from, to)) = (part.a.0, part.b);
        let gap = |n: usize| if n == 0 { 0 } else { GAP_OPEN + GAP_EXTEND * n as i32 };
        // Alone: in the cheaper of the gaps at its start and end.
        let mut best = -(part.open.0.min(part.open.1) + GAP_EXTEND + gap(to - from));
        let mut beside = None;
        for b in from..to {
            let Some(worth) = self.scores.pair(a, b) else { continue };
            let worth = worth - gap(b - from) - gap(to - b - 1);
            if worth > best {
                (best, beside) = (worth, Some(b));
            }
        }
        let only_b = |range: std::ops::Range<usize>| range.map(|b| Step::OnlyB(b as u32));
        match beside {
            Some(b) => {
                self.steps.extend(only_b(from..b));
                self.steps.push(Step::Pair(a as u32, b as u32));
                self.steps.extend(only_b(b + 1..to));
            }
            None if part.open.0 <= part.open.1 => {
                self.steps.push(Step::OnlyA(a as u32));
                self.steps.extend(only_b(from..to));
            }
            None => {
                self.steps.extend(only_b(from..to));
                self.steps.push(Step::OnlyA(a as u32));
            }
        }
    }

    /// Cuts a part where the best path crosses the middle of A.
    fn split(&mut self, part: Part) -> (Part, Part) {
        let middle = part.a.0 + (part.a.1 - part.a.0) / 2;
        self.forward_pass(part, middle);
        self.backward_pass(part, middle);
        let (low, high) = bounds(self.half, (self.n_a, self.n_b), part, middle);
        // Best score, place of B, whether the path crosses inside a gap of A.
        let mut best = (i32::MIN, low, false);
        for b in low..=high {
            let straight = self.forward[0][b].saturating_add(self.backward[0][b]);
            let in_gap = self.forward[1][b].saturating_add(self.backward[1][b]).saturating_add(GAP_OPEN);
            if straight > best.0 {
                best = (straight, b, false);
            }
            if in_gap > best.0 {
                best = (in_gap, b, true);
            }
        }
        let (_, b, is_in_gap) = best;
        let at = if is_in_gap { 0 } else { GAP_OPEN };
        (
            Part { a: (part.a.0, middle), b: (part.b.0, b), open: (part.open.0, at) },
            Part { a: (middle, part.a.1), b: (b, part.b.1), open: (at, part.open.1) },
        )
    }

    /// Best score from the start of the part to the row `middle`, for each place of B.
    fn forward_pass(&mut self, part: Part, middle: usize) {
        let [best, gap] = &mut self.forward;
        let (mut low, mut high) = bounds(self.half, (self.n_a, self.n_b), part, part.a.0);
        for b in low..=high {
            let n = b - part.b.0;
            best[b] = if n == 0 { 0 } else { -(GAP_OPEN + GAP_EXTEND * n as i32) };
            gap[b] = if n == 0 { -part.open.0 } else { NEVER };
        }
        for a in part.a.0 + 1..=middle {
            let (new_low, new_high) = bounds(self.half, (self.n_a, self.n_b), part, a);
            // Cells that entered the band.
            for b in high + 1..=new_high {
                (best[b], gap[b]) = (NEVER, NEVER);
            }
            let mut diagonal = if new_low > low { best[new_low - 1] } else { NEVER };
            let mut along_b = NEVER;
            let cells = best[new_low..=new_high].iter_mut().zip(&mut gap[new_low..=new_high]);
            for (b, (best, gap)) in (new_low..).zip(cells) {
                let along_a = (*gap).max(*best - GAP_OPEN) - GAP_EXTEND;
                let paired = match b > part.b.0 {
                    true => self.scores.pair(a - 1, b - 1).map_or(NEVER, |worth| diagonal + worth),
                    false => NEVER,
                };
                let here = along_a.max(along_b).max(paired);
                diagonal = *best;
                (*best, *gap) = (here, along_a);
                along_b = along_b.max(here - GAP_OPEN) - GAP_EXTEND;
            }
            (low, high) = (new_low, new_high);
        }
    }

    /// Best score from the row `middle` to the end of the part, for each place of B.
    fn backward_pass(&mut self, part: Part, middle: usize) {
        let [best, gap] = &mut self.backward;
        let (mut low, mut high) = bounds(self.half, (self.n_a, self.n_b), part, part.a.1);
        for b in low..=high {
            let n = part.b.1 - b;
            best[b] = if n == 0 { 0 } else { -(GAP_OPEN + GAP_EXTEND * n as i32) };
            gap[b] = if n == 0 { -part.open.1 } else { NEVER };
        }
        for a in (middle..part.a.1).rev() {
            let (new_low, new_high) = bounds(self.half, (self.n_a, self.n_b), part, a);
            for b in new_low..low {
                (best[b], gap[b]) = (NEVER, NEVER);
            }
            let mut diagonal = if new_high < high { best[new_high + 1] } else { NEVER };
            let mut along_b = NEVER;
            let cells = best[new_low..=new_high].iter_mut().zip(&mut gap[new_low..=new_high]);
            for (b, (best, gap)) in (new_low..new_high + 1).zip(cells).rev() {
                let along_a = (*gap).max(*best - GAP_OPEN) - GAP_EXTEND;
                let paired = match b < part.b.1 {
                    true => self.scores.pair(a, b).map_or(NEVER, |worth| diagonal + worth),
                    false => NEVER,
                };
                let here = along_a.max(along_b).max(paired);
                diagonal = *best;
                (*best, *gap) = (here, along_a);
                along_b = along_b.max(here - GAP_OPEN) - GAP_EXTEND;
            }
            (low, high) = (new_low, new_high);
        }
    }
}

/// Range of places of B searched after `a` places of A, within a part. Corners of parts are always in the band.
fn bounds(half: usize, (n_a, n_b): (usize, usize), part: Part, a: usize) -> (usize, usize) {
    let middle = (a as u64 * n_b as u64 / (n_a as u64).max(1)) as usize;
    // If B is longer, the diagonal advances by several places per place of A.
    let half = half.saturating_add(n_b / n_a.max(1) + 1);
    let (low, high) = (middle.saturating_sub(half), middle.saturating_add(half).min(n_b));
    (low.clamp(part.b.0, part.b.1), high.clamp(part.b.0, part.b.1))
}
