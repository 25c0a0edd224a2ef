//! The index of a trace as a file: see [`crate::index`].

use super::{EXPORTERS, ExporterInfo, Input};
use crate::index::{self, Head, SectionWriter};
use std::io::{self, Write};

pub static INFO: ExporterInfo = ExporterInfo {
    id: "index",
    title: "Tracedrop index, opens at once",
    extension: index::EXTENSION,
    media_type: "application/octet-stream",
    in_menu: true,
    applies: |run| run.traces.len() == 1 && run.traces.iter().all(|trace| trace.folded.is_none()),
    write,
    reference: None,
};

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(trace) = input.run.traces.first() else { return Ok(()) };
    let mut writer = SectionWriter::new(out)?;
    let mut bytes = Vec::new();
    let mut number = 0;
    while let Some(name) = index::section(trace, number, &mut bytes) {
        writer.write(name, &bytes)?;
        number += 1;
    }
    let exporters = EXPORTERS.iter().filter(|exporter| (exporter.applies)(input.run));
    let (name, bytes) = index::head_section(Head {
        sources: index::SOURCES.to_string(),
        made_ms: input.options.now_ms,
        identity: None,
        source: trace.source.clone(),
        ledger: trace.ledger.clone(),
        has_args: trace.args.keeps_all(),
        query: *input.query,
        reports: input.document.reports.to_vec(),
        exporters: exporters.map(|exporter| exporter.id.to_string()).collect(),
    });
    writer.write(name, &bytes)?;
    writer.finish(None).map(drop)
}
