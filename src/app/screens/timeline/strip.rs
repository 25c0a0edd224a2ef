//! How busy the trace was over time, above every report: the way to a place in the timeline, and the choice of a stretch of time.

use super::TIMELINE;
use super::details::device_texts;
use super::painter::{Colors, draw_load};
use crate::app::browser::{self, Canvas, Local, Resizing};
use crate::app::client::Answer;
use crate::app::erased::{Show, effect, effect_again, memo};
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{Request, TimelineAnswer, TimelineAsk};
use tracedrop::timeline::Viewport;

/// Height in pixels, as in the style sheet.
const HEIGHT: f64 = 32.0;
/// A press that moves less is a click.
const STILL: f64 = 4.0;
/// A click shows this share of the trace, if all of it was in view.
const CLICKED: f64 = 0.05;
/// Devices whose busy time is said of a selected stretch.
const MAX_DEVICES: usize = 4;

/// The canvas at a place, once it is there, and its width in pixels, 0 before.
pub fn canvas_and_width(place: NodeRef<html::Canvas>) -> (Local<Option<Canvas>>, RwSignal<f64>) {
    let canvas = StoredValue::new_local(None::<Canvas>);
    let width = RwSignal::new(0.0);
    let resizing = StoredValue::new_local(None::<Resizing>);
    effect(move || {
        let Some(element) = place.get() else { return };
        canvas.set_value(Canvas::of(element.clone()));
        let measured = element.clone();
        resizing.set_value(Some(browser::on_resize(&element, move || {
            let _ = width.try_set(f64::from(measured.client_width()));
        })));
    });
    (canvas, width)
}

#[component]
pub fn LoadStrip(tab: Tab) -> impl IntoView {
    let state = tab.timeline;
    let is_read = memo(move || tab.document.with(|it| it.as_ref().is_some_and(|it| !it.partial)));
    effect(move || {
        if is_read.get() && state.load.with_untracked(Option::is_none) {
            let ask = move |ticket| Request::Timeline { ticket, of: None, ask: TimelineAsk::Load };
            tab.ask(ask, move |answer| {
                if let Answer::Timeline(TimelineAnswer::Load(load)) = answer {
                    state.load.set(Some(Arc::new(load)));
                }
            });
        }
    });
    let place = NodeRef::<html::Canvas>::new();
    let (canvas, width) = canvas_and_width(place);
    let drag = StoredValue::new(None::<f64>);
    let dragged = RwSignal::new(None::<(f64, f64)>);
    effect(move || {
        let (view, load, width) = (state.view.get(), state.load.get(), width.get());
        let (stretch, dragged) = (state.stretch.get(), dragged.get());
        tab.app.theme.track();
        let Some(load) = load.filter(|_| width > 0.0) else { return };
        browser::with_next_frame(move || {
            let shown = view.map(|view| (view.start_ns.max(0.0), view.end_ns().min(view.span_ns)));
            let at = |ns: f64| ns / load.span_ns as f64 * width;
            let frame = shown.map(|(from, to)| (at(from), at(to)));
            let marked = dragged.or_else(|| stretch.map(|(from, to)| (at(from), at(to))));
            let _ = canvas.try_update_value(|canvas| {
                if let Some(canvas) = canvas {
                    draw_load(canvas, &load.shares, [width, HEIGHT], frame, marked, &Colors::of_theme());
                }
            });
        });
    });
    // Nanoseconds at a pixel.
    let ns_at = move |x: f64| {
        let span = state.load.with_untracked(|load| load.as_ref().map_or(1, |load| load.span_ns)) as f64;
        (x / width.get_untracked().max(1.0)).clamp(0.0, 1.0) * span
    };
    let go = move |from: f64, to: f64| {
        let span = state.load.with_untracked(|load| load.as_ref().map_or(1, |load| load.span_ns));
        let before = state.view.get_untracked().unwrap_or_else(|| Viewport::whole(span, 1000.0));
        state.view.set(Some(before.exactly(from, to)));
        tab.go_to_timeline();
    };
    let is_timeline = memo(move || tab.report.with(|report| report.as_deref() == Some(TIMELINE)));
    let release = move |x: f64| {
        dragged.set(None);
        let Some(start) = drag.try_update_value(Option::take).flatten() else { return };
        if (x - start).abs() > STILL {
            let (from, to) = (ns_at(x.min(start)), ns_at(x.max(start)));
            return match is_timeline.get_untracked() {
                // There it is the map of what is in view.
                true => go(from, to),
                false => tab.choose_stretch(Some((from, to))),
            };
        }
        // As much as is in view, around the place.
        let span = ns_at(f64::MAX);
        let shown = state.view.get_untracked().map_or(span, |view| view.end_ns() - view.start_ns);
        let half = if shown < span * 0.9 { shown / 2.0 } else { span * CLICKED / 2.0 };
        go(ns_at(x) - half, ns_at(x) + half);
    };
    // Back and Forward, also to the timeline, which takes what is selected as it finds it.
    let in_address = memo(move || tab.stretch_in_address());
    effect_again(move |again| {
        let stretch = in_address.get();
        let known = state.stretch.get_untracked().map(|(from, to)| (from as u64, to as u64));
        if again && known != stretch {
            state.sums.set(None);
            state.stretch.set(stretch.map(|(from, to)| (from as f64, to as f64)));
        }
    });
    // What is selected in the timeline shows above other reports too.
    effect(move || {
        let is_missing = state.stretch.with(Option::is_some)
            && state.sums.with(Option::is_none)
            && state.details.with(Option::is_none);
        if is_missing && !is_timeline.get() {
            tab.show_sums();
        }
    });
    let text = move || state.load.with(|load| load.as_ref().map(|load| (words().timeline.load)(load.sort)));
    let title = move || {
        let (_, meaning) = text()?;
        Some(format!("{meaning} {}", (words().timeline.load_keys)(is_timeline.get())))
    };
    view! {
        <div class="load-strip" title=title>
            <button type="button" class="link" on:click=move |_| tab.go_to_timeline()>
                {move || text().map_or(words().timeline.title, |text| text.0)}
            </button>
            <canvas
                node_ref=place
                aria-hidden="true"
                on:pointerdown=move |event| {
                    browser::capture(&event);
                    state.is_arriving.set_value(false);
                    drag.set_value(Some(event.offset_x().into()));
                }
                on:pointermove=move |event| {
                    if let Some(start) = drag.get_value() {
                        let x = f64::from(event.offset_x());
                        dragged.set(Some((start.min(x), start.max(x))));
                    }
                }
                on:pointerup=move |event| release(event.offset_x().into())
                on:pointercancel=move |_| {
                    drag.set_value(None);
                    dragged.set(None);
                }
            ></canvas>
        </div>
        <Show when=move || !is_timeline.get() && state.stretch.with(Option::is_some)>
            <ChosenStretch tab />
        </Show>
    }
}

/// The selected stretch of time while another report than the timeline shows: what is in it, and what can be done with it.
#[component]
fn ChosenStretch(tab: Tab) -> impl IntoView {
    let words = || &words().timeline;
    let state = tab.timeline;
    let can_read_again = memo(move || tab.document.with(|it| it.as_ref().is_some_and(|it| it.range.again)));
    let act = move |act: fn(Tab, f64, f64)| {
        if let Some((from, to)) = state.stretch.get_untracked() {
            act(tab, from, to);
        }
    };
    let length = move || state.stretch.get().map(|(from, to)| (to - from).max(0.0) as u64);
    let n = move || state.sums.with(|sums| sums.as_ref().map(|sums| sums.n));
    let what = move || length().map(|length| (words().stretch)(length, n()));
    view! {
        <div class="chosen-stretch" role="group" aria-label=words().chosen_stretch>
            <p role="status">
                <strong>{what}</strong>
                {move || state.sums.get().map(|sums| {
                    device_texts(&sums).into_iter().take(MAX_DEVICES).map(|text| view! { <span>{text}</span> }).collect_view()
                })}
            </p>
            <Show when=move || can_read_again.get()>
                <button type="button" class="button" on:click=move |_| act(|tab, from, to| tab.read_only(from as i64, to as i64))>
                    {words().report_on_stretch}
                </button>
            </Show>
            <button type="button" class="button" on:click=move |_| act(|tab, from, to| tab.show_time(from, to))>
                {crate::app::words::words().table.show_in_timeline}
            </button>
            <button
                type="button"
                class="button button-quiet button-icon"
                title=words().clear_stretch
                aria-label=words().clear_stretch
                on:click=move |_| tab.choose_stretch(None)
            >"✕"</button>
        </div>
    }
}
