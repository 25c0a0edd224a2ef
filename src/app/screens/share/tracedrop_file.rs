//! A Tracedrop file: report, notes and view, with or without the trace data.

use super::digests::{Digests, of_files};
use super::redaction::Redaction;
use super::{LARGE_BYTES, Packed};
use crate::app::browser;
use crate::app::browser::Blob;
use crate::app::browser::Local;
use crate::app::client::Answer;
use crate::app::erased::{effect, memo};
use crate::app::state::Tab;
use crate::app::widgets::Icon;
use crate::app::widgets::Shape;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::Classes;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::engine::protocol::LinkOptions;
use tracedrop::engine::protocol::LinkedFile;
use tracedrop::engine::protocol::Request;
use tracedrop::engine::protocol::ShareOptions;

/// What writes a Tracedrop file, and what writes an index: where there is one it may go along.
const TRACEDROP_FILE: &str = "tracedrop";
const INDEX: &str = "index";

/// A Tracedrop file that was written, without or with what was read.
#[derive(Clone, Default)]
struct Written {
    packed: [Option<Packed>; 2],
    failed: Option<String>,
}

/// Report, notes and view as one file, with or without all that was read.
#[component]
pub fn AsTracedropFile(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let (can_index, is_large) = document.with_untracked(|document| {
        document.as_ref().map_or((false, false), |document| {
            let has_index = document.exporters.iter().any(|exporter| exporter.id == INDEX);
            (has_index, document.file.bytes > LARGE_BYTES)
        })
    });
    let wants_all = RwSignal::new(false);
    let classes = RwSignal::new(Classes::default());
    let takes_out = memo(move || !classes.get().is_none());
    let with_all = memo(move || can_index && wants_all.get() && !takes_out.get());
    let digests = Digests::of(tab, document);
    let written = RwSignal::new(Written::default());
    let blobs: [Local<Option<Blob>>; 2] = [StoredValue::new_local(None), StoredValue::new_local(None)];
    let turn = StoredValue::new(0u32);
    let options_with = move |with_index: bool, files: Vec<LinkedFile>| {
        let link = LinkOptions {
            report: tab.report.get_untracked(),
            tables: tab.looks.get_untracked(),
            ..of_files(tab, files)
        };
        tab.with_notes(ShareOptions { link, redact: classes.get(), with_index, ..ShareOptions::default() })
    };
    let pack = move |with_index: bool, options: ShareOptions, this_turn: u32| {
        let at = usize::from(with_index);
        tab.ask(
            |ticket| Request::Share { ticket, exporter: TRACEDROP_FILE.to_string(), options },
            move |answer| match answer {
                _ if turn.try_get_value() != Some(this_turn) => {}
                Answer::Exported { file_name, bytes, left_out, blob } => {
                    blobs[at].set_value(Some(blob));
                    written
                        .update(|written| written.packed[at] = Some(Packed { file_name, bytes, left_out }));
                }
                Answer::Refused(failure) => {
                    let text = (words().export.refused)(&failure.what, &failure.hint);
                    written.update(|written| written.failed = Some(text));
                }
                _ => {}
            },
        );
    };
    // Both are written at once, so that it is known how large they are; of a large one only what is asked for.
    effect(move || {
        let files = digests.with_value(Digests::known);
        let (takes_out, wants_all) = (takes_out.get(), is_large && wants_all.get());
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        written.set(Written::default());
        let Some(files) = files else { return };
        pack(false, options_with(false, files.clone()), this_turn);
        if can_index && !takes_out && (wants_all || !is_large) {
            pack(true, options_with(true, files), this_turn);
        }
    });
    let options = Signal::derive(move || {
        options_with(with_all.get(), digests.with_value(Digests::known).unwrap_or_default())
    });
    let save = move |packed: &Packed| {
        // Redacted notes are not saved.
        if !takes_out.get_untracked() {
            tab.mark_saved(&tab.notes.get_untracked());
        }
        if let Some(blob) = blobs[usize::from(with_all.get_untracked())].get_value() {
            browser::download(&packed.file_name, &blob);
            let name = text::visible(&packed.file_name);
            tab.app.say((words().export.exported)(&name, packed.bytes, &packed.left_out));
            tab.share.set(None);
        }
    };
    let all_label =
        move || (words().sharing.everything)(written.with(|it| it.packed[1].as_ref().map(|it| it.bytes)));
    view! {
        <p>{words().sharing.hand_on_about}</p>
        {can_index
            .then(|| {
                view! {
                    <fieldset>
                        <label>
                            <input
                                type="checkbox"
                                prop:checked=move || with_all.get()
                                disabled=move || takes_out.get()
                                on:change:target=move |event| wants_all.set(event.target().checked())
                            />
                            <span>{all_label}</span>
                        </label>
                    </fieldset>
                    <p class="hint">
                        {move || match takes_out.get() {
                            true => words().sharing.everything_not,
                            false => words().sharing.everything_about,
                        }}
                    </p>
                }
            })}
        <Redaction tab exporter=TRACEDROP_FILE.to_string() options classes />
        <div class="share-state" role="status">
            {move || {
                let Written { packed, failed } = written.get();
                let [without, with] = packed;
                match (if with_all.get() { with } else { without }, failed) {
                    (Some(packed), _) => {
                        let name = text::visible(&packed.file_name);
                        let n_notes = tab.notes.with(|notes| notes.list.len() as u64);
                        view! {
                            <p>{(words().sharing.hand_on_ready)(&name, packed.bytes, n_notes)}</p>
                            <div class="actions">
                                <button type="button" class="button button-main" on:click=move |_| save(&packed)>
                                    {words().sharing.hand_on_save}
                                </button>
                            </div>
                        }
                            .into_any()
                    }
                    (None, Some(text)) => {
                        view! { <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p> }.into_any()
                    }
                    (None, None) => view! { <p>{(words().sharing.packing)(0)}</p> }.into_any(),
                }
            }}
        </div>
    }
}
