//! Run validity: profiler overhead and system disturbances during a run.

/// A sample of a process.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProcessSample {
    /// Percent of one processor.
    pub cpu_pct: f64,
    /// MiB.
    pub rss_mb: f64,
    /// Bytes written since the process started.
    pub write_bytes: i64,
}

/// Profiler overhead.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ObserverEffect {
    /// Percent: the maximum, or p95 under later rules.
    pub cpu_overhead_pct_max: f64,
    pub cpu_overhead_pct_mean: f64,
    /// Percent: always the maximum.
    pub cpu_overhead_pct_abs_max: f64,
    /// MiB.
    pub memory_overhead_mb_peak: f64,
    pub target_rss_mb_peak: f64,
    /// Observer memory / target memory; 0 if the latter is unknown.
    pub memory_overhead_frac: f64,
    pub io_contention_detected: bool,
    pub thermal_throttle_events: i64,
    pub baseline_cpu_pct: f64,
    pub n_observer_samples: u64,
    pub n_target_samples: u64,
}

/// Bytes written by the observer that count as I/O contention.
const IO_BYTES: i64 = 10 << 20;

/// Rule set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum RuleSet {
    /// Rules of mrm-trace 0.1.0.
    #[default]
    Seed,
    /// Rules of later versions (0.1.23): a percentile instead of the maximum, temperature, baseline.
    Later,
}

/// Computes profiler overhead from samples of the observer and the target in time order.
pub fn observer_effect(
    observer: &[ProcessSample],
    target: &[ProcessSample],
    thermal_throttle_events: i64,
    baseline_cpu_pct: f64,
    rules: RuleSet,
) -> ObserverEffect {
    let peak = |values: &[ProcessSample], of: fn(&ProcessSample) -> f64| {
        values.iter().map(of).reduce(f64::max).unwrap_or(0.0)
    };
    let abs_max = peak(observer, |sample| sample.cpu_pct);
    let mean = match observer.len() {
        0 => 0.0,
        n => observer.iter().map(|sample| sample.cpu_pct).sum::<f64>() / n as f64,
    };
    let memory = peak(observer, |sample| sample.rss_mb);
    let target_rss = peak(target, |sample| sample.rss_mb);
    let written: i64 = observer
        .windows(2)
        .map(|pair| pair[1].write_bytes.saturating_sub(pair[0].write_bytes).max(0))
        .fold(0, i64::saturating_add);
    ObserverEffect {
        cpu_overhead_pct_max: match rules {
            RuleSet::Seed => abs_max,
            RuleSet::Later => percentile_95(observer),
        },
        cpu_overhead_pct_mean: mean,
        cpu_overhead_pct_abs_max: abs_max,
        memory_overhead_mb_peak: memory,
        target_rss_mb_peak: target_rss,
        memory_overhead_frac: if target_rss > 0.0 { memory / target_rss } else { 0.0 },
        io_contention_detected: written > IO_BYTES,
        thermal_throttle_events,
        baseline_cpu_pct,
        n_observer_samples: observer.len() as u64,
        n_target_samples: target.len() as u64,
    }
}

fn percentile_95(samples: &[ProcessSample]) -> f64 {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.cpu_pct).collect();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * 0.95) as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Thermal throttle events, from counts before and after; processors without a count before are
/// ignored.
pub fn thermal_events<'a>(
    before: impl Fn(&str) -> Option<i64>,
    after: impl IntoIterator<Item = (&'a str, i64)>,
) -> i64 {
    let events =
        after.into_iter().map(|(cpu, count)| count.saturating_sub(before(cpu).unwrap_or(count)).max(0));
    events.fold(0, i64::saturating_add)
}

/// Validity of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunValidity {
    Clean,
    Marginal,
    /// Kept, but excluded from aggregates.
    Contaminated,
}

impl RunValidity {
    pub fn name(self) -> &'static str {
        match self {
            RunValidity::Clean => "clean",
            RunValidity::Marginal => "marginal",
            RunValidity::Contaminated => "contaminated",
        }
    }

    pub fn of_name(name: &str) -> Option<RunValidity> {
        [RunValidity::Clean, RunValidity::Marginal, RunValidity::Contaminated]
            .into_iter()
            .find(|validity| validity.name() == name)
    }
}

/// Inputs of the run validity.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Conditions {
    /// CPU usage of the observer in percent of one processor.
    pub observer_cpu_pct: f64,
    /// Observer memory / target memory.
    pub observer_mem_frac: f64,
    pub thermal_throttle_events: i64,
    /// System CPU usage before the run, in percent.
    pub baseline_cpu_pct: f64,
    pub io_contention_detected: bool,
    /// Peak temperature, °C; only used by later rules.
    pub peak_temp_c: Option<f64>,
}

/// Judges a run; returns the reasons why it is not clean.
pub fn validity(conditions: &Conditions, rules: RuleSet) -> (RunValidity, Vec<String>) {
    let c = conditions;
    let mut reasons = Vec::new();
    if c.observer_cpu_pct >= 10.0 {
        reasons.push(format!("observer_cpu {:.1}% ≥ 10.0% (clean threshold)", c.observer_cpu_pct));
    }
    if c.observer_mem_frac >= 0.05 {
        reasons.push(format!("observer_mem_frac {:.3} ≥ 0.05 (clean threshold)", c.observer_mem_frac));
    }
    if c.thermal_throttle_events > 0 {
        reasons.push(format!("thermal_throttle_events {} > 0", c.thermal_throttle_events));
    }
    if c.baseline_cpu_pct >= 15.0 {
        reasons.push(format!("baseline_cpu {:.1}% ≥ 15.0%", c.baseline_cpu_pct));
    }
    if c.io_contention_detected {
        reasons.push("io_contention_detected=True".to_string());
    }
    let is_later = rules == RuleSet::Later;
    if is_later && let Some(temp) = c.peak_temp_c.filter(|temp| *temp > 85.0) {
        reasons.push(format!("peak_temp {temp:.1}°C > 85.0°C"));
    }
    if reasons.is_empty() {
        return (RunValidity::Clean, reasons);
    }
    let is_marginal = c.observer_cpu_pct < 20.0
        && c.observer_mem_frac < 0.15
        && c.thermal_throttle_events <= 2
        && !c.io_contention_detected
        && (!is_later || c.baseline_cpu_pct < 30.0 && c.peak_temp_c.is_none_or(|temp| temp <= 90.0));
    (if is_marginal { RunValidity::Marginal } else { RunValidity::Contaminated }, reasons)
}

/// A recorded summary; missing values are `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StoredSummary {
    pub observer_cpu_overhead_pct_max: Option<f64>,
    pub observer_cpu_overhead_pct_mean: Option<f64>,
    pub observer_memory_overhead_mb_peak: Option<f64>,
    pub observer_memory_overhead_frac: Option<f64>,
    pub thermal_throttle_events: Option<i64>,
    pub baseline_cpu_pct: Option<f64>,
    pub io_contention_detected: Option<bool>,
    pub peak_temp_c: Option<f64>,
}

impl StoredSummary {
    /// Inputs of the run validity; `target_rss_mb` is the target's peak in MiB if known from elsewhere, else 0.
    pub fn conditions(&self, target_rss_mb: f64, rules: RuleSet) -> Conditions {
        let mean = self.observer_cpu_overhead_pct_mean.filter(|_| rules == RuleSet::Later);
        Conditions {
            observer_cpu_pct: mean.or(self.observer_cpu_overhead_pct_max).unwrap_or(0.0),
            observer_mem_frac: if target_rss_mb > 0.0 {
                self.observer_memory_overhead_mb_peak.unwrap_or(0.0) / target_rss_mb
            } else {
                self.observer_memory_overhead_frac.unwrap_or(0.0)
            },
            thermal_throttle_events: self.thermal_throttle_events.unwrap_or(0),
            baseline_cpu_pct: self.baseline_cpu_pct.unwrap_or(0.0),
            io_contention_detected: self.io_contention_detected.unwrap_or(false),
            peak_temp_c: self.peak_temp_c,
        }
    }
}
