//! Kernels fused by torch.compile and named after their operators: `triton_red_fused_add_mean_0`.

use super::count::{elements, plus, times};
use super::{Kind, Spec, Work};
use crate::gpu::op_args::{Input, OpArgs};

/// Operations per element, by word in the name. Those up to `embedding` are TraceLens'; it ignores the others, such as a cosine.
/// Words that only move or inspect data count as 0.
const OPERATIONS: [(&str, u64); 45] = [
    ("add", 1),
    ("sub", 1),
    ("mul", 1),
    ("div", 1),
    ("pow", 2),
    ("sqrt", 2),
    ("rsqrt", 2),
    ("exp", 4),
    ("log", 4),
    ("sigmoid", 4),
    ("tanh", 4),
    ("relu", 1),
    ("silu", 4),
    ("gelu", 8),
    ("mean", 1),
    ("sum", 1),
    ("var", 2),
    ("abs", 1),
    ("neg", 1),
    ("reciprocal", 2),
    ("ne", 1),
    ("eq", 1),
    ("lt", 1),
    ("gt", 1),
    ("_to_copy", 0),
    ("copy", 0),
    ("clone", 0),
    ("embedding", 0),
    ("ge", 1),
    ("le", 1),
    ("cos", 4),
    ("sin", 4),
    ("amax", 1),
    ("amin", 1),
    ("bitwise_and", 0),
    ("bitwise_not", 0),
    ("bitwise_or", 0),
    ("_unsafe_view", 0),
    ("view", 0),
    ("transpose", 0),
    ("unsqueeze", 0),
    // Names of several words, so that no single word is taken for an operation.
    ("index_add", 1),
    ("slice_scatter", 0),
    ("select_scatter", 0),
    ("embedding_dense_backward", 0),
];

/// FLOPs: those of the fused operators per element, with the number of elements from the last arguments (`xnumel`, and `rnumel` for
/// reductions). Bytes: all tensors once; for pointwise kernels also the result in the type of the first tensor, as it is written in
/// place of an input (TraceLens).
pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    let (is_reduction, rest) = match op.split_at_checked("triton_xxx_".len())? {
        ("triton_poi_", rest) => (false, rest),
        ("triton_red_" | "triton_per_", rest) => (true, rest),
        _ => return None,
    };
    let (fused, number) = rest.strip_prefix("fused_")?.rsplit_once('_')?;
    number.parse::<u64>().ok()?;
    let numbers: Vec<u64> = args.inputs.iter().filter_map(scalar).collect();
    let (x, r) = match (is_reduction, &numbers[..]) {
        (true, [.., x, r]) => (*x, *r),
        (_, [.., x]) => (*x, 1),
        _ => return None,
    };
    let flops = times(&[per_element(fused)?, x, r])?;
    let tensors = || args.inputs.iter().filter(|input| !input.dims.is_empty());
    let first = tensors().next()?;
    let size = |input: &Input| times(&[elements(&input.dims)?, input.dtype.size()?]);
    let read = tensors().try_fold(0, |sum, input| plus(&[Some(sum), size(input)]));
    let result = if is_reduction { Some(0) } else { first.dtype.size().and_then(|size| times(&[x, size])) };
    let work = Work::new(Kind::Fused, flops, plus(&[read, result]), Spec::vector(first.dtype));
    Some(work.with_facts(&[("x", x), ("r", r)]))
}

fn scalar(input: &Input) -> Option<u64> {
    u64::try_from(input.as_i64()?).ok()
}

/// Operations per element of all named operators. Unknown words are skipped.
fn per_element(names: &str) -> Option<u64> {
    let mut rest = names;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let named = |name: &&(&str, u64)| {
            rest.strip_prefix(name.0).is_some_and(|after| after.is_empty() || after.starts_with('_'))
        };
        // Longest match: `_unsafe_view` is not `view`.
        let len = match OPERATIONS.iter().filter(named).max_by_key(|(name, _)| name.len()) {
            Some((name, operations)) => {
                sum = sum.checked_add(*operations)?;
                name.len()
            }
            None => rest.char_indices().skip(1).find(|(_, c)| *c == '_').map_or(rest.len(), |(at, _)| at),
        };
        rest = &rest[len..];
        // One underscore separates two names; a second one belongs to the name after it.
        rest = rest.strip_prefix('_').unwrap_or(rest);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        for (names, operations) in [
            ("add_mean_mul_pow_rsqrt", 1 + 1 + 1 + 2 + 2),
            ("_unsafe_view_mul_silu", 5),
            ("_to_copy_add__unsafe_view", 1),
            ("bitwise_and_ge_lt_whatever_sub", 3),
            ("", 0),
            ("___", 0),
            ("ä_add", 1),
        ] {
            assert_eq!(per_element(names), Some(operations), "{names}");
        }
    }

    #[test]
    fn reductions_go_through_rows() {
        let bf16 = |dims: &'static [i64]| ("c10::BFloat16", dims, "");
        let args = test_args(&[bf16(&[4, 8]), bf16(&[4]), ("Scalar", &[], "4"), ("Scalar", &[], "8")]);
        let sum = work("triton_red_fused_mul_sum_3", &args).unwrap();
        assert_eq!((sum.flops, sum.bytes), (2 * 32, Some(36 * 2)));
        let args = test_args(&[bf16(&[4, 8]), bf16(&[4, 8]), ("Scalar", &[], "32")]);
        let add = work("triton_poi_fused_add_0", &args).unwrap();
        assert_eq!((add.flops, add.bytes), (32, Some(96 * 2)));
        assert_eq!(work("triton_poi_", &args), None);
        assert_eq!(work("triton_poi_fused_add_x", &args), None);
    }
}
