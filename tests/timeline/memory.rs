//! Memory accesses over time: counters and phases have the numbers of the tables.

use crate::support::{data_dirs, files, import, unpacked};
use std::collections::BTreeMap;
use tracedrop::analysis::{self, Context, Query, memory_timeline};
use tracedrop::report::Report;
use tracedrop::timeline::answers::{LoadSort, TimelineAnswer, TimelineAsk};
use tracedrop::timeline::load::load_of;
use tracedrop::timeline::tracks::Content;
use tracedrop::timeline::{Timeline, of_run};
use tracedrop::trace::Run;

/// Time bins of a table's bin.
const FINER: usize = 5;

/// Cells of a table's columns, row by row.
fn cells(reports: &[Report], table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut tables = reports.iter().filter(|it| it.id == "mrm-time").flat_map(Report::tables);
    let Some(table) = tables.find(|it| it.id == table) else { return Vec::new() };
    let cell = |column: &&str, row| table.column(column).unwrap().cells.get(row).plain();
    (0..table.n_rows()).map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect()
}

fn points<'a>(timeline: &'a Timeline, title: &str) -> &'a [(u64, f64)] {
    let is_it = |it: &&tracedrop::timeline::tracks::Track| it.view.title == title;
    match timeline.tracks.iter().find(is_it).map(|track| &track.content) {
        Some(Content::Counter { points }) => points,
        _ => &[],
    }
}

#[test]
fn counters_and_phases_are_those_of_the_tables() {
    let paths = data_dirs("mrm")
        .iter()
        .flat_map(|dir| files(&dir.join("inputs"), &[".txt", ".txt.gz"]))
        .collect::<Vec<_>>();
    let small = paths.into_iter().filter(|path| path.metadata().is_ok_and(|data| data.len() < 200_000));
    let (mut n_bins, mut n_phases) = (0, 0);
    for path in small {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let Ok(trace) = import(&name, &unpacked(&path), None) else { continue };
        let Some((first, last)) = trace.accesses.span().filter(|(first, last)| last - first >= 10_000) else {
            continue;
        };
        assert!(trace.has_times(), "{name}");
        let run = Run::single(trace);
        let mut query = Query::default();
        let middle = (first + last) / 2;
        query.memory.phases = format!(
            r#"[{{"phase":"load","start_ns":0,"end_ns":{middle}}},{{"phase":"run","start_ns":{middle},"end_ns":{}}}]"#,
            i64::MAX
        );
        let reports = analysis::reports(&run, &query);
        let context = Context::new(&run, &query);
        let (drawn, are_made) = memory_timeline::converted(&context).unwrap();
        assert_eq!(are_made, [true]);
        let timeline = of_run(&drawn).unwrap();
        assert_eq!((timeline.starts[0], timeline.span_ns), (first, (last - first) as u64), "{name}");

        let load = load_of(&run).unwrap();
        assert_eq!((load.sort, load.span_ns), (LoadSort::Events, timeline.span_ns), "{name}");

        let rows = cells(&reports, "over_time", &["start", "reads", "writes", "bytes"]);
        let starts: Vec<u64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
        let in_bin = |title: &str, bin: usize| -> Vec<f64> {
            let end = starts.get(bin + 1).copied().unwrap_or(u64::MAX);
            let inside = points(&timeline, title).iter().filter(|(ns, _)| (starts[bin]..end).contains(ns));
            inside.map(|point| point.1).collect()
        };
        for (bin, row) in rows.iter().enumerate() {
            for (title, cell) in [("accesses: reads", &row[1]), ("accesses: writes", &row[2])] {
                let points = in_bin(title, bin);
                assert_eq!(points.len(), FINER, "{name}: {title}");
                assert_eq!(points.iter().sum::<f64>(), cell.parse::<f64>().unwrap(), "{name}: {title}");
            }
            let working_set = in_bin("working set (bytes): touched", bin);
            assert_eq!(working_set, [row[3].parse::<f64>().unwrap()], "{name}: bin {bin}");
            n_bins += 1;
        }
        for row in cells(&reports, "touched_so_far", &["kind", "start", "bytes"]) {
            let bin = starts.iter().position(|start| start.to_string() == row[1]).unwrap();
            let so_far = in_bin(&format!("touched so far (bytes): {}", row[0]), bin);
            assert_eq!(so_far.last(), Some(&row[2].parse::<f64>().unwrap()), "{name}: {row:?}");
        }

        let mut wanted: BTreeMap<String, u64> = BTreeMap::new();
        for row in cells(&reports, "phases", &["phase", "dur"]) {
            *wanted.entry(row[0].clone()).or_default() += row[1].parse::<u64>().unwrap();
        }
        let ask = TimelineAsk::Stretch { from_ns: 0, to_ns: timeline.span_ns };
        let TimelineAnswer::Stretch(stretch) = timeline.answer(&drawn, &ask) else { panic!() };
        for (phase, ns) in wanted {
            let sums = stretch.names.iter().find(|sums| sums.name == phase);
            assert_eq!(sums.map(|sums| sums.total_ns), Some(ns), "{name}: {phase}");
            n_phases += 1;
        }
    }
    assert!(n_bins >= 600 && n_phases >= 10, "{n_bins}, {n_phases}");
}
