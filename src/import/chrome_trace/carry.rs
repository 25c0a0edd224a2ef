//! Bytes of an element that continues in the next chunk.

/// Minimum number of bytes added before a retry.
const MIN_STEP_BYTES: usize = 16 << 10;

/// Bytes that could not be read yet because they are incomplete.
#[derive(Default)]
pub struct Carry {
    bytes: Vec<u8>,
    /// Length at which a retry makes sense. It doubles each time, so that the work stays linear.
    retry_at: usize,
}

impl Carry {
    /// Number of waiting bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The waiting bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Calls `run` on the waiting bytes, then on `chunk`; it returns how many bytes it used. `at_once` retries even if that
    /// seems premature.
    pub fn feed(&mut self, chunk: &[u8], at_once: bool, mut run: impl FnMut(&[u8]) -> usize) {
        let mut rest = chunk;
        while !self.bytes.is_empty() && !rest.is_empty() {
            // Copies only as much of the chunk as the first element may need.
            let old_len = self.bytes.len();
            let wanted = self.retry_at.saturating_sub(old_len).max(MIN_STEP_BYTES);
            let step = if at_once { rest.len() } else { wanted.min(rest.len()) };
            self.bytes.extend_from_slice(&rest[..step]);
            rest = &rest[step..];
            if self.bytes.len() < self.retry_at && !at_once {
                return;
            }
            let used = run(&self.bytes);
            if used >= old_len {
                // The rest is entirely in the chunk.
                let unused = self.bytes.len() - used;
                rest = &chunk[chunk.len() - rest.len() - unused..];
                self.bytes.clear();
            } else {
                self.bytes.drain(..used);
                self.retry_at = self.bytes.len().saturating_mul(2);
            }
        }
        if rest.is_empty() {
            return;
        }
        let used = run(rest);
        self.bytes.clear();
        self.bytes.extend_from_slice(&rest[used..]);
        self.retry_at = self.bytes.len().saturating_mul(2);
    }
}
