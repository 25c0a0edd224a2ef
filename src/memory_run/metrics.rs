//! `metrics.csv`: one row per region type.

use super::csv;
use super::schema::Kind;
use crate::base::compat::python;
use std::borrow::Cow;

const COLUMNS: [&str; 11] = [
    "region_type",
    "n_regions",
    "retention_p50_s",
    "retention_p90_s",
    "retention_p99_s",
    "retention_mean_s",
    "write_once_ratio_mean",
    "reads_per_write_mean",
    "working_set_mb_total",
    "unique_pages_total",
    "suitability",
];

/// Metrics of one region type. `None` is an empty field.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MetricsRow {
    pub region_type: String,
    pub n_regions: Option<u64>,
    /// Quantiles and mean of retention, in seconds.
    pub retention_p50_s: Option<f64>,
    pub retention_p90_s: Option<f64>,
    pub retention_p99_s: Option<f64>,
    pub retention_mean_s: Option<f64>,
    /// `None` without stores.
    pub write_once_ratio_mean: Option<f64>,
    pub reads_per_write_mean: Option<f64>,
    /// In units of 2²⁰ bytes.
    pub working_set_mb_total: Option<f64>,
    pub unique_pages_total: Option<u64>,
    /// `high_mrm`, `medium_mrm` or `low_mrm`.
    pub suitability: String,
}

/// Parses the file; the error is a sentence fragment.
pub fn read(bytes: &[u8]) -> Result<Vec<MetricsRow>, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = csv::read(&text).into_iter();
    let head = rows.next().unwrap_or_default();
    let missing = Kind::Metrics.missing(|column| head.iter().any(|name| name == column));
    if !missing.is_empty() {
        return Err(format!("missing columns: {}", missing.join(", ")));
    }
    let places = COLUMNS.map(|column| head.iter().position(|name| name == column));
    rows.map(|row| {
        let field = |n: usize| places[n].and_then(|at| row.get(at)).map_or("", String::as_str);
        let float = |n: usize| match field(n) {
            "" => Ok(None),
            text => python::parse_float(text).map(Some).ok_or_else(|| no_number(n, text)),
        };
        // pandas writes integer columns with missing values as floats.
        let count = |n: usize| match float(n)? {
            None => Ok(None),
            Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 1.8e19 => Ok(Some(value as u64)),
            Some(_) => Err(no_number(n, field(n))),
        };
        Ok(MetricsRow {
            region_type: field(0).to_string(),
            n_regions: count(1)?,
            retention_p50_s: float(2)?,
            retention_p90_s: float(3)?,
            retention_p99_s: float(4)?,
            retention_mean_s: float(5)?,
            write_once_ratio_mean: float(6)?,
            reads_per_write_mean: float(7)?,
            working_set_mb_total: float(8)?,
            unique_pages_total: count(9)?,
            suitability: field(10).to_string(),
        })
    })
    .collect()
}

fn no_number(column: usize, text: &str) -> String {
    format!("{} is not a number, in column {}", crate::base::text::visible(text), COLUMNS[column])
}

/// The fields of a row in the order of [`COLUMNS`], with numbers formatted like Python.
fn fields(row: &MetricsRow) -> [Cow<'_, str>; COLUMNS.len()] {
    let float = |value: Option<f64>| Cow::Owned(value.map(python::float_repr).unwrap_or_default());
    let count = |value: Option<u64>| Cow::Owned(value.map(|value| value.to_string()).unwrap_or_default());
    [
        Cow::Borrowed(row.region_type.as_str()),
        count(row.n_regions),
        float(row.retention_p50_s),
        float(row.retention_p90_s),
        float(row.retention_p99_s),
        float(row.retention_mean_s),
        float(row.write_once_ratio_mean),
        float(row.reads_per_write_mean),
        float(row.working_set_mb_total),
        count(row.unique_pages_total),
        Cow::Borrowed(row.suitability.as_str()),
    ]
}

/// A field that differs between two rows of the same region type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    pub column: &'static str,
    pub own: String,
    pub other: String,
}

impl MetricsRow {
    /// Fields that differ from those of another row, in the order of columns.
    pub fn differences(&self, other: &MetricsRow) -> Vec<Difference> {
        let pairs = COLUMNS.into_iter().zip(fields(self).into_iter().zip(fields(other)));
        let differing = pairs.filter(|(_, (own, other))| own != other);
        let difference = |(column, (own, other)): (&'static str, (Cow<'_, str>, Cow<'_, str>))| Difference {
            column,
            own: own.into_owned(),
            other: other.into_owned(),
        };
        differing.map(difference).collect()
    }
}

/// Writes the file, byte for byte as mrm-trace does.
pub fn write(rows: &[MetricsRow]) -> String {
    let mut out = String::new();
    csv::push_row(COLUMNS.map(Cow::Borrowed), &mut out);
    rows.iter().for_each(|row| csv::push_row(fields(row), &mut out));
    out
}
