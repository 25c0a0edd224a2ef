//! The index of a trace as a file: see [`crate::index`].

use super::{EXPORTERS, ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::base::steps::{Steps, pause};
use crate::index::{self, Head, SectionWriter};
use std::io::{self, Write};

pub static INFO: ExporterInfo = ExporterInfo {
    id: "index",
    title: "Tracedrop index (opens instantly)",
    extension: index::EXTENSION,
    media_type: "application/octet-stream",
    in_menu: true,
    needs: "a single trace with all events in memory, from one file",
    // An index doesn't contain the other files of a run directory.
    applies: |run| {
        run.traces.len() == 1
            && run.traces.iter().all(|trace| {
                trace.aggregated.is_none() && trace.sidecar_files.is_empty() && trace.text.is_empty()
            })
    },
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move { write(input, out).await.map(LeftOut::nothing) })
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: false,
    takes_notes: false,
};

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(trace) = input.run.traces.first() else { return Ok(()) };
    let mut writer = SectionWriter::new(out)?;
    let mut bytes = Vec::new();
    let mut number = 0;
    while let Some(name) = index::section(trace, number, &mut bytes) {
        writer.write(name, &bytes)?;
        number += 1;
        pause().await;
    }
    let (name, bytes) = index::reports_section(input.document.reports);
    writer.write(name, &bytes)?;
    let exporters = EXPORTERS.iter().filter(|exporter| (exporter.applies)(input.run));
    let exporters: Vec<&str> = exporters.map(|exporter| exporter.id).collect();
    let head = Head::of(trace, input.query.clone(), &exporters, None, input.options.now_ms);
    let (name, bytes) = index::head_section(head);
    writer.write(name, &bytes)?;
    writer.finish(None).map(drop)
}
