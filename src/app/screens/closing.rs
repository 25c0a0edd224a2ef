//! Asks before a tab is closed with notes that are nowhere else.

use super::Way;
use crate::app::browser;
use crate::app::erased::Show;
use crate::app::state::{Phase, Tab, app};
use crate::app::widgets::Dialog;
use crate::app::words::words;
use leptos::prelude::*;

#[component]
pub fn ClosingDialog() -> impl IntoView {
    let app = app();
    let stay = move || app.closing.set(None);
    let title = Signal::derive(move || {
        app.closing.get().map(|tab| (words().closing.closing_title)(&tab.label())).unwrap_or_default()
    });
    let close = move |tab: Tab| {
        stay();
        app.close_unasked(tab.id);
        // What had the focus is gone.
        browser::after(0, || browser::catch_focus(&["[role=tab][aria-selected=true]", ".brand"]));
    };
    let save = move |tab: Tab| {
        stay();
        app.show(Some(tab.id));
        tab.share.set(Some(Way::HandOn));
    };
    let question = move |tab: Tab| {
        let about = move || {
            let (n_notes, has_title) = tab.unsaved_notes();
            (words().closing.closing_about)(n_notes as u64, has_title)
        };
        view! {
            <p>{about}</p>
            <div class="actions">
                <Show when=move || can_save(tab)>
                    <button type="button" class="button button-main" on:click=move |_| save(tab)>{words().sharing.hand_on}</button>
                </Show>
                <button type="button" class="button" on:click=move |_| close(tab)>{words().closing.closing_lose}</button>
                <button type="button" class="button" autofocus on:click=move |_| stay()>{words().closing.closing_stay}</button>
            </div>
        }
    };
    view! {
        <Dialog
            open=Signal::derive(move || app.closing.with(Option::is_some))
            on_close=move |_: ()| stay()
            title_id="closing-title"
            title
            class="closing"
        >
            {move || app.closing.get().map(question)}
        </Dialog>
    }
}

/// Whether there is a report that notes can go along with.
fn can_save(tab: Tab) -> bool {
    tab.run.phase.with(|phase| *phase == Phase::Done)
        && tab
            .document
            .with(|document| document.as_ref().is_some_and(|it| !it.partial && !it.reports.is_empty()))
}
