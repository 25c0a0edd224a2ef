//! Layouts of GPU profilers, so that their traces are GPU profiles like those of Kineto.
//!
//! - PyTorch (`export_chrome_trace("x.pftrace")` with the CUPTI monitor): kernels on tracks `stream 7` of a process `GPU 0`, calls
//!   on tracks `CUDA runtime PID`, operators on those of threads. Events have no categories.
//! - rocprofv3: categories `kernel_dispatch`, `memory_copy`, `hip_api` and others; the id that links a call and its kernel is
//!   `corr_id`.
//!
//! Categories are those of Kineto, by which everything else knows what an event is.

use crate::trace::links::CALL_TRACKS;

/// What a track stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    #[default]
    Other,
    /// A stream of a GPU.
    Stream,
    /// Calls of the runtime or driver.
    Calls,
    /// A thread next to which there may be GPUs.
    Thread,
}

/// The role of a track by its process and its own name.
pub fn role(process: &str, name: &str) -> Role {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_gpu = process.strip_prefix("GPU ").is_some_and(is_number);
    match name {
        _ if is_gpu && name.starts_with("stream ") => Role::Stream,
        _ if CALL_TRACKS.iter().any(|start| name.starts_with(start)) => Role::Calls,
        _ if is_gpu => Role::Other,
        _ => Role::Thread,
    }
}

/// Category of an event of PyTorch without one.
pub fn category(role: Role, name: &str) -> Option<&'static str> {
    match role {
        Role::Other => None,
        Role::Stream if name.starts_with("Memcpy") => Some("gpu_memcpy"),
        Role::Stream if name.starts_with("Memset") => Some("gpu_memset"),
        Role::Stream => Some("kernel"),
        Role::Calls if is_wait(name) => Some("cuda_sync"),
        // The driver's calls, not those of the runtime.
        Role::Calls if name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase)) => {
            Some("cuda_driver")
        }
        Role::Calls => Some("cuda_runtime"),
        Role::Thread if name.contains("::") => Some("cpu_op"),
        Role::Thread => Some("user_annotation"),
    }
}

/// Waits that the monitor records as events of their own, not as calls.
fn is_wait(name: &str) -> bool {
    ["Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"].contains(&name)
}

/// Category of Kineto for one of rocprofv3.
pub fn category_of_rocprof(category: &str) -> Option<&'static str> {
    Some(match category {
        "kernel_dispatch" => "kernel",
        "memory_copy" => "gpu_memcpy",
        "hip_api" | "hip_runtime_api" | "hip_runtime_api_ext" | "hip_compiler_api" => "cuda_runtime",
        "hsa_api" | "hsa_core_api" | "hsa_amd_ext_api" => "cuda_driver",
        "marker_api" | "marker_core_api" | "marker_core_range_api" => "user_annotation",
        _ => return None,
    })
}

/// Name that Kineto has for an argument of rocprofv3.
pub fn argument_of_rocprof(name: &str) -> Option<&'static str> {
    Some(match name {
        "corr_id" | "correlation_id" | "stack_id" => "correlation",
        "stream_id" | "stream_ID" => "stream",
        _ => return None,
    })
}
