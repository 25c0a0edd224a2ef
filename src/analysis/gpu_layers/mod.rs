//! Layers of the model: by modules of the program where those are recorded, and by what repeats in a step.

mod attention;
mod modules;
mod repeated;
mod tables;

pub use attention::layers as by_attention;

use super::gpu::spans;
use super::gpu::{GpuTrace, Named};
use super::gpu_kernels;
use super::{AnalysisInfo, Context};
use crate::base::units::counted;
use crate::report::Report;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-layers",
    title: "Layers",
    applies: gpu_kernels::applies,
    run,
    reference: None,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    Named::each(context.gpu(), &mut report, |named, report| {
        let modules = modules::tables(named);
        let layers = Layers::new(named.gpu);
        if report.summary.is_empty() {
            report.summary = match &layers {
                Some(layers) => layers.summary(),
                None if modules.is_some() => "By module; no layers repeat in a step.".to_string(),
                None => "No modules are recorded and no layers repeat.".to_string(),
            };
        }
        if let Some(layers) = &layers {
            report.table(tables::layers(named, layers));
            report.table(tables::operations(named, layers));
            report.table(tables::kernels(named, layers));
        }
        match modules {
            Some(tables) => tables.into_iter().for_each(|table| report.table(table)),
            None => report.info(
                "Modules are not in the trace: profile with with_stack=True or with_modules=True, without graphs, to see times by \
                 nn.Module.",
            ),
        }
    });
    report
}

/// Work of one layer of the model in one step.
pub struct Layer {
    /// Index into the steps, as [`super::gpu::Work::step`].
    pub step: u32,
    /// Number in the step, from 0.
    pub number: u32,
    /// Indices into [`super::gpu::GpuModel::work`].
    pub work: Vec<usize>,
}

impl Layer {
    /// Nanoseconds in which any of its work ran.
    pub fn busy(&self, gpu: &GpuTrace<'_>) -> i64 {
        spans::total(&spans::union(self.work.iter().map(|at| (gpu.work[*at].start, gpu.work[*at].end))))
    }
}

/// By what layers are told from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Each has an attention.
    Attention,
    /// Each runs the same kernels.
    Repeated,
}

/// Layers of all steps.
pub struct Layers {
    pub basis: Basis,
    /// In order of steps and numbers.
    pub layers: Vec<Layer>,
}

/// Fewer attentions in a step than this are no repeated structure.
const MIN_LAYERS: u32 = 2;

impl Layers {
    /// By attention where steps have several, else by what repeats; `None` if nothing does.
    pub fn new(gpu: &GpuTrace<'_>) -> Option<Layers> {
        let layers = attention::layers(gpu);
        if layers.iter().any(|layer| layer.number + 1 >= MIN_LAYERS) {
            return Some(Layers { basis: Basis::Attention, layers });
        }
        let layers = repeated::layers(gpu);
        (!layers.is_empty()).then_some(Layers { basis: Basis::Repeated, layers })
    }

    /// In the step that has the most.
    pub fn n(&self) -> u64 {
        self.layers.iter().map(|layer| u64::from(layer.number) + 1).max().unwrap_or(0)
    }

    fn summary(&self) -> String {
        match self.basis {
            Basis::Attention => {
                format!("{} in a step, by its attention kernels.", counted(self.n(), "layer", "layers"))
            }
            Basis::Repeated => {
                let longest = self.layers.iter().map(|layer| layer.work.len() as u64).max().unwrap_or(0);
                format!(
                    "{} in a step, of up to {}; no attention kernel marks the layers.",
                    counted(self.n(), "repetition", "repetitions"),
                    counted(longest, "kernel", "kernels")
                )
            }
        }
    }
}
