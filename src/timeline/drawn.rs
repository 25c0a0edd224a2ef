//! Rows as boxes, for a picture that nobody can zoom.

use super::answers::RowName;
use super::boxes::{BoxTable, SliceBoxes};
use super::line::{Pixel, RowLine, Window};
use super::tracks::{Part, Timeline};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Run;

/// Events of at least as many pixels are boxes of their own.
const WIDE_PIXELS: u64 = 2;

/// A box of a picture: one event, or the events in one pixel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawnBox {
    /// Its row, by position among those asked for.
    pub row: u32,
    /// Nanoseconds from the start of the timeline: of its event, or of its pixel.
    pub start_ns: u64,
    /// Nanoseconds that its events cover.
    pub dur_ns: u64,
    /// Number of events.
    pub count: u32,
    /// Trace of its events, by position in the run.
    pub trace: usize,
    /// Name of the longest event.
    pub name: StringId,
    /// Color of that name, from 1.
    pub color: u8,
}

impl Timeline {
    /// Boxes of rows in a window, by row and start. Wide events are whole, also where they reach beyond the window.
    pub fn drawn(&self, run: &Run, window: Window, rows: &[RowName]) -> Vec<DrawnBox> {
        let mut drawn = Vec::new();
        let mut lines: Vec<RowLine> = Vec::new();
        for (number, (at, rows)) in self.by_part(rows).into_iter().enumerate() {
            if at.is_empty() {
                continue;
            }
            self.read_lines(run, number, &rows, &window, &mut lines);
            let part = &self.parts[number];
            for (at, line) in at.iter().zip(&lines) {
                match &part.own {
                    Some(boxes) => self.push_drawn(part, boxes, &window, *at, &line.pixels, &mut drawn),
                    None => {
                        let boxes = SliceBoxes::new(&run.traces[part.trace]);
                        self.push_drawn(part, boxes, &window, *at, &line.pixels, &mut drawn);
                    }
                }
            }
        }
        sort::by_key(&mut drawn, |it| (it.row, it.start_ns));
        drawn
    }

    fn push_drawn(
        &self,
        part: &Part,
        boxes: impl BoxTable,
        window: &Window,
        row: usize,
        pixels: &[Pixel],
        out: &mut Vec<DrawnBox>,
    ) {
        let mut next = window.first_pixel;
        for run in pixels.chunk_by(|a, b| a.longest == b.longest) {
            let first = next;
            next += run.len() as u64;
            let id = run[0].longest;
            if id == Pixel::EMPTY {
                continue;
            }
            let id = id as usize;
            let event = DrawnBox {
                row: row as u32,
                start_ns: self.from_start(part, boxes.start(id)),
                // Times end where 64 bits do.
                dur_ns: boxes.end(id).wrapping_sub(boxes.start(id)) as u64,
                count: 1,
                trace: part.trace,
                name: boxes.name(id),
                color: self.color(part.trace, boxes.name(id)),
            };
            let is_wide = event.dur_ns >= WIDE_PIXELS.saturating_mul(window.pixel_ns());
            if is_wide || run.iter().all(|pixel| pixel.count == 1) {
                out.push(event);
                continue;
            }
            out.extend(run.iter().zip(first..).map(|(pixel, number)| DrawnBox {
                start_ns: number.saturating_mul(window.pixel_ns()),
                dur_ns: pixel.covered_ns,
                count: pixel.count,
                ..event
            }));
        }
    }
}
