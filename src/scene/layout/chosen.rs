//! Choosing one of the marks of a chart, with pointer or keyboard.

/// A mark that can be chosen.
#[derive(Clone, PartialEq, Debug)]
pub struct Chosen {
    /// What identifies it in its chart: in a heat map row, from the lowest, and column.
    pub at: (usize, usize),
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub title: String,
    /// More about it, a line each; may be empty.
    pub lines: Vec<String>,
}

/// Directions from one mark to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Left,
    Right,
    Up,
    Down,
}
