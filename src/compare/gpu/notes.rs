//! Notes and warnings on the reliability of the comparison.

use super::side::{GpuSide, Slot};
use super::{Pair, steps_words, words};
use crate::analysis::gpu::Lack;
use crate::analysis::gpu::stats::{SumNs, share};
use crate::analysis::gpu_ranks::listed;
use crate::base::units::{counted, format_ns, group_digits};
use crate::report::Report;

/// Share of unclassified kernels above which a warning is added.
const MANY_UNKNOWN: f64 = 0.2;
/// Relative difference in tokens of median steps above which a warning is added.
const UNLIKE_TOKENS: f64 = 0.1;

/// Adds notes and warnings.
pub fn add(pair: &Pair<'_>, report: &mut Report) {
    if let Some([a, b]) = different_gpus(pair) {
        report.warning(format!(
            "A and B ran on different GPUs: {a} in A, {b} in B. Differences are due to hardware as well as software."
        ));
    }
    if let Some([a, b]) = different_ranks(pair) {
        report.warning(format!(
            "A has {a}, B has {b}. Ranks may differ in load, which can cause differences: compare the same ranks."
        ));
    }
    for (number, letter) in ["A", "B"].into_iter().enumerate() {
        // Without any kernel, only that is said, below.
        let missing = missing(pair.side(number)).filter(|_| !pair.side(number).sums.is_empty());
        if let Some(missing) = missing {
            let left_out = match pair.side(number).n_left_out_steps {
                0 => String::new(),
                n => {
                    let phases = &pair.side(number).left_out_slots;
                    let phases: Vec<String> = phases.iter().map(|slot| format!("{}s", slot.one())).collect();
                    let all = match phases[..] {
                        [] => String::new(),
                        _ => format!(", including all {}", phases.join(" and ")),
                    };
                    format!(" {} left out{all}.", counted(n, "affected step is", "affected steps are"))
                }
            };
            let consequence = match (pair.side(number).is_busy_only, pair.side(number).n_left_out_steps) {
                (true, _) => {
                    " Only busy time is compared: idle time and step time are unknown, and totals are lower bounds."
                }
                (false, 0) => {
                    " None of these ran in a gap between recorded kernels: all times end with the last recorded kernel."
                }
                (false, _) => "",
            };
            report.warning(format!("{letter} is incomplete: {missing}.{left_out}{consequence}"));
        }
    }
    for slot in pair.slots.iter().filter(|slot| pair.endless.contains(slot)) {
        report.warning(format!(
            "{}, so durations and idle time are unknown. Only busy time per {} is compared.",
            words::no_end(pair, *slot),
            slot.one()
        ));
    }
    let unlinked = match [0, 1].map(|number| pair.side(number).has_unlinked_steps) {
        [true, true] => Some("No kernel is linked to a step in A and B"),
        [true, false] => Some("No kernel is linked to a step in A"),
        [false, true] => Some("No kernel is linked to a step in B"),
        [false, false] => None,
    };
    if pair.is_made_whole {
        report.warning(format!(
            "{}, so whole traces are compared, and kernels of steps are not aligned. If A and B contain different numbers of \
             steps, that adds to the differences.",
            unlinked.unwrap_or("A and B have no kind of step in common")
        ));
    } else if pair.main() == Some(Slot::Whole) {
        report.info(match unlinked {
            Some(why) => format!("{why}, so whole traces are compared, per GPU."),
            None => "No steps in these traces, so whole traces are compared, per GPU. Annotations such as ProfilerStep#3 or \
                     execute_context_… mark steps."
                .to_string(),
        });
    }
    phases_of_one_side(pair, report);
    if let Some(slot) = pair.main() {
        let n = [pair.n(0, slot), pair.n(1, slot)];
        if n[0] != n[1] {
            let what = match slot {
                Slot::Whole => "samples (one per GPU)".to_string(),
                slot => format!("{}s", slot.one()),
            };
            report.info(format!(
                "Different number of {what}: {} in A, {} in B. Compare numbers {}, not totals.",
                n[0],
                n[1],
                if slot == Slot::Whole { "per GPU" } else { "per step" }
            ));
        }
        tokens(pair, slot, report);
    }
    if pair.side(0).n_devices != pair.side(1).n_devices {
        report.info(format!(
            "{} in A, {} in B; numbers per step are per GPU.",
            counted(pair.side(0).n_devices.into(), "GPU", "GPUs"),
            pair.side(1).n_devices
        ));
    }
    for (number, letter) in ["A", "B"].into_iter().enumerate() {
        let side = pair.side(number);
        if side.sums.is_empty() {
            let why = missing(side)
                .unwrap_or_else(|| "it was recorded without GPU activities, or its GPU was idle".to_string());
            report.warning(format!("No kernels in {letter}: {why}."));
            continue;
        }
        unknown(side, letter, report);
    }
    frames(pair, report);
}

/// GPU models of both sides, if they are known to differ.
fn different_gpus<'a>(pair: &'a Pair<'_>) -> Option<[&'a str; 2]> {
    let sides = [pair.side(0), pair.side(1)];
    // Without a model, only the vendor is known.
    let is_known = sides.iter().all(|side| side.has_models) || sides[0].is_amd != sides[1].is_amd;
    let is_used = sides.iter().all(|side| !side.sums.is_empty());
    (is_used && is_known && sides[0].gpus != sides[1].gpus).then(|| sides.map(|side| side.gpus.as_str()))
}

/// Ranks of both sides as text, if several are known to be compared with other ones of a run of that size.
fn different_ranks(pair: &Pair<'_>) -> Option<[String; 2]> {
    let sides = [&pair.side(0).ranks, &pair.side(1).ranks];
    let is_several = sides.iter().any(|ranks| ranks.len() > 1) && sides.iter().all(|ranks| !ranks.is_empty());
    let world = |side: usize| sides[side].iter().find_map(|(_, world)| *world);
    if !is_several || sides[0] == sides[1] || world(0) != world(1) {
        return None;
    }
    Some(sides.map(|ranks| {
        let numbers: Vec<i64> = ranks.iter().map(|(rank, _)| *rank).collect();
        let n = numbers.len() as u64;
        format!("{} {}", if n == 1 { "rank" } else { "ranks" }, listed(&numbers, n))
    }))
}

/// `20 of 40 kernel and graph launches have no timed device record`, or how many kernels have no end; `None` if nothing is missing.
pub fn missing(side: &GpuSide) -> Option<String> {
    match (side.n_missing, side.n_unfinished) {
        (0, 0) => None,
        (0, n) => Some(format!("{} no end", counted(n, "kernel or copy has", "kernels and copies have"))),
        (n, _) => Some(format!(
            "{} of {} kernel and graph launches have no timed device record",
            group_digits(i128::from(n)),
            group_digits(i128::from(side.n_launches))
        )),
    }
}

/// Names phases that only A or only B has: nothing else says that a part of its time has no counterpart.
fn phases_of_one_side(pair: &Pair<'_>, report: &mut Report) {
    for slot in pair.slots.iter().filter(|slot| !matches!(slot, Slot::Outside | Slot::Whole)) {
        let (number, letter) = match [0, 1].map(|number| pair.n(number, *slot) > 0) {
            [true, false] => (0, "A"),
            [false, true] => (1, "B"),
            _ => continue,
        };
        // A side without kernels is said to have none, and its steps that lack records to be left out.
        let other = pair.side(1 - number);
        if other.sums.is_empty() || other.left_out_slots.contains(slot) {
            continue;
        }
        report.warning(format!(
            "Only {letter} has {}s ({}, {}), so they are not compared.",
            slot.one(),
            steps_words(pair.n(number, *slot)),
            format_ns(pair.sum(number, *slot, |stretch| stretch.time.wall()))
        ));
    }
}

/// Warns if steps of A and B have different numbers of tokens.
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
            "Steps have different loads: the median {} has {a} tokens in A, {b} in B. Compare time per token, or steps with equal \
             tokens.",
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
            "{:.0}% of kernel time in {letter} is unclassified (operation Other).",
            100.0 * share
        ));
    }
    let n: u64 = side.sums.iter().map(|sum| sum.count).sum();
    if side.n_unlinked > 0 {
        report.info(format!(
            "{letter}: no recorded launch for {} of {} kernels, copies and fills, so operators, frames and steps may be unknown.",
            group_digits(i128::from(side.n_unlinked)),
            group_digits(i128::from(n))
        ));
    }
}

/// Says which sides have no Python frames, and how to record them.
fn frames(pair: &Pair<'_>, report: &mut Report) {
    let lacks = |number: usize| !pair.side(number).sums.is_empty() && !pair.side(number).has_frames;
    let advice = |number: usize| pair.tools[number].advice(Lack::Frames);
    let mut say = |sides: &str, number| {
        report.info(format!("No Python frames around launches in {sides}.{}", advice(number)));
    };
    match [0, 1].map(lacks) {
        [true, true] if advice(0) == advice(1) => say("A and B", 0),
        [a, b] => {
            if a {
                say("A", 0);
            }
            if b {
                say("B", 1);
            }
        }
    }
}
