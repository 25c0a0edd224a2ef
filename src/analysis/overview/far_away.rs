//! Few events far away from all others: their clock was wrong, or they belong to another recording.
//!
//! ```text
//! [main: 2.3 s]                    14 years                  |x|
//! ```
//! One of them makes the trace as long as the way to it: shares of the span, idle time and slices without an end, which are drawn
//! to the end of the trace, all count up to it.

use crate::base::units::{format_ns, group_digits};
use crate::trace::Trace;
use crate::trace::slices::UNFINISHED;

const SECOND_NS: i64 = 1_000_000_000;
/// Nothing happens for at least so long before those that are far away.
const MIN_GAP_NS: i64 = 3600 * SECOND_NS;
/// The way to them is at least so many times as long as all others take.
const MIN_TIMES: i64 = 10;
/// Events that may be far away, if they are not one in a hundred.
const FEW: u64 = 3;
/// Stretches told apart; a trace that falls into more is one of pauses.
const MAX_STRETCHES: usize = 64;

/// Events without a long pause between them.
#[derive(Clone, Copy)]
struct Stretch {
    start: i64,
    end: i64,
    n: u64,
    /// The first slice in it.
    slice: Option<usize>,
}

/// What lies far away from nearly everything in a trace.
pub struct FarAway {
    pub n: u64,
    /// Nanoseconds from the others to the nearest of them, and whether they come after the others.
    pub gap_ns: i64,
    pub is_after: bool,
    /// The first slice among them.
    pub slice: Option<usize>,
    /// First and last nanosecond of the others, from the start of the trace.
    pub others: (i64, i64),
}

impl FarAway {
    /// `None` if there is nothing far away, which takes no look at single events in a trace of less than an hour.
    pub fn of(trace: &Trace) -> Option<FarAway> {
        let (start, end) = trace.span()?;
        if trace.folded.is_some() || end.saturating_sub(start) < MIN_GAP_NS {
            return None;
        }
        let stretches = stretches(trace)?;
        let main = stretches.iter().max_by_key(|stretch| stretch.n)?;
        let n = stretches.iter().map(|stretch| stretch.n).sum::<u64>() - main.n;
        let is_few = n > 0 && n < main.n && (n <= FEW || n <= main.n / 100);
        let length = main.end.saturating_sub(main.start);
        let outside = end.saturating_sub(start).saturating_sub(length);
        if !is_few || outside / MIN_TIMES < length {
            return None;
        }
        let others = stretches.iter().filter(|stretch| stretch.start != main.start);
        let gap = |stretch: &Stretch| match stretch.start > main.start {
            true => stretch.start.saturating_sub(main.end),
            false => main.start.saturating_sub(stretch.end),
        };
        let farthest = others.max_by_key(|stretch| gap(stretch))?;
        Some(FarAway {
            n,
            gap_ns: gap(farthest),
            is_after: farthest.start > main.start,
            slice: farthest.slice,
            others: (main.start.saturating_sub(start), main.end.saturating_sub(start)),
        })
    }

    /// What to hold to be without them: first and last nanosecond from the start of the trace. Whole milliseconds, as that is
    /// what people choose; one more before, as the command reads them as doubles.
    pub fn stretch_without(&self) -> (i64, i64) {
        let (from, to) = self.others;
        let (from, to) = ((from / 1_000_000 - i64::from(from > 0)).max(0), to.div_euclid(1_000_000) + 1);
        (from * 1_000_000, to * 1_000_000)
    }

    /// For a note in a report.
    pub fn words(&self, trace: &Trace) -> String {
        let slices = &trace.slices;
        let name = self.slice.and_then(|slice| trace.strings.get_opt(slices.name[slice]));
        let (what, verb) = match self.n {
            1 => ("event".to_string(), "lies"),
            _ => ("events".to_string(), "lie"),
        };
        let side = if self.is_after { "after" } else { "before" };
        let (from, to) = self.stretch_without();
        let (from, to) = (from / 1_000_000, to / 1_000_000);
        let named = match (name, self.n) {
            (Some(name), 1) => format!(" (\u{201c}{}\u{201d})", crate::base::text::visible(name)),
            (Some(name), _) => format!(" (\u{201c}{}\u{201d} among them)", crate::base::text::visible(name)),
            (None, _) => String::new(),
        };
        format!(
            "{} {what}{named} {verb} {} {side} all others, which take {}. Span, shares of it and slices without an end count up \
             to there. To leave them out: `--only {from}ms..{to}ms`, or \u{201c}Report on a time range\u{201d} on the page.",
            group_digits(i128::from(self.n)),
            long_time(self.gap_ns),
            format_ns(self.others.1.saturating_sub(self.others.0)),
        )
    }
}

/// A time of an hour or more in words: `14.2 years`, `3.5 days`, `7.0 hours`.
fn long_time(ns: i64) -> String {
    let hours = ns as f64 / (3600.0 * SECOND_NS as f64);
    match hours {
        hours if hours >= 24.0 * 365.25 => format!("{:.1} years", hours / (24.0 * 365.25)),
        hours if hours >= 48.0 => format!("{:.1} days", hours / 24.0),
        _ => format!("{hours:.1} hours"),
    }
}

/// Everything that has a time, parted where nothing happens for long; `None` if that is too often.
fn stretches(trace: &Trace) -> Option<Vec<Stretch>> {
    let slices = &trace.slices;
    let points = [&trace.counters.ts, &trace.samples.ts, &trace.objects.ts];
    let mut at_slice = 0;
    let mut at_point = [0; 3];
    let mut found: Vec<Stretch> = Vec::new();
    loop {
        let next_point = (0..points.len()).filter_map(|i| Some((*points[i].get(at_point[i])?, i))).min();
        let next_slice = slices.ts.get(at_slice).copied();
        let (ts, end, slice) = match (next_slice, next_point) {
            (None, None) => return Some(found),
            (Some(ts), point) if point.is_none_or(|(at, _)| ts <= at) => {
                let slice = at_slice;
                at_slice += 1;
                let dur = match slices.dur.get(slice) {
                    UNFINISHED => 0,
                    // A slice of hours is no pause, but one of years is no sign that anything happens.
                    dur => dur.min(MIN_GAP_NS),
                };
                (ts, ts.saturating_add(dur), Some(slice))
            }
            (_, Some((ts, i))) => {
                at_point[i] += 1;
                (ts, ts, None)
            }
            (Some(_), None) => return Some(found),
        };
        let n_found = found.len();
        match found.last_mut().filter(|last| ts.saturating_sub(last.end) < MIN_GAP_NS) {
            Some(last) => {
                last.end = last.end.max(end);
                last.n += 1;
                last.slice = last.slice.or(slice);
            }
            None if n_found >= MAX_STRETCHES => return None,
            None => found.push(Stretch { start: ts, end, n: 1, slice }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tracks::ProcessId;

    /// A trace with objects at these times, in nanoseconds.
    fn trace(times: impl IntoIterator<Item = i64>) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(crate::trace::tracks::Key::Number(1));
        for ts in times {
            let objects = &mut trace.objects;
            objects.event.push(crate::trace::objects::ObjectEvent::ClockSync);
            objects.ts.push(ts);
            objects.process.push(ProcessId(0));
            objects.name.push(crate::base::strings::StringId::EMPTY);
            objects.id.push(crate::base::strings::StringId::NONE);
            objects.args.push(crate::trace::args::ArgsPlace::NONE);
        }
        trace
    }

    #[test]
    fn one_event_years_after_all_others_is_found() {
        let year = 8766 * MIN_GAP_NS;
        let far = trace((0..20).chain([14 * year]));
        let found = FarAway::of(&far).unwrap();
        assert_eq!((found.n, found.is_after, found.others), (1, true, (0, 19)));
        assert!(
            found.words(&far).starts_with("1 event lies 14.0 years after all others"),
            "{}",
            found.words(&far)
        );
        let before = FarAway::of(&trace([0].into_iter().chain((0..20).map(|i| 51 * year + i)))).unwrap();
        assert_eq!((before.n, before.is_after), (1, false));
    }

    #[test]
    fn traces_with_pauses_are_as_they_should_be() {
        let hour = MIN_GAP_NS;
        let cases: [Vec<i64>; 5] = [
            // Short, with a long pause, of two halves, of as many stretches as events.
            (0..20).collect(),
            (0..20).chain((0..20).map(|i| 90 * hour + i)).collect(),
            vec![0, 90 * hour],
            (0..100).map(|i| i * 2 * hour).collect(),
            // The others take hours themselves.
            (0..100).map(|i| i * hour / 2).chain([80 * hour]).collect(),
        ];
        for times in cases {
            assert!(FarAway::of(&trace(times.clone())).is_none(), "{times:?}");
        }
    }
}
