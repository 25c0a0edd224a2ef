//! Steps with launches: the divisor of numbers "per step".

use super::annotation::Phase;
use super::model::GpuTrace;

/// Known phases, in display order.
pub const PHASES: [Phase; 4] = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Idle];

/// Number of steps with GPU activity, in total and by phase.
pub struct ActiveSteps {
    has_work: Vec<bool>,
    by_phase: Vec<(Phase, u64)>,
}

impl ActiveSteps {
    pub fn new(gpu: &GpuTrace<'_>) -> ActiveSteps {
        let mut has_work = vec![false; gpu.steps.len()];
        for work in &gpu.work {
            if let Some(has_work) = has_work.get_mut(work.step as usize) {
                *has_work = true;
            }
        }
        let mut by_phase: Vec<(Phase, u64)> = Vec::new();
        for (step, _) in gpu.steps.steps.iter().zip(&has_work).filter(|(_, has_work)| **has_work) {
            match by_phase.iter_mut().find(|(phase, _)| *phase == step.what.phase) {
                Some((_, n)) => *n += 1,
                None => by_phase.push((step.what.phase, 1)),
            }
        }
        ActiveSteps { has_work, by_phase }
    }

    /// Total number; `None` if 0.
    pub fn n(&self) -> Option<u64> {
        Some(self.has_work.iter().filter(|has| **has).count() as u64).filter(|n| *n > 0)
    }

    /// Number in a phase.
    pub fn of_phase(&self, phase: Phase) -> u64 {
        self.by_phase.iter().find(|(known, _)| *known == phase).map_or(0, |(_, n)| *n)
    }
}

/// `total / n`, rounded to the nearest nanosecond (half away from zero); `None` if `n` is 0.
pub fn per_step(total: i64, n: u64) -> Option<i64> {
    let n = i64::try_from(n).ok()?;
    total.saturating_add(total.signum() * (n / 2)).checked_div(n)
}
