//! `manifest.json` of a Tracedrop file.

use crate::base::json::typed::Lenient;
use crate::export::link::content::FileContent;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Manifest {
    /// Other archives have a `manifest.json`, too; only this member tells them apart.
    pub format: Lenient<String>,
    pub version: Lenient<u64>,
    /// Program that wrote it.
    #[serde(skip_deserializing)]
    pub by: &'static str,
    /// In milliseconds since the Unix epoch; 0 if unknown.
    pub made_ms: Lenient<u64>,
    /// Row limit of the tables in the report.
    #[serde(skip_deserializing)]
    pub rows_per_table: u32,
    #[serde(skip_deserializing)]
    pub sources: Vec<FileContent>,
    pub members: Lenient<Vec<Member>>,
}

/// A member of the archive.
#[derive(Clone, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Member {
    pub path: Lenient<String>,
    pub bytes: Lenient<Option<u64>>,
    /// In lower-case hexadecimal digits.
    pub sha256: Lenient<String>,
}
