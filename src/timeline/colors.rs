//! What gives boxes their colors, beside their names: categories, and what reports know of slices ([`Groups`]).

use super::answers::{ColorBy, N_COLORS, color_of};
use super::tracks::{Part, Timeline};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::Trace;

/// Categories that are often in one trace, whose colors differ. Others have the color of their text.
const CATEGORIES: [&str; 10] = [
    "python_function",
    "cpu_op",
    "user_annotation",
    "cuda_runtime",
    "kernel",
    "gpu_memcpy",
    "gpu_user_annotation",
    "gpu_memset",
    "cuda_driver",
    "overhead",
];

/// Color of boxes that the others stand out from: the last but one.
const NEUTRAL: u8 = N_COLORS - 1;

/// Color with that number: any but the neutral one.
fn numbered(number: usize) -> u8 {
    1 + (number % usize::from(NEUTRAL - 1)) as u8
}

/// Number of a group among the texts of [`Groups`], from 1; 0 for none.
pub type GroupId = u8;

/// What slices of a run have in common, as reports know it: operations of kernels, phases of steps.
#[derive(Default)]
pub struct Groups {
    /// With their colors.
    texts: Vec<(String, u8)>,
    /// By trace and slice. Traces without groups have no slices here.
    of: Vec<Vec<GroupId>>,
}

impl Groups {
    /// No groups yet, for a run of `n_traces`.
    pub fn new(n_traces: usize) -> Groups {
        Groups { texts: Vec::new(), of: vec![Vec::new(); n_traces] }
    }

    /// The group of that text. Groups with a `number` have different colors, as far as there are any; the color of others is that of
    /// their text. 0 if there are too many.
    pub fn id(&mut self, text: &str, number: Option<usize>) -> GroupId {
        let at = self.texts.iter().position(|(known, _)| known == text).unwrap_or_else(|| {
            let number = number.unwrap_or_else(|| usize::from(color_of(text)));
            self.texts.push((text.to_string(), numbered(number)));
            self.texts.len() - 1
        });
        GroupId::try_from(at + 1).unwrap_or(0)
    }

    /// Sets the groups of the slices of a trace.
    pub fn set(&mut self, trace: usize, groups: Vec<GroupId>) {
        self.of[trace] = groups;
    }

    /// Text and color of a group.
    fn get(&self, group: GroupId) -> Option<&(String, u8)> {
        self.texts.get(usize::from(group).checked_sub(1)?)
    }

    /// Text of a slice's group.
    pub fn text_of(&self, trace: usize, slice: usize) -> Option<&str> {
        self.get(self.of_slice(trace, slice)).map(|(text, _)| text.as_str())
    }

    fn of_slice(&self, trace: usize, slice: usize) -> GroupId {
        self.of.get(trace).and_then(|of| of.get(slice)).copied().unwrap_or(0)
    }
}

/// Colors of a picture that is being painted.
pub(super) struct Coloring<'a> {
    by: ColorBy,
    groups: Option<&'a Groups>,
    /// By trace and text.
    categories: HashMap<(usize, StringId), u8>,
    is_in_legend: [bool; GroupId::MAX as usize + 1],
    /// What the colors stand for, in order of appearance.
    pub legend: Vec<(String, u8)>,
}

impl<'a> Coloring<'a> {
    pub fn new(by: ColorBy, groups: Option<&'a Groups>) -> Coloring<'a> {
        Coloring {
            by,
            groups,
            categories: HashMap::default(),
            is_in_legend: [false; GroupId::MAX as usize + 1],
            legend: Vec::new(),
        }
    }

    /// Color of a box.
    pub fn color(&mut self, timeline: &Timeline, part: &Part, trace: &Trace, id: usize) -> u8 {
        match self.by {
            ColorBy::Name => timeline.color(part.trace, part.name(trace, id)),
            ColorBy::Category => self.category(part, trace, id),
            ColorBy::Operation | ColorBy::Phase => self.group(part, id).unwrap_or(NEUTRAL),
        }
    }

    fn category(&mut self, part: &Part, trace: &Trace, id: usize) -> u8 {
        let category = part.categories(trace).get(id).copied().unwrap_or(StringId::NONE);
        let legend = &mut self.legend;
        *self.categories.entry((part.trace, category)).or_insert_with(|| {
            let text = trace.strings.get_opt(category).unwrap_or("");
            let known = CATEGORIES.iter().position(|known| *known == text);
            let color = known.map_or_else(|| color_of(text), numbered);
            if legend.iter().all(|(known, _)| known != text) {
                legend.push((text.to_string(), color));
            }
            color
        })
    }

    fn group(&mut self, part: &Part, id: usize) -> Option<u8> {
        let groups = self.groups.filter(|_| part.own.is_none())?;
        let group = groups.of_slice(part.trace, id);
        let (text, color) = groups.get(group)?;
        if !std::mem::replace(&mut self.is_in_legend[usize::from(group)], true) {
            self.legend.push((text.clone(), *color));
        }
        Some(*color)
    }
}
