//! What keys do anywhere in the page; the dialog of keys shows the same list.

use super::browser::{self, Theme};
use super::state::App;

/// Elements say with this attribute which key presses or focuses them.
const PRESSED: &str = "data-key";

fn in_shown_panel(key: &str) -> String {
    format!("[role=tabpanel]:not([hidden]) [{PRESSED}=\"{key}\"]")
}

pub fn listen(app: App) {
    browser::on_key(move |key| match key {
        "?" => {
            app.keys.set(true);
            true
        }
        "o" => browser::press(&format!("[{PRESSED}=\"o\"]")),
        "f" => browser::press(&format!("[{PRESSED}=\"f\"]")),
        "s" => {
            app.show(None);
            true
        }
        "t" => {
            let at = Theme::ALL.iter().position(|theme| *theme == app.theme.get_untracked()).unwrap_or(0);
            app.choose_theme(Theme::ALL[(at + 1) % Theme::ALL.len()]);
            app.say((super::words::words().theme_is)(Theme::ALL[(at + 1) % Theme::ALL.len()]));
            true
        }
        "w" => match app.active_tab() {
            Some(tab) => {
                app.close(tab.id);
                true
            }
            None => false,
        },
        "[" => app.step(-1),
        "]" => app.step(1),
        // Filters of reports that do not show are in the page all the same.
        "/" => browser::focus_first(&in_shown_panel("/").replace(" [", " .report:not([hidden]) [")),
        "e" => browser::press(&in_shown_panel("e")),
        "c" => browser::press(&in_shown_panel("c")),
        "x" => browser::press(&in_shown_panel("x")),
        "j" => browser::press(&in_shown_panel("j")),
        "k" => browser::press(&in_shown_panel("k")),
        "Escape" => {
            app.tip.set(None);
            app.hover.set(None);
            app.toasts.update(Vec::clear);
            true
        }
        digit => match digit.parse::<usize>() {
            Ok(at @ 1..=9) => app.show_at(at - 1),
            _ => false,
        },
    });
}

use leptos::prelude::*;
