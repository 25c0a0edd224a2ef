//! Suitability of managed-retention memory (MRM) for a kind of data: it suits data written once and kept long.

use crate::base::units::format_ratio;

/// Suitability class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suitability {
    High,
    Medium,
    Low,
}

impl Suitability {
    /// Name in the reference.
    pub fn name(self) -> &'static str {
        match self {
            Suitability::High => "high_mrm",
            Suitability::Medium => "medium_mrm",
            Suitability::Low => "low_mrm",
        }
    }

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Suitability::High => "high",
            Suitability::Medium => "medium",
            Suitability::Low => "low",
        }
    }
}

/// Lower bounds of the suitability classes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// For high: least mean write-once ratio, and least retention p99 in seconds.
    pub high_ratio: f64,
    pub high_p99_s: f64,
    /// For medium: least mean write-once ratio, and least median retention in seconds.
    pub medium_ratio: f64,
    pub medium_p50_s: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { high_ratio: 0.8, high_p99_s: 10.0, medium_ratio: 0.5, medium_p50_s: 1.0 }
    }
}

impl Thresholds {
    /// Text to follow "suitability thresholds are".
    pub fn told(&self) -> String {
        format!(
            "write-once ratio ≥ {} and p99 retention ≥ {} s for high, ≥ {} and p50 ≥ {} s for medium",
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

    /// Reason for the suitability class. Retention is of regions; those never read count as 0. Lifetimes of blocks of the
    /// key/value cache are another measure. `time` writes seconds as exactly as they are known.
    pub fn reason(
        &self,
        write_once_ratio: Option<f64>,
        p99_s: f64,
        p50_s: f64,
        time: &dyn Fn(f64) -> String,
    ) -> String {
        let Some(ratio) = write_once_ratio else {
            return "no stores, so the write-once ratio is unknown; mrm-trace counts it as 0".to_string();
        };
        let percent = format_ratio;
        // The mean over regions, each with its own share.
        let once = format!("on average, {} of a region's stored addresses were written once", percent(ratio));
        match self.judge(ratio, p99_s, p50_s) {
            Suitability::High => format!(
                "{once} (≥ {}) and p99 region retention is {} (≥ {} s)",
                percent(self.high_ratio),
                time(p99_s),
                self.high_p99_s
            ),
            Suitability::Medium => {
                let written =
                    (ratio < self.high_ratio).then(|| format!("≥ {} written once", percent(self.high_ratio)));
                let kept = (p99_s < self.high_p99_s)
                    .then(|| format!("p99 region retention ≥ {} s (here {})", self.high_p99_s, time(p99_s)));
                let lacks: Vec<String> = written.into_iter().chain(kept).collect();
                format!(
                    "{once} (≥ {}) and median region retention is {} (≥ {} s); high needs {}",
                    percent(self.medium_ratio),
                    time(p50_s),
                    self.medium_p50_s,
                    lacks.join(" and ")
                )
            }
            Suitability::Low if ratio < self.medium_ratio => {
                format!("{once} (< {})", percent(self.medium_ratio))
            }
            Suitability::Low => {
                format!(
                    "{once}, but median region retention is {} (< {} s), with regions never read as 0",
                    time(p50_s),
                    self.medium_p50_s
                )
            }
        }
    }
}
