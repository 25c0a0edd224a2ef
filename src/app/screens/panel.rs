//! One open file, however far it is.

use super::{DocumentScreen, ProblemScreen, ReadingCard};
use crate::app::state::{Phase, Tab, app};
use leptos::prelude::*;

#[component]
pub fn Panel(tab: Tab) -> impl IntoView {
    let app = app();
    let reading =
        Memo::new(move |_| tab.run.phase.with(|phase| matches!(phase, Phase::Reading | Phase::Stopping)));
    let has_document = Memo::new(move |_| tab.document.with(Option::is_some));
    let problem =
        Memo::new(move |_| tab.run.phase.with(|phase| matches!(phase, Phase::Failed(_) | Phase::Died(_))));
    view! {
        <section
            class="panel"
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
