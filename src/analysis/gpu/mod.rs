//! Shared model of GPU reports: GPU activity with its launches and steps, and facts on the run.
//!
//! ```text
//! kernel ── correlation ── call ── nesting ── operator ── nesting ── Python frame, module
//!                           │
//!                           └── time, on the CPU ── step
//! ```
//! Kernels are never attributed to a step, an operator or a frame by when they ran, since queues may be long.

pub mod active;
pub mod advice;
pub mod alone;
pub mod annotation;
mod beside;
pub mod captures;
pub mod class;
pub mod collective;
pub mod facts;
pub mod gaps;
pub mod kernel_names;
pub mod kind;
pub mod launched;
pub mod model;
pub mod named;
mod operator_ranges;
pub mod parts;
pub mod scope;
pub mod spans;
pub mod stats;
pub mod steps;
mod tensor;

pub use advice::{Lack, Tool};
pub use class::Class;
pub use kind::{Kind, Kinds};
pub use model::{GpuModel, GpuTrace, Work};
pub use named::NamedTrace;

use crate::trace::builder::{OWN_FACT, for_each_member};
use crate::trace::links::PROFILER_MEMBERS;
use crate::trace::{Run, SourceInfo, Trace};

/// Whether any trace of the run is a GPU trace: see [`is_of_gpu`].
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(is_of_gpu)
}

/// Whether a trace has GPU calls, GPU activity, or annotations of a GPU profiler.
pub fn is_of_gpu(trace: &Trace) -> bool {
    // Checking the strings first is much faster than checking the category of each slice.
    let may_have_ranges =
        || trace.aggregated.is_none() && RANGES.iter().any(|category| trace.strings.find(category).is_some());
    let is_range = |kind| matches!(kind, Kind::Annotation | Kind::GpuAnnotation);
    !trace.links.is_empty() || has_work(trace) || (may_have_ranges() && has(trace, is_range))
}

/// Whether a trace has GPU activity with slices. Traces with dropped slices are handled separately.
pub fn has_work(trace: &Trace) -> bool {
    let may_have = !trace.links.is_empty()
        || (trace.aggregated.is_none() && (is_of_profiler(trace) || has_gpu_categories(&trace.source)));
    may_have && has(trace, Kind::is_gpu_work)
}

/// Whether any slice is of such a kind.
fn has(trace: &Trace, is: impl Fn(Kind) -> bool) -> bool {
    Kinds::of(trace).has(is)
}

/// Categories that only the PyTorch profiler writes.
const RANGES: &[&str] = &["user_annotation", "gpu_user_annotation"];

/// Id of the format of XPlane profiles. Operations of TPUs have no ids there, and their category is no word of the file.
const XPLANE: &str = "xplane";

/// Member of [`OWN_FACT`] with which exports state [`has_gpu_categories`].
pub const GPU_CATEGORIES: &str = "gpu_categories";

/// Whether the categories of GPU activity are certain although the events have no ids: in XPlane profiles and their exports.
pub fn has_gpu_categories(source: &SourceInfo) -> bool {
    let own = || source.metadata.iter().find(|(name, _)| name == OWN_FACT);
    let mut is_stated = source.format == XPLANE;
    if let Some((_, own)) = own().filter(|_| !is_stated) {
        for_each_member(own.as_bytes(), |name, value| {
            is_stated |= name.bytes == GPU_CATEGORIES.as_bytes() && value == b"true";
        });
    }
    is_stated
}

/// Whether the file has metadata of the PyTorch profiler. Otherwise, a category such as `kernel` may mean anything, unless a
/// correlation id links it to a call.
fn is_of_profiler(trace: &Trace) -> bool {
    trace.source.metadata.iter().any(|(key, _)| PROFILER_MEMBERS.contains(&key.as_str()))
}
