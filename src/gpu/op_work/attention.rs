//! Attention: softmax(Q·Kᵀ)·V and its gradients. The softmax itself is not counted.

use super::count::{dim, plus, times};
use super::{Kind, Spec, Work};
use crate::gpu::op_args::{DType, OpArgs};

/// Order of the dimensions of Q, K and V.
#[derive(Clone, Copy)]
enum Order {
    /// Batch, heads, tokens, size of a head.
    Bhnd,
    /// Batch, tokens, heads, size of a head.
    Bnhd,
}

/// Indices of the arguments of an operator.
#[derive(Clone, Copy)]
struct Form {
    /// Q; K and V follow.
    q: usize,
    order: Order,
    /// Whether attention is causal: a boolean, or a mask type above zero.
    causal: Option<usize>,
    is_backward: bool,
}

/// Heads of Q and of K and V, tokens of both, sizes of a head.
#[derive(Clone, Copy)]
struct Heads {
    batch: u64,
    n_q: u64,
    n_kv: u64,
    h_q: u64,
    h_kv: u64,
    d_qk: u64,
    d_v: u64,
}

/// Schemas of PyTorch, flash-attention and AITER; where the gradient of the output comes first, Q is argument 1.
fn form(op: &str) -> Option<Form> {
    let (q, order, causal, is_backward) = match op {
        "aten::_scaled_dot_product_flash_attention" => (0, Order::Bhnd, 4, false),
        "aten::_scaled_dot_product_efficient_attention" | "aten::_scaled_dot_product_cudnn_attention" => {
            (0, Order::Bhnd, 6, false)
        }
        "aten::_scaled_dot_product_flash_attention_backward"
        | "aten::_scaled_dot_product_efficient_attention_backward" => (1, Order::Bhnd, 11, true),
        "aten::_scaled_dot_product_cudnn_attention_backward" => (1, Order::Bhnd, 14, true),
        "aten::scaled_dot_product_attention" => (0, Order::Bhnd, 5, false),
        "aten::_flash_attention_forward" => (0, Order::Bnhd, 8, false),
        "aten::_efficient_attention_forward" => (0, Order::Bnhd, 9, false),
        "FlashAttnFunc"
        | "flash_attn::_flash_attn_forward"
        | "aiter::_flash_attn_forward"
        | "aiter::mha_fwd"
        | "aiter::fmha_v3_fwd" => (0, Order::Bnhd, 5, false),
        "flash_attn::_flash_attn_backward" => (1, Order::Bnhd, 11, true),
        "aiter::_flash_attn_backward" => (1, Order::Bnhd, 12, true),
        "aiter::wrapper_fmha_v3_fwd" => (1, Order::Bnhd, 6, false),
        "aiter::wrapper_fmha_v3_bwd" => (1, Order::Bnhd, 9, true),
        "aiter::mha_bwd" => (1, Order::Bnhd, 8, true),
        "flash_attn_3::fwd" => (0, Order::Bnhd, 24, false),
        _ => return None,
    };
    Some(Form { q, order, causal: Some(causal), is_backward })
}

pub(super) fn work(op: &str, args: &OpArgs) -> Option<Work> {
    match op {
        "flash_attn::_flash_attn_varlen_forward" => {
            return varlen(args, Varlen { q: 0, cu_seqlens: 3, max: 5, causal: 9, is_backward: false });
        }
        "flash_attn::_flash_attn_varlen_backward" => {
            return varlen(args, Varlen { q: 1, cu_seqlens: 9, max: 11, causal: 15, is_backward: true });
        }
        // Sequences of different lengths have one dimension less.
        "aten::_flash_attention_forward" if args.shape(0).is_some_and(|q| q.len() == 3) => {
            return varlen(args, Varlen { q: 0, cu_seqlens: 3, max: 5, causal: 8, is_backward: false });
        }
        "aten::_efficient_attention_forward" if args.shape(4).is_some_and(|lengths| lengths.len() == 1) => {
            return varlen(args, Varlen { q: 0, cu_seqlens: 4, max: 6, causal: 9, is_backward: false });
        }
        "EvoformerAttention" => return evoformer(args),
        _ => {}
    }
    let form = form(op)?;
    let [q, k, v] = [0, 1, 2].map(|i| args.shape(form.q + i));
    let heads = heads(q?, k?, v?, form.order)?;
    let causal = form.causal.is_some_and(|at| is_causal(args, at));
    whole(heads, causal, form.is_backward, args.dtype(form.q), args.dtype(form.q + 1))
}

fn is_causal(args: &OpArgs, at: usize) -> bool {
    let Some(input) = args.get(at) else { return false };
    input.as_bool().unwrap_or_else(|| input.as_i64().is_some_and(|mask| mask > 0))
}

/// `None` if Q, K and V are inconsistent.
fn heads(q: &[i64], k: &[i64], v: &[i64], order: Order) -> Option<Heads> {
    if [q, k, v].iter().any(|shape| shape.len() != 4) {
        return None;
    }
    let (h, n) = match order {
        Order::Bhnd => (1, 2),
        Order::Bnhd => (2, 1),
    };
    let same = |i: usize| k[i] == v[i];
    if q[0] != k[0] || !same(0) || !same(h) || !same(n) || q[3] != k[3] {
        return None;
    }
    Some(Heads {
        batch: dim(q, 0)?,
        n_q: dim(q, n)?,
        n_kv: dim(k, n)?,
        h_q: dim(q, h)?,
        h_kv: dim(k, h)?,
        d_qk: dim(q, 3)?,
        d_v: dim(v, 3)?,
    })
}

/// FLOPs of attention over all pairs of tokens.
///
/// Forward 2·B·H·Nq·Nkv·(d_qk + d_v). Backward the four gradients 2·B·H·Nq·Nkv·(2·d_qk + 2·d_v), Q·Kᵀ once more, since
/// none of these kernels keeps it, and the sum over the heads that share K and V, B·Nkv·(d_qk + d_v)·(H/Hkv − 1). Half
/// of it all when causal and Nq = Nkv (specification Part C).
fn flops(heads: Heads, causal: bool, is_backward: bool) -> Option<u64> {
    let Heads { batch, n_q, n_kv, h_q, h_kv, d_qk, d_v } = heads;
    let d = d_qk.checked_add(d_v)?;
    let all = if is_backward {
        let per_pair = plus(&[times(&[3, d_qk]), times(&[2, d_v])])?;
        let shared_by = h_q.checked_div(h_kv)?.saturating_sub(1);
        plus(&[times(&[2, batch, h_q, n_q, n_kv, per_pair]), times(&[batch, n_kv, d, shared_by])])?
    } else {
        times(&[2, batch, h_q, n_q, n_kv, d])?
    };
    Some(if causal && n_q == n_kv { all / 2 } else { all })
}

/// Bytes of Q, K, V and O, each once; backward Q, K, V and the gradients of all four (TraceLens).
fn bytes(heads: Heads, is_backward: bool, of_q: DType, of_kv: DType) -> Option<u64> {
    let Heads { batch, n_q, n_kv, h_q, h_kv, d_qk, d_v } = heads;
    let (of_q, of_kv) = (of_q.size()?, of_kv.size()?);
    let (q, o) = (times(&[batch, n_q, h_q, d_qk, of_q]), times(&[batch, n_q, h_q, d_v, of_q]));
    let (k, v) = (times(&[batch, n_kv, h_kv, d_qk, of_kv]), times(&[batch, n_kv, h_kv, d_v, of_kv]));
    if is_backward { plus(&[q, k, v, o, q, k, v]) } else { plus(&[q, k, v, o]) }
}

fn facts(heads: Heads, causal: bool) -> [(&'static str, u64); 8] {
    [
        ("batch", heads.batch),
        ("n_q", heads.n_q),
        ("n_kv", heads.n_kv),
        ("h_q", heads.h_q),
        ("h_kv", heads.h_kv),
        ("d_qk", heads.d_qk),
        ("d_v", heads.d_v),
        ("causal", u64::from(causal)),
    ]
}

fn whole(heads: Heads, causal: bool, is_backward: bool, of_q: DType, of_kv: DType) -> Option<Work> {
    let flops = flops(heads, causal, is_backward)?;
    let bytes = bytes(heads, is_backward, of_q, of_kv);
    Some(Work::new(Kind::Attention, flops, bytes, Spec::matrix(of_q)).with_facts(&facts(heads, causal)))
}

/// DeepSpeed's Evoformer attention: batch, rows of the alignment, residues, heads, size; each row is a batch of its own.
/// Formulas as for any other; mask and bias are not counted.
fn evoformer(args: &OpArgs) -> Option<Work> {
    let q = args.shape(0).filter(|q| q.len() == 5)?;
    let (n, h, d) = (dim(q, 2)?, dim(q, 3)?, dim(q, 4)?);
    let batch = times(&[dim(q, 0)?, dim(q, 1)?])?;
    let heads = Heads { batch, n_q: n, n_kv: n, h_q: h, h_kv: h, d_qk: d, d_v: d };
    whole(heads, false, false, args.dtype(0), args.dtype(0))
}

struct Varlen {
    q: usize,
    cu_seqlens: usize,
    max: usize,
    causal: usize,
    is_backward: bool,
}

/// Tokens, heads, size, with or without a batch of one around them.
fn packed(shape: &[i64]) -> Option<&[i64]> {
    let shape = match shape {
        [1, packed @ ..] if packed.len() == 3 => packed,
        _ => shape,
    };
    (shape.len() == 3).then_some(shape)
}

/// Sequences of different lengths, one after the other: Q, K and V are tokens, heads, size, in memory-efficient attention as a batch of
/// one. The arguments contain the number of sequences and the longest length, so this is a lower bound: the longest one, and the
/// remaining tokens in sequences of equal length (TraceLens). Bytes are those of all tokens.
fn varlen(args: &OpArgs, form: Varlen) -> Option<Work> {
    let [q, k, v] = [0, 1, 2].map(|i| args.shape(form.q + i).and_then(packed));
    let (q, k, v) = (q?, k?, v?);
    if k[..2] != v[..2] || q[2] != k[2] {
        return None;
    }
    let all = Heads {
        batch: 1,
        n_q: dim(q, 0)?,
        n_kv: dim(k, 0)?,
        h_q: dim(q, 1)?,
        h_kv: dim(k, 1)?,
        d_qk: dim(q, 2)?,
        d_v: dim(v, 2)?,
    };
    let causal = is_causal(args, form.causal);
    let max_q = u64::try_from(args.get(form.max)?.as_i64()?).ok()?;
    let max_kv = u64::try_from(args.get(form.max + 1)?.as_i64()?).ok()?;
    let others_q = dim(args.shape(form.cu_seqlens)?, 0)?.checked_sub(2)?;
    let others_kv = dim(args.shape(form.cu_seqlens + 1)?, 0)?.checked_sub(2)?;
    let longest = flops(Heads { n_q: max_q, n_kv: max_kv, ..all }, causal, form.is_backward);
    let other = Heads {
        n_q: all.n_q.checked_sub(max_q)?.checked_div(others_q).unwrap_or(0),
        n_kv: all.n_kv.checked_sub(max_kv)?.checked_div(others_kv).unwrap_or(0),
        ..all
    };
    let rest = times(&[others_q, flops(other, causal, form.is_backward)?]);
    let flops = plus(&[longest, rest])?;
    let (of_q, of_kv) = (args.dtype(form.q), args.dtype(form.q + 1));
    let bytes = bytes(all, form.is_backward, of_q, of_kv);
    let work = Work::new(Kind::Attention, flops, bytes, Spec::matrix(of_q));
    Some(work.with_facts(&facts(all, causal)))
}

/// Token sums from the annotation of a step of an inference server: query tokens (`sq`), key tokens (`sk`), `sq²` and `sq·sk`,
/// separately for requests in prefill and in decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepTokens {
    pub context: Sums,
    pub generation: Sums,
}

/// Sums over requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    pub requests: u64,
    pub sq: u64,
    pub sk: u64,
    pub sqsq: u64,
    pub sqsk: u64,
}

impl StepTokens {
    /// Reads `execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)`, as
    /// written by vLLM and SGLang with detailed annotations. `None` for all others, which contain less.
    pub fn parse(annotation: &str) -> Option<StepTokens> {
        let (_, rest) = annotation.strip_prefix("execute_")?.split_once("context_")?;
        let (context, generation) = rest.split_once("_generation_")?;
        Some(StepTokens { context: Sums::parse(context)?, generation: Sums::parse(generation)? })
    }
}

impl Sums {
    fn parse(text: &str) -> Option<Sums> {
        let (requests, rest) = text.split_once("(sq")?;
        let (sq, rest) = rest.split_once("sk")?;
        let (sk, rest) = rest.split_once("sqsq")?;
        let (sqsq, sqsk) = rest.split_once("sqsk")?;
        let [requests, sq, sk, sqsq, sqsk] =
            [requests, sq, sk, sqsq, sqsk.strip_suffix(')')?].map(|digits| digits.parse().ok());
        Some(Sums { requests: requests?, sq: sq?, sk: sk?, sqsq: sqsq?, sqsk: sqsk? })
    }
}

/// Attention over a paged cache in a step (`vllm::unified_attention_with_output`): Q and K are tokens, heads, size.
/// FLOPs H·(d_qk + d_v)·(2·sqsk − sqsq of context + 2·sqsk of generation): new prompt tokens attend to all before them and half of
/// each other. Bytes: Q, O and new K and V once, (sq)·(H + Hkv)·(d_qk + d_v)·q, and the cached rest,
/// (sk − sq)·Hkv·(d_qk + d_v)·kv (TraceLens).
pub(super) fn paged(op: &str, args: &OpArgs, step: &StepTokens) -> Option<Work> {
    if op != "vllm::unified_attention_with_output" {
        return None;
    }
    let q = args.shape(0).filter(|q| q.len() == 3)?;
    let k = args.shape(1).filter(|k| k.len() == 3)?;
    let (h_q, d_qk, h_kv, d_v) = (dim(q, 1)?, dim(q, 2)?, dim(k, 1)?, dim(k, 2)?);
    let d = d_qk.checked_add(d_v)?;
    let (context, generation) = (step.context, step.generation);
    let pairs =
        plus(&[times(&[2, context.sqsk]), times(&[2, generation.sqsk])])?.checked_sub(context.sqsq)?;
    let flops = times(&[h_q, d, pairs])?;
    let new = context.sq.checked_add(generation.sq)?;
    let cached = context.sk.checked_add(generation.sk)?.checked_sub(new)?;
    let (of_q, of_kv) = (args.dtype(0), args.dtype(1));
    let bytes = match (of_q.size(), of_kv.size()) {
        (Some(of_q), Some(of_kv)) => {
            plus(&[times(&[new, h_q.checked_add(h_kv)?, d, of_q]), times(&[cached, h_kv, d, of_kv])])
        }
        _ => None,
    };
    let facts = [("n_q", new), ("h_q", h_q), ("h_kv", h_kv), ("d_qk", d_qk), ("d_v", d_v)];
    Some(Work::new(Kind::Attention, flops, bytes, Spec::matrix(of_q)).with_facts(&facts))
}

#[cfg(test)]
mod tests {
    use super::super::test_args;
    use super::*;

    const BF16: &str = "c10::BFloat16";

    fn flash(causal: &str, kv: i64) -> OpArgs {
        let (q, kv): (&[i64], &[i64]) = (&[2, 4, 10, 8], &[2, 2, kv, 8]);
        test_args(&[
            (BF16, q, ""),
            (BF16, kv, ""),
            (BF16, kv, ""),
            ("Scalar", &[], "0."),
            ("Scalar", &[], causal),
        ])
    }

    #[test]
    fn forward() {
        let op = "aten::_scaled_dot_product_flash_attention";
        let all = work(op, &flash("False", 10)).unwrap();
        assert_eq!(all.flops, 2 * 2 * 4 * 10 * 10 * 16);
        assert_eq!(all.bytes, Some((2 * 640 + 2 * 320) * 2));
        assert_eq!(work(op, &flash("True", 10)).unwrap().flops, all.flops / 2);
        assert_eq!(work(op, &flash("True", 20)).unwrap().flops, all.flops * 2);
    }

    #[test]
    fn backward_multiplies_five_times() {
        let shape: &[i64] = &[2, 10, 4, 8];
        let mut inputs = vec![(BF16, shape, ""); 11];
        inputs.push(("Scalar", &[], "False"));
        let work = work("flash_attn::_flash_attn_backward", &test_args(&inputs)).unwrap();
        assert_eq!(work.flops, 2 * 2 * 4 * 10 * 10 * 5 * 8);
        assert_eq!(work.bytes, Some(7 * 640 * 2));
    }

    #[test]
    fn shared_heads_are_added_up() {
        let mut inputs: Vec<(&str, &[i64], &str)> = vec![(BF16, &[1, 3, 4, 2], ""); 2];
        inputs.extend([(BF16, &[1, 3, 1, 2][..], ""); 2]);
        let work = work("aiter::mha_bwd", &test_args(&inputs)).unwrap();
        assert_eq!(work.flops, 2 * 4 * 3 * 3 * (3 + 2) * 2 + 3 * 4 * 3);
    }

    #[test]
    fn sequences_of_different_lengths() {
        let mut inputs: Vec<(&str, &[i64], &str)> = vec![(BF16, &[10, 1, 2], ""); 3];
        inputs.extend([("int", &[4][..], ""); 2]);
        inputs.extend([("Scalar", &[][..], "6"); 2]);
        let work = work("flash_attn::_flash_attn_varlen_forward", &test_args(&inputs)).unwrap();
        // Six tokens, and twice two.
        assert_eq!(work.flops, 2 * 4 * (36 + 2 * 4));
    }

    /// Four sequences of 256 tokens, causal: 4 · 2·16·256²·(128 + 128) ÷ 2, by both packages.
    #[test]
    fn packed_sequences_of_pytorch_cost_as_those_of_flash_attention() {
        let of = |op: &str, n_before_causal: usize| {
            let mut inputs: Vec<(&str, &[i64], &str)> = vec![(BF16, &[1024, 16, 128], ""); 3];
            inputs.extend([("int", &[5][..], ""); 2]);
            inputs.extend([("Scalar", &[][..], "256"); 2]);
            inputs.extend(vec![("Scalar", &[][..], "0."); n_before_causal]);
            inputs.push(("Scalar", &[], "True"));
            work(op, &test_args(&inputs)).unwrap().flops
        };
        assert_eq!(of("aten::_flash_attention_forward", 1), 4 * 2 * 16 * 256 * 256 * 256 / 2);
        assert_eq!(of("flash_attn::_flash_attn_varlen_forward", 2), of("aten::_flash_attention_forward", 1));
        let mut inputs: Vec<(&str, &[i64], &str)> = vec![(BF16, &[1, 1024, 16, 128], ""); 3];
        inputs.extend([("", &[][..], ""), ("int", &[5], ""), ("int", &[5], "")]);
        inputs.extend([("Scalar", &[][..], "256"), ("Scalar", &[], "256"), ("Scalar", &[], "0.")]);
        inputs.push(("Scalar", &[], "1"));
        let efficient = work("aten::_efficient_attention_forward", &test_args(&inputs)).unwrap();
        assert_eq!(efficient.flops, of("aten::_flash_attention_forward", 1));
    }

    #[test]
    fn the_operator_around_all_kernels_of_pytorch() {
        let shape: &[i64] = &[1, 16, 1024, 128];
        let mut inputs: Vec<(&str, &[i64], &str)> = vec![(BF16, shape, ""); 3];
        inputs.extend([("", &[][..], ""), ("Scalar", &[], "0."), ("Scalar", &[], "False")]);
        let work = work("aten::scaled_dot_product_attention", &test_args(&inputs)).unwrap();
        assert_eq!(work.flops, 2 * 16 * 1024 * 1024 * (128 + 128));
    }

    #[test]
    fn annotations_of_steps() {
        let text = "execute_7_context_1(sq6sk8sqsq36sqsk48)_generation_1(sq1sk9sqsq1sqsk9)";
        let step = StepTokens::parse(text).unwrap();
        assert_eq!(step.context, Sums { requests: 1, sq: 6, sk: 8, sqsq: 36, sqsk: 48 });
        assert_eq!(step.generation.sk, 9);
        for other in ["execute_context_1(888_788544)_generation_0(0)", "step[DECODE bs=32]", "execute_", ""] {
            assert_eq!(StepTokens::parse(other), None);
        }
        let args = test_args(&[(BF16, &[7, 4, 8], ""), (BF16, &[7, 2, 8], "")]);
        let work = paged("vllm::unified_attention_with_output", &args, &step).unwrap();
        assert_eq!(work.flops, 4 * 16 * (96 - 36 + 18));
        assert_eq!(work.bytes, Some(7 * 6 * 16 * 2 + 10 * 2 * 16 * 2));
    }
}
