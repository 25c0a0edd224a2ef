//! A file with one piece of it in memory.

use crate::parquet::Source;

/// Reads from the piece where possible, else from the file.
pub struct PartialFile<S> {
    file: S,
    piece: Vec<u8>,
    /// File offset of the piece.
    start: u64,
}

impl<S> PartialFile<S> {
    pub fn new(file: S) -> PartialFile<S> {
        PartialFile { file, piece: Vec::new(), start: 0 }
    }

    /// Drops the piece; the next one starts at `byte`.
    pub fn start_at(&mut self, byte: u64) {
        self.piece.clear();
        self.start = byte;
    }

    /// Appends to the piece.
    pub fn push(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
    }

    /// Offset of the end of the piece.
    pub fn end(&self) -> u64 {
        self.start + self.piece.len() as u64
    }

    /// Drops the bytes before `byte`.
    pub fn drop_before(&mut self, byte: u64) {
        let n_bytes = byte.clamp(self.start, self.end()) - self.start;
        self.piece.drain(..n_bytes as usize);
        self.start += n_bytes;
    }
}

impl<S: Source> Source for PartialFile<S> {
    fn n_bytes(&self) -> u64 {
        self.file.n_bytes()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        match self.at_hand(offset, out.len()) {
            Some(bytes) => {
                out.copy_from_slice(bytes);
                Ok(())
            }
            None => self.file.read_at(offset, out),
        }
    }

    fn at_hand(&self, offset: u64, n: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.piece.get(from..)?.get(..n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_at_hand_or_not() {
        let file: Vec<u8> = (0..100).collect();
        let read = |partial: &PartialFile<&[u8]>, range: std::ops::Range<usize>| {
            let mut out = vec![0; range.len()];
            partial.read_at(range.start as u64, &mut out).map(|()| assert_eq!(out, file[range]))
        };
        let mut partial = PartialFile::new(file.as_slice());
        partial.start_at(20);
        partial.push(&file[20..50]);
        partial.push(&file[50..60]);
        for forgotten in [0, 20, 33, 60, 99] {
            partial.drop_before(forgotten);
            assert_eq!(partial.end(), 60);
            for range in [0..5, 10..30, 20..60, 30..40, 35..60, 55..70, 60..60, 90..100] {
                read(&partial, range).unwrap();
            }
        }
        assert!(partial.read_at(95, &mut [0; 6]).is_err());
    }
}
