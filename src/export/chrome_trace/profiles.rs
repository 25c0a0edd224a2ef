//! Sample counts without timestamps: metadata and one counter, never an invented time axis.

use super::ids::Numbers;
use super::writer::Writer;
use crate::base::json::write::push_string;
use crate::trace::Trace;
use std::fmt::Write as _;

pub fn write(
    trace: &Trace,
    numbers: &mut Numbers,
    w: &mut Writer<'_>,
    notes: &mut Vec<(&'static str, String)>,
) {
    if trace.profiles.is_empty() {
        return;
    }
    let pid = numbers.new_pid();
    let name = format!("sampling profile without timestamps: {}", trace.source.file_name);
    w.name_and_index(pid, None, None, Some(&name), 0);
    w.open("samples", None, "C");
    w.time(0);
    w.place(pid, None);
    w.raw(",\"args\":{");
    for (i, profile) in trace.profiles.iter().enumerate() {
        if i > 0 {
            w.raw(",");
        }
        // Runs can share an id, but keys of an object must be unique.
        w.string(&format!("run {} {}", i + 1, profile.run_id));
        w.raw(":");
        w.raw(&profile.samples().to_string());
    }
    w.raw("}");
    w.close();

    let mut runs = String::from("[");
    for (i, profile) in trace.profiles.iter().enumerate() {
        let _ = write!(
            runs,
            "{}{{\"run_id\":{},\"mode\":{},\"sample_interval_us\":{},\"samples\":{},\"frames\":{},\"complete\":{}}}",
            if i > 0 { "," } else { "" },
            text(&profile.run_id),
            profile.mode.as_deref().map_or("null".to_string(), text),
            profile.sample_interval_us.map_or("null".to_string(), |us| us.to_string()),
            profile.samples(),
            profile.n_frames(),
            profile.complete,
        );
    }
    runs.push(']');
    notes.push(("time_axis", "\"none: these samples have no timestamps\"".to_string()));
    notes.push(("runs", runs));
}

fn text(text: &str) -> String {
    let mut out = Vec::new();
    push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
