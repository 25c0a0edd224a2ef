//! Time by probe and view, and the time that cache hits saved.

use super::summary::{ProbeName, Summary, UNASSIGNED};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::Chart;
use crate::report::chart::{Bars, Part, Plot, Tone};
use crate::trace::Run;
use crate::trace::scoring_calls::ProbeKind;

/// Axes are labeled in nanoseconds and their multiples.
const NS_PER_MS: f64 = 1e6;
/// Bars and colors of the chart; the rest is summed up.
const MAX_PROBES: usize = 12;
const MAX_VIEWS: usize = 5;

/// A bar for each probe, split by view, largest first. `None` with fewer than two of either.
pub fn chart(run: &Run, summary: &Summary) -> Option<Chart> {
    if summary.probes.len() < 2 || summary.views.len() < 2 || !summary.total_wall_ms.is_finite() {
        return None;
    }
    let probes: Vec<&str> = summary.probes.iter().take(MAX_PROBES).map(|it| it.key.text.as_str()).collect();
    let views: Vec<&str> = summary.views.iter().take(MAX_VIEWS).map(|it| it.key.as_str()).collect();
    let n_views = views.len() + usize::from(summary.views.len() > MAX_VIEWS);
    let mut values = vec![vec![0.0; probes.len()]; n_views];
    for trace in &run.traces {
        let calls = &trace.scoring_calls;
        // By ids first: names are made once for each, not for each of millions of calls.
        let mut by_ids: HashMap<(ProbeKind, StringId, StringId), f64> = HashMap::default();
        for row in 0..calls.len() {
            let ids = (calls.probe_kind[row], calls.probe[row], calls.view_id[row]);
            *by_ids.entry(ids).or_default() += calls.wall_ms[row].max(0.0) * NS_PER_MS;
        }
        let mut by_ids: Vec<_> = by_ids.into_iter().collect();
        sort::by_key(&mut by_ids, |((_, probe, view), _)| (*probe, *view));
        for ((kind, probe, view), ms) in by_ids {
            let probe = ProbeName::of(kind, trace.strings.get(probe));
            let name = if probe.is_unassigned() { UNASSIGNED } else { probe.text.as_str() };
            let view = trace.strings.get(view);
            let view = views.iter().position(|known| *known == view).unwrap_or(views.len());
            if let Some(probe) = probes.iter().position(|known| *known == name)
                && let Some(row) = values.get_mut(view)
            {
                row[probe] += ms;
            }
        }
    }
    let name = |view: usize| views.get(view).map_or("other views", |name| name).to_string();
    let part =
        |(view, values): (usize, Vec<f64>)| Part { name: name(view), tone: Tone::Other(view as u8), values };
    Some(Chart {
        id: "probe_by_view".into(),
        title: "Time by probe and view".to_string(),
        caption: String::new(),
        plot: Plot::Bars(Bars {
            labels: probes.into_iter().map(str::to_string).collect(),
            parts: values.into_iter().enumerate().map(part).collect(),
            unit: Unit::Ns,
            is_strip: false,
            what: "probe".to_string(),
        }),
    })
}

/// What cache hits saved: the duration of the computation that each replaced, less that of the look-up.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Saved {
    /// Milliseconds, of all hits that a saving is known or estimated for.
    pub ms: f64,
    /// Hits whose own miss is in the file: the last one before with the same key of the cache.
    pub n_exact: u64,
    /// Other hits, for which the mean of the misses of the same operation and view stands.
    pub n_estimated: u64,
    /// Hits without either.
    pub n_unknown: u64,
}

/// `None` if nothing is known of any hit. Calls whose time is not finite count as absent.
pub fn saved_by_cache(run: &Run) -> Option<Saved> {
    let mut saved = Saved::default();
    for trace in &run.traces {
        let calls = &trace.scoring_calls;
        // The cache of dlm-sway has these four as its key.
        let key = |row: usize| {
            let top_k = (calls.top_k[row], calls.wide_top_k(row));
            (calls.op[row], calls.view_id[row], calls.prompt_hash[row], top_k)
        };
        let finite = || (0..calls.len()).filter(|row| calls.wall_ms[*row].is_finite());
        let mut means: HashMap<(StringId, StringId), (f64, u64)> = HashMap::default();
        for row in finite().filter(|row| !calls.hit[*row]) {
            let (sum, n) = means.entry((calls.op[row], calls.view_id[row])).or_default();
            *sum += calls.wall_ms[row];
            *n += 1;
        }
        let mut last_miss = HashMap::default();
        for row in finite() {
            let wall_ms = calls.wall_ms[row];
            if !calls.hit[row] {
                last_miss.insert(key(row), wall_ms);
            } else if let Some(miss_ms) = last_miss.get(&key(row)) {
                saved.ms += miss_ms - wall_ms;
                saved.n_exact += 1;
            } else if let Some((sum, n)) = means.get(&(calls.op[row], calls.view_id[row])) {
                saved.ms += sum / *n as f64 - wall_ms;
                saved.n_estimated += 1;
            } else {
                saved.n_unknown += 1;
            }
        }
    }
    (saved.n_exact + saved.n_estimated > 0).then_some(saved)
}

impl Saved {
    /// Whether the duration of each replaced computation is in the file.
    pub fn is_exact(&self) -> bool {
        self.n_estimated == 0 && self.n_unknown == 0
    }
}
