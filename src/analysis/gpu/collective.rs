//! Collective operations, from the arguments of their kernels or of the operators that recorded them.

use super::facts::{integer, text};
use super::kind::Kind;
use super::model::{GpuTrace, NONE, Work};
use super::tensor::{Tensor, first_tensor};
use crate::gpu::names;
use crate::trace::builder::for_each_member;

/// A collective as its arguments describe it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Collective {
    /// `allreduce`, `_allgather_base` and so on; from the kernel name if there are no arguments.
    pub name: String,
    /// Element type, as named by PyTorch; empty if not recorded.
    pub dtype: String,
    /// Input and output elements per rank.
    pub elements_in: Option<u64>,
    pub elements_out: Option<u64>,
    pub group_size: Option<u64>,
    /// Name of the process group, with its description if that differs.
    pub group: String,
    /// Ranks of the group as the profiler writes them, `[0, 1]`, truncated after 30; empty if not recorded.
    pub ranks: String,
}

impl Collective {
    /// The collective of a communication kernel.
    pub fn of(gpu: &GpuTrace<'_>, work: &Work) -> Collective {
        Collective::with_number(gpu, work).0
    }

    /// The collective of a communication kernel, with its sequence number in the group (`Seq`) if recorded.
    pub fn with_number(gpu: &GpuTrace<'_>, work: &Work) -> (Collective, Option<i64>) {
        let mut collective = Collective::default();
        let mut number = collective.read(gpu, work.slice);
        if collective.name.is_empty() && work.op != NONE {
            number = collective.read(gpu, work.op);
            // Operators of other layers lie between.
            let mut at = work.op;
            while collective.name.is_empty() {
                match gpu.op_of(at) {
                    Some(outer) => {
                        at = outer;
                        number = collective.read(gpu, outer);
                    }
                    None => break,
                }
            }
        }
        if collective.name.is_empty() {
            let range = range_of(gpu, work);
            let said = range.and_then(|range| gpu.name(range).strip_prefix(RANGE));
            collective.name = said.map_or_else(|| of_kernel(gpu, work), str::to_string);
            let of_range = range.and_then(|range| first_tensor(&gpu.marked_args(range as usize)?));
            if let Some((dtype, elements)) = of_range.or_else(|| tensor_of_op(gpu, work)) {
                collective.take_size(dtype, elements, gpu.facts.world_size);
            }
        }
        (collective, number)
    }

    /// Sets the size from the inputs of a rank. The group is not recorded, so all ranks are assumed.
    fn take_size(&mut self, dtype: String, elements: u64, world_size: Option<i64>) {
        self.dtype = dtype;
        self.group_size = world_size.and_then(|size| u64::try_from(size).ok());
        self.elements_in = Some(elements);
        if self.kind() == CollectiveKind::AllGather {
            self.elements_out = self.group_size.and_then(|n| elements.checked_mul(n));
        }
    }

    /// Reads the arguments of `slice`; returns the sequence number, if any.
    fn read(&mut self, gpu: &GpuTrace<'_>, slice: u32) -> Option<i64> {
        let raw = gpu.marked_args(slice as usize)?;
        let unsigned = |value: &[u8]| integer(value).and_then(|value| u64::try_from(value).ok());
        let (mut description, mut number) = (None, None);
        for_each_member(&raw, |key, value| match key.bytes {
            b"Collective name" => self.name = text(value).unwrap_or_default(),
            b"dtype" => self.dtype = text(value).unwrap_or_default(),
            b"In msg nelems" => self.elements_in = unsigned(value),
            b"Out msg nelems" => self.elements_out = unsigned(value),
            b"Group size" => self.group_size = unsigned(value),
            b"Process Group Name" => self.group = text(value).unwrap_or_default(),
            b"Process Group Description" => description = text(value),
            b"Process Group Ranks" => {
                self.ranks = text(value).filter(|text| text != "[]").unwrap_or_default()
            }
            b"Seq" => number = integer(value),
            _ => {}
        });
        if let Some(description) = description.filter(|text| !text.is_empty() && text != "undefined")
            && !self.group.is_empty()
            && description != self.group
        {
            self.group = format!("{} ({description})", self.group);
        }
        number
    }

    /// Kind, independent of naming.
    pub fn kind(&self) -> CollectiveKind {
        let name: String =
            self.name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let has = |word: &str| name.contains(word);
        if has("allreduce") || has("crossdevicereduce") {
            CollectiveKind::AllReduce
        } else if has("reducescatter") {
            CollectiveKind::ReduceScatter
        } else if has("allgather") {
            CollectiveKind::AllGather
        } else if has("alltoall") || has("all2all") {
            CollectiveKind::AllToAll
        } else {
            CollectiveKind::Other
        }
    }

    /// Whether no rank can finish before all have started.
    pub fn is_synchronising(&self) -> bool {
        // An instruction of HLO that starts a collective doesn't wait for anything.
        let only_starts = self.name.ends_with("-start");
        !only_starts && (self.kind() != CollectiveKind::Other || self.name.contains("barrier"))
    }

    /// Message size in bytes, as in nccl-tests: the output of an all-gather, the input of the others. `None` for barriers, whose single
    /// element is no message, and for groups of collectives (`coalesced`), whose record has no elements.
    pub fn message_bytes(&self) -> Option<u64> {
        if self.name.contains("barrier") {
            return None;
        }
        let elements = match self.kind() {
            CollectiveKind::AllGather => self.elements_out,
            _ => self.elements_in,
        };
        let is_recorded = |elements: &u64| *elements > 0 || !self.name.contains("coalesced");
        elements.filter(is_recorded)?.checked_mul(element_bytes(&self.dtype)?)
    }

    /// Factor from algorithm bandwidth to bus bandwidth: all-reduce 2(n − 1)/n, reduce-scatter, all-gather and all-to-all (n − 1)/n
    /// (nccl-tests; TraceLens).
    pub fn bus_factor(&self) -> Option<f64> {
        let n = self.group_size.filter(|n| *n > 0)? as f64;
        Some(match self.kind() {
            CollectiveKind::AllReduce => 2.0 * (n - 1.0) / n,
            CollectiveKind::ReduceScatter | CollectiveKind::AllGather | CollectiveKind::AllToAll => {
                (n - 1.0) / n
            }
            CollectiveKind::Other => 1.0,
        })
    }
}

/// Kinds of collectives with different bandwidth formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveKind {
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Other,
}

/// Prefix of annotations of collectives.
const RANGE: &str = "nccl:";

/// The annotation around the launch that names the collective, in traces before 2024 whose operators lack its arguments:
/// `nccl:all_to_all`. Its single input is the input of this rank.
fn range_of(gpu: &GpuTrace<'_>, work: &Work) -> Option<u32> {
    let is_range = |i: usize, kind| kind == Kind::Annotation && gpu.name(i as u32).starts_with(RANGE);
    (work.launch != NONE).then(|| gpu.around(work.launch, is_range)).flatten()
}

/// The first input of the operator around the launch, if that is an in-place all-reduce without an annotation:
/// `symm_mem::multimem_all_reduce_`. Only one of several operators with equal inputs is read from the file.
fn tensor_of_op(gpu: &GpuTrace<'_>, work: &Work) -> Option<Tensor> {
    if work.op == NONE || named_collective(gpu.name(work.op)) != Some(ALL_REDUCE) {
        return None;
    }
    let slices = &gpu.trace.slices;
    let op = work.op as usize;
    let key = (slices.name[op], gpu.trace.signatures.get(slices.offset(op))?);
    let read = || first_tensor(&gpu.trace.args.get(slices.args_of(op))?);
    gpu.tensors.borrow_mut().entry(key).or_insert_with(read).clone()
}

const ALL_REDUCE: &str = "all-reduce";

/// Collectives of HLO. What starts one and what waits for its end are instructions of their own.
const OF_HLO: [&str; 24] = [
    "all-gather",
    "all-gather-done",
    "all-gather-start",
    ALL_REDUCE,
    "all-reduce-done",
    "all-reduce-start",
    "all-to-all",
    "all-to-all-done",
    "all-to-all-start",
    "async-collective-done",
    "async-collective-start",
    "collective-broadcast",
    "collective-broadcast-done",
    "collective-broadcast-start",
    "collective-permute",
    "collective-permute-done",
    "collective-permute-start",
    "ragged-all-to-all",
    "recv",
    "recv-done",
    "reduce-scatter",
    "reduce-scatter-done",
    "reduce-scatter-start",
    "send",
];

/// Name of a collective that nothing tells: RCCL runs all of its collectives as `ncclDevKernel_Generic`.
pub const NOT_RECORDED: &str = "not recorded";

/// Collective from a kernel alone: from its name, or else its operation; without either, the function is what communicates
/// (`deep_ep::internode_ll::dispatch`).
pub fn of_kernel(gpu: &GpuTrace<'_>, work: &Work) -> String {
    const OPERATIONS: [&str; 4] = [ALL_REDUCE, "all-gather", "reduce-scatter", "broadcast"];
    let name = gpu.name(work.slice);
    let of_operation =
        || OPERATIONS.into_iter().find(|known| known.eq_ignore_ascii_case(&gpu.class(work).operation));
    match named_collective(name).or_else(of_operation) {
        Some(known) => known.to_string(),
        None if name.starts_with("nccl") || name.starts_with("rccl") => NOT_RECORDED.to_string(),
        None => names::split(&names::demangle(name)).qualified(),
    }
}

/// Collective in a kernel name: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)`, or an instruction of HLO: `all-reduce-start.3`.
fn named_collective(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 17] = [
        ("all_reduce_scatter", "reduce-scatter"),
        ("allreduce", ALL_REDUCE),
        ("all_reduce", ALL_REDUCE),
        ("cross_device_reduce", ALL_REDUCE),
        ("reducescatter", "reduce-scatter"),
        ("reduce_scatter", "reduce-scatter"),
        ("allgather", "all-gather"),
        ("all_gather", "all-gather"),
        ("alltoall", "all-to-all"),
        ("all_to_all", "all-to-all"),
        ("all2all", "all-to-all"),
        ("broadcast", "broadcast"),
        ("sendrecv", "send and receive"),
        ("send_done", "send-done"),
        ("collective_permute", "collective-permute"),
        ("nccldevkernel_reduce", "reduce"),
        ("ncclreduce", "reduce"),
    ];
    let instruction = name.strip_prefix('%').unwrap_or(name).split(['.', ' ']).next().unwrap_or("");
    if let Some(known) = OF_HLO.iter().find(|known| **known == instruction) {
        return Some(known);
    }
    let lower = name.to_ascii_lowercase().replace('-', "_");
    NAMES.iter().find(|(word, _)| lower.contains(word)).map(|(_, name)| *name)
}

/// Bytes of an element of a PyTorch type.
fn element_bytes(dtype: &str) -> Option<u64> {
    let name = dtype.trim_start_matches("c10::").to_ascii_lowercase();
    Some(match name.as_str() {
        "double" | "long" | "long int" | "int64" | "float64" | "complexfloat" => 8,
        "float" | "int" | "int32" | "float32" => 4,
        "half" | "bfloat16" | "short" | "float16" | "int16" => 2,
        "byte" | "char" | "bool" | "uint8" | "int8" | "unsigned char" | "signed char" => 1,
        "complexdouble" => 16,
        name if name.starts_with("float8") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_counted_as_nccl_tests_do() {
        let of = |name: &str| Collective {
            name: name.to_string(),
            dtype: "BFloat16".to_string(),
            elements_in: Some(100),
            elements_out: Some(800),
            group_size: Some(8),
            ..Collective::default()
        };
        assert_eq!((of("allreduce").message_bytes(), of("allreduce").bus_factor()), (Some(200), Some(1.75)));
        assert_eq!(
            (of("_allgather_base").message_bytes(), of("_allgather_base").bus_factor()),
            (Some(1600), Some(0.875))
        );
        assert_eq!((of("barrier").message_bytes(), of("barrier").is_synchronising()), (None, true));
        let empty = |name| Collective { elements_in: Some(0), ..of(name) }.message_bytes();
        assert_eq!((empty("coalesced"), empty("all_to_allv")), (None, Some(0)));
        assert_eq!(of("_reduce_scatter_base").kind(), CollectiveKind::ReduceScatter);
        assert_eq!(
            (of("broadcast").bus_factor(), of("all_to_allv").kind()),
            (Some(1.0), CollectiveKind::AllToAll)
        );
        assert_eq!(
            named_collective("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
            Some("send and receive")
        );
        assert_eq!(named_collective("ncclDevKernel_Reduce_Sum_f32_RING_LL(int)"), Some("reduce"));
        assert_eq!(named_collective("ncclDevKernel_Generic_4(int)"), None);
    }

    #[test]
    fn instructions_of_hlo_are_collectives() {
        let of = |name: &str| named_collective(name).unwrap();
        assert_eq!(
            (of("all-reduce"), of("all-reduce.3"), of("all-reduce-start.3")),
            (ALL_REDUCE, ALL_REDUCE, "all-reduce-start")
        );
        assert_eq!(
            (of("%all-gather.1 = f32[8] all-gather(f32[4] %p)"), of("all-reduce-fusion.2")),
            ("all-gather", ALL_REDUCE)
        );
        assert_eq!(
            (of("all-reduce-scatter-fusion"), of("ragged-all-to-all.2")),
            ("reduce-scatter", "ragged-all-to-all")
        );
        assert_eq!((of("send.4"), of("send-done.4"), of("recv-done")), ("send", "send-done", "recv-done"));
        let is_synchronising = |name: &str| {
            Collective { name: of(name).to_string(), ..Collective::default() }.is_synchronising()
        };
        assert!(is_synchronising("all-reduce.3") && is_synchronising("all-reduce-done.3"));
        assert!(!is_synchronising("all-reduce-start.3"));
    }
}
