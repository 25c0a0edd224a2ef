//! Kernel classes of wafer-core 0.1.62 (`trace_compare`), for comparing with its reports.
//!
//! Two independent classifiers: [`operation`] with its pattern label, and [`simple_type`].
//! Both search for words anywhere in the name, so they are often wrong (a template argument is enough); use [`super::kernels`] for
//! anything else. The output of that tool defines their behavior.

/// GPU platform assumed by the tool; some words and labels depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Platform {
    Amd,
    /// Also if unknown.
    Nvidia,
}

/// Characters of a name used as label if a rule has none.
const LABEL_CHARS: usize = 40;

/// Condition of a rule on the name.
enum Test {
    /// Any of them, in the name in lower case.
    Has(&'static [&'static str]),
    /// All of them.
    All(&'static [&'static str]),
    /// One of the first and one of the second.
    Both(&'static [&'static str], &'static [&'static str]),
    /// The name starts with one of them (case-sensitive).
    Starts(&'static [&'static str]),
    /// The name starts with the first (case-sensitive) and contains, in lower case, all of the second.
    StartsAndAll(&'static str, &'static [&'static str]),
    /// The name contains it (case-sensitive).
    Exactly(&'static str),
    Always,
}

impl Test {
    fn holds(&self, name: &str, lower: &str) -> bool {
        let has = |word: &&str| lower.contains(*word);
        match self {
            Test::Has(words) => words.iter().any(has),
            Test::All(words) => words.iter().all(has),
            Test::Both(first, second) => first.iter().any(has) && second.iter().any(has),
            Test::Starts(words) => words.iter().any(|word| name.starts_with(word)),
            Test::StartsAndAll(start, words) => name.starts_with(start) && words.iter().all(has),
            Test::Exactly(word) => name.contains(word),
            Test::Always => true,
        }
    }
}

/// Operation, label (by platform if that matters) and condition. The first match wins.
struct Rule(&'static str, Label, Test);

enum Label {
    /// The start of the name.
    Name,
    Is(&'static str),
    ByPlatform {
        amd: &'static str,
        nvidia: &'static str,
    },
    /// Labels of [`attention_label`].
    Attention,
}

use Label::{Attention, ByPlatform, Is, Name};
use Test::{All, Always, Both, Exactly, Has, Starts, StartsAndAll};

const SCAN_ROCPRIM: &str = "rocprim::scan_*";
const SCAN_CUB: &str = "cub::DeviceScan*";
const NVJET: &str = "nvjet_* (cuBLASLt)";

/// Rules, in the order of the tool.
const OPERATIONS: &[Rule] = &[
    Rule("Attention", Attention, Has(&["attention", "fmha"])),
    Rule("KV Cache", Is("reshape_and_cache_*"), Has(&["reshape_and_cache"])),
    Rule("KV Cache", Is("flashinfer_kv_*"), Has(&["flashinfer"])),
    Rule("MoE GEMM+SwiGLU", Is("_matmul_ogs_*_swiglu"), All(&["_matmul_ogs_", "swiglu"])),
    Rule("MoE GEMM", Is("_matmul_ogs_*"), Has(&["_matmul_ogs_"])),
    Rule("MoE GEMM+SwiGLU", Is("bmm_*_swiGlu_dynBatch"), StartsAndAll("bmm_", &["dynbatch", "swiglu"])),
    Rule("MoE GEMM", Is("bmm_*_dynBatch"), StartsAndAll("bmm_", &["dynbatch"])),
    Rule("MoE Routing", Is("moe_routing_*"), Has(&["topk", "routing", "bitmatrix", "moe_forward"])),
    Rule("MoE Finalize", Is("moe_finalize_*"), Has(&["finalize"])),
    Rule("MoE Finalize", Is("moe_finalize_*"), All(&["scatter", "moe"])),
    Rule("RMSNorm", Is("triton_*_rsqrt"), All(&["triton", "rsqrt"])),
    Rule("RMSNorm", Is("triton_*_rsqrt"), All(&["triton", "mean", "mul", "pow"])),
    Rule("RMSNorm", Is("ck_tile::Rmsnorm2dFwd"), Has(&["rmsnorm2dfwd"])),
    Rule("Dense GEMM", Is("Cijk_* (Tensile)"), Starts(&["Cijk_", "Custom_Cijk_"])),
    Rule("Dense GEMM", Is(NVJET), Starts(&["nvjet_"])),
    Rule("Dense GEMM", Is(NVJET), Has(&["cublaslt"])),
    Rule("Dense GEMM", Is("wvSplitK_* (hipBLASLt)"), Has(&["wvsplitk"])),
    Rule(
        "Triton Fused",
        Is("triton_*_silu"),
        Both(&["triton_poi", "triton_red", "triton_per"], &["silu", "swiglu"]),
    ),
    Rule("Triton Fused", Is("triton_*"), Has(&["triton_poi", "triton_red", "triton_per"])),
    Rule("Elementwise", Is("sgl_activation_*"), Has(&["act_and_mul_kernel", "sgl_hip::activation"])),
    Rule("Elementwise", Is("compute_position_kernel"), Has(&["compute_position_kernel"])),
    Rule("Elementwise", Is("rotary_embedding_*"), Has(&["rotary_embedding"])),
    Rule("Elementwise", Is("at::native::*"), Exactly("at::native::")),
    Rule(
        "Sorting",
        ByPlatform { amd: "rocprim::sort/merge_*", nvidia: "cub::DeviceRadixSort*" },
        Has(&["sort", "merge"]),
    ),
    Rule("Reduce", Is(SCAN_ROCPRIM), Has(&["scan_kernel"])),
    Rule("Reduce", Is(SCAN_ROCPRIM), All(&["rocprim", "scan"])),
    Rule("Reduce", Is(SCAN_CUB), All(&["cub", "scan"])),
    Rule("Reduce", Is(SCAN_CUB), Has(&["devicescan"])),
    Rule("All-Gather", Is("ncclDevKernel_AllGather_*"), All(&["nccl", "allgather"])),
    Rule("All-Gather", Is("nccl:_all_gather_base"), Has(&["all_gather"])),
    Rule("All-Reduce", Is("vllm::cross_device_reduce_*"), Has(&["cross_device_reduce"])),
    Rule("All-Reduce", Is("vllm::all_reduce"), Has(&["all_reduce"])),
    Rule("Communication", Is("ncclDevKernel_*"), Has(&["nccldevkernel", "nccl::"])),
    Rule(
        "Reduce",
        ByPlatform { amd: "reduce_segments", nvidia: "cub::DeviceReduce*" },
        Has(&["reduce_segments", "devicereduce"]),
    ),
    Rule("Copy/Memory", Is("copy_*"), Has(&["copy", "memcpy"])),
    Rule("Other", Is("rocprim/cub_*"), Has(&["rocprim::", "cub::"])),
    Rule("Other", Name, Always),
];

/// Rules of [`simple_type`].
const SIMPLE: &[(&str, Test)] = &[
    ("GEMM", Has(&["cijk_", "nvjet", "wvsplitk", "cublas", "hipblas", "tensile"])),
    ("Attention", Has(&["attention", "fmha"])),
    ("KV_Cache", Has(&["reshape_and_cache"])),
    ("RMSNorm", All(&["triton", "rsqrt"])),
    ("RMSNorm", Has(&["layernorm", "rmsnorm"])),
    ("SwiGLU", Has(&["silu", "swiglu"])),
    ("GELU", Has(&["gelu"])),
    ("ReLU", Has(&["relu"])),
    ("Triton_Pointwise", Has(&["triton_poi"])),
    ("Triton_Reduce", Has(&["triton_red"])),
    ("Triton_Persistent", Has(&["triton_per"])),
    ("Reduce", Has(&["reduce_segments", "devicereduce"])),
    ("Sort", Has(&["sort", "merge"])),
    ("Softmax", Has(&["softmax"])),
    ("Elementwise", Has(&["elementwise"])),
    ("MemCopy", Has(&["copy", "memcpy"])),
    ("All_Gather", Has(&["all_gather"])),
    ("All_Reduce", Has(&["all_reduce", "cross_device_reduce"])),
    ("NCCL_Collective", Has(&["nccl"])),
];

/// The tool's operation (`Dense GEMM`, `Elementwise`, …, `Other`) and pattern label of a kernel, by its raw name.
///
/// The label is fixed text, or the first 40 characters of the name.
pub fn operation(name: &str, platform: Platform) -> (&'static str, &str) {
    let lower = name.to_lowercase();
    let rule = OPERATIONS.iter().find(|rule| rule.2.holds(name, &lower));
    let Some(Rule(operation, label, _)) = rule else { return ("Other", start_of(name)) };
    let label = match (label, platform) {
        (Is(label), _)
        | (ByPlatform { amd: label, .. }, Platform::Amd)
        | (ByPlatform { nvidia: label, .. }, Platform::Nvidia) => label,
        (Attention, _) => attention_label(&lower, platform).unwrap_or(start_of(name)),
        (Name, _) => start_of(name),
    };
    (operation, label)
}

/// The tool's coarser type of a kernel (`GEMM`, `RMSNorm`, `Triton_Reduce`, …, `Other`), which it aligns traces by.
pub fn simple_type(name: &str) -> &'static str {
    let lower = name.to_lowercase();
    SIMPLE.iter().find(|(_, test)| test.holds(name, &lower)).map_or("Other", |(simple, _)| simple)
}

fn attention_label(lower: &str, platform: Platform) -> Option<&'static str> {
    let labels: [(&[&str], &str); 2] = match platform {
        Platform::Amd => [(&["2d"], "kernel_unified_attention_2d"), (&["3d"], "kernel_unified_attention_3d")],
        Platform::Nvidia => [
            (&["fmhasm100a", "context"], "fmhaSm100a*_Context"),
            (&["fmhasm100f", "forgen"], "fmhaSm100f*_ForGen"),
        ],
    };
    let hit = labels.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    hit.map(|(_, label)| *label)
}

fn start_of(name: &str) -> &str {
    match name.char_indices().nth(LABEL_CHARS) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_between_characters() {
        let name = "é".repeat(50);
        assert_eq!(operation(&name, Platform::Amd), ("Other", "é".repeat(40).as_str()));
        assert_eq!(operation("", Platform::Nvidia), ("Other", ""));
    }

    #[test]
    fn the_first_rule_wins() {
        assert_eq!(operation("fmha_3d_2d", Platform::Amd).1, "kernel_unified_attention_2d");
        assert_eq!(operation("fmha_3d_2d", Platform::Nvidia).1, "fmha_3d_2d");
        assert_eq!(operation("cub::SortKernel", Platform::Nvidia).1, "cub::DeviceRadixSort*");
        assert_eq!(operation("nvjet_x", Platform::Amd).0, "Dense GEMM");
        assert_eq!(operation("Nvjet_x", Platform::Amd).0, "Other");
        assert_eq!(simple_type("Nvjet_x"), "GEMM");
    }
}
