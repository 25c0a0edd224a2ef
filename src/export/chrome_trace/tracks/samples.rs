//! Stacks and samples, which are separate from the events.

use super::super::writer::Writer;
use super::layout::Layout;
use crate::trace::samples::StackId;

/// Writes stacks and samples, which are separate from the events.
pub async fn write_samples(layouts: &[Layout<'_>], w: &mut Writer<'_>) {
    if layouts.iter().all(|layout| layout.trace.stacks.is_empty() && layout.trace.samples.is_empty()) {
        return;
    }
    w.raw(",\n\"stackFrames\":{");
    let mut first = true;
    for layout in layouts {
        let (stacks, frames) = (&layout.trace.stacks, &layout.trace.frames);
        for stack in 0..stacks.len() {
            let frame = stacks.frame[stack].0 as usize;
            w.pass_on();
            w.raw(if std::mem::take(&mut first) { "\n\"" } else { ",\n\"" });
            w.unsigned(layout.first_stack + stack as u64);
            w.raw("\":{\"name\":");
            w.string(frames.name.get(frame).map_or("", |name| layout.trace.strings.get(*name)));
            if let Some(module) = frames.module.get(frame).and_then(|module| layout.text(*module)) {
                w.raw(",\"category\":");
                w.string(module);
            }
            if stacks.parent[stack] != StackId::NONE {
                w.raw(",\"parent\":\"");
                w.unsigned(layout.first_stack + u64::from(stacks.parent[stack].0));
                w.raw("\"");
            }
            w.raw("}");
            w.pause().await;
        }
    }
    w.raw("\n},\n\"samples\":[");
    first = true;
    for layout in layouts {
        let samples = &layout.trace.samples;
        for i in 0..samples.len() {
            let Some(tid) = layout.tids.get(samples.thread[i].0 as usize) else { continue };
            w.pass_on();
            w.raw(if std::mem::take(&mut first) { "\n{" } else { ",\n{" });
            w.raw("\"ts\":");
            w.micros(layout.time(samples.ts[i]));
            w.raw(",\"tid\":");
            w.unsigned(*tid);
            if let Some(name) = layout.text(samples.name[i]) {
                w.raw(",\"name\":");
                w.string(name);
            }
            if samples.stack[i] != StackId::NONE {
                w.raw(",\"sf\":");
                w.unsigned(layout.first_stack + u64::from(samples.stack[i].0));
            }
            w.raw(",\"weight\":");
            w.float(samples.weight[i]);
            w.raw("}");
            w.pause().await;
        }
    }
    w.raw("\n]");
}
