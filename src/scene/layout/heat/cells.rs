//! Cells of other traces: which one is at a position, and which one is next to another.

use super::super::{Chosen, Direction};
use super::{Frame, title};
use crate::report::chart::Heat;

fn cell(heat: &Heat, frame: &Frame, bases: &[f64], at: (usize, usize)) -> Option<Chosen> {
    heat.source(at)?;
    let (x, width) = frame.extent(&frame.columns(at.1));
    let title = title(heat, frame, at.0, at.1, &frame.counts(heat, at.0, at.1));
    Some(Chosen {
        at,
        x,
        y: bases.get(at.0)? - frame.row_height,
        width,
        height: frame.row_height,
        title,
        lines: Vec::new(),
    })
}

/// The cell at a position of a map laid out on `width` pixels.
pub fn cell_at(heat: &Heat, width: f64, (x, y): (f64, f64)) -> Option<Chosen> {
    let frame = Frame::new(heat, width);
    let bases = frame.bases(heat);
    let row = bases.iter().position(|base| y < *base && y >= base - frame.row_height)?;
    let column = ((x - frame.gutter) / frame.plot * frame.n_columns as f64).floor();
    if column < 0.0 || column >= frame.n_columns as f64 {
        return None;
    }
    cell(heat, &frame, &bases, (row, column as usize))
}

/// The next cell in a direction from one, or that one; without one, the first in the top row that has any.
pub fn next_cell(heat: &Heat, width: f64, from: Option<((usize, usize), Direction)>) -> Option<Chosen> {
    let frame = Frame::new(heat, width);
    let bases = frame.bases(heat);
    let Some((from, direction)) = from else {
        let rows = (0..frame.n_rows).rev();
        let mut places = rows.flat_map(|row| (0..frame.n_columns).map(move |column| (row, column)));
        return places.find_map(|at| cell(heat, &frame, &bases, at));
    };
    let step = |(row, column): (usize, usize)| match direction {
        Direction::Left => Some((row, column.checked_sub(1)?)),
        Direction::Right => Some((row, column + 1)).filter(|at| at.1 < frame.n_columns),
        Direction::Up => Some((row + 1, column)).filter(|at| at.0 < frame.n_rows),
        Direction::Down => Some((row.checked_sub(1)?, column)),
    };
    let mut places = std::iter::successors(step(from), |at| step(*at));
    places.find_map(|at| cell(heat, &frame, &bases, at)).or_else(|| cell(heat, &frame, &bases, from))
}
