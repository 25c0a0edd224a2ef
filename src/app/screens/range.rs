//! A stretch of time that is held while a large trace is read.

use crate::app::state::Tab;
use crate::app::times::{millis, nanoseconds};
use crate::app::widgets::{DecimalField, Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::{DocumentView, RangeView};

/// Asks for one while that can be.
#[component]
pub fn RangeChooser(tab: Tab) -> impl IntoView {
    let of_document = move |get: fn(&DocumentView) -> RangeView| {
        tab.document.with(|document| document.as_ref().map(|document| get(document)).unwrap_or_default())
    };
    let range = Memo::new(move |_| of_document(|document| document.range));
    let span = Memo::new(move |_| tab.document.with(|document| document.as_ref()?.span_ns));
    let from = RwSignal::new(String::new());
    let to = RwSignal::new(String::new());
    let chosen = Memo::new(move |_| {
        let (from, to) = (nanoseconds(&from.get())?, nanoseconds(&to.get())?);
        (from < to).then_some((from, to))
    });
    let is_wrong =
        move || chosen.get().is_none() && !from.with(String::is_empty) && !to.with(String::is_empty);
    let hold = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if let (Some(start_ns), Some((from_ns, to_ns))) =
            (range.get_untracked().start_ns, chosen.get_untracked())
        {
            tab.hold_only(start_ns, from_ns, to_ns);
        }
    };
    view! {
        <Show when=move || range.get().start_ns.is_some() && span.get().is_some()>
            <details class="range">
                <summary>{words().range.title}</summary>
                <form on:submit=hold>
                    <p class="hint">{move || span.get().map(|span| (words().range.what)(&millis(span)))}</p>
                    <div class="range-fields">
                        <DecimalField label=words().range.from value=from invalid=Signal::derive(is_wrong) />
                        <DecimalField label=words().range.to value=to invalid=Signal::derive(is_wrong) />
                        <button type="submit" class="button" disabled=move || chosen.get().is_none()>
                            {words().range.hold}
                        </button>
                    </div>
                    <p class="wrong" role="status">{move || is_wrong().then_some(words().range.wrong)}</p>
                </form>
            </details>
        </Show>
        <Show when=move || range.get().chosen.is_some()>
            <p class="range-chosen" role="status">
                {move || range.get().chosen.map(|(from, to)| (words().range.holding)(&millis(from), &millis(to)))}
            </p>
        </Show>
    }
}

/// Says which one a report is of.
#[component]
pub fn RangeNote(tab: Tab, range: (i64, i64)) -> impl IntoView {
    let (from, to) = range;
    view! {
        <p class="from-index" data-testid="range">
            <Icon shape=Shape::Info />
            <span>
                {(words().range.held)(&millis(from), &millis(to))} " "
                <Show when=move || tab.can_be_read_again()>
                    <button type="button" class="link" on:click=move |_| tab.read_again()>
                        {words().read_again}
                    </button>
                </Show>
            </span>
        </p>
    }
}
