//! One open file, however far it is.

use super::{DocumentScreen, ProblemScreen, ReadingCard};
use crate::app::browser;
use crate::app::erased::{Show, effect, memo};
use crate::app::state::{Phase, Tab, app};
use leptos::prelude::*;

/// A file whose bytes are read sooner shows no reports on a part of it.
const QUICK_MS: u32 = 2_500;

#[component]
pub fn Panel(tab: Tab) -> impl IntoView {
    let app = app();
    let reading = memo(move || tab.run.phase.with(|phase| matches!(phase, Phase::Reading | Phase::Stopping)));
    // Once all bytes are read, the complete reports are not far.
    let finishing = memo(move || tab.run.reading.with(|reading| reading.progress.finishing));
    let is_slow = RwSignal::new(false);
    let pause = browser::Pause::new();
    effect(move || {
        is_slow.set(false);
        if reading.get() {
            pause.start(QUICK_MS, move || is_slow.set(true));
        }
    });
    let has_document = Memo::new(move |before| {
        let is_there = tab.document.with(Option::is_some);
        is_there && (before == Some(&true) || !reading.get() || (is_slow.get() && !finishing.get()))
    });
    let problem =
        memo(move || tab.run.phase.with(|phase| matches!(phase, Phase::Failed(_) | Phase::Died(_))));
    view! {
        <section
            class="panel"
            class:panel-partial=move || reading.get() && has_document.get()
            role="tabpanel"
            id=format!("panel-{}", tab.id)
            aria-labelledby=format!("tab-{}", tab.id)
            hidden=move || app.active.get() != Some(tab.id)
        >
            <Show when=move || reading.get()>
                <ReadingCard tab />
            </Show>
            <Show when=move || problem.get()>
                <ProblemScreen tab />
            </Show>
            <Show when=move || has_document.get()>
                <DocumentScreen tab />
            </Show>
        </section>
    }
}
