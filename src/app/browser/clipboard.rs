//! Text for the clipboard.

use super::listeners::listen;
use leptos::ev;
use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Element, HtmlDocument, HtmlElement, HtmlTextAreaElement, Node};

/// Copies `text` to the clipboard and passes on whether that worked.
pub fn copy_text(text: String, done: impl FnOnce(bool) + 'static) {
    spawn_local(async move {
        let clipboard = window().navigator().clipboard();
        // Missing on pages that are not from https or localhost.
        let usable = !clipboard.is_undefined();
        let written = usable && JsFuture::from(clipboard.write_text(&text)).await.is_ok();
        done(written || copy_by_command(&text));
    });
}

/// Fallback: selects the text in a field and copies the selection.
fn copy_by_command(text: &str) -> bool {
    let Some(body) = document().body() else { return false };
    let before = document().active_element();
    let Ok(field) = document().create_element("textarea").map(JsCast::unchecked_into::<HtmlTextAreaElement>)
    else {
        return false;
    };
    field.set_value(text);
    field.set_class_name("off-screen");
    field.set_read_only(true);
    let _ = body.append_child(&field);
    field.select();
    let copied = document().unchecked_into::<HtmlDocument>().exec_command("copy").unwrap_or(false);
    field.remove();
    if let Some(before) = before.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = before.focus();
    }
    copied
}

/// Has the selection of a name that is cut in its middle copied as that name: the browser puts a line end where it is cut.
pub fn copy_names_whole() {
    listen(&window(), ev::copy, |event| {
        let Some(selection) = window().get_selection().ok().flatten() else { return };
        let cell = |node: Option<Node>| {
            let node = node?;
            let element = node.dyn_ref::<Element>().cloned().or_else(|| node.parent_element())?;
            element.closest(".cell-long").ok().flatten()
        };
        let (from, to) = (cell(selection.anchor_node()), cell(selection.focus_node()));
        if from.is_none() || from != to {
            return;
        }
        let text: String = String::from(selection.to_string()).split(['\r', '\n']).collect();
        if let Some(data) = event.clipboard_data()
            && data.set_data("text/plain", &text).is_ok()
        {
            event.prevent_default();
        }
    });
}
