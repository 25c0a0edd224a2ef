//! What to know before believing the numbers.

use super::Pair;
use super::side::{GpuSide, Slot};
use crate::analysis::gpu::stats::{SumNs, share};
use crate::base::units::{counted, group_digits};
use crate::compare::noise::MIN_STEPS;
use crate::report::Report;

/// Shares above which a note is made.
const MANY_UNKNOWN: f64 = 0.2;
/// Tokens of median steps that differ by more than this make steps unlike.
const UNLIKE_TOKENS: f64 = 0.1;

/// Adds notes and warnings.
pub fn add(pair: &Pair<'_>, report: &mut Report) {
    for (number, letter) in ["A", "B"].into_iter().enumerate() {
        if let Some(missing) = missing(pair.side(number)) {
            let left_out = match pair.side(number).n_left_out_steps {
                0 => String::new(),
                n => format!(" {} that these touch are left out.", counted(n, "step", "steps")),
            };
            let consequence = match pair.side(number).is_busy_only {
                true => {
                    " Only time in which recorded work ran is compared: idle time and step time are unknown, and totals are lower bounds."
                }
                false => "",
            };
            report.warning(format!("{letter} is incomplete: {missing}.{left_out}{consequence}"));
        }
    }
    if pair.is_made_whole {
        report.warning(
            "The sides mark no steps of one kind, so whole recordings are compared: if they hold different numbers of steps, differences \
             are of that too.",
        );
    } else if pair.main() == Some(Slot::Whole) {
        report.info(
            "No steps are marked, so whole recordings are compared, each GPU as one; totals are not divided by anything else. Ranges such \
             as ProfilerStep#3 or execute_context_… mark steps.",
        );
    }
    if let Some(slot) = pair.main() {
        let n = [pair.n(0, slot), pair.n(1, slot)];
        if n.iter().any(|n| *n < MIN_STEPS) {
            report.info(format!(
                "Too few steps to tell differences from noise: {} in A, {} in B, at least {MIN_STEPS} are needed on each side.",
                n[0], n[1]
            ));
        }
        if n[0] != n[1] {
            report.info(format!(
                "A has {} and B {} of the kind {}; numbers per step are comparable, totals are not.",
                n[0],
                n[1],
                slot.one()
            ));
        }
        tokens(pair, slot, report);
    }
    if pair.side(0).n_devices != pair.side(1).n_devices {
        report.info(format!(
            "{} at work in A, {} in B; numbers per step are for one GPU.",
            counted(pair.side(0).n_devices.into(), "GPU is", "GPUs are"),
            pair.side(1).n_devices
        ));
    }
    for (number, letter) in ["A", "B"].into_iter().enumerate() {
        let side = pair.side(number);
        if side.sums.is_empty() {
            report.warning(format!(
                "{letter} holds no kernels: it was recorded without GPU activities, or its GPU did nothing."
            ));
            continue;
        }
        unknown(side, letter, report);
    }
}

/// `20 of 40 kernel and graph launches have no timed device record`; `None` if all have one.
pub fn missing(side: &GpuSide) -> Option<String> {
    (side.n_missing > 0).then(|| {
        format!(
            "{} of {} kernel and graph launches have no timed device record",
            group_digits(i128::from(side.n_missing)),
            group_digits(i128::from(side.n_launches))
        )
    })
}

/// Steps that are not alike.
fn tokens(pair: &Pair<'_>, slot: Slot, report: &mut Report) {
    let median = |side: usize| -> Option<u64> {
        let mut tokens: Vec<u64> =
            pair.side(side).of_slot(slot).filter_map(|stretch| stretch.tokens).collect();
        tokens.sort_unstable();
        tokens.get(tokens.len() / 2).copied()
    };
    if let (Some(a), Some(b)) = (median(0), median(1))
        && a.abs_diff(b) as f64 > UNLIKE_TOKENS * a.max(b) as f64
    {
        report.warning(format!(
            "Steps do not do the same amount of work: the median {} has {a} tokens in A and {b} in B. Compare times per token, or steps \
             with equal tokens.",
            slot.one()
        ));
    }
}

fn unknown(side: &GpuSide, letter: &str, report: &mut Report) {
    let total: i64 = side.sums.iter().map(|sum| sum.total).sum_ns();
    let is_unknown = |name: u32| side.names.get(name as usize).is_some_and(|name| name.is_unknown);
    let unknown: i64 = side.sums.iter().filter(|sum| is_unknown(sum.name)).map(|sum| sum.total).sum_ns();
    if let Some(share) = share(unknown, total).filter(|share| *share > MANY_UNKNOWN) {
        report.warning(format!(
            "{:.0} % of the work of {letter} is in kernels that no rule knows; they are in the operation Other.",
            100.0 * share
        ));
    }
    let n: u64 = side.sums.iter().map(|sum| sum.count).sum();
    if side.n_unlinked > 0 {
        report.info(format!(
            "{letter}: {} of {n} kernels, copies and fills are linked to no call, so their operators, frames and steps may be unknown.",
            side.n_unlinked
        ));
    }
    if !side.has_frames {
        report.info(format!(
            "{letter} has no Python frames around launches: profile with with_stack=True to see them."
        ));
    }
}
