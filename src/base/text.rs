//! Showing text that came out of a file: nothing in it may act on what shows it.
//!
//! Takes any string, gives one that is safe in a terminal, a Markdown table or a spreadsheet.
//! It does not escape HTML: the page never builds HTML from text.

use std::fmt::Write;

/// Characters that would move the cursor, reorder or hide text: C0, DEL, C1, line and paragraph separators,
/// bidirectional controls, invisible format characters.
pub fn is_control(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// `text` with control characters as visible escapes: `\n`, `\t`, `\x07`, `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(c, &mut out);
    }
    out
}

/// Appends one character, escaped if it is a control.
pub fn push_visible(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_control(c) && (c as u32) < 0x100 => {
            let _ = write!(out, "\\x{:02x}", c as u32);
        }
        c if is_control(c) => {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
        c => out.push(c),
    }
}

/// Bytes as hexadecimal digits, two each: how checksums are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name for one file or folder: what file systems or shells take for something else is `_`, and nothing in it leads out of its folder or
/// hides it. Empty if nothing is left.
pub fn file_name(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || is_control(c) || r#"/\:*?"<>|"#.contains(c);
    let name: String = name.chars().map(|c| if is_odd(c) { '_' } else { c }).collect();
    name.trim_matches(['.', ' ']).to_string()
}

/// The beginning of raw bytes as one safe line of at most `max_chars`, for messages.
pub fn example(bytes: &[u8], max_chars: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(max_chars * 4 + 4)]);
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == max_chars {
            out.push('…');
            break;
        }
        push_visible(c, &mut out);
    }
    out
}

/// So many characters of a name have room in a sentence.
pub const IN_A_SENTENCE: usize = 60;

/// A name of at most so many characters and a mark where it was cut: those of kernels may have thousands.
pub fn shortened(name: &str, n_chars: usize) -> String {
    match name.char_indices().nth(n_chars) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

/// The number behind the last of the first of `words` that has one, joined or with one of `-`, `_`, `.`, `=` or a space
/// between, and the byte at which it starts. Whatever case the text is in; `words` are in small letters. A word may not be
/// the end of another one.
pub fn number_behind(text: &str, words: &[&str]) -> Option<(usize, i64)> {
    let lower = text.to_ascii_lowercase();
    words.iter().find_map(|word| {
        let mut at = lower.rmatch_indices(word);
        at.find_map(|(start, _)| {
            let is_word = !lower[..start].ends_with(|c: char| c.is_alphanumeric());
            let rest = &lower[start + word.len()..];
            let digits = rest.strip_prefix(['-', '_', '.', '=', ' ']).unwrap_or(rest);
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let number = digits[..end].parse().ok().filter(|_| is_word)?;
            Some((lower.len() - digits.len(), number))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_visible() {
        assert_eq!(visible("a\u{1b}[31m\n\u{202e}<b>"), "a\\x1b[31m\\n\\u{202e}<b>");
        assert_eq!(example("ééééé".as_bytes(), 3), "ééé…");
        assert_eq!(example(b"ab\xff", 9), "ab\u{fffd}");
    }
}
