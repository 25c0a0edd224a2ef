//! NVTX ranges that are operators of PyTorch: those of `emit_nvtx`, see [`emit_nvtx`].
//!
//! Nearly each has a name of its own, so they are grouped under the first name with the same operator. Steps and collectives that
//! programs annotate (`record_function`) have the same form and are grouped too; they stay annotations.

use super::annotation::Annotation;
use super::{Kind, Kinds};
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::gpu::phases::PhaseRule;
use crate::trace::{Trace, emit_nvtx};

/// Prefix of the ranges of collectives.
const COLLECTIVE: &str = "nccl:";

/// Operators by the names of their ranges.
#[derive(Default)]
pub struct OperatorRanges {
    /// By the number of a name: the first name with the same operator or annotation; [`StringId::NONE`] for other names. Empty if
    /// no name is one.
    first: Vec<StringId>,
    /// The first names of annotations.
    annotations: HashSet<StringId>,
}

impl OperatorRanges {
    /// Those among the annotations of `trace`. `phases` are the words of steps.
    pub fn new(trace: &Trace, kinds: &Kinds, phases: &[PhaseRule]) -> OperatorRanges {
        let mut ranges = OperatorRanges::default();
        if !kinds.has(|kind| kind == Kind::Annotation) {
            return ranges;
        }
        let slices = &trace.slices;
        let mut by_operator: HashMap<&str, StringId> = HashMap::default();
        let is_annotation =
            |name: &str| name.starts_with(COLLECTIVE) || Annotation::parse(name, phases).is_some();
        for i in 0..slices.len() {
            let name = slices.name[i];
            if kinds.get(slices.category[i]) != Kind::Annotation || ranges.first_of(name).is_some() {
                continue;
            }
            let Some(operator) = trace.strings.get_opt(name).and_then(emit_nvtx::operator) else { continue };
            if ranges.first.is_empty() {
                ranges.first.resize(trace.strings.len(), StringId::NONE);
            }
            let first = *by_operator.entry(operator).or_insert(name);
            if first == name && is_annotation(operator) {
                ranges.annotations.insert(name);
            }
            if let Some(own) = ranges.first.get_mut(name.0 as usize) {
                *own = first;
            }
        }
        ranges
    }

    /// The first name with the operator or annotation of `name`; `None` if that has another form.
    #[inline]
    pub fn first_of(&self, name: StringId) -> Option<StringId> {
        self.first.get(name.0 as usize).and_then(|first| first.some())
    }

    /// Whether ranges of that name are operators.
    #[inline]
    pub fn is_operator(&self, name: StringId) -> bool {
        self.first_of(name).is_some_and(|first| !self.annotations.contains(&first))
    }
}
