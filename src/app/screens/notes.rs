//! What people write on a report: the list of notes, and the dialog in which one is written.

use crate::app::annotations::{Writing, leads_somewhere, words_of};
use crate::app::browser;
use crate::app::erased::{For, Show, effect, effect_again, memo};
use crate::app::state::Tab;
use crate::app::times::{millis, nanoseconds};
use crate::app::widgets::{Dialog, Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::report::notes::{MAX_NOTES, MAX_TEXT_CHARS, MAX_TITLE_CHARS};
use tracedrop::report::{Anchor, Remark};

type Document = Memo<Option<Arc<DocumentView>>>;

/// Letters of what a note is on, where it is chosen.
const CHOICE_CHARS: usize = 90;

/// Title and notes, all in one place.
#[component]
pub fn NotesPanel(
    tab: Tab,
    document: Document,
    /// Its button to write takes the focus as soon as it is there: the panel is elsewhere without notes than with some.
    takes_focus: StoredValue<bool>,
) -> impl IntoView {
    let write = NodeRef::<html::Button>::new();
    effect(move || {
        if let Some(write) = write.get().filter(|_| takes_focus.get_value()) {
            takes_focus.set_value(false);
            // It is shown, so it can take it.
            let _ = write.focus();
        }
    });
    let delete = Callback::new(move |number: usize| {
        // The button that was pressed goes with its note, so the focus moves first.
        match tab.notes.with_untracked(|notes| notes.list.len()) {
            0 | 1 => takes_focus.set_value(true),
            _ => drop(write.get_untracked().map(|write| write.focus())),
        }
        tab.delete_note(number);
    });
    let numbered = move || tab.notes.with(|notes| notes.list.iter().cloned().enumerate().collect::<Vec<_>>());
    let has_title = move || tab.notes.with(|notes| !notes.title.is_empty());
    let has_notes = memo(move || tab.notes.with(|notes| !notes.list.is_empty()));
    view! {
        <section class="notes" class:notes-some=move || has_notes.get() aria-label=words().notes.region data-testid="notes">
            <Show when=move || has_notes.get()>
                <h2>{words().notes.title}</h2>
                <ol>
                    <For
                        each=numbered
                        key=|entry| entry.clone()
                        children=move |(number, note)| note_view(tab, document, number, note, delete)
                    />
                </ol>
            </Show>
            <div class="notes-tools">
                <button
                    type="button"
                    class="link notes-write"
                    node_ref=write
                    on:click=move |_| tab.writing.set(Some(Writing::New(Vec::new())))
                >
                    <Icon shape=Shape::Note />
                    <span>{words().notes.write}</span>
                </button>
                <button type="button" class="link" on:click=move |_| tab.writing.set(Some(Writing::Title))>
                    {move || if has_title() { words().notes.change_title } else { words().notes.give_title }}
                </button>
                <Show when=move || has_notes.get()>
                    <p>{words().notes.kept_where}</p>
                </Show>
            </div>
        </section>
    }
}

/// A note with its place and what can be done with it.
fn note_view(
    tab: Tab,
    document: Document,
    number: usize,
    note: Remark,
    delete: Callback<usize>,
) -> impl IntoView {
    let Remark { on, text } = note;
    let anchor = StoredValue::new(on);
    let place = move || {
        let document = document.get();
        let (place, has_way) = anchor.with_value(|anchor| {
            (words_of(document.as_ref(), anchor), leads_somewhere(document.as_ref(), anchor))
        });
        let place = (words().notes.on_what)(&place);
        match has_way {
            true => view! {
                <button type="button" class="link" on:click=move |_| anchor.with_value(|anchor| tab.lead_to_anchor(anchor))>
                    <bdi>{place}</bdi>
                </button>
            }
            .into_any(),
            false => view! { <span><bdi>{place}</bdi></span> }.into_any(),
        }
    };
    view! {
        <li>
            <p class="notes-text"><bdi>{lines_of(&text)}</bdi></p>
            <div class="notes-place">
                {place}
                <button
                    type="button"
                    class="link"
                    aria-label=(words().notes.edit_of)(number + 1)
                    on:click=move |_| tab.writing.set(Some(Writing::Old(number)))
                >
                    {words().notes.edit}
                </button>
                <button
                    type="button"
                    class="link"
                    aria-label=(words().notes.delete_of)(number + 1)
                    on:click=move |_| delete.run(number)
                >
                    {words().notes.delete}
                </button>
            </div>
        </li>
    }
}

/// A note with its own lines, and nothing else in it that acts.
fn lines_of(note: &str) -> String {
    note.lines().map(text::visible).collect::<Vec<_>>().join("\n")
}

/// Where something is written, open while `tab.writing` says so.
#[component]
pub fn NoteDialog(tab: Tab, document: Document) -> impl IntoView {
    // What is half written is not dropped unasked.
    let asking = RwSignal::new(false);
    let leave = move || {
        if tab.half_written.get_untracked() {
            asking.set(true);
            browser::after(0, || {
                browser::focus_first(".note-dialog[open] .note-go-on");
            });
        } else {
            tab.writing.set(None);
        }
    };
    effect_again(move |again| {
        if tab.writing.with(Option::is_none) {
            asking.set(false);
            tab.half_written.set(false);
            if again {
                // The button that opened it is elsewhere once there is a first note.
                browser::after(0, || browser::catch_focus(&[".panel:not([hidden]) .notes-write"]));
            }
        }
    });
    let title = move || match tab.writing.get() {
        Some(Writing::Title) => words().notes.title_label,
        Some(Writing::Old(_)) => words().notes.old,
        _ => words().notes.new,
    };
    view! {
        <Dialog
            open=Signal::derive(move || tab.writing.with(Option::is_some))
            on_close=move |_: ()| leave()
            title_id=format!("note-title-{}", tab.id)
            title=Signal::derive(move || title().to_string())
            class="note-dialog"
        >
            {move || match tab.writing.get() {
                None => ().into_any(),
                Some(Writing::Title) => view! { <TitleForm tab asking /> }.into_any(),
                Some(Writing::New(rows)) => view! { <NoteForm tab document asking rows number=None /> }.into_any(),
                Some(Writing::Old(number)) => {
                    let on = tab.notes.with_untracked(|notes| notes.list.get(number).map(|note| note.on.clone()));
                    let rows = on.into_iter().filter(|on| matches!(on, Anchor::Row { .. })).collect();
                    view! { <NoteForm tab document asking rows number=Some(number) /> }.into_any()
                }
            }}
        </Dialog>
    }
}

#[component]
fn TitleForm(tab: Tab, asking: RwSignal<bool>) -> impl IntoView {
    let before = tab.notes.with_untracked(|notes| notes.title.clone());
    let title = RwSignal::new(before.clone());
    effect(move || tab.half_written.set(title.with(|title| *title != before)));
    view! {
        <form
            class="note-form"
            on:submit=move |event| {
                event.prevent_default();
                tab.notes.update(|notes| {
                    notes.title = title.get_untracked();
                    *notes = std::mem::take(notes).tidied();
                });
                tab.writing.set(None);
            }
        >
            <label>
                <span>{words().notes.title_label}</span>
                <input
                    type="text"
                    autofocus
                    maxlength=MAX_TITLE_CHARS.to_string()
                    autocomplete="off"
                    prop:value=move || title.get()
                    on:input:target=move |event| title.set(event.target().value())
                />
            </label>
            <p class="hint">{words().notes.title_hint}</p>
            <FormEnd tab asking />
        </form>
    }
}

/// Buttons at the end of a form; while it is asked whether what was written is to go, those that answer.
#[component]
fn FormEnd(tab: Tab, asking: RwSignal<bool>) -> impl IntoView {
    let go_on = move |_| {
        asking.set(false);
        browser::focus_first(".note-dialog[open] [autofocus]");
    };
    let drop = move |_| tab.writing.set(None);
    view! {
        <p class="wrong" role="status">{move || asking.get().then_some(words().notes.not_saved)}</p>
        <div class="actions">
            <button type="submit" class="button button-main">{words().notes.save}</button>
            <Show
                when=move || asking.get()
                fallback=move || view! { <button type="button" class="button" on:click=drop>{words().notes.cancel}</button> }
            >
                <button type="button" class="button note-go-on" on:click=go_on>{words().notes.go_on}</button>
                <button type="button" class="button" on:click=drop>{words().notes.drop}</button>
            </Show>
        </div>
    }
}

/// What is chosen beside the rows that are offered.
const WHOLE: &str = "whole";
const RANGE: &str = "range";
const EVENT: &str = "event";

/// What stands in the form.
#[derive(Clone, Copy)]
struct Draft {
    /// The number of a row that is offered, or one of the others.
    on: RwSignal<String>,
    text: RwSignal<String>,
    from: RwSignal<String>,
    to: RwSignal<String>,
    name: RwSignal<String>,
    at: RwSignal<String>,
    wrong: RwSignal<Option<&'static str>>,
}

impl Draft {
    /// Of a note that is there, or of a new one on the first of `n_rows` rows.
    fn new(note: Option<Remark>, n_rows: usize) -> Draft {
        let Remark { on, text } = note.unwrap_or_default();
        let (mut from, mut to, mut name, mut at) = Default::default();
        let chosen = match on {
            _ if n_rows > 0 => "0",
            Anchor::Range { from_ns, to_ns } => {
                (from, to) = (millis(from_ns), millis(to_ns));
                RANGE
            }
            Anchor::Event { name: event, at_ns } => {
                (name, at) = (event, millis(at_ns));
                EVENT
            }
            Anchor::Whole | Anchor::Row { .. } => WHOLE,
        };
        Draft {
            on: RwSignal::new(chosen.to_string()),
            text: RwSignal::new(text),
            from: RwSignal::new(from),
            to: RwSignal::new(to),
            name: RwSignal::new(name),
            at: RwSignal::new(at),
            wrong: RwSignal::new(None),
        }
    }

    /// All that was typed.
    fn written(self) -> [String; 5] {
        [self.text, self.from, self.to, self.name, self.at].map(|field| field.get())
    }

    /// What the note is on; or what is wrong with what was written.
    fn anchor(self, rows: &[Anchor]) -> Result<Anchor, &'static str> {
        let time = |text: RwSignal<String>| nanoseconds(&text.get_untracked()).ok_or(words().notes.bad_time);
        match self.on.get_untracked().as_str() {
            RANGE => match (time(self.from)?, time(self.to)?) {
                (from_ns, to_ns) if from_ns <= to_ns => Ok(Anchor::Range { from_ns, to_ns }),
                _ => Err(words().notes.bad_range),
            },
            EVENT if self.name.with_untracked(|name| name.trim().is_empty()) => Err(words().notes.no_name),
            EVENT => Ok(Anchor::Event { name: self.name.get_untracked(), at_ns: time(self.at)? }),
            number => Ok(number
                .parse()
                .ok()
                .and_then(|number: usize| rows.get(number).cloned())
                .unwrap_or_default()),
        }
    }
}

#[component]
fn NoteForm(
    tab: Tab,
    document: Document,
    asking: RwSignal<bool>,
    rows: Vec<Anchor>,
    number: Option<usize>,
) -> impl IntoView {
    let old = number.and_then(|number| tab.notes.with_untracked(|notes| notes.list.get(number).cloned()));
    let draft = Draft::new(old, rows.len());
    let before = draft.written();
    effect(move || tab.half_written.set(draft.written() != before));
    let document = document.get_untracked();
    let length = document.as_ref().and_then(|document| document.span_ns).map(millis);
    let offered: Vec<(String, String)> = rows
        .iter()
        .enumerate()
        .map(|(at, anchor)| {
            (at.to_string(), text::shortened(&words_of(document.as_ref(), anchor), CHOICE_CHARS))
        })
        .collect();
    let others = [(RANGE, words().notes.range), (EVENT, words().notes.event), (WHOLE, words().notes.whole)];
    let choices = offered.into_iter().chain(others.map(|(id, label)| (id.to_string(), label.to_string())));
    let choices: Vec<(String, String)> = choices.collect();
    let rows = StoredValue::new(rows);
    let save = move || {
        let is_full = number.is_none() && tab.notes.with_untracked(|notes| notes.list.len() >= MAX_NOTES);
        if is_full {
            return draft.wrong.set(Some(words().notes.too_many));
        }
        match rows.with_value(|rows| draft.anchor(rows)) {
            Ok(on) => {
                tab.put_note(number, Remark { on, text: draft.text.get_untracked() });
                tab.writing.set(None);
            }
            Err(wrong) => draft.wrong.set(Some(wrong)),
        }
    };
    view! {
        <form
            class="note-form"
            on:submit=move |event| {
                event.prevent_default();
                save();
            }
        >
            <label>
                <span>{words().notes.on}</span>
                <select on:change:target=move |event| draft.on.set(event.target().value())>
                    {choices
                        .into_iter()
                        .map(|(id, label)| {
                            let value = id.clone();
                            view! { <option value=value selected=move || draft.on.with(|on| *on == id)>{label}</option> }
                        })
                        .collect_view()}
                </select>
            </label>
            <Show when=move || draft.on.with(|on| on == EVENT)>
                <Field label=words().notes.name value=draft.name />
                <Field label=words().notes.at value=draft.at />
            </Show>
            <Show when=move || draft.on.with(|on| on == RANGE)>
                <Field label=words().notes.from value=draft.from />
                <Field label=words().notes.to value=draft.to />
            </Show>
            {length
                .map(|length| {
                    view! {
                        <Show when=move || draft.on.with(|on| on == EVENT || on == RANGE)>
                            <p class="hint">{(words().notes.length)(&length)}</p>
                        </Show>
                    }
                })}
            <label>
                <span>{words().notes.text}</span>
                <textarea
                    rows="5"
                    required
                    autofocus
                    maxlength=MAX_TEXT_CHARS.to_string()
                    prop:value=move || draft.text.get()
                    on:input:target=move |event| draft.text.set(event.target().value())
                    on:keydown=move |event| {
                        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
                            event.prevent_default();
                            browser::press(".note-dialog[open] [type=submit]");
                        }
                    }
                ></textarea>
            </label>
            <p class="wrong" role="status">{move || draft.wrong.get()}</p>
            <FormEnd tab asking />
        </form>
    }
}

#[component]
fn Field(label: &'static str, value: RwSignal<String>) -> impl IntoView {
    view! {
        <label>
            <span>{label}</span>
            <input
                type="text"
                autocomplete="off"
                prop:value=move || value.get()
                on:input:target=move |event| value.set(event.target().value())
            />
        </label>
    }
}
