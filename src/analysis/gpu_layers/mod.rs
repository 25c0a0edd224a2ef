//! Layers of the model: by recorded modules, and by kernel sequences that repeat in a step.

mod attention;
mod modules;
mod repeated;
mod tables;

pub use attention::layers as by_attention;

use super::gpu::spans;
use super::gpu::{GpuTrace, Lack, NamedTrace};
use super::gpu_kernels;
use super::{AnalysisInfo, Context, Group};
use crate::base::units::counted;
use crate::report::Report;
use std::collections::BTreeSet;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-layers",
    title: "Layers",
    applies: gpu_kernels::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| {
        let modules = modules::tables(named);
        let layers = Layers::new(named.gpu);
        if report.summary.is_empty() {
            report.summary = match &layers {
                Some(layers) => layers.summary(named.gpu),
                None if modules.is_some() => "By module; no repeating layers found.".to_string(),
                None => "No modules recorded and no repeating layers found.".to_string(),
            };
        }
        if let Some(layers) = &layers {
            report.table(tables::layers(named, layers));
            report.table(tables::operations(named, layers));
            report.table(tables::kernels(named, layers));
        }
        match modules {
            Some(tables) => tables.into_iter().for_each(|table| report.table(table)),
            None => report
                .info(format!("No modules (nn.Module) in this trace.{}", named.gpu.advice(Lack::Modules))),
        }
    });
    report
}

/// Kernels and copies of one layer in one step.
pub struct Layer {
    /// Index into the steps, as [`super::gpu::Work::step`].
    pub step: u32,
    /// Index into the devices.
    pub device: u32,
    /// Number in the step on this GPU, from 0.
    pub number: u32,
    /// Indices into [`super::gpu::GpuModel::work`].
    pub work: Vec<usize>,
}

impl Layer {
    /// Nanoseconds in which any of its kernels or copies ran.
    pub fn busy(&self, gpu: &GpuTrace<'_>) -> i64 {
        spans::total(&spans::union(self.work.iter().map(|at| (gpu.work[*at].start, gpu.work[*at].end))))
    }
}

/// How layers were detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Each starts with attention, or what mixes tokens in its place.
    Mixer,
    /// Each repeats the same kernels.
    Repeated,
}

/// Layers of all steps.
pub struct Layers {
    pub basis: Basis,
    /// In order of steps, GPUs and numbers.
    pub layers: Vec<Layer>,
}

/// Minimum layers in a step for a repeating structure.
const MIN_LAYERS: u32 = 2;

impl Layers {
    /// Layers by attention or the like if steps have several, else by repetition; `None` if nothing repeats.
    pub fn new(gpu: &GpuTrace<'_>) -> Option<Layers> {
        let layers = attention::layers(gpu);
        if layers.iter().any(|layer| layer.number + 1 >= MIN_LAYERS) {
            return Some(Layers { basis: Basis::Mixer, layers });
        }
        let layers = repeated::layers(gpu);
        (!layers.is_empty()).then_some(Layers { basis: Basis::Repeated, layers })
    }

    /// Number of GPUs that have layers.
    fn n_devices(&self) -> usize {
        self.layers.iter().map(|layer| layer.device).collect::<BTreeSet<u32>>().len()
    }

    /// Number of layers in the step with the most.
    pub fn n(&self) -> u64 {
        self.layers.iter().map(|layer| u64::from(layer.number) + 1).max().unwrap_or(0)
    }

    /// The operations that layers start with: `attention or SSM`.
    fn mixers(&self, gpu: &GpuTrace<'_>) -> String {
        let starts_with = |mixer: &&str| {
            let first = |layer: &Layer| layer.work.first().and_then(|at| gpu.work.get(*at));
            let mut operations = self.layers.iter().filter_map(first).map(|work| &gpu.class(work).operation);
            operations.any(|operation| operation.eq_ignore_ascii_case(mixer))
        };
        attention::MIXERS.into_iter().filter(starts_with).collect::<Vec<_>>().join(" or ")
    }

    fn summary(&self, gpu: &GpuTrace<'_>) -> String {
        match self.basis {
            Basis::Mixer => {
                let layers = counted(self.n(), "layer", "layers");
                format!("{layers} per step, detected by {} kernels.", self.mixers(gpu))
            }
            Basis::Repeated => {
                let longest = self.layers.iter().map(|layer| layer.work.len() as u64).max().unwrap_or(0);
                format!(
                    "{} of up to {} per step, detected by repeating kernels (fewer than two layers by attention or SSM kernels).",
                    counted(self.n(), "repetition", "repetitions"),
                    counted(longest, "kernel", "kernels")
                )
            }
        }
    }
}
