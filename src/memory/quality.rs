//! Data quality of a trace: the share of rows with the fields that the metrics need.

use super::kinds::Kind;

/// Collector of a trace, which determines the fields to expect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collector {
    PerfMem,
    /// perf mem, with labels.
    PerfMemLabelled,
    Memray,
    Other,
}

impl Collector {
    /// From `collector.type` in `metadata.json`.
    pub fn of_name(name: &str) -> Collector {
        match name {
            "perf_mem" => Collector::PerfMem,
            "perf_mem_labelled" => Collector::PerfMemLabelled,
            "memray" => Collector::Memray,
            _ => Collector::Other,
        }
    }
}

/// Grade of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    Pass,
    Warn,
    Fail,
}

impl Grade {
    pub fn name(self) -> &'static str {
        match self {
            Grade::Pass => "PASS",
            Grade::Warn => "WARN",
            Grade::Fail => "FAIL",
        }
    }
}

/// Number of rows with each field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    pub n_rows: u64,
    pub with_latency: u64,
    pub with_cache_level: u64,
    /// With a nonempty symbol.
    pub with_symbol: u64,
    /// Of known kind.
    pub classified: u64,
}

/// Minimum shares for pass and warn, of latency, cache level and kind.
struct Minimums {
    latency: (f64, f64),
    cache_level: (f64, f64),
    classified: (f64, f64),
}

impl Coverage {
    pub fn add(&mut self, has_latency: bool, has_level: bool, has_symbol: bool, kind: Kind) {
        self.n_rows += 1;
        self.with_latency += u64::from(has_latency);
        self.with_cache_level += u64::from(has_level);
        self.with_symbol += u64::from(has_symbol);
        self.classified += u64::from(kind != Kind::UNKNOWN);
    }

    /// Share from 0 to 1; 0 without rows.
    pub fn share(&self, n: u64) -> f64 {
        if self.n_rows == 0 { 0.0 } else { n as f64 / self.n_rows as f64 }
    }

    /// Grade of the trace, by the fields its collector should have.
    pub fn grade(&self, collector: Collector) -> Grade {
        let any = (0.0, 0.0);
        let minimums = match collector {
            Collector::PerfMem => {
                Minimums { latency: (0.95, 0.5), cache_level: (0.85, 0.5), classified: any }
            }
            Collector::PerfMemLabelled => {
                Minimums { latency: (0.95, 0.5), cache_level: (0.85, 0.5), classified: (0.05, 0.001) }
            }
            Collector::Memray => Minimums { latency: any, cache_level: any, classified: any },
            Collector::Other => Minimums { latency: (0.5, 0.1), cache_level: (0.5, 0.1), classified: any },
        };
        if self.n_rows == 0 {
            return Grade::Fail;
        }
        let grade = |n: u64, (pass, warn): (f64, f64)| match self.share(n) {
            share if share < warn => Grade::Fail,
            share if share < pass => Grade::Warn,
            _ => Grade::Pass,
        };
        grade(self.with_latency, minimums.latency)
            .max(grade(self.with_cache_level, minimums.cache_level))
            .max(grade(self.classified, minimums.classified))
    }
}
