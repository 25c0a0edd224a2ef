//! The result tables, under the names and with the columns of mrm-trace.

use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::units::Unit;
use crate::memory::metrics::RegionMetrics;
use crate::memory::summary::{self, IntervalSummary, KindSummary};
use crate::memory::{Kind, View};
use crate::report::{Column, Table};

/// One trace and what was found in it.
pub struct Source<'a, 'b> {
    pub view: &'a View<'b>,
    /// A row a kind, in order of name.
    pub kinds: &'a [KindSummary],
}

impl Source<'_, '_> {
    fn kind_column(&self, kinds: impl Iterator<Item = Kind>) -> Column {
        let names = kinds.map(|kind| (kind != Kind::NONE).then(|| self.view.kinds.name(kind)));
        Column::key("region_type", "kind", texts(names))
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

    /// The ten results and the table of a run, in the reference's order.
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

    /// Rows of regions, no more than are shown.
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
                .hint("on the clock of the capture; of a region without stores its first access"),
            ns("last_read_ns", "last read", Unit::NsClock, |row| row.last_read_ns)
                .hint("on the clock of the capture; of a region without loads its first write"),
            ns("retention_ns", "kept", Unit::Ns, RegionMetrics::retention_ns)
                .hint("from the first write to the last read"),
            Column::float(
                "retention_s",
                "kept, in seconds",
                Unit::Seconds,
                rows.iter().map(|row| Some(row.retention_s())).collect(),
            ),
        ];
        let table = Table::new("retention_per_region", "How long each region keeps data", columns)
            .sorted_by("region_id", false)
            .caption("Region 0 is all memory of which the kind is not known, region 1 all weights.");
        with_left_out(table, n_left_out)
    }

    // Tables by kind are compared; those whose numbers stand in the table of all of them as well are not, and regions have
    // other numbers in each run.

    fn retention_summary(&self) -> Table {
        let seconds = |id, label: &str, value: fn(&KindSummary) -> f64| {
            self.floats(id, label, Unit::Seconds, |row| Some(value(row)))
        };
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions),
            seconds("retention_p50_s", "median", |row| row.retention_p50_s),
            seconds("retention_p90_s", "90%", |row| row.retention_p90_s),
            seconds("retention_p99_s", "99%", |row| row.retention_p99_s),
            seconds("retention_mean_s", "mean", |row| row.retention_mean_s),
        ]);
        Table::new("retention_summary", "How long data is kept", columns)
            .sorted_by("region_type", false)
            .caption(
                "From the first write to the last read of each region. What is kept beyond the trace is not seen, so these \
                 are lower bounds.",
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
                "addresses stored to",
                Unit::Count,
                rows.iter().map(|row| row.n_written_addresses),
            ),
            Column::counts(
                "n_write_once_addresses",
                "stored to once",
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
        let table = Table::new("write_once", "Addresses that are written once", columns)
            .sorted_by("region_id", false)
            .caption("Regions without stores have no row. Samples are a part of all stores, so true ratios are lower.")
            .if_empty("The trace holds no stores.");
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
                "share of reads",
                Unit::Ratio,
                rows.iter().map(|row| Some(row.read_fraction())).collect(),
            ),
            Column::float(
                "reads_per_write",
                "reads per write",
                Unit::Plain,
                rows.iter().map(|row| Some(row.reads_per_write())).collect(),
            )
            .hint("0 where there are no writes, as mrm-trace has it; with reads that means no writes (∞), not no reads"),
        ];
        let table = Table::new("read_freq", "Reads and writes of each region", columns)
            .sorted_by("region_id", false)
            .caption("Where writes are 0, reads per write stand as 0: there ∞ is meant.");
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
        let table = Table::new("working_set_per_region", "Pages that each region touches", columns)
            .sorted_by("region_id", false);
        with_left_out(table, n_left_out)
    }

    fn working_set_summary(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions),
            self.counts("total_pages", "pages", Unit::Count, |row| row.total_pages)
                .hint("a page in two regions counts twice"),
            self.counts("total_bytes", "bytes", Unit::Bytes, |row| {
                row.total_pages.saturating_mul(PAGE_BYTES)
            }),
            self.floats("mean_pages_per_region", "mean pages of a region", Unit::Plain, |row| {
                Some(row.mean_pages_per_region)
            }),
            self.counts("max_pages_per_region", "most pages of a region", Unit::Count, |row| {
                row.max_pages_per_region
            }),
        ]);
        Table::new("working_set_summary", "Working set", columns)
            .sorted_by("region_type", false)
            .caption("Pages of 4 KiB that a sample touched; pages that no sample hit are not counted.")
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
            floats("same_page_fraction", "on the same page", Unit::Ratio, |row| row.same_page_fraction),
        ];
        let table = Table::new("locality_per_region", "How accesses step through each region", columns)
            .sorted_by("region_id", false)
            .caption("A stride is the distance in bytes to the access before, in order of time. One access has none, which stands as 0.");
        with_left_out(table, n_left_out)
    }

    fn locality_summary(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.floats("mean_stride_bytes", "mean stride", Unit::Bytes, |row| Some(row.mean_stride_bytes)),
            self.floats("median_stride_bytes", "median stride", Unit::Bytes, |row| {
                Some(row.median_stride_bytes)
            })
            .hint("the mean of the regions' medians"),
            self.floats("same_page_fraction", "on the same page", Unit::Ratio, |row| {
                Some(row.same_page_fraction)
            }),
        ]);
        Table::new("locality_summary", "Locality", columns)
            .sorted_by("region_type", false)
            .caption("Means over regions, each of which counts the same.")
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
            ns("iai_p90_ns", "90%", |row| row.p90_ns),
            ns("iai_p99_ns", "99%", |row| row.p99_ns),
            Column::float(
                "iai_mean_ns",
                "mean",
                Unit::Ns,
                rows.iter().map(|(_, row)| Some(row.mean_ns)).collect(),
            )
            .by_row(),
        ];
        Table::new("iai", "Time between accesses to one address", columns)
            .sorted_by("region_type", false)
            .caption("Intervals of 0 are left out; an address counts for its kind, whatever its region.")
            .if_empty("No address was accessed at two times.")
    }

    fn suitability(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.floats("write_once_ratio_mean", "written once", Unit::Ratio, |row| {
                Some(row.write_once_ratio_mean.unwrap_or(0.0))
            })
            .hint("0 where there are no stores"),
            self.floats("retention_p99_s", "kept, 99%", Unit::Seconds, |row| Some(row.retention_p99_s)),
            self.floats("retention_p50_s", "kept, median", Unit::Seconds, |row| Some(row.retention_p50_s)),
            self.suitability_column(),
        ]);
        Table::new("suitability", "Suitability for memory of managed retention", columns)
            .sorted_by("region_type", false)
            .not_compared()
    }

    fn suitability_column(&self) -> Column {
        let names = self.kinds.iter().map(|row| Some(row.suitability.name()));
        Column::text("suitability", "suitability", texts(names)).by_row()
    }

    /// One row a kind: what run directories hold as `metrics.csv`.
    pub fn metrics(&self) -> Table {
        let columns = self.of_kinds(vec![
            self.counts("n_regions", "regions", Unit::Count, |row| row.n_regions).adds_up(),
            self.floats("retention_p50_s", "kept, median", Unit::Seconds, |row| Some(row.retention_p50_s)),
            self.floats("retention_p90_s", "kept, 90%", Unit::Seconds, |row| Some(row.retention_p90_s)),
            self.floats("retention_p99_s", "kept, 99%", Unit::Seconds, |row| Some(row.retention_p99_s)),
            self.floats("retention_mean_s", "kept, mean", Unit::Seconds, |row| Some(row.retention_mean_s)),
            self.floats("write_once_ratio_mean", "written once", Unit::Ratio, |row| {
                row.write_once_ratio_mean
            }),
            self.floats("reads_per_write_mean", "reads per write", Unit::Plain, |row| {
                Some(row.reads_per_write_mean)
            })
            .hint("mean over regions, those without writes counting as 0"),
            self.floats("working_set_mb_total", "MiB touched", Unit::Plain, |row| {
                Some(row.total_pages.saturating_mul(PAGE_BYTES) as f64 / MIB)
            }),
            self.counts("unique_pages_total", "pages", Unit::Count, |row| row.total_pages).adds_up(),
            self.suitability_column(),
        ]);
        Table::new("metrics", "All by kind", columns).sorted_by("region_type", false)
    }

    /// Regions in order of appearance.
    pub fn region_map(&self) -> Table {
        let mut rows: Vec<_> = self.view.regions.regions().iter().collect();
        let n_left_out = cut(&mut rows);
        let page = |id, label: &str, value: fn(&crate::memory::labeller::Region) -> u64| {
            Column::counts(id, label, Unit::Address, rows.iter().map(|row| value(row)))
                .hint("the address divided by 4096")
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
            .hint("time of the first access in the order of the file"),
            Column::integer(
                "last_seen_ns",
                "last seen",
                Unit::NsClock,
                rows.iter().map(|row| Some(row.last_seen_ns)).collect(),
            ),
            Column::counts("access_count", "accesses", Unit::Count, rows.iter().map(|row| row.access_count)),
        ];
        let table = Table::new("region_map", "Regions", columns)
            .caption("In order of appearance. All weights are one region, each address of the key/value cache is one, and each page of anything else.")
            .if_empty("No access is of a known kind.");
        with_left_out(table, n_left_out)
    }
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 1 << crate::trace::accesses::PAGE_BITS;

const MIB: f64 = 1_048_576.0;
