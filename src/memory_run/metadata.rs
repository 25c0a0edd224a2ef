//! `metadata.json`: metadata of a run, written by the caller.

use crate::base::json::Json;

/// Known keys as paths, with their labels. All other metadata goes into a table.
pub const KNOWN: &[(&str, &str)] = &[
    ("run_id", "Run"),
    ("run_validity", "Validity"),
    ("machine_id", "Machine"),
    ("model.id", "Model"),
    ("collector.type", "Collector"),
    ("generation.context_length", "Context length"),
    ("generation.batch_size", "Batch size"),
    ("generation.output_tokens", "Output tokens"),
    ("generation.rep_index", "Repetition"),
    ("generation.avg_tokens_per_second", "Tokens/s"),
    ("generation.total_output_tokens", "Total tokens generated"),
    ("hardware.cpu_model", "CPU"),
    ("hardware.cpu_freq_scaling_max_mhz", "CPU max frequency (MHz)"),
    ("software.os", "Operating system"),
    ("software.kernel", "Kernel"),
    ("thermal.run_validity", "Thermal validity"),
    ("thermal.peak_temp_c", "Peak temperature (°C)"),
    ("thermal.throttle_events", "Throttle events"),
    ("timing.total_wall_duration_s", "Duration (s)"),
];

/// Key of the member that records non-default settings of labels and metrics, and the key in it for the
/// suitability thresholds.
pub const CHOICES: &str = "tracedrop";
pub const SUITABILITY: &str = "suitability";

/// A named time range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseBoundary {
    pub phase: String,
    pub start_ns: i64,
    /// Exclusive.
    pub end_ns: i64,
}

/// Display text of a value.
pub fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_python_text(0).replace('\n', " "),
    }
}

/// The known keys present, with labels and values.
pub fn known(metadata: &Json) -> Vec<(&'static str, &'static str, String)> {
    let values = KNOWN.iter().map(|(path, name)| Some((*path, *name, text_of(metadata.at(path)?))));
    values.flatten().collect()
}

/// The recorded run validity.
pub fn validity(metadata: &Json) -> Option<&Json> {
    let told = |path| metadata.at(path).filter(|value| **value != Json::Null);
    told("run_validity").or_else(|| told("thermal.run_validity"))
}

/// The recorded profiler overhead, under the names used in traces: values as JSON.
pub fn observer(metadata: &Json) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<&Json>| {
        found.extend(value.map(|value| (name.to_string(), value.to_python_text(0))));
    };
    add("run_validity", validity(metadata));
    // Thermal data alone doesn't show profiler overhead.
    if let Some(Json::Object(members)) = metadata.get("observer_effect_summary") {
        members.iter().for_each(|(name, value)| add(name, Some(value)));
        add("peak_temp_c", metadata.at("thermal.peak_temp_c"));
        add("thermal_throttle_events", metadata.at("thermal.throttle_events"));
    }
    found
}

/// The phases of the run, in order; entries without a name or times are skipped.
pub fn phases(metadata: &Json) -> Vec<PhaseBoundary> {
    let phase = |entry: &Json| {
        Some(PhaseBoundary {
            phase: entry.get("phase")?.as_str()?.to_string(),
            start_ns: entry.get("start_ns")?.as_i64()?,
            end_ns: entry.get("end_ns")?.as_i64()?,
        })
    };
    let entries = metadata.at("phase_boundaries").and_then(Json::as_array).unwrap_or_default();
    entries.iter().filter_map(phase).collect()
}
