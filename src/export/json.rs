//! Reports as JSON for programs.
//!
//! ```text
//! {"schema":"tracedrop-report/1","title":…,
//!  "source":[FACTS…],                    one per file
//!  "notes":NOTES,                        user notes, as in `notes`; only if there are any
//!  "reports":[REPORT…],"ledger":REPORT}
//! REPORT {"id","title","summary","blocks":[BLOCK…]}
//! BLOCK  {"type":"facts", …FACTS} | {"type":"table", …} | {"type":"note","level":"info"|"warning","text"}
//!      | {"type":"findings","title","caption","findings":[FINDING…]}
//! FINDING {"id","text","time_ns":integer|null,"share":number|null,"evidence":[FACT…],
//!          "rows":{"report","table","filter"}|null}    table rows with the evidence
//! FACTS  {"title","facts":[{"id","label","value","unit","hint"}…]}
//! TABLE  {"id","title","caption","columns":[{"id","label","unit","key","hint"}…],
//!         "sort":{"column","descending"}|null,"rows_left_out":0,"rows":[[cell…]…]}
//! ```
//! All keys are always present, in this order. Integers are exact, so they can exceed 2^53;
//! non-finite doubles and missing values are `null`.
//! Units: `none count id bytes ns ns_offset ns_clock ms s samples ratio unix_s plain address bytes_per_second flops
//! flops_per_second`; `ns_offset` is relative to the start of the trace, `ns_clock` is on the capture clock.

use super::reference::TextFormat;
use super::{ExporterInfo, Input, LeftOut, Options, TextsIn, WriteFn, always, notes};
use crate::base::json::write::{push_f64, push_string};
use crate::base::units::Unit;
use crate::report::{Block, Cells, Fact, Facts, Findings, NoteLevel, Report, Table, Value};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "json",
    title: "JSON report",
    extension: "report.json",
    media_type: "application/json",
    in_menu: true,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: Some(|_| TextFormat::Json),
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

/// Buffer size in bytes before a flush.
const CHUNK_BYTES: usize = 1 << 16;

struct Writer<'a> {
    buffer: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Writer<'_> {
    fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Writes `"key":"text"`, with `before` in front.
    fn text(&mut self, key: &str, text: &str) {
        self.raw(key);
        push_string(text, &mut self.buffer);
    }

    fn pass_on(&mut self, at_least: usize) -> io::Result<()> {
        if self.buffer.len() >= at_least {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let mut w = Writer { buffer: Vec::new(), out };
    w.text("{\"schema\":\"tracedrop-report/1\",\n\"title\":", &document.title);
    w.raw(",\n\"source\":[");
    for (i, facts) in document.source.iter().enumerate() {
        w.raw(if i > 0 { ",\n{" } else { "\n{" });
        write_facts(&mut w, facts);
        w.raw("}");
    }
    w.raw("]");
    if !input.notes().is_empty() {
        w.raw(",\n\"notes\":");
        w.raw(&notes::to_json(input.notes()));
    }
    w.raw(",\n\"reports\":[");
    for (i, report) in document.reports.iter().enumerate() {
        w.raw(if i > 0 { ",\n" } else { "\n" });
        write_report(&mut w, report, input.options)?;
    }
    w.raw("],\n\"ledger\":");
    write_report(&mut w, &document.ledger, input.options)?;
    w.raw("}\n");
    w.pass_on(0)
}

fn write_report(w: &mut Writer<'_>, report: &Report, options: &Options) -> io::Result<()> {
    w.text("{\"id\":", &report.id);
    w.text(",\"title\":", &report.title);
    w.text(",\"summary\":", &report.summary);
    w.raw(",\"blocks\":[");
    for (i, block) in report.written_blocks().enumerate() {
        w.raw(if i > 0 { ",\n" } else { "\n" });
        match block {
            Block::Facts(facts) => {
                w.raw("{\"type\":\"facts\",");
                write_facts(w, facts);
            }
            // Charts are not written.
            Block::Chart(_) => {}
            Block::Note(note) => {
                let level = match note.level {
                    NoteLevel::Info => "info",
                    NoteLevel::Warning => "warning",
                };
                w.text("{\"type\":\"note\",\"level\":", level);
                w.text(",\"text\":", &note.text);
            }
            Block::Findings(findings) => write_findings(w, findings),
            Block::Table(table) => write_table(w, table, options)?,
        }
        w.raw("}");
    }
    w.raw("]}");
    Ok(())
}

fn write_findings(w: &mut Writer<'_>, findings: &Findings) {
    w.text("{\"type\":\"findings\",\"title\":", &findings.title);
    w.text(",\"caption\":", &findings.caption);
    w.raw(",\"findings\":[");
    for (i, finding) in findings.findings.iter().enumerate() {
        w.text(if i > 0 { ",\n{\"id\":" } else { "\n{\"id\":" }, &finding.id);
        w.text(",\"text\":", &findings.line(finding));
        w.raw(",\"time_ns\":");
        push_json(&finding.time.map_or(Value::Missing, Value::Integer), &mut w.buffer);
        w.raw(",\"share\":");
        push_json(&finding.share.map_or(Value::Missing, Value::Float), &mut w.buffer);
        w.raw(",\"evidence\":[");
        write_fact_list(w, &finding.evidence);
        w.raw("],\"rows\":");
        match &finding.rows {
            Some(rows) => {
                w.text("{\"report\":", &rows.report);
                w.text(",\"table\":", &rows.table);
                w.text(",\"filter\":", &rows.filter);
                w.raw("}");
            }
            None => w.raw("null"),
        }
        w.raw("}");
    }
    w.raw("]");
}

fn write_facts(w: &mut Writer<'_>, facts: &Facts) {
    w.text("\"title\":", &facts.title);
    w.raw(",\"facts\":[");
    write_fact_list(w, &facts.facts);
    w.raw("]");
}

fn write_fact_list(w: &mut Writer<'_>, facts: &[Fact]) {
    for (i, fact) in facts.iter().enumerate() {
        w.text(if i > 0 { ",\n{\"id\":" } else { "\n{\"id\":" }, &fact.id);
        w.text(",\"label\":", &fact.label);
        w.raw(",\"value\":");
        push_json(&fact.value, &mut w.buffer);
        w.text(",\"unit\":", unit_name(fact.unit));
        w.text(",\"hint\":", &fact.hint);
        if let Some(mark) = fact.mark {
            w.text(",\"mark\":", mark.name());
        }
        w.raw("}");
    }
}

fn write_table(w: &mut Writer<'_>, table: &Table, options: &Options) -> io::Result<()> {
    w.text("{\"type\":\"table\",\"id\":", &table.id);
    w.text(",\"title\":", &table.title);
    w.text(",\"caption\":", &table.caption);
    w.raw(",\"columns\":[");
    for (i, column) in table.columns.iter().enumerate() {
        w.text(if i > 0 { ",\n{\"id\":" } else { "\n{\"id\":" }, &column.id);
        w.text(",\"label\":", &column.label);
        w.text(",\"unit\":", unit_name(column.unit));
        w.raw(if column.key { ",\"key\":true" } else { ",\"key\":false" });
        w.text(",\"hint\":", &column.hint);
        w.raw("}");
    }
    w.raw("],\n\"sort\":");
    match table.sort.and_then(|sort| Some((table.columns.get(sort.column as usize)?, sort))) {
        Some((column, sort)) => {
            w.text("{\"column\":", &column.id);
            w.raw(if sort.descending { ",\"descending\":true}" } else { ",\"descending\":false}" });
        }
        None => w.raw("null"),
    }
    w.raw(&format!(",\"rows_left_out\":{},\"rows\":[", table.n_left_out));
    let n_rows = if options.without_rows { 0 } else { table.n_rows() };
    for row in 0..n_rows {
        w.raw(if row > 0 { ",\n[" } else { "\n[" });
        for (i, column) in table.columns.iter().enumerate() {
            if i > 0 {
                w.raw(",");
            }
            match &column.cells {
                Cells::Text(cells) => match cells.get(row) {
                    Some(text) => push_string(text, &mut w.buffer),
                    None => w.raw("null"),
                },
                cells => push_json(&cells.get(row), &mut w.buffer),
            }
        }
        w.raw("]");
        w.pass_on(CHUNK_BYTES)?;
    }
    w.raw("]");
    Ok(())
}

fn push_json(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Missing => out.extend_from_slice(b"null"),
        Value::Text(text) => push_string(text, out),
        Value::Float(value) => push_f64(*value, out),
        Value::Unsigned(_) | Value::Integer(_) | Value::Bool(_) => {
            out.extend_from_slice(value.plain().as_bytes())
        }
    }
}

/// Name of a unit, as in JSON.
pub fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "none",
        Unit::Count => "count",
        Unit::Id => "id",
        Unit::Plain => "plain",
        Unit::Address => "address",
        Unit::NsOffset => "ns_offset",
        Unit::NsClock => "ns_clock",
        Unit::Bytes
        | Unit::Ns
        | Unit::Ms
        | Unit::Seconds
        | Unit::Samples
        | Unit::Ratio
        | Unit::UnixSeconds => unit.symbol(),
        Unit::BytesPerSecond => "bytes_per_second",
        Unit::Flops => "flops",
        Unit::FlopsPerSecond => "flops_per_second",
    }
}
