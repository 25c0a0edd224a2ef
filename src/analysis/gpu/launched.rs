//! Launch calls, and those without a device record.
//!
//! A launch without a device record does not mean an idle GPU: the kernel ran outside the recording, or its record was lost. The
//! time around it is unknown.

use super::scope::HostId;

/// What a launch call starts on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Launches {
    Kernel,
    /// A captured graph: many kernels at once.
    Graph,
    Copy,
    Fill,
}

impl Launches {
    /// Classifies a call of a runtime or driver (CUDA, HIP, MTIA, MUSA, Unified Runtime); `None` if it launches nothing.
    pub fn of(call: &str) -> Option<Launches> {
        if let Some(enqueued) = call.strip_prefix("urEnqueue") {
            return Launches::of_enqueued(enqueued);
        }
        let apis = ["cuda", "hip", "cu", "mtia", "musa", "mu"];
        let bare = apis.into_iter().find_map(|api| call.strip_prefix(api))?;
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
            // A host function does not run on the GPU.
            (!starts(&["LaunchHostFunc"])).then_some(Launches::Kernel)
        } else if starts(&["Memcpy"]) {
            Some(Launches::Copy)
        } else if starts(&["Memset"]) {
            Some(Launches::Fill)
        } else {
            None
        }
    }

    /// What a call of the Unified Runtime (Intel GPUs) starts, by its name after `urEnqueue`.
    fn of_enqueued(name: &str) -> Option<Launches> {
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
        if starts(&["KernelLaunch", "CooperativeKernelLaunch"]) {
            Some(Launches::Kernel)
        } else if starts(&["CommandBuffer"]) {
            Some(Launches::Graph)
        } else if starts(&["USMMemcpy", "MemBufferCopy", "MemBufferRead", "MemBufferWrite"]) {
            Some(Launches::Copy)
        } else if starts(&["USMFill", "MemBufferFill"]) {
            Some(Launches::Fill)
        } else {
            None
        }
    }

    /// Whether a missing record may hide significant GPU time. Even complete traces lack records of many fills and empty copies.
    pub fn is_work(self) -> bool {
        matches!(self, Launches::Kernel | Launches::Graph)
    }
}

/// Reason why a launch has nothing on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// No device record.
    NoRecord,
    /// Captured into a graph, so nothing ran.
    Captured,
    /// The device record has no timestamps.
    Untimed,
    /// The kernel lies after the selected time range.
    Outside,
}

/// A launch without a timed device record.
#[derive(Clone, Copy, Debug)]
pub struct Silent {
    pub slice: u32,
    pub host: HostId,
    pub launches: Launches,
    pub why: Silence,
    /// Start of the call, in nanoseconds on the trace's clock.
    pub ts: i64,
}

impl Silent {
    /// Whether GPU activity happened that the trace does not show.
    pub fn hides_work(&self) -> bool {
        self.launches.is_work() && matches!(self.why, Silence::NoRecord | Silence::Untimed)
    }
}

/// Number of launches with and without a device record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Recorded {
    /// Kernel and graph launches, without captured ones.
    pub n_launches: u64,
    /// Those with a device record.
    pub n_recorded: u64,
}

impl Recorded {
    /// Share with a device record; `None` without launches.
    pub fn share(&self) -> Option<f64> {
        (self.n_launches > 0).then(|| self.n_recorded as f64 / self.n_launches as f64)
    }

    /// Kernel and graph launches without a device record.
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
                "musaLaunchKernel",
                "urEnqueueKernelLaunch",
                "urEnqueueCooperativeKernelLaunchExp",
            ],
        );
        is(
            Some(Launches::Graph),
            &["cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch", "cudaGraphLaunch_v10000"],
        );
        is(
            Some(Launches::Copy),
            &[
                "cudaMemcpyAsync",
                "hipMemcpyWithStream",
                "cuMemcpyHtoDAsync_v2",
                "hipMemcpy",
                "urEnqueueUSMMemcpy",
                "urEnqueueMemBufferRead",
            ],
        );
        is(Some(Launches::Fill), &["cudaMemsetAsync", "cuMemsetD8Async", "hipMemset", "urEnqueueUSMFill"]);
        is(
            None,
            &[
                "cudaStreamIsCapturing",
                "cudaDeviceSynchronize",
                "cudaLaunchHostFunc",
                "cuGraphInstantiate",
                "cudaGetLastError",
                "my_hipLaunchKernel",
                "urEnqueueEventsWait",
                "urQueueFinish",
                "",
            ],
        );
    }
}
