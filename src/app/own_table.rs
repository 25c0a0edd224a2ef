//! Custom tables that extend or replace built-in ones: kernel rules, GPU peaks, memory labeling rules.

use crate::app::browser;
use crate::app::words::words;
use tracedrop::analysis::Query;

/// Kind of custom table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnTable {
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

impl OwnTable {
    /// Custom tables of a report.
    pub fn of_report(id: &str) -> &'static [OwnTable] {
        match id {
            "gpu-kernels" | "gpu-breakdown" => &[OwnTable::KernelRules],
            "gpu-ops" => &[OwnTable::Peaks],
            "gpu-critical-path" => &[OwnTable::Path],
            "mrm" => &[
                OwnTable::MemoryRules,
                OwnTable::MemoryThresholds,
                OwnTable::MemoryPhases,
                OwnTable::MemoryRanges,
            ],
            _ => &[],
        }
    }

    /// Key under which it is saved for other files; `None` if it applies to one file only.
    pub fn key(self) -> Option<&'static str> {
        match self {
            OwnTable::KernelRules => Some("kernel-rules"),
            OwnTable::Peaks => Some("gpu-peaks"),
            OwnTable::MemoryRules => Some("memory-rules"),
            OwnTable::MemoryThresholds => Some("memory-thresholds"),
            OwnTable::MemoryPhases | OwnTable::MemoryRanges | OwnTable::Path => None,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            OwnTable::KernelRules => words().own_rules_title,
            OwnTable::Peaks => words().own_peaks_title,
            OwnTable::MemoryRules => words().memory_rules_title,
            OwnTable::MemoryThresholds => words().memory_thresholds_title,
            OwnTable::MemoryPhases => words().memory_phases_title,
            OwnTable::MemoryRanges => words().memory_ranges_title,
            OwnTable::Path => words().path_of_title,
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            OwnTable::KernelRules => words().own_rules_explanation,
            OwnTable::Peaks => words().own_peaks_explanation,
            OwnTable::MemoryRules => words().memory_rules_explanation,
            OwnTable::MemoryThresholds => words().memory_thresholds_explanation,
            OwnTable::MemoryPhases => words().memory_phases_explanation,
            OwnTable::MemoryRanges => words().memory_ranges_explanation,
            OwnTable::Path => words().path_of_explanation,
        }
    }

    pub fn example(self) -> &'static str {
        match self {
            OwnTable::KernelRules => "Attention | our kernels | our library | base starts my_attention_",
            OwnTable::Peaks => "gpu\tmem_gb_s\tmatrix_bf16\nMI300X\t5300\t1307.4",
            OwnTable::MemoryRules => r#"[{"region_type": "kv_cache", "symbol_re": "my_cache_(read|write)"}]"#,
            OwnTable::MemoryThresholds => "0.9, 10, 0.5, 1",
            OwnTable::MemoryPhases => r#"[{"phase": "weight_load", "start_ns": 0, "end_ns": 1000000}]"#,
            OwnTable::MemoryRanges => {
                r#"[{"addr_start": "0x7f3a40000000", "addr_end": "0x7f3a48000000", "region_type": "kv_cache"}]"#
            }
            OwnTable::Path => "ProfilerStep @ 2",
        }
    }

    /// The built-in table, if it can be edited as a whole.
    pub fn builtin(self, query: &Query) -> Option<String> {
        (self == OwnTable::MemoryRules).then(|| query.memory.builtin_rules())
    }

    pub fn put(self, mut query: Query, text: String) -> Query {
        *self.place(&mut query) = text;
        query
    }

    fn place(self, query: &mut Query) -> &mut String {
        match self {
            OwnTable::KernelRules => &mut query.kernel_rules,
            OwnTable::Peaks => &mut query.peaks,
            OwnTable::MemoryRules => &mut query.memory.rules,
            OwnTable::MemoryThresholds => &mut query.memory.thresholds,
            OwnTable::MemoryPhases => &mut query.memory.phases,
            OwnTable::MemoryRanges => &mut query.memory.ranges,
            OwnTable::Path => &mut query.path,
        }
    }

    pub fn text_of(self, query: &Query) -> String {
        self.place(&mut query.clone()).clone()
    }
}

/// Query for a new file, with the saved custom tables.
pub fn first_query() -> Query {
    let remembered =
        [OwnTable::KernelRules, OwnTable::Peaks, OwnTable::MemoryRules, OwnTable::MemoryThresholds];
    remembered.into_iter().fold(Query::default(), |query, table| {
        match table.key().and_then(browser::remembered) {
            Some(text) => table.put(query, text),
            None => query,
        }
    })
}
