//! Identity of the file an index belongs to.

use crate::trace::args::Content;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use twox_hash::XxHash64;

/// Bytes sampled at both ends of a file.
const END_BYTES: u64 = 64 << 10;
/// Number of samples in between, and bytes of each.
const PLACES: u64 = 14;
const PLACE_BYTES: u64 = 4 << 10;

/// Identifies a file without reading all of it: a rewritten file has another modification time, a replaced one has other
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    pub file_bytes: u64,
    /// Modification time in milliseconds since the Unix epoch.
    pub modified_ms: u64,
    /// Hash of the samples.
    sample: u64,
}

impl Identity {
    /// Reads the samples of a file.
    pub fn of(file: &dyn Content, modified_ms: u64) -> io::Result<Identity> {
        let file_bytes = file.n_bytes();
        let mut hasher = XxHash64::with_seed(0);
        let mut bytes = Vec::new();
        for place in places(file_bytes) {
            bytes.resize((place.end - place.start) as usize, 0);
            file.read_at(place.start, &mut bytes)?;
            std::hash::Hasher::write(&mut hasher, &bytes);
        }
        Ok(Identity { file_bytes, modified_ms, sample: std::hash::Hasher::finish(&hasher) })
    }
}

/// All of a small file; of a large one both ends, and evenly spaced samples between them.
fn places(file_bytes: u64) -> Vec<Range<u64>> {
    if file_bytes <= 2 * END_BYTES + PLACES * PLACE_BYTES {
        return std::iter::once(0..file_bytes).collect();
    }
    let between = file_bytes - 2 * END_BYTES;
    let place = |i: u64| {
        let start = END_BYTES + (u128::from(between) * u128::from(2 * i + 1) / u128::from(2 * PLACES)) as u64;
        start..start + PLACE_BYTES.min(file_bytes - start)
    };
    let ends = [0..END_BYTES, file_bytes - END_BYTES..file_bytes];
    ends.into_iter().chain((0..PLACES).map(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_told_apart() {
        let file = |n: usize, at: usize| {
            let mut bytes = vec![b'x'; n];
            bytes[at] = b'y';
            Identity::of(&bytes, 7).unwrap()
        };
        assert_eq!(file(5_000_000, 3), file(5_000_000, 3));
        assert_ne!(file(5_000_000, 3), file(5_000_000, 4));
        assert_ne!(file(5_000_000, 3), file(5_000_000, 4_999_999));
        assert_ne!(file(5_000_000, 3), file(5_000_001, 3));
        assert_ne!(file(100_000, 50_000), file(100_000, 50_001));
        for n in [0, 1, 1000, 190_000, 1 << 20, 1 << 40] {
            assert!(places(n).iter().all(|place| place.start <= place.end && place.end <= n));
        }
    }
}
