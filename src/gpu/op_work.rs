//! Cost models: minimum FLOPs and bytes of an operator, from its arguments.
//!
//! The models are TraceLens' (Part C of the specification); each function states its formula. They count what the mathematics
//! requires: every operand read once and every result written once, whatever the kernels do. Numbers are exact integers. There is
//! no result if one exceeds 64 bits, which no real shapes do, or if arguments are missing or inconsistent.

mod attention;
mod convolution;
mod count;
mod gemm;
mod norm;
mod pointwise;
mod triton;

pub use attention::StepTokens;

use super::op_args::{DType, OpArgs};
use std::fmt;

/// Compute units of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Tensor cores, matrix cores.
    Matrix,
    /// Everything else.
    Vector,
}

/// Number format of the computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    Fp64,
    Tf32,
    Fp32,
    Bf16,
    Fp16,
    Fp8,
    Fp4,
    Int8,
}

impl Precision {
    const ALL: [(Precision, &str); 8] = [
        (Precision::Fp64, "fp64"),
        (Precision::Tf32, "tf32"),
        (Precision::Fp32, "fp32"),
        (Precision::Bf16, "bf16"),
        (Precision::Fp16, "fp16"),
        (Precision::Fp8, "fp8"),
        (Precision::Fp4, "fp4"),
        (Precision::Int8, "int8"),
    ];

    /// `bf16` and the like.
    pub fn name(self) -> &'static str {
        Precision::ALL.iter().find(|(precision, _)| *precision == self).map_or("", |(_, name)| name)
    }
}

/// Unit and number format of a peak, TraceLens' Compute Spec: `matrix_bf16`, `vector_fp32` …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    pub unit: Unit,
    pub precision: Precision,
}

impl Spec {
    /// Parses its text.
    pub fn parse(text: &str) -> Option<Spec> {
        let (unit, precision) = text.split_once('_')?;
        let unit = match unit {
            "matrix" => Unit::Matrix,
            "vector" => Unit::Vector,
            _ => return None,
        };
        let (precision, _) = Precision::ALL.iter().find(|(_, name)| *name == precision)?;
        Some(Spec { unit, precision: *precision })
    }

    /// Spec of matrix products of this type. Unsigned bytes contain 8-bit floats in operators that multiply them, as in TraceLens.
    fn matrix(dtype: DType) -> Option<Spec> {
        let precision = match dtype {
            DType::U8 => Precision::Fp8,
            DType::I8 => Precision::Int8,
            DType::F4x2 => Precision::Fp4,
            _ => Spec::vector(dtype)?.precision,
        };
        Some(Spec { unit: Unit::Matrix, precision })
    }

    /// The spec given the kernel name: 32-bit products may run on matrix units in TF32, several times as fast. Names contain `tf32`
    /// (cuDNN, cuBLAS) or the instruction (CUTLASS: `s1688` is `mma.m16n8k8` with 32-bit accumulation, which is TF32 unless another
    /// type is named).
    pub fn as_run_by(self, kernel: &str) -> Spec {
        let name = kernel.to_ascii_lowercase();
        let is_single = self.unit == Unit::Matrix && self.precision == Precision::Fp32;
        let says_tf32 = name.contains("tf32") || (name.contains("_s1688") && !name.contains("f16"));
        if is_single && says_tf32 { Spec { precision: Precision::Tf32, ..self } } else { self }
    }

    /// Spec of elementwise operations of this type; `None` for integers, which have no peak.
    fn vector(dtype: DType) -> Option<Spec> {
        let precision = match dtype {
            DType::F64 => Precision::Fp64,
            DType::F32 => Precision::Fp32,
            DType::F16 => Precision::Fp16,
            DType::Bf16 => Precision::Bf16,
            DType::F8 => Precision::Fp8,
            _ => return None,
        };
        Some(Spec { unit: Unit::Vector, precision })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Matrix => "matrix",
            Unit::Vector => "vector",
        };
        write!(f, "{unit}_{}", self.precision.name())
    }
}

/// The model used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Gemm,
    Attention,
    Convolution,
    Normalisation,
    Elementwise,
    Reduction,
    /// Several operators fused by a compiler.
    Fused,
}

/// Cost of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    pub kind: Kind,
    /// Floating-point operations; a multiply-add counts as two. TraceLens' GFLOPS is this ÷ 10⁹.
    pub flops: u64,
    /// Bytes read and written; `None` if the element size is unknown. TraceLens' Data Moved is this ÷ 2²⁰.
    pub bytes: Option<u64>,
    /// Unit and number format; `None` for integers and unknown types.
    pub spec: Option<Spec>,
    /// Whether it only moves data: [`Work::flops`] are of TraceLens' model, and no unit has to compute them.
    pub only_moves: bool,
    /// Dimensions by their usual names: `m`, `n`, `k`, `batch` …
    pub facts: Vec<(&'static str, u64)>,
}

impl Work {
    /// Without facts.
    pub fn new(kind: Kind, flops: u64, bytes: Option<u64>, spec: Option<Spec>) -> Work {
        Work { kind, flops, bytes, spec, only_moves: false, facts: Vec::new() }
    }

    fn with_facts(mut self, facts: &[(&'static str, u64)]) -> Work {
        self.facts = facts.to_vec();
        self
    }

    /// Arithmetic intensity: FLOPs per byte. `None` if bytes are unknown or 0.
    pub fn intensity(&self) -> Option<f64> {
        self.bytes.filter(|bytes| *bytes > 0).map(|bytes| self.flops as f64 / bytes as f64)
    }

    /// The fact of this name.
    pub fn fact(&self, name: &str) -> Option<u64> {
        self.facts.iter().find(|(of, _)| *of == name).map(|(_, value)| *value)
    }
}

/// Cost of operator `op` with these arguments; `None` without a model or with insufficient arguments.
///
/// Operators that only call others (`aten::linear`, `aten::matmul`, `aten::layer_norm`) have a cost too, so don't add an operator
/// to those below it.
pub fn work(op: &str, args: &OpArgs) -> Option<Work> {
    gemm::work(op, args)
        .or_else(|| attention::work(op, args))
        .or_else(|| convolution::work(op, args))
        .or_else(|| norm::work(op, args))
        .or_else(|| pointwise::work(op, args))
        .or_else(|| triton::work(op, args))
}

/// As [`work`], inside a step of an inference server. For attention over a paged cache, the number of tokens comes from the step
/// annotation.
pub fn work_in_step(op: &str, args: &OpArgs, step: &StepTokens) -> Option<Work> {
    attention::paged(op, args, step).or_else(|| work(op, args))
}

/// Arguments for the tests of the models: `("type", dims, concrete)` each.
#[cfg(test)]
fn test_args(inputs: &[(&str, &[i64], &str)]) -> OpArgs {
    use super::op_args::Input;
    let input = |(name, dims, concrete): &(&str, &[i64], &str)| Input {
        dims: dims.to_vec(),
        dtype: DType::of(name),
        type_name: (*name).to_string(),
        concrete: (*concrete).to_string(),
        ..Input::default()
    };
    OpArgs { inputs: inputs.iter().map(input).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_written_and_read() {
        for (precision, _) in Precision::ALL {
            for unit in [Unit::Matrix, Unit::Vector] {
                let spec = Spec { unit, precision };
                assert_eq!(Spec::parse(&spec.to_string()), Some(spec));
            }
        }
        assert_eq!(Spec::parse("matrix_bf17"), None);
    }

    #[test]
    fn names_of_kernels_tell_tf32() {
        let unit =
            |spec: &str, kernel: &str| Spec::parse(spec).map(|spec| spec.as_run_by(kernel).to_string());
        for (spec, kernel, wanted) in [
            (
                "matrix_fp32",
                "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>",
                "matrix_tf32",
            ),
            ("matrix_fp32", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x64", "matrix_tf32"),
            ("matrix_fp32", "ampere_sgemm_128x64_tn", "matrix_fp32"),
            ("matrix_fp32", "cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn", "matrix_fp32"),
            ("matrix_bf16", "cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4", "matrix_bf16"),
            ("vector_fp32", "tf32", "vector_fp32"),
        ] {
            assert_eq!(unit(spec, kernel).as_deref(), Some(wanted), "{kernel}");
        }
    }

    #[test]
    fn others_are_no_specs() {
        assert_eq!(Spec::parse("matrix"), None);
    }
}
