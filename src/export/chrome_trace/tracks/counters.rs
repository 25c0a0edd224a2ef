//! Counters.

use super::super::OwnFacts;
use super::super::writer::Writer;
use super::layout::Layout;
use crate::base::strings::StringId;

/// Limit on series in one counter event; the rest goes to further events.
const MAX_SERIES: usize = 256;

impl Layout<'_> {
    /// Writes one event for the points of one counter track at the same time.
    pub(super) async fn write_counters(&self, w: &mut Writer<'_>, facts: &mut OwnFacts) {
        let (points, series) = (&self.trace.counters, &self.trace.counter_series);
        let chart = |i: usize| {
            let at = points.series[i] as usize;
            (at < series.len()).then(|| (series.process[at], series.name[at], series.id[at]))
        };
        let mut keys: Vec<StringId> = Vec::new();
        let mut i = 0;
        while i < points.len() {
            let here = chart(i);
            let start = i;
            keys.clear();
            let mut is_open = false;
            while i < points.len() && points.ts[i] == points.ts[start] && chart(i) == here {
                let Some((process, name, id)) = here else { break };
                let key = series.key[points.series[i] as usize];
                if keys.contains(&key) || keys.len() >= MAX_SERIES {
                    break;
                }
                i += 1;
                if !points.value[i - 1].is_finite() {
                    facts.values_left_out += 1;
                    continue;
                }
                keys.push(key);
                if !is_open {
                    is_open = true;
                    w.open(self.trace.strings.get(name), None, "C");
                    w.time(self.time(points.ts[start]));
                    w.place(self.pid(process.0 as usize), self.main_tid(process.0 as usize));
                    if let Some(id) = self.text(id) {
                        w.raw(",\"id\":");
                        w.string(id);
                    }
                    w.raw(",\"args\":{");
                } else {
                    w.raw(",");
                }
                w.string(self.trace.strings.get(key));
                w.raw(":");
                w.float(points.value[i - 1]);
            }
            if is_open {
                w.raw("}");
                w.close();
            }
            if i == start {
                i += 1;
            }
            w.pause().await;
        }
    }
}
