//! Safe display of text from files, so that it cannot affect what displays it.
//!
//! Takes any string and returns one that is safe in a terminal, a Markdown table or a spreadsheet. HTML is not escaped: the
//! page never builds HTML from text.

use std::fmt::Write;

/// Hash of a name for its color: the same in every trace and run, and for names that differ only in digits.
pub fn color_hash(name: &str) -> u32 {
    // FNV-1a.
    let letters = name.bytes().filter(|byte| !byte.is_ascii_digit());
    let hash = letters.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    (hash >> 32) as u32
}

/// Whether a character would move the cursor, reorder or hide text: C0, DEL, C1, line and paragraph separators, bidirectional
/// controls, invisible format characters.
pub fn is_control(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// `text` with control characters escaped: `\n`, `\t`, `\x07`, `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(c, &mut out);
    }
    out
}

/// Appends one character, escaped if it is a control character.
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

/// Whether a word is a plain decimal number: digits with an optional sign and point, the point not first.
pub fn is_decimal(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty() && are_digits(whole) && are_digits(places)
}

/// With a capital as its first letter.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Names with commas; of more than `max`, the first ones and how many more there are.
pub fn first_names<S: AsRef<str>>(names: &[S], max: usize) -> String {
    let first: Vec<&str> = names.iter().take(max).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(max) {
        0 => first.join(", "),
        n_more => format!("{} and {n_more} more", first.join(", ")),
    }
}

/// Bytes in hexadecimal, as for checksums.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// File or folder name in which characters with a special meaning to file systems or shells become `_`, so that it is neither
/// hidden nor a path. Empty if nothing is left.
pub fn file_name(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || is_control(c) || r#"/\:*?"<>|"#.contains(c);
    let name: String = name.chars().map(|c| if is_odd(c) { '_' } else { c }).collect();
    name.trim_matches(['.', ' ']).to_string()
}

/// Start of raw bytes as one safe line of at most `max_chars`, for messages.
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

/// Maximum characters of a name in a sentence.
pub const IN_A_SENTENCE: usize = 60;

/// Name truncated to `n_chars` with an ellipsis; kernel names can have thousands of characters.
pub fn shortened(name: &str, n_chars: usize) -> String {
    match name.char_indices().nth(n_chars) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

/// Name cut in its middle to `n_chars` with an ellipsis: names of kernels often differ at their ends.
pub fn cut_in_middle(name: &str, n_chars: usize) -> String {
    let n = name.chars().count();
    if n <= n_chars {
        return name.to_string();
    }
    let n_behind = n_chars.saturating_sub(1) / 2;
    let start: String = name.chars().take(n_chars.saturating_sub(1 + n_behind)).collect();
    let end: String = name.chars().skip(n.saturating_sub(n_behind)).collect();
    format!("{start}…{end}")
}

/// Number after the last occurrence of the first of `words` that has one, directly or after `-`, `_`, `.`, `=` or a space, and
/// its byte offset. Case is ignored; `words` are in lower case. A word must not be the end of another one.
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

    #[test]
    fn both_ends_of_a_long_name_are_shown() {
        assert_eq!(cut_in_middle("abcdefg", 7), "abcdefg");
        assert_eq!(cut_in_middle("abcdéfgh", 7), "abc…fgh");
        assert_eq!(cut_in_middle("abcdéfgh", 6), "abc…gh");
        assert_eq!(cut_in_middle("abc", 1), "…");
    }
}
