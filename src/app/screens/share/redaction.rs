//! Texts that go out: what is taken out of them, and a preview.

use crate::app::browser;
use crate::app::client::Answer;
use crate::app::erased::{Show, effect};
use crate::app::state::Tab;
use crate::app::widgets::SearchField;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::base::units::group_digits;
use tracedrop::engine::protocol::Classes;
use tracedrop::engine::protocol::PreviewView;
use tracedrop::engine::protocol::Request;
use tracedrop::engine::protocol::ShareOptions;
use tracedrop::engine::protocol::TextSort;

/// Texts in the preview at first; *Show more* multiplies their number by `MORE_TEXTS`. The others are counted, and included in
/// the saved list.
pub const PREVIEW_TEXTS: u32 = 200;
pub const MORE_TEXTS: u32 = 10;
/// No more are ever on the page, which would become slow.
pub const MAX_TEXTS: u32 = 20_000;
/// In the dialog that is open: the first of the texts that more were asked for, and the buttons below the list.
pub const NEW_TEXT: &str = "dialog[open] .share-texts tr.new";
pub const PREVIEW_BUTTON: &str = "dialog[open] .share-preview .actions button";
/// Typing pauses this long before texts are looked through.
pub const TYPING_MS: u32 = 200;

/// Redaction options and preview of the exported text.
#[component]
pub fn Redaction(
    tab: Tab,
    #[prop(into)] exporter: Signal<String>,
    #[prop(into)] options: Signal<ShareOptions>,
    classes: RwSignal<Classes>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let search = RwSignal::new(String::new());
    let limit = RwSignal::new(PREVIEW_TEXTS);
    let preview = RwSignal::new(None::<Result<PreviewView, String>>);
    // How many texts there were when more were asked for: the list goes on at the first one behind them.
    let shown_before = StoredValue::new(None::<usize>);
    // New for every request, to detect late answers.
    let turn = StoredValue::new(0u32);
    let pause = browser::Pause::new();
    effect(move || {
        let (exporter, options, search, limit) = (exporter.get(), options.get(), search.get(), limit.get());
        if !open.get() {
            return;
        }
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        pause.start(TYPING_MS, move || {
            let of = exporter.clone();
            let ask = move || {
                let (exporter, options, search) = (exporter.clone(), options.clone(), search.clone());
                tab.ask(
                    move |ticket| Request::Preview { ticket, exporter, options, search, limit },
                    move |answer| {
                        if turn.try_get_value() != Some(this_turn) {
                            return;
                        }
                        match answer {
                            Answer::Preview(view) => preview.set(Some(Ok(view))),
                            Answer::Refused(failure) => {
                                preview
                                    .set(Some(Err((words().export.refused)(&failure.what, &failure.hint))));
                            }
                            _ => {}
                        }
                        browser::after(0, || {
                            browser::to_top(NEW_TEXT);
                            // The button that was pressed was made anew with the list above it, or is gone as there is no more.
                            browser::catch_focus(&[PREVIEW_BUTTON]);
                        });
                    },
                );
            };
            tab.with_drawings(&of, ask);
        });
    });
    let save = move || {
        let (exporter, options) = (exporter.get_untracked(), options.get_untracked());
        let search = search.get_untracked();
        tab.ask(
            |ticket| Request::Preview { ticket, exporter, options, search, limit: u32::MAX },
            move |answer| match answer {
                Answer::Preview(view) => {
                    let list = list_of(&view);
                    browser::download_text(words().sharing.preview_name, &list, "text/tab-separated-values");
                    let n_bytes = list.len() as u64;
                    tab.app.say((words().export.exported)(words().sharing.preview_name, n_bytes, &[]));
                }
                Answer::Refused(failure) => {
                    tab.app.alert((words().export.refused)(&failure.what, &failure.hint));
                }
                _ => {}
            },
        );
    };
    let is_on = move |name: &'static str| {
        let mut classes = classes.get();
        classes.by_name(name).is_some_and(|is_on| *is_on)
    };
    view! {
        <fieldset>
            <legend>{words().sharing.take_out}</legend>
            {words()
                .sharing
                .classes
                .map(|(name, label, hint)| {
                    view! {
                        <label title=hint>
                            <input
                                type="checkbox"
                                prop:checked=move || is_on(name)
                                on:change:target=move |event| {
                                    let is_checked = event.target().checked();
                                    classes.update(|classes| {
                                        if let Some(is_on) = classes.by_name(name) {
                                            *is_on = is_checked;
                                        }
                                    });
                                }
                            />
                            <span>{label}</span>
                        </label>
                    }
                })
                .collect_view()}
        </fieldset>
        <details class="share-preview" on:toggle=move |_| open.update(|open| *open = !*open)>
            <summary>{words().sharing.preview}</summary>
            <p class="hint">{words().sharing.preview_about}</p>
            <SearchField
                label=Signal::stored(words().sharing.preview_search.to_string())
                placeholder=words().sharing.preview_search
                text=search
                on_text=move |text| search.set(text)
            />
            {move || match preview.get() {
                None => view! { <p>{words().sharing.previewing}</p> }.into_any(),
                Some(Err(text)) => view! { <p class="wrong">{text}</p> }.into_any(),
                Some(Ok(preview)) => {
                    let n_shown = preview.texts.len();
                    let n_hidden = preview.n_matching.saturating_sub(n_shown as u64);
                    let has_more = move || n_hidden > 0 && limit.get() < MAX_TEXTS;
                    let show_more = move || {
                        shown_before.set_value(Some(n_shown));
                        limit.update(|limit| *limit *= MORE_TEXTS);
                    };
                    view! {
                        {preview_view(preview, shown_before.try_update_value(Option::take).flatten())}
                        <div class="actions">
                            <Show when=has_more>
                                <button type="button" class="button" on:click=move |_| show_more()>
                                    {words().sharing.preview_more}
                                </button>
                            </Show>
                            <button type="button" class="button" on:click=move |_| save()>{words().sharing.preview_save}</button>
                        </div>
                    }
                        .into_any()
                }
            }}
        </details>
    }
}

/// A line for each text: what it looks like, how often it is there, the text.
pub fn list_of(preview: &PreviewView) -> String {
    let line = |(sort, text, n): &(TextSort, String, u64)| {
        format!("{}\t{n}\t{}\n", (words().sharing.sort)(*sort), text::visible(text))
    };
    let more = match preview.n_more {
        0 => String::new(),
        n => (words().sharing.preview_untold)(n),
    };
    preview.texts.iter().map(line).chain([more]).collect()
}

/// `first_new` is the text that was not there before.
pub fn preview_view(preview: PreviewView, first_new: Option<usize>) -> impl IntoView {
    let PreviewView { sorts, n_matching, texts, n_more } = preview;
    let n_shown = texts.len() as u64;
    let sorts: Vec<String> = sorts
        .into_iter()
        .map(|(sort, n)| format!("{}: {}", (words().sharing.sort)(sort), group_digits(i128::from(n))))
        .collect();
    view! {
        <p>{sorts.join(" · ")}</p>
        <div class="share-texts" tabindex="0" role="region" aria-label=words().sharing.preview>
            <table>
                <tbody>
                    {texts
                        .into_iter()
                        .enumerate()
                        .map(|(at, (sort, text, n))| {
                            let shown = text::shortened(&text::visible(&text), 300);
                            view! {
                                <tr class:new=first_new == Some(at)>
                                    <td>{(words().sharing.sort)(sort)}</td>
                                    <td class="share-count">{group_digits(i128::from(n))}</td>
                                    <td><bdi>{shown}</bdi></td>
                                </tr>
                            }
                        })
                        .collect_view()}
                </tbody>
            </table>
        </div>
        <p class="hint">{(words().sharing.preview_count)(n_shown, n_matching, n_more)}</p>
    }
}
