//! Parts of stack profiles: the samples in a time range, and the outer frames of stacks.

use crate::trace::Trace;
use crate::trace::samples::{StackId, StackTable};
use crate::trace::stack_profiles::{Amount, Amounts, StackProfile};

/// The profiles of a trace that have no times, so no range of time is a part of them.
pub fn n_without_times(trace: &Trace) -> usize {
    let of_stacks = trace
        .stack_profiles
        .iter()
        .filter(|profile| !profile.is_empty() && profile.time_exponent(&trace.strings).is_none());
    of_stacks.count() + trace.profiles.len()
}

/// Times of the first and the last sample of all profiles, in nanoseconds. Samples that last as long as they weigh count with their
/// ends.
pub fn span(trace: &Trace) -> Option<(i64, i64)> {
    let join = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
    let of_profile = |profile: &StackProfile| {
        let exponent = profile.time_exponent(&trace.strings)?;
        let is_lasting = profile.unit == profile.time_unit;
        let of_row = |row| {
            let start = profile.nanoseconds_of(row, exponent)?;
            let end = || profile.time_of(row)?.plus(profile.weight.get(row)?).nanoseconds(exponent);
            Some((start, if is_lasting { end().unwrap_or(start).max(start) } else { start }))
        };
        (0..profile.len()).filter_map(of_row).reduce(join)
    };
    trace.stack_profiles.iter().filter_map(of_profile).reduce(join)
}

/// The samples of a profile in a range of nanoseconds; `None` if it has no times. The weight of one that lasts as long as it weighs is
/// its time in the range.
pub fn within(trace: &Trace, profile: &StackProfile, range: (i64, i64)) -> Option<StackProfile> {
    let exponent = profile.time_exponent(&trace.strings)?;
    // On the clock of the profile.
    let on_own = |ns: i64| Amount::of_nanoseconds(ns, exponent).minus(profile.offset);
    let (from, to) = (on_own(range.0), on_own(range.1));
    let is_lasting = profile.unit == profile.time_unit;
    let mut part = StackProfile {
        stack: Vec::new(),
        weight: Amounts::default(),
        time: Amounts::default(),
        span: profile.span.map(|(start, end)| (start.max(from).min(to), end.min(to).max(from))),
        ..profile.clone()
    };
    for (row, stack) in profile.stack.iter().enumerate() {
        let (Some(time), Some(weight)) = (profile.time.get(row), profile.weight.get(row)) else { continue };
        if !is_lasting || weight <= Amount::ZERO {
            if from <= time && time <= to {
                part.push_at(*stack, weight, Some(time));
            }
            continue;
        }
        let start = time.max(from);
        let weight = time.plus(weight).min(to).minus(start);
        if weight > Amount::ZERO {
            part.push_at(*stack, weight, Some(start));
        }
    }
    Some(part)
}

/// Stacks without their inner frames.
pub struct Outer(Vec<StackId>);

impl Outer {
    /// At most `most` frames of each stack.
    pub fn new(stacks: &StackTable, most: u32) -> Outer {
        let n = stacks.parent.len();
        let mut depths: Vec<u32> = Vec::with_capacity(n);
        let mut outer: Vec<StackId> = Vec::with_capacity(n);
        // Callers come before what they call.
        for (number, parent) in (0..).zip(&stacks.parent) {
            let parent = parent.0 as usize;
            let depth = depths.get(parent).map_or(1, |depth| depth + 1);
            let of_parent = outer.get(parent).copied();
            depths.push(depth);
            outer.push(if depth <= most { StackId(number) } else { of_parent.unwrap_or(StackId::NONE) });
        }
        Outer(outer)
    }

    /// The outer frames of a stack.
    pub fn of(&self, stack: StackId) -> StackId {
        self.0.get(stack.0 as usize).copied().unwrap_or(stack)
    }
}
