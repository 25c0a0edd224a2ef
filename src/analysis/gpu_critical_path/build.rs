//! The graph of a window: CPU events first, then the GPU events they launched.

use super::graph::Graph;
use super::{cpu, device};
use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::spans::Span;

/// Graph of the CPU events that start in `window` (inclusive) and of the kernels they launched. Time is linear in the events of
/// the trace, memory in those of the window plus the launches of the trace. Only the first `max_cpu` CPU events are added.
pub fn build(gpu: &GpuTrace<'_>, window: Span, max_cpu: usize) -> Graph {
    let mut graph = Graph::default();
    cpu::add(&mut graph, gpu, window, max_cpu);
    device::add(&mut graph, gpu);
    graph
}
