//! Positions on the screen, and the focus.

use super::listeners::{listen, listener};
use super::timers::after;
use gloo::events::EventListener;
use js_sys::Array;
use leptos::ev;
use leptos::prelude::{GetUntracked, RwSignal, Set, document, request_animation_frame, window};
use std::cell::RefCell;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::{
    Element, FocusOptions, HtmlDialogElement, HtmlElement, IntersectionObserver, IntersectionObserverEntry,
    IntersectionObserverInit, ResizeObserver,
};

/// Width of a digit where nothing can measure it.
const USUAL_DIGIT_PX: f64 = 8.5;

/// A point in the window, in pixels.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
}

/// Middle of the lower edge of `element`.
pub fn spot_below(element: &Element) -> Spot {
    let place = element.get_bounding_client_rect();
    Spot { x: place.left() + place.width() / 2.0, y: place.bottom() }
}

/// Width of the inside of an element, in pixels.
pub fn width_of(element: &Element) -> f64 {
    f64::from(element.client_width())
}

/// Visible height of `element`.
pub fn size_of(element: &Element) -> f64 {
    f64::from(element.client_height())
}

/// Whether `element` can be scrolled further to the right.
pub fn has_more_right(element: &Element) -> bool {
    // Ignore fractions of a pixel.
    element.scroll_left() + element.client_width() + 1 < element.scroll_width()
}

pub fn scroll_top_of(element: &Element) -> f64 {
    f64::from(element.scroll_top())
}

pub fn scroll_to(element: &Element, top: f64) {
    element.set_scroll_top(top as i32);
}

/// Scrolls `frame` as far as needed to show its first element that matches, after layout.
pub fn reveal_in(frame: &Element, selector: &'static str) {
    let frame = frame.clone();
    after(0, move || {
        let Some(found) = frame.query_selector(selector).ok().flatten() else { return };
        let (outer, inner) = (frame.get_bounding_client_rect(), found.get_bounding_client_rect());
        // The heading, which stays, covers about one row.
        let above = outer.top() + inner.height() - inner.top();
        let below = inner.bottom() - outer.bottom();
        let by = if above > 0.0 { -above } else { below.max(0.0) };
        scroll_to(&frame, scroll_top_of(&frame) + by);
    });
}

/// Scrolls as far as needed to show the part of `element` from `top` on, `height` pixels high: what is around the element, and the
/// page.
pub fn reveal_part(element: &Element, top: f64, height: f64) {
    let past = |upper: f64, lower: f64| {
        let at = element.get_bounding_client_rect().top() + top;
        // Browsers scroll by whole pixels.
        (at - upper).min(0.0).floor() + (at + height - lower).max(0.0).ceil()
    };
    if let Some(around) = element.parent_element() {
        let (upper, lower) = edges_of(&around);
        scroll_to(&around, scroll_top_of(&around) + past(upper, lower));
    }
    scroll_window_by(past(header_px(), window_px()));
}

/// Scrolls the page as far as needed to show the part of `element` from `top` on, `height` pixels high: `below_header` pixels below
/// the header, and above what covers the lower end of the window, at its greatest height.
pub fn reveal_above(
    element: &Element,
    (top, height): (f64, f64),
    below_header: f64,
    cover: Option<&HtmlElement>,
) {
    // One that was closed is no longer in the page.
    let lower = cover.filter(|cover| cover.is_connected()).map_or(window_px(), |cover| {
        let tallest = style_px(cover, "max-height").unwrap_or(0.0);
        cover.get_bounding_client_rect().top().min(window_px() - tallest)
    });
    let above = element.get_bounding_client_rect().top() + top - header_px() - below_header;
    let below = element.get_bounding_client_rect().top() + top + height - lower;
    // Where there is no room for all of it, its upper end shows.
    let by = if above < 0.0 { above } else { below.clamp(0.0, above) };
    if by != 0.0 {
        scroll_window_by(by);
    }
}

/// Scrolls `element` to the top of the window and focuses it, after layout.
pub fn lead_to(element: &HtmlElement) {
    let element = element.clone();
    after(0, move || {
        element.scroll_into_view();
        // An element that cannot be focused is still scrolled into view.
        let _ = element.focus();
    });
}

/// [`lead_to`] number `n` of the elements that match.
pub fn lead_to_nth(selector: &str, n: usize) {
    let found = document().query_selector_all(selector).ok().and_then(|all| all.item(n as u32));
    if let Some(element) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        lead_to(&element);
    }
}

/// Width of a digit in the font of an element, in pixels.
pub fn digit_px(element: &Element) -> f64 {
    let style = window().get_computed_style(element).ok().flatten();
    let value =
        |name| style.as_ref().and_then(|style| style.get_property_value(name).ok()).unwrap_or_default();
    // `font` as a whole is empty where figures are tabular.
    let font = ["font-weight", "font-size", "font-family"].map(value).join(" ");
    super::canvas::text_px("0", &font).unwrap_or(USUAL_DIGIT_PX)
}

/// Moves a menu inside the window: above what it hangs from if there is more room, and scrolled if there is not enough.
pub fn keep_in_window(menu: &HtmlElement, anchor: (f64, f64)) {
    const MARGIN: f64 = 8.0;
    let (above, below) = (anchor.0 - MARGIN, window_px() - anchor.1 - MARGIN);
    let own = f64::from(menu.scroll_height());
    let goes_up = own > below && above > below;
    set_class(menu, "menu-above", goes_up);
    let style = menu.style();
    let _ = match own > above.max(below) {
        true => style.set_property("max-height", &format!("{}px", above.max(below).max(0.0))),
        false => style.remove_property("max-height").map(drop),
    };
}

pub fn set_class(element: &Element, class: &str, is_on: bool) {
    let _ = element.class_list().toggle_with_force(class, is_on);
}

/// Height of the window.
pub(super) fn window_px() -> f64 {
    window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(0.0)
}

/// Height of the header of the page, which stays at the top; 0 in a frame, which has none.
pub fn header_px() -> f64 {
    let header = document().query_selector(".header").ok().flatten();
    header.map_or(0.0, |header| header.get_bounding_client_rect().height())
}

/// Upper and lower edge of an element in the window.
pub fn edges_of(element: &Element) -> (f64, f64) {
    let place = element.get_bounding_client_rect();
    (place.top(), place.bottom())
}

/// Pixels of 1 rem.
pub fn root_font_px() -> f64 {
    document().document_element().and_then(|root| style_px(&root, "font-size")).unwrap_or(16.0)
}

/// A length of an element's style, if it has one.
fn style_px(element: &Element, name: &str) -> Option<f64> {
    let style = window().get_computed_style(element).ok().flatten()?;
    style.get_property_value(name).ok()?.trim_end_matches("px").parse().ok()
}

/// Calls `act` in the next frame, so that several callers share one layout.
pub fn with_next_frame(act: impl FnOnce() + 'static) {
    request_animation_frame(act);
}

/// Calls `act` whenever the size of `element` changes, until the result is dropped.
pub fn on_resize(element: &Element, act: impl Fn() + 'static) -> Resizing {
    let listener = Closure::<dyn FnMut()>::new(act);
    let observer = ResizeObserver::new(listener.as_ref().unchecked_ref()).ok();
    if let Some(observer) = &observer {
        observer.observe(element);
    }
    Resizing { observer, _listener: listener }
}

/// Has a box of rows end with a whole one, whatever changes its size or that of the rows, until the result is dropped.
pub fn keep_rows_whole(frame: &HtmlElement) -> Vec<Resizing> {
    let inside = frame.first_element_child();
    let follow = |element: &Element| {
        let frame = frame.clone();
        on_resize(element, move || end_at_row(&frame))
    };
    std::iter::once(follow(frame)).chain(inside.iter().map(follow)).collect()
}

/// Has a box of rows know where the last one ends that fits in it, as `--end`.
fn end_at_row(frame: &HtmlElement) {
    // Of the style sheet alone.
    let _ = frame.style().remove_property("--end");
    let Some((most, rows)) = style_px(frame, "max-height").zip(frame.query_selector_all("tr").ok()) else {
        return;
    };
    let outer = frame.get_bounding_client_rect();
    let border = (outer.height() - f64::from(frame.client_height())).max(0.0);
    let top = outer.top() + f64::from(frame.client_top()) - scroll_top_of(frame);
    let ends = (0..rows.length()).filter_map(|at| rows.item(at)?.dyn_into::<Element>().ok());
    let ends = ends.map(|row| row.get_bounding_client_rect().bottom() - top);
    // One that is longer than the box is cut.
    if let Some(end) = ends.take_while(|end| *end <= most - border).last() {
        let _ = frame.style().set_property("--end", &format!("{}px", end + border));
    }
}

/// Has the style sheet know the width of `element` by this name, until the result is dropped; what is hidden has none.
pub fn tell_width(element: &Element, name: &'static str) -> Resizing {
    let measured = element.clone();
    on_resize(element, move || {
        let width = measured.get_bounding_client_rect().width();
        let root = document().document_element().and_then(|root| root.dyn_into::<HtmlElement>().ok());
        if let Some(root) = root.filter(|_| width > 0.0) {
            let _ = root.style().set_property(name, &format!("{}px", width.ceil()));
        }
    })
}

/// Stops watching when dropped.
pub struct Resizing {
    observer: Option<ResizeObserver>,
    _listener: Closure<dyn FnMut()>,
}

impl Drop for Resizing {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.disconnect();
        }
    }
}

/// Distance outside the window that counts as near, relative to the window's height.
const NEAR: &str = "50% 0px";

/// Sets `near` to whether `element` is in or near the window, now and on every change, until the result is dropped.
pub fn on_nearing(element: &Element, near: RwSignal<bool>) -> Nearing {
    let listener = Closure::<dyn FnMut(Array)>::new(move |entries: Array| {
        // The last entry is the current state.
        if let Ok(entry) = entries.at(-1).dyn_into::<IntersectionObserverEntry>() {
            let now = entry.is_intersecting();
            if near.try_get_untracked().is_some_and(|before| before != now) {
                near.set(now);
            }
        }
    });
    let options = IntersectionObserverInit::new();
    options.set_root_margin(NEAR);
    let observer = IntersectionObserver::new_with_options(listener.as_ref().unchecked_ref(), &options).ok();
    if let Some(observer) = &observer {
        observer.observe(element);
    }
    Nearing { observer, _listener: listener }
}

/// Stops watching when dropped.
pub struct Nearing {
    observer: Option<IntersectionObserver>,
    _listener: Closure<dyn FnMut(Array)>,
}

impl Drop for Nearing {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.disconnect();
        }
    }
}

fn find(selector: &str) -> Option<HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Whether an element matches.
pub fn is_there(selector: &str) -> bool {
    find(selector).is_some()
}

/// Focuses the first element that matches.
pub fn focus_first(selector: &str) -> bool {
    find(selector).map(|element| element.focus()).is_some()
}

/// Focuses an element; the page stays where it is scrolled to.
pub fn focus_unmoved(element: &HtmlElement) {
    let options = FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}

thread_local! {
    /// Element that [`catch_focus`] focused last.
    static CAUGHT: RefCell<Option<Element>> = const { RefCell::new(None) };
}

/// Focuses the first element that matches one of these, if the focused element is gone, or is where an earlier call left the
/// focus: a file's tab has it only until there is a report. The page stays where it is scrolled to.
pub fn catch_focus(selectors: &[&str]) {
    let focused = document().active_element();
    let is_left = |focused: &Element| CAUGHT.with_borrow(|caught| caught.as_ref() == Some(focused));
    if focused.is_none_or(|focused| focused.tag_name().eq_ignore_ascii_case("body") || is_left(&focused)) {
        if let Some(element) = selectors.iter().find_map(|selector| find(selector)) {
            focus_unmoved(&element);
        }
        CAUGHT.set(document().active_element());
    }
}

/// Scrolls the first element that matches to the top of its scroll containers.
pub fn to_top(selector: &str) {
    if let Some(element) = find(selector) {
        element.scroll_into_view();
    }
}

/// Clicks the first element that matches.
pub fn press(selector: &str) -> bool {
    find(selector).map(|element| element.click()).is_some()
}

pub fn blur() {
    if let Some(element) =
        document().active_element().and_then(|element| element.dyn_into::<HtmlElement>().ok())
    {
        let _ = element.blur();
    }
}

pub fn focused_inside(element: &Element) -> bool {
    document().active_element().is_some_and(|focused| element.contains(Some(&focused)))
}

/// Whether an element inside `element` that matches `selector` has the focus.
pub fn focused_inside_as(element: &Element, selector: &str) -> bool {
    let focused = document().active_element().filter(|focused| element.contains(Some(focused)));
    focused.is_some_and(|focused| focused.matches(selector).unwrap_or(false))
}

/// Moves the focus inside `parent` among elements that match `selector`: by `step`, wrapping around.
/// `i32::MIN` and `i32::MAX` move to the first and the last.
pub fn focus_sibling(parent: &Element, selector: &str, step: i32) {
    let Ok(list) = parent.query_selector_all(selector) else { return };
    let elements: Vec<HtmlElement> =
        (0..list.length()).filter_map(|at| list.item(at)?.dyn_into().ok()).collect();
    let n = elements.len() as i32;
    if n == 0 {
        return;
    }
    let focused = document().active_element();
    let at = elements
        .iter()
        .position(|element| focused.as_ref().is_some_and(|focused| focused == element.as_ref()));
    let to = match (step, at) {
        (i32::MIN, _) => 0,
        (i32::MAX, _) => n - 1,
        (step, Some(at)) => (at as i32 + step).rem_euclid(n),
        (_, None) => 0,
    };
    if let Some(element) = elements.get(to as usize) {
        let _ = element.focus();
    }
}

/// Opens `dialog` above everything else, or closes it.
pub fn show_dialog(dialog: &HtmlDialogElement, open: bool) {
    match open {
        true if !dialog.open() => drop(dialog.show_modal()),
        false if dialog.open() => dialog.close(),
        _ => {}
    }
}

thread_local! {
    static LEAVING: RefCell<Option<EventListener>> = const { RefCell::new(None) };
}

/// Makes the browser ask before the page is left, or stops that. Pages that may ask are excluded from the back/forward cache, so
/// it is on only while there is something to lose.
pub fn ask_before_leaving(asks: bool) {
    LEAVING.set(asks.then(|| {
        listener(&window(), ev::beforeunload, |event| {
            event.prevent_default();
            // For older browsers.
            let _ = js_sys::Reflect::set(event, &"returnValue".into(), &JsValue::TRUE);
        })
    }));
}

pub fn window_top() -> f64 {
    window().scroll_y().unwrap_or(0.0)
}

/// Brings the first element that fits below the header, if it lies above that.
pub fn scroll_up_to(selector: &str) {
    let Some(element) = find(selector) else { return };
    let header = find("header.header").map_or(0.0, |header| header.get_bounding_client_rect().bottom());
    let top = element.get_bounding_client_rect().top() - header - root_font_px();
    if top < 0.0 {
        scroll_window_to(window_top() + top);
    }
}

pub fn scroll_window_to(top: f64) {
    window().scroll_to_with_x_and_y(0.0, top);
}

/// Scrolls the page down.
pub fn scroll_window_by(pixels: f64) {
    window().scroll_by_with_x_and_y(0.0, pixels);
}

/// Calls `act` when the page is scrolled, as long as the current component exists.
pub fn on_scroll(act: impl Fn() + 'static) {
    listen(&window(), ev::scroll, move |_| act());
}

/// Moves of this pointer come to the element it was pressed on, until it is released.
pub fn capture(event: &web_sys::PointerEvent) {
    let element = event.current_target().and_then(|target| target.dyn_into::<Element>().ok());
    if let Some(element) = element {
        // Only fails if the pointer is gone.
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}

pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Focuses the first element inside `parent` that matches.
pub fn focus_inside(parent: &Element, selector: &str) {
    if let Some(element) = inside(parent, selector) {
        let _ = element.focus();
    }
}

/// Scrolls `parent` sideways until the first element inside that matches is visible.
pub fn reveal(parent: &Element, selector: &str) {
    let Some(element) = inside(parent, selector) else { return };
    let (frame, place) = (parent.get_bounding_client_rect(), element.get_bounding_client_rect());
    let past = place.right() - frame.right();
    let before = frame.left() - place.left();
    if past > 0.0 {
        parent.set_scroll_left(parent.scroll_left() + past.ceil() as i32);
    } else if before > 0.0 {
        parent.set_scroll_left(parent.scroll_left() - before.ceil() as i32);
    }
}

fn inside(parent: &Element, selector: &str) -> Option<HtmlElement> {
    parent.query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Whether `event` happened on the element itself, not on a descendant.
pub fn is_target(event: &web_sys::MouseEvent, element: &Element) -> bool {
    event.target().is_some_and(|target| target.dyn_ref::<Element>() == Some(element))
}

/// Whether the event happened on a button or link inside what listens.
pub fn is_on_control(event: &web_sys::Event) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|target| target.closest("button, a, input").ok().flatten().is_some())
}

/// Whether text is selected on the page.
pub fn has_selected_text() -> bool {
    window().get_selection().ok().flatten().is_some_and(|selection| !selection.is_collapsed())
}

/// Where the pointer is, or below the element that a key was pressed on.
pub fn spot_of(event: &web_sys::MouseEvent) -> Spot {
    let element = event.current_target().and_then(|target| target.dyn_into::<Element>().ok());
    match (event.client_x(), event.client_y(), element) {
        (0, 0, Some(element)) => spot_below_start(&element),
        (x, y, _) => Spot { x: x.into(), y: y.into() },
    }
}

/// Below the start of the element with the focus, if that is inside `parent`.
pub fn spot_of_focus(parent: &Element) -> Option<Spot> {
    let focused = document().active_element().filter(|focused| parent.contains(Some(focused)))?;
    Some(spot_below_start(&focused))
}

fn spot_below_start(element: &Element) -> Spot {
    let place = element.get_bounding_client_rect();
    Spot { x: place.left().max(0.0), y: place.bottom() }
}
