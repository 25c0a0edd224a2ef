//! To Perfetto, in another window.

use super::part::{PartDraft, PartFields};
use super::redaction::{Redaction, TYPING_MS};
use super::{LARGE_BYTES, PACKED_TRACE, PERFETTO_TRACE, Packed};
use crate::app::browser;
use crate::app::browser::Blob;
use crate::app::browser::HandedOver;
use crate::app::browser::Local;
use crate::app::client::Answer;
use crate::app::erased::{effect_again, memo};
use crate::app::state::Tab;
use crate::app::widgets::Icon;
use crate::app::widgets::Shape;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::Classes;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::engine::protocol::Request;
use tracedrop::engine::protocol::ShareOptions;

/// How far it is.
#[derive(Clone)]
enum Stage {
    /// Something is to be chosen first.
    Asking,
    /// Bytes written so far.
    Packing(u64),
    Ready(Packed),
    /// The other page is called.
    Calling(Packed),
    Over(String),
    Failed(String, Option<Packed>),
}

#[component]
pub fn ToPerfetto(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let (n_bytes, span) = document.with_untracked(|document| {
        document.as_ref().map_or((0, None), |document| (document.file.bytes, document.span_ns))
    });
    let is_large = n_bytes > LARGE_BYTES;
    let has_timeline =
        document.with_untracked(|document| document.as_ref().is_some_and(|it| it.has_timeline));
    let exporter = if has_timeline { PERFETTO_TRACE } else { PACKED_TRACE };
    // The first part of a large one that is about as much as may go without asking.
    let first = match span {
        Some(span) if is_large => (span as f64 * (LARGE_BYTES as f64 / n_bytes as f64)) as i64,
        _ => span.unwrap_or(0),
    };
    let asked = tab.window.try_update_value(Option::take).flatten();
    let part = PartDraft::new(asked.unwrap_or((0, first)));
    let cut = memo(move || part.cut(span));
    let stage = RwSignal::new(Stage::Asking);
    // What was packed last.
    let held: Local<Option<Blob>> = StoredValue::new_local(None);
    let classes = RwSignal::new(Classes::default());
    // New for every request, to detect late answers.
    let turn = StoredValue::new(0u32);
    let pause = browser::Pause::new();
    let pack = move || {
        let Ok(cut) = cut.get_untracked() else { return };
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(Stage::Packing(0));
        let options = ShareOptions { cut, redact: classes.get_untracked(), ..ShareOptions::default() };
        tab.ask(
            move |ticket| Request::Share { ticket, exporter: exporter.to_string(), options },
            move |answer| {
                if turn.try_get_value() != Some(this_turn) {
                    return;
                }
                match answer {
                    Answer::ExportProgress(bytes) => stage.set(Stage::Packing(bytes)),
                    Answer::Exported { file_name, bytes, left_out, blob } => {
                        held.set_value(Some(blob));
                        stage.set(Stage::Ready(Packed { file_name, bytes, left_out }));
                    }
                    Answer::Refused(failure) => {
                        let text = (words().export.refused)(&failure.what, &failure.hint);
                        stage.set(Stage::Failed(text, None));
                    }
                    _ => {}
                }
            },
        );
    };
    // Packed at once, and anew whenever something else is to go out; of a large one only when asked.
    effect_again(move |again| {
        let is_sound = cut.with(Result::is_ok);
        classes.track();
        turn.update_value(|turn| *turn += 1);
        if is_large || !is_sound {
            pause.cancel();
            return stage.set(Stage::Asking);
        }
        stage.set(Stage::Packing(0));
        pause.start(if again { TYPING_MS } else { 0 }, pack);
    });
    let options = Signal::derive(move || {
        let cut = cut.get().unwrap_or_default();
        ShareOptions { cut, redact: classes.get(), ..ShareOptions::default() }
    });
    let hand_over = move |packed: Packed| {
        let Some(blob) = held.get_value() else { return };
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(Stage::Calling(packed.clone()));
        let title = packed.file_name.clone();
        // Pass nothing on after the dialog was closed or cancelled.
        let is_wanted = move || {
            turn.try_get_value() == Some(this_turn)
                && stage.try_with_untracked(|stage| matches!(stage, Stage::Calling(_))) == Some(true)
        };
        browser::hand_over(&blob, &title, is_wanted, move |how| {
            let after = match how {
                HandedOver::Dropped => return,
                HandedOver::Done => Stage::Over((words().sharing.handed_over)(packed.bytes)),
                HandedOver::Blocked => {
                    Stage::Failed(words().sharing.window_blocked.to_string(), Some(packed))
                }
                HandedOver::NoAnswer => Stage::Failed(words().sharing.no_answer.to_string(), Some(packed)),
                HandedOver::Failed => {
                    Stage::Failed(words().sharing.not_handed_over.to_string(), Some(packed))
                }
            };
            // The dialog may be closed by now.
            let _ = stage.try_set(after);
        });
    };
    let download = move |packed: &Packed| {
        if let Some(blob) = held.get_value() {
            browser::download(&packed.file_name, &blob);
        }
    };
    let is_calling = move || stage.with(|stage| matches!(stage, Stage::Calling(_)));
    view! {
        <p>{words().sharing.perfetto_about}</p>
        {span
            .map(|span| {
                view! {
                    <PartFields part cut span disabled=Signal::derive(is_calling) />
                    {is_large.then(|| view! { <p class="hint">{(words().sharing.is_large)(n_bytes)}</p> })}
                }
            })}
        <Redaction tab exporter=exporter.to_string() options classes />
        <div class="share-state" role="status">
            {move || match stage.get() {
                Stage::Asking => {
                    view! {
                        <div class="actions">
                            <button
                                type="button"
                                class="button button-main"
                                disabled=move || cut.with(Result::is_err)
                                on:click=move |_| pack()
                            >
                                {if is_large { words().sharing.pack } else { words().sharing.open_perfetto }}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Packing(bytes) => view! { <p>{(words().sharing.packing)(bytes)}</p> }.into_any(),
                Stage::Calling(packed) => {
                    view! {
                        <p>{words().sharing.calling}</p>
                        <div class="actions">
                            <button type="button" class="button" on:click=move |_| stage.set(Stage::Ready(packed.clone()))>
                                {words().sharing.call_off}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Over(text) => view! { <p><Icon shape=Shape::Check />" "{text}</p> }.into_any(),
                Stage::Ready(packed) => {
                    let name = text::visible(&packed.file_name);
                    let about = (words().sharing.goes_out)(&name, packed.bytes, browser::PERFETTO, &packed.left_out);
                    let again = packed.clone();
                    view! {
                        <p>{about}</p>
                        <div class="actions">
                            <button type="button" class="button button-main" on:click=move |_| hand_over(packed.clone())>
                                {words().sharing.open_perfetto}
                            </button>
                            <button type="button" class="button" on:click=move |_| download(&again)>
                                {words().sharing.download_instead}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Failed(text, packed) => {
                    view! {
                        <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p>
                        {packed
                            .map(|packed| {
                                let again = packed.clone();
                                view! {
                                    <div class="actions">
                                        <button type="button" class="button button-main" on:click=move |_| download(&packed)>
                                            {words().sharing.download_instead}
                                        </button>
                                        <button type="button" class="button" on:click=move |_| hand_over(again.clone())>
                                            {words().privacy.try_again}
                                        </button>
                                    </div>
                                }
                            })}
                    }
                        .into_any()
                }
            }}
        </div>
    }
}
