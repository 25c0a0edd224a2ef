//! Keys recognized by their own form, whatever precedes them.

use std::ops::Range;

/// Characters allowed after the start of a key.
#[derive(Clone, Copy)]
enum Of {
    /// Letters and digits.
    Letters,
    /// Capital letters and digits.
    Capitals,
    /// Letters, digits, `_` and `-`.
    Words,
    /// Letters, digits, `_`, `-` and dots.
    Dotted,
}

/// Start, characters that follow, their minimum number, and the number that the issuer always gives out; 0 if it varies.
const SHAPES: [(&str, Of, usize, usize); 38] = [
    ("sk-", Of::Words, 16, 0),
    ("sk_live_", Of::Letters, 12, 24),
    ("sk_test_", Of::Letters, 12, 24),
    ("rk_live_", Of::Letters, 12, 24),
    ("whsec_", Of::Letters, 20, 0),
    ("ghp_", Of::Letters, 16, 36),
    ("gho_", Of::Letters, 16, 36),
    ("ghu_", Of::Letters, 16, 36),
    ("ghs_", Of::Letters, 16, 36),
    ("ghr_", Of::Letters, 16, 36),
    ("github_pat_", Of::Words, 20, 0),
    ("glpat-", Of::Words, 16, 20),
    ("AKIA", Of::Capitals, 16, 16),
    ("ASIA", Of::Capitals, 16, 16),
    ("xoxb-", Of::Words, 10, 0),
    ("xoxp-", Of::Words, 10, 0),
    ("xoxa-", Of::Words, 10, 0),
    ("xoxr-", Of::Words, 10, 0),
    ("xoxs-", Of::Words, 10, 0),
    ("xoxe-", Of::Words, 10, 0),
    ("xapp-", Of::Words, 10, 0),
    ("hf_", Of::Letters, 20, 34),
    ("AIza", Of::Words, 30, 35),
    ("ya29.", Of::Words, 20, 0),
    ("npm_", Of::Letters, 30, 36),
    ("pypi-", Of::Words, 40, 0),
    ("SG.", Of::Dotted, 40, 0),
    ("nvapi-", Of::Words, 20, 0),
    ("gsk_", Of::Letters, 30, 52),
    ("r8_", Of::Letters, 30, 37),
    ("dop_v1_", Of::Letters, 40, 0),
    ("hvs.", Of::Words, 20, 0),
    ("tskey-", Of::Words, 16, 0),
    ("shpat_", Of::Letters, 20, 0),
    ("dapi", Of::Letters, 32, 0),
    ("sk_", Of::Letters, 32, 0),
    ("xai-", Of::Letters, 30, 0),
    ("pplx-", Of::Letters, 30, 0),
];

impl Of {
    fn has(self, byte: u8) -> bool {
        match self {
            Of::Letters => byte.is_ascii_alphanumeric(),
            Of::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Of::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Of::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

/// Finds keys in the word at `word` of a text: letters, digits, `_`, `-` and dots.
pub fn find(text: &str, word: Range<usize>, found: &mut Vec<Range<usize>>) {
    if word.len() < 16 {
        return;
    }
    let bytes = text.as_bytes();
    for at in word.clone() {
        // A key starts a word, or follows a separator in one.
        if at > word.start && bytes[at - 1].is_ascii_alphanumeric() {
            continue;
        }
        let rest = &text[at..word.end];
        if rest.starts_with("eyJ") {
            if let Some(len) = web_token(rest) {
                found.push(at..at + len);
                return;
            }
            continue;
        }
        for (opening, of, min, exact) in SHAPES {
            let Some(body) = rest.strip_prefix(opening) else { continue };
            let len = body.bytes().take_while(|byte| of.has(*byte)).count();
            // Words of a name have hardly any digits. Account ids have an exact length; one without digits may be a word after ASIA.
            let key = &body[..len];
            let count = |is: fn(&u8) -> bool| key.bytes().filter(is).count();
            let longest = key.split(['-', '_', '.']).map(str::len).max().unwrap_or(0);
            let is_exact = len == exact
                && (matches!(of, Of::Capitals) && (opening != "ASIA" || count(u8::is_ascii_digit) > 0)
                    || count(u8::is_ascii_uppercase) >= 4 && count(u8::is_ascii_lowercase) >= 4);
            let looks_random = !matches!(of, Of::Capitals) && count(u8::is_ascii_digit) >= 2 && longest >= 8;
            if len >= min && (is_exact || looks_random) {
                found.push(at..at + opening.len() + len);
                return;
            }
        }
    }
}

/// Length of a JSON web token at the start of a text: two or three base64 parts; the first two start an object.
fn web_token(text: &str) -> Option<usize> {
    let mut parts = text.split('.');
    let is_part = |part: &str, min: usize| part.len() >= min && part.bytes().all(|byte| Of::Words.has(byte));
    let (first, second) = (parts.next()?, parts.next()?);
    if !is_part(first, 10) || !is_part(second, 10) {
        return None;
    }
    let third = parts.next().filter(|part| is_part(part, 1)).map_or(0, |part| part.len() + 1);
    Some(first.len() + 1 + second.len() + third)
}
