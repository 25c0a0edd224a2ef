//! What a timeline shows, at any zoom: rows of boxes, and for each pixel of a row the longest box and how much of it is covered.
//!
//! ```text
//! Trace → TimelineIndex (once)         window of time → RowLine (per row and question)
//!         rows: boxes by start                          pixels: longest box, covered time, count
//!         levels: groups of boxes                       labels: boxes wide enough for a text
//! ```
//! [`Timeline`] has the tracks of a whole run and answers questions ([`answers`]) about it: what is drawn, what is at a place, all about a
//! box, what is in a stretch of time.
//!
//! A row never holds two boxes at one time: slices of one depth on one track are disjoint, and what overlaps all the same is put on
//! a row of its own. So the covered time of a pixel is a sum, and only the last box that starts in a pixel can reach into the next.
//!
//! Nothing here draws, knows colors of a theme, or knows a page: the page stretches the lines, and the native command and exports
//! draw the same ones.

mod answer;
pub mod answers;
mod arguments;
pub mod boxes;
pub mod colors;
mod drawn;
pub mod index;
pub mod levels;
pub mod line;
pub mod load;
mod named;
pub mod numbers;
mod sampled;
mod search;
pub mod tracks;
pub mod viewport;

pub use boxes::{BoxTable, Boxes, SliceBoxes};
pub use drawn::DrawnBox;
pub use index::TimelineIndex;
pub use line::{Pixel, RowLine, RowSource, Window, read_all_boxes, read_by_groups, read_rows};
pub use tracks::{Timeline, of_run};
pub use viewport::Viewport;
