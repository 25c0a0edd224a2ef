//! Elementwise operations and reductions.

use super::count::{dim, elements, plus, times};
use super::{Kind, Spec, Work};
use crate::gpu::op_args::{DType, Input, OpArgs};

pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    let name = op.strip_prefix("aten::").unwrap_or(op);
    // In-place variants only differ by a trailing underscore.
    match name.strip_suffix('_').unwrap_or(name) {
        "copy" => Some(Work { only_moves: true, ..unary(args)? }),
        "clamp_min" | "clamp_max" | "sigmoid" | "rsqrt" | "silu" | "neg" | "pow" | "abs" | "cos" | "exp"
        | "gelu" | "log" | "reciprocal" | "relu" | "sin" | "sqrt" | "tanh" => unary(args),
        "clamp" => one_to_one(args, args.dtype(0)),
        "add"
        | "sub"
        | "mul"
        | "div"
        | "sigmoid_backward"
        | "threshold_backward"
        | "LigerSiLUMulFunction" => binary(args, None),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => binary(args, Some(DType::Bool)),
        "maximum" | "minimum" => binary(args, None),
        "upsample_nearest2d" => upsample(args),
        // With two tensors these give the larger or smaller of each pair.
        "max" | "min" if args.shape(1).is_some() => binary(args, None),
        "max" | "min" => reduction(args, 1, true),
        "sum" | "mean" | "std" | "var" | "logsumexp" | "amin" | "amax" => reduction(args, 1, false),
        "norm" | "linalg_norm" => reduction(args, 2, false),
        "cumsum" | "cumprod" => running(args),
        _ => None,
    }
}

/// A tensor, possibly without dimensions.
fn tensor(args: &OpArgs, at: usize) -> Option<&Input> {
    args.get(at).filter(|input| input.is_tensor() || !input.dims.is_empty())
}

/// One operation per element, each read and written once; written in the type of the second tensor if there is one (as in
/// `aten::copy_`), else in the input type (TraceLens' unary elementwise).
fn unary(args: &OpArgs) -> Option<Work> {
    let out = if args.shape(1).is_some() { args.dtype(1) } else { args.dtype(0) };
    one_to_one(args, out)
}

fn one_to_one(args: &OpArgs, out: DType) -> Option<Work> {
    let input = tensor(args, 0)?;
    let n = elements(&input.dims)?;
    let bytes = match (input.dtype.size(), out.size()) {
        (Some(read), Some(written)) => times(&[n, read + written]),
        _ => None,
    };
    Some(Work::new(Kind::Elementwise, n, bytes, Spec::vector(input.dtype)).with_facts(&[("n", n)]))
}

/// One operation per element of the result, which has the broadcast shape; both inputs are read and the result is written
/// (specification Part C).
/// The result type is that of a third tensor if there is one, else the larger of the two, or the first if one of the two is a
/// scalar (TraceLens' binary elementwise).
fn binary(args: &OpArgs, out: Option<DType>) -> Option<Work> {
    let (a, b) = (tensor(args, 0)?, args.get(1)?);
    let n = elements(&broadcast(&a.dims, &b.dims)?)?;
    let (of_a, of_b) = (a.dtype.size(), b.dtype.size());
    let of_out = match (out, args.shape(2)) {
        (Some(out), _) => out.size(),
        (None, Some(_)) => args.dtype(2).size(),
        (None, None) if !a.dims.is_empty() && !b.dims.is_empty() => of_a.max(of_b),
        (None, None) => of_a,
    };
    let bytes = match (of_a, of_b, of_out) {
        (Some(of_a), Some(of_b), Some(of_out)) => plus(&[
            times(&[elements(&a.dims)?, of_a]),
            times(&[elements(&b.dims)?, of_b]),
            times(&[n, of_out]),
        ]),
        _ => None,
    };
    Some(Work::new(Kind::Elementwise, n, bytes, Spec::vector(a.dtype)).with_facts(&[("n", n)]))
}

/// Broadcast shape of two, as in PyTorch; `None` if they don't broadcast.
pub(super) fn broadcast(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut shape = long.to_vec();
    let from = long.len() - short.len();
    for (of_long, of_short) in shape[from..].iter_mut().zip(short) {
        match (*of_long, *of_short) {
            (long, short) if long == short || short == 1 => {}
            (1, short) => *of_long = short,
            _ => return None,
        }
    }
    Some(shape)
}

/// One operation per element of the result, whose height and width are given or computed from factors; input and output are moved
/// once.
fn upsample(args: &OpArgs) -> Option<Work> {
    let input = args.shape(0).filter(|shape| shape.len() == 4)?;
    let (height, width) = (dim(input, 2)?, dim(input, 3)?);
    let given = args.get(1).and_then(Input::as_list).filter(|list| list.len() == 2);
    let sizes = match given {
        Some(list) => (dim(&list, 0)?, dim(&list, 1)?),
        None => {
            let (down, across) = factors(&args.get(2)?.concrete)?;
            (scaled(height, down)?, scaled(width, across)?)
        }
    };
    let out = times(&[dim(input, 0)?, dim(input, 1)?, sizes.0, sizes.1])?;
    let dtype = args.dtype(0);
    let bytes = dtype.size().and_then(|size| times(&[plus(&[elements(input), Some(out)])?, size]));
    Some(Work::new(Kind::Elementwise, out, bytes, Spec::vector(dtype)).with_facts(&[("n", out)]))
}

/// `[2., 2.]`
fn factors(text: &str) -> Option<(f64, f64)> {
    let (down, across) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    Some((down.trim().parse().ok()?, across.trim().parse().ok()?))
}

/// The size, rounded down as in PyTorch.
fn scaled(size: u64, factor: f64) -> Option<u64> {
    let scaled = size as f64 * factor;
    // Larger ones are not plausible.
    (0.0..1e15).contains(&scaled).then_some(scaled as u64)
}

/// One operation per input element; the input is read and the result written in the input type.
///
/// The argument at `dims` lists the reduced dimensions; all of them if missing. It must be a list, since a number is a type or a
/// correction, except for operators where it `may_be_one`. TraceLens always assumes a single result element, as it doesn't find the
/// dimensions.
fn reduction(args: &OpArgs, dims: usize, may_be_one: bool) -> Option<Work> {
    let input = tensor(args, 0)?;
    let n = elements(&input.dims)?;
    let gone = args.get(dims).filter(|dims| may_be_one || dims.concrete.starts_with('['));
    let gone = gone.and_then(Input::as_list).unwrap_or_default();
    let left = remaining(&input.dims, &gone)?;
    reduced(input, n, left)
}

/// Running sums keep the number of elements.
fn running(args: &OpArgs) -> Option<Work> {
    let input = tensor(args, 0)?;
    let n = elements(&input.dims)?;
    reduced(input, n, n)
}

fn reduced(input: &Input, n: u64, left: u64) -> Option<Work> {
    let bytes = input.dtype.size().and_then(|size| times(&[n.checked_add(left)?, size]));
    let work = Work::new(Kind::Reduction, n, bytes, Spec::vector(input.dtype));
    Some(work.with_facts(&[("n", n), ("left", left)]))
}

/// Number of elements without these dimensions; negative ones count from the end, an empty list means all. `None` if the tensor has
/// no such dimension.
fn remaining(shape: &[i64], gone: &[i64]) -> Option<u64> {
    if gone.is_empty() || shape.is_empty() {
        return Some(1);
    }
    let rank = shape.len() as i64;
    if gone.iter().any(|dim| !(-rank..rank).contains(dim)) {
        return None;
    }
    let is_gone = |at: usize| gone.iter().any(|dim| *dim == at as i64 || *dim == at as i64 - rank);
    let left: Vec<i64> =
        shape.iter().enumerate().filter(|(at, _)| !is_gone(*at)).map(|(_, size)| *size).collect();
    elements(&left)
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    fn numbers(op: &str, inputs: &[(&str, &[i64], &str)]) -> (u64, Option<u64>) {
        let work = work(op, &test_args(inputs)).unwrap();
        (work.flops, work.bytes)
    }

    #[test]
    fn one_tensor() {
        let bf16 = ("c10::BFloat16", &[2, 3][..], "");
        assert_eq!(numbers("aten::silu", &[bf16]), (6, Some(24)));
        assert_eq!(numbers("aten::copy_", &[bf16, ("float", &[2, 3], "")]), (6, Some(36)));
        assert_eq!(numbers("aten::copy_", &[("bool", &[], ""), ("bool", &[], "")]), (1, Some(2)));
        assert_eq!(work("aten::silu", &OpArgs::default()), None);
    }

    #[test]
    fn two_tensors() {
        let a = ("c10::BFloat16", &[2, 1, 3][..], "");
        assert_eq!(numbers("aten::add", &[a, ("float", &[4, 1], "")]), (24, Some(12 + 16 + 24 * 4)));
        assert_eq!(numbers("aten::div_", &[a, ("Scalar", &[], "2")]), (6, Some(12 + 4 + 12)));
        assert_eq!(numbers("aten::gt", &[a, ("Scalar", &[], "2")]), (6, Some(12 + 4 + 6)));
        assert_eq!(work("aten::add", &test_args(&[a, ("float", &[2], "")])), None);
    }

    #[test]
    fn sums() {
        let a = ("float", &[2, 3, 4][..], "");
        assert_eq!(numbers("aten::sum", &[a, ("", &[], "")]), (24, Some(25 * 4)));
        assert_eq!(numbers("aten::mean", &[a, ("ScalarList", &[], "[-1, 0]")]), (24, Some(27 * 4)));
        assert_eq!(numbers("aten::cumsum", &[a, ("Scalar", &[], "0")]), (24, Some(48 * 4)));
        assert_eq!(
            numbers("aten::norm", &[a, ("Scalar", &[], "2"), ("ScalarList", &[], "[1]")]).1,
            Some(32 * 4)
        );
        assert_eq!(numbers("aten::sum", &[a, ("Scalar", &[], "6")]), (24, Some(25 * 4)));
        assert_eq!(numbers("aten::max", &[a, ("Scalar", &[], "-1")]), (24, Some(30 * 4)));
        assert_eq!(work("aten::max", &test_args(&[a, ("Scalar", &[], "3")])), None);
        assert_eq!(numbers("aten::min", &[a, a]), (24, Some(72 * 4)));
    }

    #[test]
    fn larger_pictures() {
        let a = ("c10::Half", &[1, 2, 3, 4][..], "");
        let none = ("", &[][..], "");
        let (out, bytes) = (48 * 2, Some((24 + 48 * 2) * 2));
        assert_eq!(
            numbers("aten::upsample_nearest2d", &[a, none, ("ScalarList", &[], "[2., 2.]")]),
            (out, bytes)
        );
        assert_eq!(numbers("aten::upsample_nearest2d", &[a, ("ScalarList", &[], "[6, 8]")]), (out, bytes));
        let odd = [a, none, ("ScalarList", &[][..], "[nan, 1e300]")];
        assert_eq!(work("aten::upsample_nearest2d", &test_args(&odd)), None);
    }
}
