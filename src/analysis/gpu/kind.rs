//! What the categories of the PyTorch profiler mean, today's and those of 2021.

use crate::base::strings::{StringId, StringTable};

/// What an event of a category is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// An operator on the CPU: a dispatcher call, an autograd node, a custom operator, a compiled region.
    Op,
    /// A range that the program named, on the CPU.
    Annotation,
    /// The same on a stream of the GPU, from the first to the last work launched in it.
    GpuAnnotation,
    /// A call of a Python or C function, or of a module.
    Python,
    /// A call of the runtime or driver of the GPU.
    Call,
    /// A kernel.
    Kernel,
    /// A copy by a copy engine.
    Copy,
    /// Memory filled with a value.
    Fill,
    /// A wait, of the host or of a stream.
    Sync,
    /// What the profiler itself cost.
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
            "cuda_runtime" | "cuda_driver" | "Runtime" | "mtia_runtime" => Kind::Call,
            "kernel" | "Kernel" | "mtia_ccp_events" => Kind::Kernel,
            "gpu_memcpy" | "Memcpy" => Kind::Copy,
            "gpu_memset" | "Memset" => Kind::Fill,
            "cuda_sync" => Kind::Sync,
            "overhead" => Kind::Overhead,
            _ => Kind::Other,
        }
    }

    /// Whether it takes place on a GPU and keeps it busy.
    pub fn is_gpu_work(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Copy | Kind::Fill)
    }
}

/// The kinds of all categories of a trace.
pub struct Kinds {
    /// By number of the text; there are as many as the largest number of a category asks for.
    by_id: Vec<Option<Kind>>,
}

impl Kinds {
    /// Kinds of `categories`.
    pub fn new(categories: &[StringId], strings: &StringTable) -> Kinds {
        let mut by_id: Vec<Option<Kind>> = Vec::new();
        let mut last = StringId::NONE;
        for category in categories {
            // Neighbours mostly are of one category.
            if *category == last || category.is_none() {
                continue;
            }
            last = *category;
            let at = category.0 as usize;
            if by_id.len() <= at {
                by_id.resize(at + 1, None);
            }
            by_id[at].get_or_insert_with(|| Kind::of(strings.get(*category)));
        }
        Kinds { by_id }
    }

    /// The kind of `category`.
    #[inline]
    pub fn get(&self, category: StringId) -> Kind {
        self.by_id.get(category.0 as usize).copied().flatten().unwrap_or(Kind::Other)
    }

    /// Whether there is any category of such a kind.
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
}
