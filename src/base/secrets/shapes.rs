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

/// Start, characters that follow, and their minimum number.
const SHAPES: [(&str, Of, usize); 38] = [
    ("sk-", Of::Words, 16),
    ("sk_live_", Of::Letters, 12),
    ("sk_test_", Of::Letters, 12),
    ("rk_live_", Of::Letters, 12),
    ("whsec_", Of::Letters, 20),
    ("ghp_", Of::Letters, 16),
    ("gho_", Of::Letters, 16),
    ("ghu_", Of::Letters, 16),
    ("ghs_", Of::Letters, 16),
    ("ghr_", Of::Letters, 16),
    ("github_pat_", Of::Words, 20),
    ("glpat-", Of::Words, 16),
    ("AKIA", Of::Capitals, 16),
    ("ASIA", Of::Capitals, 16),
    ("xoxb-", Of::Words, 10),
    ("xoxp-", Of::Words, 10),
    ("xoxa-", Of::Words, 10),
    ("xoxr-", Of::Words, 10),
    ("xoxs-", Of::Words, 10),
    ("xoxe-", Of::Words, 10),
    ("xapp-", Of::Words, 10),
    ("hf_", Of::Letters, 20),
    ("AIza", Of::Words, 30),
    ("ya29.", Of::Words, 20),
    ("npm_", Of::Letters, 30),
    ("pypi-", Of::Words, 40),
    ("SG.", Of::Dotted, 40),
    ("nvapi-", Of::Words, 20),
    ("gsk_", Of::Letters, 30),
    ("r8_", Of::Letters, 30),
    ("dop_v1_", Of::Letters, 40),
    ("hvs.", Of::Words, 20),
    ("tskey-", Of::Words, 16),
    ("shpat_", Of::Letters, 20),
    ("dapi", Of::Letters, 32),
    ("sk_", Of::Letters, 32),
    ("xai-", Of::Letters, 30),
    ("pplx-", Of::Letters, 30),
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
        for (opening, of, min) in SHAPES {
            let Some(body) = rest.strip_prefix(opening) else { continue };
            let len = body.bytes().take_while(|byte| of.has(*byte)).count();
            // Words of a name have hardly any digits. Account ids have an exact length.
            let n_digits = body.as_bytes()[..len].iter().filter(|byte| byte.is_ascii_digit()).count();
            let longest = body[..len].split(['-', '_', '.']).map(str::len).max().unwrap_or(0);
            let is_exact = !matches!(of, Of::Capitals) || len == min;
            if len >= min && is_exact && n_digits >= 2 && longest >= 8 {
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
