//! Layouts of GPU profilers, so that their traces are GPU profiles like those of Kineto.
//!
//! - PyTorch (`export_chrome_trace("x.pftrace")` with the CUPTI monitor): kernels on tracks `stream 7` of a process `GPU 0`, calls
//!   on tracks `CUDA runtime PID`, operators on those of threads. Events have no categories.
//! - rocprofv3: categories `kernel_dispatch`, `memory_copy`, `hip_api` and others; the id that links a call and its kernel is
//!   `corr_id`. Kernels and copies are on tracks `COMPUTE AGENT [4] QUEUE [0] (GPU)`, `COPY to AGENT [4] THREAD [0] (GPU)` or
//!   `STREAM [1]`, of no process or that of the program; their GPU is in `agent`, `src_agent` and `dst_agent`, numbers of nodes among
//!   which CPUs are counted too.
//!
//! Categories are those of Kineto, by which everything else knows what an event is.

use crate::base::json::write::push_string;
use crate::trace::builder::for_each_member;
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
    let is_gpu = number_of_gpu(process).is_some();
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

/// The arguments of an event of rocprofv3 under the names of Kineto.
pub fn arguments_of_rocprof(json: &[u8]) -> Vec<u8> {
    let mut has_stream = false;
    for_each_member(json, |key, _| has_stream |= argument_of_rocprof(key.bytes, false) == Some("stream"));
    let mut out = b"{".to_vec();
    for_each_member(json, |key, value| {
        let name = std::str::from_utf8(key.bytes).unwrap_or_default();
        if out.len() > 1 {
            out.push(b',');
        }
        push_string(argument_of_rocprof(key.bytes, !has_stream).unwrap_or(name), &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    });
    out.push(b'}');
    out
}

/// Name that Kineto has for an argument of rocprofv3. Older versions have only the queue for a stream.
fn argument_of_rocprof(name: &[u8], is_queue_stream: bool) -> Option<&'static str> {
    Some(match name {
        b"corr_id" | b"correlation_id" | b"stack_id" => "correlation",
        b"stream_id" | b"stream_ID" => "stream",
        b"queue" if is_queue_stream => "stream",
        b"copy_bytes" => "bytes",
        _ => return None,
    })
}

/// The argument that has the GPU of a copy of rocprofv3, by its name (`MEMORY_COPY_DEVICE_TO_HOST`); `None` if there is no GPU.
pub fn agent_of_copy(name: &str) -> Option<&'static str> {
    match name {
        _ if name.contains("DEVICE_TO_HOST") => Some("src_agent"),
        _ if name.contains("HOST_TO_HOST") => None,
        _ => Some("dst_agent"),
    }
}

/// Number of an agent: 4 of `4`, and of `"GPU 4"`.
pub fn agent(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?.trim_matches('"');
    let digits = text.rfind(|char: char| !char.is_ascii_digit()).map_or(0, |at| at + 1);
    text.get(digits..)?.parse().ok()
}

/// 3 of `GPU 3`, the name of the process that stands for a GPU.
pub fn number_of_gpu(process: &str) -> Option<i64> {
    let number = process.strip_prefix("GPU ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_rocprofv3_have_the_names_of_kineto() {
        let of = |json: &str| String::from_utf8_lossy(&arguments_of_rocprof(json.as_bytes())).into_owned();
        assert_eq!(of(r#"{"corr_id": 1, "queue": 2}"#), r#"{"correlation":1,"stream":2}"#);
        assert_eq!(of(r#"{"queue": 2, "stream_ID": 3}"#), r#"{"queue":2,"stream":3}"#);
        assert_eq!(of(r#"{"copy_bytes": 64, "x": [1]}"#), r#"{"bytes":64,"x":[1]}"#);
    }

    #[test]
    fn agents_are_numbers_or_end_with_them() {
        let of = |value: &str| agent(value.as_bytes());
        assert_eq!((of("4"), of("\"GPU 12\""), of("\"Agent 0\"")), (Some(4), Some(12), Some(0)));
        assert_eq!((of("\"CPU\""), of("null"), of("")), (None, None, None));
        assert_eq!(
            (number_of_gpu("GPU 3"), number_of_gpu("GPU"), number_of_gpu("GPU 3b")),
            (Some(3), None, None)
        );
    }
}
