//! What Nsight Systems samples: counters of GPUs and network adapters, and when threads run.
//!
//! - `GPU_METRICS` has a row per sample and metric (`timestamp`, `typeId`, `metricId`, `value`). `TARGET_INFO_GPU_METRICS` names the
//!   metrics of a `typeId`, whose lowest 8 bits are the number of the GPU (see [`Devices`]).
//! - `NET_NIC_METRIC` has a row per interval and metric of a port (`start`, `end`, `globalId`, `portId`, `metricsListId`,
//!   `metricsIdx`, `value`). `TARGET_INFO_NETWORK_METRICS` names the metrics of a list, with their units; `NIC_ID_MAP` leads from the
//!   `globalId` to the `nicId` of `TARGET_INFO_NIC_INFO`, which names the adapter.
//! - `SCHED_EVENTS` has a row per switch of a thread (`start`, `cpu`, `isSchedIn`, `globalTid`, `threadState`). A state lasts until
//!   the next row of its thread.

use super::devices::Devices;
use super::rows::Gpus;
use super::tables::Tables;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::import::ImportError;
use crate::trace::TraceBuilder;
use crate::trace::tracks::{Key, ProcessId};
use std::hash::Hash;

/// Most values that are kept; each takes 20 bytes.
const MAX_VALUES: usize = if usize::BITS == 32 { 12_000_000 } else { 4 << 30 };

/// Key of the values of a metric.
const KEY: &str = "value";

/// A process that stands for a device.
fn device(name: &str, out: &mut TraceBuilder) -> ProcessId {
    let name = out.trace.strings.intern(name);
    let process = out.trace.processes.push(Key::Text(name));
    out.trace.processes.name[process.0 as usize] = name;
    process
}

/// Series of counters in the trace, by what identifies them in the capture.
struct Series<K> {
    by_key: HashMap<K, u32>,
    by_name: HashMap<(ProcessId, StringId), u32>,
}

impl<K> Default for Series<K> {
    fn default() -> Series<K> {
        Series { by_key: HashMap::default(), by_name: HashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> Series<K> {
    /// Adds a value at a time in nanoseconds; `begin` makes process and name of a series that has none so far. False if there is
    /// no room.
    fn add(
        &mut self,
        key: K,
        ts: i64,
        value: f64,
        out: &mut TraceBuilder,
        begin: impl FnOnce(&mut TraceBuilder) -> (ProcessId, StringId),
    ) -> bool {
        if out.trace.counters.len() >= MAX_VALUES {
            return false;
        }
        let series = match self.by_key.get(&key) {
            Some(series) => *series,
            None => {
                let (process, name) = begin(out);
                let member = out.trace.strings.intern(KEY);
                let series = *self.by_name.entry((process, name)).or_insert_with(|| {
                    let table = &mut out.trace.counter_series;
                    table.process.push(process);
                    table.name.push(name);
                    table.id.push(StringId::NONE);
                    table.key.push(member);
                    table.name.len() as u32 - 1
                });
                self.by_key.insert(key, series);
                series
            }
        };
        let counters = &mut out.trace.counters;
        counters.ts.push(ts);
        counters.series.push(series);
        counters.value.push(value);
        true
    }
}

/// Metrics of GPUs.
#[derive(Default)]
pub struct GpuMetrics {
    /// By `typeId` and `metricId`.
    names: HashMap<(i64, i64), Vec<u8>>,
    series: Series<(i64, i64)>,
    /// Processes of GPUs that no program is known to see.
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
        Ok(metrics)
    }

    /// Adds a value of a metric of a type at a time in nanoseconds. False if there is no room for it.
    pub fn add(
        &mut self,
        (kind, metric): (i64, i64),
        ts: i64,
        value: f64,
        devices: &Devices,
        gpus: &mut Gpus,
        out: &mut TraceBuilder,
    ) -> bool {
        let GpuMetrics { names, series, others } = self;
        series.add((kind, metric), ts, value, out, |out| {
            let gpu = kind & 0xff;
            let process = match devices.shown_gpu(gpu) {
                Some(number) => gpus.process(0, number, out),
                None => *others.entry(gpu).or_insert_with(|| device(&format!("GPU {gpu} (metrics)"), out)),
            };
            let name = match names.get(&(kind, metric)) {
                Some(name) => out.trace.strings.intern_bytes(name),
                None => out.trace.strings.intern(&format!("metric {metric}")),
            };
            (process, name)
        })
    }
}

/// A metric of a port: `globalId`, `portId`, `metricsListId` and `metricsIdx`.
pub type NicMetric = (i64, i64, i64, i64);

/// Metrics of network adapters.
#[derive(Default)]
pub struct NicMetrics {
    /// By `metricsListId` and `metricsIdx`, with the unit.
    names: HashMap<(i64, i64), String>,
    /// Names of adapters by `nicId`.
    adapters: HashMap<i64, String>,
    /// `nicId` by `globalId`.
    ids: HashMap<i64, i64>,
    processes: HashMap<i64, ProcessId>,
    series: Series<NicMetric>,
}

impl NicMetrics {
    /// Reads the dictionaries.
    pub fn read(file: &dyn Tables, out: &mut TraceBuilder) -> Result<NicMetrics, ImportError> {
        let mut metrics = NicMetrics::default();
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        if let Some(table) = file.table_named("TARGET_INFO_NETWORK_METRICS") {
            let [list, index, name, unit] =
                ["metricsListId", "metricsIdx", "name", "unit"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(list), Some(index), Some(name)) = (row.int(list), row.int(index), row.text(name))
                {
                    let unit = row.text(unit).filter(|unit| !unit.is_empty());
                    let unit = unit.map_or(String::new(), |unit| format!(" [{}]", text(&unit)));
                    metrics.names.insert((list, index), text(&name) + &unit);
                }
            })?;
        }
        if let Some(table) = file.table_named("TARGET_INFO_NIC_INFO") {
            let [id, name] = ["nicId", "name"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(id), Some(name)) = (row.int(id), row.text(name)) {
                    metrics.adapters.insert(id, text(&name));
                }
            })?;
        }
        if let Some(table) = file.table_named("NIC_ID_MAP") {
            let [id, global] = ["nicId", "globalId"].map(|name| file.column(table, name));
            file.each_row(table, out, |row| {
                if let (Some(id), Some(global)) = (row.int(id), row.int(global)) {
                    metrics.ids.insert(global, id);
                }
            })?;
        }
        Ok(metrics)
    }

    /// Adds a value of a metric of a port at a time in nanoseconds. False if there is no room for it.
    pub fn add(&mut self, metric: NicMetric, ts: i64, value: f64, out: &mut TraceBuilder) -> bool {
        let NicMetrics { names, adapters, ids, processes, series } = self;
        series.add(metric, ts, value, out, |out| {
            let (global, port, list, index) = metric;
            let adapter = ids.get(&global).and_then(|id| adapters.get(id));
            let process = *processes.entry(global).or_insert_with(|| {
                let name = adapter.map_or(format!("NIC {global}"), |name| format!("NIC {name}"));
                device(&name, out)
            });
            let name = match names.get(&(list, index)) {
                Some(name) => format!("port {port}: {name}"),
                None => format!("port {port}: metric {index} of list {list}"),
            };
            (process, out.trace.strings.intern(&name))
        })
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
