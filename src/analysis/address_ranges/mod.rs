//! A list of address ranges opened on its own; it is only useful together with the trace it belongs to.

use super::timeline::{cut, texts, with_left_out};
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, counted};
use crate::memory::ranges;
use crate::report::{Column, Content, Report, Table};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "address-ranges",
    title: "Address ranges",
    applies,
    run,
    group: Group::Memory,
    is_late: false,
};

/// `id` of the format.
const FORMAT: &str = "address-ranges";

fn lists(run: &Run) -> impl Iterator<Item = &Trace> {
    run.traces.iter().filter(|trace| trace.source.format == FORMAT)
}

fn applies(run: &Run) -> bool {
    lists(run).next().is_some()
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for (number, trace) in lists(context.run).enumerate() {
        let mut part = Report::new(INFO.id, INFO.title);
        let summary = add(trace, &mut part);
        if number > 0 {
            super::mrm::number_blocks(&mut part, number, &trace.source.file_name);
        } else {
            report.summary = summary;
        }
        report.blocks.append(&mut part.blocks);
    }
    report
}

/// Adds the table of a list; returns the summary sentence.
fn add(trace: &Trace, report: &mut Report) -> String {
    let mut rows = match ranges::parse(&String::from_utf8_lossy(&trace.text)) {
        Ok(rows) => rows,
        Err(problem) => {
            report.warning(format!("Cannot use the address ranges: {problem}."));
            return "Invalid list of address ranges.".to_string();
        }
    };
    let n = counted(rows.len() as u64, "address range", "address ranges");
    report.info(
        "This isn't a trace: it lists what the addresses of a trace contain. Open it together with its memory trace, or drop \
         it onto the page while that trace is open. On the command line, use --address-ranges.",
    );
    if let Some(warning) = ranges::inverted_warning(&rows) {
        report.warning(warning);
    }
    let n_left_out = cut(&mut rows);
    let address = |id, label: &str, value: fn(&ranges::AddressRange) -> u64| {
        let digits: Vec<String> = rows.iter().map(|row| format!("{:#x}", value(row))).collect();
        Column::text(id, label, Content::Plain, texts(digits.iter().map(|digits| Some(digits.as_str()))))
    };
    let columns = vec![
        Column::key(
            "region_type",
            "kind",
            Content::Plain,
            texts(rows.iter().map(|row| Some(row.region_type.as_str()))),
        ),
        address("addr_start", "start", |row| row.addr_start).as_key(),
        address("addr_end", "end", |row| row.addr_end)
            .hint("first address after the range; an empty range labels the page of its start"),
        Column::counts(
            "bytes",
            "size",
            Unit::Bytes,
            rows.iter().map(|row| row.addr_end.saturating_sub(row.addr_start)),
        ),
    ];
    let table = Table::new("ranges", "Address ranges", columns).if_empty("The list is empty.").not_compared();
    report.table(with_left_out(table, n_left_out));
    format!("{n} for a memory trace.")
}
