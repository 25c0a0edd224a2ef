//! Whether a trace says enough: the share of rows that have what the metrics and their readers want.

use super::kinds::Kind;

/// What a trace was made with, which decides what can be asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collector {
    PerfMem,
    /// The same, with labels.
    PerfMemLabelled,
    Memray,
    Other,
}

impl Collector {
    /// By the `collector.type` of `metadata.json`.
    pub fn of_name(name: &str) -> Collector {
        match name {
            "perf_mem" => Collector::PerfMem,
            "perf_mem_labelled" => Collector::PerfMemLabelled,
            "memray" => Collector::Memray,
            _ => Collector::Other,
        }
    }
}

/// How a trace fares.
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

/// Rows that have something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    pub n_rows: u64,
    pub with_latency: u64,
    pub with_cache_level: u64,
    /// With a symbol that is not empty.
    pub with_symbol: u64,
    /// Of a kind that is not unknown.
    pub classified: u64,
}

/// Least shares to pass and to be warned of, of latency, cache level and kind.
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

    /// From 0 to 1; 0 of no rows.
    pub fn share(&self, n: u64) -> f64 {
        if self.n_rows == 0 { 0.0 } else { n as f64 / self.n_rows as f64 }
    }

    /// How the trace fares, by what may be asked of its collector.
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
