//! Sample counts that have no times: a file of metadata and one counter, never a made-up time axis.

use super::ids::Numbers;
use super::writer::Writer;
use crate::trace::Trace;

pub fn write(
    _trace: &Trace,
    _numbers: &mut Numbers,
    _w: &mut Writer<'_>,
    _notes: &mut Vec<(&'static str, String)>,
) {
}
