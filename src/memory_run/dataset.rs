//! `manifest.csv` of a dataset: one row per run.

use super::csv;
use std::borrow::Cow;

/// Columns in order.
pub const COLUMNS: [&str; 23] = [
    "run_id",
    "machine_id",
    "model_id",
    "collector",
    "context_length",
    "batch_size",
    "max_tokens_per_prompt",
    "rep",
    "run_validity",
    "peak_temp_c",
    "throttle_events",
    "total_wall_s",
    "avg_tok_per_s",
    "total_output_tokens",
    "retention_p99_s",
    "write_once_ratio_mean",
    "working_set_pages_total",
    "cpu_model",
    "cpu_freq_scaling_max_mhz",
    "os",
    "kernel",
    "has_prompt_outputs",
    "recorded_at",
];

/// The runs of a dataset; fields are unparsed text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dataset {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Dataset {
    /// Parses the file; the error is a sentence fragment, for a file without run ids.
    pub fn read(bytes: &[u8]) -> Result<Dataset, String> {
        let mut rows = csv::read(&String::from_utf8_lossy(bytes)).into_iter();
        let columns = rows.next().unwrap_or_default();
        if !columns.iter().any(|column| column == "run_id") {
            return Err("missing column run_id".to_string());
        }
        Ok(Dataset { columns, rows: rows.collect() })
    }

    /// A field; `None` if there is no such row or column, empty if it is null.
    pub fn get(&self, row: usize, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.rows.get(row)?.get(at).map(String::as_str)
    }

    /// Serializes the file.
    pub fn write(&self) -> String {
        let mut out = String::new();
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            csv::push_row(row.iter().map(|field| Cow::Borrowed(field.as_str())), &mut out);
        }
        out
    }
}
