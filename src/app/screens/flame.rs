//! The flame graphs of a trace, which the worker makes when they are first looked at.

use crate::app::blocks::{FlameBlock, NoteBlock};
use crate::app::client::Answer;
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{BlockView, Request};

/// `id` of the flame graphs among the reports.
pub const FLAME: &str = "flame-graph";

#[component]
pub fn FlameScreen(tab: Tab) -> impl IntoView {
    let state = tab.timeline;
    let problem = RwSignal::new(None::<String>);
    let is_read = Memo::new(move |_| tab.document.with(|it| it.as_ref().is_some_and(|it| it.is_read)));
    Effect::new(move |_| {
        if is_read.get() && state.flame.with(Option::is_none) {
            let ask = |ticket| Request::OnRequest { ticket, id: FLAME.to_string() };
            tab.ask(ask, move |answer| match answer {
                Answer::Made(report) => state.flame.set(Some(Arc::from(report))),
                Answer::Refused(failure) => drop(problem.try_set(Some(failure.to_string()))),
                _ => {}
            });
        }
    });
    let blocks = move || {
        let report = state.flame.get()?;
        let block = |block: &BlockView| match block {
            BlockView::Chart(chart) => view! { <FlameBlock chart=chart.clone() /> }.into_any(),
            BlockView::Note(note) => {
                let note = Signal::stored(Some(note.clone()));
                view! { <NoteBlock note /> }.into_any()
            }
            _ => ().into_any(),
        };
        Some(report.blocks.iter().map(block).collect_view())
    };
    view! {
        <header class="report-head">
            <div>
                <h2 tabindex="-1">{words().reports.flame_title}</h2>
                <p class="report-summary" role="status">
                    {move || match state.flame.get() {
                        Some(report) => report.summary.clone(),
                        None => problem.get().unwrap_or_else(|| words().reports.flame_making.to_string()),
                    }}
                </p>
            </div>
        </header>
        {blocks}
        <p class="timeline-keys">{words().reports.flame_hint}</p>
    }
}
