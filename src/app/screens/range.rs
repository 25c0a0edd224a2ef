//! Restricting a report to a time range, during or after parsing.

use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::times::{millis, nanoseconds};
use crate::app::widgets::{DecimalField, Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{DocumentView, RangeView};

/// Asks for one while that can be.
#[component]
pub fn RangeChooser(tab: Tab) -> impl IntoView {
    let of_document = move |get: fn(&DocumentView) -> RangeView| {
        tab.document.with(|document| document.as_ref().map(|document| get(document)).unwrap_or_default())
    };
    let range = memo(move || of_document(|document| document.range));
    let span = memo(move || tab.document.with(|document| document.as_ref()?.span_ns));
    let hold = Callback::new(move |(from_ns, to_ns)| {
        if let Some(start_ns) = range.get_untracked().start_ns {
            tab.hold_only(start_ns, from_ns, to_ns);
        }
    });
    let what = Signal::derive(move || span.get().map(|span| (words().range.what)(&millis(span))));
    view! {
        <Show when=move || range.get().start_ns.is_some() && span.get().is_some()>
            <RangeForm what hold />
        </Show>
        <Show when=move || range.get().chosen.is_some()>
            <p class="range-chosen" role="status">
                {move || range.get().chosen.map(|(from, to)| (words().range.holding)(&millis(from), &millis(to)))}
            </p>
        </Show>
    }
}

/// Fields for start and end.
#[component]
fn RangeForm(
    #[prop(into)] what: Signal<Option<String>>,
    /// Is given first and last nanosecond.
    hold: Callback<(i64, i64)>,
) -> impl IntoView {
    let from = RwSignal::new(String::new());
    let to = RwSignal::new(String::new());
    let chosen = memo(move || {
        let (from, to) = (nanoseconds(&from.get())?, nanoseconds(&to.get())?);
        (from < to).then_some((from, to))
    });
    let is_wrong =
        move || chosen.get().is_none() && !from.with(String::is_empty) && !to.with(String::is_empty);
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if let Some(chosen) = chosen.get_untracked() {
            hold.run(chosen);
        }
    };
    view! {
        <details class="range">
            <summary>{words().range.title}</summary>
            <form on:submit=submit>
                <p class="hint">{what}</p>
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
    }
}

/// Asks for one once all is read: the file is read again for it.
#[component]
pub fn RangeAgain(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let span = memo(move || {
        document.with(|document| {
            document.as_ref().filter(|document| document.range.again)?.span_ns.filter(|span| *span > 0)
        })
    });
    let what = Signal::derive(move || span.get().map(|span| (words().range.what_again)(&millis(span))));
    let hold = Callback::new(move |(from_ns, to_ns)| tab.read_only(from_ns, to_ns));
    view! {
        <Show when=move || span.get().is_some() && tab.can_be_read_again()>
            <RangeForm what hold />
        </Show>
    }
}

/// Offers to read again without what lies far away from all else.
#[component]
pub fn FarAwayNote(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let without = memo(move || document.with(|document| document.as_ref()?.range.without_far_away));
    view! {
        <Show when=move || without.get().is_some() && tab.can_be_read_again()>
            <p class="from-index" data-testid="far-away">
                <Icon shape=Shape::Alert />
                <span>
                    {words().range.far_away} " "
                    <button
                        type="button"
                        class="link"
                        on:click=move |_| {
                            if let Some((from_ns, to_ns)) = without.get_untracked() {
                                tab.read_only(from_ns, to_ns);
                            }
                        }
                    >
                        {words().range.without_far_away}
                    </button>
                </span>
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
                        {words().file.read_again}
                    </button>
                </Show>
            </span>
        </p>
    }
}
