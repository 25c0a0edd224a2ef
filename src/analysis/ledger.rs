//! Parsing details as a report: bytes and records read, repaired and skipped, and the issues behind that.

use crate::base::sort;
use crate::base::text::capitalized;
use crate::base::units::{Unit, all_records, counted_records, group_digits};
use crate::report::{Column, Content, Facts, Report, Table, TextCells};
use crate::trace::builder::issues::{MANIFEST_DIFFERS, RUN_CONTAMINATED};
use crate::trace::{IssueKind, Ledger, Run, Severity, SourceInfo, losses};

/// Metadata of the files, one list per file.
pub fn source_facts(run: &Run, format_title: &dyn Fn(&str) -> String) -> Vec<Facts> {
    run.traces.iter().map(|trace| file_facts(&trace.source, format_title)).collect()
}

fn file_facts(source: &SourceInfo, format_title: &dyn Fn(&str) -> String) -> Facts {
    let mut facts = Facts::new(if source.file_name.is_empty() { "File" } else { &source.file_name });
    facts.push("file_name", "File", source.file_name.as_str(), Unit::None);
    facts.push("format", "Format", format_title(source.format), Unit::None);
    if let Some(producer) = &source.producer {
        facts.push("producer", "Producer", producer.as_str(), Unit::None);
    }
    if !source.compression.is_empty() {
        let fact = facts.push("compression", "Compression", source.compression.join(" in "), Unit::None);
        if source.compression.len() > 1 {
            fact.hint("outermost first");
        }
    }
    facts
}

/// "Parsing details", for all files of the run.
pub fn report(run: &Run) -> Report {
    let mut report = Report::new("ledger", "Parsing details");
    for trace in &run.traces {
        let title = if run.traces.len() > 1 { trace.source.file_name.as_str() } else { "Parsing" };
        add_file(&mut report, title, &trace.ledger);
    }
    let severity = run.traces.iter().filter_map(|trace| trace.ledger.severity()).max();
    let has = |kind: &IssueKind| run.traces.iter().any(|trace| trace.ledger.count_of(kind.code) > 0);
    let losses = losses::sentences(run);
    report.summary = match severity {
        // A run can parse cleanly and still be invalid.
        _ if has(&RUN_CONTAMINATED) => {
            "Contaminated run: something disturbed it while it was measured.".to_string()
        }
        _ if has(&MANIFEST_DIFFERS) => "Files in the run directory don't match its manifest.".to_string(),
        // What is missing counts for more than how many records were skipped.
        _ if !losses.is_empty() => format!("Parsed {}. {}", parsed(run), losses.join(" ")),
        None => format!("Parsed {}.", parsed_by(run, all_records)),
        Some(Severity::Note) => format!("Parsed {} with notes.", parsed(run)),
        Some(Severity::Repaired) => format!("Parsed {}; some were repaired.", parsed(run)),
        Some(Severity::Skipped) => {
            format!("Parsed {}; some were skipped. The table shows which and why.", parsed(run))
        }
    };
    report
}

/// How many records were skipped or repaired, for those who get the reports without their parsing details: `1 of 2 stacks was
/// skipped.` `None` if none was.
pub fn skipped_or_repaired(run: &Run) -> Option<String> {
    let sum = |get: fn(&Ledger) -> u64| run.traces.iter().map(|trace| get(&trace.ledger)).sum::<u64>();
    let counts = [
        (sum(|ledger| ledger.skipped.records), "skipped"),
        (sum(|ledger| ledger.repaired.records), "repaired"),
    ];
    let mut told = counts.into_iter().filter(|(n, _)| *n > 0);
    let (n, what) = told.next()?;
    let was = if n == 1 { "was" } else { "were" };
    let mut text = format!("{} of {} {was} {what}", group_digits(n.into()), parsed(run));
    if let Some((n, what)) = told.next() {
        text.push_str(&format!(", {} {what}", group_digits(n.into())));
    }
    Some(text + ".")
}

/// Records of all files with their noun: `4,190 events`.
fn parsed(run: &Run) -> String {
    parsed_by(run, counted_records)
}

fn parsed_by(run: &Run, told: fn(u64, &str) -> String) -> String {
    let n: u64 = run.traces.iter().map(|trace| trace.ledger.n_records()).sum();
    let nouns = || run.traces.iter().map(|trace| &*trace.ledger.record_noun);
    let first = nouns().next().filter(|noun| !noun.is_empty()).unwrap_or("records");
    let many = if nouns().all(|noun| noun == first) { first } else { "records" };
    told(n, many)
}

fn add_file(report: &mut Report, title: &str, ledger: &Ledger) {
    let noun = if ledger.record_noun.is_empty() { "records" } else { &ledger.record_noun };
    let mut facts = Facts::new(title);
    let file_bytes = (ledger.file_bytes > 0).then_some(ledger.file_bytes);
    facts.push("file_bytes", "File", file_bytes, Unit::Bytes).hint("size on disk");
    if Some(ledger.file_bytes_read) != file_bytes {
        facts.push("file_bytes_read", "Bytes read", ledger.file_bytes_read, Unit::Bytes);
    }
    let content = facts.push("content_bytes", "Content", ledger.content_bytes, Unit::Bytes);
    if ledger.content_bytes != ledger.file_bytes_read {
        content.hint("after decompression");
    }
    facts
        .push("records", &capitalized(noun), ledger.n_records(), Unit::Count)
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
        .push("framing_bytes", "Framing", ledger.framing_bytes, Unit::Bytes)
        .hint("whitespace, brackets and keys around the records");
    facts
        .push("unused_bytes", "Bytes unused", ledger.unused_bytes, Unit::Bytes)
        .hint("text outside any record, including anything after the end");
    report.facts(facts);

    let mut issues: Vec<_> = ledger.issues.iter().collect();
    sort::by_key(&mut issues, |issue| std::cmp::Reverse(issue.kind.severity));
    let text = |get: &dyn Fn(usize) -> &'static str| -> TextCells { (0..issues.len()).map(get).collect() };
    report.table(
        Table::new(
            "issues",
            "Parsing issues",
            vec![
                Column::key("code", "code", Content::Plain, text(&|row| issues[row].kind.code)),
                Column::text(
                    "severity",
                    "severity",
                    Content::Plain,
                    text(&|row| severity_name(issues[row].kind.severity)),
                ),
                Column::counts("count", "count", Unit::Count, issues.iter().map(|issue| issue.count)),
                Column::text("what", "issue", Content::Plain, text(&|row| issues[row].kind.what)),
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
                .hint("offset in the decompressed content"),
                Column::text(
                    "example",
                    "example",
                    Content::Record,
                    issues.iter().map(|issue| issue.example.lines().next().unwrap_or_default()).collect(),
                ),
                Column::text("hint", "what to try", Content::Plain, text(&|row| issues[row].kind.hint)),
            ],
        )
        .if_empty("No issues."),
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
            "First skipped lines",
            vec![
                Column::key(
                    "code",
                    "code",
                    Content::Plain,
                    examples.iter().map(|(code, ..)| *code).collect(),
                ),
                Column::counts("number", "number", Unit::Id, examples.iter().map(|(_, n, _)| *n)).as_key(),
                Column::text(
                    "example",
                    "example",
                    Content::Record,
                    examples.iter().map(|(.., example)| *example).collect(),
                ),
            ],
        )
        .caption("The start of each line."),
    );
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Repaired => "repaired",
        Severity::Skipped => "skipped",
    }
}
