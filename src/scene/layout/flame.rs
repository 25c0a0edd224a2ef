//! Flame graphs: a row a depth, from the top down or from the bottom up.

use super::texts::cut;
use crate::base::text;
use crate::base::units::{format_float, format_ratio};
use crate::report::chart::{Flame, FlameBox, Tone};
use crate::scene::{Anchor, Mark, N_OTHER, Scene};

/// Height of a row, and space between boxes.
pub const ROW: f64 = 19.0;
const GAP: f64 = 1.0;
/// Narrower boxes have no text.
pub(super) const MIN_TEXT: f64 = 26.0;
/// Width of a letter of names, which have more wide ones than sentences.
pub(super) const LETTER: f64 = 7.1;
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
    let amount = |weight: f64| format_float(weight, flame.unit);
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

/// The boxes on `width` pixels; `from_bottom` puts the first row at the bottom.
pub fn placed(flame: &Flame, width: f64, from_bottom: bool) -> Vec<Placed> {
    let n_rows = n_rows(flame);
    let scale = if flame.total > 0.0 { width / flame.total } else { 0.0 };
    let place = |(number, it): (usize, &FlameBox)| {
        let (x, wide) = (it.start * scale, it.weight * scale);
        if wide < MIN_BOX {
            return None;
        }
        let row = if from_bottom { n_rows - 1 - it.depth } else { it.depth };
        let (tone, strength) = tone_of(it);
        let label = match change_of(it) {
            change if change.is_empty() || it.is_rest => it.name.clone(),
            change => format!("{change} {}", it.name),
        };
        let text = match wide >= MIN_TEXT {
            true => cut(&label, ((wide - 8.0) / LETTER) as usize),
            false => String::new(),
        };
        Some(Placed {
            number,
            x,
            y: f64::from(row) * ROW,
            width: (wide - GAP).max(MIN_BOX),
            height: ROW - GAP,
            tone,
            strength,
            text,
        })
    };
    flame.boxes.iter().enumerate().filter_map(place).collect()
}

pub(super) fn flame_graph(flame: &Flame, width: f64) -> Scene {
    let mut scene = Scene { width, height: f64::from(n_rows(flame)) * ROW, ..Scene::default() };
    for it in placed(flame, width, false) {
        let Placed { x, y, width, height, tone, strength, text, number } = it;
        let title = title_of(&flame.boxes[number], flame);
        scene.marks.push(Mark::Cell { x, y, width, height, tone, strength, title });
        if !text.is_empty() {
            scene.marks.push(Mark::Text { x: x + 4.0, y: y + 13.0, anchor: Anchor::Start, text });
        }
    }
    scene
}
