//! Normalization and its gradients.
//! n is the number of elements, C that of the parameters (channels, or elements of the normalized dimensions).
//! The formulas are TraceLens'; Part C of the specification has none.

use super::count::{dim, elements, plus, times};
use super::{Kind, Spec, Work};
use crate::gpu::op_args::{DType, Input, OpArgs};

/// Input of a normalization.
#[derive(Clone, Copy)]
struct Norm {
    n: u64,
    c: u64,
    /// Whether there are weights.
    is_affine: bool,
    /// Whether there is a bias.
    has_bias: bool,
    /// Whether mean and variance are computed instead of given.
    is_training: bool,
    dtype: DType,
}

pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    match op {
        "aten::batch_norm"
        | "aten::native_batch_norm"
        | "aten::miopen_batch_norm"
        | "aten::cudnn_batch_norm"
        | "aten::instance_norm" => {
            let shape = args.shape(0)?;
            let is_training = args.get(5).and_then(Input::as_bool).unwrap_or(true);
            norm(args, 0, dim(shape, 1)?, 1, is_training)?.forward()
        }
        "aten::layer_norm" | "aten::native_layer_norm" => {
            let norm = norm(args, 0, normalised(args, 1)?, 2, true)?;
            Norm { has_bias: args.shape(3).is_some(), ..norm }.forward()
        }
        "aten::group_norm" | "aiter::_groupnorm_run" => {
            norm(args, 0, dim(args.shape(0)?, 1)?, 2, true)?.forward()
        }
        "aten::native_group_norm" => norm(args, 0, dim(args.shape(0)?, 1)?, 1, true)?.forward(),
        "aten::_fused_rms_norm" => norm(args, 0, normalised(args, 1)?, 2, false)?.rms(),
        "aiter::rms_norm" | "aiter::rmsnorm2d_fwd_ck" => norm(args, 0, last(args, 0)?, 1, false)?.rms(),
        "_C::rms_norm" => norm(args, 1, last(args, 1)?, 2, false)?.rms(),
        "aten::native_batch_norm_backward" => {
            let is_training = args.get(7).and_then(Input::as_bool).unwrap_or(true);
            let wants_input = mask(args, 9).first().copied().unwrap_or(true);
            norm(args, 1, dim(args.shape(1)?, 1)?, 2, is_training)?.backward(wants_input)
        }
        // These exist for training only.
        "aten::miopen_batch_norm_backward" | "aten::cudnn_batch_norm_backward" => {
            norm(args, 0, dim(args.shape(0)?, 1)?, 2, true)?.backward(true)
        }
        "aten::native_layer_norm_backward" => {
            let mask = mask(args, 7);
            let wants = |at: usize| mask.get(at).copied().unwrap_or(true);
            let norm = norm(args, 1, normalised(args, 2)?, 5, true)?;
            Norm { is_affine: wants(1), has_bias: wants(2), ..norm }.backward(wants(0))
        }
        "aten::native_group_norm_backward" => {
            let groups = u64::try_from(args.get(8)?.as_i64()?).ok()?;
            let c = dim(args.shape(1)?, 1)?.checked_div(groups)?;
            let wants_input = mask(args, 9).first().copied().unwrap_or(true);
            norm(args, 1, c, 4, true)?.backward(wants_input)
        }
        "aten::_fused_rms_norm_backward" => {
            let mask = mask(args, 5);
            let wants = |at: usize| mask.get(at).copied().unwrap_or(true);
            norm(args, 1, normalised(args, 2)?, 4, false)?.rms_backward(wants(0), wants(1))
        }
        _ => None,
    }
}

/// The tensor at `input` with its weights at `weight`.
fn norm(args: &OpArgs, input: usize, c: u64, weight: usize, is_training: bool) -> Option<Norm> {
    let n = elements(args.shape(input)?)?;
    let is_affine = args.shape(weight).is_some();
    Some(Norm { n, c, is_affine, has_bias: is_affine, is_training, dtype: args.dtype(input) })
}

/// Number of elements normalized together, from the list of their dimensions.
fn normalised(args: &OpArgs, at: usize) -> Option<u64> {
    elements(&args.get(at)?.as_list()?)
}

fn last(args: &OpArgs, at: usize) -> Option<u64> {
    let shape = args.shape(at)?;
    dim(shape, shape.len().checked_sub(1)?)
}

/// Requested gradients; empty if not recorded.
fn mask(args: &OpArgs, at: usize) -> Vec<bool> {
    args.get(at).and_then(Input::as_bools).unwrap_or_default()
}

impl Norm {
    fn work(self, flops: Option<u64>, elements: Option<u64>) -> Option<Work> {
        let bytes = self.dtype.size().and_then(|size| times(&[elements?, size]));
        let work = Work::new(Kind::Normalisation, flops?, bytes, Spec::vector(self.dtype));
        Some(work.with_facts(&[("n", self.n), ("c", self.c)]))
    }

    /// Operations 2·n + 6·C, and 3·n for mean and variance when training; moved are input and output, mean and variance
    /// (twice when training, as they are written), weights and bias: 2·n + (2 to 6)·C elements.
    fn forward(self) -> Option<Work> {
        let per_element = if self.is_training { 5 } else { 2 };
        let vectors = 2
            + u64::from(self.is_affine)
            + u64::from(self.is_affine && self.has_bias)
            + if self.is_training { 2 } else { 0 };
        self.work(
            plus(&[times(&[per_element, self.n]), times(&[6, self.c])]),
            plus(&[times(&[2, self.n]), times(&[vectors, self.c])]),
        )
    }

    /// Operations 4·n for the sums over input and gradient, 5·n for the input's gradient when training, 2·n where the
    /// input's gradient is not asked for, 3·C for the deviation when not training. Moved are the gradient, the input and
    /// the input's gradient (n each), the deviation, and the weights and what comes out for weights and bias (C each).
    fn backward(self, wants_input: bool) -> Option<Work> {
        let per_element = match (wants_input, self.is_training) {
            (true, true) => 9,
            (true, false) => 4,
            (false, _) => 6,
        };
        let deviation = if self.is_training { 0 } else { 3 };
        let tensors = if wants_input && self.is_training { 3 } else { 2 };
        let vectors = match (self.is_affine, self.is_training) {
            (true, true) => 3 + u64::from(self.has_bias),
            (true, false) | (false, true) => 1,
            (false, false) => 0,
        };
        self.work(
            plus(&[times(&[per_element, self.n]), times(&[deviation, self.c])]),
            plus(&[times(&[tensors, self.n]), times(&[vectors, self.c])]),
        )
    }

    /// Number of normalized rows of C elements each; `None` if not a whole number.
    fn rows(self) -> Option<u64> {
        let rows = self.n.checked_div(self.c)?;
        (rows.checked_mul(self.c) == Some(self.n)).then_some(rows)
    }

    /// Root mean square: operations 2·C + 2 for each of the n ÷ C rows, one an element to scale it and one for its
    /// weight. Moved are input and output and the weights.
    fn rms(self) -> Option<Work> {
        let weighted = u64::from(self.is_affine);
        self.work(
            plus(&[times(&[3 + weighted, self.n]), times(&[2, self.rows()?])]),
            plus(&[times(&[2, self.n]), times(&[weighted, self.c])]),
        )
    }

    /// Gradients of the root mean square: n, and n with weights; 6·n for the input's; for the weights' n, and n more to
    /// add them up over the rows. Moved are gradient, input and the input's gradient, weights and the weights' gradient.
    fn rms_backward(self, wants_input: bool, wants_weight: bool) -> Option<Work> {
        let weighted = u64::from(self.is_affine);
        let for_input = if wants_input { 6 } else { 0 };
        let for_weight = match (wants_weight && self.is_affine, self.rows()?) {
            (false, _) => 0,
            (true, 0 | 1) => 1,
            (true, _) => 2,
        };
        self.work(
            times(&[1 + weighted + for_input + for_weight, self.n]),
            plus(&[times(&[3, self.n]), times(&[2, weighted, self.c])]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    #[test]
    fn batches() {
        let args = |weight: &'static [i64], training| {
            test_args(&[
                ("float", &[2, 3, 4], ""),
                ("float", weight, ""),
                ("float", weight, ""),
                ("float", &[3], ""),
                ("float", &[3], ""),
                ("Scalar", &[], training),
            ])
        };
        let of = |args: &OpArgs| work("aten::batch_norm", args).map(|work| (work.flops, work.bytes)).unwrap();
        assert_eq!(of(&args(&[3], "True")), (5 * 24 + 18, Some((48 + 6 * 3) * 4)));
        assert_eq!(of(&args(&[3], "False")), (2 * 24 + 18, Some((48 + 4 * 3) * 4)));
        assert_eq!(of(&args(&[], "True")), (5 * 24 + 18, Some((48 + 4 * 3) * 4)));
    }

    #[test]
    fn layers_and_their_gradients() {
        let list = ("ScalarList", &[][..], "[4]");
        let float = |dims: &'static [i64]| ("float", dims, "");
        let args = test_args(&[float(&[6, 4]), list, float(&[4]), ("", &[], "")]);
        let forward = work("aten::layer_norm", &args).unwrap();
        assert_eq!((forward.flops, forward.bytes), (5 * 24 + 24, Some((48 + 5 * 4) * 4)));
        let args = test_args(&[
            float(&[6, 4]),
            float(&[6, 4]),
            list,
            float(&[6, 1]),
            float(&[6, 1]),
            float(&[4]),
            float(&[4]),
            ("ScalarList", &[], "[True, True, True]"),
        ]);
        let backward = work("aten::native_layer_norm_backward", &args).unwrap();
        assert_eq!((backward.flops, backward.bytes), (9 * 24, Some((3 * 24 + 4 * 4) * 4)));
    }

    #[test]
    fn root_mean_square() {
        let args = test_args(&[("float", &[6, 4], ""), ("ScalarList", &[], "[4]"), ("float", &[4], "")]);
        let forward = work("aten::_fused_rms_norm", &args).unwrap();
        assert_eq!((forward.flops, forward.bytes), (6 * (2 * 4 + 2) + 2 * 24, Some((48 + 4) * 4)));
    }
}
