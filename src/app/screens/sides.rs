//! Card of a comparison: A and B, their parsing details, and the choice of steps.

use super::files::{LeftOut, accounts_view};
use super::ledger::{CloseButton, bar_place, severity_mark, verdict_of, worst_of};
use super::{ExportMenus, SearchButton};
use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::compare::PhaseFilter;
use tracedrop::engine::protocol::{DocumentView, SideView, SidesView};

#[component]
pub fn SidesCard(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let sides = memo(move || document.with(|document| document.as_ref()?.sides.clone()));
    let phase = memo(move || sides.with(|sides| sides.as_ref().map(|sides| sides.phase).unwrap_or_default()));
    let phases = memo(move || {
        sides.with(|sides| sides.as_ref().map(|sides| sides.phases.clone()).unwrap_or_default())
    });
    let open = RwSignal::new(false);
    let details_id = format!("account-{}", tab.id);
    let controls = details_id.clone();
    view! {
        <section class="file sides" aria-label=words().compare.sides_card data-testid="sides">
            <div class="file-bar file-head" node_ref=bar_place()>
                <h1 class="sides-title">
                    <bdi>
                        {move || match tab.notes.with(|notes| notes.title.is_empty()) {
                            true => words().compare.sides_title.to_string(),
                            false => tab.title(),
                        }}
                    </bdi>
                </h1>
                <div class="file-tools">
                    <button
                        type="button"
                        class="link"
                        aria-expanded=move || open.get().to_string()
                        aria-controls=controls
                        on:click=move |_| open.update(|open| *open = !*open)
                    >
                        {move || if open.get() { words().file.hide_account } else { words().file.show_account }}
                    </button>
                    <Show when=move || { phases.with(|phases| phases.len() > 2) }>
                        <label class="choice">
                            <span>{words().compare.phase_label}</span>
                            <select
                                data-testid="phase"
                                prop:value=move || phase_id(phase.get())
                                on:change:target=move |event| {
                                    let chosen = event.target().value();
                                    let phases = phases.get_untracked();
                                    if let Some(phase) = phases.into_iter().find(|phase| phase_id(*phase) == chosen) {
                                        tab.compare_phase(phase);
                                    }
                                }
                            >
                                {move || {
                                    phases
                                        .get()
                                        .into_iter()
                                        .map(|one| {
                                            view! {
                                                <option value=phase_id(one) selected=move || phase.get() == one>
                                                    {(words().compare.phase)(one)}
                                                </option>
                                            }
                                        })
                                        .collect_view()
                                }}
                            </select>
                        </label>
                    </Show>
                    <button
                        type="button"
                        class="button"
                        data-key="x"
                        title=words().compare.swap_hint
                        on:click=move |_| tab.swap_sides(phase.get_untracked())
                    >
                        <Icon shape=Shape::Swap />
                        <span>{words().compare.swap}</span>
                    </button>
                    <SearchButton />
                    <ExportMenus tab document />
                    <CloseButton tab />
                </div>
            </div>
            <div class="sides-pair">
                {move || sides.get().map(|SidesView { a, b, .. }| [side_view("A", a), side_view("B", b)])}
            </div>
            <LeftOut document />
            <p class="exporting" role="status">
                {move || tab.run.exporting.get().map(|exporting| (words().export.exporting)(&exporting.title, exporting.bytes))}
            </p>
            <div id=details_id hidden=move || !open.get() class="account-body">
                {move || open.get().then(|| document.get().map(|document| accounts_view(&document, None)))}
            </div>
        </section>
    }
}

fn phase_id(phase: PhaseFilter) -> &'static str {
    match phase {
        PhaseFilter::All => "all",
        PhaseFilter::Prefill => "prefill",
        PhaseFilter::Decode => "decode",
    }
}

/// A or B with its file and parsing details.
fn side_view(letter: &'static str, side: SideView) -> AnyView {
    let SideView { label, all, n_files, n_left_out } = side;
    let worst = worst_of(&all.ledger);
    view! {
        <div class=format!("side side-{}", letter.to_lowercase()) data-testid=format!("side-{}", letter.to_lowercase())>
            <span class="side-letter">{letter}</span>
            <div class="side-body">
                <h2><bdi>{text::visible(&label)}</bdi></h2>
                <div class="verdict">
                    {severity_mark(worst)}
                    <p>{verdict_of(&all.file, &all.ledger, false)} " " {(words().compare.files_of_side)(n_files, n_left_out)}</p>
                </div>
            </div>
        </div>
    }
    .into_any()
}
