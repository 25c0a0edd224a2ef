//! Layers of the model: by modules of the program where those are recorded, and by what repeats in a step.

use super::gpu::model::NONE;
use super::gpu::spans;
use super::gpu::stats::{Durations, share};
use super::gpu::steps::NO_STEP;
use super::gpu::{GpuTrace, Kind, Named};
use super::gpu_kernels;
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context};
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Report, Table};
use rustc_hash::FxHashMap;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "gpu-layers", title: "Layers", applies: gpu_kernels::applies, run, reference: None };

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for named in Named::all(context.gpu()) {
        let modules = module_table(&named);
        let layers = layer_table(&named);
        if report.summary.is_empty() {
            report.summary = match &layers {
                Some((_, n)) => {
                    format!("{} in a step, by its attention kernels.", counted(*n, "layer", "layers"))
                }
                None if modules.is_some() => "By module; no layers repeat in a step.".to_string(),
                None => "No modules are recorded and no layers repeat.".to_string(),
            };
        }
        if let Some((table, _)) = layers {
            report.table(table);
        }
        match modules {
            Some(table) => report.table(table),
            None => report.info(
                "Modules are not in the trace: profile with with_stack=True or with_modules=True, without graphs, to see times by \
                 nn.Module.",
            ),
        }
    }
    report
}

/// A module of the program, with everything launched in it.
#[derive(Default)]
struct ModuleSums {
    calls: u64,
    kernels: u64,
    inside: i64,
    own: i64,
}

fn module_table(named: &Named<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    let is_module =
        |i: usize, kind: Kind| kind == Kind::Python && gpu.name(i as u32).starts_with("nn.Module: ");
    let slices = &gpu.trace.slices;
    let mut sums: FxHashMap<StringId, ModuleSums> = FxHashMap::default();
    let mut seen: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for work in gpu.work.iter().filter(|work| work.launch != NONE) {
        // All modules around a launch, each name once: one may be inside another of its name.
        let around = seen.entry(work.launch).or_insert_with(|| {
            let mut modules = Vec::new();
            let mut at = work.launch;
            while let Some(module) = gpu.around(at, is_module) {
                modules.push(module);
                at = module;
            }
            modules
        });
        let mut names: Vec<StringId> = Vec::with_capacity(around.len());
        for (depth, module) in around.iter().enumerate() {
            let name = slices.name[*module as usize];
            let sums = sums.entry(name).or_default();
            if !names.contains(&name) {
                names.push(name);
                sums.inside += work.dur();
                sums.kernels += 1;
            }
            sums.own += if depth == 0 { work.dur() } else { 0 };
        }
    }
    if sums.is_empty() {
        return None;
    }
    for i in 0..slices.len() {
        if let Some(sums) = sums.get_mut(&slices.name[i]) {
            sums.calls += u64::from(is_module(i, gpu.kinds.get(slices.category[i])));
        }
    }
    let total: i64 = gpu.work.iter().map(|work| work.dur()).sum();
    let mut rows: Vec<(StringId, ModuleSums)> = sums.into_iter().collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    rows.sort_by(|a, b| (b.1.inside, text(a.0)).cmp(&(a.1.inside, text(b.0))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("modules"),
        named.title("Modules"),
        vec![
            Column::key("module", "module", texts(rows.iter().map(|row| Some(text(row.0).trim_start_matches("nn.Module: "))))),
            integers("inside", "GPU time", Unit::Ns, rows.iter().map(|row| row.1.inside))
                .with_bar()
                .hint("durations of all work launched in it and in modules inside it")
                .by_row(),
            Column::float("share", "share", Unit::Ratio, rows.iter().map(|row| share(row.1.inside, total)).collect()),
            integers("own", "own GPU time", Unit::Ns, rows.iter().map(|row| row.1.own)).hint("not in modules inside it").adds_up(),
            Column::counts("kernels", "work", Unit::Count, rows.iter().map(|row| row.1.kernels)).hint("kernels, copies and fills"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)).by_row(),
        ],
    )
    .sorted_by("inside", true)
    .caption("By the nn.Module frames around the launch; the number behind a name is the profiler's, one for each instance.");
    Some(with_left_out(table, n_left_out))
}

/// Work from one attention to the next.
pub struct Layer {
    /// Index into the steps, as [`super::gpu::Work::step`].
    pub step: u32,
    /// Number in the step, from 0.
    pub number: u32,
    /// Indices into [`GpuTrace::work`].
    pub work: Vec<usize>,
}

impl Layer {
    /// Nanoseconds in which any of its work ran.
    pub fn busy(&self, gpu: &GpuTrace<'_>) -> i64 {
        spans::total(&spans::union(self.work.iter().map(|at| (gpu.work[*at].start, gpu.work[*at].end))))
    }
}

/// Fewer attentions in a step than this are no repeated structure.
const MIN_LAYERS: usize = 2;

/// Layers of each step: every attention kernel starts one, kernels of one attention (its main part and the reduction
/// after it) together. What comes before the first attention of a step is in none.
pub fn layers(gpu: &GpuTrace<'_>) -> Vec<Layer> {
    let mut out: Vec<Layer> = Vec::new();
    let mut streams: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    // The stream with the most attention is the one that is cut.
    for work in gpu.work.iter().filter(|work| is_attention(gpu, work.class)) {
        *streams.entry((work.step, work.stream)).or_default() += 1;
    }
    let mut main: FxHashMap<u32, (usize, u32)> = FxHashMap::default();
    for ((step, stream), n) in streams {
        let best = main.entry(step).or_insert((n, stream));
        if (n, u32::MAX - stream) > (best.0, u32::MAX - best.1) {
            *best = (n, stream);
        }
    }
    let mut open: FxHashMap<u32, Layer> = FxHashMap::default();
    for (i, work) in gpu.work.iter().enumerate() {
        if main.get(&work.step).is_none_or(|(_, stream)| *stream != work.stream) {
            continue;
        }
        let attention = is_attention(gpu, work.class);
        let only_attention =
            |layer: &Layer| layer.work.iter().all(|at| is_attention(gpu, gpu.work[*at].class));
        let starts = attention && open.get(&work.step).is_none_or(|layer| !only_attention(layer));
        if starts {
            let number = open.get(&work.step).map_or(0, |layer| layer.number + 1);
            let layer = Layer { step: work.step, number, work: Vec::new() };
            out.extend(open.insert(work.step, layer));
        }
        if let Some(layer) = open.get_mut(&work.step) {
            layer.work.push(i);
        }
    }
    out.extend(open.into_values());
    out.sort_by_key(|layer| (layer.step, layer.number));
    out
}

fn is_attention(gpu: &GpuTrace<'_>, class: u32) -> bool {
    gpu.classes.get(class).operation.eq_ignore_ascii_case("attention")
}

fn layer_table(named: &Named<'_, '_>) -> Option<(Table, u64)> {
    let gpu = named.gpu;
    let layers = layers(gpu);
    let n_layers = layers.iter().map(|layer| layer.number + 1).max()? as usize;
    if n_layers < MIN_LAYERS {
        return None;
    }
    // Phases have layers of their own: what a layer does differs.
    let phase = |step: u32| gpu.annotation(step).map_or("", |what| what.phase.name());
    let mut rows: Vec<(&str, u32, Durations, Durations, u64, usize)> = Vec::new();
    let mut by_key: FxHashMap<(&str, u32), Vec<&Layer>> = FxHashMap::default();
    for layer in &layers {
        by_key.entry((phase(layer.step), layer.number)).or_default().push(layer);
    }
    for ((phase, number), layers) in by_key {
        let busy = |layer: &&Layer| layer.busy(gpu);
        let length = |layer: &&Layer| {
            let first = layer.work.first().map_or(0, |at| gpu.work[*at].start);
            layer.work.iter().map(|at| gpu.work[*at].end).max().unwrap_or(first) - first
        };
        let kernels: usize = layers.iter().map(|layer| layer.work.len()).sum();
        rows.push((
            phase,
            number,
            Durations::new(layers.iter().map(busy).collect()),
            Durations::new(layers.iter().map(length).collect()),
            kernels as u64,
            layers.len(),
        ));
    }
    rows.sort_by_key(|row| (row.0, row.1));
    let n_left_out = cut(&mut rows);
    let n_steps = layers
        .iter()
        .map(|layer| layer.step)
        .filter(|step| *step != NO_STEP)
        .collect::<std::collections::BTreeSet<_>>();
    let table = Table::new(
        named.id("layers"),
        named.title("Layers of a step"),
        vec![
            Column::key("phase", "phase", texts(rows.iter().map(|row| Some(row.0).filter(|phase| !phase.is_empty())))),
            Column::counts("layer", "layer", Unit::Id, rows.iter().map(|row| u64::from(row.1))).as_key(),
            Column::counts("steps", "steps", Unit::Count, rows.iter().map(|row| row.5 as u64)),
            Column::integer("busy", "busy, mean", Unit::Ns, rows.iter().map(|row| row.2.mean()).collect()).with_bar(),
            Column::integer("busy_max", "busy, longest", Unit::Ns, rows.iter().map(|row| row.2.max()).collect()),
            Column::integer("length", "length, mean", Unit::Ns, rows.iter().map(|row| row.3.mean()).collect())
                .hint("from its first kernel to the end of its last, with the gaps"),
            Column::float("kernels", "kernels, mean", Unit::Plain, rows.iter().map(|row| Some(row.4 as f64 / row.5.max(1) as f64)).collect()),
        ],
    )
    .caption(format!(
        "From one attention kernel to the next on the stream that has the most of them, {}. What comes before the first attention \
         of a step is in no layer, and the last layer has what follows it, such as the sampling of tokens.",
        if n_steps.is_empty() { "over the whole trace".to_string() } else { format!("in {}", counted(n_steps.len() as u64, "step", "steps")) }
    ));
    Some((with_left_out(table, n_left_out), n_layers as u64))
}
