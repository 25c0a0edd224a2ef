//! Zip archives: which files are in one and where their bytes lie, and new ones.
//!
//! Only the central directory of an archive is read, so one of many gigabytes costs no more than its list. What lies in it as it
//! is (`Stored`) is read where it lies; what is packed is unpacked piece by piece ([`unpack`]), or handed on as the gzip file
//! that it almost is ([`gzip_ends`]). Nothing is ever written to the paths that stand in an archive.
//!
//! Tar archives are for folders that are read as one file ([`tar`]).

mod list;
pub mod tar;
mod unpack;
mod write;

pub use list::{Archive, Entry, LeftOut, Packing, list};
pub use unpack::{GZIP_HEAD_BYTES, gzip_ends, unpack};
pub use write::{ArchiveWriter, Effort, write};

/// Whether content that starts with `head` is an archive.
pub fn is_archive(head: &[u8]) -> bool {
    // The second one is that of an archive without files.
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(archive: &[u8], entry: &Entry) -> Vec<u8> {
        let mut out = Vec::new();
        unpack(&archive.to_vec(), entry, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        out
    }

    fn written(files: &[(&str, &[u8])]) -> Vec<u8> {
        let files = files.iter().map(|(path, bytes)| (path.to_string(), *bytes));
        write(files, 1_600_000_000_000, Vec::new()).unwrap()
    }

    fn text() -> Vec<u8> {
        (0..40_000u32).flat_map(|i| i.wrapping_mul(i).to_string().into_bytes()).collect()
    }

    #[test]
    fn what_is_written_is_listed_and_unpacked() {
        let text = text();
        let files: [(&str, &[u8]); 3] = [
            ("run é/trace.parquet", b"PAR1 and so on"),
            ("run é/metrics.csv", &text),
            ("run é/figures/a.svg", b""),
        ];
        let archive = written(&files);
        assert!(is_archive(&archive));
        let found = list(&archive).unwrap();
        assert!(found.left_out.is_empty() && !found.is_cut);
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["run é/figures/a.svg", "run é/metrics.csv", "run é/trace.parquet"]);
        assert_eq!(found.files[2].packing, Packing::Stored);
        for entry in &found.files {
            let (_, bytes) = files.iter().find(|(name, _)| entry.path.ends_with(name)).unwrap();
            assert_eq!(bytes_of(&archive, entry), *bytes, "{}", entry.path);
            assert_eq!(entry.n_bytes, bytes.len() as u64);
        }
        // Unpacking takes no more than was promised, and notices what was changed.
        let csv = found.files[1].clone();
        let short = Entry { n_bytes: 10, ..csv.clone() };
        assert!(unpack(&archive, &short, &mut |_| Ok(())).unwrap_err().contains("larger"));
        let mut changed = archive.clone();
        changed[csv.range.start as usize + 100] ^= 1;
        assert!(unpack(&changed, &csv, &mut |_| Ok(())).is_err());
    }

    #[test]
    fn packed_files_are_almost_gzip_files() {
        use std::io::Read;
        let text = text();
        let archive = written(&[("a.json", &text)]);
        let entry = &list(&archive).unwrap().files[0];
        let (head, tail) = gzip_ends(entry).unwrap();
        let packed = &archive[entry.range.start as usize..entry.range.end as usize];
        let gzip = [head.as_slice(), packed, tail.as_slice()].concat();
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(gzip.as_slice()).read_to_end(&mut back).unwrap();
        assert!(back == text);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        for bytes in [&b""[..], b"PK\x03\x04", b"PK\x05\x06 and no more", &[0; 100]] {
            assert!(list(&bytes.to_vec()).is_err());
        }
        let archive = written(&[("a/b.json", b"[1, 2, 3]")]);
        for end in 0..archive.len() {
            assert!(list(&archive[..end].to_vec()).is_err());
        }
    }

    #[test]
    fn encrypted_files_and_those_that_lie_over_others_are_left_out() {
        let archive = written(&[("a/b.json", b"[1]"), ("a/c.json", b"[2]")]);
        let fours = archive.windows(4).enumerate();
        let entries: Vec<usize> =
            fours.filter(|(_, four)| *four == b"PK\x01\x02").map(|(at, _)| at).collect();
        let mut encrypted = archive.clone();
        encrypted[entries[0] + 8] |= 1;
        let found = list(&encrypted).unwrap();
        assert_eq!((found.files.len(), found.left_out.len()), (1, 1));
        assert!(found.left_out[0].why.contains("encrypted"));
        // Both entries point at the first file.
        let mut twice = archive.clone();
        twice[entries[1] + 42..entries[1] + 46].copy_from_slice(&[0; 4]);
        let found = list(&twice).unwrap();
        assert_eq!(found.files.len(), 1);
        assert!(found.left_out[0].why.contains("overlaps"), "{:?}", found.left_out);
    }
}
