//! Texts of the dialog of keyboard shortcuts.

use super::Keys;

/// Texts of the dialog of keyboard shortcuts.
pub struct KeysWords {
    pub keys_title: &'static str,
    /// Which of them go first where a key is in two lists.
    pub keys_first: &'static str,
    pub keys: &'static [KeyGroup],
}

/// Shortcuts below a heading.
pub struct KeyGroup {
    pub title: &'static str,
    /// They are the timeline's, while it shows.
    pub is_of_timeline: bool,
    pub keys: Keys,
}

pub const ENGLISH: KeysWords = KeysWords {
    keys_title: "Keyboard shortcuts",
    keys_first: "While the timeline shows, w, s, f, [, ] and / act on it; elsewhere on files and tables. Arrows and Enter work once it has the focus: click it, or press Tab.",
    keys: &[
        KeyGroup {
            title: "Files",
            is_of_timeline: false,
            keys: &[
                (&["o"], "open files"),
                (&["f"], "open a folder"),
                (&["s"], "start screen and samples"),
                (&["1 – 9"], "go to an open file"),
                (&["[", "]"], "previous, next file"),
                (&["w"], "close the file"),
                (&["u"], "reopen the file closed last"),
                (&["e"], "export"),
                (&["h"], "share"),
                (&["c"], "compare with another trace"),
                (&["x"], "swap A and B"),
            ],
        },
        KeyGroup {
            title: "Reports",
            is_of_timeline: false,
            keys: &[
                (&["j", "k"], "next, previous report"),
                (&["/"], "filter the first table"),
                (&["Enter"], "on a column header: sort"),
                (&["↑", "↓"], "in a table: scroll; on a row: previous, next row"),
                (&["Space"], "on a row: select it"),
                (&["Shift ↑", "Shift ↓", "Shift Space"], "on a row: extend the selection"),
                (&["Enter"], "on a row: show its actions"),
                (&["Home", "End", "Page Up", "Page Down"], "in a table: first, last row, or ten rows on"),
            ],
        },
        KeyGroup {
            title: "While the timeline shows",
            is_of_timeline: true,
            keys: &[
                (&["w", "s"], "zoom in, out"),
                (&["a", "d"], "pan left, right"),
                (&["0"], "show all"),
                (&["f"], "fit the selection"),
                (&["↑", "↓"], "event around the selected one, longest event in it"),
                (&["←", "→"], "event before, after the selected one"),
                (&["[", "]"], "previous, next event of the same name"),
                (
                    &["m"],
                    "select the time of the selected event; without one, mark a time (two marks select a range)",
                ),
                (&["Shift ↑", "Shift ↓"], "previous, next track"),
                (&["Enter"], "select the first event of the track"),
                (&["/"], "search"),
                (&["Esc"], "clear the selection"),
            ],
        },
        KeyGroup {
            title: "Page",
            is_of_timeline: false,
            keys: &[
                (&["t"], "change the theme"),
                (&["?"], "show these shortcuts"),
                (&["Ctrl K"], "search names, reports and commands"),
                (&["Esc"], "close a dialog or menu, clear a filter"),
                (&["Delete"], "on a file's tab: close it"),
            ],
        },
    ],
};
