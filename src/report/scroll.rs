//! Scroll position of a long table: rows ↔ pixels, and which rows to load.
//!
//! Browsers cannot lay out boxes taller than about ten million pixels. A table taller than [`MAX_SPACE_PX`] scrolls in
//! a box of that height: short moves are one to one, long ones (dragging the scroll bar) are proportional.
//!
//! ```text
//! table  |--------------------[ rows on screen ]------------------|   n_rows × row_px
//!                             ^ top_px
//! box    |--------[ screen ]--------------------|                     space_px
//!                 ^ scroll_px
//! ```
//! Pure computation: it neither draws nor loads anything.

use std::ops::Range;

/// Height limit of the box; the limit of Firefox is near 17.8 million pixels, that of Chromium near 33.
pub const MAX_SPACE_PX: f64 = 8_000_000.0;
/// Rows drawn beyond the screen edges, so that scrolling shows no gaps.
const MARGIN_ROWS: u64 = 12;
/// Rows loaded beyond the screen edges.
const AHEAD_ROWS: u64 = 150;

/// Scroll position of one table.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Scroll {
    n_rows: u64,
    row_px: f64,
    /// Height of the visible area for rows.
    screen_px: f64,
    /// Scroll offset of the box in the browser.
    scroll_px: f64,
    /// Invariant: 0 ≤ `top_px` ≤ height of all rows − `screen_px`, or 0.
    top_px: f64,
}

impl Scroll {
    pub fn new(n_rows: u64, row_px: f64, screen_px: f64) -> Scroll {
        Scroll { n_rows, row_px: row_px.max(1.0), screen_px: screen_px.max(0.0), scroll_px: 0.0, top_px: 0.0 }
    }

    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    pub fn screen_px(&self) -> f64 {
        self.screen_px
    }

    /// Changes the number of rows or the screen size; keeps the position if possible.
    pub fn resize(&mut self, n_rows: u64, screen_px: f64) {
        let to = self.scroll_px;
        self.n_rows = n_rows;
        self.screen_px = screen_px.max(0.0);
        self.top_px = self.top_px.clamp(0.0, self.max_top_px());
        self.move_to(to);
    }

    /// Handles a scroll of the box to `scroll_px`.
    pub fn move_to(&mut self, scroll_px: f64) {
        let (max_scroll, max_top) = (self.max_scroll_px(), self.max_top_px());
        let scroll_px = scroll_px.clamp(0.0, max_scroll);
        let moved = scroll_px - self.scroll_px;
        self.top_px = if max_scroll == max_top || scroll_px <= 0.0 {
            scroll_px
        } else if scroll_px >= max_scroll {
            max_top
        } else if moved.abs() <= 2.0 * self.screen_px {
            (self.top_px + moved).clamp(0.0, max_top)
        } else {
            scroll_px / max_scroll * max_top
        };
        self.scroll_px = scroll_px;
    }

    /// Height of the scrolled box.
    pub fn space_px(&self) -> f64 {
        self.height_px().min(MAX_SPACE_PX)
    }

    /// Rows to draw.
    pub fn drawn(&self) -> Range<u64> {
        let seen = self.seen();
        seen.start.saturating_sub(MARGIN_ROWS)..(seen.end + MARGIN_ROWS).min(self.n_rows)
    }

    /// Position of `row` in the box.
    pub fn row_px(&self, row: u64) -> f64 {
        self.scroll_px + row as f64 * self.row_px - self.top_px
    }

    /// The rows to load if `have` is loaded; `None` if that is enough.
    pub fn wanted(&self, have: &Range<u64>) -> Option<Range<u64>> {
        let drawn = self.drawn();
        if drawn.is_empty() || (have.start <= drawn.start && drawn.end <= have.end) {
            return None;
        }
        Some(drawn.start.saturating_sub(AHEAD_ROWS)..(drawn.end + AHEAD_ROWS).min(self.n_rows))
    }

    /// Rows on screen, fully or partly.
    fn seen(&self) -> Range<u64> {
        let start = ((self.top_px / self.row_px) as u64).min(self.n_rows);
        let end = ((self.top_px + self.screen_px) / self.row_px).ceil() as u64;
        start..end.clamp(start, self.n_rows)
    }

    fn height_px(&self) -> f64 {
        self.n_rows as f64 * self.row_px
    }

    fn max_top_px(&self) -> f64 {
        (self.height_px() - self.screen_px).max(0.0)
    }

    fn max_scroll_px(&self) -> f64 {
        (self.space_px() - self.screen_px).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_fits_the_box_scrolls_one_to_one() {
        let mut scroll = Scroll::new(1000, 30.0, 300.0);
        assert_eq!(scroll.space_px(), 30_000.0);
        assert_eq!(scroll.drawn(), 0..22);
        scroll.move_to(15_000.0);
        assert_eq!(scroll.drawn(), 488..522);
        assert_eq!(scroll.row_px(500), 15_000.0);
        scroll.move_to(1e9);
        assert_eq!(scroll.drawn().end, 1000);
        scroll.resize(3, 300.0);
        assert_eq!(scroll.drawn(), 0..3);
        assert_eq!(scroll.row_px(0), 0.0);
        scroll.resize(0, 0.0);
        assert_eq!(scroll.drawn(), 0..0);
    }

    #[test]
    fn every_row_of_a_huge_table_can_be_reached() {
        let n_rows = 50_000_000;
        let mut scroll = Scroll::new(n_rows, 30.0, 300.0);
        assert_eq!(scroll.space_px(), MAX_SPACE_PX);
        // Small moves go one to one, here and after a long one.
        scroll.move_to(300.0);
        assert_eq!(scroll.drawn().start, 0);
        assert_eq!(scroll.row_px(10), 300.0);
        scroll.move_to(4_000_000.0);
        let middle = scroll.drawn();
        assert!(middle.start.abs_diff(n_rows / 2) < 1000, "{middle:?}");
        let before = scroll.row_px(n_rows / 2) - 4_000_000.0;
        scroll.move_to(4_000_090.0);
        let after = scroll.row_px(n_rows / 2) - 4_000_090.0;
        assert!((before - after - 90.0).abs() < 1e-3);
        scroll.move_to(MAX_SPACE_PX - 300.0);
        assert_eq!(scroll.drawn().end, n_rows);
        assert!((scroll.row_px(n_rows) - MAX_SPACE_PX).abs() < 1e-3);
        scroll.move_to(0.0);
        assert_eq!(scroll.drawn().start, 0);
        // Drawn rows always cover the screen.
        let mut at = 0.0;
        while at < MAX_SPACE_PX {
            scroll.move_to(at);
            let drawn = scroll.drawn();
            assert!(scroll.row_px(drawn.start) <= at + 1e-3 || drawn.start == 0);
            assert!(
                scroll.row_px(drawn.end) >= at.min(MAX_SPACE_PX - 300.0) + 300.0 - 1e-3,
                "{at} {drawn:?}"
            );
            at = at * 1.7 + 77.0;
        }
    }

    #[test]
    fn asks_for_rows_before_they_are_seen() {
        let mut scroll = Scroll::new(10_000, 30.0, 300.0);
        assert_eq!(scroll.wanted(&(0..60)), None);
        scroll.move_to(1500.0);
        assert_eq!(scroll.wanted(&(0..60)), Some(0..222));
        scroll.move_to(150_000.0);
        assert_eq!(scroll.wanted(&(0..60)), Some(4838..5172));
        assert_eq!(scroll.wanted(&(4838..5172)), None);
        assert_eq!(Scroll::new(0, 30.0, 300.0).wanted(&(0..0)), None);
    }
}
