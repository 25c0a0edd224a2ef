//! Calls of a scoring backend: one row per forward pass or cache lookup.

use super::cut::is_of_window;
use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// Type of the probe value. Writers use text or null; other types are kept so that they can be written back and compared
/// unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ProbeKind {
    /// No probe; its text is [`StringId::NONE`].
    Null,
    Text,
    /// Its text is the decimal digits, of any length.
    Integer,
    /// Its text is the shortest digits that round-trip: `5.0`, `1e+16`, `nan`.
    Float,
    /// Its text is `True` or `False`.
    Bool,
}

impl ProbeKind {
    /// All types, in order.
    pub const ALL: [ProbeKind; 5] =
        [ProbeKind::Null, ProbeKind::Text, ProbeKind::Integer, ProbeKind::Float, ProbeKind::Bool];
}

/// Rows in file order.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ScoringCallTable {
    /// Wall clock at the end of the call, in seconds since the Unix epoch.
    pub ts: Vec<f64>,
    /// Duration of the computation, or of the lookup for a hit, in milliseconds; may be negative or not finite.
    pub wall_ms: Vec<f64>,
    pub probe_kind: Vec<ProbeKind>,
    pub probe: Vec<StringId>,
    /// State of the model: `base`, `ft`, a scaled or a randomized one.
    pub view_id: Vec<StringId>,
    /// Digest of the scored prompt.
    pub prompt_hash: Vec<StringId>,
    /// Backend operation: `next_token_dist`, `rolling_logprob`, `logprob_of` or others.
    pub op: Vec<StringId>,
    /// Number of tokens requested; 0 for operations without one. Values outside of `i64` are clamped here and are in
    /// `wide_top_k`.
    pub top_k: Vec<i64>,
    /// Served from the cache.
    pub hit: Vec<bool>,
    /// Offset of the record in the content.
    pub offset: Vec<u64>,
    /// Row and decimal digits of each `top_k` that does not fit. Invariant: sorted by row.
    pub wide_top_k: Vec<(u64, StringId)>,
}

impl ScoringCallTable {
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }

    /// Whether all columns have the same number of rows.
    pub fn is_sound(&self) -> bool {
        let n = self.ts.len();
        let lens = [
            self.wall_ms.len(),
            self.probe_kind.len(),
            self.probe.len(),
            self.view_id.len(),
            self.prompt_hash.len(),
            self.op.len(),
            self.top_k.len(),
            self.hit.len(),
            self.offset.len(),
        ];
        lens.iter().all(|len| *len == n)
    }

    /// Appends the rows of another table; `text` maps its text ids to ids here.
    pub fn append(&mut self, mut other: ScoringCallTable, text: impl Fn(StringId) -> StringId) {
        let n_before = self.ts.len() as u64;
        let texts = |ids: Vec<StringId>| ids.into_iter().map(&text).collect::<Vec<StringId>>();
        self.ts.append(&mut other.ts);
        self.wall_ms.append(&mut other.wall_ms);
        self.probe_kind.append(&mut other.probe_kind);
        self.probe.append(&mut texts(other.probe));
        self.view_id.append(&mut texts(other.view_id));
        self.prompt_hash.append(&mut texts(other.prompt_hash));
        self.op.append(&mut texts(other.op));
        self.top_k.append(&mut other.top_k);
        self.hit.append(&mut other.hit);
        self.offset.append(&mut other.offset);
        self.wide_top_k.extend(other.wide_top_k.into_iter().map(|(row, id)| (row + n_before, text(id))));
    }

    /// Start and end of a call in nanoseconds, if it has usable times.
    pub fn span_of(&self, row: usize) -> Option<(i64, i64)> {
        let (ts, wall_ms) = (self.ts[row], self.wall_ms[row]);
        // Seconds up to the year 2200 fit in nanoseconds of 64 bits.
        let is_usable =
            ts.is_finite() && ts.abs() < 7.2e9 && wall_ms.is_finite() && (0.0..1e12).contains(&wall_ms);
        is_usable.then(|| {
            let end = (ts * 1e9) as i64;
            (end.saturating_sub((wall_ms * 1e6) as i64), end)
        })
    }

    /// First start and last end of all calls with usable times, in nanoseconds.
    pub fn span(&self) -> Option<(i64, i64)> {
        let spans = (0..self.len()).filter_map(|row| self.span_of(row));
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The calls [of a range](is_of_window) of nanoseconds, whole; those without usable times are not among them.
    pub fn within(&self, range: (i64, i64)) -> ScoringCallTable {
        let mut part = ScoringCallTable::default();
        let is_in =
            |row: &usize| self.span_of(*row).is_some_and(|(start, end)| is_of_window(range, start, end));
        for row in (0..self.len()).filter(is_in) {
            if let Some(digits) = self.wide_top_k(row) {
                part.wide_top_k.push((part.len() as u64, digits));
            }
            part.ts.push(self.ts[row]);
            part.wall_ms.push(self.wall_ms[row]);
            part.probe_kind.push(self.probe_kind[row]);
            part.probe.push(self.probe[row]);
            part.view_id.push(self.view_id[row]);
            part.prompt_hash.push(self.prompt_hash[row]);
            part.op.push(self.op[row]);
            part.top_k.push(self.top_k[row]);
            part.hit.push(self.hit[row]);
            part.offset.push(self.offset[row]);
        }
        part
    }

    /// Decimal digits of a `top_k` that does not fit in `i64`.
    pub fn wide_top_k(&self, row: usize) -> Option<StringId> {
        let at = self.wide_top_k.binary_search_by_key(&(row as u64), |(row, _)| *row).ok()?;
        Some(self.wide_top_k[at].1)
    }
}
