//! User settings for the reports on memory accesses.

use crate::base::units::counted;
use crate::memory::suitability::Thresholds;
use crate::memory::telemetry::RuleSet;
use crate::memory::{Options, Phases, Rules, UnknownPolicy, ranges};
use serde::{Deserialize, Serialize};

/// How accesses are labelled and judged. Each text is a file's content; empty selects the built-in default.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoryQuery {
    /// Phase boundaries as JSON; see [`Phases::parse`].
    pub phases: String,
    /// Rules that replace the built-in ones, as JSON; see [`Rules::parse`].
    pub rules: String,
    /// Address ranges of known kind, as JSON; see [`ranges::parse`].
    pub ranges: String,
    /// Policy for accesses of unknown kind: a name of [`UnknownPolicy::of_name`].
    pub unknown: String,
    /// Thresholds of MRM suitability, see [`MemoryQuery::parse_thresholds`].
    pub thresholds: String,
    /// Rules that decide whether a run is contaminated.
    pub validity_rules: RuleSet,
}

impl MemoryQuery {
    /// First problem in the settings, as `what: why`.
    pub fn problem(&self) -> Option<String> {
        self.problem_by_name().map(|(what, why)| format!("{what}: {why}"))
    }

    /// First problem in the settings: the name of the setting and why it is invalid.
    pub fn problem_by_name(&self) -> Option<(&'static str, String)> {
        fn wrong<T, E: ToString>(
            what: &'static str,
            text: &str,
            result: Result<T, E>,
        ) -> Option<(&'static str, String)> {
            result.err().filter(|_| !text.trim().is_empty()).map(|problem| (what, problem.to_string()))
        }
        wrong("phases", &self.phases, Phases::parse(&self.phases))
            .or_else(|| wrong("rules", &self.rules, Rules::parse(&self.rules)))
            .or_else(|| wrong("ranges", &self.ranges, ranges::parse(&self.ranges)))
            .or_else(|| {
                let policy = UnknownPolicy::of_name(&self.unknown)
                    .ok_or("unknown policy; use keep, skip, error or runtime");
                wrong("unknown", &self.unknown, policy)
            })
            .or_else(|| {
                let thresholds = Self::parse_thresholds(&self.thresholds)
                    .ok_or("expected four numbers separated by commas");
                wrong("thresholds", &self.thresholds, thresholds)
            })
    }

    /// Settings that differ from the defaults, as sentence fragments. Invalid settings are ignored.
    pub fn differences(&self) -> Vec<String> {
        let options = self.options();
        let mut told = Vec::new();
        if let Some(rules) = options.rules.filter(|rules| !rules.are_builtin()) {
            let n = counted(rules.rules.len() as u64, "rule", "rules");
            told.push(format!("{n} supplied, replacing the built-in ones"));
        }
        match options.unknown {
            UnknownPolicy::Keep => {}
            UnknownPolicy::Skip => told.push("accesses of unknown kind are skipped".to_string()),
            UnknownPolicy::Error => {
                told.push("labeling stops at the first access of unknown kind".to_string())
            }
            UnknownPolicy::Runtime => told.push("accesses of unknown kind count as runtime".to_string()),
        }
        if !options.ranges.is_empty() {
            let n = counted(options.ranges.len() as u64, "address range", "address ranges");
            told.push(format!("{n} supplied"));
        }
        if !options.phases.is_empty() {
            told.push("phases supplied".to_string());
        }
        let (thresholds, usual) = (self.thresholds(), Thresholds::default());
        if thresholds != usual {
            told.push(format!(
                "MRM suitability thresholds are {} (default: {})",
                thresholds.told(),
                usual.told()
            ));
        }
        if self.has_later_rules() {
            told.push("run validity uses the rules of newer mrm-trace versions".to_string());
        }
        told
    }

    /// The built-in rules as a starting point for editing: see [`MemoryQuery::rules`].
    pub fn builtin_rules(&self) -> String {
        Rules::builtin_json()
    }

    /// Whether run validity uses the rules of newer mrm-trace versions.
    pub fn has_later_rules(&self) -> bool {
        self.validity_rules == RuleSet::Later
    }

    /// Selects the rules of newer mrm-trace versions, or those of 0.1.0.
    pub fn judge_by_later_rules(&mut self, later: bool) {
        self.validity_rules = if later { RuleSet::Later } else { RuleSet::Seed };
    }

    /// Parsed settings; invalid ones count as not set.
    pub fn options(&self) -> Options {
        let rules = Rules::parse(&self.rules).ok();
        let unknown = UnknownPolicy::of_name(&self.unknown).unwrap_or_default();
        let ranges = ranges::parse(&self.ranges).unwrap_or_default();
        // Labels from the file are kept unless the user changes how labels are made.
        let is_anew = rules.is_some() || unknown != UnknownPolicy::default() || !ranges.is_empty();
        let phases = Phases::parse(&self.phases).unwrap_or_default();
        Options { phases, rules, unknown, ranges, max_regions: None, is_anew }
    }

    pub fn thresholds(&self) -> Thresholds {
        Self::parse_thresholds(&self.thresholds).unwrap_or_default()
    }

    /// Parses four numbers separated by commas: ratio and seconds for high, ratio and seconds for medium.
    pub fn parse_thresholds(text: &str) -> Option<Thresholds> {
        let mut numbers = text.split(',').map(|number| number.trim().parse::<f64>().ok());
        let thresholds = Thresholds {
            high_ratio: numbers.next()??,
            high_p99_s: numbers.next()??,
            medium_ratio: numbers.next()??,
            medium_p50_s: numbers.next()??,
        };
        numbers.next().is_none().then_some(thresholds)
    }
}
