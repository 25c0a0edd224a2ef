//! Flame graphs: a row a depth, from the top down.

use super::LETTER;
use super::texts::cut;
use crate::base::text;
use crate::base::units::{format_float, format_ratio};
use crate::report::chart::{Flame, FlameBox, Tone};
use crate::scene::{Anchor, Mark, N_OTHER, Scene};

/// Height of a row, and space between boxes.
pub const ROW: f64 = 19.0;
const GAP: f64 = 1.0;
/// Narrower boxes have no text.
const MIN_TEXT: f64 = 26.0;
/// Narrower boxes cannot be seen.
const MIN_BOX: f64 = 0.25;

/// Opacity of boxes, pale enough for texts on them.
const STRENGTH: f64 = 0.42;

/// The same name has the same color everywhere.
fn tone_of(it: &FlameBox) -> Tone {
    if it.is_rest {
        return Tone::Idle;
    }
    Tone::Other(text::color_hash(&it.name) as u8 % N_OTHER)
}

pub(super) fn flame_graph(flame: &Flame, width: f64) -> Scene {
    let n_rows = flame.boxes.iter().map(|it| it.depth + 1).max().unwrap_or(0);
    let mut scene = Scene { width, height: f64::from(n_rows) * ROW, ..Scene::default() };
    let scale = if flame.total > 0.0 { width / flame.total } else { 0.0 };
    for it in &flame.boxes {
        let (x, wide) = (it.start * scale, it.weight * scale);
        if wide < MIN_BOX {
            continue;
        }
        let y = f64::from(it.depth) * ROW;
        let share = format_ratio(it.weight / flame.total);
        scene.marks.push(Mark::Cell {
            x,
            y,
            width: (wide - GAP).max(MIN_BOX),
            height: ROW - GAP,
            tone: tone_of(it),
            strength: STRENGTH,
            title: format!("{}\n{} ({share})", it.name, format_float(it.weight, flame.unit)),
        });
        if wide >= MIN_TEXT {
            let text = cut(&it.name, ((wide - 8.0) / LETTER) as usize);
            scene.marks.push(Mark::Text { x: x + 4.0, y: y + 13.0, anchor: Anchor::Start, text });
        }
    }
    scene
}

/// Number of the box at a place in that drawing.
pub fn box_at(flame: &Flame, width: f64, x: f64, y: f64) -> Option<usize> {
    let at = x / width * flame.total;
    let depth = (y / ROW).floor();
    let is_there =
        |it: &FlameBox| f64::from(it.depth) == depth && (it.start..it.start + it.weight).contains(&at);
    flame.boxes.iter().position(is_there)
}
