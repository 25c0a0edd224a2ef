//! Skipping containers without parsing their content.
//!
//! Sixty-four bytes at a time are turned into bit masks, one bit per byte:
//!
//! ```text
//! bytes    {"a":"}","b":[1]},
//! quotes   .x.x.x.xx.x.......      every other quote ends a string
//! inside   .xx..xx.xx........      running xor of the quotes
//! closes   ...............xx.      brackets that are not inside
//! ```
//! [`skip_rest`] does the same byte by byte, from a backslash or near the end of the bytes; the two must always agree.

use super::JsonError;
use wide::u8x16;

const BLOCK: usize = 64;

/// End of the container whose bracket is at `start`, at any depth. Only brackets and strings are looked at: matching kinds of
/// brackets and validity of the content are not checked. There must be a bracket at `start`.
///
/// [`JsonError::Cut`] if the bytes end first.
#[inline]
pub fn skip_container(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    skip_and_watch(bytes, start).map(|skipped| skipped.end)
}

/// A skipped container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Offset after its last bracket.
    pub end: usize,
    /// It contains brackets, inside or outside of texts. Without any, it has no nested container, and a stray or missing quote
    /// cannot have hidden one.
    pub has_brackets: bool,
}

/// Like [`skip_container`], also returning whether there are brackets inside.
#[inline]
pub fn skip_and_watch(bytes: &[u8], start: usize) -> Result<Skipped, JsonError> {
    let mut at = start;
    let mut depth = 0u32;
    let mut in_string = false;
    let mut watched = 0u64;
    // The container's own bracket.
    let mut own = 1u64;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let masks = Masks::of(block);
        if masks.backslashes != 0 {
            break;
        }
        let carried = if in_string { u64::MAX } else { 0 };
        let inside = prefix_xor(masks.quotes) ^ carried;
        let opens = masks.opens & !inside;
        let mut closes = masks.closes & !inside;
        let brackets = (masks.opens | masks.closes) & inside | opens & !own;
        own = 0;
        if closes.count_ones() >= depth {
            // The end may be in this block: check the closing brackets one by one.
            let mut n_closed = 0;
            while closes != 0 {
                let place = closes.trailing_zeros();
                n_closed += 1;
                let n_opened = (opens & ((1u64 << place) - 1)).count_ones();
                if depth + n_opened <= n_closed {
                    watched |= brackets & ((1u64 << place) - 1);
                    return Ok(Skipped { end: at + place as usize + 1, has_brackets: watched != 0 });
                }
                closes &= closes - 1;
            }
            depth = depth + opens.count_ones() - n_closed;
        } else {
            depth = depth + opens.count_ones() - closes.count_ones();
        }
        watched |= brackets;
        in_string = inside >> 63 == 1;
        at += BLOCK;
    }
    skip_rest(bytes, at, depth, in_string, watched != 0)
}

/// Skips the rest byte by byte, from this depth.
fn skip_rest(
    bytes: &[u8],
    mut at: usize,
    mut depth: u32,
    mut in_string: bool,
    mut has_brackets: bool,
) -> Result<Skipped, JsonError> {
    loop {
        let Some(byte) = bytes.get(at) else { return Err(JsonError::Cut) };
        at += 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => at += 1,
            b'{' | b'[' if !in_string => {
                has_brackets |= depth > 0;
                depth += 1;
            }
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(Skipped { end: at, has_brackets });
                }
            }
            b'{' | b'[' | b'}' | b']' => has_brackets = true,
            _ => {}
        }
    }
}

/// Bit masks of a block, first byte lowest.
struct Masks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

impl Masks {
    #[inline(always)]
    fn of(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks { quotes: 0, backslashes: 0, opens: 0, closes: 0 };
        for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
            let part = u8x16::new(*part);
            // The bit that distinguishes `[` and `]` from `{` and `}`; folding it maps no other byte to a bracket.
            let folded = part | u8x16::splat(0x20);
            let bits = |found: u8x16| u64::from(found.to_bitmask()) << (16 * i);
            masks.quotes |= bits(part.simd_eq(u8x16::splat(b'"')));
            masks.backslashes |= bits(part.simd_eq(u8x16::splat(b'\\')));
            masks.opens |= bits(folded.simd_eq(u8x16::splat(b'{')));
            masks.closes |= bits(folded.simd_eq(u8x16::splat(b'}')));
        }
        masks
    }
}

/// Bit i of the result is the xor of bits 0 to i.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_where_the_container_does() {
        let text = format!(r#"{{"a":"}}]","b":[{{}},"{}"]}} rest}}"#, "x]".repeat(90));
        assert_eq!(skip_container(text.as_bytes(), 0), Ok(text.len() - " rest}".len()));
        assert_eq!(skip_container(b"[]", 0), Ok(2));
        assert_eq!(skip_container(b"[", 0), Err(JsonError::Cut));
        let has_brackets = |text: &str| skip_and_watch(text.as_bytes(), 0).unwrap().has_brackets;
        assert!(!has_brackets(r#"{"a":1,"b":"x"},{"c":[]}"#));
        assert!(
            has_brackets(r#"{"a":[]}"#) && has_brackets(r#"{"a":"}"}"#) && has_brackets(r#"{"a":"\"["}"#)
        );
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        assert_eq!(skip_container(deep.as_bytes(), 0), Ok(2000));
    }

    /// Nested containers, long enough for several blocks, mostly of irrelevant bytes.
    fn containers() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            8 => "[a-z0-9 ,:]{0,40}",
            4 => "\"[a-z{}\\[\\]]{0,40}\"",
            1 => "\"[a-z]{0,9}\\\\[\"\\\\n][a-z}]{0,9}\"",
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            (proptest::collection::vec(inner, 0..6), any::<bool>()).prop_map(|(parts, is_list)| {
                let body = parts.join(",");
                if is_list { format!("[{body}]") } else { format!("{{{body}}}") }
            })
        })
    }

    proptest! {
        #[test]
        fn wide_and_plain_agree(
            before in "[a-z\"]{0,70}",
            parts in proptest::collection::vec(containers(), 1..8),
            after in "[a-z\"\\]}]{0,90}",
            cut in 0usize..2000,
        ) {
            let start = before.len();
            let text = format!("{before}[{}]{after}", parts.join(","));
            let whole = text.as_bytes();
            let cut = &whole[..whole.len().min(start + 1 + cut)];
            for bytes in [whole, cut] {
                prop_assert_eq!(skip_and_watch(bytes, start), skip_rest(bytes, start, 0, false, false));
            }
        }
    }
}
