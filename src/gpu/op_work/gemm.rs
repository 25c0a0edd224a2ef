//! Matrix products.

use super::count::{dim, elements, plus, times};
use super::{Kind, Precision, Spec, Unit, Work};
use crate::gpu::op_args::{DType, OpArgs};

/// Indices of the operands of an operator, and their layout.
#[derive(Clone, Copy)]
struct Form {
    a: usize,
    b: usize,
    /// Whether B is stored as N × K, like the weights of a linear layer.
    b_is_n_by_k: bool,
    bias: Bias,
    /// Bytes per element of the result; those of A if `None`.
    out: Option<u64>,
    /// Values of A and of B packed into one element.
    packed: (u64, u64),
    /// Whether the leading dimensions of A count as rows.
    flat: bool,
}

#[derive(Clone, Copy)]
enum Bias {
    Never,
    Always,
    /// `Some` if there is a tensor at this index.
    At(usize),
}

/// A × B of the arguments at these indices, M × K and K × N.
const fn plain(a: usize, b: usize) -> Form {
    Form { a, b, b_is_n_by_k: false, bias: Bias::Never, out: None, packed: (1, 1), flat: false }
}

/// x × weightᵀ of the first two arguments, M × K and N × K.
const fn linear() -> Form {
    Form { b_is_n_by_k: true, ..plain(0, 1) }
}

/// Names of AITER, vLLM and SGLang for 8-bit products, beside those with `gemm_a8w8` in them.
const A8W8: [&str; 4] = [
    "aiter::flatmm_a8w8_blockscale_asm",
    "aiter::gfx950_a8w8_blockscale_asm",
    "vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm",
    "sglang_profiler::fp8_utils_gemm_a8w8_blockscale",
];

pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    let form = match op {
        "aten::mm" | "aten::bmm" => plain(0, 1),
        "aten::addmm" | "aten::_addmm_activation" | "aten::baddbmm" => {
            Form { bias: Bias::Always, ..plain(1, 2) }
        }
        "aten::_scaled_mm" | "trtllm::cublas_scaled_mm" => {
            let out = args.dtype(0).size().map(|size| size.max(2));
            Form { out, ..plain(0, 1) }
        }
        "aten::_int_mm" => Form { out: Some(4), ..plain(0, 1) },
        "bitsandbytes::int8_linear_matmul" => Form { out: Some(4), ..linear() },
        "sgl_kernel::fp8_scaled_mm" | "sgl_kernel::int8_scaled_mm" => Form { out: Some(2), ..plain(0, 1) },
        "_C::cutlass_scaled_mm" | "_C::cutlass_scaled_mm_azp" => {
            Form { out: args.dtype(0).size(), ..plain(1, 2) }
        }
        "aten::linear" => Form { bias: Bias::At(2), flat: true, ..linear() },
        "aten::matmul" => return matmul(args),
        "vllm::rocm_unquantized_gemm" | "vllm::rocm_unquantized_gemm_impl" | "aiter::gemm_a16w16" => {
            Form { bias: Bias::At(2), flat: true, ..linear() }
        }
        "aiter::gemm_a16w16_atomic_"
        | "aiter::_gemm_a16w16_asm"
        | "sglang_profiler::gemm_kernels_flydsl_hgemm"
        | "_rocm_C::wvSplitK"
        | "_rocm_C::LLMM1" => linear(),
        "vllm::gemm_with_dynamic_quant" => Form { packed: (1, 2), ..linear() },
        "aiter::gemm_a4w4" | "aiter::_gemm_a4w4_asm" | "aiter::gemm_afp4wfp4_" => {
            Form { packed: (2, 2), out: Some(2), ..linear() }
        }
        "aiter::batched_gemm_a16wfp4_" => Form { packed: (1, 2), out: Some(2), ..linear() },
        "_Linear_yfwd_mm"
        | "_LinearBackward_xgrad_mm"
        | "_LinearBackward_wgrad_mm"
        | "_LayerNormLinear_yfwd_mm"
        | "_LayerNormLinearBackward_xgrad_mm"
        | "_LayerNormLinearBackward_wgrad_mm" => Form { out: Some(2), ..plain(0, 1) },
        "aten::_grouped_mm" => return grouped(args, None),
        "aten::_scaled_grouped_mm" => return grouped(args, Some(2)),
        _ if op.contains("gemm_a8w8") || A8W8.contains(&op) => Form { out: Some(2), ..linear() },
        _ if op.starts_with("primus_turbo") && op.contains("grouped_gemm") && !op.contains("variable_k") => {
            return grouped(args, None);
        }
        _ => return None,
    };
    product(args, form)
}

/// One product, or one per batch element.
///
/// Operations 2·M·N·K (+ M·N with a bias), times the batch; bytes M·K·a + K·N·b + M·N·out (+ N·bias), times the batch,
/// with the element sizes (specification Part C, GEMM). A bias is read as a row, whatever its shape. The result has the element
/// type of A if its own is not in the arguments.
fn product(args: &OpArgs, form: Form) -> Option<Work> {
    let (a, b) = (args.shape(form.a)?, args.shape(form.b)?);
    let of_a = args.dtype(form.a);
    let (pack_a, pack_b) = match of_a {
        DType::F4x2 if form.packed == (1, 1) => (2, 2),
        _ => form.packed,
    };
    let (lead_a, &[m, in_a]) = a.split_at_checked(a.len().checked_sub(2)?)? else { return None };
    let (lead_b, &[b0, b1]) = b.split_at_checked(b.len().checked_sub(2)?)? else { return None };
    let (in_b, n) = if form.b_is_n_by_k { (b1, b0) } else { (b0, b1) };
    let k = times(&[elements(&[in_a])?, pack_a])?;
    // Inconsistent operands mean that the arguments are something else.
    if k != times(&[elements(&[in_b])?, pack_b])? {
        return None;
    }
    let (batch, m) = match (form.flat, lead_b.is_empty()) {
        (true, true) => (1, times(&[elements(lead_a)?, elements(&[m])?])?),
        _ if lead_a == lead_b => (elements(lead_a)?, elements(&[m])?),
        _ => return None,
    };
    let sizes = Sizes { a: of_a, b: args.dtype(form.b), out: form.out, has_bias: has_bias(args, form.bias) };
    let mut work = counted(Dims { batch, m, n: elements(&[n])?, k }, (elements(a)?, elements(b)?), sizes)?;
    if pack_b == 2 {
        work.spec = Some(Spec { unit: Unit::Matrix, precision: Precision::Fp4 });
    }
    Some(work)
}

fn has_bias(args: &OpArgs, bias: Bias) -> bool {
    match bias {
        Bias::Never => false,
        Bias::Always => true,
        Bias::At(at) => args.shape(at).is_some(),
    }
}

struct Dims {
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
}

struct Sizes {
    a: DType,
    b: DType,
    out: Option<u64>,
    has_bias: bool,
}

/// Cost of a product, given the stored elements of A and B.
fn counted(dims: Dims, (in_a, in_b): (u64, u64), sizes: Sizes) -> Option<Work> {
    let Dims { batch, m, n, k } = dims;
    let bias = u64::from(sizes.has_bias);
    let flops = plus(&[times(&[2, batch, m, n, k]), times(&[bias, batch, m, n])])?;
    let bytes = match (sizes.a.size(), sizes.b.size()) {
        // An empty result reads neither operand.
        (Some(_), Some(_)) if [batch, m, n].contains(&0) => Some(0),
        (Some(a), Some(b)) => plus(&[
            times(&[in_a, a]),
            times(&[in_b, b]),
            times(&[batch, m, n, sizes.out.unwrap_or(a)]),
            times(&[bias, batch, n, a]),
        ]),
        _ => None,
    };
    // Activations quantized on the fly are multiplied in the type of the weights.
    let by = if sizes.b.size() == Some(1) { sizes.b } else { sizes.a };
    let work = Work::new(Kind::Gemm, flops, bytes, Spec::matrix(by));
    Some(work.with_facts(&[("batch", batch), ("m", m), ("n", n), ("k", k)]))
}

/// `aten::matmul`, broadcast to a product per batch element; formulas as for one product.
fn matmul(args: &OpArgs) -> Option<Work> {
    let (a, b) = (args.shape(0)?, args.shape(1)?);
    let (lead_a, &[m, k]) = a.split_at_checked(a.len().checked_sub(2)?)? else { return None };
    let (lead_b, &[b0, n]) = b.split_at_checked(b.len().checked_sub(2)?)? else { return None };
    if k != b0 {
        return None;
    }
    let batch = elements(&super::pointwise::broadcast(lead_a, lead_b)?)?;
    let sizes = Sizes { a: args.dtype(0), b: args.dtype(1), out: None, has_bias: false };
    let dims = Dims { batch, m: elements(&[m])?, n: elements(&[n])?, k: elements(&[k])? };
    counted(dims, (elements(a)?, elements(b)?), sizes)
}

/// A product for each of G groups of rows: M × K in total, with weights G × K × N or G × N × K.
///
/// Operations 2·M·N·K; bytes (M·K + G·K·N)·in + M·N·out (TraceLens' grouped GEMM).
fn grouped(args: &OpArgs, out: Option<u64>) -> Option<Work> {
    let (a, b) = (args.shape(0)?, args.shape(1)?);
    if a.len() != 2 || b.len() != 3 {
        return None;
    }
    let (m, k) = (dim(a, 0)?, dim(a, 1)?);
    let n = match (dim(b, 1)?, dim(b, 2)?) {
        (of_b, n) if of_b == k => n,
        (n, of_b) if of_b == k => n,
        _ => return None,
    };
    let sizes = Sizes { a: args.dtype(0), b: args.dtype(1), out, has_bias: false };
    let mut work = counted(Dims { batch: 1, m, n, k }, (elements(a)?, elements(b)?), sizes)?;
    work.facts.push(("groups", dim(b, 0)?));
    Some(work)
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    fn spec(work: &Work) -> String {
        work.spec.map_or(String::new(), |spec| spec.to_string())
    }

    #[test]
    fn one_product() {
        let args = test_args(&[("c10::Half", &[2, 3], ""), ("c10::Half", &[3, 5], "")]);
        let work = work("aten::mm", &args).unwrap();
        assert_eq!((work.flops, work.bytes), (60, Some((6 + 15 + 10) * 2)));
        assert_eq!((work.fact("m"), work.fact("n"), work.fact("k")), (Some(2), Some(5), Some(3)));
        assert_eq!(spec(&work), "matrix_fp16");
    }

    #[test]
    fn a_bias_is_one_more_operation_and_row() {
        let args = test_args(&[("float", &[5], ""), ("float", &[7, 2, 3], ""), ("float", &[7, 3, 5], "")]);
        let work = work("aten::baddbmm", &args).unwrap();
        assert_eq!(work.flops, 7 * (60 + 10));
        assert_eq!(work.bytes, Some(7 * (6 + 15 + 10 + 5) * 4));
    }

    #[test]
    fn linear_layers_keep_their_leading_dimensions() {
        let args = test_args(&[("float", &[4, 2, 3], ""), ("float", &[5, 3], ""), ("float", &[5], "")]);
        let with_bias = work("aten::linear", &args).unwrap();
        assert_eq!(with_bias.flops, 2 * 8 * 5 * 3 + 8 * 5);
        let args = test_args(&[("float", &[4, 2, 3], ""), ("float", &[3, 5], "")]);
        assert_eq!(work("aten::matmul", &args).unwrap().flops, 2 * 4 * 2 * 5 * 3);
    }

    #[test]
    fn eight_bits_in_sixteen_out() {
        let fp8 = "c10::Float8_e4m3fn";
        let args = test_args(&[(fp8, &[2, 4], ""), (fp8, &[4, 8], "")]);
        let scaled = work("aten::_scaled_mm", &args).unwrap();
        assert_eq!((scaled.bytes, spec(&scaled)), (Some(8 + 32 + 16 * 2), "matrix_fp8".to_string()));
        let args = test_args(&[("signed char", &[2, 4], ""), ("signed char", &[8, 4], "")]);
        let a8w8 = work("aiter::gemm_a8w8_ck", &args).unwrap();
        assert_eq!((a8w8.flops, spec(&a8w8)), (2 * 2 * 8 * 4, "matrix_int8".to_string()));
    }

    #[test]
    fn four_bits_stand_two_in_a_byte() {
        let args = test_args(&[("unsigned char", &[2, 8], ""), ("unsigned char", &[4, 8], "")]);
        let work = work("aiter::gemm_a4w4", &args).unwrap();
        assert_eq!((work.fact("k"), work.flops), (Some(16), 2 * 2 * 4 * 16));
        assert_eq!((work.bytes, spec(&work)), (Some(16 + 32 + 16), "matrix_fp4".to_string()));
    }

    #[test]
    fn groups_share_the_rows() {
        let args = test_args(&[("c10::BFloat16", &[10, 3], ""), ("c10::BFloat16", &[4, 3, 5], "")]);
        let work = work("aten::_grouped_mm", &args).unwrap();
        assert_eq!((work.flops, work.bytes), (2 * 10 * 5 * 3, Some((30 + 60 + 50) * 2)));
    }

    #[test]
    fn an_empty_result_reads_nothing() {
        let args = test_args(&[("c10::Half", &[0, 3], ""), ("c10::Half", &[3, 5], "")]);
        let empty = work("aten::mm", &args).unwrap();
        assert_eq!((empty.flops, empty.bytes), (0, Some(0)));
        // Without a depth, the result is zeros, which are written.
        let args = test_args(&[("c10::Half", &[2, 0], ""), ("c10::Half", &[0, 5], "")]);
        assert_eq!(work("aten::mm", &args).unwrap().bytes, Some(2 * 5 * 2));
    }

    #[test]
    fn operands_that_do_not_fit_have_no_answer() {
        let args = test_args(&[("float", &[2, 3], ""), ("float", &[4, 5], "")]);
        assert_eq!(work("aten::mm", &args), None);
        let args = test_args(&[("float", &[3], ""), ("float", &[3, 5], "")]);
        assert_eq!(work("aten::mm", &args), None);
        let huge = 1 << 62;
        let args = test_args(&[("float", &[huge, huge], ""), ("float", &[huge, huge], "")]);
        assert_eq!(work("aten::mm", &args), None);
    }
}
