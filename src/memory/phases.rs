//! Phases of a run: which one a time is in.

use super::settings::{self, Problem};
use std::collections::BTreeSet;

/// One stretch of time, nanoseconds on the clock of the trace, its end not in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boundary {
    pub phase: String,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Stretches with gaps and overlaps allowed; of those that hold a time the first one counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phases {
    pub boundaries: Vec<Boundary>,
}

/// Something that an engine has noted: a phase begins or ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineEvent {
    /// `generation_start` and the like.
    pub event: String,
    /// Nanoseconds on one of the engine's clocks.
    pub ns: i64,
}

/// Which of an engine's clocks to go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineClock {
    /// Since the Unix epoch.
    Wall,
    /// Since some moment of the computer; perf's default clock mostly is this one.
    Monotonic,
}

/// Events by which phases begin and end, without `_start` and `_end`, and the phase.
const PHASE_EVENTS: [(&str, &str); 3] =
    [("model_load", "weight_load"), ("generation", "generation"), ("teardown", "teardown")];

impl Phases {
    /// From JSON: `[{"phase": …, "start_ns": …, "end_ns": …}]`. A list of events of an engine
    /// (`[{"event": "generation_start", "wall_ns": …, "mono_ns": …}]`) is taken by its monotonic clock, without an offset.
    pub fn parse(json: &str) -> Result<Phases, Problem> {
        let mut phases = Phases::default();
        let mut events = Vec::new();
        settings::for_each_object(json, |object| {
            if let Some(event) = object.text("event")? {
                let ns = object.integer("mono_ns")?.ok_or_else(|| Problem::new("an event has no mono_ns"))?;
                events.push(EngineEvent { event, ns });
                return Ok(());
            }
            let needed = |name: &str| {
                object.integer(name)?.ok_or_else(|| Problem::new(format!("a phase has no {name}")))
            };
            phases.boundaries.push(Boundary {
                phase: object.text("phase")?.ok_or_else(|| Problem::new("a stretch of time has no phase"))?,
                start_ns: needed("start_ns")?,
                end_ns: needed("end_ns")?,
            });
            Ok(())
        })?;
        phases.boundaries.extend(Phases::of_events(&events, 0).boundaries);
        Ok(phases)
    }

    /// From pairs of events, `offset_ns` being what has to be added to the engine's clock to get the trace's. A start without
    /// an end lasts until the end of time; an end without a start counts for nothing.
    pub fn of_events(events: &[EngineEvent], offset_ns: i64) -> Phases {
        let mut boundaries: Vec<Boundary> = Vec::new();
        let mut open: Vec<(&str, usize)> = Vec::new();
        for event in events {
            let ns = event.ns.saturating_add(offset_ns);
            let phase_of =
                |stem: &str| PHASE_EVENTS.iter().find(|(name, _)| *name == stem).map(|(_, phase)| *phase);
            if let Some(phase) = event.event.strip_suffix("_start").and_then(phase_of) {
                open.push((phase, boundaries.len()));
                boundaries.push(Boundary { phase: phase.to_string(), start_ns: ns, end_ns: i64::MAX });
            } else if let Some(phase) = event.event.strip_suffix("_end").and_then(phase_of)
                && let Some(at) = open.iter().rposition(|(opened, _)| *opened == phase)
            {
                let (_, at) = open.remove(at);
                if let Some(boundary) = boundaries.get_mut(at) {
                    boundary.end_ns = ns;
                }
            }
        }
        Phases { boundaries }
    }

    pub fn is_empty(&self) -> bool {
        self.boundaries.is_empty()
    }

    /// Number of the first stretch that holds `ts`.
    pub fn at(&self, ts: i64) -> Option<usize> {
        self.boundaries.iter().position(|phase| phase.start_ns <= ts && ts < phase.end_ns)
    }

    /// The same for many times.
    pub fn by_time(&self) -> PhasesByTime {
        let all = self.boundaries.iter().enumerate().filter(|(_, phase)| phase.start_ns < phase.end_ns);
        let edges = all.flat_map(|(at, phase)| [(phase.start_ns, at, true), (phase.end_ns, at, false)]);
        let mut edges: Vec<(i64, usize, bool)> = edges.collect();
        edges.sort_unstable();
        let mut open = BTreeSet::new();
        let mut from: Vec<(i64, Option<usize>)> = Vec::new();
        for (ns, at, is_start) in edges {
            if is_start {
                open.insert(at);
            } else {
                open.remove(&at);
            }
            let first = open.first().copied();
            match from.last_mut() {
                Some(last) if last.0 == ns => last.1 = first,
                _ => from.push((ns, first)),
            }
        }
        PhasesByTime { from }
    }

    pub fn name(&self, at: usize) -> Option<&str> {
        self.boundaries.get(at).map(|phase| phase.phase.as_str())
    }
}

/// Which stretch holds at which time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PhasesByTime {
    /// Times, ascending, and the number of the first stretch that holds from then on.
    from: Vec<(i64, Option<usize>)>,
}

impl PhasesByTime {
    /// Number of the first stretch that holds `ts`, and from when to when (its end not in it) this holds.
    pub fn at_and_until(&self, ts: i64) -> (Option<usize>, i64, i64) {
        let next = self.from.partition_point(|(from, _)| *from <= ts);
        let until = self.from.get(next).map_or(i64::MAX, |(from, _)| *from);
        match next.checked_sub(1).and_then(|at| self.from.get(at)) {
            Some((from, at)) => (*at, *from, until),
            None => (None, i64::MIN, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_time_and_many_give_the_same(
            edges in prop::collection::vec((-20i64..20, -20i64..20), 0..12),
            ts in -25i64..25,
        ) {
            let boundary = |(start_ns, end_ns)| Boundary { phase: String::new(), start_ns, end_ns };
            let phases = Phases { boundaries: edges.into_iter().map(boundary).collect() };
            let (at, from, until) = phases.by_time().at_and_until(ts);
            prop_assert_eq!(at, phases.at(ts));
            prop_assert!(from <= ts && ts < until);
            for ts in from.max(-30)..until.min(30) {
                prop_assert_eq!(at, phases.at(ts));
            }
        }
    }
}
