//! Facts on the run from the file's metadata: GPUs, rank, profiler options.

use crate::base::json::unescape_to_string;
use crate::base::json::{Number, RawStr};
use crate::trace::Trace;
use crate::trace::builder::{for_each_element, for_each_member};

/// GPU vendor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    Nvidia,
    Amd,
    Unknown,
}

impl Vendor {
    pub fn name(self) -> &'static str {
        match self {
            Vendor::Nvidia => "NVIDIA",
            Vendor::Amd => "AMD",
            Vendor::Unknown => "unknown",
        }
    }

    /// The vendor's words for the parts of a GPU.
    pub fn words(self) -> VendorWords {
        match self {
            Vendor::Amd => VendorWords { unit: "CU", full: "compute units", warp: "wave" },
            Vendor::Nvidia => VendorWords { unit: "SM", full: "streaming multiprocessors", warp: "warp" },
            Vendor::Unknown => {
                VendorWords { unit: "SM", full: "streaming multiprocessors or compute units", warp: "warp" }
            }
        }
    }
}

/// What a vendor calls the parts of its GPUs.
#[derive(Clone, Copy, Debug)]
pub struct VendorWords {
    /// What a thread block runs on.
    pub unit: &'static str,
    /// The unit in full, in the plural.
    pub full: &'static str,
    /// Threads that run in lockstep.
    pub warp: &'static str,
}

/// A GPU of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    pub id: Option<i64>,
    /// Empty if not recorded.
    pub name: String,
    pub memory_bytes: Option<u64>,
    /// Streaming multiprocessors, or compute units.
    pub n_sms: Option<u64>,
    pub warp_size: Option<u64>,
}

/// Facts from the metadata.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Every GPU of the host, used or not.
    pub gpus: Vec<Gpu>,
    pub rank: Option<i64>,
    pub world_size: Option<i64>,
    pub backend: Option<String>,
    pub nccl_version: Option<String>,
    /// Name and value of each recorded version, for display.
    pub versions: Vec<(String, String)>,
    /// Enabled profiler options.
    pub options: Vec<&'static str>,
    has_roctracer: bool,
    has_cupti: bool,
}

const VERSIONS: &[(&str, &str)] = &[
    ("cuda_runtime_version", "CUDA runtime"),
    ("cuda_driver_version", "CUDA driver"),
    ("cupti_version", "CUPTI"),
    ("hip_runtime_version", "HIP runtime"),
    ("hip_driver_version", "HIP driver"),
    ("roctracer_version", "roctracer"),
];

const OPTIONS: &[&str] = &["with_stack", "record_shapes", "profile_memory", "with_modules", "with_flops"];

impl RunFacts {
    pub fn new(trace: &Trace) -> RunFacts {
        let mut facts = RunFacts::default();
        for (key, value) in &trace.source.metadata {
            match key.as_str() {
                "deviceProperties" | "computeProperties" => facts.gpus = gpus(value),
                "distributedInfo" => facts.distributed(value),
                _ => {}
            }
            if let Some((_, label)) = VERSIONS.iter().find(|(name, _)| name == key) {
                facts.versions.push(((*label).to_string(), version(key, value)));
                facts.has_roctracer |= key.contains("roctracer") || key.starts_with("hip_");
                facts.has_cupti |= key.contains("cupti") || key.starts_with("cuda_");
            }
            if let Some(option) = OPTIONS.iter().find(|name| *name == key)
                && !matches!(value.as_str(), "0" | "false" | "null")
            {
                facts.options.push(option);
            }
        }
        facts
    }

    fn distributed(&mut self, value: &str) {
        for_each_member(value.as_bytes(), |key, value| match key.bytes {
            b"rank" => self.rank = integer(value),
            b"world_size" => self.world_size = integer(value),
            b"backend" => self.backend = text(value),
            b"nccl_version" => self.nccl_version = text(value),
            _ => {}
        });
    }

    /// Whether an option was enabled.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.contains(&name)
    }

    /// GPU vendor, from profiler versions, warp size, or the names of `calls` and `kernels`.
    pub fn vendor<'a>(
        &self,
        mut calls: impl Iterator<Item = &'a str>,
        mut kernels: impl Iterator<Item = &'a str>,
    ) -> Vendor {
        if self.has_roctracer || self.gpus.iter().any(|gpu| gpu.warp_size == Some(64)) {
            return Vendor::Amd;
        }
        let name = |word: &str| self.gpus.iter().any(|gpu| gpu.name.contains(word));
        if name("AMD") {
            return Vendor::Amd;
        }
        if self.has_cupti || name("NVIDIA") || name("Tesla") || name("GeForce") {
            return Vendor::Nvidia;
        }
        // Falls back to names of calls and kernels.
        let by_call = calls.find_map(|call| match call {
            call if call.starts_with("hip") => Some(Vendor::Amd),
            call if call.starts_with("cuda") || call.starts_with("cuL") => Some(Vendor::Nvidia),
            _ => None,
        });
        by_call
            .or_else(|| {
                kernels.find_map(|kernel| {
                    let is_amd = kernel.starts_with("Cijk_")
                        || kernel.contains("rocprim")
                        || kernel.starts_with("__amd_");
                    is_amd.then_some(Vendor::Amd)
                })
            })
            .unwrap_or(if self.gpus.iter().any(|gpu| gpu.warp_size == Some(32)) {
                Vendor::Nvidia
            } else {
                Vendor::Unknown
            })
    }

    /// What all of `numbers` (of GPUs that did something) have in common, or all GPUs of the host if there are none. `None` if
    /// one of them is unknown, or has something else.
    pub fn common<T: PartialEq>(
        &self,
        numbers: impl Iterator<Item = Option<i64>>,
        get: impl Fn(&Gpu) -> Option<T>,
    ) -> Option<T> {
        let used: Option<Vec<&Gpu>> =
            numbers.map(|number| number.map_or_else(|| self.any(), |number| self.gpu_of(number))).collect();
        let mut all = used?;
        if all.is_empty() {
            all.extend(&self.gpus);
        }
        let mut values = all.into_iter().map(get);
        let first = values.next()??;
        values.all(|value| value.as_ref() == Some(&first)).then_some(first)
    }

    /// The GPU with that id, or any if all are the same model. On AMD, process ids don't match the ids of the list.
    pub fn gpu_of(&self, id: i64) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.id == Some(id)).or_else(|| self.any())
    }

    /// Any GPU of the host, if all are the same model.
    fn any(&self) -> Option<&Gpu> {
        let first = self.gpus.first()?;
        self.gpus.iter().all(|gpu| gpu.name == first.name).then_some(first)
    }
}

fn gpus(value: &str) -> Vec<Gpu> {
    let mut gpus = Vec::new();
    for_each_element(value.as_bytes(), |raw| {
        let mut gpu = Gpu::default();
        for_each_member(raw, |key, value| {
            let unsigned = || integer(value).and_then(|value| u64::try_from(value).ok());
            match key.bytes {
                b"id" => gpu.id = integer(value),
                b"name" => gpu.name = text(value).unwrap_or_default(),
                b"totalGlobalMem" => gpu.memory_bytes = unsigned(),
                b"numSms" => gpu.n_sms = unsigned(),
                b"warpSize" => gpu.warp_size = unsigned(),
                _ => {}
            }
        });
        gpus.push(gpu);
    });
    gpus
}

/// `12040` of CUDA is 12.4, `70253211` of HIP is 7.2.53211.
fn version(key: &str, value: &str) -> String {
    match value.parse::<u32>() {
        Ok(number) if number >= 1000 && key.starts_with("cuda_") => {
            format!("{}.{}", number / 1000, number % 1000 / 10)
        }
        Ok(number) if number >= 10_000_000 && key.starts_with("hip_") => {
            format!("{}.{}.{}", number / 10_000_000, number / 100_000 % 100, number % 100_000)
        }
        _ => value.to_string(),
    }
}

/// Parses an integer, also if quoted.
pub fn integer(value: &[u8]) -> Option<i64> {
    Number::as_i64_or_text(value)
}

/// Parses a string.
pub fn text(value: &[u8]) -> Option<String> {
    let bytes = inside(value)?;
    Some(unescape_to_string(RawStr { bytes, escaped: bytes.contains(&b'\\') }))
}

fn inside(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_that_are_used_say_what_a_gpu_has() {
        let gpu = |id, name: &str, n_sms| Gpu {
            id: Some(id),
            name: name.to_string(),
            n_sms: Some(n_sms),
            ..Gpu::default()
        };
        let facts = |gpus: &[Gpu]| RunFacts { gpus: gpus.to_vec(), ..RunFacts::default() };
        let common =
            |facts: &RunFacts, used: &[Option<i64>]| facts.common(used.iter().copied(), |gpu| gpu.n_sms);
        let mixed = facts(&[gpu(0, "T400", 6), gpu(1, "H100", 132), gpu(2, "H100", 132)]);
        for (used, wanted) in [
            (&[Some(1)][..], Some(132)),
            (&[Some(2), Some(1)], Some(132)),
            (&[Some(0), Some(1)], None),
            // Which one that is, is unknown.
            (&[Some(7)], None),
            (&[None], None),
            (&[], None),
        ] {
            assert_eq!(common(&mixed, used), wanted, "{used:?}");
        }
        let alike = facts(&[gpu(0, "H100", 132), gpu(1, "H100", 132)]);
        for used in [&[Some(1)][..], &[Some(7)], &[None], &[]] {
            assert_eq!(common(&alike, used), Some(132), "{used:?}");
        }
        assert_eq!(common(&RunFacts::default(), &[]), None);
    }
}
