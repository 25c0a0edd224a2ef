//! Which GPU a device of CUDA is.
//!
//! Programs number the devices that they see: with `CUDA_VISIBLE_DEVICES`, device 0 of one process is another GPU than device 0 of
//! the next. `TARGET_INFO_CUDA_DEVICE` has a row per process and device (`pid`, `cudaId`), with the `gpuId` by which
//! `TARGET_INFO_GPU` and `GPU_METRICS` number the GPUs of the machine.
//!
//! GPUs are shown by the number of the programs (`cuda:0`), or by that of the machine if the programs disagree.

use super::tables::Tables;
use crate::base::hash::HashMap;
use crate::import::ImportError;
use crate::trace::TraceBuilder;

/// The process id in a `globalTid` or `globalPid`.
pub fn pid_of(global: i64) -> i64 {
    global >> 24 & 0xff_ffff
}

/// Devices of the programs. Values are `None` where rows disagree.
#[derive(Default)]
pub struct Devices {
    /// `gpuId` by process id and `cudaId`.
    of_process: HashMap<(i64, i64), Option<i64>>,
    /// `gpuId` by `cudaId`.
    gpus: HashMap<i64, Option<i64>>,
    /// `cudaId` by `gpuId`.
    devices: HashMap<i64, Option<i64>>,
    /// Whether programs number the same GPU differently, or different GPUs alike.
    disagree: bool,
}

impl Devices {
    pub fn read(file: &dyn Tables, out: &mut TraceBuilder) -> Result<Devices, ImportError> {
        let mut devices = Devices::default();
        if let Some(table) = file.table_named("TARGET_INFO_CUDA_DEVICE") {
            let [gpu, device, pid] = ["gpuId", "cudaId", "pid"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(gpu), Some(device)) = (row.int(gpu), row.int(device)) {
                    devices.insert(row.int(pid), device, gpu);
                }
            })?;
        }
        Ok(devices)
    }

    fn insert(&mut self, pid: Option<i64>, device: i64, gpu: i64) {
        let mut differs = false;
        let mut add = |known: &mut Option<i64>, number: i64| {
            differs |= known.is_some_and(|known| known != number);
            *known = known.filter(|known| *known == number);
        };
        add(self.gpus.entry(device).or_insert(Some(gpu)), gpu);
        add(self.devices.entry(gpu).or_insert(Some(device)), device);
        if let Some(pid) = pid {
            // Of a `globalPid`, 24 bits are known.
            add(self.of_process.entry((pid & 0xff_ffff, device)).or_insert(Some(gpu)), gpu);
        }
        self.disagree |= differs;
    }

    /// The number by which the GPU is shown that is `device` of the process of `global`; `None` if unknown.
    pub fn shown(&self, global: Option<i64>, device: i64) -> Option<i64> {
        if !self.disagree {
            return Some(device);
        }
        match global {
            Some(global) => self.of_process.get(&(pid_of(global), device)).copied().flatten(),
            None => self.gpus.get(&device).copied().flatten(),
        }
    }

    /// The number by which the GPU with a `gpuId` is shown; `None` if no program sees it.
    pub fn shown_gpu(&self, gpu: i64) -> Option<i64> {
        let device = self.devices.get(&gpu)?;
        if self.disagree { Some(gpu) } else { *device }
    }

    /// Whether the capture does not tell.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Devices of rows of process id, `cudaId` and `gpuId`.
    fn devices(rows: &[(i64, i64, i64)]) -> Devices {
        let mut devices = Devices::default();
        rows.iter().for_each(|(pid, device, gpu)| devices.insert(Some(*pid), *device, *gpu));
        devices
    }

    fn shown(devices: &Devices, pid: i64, device: i64) -> Option<i64> {
        devices.shown(Some(1 << 48 | pid << 24), device)
    }

    #[test]
    fn gpus_have_the_number_of_the_programs_if_these_agree() {
        let none = Devices::default();
        assert_eq!((shown(&none, 100, 3), none.shown_gpu(3), none.is_empty()), (Some(3), None, true));
        // One program that sees only GPU 1.
        let one = devices(&[(100, 0, 1)]);
        assert_eq!((shown(&one, 100, 0), one.shown_gpu(1), one.shown_gpu(0)), (Some(0), Some(0), None));
        // Two programs that share a GPU.
        let two = devices(&[(100, 0, 2), (200, 0, 2), (200, 1, 3)]);
        assert_eq!(
            (shown(&two, 100, 0), shown(&two, 200, 0), shown(&two, 200, 1)),
            (Some(0), Some(0), Some(1))
        );
    }

    #[test]
    fn gpus_have_the_number_of_the_machine_if_programs_disagree() {
        // Device 0 of each is another GPU.
        let apart = devices(&[(100, 0, 0), (200, 0, 1)]);
        assert_eq!((shown(&apart, 100, 0), shown(&apart, 200, 0)), (Some(0), Some(1)));
        assert_eq!((apart.shown_gpu(1), apart.shown_gpu(2)), (Some(1), None));
        // Nothing says which GPU that is.
        assert_eq!((shown(&apart, 300, 0), shown(&apart, 100, 1), apart.shown(None, 0)), (None, None, None));
        // One GPU, which programs number differently.
        let shared = devices(&[(100, 0, 1), (200, 1, 1)]);
        assert_eq!((shown(&shared, 100, 0), shown(&shared, 200, 1)), (Some(1), Some(1)));
        assert_eq!(shared.shown(None, 1), Some(1));
    }
}
