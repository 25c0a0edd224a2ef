//! GPU memory by address: when each part of each segment was in use, as a picture of every GPU of a memory snapshot.

mod bands;
mod coverage;
mod intervals;
mod picture;

use super::memory_snapshot::places::{Choice, Places};
use super::memory_snapshot::{Snapshot, allocations, applies, device_column, label, ratio, signed};
use super::several::{numbered, titled};
use super::timeline::{cut, with_left_out};
use super::{AnalysisInfo, Context, Group};
use crate::base::sort;
use crate::base::units::{Unit, counted, format_ratio};
use crate::report::chart::Over;
use crate::report::{Chart, Column, Report, Table};
use picture::Picture;
use std::cmp::Reverse;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "memory-addresses",
    title: "GPU memory by address",
    applies,
    run,
    group: Group::Memory,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let snapshots: Vec<Snapshot<'_>> = context.run.traces.iter().filter_map(Snapshot::new).collect();
    for (number, snapshot) in snapshots.iter().enumerate() {
        let title = |title: &str| titled(title, snapshot.trace, snapshots.len());
        let id = |id: &str| numbered(id, number).into_owned();
        let with_events = snapshot.devices().filter(|(_, device)| !device.events.is_empty());
        let mut pictures: Vec<Picture> =
            with_events.filter_map(|(number, _)| Picture::new(snapshot, number)).collect();
        let fullest = snapshot.fullest().map(|(number, _)| number);
        sort::by_key(&mut pictures, |picture| Some(picture.device) != fullest);
        if report.summary.is_empty() {
            report.summary = pictures.first().map(summary).unwrap_or_default();
        }
        for picture in &mut pictures {
            let (chart, device) = (picture.chart(), picture.device);
            report.chart(Chart {
                id: id(&format!("addresses_chart_gpu{device}")).into(),
                title: title(&format!("Blocks by address over time, {}", label(device))),
                caption: picture.caption(),
                plot: crate::report::chart::Plot::Addresses(chart),
            });
        }
        if pictures.is_empty() {
            continue;
        }
        report.table(ranges(&pictures, id("address_ranges"), title("Address ranges")));
        report.table(blocks(snapshot, &pictures, id("blocks"), title("Blocks with a rectangle")));
    }
    report
}

fn summary(picture: &Picture) -> String {
    let blocks = counted(picture.n_blocks, "block", "blocks");
    let ranges = counted(picture.ranges.len() as u64, "address range", "address ranges");
    // Blocks in ranges that nothing reserved are in use, but not of reserved memory.
    let known = || picture.ranges.iter().filter(|range| range.reserved > 0);
    let used = known().fold(0u128, |sum, range| sum.saturating_add(range.used));
    let reserved = known().fold(0u128, |sum, range| sum.saturating_add(range.reserved));
    let device = label(picture.device);
    match share(used, reserved) {
        Some(share) => format!(
            "{device}: {blocks} in {ranges}; on average, {} of reserved memory was in use.",
            format_ratio(share)
        ),
        None => format!("{device}: {blocks} in {ranges}."),
    }
}

fn share(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// One row for each address range.
fn ranges(pictures: &[Picture], id: String, title: String) -> Table {
    let mut rows: Vec<(usize, &picture::RangeSums)> = pictures
        .iter()
        .flat_map(|picture| picture.ranges.iter().map(|range| (picture.device, range)))
        .collect();
    sort::by_key(&mut rows, |(device, range)| (Reverse(range.bytes), *device, range.low));
    let n_left_out = cut(&mut rows);
    // Events without times count one each.
    let [of_time, of_all, of_reserved] = match pictures.iter().all(|picture| picture.over == Over::Number) {
        true => ["% of events reserved", "of bytes × events", "bytes × events of blocks, of those reserved"],
        false => ["% of time reserved", "of bytes × time", "bytes × time of blocks, of those reserved"],
    };
    let table = Table::new(
        id,
        title,
        vec![
            device_column(rows.iter().map(|row| row.0)),
            Column::integer(
                "address",
                "address",
                Unit::Address,
                rows.iter().map(|(_, range)| Some(range.low)).collect(),
            )
            .as_key(),
            Column::integer(
                "size",
                "size",
                Unit::Bytes,
                rows.iter().map(|(_, range)| Some(signed(range.bytes))).collect(),
            )
            .with_bar(),
            Column::counts("blocks", "blocks", Unit::Count, rows.iter().map(|(_, range)| range.n_blocks))
                .hint("at any time"),
            Column::float(
                "reserved",
                of_time,
                Unit::Ratio,
                rows.iter().map(|(_, range)| share(range.reserved, range.area)).collect(),
            )
            .hint(of_all),
            Column::float(
                "in_use",
                "% in use",
                Unit::Ratio,
                rows.iter().map(|(_, range)| share(range.used, range.reserved)).collect(),
            )
            .hint(of_reserved),
            Column::integer(
                "most_at_once",
                "most at once",
                Unit::Bytes,
                rows.iter().map(|(_, range)| Some(signed(range.most))).collect(),
            )
            .hint("most bytes in use at once"),
            Column::float(
                "most_share",
                "% in use at most",
                Unit::Ratio,
                rows.iter().map(|(_, range)| ratio(range.most, range.bytes)).collect(),
            ),
        ],
    )
    .sorted_by("size", true)
    .caption("One row per segment, or per address range of an expandable segment.")
    .not_compared();
    with_left_out(table, n_left_out)
}

/// One row for each rectangle of the pictures.
fn blocks(snapshot: &Snapshot<'_>, pictures: &[Picture], id: String, title: String) -> Table {
    let mut places = Places::new(snapshot.trace, Choice::Program);
    let mut rows = Vec::new();
    for picture in pictures {
        let own = picture.blocks.iter();
        rows.extend(own.map(|it| (picture.device, places.number(it.stack), *it)));
    }
    sort::by_key(&mut rows, |(device, _, it)| (*device, it.address, it.start));
    allocations::table_of(snapshot, id, title, &places, &rows)
        .caption("One row per block that is large and lasting enough to have a rectangle of its own.")
}
