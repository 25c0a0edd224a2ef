//! Keyboard shortcuts of the whole page; the dialog of shortcuts shows the same list.

use super::browser::{self, Theme};
use super::state::App;

/// Attribute with the key that presses or focuses an element.
const PRESSED: &str = "data-key";

/// The timeline, while it is the report that shows.
pub const SHOWN_TIMELINE: &str = "[role=tabpanel]:not([hidden]) .report-timeline:not([hidden])";

/// What the timeline does with these goes before what the page does with them, wherever the focus is.
const TIMELINE_KEYS: [&str; 14] = ["w", "a", "s", "d", "+", "-", "=", "0", "f", "[", "]", "m", "/", "Escape"];

/// Whether the timeline is the report that shows.
pub fn shows_timeline() -> bool {
    browser::is_there(SHOWN_TIMELINE)
}

/// Does what a key does: in the timeline, or on the page.
pub fn run(app: App, key: &str, is_of_timeline: bool) {
    match is_of_timeline {
        true => give_to_timeline(key),
        false => act(app, key),
    };
}

/// Whether the timeline that shows has used a key. Of the two of a comparison, the one with details has it.
fn give_to_timeline(key: &str) -> bool {
    let views = [":has(.timeline-panel) .timeline-view", " .timeline-view"];
    views.iter().any(|view| browser::give_key(&format!("{SHOWN_TIMELINE} .timeline{view}"), key))
}

fn in_shown_panel(key: &str) -> String {
    format!("[role=tabpanel]:not([hidden]) [{PRESSED}=\"{key}\"]")
}

pub fn listen(app: App) {
    browser::on_search_key(move || app.open_search());
    browser::on_key(move |key| {
        if TIMELINE_KEYS.contains(&key) && shows_timeline() {
            let is_used = give_to_timeline(key);
            match key {
                // Puts away what the page says as well.
                "Escape" => {}
                "/" if !is_used => {}
                // Until the tracks are there, they do nothing.
                _ => return true,
            }
        }
        act(app, key)
    });
}

/// Whether the page has used a key.
fn act(app: App, key: &str) -> bool {
    match key {
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
            app.say((super::words::words().header.theme_is)(Theme::ALL[(at + 1) % Theme::ALL.len()]));
            true
        }
        "w" => match app.active_tab() {
            Some(tab) => {
                app.close(tab.id);
                true
            }
            None => false,
        },
        "u" => {
            app.reopen(None);
            true
        }
        "[" => app.step(-1),
        "]" => app.step(1),
        // Filters of hidden reports may be in the page as well.
        "/" => {
            if !browser::focus_first(&in_shown_panel("/").replace(" [", " .report:not([hidden]) [")) {
                app.open_search();
            }
            true
        }
        "e" => browser::press(&in_shown_panel("e")),
        "h" => browser::press(&in_shown_panel("h")),
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
    }
}

use leptos::prelude::*;
