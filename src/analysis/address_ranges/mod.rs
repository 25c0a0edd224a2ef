//! What lies at which addresses, by itself: it is of use with the trace whose addresses they are.

use super::timeline::{cut, texts, with_left_out};
use super::{AnalysisInfo, Context};
use crate::base::units::{Unit, counted};
use crate::memory::ranges;
use crate::report::{Column, Report, Table};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "address-ranges",
    title: "Address ranges",
    applies,
    run,
    reference: None,
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

/// Adds what there is to say of a list; gives it in a sentence.
fn add(trace: &Trace, report: &mut Report) -> String {
    let mut rows = match ranges::parse(&String::from_utf8_lossy(&trace.text)) {
        Ok(rows) => rows,
        Err(problem) => {
            report.warning(format!("The address ranges can not be used: {problem}."));
            return "This is a list of address ranges, but one that can not be read.".to_string();
        }
    };
    let n = counted(rows.len() as u64, "address range", "address ranges");
    report.info(
        "It is no trace: it says what lies at which addresses of one. Open it together with the trace of memory accesses that it \
         is of, or drop it onto the page while that trace shows; the command takes it with --address-ranges.",
    );
    let n_left_out = cut(&mut rows);
    let address = |id, label: &str, value: fn(&ranges::AddressRange) -> u64| {
        let digits: Vec<String> = rows.iter().map(|row| format!("{:#x}", value(row))).collect();
        Column::text(id, label, texts(digits.iter().map(|digits| Some(digits.as_str()))))
    };
    let columns = vec![
        Column::key("region_type", "kind", texts(rows.iter().map(|row| Some(row.region_type.as_str())))),
        address("addr_start", "first address", |row| row.addr_start).as_key(),
        address("addr_end", "end", |row| row.addr_end).hint("the address behind the last one"),
        Column::counts(
            "bytes",
            "size",
            Unit::Bytes,
            rows.iter().map(|row| row.addr_end.saturating_sub(row.addr_start)),
        ),
    ];
    let table =
        Table::new("ranges", "What lies where", columns).if_empty("The list is empty.").not_compared();
    report.table(with_left_out(table, n_left_out));
    format!("{n}, for a trace of memory accesses.")
}
