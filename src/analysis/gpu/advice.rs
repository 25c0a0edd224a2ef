//! How to record what a trace of a GPU lacks, in the words of the tool that wrote it: the only place for such advice.

use super::GpuTrace;
use crate::base::text::capitalized;
use crate::trace::Trace;

/// A tool that records GPU activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    PyTorch,
    Nsight,
    Rocprof,
    Rpd,
    /// The profiler of JAX and TensorFlow.
    Xprof,
    Other,
}

/// Data that a trace may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    Launches,
    DeviceRecords,
    Operators,
    Frames,
    Steps,
    Modules,
    Shapes,
    Syncs,
    Allocations,
    /// Kernels, copies and fills.
    Work,
}

/// What can be done about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// An instruction, without the final dot.
    Do(&'static str),
    /// Traces of this tool never have it, or it isn't read from them.
    Never,
    Unknown,
}

impl Tool {
    /// Told from the format, and from the producer where tools share a format.
    pub fn of(trace: &Trace) -> Tool {
        let source = &trace.source;
        Tool::of_format(source.format, source.producer.as_deref().unwrap_or(""))
    }

    /// Of a format id, and the producer as the file names it.
    pub fn of_format(format: &str, producer: &str) -> Tool {
        match format {
            "nsys-sqlite" | "nsys-parquet" => Tool::Nsight,
            "xplane" => Tool::Xprof,
            "rocpd" if producer.contains("RPD") => Tool::Rpd,
            "rocpd" => Tool::Rocprof,
            _ if producer.contains("PyTorch") => Tool::PyTorch,
            _ if producer.contains("rocprof") => Tool::Rocprof,
            _ => Tool::Other,
        }
    }

    /// What its files are called, in the plural.
    fn files(self) -> &'static str {
        match self {
            Tool::PyTorch => "PyTorch profiles",
            Tool::Nsight => "Nsight Systems captures",
            Tool::Rocprof => "captures of rocprofv3",
            Tool::Rpd => "RPD captures",
            Tool::Xprof => "XPlane files",
            Tool::Other => "files of this kind",
        }
    }

    /// How to record `lack`.
    pub fn way(self, lack: Lack) -> Way {
        use Way::{Do, Never, Unknown};
        match self {
            Tool::PyTorch => match lack {
                Lack::Launches => Do("Start recording earlier"),
                Lack::DeviceRecords => Unknown,
                Lack::Operators => Do("Profile with ProfilerActivity.CPU"),
                Lack::Frames => Do("Profile with with_stack=True"),
                Lack::Steps => Do("Call step() of the profiler in each step"),
                Lack::Modules => Do("Profile with with_modules=True or with_stack=True, without CUDA graphs"),
                Lack::Shapes => Do("Profile with record_shapes=True"),
                Lack::Syncs => Do("Set enable_cuda_sync_events in the profiler's experimental_config"),
                Lack::Allocations => Do("Profile with profile_memory=True"),
                Lack::Work => Do("Profile with ProfilerActivity.CUDA"),
            },
            Tool::Nsight => match lack {
                Lack::Launches => Do("Start recording earlier"),
                Lack::Work | Lack::Syncs => Do("Record with nsys profile -t cuda"),
                Lack::Operators => Do(
                    "Run PyTorch under torch.autograd.profiler.emit_nvtx(), with nsys profile -t cuda,nvtx",
                ),
                Lack::Steps => {
                    Do("Mark steps with NVTX ranges such as ProfilerStep#3, with nsys profile -t cuda,nvtx")
                }
                Lack::Shapes => Do(
                    "Run PyTorch under torch.autograd.profiler.emit_nvtx(record_shapes=True), with nsys profile -t cuda,nvtx",
                ),
                Lack::Frames | Lack::Modules | Lack::Allocations => Never,
                Lack::DeviceRecords => Unknown,
            },
            Tool::Rocprof => match lack {
                Lack::Launches | Lack::Work => Do("Record with rocprofv3 --runtime-trace"),
                Lack::Steps => {
                    Do("Mark steps with ROCTx ranges such as ProfilerStep#3, with rocprofv3 --runtime-trace")
                }
                Lack::Operators
                | Lack::Frames
                | Lack::Modules
                | Lack::Shapes
                | Lack::Syncs
                | Lack::Allocations => Never,
                Lack::DeviceRecords => Unknown,
            },
            Tool::Rpd => match lack {
                Lack::Operators
                | Lack::Frames
                | Lack::Modules
                | Lack::Shapes
                | Lack::Syncs
                | Lack::Allocations => Never,
                Lack::Launches | Lack::Work | Lack::Steps | Lack::DeviceRecords => Unknown,
            },
            Tool::Xprof => match lack {
                Lack::Frames => Do("Set python_tracer_level=1 in the options of the profiler"),
                Lack::Steps => {
                    Do("Mark steps with StepTraceAnnotation (JAX) or tf.profiler.experimental.Trace")
                }
                Lack::Operators | Lack::Modules | Lack::Shapes | Lack::Syncs | Lack::Allocations => Never,
                Lack::Launches | Lack::Work | Lack::DeviceRecords => Unknown,
            },
            Tool::Other => Unknown,
        }
    }

    /// A sentence for a text that has said what is missing, with a blank before it; empty where nothing is known.
    pub fn advice(self, lack: Lack) -> String {
        self.sentence(self.way(lack))
    }

    fn sentence(self, way: Way) -> String {
        match way {
            Way::Do(what) => format!(" {what} to record them."),
            Way::Never => format!(" {} have none.", capitalized(self.files())),
            Way::Unknown => String::new(),
        }
    }

    /// `Not in Nsight Systems captures`.
    pub fn not_in_files(self) -> String {
        format!("Not in {}", self.files())
    }
}

impl GpuTrace<'_> {
    /// How to record `lack`: as [`Tool::way`], unless the option for it was on.
    pub fn way(&self, lack: Lack) -> Way {
        match Tool::of(self.trace).way(lack) {
            Way::Do(_) if lack.options().iter().any(|option| self.facts.has_option(option)) => Way::Unknown,
            way => way,
        }
    }

    /// As [`Tool::advice`].
    pub fn advice(&self, lack: Lack) -> String {
        Tool::of(self.trace).sentence(self.way(lack))
    }
}

impl Lack {
    /// Options of the PyTorch profiler: any one of them records it.
    fn options(self) -> &'static [&'static str] {
        match self {
            Lack::Frames => &["with_stack"],
            Lack::Modules => &["with_modules", "with_stack"],
            Lack::Shapes => &["record_shapes"],
            Lack::Allocations => &["profile_memory"],
            _ => &[],
        }
    }

    /// In the order of the table of available data; without those that have no row in it.
    pub const ALL: [Lack; 8] = [
        Lack::Launches,
        Lack::DeviceRecords,
        Lack::Operators,
        Lack::Frames,
        Lack::Steps,
        Lack::Modules,
        Lack::Shapes,
        Lack::Syncs,
    ];

    /// Its name in texts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Lack::Launches => "launches",
            Lack::DeviceRecords => "device records",
            Lack::Operators => "operators",
            Lack::Frames => "Python frames",
            Lack::Steps => "steps",
            Lack::Modules => "modules",
            Lack::Shapes => "shapes",
            Lack::Syncs => "synchronization events",
            Lack::Allocations => "allocations",
            Lack::Work => "GPU activity",
        }
    }

    /// By its name.
    pub fn of_name(name: &str) -> Option<Lack> {
        Lack::ALL.into_iter().find(|lack| lack.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_tool_that_wrote_the_file() {
        let of = |format, producer| Tool::of_format(format, producer);
        assert_eq!(of("chrome-trace", "PyTorch profiler"), Tool::PyTorch);
        assert_eq!(of("perfetto", "PyTorch"), Tool::PyTorch);
        assert_eq!(of("chrome-trace", ""), Tool::Other);
        assert_eq!(of("rocpd", "rocmProfileData (RPD)"), Tool::Rpd);
        assert_eq!(of("rocpd", "rocprofiler-sdk (rocpd)"), Tool::Rocprof);
        assert_eq!(
            of("chrome-trace", "PyTorch profiler").advice(Lack::Frames),
            " Profile with with_stack=True to record them."
        );
        assert_eq!(of("nsys-sqlite", "").advice(Lack::Frames), " Nsight Systems captures have none.");
        assert_eq!(of("xplane", "").advice(Lack::Modules), " XPlane files have none.");
        // The name of the tool has a small letter, also where a sentence starts.
        assert_eq!(of("rocpd", "rocprofv3").advice(Lack::Frames), " Captures of rocprofv3 have none.");
        assert_eq!(of("chrome-trace", "").advice(Lack::Frames), "");
    }

    #[test]
    fn only_pytorch_is_told_options_of_pytorch() {
        for tool in [Tool::Nsight, Tool::Rocprof, Tool::Rpd, Tool::Xprof, Tool::Other] {
            for lack in Lack::ALL.into_iter().chain([Lack::Allocations, Lack::Work]) {
                // That is for another profiler.
                let advice = tool.advice(lack).replace("emit_nvtx(record_shapes=True)", "");
                let is_of_pytorch =
                    ["with_", "record_shapes", "profile_memory", "ProfilerActivity", "experimental_config"]
                        .into_iter()
                        .any(|option| advice.contains(option));
                assert!(!is_of_pytorch, "{tool:?} {lack:?}: {advice}");
            }
        }
    }
}
