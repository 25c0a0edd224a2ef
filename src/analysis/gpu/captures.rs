//! Traces of graph captures: kernels are recorded into CUDA or HIP graphs and don't run, so the GPU is idle all the while.

use super::annotation::is_capture;
use super::facts::Vendor;
use super::kind::{Kind, Kinds};
use super::spans::{Span, total, union};
use crate::trace::Trace;
use crate::trace::slices::SliceTable;

/// Share of the time from the first kernel or copy to the end of the last that captures cover in such a trace.
const MOSTLY: f64 = 0.9;

/// Whether annotations of captures cover most of the time of a trace's GPUs.
pub fn captures_graphs(trace: &Trace) -> bool {
    let (kinds, slices) = (Kinds::of(trace), &trace.slices);
    if !kinds.has(|kind| kind == Kind::Annotation) || !kinds.has(Kind::is_gpu_work) {
        return false;
    }
    // Most traces have no such name, and far fewer names than slices.
    if !trace.strings.all().any(is_capture) {
        return false;
    }
    let of_capture = |i: &usize| {
        kinds.get(slices.category[*i]) == Kind::Annotation && is_capture(trace.strings.get(slices.name[*i]))
    };
    let captures = union((0..slices.len()).filter(of_capture).map(|i| span(slices, i)));
    if captures.is_empty() {
        return false;
    }
    let work = (0..slices.len()).filter(|i| kinds.get(slices.category[*i]).is_gpu_work());
    let whole = work.map(|i| span(slices, i)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((start, end)) = whole.filter(|(start, end)| start < end) else { return false };
    let inside: Vec<Span> = captures.into_iter().map(|it| (it.0.max(start), it.1.min(end))).collect();
    let covered = total(&inside.into_iter().filter(|(start, end)| start < end).collect::<Vec<_>>());
    covered as f64 >= MOSTLY * end.saturating_sub(start) as f64
}

fn span(slices: &SliceTable, i: usize) -> Span {
    (slices.ts[i], slices.ts[i].saturating_add(slices.dur.get(i).max(0)))
}

/// A summary of a trace, after what a reader has to know first if it is one of captures.
pub fn said_first(trace: &Trace, vendor: Vendor, summary: String) -> String {
    if !captures_graphs(trace) {
        return summary;
    }
    let graphs = match vendor {
        Vendor::Nvidia => "CUDA",
        Vendor::Amd => "HIP",
        Vendor::Unknown => "GPU",
    };
    format!("Capture of {graphs} graphs: kernels are recorded, not run, so idle time is expected. {summary}")
}
