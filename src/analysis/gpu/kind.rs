//! Meaning of the PyTorch profiler's event categories, current ones and those of 2021.

use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::links::CALL_CATEGORIES;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// An operator on the CPU: a dispatcher call, an autograd node, a custom operator, a compiled region.
    Op,
    /// A user annotation on the CPU.
    Annotation,
    /// A user annotation on a GPU stream, from the first to the last kernel launched in it.
    GpuAnnotation,
    /// A call of a Python or C function, or of a module.
    Python,
    /// A call of the GPU runtime or driver.
    Call,
    /// A kernel.
    Kernel,
    /// A copy by a copy engine.
    Copy,
    /// A memory fill (memset).
    Fill,
    /// A wait, of the host or of a stream.
    Sync,
    /// Profiler overhead.
    Overhead,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind of a category.
    pub fn of(category: &str) -> Kind {
        match category {
            "cpu_op" | "Operator" => Kind::Op,
            "user_annotation" => Kind::Annotation,
            "gpu_user_annotation" => Kind::GpuAnnotation,
            "python_function" => Kind::Python,
            "kernel" | "Kernel" | "mtia_ccp_events" => Kind::Kernel,
            "gpu_memcpy" | "Memcpy" => Kind::Copy,
            "gpu_memset" | "Memset" => Kind::Fill,
            "cuda_sync" => Kind::Sync,
            "overhead" => Kind::Overhead,
            call if CALL_CATEGORIES.contains(&call) => Kind::Call,
            // Among them `xpu_sync`, which doesn't say what it waits for, and ranges without ids (`collective_comm`, `hpu_op`).
            _ => Kind::Other,
        }
    }

    /// Whether it runs on a GPU and keeps it busy.
    pub fn is_gpu_work(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Copy | Kind::Fill)
    }
}

/// The kinds of all categories of a trace.
pub struct Kinds {
    /// By string id, up to the largest id of a category.
    by_id: Vec<Option<Kind>>,
}

impl Kinds {
    /// Kinds of the categories that slices of `trace` have.
    pub fn of(trace: &Trace) -> Kinds {
        let categories = trace.slice_categories();
        let n = categories.iter().map(|category| category.0 as usize + 1).max().unwrap_or(0);
        let mut by_id = vec![None; n];
        for category in categories {
            by_id[category.0 as usize] = Some(Kind::of(trace.strings.get(*category)));
        }
        Kinds { by_id }
    }

    /// The kind of `category`.
    #[inline]
    pub fn get(&self, category: StringId) -> Kind {
        self.by_id.get(category.0 as usize).copied().flatten().unwrap_or(Kind::Other)
    }

    /// Whether any category is of such a kind.
    pub fn has(&self, is: impl Fn(Kind) -> bool) -> bool {
        self.by_id.iter().flatten().any(|kind| is(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;
    use crate::trace::links::WORK_CATEGORIES;

    #[test]
    fn work_is_what_the_trace_holds_as_work() {
        assert!(WORK_CATEGORIES.iter().all(|category| Kind::of(category).is_gpu_work()));
        let others =
            ["cpu_op", "cuda_runtime", "cuda_sync", "gpu_user_annotation", "overhead", "python_function"];
        assert!(others.iter().all(|other| !Kind::of(other).is_gpu_work()));
    }

    /// All activity types of Kineto's `ActivityType.h`.
    #[test]
    fn activity_types_of_kineto_have_kinds() {
        let is = |kind: Kind, categories: &[&str]| {
            categories.iter().for_each(|category| assert_eq!(Kind::of(category), kind, "{category}"));
        };
        is(Kind::Op, &["cpu_op"]);
        is(Kind::Annotation, &["user_annotation"]);
        is(Kind::GpuAnnotation, &["gpu_user_annotation"]);
        is(Kind::Python, &["python_function"]);
        is(
            Kind::Call,
            &[
                "cuda_runtime",
                "cuda_driver",
                "mtia_runtime",
                "xpu_runtime",
                "xpu_driver",
                "privateuse1_runtime",
                "privateuse1_driver",
            ],
        );
        is(Kind::Kernel, &["kernel", "mtia_ccp_events"]);
        is(Kind::Copy, &["gpu_memcpy"]);
        is(Kind::Fill, &["gpu_memset"]);
        is(Kind::Sync, &["cuda_sync"]);
        is(Kind::Overhead, &["overhead"]);
        is(
            Kind::Other,
            &[
                "external_correlation",
                "cpu_instant_event",
                "mtia_insight",
                "mtia_counters",
                "cuda_event",
                "glow_runtime",
                "cuda_profiler_range",
                "hpu_op",
                "collective_comm",
                "xpu_scope_profiler",
                "xpu_sync",
            ],
        );
    }
}
