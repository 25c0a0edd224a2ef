//! Stack profiles of a capture: memory at the peak, memory that was not freed by the end, and temporary allocations.
//!
//! Each has two weights, bytes and allocations, and a profile for each thread. They are the tables of `memray table`,
//! `memray table --leaks` and `memray table --temporary-allocations`, by stack.

use super::decode::{Decoder, NO_STACK, NodeId};
use super::live::{Amount, PlaceAmounts};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::samples::{Frame, FrameId, NO_LINE, StackId};
use crate::trace::stack_profiles::{self, StackProfile};

/// A weight: its name, its unit, and its amount in a place.
type Weight = (&'static str, &'static str, fn(&PlaceAmounts) -> u64);

const WEIGHTS: [Weight; 6] = [
    ("peak memory", "bytes", |it| it.at_peak.bytes),
    ("peak allocations", "count", |it| it.at_peak.n),
    ("leaked memory", "bytes", |it| it.now.bytes),
    ("leaked allocations", "count", |it| it.now.n),
    ("temporary memory", "bytes", |it| it.temporary.bytes),
    ("temporary allocations", "count", |it| it.temporary.n),
];

/// Adds the profiles to a trace. `threads` have numbers and names; places beyond are those of other threads.
pub fn add_profiles(
    decoder: &Decoder,
    places: &[PlaceAmounts],
    threads: &[(u64, Option<StringId>)],
    trace: &mut Trace,
) {
    let mut places: Vec<&PlaceAmounts> = places.iter().collect();
    sort::by_key(&mut places, |it| it.place);
    let has_any =
        |it: &&&PlaceAmounts| [it.at_peak, it.now, it.temporary].iter().any(|it| *it != Amount::default());
    let stack_of_node = add_stacks(decoder, places.iter().filter(has_any).map(|it| it.place.node), trace);
    for (name, unit, amount) in WEIGHTS {
        for of_thread in places.chunk_by(|a, b| a.place.thread == b.place.thread) {
            let mut profile = StackProfile::new(trace.strings.intern(unit));
            profile.measure = trace.strings.intern(name);
            profile.is_default = name == WEIGHTS[0].0;
            match threads.get(of_thread[0].place.thread as usize) {
                Some((tid, name)) => {
                    profile.thread_id = trace.strings.intern(&tid.to_string());
                    profile.thread = name.unwrap_or(StringId::NONE);
                }
                None => profile.thread = trace.strings.intern("other threads"),
            }
            for of_stack in of_thread.chunk_by(|a, b| a.place.node == b.place.node) {
                let sum = of_stack.iter().fold(0u64, |sum, it| sum.saturating_add(amount(it)));
                if sum > 0 {
                    let node = of_stack[0].place.node;
                    let stack = stack_of_node.get(node as usize).copied().unwrap_or(StackId::NONE);
                    profile.push(stack, stack_profiles::Amount::whole(sum));
                }
            }
            if !profile.is_empty() {
                trace.stack_profiles.push(profile);
            }
        }
    }
}

/// Adds the stacks of some nodes; the stack of each node of the tree.
fn add_stacks(decoder: &Decoder, used: impl Iterator<Item = NodeId>, trace: &mut Trace) -> Vec<StackId> {
    let tree = decoder.tree();
    let mut is_used = vec![false; tree.len()];
    for node in used {
        let mut at = node;
        while at != NO_STACK && !std::mem::replace(&mut is_used[at as usize], true) {
            at = tree.parent(at);
        }
    }
    let mut frames = crate::base::hash::HashMap::default();
    let unknown = trace.strings.intern("<unknown>");
    let mut stacks = vec![StackId::NONE; tree.len()];
    for node in (0..tree.len() as NodeId).filter(|node| is_used[*node as usize]) {
        let frame = match decoder.frame(node) {
            Some(it) => {
                Frame { file: it.file, line: it.line.unwrap_or(NO_LINE), ..Frame::named(it.function) }
            }
            None => Frame::named(unknown),
        };
        let frame: FrameId = *frames.entry(frame).or_insert_with(|| trace.frames.push(frame));
        let parent = match tree.parent(node) {
            NO_STACK => StackId::NONE,
            parent => stacks[parent as usize],
        };
        stacks[node as usize] = StackId(trace.stacks.len() as u32);
        trace.stacks.frame.push(frame);
        trace.stacks.parent.push(parent);
    }
    stacks
}
