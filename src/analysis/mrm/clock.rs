//! How exact the times of accesses are: those of memray captures are of the last memory sample, or none at all.

use crate::base::units::{Unit, format_ns};
use crate::report::Value;

/// Resolution of the times of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Each access has its time.
    Exact,
    /// Accesses have the time of the memory sample before them; memray takes one every 10 ms.
    TenMs,
    /// All times are 0.
    None,
}

const TEN_MS: i64 = 10_000_000;

impl Clock {
    /// Whether a duration in nanoseconds is more than what the clock leaves open.
    pub fn can_tell(self, ns: i64) -> bool {
        match self {
            Clock::Exact => true,
            Clock::TenMs => ns >= TEN_MS,
            Clock::None => false,
        }
    }

    /// A duration in a sentence.
    pub fn words(self, ns: i64) -> String {
        match self {
            _ if self.can_tell(ns) => format_ns(ns),
            Clock::TenMs => "under 10 ms".to_string(),
            _ => "unknown".to_string(),
        }
    }

    /// A duration as a fact: a number if it is one.
    pub fn value(self, ns: Option<i64>) -> (Value, Unit) {
        match ns {
            Some(ns) if !self.can_tell(ns) => (self.words(ns).into(), Unit::None),
            ns => (ns.into(), Unit::Ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_below_the_resolution_are_no_numbers() {
        assert_eq!(Clock::Exact.words(0), "0 ns");
        assert_eq!(Clock::TenMs.words(9_999_999), "under 10 ms");
        assert_eq!(Clock::TenMs.words(12_000_000), "12.00 ms");
        assert_eq!(Clock::None.words(0), "unknown");
        assert_eq!(Clock::TenMs.value(Some(0)), ("under 10 ms".into(), Unit::None));
        assert_eq!(Clock::TenMs.value(Some(12_000_000)), (12_000_000i64.into(), Unit::Ns));
        assert_eq!(Clock::TenMs.value(None), (Value::Missing, Unit::Ns));
    }
}
