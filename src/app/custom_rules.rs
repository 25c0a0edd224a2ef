//! Custom tables that extend or replace built-in ones: kernel rules, GPU peaks, memory labeling rules.

use crate::app::browser;
use crate::app::words::words;
use tracedrop::analysis::Query;

/// Kind of custom table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CustomRules {
    KernelRules,
    Peaks,
    MemoryRules,
    MemoryThresholds,
    /// For one trace only, as are the ranges.
    MemoryPhases,
    MemoryRanges,
    /// Range of the critical path.
    Path,
}

impl CustomRules {
    /// Custom tables of a report.
    pub fn of_report(id: &str) -> &'static [CustomRules] {
        match id {
            "gpu-kernels" | "gpu-breakdown" => &[CustomRules::KernelRules],
            "gpu-ops" => &[CustomRules::Peaks],
            "gpu-critical-path" => &[CustomRules::Path],
            "mrm" => &[
                CustomRules::MemoryRules,
                CustomRules::MemoryThresholds,
                CustomRules::MemoryPhases,
                CustomRules::MemoryRanges,
            ],
            _ => &[],
        }
    }

    /// Key under which it is saved for other files; `None` if it applies to one file only.
    pub fn key(self) -> Option<&'static str> {
        match self {
            CustomRules::KernelRules => Some("kernel-rules"),
            CustomRules::Peaks => Some("gpu-peaks"),
            CustomRules::MemoryRules => Some("memory-rules"),
            CustomRules::MemoryThresholds => Some("memory-thresholds"),
            CustomRules::MemoryPhases | CustomRules::MemoryRanges | CustomRules::Path => None,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            CustomRules::KernelRules => words().reports.own_rules_title,
            CustomRules::Peaks => words().reports.own_peaks_title,
            CustomRules::MemoryRules => words().reports.memory_rules_title,
            CustomRules::MemoryThresholds => words().reports.memory_thresholds_title,
            CustomRules::MemoryPhases => words().reports.memory_phases_title,
            CustomRules::MemoryRanges => words().reports.memory_ranges_title,
            CustomRules::Path => words().reports.path_of_title,
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            CustomRules::KernelRules => words().reports.own_rules_explanation,
            CustomRules::Peaks => words().reports.own_peaks_explanation,
            CustomRules::MemoryRules => words().reports.memory_rules_explanation,
            CustomRules::MemoryThresholds => words().reports.memory_thresholds_explanation,
            CustomRules::MemoryPhases => words().reports.memory_phases_explanation,
            CustomRules::MemoryRanges => words().reports.memory_ranges_explanation,
            CustomRules::Path => words().reports.path_of_explanation,
        }
    }

    pub fn example(self) -> &'static str {
        match self {
            CustomRules::KernelRules => "Attention | our kernels | our library | base starts my_attention_",
            CustomRules::Peaks => "gpu\tmem_gb_s\tmatrix_bf16\nMI300X\t5300\t1307.4",
            CustomRules::MemoryRules => {
                r#"[{"region_type": "kv_cache", "symbol_re": "my_cache_(read|write)"}]"#
            }
            CustomRules::MemoryThresholds => "0.9, 10, 0.5, 1",
            CustomRules::MemoryPhases => r#"[{"phase": "weight_load", "start_ns": 0, "end_ns": 1000000}]"#,
            CustomRules::MemoryRanges => {
                r#"[{"addr_start": "0x7f3a40000000", "addr_end": "0x7f3a48000000", "region_type": "kv_cache"}]"#
            }
            CustomRules::Path => "ProfilerStep @ 2",
        }
    }

    /// The built-in table, if it can be edited as a whole.
    pub fn builtin(self, query: &Query) -> Option<String> {
        (self == CustomRules::MemoryRules).then(|| query.memory.builtin_rules())
    }

    pub fn put(self, mut query: Query, text: String) -> Query {
        *self.place(&mut query) = text;
        query
    }

    fn place(self, query: &mut Query) -> &mut String {
        match self {
            CustomRules::KernelRules => &mut query.kernel_rules,
            CustomRules::Peaks => &mut query.peaks,
            CustomRules::MemoryRules => &mut query.memory.rules,
            CustomRules::MemoryThresholds => &mut query.memory.thresholds,
            CustomRules::MemoryPhases => &mut query.memory.phases,
            CustomRules::MemoryRanges => &mut query.memory.ranges,
            CustomRules::Path => &mut query.path,
        }
    }

    pub fn text_of(self, query: &Query) -> String {
        self.place(&mut query.clone()).clone()
    }
}

/// Query for a new file, with the saved custom tables.
pub fn first_query() -> Query {
    let remembered = [
        CustomRules::KernelRules,
        CustomRules::Peaks,
        CustomRules::MemoryRules,
        CustomRules::MemoryThresholds,
    ];
    remembered.into_iter().fold(Query::default(), |query, table| {
        match table.key().and_then(browser::remembered) {
            Some(text) => table.put(query, text),
            None => query,
        }
    })
}
