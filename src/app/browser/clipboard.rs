//! Text for the clipboard.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{HtmlDocument, HtmlElement, HtmlTextAreaElement};

/// Puts `text` on the clipboard and says whether that worked.
pub fn copy_text(text: String, done: impl FnOnce(bool) + 'static) {
    spawn_local(async move {
        let clipboard = window().navigator().clipboard();
        // Absent on pages that do not come over https or from this computer.
        let usable = !clipboard.is_undefined();
        let written = usable && JsFuture::from(clipboard.write_text(&text)).await.is_ok();
        done(written || copy_by_command(&text));
    });
}

/// The older way: select the text in a field and let the browser copy the selection.
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
