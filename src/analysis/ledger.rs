//! The account of reading as a report: how much was read, what was changed or left out, and why.

use crate::base::units::Unit;
use crate::report::{Column, Facts, Report, Table, TextCells};
use crate::trace::builder::issues::{MANIFEST_DIFFERS, RUN_CONTAMINATED};
use crate::trace::{IssueKind, Ledger, Run, Severity, SourceInfo};

/// What the files say of themselves, a list a file.
pub fn source_facts(run: &Run, format_title: &dyn Fn(&str) -> String) -> Vec<Facts> {
    run.traces.iter().map(|trace| file_facts(&trace.source, format_title)).collect()
}

fn file_facts(source: &SourceInfo, format_title: &dyn Fn(&str) -> String) -> Facts {
    let mut facts = Facts::new(if source.file_name.is_empty() { "File" } else { &source.file_name });
    facts.push("file_name", "File", source.file_name.as_str(), Unit::None);
    facts.push("format", "Format", format_title(source.format), Unit::None);
    if let Some(producer) = &source.producer {
        facts.push("producer", "Written by", producer.as_str(), Unit::None);
    }
    if !source.compression.is_empty() {
        let fact = facts.push("compression", "Compression", source.compression.join(" in "), Unit::None);
        if source.compression.len() > 1 {
            fact.hint("outermost first");
        }
    }
    facts
}

/// "What was read", for all files of the run.
pub fn report(run: &Run) -> Report {
    let mut report = Report::new("ledger", "What was read");
    for trace in &run.traces {
        let title = if run.traces.len() > 1 { trace.source.file_name.as_str() } else { "Reading" };
        add_file(&mut report, title, &trace.ledger);
    }
    let severity = run.traces.iter().filter_map(|trace| trace.ledger.severity()).max();
    let has = |kind: &IssueKind| run.traces.iter().any(|trace| trace.ledger.count_of(kind.code) > 0);
    report.summary = match severity {
        // That all of it was read says nothing about what it is worth.
        _ if has(&RUN_CONTAMINATED) => "The run is contaminated: it was disturbed while it was measured.",
        _ if has(&MANIFEST_DIFFERS) => "Files of the run directory are not as its manifest says.",
        None => "Everything was read; nothing was odd.",
        Some(Severity::Note) => "Everything was read as it stands; see the notes.",
        Some(Severity::Repaired) => "Everything was read; some of it was changed in a stated way.",
        Some(Severity::Skipped) => "Something was not used; the table says what and where.",
    }
    .to_string();
    report
}

fn add_file(report: &mut Report, title: &str, ledger: &Ledger) {
    let noun = if ledger.record_noun.is_empty() { "records" } else { &ledger.record_noun };
    let mut facts = Facts::new(title);
    let file_bytes = (ledger.file_bytes > 0).then_some(ledger.file_bytes);
    facts.push("file_bytes", "File", file_bytes, Unit::Bytes).hint("size of the file as it lies on disk");
    if Some(ledger.file_bytes_read) != file_bytes {
        facts.push("file_bytes_read", "Taken from the file", ledger.file_bytes_read, Unit::Bytes);
    }
    facts.push("content_bytes", "Content", ledger.content_bytes, Unit::Bytes).hint("after unpacking");
    facts
        .push("records", &capitalised(noun), ledger.n_records(), Unit::Count)
        .hint("kept + repaired + skipped");
    for (id, label, bytes_id, bytes_label, tally) in [
        ("kept", "Kept", "kept_bytes", "Bytes kept", ledger.kept),
        ("repaired", "Repaired", "repaired_bytes", "Bytes repaired", ledger.repaired),
        ("skipped", "Skipped", "skipped_bytes", "Bytes skipped", ledger.skipped),
    ] {
        facts.push(id, label, tally.records, Unit::Count).hint(noun.to_string());
        facts.push(bytes_id, bytes_label, tally.bytes, Unit::Bytes);
    }
    facts
        .push("framing_bytes", "Between them", ledger.framing_bytes, Unit::Bytes)
        .hint("white space, brackets and keys around the records");
    facts
        .push("unused_bytes", "Bytes not used", ledger.unused_bytes, Unit::Bytes)
        .hint("text that belongs to no record, and what comes behind the end");
    report.facts(facts);

    let mut issues: Vec<_> = ledger.issues.iter().collect();
    issues.sort_by_key(|issue| std::cmp::Reverse(issue.kind.severity));
    let text = |get: &dyn Fn(usize) -> &'static str| -> TextCells { (0..issues.len()).map(get).collect() };
    report.table(
        Table::new(
            "issues",
            "Oddities",
            vec![
                Column::key("code", "code", text(&|row| issues[row].kind.code)),
                Column::text("severity", "severity", text(&|row| severity_name(issues[row].kind.severity))),
                Column::counts("count", "count", Unit::Count, issues.iter().map(|issue| issue.count)),
                Column::text("what", "what", text(&|row| issues[row].kind.what)),
                Column::unsigned(
                    "first_line",
                    "first line",
                    Unit::Id,
                    issues.iter().map(|issue| issue.first.line).collect(),
                ),
                Column::unsigned(
                    "first_byte",
                    "first byte",
                    Unit::Id,
                    issues.iter().map(|issue| issue.first.known_byte()).collect(),
                )
                .hint("in the content after unpacking"),
                Column::text(
                    "example",
                    "example",
                    issues.iter().map(|issue| issue.example.lines().next().unwrap_or_default()).collect(),
                ),
                Column::text("hint", "what to try", text(&|row| issues[row].kind.hint)),
            ],
        )
        .if_empty("Nothing odd was found."),
    );
    let examples: Vec<(&str, u64, &str)> = issues
        .iter()
        .filter(|issue| issue.example.contains('\n'))
        .flat_map(|issue| (1..).zip(issue.example.lines()).map(|(n, example)| (issue.kind.code, n, example)))
        .collect();
    if examples.is_empty() {
        return;
    }
    report.table(
        Table::new(
            "examples",
            "First ones of several",
            vec![
                Column::key("code", "code", examples.iter().map(|(code, ..)| *code).collect()),
                Column::counts("number", "number", Unit::Id, examples.iter().map(|(_, n, _)| *n)).as_key(),
                Column::text("example", "example", examples.iter().map(|(.., example)| *example).collect()),
            ],
        )
        .caption("Beginnings of the first lines that were skipped."),
    );
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Repaired => "repaired",
        Severity::Skipped => "skipped",
    }
}

fn capitalised(noun: &str) -> String {
    let mut chars = noun.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}
