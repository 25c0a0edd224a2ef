//! What events do to the timeline, and what it asks the worker.

use super::layout::{Item, Layout, ROW, RULER, What};
use super::marks::{self, Flag};
use super::painter::{Colors, Drawing, Painted};
use super::tree::Listed;
use crate::app::browser::{self, Canvas, Local};
use crate::app::client::Answer;
use crate::app::erased::{effect, memo};
use crate::app::state::{Tab, TimelineState};
use crate::app::view_state::{Action, TimelineLook};
use crate::app::words::words;
use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracedrop::base::sort;
use tracedrop::engine::protocol::{OTHER_TIMELINE, Request, TimelineAnswer, TimelineAsk};
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{ARGUMENTS, At, BoxLink, BoxName, ColorBy, Found, Label, RowName};

/// Pixels by which a press that is no drag may move.
const STILL: f64 = 4.0;
/// Pause in moving after which the address changes.
const SETTLING_MS: u32 = 400;
/// Events in view that are put into words.
const MAX_LISTED: usize = 40;

/// What the timeline draws with, and what is under way.
#[derive(Default)]
pub struct Works {
    canvas: Option<Canvas>,
    painted: Option<Painted>,
    /// What its colors stand for.
    color_by: ColorBy,
    /// Hits that it lights.
    hits: Hits,
    /// The timeline that it is of, see [`TimelineState::number`].
    number: Option<u32>,
    /// What gives it its colors has changed.
    is_old: bool,
    colors: Colors,
    /// A picture was asked for and has not come.
    is_asked: bool,
    /// So was what is under the pointer.
    is_hover_asked: bool,
    is_frame_due: bool,
    drag: Option<Drag>,
    /// Other fingers: number and place.
    touches: Vec<(i32, f64, f64)>,
}

/// A search of arguments, so far: the order of magnitude of its hits, and whether it is over. Pictures follow these alone.
type Hits = (Option<u32>, bool);

fn hits_of(state: TimelineState) -> Hits {
    let has_arguments = state.lit.with_untracked(|text| text.starts_with(ARGUMENTS));
    let of = |found: &Found| (found.n.checked_ilog2(), found.left == 0.0);
    let hits = state.found.with_untracked(|found| found.as_ref().filter(|_| has_arguments).map(of));
    hits.unwrap_or_default()
}

/// A search that goes on until all is searched.
#[derive(Clone)]
struct Search {
    /// See [`Stage::n_searches`].
    number: u32,
    text: String,
    from: Option<BoxName>,
    is_back: bool,
    /// Only counts, and goes to no hit.
    counts: bool,
    has_gone: bool,
}

/// A press of the pointer.
struct Drag {
    start: (f64, f64),
    last: (f64, f64),
    selects: bool,
    is_moved: bool,
}

/// What is under the pointer, and where that is.
#[derive(Clone, PartialEq)]
pub struct Hover {
    pub x: f64,
    pub y: f64,
    pub at: At,
    pub cover: Option<f64>,
}

/// Handles of the parts that events reach.
#[derive(Clone, Copy)]
pub struct Stage {
    pub tab: Tab,
    pub works: Local<Works>,
    pub layout: Memo<Layout>,
    /// Notes on times.
    pub flags: Memo<Vec<Flag>>,
    /// What has the keys and the canvas, and what it and the names of tracks are in.
    pub place: NodeRef<html::Div>,
    pub body: NodeRef<html::Div>,
    /// The details, while they show.
    pub panel: NodeRef<html::Aside>,
    /// Height of the canvas, and pixels scrolled away above it.
    pub height: RwSignal<f64>,
    pub scrolled: RwSignal<f64>,
    pub hover: RwSignal<Option<Hover>>,
    /// The widest events in view.
    pub in_view: RwSignal<Vec<Listed>>,
    /// The track that keys have led to.
    pub track: RwSignal<Option<u32>>,
    /// What is in view, in words, and a pause in moving before these change.
    summary: RwSignal<String>,
    summing_up: browser::Pause,
    /// A pause in moving, before the address changes.
    pub settling: browser::Pause,
    /// Where the pointer is, in pixels from the left.
    pub pointer: StoredValue<Option<f64>>,
    /// What the address stands for.
    pub sent: StoredValue<Option<TimelineLook>>,
    pub typing: browser::Pause,
    /// Searches so far: only the last one goes on.
    pub n_searches: StoredValue<u32>,
}

impl Stage {
    pub fn new(tab: Tab, layout: Memo<Layout>, flags: Memo<Vec<Flag>>) -> Stage {
        Stage {
            tab,
            works: StoredValue::new_local(Works::default()),
            layout,
            flags,
            place: NodeRef::new(),
            body: NodeRef::new(),
            panel: NodeRef::new(),
            height: RwSignal::new(0.0),
            scrolled: RwSignal::new(0.0),
            hover: RwSignal::new(None),
            in_view: RwSignal::default(),
            track: RwSignal::new(None),
            summary: RwSignal::default(),
            summing_up: browser::Pause::new(),
            settling: browser::Pause::new(),
            pointer: StoredValue::new(None),
            sent: StoredValue::new(None),
            typing: browser::Pause::new(),
            n_searches: StoredValue::new(0),
        }
    }

    /// Starts on a canvas, with nothing drawn yet.
    pub fn draw_on(self, canvas: Option<Canvas>) {
        self.works.set_value(Works { canvas, ..Works::default() });
    }

    /// Has the keys.
    pub fn focus(self) {
        if let Some(place) = self.place.try_get_untracked().flatten() {
            browser::focus_unmoved(&place);
        }
    }

    /// Someone does something here: what it changes is a step of its own.
    pub fn is_used(self) {
        self.tab.timeline.is_arriving.set_value(false);
    }

    /// Has the keys once something has led to the timeline of this tab.
    pub fn focus_if_led_to(self, tab: Tab) {
        effect(move || {
            if self.place.get().is_some() && tab.timeline.takes_focus.get() {
                tab.timeline.takes_focus.set(false);
                // After what led here has closed.
                browser::after(0, move || self.focus());
            }
        });
    }

    /// Keeps the address in step with what is in view, and what is in view with the address.
    pub fn follow_address(self) {
        let (tab, state) = (self.tab, self.tab.timeline);
        let id = tab.id;
        let place = memo(move || tab.app.view.with(|view| view.tab(id).and_then(|tab| tab.timeline.clone())));
        self.sent.set_value(place.get_untracked());
        // What is parsed only in part has other numbers and times.
        let now =
            memo(move || state.view.get().filter(|_| !state.is_of_part()).map(|view| look_of(&view, state)));
        effect(move || {
            let Some(look) = now.get() else { return };
            self.settling.start(SETTLING_MS, move || {
                let before = place.get_untracked();
                if look != before {
                    // Moving is no step back.
                    let still = |look: &Option<TimelineLook>| TimelineLook {
                        view: (0, 0),
                        ..look.clone().unwrap_or_default()
                    };
                    let is_step = still(&look) != still(&before);
                    self.sent.set_value(look.clone());
                    tab.app.act(match state.is_arriving.get_value() {
                        true => Action::ArriveAtTime { tab: id, look },
                        false => Action::LookAtTime { tab: id, look, is_step },
                    });
                }
            });
        });
        effect(move || {
            let look = place.get();
            if state.view.with(Option::is_some)
                && !state.is_of_part()
                && self.sent.with_value(|sent| *sent != look)
            {
                self.sent.set_value(look.clone());
                self.look_as(look.unwrap_or_default());
            }
        });
    }

    /// Shows what an address says.
    pub fn look_as(self, look: TimelineLook) {
        let state = self.tab.timeline;
        self.is_used();
        let TimelineLook { view, selected, stretch, search, tracks, pinned, color_by, folds } = look;
        self.change(|before| match view {
            (from, to) if to > from => before.exactly(from as f64, to as f64),
            _ => Viewport::whole(before.span_ns as u64, before.width),
        });
        let selected = selected.map(|(part, id)| BoxName { part, id });
        if selected != state.selected.get_untracked() {
            state.details.set(None);
            state.selected.set(selected);
            if let Some(of) = selected {
                self.show_details(of);
            }
        }
        let mut folded = state.idle.get_untracked();
        for number in folds {
            toggle(&mut folded, number);
        }
        change(state.folded, folded);
        change(state.pinned, pinned);
        change(state.color_by, color_by);
        change(state.only, tracks);
        state.stretch.set(stretch.map(|(from, to)| (from as f64, to as f64)));
        self.show_sums();
        if search != state.lit.get_untracked() {
            state.lit.set(search);
            state.found.set(None);
            self.draw_soon();
            self.search(false, true);
        }
    }

    /// Puts the widest events in view into words.
    pub fn list_what_shows(self) {
        let Some(view) = self.tab.timeline.view.get_untracked() else { return };
        let listed = self.works.with_value(|works| {
            let Some(painted) = &works.painted else { return Vec::new() };
            let shown = |label: &&Label| {
                view.x_of(label.end_ns as f64) > 0.0 && view.x_of(label.start_ns as f64) < view.width
            };
            let mut labels: Vec<&Label> = painted.picture.labels.iter().filter(shown).collect();
            sort::by_key(&mut labels, |label| std::cmp::Reverse(label.end_ns - label.start_ns));
            labels.truncate(MAX_LISTED);
            sort::by_key(&mut labels, |label| (label.row, label.start_ns));
            let listed = |label: &Label| {
                let name = painted.picture.names.get(label.name as usize).map_or("", String::as_str);
                let text =
                    (words().timeline.listed)(name, Some(label.end_ns - label.start_ns), label.start_ns);
                let row = *painted.picture.rows.get(label.row as usize)?;
                Some(Listed { of: label.of, row, start_ns: label.start_ns, text })
            };
            labels.into_iter().filter_map(listed).collect()
        });
        change(self.in_view, listed);
    }

    /// Puts into words what is in view once it stays.
    pub fn has_moved(self) {
        self.summing_up.start(SETTLING_MS, move || {
            self.list_what_shows();
            self.sum_up();
        });
    }

    fn sum_up(self) {
        let Some(view) = self.tab.timeline.view.get_untracked() else { return };
        let (top, height) = (self.scrolled.get_untracked(), self.height.get_untracked());
        let (n_shown, n_all) = self.layout.with_untracked(|layout| {
            let is_track = |item: &&Item| matches!(item.what, What::Track { .. });
            let n_shown = layout.between(top, top + height - RULER).iter().filter(is_track).count();
            (n_shown, layout.items.iter().filter(is_track).count())
        });
        let (from, to) = (view.start_ns.max(0.0), view.end_ns().min(view.span_ns));
        let n_listed = self.in_view.with_untracked(Vec::len);
        let text = (words().timeline.in_words)((from as i64, to as i64), (n_shown, n_all), n_listed);
        change(self.summary, text);
    }

    pub fn ask(self, ask: TimelineAsk, answer: impl Fn(TimelineAnswer) + 'static) {
        self.ask_of(self.tab.timeline.number(), ask, answer);
    }

    fn ask_of(self, of: Option<u32>, ask: TimelineAsk, answer: impl Fn(TimelineAnswer) + 'static) {
        let state = self.tab.timeline;
        self.tab.ask(
            move |ticket| Request::Timeline { ticket, of, ask },
            move |it| match it {
                Answer::Timeline(it) => answer(it),
                Answer::Refused(failure) => {
                    // What was asked for does not come.
                    let _ = self
                        .works
                        .try_update_value(|works| (works.is_asked, works.is_hover_asked) = (false, false));
                    // The tracks of the other one come with the next document.
                    if failure.code != OTHER_TIMELINE {
                        state.problem.set(Some(failure.to_string()));
                    }
                }
                _ => {}
            },
        );
    }

    /// Asks, and drops the answer once the screen is gone.
    fn ask_here(self, ask: TimelineAsk, answer: impl Fn(TimelineAnswer) + 'static) {
        self.ask(ask, move |it| {
            if self.works.try_with_value(|_| ()).is_some() {
                answer(it);
            }
        });
    }

    pub fn ask_for_tracks(self) {
        let state = self.tab.timeline;
        // Of whatever is parsed by now.
        self.ask_of(None, TimelineAsk::Tracks, move |answer| {
            let TimelineAnswer::Tracks(tracks) = answer else { return };
            let Some(before) = state.tracks.get_untracked() else { return state.has_come(tracks) };
            // The old picture stays until there is a new one.
            let _ = self.works.try_update_value(|works| {
                works.painted = works.painted.take().and_then(|painted| painted.on(&before, &tracks));
            });
            state.has_come(tracks);
            if !untrack(|| state.is_of_part()) && state.stretch.with_untracked(Option::is_some) {
                self.show_sums();
            }
        });
    }

    /// Asks again for all that the settings of the reports can change.
    pub fn has_other_settings(self) {
        self.works.update_value(|works| works.is_old = true);
        self.ask_for_tracks();
        marks::ask_for_steps(self.tab, true);
    }

    /// The canvas has this width.
    pub fn has_width(self, width: f64) {
        let state = self.tab.timeline;
        let span = state.tracks.with_untracked(|tracks| tracks.as_ref().map_or(1, |tracks| tracks.span_ns));
        let view = match state.view.get_untracked() {
            Some(view) if (view.width - width).abs() < 0.5 => return self.draw_soon(),
            Some(view) => view.resized(width),
            None => self.all_of(Viewport::whole(span, width)),
        };
        state.view.set(Some(view));
    }

    pub fn change(self, change: impl FnOnce(Viewport) -> Viewport) {
        let state = self.tab.timeline;
        if let Some(view) = state.view.get_untracked() {
            let changed = change(view);
            if changed != view {
                state.view.set(Some(changed));
            }
        }
    }

    pub fn draw_soon(self) {
        let is_due = self.works.try_update_value(|works| std::mem::replace(&mut works.is_frame_due, true));
        if is_due == Some(false) {
            browser::with_next_frame(move || self.draw());
        }
    }

    pub fn draw(self) {
        let state = self.tab.timeline;
        // The screen may be gone by now.
        let Some(height) = self.height.try_get_untracked() else { return };
        let scrolled = self.scrolled.get_untracked();
        let Some(view) = state.view.get_untracked() else {
            self.works.update_value(|works| works.is_frame_due = false);
            return;
        };
        let details = state.details.get_untracked();
        self.works.update_value(|works| {
            works.is_frame_due = false;
            let colors = Colors::of_theme();
            if colors != works.colors {
                works.colors = colors;
                // Painted again in the colors of the theme.
                works.painted =
                    works.painted.take().and_then(|it| Painted::new(it.picture, it.lit, &works.colors));
            }
            let Works { canvas, painted, colors, .. } = works;
            let steps = state.steps.get_untracked().unwrap_or_default();
            let flags = self.flags.get_untracked();
            self.layout.with_untracked(|layout| {
                let drawing = Drawing {
                    view,
                    height,
                    scrolled,
                    layout,
                    painted: painted.as_ref(),
                    selected: details.as_deref(),
                    stretch: state.stretch.get_untracked(),
                    times: &state.times.get_untracked(),
                    mark: state.mark.get_untracked(),
                    steps: &steps,
                    flags: &flags,
                    colors,
                };
                if let Some(canvas) = canvas {
                    drawing.draw(canvas);
                }
            });
        });
        self.ask_for_picture(&view, height, scrolled);
    }

    /// Asks for a sharper picture, unless the last one serves or one is on its way.
    pub fn ask_for_picture(self, view: &Viewport, height: f64, scrolled: f64) {
        let state = self.tab.timeline;
        let scale = browser::dots_per_pixel();
        let (seen, wanted) = self.layout.with_untracked(|layout| {
            let rows = |top: f64, bottom: f64| -> Vec<RowName> {
                layout.rows(top, bottom).into_iter().map(|row| row.0).collect()
            };
            (rows(scrolled, scrolled + height), rows(scrolled - height, scrolled + 2.0 * height))
        });
        let (lit, color_by) = (state.lit.get_untracked(), state.color_by.get_untracked());
        let (hits, number) = (hits_of(state), state.number());
        let is_served = self.works.with_value(|works| {
            works.is_asked
                || !works.is_old
                    && works.painted.as_ref().is_some_and(|painted| {
                        painted.lit == lit
                            && (works.color_by, works.hits, works.number) == (color_by, hits, number)
                            && view.is_served_by(&painted.picture.window, scale)
                            && seen.iter().all(|row| painted.has(*row))
                    })
        });
        if is_served || seen.is_empty() {
            return;
        }
        self.works.update_value(|works| works.is_asked = true);
        let ask =
            TimelineAsk::Picture { window: view.window(scale), rows: wanted, lit: lit.clone(), color_by };
        self.ask_here(ask, move |answer| {
            let TimelineAnswer::Picture(picture) = answer else { return };
            change(state.legend, picture.legend.clone());
            self.works.update_value(|works| {
                (works.is_asked, works.is_old) = (false, false);
                (works.color_by, works.hits, works.number) = (color_by, hits, number);
                let colors = Colors::of_theme();
                works.painted = Painted::new(picture, lit.clone(), &colors);
                works.colors = colors;
            });
            self.list_what_shows();
            self.has_moved();
            self.draw_soon();
        });
    }

    pub fn zoom(self, factor: f64) {
        self.change(|view| view.zoomed(view.width / 2.0, factor));
    }

    pub fn show_all(self) {
        self.change(|view| self.all_of(view));
    }

    /// All of the timeline, or the time range that was chosen when the file was read.
    fn all_of(self, view: Viewport) -> Viewport {
        let range = self.tab.document.with_untracked(|it| it.as_ref().and_then(|it| it.range.chosen));
        match range.map(|(from, to)| (from.max(0) as f64, (to as f64).min(view.span_ns))) {
            Some((from, to)) if to > from => view.exactly(from, to),
            _ => Viewport::whole(view.span_ns as u64, view.width),
        }
    }

    pub fn fold(self, number: u32) {
        self.tab.timeline.folded.update(|folded| toggle(folded, number));
    }

    /// Puts a track at the top, or back in its place.
    pub fn pin(self, number: u32) {
        self.tab.timeline.pinned.update(|pinned| match pinned.iter().position(|known| *known == number) {
            Some(at) => drop(pinned.remove(at)),
            None => pinned.push(number),
        });
    }

    /// Saves what shows as a picture.
    pub fn save_picture(self) {
        let name = self.tab.name.get_untracked();
        self.works.with_value(|works| {
            if let Some(canvas) = &works.canvas {
                canvas.save(&format!("{name}.png"));
            }
        });
    }

    /// The step or note at a place on the canvas: what it is called, and its time.
    fn label_at(self, x: f64, y: f64) -> Option<(String, f64, f64)> {
        let state = self.tab.timeline;
        let view = state.view.get_untracked()?;
        let ns = view.ns_at(x);
        if y <= RULER {
            let near = 10.0 * view.ns_per_pixel;
            let flags = self.flags.get_untracked();
            let flag = flags
                .into_iter()
                .find(|flag| ns >= flag.from - 1.0 && ns <= flag.to.max(flag.from + near))?;
            return Some((flag.text, flag.from, flag.to));
        }
        let top = self.layout.with_untracked(Layout::steps_top)? + RULER - self.scrolled.get_untracked();
        if !(top..top + ROW).contains(&y) {
            return None;
        }
        state.steps.with_untracked(|steps| {
            let step = steps.iter().flatten().find(|step| (step.from..step.to).contains(&ns))?;
            Some((step.name.clone(), step.from, step.to))
        })
    }

    /// Marks a time; the second mark selects what is between the two.
    pub fn mark(self) {
        let state = self.tab.timeline;
        let Some(view) = state.view.get_untracked() else { return };
        let x = self.pointer.get_value().unwrap_or(view.width / 2.0);
        let here = view.ns_at(x).clamp(0.0, view.span_ns);
        match state.mark.get_untracked() {
            Some(other) => {
                state.mark.set(None);
                state.stretch.set(Some((other.min(here), other.max(here))));
                self.show_sums();
            }
            None => state.mark.set(Some(here)),
        }
    }

    pub fn zoom_to_selected(self) {
        let details = self.tab.timeline.details.get_untracked();
        if let Some(details) = details {
            let (from, to) = ends(&details.link);
            self.change(|view| view.around(from, to.unwrap_or(view.span_ns)));
        }
    }

    pub fn fit(self) {
        match self.tab.timeline.stretch.get_untracked() {
            Some((from, to)) => self.change(|view| view.around(from, to)),
            None => self.zoom_to_selected(),
        }
    }

    /// Shows a box and all about it.
    pub fn select(self, link: &BoxLink) {
        let (from, to) = ends(link);
        self.change(|view| view.reaching(from, to.unwrap_or(from)));
        self.tab.timeline.folded.update(|folded| {
            if link.row.row > 0 {
                folded.remove(&link.row.track);
            }
        });
        self.scroll_to(link.row);
        self.show_details(link.of);
    }

    /// Scrolls as far as needed to show a row, with a row's height around it: below the ruler, and above the details.
    pub fn scroll_to(self, row: RowName) {
        let place = self.layout.try_with_untracked(|layout| layout.top_of(row)).flatten();
        let body = self.body.try_get_untracked().flatten();
        if let Some(((top, tall), body)) = place.zip(body) {
            let part = (RULER + top - tall, 3.0 * tall);
            browser::reveal_above(&body, part, RULER, self.panel.try_get_untracked().flatten().as_ref());
        }
    }

    pub fn show_details(self, of: BoxName) {
        let state = self.tab.timeline;
        if untrack(|| state.is_of_part()) {
            self.tab.app.say(words().timeline.not_yet.to_string());
            return;
        }
        state.selected.set(Some(of));
        if state.sums.with_untracked(Option::is_some) {
            // The panel has room for one of them.
            state.stretch.set(None);
            state.sums.set(None);
        }
        self.ask(TimelineAsk::Details { of }, move |answer| {
            if let TimelineAnswer::Details(details) = answer
                && state.selected.get_untracked() == Some(of)
            {
                let row = details.as_ref().map(|details| details.link.row);
                state.details.set(details.map(Arc::from));
                // Once the details have their place.
                browser::with_next_frame(move || {
                    if let Some(row) = row {
                        self.scroll_to(row);
                    }
                });
            }
        });
    }

    pub fn clear(self) {
        self.clear_selection();
        self.tab.timeline.mark.set(None);
        self.tab.timeline.times.set(Vec::new());
    }

    /// Takes back what is selected, and the panel with it.
    pub fn clear_selection(self) {
        self.tab.timeline.select_stretch(None);
    }

    pub fn show_sums(self) {
        let state = self.tab.timeline;
        // The panel has room for one of them.
        if state.stretch.with_untracked(Option::is_some) && !untrack(|| state.is_of_part()) {
            state.selected.set(None);
            state.details.set(None);
        }
        self.tab.show_sums();
    }

    /// Goes to the next hit of the search, or to the next marked time without one; `is_new` if the text is another one.
    pub fn find(self, is_back: bool, is_new: bool) {
        let state = self.tab.timeline;
        self.is_used();
        if is_new {
            state.found.set(None);
            state.times.set(Vec::new());
            self.draw_soon();
        } else if state.lit.with_untracked(String::is_empty) {
            return self.go_to_time(is_back);
        }
        self.search(is_back, false);
    }

    /// Selects the next marked time.
    fn go_to_time(self, is_back: bool) {
        let state = self.tab.timeline;
        let n = state.times.with_untracked(Vec::len);
        if n == 0 {
            return;
        }
        let next = match (untrack(|| state.time_number()), is_back) {
            (Some(at), false) => (at + 1) % n,
            (Some(at), true) => (at + n - 1) % n,
            (None, false) => 0,
            (None, true) => n - 1,
        };
        if let Some((from, to)) = state.times.with_untracked(|times| times.get(next).copied()) {
            state.select_stretch(Some((from, to)));
            self.change(|view| view.around(from, to));
        }
    }

    /// Counts the hits of a search that came with the address, or that had not come to its end when the timeline was left.
    pub fn count_unless_done(self) {
        let is_done = |found: &Found| found.left == 0.0;
        if !self.tab.timeline.found.with_untracked(|found| found.as_ref().is_some_and(is_done)) {
            self.search(false, true);
        }
    }

    fn search(self, is_back: bool, counts: bool) {
        let state = self.tab.timeline;
        let number = self.n_searches.get_value().wrapping_add(1);
        self.n_searches.set_value(number);
        let (text, from) = (state.lit.get_untracked(), state.selected.get_untracked());
        if !text.is_empty() && !untrack(|| state.is_of_part()) {
            self.go_on_searching(Search { number, text, from, is_back, counts, has_gone: false });
        }
    }

    fn go_on_searching(self, search: Search) {
        let Search { text, from, is_back, .. } = search.clone();
        self.ask_here(TimelineAsk::Find { text, from, is_back }, move |answer| {
            let TimelineAnswer::Found(mut found) = answer else { return };
            if self.n_searches.get_value() != search.number {
                return;
            }
            let mut search = search.clone();
            match &found.link {
                _ if search.counts => found.number = 0,
                Some(link) if !search.has_gone => {
                    search.has_gone = true;
                    self.select(link);
                }
                _ => {}
            }
            let is_over = found.left == 0.0;
            self.tab.timeline.found.set(Some(found));
            self.draw_soon();
            if !is_over {
                self.go_on_searching(search);
            }
        });
    }

    pub fn go_to_same_name(self, is_back: bool) {
        let Some(of) = self.tab.timeline.selected.get_untracked() else { return };
        self.ask_here(TimelineAsk::SameName { of, is_back }, move |answer| {
            if let TimelineAnswer::Found(Found { link: Some(link), .. }) = answer {
                self.select(&link);
            }
        });
    }

    /// The row below a place on the canvas.
    pub fn row_at(self, y: f64) -> Option<RowName> {
        let top = y - RULER + self.scrolled.get_untracked();
        (y > RULER).then(|| self.layout.with_untracked(|layout| layout.row_at(top))).flatten()
    }

    pub fn ask_at(self, x: f64, y: f64, answer: impl Fn(Option<At>) + 'static) {
        let Some((view, row)) = self.tab.timeline.view.get_untracked().zip(self.row_at(y)) else {
            return answer(None);
        };
        let ask = TimelineAsk::At {
            row,
            ns: view.ns_at(x).max(0.0) as u64,
            around_ns: view.ns_per_pixel.max(1.0) as u64,
        };
        self.ask_here(ask, move |it| {
            if let TimelineAnswer::At(at) = it {
                answer(at);
            }
        });
    }

    pub fn hover_at(self, x: f64, y: f64) {
        self.pointer.set_value(Some(x));
        if let Some((name, from, to)) = self.label_at(x, y) {
            let at = At { name, dur_ns: Some((to - from).max(0.0) as u64), count: 1, ..At::default() };
            return self.hover.set(Some(Hover { x, y, at, cover: None }));
        }
        let is_asked =
            self.works.try_update_value(|works| std::mem::replace(&mut works.is_hover_asked, true));
        if is_asked != Some(false) {
            return;
        }
        let row = self.row_at(y);
        let ns = self.tab.timeline.view.get_untracked().map_or(0.0, |view| view.ns_at(x));
        self.ask_at(x, y, move |at| {
            let cover = self.works.try_update_value(|works| {
                works.is_hover_asked = false;
                works.painted.as_ref().zip(row).and_then(|(painted, row)| painted.cover_at(row, ns))
            });
            let _ = self.hover.try_set(at.map(|at| Hover { x, y, at, cover: cover.flatten() }));
        });
    }

    pub fn wheel(self, event: &ev::WheelEvent) {
        self.is_used();
        let (dx, dy) = (event.delta_x(), event.delta_y());
        let lines = if event.delta_mode() == 0 { 1.0 } else { 16.0 };
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let factor = (dy * lines * 0.0025).clamp(-1.0, 1.0).exp();
            let x = f64::from(event.offset_x());
            self.change(|view| view.zoomed(x, factor));
        } else if event.shift_key() || dx.abs() > dy.abs() {
            event.prevent_default();
            let moved = if dx.abs() > dy.abs() { dx } else { dy };
            self.change(|view| view.panned(moved * lines));
        }
    }

    pub fn press(self, event: &ev::PointerEvent) {
        if event.button() != 0 {
            return;
        }
        browser::capture(event);
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        let selects = event.shift_key();
        self.hover.set(None);
        self.works.update_value(|works| {
            if event.pointer_type() == "touch" {
                works.touches.push((event.pointer_id(), at.0, at.1));
            }
            works.drag = Some(Drag { start: at, last: at, selects, is_moved: false });
        });
    }

    pub fn move_to(self, event: &ev::PointerEvent) {
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        let pinch =
            self.works.try_update_value(|works| pinch(&mut works.touches, event.pointer_id(), at)).flatten();
        if let Some((x, factor)) = pinch {
            self.change(|view| view.zoomed(x, factor));
            return;
        }
        let moved = self.works.try_update_value(|works| {
            let drag = works.drag.as_mut()?;
            let delta = (at.0 - drag.last.0, at.1 - drag.last.1);
            let all = (at.0 - drag.start.0, at.1 - drag.start.1);
            drag.is_moved |= all.0.abs().max(all.1.abs()) > STILL;
            if !drag.is_moved {
                return None;
            }
            drag.last = at;
            Some((delta, drag.start.0, drag.selects))
        });
        let is_pressed = self.works.with_value(|works| works.drag.is_some());
        match moved.flatten() {
            Some((_, start, true)) => self.select_between(start, at.0),
            Some((delta, _, false)) => {
                self.change(|view| view.panned(-delta.0));
                if event.pointer_type() != "touch" && delta.1 != 0.0 {
                    browser::scroll_window_by(-delta.1);
                }
            }
            None if !is_pressed => self.hover_at(at.0, at.1),
            None => {}
        }
    }

    pub fn select_between(self, a: f64, b: f64) {
        let state = self.tab.timeline;
        if let Some(view) = state.view.get_untracked() {
            let at = |x: f64| view.ns_at(x.clamp(0.0, view.width)).clamp(0.0, view.span_ns);
            state.stretch.set(Some((at(a.min(b)), at(a.max(b)))));
        }
    }

    pub fn release(self, event: &ev::PointerEvent) {
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        let drag = self.works.try_update_value(|works| {
            works.touches.retain(|touch| touch.0 != event.pointer_id());
            works.drag.take()
        });
        match drag.flatten() {
            Some(Drag { is_moved: true, selects: true, .. }) => self.show_sums(),
            Some(Drag { is_moved: false, .. }) => match self.label_at(at.0, at.1) {
                Some((_, from, to)) => {
                    self.tab.timeline.stretch.set(Some((from, to)));
                    self.show_sums();
                }
                None => self.ask_at(at.0, at.1, move |found| match found {
                    Some(At { of: Some(of), .. }) => self.show_details(of),
                    _ => self.clear(),
                }),
            },
            _ => {}
        }
    }

    pub fn cancel(self, event: &ev::PointerEvent) {
        self.works.update_value(|works| {
            works.touches.retain(|touch| touch.0 != event.pointer_id());
            works.drag = None;
        });
    }

    pub fn go(self, link: Option<&BoxLink>) {
        if let Some(link) = link {
            self.select(link);
        }
    }

    /// The box before or after another in its row.
    pub fn go_beside(self, link: &BoxLink, is_back: bool) {
        let ask = TimelineAsk::Beside { of: link.of, is_back };
        self.ask_here(ask, move |answer| {
            if let TimelineAnswer::Found(Found { link: Some(link), .. }) = answer {
                self.select(&link);
            }
        });
    }

    /// What a screen reader says: the selection, or what is in view.
    pub fn spoken(self) -> String {
        let selected = self.tab.timeline.details.with(|details| {
            let details = details.as_ref()?;
            Some((words().timeline.spoken)(&details.link.name, details.link.dur_ns, &details.track))
        });
        selected.unwrap_or_else(|| self.summary.get())
    }
}

/// What is looked at, as an address says it; `None` for all of the timeline.
fn look_of(view: &Viewport, state: TimelineState) -> Option<TimelineLook> {
    let folds = state
        .folded
        .with(|folded| state.idle.with(|idle| folded.symmetric_difference(idle).copied().collect()));
    let look = TimelineLook {
        view: (view.start_ns.max(0.0) as u64, view.end_ns().clamp(0.0, view.span_ns).ceil() as u64),
        selected: state.selected.get().map(|of| (of.part, of.id)),
        stretch: state.stretch.get().map(|(from, to)| (from as u64, to as u64)),
        search: state.lit.get(),
        tracks: state.only.get(),
        pinned: state.pinned.get(),
        color_by: state.color_by.get(),
        folds,
    };
    let is_whole = *view == Viewport::whole(view.span_ns as u64, view.width);
    let is_bare = TimelineLook { view: look.view, ..TimelineLook::default() } == look;
    (!(is_whole && is_bare)).then_some(look)
}

fn toggle(numbers: &mut BTreeSet<u32>, number: u32) {
    if !numbers.remove(&number) {
        numbers.insert(number);
    }
}

/// Sets a signal to another value, and leaves it alone otherwise.
fn change<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|before| *before != value) {
        signal.set(value);
    }
}

/// Start and end in nanoseconds; an end that is not in the file is unknown.
pub fn ends(link: &BoxLink) -> (f64, Option<f64>) {
    let start = link.start_ns as f64;
    (start, link.dur_ns.map(|ns| start + ns as f64))
}

/// Middle and factor of a movement of two fingers.
fn pinch(touches: &mut [(i32, f64, f64)], id: i32, (x, y): (f64, f64)) -> Option<(f64, f64)> {
    let [a, b] = touches else { return None };
    let distance = |a: &(i32, f64, f64), b: &(i32, f64, f64)| (a.1 - b.1).hypot(a.2 - b.2).max(1.0);
    let before = distance(a, b);
    let moved = if a.0 == id { &mut *a } else { &mut *b };
    (moved.1, moved.2) = (x, y);
    Some(((a.1 + b.1) / 2.0, before / distance(a, b)))
}
