//! Region metrics aggregated by memory kind.

use super::kinds::{Kind, Kinds};
use super::metrics::{Metrics, RegionMetrics};
use super::numbers::{self, GroupMean};
use super::suitability::{Suitability, Thresholds};
use crate::base::hash::HashMap;

/// Aggregated metrics of the regions of one kind. Fractions are from 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct KindSummary {
    pub kind: Kind,
    pub n_regions: u64,
    /// Of any operation.
    pub n_accesses: u64,
    pub retention_p50_s: f64,
    pub retention_p90_s: f64,
    pub retention_p99_s: f64,
    pub retention_mean_s: f64,
    /// Mean over regions with stores; `None` if there are none.
    pub write_once_ratio_mean: Option<f64>,
    /// Mean over all regions, with 0 for those without stores.
    pub reads_per_write_mean: f64,
    pub reads: u64,
    pub writes: u64,
    /// A page counts once per region.
    pub total_pages: u64,
    pub mean_pages_per_region: f64,
    pub max_pages_per_region: u64,
    /// Means over regions, including the mean of medians.
    pub mean_stride_bytes: f64,
    pub median_stride_bytes: f64,
    pub same_page_fraction: f64,
    pub suitability: Suitability,
}

/// Inter-access intervals above 0, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IntervalSummary {
    pub n_intervals: u64,
    /// Truncated to whole nanoseconds.
    pub p50_ns: i64,
    pub p90_ns: i64,
    pub p99_ns: i64,
    pub mean_ns: f64,
}

/// Intervals by kind, ordered by name. Includes kinds without a region, as a region has the kind of its first access.
pub fn intervals(metrics: &Metrics, kinds: &Kinds) -> Vec<(Kind, IntervalSummary)> {
    let of = |kind| {
        let spread = metrics.intervals_of(kind)?;
        let [p50, p90, p99] = spread.quantiles([0.5, 0.9, 0.99])?;
        let summary = IntervalSummary {
            n_intervals: spread.len(),
            p50_ns: p50 as i64,
            p90_ns: p90 as i64,
            p99_ns: p99 as i64,
            mean_ns: spread.mean()?,
        };
        Some((kind, summary))
    };
    kinds.sorted().into_iter().filter_map(of).collect()
}

/// One row per kind, ordered by name.
pub fn by_kind(metrics: &Metrics, kinds: &Kinds, thresholds: &Thresholds) -> Vec<KindSummary> {
    let mut regions: HashMap<Kind, Vec<&RegionMetrics>> = HashMap::default();
    metrics.regions.iter().for_each(|region| regions.entry(region.kind).or_default().push(region));
    let of = |kind| of_kind(kind, regions.get(&kind)?, thresholds);
    kinds.sorted().into_iter().filter_map(of).collect()
}

fn of_kind(kind: Kind, regions: &[&RegionMetrics], thresholds: &Thresholds) -> Option<KindSummary> {
    let group_mean = |value: &dyn Fn(&RegionMetrics) -> Option<f64>| {
        let mut mean = GroupMean::default();
        regions.iter().filter_map(|region| value(region)).for_each(|value| mean.add(value));
        mean.mean()
    };
    let retention: Vec<f64> = regions.iter().map(|region| region.retention_s()).collect();
    let retention_mean_s = numbers::mean(&retention)?;
    let mut sorted = retention;
    sorted.sort_by(f64::total_cmp);
    let quantile = |q| numbers::quantile(&sorted, q).unwrap_or(0.0);
    let (p50, p90, p99) = (quantile(0.5), quantile(0.9), quantile(0.99));
    let write_once_ratio_mean = group_mean(&RegionMetrics::write_once_ratio);
    let pages: Vec<f64> = regions.iter().map(|region| region.unique_pages as f64).collect();
    Some(KindSummary {
        kind,
        n_regions: regions.len() as u64,
        n_accesses: regions.iter().map(|region| region.n_accesses).sum(),
        retention_p50_s: p50,
        retention_p90_s: p90,
        retention_p99_s: p99,
        retention_mean_s,
        write_once_ratio_mean,
        reads_per_write_mean: group_mean(&|region| Some(region.reads_per_write())).unwrap_or(0.0),
        reads: regions.iter().map(|region| region.reads).sum(),
        writes: regions.iter().map(|region| region.writes).sum(),
        total_pages: regions.iter().map(|region| region.unique_pages).sum(),
        mean_pages_per_region: numbers::mean(&pages).unwrap_or(0.0),
        max_pages_per_region: regions.iter().map(|region| region.unique_pages).max().unwrap_or(0),
        mean_stride_bytes: group_mean(&|region| Some(region.mean_stride_bytes)).unwrap_or(0.0),
        median_stride_bytes: group_mean(&|region| Some(region.median_stride_bytes)).unwrap_or(0.0),
        same_page_fraction: group_mean(&|region| Some(region.same_page_fraction)).unwrap_or(0.0),
        suitability: thresholds.judge(write_once_ratio_mean.unwrap_or(0.0), p99, p50),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::exact_quantiles::Spread;

    /// Accesses of two kinds to one page can share a region, which has the first kind.
    #[test]
    fn kinds_without_a_region_have_their_intervals() {
        let mut kinds = Kinds::default();
        let scratch = kinds.of_name("scratch");
        let spread = |values: &[u64]| {
            let mut spread = Spread::default();
            values.iter().for_each(|value| spread.add(*value));
            spread
        };
        let intervals = vec![(Kind::KV_CACHE, spread(&[7])), (scratch, spread(&[4, 5]))];
        let metrics = Metrics { intervals, ..Metrics::default() };
        assert_eq!(by_kind(&metrics, &kinds, &Thresholds::default()), []);
        let summary = |n_intervals, [p50_ns, p90_ns, p99_ns]: [i64; 3], mean_ns| IntervalSummary {
            n_intervals,
            p50_ns,
            p90_ns,
            p99_ns,
            mean_ns,
        };
        let wanted = [(Kind::KV_CACHE, summary(1, [7; 3], 7.0)), (scratch, summary(2, [4; 3], 4.5))];
        assert_eq!(super::intervals(&metrics, &kinds), wanted);
    }
}
