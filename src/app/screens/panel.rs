//! One open file, however far it is.

use super::{DocumentScreen, ProblemScreen, ReadingCard};
use crate::app::browser;
use crate::app::erased::{Show, effect, memo};
use crate::app::state::{Phase, Tab, app};
use leptos::prelude::*;

/// A file whose bytes are read sooner shows no reports on a part of it.
const QUICK_MS: u32 = 2_500;
/// From here on, the time left tells whether it will be read sooner.
const TELLING_MS: u32 = 500;

#[component]
pub fn Panel(tab: Tab) -> impl IntoView {
    let app = app();
    let reading = memo(move || tab.run.phase.with(|phase| matches!(phase, Phase::Reading | Phase::Stopping)));
    // Once all bytes are read, the complete reports are not far.
    let finishing = memo(move || tab.run.reading.with(|reading| reading.progress.finishing));
    let (is_telling, has_been_slow) = (RwSignal::new(false), RwSignal::new(false));
    let pauses = [(is_telling, TELLING_MS), (has_been_slow, QUICK_MS)].map(|it| (it, browser::Pause::new()));
    effect(move || {
        for ((is_over, ms), pause) in pauses {
            is_over.set(false);
            if reading.get() {
                pause.start(ms, move || is_over.set(true));
            }
        }
    });
    let will_be_slow = move || {
        let seconds_left = tab.run.reading.with(|reading| reading.seconds_left);
        is_telling.get() && seconds_left.is_some_and(|left| left * 1000.0 > f64::from(QUICK_MS - TELLING_MS))
    };
    let is_slow = memo(move || has_been_slow.get() || will_be_slow());
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
