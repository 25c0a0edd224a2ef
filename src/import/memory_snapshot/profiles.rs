//! Stack profiles of a snapshot, by device: memory at the peak, at the end, never freed, and allocated in total; without events only
//! that at the end.

use crate::base::sort;
use crate::trace::Trace;
use crate::trace::memory_snapshot::{MemorySnapshot, Use};
use crate::trace::samples::StackId;
use crate::trace::stack_profiles::{self, StackProfile};

/// A weight: its name, its unit, and its amount.
type Weight = (&'static str, &'static str, fn(&Use) -> u64);

const WEIGHTS: [Weight; 8] = [
    ("memory at peak", "bytes", |it| it.at_peak.bytes),
    ("allocations at peak", "count", |it| it.at_peak.n),
    ("memory live at end", "bytes", |it| it.at_end().bytes),
    ("allocations live at end", "count", |it| it.at_end().n),
    ("memory never freed", "bytes", |it| it.never_freed.bytes),
    ("allocations never freed", "count", |it| it.never_freed.n),
    ("memory allocated", "bytes", |it| it.allocated.bytes),
    ("allocations", "count", |it| it.allocated.n),
];

/// The weights of a snapshot without events.
const AT_END: std::ops::Range<usize> = 2..4;

/// Adds the profiles to a trace.
pub fn add_profiles(snapshot: &MemorySnapshot, trace: &mut Trace) {
    // The first one wins ties.
    let devices = snapshot.devices.iter().enumerate();
    let fullest = devices.max_by_key(|(number, device)| (device.peak.bytes, std::cmp::Reverse(*number)));
    let fullest = fullest.map(|(number, _)| number);
    let weights = if snapshot.has_events() { &WEIGHTS[..] } else { &WEIGHTS[AT_END] };
    for (at, (name, unit, amount)) in weights.iter().enumerate() {
        for (number, device) in snapshot.devices.iter().enumerate() {
            let mut profile = StackProfile::new(trace.strings.intern(unit));
            profile.measure = trace.strings.intern(name);
            profile.is_default = at == 0 && Some(number) == fullest;
            profile.thread = trace.strings.intern(&format!("GPU {number}"));
            let mut uses: Vec<(StackId, u64)> = device
                .uses
                .iter()
                .map(|it| (it.stack, amount(it)))
                .filter(|(_, amount)| *amount > 0)
                .collect();
            sort::by_key(&mut uses, |(stack, _)| stack.0);
            for of_stack in uses.chunk_by(|a, b| a.0 == b.0) {
                let sum = of_stack.iter().fold(0u64, |sum, (_, amount)| sum.saturating_add(*amount));
                profile.push(of_stack[0].0, stack_profiles::Amount::whole(sum));
            }
            if !profile.is_empty() {
                trace.stack_profiles.push(profile);
            }
        }
    }
}
