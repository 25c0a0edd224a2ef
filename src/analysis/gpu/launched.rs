//! Calls that launch something, and those of them of which the trace has nothing on the GPU.
//!
//! A launch without a device record is no idle GPU: it ran when the profiler was not looking, or its record was lost. Until
//! that is known, nothing can be said of the time around it.

use super::scope::HostId;

/// What a call starts on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Launches {
    Kernel,
    /// A captured graph: many kernels at once.
    Graph,
    Copy,
    Fill,
}

impl Launches {
    /// What a call of CUDA or HIP, of the runtime or driver, starts; `None` of all other calls.
    pub fn of(call: &str) -> Option<Launches> {
        let bare = ["cuda", "hip", "cu", "mtia"].into_iter().find_map(|api| call.strip_prefix(api))?;
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| bare.starts_with(beginning));
        if starts(&["GraphLaunch"]) {
            Some(Launches::Graph)
        } else if starts(&[
            "LaunchKernel",
            "LaunchCooperativeKernel",
            "LaunchByPtr",
            "LaunchHostFunc",
            "Launch_",
            "ExtLaunch",
            "ModuleLaunch",
            "ExtModuleLaunch",
            "LaunchGrid",
        ]) || bare == "Launch"
        {
            // A function of the host runs on no GPU.
            (!starts(&["LaunchHostFunc"])).then_some(Launches::Kernel)
        } else if starts(&["Memcpy"]) {
            Some(Launches::Copy)
        } else if starts(&["Memset"]) {
            Some(Launches::Fill)
        } else {
            None
        }
    }

    /// Whether a GPU works for long enough on one that time without its record may hide it. Profilers have no record of many
    /// fills and of copies of nothing, in complete recordings as well.
    pub fn is_work(self) -> bool {
        matches!(self, Launches::Kernel | Launches::Graph)
    }
}

/// Why a launch has nothing on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// There is no record of what it started.
    NoRecord,
    /// It was recorded into a graph and ran nothing.
    Captured,
    /// What it started is recorded without a time.
    Untimed,
    /// What it started lies behind the stretch of time that was read.
    Outside,
}

/// A launch that has nothing on the GPU, or nothing with a time.
#[derive(Clone, Copy, Debug)]
pub struct Silent {
    pub slice: u32,
    pub host: HostId,
    pub launches: Launches,
    pub why: Silence,
    /// When the call was made, in nanoseconds on the trace's clock.
    pub ts: i64,
}

impl Silent {
    /// Whether work of a GPU took place that the trace does not show.
    pub fn hides_work(&self) -> bool {
        self.launches.is_work() && matches!(self.why, Silence::NoRecord | Silence::Untimed)
    }
}

/// Launches of a trace by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Recorded {
    /// Launches of kernels and graphs, without those that were captured.
    pub n_launches: u64,
    /// Those of them that have a device record.
    pub n_recorded: u64,
}

impl Recorded {
    /// `None` where nothing was launched.
    pub fn share(&self) -> Option<f64> {
        (self.n_launches > 0).then(|| self.n_recorded as f64 / self.n_launches as f64)
    }

    /// Launches of kernels and graphs whose work is not in the trace.
    pub fn n_missing(&self) -> u64 {
        self.n_launches - self.n_recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_known_by_name() {
        let is = |launches: Option<Launches>, names: &[&str]| {
            names.iter().for_each(|name| assert_eq!(Launches::of(name), launches, "{name}"));
        };
        is(
            Some(Launches::Kernel),
            &[
                "cudaLaunchKernel",
                "cudaLaunchKernelExC",
                "cudaLaunchKernelExC_v11060",
                "cuLaunchKernel",
                "cuLaunchKernelEx",
                "cudaLaunchCooperativeKernel",
                "cudaLaunchCooperativeKernelMultiDevice",
                "hipLaunchKernel",
                "hipExtLaunchKernel",
                "hipModuleLaunchKernel",
                "hipExtModuleLaunchKernel",
                "hipLaunchCooperativeKernel",
                "hipLaunchByPtr",
                "cudaLaunch",
            ],
        );
        is(
            Some(Launches::Graph),
            &["cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch", "cudaGraphLaunch_v10000"],
        );
        is(
            Some(Launches::Copy),
            &["cudaMemcpyAsync", "hipMemcpyWithStream", "cuMemcpyHtoDAsync_v2", "hipMemcpy"],
        );
        is(Some(Launches::Fill), &["cudaMemsetAsync", "cuMemsetD8Async", "hipMemset"]);
        is(
            None,
            &[
                "cudaStreamIsCapturing",
                "cudaDeviceSynchronize",
                "cudaLaunchHostFunc",
                "cuGraphInstantiate",
                "cudaGetLastError",
                "my_hipLaunchKernel",
                "",
            ],
        );
    }
}
