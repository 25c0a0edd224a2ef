//! Geometry of charts: from a chart and a width to positioned marks. Independent of the browser; the page and the SVG exporter draw
//! the same marks.

mod axis;
mod layout;
pub mod svg;

pub use layout::{Chosen, Direction, cell_at, flame, layout, next_cell, time_at};

use crate::report::chart::Tone;

/// A drawing. Lengths are pixels of CSS.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// From back to front.
    pub marks: Vec<Mark>,
    /// Legend, in order; empty if not needed.
    pub legend: Vec<(String, Tone)>,
}

/// A drawn element.
#[derive(Clone, PartialEq, Debug)]
pub enum Mark {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        tone: Tone,
        title: String,
    },
    /// Corners of a line, or of an area that is filled to `base`.
    Path {
        corners: Vec<(f64, f64)>,
        tone: Tone,
        base: Option<f64>,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        tone: Tone,
        title: String,
    },
    /// A line of an axis or a grid.
    Rule {
        from: (f64, f64),
        to: (f64, f64),
        is_limit: bool,
    },
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        text: String,
    },
    /// A cell of a grid.
    Cell {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        tone: Tone,
        /// Opacity, from 0 to 1.
        strength: f64,
        title: String,
    },
}

impl Mark {
    /// Shifts right and down.
    pub fn moved(mut self, right: f64, down: f64) -> Mark {
        let shift = |corner: &mut (f64, f64)| *corner = (corner.0 + right, corner.1 + down);
        match &mut self {
            Mark::Rect { x, y, .. }
            | Mark::Dot { x, y, .. }
            | Mark::Text { x, y, .. }
            | Mark::Cell { x, y, .. } => {
                (*x, *y) = (*x + right, *y + down);
            }
            Mark::Path { corners, base, .. } => {
                corners.iter_mut().for_each(shift);
                *base = base.map(|base| base + down);
            }
            Mark::Rule { from, to, .. } => {
                shift(from);
                shift(to);
            }
        }
        self
    }
}

/// Text alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// SVG name.
    pub fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// Number of colors for [`Tone::Other`]; further numbers start over.
const N_OTHER: u8 = 6;

/// CSS class of a tone: `computation`, `other-3`.
pub fn tone_name(tone: Tone) -> String {
    match tone {
        Tone::Computation => "computation".to_string(),
        Tone::Communication => "communication".to_string(),
        Tone::Copies => "copies".to_string(),
        Tone::Idle => "idle".to_string(),
        Tone::SideA => "side-a".to_string(),
        Tone::SideB => "side-b".to_string(),
        Tone::More => "more".to_string(),
        Tone::Less => "less".to_string(),
        Tone::Other(number) => format!("other-{}", number % N_OTHER),
    }
}
