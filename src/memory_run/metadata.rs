//! `metadata.json`: what the caller wrote about a run.

use crate::base::json::Json;

/// Keys that are known, as paths, with what they are called for people. Everything else is shown as a tree.
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
    ("generation.avg_tokens_per_second", "Tokens per second"),
    ("generation.total_output_tokens", "Tokens written in all"),
    ("hardware.cpu_model", "Processor"),
    ("hardware.cpu_freq_scaling_max_mhz", "Processor, highest frequency (MHz)"),
    ("software.os", "Operating system"),
    ("software.kernel", "Kernel"),
    ("thermal.run_validity", "Validity (heat)"),
    ("thermal.peak_temp_c", "Highest temperature (°C)"),
    ("thermal.throttle_events", "Times throttled"),
    ("timing.total_wall_duration_s", "Duration (s)"),
];

/// The member in which it is noted by what labels and metrics were made, where that is not what the reference does; and the one in it of
/// thresholds of suitability, by their names.
pub const CHOICES: &str = "tracedrop";
pub const SUITABILITY: &str = "suitability";

/// A stretch of time with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseBoundary {
    pub phase: String,
    pub start_ns: i64,
    /// Not part of it any more.
    pub end_ns: i64,
}

/// A value as people read it.
pub fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_python_text(0).replace('\n', " "),
    }
}

/// The known keys that are there, with their names and values.
pub fn known(metadata: &Json) -> Vec<(&'static str, &'static str, String)> {
    let values = KNOWN.iter().map(|(path, name)| Some((*path, *name, text_of(metadata.at(path)?))));
    values.flatten().collect()
}

/// What was written about whether the run can be trusted.
pub fn validity(metadata: &Json) -> Option<&Json> {
    let told = |path| metadata.at(path).filter(|value| **value != Json::Null);
    told("run_validity").or_else(|| told("thermal.run_validity"))
}

/// What was written about watching the run, by the names that a trace itself would use: values as JSON.
pub fn observer(metadata: &Json) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<&Json>| {
        found.extend(value.map(|value| (name.to_string(), value.to_python_text(0))));
    };
    add("run_validity", validity(metadata));
    // Heat alone says nothing of what watching has cost.
    if let Some(Json::Object(members)) = metadata.get("observer_effect_summary") {
        members.iter().for_each(|(name, value)| add(name, Some(value)));
        add("peak_temp_c", metadata.at("thermal.peak_temp_c"));
        add("thermal_throttle_events", metadata.at("thermal.throttle_events"));
    }
    found
}

/// The phases of the run, in their order; entries without a name or times are left out.
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
