//! What a person asks of accesses to memory.

use crate::base::units::counted;
use crate::memory::suitability::Thresholds;
use crate::memory::telemetry::RuleSet;
use crate::memory::{Options, Phases, Rules, UnknownPolicy, ranges};
use serde::{Deserialize, Serialize};

/// How accesses are labelled and judged. Texts are those of files; empty ones stand for what comes along.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoryQuery {
    /// When which phase was, as JSON; see [`Phases::parse`].
    pub phases: String,
    /// Rules in place of those that come along, as JSON; see [`Rules::parse`].
    pub rules: String,
    /// What is known of addresses beforehand, as JSON; see [`ranges::parse`].
    pub ranges: String,
    /// What becomes of accesses of no known kind: a name of [`UnknownPolicy::of_name`].
    pub unknown: String,
    /// From where on data suits, see [`MemoryQuery::parse_thresholds`].
    pub thresholds: String,
    /// Which rules tell whether a run was disturbed.
    pub validity_rules: RuleSet,
}

impl MemoryQuery {
    /// What is wrong with it, if something is.
    pub fn problem(&self) -> Option<String> {
        self.problem_by_name().map(|(what, why)| format!("{what}: {why}"))
    }

    /// What is wrong with it, if something is: the name of what was asked, and why it is of no use.
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
                let policy = UnknownPolicy::of_name(&self.unknown).ok_or("there is no such policy");
                wrong("unknown", &self.unknown, policy)
            })
            .or_else(|| {
                let thresholds = Self::parse_thresholds(&self.thresholds).ok_or("four numbers are wanted");
                wrong("thresholds", &self.thresholds, thresholds)
            })
    }

    /// Where what was asked for differs from what comes along: sentence fragments. What can not be read counts for nothing.
    pub fn differences(&self) -> Vec<String> {
        let options = self.options();
        let mut told = Vec::new();
        if let Some(rules) = options.rules.filter(|rules| !rules.are_builtin()) {
            let n = counted(rules.rules.len() as u64, "rule", "rules");
            told.push(format!(
                "kinds of memory are told by {n} of your own, in place of those that come along"
            ));
        }
        match options.unknown {
            UnknownPolicy::Keep => {}
            UnknownPolicy::Skip => told.push("accesses of no known kind are left out".to_string()),
            UnknownPolicy::Error => {
                told.push("labelling stops at the first access of no known kind".to_string())
            }
            UnknownPolicy::Runtime => told.push("accesses of no known kind count as runtime".to_string()),
        }
        if !options.ranges.is_empty() {
            let n = counted(options.ranges.len() as u64, "address range", "address ranges");
            told.push(format!("with {n} that someone gave"));
        }
        if !options.phases.is_empty() {
            told.push("with phases that someone gave".to_string());
        }
        let (thresholds, usual) = (self.thresholds(), Thresholds::default());
        if thresholds != usual {
            told.push(format!("suitability is {} (by default {})", thresholds.told(), usual.told()));
        }
        if self.has_later_rules() {
            told.push("the run is judged by the rules of later versions of mrm-trace".to_string());
        }
        told
    }

    /// The rules that come along, to be edited: see [`MemoryQuery::rules`].
    pub fn builtin_rules(&self) -> String {
        Rules::builtin_json()
    }

    /// Whether runs are judged by the rules of later versions of mrm-trace.
    pub fn has_later_rules(&self) -> bool {
        self.validity_rules == RuleSet::Later
    }

    /// Judges runs by the rules of later versions, or by those of 0.1.0.
    pub fn judge_by_later_rules(&mut self, later: bool) {
        self.validity_rules = if later { RuleSet::Later } else { RuleSet::Seed };
    }

    /// What can not be read counts as not given.
    pub fn options(&self) -> Options {
        let rules = Rules::parse(&self.rules).ok();
        let unknown = UnknownPolicy::of_name(&self.unknown).unwrap_or_default();
        let ranges = ranges::parse(&self.ranges).unwrap_or_default();
        // Labels of a file stay until somebody says how they are to be made.
        let is_anew = rules.is_some() || unknown != UnknownPolicy::default() || !ranges.is_empty();
        let phases = Phases::parse(&self.phases).unwrap_or_default();
        Options { phases, rules, unknown, ranges, max_regions: None, is_anew }
    }

    pub fn thresholds(&self) -> Thresholds {
        Self::parse_thresholds(&self.thresholds).unwrap_or_default()
    }

    /// Four numbers with commas between them: ratio and seconds for high, ratio and seconds for medium.
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
