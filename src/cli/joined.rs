//! Several files as the content of one, without copying them.

use std::io;
use tracedrop::archive::tar::{Piece, tar_of};
use tracedrop::trace::args::Content;

/// Files and bytes one after the other.
pub struct Joined {
    /// Where each piece starts, ascending.
    pieces: Vec<(u64, Piece<Box<dyn Content>>)>,
    n_bytes: u64,
}

impl Joined {
    /// A tar archive of files: path and content of each.
    pub fn tar(files: Vec<(String, Box<dyn Content>)>) -> Joined {
        let files = files.into_iter().map(|(path, content)| (path, content.n_bytes(), content));
        let mut joined = Joined { pieces: Vec::new(), n_bytes: 0 };
        for piece in tar_of(files) {
            let start = joined.n_bytes;
            joined.n_bytes += len(&piece);
            joined.pieces.push((start, piece));
        }
        joined
    }
}

fn len(piece: &Piece<Box<dyn Content>>) -> u64 {
    match piece {
        Piece::Bytes(bytes) => bytes.len() as u64,
        Piece::File(content) => content.n_bytes(),
    }
}

impl Content for Joined {
    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        let first = self.pieces.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        for (at, (start, piece)) in self.pieces.iter().enumerate().skip(first) {
            if out.is_empty() {
                return Ok(());
            }
            // A file that grew still has the bytes read before.
            let end = self.pieces.get(at + 1).map_or(self.n_bytes, |(next, _)| *next);
            let n = end.saturating_sub(offset).min(out.len() as u64) as usize;
            let (now, rest) = out.split_at_mut(n);
            match piece {
                Piece::Bytes(bytes) => bytes.read_at(offset - start, now)?,
                Piece::File(content) => content.read_at(offset - start, now)?,
            }
            (out, offset) = (rest, offset + n as u64);
        }
        if out.is_empty() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracedrop::archive::tar::list_tar;

    #[test]
    fn bytes_are_those_of_the_pieces() {
        let files: [(&str, usize); 3] = [("a", 700), ("b", 0), ("c", 512)];
        let content = |(path, n): (&str, usize)| {
            let bytes: Box<dyn Content> = Box::new(path.as_bytes().repeat(n));
            (path.to_string(), bytes)
        };
        let joined = Joined::tar(files.map(content).into());
        let list = list_tar(&joined);
        assert_eq!(list.files.len(), 3);
        let mut whole = vec![0; joined.n_bytes() as usize];
        joined.read_at(0, &mut whole).unwrap();
        for (entry, (path, n)) in list.files.iter().zip(files) {
            let range = entry.range.start as usize..entry.range.end as usize;
            assert_eq!(whole[range], path.as_bytes().repeat(n));
        }
        for start in (0..whole.len()).step_by(97) {
            let mut part = vec![0; 1000.min(whole.len() - start)];
            joined.read_at(start as u64, &mut part).unwrap();
            assert_eq!(part, whole[start..start + part.len()]);
        }
        assert!(joined.read_at(joined.n_bytes() - 1, &mut [0; 2]).is_err());
    }
}
