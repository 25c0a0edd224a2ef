//! Arguments of GPU calls, kernels and copies that are extracted while scanning: see [`crate::trace::links`].
//!
//! Categories and keys are those of the PyTorch profiler, current ones and those of 2021.

use crate::base::json::Number;
use crate::base::strings::{StringId, StringTable};
use crate::trace::args::MAX_MARKED_BYTES;
use crate::trace::builder::for_each_member;
use crate::trace::links::{CALL_CATEGORIES, Link, LinkTable, OPERATOR_CATEGORIES};
use twox_hash::XxHash64;

/// Categories of events with useful links, other than calls, kernels and copies.
const LINKED: &[&str] = &["cuda_sync", "user_annotation", "gpu_user_annotation", "mtia_ccp_events"];

/// Categories of kernels.
const KERNELS: &[&str] = &["kernel", "Kernel"];

/// Categories of copies and memsets.
const COPIES: &[&str] = &["gpu_memcpy", "gpu_memset", "Memcpy", "Memset"];

/// Arguments extracted from an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linked {
    No,
    /// Ids, stream and bytes.
    Ids,
    /// Like `Ids`, plus a hash of the launch configuration.
    Kernel,
    /// Like `Ids`, plus the bandwidth a copy claims.
    Copy,
    /// A hash of the inputs of an operator.
    Inputs,
}

/// Kind of extraction by category id.
#[derive(Default)]
pub struct LinkedCategories {
    /// `None` if not yet looked up.
    by_id: Vec<Option<Linked>>,
}

impl LinkedCategories {
    /// Kind of extraction for a category.
    #[inline]
    pub fn get(&mut self, category: StringId, strings: &StringTable) -> Linked {
        match self.by_id.get(category.0 as usize) {
            Some(Some(known)) => *known,
            _ if category.is_none() => Linked::No,
            _ => self.look(category, strings),
        }
    }

    #[cold]
    fn look(&mut self, category: StringId, strings: &StringTable) -> Linked {
        let text = strings.get(category);
        let known = if KERNELS.contains(&text) {
            Linked::Kernel
        } else if COPIES.contains(&text) {
            Linked::Copy
        } else if LINKED.contains(&text) || CALL_CATEGORIES.contains(&text) {
            Linked::Ids
        } else if OPERATOR_CATEGORIES.contains(&text) {
            Linked::Inputs
        } else {
            Linked::No
        };
        let at = category.0 as usize;
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, None);
        }
        self.by_id[at] = Some(known);
        known
    }
}

/// Arguments extracted from one event.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Taken {
    pub link: Option<Link>,
    /// See [`crate::trace::links::SignatureTable`].
    pub signature: Option<u64>,
    /// The arguments are worth keeping whole: reports need them for every event of this kind, and reading each from the file
    /// again is slow.
    pub keep: bool,
}

/// Extracts from the arguments of an event of a linked category.
pub fn taken_of(linked: Linked, args: &[u8]) -> Taken {
    let taken = match linked {
        Linked::No => Taken::default(),
        Linked::Ids => {
            let (mut hash, mut keep) = (0u64, false);
            let link = link_and(args, |key, value| match launch_seed(key) {
                // ROCm writes grid and block with the call, and not always with the kernel too. Its shared memory is only what
                // is requested in addition to the kernel's own.
                Some(seed @ 1..=2) => hash = hash.wrapping_add(hash_of(seed, value)),
                Some(_) => {}
                // Among ranges, those of collectives have inputs.
                None => {
                    keep |= key.starts_with(b"wait_on_") || key == b"Input Dims" || is_of_collective(key);
                }
            });
            Taken { link, signature: (hash != 0).then_some(hash), keep }
        }
        Linked::Kernel => of_kernel(args),
        Linked::Copy => of_copy(args),
        Linked::Inputs => of_operator(args),
    };
    Taken { keep: taken.keep && args.len() <= MAX_MARKED_BYTES, ..taken }
}

/// Whether only collectives have this key, which reports need of their kernels and operators.
fn is_of_collective(key: &[u8]) -> bool {
    matches!(
        key,
        b"Collective name"
            | b"dtype"
            | b"In msg nelems"
            | b"Out msg nelems"
            | b"Group size"
            | b"Process Group Name"
            | b"Process Group Description"
            | b"Process Group Ranks"
            | b"Seq"
    )
}

/// Hash of the inputs of an operator, if it states any.
fn of_operator(args: &[u8]) -> Taken {
    let mut hash = 0u64;
    let mut keep = false;
    for_each_member(args, |key, value| {
        // Members come in any order, so each is hashed separately.
        let seed = match key.bytes {
            b"Input Dims" | b"Input dims" => 1,
            b"Input type" => 2,
            b"Input Strides" => 3,
            b"Concrete Inputs" => 4,
            key => return keep |= is_of_collective(key),
        };
        hash = hash.wrapping_add(hash_of(seed, value));
    });
    Taken { link: None, signature: (hash != 0).then_some(hash), keep }
}

/// Stable across machines, since parts come from other workers and indexes store it. 0 means none.
fn hash_of(seed: u8, value: &[u8]) -> u64 {
    XxHash64::oneshot(u64::from(seed), value) | 1
}

/// Hash seed of a member of the launch configuration.
fn launch_seed(key: &[u8]) -> Option<u8> {
    match key {
        b"grid" => Some(1),
        b"block" => Some(2),
        b"registers per thread" => Some(3),
        b"shared memory" => Some(4),
        _ => None,
    }
}

/// Ids, and a hash of the launch configuration if the kernel states one.
fn of_kernel(args: &[u8]) -> Taken {
    let mut hash = 0u64;
    let mut keep = false;
    let link = link_and(args, |key, value| match launch_seed(key) {
        Some(seed) => hash = hash.wrapping_add(hash_of(seed, value)),
        None => keep |= is_of_collective(key),
    });
    Taken { link, signature: (hash != 0).then_some(hash), keep }
}

/// Ids, and the bits of the bandwidth in GB/s that a copy claims.
fn of_copy(args: &[u8]) -> Taken {
    let mut signature = None;
    let link = link_and(args, |key, value| {
        if key == b"memory bandwidth (GB/s)"
            && let Ok(Ok(rate)) = std::str::from_utf8(value).map(|text| text.trim_matches('"').parse::<f64>())
            && rate.is_finite()
            && rate > 0.0
        {
            signature = Some(rate.to_bits());
        }
    });
    Taken { link, signature, keep: false }
}

/// Extracts ids; passes the other members to `rest`.
fn link_and(args: &[u8], mut rest: impl FnMut(&[u8], &[u8])) -> Option<Link> {
    const NONE: i64 = LinkTable::NONE;
    let mut link = Link { correlation: NONE, external: NONE, stream: LinkTable::NO_STREAM, bytes: NONE };
    for_each_member(args, |key, value| match key.bytes {
        b"correlation" => link.correlation = Number::as_i64_or_text(value).unwrap_or(NONE),
        b"External id" | b"external id" => link.external = Number::as_i64_or_text(value).unwrap_or(NONE),
        b"bytes" => link.bytes = Number::as_i64_or_text(value).unwrap_or(NONE),
        b"stream" => {
            link.stream = Number::as_i64_or_text(value)
                .and_then(|value| i32::try_from(value).ok())
                .unwrap_or(LinkTable::NO_STREAM);
        }
        key => rest(key, value),
    });
    let is_empty = link.correlation == NONE
        && link.external == NONE
        && link.bytes == NONE
        && link.stream == LinkTable::NO_STREAM;
    (!is_empty).then_some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_equal_inputs_have_equal_signatures() {
        let of = |args: &[u8]| taken_of(Linked::Inputs, args);
        let a = of(br#"{"Ev Idx": 1, "Input Dims": [[2, 3]], "Input type": ["float"]}"#);
        let b = of(br#"{"Input type": ["float"], "Input Dims": [[2, 3]], "Ev Idx": 2}"#);
        let c = of(br#"{"Input type": ["float"], "Input Dims": [[3, 2]]}"#);
        assert!(a.signature.is_some() && a == b && a != c);
        assert_eq!(of(br#"{"Ev Idx": 1}"#), Taken::default());
    }

    #[test]
    fn kernels_that_are_launched_alike_have_equal_signatures() {
        let of = |args: &str| taken_of(Linked::Kernel, args.as_bytes()).signature;
        let a = of(r#"{"correlation": 1, "grid": [8, 1, 1], "block": [128, 1, 1], "queued": 0}"#);
        let b = of(r#"{"block": [128, 1, 1], "grid": [8, 1, 1], "correlation": 2}"#);
        let c = of(r#"{"grid": [128, 1, 1], "block": [8, 1, 1]}"#);
        assert!(a.is_some() && a == b && a != c);
        let plain = br#"{"correlation": 3}"#;
        assert_eq!(taken_of(Linked::Kernel, plain), taken_of(Linked::Ids, plain));
    }

    #[test]
    fn copies_claim_bandwidths() {
        let of = |args: &str| taken_of(Linked::Copy, args.as_bytes()).signature.map(f64::from_bits);
        assert_eq!(of(r#"{"bytes": 8, "memory bandwidth (GB/s)": 12.5}"#), Some(12.5));
        assert_eq!(of(r#"{"memory bandwidth (GB/s)": "0.25"}"#), Some(0.25));
        assert_eq!(of(r#"{"memory bandwidth (GB/s)": 0}"#), None);
        assert_eq!(of(r#"{"memory bandwidth (GB/s)": 1e999}"#), None);
    }

    #[test]
    fn what_reports_look_at_each_time_is_kept() {
        let keeps = |linked, args: &str| taken_of(linked, args.as_bytes()).keep;
        assert!(keeps(Linked::Kernel, r#"{"Collective name": "allreduce"}"#));
        assert!(keeps(Linked::Inputs, r#"{"Collective name": "allreduce"}"#));
        assert!(keeps(Linked::Ids, r#"{"wait_on_stream": 7}"#));
        assert!(!keeps(Linked::Kernel, r#"{"grid": [1, 1, 1]}"#));
        assert!(!keeps(
            Linked::Kernel,
            &format!(r#"{{"Collective name": "{}"}}"#, "x".repeat(MAX_MARKED_BYTES))
        ));
    }

    #[test]
    fn ids_are_taken_as_numbers_and_as_texts() {
        let link_of = |args: &[u8]| taken_of(Linked::Ids, args).link;
        let link = link_of(br#"{"x": {"correlation": 1}, "External id": "7", "stream": 3, "correlation": 9, "bytes": "128"}"#);
        assert_eq!(link, Some(Link { correlation: 9, external: 7, stream: 3, bytes: 128 }));
        assert_eq!(link_of(br#"{"x": 1}"#), None);
        assert_eq!(link_of(br#"{"stream": null, "bytes": 1e400, "correlation": [9]}"#), None);
    }
}
