//! Random access to the bytes of a file.

/// Random access to bytes.
pub trait Source {
    /// Total number of bytes.
    fn n_bytes(&self) -> u64;

    /// Fills `out` with the bytes from `offset` on; the error is a sentence fragment.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String>;

    /// The `n` bytes from `offset` on, if they are in memory.
    fn at_hand(&self, _offset: u64, _n: usize) -> Option<&[u8]> {
        None
    }
}

impl Source for [u8] {
    fn n_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        out.copy_from_slice(self.at_hand(offset, out.len()).ok_or("the file is truncated")?);
        Ok(())
    }

    fn at_hand(&self, offset: u64, n: usize) -> Option<&[u8]> {
        self.get(usize::try_from(offset).ok()?..)?.get(..n)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn n_bytes(&self) -> u64 {
        (**self).n_bytes()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        (**self).read_at(offset, out)
    }

    fn at_hand(&self, offset: u64, n: usize) -> Option<&[u8]> {
        (**self).at_hand(offset, n)
    }
}
