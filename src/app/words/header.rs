//! Texts of the bar at the top.

use crate::app::browser::Theme;
use crate::app::state::Shows;

/// Texts of the bar at the top.
pub struct HeaderWords {
    pub numbered: fn(&str, usize) -> String,
    pub open: &'static str,
    pub open_files: &'static str,
    pub open_another: &'static str,
    pub to_start: &'static str,
    pub close: &'static str,
    pub close_tab: fn(Shows) -> &'static str,
    pub dismiss: &'static str,
    pub tab_reading: &'static str,
    pub tab_problem: &'static str,
    pub theme_menu: &'static str,
    pub theme: fn(Theme) -> &'static str,
    pub theme_is: fn(Theme) -> String,
    pub tab_closed: fn(&str) -> String,
    pub reopen: &'static str,
}

pub const ENGLISH: HeaderWords = HeaderWords {
    numbered: |name, number| format!("{name} ({number})"),
    open: "Open",
    open_files: "Open files",
    open_another: "Open another file",
    to_start: "Start screen",
    close: "Close",
    close_tab: |shows| match shows {
        Shows::File => "Close this file",
        Shows::Files => "Close these files",
        Shows::Comparison => "Close this comparison",
        Shows::Link => "Close this link",
    },
    dismiss: "Dismiss",
    tab_reading: "parsing",
    tab_problem: "error",
    theme_menu: "Theme",
    theme: theme_name,
    theme_is: |theme| format!("Theme: {}", theme_name(theme)),
    tab_closed: |name| format!("Closed {name}"),
    reopen: "Reopen",
};

fn theme_name(theme: Theme) -> &'static str {
    match theme {
        Theme::System => "System",
        Theme::Light => "Light",
        Theme::Dark => "Dark",
        Theme::Contrast => "High contrast",
    }
}
