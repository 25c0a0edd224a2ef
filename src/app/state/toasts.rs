//! Short messages at the edge of the page.

use super::App;
use crate::app::browser::{self, Spot};
use leptos::prelude::*;

/// Toasts disappear after this time; errors stay longer.
const TOAST_MS: u32 = 5_000;
const ALERT_MS: u32 = 12_000;

/// A short message at the edge of the page.
#[derive(Clone)]
pub struct Toast {
    pub id: u32,
    pub text: String,
    pub alert: bool,
    /// The closed tab that it offers to reopen, by id.
    pub reopens: Option<u32>,
}

/// An explanation next to the element with the focus or the pointer.
#[derive(Clone, PartialEq, Debug)]
pub struct Tip {
    pub text: String,
    pub at: Spot,
}

impl App {
    pub fn say(self, text: String) {
        self.toast(text, false, None);
    }

    pub fn alert(self, text: String) {
        self.toast(text, true, None);
    }

    pub fn toast(self, text: String, alert: bool, reopens: Option<u32>) {
        let id = self.id();
        self.toasts.update(|toasts| {
            // Show the same message only once.
            toasts.retain(|toast| toast.text != text);
            toasts.push(Toast { id, text, alert, reopens });
        });
        browser::after(if alert { ALERT_MS } else { TOAST_MS }, move || self.dismiss(id));
    }

    pub fn dismiss(self, id: u32) {
        self.toasts.update(|toasts| toasts.retain(|toast| toast.id != id));
    }
}
