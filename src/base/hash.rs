//! Hash maps and sets that are safe with keys chosen by the author of a file.
//!
//! With a known hash function a file could choose keys that all collide, which makes filling a map take quadratic time. So
//! hashes are seeded with secrets, one per process and one per map. Nothing may depend on the iteration order of such a map;
//! it differs between runs.
//!
//! Use these for every map in the library, and [`Secret`] for tables with their own hashing.

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// Hash map with keys from a file.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Secret>;
/// Hash set with values from a file.
pub type HashSet<T> = std::collections::HashSet<T, Secret>;

/// Secret of one map; [`Secret::default`] makes a new one.
#[derive(Clone, Debug)]
pub struct Secret(SeedableRandomState);

impl Default for Secret {
    #[inline]
    fn default() -> Secret {
        Secret(SeedableRandomState::with_seed(next_number(), &process().1))
    }
}

impl BuildHasher for Secret {
    type Hasher = FoldHasher<'static>;

    #[inline(always)]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

impl Secret {
    /// Hash of `bytes`, whose lower 32 bits are as good as the upper ones.
    #[inline(always)]
    pub fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }
}

/// Source of all secrets of this process: a number, and a seed that hashes are mixed with.
static PROCESS: OnceLock<(u64, SharedSeed)> = OnceLock::new();

fn process() -> &'static (u64, SharedSeed) {
    PROCESS.get_or_init(|| with_number(RandomState::new().build_hasher().finish()))
}

fn with_number(number: u64) -> (u64, SharedSeed) {
    (number, SharedSeed::from_u64(number))
}

/// Sets the random number that secrets are derived from, before the first map is made; later calls have no effect. Native
/// programs get one from the system. WebAssembly has none in the standard library, so programs there ask the browser.
pub fn set_random(number: u64) {
    _ = PROCESS.set(with_number(number));
}

/// Random number, different each time, for tables with their own hashing.
#[inline]
pub fn next_number() -> u64 {
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    let number = LAST.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    LAST.set(number);
    // Mixed as in SplitMix64, so that consecutive numbers are unrelated.
    let number = number ^ process().0;
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_secrets_of_their_own() {
        let hashes: Vec<u64> = (0..100).map(|_| Secret::default().hash_one(7u64)).collect();
        assert!((1..100).all(|at| !hashes[..at].contains(&hashes[at])));
        let texts: Vec<u64> = (0..100).map(|_| Secret::default().hash_bytes(b"a text")).collect();
        assert!((1..100).all(|at| !texts[..at].contains(&texts[at])));
    }
}
