//! Light, dark or high contrast: like the system, or as chosen.

use super::listeners::listen;
use super::storage::{remember, remembered};
use leptos::ev;
use leptos::prelude::{document, window};
use web_sys::MediaQueryList;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    System,
    Light,
    Dark,
    Contrast,
}

impl Theme {
    pub const ALL: [Theme; 4] = [Theme::System, Theme::Light, Theme::Dark, Theme::Contrast];

    pub fn id(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
            Theme::Contrast => "contrast",
        }
    }
}

const STORED_AS: &str = "tracedrop-theme";
const WIDE: &str = "(min-width: 100rem)";
const MORE_CONTRAST: &str = "(prefers-contrast: more)";
const DARK: &str = "(prefers-color-scheme: dark)";

pub fn stored_theme() -> Theme {
    let stored = remembered(STORED_AS);
    Theme::ALL.into_iter().find(|theme| stored.as_deref() == Some(theme.id())).unwrap_or(Theme::System)
}

fn media(query: &str) -> Option<MediaQueryList> {
    window().match_media(query).ok().flatten()
}

/// Whether the window has room for a column beside reports, as the style sheets say it.
pub fn is_wide() -> bool {
    media(WIDE).is_some_and(|media| media.matches())
}

/// Applies `theme`, and optionally stores it.
pub fn apply_theme(theme: Theme, remembers: bool) {
    let shown = match theme {
        Theme::System if media(MORE_CONTRAST).is_some_and(|media| media.matches()) => Theme::Contrast,
        other => other,
    };
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-theme", shown.id());
    }
    if remembers {
        remember(STORED_AS, (theme != Theme::System).then(|| theme.id()));
    }
}

/// Calls `act` when the system's preferences change: the contrast, and light or dark, which style sheets follow by themselves, but not
/// what is painted on a canvas.
pub fn on_system_theme(act: impl Fn() + Copy + 'static) {
    for media in [MORE_CONTRAST, DARK].into_iter().filter_map(media) {
        listen(&media, ev::change, move |_| act());
    }
}
