//! Calls of a scoring backend: one row a forward pass or a cache look-up.

use crate::base::strings::StringId;

/// What kind of value named the probe. Writers give text or nothing; other kinds are kept apart so that they can be
/// written back and compared as they were.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProbeKind {
    /// No probe was running; its text is [`StringId::NONE`].
    Null,
    Text,
    /// Its text is the decimal digits, of any number.
    Integer,
    /// Its text is the shortest digits that read back: `5.0`, `1e+16`, `nan`.
    Float,
    /// Its text is `True` or `False`.
    Bool,
}

impl ProbeKind {
    /// All of them, in order.
    pub const ALL: [ProbeKind; 5] =
        [ProbeKind::Null, ProbeKind::Text, ProbeKind::Integer, ProbeKind::Float, ProbeKind::Bool];
}

/// Rows in file order.
#[derive(Clone, Default)]
pub struct ScoringCallTable {
    /// Wall clock at the end of the call, seconds since the Unix epoch.
    pub ts: Vec<f64>,
    /// Duration of the computation, or of the look-up for a hit, in milliseconds; may be negative or not finite.
    pub wall_ms: Vec<f64>,
    pub probe_kind: Vec<ProbeKind>,
    pub probe: Vec<StringId>,
    /// Which state of the model was asked: `base`, `ft`, a scaled or a randomised one.
    pub view_id: Vec<StringId>,
    /// Digest of what was scored.
    pub prompt_hash: Vec<StringId>,
    /// Operation of the backend: `next_token_dist`, `rolling_logprob`, `logprob_of` or others.
    pub op: Vec<StringId>,
    /// Number of tokens asked for; 0 for operations without one.
    /// Values outside of `i64` are held at its ends here and are in `wide_top_k`.
    pub top_k: Vec<i64>,
    /// Served from the cache.
    pub hit: Vec<bool>,
    /// Byte of the content where the record starts.
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

    /// Decimal digits of a `top_k` that does not fit in `i64`.
    pub fn wide_top_k(&self, row: usize) -> Option<StringId> {
        let at = self.wide_top_k.binary_search_by_key(&(row as u64), |(row, _)| *row).ok()?;
        Some(self.wide_top_k[at].1)
    }
}
