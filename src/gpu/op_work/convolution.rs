//! Convolutions in any number of dimensions.

use super::count::{dim, elements, plus, times};
use super::{Kind, Spec, Work};
use crate::gpu::op_args::{Input, OpArgs};

/// Indices of the arguments of an operator. The weights follow the input.
struct Form {
    input: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
    transposed: Option<usize>,
    output_padding: Option<usize>,
    groups: usize,
    /// Requested gradients: of the input, the weights, the bias.
    mask: Option<usize>,
}

fn form(op: &str) -> Option<Form> {
    let forward = Form {
        input: 0,
        stride: 3,
        padding: 4,
        dilation: 5,
        transposed: None,
        output_padding: None,
        groups: 6,
        mask: None,
    };
    Some(match op {
        "aten::convolution" | "aten::_convolution" => {
            Form { transposed: Some(6), output_padding: Some(7), groups: 8, ..forward }
        }
        "aten::conv1d" | "aten::conv2d" | "aten::conv3d" => forward,
        "aten::cudnn_convolution" => Form { padding: 2, stride: 3, dilation: 4, groups: 5, ..forward },
        "aten::miopen_convolution" => Form { padding: 3, stride: 4, dilation: 5, groups: 6, ..forward },
        "aten::convolution_backward" => Form {
            input: 1,
            stride: 4,
            padding: 5,
            dilation: 6,
            transposed: Some(7),
            output_padding: Some(8),
            groups: 9,
            mask: Some(10),
        },
        _ => return None,
    })
}

/// Forward 2 · output elements · (C_in ÷ groups) · kernel volume, or · input elements · C_out ÷ groups if transposed;
/// bytes of input, weights and output (specification Part C). A bias is not counted.
/// Backward the same for each requested gradient: of the input and of the weights.
pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    let form = form(op)?;
    let (x, w) = (args.shape(form.input)?, args.shape(form.input + 1)?);
    if x.len() != w.len() || !(3..=5).contains(&x.len()) {
        return None;
    }
    let is_transposed = form.transposed.is_some_and(|at| args.get(at).and_then(Input::as_bool) == Some(true));
    let groups = u64::try_from(args.get(form.groups)?.as_i64()?).ok()?;
    let spatial = output_sizes(args, &form, x, w, is_transposed)?;
    let channels = if is_transposed { times(&[dim(w, 1)?, groups])? } else { dim(w, 0)? };
    let out = times(&[dim(x, 0)?, channels, times(&spatial)?])?;
    let (x_elements, w_elements) = (elements(x)?, elements(w)?);
    let over = if is_transposed { x_elements } else { out };
    let one = times(&[2, over, elements(&w[1..])?])?;
    let passes = match form.mask {
        Some(at) => gradients(args.get(at)),
        None => 1,
    };
    let moved = plus(&[Some(x_elements), Some(w_elements), Some(out)])?;
    let dtype = args.dtype(form.input);
    let bytes = dtype.size().and_then(|size| times(&[passes, moved, size]));
    let work = Work::new(Kind::Convolution, times(&[passes, one])?, bytes, Spec::matrix(dtype));
    Some(work.with_facts(&[
        ("batch", dim(x, 0)?),
        ("c_in", dim(x, 1)?),
        ("c_out", channels),
        ("kernel", elements(&w[2..])?),
        ("output", times(&spatial)?),
        ("groups", groups),
    ]))
}

/// Number of requested gradients of input and weights; both if not recorded.
fn gradients(mask: Option<&Input>) -> u64 {
    match mask.and_then(Input::as_bools) {
        Some(mask) => mask.iter().take(2).filter(|wanted| **wanted).count() as u64,
        None => 2,
    }
}

/// Output dimensions after batch and channels.
///
/// ⌊(in + 2·padding − dilation·(kernel − 1) − 1) ÷ stride⌋ + 1, and where transposed
/// (in − 1)·stride − 2·padding + dilation·(kernel − 1) + output padding + 1.
fn output_sizes(args: &OpArgs, form: &Form, x: &[i64], w: &[i64], transposed: bool) -> Option<Vec<u64>> {
    let n = x.len() - 2;
    let stride = parameter(args, form.stride, 1, n)?;
    let padding = parameter(args, form.padding, 0, n)?;
    let dilation = parameter(args, form.dilation, 1, n)?;
    let extra = match form.output_padding {
        Some(at) => parameter(args, at, 0, n)?,
        None => vec![0; n],
    };
    let size = |i: usize| {
        let reach = dilation[i].checked_mul(w[i + 2].checked_sub(1)?)?;
        let pad = padding[i].checked_mul(2)?;
        let size = if transposed {
            let spread = x[i + 2].checked_sub(1)?.checked_mul(stride[i])?;
            spread.checked_sub(pad)?.checked_add(reach)?.checked_add(extra[i])?.checked_add(1)?
        } else {
            let room = x[i + 2].checked_add(pad)?.checked_sub(reach)?.checked_sub(1)?;
            if room < 0 || stride[i] < 1 {
                return None;
            }
            room / stride[i] + 1
        };
        u64::try_from(size).ok()
    };
    (0..n).map(size).collect()
}

/// One number per dimension; a single one applies to all. Fails if not recorded.
fn parameter(args: &OpArgs, at: usize, default: i64, n: usize) -> Option<Vec<i64>> {
    let input = args.get(at)?;
    let list = if input.concrete.is_empty() && input.type_name.is_empty() {
        vec![default]
    } else {
        input.as_list()?
    };
    match list[..] {
        [one] => Some(vec![one; n]),
        _ if list.len() == n => Some(list),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    fn inputs(transposed: &'static str) -> Vec<(&'static str, &'static [i64], &'static str)> {
        vec![
            ("float", &[2, 4, 9, 9], ""),
            ("float", &[6, 2, 3, 3], ""),
            ("", &[], ""),
            ("ScalarList", &[], "[2, 2]"),
            ("ScalarList", &[], "[1]"),
            ("ScalarList", &[], "[1, 1]"),
            ("Scalar", &[], transposed),
            ("ScalarList", &[], "[0, 0]"),
            ("Scalar", &[], "2"),
        ]
    }

    #[test]
    fn forward() {
        let work = work("aten::convolution", &test_args(&inputs("False"))).unwrap();
        let out = 2 * 6 * 5 * 5;
        assert_eq!(work.flops, 2 * out * 2 * 9);
        assert_eq!(work.bytes, Some((2 * 4 * 81 + 6 * 2 * 9 + out) * 4));
        assert_eq!((work.fact("c_out"), work.fact("output")), (Some(6), Some(25)));
    }

    #[test]
    fn transposed() {
        let work = work("aten::convolution", &test_args(&inputs("True"))).unwrap();
        assert_eq!(work.flops, 2 * (2 * 4 * 81) * 2 * 9);
        assert_eq!((work.fact("c_out"), work.fact("output")), (Some(4), Some(17 * 17)));
    }

    #[test]
    fn backward_counts_what_is_asked_for() {
        let forward = work("aten::convolution", &test_args(&inputs("False"))).unwrap();
        for (mask, passes) in [("[True, True, False]", 2), ("[False, True, True]", 1), ("", 2)] {
            let mut backward = inputs("False");
            backward.insert(0, ("float", &[2, 6, 5, 5], ""));
            backward.push(("ScalarList", &[], mask));
            let work = work("aten::convolution_backward", &test_args(&backward)).unwrap();
            assert_eq!((work.flops, work.bytes), (passes * forward.flops, forward.bytes.map(|b| passes * b)));
        }
    }

    #[test]
    fn nonsense_has_no_answer() {
        for (at, text) in [(3, "[0]"), (3, "[1, 1, 1]"), (4, "[-9]"), (5, "[9223372036854775807]"), (8, "x")]
        {
            let mut inputs = inputs("False");
            inputs[at].2 = text;
            assert_eq!(work("aten::convolution", &test_args(&inputs)), None, "{text}");
        }
    }
}
