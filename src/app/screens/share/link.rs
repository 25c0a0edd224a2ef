//! A link that contains the results.

use super::digests::{Digests, files_have_digests, of_files};
use super::redaction::Redaction;
use crate::app::browser;
use crate::app::client::Answer;
use crate::app::erased::{effect, memo};
use crate::app::state::Tab;
use crate::app::widgets::Icon;
use crate::app::widgets::Shape;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::Classes;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::engine::protocol::LinkOptions;
use tracedrop::engine::protocol::Request;
use tracedrop::engine::protocol::ShareOptions;

/// Rows of each table to choose from.
const ROWS: [u32; 4] = [10, 25, 100, 1000];
/// What writes the part of a link behind `#`.
const LINK: &str = "link";

/// How far a link is.
#[derive(Clone)]
enum LinkStage {
    Making,
    Ready(String),
    Refused(String),
}

#[component]
pub fn AsLink(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let rows = RwSignal::new(ROWS[0]);
    let all_reports = RwSignal::new(false);
    let wants_short = RwSignal::new(true);
    // Whoever wants more than ten rows has no use for it.
    let can_be_short = memo(move || !all_reports.get() && rows.get() == ROWS[0]);
    let classes = RwSignal::new(Classes::default());
    let asked = RwSignal::new(ShareOptions::default());
    let stage = RwSignal::new(LinkStage::Making);
    let turn = StoredValue::new(0u32);
    let digests = Digests::of(tab, document);
    effect(move || {
        let (files, rows, all_reports) = (digests.with_value(Digests::known), rows.get(), all_reports.get());
        let is_short = can_be_short.get() && wants_short.get();
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(LinkStage::Making);
        let Some(files) = files else { return };
        let redact = classes.get();
        let link = LinkOptions {
            report: tab.report.get_untracked(),
            all_reports,
            rows,
            is_short,
            tables: tab.looks.get_untracked(),
            ..of_files(tab, files)
        };
        let options = tab.with_notes(ShareOptions { link, redact, ..ShareOptions::default() });
        asked.set(options.clone());
        tab.ask(
            |ticket| Request::Share { ticket, exporter: LINK.to_string(), options },
            move |answer| {
                let is_late = turn.try_get_value() != Some(this_turn);
                match answer {
                    _ if is_late => {}
                    Answer::Exported { blob, .. } => browser::text_of_blob(&blob, move |fragment| {
                        let is_late = turn.try_get_value() != Some(this_turn);
                        if let (Some(fragment), false) = (fragment, is_late) {
                            stage.set(LinkStage::Ready(browser::address_with(&fragment)));
                        }
                    }),
                    Answer::Refused(failure) => {
                        stage.set(LinkStage::Refused((words().export.refused)(&failure.what, &failure.hint)));
                    }
                    _ => {}
                }
            },
        );
    });
    let shown = move || {
        document.with(|document| {
            let document = document.as_ref()?;
            let chosen = tab.report.get();
            let at = document.reports.iter().position(|report| Some(&report.id) == chosen.as_ref());
            document.reports.get(at.unwrap_or(0)).map(|report| (report.id.clone(), report.title.clone()))
        })
    };
    let copy = move |address: String| {
        let app = tab.app;
        browser::copy_text(address, move |copied| match copied {
            true => {
                app.say(words().sharing.link_copied.to_string());
                let ShareOptions { notes, redact, link, .. } = asked.get_untracked();
                if let (Some(notes), true) = (notes, redact.is_none()) {
                    // Those on rows of reports that stay behind are not in it.
                    let report = untrack(shown).filter(|_| !link.all_reports);
                    tab.mark_saved(&report.map_or_else(|| notes.clone(), |(id, _)| notes.with_report(&id)));
                }
                tab.share.set(None);
            }
            false => app.alert(words().table.not_copied.to_string()),
        });
    };
    view! {
        <p>{words().sharing.link_about}</p>
        <fieldset>
            <label>
                <span>{words().sharing.link_rows}</span>
                <select on:change:target=move |event| {
                    if let Ok(n) = event.target().value().parse() {
                        rows.set(n);
                    }
                }>
                    {ROWS.map(|n| view! { <option value=n.to_string() selected=move || rows.get() == n>{n.to_string()}</option> }).collect_view()}
                </select>
            </label>
            <label>
                <input
                    type="checkbox"
                    prop:checked=move || all_reports.get()
                    on:change:target=move |event| all_reports.set(event.target().checked())
                />
                <span>{words().sharing.link_all}</span>
            </label>
            <label>
                <input
                    type="checkbox"
                    prop:checked=move || wants_short.get() && can_be_short.get()
                    disabled=move || !can_be_short.get()
                    on:change:target=move |event| wants_short.set(event.target().checked())
                />
                <span>{words().sharing.link_short}</span>
            </label>
        </fieldset>
        <Redaction tab exporter=LINK.to_string() options=asked classes />
        <div class="share-state" role="status">
            {move || match stage.get() {
                LinkStage::Making => {
                    let text = digests.with_value(|digests| match digests.known() {
                        Some(_) => words().sharing.link_making.to_string(),
                        None => (words().sharing.digests_making)(digests.n_bytes()),
                    });
                    view! { <p>{text}</p> }.into_any()
                }
                LinkStage::Refused(text) => {
                    view! { <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p> }.into_any()
                }
                LinkStage::Ready(address) => {
                    let n_letters = address.len() as u64;
                    let title = shown().filter(|_| !all_reports.get()).map(|(_, title)| title).unwrap_or_default();
                    let tells_digest = digests.with_value(Digests::are_all) || document.with_untracked(|it| it.as_ref().is_some_and(|it| files_have_digests(it)));
                    view! {
                        <p>{(words().sharing.link_length)(n_letters, &title, tells_digest)}</p>
                        {address.starts_with('#').then(|| view! { <p>{words().sharing.link_on_disk}</p> })}
                        <div class="actions">
                            <button type="button" class="button button-main" on:click=move |_| copy(address.clone())>
                                <Icon shape=Shape::Copy />
                                <span>{words().sharing.link_copy_now}</span>
                            </button>
                        </div>
                    }
                        .into_any()
                }
            }}
        </div>
    }
}
