//! Layers by what mixes tokens: attention, or in its place a state space model or linear attention. Every layer has exactly one.

use super::Layer;
use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::class::Class;
use crate::base::hash::HashMap;
use crate::base::sort;

/// Operations that mix tokens, as reports name them.
pub const MIXERS: [&str; 2] = ["attention", "SSM"];

/// Families of these operations that only prepare it, with matrix products in between.
const PREPARING: [&str; 3] = ["sparse attention indexer", "causal conv1d", "linear attention gates"];

/// What a kernel means for layers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Mixer,
    Product,
    Other,
}

impl Role {
    fn of(class: &Class) -> Role {
        let is_mixer = MIXERS.iter().any(|mixer| class.operation.eq_ignore_ascii_case(mixer));
        if is_mixer && !PREPARING.contains(&class.family.as_str()) {
            Role::Mixer
        } else if class.operation.to_ascii_lowercase().ends_with("gemm") {
            Role::Product
        } else {
            Role::Other
        }
    }
}

/// Kernels of a stream in a step.
#[derive(Clone, Copy, Default)]
struct Count {
    mixers: usize,
    has_products: bool,
}

/// The layer that kernels go to.
struct Open {
    layer: Layer,
    /// Whether the next mixer starts another one.
    is_mixed: bool,
}

/// Layers of each step and GPU. Each starts with a mixer; those until the next matrix product are one (prefill and decode, main part
/// and reduction). Kernels before the first mixer of a step belong to no layer.
pub fn layers(gpu: &GpuTrace<'_>) -> Vec<Layer> {
    let roles: Vec<Role> = gpu.classes.all().iter().map(Role::of).collect();
    let role = |class: u32| roles.get(class as usize).copied().unwrap_or(Role::Other);
    let device = |stream: u32| gpu.streams.get(stream as usize).map_or(0, |stream| stream.device);
    let mut streams: HashMap<(u32, u32), Count> = HashMap::default();
    for work in gpu.work.iter().filter(|work| role(work.class) != Role::Other) {
        let count = streams.entry((work.step, work.stream)).or_default();
        count.mixers += usize::from(role(work.class) == Role::Mixer);
        count.has_products |= role(work.class) == Role::Product;
    }
    // Only the stream with the most mixers is divided into layers.
    let mut main: HashMap<(u32, u32), (Count, u32)> = HashMap::default();
    for ((step, stream), count) in streams.into_iter().filter(|(_, count)| count.mixers > 0) {
        let best = main.entry((step, device(stream))).or_insert((count, stream));
        if (count.mixers, u32::MAX - stream) > (best.0.mixers, u32::MAX - best.1) {
            *best = (count, stream);
        }
    }
    let mut out: Vec<Layer> = Vec::new();
    let mut open: HashMap<(u32, u32), Open> = HashMap::default();
    for (i, work) in gpu.work.iter().enumerate() {
        let key = (work.step, device(work.stream));
        let Some((count, _)) = main.get(&key).filter(|(_, stream)| *stream == work.stream) else { continue };
        let role = role(work.class);
        if role == Role::Mixer && open.get(&key).is_none_or(|open| open.is_mixed) {
            let number = open.get(&key).map_or(0, |open| open.layer.number + 1);
            let layer = Layer { step: work.step, device: key.1, number, work: Vec::new() };
            out.extend(open.insert(key, Open { layer, is_mixed: false }).map(|open| open.layer));
        }
        if let Some(open) = open.get_mut(&key) {
            open.layer.work.push(i);
            // Where no products are known, any other kernel ends the mixing.
            open.is_mixed |= if count.has_products { role == Role::Product } else { role != Role::Mixer };
        }
    }
    out.extend(open.into_values().map(|open| open.layer));
    sort::by_key(&mut out, |layer| (layer.step, layer.device, layer.number));
    out
}
