//! What GPU reports share: the work of the GPU with what launched it, the steps it belongs to, and facts on the run.
//!
//! ```text
//! kernel ── correlation ── call ── nesting ── operator ── nesting ── Python frame, module
//!                           │
//!                           └── time, on the CPU ── step
//! ```
//! Work is never given to a step, an operator or a frame by when the GPU ran it: queues may be full for long.

pub mod active;
pub mod annotation;
pub mod class;
pub mod collective;
pub mod facts;
pub mod kernel_names;
pub mod kind;
pub mod model;
pub mod named;
pub mod parts;
pub mod spans;
pub mod stats;
pub mod steps;

pub use class::Class;
pub use kind::{Kind, Kinds};
pub use model::{GpuModel, GpuTrace, Work};
pub use named::Named;

use crate::trace::{Run, Trace};

/// Whether a trace of the run has to do with a GPU: see [`is_of_gpu`].
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(is_of_gpu)
}

/// Whether a trace has calls to a GPU, work on one, or ranges of a profiler that records them.
pub fn is_of_gpu(trace: &Trace) -> bool {
    // Of what was only added up there are reports of its own.
    if !trace.links.is_empty() || trace.folded.is_some() {
        return !trace.links.is_empty();
    }
    let has = |is: fn(Kind) -> bool| Kinds::new(&trace.slices.category, &trace.strings).has(is);
    // Texts of the trace are looked up first: that is much faster than a look at the category of each slice.
    let may_have_ranges = RANGES.iter().any(|category| trace.strings.find(category).is_some());
    (may_have_ranges && has(|kind| matches!(kind, Kind::Annotation | Kind::GpuAnnotation)))
        || (is_of_pytorch(trace) && has(Kind::is_gpu_work))
}

/// Whether a trace has work of a GPU.
pub fn has_work(trace: &Trace) -> bool {
    (!trace.links.is_empty() || (trace.folded.is_none() && is_of_pytorch(trace)))
        && Kinds::new(&trace.slices.category, &trace.strings).has(Kind::is_gpu_work)
}

/// Categories that only the PyTorch profiler gives.
const RANGES: &[&str] = &["user_annotation", "gpu_user_annotation"];

/// Whether the file says that it is of the PyTorch profiler. Where a file does not, a category such as `kernel` may mean
/// anything, unless an id joins it with a call.
fn is_of_pytorch(trace: &Trace) -> bool {
    const MEMBERS: &[&str] = &["schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"];
    trace.source.metadata.iter().any(|(key, _)| MEMBERS.contains(&key.as_str()))
}
