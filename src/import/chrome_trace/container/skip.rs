//! Skipping a value that is too large for memory.

/// Finds the end of a value piece by piece.
///
/// Not [`skip_value`](crate::import::chrome_trace::scanner::skip_value): that one starts again if the value is incomplete, while
/// this one keeps its place between chunks, so it goes byte by byte and needs no buffer. Such values are rare: see
/// `MAX_ELEMENT_BYTES`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SkipScan {
    depth: u64,
    in_string: bool,
    after_backslash: bool,
}

impl SkipScan {
    /// Feeds the next piece; returns the end of the value if it is in it.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                if self.after_backslash {
                    self.after_backslash = false;
                    continue;
                }
                match byte {
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_string = false,
                    _ => continue,
                }
                if !self.in_string && self.depth == 0 {
                    return Some(at + 1);
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                // Without brackets, only a bare word can be here.
                b',' if self.depth == 0 => return Some(at),
                _ => {}
            }
        }
        None
    }
}
