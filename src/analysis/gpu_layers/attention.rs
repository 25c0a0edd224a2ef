//! Layers by attention, which every transformer layer has exactly once.

use super::Layer;
use crate::analysis::gpu::GpuTrace;
use crate::base::hash::HashMap;
use crate::base::sort;

/// Layers of each step. Every attention kernel starts one; kernels of one attention (main part and reduction) stay together.
/// Kernels before the first attention of a step belong to no layer.
pub fn layers(gpu: &GpuTrace<'_>) -> Vec<Layer> {
    let mut out: Vec<Layer> = Vec::new();
    let mut streams: HashMap<(u32, u32), usize> = HashMap::default();
    // Only the stream with the most attention kernels is divided into layers.
    for work in gpu.work.iter().filter(|work| is_attention(gpu, work.class)) {
        *streams.entry((work.step, work.stream)).or_default() += 1;
    }
    let mut main: HashMap<u32, (usize, u32)> = HashMap::default();
    for ((step, stream), n) in streams {
        let best = main.entry(step).or_insert((n, stream));
        if (n, u32::MAX - stream) > (best.0, u32::MAX - best.1) {
            *best = (n, stream);
        }
    }
    let mut open: HashMap<u32, Layer> = HashMap::default();
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
    sort::by_key(&mut out, |layer| (layer.step, layer.number));
    out
}

fn is_attention(gpu: &GpuTrace<'_>, class: u32) -> bool {
    gpu.classes.get(class).operation.eq_ignore_ascii_case("attention")
}
