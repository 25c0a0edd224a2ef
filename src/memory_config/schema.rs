//! Schema of a configuration: sections, fields, types and defaults.

/// Type of a field.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Int,
    /// An integer not below this, and the error otherwise.
    IntFrom(i64, &'static str),
    Float,
    Bool,
    OneOf(&'static [&'static str]),
    Texts,
    /// A list of strings out of these.
    SomeOf(&'static [&'static str]),
    /// At least one integer, all positive.
    Counts,
    Section(&'static [Field]),
}

/// Default of a field.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// Required.
    Required,
    Null,
    Text(&'static str),
    Int(i64),
    Bool(bool),
    Texts(&'static [&'static str]),
    Ints(&'static [i64]),
    /// A section with all its defaults.
    Section,
}

/// A field of a section.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    pub default: Default,
}

const fn field(name: &'static str, kind: Kind, default: Default) -> Field {
    Field { name, kind, nullable: matches!(default, Default::Null), default }
}

const fn section(name: &'static str, fields: &'static [Field]) -> Field {
    field(name, Kind::Section(fields), Default::Section)
}

const fn text(name: &'static str, default: &'static str) -> Field {
    field(name, Kind::Text, Default::Text(default))
}

const fn int(name: &'static str, default: i64) -> Field {
    field(name, Kind::Int, Default::Int(default))
}

const fn bool(name: &'static str, default: bool) -> Field {
    field(name, Kind::Bool, Default::Bool(default))
}

const fn collector(name: &'static str, default: &'static str, nullable: bool) -> Field {
    let kind = Kind::OneOf(&["perf_mem", "memray", "process_monitor"]);
    Field { name, kind, nullable, default: Default::Text(default) }
}

const EXPERIMENT: &[Field] = &[
    field("name", Kind::Text, Default::Required),
    text("description", ""),
    text("version", "1.0.0"),
    text("date_created", ""),
    field("authors", Kind::Texts, Default::Texts(&[])),
    text("institution", ""),
    text("paper_ref", ""),
];

/// A model; its engine decides whether path or repository is required.
pub const MODEL: &[Field] = &[
    field("id", Kind::Text, Default::Required),
    field("engine", Kind::OneOf(&["llamacpp", "vllm"]), Default::Required),
    field("path", Kind::Text, Default::Null),
    field("hf_repo", Kind::Text, Default::Null),
    text("family", ""),
    field("params_billions", Kind::Float, Default::Null),
    field("quantisation", Kind::Text, Default::Null),
    text("dtype", "float16"),
];

const SWEEP: &[Field] = &[
    field("context_lengths", Kind::Counts, Default::Ints(&[2048])),
    field("batch_sizes", Kind::Counts, Default::Ints(&[1])),
    field("output_tokens", Kind::Counts, Default::Ints(&[128])),
    field("repetitions", Kind::IntFrom(1, "repetitions must be at least 1"), Default::Int(1)),
    field("warmup_runs", Kind::IntFrom(0, "warmup_runs must be at least 0"), Default::Int(0)),
];

const PERF_MEM: &[Field] = &[
    int("sample_period", 4000),
    int("ldlat_threshold", 20),
    field("events", Kind::Texts, Default::Texts(&["cpu/mem-loads,ldlat=20/P", "cpu/mem-stores/P"])),
    field("extra_flags", Kind::Texts, Default::Texts(&[])),
    bool("require_root", true),
];

const MEMRAY: &[Field] =
    &[bool("native_traces", true), bool("follow_fork", true), int("file_size_limit_gb", 20)];

const PROCESS_MONITOR: &[Field] = &[
    int("poll_interval_ms", 100),
    field("metrics", Kind::Texts, Default::Texts(&["rss", "vms", "shared", "text", "data"])),
];

const COLLECTOR: &[Field] = &[
    collector("primary", "perf_mem", false),
    collector("fallback", "memray", true),
    collector("fallback_2", "process_monitor", true),
    section("perf_mem", PERF_MEM),
    section("memray", MEMRAY),
    section("process_monitor", PROCESS_MONITOR),
];

const TELEMETRY: &[Field] = &[
    bool("capture", true),
    int("thermal_sampling_interval_s", 5),
    text("thermal_source", "auto"),
    bool("invalidate_on_throttle", true),
    bool("software_versions", true),
    bool("hardware_topology", true),
    bool("run_fio_benchmark", false),
];

const LABELLER: &[Field] = &[
    text("rules_file", "config/models.yaml"),
    field(
        "unknown_policy",
        Kind::OneOf(&["log_and_skip", "assign_runtime", "assign_unknown", "fail_run"]),
        Default::Text("log_and_skip"),
    ),
    int("min_sample_count", 10),
];

const METRICS: &[&str] = &[
    "retention_duration",
    "write_once_ratio",
    "read_frequency",
    "working_set_size",
    "access_locality",
    "inter_access_interval",
];

const ANALYSER: &[Field] = &[
    field(
        "metrics",
        Kind::SomeOf(METRICS),
        Default::Texts(&["retention_duration", "write_once_ratio", "read_frequency", "working_set_size"]),
    ),
    int("histogram_bins", 100),
    int("cdf_resolution", 1000),
    field("group_by", Kind::Texts, Default::Texts(&["region_type", "context_length"])),
];

const FORMATS: &[Field] = &[
    text("raw_traces", "parquet"),
    text("metrics", "csv"),
    text("figures", "pdf"),
    text("metadata", "json"),
];

const OUTPUT: &[Field] = &[
    text("base_dir", "results/"),
    section("formats", FORMATS),
    field("compression", Kind::OneOf(&["zstd", "snappy", "gzip", "none"]), Default::Text("zstd")),
    bool("hf_dataset_push", false),
    field("hf_repo", Kind::Text, Default::Null),
];

const PROMPTS: &[Field] =
    &[field("source", Kind::Text, Default::Required), field("categories", Kind::Texts, Default::Texts(&[]))];

/// Everything except the models, in display order; the models come second.
pub const TOP: &[Field] = &[
    field("experiment", Kind::Section(EXPERIMENT), Default::Required),
    section("sweep", SWEEP),
    field("prompts", Kind::Section(PROMPTS), Default::Null),
    section("collector", COLLECTOR),
    section("telemetry", TELEMETRY),
    section("labeller", LABELLER),
    section("analyser", ANALYSER),
    section("output", OUTPUT),
];
