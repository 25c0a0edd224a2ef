//! Flame graphs: a row a depth, from the top down or from the bottom up.

use super::texts::fitting;
use crate::base::units::{format_ratio, in_words};
use crate::base::{sort, text};
use crate::report::chart::{Flame, FlameBox, Tone};
use crate::scene::{Anchor, Mark, N_OTHER, Scene};

/// Height of a row, and space between boxes.
pub const ROW: f64 = 19.0;
const GAP: f64 = 1.0;
/// Narrower boxes have no text.
pub(super) const MIN_TEXT: f64 = 32.0;
/// Narrower boxes are one with their neighbors.
const MIN_ALONE: f64 = 3.0;
/// Narrower boxes cannot be seen.
const MIN_BOX: f64 = 0.25;

/// Opacity of boxes, pale enough for texts on them.
pub(super) const STRENGTH: f64 = 0.42;

/// A box with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Placed {
    /// Index into [`Flame::boxes`].
    pub number: usize,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub tone: Tone,
    /// Opacity.
    pub strength: f64,
    /// A search finds it.
    pub is_hit: bool,
    /// What fits into it; empty if nothing does.
    pub text: String,
}

/// The same name has the same color everywhere; in differences, color says what became more or less.
fn tone_of(it: &FlameBox) -> (Tone, f64) {
    match it.change() {
        _ if it.is_rest => (Tone::Idle, STRENGTH),
        Some(change) if change.abs() < 0.005 => (Tone::Idle, 0.25),
        Some(change) => (if change > 0.0 { Tone::More } else { Tone::Less }, 0.2 + 0.55 * change.abs()),
        None => (Tone::Other(text::color_hash(&it.name) as u8 % N_OTHER), STRENGTH),
    }
}

/// Change of a box in words: `+12.0%`, `only in B`. Empty without sides.
pub fn change_of(it: &FlameBox) -> String {
    match it.sides {
        None => String::new(),
        Some((a, b)) if a <= 0.0 && b <= 0.0 => String::new(),
        Some((a, _)) if a <= 0.0 => "only in B".to_string(),
        Some((_, b)) if b <= 0.0 => "only in A".to_string(),
        Some((a, b)) if (b / a - 1.0).abs() < 0.0005 => "±0%".to_string(),
        Some((a, b)) if b > a => format!("+{}", format_ratio(b / a - 1.0)),
        Some((a, b)) => format!("−{}", format_ratio(1.0 - b / a)),
    }
}

/// What there is to say about a box, a line each: name, place, weight with its share of all, and the change.
pub fn title_of(it: &FlameBox, flame: &Flame) -> String {
    let mut lines = vec![it.name.clone()];
    if !it.place.is_empty() {
        lines.push(it.place.clone());
    }
    let amount = |weight: f64| in_words(weight, flame.unit);
    match it.sides {
        Some((a, b)) => lines.push(format!("A {}, B {} ({})", amount(a), amount(b), change_of(it))),
        None => {
            let share = format_ratio(if flame.total > 0.0 { it.weight / flame.total } else { 0.0 });
            let own = match it.own > 0.0 && it.own < it.weight {
                true => format!("; self {}", amount(it.own)),
                false => String::new(),
            };
            lines.push(format!("{} ({share}){own}", amount(it.weight)));
        }
    }
    lines.join("\n")
}

/// Number of rows.
pub fn n_rows(flame: &Flame) -> u32 {
    flame.boxes.iter().map(|it| it.depth + 1).max().unwrap_or(0)
}

/// Where the boxes of a flame graph are on a screen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Of the picture, in pixels.
    pub width: f64,
    /// The first row is at the bottom.
    pub from_bottom: bool,
}

/// Where a box is: the row from the top, the left edge, and the width up to the next box.
#[derive(Clone, Copy)]
struct Extent {
    number: usize,
    row: u32,
    x: f64,
    wide: f64,
}

impl Extent {
    fn placed(self, it: &FlameBox, text: String) -> Placed {
        let (tone, strength) = tone_of(it);
        Placed {
            number: self.number,
            x: self.x,
            y: f64::from(self.row) * ROW,
            width: (self.wide - GAP).max(MIN_BOX),
            height: ROW - GAP,
            tone,
            strength,
            is_hit: it.is_hit,
            text,
        }
    }

    fn alone(self, flame: &Flame) -> Placed {
        let it = &flame.boxes[self.number];
        let label = match change_of(it) {
            change if change.is_empty() || it.is_rest => it.name.clone(),
            change => format!("{change} {}", it.name),
        };
        let text = match self.wide >= MIN_TEXT {
            true => fitting(&label, self.wide - 8.0),
            false => String::new(),
        };
        self.placed(it, text)
    }
}

impl Frame {
    /// Where each box is.
    fn extents(self, flame: &Flame) -> impl Iterator<Item = Extent> {
        let n_rows = n_rows(flame);
        let scale = if flame.total > 0.0 { self.width / flame.total } else { 0.0 };
        flame.boxes.iter().enumerate().map(move |(number, it)| {
            let row = if self.from_bottom { n_rows - 1 - it.depth } else { it.depth };
            Extent { number, row, x: it.start * scale, wide: it.weight * scale }
        })
    }

    /// Those that can be seen.
    fn seen(self, flame: &Flame) -> impl Iterator<Item = Extent> {
        self.extents(flame).filter(|it| it.wide >= MIN_BOX)
    }

    /// The place of one box.
    pub fn place_of(self, flame: &Flame, number: usize) -> Option<Placed> {
        self.extents(flame).nth(number).map(|it| it.alone(flame))
    }

    /// The box at a point: its number.
    pub fn at(self, flame: &Flame, x: f64, y: f64) -> Option<usize> {
        let is_there = |it: &Extent| {
            (it.x..it.x + it.wide).contains(&x) && (0.0..ROW).contains(&(y - f64::from(it.row) * ROW))
        };
        self.extents(flame).find(|it| is_there(it)).map(|it| it.number)
    }

    /// What is drawn on a screen, row by row from the top. Neighbors that are too narrow to tell apart are one, so a picture has as
    /// many boxes as pixels allow, however many functions there are.
    pub fn drawn(self, flame: &Flame) -> Vec<Placed> {
        let mut all: Vec<Extent> = self.seen(flame).collect();
        sort::by(&mut all, |a, b| a.row.cmp(&b.row).then(a.x.total_cmp(&b.x)));
        let is_hit = |it: &Extent| flame.boxes[it.number].is_hit;
        let are_one = |a: &Extent, b: &Extent| {
            a.row == b.row
                && a.wide.max(b.wide) < MIN_ALONE
                && b.x <= a.x + a.wide + GAP
                // What a search finds stays visible.
                && is_hit(a) == is_hit(b)
        };
        let drawn = |group: &[Extent]| match group {
            [alone] => alone.alone(flame),
            _ => joined(group, flame),
        };
        all.chunk_by(are_one).map(drawn).collect()
    }
}

/// Neighbors as one box: of no color of its own, or of the change of all of them.
fn joined(group: &[Extent], flame: &Flame) -> Placed {
    let (first, last) = (group[0], group[group.len() - 1]);
    let is_hit = flame.boxes[first.number].is_hit;
    let mut sum = FlameBox { is_rest: true, is_hit, ..FlameBox::default() };
    for it in group {
        if let Some((a, b)) = flame.boxes[it.number].sides {
            let before = sum.sides.unwrap_or_default();
            sum.sides = Some((before.0 + a, before.1 + b));
            sum.is_rest = false;
        }
    }
    let wide = last.x + last.wide - first.x;
    Extent { wide, ..first }.placed(&sum, String::new())
}

/// Each box by itself, on `width` pixels.
fn placed(flame: &Flame, width: f64) -> Vec<Placed> {
    let frame = Frame { width, from_bottom: false };
    frame.seen(flame).map(|it| it.alone(flame)).collect()
}

pub(super) fn flame_graph(flame: &Flame, width: f64) -> Scene {
    let mut scene = Scene { width, height: f64::from(n_rows(flame)) * ROW, ..Scene::default() };
    for it in placed(flame, width) {
        let Placed { x, y, width, height, tone, strength, text, number, .. } = it;
        let title = title_of(&flame.boxes[number], flame);
        scene.marks.push(Mark::Cell { x, y, width, height, tone, strength, title });
        if !text.is_empty() {
            scene.marks.push(Mark::Text { x: x + 4.0, y: y + 13.0, anchor: Anchor::Start, text });
        }
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(n: usize, weight: f64) -> Flame {
        let boxes = (0..n).map(|at| FlameBox {
            name: format!("f{at}"),
            start: at as f64 * weight,
            weight,
            ..FlameBox::default()
        });
        Flame { boxes: boxes.collect(), total: n as f64 * weight, unit: crate::base::units::Unit::Count }
    }

    const FRAME: Frame = Frame { width: 100.0, from_bottom: false };

    #[test]
    fn neighbors_too_narrow_to_tell_apart_are_drawn_as_one() {
        let flame = row_of(100, 1.0);
        let drawn = FRAME.drawn(&flame);
        assert_eq!(drawn.len(), 1);
        assert_eq!((drawn[0].x, drawn[0].width), (0.0, 100.0 - GAP));
        // Each is found where it is.
        assert_eq!(FRAME.at(&flame, 42.5, 3.0), Some(42));
        assert_eq!(FRAME.at(&flame, 42.5, ROW + 3.0), None);
        assert_eq!(FRAME.place_of(&flame, 42).map(|it| it.x), Some(42.0));
        // Those that are wide enough stay.
        assert_eq!(FRAME.drawn(&row_of(20, 1.0)).len(), 20);
    }

    #[test]
    fn what_a_search_finds_is_not_lost_among_its_neighbors() {
        let mut flame = row_of(100, 1.0);
        flame.boxes[42].is_hit = true;
        let drawn = FRAME.drawn(&flame);
        let numbers: Vec<usize> = drawn.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [0, 42, 43]);
    }

    #[test]
    fn joined_boxes_of_a_difference_have_the_color_of_their_change() {
        let mut flame = row_of(100, 1.0);
        flame.boxes.iter_mut().for_each(|it| it.sides = Some((1.0, 1.0)));
        flame.boxes[7].sides = Some((1.0, 80.0));
        let drawn = FRAME.drawn(&flame);
        assert_eq!((drawn.len(), drawn[0].tone), (1, Tone::More));
    }

    #[test]
    fn a_row_at_the_bottom_is_drawn_last() {
        let mut flame = row_of(2, 10.0);
        flame.boxes[1] = FlameBox { depth: 1, ..flame.boxes[0].clone() };
        let frame = Frame { from_bottom: true, ..FRAME };
        let rows: Vec<(usize, f64)> = frame.drawn(&flame).iter().map(|it| (it.number, it.y)).collect();
        assert_eq!(rows, [(1, 0.0), (0, ROW)]);
    }
}
