//! Whether memory that keeps data for a managed while (MRM) would suit a kind of data: written once, kept long.

use crate::base::units::{Unit, format_float, format_ratio};

/// How well it suits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suitability {
    High,
    Medium,
    Low,
}

impl Suitability {
    /// As the reference writes it.
    pub fn name(self) -> &'static str {
        match self {
            Suitability::High => "high_mrm",
            Suitability::Medium => "medium_mrm",
            Suitability::Low => "low_mrm",
        }
    }
}

/// From where on data suits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Least mean share of addresses written once, and least retention (99th percentile, seconds), for high.
    pub high_ratio: f64,
    pub high_p99_s: f64,
    /// The same for medium, of the median.
    pub medium_ratio: f64,
    pub medium_p50_s: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { high_ratio: 0.8, high_p99_s: 10.0, medium_ratio: 0.5, medium_p50_s: 1.0 }
    }
}

impl Thresholds {
    /// In words, behind "suitability is".
    pub fn told(&self) -> String {
        format!(
            "high from {} and {} s on, medium from {} and {} s on",
            self.high_ratio, self.high_p99_s, self.medium_ratio, self.medium_p50_s
        )
    }

    pub fn judge(&self, write_once_ratio: f64, p99_s: f64, p50_s: f64) -> Suitability {
        if write_once_ratio >= self.high_ratio && p99_s >= self.high_p99_s {
            Suitability::High
        } else if write_once_ratio >= self.medium_ratio && p50_s >= self.medium_p50_s {
            Suitability::Medium
        } else {
            Suitability::Low
        }
    }

    /// Why that is the judgement, in words.
    pub fn reason(&self, write_once_ratio: Option<f64>, p99_s: f64, p50_s: f64) -> String {
        let Some(ratio) = write_once_ratio else {
            return "no store was seen, so nothing says that it is written once; the reference counts that as 0"
                .to_string();
        };
        let percent = format_ratio;
        let time = |seconds| format_float(seconds, Unit::Seconds);
        let once = format!("{} of the addresses stored to were so once", percent(ratio));
        match self.judge(ratio, p99_s, p50_s) {
            Suitability::High => format!(
                "{once} (at least {}), and the longest-kept hundredth is kept {} (at least {} s)",
                percent(self.high_ratio),
                time(p99_s),
                self.high_p99_s
            ),
            Suitability::Medium => format!(
                "{once} (at least {}), and half of the regions are kept {} (at least {} s); for high it \
                 would be {} and {} s of the longest-kept hundredth, which is kept {}",
                percent(self.medium_ratio),
                time(p50_s),
                self.medium_p50_s,
                percent(self.high_ratio),
                self.high_p99_s,
                time(p99_s)
            ),
            Suitability::Low if ratio < self.medium_ratio => {
                format!("only {once} (less than {})", percent(self.medium_ratio))
            }
            Suitability::Low => format!(
                "{once}, but half of the regions are kept {} only (less than {} s)",
                time(p50_s),
                self.medium_p50_s
            ),
        }
    }
}
