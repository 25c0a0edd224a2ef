//! What is taken along of the arguments of calls and of work on a GPU: see [`crate::trace::links`].
//!
//! Categories and keys are those of the PyTorch profiler, today's and those of 2021.

use crate::base::json::Number;
use crate::base::strings::{StringId, StringTable};
use crate::trace::builder::for_each_member;
use crate::trace::links::{Link, LinkTable};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Categories of events whose links are of use.
const LINKED: &[&str] = &[
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cuda_runtime",
    "cuda_driver",
    "cuda_sync",
    "user_annotation",
    "gpu_user_annotation",
    "mtia_ccp_events",
    "mtia_runtime",
    "Kernel",
    "Memcpy",
    "Memset",
    "Runtime",
];

/// Those of them that are kernels.
const KERNELS: &[&str] = &["kernel", "Kernel"];

/// Categories of operators.
const OPERATORS: &[&str] = &["cpu_op", "Operator"];

/// What is taken along of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linked {
    No,
    /// Ids, stream and bytes.
    Ids,
    /// The same, and a hash of how a kernel was launched.
    Kernel,
    /// A hash of the inputs of an operator.
    Inputs,
}

/// Knows what is taken along of events of a category, by its number.
#[derive(Default)]
pub struct LinkedCategories {
    /// `None` where not yet looked at.
    by_id: Vec<Option<Linked>>,
}

impl LinkedCategories {
    /// What is to be taken along of events of that category.
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
        } else if LINKED.contains(&text) {
            Linked::Ids
        } else if OPERATORS.contains(&text) {
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

/// A hash of the inputs that an operator's arguments name. `None` if they name none.
pub fn signature_of(args: &[u8]) -> Option<u64> {
    let mut hash = 0u64;
    for_each_member(args, |key, value| {
        // Members may come in any order, so each is hashed by itself.
        let seed = match key.bytes {
            b"Input Dims" | b"Input dims" => 1,
            b"Input type" => 2,
            b"Input Strides" => 3,
            b"Concrete Inputs" => 4,
            _ => return,
        };
        hash = hash.wrapping_add(hash_of(seed, value));
    });
    (hash != 0).then_some(hash)
}

/// 0 stands for none.
fn hash_of(seed: u8, value: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(seed);
    hasher.write(value);
    hasher.finish() | 1
}

/// The link that arguments hold; `None` if they hold none.
pub fn link_of(args: &[u8]) -> Option<Link> {
    link_and(args, |_, _| {})
}

/// The same of a kernel, and a hash of its launch configuration, if it names one.
pub fn link_of_kernel(args: &[u8]) -> (Option<Link>, Option<u64>) {
    let mut hash = 0u64;
    let link = link_and(args, |key, value| {
        let seed = match key {
            b"grid" => 1,
            b"block" => 2,
            b"registers per thread" => 3,
            b"shared memory" => 4,
            _ => return,
        };
        hash = hash.wrapping_add(hash_of(seed, value));
    });
    (link, (hash != 0).then_some(hash))
}

/// `rest` is given the other members.
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
        let a = signature_of(br#"{"Ev Idx": 1, "Input Dims": [[2, 3]], "Input type": ["float"]}"#);
        let b = signature_of(br#"{"Input type": ["float"], "Input Dims": [[2, 3]], "Ev Idx": 2}"#);
        let c = signature_of(br#"{"Input type": ["float"], "Input Dims": [[3, 2]]}"#);
        assert!(a.is_some() && a == b && a != c);
        assert_eq!(signature_of(br#"{"Ev Idx": 1}"#), None);
    }

    #[test]
    fn kernels_that_are_launched_alike_have_equal_signatures() {
        let of = |args: &str| link_of_kernel(args.as_bytes()).1;
        let a = of(r#"{"correlation": 1, "grid": [8, 1, 1], "block": [128, 1, 1], "queued": 0}"#);
        let b = of(r#"{"block": [128, 1, 1], "grid": [8, 1, 1], "correlation": 2}"#);
        let c = of(r#"{"grid": [128, 1, 1], "block": [8, 1, 1]}"#);
        assert!(a.is_some() && a == b && a != c);
        assert_eq!(link_of_kernel(br#"{"correlation": 3}"#), (link_of(br#"{"correlation": 3}"#), None));
    }

    #[test]
    fn ids_are_taken_as_numbers_and_as_texts() {
        let link = link_of(br#"{"x": {"correlation": 1}, "External id": "7", "stream": 3, "correlation": 9, "bytes": "128"}"#);
        assert_eq!(link, Some(Link { correlation: 9, external: 7, stream: 3, bytes: 128 }));
        assert_eq!(link_of(br#"{"x": 1}"#), None);
        assert_eq!(link_of(br#"{"stream": null, "bytes": 1e400, "correlation": [9]}"#), None);
    }
}
