//! Steps in which work was launched: what numbers "per step" are divided by.

use super::annotation::Phase;
use super::model::GpuTrace;

/// Phases that say what was done, in the order in which they are shown.
pub const PHASES: [Phase; 4] = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Idle];

/// How many steps did something, in all and of each phase.
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

    /// All of them; `None` where there are none.
    pub fn n(&self) -> Option<u64> {
        Some(self.has_work.iter().filter(|has| **has).count() as u64).filter(|n| *n > 0)
    }

    /// Those of a phase.
    pub fn of_phase(&self, phase: Phase) -> u64 {
        self.by_phase.iter().find(|(known, _)| *known == phase).map_or(0, |(_, n)| *n)
    }
}

/// A time by a number of steps, in whole nanoseconds; `None` by none.
pub fn per_step(total: i64, n: u64) -> Option<i64> {
    total.checked_div(i64::try_from(n).ok()?)
}
