//! Time ranges of the phases of a trace.

use super::view::{LabelledTrace, PhaseOf};
use crate::trace::accesses::{Optional, Wanted};
use std::collections::BTreeMap;

/// A time range in one phase, nanoseconds on the trace clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseSpan {
    pub phase: String,
    pub first: i64,
    pub last: i64,
}

/// Phase ranges within the trace, at most `max`: if accesses have their own phases, from the first to the
/// last access of each run of equal phases in file order, else the given ones. With more, each phase is merged into one range.
pub fn phase_spans(view: &LabelledTrace<'_>, max: usize) -> Vec<PhaseSpan> {
    if has_own(view) { own(view, max) } else { given(view, max) }
}

fn given(view: &LabelledTrace<'_>, max: usize) -> Vec<PhaseSpan> {
    let Some((first, last)) = view.trace.accesses.span() else { return Vec::new() };
    let is_seen = |start: i64, end: i64| start < end && start <= last && first < end;
    let given = view.phases.boundaries.iter().filter(|phase| is_seen(phase.start_ns, phase.end_ns));
    let span = |phase: &super::phases::Boundary| PhaseSpan {
        phase: phase.phase.clone(),
        first: phase.start_ns.max(first),
        last: phase.end_ns.min(last),
    };
    given.map(span).take(max).collect()
}

/// Whether some access has its own phase.
fn has_own(view: &LabelledTrace<'_>) -> bool {
    let mut blocks = view.trace.accesses.blocks(Wanted::PRESENCE);
    while let Some(rows) = blocks.next_rows() {
        if rows.has_any(Optional::Phase) {
            return true;
        }
    }
    false
}

fn own(view: &LabelledTrace<'_>, max: usize) -> Vec<PhaseSpan> {
    let trace = view.trace;
    let mut phase_of = PhaseOf::new(&view.phases);
    let mut open: Option<(&str, i64, i64)> = None;
    let mut spans: Vec<(&str, i64, i64)> = Vec::new();
    let mut wholes: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    let mut blocks = trace.accesses.blocks(Wanted::with(&[Optional::Phase]));
    while let Some(rows) = blocks.next_rows() {
        for row in (0..rows.len()).map(|at| rows.access(at)) {
            let phase = phase_of.get(&row, &trace.strings);
            if let Some((name, first, last)) = &mut open
                && phase == Some(*name)
            {
                (*first, *last) = ((*first).min(row.ts), (*last).max(row.ts));
                continue;
            }
            spans.extend(open.take());
            open = phase.map(|name| (name, row.ts, row.ts));
        }
        if spans.len() > max {
            join(&mut spans, &mut wholes);
        }
    }
    spans.extend(open);
    if spans.len() > max || !wholes.is_empty() {
        join(&mut spans, &mut wholes);
        spans.extend(wholes.into_iter().map(|(name, (first, last))| (name, first, last)));
    }
    spans.truncate(max);
    let span = |(phase, first, last): (&str, i64, i64)| PhaseSpan { phase: phase.to_string(), first, last };
    spans.into_iter().map(span).collect()
}

/// Merges all ranges with the same name.
fn join<'a>(spans: &mut Vec<(&'a str, i64, i64)>, wholes: &mut BTreeMap<&'a str, (i64, i64)>) {
    for (name, first, last) in spans.drain(..) {
        let whole = wholes.entry(name).or_insert((first, last));
        *whole = (whole.0.min(first), whole.1.max(last));
    }
}
