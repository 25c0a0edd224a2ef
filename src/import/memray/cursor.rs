//! Numbers and texts of captures, read from bytes that may be cut anywhere.

/// Why a value could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The value is incomplete: more bytes are needed.
    More,
    /// Invalid value.
    Bad,
}

/// Read position in bytes.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Stop> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..n)).ok_or(Stop::More)?;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        self.take(N)?.try_into().map_err(|_| Stop::More)
    }

    pub fn u8(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    pub fn flag(&mut self) -> Result<bool, Stop> {
        Ok(self.u8()? != 0)
    }

    pub fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Result<i64, Stop> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Reads LEB128; values beyond 64 bits are invalid.
    pub fn unsigned(&mut self) -> Result<u64, Stop> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Bad)
    }

    /// Reads LEB128 with the sign in the lowest bit.
    pub fn signed(&mut self) -> Result<i64, Stop> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads zero-terminated text.
    pub fn text(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = memchr::memchr(0, rest).ok_or(Stop::More)?;
        self.at += end + 1;
        Ok(&rest[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(Cursor::new(&[0xe5, 0x8e, 0x26]).unsigned(), Ok(624_485));
        assert_eq!(Cursor::new(&[0xe5, 0x8e]).unsigned(), Err(Stop::More));
        assert_eq!(Cursor::new(&[0xff; 10]).unsigned(), Err(Stop::Bad));
        let signed = [(0u8, 0), (1, -1), (2, 1), (3, -2)]
            .map(|(byte, value)| (Cursor::new(&[byte]).signed(), Ok(value)));
        assert!(signed.iter().all(|(got, wanted)| got == wanted));
        let smallest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Cursor::new(&smallest).signed(), Ok(i64::MIN));
    }
}
