//! Numbers and titles where several traces are read together.

use super::model::GpuTrace;
use std::borrow::Cow;

/// A trace, and its number if there are several: tables of each carry it in their ids, and the file's name in their titles.
pub struct Named<'a, 'b> {
    pub gpu: &'a GpuTrace<'b>,
    number: Option<usize>,
}

impl<'a, 'b> Named<'a, 'b> {
    /// All of `traces`.
    pub fn all(traces: &'a [GpuTrace<'b>]) -> impl Iterator<Item = Named<'a, 'b>> {
        let several = traces.len() > 1;
        traces.iter().enumerate().map(move |(number, gpu)| Named { gpu, number: several.then_some(number) })
    }

    /// The id of a table of this trace.
    pub fn id(&self, id: &'static str) -> Cow<'static, str> {
        match self.number {
            None | Some(0) => id.into(),
            Some(number) => format!("{id}_{}", number + 1).into(),
        }
    }

    /// The title of a table of this trace.
    pub fn title(&self, title: &str) -> String {
        match self.number {
            None => title.to_string(),
            Some(_) => format!("{title}: {}", self.gpu.trace.source.file_name),
        }
    }
}
