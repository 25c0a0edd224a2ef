//! Text that is bounded in bytes, and texts of traces as data.

use tracedrop::base::text::shortened;
use tracedrop::base::units::Unit;
use tracedrop::report::{Value, cell_text};

/// Bytes of an answer unless the question has another limit, and what that may be.
pub const DEFAULT_BYTES: usize = 4096;
pub const LEAST_BYTES: usize = 400;
pub const MOST_BYTES: usize = 1 << 16;
/// Characters of a text from a trace.
const MAX_LETTERS: usize = 80;

/// Characters of a sentence that names parts of a trace.
const MAX_LETTERS_OF_SENTENCE: usize = 500;
/// Characters of a filter, which is of no use if cut.
const MAX_LETTERS_OF_FILTER: usize = 1000;

/// A text from a trace: in quotes, short, with everything escaped that could be taken for something else.
pub fn quoted(text: &str) -> String {
    escaped(&shortened(text, MAX_LETTERS))
}

/// A sentence that names parts of a trace, as data too.
pub fn sentence(text: &str) -> String {
    escaped(&shortened(text, MAX_LETTERS_OF_SENTENCE))
}

/// A filter, whole. `None` if it is too long.
pub fn filter(text: &str) -> Option<String> {
    (text.chars().count() <= MAX_LETTERS_OF_FILTER).then(|| escaped(text))
}

fn escaped(short: &str) -> String {
    let mut out = String::with_capacity(short.len() + 2);
    out.push('"');
    for letter in short.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() || is_invisible(letter) => out.extend(letter.escape_unicode()),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Characters that change the order of others, or show nothing.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A value with that label: texts as data, numbers with their unit, and differences with their sign.
pub fn cell(value: &Value, unit: Unit, label: &str) -> String {
    match value {
        Value::Text(text) => quoted(text),
        value => cell_text(value, unit, label),
    }
}

/// Bytes of the names in an error, which fit into an answer of the usual length.
const MAX_LISTED_BYTES: usize = 2000;

/// Names of what there is, for an error: of many, the first ones.
pub fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let (mut text, mut n_more) = (String::new(), 0);
    for name in names {
        let name = name.as_ref();
        if text.is_empty() {
            text.push_str(name);
        } else if n_more == 0 && text.len() + name.len() < MAX_LISTED_BYTES {
            text.push_str(", ");
            text.push_str(name);
        } else {
            n_more += 1;
        }
    }
    match n_more {
        0 if text.is_empty() => "none".to_string(),
        0 => text,
        n_more => format!("{text} and {n_more} more"),
    }
}

/// Bytes of the line that says how many are left out.
pub const CUT_BYTES: usize = 60;

/// Lines up to a number of bytes. Nothing is cut within a line, and after one that does not fit there are none.
pub struct Lines {
    text: String,
    max_bytes: usize,
    n_left_out: usize,
}

impl Lines {
    pub fn new(max_bytes: usize) -> Lines {
        Lines { text: String::new(), max_bytes, n_left_out: 0 }
    }

    /// Room left, in bytes.
    pub fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.text.len())
    }

    /// Adds a line if it fits.
    pub fn push(&mut self, line: &str) -> bool {
        let fits = self.n_left_out == 0 && line.len() < self.room();
        match fits {
            true => {
                self.text.push_str(line);
                self.text.push('\n');
            }
            false => self.n_left_out += 1,
        }
        fits
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// The lines, and how many are left out, for an answer that has no offset. `max_bytes` has to leave room for [`CUT_BYTES`].
    pub fn finish_or_say(mut self) -> String {
        if self.n_left_out > 0 {
            self.text.push_str(&format!("… {} more lines; next: a larger max_bytes\n", self.n_left_out));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_traces_stay_data() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
        assert_eq!(quoted("a\u{202e}b\u{1b}[31m"), "\"a\\u{202e}b\\u{1b}[31m\"");
        assert!(quoted(&"x".repeat(10_000)).len() < 400);
    }

    #[test]
    fn of_many_names_the_first_are_listed() {
        // 98 letters each, and two to separate them: 20 are 1,998 bytes.
        let names: Vec<String> = (10..31).map(|number| format!("{number}{}", "x".repeat(96))).collect();
        assert_eq!(listed(["a", "b"]), "a, b");
        assert!(listed(&names[..20]).ends_with('x') && listed(&names[..20]).len() == 1998);
        assert!(
            listed(&names).starts_with(&listed(&names[..20])) && listed(&names).ends_with("x and 1 more")
        );
        assert_eq!(listed::<&str>([]), "none");
    }

    #[test]
    fn lines_are_whole() {
        let mut lines = Lines::new(10);
        assert!(lines.push("12345"));
        assert!(!lines.push("12345") && !lines.push("123"));
        assert_eq!(lines.finish(), "12345\n");
    }
}
