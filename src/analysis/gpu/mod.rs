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

/// Whether a trace of the run has calls to a GPU, work on one, or ranges of a profiler that records them.
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.links.is_empty())
}

/// Whether a trace has work of a GPU.
pub fn has_work(trace: &Trace) -> bool {
    !trace.links.is_empty() && Kinds::new(&trace.slices.category, &trace.strings).has(Kind::is_gpu_work)
}
