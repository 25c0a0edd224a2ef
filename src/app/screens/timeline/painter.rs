//! Draws the timeline: the lines of a picture, stretched to what is in view, and texts on them.

use super::layout::{Layout, ROW, RULER};
use super::marks::{Flag, Step};
use crate::app::browser::{Canvas, Letters, Lines, style_value};
use crate::app::state::earlier_ns;
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{COUNTER, Details, LIT, Label, N_COLORS, Picture, RowName, START, Tracks};

/// Space between rows, in pixels.
const BETWEEN: f64 = 1.0;
/// Narrower boxes have no text.
const MIN_TEXT: f64 = 22.0;
const FONT: &str = "11px system-ui, sans-serif";
/// Least distance of ticks on the ruler, in pixels.
const MIN_TICK: f64 = 110.0;

thread_local! {
    /// Of [`FONT`].
    static LETTERS: Letters = Letters::of(FONT);
}

/// Colors of the theme, as in the style sheet.
#[derive(Clone, Default, PartialEq)]
pub struct Colors {
    pub boxes: String,
    ink: String,
    faint: String,
    on_box: String,
    line: String,
    paper: String,
    accent: String,
    soft: String,
    load: String,
}

impl Colors {
    pub fn of_theme() -> Colors {
        Colors {
            boxes: style_value("--timeline-boxes"),
            ink: style_value("--timeline-ink"),
            faint: style_value("--timeline-faint"),
            on_box: style_value("--timeline-on-box"),
            line: style_value("--timeline-line"),
            paper: style_value("--timeline-paper"),
            accent: style_value("--timeline-accent"),
            soft: style_value("--timeline-soft"),
            load: style_value("--timeline-load"),
        }
    }
}

/// Color of boxes with that number, from 1.
pub fn box_color(number: u8) -> String {
    let boxes = style_value("--timeline-boxes");
    boxes.split_whitespace().nth(usize::from(number.wrapping_sub(1))).unwrap_or("#888888").to_string()
}

/// Red, green and blue of `#rrggbb`.
fn rgb(text: &str) -> [u8; 3] {
    let number = u32::from_str_radix(text.trim_start_matches('#'), 16).unwrap_or(0x88_88_88);
    [(number >> 16) as u8, (number >> 8) as u8, number as u8]
}

/// A picture as lines of pixels.
pub struct Painted {
    pub picture: Picture,
    /// Text whose boxes are lit; empty for none.
    pub lit: String,
    /// By row: whether it is a counter.
    is_counter: Vec<bool>,
    lines: Lines,
}

impl Painted {
    /// `None` if the browser has no room for it.
    pub fn new(picture: Picture, lit: String, colors: &Colors) -> Option<Painted> {
        let palette: Vec<[u8; 3]> = colors.boxes.split_whitespace().map(rgb).collect();
        let color = |number: u8| palette.get(usize::from(number)).copied().unwrap_or([0x88; 3]);
        let n = picture.colors.0.len();
        let mut pixels = vec![0_u8; n * 4];
        for ((at, code), cover) in pixels.chunks_exact_mut(4).zip(&picture.colors.0).zip(&picture.covers.0) {
            if *code == 0 {
                continue;
            }
            let number = code & 0x1F;
            let [mut r, mut g, mut b] =
                if code & COUNTER != 0 { color(N_COLORS) } else { color(number.wrapping_sub(1)) };
            if code & START != 0 {
                (r, g, b) = (r / 4 * 3, g / 4 * 3, b / 4 * 3);
            }
            // The less of a pixel is covered, the fainter it is; but never so faint that it cannot be seen.
            let mut strength = 90 + u16::from(*cover) * 165 / 255;
            if !lit.is_empty() && code & LIT == 0 {
                strength = strength * 2 / 9;
            }
            at.copy_from_slice(&[r, g, b, strength as u8]);
        }
        let lines = Lines::new(picture.window.n_pixels, picture.rows.len() as u32, &pixels)?;
        let width = (picture.window.n_pixels as usize).max(1);
        let is_counter = picture.colors.0.chunks(width).map(|row| row.contains(&COUNTER)).collect();
        Some(Painted { picture, lit, is_counter, lines })
    }

    /// The same picture on the tracks of a timeline with more of the file, until there is one of these; `None` if it has no place
    /// there.
    pub fn on(mut self, before: &Tracks, after: &Tracks) -> Option<Painted> {
        let earlier_ns = earlier_ns(before, after);
        let earlier_ns = (earlier_ns >= 0.0).then_some(earlier_ns as u64)?;
        let Picture { window, rows, labels, .. } = &mut self.picture;
        for row in rows {
            row.track = before.number_in(after, row.track).unwrap_or(u32::MAX);
        }
        window.first_pixel += earlier_ns >> window.bits;
        for label in labels {
            label.start_ns += earlier_ns;
            label.end_ns += earlier_ns;
        }
        Some(self)
    }

    /// Whether a box with a text is no hit of the search.
    fn is_dimmed(&self, label: &Label) -> bool {
        let window = &self.picture.window;
        let n = window.n_pixels as usize;
        // Of what the picture has of the box, the middle.
        let from = label.start_ns.max(window.start_ns());
        let middle = from + label.end_ns.saturating_sub(from) / 2;
        let pixel = (middle - window.start_ns()) / window.pixel_ns().max(1);
        let at = (label.row as usize * n).saturating_add((pixel as usize).min(n.saturating_sub(1)));
        !self.lit.is_empty() && self.picture.colors.0.get(at).is_some_and(|code| code & LIT == 0)
    }

    pub fn has(&self, row: RowName) -> bool {
        self.picture.rows.contains(&row)
    }

    /// Share of the pixel at a time that is covered.
    pub fn cover_at(&self, row: RowName, ns: f64) -> Option<f64> {
        let line = self.picture.rows.iter().position(|it| *it == row)?;
        let window = &self.picture.window;
        let pixel = ((ns - window.start_ns() as f64) / window.pixel_ns() as f64).floor();
        let n = window.n_pixels as usize;
        let at = (pixel >= 0.0 && pixel < n as f64).then_some(line * n + pixel as usize)?;
        (self.picture.colors.0[at] != 0).then(|| f64::from(self.picture.covers.0[at]) / 255.0)
    }
}

/// All that is drawn.
pub struct Drawing<'a> {
    pub view: Viewport,
    pub height: f64,
    /// Pixels that are scrolled away above.
    pub scrolled: f64,
    pub layout: &'a Layout,
    pub painted: Option<&'a Painted>,
    pub selected: Option<&'a Details>,
    pub stretch: Option<(f64, f64)>,
    /// Further times, of rows of a table.
    pub times: &'a [(f64, f64)],
    pub mark: Option<f64>,
    pub steps: &'a [Step],
    pub flags: &'a [Flag],
    pub colors: &'a Colors,
}

impl Drawing<'_> {
    pub fn draw(&self, canvas: &mut Canvas) {
        let (view, colors) = (&self.view, self.colors);
        canvas.start(view.width, self.height);
        canvas.font(FONT);
        self.draw_grid(canvas);
        canvas.clip([0.0, RULER, view.width, self.height - RULER]);
        let rows = self.layout.rows(self.scrolled, self.scrolled + self.height - RULER);
        let y_of = |top: f64| RULER + top - self.scrolled;
        if let Some(painted) = self.painted {
            let window = &painted.picture.window;
            let pixel_ns = window.pixel_ns() as f64;
            let from = (view.start_ns - window.start_ns() as f64) / pixel_ns;
            let n = view.width * view.ns_per_pixel / pixel_ns;
            // The part of the window that is in view, and where that is.
            let first = from.max(0.0);
            let last = (from + n).min(f64::from(window.n_pixels));
            let stretch = view.width / n;
            for (row, top, height) in &rows {
                let Some(line) = painted.picture.rows.iter().position(|it| it == row) else { continue };
                let number = painted.picture.rows.len() as u32;
                if last > first && (line as u32) < number {
                    let place =
                        [(first - from) * stretch, y_of(*top), (last - first) * stretch, height - BETWEEN];
                    if painted.is_counter[line] {
                        self.draw_counter(canvas, painted, line, place, (first, last));
                    } else {
                        canvas.line(&painted.lines, line as u32, (first, last - first), place);
                    }
                }
            }
            self.draw_labels(canvas, painted, &rows);
        }
        self.draw_steps(canvas);
        self.draw_selection(canvas, &rows);
        canvas.unclip();
        self.draw_ruler(canvas);
        self.draw_flags(canvas);
        for (from, to) in self.times.iter().filter(|time| Some(**time) != self.stretch) {
            let (x, end) = (view.x_of(*from), view.x_of(*to));
            if end >= 0.0 && x <= view.width {
                canvas.fill(&colors.soft, [x, 0.0, (end - x).max(1.0), self.height]);
                canvas.fill(&colors.accent, [x, RULER - 3.0, (end - x).max(2.0), 3.0]);
            }
        }
        if let Some(at) = self.mark {
            canvas.fill(&colors.accent, [view.x_of(at).round(), 0.0, 2.0, self.height]);
        }
        if let Some((from, to)) = self.stretch {
            let (x, end) = (view.x_of(from), view.x_of(to));
            canvas.fill(&colors.soft, [x, 0.0, end - x, self.height]);
            canvas.fill(&colors.accent, [x, 0.0, 1.0, self.height]);
            canvas.fill(&colors.accent, [end, 0.0, 1.0, self.height]);
        }
    }

    /// A counter as bars from the bottom.
    fn draw_counter(
        &self,
        canvas: &Canvas,
        painted: &Painted,
        line: usize,
        [x, y, width, height]: [f64; 4],
        (first, last): (f64, f64),
    ) {
        let n = painted.picture.window.n_pixels as usize;
        let color = self.colors.boxes.split_whitespace().last().unwrap_or("#888888");
        let covers = &painted.picture.covers.0[line * n..][..n];
        let known = &painted.picture.colors.0[line * n..][..n];
        let scale = width / (last - first);
        let mut at = first.floor() as usize;
        let end = (last.ceil() as usize).min(n);
        while at < end {
            // Pixels of one height are one bar.
            let mut to = at + 1;
            while to < end && covers[to] == covers[at] && (known[to] == 0) == (known[at] == 0) {
                to += 1;
            }
            if known[at] != 0 {
                let tall = (height - 1.0) * f64::from(covers[at]) / 255.0 + 1.0;
                let from = x + (at as f64 - first) * scale;
                canvas.fill(color, [from.max(0.0), y + height - tall, (to - at) as f64 * scale, tall]);
            }
            at = to;
        }
    }

    fn draw_labels(&self, canvas: &Canvas, painted: &Painted, rows: &[(RowName, f64, f64)]) {
        let view = &self.view;
        for label in &painted.picture.labels {
            let x = view.x_of(label.start_ns as f64).max(0.0);
            let end = view.x_of(label.end_ns as f64).min(view.width);
            let room = end - x - 7.0;
            if room < MIN_TEXT {
                continue;
            }
            let row = painted.picture.rows[label.row as usize];
            let Some((_, top, height)) = rows.iter().find(|it| it.0 == row) else { continue };
            let name = painted.picture.names.get(label.name as usize).map_or("", String::as_str);
            let text = shortened(name, room);
            let y = RULER + top - self.scrolled + height / 2.0;
            // Dimmed boxes are nearly as the paper.
            let color = if painted.is_dimmed(label) { &self.colors.faint } else { &self.colors.on_box };
            canvas.text(color, &text, x + 4.0, y);
        }
    }

    fn draw_selection(&self, canvas: &Canvas, rows: &[(RowName, f64, f64)]) {
        let Some(details) = self.selected else { return };
        let link = &details.link;
        let place = |row: RowName, start_ns: u64, dur_ns: Option<u64>| {
            let (top, height) = self.layout.top_of(row)?;
            let start = start_ns as f64;
            let end = dur_ns.map_or(self.view.span_ns, |ns| start + ns as f64);
            let x = self.view.x_of(start).clamp(-20.0, self.view.width + 20.0);
            let to = self.view.x_of(end).clamp(-20.0, self.view.width + 20.0);
            Some([x, RULER + top - self.scrolled, (to - x).max(2.0), height - BETWEEN])
        };
        let Some(own) = place(link.row, link.start_ns, link.dur_ns) else { return };
        if rows.iter().any(|row| row.0.track == link.row.track) {
            canvas.frame(&self.colors.ink, 2.0, own);
        }
        let middle = |[_, y, _, height]: [f64; 4]| y + height / 2.0;
        for from in &details.from {
            if let Some(there) = place(from.row, from.start_ns, from.dur_ns) {
                let start = (there[0] + there[2].min(8.0), middle(there));
                canvas.arrow(&self.colors.accent, start, (own[0], middle(own)));
            }
        }
        for to in &details.to {
            if let Some(there) = place(to.row, to.start_ns, to.dur_ns) {
                let start = (own[0] + own[2].min(8.0), middle(own));
                canvas.arrow(&self.colors.accent, start, (there[0], middle(there)));
            }
        }
    }

    /// Steps as boxes of two tones each, so that one ends visibly where the next one starts.
    fn draw_steps(&self, canvas: &Canvas) {
        let Some(top) = self.layout.steps_top() else { return };
        let view = &self.view;
        let palette: Vec<&str> = self.colors.boxes.split_whitespace().collect();
        let y = RULER + top - self.scrolled;
        let mut filled_to = f64::NEG_INFINITY;
        for step in self.steps {
            let (x, end) = (view.x_of(step.from).max(0.0), view.x_of(step.to).min(view.width));
            // Narrower than a dot beside the one before: it would not show.
            if end <= x || end <= filled_to {
                continue;
            }
            filled_to = x.max(filled_to).max(end.floor());
            let color = palette.get(usize::from(step.color).wrapping_sub(1)).copied().unwrap_or("#888888");
            canvas.fill(color, [x, y, (end - x - 1.0).max(1.0), ROW - BETWEEN]);
            if end - x - 7.0 >= MIN_TEXT {
                let text = shortened(&step.name, end - x - 7.0);
                canvas.text(&self.colors.on_box, &text, x + 4.0, y + ROW / 2.0);
            }
        }
    }

    /// Notes on the ruler.
    fn draw_flags(&self, canvas: &Canvas) {
        let view = &self.view;
        for flag in self.flags {
            let (x, end) = (view.x_of(flag.from), view.x_of(flag.to));
            if end < 0.0 || x > view.width {
                continue;
            }
            canvas.fill(&self.colors.accent, [x, 0.0, 2.0, RULER]);
            canvas.fill(&self.colors.accent, [x, 0.0, 9.0, 7.0]);
            canvas.fill(&self.colors.accent, [x, RULER - 3.0, (end - x).max(2.0), 3.0]);
        }
    }

    fn ticks(&self) -> (f64, Vec<f64>) {
        let view = &self.view;
        let step = nice_step(view.ns_per_pixel * MIN_TICK);
        let first = (view.start_ns.max(0.0) / step).ceil();
        let last = (view.end_ns().min(view.span_ns) / step).floor();
        let n = (last - first).clamp(-1.0, 100.0) as i64 + 1;
        (step, (0..n).map(|at| (first + at as f64) * step).collect())
    }

    fn draw_grid(&self, canvas: &Canvas) {
        for tick in self.ticks().1 {
            canvas.fill(&self.colors.line, [self.view.x_of(tick).round(), RULER, 1.0, self.height]);
        }
    }

    fn draw_ruler(&self, canvas: &Canvas) {
        let colors = self.colors;
        canvas.fill(&colors.paper, [0.0, 0.0, self.view.width, RULER]);
        canvas.fill(&colors.line, [0.0, RULER - 1.0, self.view.width, 1.0]);
        let (step, ticks) = self.ticks();
        for tick in ticks {
            let x = self.view.x_of(tick).round();
            canvas.fill(&colors.faint, [x, RULER - 6.0, 1.0, 5.0]);
            let text = time_text(tick, step);
            let width = LETTERS.with(|letters| text.chars().map(|letter| letters.px(letter)).sum::<f64>());
            // At the right edge it stands on the other side of its tick.
            let left = if x + 4.0 + width > self.view.width { x - 4.0 - width } else { x + 4.0 };
            canvas.text(&colors.faint, &text, left, RULER / 2.0);
        }
    }
}

/// The load over the whole trace, with a frame around what is in view and a mark on what is selected, in pixels from the left.
pub fn draw_load(
    canvas: &mut Canvas,
    shares: &[f32],
    [width, height]: [f64; 2],
    frame: Option<(f64, f64)>,
    marked: Option<(f64, f64)>,
    colors: &Colors,
) {
    canvas.start(width, height);
    let each = width / shares.len().max(1) as f64;
    for (at, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let tall = ((height - 2.0) * f64::from(*share)).max(1.0);
        // Without seams between the bars.
        let (x, end) = ((at as f64 * each).floor(), ((at + 1) as f64 * each).floor());
        canvas.fill(&colors.load, [x, height - tall, (end - x).max(1.0), tall]);
    }
    if let Some((x, end)) = marked {
        canvas.fill(&colors.soft, [x, 0.0, end - x, height]);
        canvas.fill(&colors.accent, [x, 0.0, 1.0, height]);
        canvas.fill(&colors.accent, [end - 1.0, 0.0, 1.0, height]);
    }
    let is_part = |(x, end): &(f64, f64)| end - x < width - 1.0;
    if let Some((x, end)) = frame.filter(is_part) {
        canvas.frame(&colors.accent, 2.0, [x.max(1.0), 1.0, (end - x).max(2.0), height - 2.0]);
    }
}

/// 1, 2 or 5 times a power of ten that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * power)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(power * 10.0)
}

/// A time with as many digits as tell it from the next tick.
fn time_text(ns: f64, step: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1.0, "ns"));
    let digits = (unit / step).log10().ceil().clamp(0.0, 9.0) as usize;
    if ns == 0.0 { "0".to_string() } else { format!("{:.digits$} {name}", ns / unit) }
}

/// A name that fits: kernels differ at their ends as well, so what is left out is in the middle.
fn shortened(name: &str, room: f64) -> String {
    LETTERS.with(|letters| {
        let mut used = 0.0;
        let is_wider = name.chars().any(|letter| {
            used += letters.px(letter);
            used > room
        });
        if !is_wider {
            return name.to_string();
        }
        used = letters.px('…');
        let (mut left, mut right) = (name.chars(), name.chars().rev());
        let (mut start, mut end) = (Vec::new(), Vec::new());
        loop {
            let at_start = start.len() <= end.len();
            let Some(letter) = (if at_start { left.next() } else { right.next() }) else { break };
            used += letters.px(letter);
            if used > room {
                break;
            }
            if at_start { start.push(letter) } else { end.push(letter) }
        }
        start.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
    })
}
