//! A file with less in it.

use super::part::{PartDraft, PartFields};
use super::redaction::Redaction;
use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::Classes;
use tracedrop::engine::protocol::Cut;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::engine::protocol::ExporterView;
use tracedrop::engine::protocol::ShareOptions;

/// A file with less in it than there is.
#[component]
pub fn AsFile(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let exporters: Vec<ExporterView> = document.with_untracked(|document| {
        let all = document.as_ref().map(|document| document.exporters.clone()).unwrap_or_default();
        all.into_iter().filter(|exporter| exporter.can_redact).collect()
    });
    let first = exporters.iter().find(|exporter| exporter.id == "html").or(exporters.first());
    let chosen = RwSignal::new(first.map(|exporter| exporter.id.clone()).unwrap_or_default());
    let classes = RwSignal::new(Classes { paths: true, hosts: true, ..Classes::default() });
    let known = StoredValue::new(exporters.clone());
    let span = document.with_untracked(|document| document.as_ref().and_then(|document| document.span_ns));
    let part = PartDraft::new((0, span.unwrap_or(0)));
    let takes_part = memo(move || {
        chosen.with(|id| known.with_value(|all| all.iter().any(|it| it.id == *id && it.takes_part)))
    });
    let cut = memo(move || if takes_part.get() { part.cut(span) } else { Ok(Cut::default()) });
    let options = Signal::derive(move || {
        let cut = cut.get().unwrap_or_default();
        tab.with_notes(ShareOptions { cut, redact: classes.get(), ..ShareOptions::default() })
    });
    let export = move || {
        if cut.with_untracked(Result::is_err) {
            return;
        }
        let id = chosen.get_untracked();
        let exporter = known.with_value(|all| all.iter().find(|exporter| exporter.id == id).cloned());
        if let Some(exporter) = exporter {
            tab.export_with(exporter, options.get_untracked());
            tab.share.set(None);
        }
    };
    view! {
        <p>{words().sharing.file_about}</p>
        <fieldset>
            <label>
                <span>{words().sharing.file_format}</span>
                <select on:change:target=move |event| chosen.set(event.target().value())>
                    {exporters
                        .into_iter()
                        .map(|exporter| {
                            let id = exporter.id.clone();
                            view! {
                                <option value=exporter.id selected=move || chosen.with(|chosen| *chosen == id)>
                                    {exporter.title}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </label>
        </fieldset>
        <Show when=move || takes_part.get()>
            {span.map(|span| view! { <PartFields part cut span with_depth=true /> })}
        </Show>
        <Redaction tab exporter=chosen options classes />
        <div class="actions">
            <button type="button" class="button button-main" disabled=move || cut.with(Result::is_err) on:click=move |_| export()>
                {words().sharing.file_export}
            </button>
        </div>
    }
}
