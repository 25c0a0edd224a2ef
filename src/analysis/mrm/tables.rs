//! Result tables with the names and columns of mrm-trace.

use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::units::Unit;
use crate::memory::metrics::RegionMetrics;
use crate::memory::summary::{self, IntervalSummary, KindSummary};
use crate::memory::{Kind, LabelledTrace};
use crate::report::{Column, Content, Table};

/// A trace and its summary by kind.
pub struct Source<'a, 'b> {
    pub view: &'a LabelledTrace<'b>,
    /// One row per kind, ordered by name.
    pub kinds: &'a [KindSummary],
}

impl Source<'_, '_> {
    fn kind_column(&self, kinds: impl Iterator<Item = Kind>) -> Column {
        let names = kinds.map(|kind| (kind != Kind::NONE).then(|| self.view.kinds.name(kind)));
        Column::key("region_type", "kind", Content::Plain, texts(names))
    }

    fn of_kinds(&self, columns: Vec<Column>) -> Vec<Column> {
        let mut all = vec![self.kind_column(self.kinds.iter().map(|row| row.kind))];
        all.extend(columns);
        all
    }

    fn floats(
        &self,
        id: &'static str,
        label: &str,
        unit: Unit,
        value: impl Fn(&KindSummary) -> Option<f64>,
    ) -> Column {
        Column::float(id, label, unit, self.kinds.iter().map(value).collect()).by_row()
    }

    fn counts(
        &self,
        id: &'static str,
        label: &str,
        unit: Unit,
        value: impl Fn(&KindSummary) -> u64,
    ) -> Column {
        Column::counts(id, label, unit, self.kinds.iter().map(value))
    }

    /// The ten result tables and the metrics table of a run, in the order of the reference.
    pub fn all(&self) -> Vec<Table> {
        vec![
            self.retention_per_region(),
            self.retention_summary(),
            self.write_once(),
            self.read_freq(),
            self.working_set_per_region(),
            self.working_set_summary(),
            self.locality_per_region(),
            self.locality_summary(),
            self.iai(),
            self.suitability(),
            self.metrics(),
        ]
    }

    /// Region rows up to the row limit, and the number left out.
    fn regions(&self, wanted: impl Fn(&RegionMetrics) -> bool) -> (Vec<&RegionMetrics>, u64) {
        let mut rows: Vec<&RegionMetrics> =
            self.view.metrics.regions.iter().filter(|region| wanted(region)).collect();
        let n_left_out = cut(&mut rows);
        (rows, n_left_out)
    }

    fn region_columns(&self, rows: &[&RegionMetrics]) -> [Column; 2] {
        [
            Column::counts("region_id", "region", Unit::Id, rows.iter().map(|row| u64::from(row.region_id)))
                .as_key(),
            self.kind_column(rows.iter().map(|row| row.kind)),
        ]
    }

    fn retention_per_region(&self) -> Table {
        let (rows, n_left_out) = self.regions(|_| true);
        let [id, kind] = self.region_columns(&rows);
        let ns = |id, label: &str, unit, value: fn(&RegionMetrics) -> i64| {
            Column::integer(id, label, unit, rows.iter().map(|row| Some(value(row))).collect())
        };
        let columns = vec![
            id,
            kind,
            ns("first_write_ns", "first write", Unit::NsClock, |row| row.first_write_ns)
                .hint("on the capture clock; first access for regions without stores"),
            ns("last_read_ns", "last read", Unit::NsClock, |row| row.last_read_ns)
                .hint("on the capture clock; first write for regions without loads"),
            ns("retention_ns", "retention", Unit::Ns, RegionMetrics::retention_ns)
                .hint("from the first write to the last read; 0 without a read after it, as in mrm-trace"),
            Column::float(
                "retention_s",
                "retention (s)",
                Unit::Seconds,
                rows.iter().map(|row| Some(row.retention_s())).collect(),
            ),
        ];
        let table = Table::new("retention_per_region", "Retention by region", columns)
            .sorted_by("region_id", false)
            .caption("Region 0 is all memory of unknown kind, region 1 all weights.");
        with_left_out(table, n_left_out)
    }

    // Tables by kind are compared between runs, except those whose numbers are also in the metrics table. Region numbers
    // differ from run to run, so tables by region are not compared.

    fn retention_summary(&self) -> Table {
        let seconds = |id, label: &str, value: fn(&KindSummary) -> f64| {
            self.floats(id, label, Unit::Seconds, |row| Some(value(row)))
        };
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions),
            seconds("retention_p50_s", "median", |row| row.retention_p50_s),
            seconds("retention_p90_s", "p90", |row| row.retention_p90_s),
            seconds("retention_p99_s", "p99", |row| row.retention_p99_s),
            seconds("retention_mean_s", "mean", |row| row.retention_mean_s),
        ]);
        Table::new("retention_summary", "Retention by kind", columns)
            .sorted_by("region_type", false)
            .caption(
                "From the first write to the last read of each region. Retention beyond the end of the trace isn't visible, so \
                 these are lower bounds.",
            )
            .not_compared()
    }

    fn write_once(&self) -> Table {
        let (rows, n_left_out) = self.regions(|row| row.n_written_addresses > 0);
        let [id, kind] = self.region_columns(&rows);
        let columns = vec![
            id,
            kind,
            Column::counts(
                "n_written_addresses",
                "stored addresses",
                Unit::Count,
                rows.iter().map(|row| row.n_written_addresses),
            ),
            Column::counts(
                "n_write_once_addresses",
                "stored once",
                Unit::Count,
                rows.iter().map(|row| row.n_write_once_addresses),
            ),
            Column::float(
                "write_once_ratio",
                "written once",
                Unit::Ratio,
                rows.iter().map(|row| row.write_once_ratio()).collect(),
            ),
        ];
        let table = Table::new("write_once", "Write-once addresses", columns)
            .sorted_by("region_id", false)
            .caption("Excludes regions without stores. Sampling misses stores, so true ratios are lower.")
            .if_empty("The trace has no stores.");
        with_left_out(table, n_left_out)
    }

    fn read_freq(&self) -> Table {
        let (rows, n_left_out) = self.regions(|_| true);
        let [id, kind] = self.region_columns(&rows);
        let counts = |id, label: &str, value: fn(&RegionMetrics) -> u64| {
            Column::counts(id, label, Unit::Count, rows.iter().map(|row| value(row)))
        };
        let columns = vec![
            id,
            kind,
            counts("total_reads", "reads", |row| row.reads),
            counts("total_writes", "writes", |row| row.writes),
            counts("total_accesses", "reads and writes", |row| row.reads + row.writes),
            Column::float(
                "read_fraction",
                "% reads",
                Unit::Ratio,
                rows.iter().map(|row| Some(row.read_fraction())).collect(),
            ),
            Column::float(
                "reads_per_write",
                "reads per write",
                Unit::Plain,
                rows.iter().map(|row| Some(row.reads_per_write())).collect(),
            )
            .hint("0 without writes, as in mrm-trace"),
        ];
        let table = Table::new("read_freq", "Reads and writes by region", columns)
            .sorted_by("region_id", false)
            .caption("Reads per write is shown as 0 for regions without writes, as in mrm-trace.");
        with_left_out(table, n_left_out)
    }

    fn working_set_per_region(&self) -> Table {
        let (rows, n_left_out) = self.regions(|_| true);
        let [id, kind] = self.region_columns(&rows);
        let columns = vec![
            id,
            Column::counts("unique_pages", "pages", Unit::Count, rows.iter().map(|row| row.unique_pages)),
            kind,
            Column::counts(
                "working_set_bytes",
                "bytes",
                Unit::Bytes,
                rows.iter().map(|row| row.unique_pages.saturating_mul(PAGE_BYTES)),
            ),
        ];
        let table = Table::new("working_set_per_region", "Working set by region", columns)
            .sorted_by("region_id", false);
        with_left_out(table, n_left_out)
    }

    fn working_set_summary(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions),
            self.counts("total_pages", "pages", Unit::Count, |row| row.total_pages)
                .hint("a page counts once per region"),
            self.counts("total_bytes", "bytes", Unit::Bytes, |row| {
                row.total_pages.saturating_mul(PAGE_BYTES)
            })
            .hint("a page counts once per region"),
            self.floats("mean_pages_per_region", "mean pages per region", Unit::Plain, |row| {
                Some(row.mean_pages_per_region)
            }),
            self.counts("max_pages_per_region", "max pages per region", Unit::Count, |row| {
                row.max_pages_per_region
            }),
        ]);
        Table::new("working_set_summary", "Working set", columns)
            .sorted_by("region_type", false)
            .caption("4 KiB pages hit by at least one sample.")
            .not_compared()
    }

    fn locality_per_region(&self) -> Table {
        let (rows, n_left_out) = self.regions(|_| true);
        let [id, kind] = self.region_columns(&rows);
        let floats = |id, label: &str, unit, value: fn(&RegionMetrics) -> f64| {
            Column::float(id, label, unit, rows.iter().map(|row| Some(value(row))).collect())
        };
        let columns = vec![
            id,
            kind,
            Column::counts("n_accesses", "accesses", Unit::Count, rows.iter().map(|row| row.n_accesses)),
            floats("mean_stride_bytes", "mean stride", Unit::Bytes, |row| row.mean_stride_bytes),
            floats("median_stride_bytes", "median stride", Unit::Bytes, |row| row.median_stride_bytes),
            floats("same_page_fraction", "same page", Unit::Ratio, |row| row.same_page_fraction),
        ];
        let table = Table::new("locality_per_region", "Locality by region", columns)
            .sorted_by("region_id", false)
            .caption(
                "Stride: distance in bytes to the previous access in time. 0 for regions with one access.",
            );
        with_left_out(table, n_left_out)
    }

    fn locality_summary(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.floats("mean_stride_bytes", "mean stride", Unit::Bytes, |row| Some(row.mean_stride_bytes)),
            self.floats("median_stride_bytes", "median stride", Unit::Bytes, |row| {
                Some(row.median_stride_bytes)
            })
            .hint("mean of the regions' medians"),
            self.floats("same_page_fraction", "same page", Unit::Ratio, |row| Some(row.same_page_fraction)),
        ]);
        Table::new("locality_summary", "Locality", columns)
            .sorted_by("region_type", false)
            .caption("Unweighted means over regions.")
    }

    fn iai(&self) -> Table {
        let rows = summary::intervals(&self.view.metrics, &self.view.kinds);
        let ns = |id, label: &str, value: fn(&IntervalSummary) -> i64| {
            Column::integer(id, label, Unit::Ns, rows.iter().map(|(_, row)| Some(value(row))).collect())
                .by_row()
        };
        let columns = vec![
            self.kind_column(rows.iter().map(|(kind, _)| *kind)),
            Column::counts(
                "n_intervals",
                "intervals",
                Unit::Count,
                rows.iter().map(|(_, row)| row.n_intervals),
            )
            .adds_up(),
            ns("iai_p50_ns", "median", |row| row.p50_ns),
            ns("iai_p90_ns", "p90", |row| row.p90_ns),
            ns("iai_p99_ns", "p99", |row| row.p99_ns),
            Column::float(
                "iai_mean_ns",
                "mean",
                Unit::Ns,
                rows.iter().map(|(_, row)| Some(row.mean_ns)).collect(),
            )
            .by_row(),
        ];
        Table::new("iai", "Inter-access intervals", columns)
            .sorted_by("region_type", false)
            .caption("Time between accesses to the same address, excluding intervals of 0. Grouped by kind, across regions.")
            .if_empty("No address was accessed more than once.")
    }

    fn suitability(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.floats("write_once_ratio_mean", "written once", Unit::Ratio, |row| {
                Some(row.write_once_ratio_mean.unwrap_or(0.0))
            })
            .hint("0 without stores"),
            self.floats("retention_p99_s", "retention p99", Unit::Seconds, |row| Some(row.retention_p99_s)),
            self.floats("retention_p50_s", "retention p50", Unit::Seconds, |row| Some(row.retention_p50_s)),
            self.suitability_column(),
        ]);
        Table::new("suitability", "MRM suitability", columns).sorted_by("region_type", false).not_compared()
    }

    fn suitability_column(&self) -> Column {
        let names = self.kinds.iter().map(|row| Some(row.suitability.name()));
        Column::text("suitability", "suitability", Content::Plain, texts(names)).by_row()
    }

    /// One row per kind, as in `metrics.csv` of run directories.
    pub fn metrics(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions).adds_up(),
            self.floats("retention_p50_s", "retention p50", Unit::Seconds, |row| Some(row.retention_p50_s)),
            self.floats("retention_p90_s", "retention p90", Unit::Seconds, |row| Some(row.retention_p90_s)),
            self.floats("retention_p99_s", "retention p99", Unit::Seconds, |row| Some(row.retention_p99_s)),
            self.floats("retention_mean_s", "retention mean", Unit::Seconds, |row| {
                Some(row.retention_mean_s)
            }),
            self.floats("write_once_ratio_mean", "written once", Unit::Ratio, |row| {
                row.write_once_ratio_mean
            }),
            self.floats("reads_per_write_mean", "reads per write", Unit::Plain, |row| {
                Some(row.reads_per_write_mean)
            })
            .hint("mean over regions; regions without writes count as 0"),
            self.floats("working_set_mb_total", "MiB touched", Unit::Plain, |row| {
                Some(row.total_pages.saturating_mul(PAGE_BYTES) as f64 / MIB)
            }),
            self.counts("unique_pages_total", "pages", Unit::Count, |row| row.total_pages).adds_up(),
            self.suitability_column(),
        ]);
        Table::new("metrics", "Metrics by kind", columns).sorted_by("region_type", false)
    }

    /// Regions in order of first access.
    pub fn region_map(&self) -> Table {
        let mut rows: Vec<_> = self.view.regions.regions().iter().collect();
        let n_left_out = cut(&mut rows);
        let page = |id, label: &str, value: fn(&crate::memory::labeller::Region) -> u64| {
            Column::counts(id, label, Unit::Address, rows.iter().map(|row| value(row))).hint("address / 4096")
        };
        let columns = vec![
            Column::counts("region_id", "region", Unit::Id, rows.iter().map(|row| u64::from(row.id)))
                .as_key(),
            self.kind_column(rows.iter().map(|row| row.kind)),
            page("page_min", "first page", |row| row.page_min),
            page("page_max", "last page", |row| row.page_max),
            Column::integer(
                "first_seen_ns",
                "first seen",
                Unit::NsClock,
                rows.iter().map(|row| Some(row.first_seen_ns)).collect(),
            )
            .hint("first access in file order"),
            Column::integer(
                "last_seen_ns",
                "last seen",
                Unit::NsClock,
                rows.iter().map(|row| Some(row.last_seen_ns)).collect(),
            ),
            Column::counts("access_count", "accesses", Unit::Count, rows.iter().map(|row| row.access_count)),
        ];
        let table = Table::new("region_map", "Regions", columns)
            .caption("In order of first access. All weights form one region, as does each KV cache address and each other page.")
            .if_empty("No access of a known kind.");
        with_left_out(table, n_left_out)
    }
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 1 << crate::trace::accesses::PAGE_BITS;

const MIB: f64 = 1_048_576.0;
