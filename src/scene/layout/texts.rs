//! Texts that fit: cut, titles of marks, labels of rows.

use super::LYING_BAR;
use crate::base::units::{Unit, format_float};
use crate::scene::{Anchor, Mark};

/// Truncates a text to a number of characters.
pub(super) fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters.max(2)) {
        Some(_) => {
            let end = text.char_indices().nth(letters.max(2) - 1).map_or(text.len(), |(end, _)| end);
            format!("{}…", &text[..end])
        }
        None => text.to_string(),
    }
}

/// The first words of a text that fit, or as much of the first word as fits.
pub(super) fn first_words(text: &str, letters: usize) -> String {
    let end = text.char_indices().nth(letters).map(|(end, _)| end);
    match end.and_then(|end| text[..end].rfind(' ')) {
        Some(space) => text[..space].to_string(),
        None => cut(text, letters),
    }
}

pub(super) fn title(bar: &str, part: &str, value: f64, unit: Unit) -> String {
    let value = format_float(value, unit);
    match (bar.is_empty(), part.is_empty()) {
        (true, true) => value,
        (true, false) => format!("{part}: {value}"),
        (false, true) => format!("{bar}: {value}"),
        (false, false) => format!("{bar} · {part}: {value}"),
    }
}

/// Space left and right of a row label.
const AROUND_LABEL: f64 = 12.0;

/// Width of a character in a wide font, at least.
fn letter_px(letter: char) -> f64 {
    match letter {
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '▲' | '▼' | '…' => 11.5,
        'A'..='Z' | '_' => 8.4,
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '/' => 4.2,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' => 5.0,
        _ => 7.5,
    }
}

fn px(text: &str) -> f64 {
    text.chars().map(letter_px).sum()
}

/// As much of a text as fits into `room` pixels.
pub(super) fn fitting(text: &str, room: f64) -> String {
    // Names of kernels can have thousands of characters.
    let mut used = 0.0;
    let is_wider = text.chars().any(|letter| {
        used += letter_px(letter);
        used > room
    });
    if !is_wider {
        return text.to_string();
    }
    used = letter_px('…');
    let fits = |letter: &char| {
        used += letter_px(*letter);
        used <= room
    };
    cut(text, text.chars().take_while(fits).count() + 1)
}

/// Width of the gutter for row labels.
pub(super) fn gutter_for(labels: &[String], width: f64) -> f64 {
    let widest = labels.iter().map(|label| px(label)).fold(0.0, f64::max);
    (widest + AROUND_LABEL).clamp(0.0, width * 0.3)
}

/// A label in that gutter, for the row at `top`.
pub(super) fn row_label(label: &str, gutter: f64, top: f64) -> Mark {
    // A pixel more, so that rounding doesn't truncate the widest label.
    let text = fitting(label, gutter - AROUND_LABEL + 1.0);
    Mark::Text { x: gutter - 8.0, y: top + LYING_BAR * 0.7, anchor: Anchor::End, text }
}
