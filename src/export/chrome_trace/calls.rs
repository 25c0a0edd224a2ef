//! Calls of a scoring backend as a timeline.

use super::Options;
use super::ids::Numbers;
use super::writer::Writer;
use crate::trace::Trace;

/// More arrows than this are only written on request: they would hide what they join.
pub const MAX_CALL_FLOWS: usize = 2_000;

pub fn write(
    _trace: &Trace,
    _options: &Options,
    _numbers: &mut Numbers,
    _w: &mut Writer<'_>,
    _notes: &mut Vec<(&'static str, String)>,
) {
}
