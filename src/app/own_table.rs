//! Tables that a person may put lines before: classes of kernels, peaks of GPUs.

use crate::app::browser;
use crate::app::words::words;
use tracedrop::analysis::Query;

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnTable {
    KernelRules,
    Peaks,
}

impl OwnTable {
    /// The one that a report is made with, if there is one.
    pub fn of_report(id: &str) -> Option<OwnTable> {
        match id {
            "gpu-kernels" => Some(OwnTable::KernelRules),
            "gpu-ops" => Some(OwnTable::Peaks),
            _ => None,
        }
    }

    /// Under which it is remembered.
    pub fn key(self) -> &'static str {
        match self {
            OwnTable::KernelRules => "kernel-rules",
            OwnTable::Peaks => "gpu-peaks",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            OwnTable::KernelRules => words().own_rules_title,
            OwnTable::Peaks => words().own_peaks_title,
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            OwnTable::KernelRules => words().own_rules_explanation,
            OwnTable::Peaks => words().own_peaks_explanation,
        }
    }

    pub fn example(self) -> &'static str {
        match self {
            OwnTable::KernelRules => "Attention | our kernels | our library | base starts my_attention_",
            OwnTable::Peaks => "gpu\tmem_gb_s\tmatrix_bf16\nMI300X\t5300\t1307.4",
        }
    }

    pub fn put(self, query: Query, text: String) -> Query {
        match self {
            OwnTable::KernelRules => Query { kernel_rules: text, ..query },
            OwnTable::Peaks => Query { peaks: text, ..query },
        }
    }

    pub fn text_of(self, query: &Query) -> String {
        match self {
            OwnTable::KernelRules => query.kernel_rules.clone(),
            OwnTable::Peaks => query.peaks.clone(),
        }
    }
}

/// What a file is read with: tables that were given before, on this computer.
pub fn first_query() -> Query {
    [OwnTable::KernelRules, OwnTable::Peaks].into_iter().fold(Query::default(), |query, table| {
        match browser::remembered(table.key()) {
            Some(text) => table.put(query, text),
            None => query,
        }
    })
}
