//! The stretch of time that is in view: pure arithmetic of zooming and panning.

use super::line::Window;

/// Nanoseconds of the shortest stretch that can be shown.
const MIN_NS: f64 = 20.0;
/// Share of the view that can be empty beside the trace.
const BESIDE: f64 = 0.05;

/// A stretch of a timeline on a number of pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Viewport {
    /// Nanoseconds from the start of the timeline to the left edge; below 0 left of it.
    pub start_ns: f64,
    pub ns_per_pixel: f64,
    pub width: f64,
    /// Nanoseconds of the whole timeline.
    pub span_ns: f64,
}

impl Viewport {
    /// All of a timeline.
    pub fn whole(span_ns: u64, width: f64) -> Viewport {
        let (span_ns, width) = ((span_ns as f64).max(1.0), width.max(1.0));
        Viewport { start_ns: 0.0, ns_per_pixel: span_ns / width, width, span_ns }.kept_within()
    }

    pub fn end_ns(&self) -> f64 {
        self.start_ns + self.ns_per_pixel * self.width
    }

    /// Pixels from the left edge.
    pub fn x_of(&self, ns: f64) -> f64 {
        (ns - self.start_ns) / self.ns_per_pixel
    }

    pub fn ns_at(&self, x: f64) -> f64 {
        self.start_ns + x * self.ns_per_pixel
    }

    /// The same stretch on another width.
    pub fn resized(self, width: f64) -> Viewport {
        let width = width.max(1.0);
        let ns_per_pixel = self.ns_per_pixel * self.width / width;
        Viewport { ns_per_pixel, width, ..self }.kept_within()
    }

    /// The same stretch of a timeline that has grown: it starts `earlier_ns` earlier now, and is `span_ns` long. Shows all of it if
    /// all was in view.
    pub fn of_more(self, span_ns: u64, earlier_ns: f64) -> Viewport {
        let whole = Viewport::whole(span_ns, self.width);
        if self == Viewport::whole(self.span_ns as u64, self.width) {
            return whole;
        }
        Viewport { start_ns: self.start_ns + earlier_ns, span_ns: whole.span_ns, ..self }.kept_within()
    }

    /// Shows `factor` times as much; what is at `x` stays there.
    pub fn zoomed(self, x: f64, factor: f64) -> Viewport {
        let at = self.ns_at(x);
        let least = MIN_NS / self.width;
        let most = self.span_ns * (1.0 + 2.0 * BESIDE) / self.width;
        let ns_per_pixel = (self.ns_per_pixel * factor).clamp(least.min(most), most);
        Viewport { start_ns: at - x * ns_per_pixel, ns_per_pixel, ..self }.kept_within()
    }

    /// Moves the view `pixels` to the right.
    pub fn panned(self, pixels: f64) -> Viewport {
        Viewport { start_ns: self.start_ns + pixels * self.ns_per_pixel, ..self }.kept_within()
    }

    /// Shows a stretch, with some space on both sides.
    pub fn around(self, from_ns: f64, to_ns: f64) -> Viewport {
        let length = (to_ns - from_ns).max(MIN_NS * (1.0 - 2.0 * BESIDE));
        let shown = length * (1.0 + 2.0 * BESIDE);
        let start_ns = from_ns - (shown - (to_ns - from_ns).max(0.0)) / 2.0;
        Viewport { start_ns, ns_per_pixel: shown / self.width, ..self }.kept_within()
    }

    /// Shows a stretch and nothing beside it.
    pub fn exactly(self, from_ns: f64, to_ns: f64) -> Viewport {
        let shown = (to_ns - from_ns).max(MIN_NS);
        Viewport { start_ns: from_ns, ns_per_pixel: shown / self.width, ..self }.kept_within()
    }

    /// Moves as little as needed for a stretch to be in view; a longer one starts at the left.
    pub fn reaching(self, from_ns: f64, to_ns: f64) -> Viewport {
        let shown = self.ns_per_pixel * self.width;
        let beside = shown * BESIDE;
        if from_ns >= self.start_ns && to_ns <= self.end_ns() {
            return self;
        }
        let start_ns = if from_ns < self.start_ns || to_ns - from_ns > shown - 2.0 * beside {
            from_ns - beside
        } else {
            to_ns + beside - shown
        };
        Viewport { start_ns, ..self }.kept_within()
    }

    fn kept_within(self) -> Viewport {
        let shown = self.ns_per_pixel * self.width;
        let beside = shown * BESIDE;
        let last = (self.span_ns + beside - shown).max(-beside);
        let start_ns = match shown >= self.span_ns {
            // All of it is in view, in the middle.
            true => (self.span_ns - shown) / 2.0,
            false => self.start_ns.clamp(-beside, last),
        };
        Viewport { start_ns, ..self }
    }

    /// The window to ask for: as fine as the screen, which has `scale` dots a pixel, and as much again on both sides.
    pub fn window(&self, scale: f64) -> Window {
        let n_dots = (self.width * scale).ceil().max(1.0) as u32;
        let from = self.start_ns.max(0.0) as u64;
        let to = self.end_ns().clamp(0.0, self.span_ns) as u64;
        let whole = (self.ns_per_pixel * self.width) as u64;
        let bits = (whole / u64::from(n_dots)).checked_ilog2().unwrap_or(0).min(62);
        let first_pixel = from.saturating_sub(whole) >> bits;
        let last = to.saturating_add(whole).min(self.span_ns as u64) >> bits;
        Window { first_pixel, bits, n_pixels: (last.saturating_sub(first_pixel) + 1).min(1 << 14) as u32 }
    }

    /// Whether a picture of `window` has all that is in view, as fine as the screen shows it.
    pub fn is_served_by(&self, window: &Window, scale: f64) -> bool {
        let from = self.start_ns.max(0.0);
        let to = self.end_ns().min(self.span_ns);
        window.bits == self.window(scale).bits
            && window.start_ns() as f64 <= from
            && (window.end_ns() as f64) >= to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_the_pointer_stays_there() {
        let view = Viewport::whole(1_000_000, 1000.0);
        let at = view.ns_at(300.0);
        let zoomed = view.zoomed(300.0, 0.01);
        assert!((zoomed.ns_at(300.0) - at).abs() < 1.0 && zoomed.ns_per_pixel < view.ns_per_pixel / 50.0);
        let moved = zoomed.panned(100.0).panned(-100.0);
        assert!((moved.start_ns - zoomed.start_ns).abs() < 1e-6);
    }

    #[test]
    fn the_trace_cannot_be_lost_from_view() {
        let view = Viewport::whole(1_000_000, 1000.0);
        let out = view.zoomed(10.0, 1e9);
        assert!(out.start_ns <= 0.0 && out.end_ns() >= 1e6 && out.end_ns() - out.start_ns <= 1.11e6);
        let far = view.zoomed(500.0, 0.1).panned(1e9);
        assert!(far.end_ns() <= 1e6 + 0.06 * 1e5 && far.start_ns < 1e6);
        let deep = (0..200).fold(view, |view, _| view.zoomed(500.0, 0.5));
        assert!((deep.ns_per_pixel * deep.width - MIN_NS).abs() < 1e-6);
    }

    #[test]
    fn a_view_stays_while_the_timeline_grows() {
        let view = Viewport::whole(1_000_000, 1000.0);
        assert_eq!(view.of_more(3_000_000, 0.0), Viewport::whole(3_000_000, 1000.0));
        let near = view.zoomed(300.0, 0.1);
        let later = near.of_more(3_000_000, 500.0);
        assert_eq!((later.start_ns, later.ns_per_pixel), (near.start_ns + 500.0, near.ns_per_pixel));
        assert_eq!(later.span_ns, 3e6);
    }

    #[test]
    fn a_stretch_is_shown_whole() {
        let view = Viewport::whole(1_000_000, 1000.0);
        let shown = view.around(400_000.0, 400_100.0);
        assert!(shown.start_ns < 400_000.0 && shown.end_ns() > 400_100.0 && shown.ns_per_pixel < 0.2);
        let reached = shown.reaching(700_000.0, 700_010.0);
        assert!(reached.start_ns < 700_000.0 && reached.end_ns() > 700_010.0);
        assert_eq!(reached.ns_per_pixel, shown.ns_per_pixel);
        assert_eq!(reached.reaching(700_000.0, 700_010.0), reached);
    }

    #[test]
    fn a_window_has_what_is_in_view_and_as_much_beside_it() {
        let view = Viewport::whole(10_000_000, 1600.0).zoomed(700.0, 0.1);
        let window = view.window(1.0);
        assert!(window.pixel_ns() as f64 <= view.ns_per_pixel && view.is_served_by(&window, 1.0));
        assert!(view.panned(1600.0).is_served_by(&window, 1.0));
        assert!(!view.zoomed(0.0, 0.2).is_served_by(&window, 1.0));
        assert!(view.window(2.0).pixel_ns() as f64 <= view.ns_per_pixel / 2.0);
    }
}
