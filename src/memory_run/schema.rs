//! Required columns and version of each table.

use crate::parquet::{ParquetFile, Source};

/// Key of the version in the metadata of a Parquet file. No known version of the reference writes it.
pub const VERSION_KEY: &str = "mrm_trace_schema_version";
/// Version of all tables.
pub const VERSION: &str = "1.0";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Trace,
    RegionMap,
    KvBlocks,
    Metrics,
}

impl Kind {
    /// Required columns.
    pub fn required(self) -> &'static [&'static str] {
        match self {
            Kind::Trace => &[
                "run_id",
                "sample_id",
                "timestamp_ns",
                "phase",
                "address",
                "address_page",
                "op_type",
                "symbol",
                "dso",
                "region_type",
                "region_id",
            ],
            Kind::RegionMap => &[
                "region_id",
                "region_type",
                "page_min",
                "page_max",
                "first_seen_ns",
                "last_seen_ns",
                "access_count",
            ],
            Kind::KvBlocks => &[
                "block_id",
                "address",
                "address_page",
                "write_ns",
                "last_read_ns",
                "evict_ns",
                "total_reads",
                "lifetime_ns",
            ],
            Kind::Metrics => {
                &["region_type", "n_regions", "retention_p99_s", "write_once_ratio_mean", "suitability"]
            }
        }
    }

    /// Required columns for which `has` is false, sorted.
    pub fn missing(self, has: impl Fn(&str) -> bool) -> Vec<&'static str> {
        let mut missing: Vec<&str> = self.required().iter().copied().filter(|column| !has(column)).collect();
        missing.sort_unstable();
        missing
    }
}

/// Check result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Check {
    Fits,
    /// Missing required columns, sorted.
    Missing(Vec<&'static str>),
    /// Unsupported or invalid version; the reason as a sentence fragment.
    Version(String),
}

/// Whether tables of `version` are compatible with [`VERSION`]: same major version. An error if it is not a valid
/// version.
pub fn is_compatible(version: &str) -> Result<bool, String> {
    let parts: Vec<Option<i64>> = version
        .split('.')
        .map(|part| crate::base::compat::python::parse_int(part).and_then(|digits| digits.parse().ok()))
        .collect();
    match parts[..] {
        [Some(major), Some(_)] => Ok(major == 1),
        _ => Err(format!("invalid schema version '{version}'; expected two numbers, such as {VERSION}")),
    }
}

/// Checks the version, then the columns.
pub fn check<S: Source>(kind: Kind, file: &ParquetFile<S>) -> Check {
    let version =
        file.key_values().iter().find(|(key, _)| key == VERSION_KEY).map(|(_, value)| value.as_str());
    match version.map_or(Ok(true), is_compatible) {
        Err(what) => return Check::Version(what),
        Ok(false) => {
            let version = version.unwrap_or_default();
            return Check::Version(format!(
                "unsupported schema version {version}; expected {VERSION} or compatible"
            ));
        }
        Ok(true) => {}
    }
    let missing = kind.missing(|column| file.columns().iter().any(|other| other.name == column));
    if missing.is_empty() { Check::Fits } else { Check::Missing(missing) }
}
