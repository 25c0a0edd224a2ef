//! A sentence or two.

use crate::app::widgets::{Icon, Shape, prose};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::report::{Note, NoteLevel};

#[component]
pub fn NoteBlock(#[prop(into)] note: Signal<Option<Note>>) -> impl IntoView {
    move || {
        note.get().map(|note| {
            let warning = note.level == NoteLevel::Warning;
            view! {
                <p class="note" class:note-warning=warning>
                    <Icon shape=if warning { Shape::Alert } else { Shape::Info } />
                    <span>
                        {warning.then(|| view! { <strong>{words().reports.note_warning} " "</strong> })} {prose(&note.text)}
                    </span>
                </p>
            }
        })
    }
}
