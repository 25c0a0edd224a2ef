//! What Nsight Systems samples: counters of GPUs, and when threads run.
//!
//! - `GPU_METRICS` has a row per sample and metric (`timestamp`, `typeId`, `metricId`, `value`). `TARGET_INFO_GPU_METRICS` names the
//!   metrics of a `typeId`, whose lowest 8 bits are the number of the GPU; `TARGET_INFO_CUDA_DEVICE` has the device of CUDA.
//! - `SCHED_EVENTS` has a row per switch of a thread (`start`, `cpu`, `isSchedIn`, `globalTid`, `threadState`). A state lasts until
//!   the next row of its thread.

use super::rows::Gpus;
use super::tables::Tables;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::import::ImportError;
use crate::trace::TraceBuilder;
use crate::trace::tracks::{Key, ProcessId};

/// Most values that are kept; each takes 20 bytes.
const MAX_VALUES: usize = if usize::BITS == 32 { 12_000_000 } else { 4 << 30 };

/// Key of the values of a metric.
const KEY: &str = "value";

/// Names of metrics, and their series in the trace.
#[derive(Default)]
pub struct GpuMetrics {
    /// By `typeId` and `metricId`.
    names: HashMap<(i64, i64), Vec<u8>>,
    /// Device of CUDA by number of a GPU; `None` if processes number it differently.
    devices: HashMap<i64, Option<i64>>,
    series: HashMap<(i64, i64), u32>,
    by_name: HashMap<(ProcessId, StringId), u32>,
    /// Processes of GPUs without a known device.
    others: HashMap<i64, ProcessId>,
}

impl GpuMetrics {
    /// Reads the dictionaries.
    pub fn read(file: &dyn Tables, out: &mut TraceBuilder) -> Result<GpuMetrics, ImportError> {
        let mut metrics = GpuMetrics::default();
        if let Some(table) = file.table_named("TARGET_INFO_GPU_METRICS") {
            let [kind, metric, name] =
                ["typeId", "metricId", "metricName"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(kind), Some(metric), Some(name)) =
                    (row.int(kind), row.int(metric), row.text(name))
                {
                    metrics.names.insert((kind, metric), name.into_owned());
                }
            })?;
        }
        if let Some(table) = file.table_named("TARGET_INFO_CUDA_DEVICE") {
            let [gpu, device] = ["gpuId", "cudaId"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(gpu), Some(device)) = (row.int(gpu), row.int(device)) {
                    let known = metrics.devices.entry(gpu).or_insert(Some(device));
                    *known = known.filter(|known| *known == device);
                }
            })?;
        }
        Ok(metrics)
    }

    /// Adds a value of a metric of a type at a time in nanoseconds. False if there is no room for it.
    pub fn add(
        &mut self,
        (kind, metric): (i64, i64),
        ts: i64,
        value: f64,
        gpus: &mut Gpus,
        out: &mut TraceBuilder,
    ) -> bool {
        if out.trace.counters.len() >= MAX_VALUES {
            return false;
        }
        let series = match self.series.get(&(kind, metric)) {
            Some(series) => *series,
            None => self.begin(kind, metric, gpus, out),
        };
        let counters = &mut out.trace.counters;
        counters.ts.push(ts);
        counters.series.push(series);
        counters.value.push(value);
        true
    }

    /// The series of a metric that has no value so far.
    fn begin(&mut self, kind: i64, metric: i64, gpus: &mut Gpus, out: &mut TraceBuilder) -> u32 {
        let gpu = kind & 0xff;
        let process = match self.devices.get(&gpu).copied().flatten() {
            Some(device) => gpus.process(0, device, out),
            None => *self.others.entry(gpu).or_insert_with(|| {
                let name = out.trace.strings.intern(&format!("GPU {gpu} (metrics)"));
                let process = out.trace.processes.push(Key::Text(name));
                out.trace.processes.name[process.0 as usize] = name;
                process
            }),
        };
        let name = match self.names.get(&(kind, metric)) {
            Some(name) => out.trace.strings.intern_bytes(name),
            None => out.trace.strings.intern(&format!("metric {metric}")),
        };
        let key = out.trace.strings.intern(KEY);
        let series = *self.by_name.entry((process, name)).or_insert_with(|| {
            let table = &mut out.trace.counter_series;
            table.process.push(process);
            table.name.push(name);
            table.id.push(StringId::NONE);
            table.key.push(key);
            table.name.len() as u32 - 1
        });
        self.series.insert((kind, metric), series);
        series
    }
}

/// Names of the states in which threads do not run.
#[derive(Default)]
pub struct ThreadStates {
    labels: HashMap<i64, String>,
}

impl ThreadStates {
    /// Reads the enumeration.
    pub fn read(file: &dyn Tables, out: &mut TraceBuilder) -> Result<ThreadStates, ImportError> {
        let mut states = ThreadStates::default();
        if let Some(table) = file.table_named("ENUM_SAMPLING_THREAD_STATE") {
            let [id, label, name] = ["id", "label", "name"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(id), Some(label)) = (row.int(id), row.text(label.or(name))) {
                    states.labels.insert(id, String::from_utf8_lossy(&label).into_owned());
                }
            })?;
        }
        Ok(states)
    }

    /// State after a switch.
    pub fn name(&self, is_in: Option<i64>, state: Option<i64>) -> &str {
        match is_in {
            Some(0) => state.and_then(|state| self.labels.get(&state)).map_or("Off CPU", String::as_str),
            Some(_) => "Running",
            None => "Unknown",
        }
    }
}
