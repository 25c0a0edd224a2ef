//! Operators by input shapes: FLOPs, bytes and roofline, compared with measured busy time.

use crate::analysis::gpu::alone::{Role, each_alone};
use crate::analysis::gpu::model;
use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::gpu::op_args::{ArgTexts, Input, OpArgs};
use crate::gpu::op_category::Categories;
use crate::gpu::op_work::{Spec, StepTokens, Work, work, work_in_step};
use crate::gpu::peaks::{Bound, Peak, Peaks, roofline};
use crate::report::chart::{Axis, Chart, Limit, Plot, Point, Points, Tone};
use crate::report::{Column, Content, Table};
use crate::trace::builder::for_each_member;
use twox_hash::XxHash64;

/// Maximum input kinds whose arguments are read from the file, most GPU time first.
const MAX_READ: usize = 5_000;

/// Maximum length of a shape text, in characters.
const SHAPE_CHARS: usize = 160;

/// An operator call that launched kernels.
pub struct Instance {
    pub slice: u32,
    /// Busy time of its own kernels, in nanoseconds.
    pub busy: i64,
    /// Name of its first kernel.
    pub kernel: StringId,
    /// The step it was launched in.
    pub step: u32,
}

/// Operators of one name with equal inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    name: StringId,
    /// 0 if its inputs were not recorded.
    signature: u64,
    /// Step name for attention: only it tells how much of a paged cache is read.
    step: StringId,
}

struct Group {
    key: Key,
    /// Slice whose arguments stand for the group.
    of: u32,
    kernel: StringId,
    busy: Durations,
    inputs: Option<Inputs>,
}

/// Inputs, from the arguments.
struct Inputs {
    shapes: String,
    types: String,
    work: Option<Work>,
}

/// One row per operator and inputs, with a roofline chart if the GPU's peaks are known. `None` if no inputs were recorded. `launcher`
/// is the operator call that a kernel belongs to, as in `instances`.
pub fn blocks(
    named: &NamedTrace<'_, '_>,
    instances: &[Instance],
    launcher: &dyn Fn(&model::Work) -> Option<u32>,
    peaks: &Peaks,
) -> Option<(Table, Option<Chart>)> {
    let gpu = named.gpu;
    let mut groups = groups(gpu, instances);
    if groups.iter().all(|group| group.key.signature == 0) {
        return None;
    }
    let total: i64 = groups.iter().map(|group| group.busy.total()).sum_ns();
    read(gpu, &mut groups);
    let n_left_out = cut(&mut groups);
    let peak = gpu_name(gpu).and_then(|name| peaks.of(&name));
    let peak = peak.as_ref();
    let categories = Categories::builtin();
    let text = |id: StringId| gpu.group_text(id);
    let rates: Vec<Rates> = groups.iter().map(|group| Rates::new(group, peak)).collect();
    let alone = alone(gpu, instances, launcher, (&groups, &rates));
    let inputs = |get: fn(&Inputs) -> &str| {
        texts(groups.iter().map(|group| group.inputs.as_ref().map(get).filter(|text| !text.is_empty())))
    };
    let lacks_attention = groups.iter().any(|group| {
        let is_paged = text(group.key.name).is_some_and(reads_pages);
        let has_types = gpu.sizes_of(group.of).is_none();
        is_paged && has_types && group.inputs.as_ref().is_some_and(|inputs| inputs.work.is_none())
    });
    let category =
        |group: &Group| categories.of(text(group.key.name).unwrap_or(""), text(group.kernel)).to_string();
    let table = Table::new(
        named.id(super::SHAPES.id),
        named.title("Operators by inputs"),
        vec![
            Column::key(
                "name",
                "operator",
                Content::Symbol,
                texts(groups.iter().map(|group| text(group.key.name))),
            ),
            Column::key("shapes", "shapes", Content::Argument, inputs(|inputs| &inputs.shapes)),
            Column::key("types", "types", Content::Argument, inputs(|inputs| &inputs.types)),
            integers("direct", "busy time", Unit::Ns, groups.iter().map(|group| group.busy.total()))
                .hint(super::BUSY_HINT)
                .with_bar(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                groups.iter().map(|group| share(group.busy.total(), total)).collect(),
            ),
            Column::counts("calls", "calls", Unit::Count, groups.iter().map(|group| group.busy.count())),
            Column::integer(
                "p50",
                "p50",
                Unit::Ns,
                groups.iter().map(|group| group.busy.quantile(0.5)).collect(),
            ),
            Column::float(
                "flop_rate",
                "FLOP/s",
                Unit::FlopsPerSecond,
                rates.iter().map(|rates| rates.flops_per_second).collect(),
            )
            .hint("FLOPs of all calls divided by their busy time"),
            Column::float(
                "byte_rate",
                "bytes/s",
                Unit::BytesPerSecond,
                rates.iter().map(|rates| rates.bytes_per_second).collect(),
            )
            .hint("minimum bytes moved, divided by busy time"),
            Column::float(
                "intensity",
                "FLOP/byte",
                Unit::Plain,
                rates.iter().map(|rates| rates.intensity).collect(),
            ),
            Column::text("bound", "bound by", Content::Plain, texts(rates.iter().map(|rates| rates.bound))),
            Column::float(
                "of_roofline",
                "% of roofline",
                Unit::Ratio,
                rates.iter().map(|rates| rates.of_roofline).collect(),
            )
            .hint(
                "shortest time at the GPU's peaks, divided by measured busy time; missing if that needs an unknown peak",
            ),
            Column::integer("alone", "not overlapped", Unit::Ns, alone)
                .hint("time in which only kernels of these operators ran on the GPU, where the roofline is known"),
            Column::unsigned(
                "flops",
                "FLOPs per call",
                Unit::Flops,
                rates.iter().map(|rates| rates.flops).collect(),
            ),
            Column::unsigned(
                "bytes",
                "bytes per call",
                Unit::Bytes,
                rates.iter().map(|rates| rates.bytes).collect(),
            ),
            Column::text(
                "unit",
                "compute unit",
                Content::Plain,
                texts(rates.iter().map(|rates| rates.unit.as_deref())),
            ),
            Column::text(
                "category",
                "category",
                Content::Plain,
                texts(groups.iter().map(|group| Some(category(group)))),
            ),
        ],
    )
    .sorted_by("direct", true)
    .caption(format!(
        "{}{}{}",
        caption(gpu, peak),
        if groups.iter().any(|group| gpu.sizes_of(group.of).is_some()) { WITHOUT_TYPES } else { "" },
        if lacks_attention { ATTENTION_WITHOUT_WORK } else { "" }
    ));
    let chart = chart(named, &groups, &rates, peak);
    Some((with_left_out(table, n_left_out), chart))
}

/// Whether an operator reads a paged KV cache, by its name: `vllm::unified_attention_with_output`, `vllm::unified_mla_attention`,
/// `_C::paged_attention_v1`, `trtllm::attn_custom_op_inplace`.
fn reads_pages(name: &str) -> bool {
    let is_attention = name.contains("attention") || name.contains("attn");
    is_attention && ["unified", "paged", "trtllm"].iter().any(|word| name.contains(word))
}

const WITHOUT_TYPES: &str =
    " Ranges of emit_nvtx have shapes but no types, so their FLOPs and bytes are unknown.";

const ATTENTION_WITHOUT_WORK: &str = " Attention without FLOP/s reads a paged KV cache whose size is in neither its inputs nor \
                                      the step names (vLLM and SGLang write it with detailed annotations).";

fn caption(gpu: &GpuTrace<'_>, peak: Option<&Peak>) -> String {
    let start = "FLOPs and bytes are computed from shapes with TraceLens' models.";
    match (gpu_name(gpu), peak) {
        (Some(name), Some(peak)) => match (peak.is_custom, peak.is_builtin) {
            (false, _) => format!("{start} The roofline uses data sheet peaks of {name}, without sparsity."),
            (true, false) => format!("{start} The roofline uses the custom peaks of {name}."),
            (true, true) => format!(
                "{start} The roofline uses the custom peaks of {name}, and data sheet peaks, without sparsity, for columns \
                 that the custom table leaves out."
            ),
        },
        (Some(name), None) => format!(
            "{start} No roofline: the peaks of {name} are unknown. Set peak FLOP/s and bandwidth to get \
                                       one."
        ),
        (None, _) => format!("{start} No roofline: the trace does not name its GPU."),
    }
}

/// Model of the GPUs in use, if all are the same.
fn gpu_name(gpu: &GpuTrace<'_>) -> Option<String> {
    let mut names =
        gpu.devices.iter().map(|device| gpu.facts.gpu_of(device.number?).map(|gpu| gpu.name.clone()));
    let first = names.next()??;
    let alike = names.all(|name| name.as_ref() == Some(&first));
    (alike && !first.is_empty()).then_some(first)
}

/// Time in which only kernels of one group ran, in nanoseconds; `None` where no roofline is known.
fn alone(
    gpu: &GpuTrace<'_>,
    instances: &[Instance],
    launcher: &dyn Fn(&model::Work) -> Option<u32>,
    (groups, rates): (&[Group], &[Rates]),
) -> Vec<Option<i64>> {
    let mut sums: Vec<Option<f64>> = rates.iter().map(|rates| rates.of_roofline.map(|_| 0.0)).collect();
    let of_key: HashMap<Key, u32> = (groups.iter().zip(&sums).zip(0..))
        .filter_map(|((group, sum), number)| sum.map(|_| (group.key, number)))
        .collect();
    if !of_key.is_empty() {
        let of_launcher: HashMap<u32, u32> =
            instances.iter().filter_map(|it| Some((it.slice, *of_key.get(&key(gpu, it))?))).collect();
        let group = |work: &model::Work| of_launcher.get(&launcher(work)?).copied();
        let role = |work: &model::Work| Some(Role::of(group(work).unwrap_or(u32::MAX)));
        each_alone(gpu, &role, &mut |work, alone| {
            if let Some(Some(sum)) = group(work).and_then(|number| sums.get_mut(number as usize)) {
                *sum += alone.ns;
            }
        });
    }
    sums.into_iter().map(|sum| sum.map(|ns| ns.round() as i64)).collect()
}

/// What the inputs of a call are grouped by.
fn key(gpu: &GpuTrace<'_>, instance: &Instance) -> Key {
    let trace = gpu.trace;
    let at = instance.slice as usize;
    let name = gpu.group_name(at);
    let needs_step = gpu.name(instance.slice).contains("attention");
    let step = gpu.step(instance.step).filter(|_| needs_step).map_or(StringId::NONE, |step| step.name);
    // The signature of a call is its launch configuration.
    let is_op = gpu.kinds.get(trace.slices.category[at]) == Kind::Op;
    let signature = trace.signatures.get(trace.slices.offset(at)).filter(|_| is_op);
    // 0 stands for none.
    let of_sizes = || gpu.sizes_of(instance.slice).map(|sizes| XxHash64::oneshot(0, sizes.as_bytes()) | 1);
    Key { name, signature: signature.or_else(of_sizes).unwrap_or(0), step }
}

fn groups(gpu: &GpuTrace<'_>, instances: &[Instance]) -> Vec<Group> {
    let mut found: HashMap<Key, (Vec<i64>, u32, StringId)> = HashMap::default();
    for instance in instances {
        let new = || (Vec::new(), instance.slice, instance.kernel);
        let (busy, ..) = found.entry(key(gpu, instance)).or_insert_with(new);
        busy.push(instance.busy);
    }
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|(key, (busy, of, kernel))| Group { key, of, kernel, busy: Durations::new(busy), inputs: None })
        .collect();
    sort::by_key(&mut groups, |group| (-group.busy.total(), group.of));
    groups
}

/// Reads the arguments of one operator of each group, in file order.
fn read(gpu: &GpuTrace<'_>, groups: &mut [Group]) {
    let n = groups.len().min(MAX_READ);
    let offset = |group: &Group| gpu.trace.slices.offset(group.of as usize);
    let mut order: Vec<usize> = (0..n).filter(|at| groups[*at].key.signature != 0).collect();
    sort::by_key(&mut order, |at| offset(&groups[*at]));
    for at in order {
        let group = &mut groups[at];
        let raw = gpu.trace.args.get(gpu.trace.slices.args_of(group.of as usize));
        let sizes = gpu.sizes_of(group.of);
        if raw.is_none() && sizes.is_none() {
            continue;
        }
        let step = gpu.trace.strings.get_opt(group.key.step).and_then(StepTokens::parse);
        let mut inputs =
            Inputs::read(raw.as_deref().unwrap_or_default(), sizes, gpu.name(group.of), step.as_ref());
        if let Some(Work { spec: Some(spec), .. }) = &mut inputs.work {
            *spec = spec.as_run_by(gpu.trace.strings.get_opt(group.kernel).unwrap_or(""));
        }
        group.inputs = Some(inputs);
    }
}

impl Inputs {
    /// From arguments, or from `sizes` in a name.
    fn read(raw: &[u8], sizes: Option<&str>, op: &str, step: Option<&StepTokens>) -> Inputs {
        let mut members: ArgTexts<'_> = ArgTexts::default();
        for_each_member(raw, |key, value| match key.bytes {
            b"Input Dims" | b"Input dims" => members.dims = Some(value),
            b"Input type" => members.types = Some(value),
            b"Input Strides" => members.strides = Some(value),
            b"Concrete Inputs" => members.concrete = Some(value),
            _ => {}
        });
        let has_types = members.dims.is_some() || sizes.is_none();
        members.dims = members.dims.or(sizes.map(str::as_bytes));
        let args = OpArgs::parse(&members).ok();
        let work = args.as_ref().filter(|_| has_types).and_then(|args| match step {
            Some(step) => work_in_step(op, args, step),
            None => work(op, args),
        });
        let (shapes, types) = args.as_ref().map(described).unwrap_or_default();
        Inputs { shapes, types, work }
    }
}

/// Shapes and types of the tensors among the inputs: `[16, 559, 1024] [1024]`, `BFloat16`.
fn described(args: &OpArgs) -> (String, String) {
    let mut shapes = String::new();
    let mut types: Vec<&str> = Vec::new();
    let is_shown = |input: &&Input| {
        let has_no_type = input.type_name.is_empty() && !input.dims.is_empty();
        input.is_tensor() || !input.list.is_empty() || has_no_type
    };
    for input in args.inputs.iter().filter(is_shown) {
        if shapes.chars().count() > SHAPE_CHARS {
            shapes.push_str(" …");
            break;
        }
        let space = if shapes.is_empty() { "" } else { " " };
        let lists = if input.list.is_empty() { std::slice::from_ref(&input.dims) } else { &input.list };
        let lists: Vec<String> = lists.iter().take(8).map(|dims| format!("{dims:?}")).collect();
        shapes.push_str(&format!("{space}{}", lists.join("")));
        let name = input.type_name.trim_start_matches("c10::");
        if types.last() != Some(&name) && !name.is_empty() {
            types.push(name);
        }
    }
    (shapes, types.join(", "))
}

/// Rates of a group, and how close they are to the GPU's peaks.
#[derive(Default)]
struct Rates {
    flops: Option<u64>,
    bytes: Option<u64>,
    flops_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    intensity: Option<f64>,
    bound: Option<&'static str>,
    of_roofline: Option<f64>,
    unit: Option<String>,
}

impl Rates {
    fn new(group: &Group, peak: Option<&Peak>) -> Rates {
        let Some(work) = group.inputs.as_ref().and_then(|inputs| inputs.work.as_ref()) else {
            return Rates::default();
        };
        let ns = group.busy.total() as f64;
        let n = group.busy.count() as f64;
        let per_second = |amount: f64| (ns > 0.0).then(|| amount * n / (ns / 1e9));
        let best = peak.and_then(|peak| roofline(work, peak, Some(ns / n.max(1.0))));
        Rates {
            flops: Some(work.flops),
            bytes: work.bytes,
            flops_per_second: per_second(work.flops as f64),
            bytes_per_second: work.bytes.and_then(|bytes| per_second(bytes as f64)),
            intensity: work.intensity(),
            bound: best.map(|best| match best.bound {
                Bound::Compute => "compute",
                Bound::Memory => "memory",
            }),
            of_roofline: best.and_then(|best| best.share_of_roofline),
            unit: work.spec.map(|spec| spec.to_string()),
        }
    }
}

/// Maximum operators in the chart, most GPU time first.
const MAX_POINTS: usize = 300;

/// Operators by arithmetic intensity and FLOP/s, under the roofline. `None` if no operator has both.
fn chart(
    named: &NamedTrace<'_, '_>,
    groups: &[Group],
    rates: &[Rates],
    peak: Option<&Peak>,
) -> Option<Chart> {
    let gpu = named.gpu;
    let longest = groups.iter().map(|group| group.busy.total()).max()? as f64;
    let mut units: Vec<&str> = Vec::new();
    let mut points: Vec<Point> = Vec::new();
    for (group, rates) in groups.iter().zip(rates) {
        let (Some(x), Some(y), Some(unit)) = (rates.intensity, rates.flops_per_second, rates.unit.as_deref())
        else {
            continue;
        };
        if x <= 0.0 || y <= 0.0 || points.len() >= MAX_POINTS {
            continue;
        }
        let at = units.iter().position(|known| *known == unit).unwrap_or_else(|| {
            units.push(unit);
            units.len() - 1
        });
        let shapes = group.inputs.as_ref().map_or("", |inputs| inputs.shapes.as_str());
        let name = format!("{} {shapes}", gpu.trace.strings.get_opt(group.key.name).unwrap_or(""));
        let weight = group.busy.total() as f64 / longest.max(1.0);
        points.push(Point { name, x, y, weight, tone: Tone::Other(at as u8) });
    }
    if points.is_empty() {
        return None;
    }
    let limits = peak.map(|peak| limits(peak, &units)).unwrap_or_default();
    Some(Chart {
        id: named.id("roofline_chart"),
        title: named.title("Roofline"),
        caption: "One dot per operator and input shapes, sized by busy time. Below the slope it is memory-bound, below the flat \
                  part compute-bound; the distance to the line is the possible gain."
            .to_string(),
        plot: Plot::Points(Points {
            points,
            limits,
            legend: units
                .iter()
                .enumerate()
                .map(|(at, unit)| ((*unit).to_string(), Tone::Other(at as u8)))
                .collect(),
            x: Axis { label: "FLOP / byte".to_string(), unit: Unit::Plain },
            y: Axis { label: "FLOP/s".to_string(), unit: Unit::FlopsPerSecond },
        }),
    })
}

/// The roofline of each compute unit.
fn limits(peak: &Peak, units: &[&str]) -> Vec<Limit> {
    let Some(bandwidth) = peak.memory_gb_s.map(|gb| gb * 1e9) else { return Vec::new() };
    let limit = |unit: &&str| {
        let flops = peak.tflops(Spec::parse(unit)?)? * 1e12;
        let knee = flops / bandwidth;
        // Wide enough for any real intensity.
        let corners = vec![(1e-6, bandwidth * 1e-6), (knee, flops), (1e9_f64.max(knee * 10.0), flops)];
        Some(Limit { name: (*unit).to_string(), corners })
    };
    let mut limits: Vec<Limit> = Vec::new();
    for limit in units.iter().filter_map(limit) {
        // Units with equal peaks share a line.
        match limits.iter_mut().find(|known| known.corners == limit.corners) {
            Some(known) => known.name = format!("{}, {}", known.name, limit.name),
            None => limits.push(limit),
        }
    }
    limits
}
