//! Fleet datasets: numbers equal those of DuckDB on the same files, however they are cut.

use crate::support::{for_each_cut, import, own_dir};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tracedrop::analysis::{Context, Query, fleet};
use tracedrop::import::FORMATS;
use tracedrop::report::chart::{Heat, Plot};
use tracedrop::report::{Report, Table};
use tracedrop::scene::{Direction, Mark, cell_at, layout, next_cell};
use tracedrop::trace::fleet::{FleetRows, StepRow};
use tracedrop::trace::{Run, Trace};

/// Parts of the dataset, by their names in it.
fn parts() -> Vec<(String, Vec<u8>)> {
    let parts = parts_of("fleet");
    assert_eq!(parts.len(), 16);
    parts
}

fn parts_of(dataset: &str) -> Vec<(String, Vec<u8>)> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below(&path, found),
                false => {
                    found.extend(path.extension().is_some_and(|it| it == "parquet").then_some(path.clone()))
                }
            }
        }
    }
    let folder = own_dir(dataset);
    let mut paths = Vec::new();
    below(&folder, &mut paths);
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(own_dir("fleet").join("expected.json")).unwrap()).unwrap()
}

/// Report on the parts for which `is_in`.
pub fn report(is_in: impl Fn(&str) -> bool) -> Report {
    let traces = parts().into_iter().filter(|(name, _)| is_in(name));
    let traces: Vec<Trace> = traces.map(|(name, bytes)| import(&name, &bytes, None).unwrap()).collect();
    (fleet::INFO.run)(&Context::new(&Run { traces }, &Query::default()))
}

fn table<'a>(report: &'a Report, id: &str) -> &'a Table {
    report.tables().find(|table| table.id == id).unwrap()
}

/// Rows of a table, of these columns, as JSON.
fn rows(table: &Table, columns: &[&str]) -> Vec<Value> {
    let cell = |row: usize, id: &str| match table.column(id).unwrap().cells.get(row) {
        tracedrop::report::Value::Text(text) => json!(text),
        value => value.as_f64().map_or(Value::Null, |number| json!(number)),
    };
    (0..table.n_rows()).map(|row| columns.iter().map(|id| cell(row, id)).collect()).collect()
}

/// The same with all numbers as doubles.
fn as_floats(rows: &Value) -> Vec<Value> {
    let cell = |cell: &Value| cell.as_f64().map_or(cell.clone(), |number| json!(number));
    rows.as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(cell).collect()).collect()
}

#[test]
fn sums_and_medians_are_those_of_duckdb() {
    let (report, expected) = (report(|_| true), expected());
    assert!(report.tables().all(Table::is_sound));
    let columns = [
        "run",
        "rank",
        "steps",
        "gpu_time",
        "computation",
        "exposed_communication",
        "exposed_copies",
        "idle",
    ];
    let ranks = table(&report, "ranks");
    let with_steps: Vec<Value> =
        rows(ranks, &columns).into_iter().filter(|row| row[2] != json!(0.0)).collect();
    assert_eq!(with_steps, as_floats(&expected["ranks"]));
    let steps = rows(table(&report, "steps"), &["run", "step", "median", "max", "median_computation"]);
    assert_eq!(steps, as_floats(&expected["steps"]));
    let over = rows(ranks, &["run", "rank", "computation_over_median"]);
    let over: Vec<&Value> = over.iter().filter(|row| !row[2].is_null()).collect();
    let wanted = expected["computation_over_median"].as_array().unwrap();
    assert_eq!(over.len(), wanted.len());
    for (own, wanted) in over.iter().zip(wanted) {
        assert_eq!(own[0], wanted[0]);
        assert!((own[2].as_f64().unwrap() - wanted[2].as_f64().unwrap()).abs() < 1e-12, "{own} {wanted}");
    }
    let unreadable = rows(ranks, &["run", "file", "error"]);
    let unreadable: Vec<Value> = unreadable.into_iter().filter(|row| !row[2].is_null()).collect();
    assert_eq!(json!(unreadable), expected["unreadable"]);
    assert_eq!(
        report.summary,
        "8 ranks, 8 steps, 2 runs, 1 unreadable file: rank 5 of run monday computes longest, 5.9% over the median; \
         GPU times are within 1.0%."
    );
    assert_eq!(report.warnings().count(), 0);
}

fn heat<'a>(report: &'a Report, id: &str) -> &'a Heat {
    match &report.charts().find(|chart| chart.id == id).unwrap().plot {
        Plot::Heat(heat) => heat,
        _ => panic!("{id} is no heat map"),
    }
}

#[test]
fn heat_map_shows_who_computes_longer_than_the_median() {
    let report = report(|name| name.contains("run=monday"));
    assert!(report.summary.starts_with("6 ranks, 4 steps, run monday, 1 unreadable file: rank 5 "));
    assert!(report.charts().all(|chart| chart.id != "gpu_time_chart"), "all ranks have the same GPU time");
    let computation = heat(&report, "computation_chart");
    assert_eq!((computation.labels.len(), computation.span), (6, 4));
    assert_eq!(computation.labels[0], "rank 5");
    let [slower, faster, near] = &computation.grids[..] else { panic!() };
    assert!(slower.rows[0].iter().all(|over| *over > 0.05 && *over < 0.07));
    for (row, column) in (0..6).flat_map(|row| (0..4).map(move |column| (row, column))) {
        let in_grids = [slower, faster, near].map(|grid| grid.rows[row][column] > 0.0);
        assert_eq!(in_grids.iter().filter(|is_in| **is_in).count(), 1, "each cell has one value");
    }
}

/// Two of six ranks on another host: the summary names it when both are slow.
#[test]
fn slow_hosts_are_named() {
    let report = |slower: f64| {
        let traces = parts().into_iter().filter(|(name, _)| name.contains("run=monday"));
        let mut traces: Vec<Trace> =
            traces.map(|(name, bytes)| import(&name, &bytes, None).unwrap()).collect();
        for trace in &mut traces {
            let host = trace.strings.intern("node-001");
            match trace.fleet.as_mut().map(|part| &mut part.rows) {
                Some(FleetRows::Files(rows)) => {
                    rows.iter_mut().filter(|row| row.rank >= Some(4)).for_each(|row| row.host = host);
                }
                Some(FleetRows::Steps(rows)) => rows
                    .iter_mut()
                    .filter(|row| row.rank == Some(4))
                    .for_each(|row| row.computation = row.computation.map(|ns| (ns as f64 * slower) as i64)),
                _ => {}
            }
        }
        (fleet::INFO.run)(&Context::new(&Run { traces }, &Query::default()))
    };
    let summary = report(1.04).summary;
    let (_, clause) = summary.split_once("; ").unwrap();
    assert!(clause.starts_with("all 2 ranks of host node-001 are at least "), "{summary}");
    assert!(clause.ends_with("over it; GPU times are within 1.0%."), "{summary}");
    assert!(!report(1.0).summary.contains("host"));
}

/// Six ranks, each with two equal GPUs, of which the slowest one is alone on its host: they remain six ranks.
#[test]
fn gpus_of_a_rank_are_one_rank() {
    let traces = parts().into_iter().filter(|(name, _)| name.contains("run=monday"));
    let mut traces: Vec<Trace> = traces.map(|(name, bytes)| import(&name, &bytes, None).unwrap()).collect();
    for trace in &mut traces {
        let (host, device) = (trace.strings.intern("node-001"), trace.strings.intern("another GPU"));
        match trace.fleet.as_mut().map(|part| &mut part.rows) {
            Some(FleetRows::Files(rows)) => {
                rows.iter_mut().filter(|row| row.rank == Some(5)).for_each(|row| row.host = host);
            }
            Some(FleetRows::Steps(rows)) => {
                let others: Vec<_> = rows.to_vec();
                rows.extend(others.into_iter().map(|row| StepRow { device, ..row }));
            }
            _ => {}
        }
    }
    let run = Run { traces };
    let report = (fleet::INFO.run)(&Context::new(&run, &Query::default()));
    assert!(report.summary.contains(": rank 5 computes longest, "), "{}", report.summary);
    assert!(!report.summary.contains("host"), "{}", report.summary);
    let steps = table(&report, "steps");
    assert!(rows(steps, &["ranks"]).iter().all(|row| *row == json!([6.0])), "{:?}", rows(steps, &["ranks"]));
    let ranks = table(&report, "ranks");
    assert!(ranks.caption.starts_with("One row per GPU."));
    assert_eq!(rows(ranks, &["steps"]).iter().filter(|row| **row == json!([4.0])).count(), 12);
    // Nothing in a dataset is an event.
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    assert!(reports.iter().all(|report| report.id != "overview"));
}

#[test]
fn maps_of_alike_ranks_are_shown_only_alone() {
    let ids = |report: &Report| report.charts().map(|chart| chart.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&report(|name| name.contains("run=monday"))), ["computation_chart"]);
    assert_eq!(ids(&report(|name| name.contains("run=tuesday"))), ["gpu_time_chart"]);
}

#[test]
fn cells_name_their_step_and_are_of_the_trace_of_their_rank() {
    let report = report(|name| name.contains("run=monday"));
    let chart = report.charts().find(|chart| chart.id == "computation_chart").unwrap();
    let heat = heat(&report, "computation_chart");
    assert_eq!(heat.names, (0..4).map(|step| format!("ProfilerStep#{step}")).collect::<Vec<_>>());
    let (trace, source) = heat.source((0, 2)).unwrap();
    assert_eq!((&*trace.label, &*trace.file), ("rank 5", "node-000_4005.1790000000005.pt.trace.json.gz"));
    assert_eq!((source.number, source.time), (3, Some((1_232_946, 613_572))));

    // All cells, by keys: rows from the top, each from the left.
    let mut cells = Vec::new();
    let mut first = next_cell(chart, 800.0, None).unwrap();
    assert_eq!(first.at, (5, 0));
    loop {
        let mut cell = first.clone();
        loop {
            cells.push(cell.clone());
            let middle = (cell.x + cell.width / 2.0, cell.y + cell.height / 2.0);
            assert_eq!(cell_at(chart, 800.0, middle).as_ref(), Some(&cell));
            let next = next_cell(chart, 800.0, Some((cell.at, Direction::Right))).unwrap();
            assert_eq!(next == cell, cell.at.1 == 3);
            if next == cell {
                break;
            }
            cell = next;
        }
        let below = next_cell(chart, 800.0, Some((first.at, Direction::Down))).unwrap();
        if below == first {
            break;
        }
        first = below;
    }
    let drawn = layout(chart, 800.0).marks.into_iter().filter_map(|mark| match mark {
        Mark::Cell { x, y, title, .. } if !title.is_empty() => Some((title, x, y)),
        _ => None,
    });
    let mut drawn: Vec<(String, f64, f64)> = drawn.collect();
    drawn.sort_by(|a, b| (a.2, a.1).partial_cmp(&(b.2, b.1)).unwrap());
    assert_eq!(drawn, cells.iter().map(|cell| (cell.title.clone(), cell.x, cell.y)).collect::<Vec<_>>());
    assert!(cells[0].title.starts_with("rank 0 · #1 ProfilerStep#0: within 1% "), "{}", cells[0].title);
    assert!(cells[22].title.starts_with("rank 5 · #3 ProfilerStep#2: slower 5."), "{}", cells[22].title);
    assert_eq!(cell_at(chart, 800.0, (1.0, 1.0)), None);
}

#[test]
fn scales_have_no_text_twice_however_small_the_differences() {
    let report = report(|name| name.contains("run=monday"));
    let texts = |values: &[f64], grid: usize| {
        let mut chart = report.charts().find(|chart| chart.id == "computation_chart").unwrap().clone();
        if let Plot::Heat(heat) = &mut chart.plot {
            heat.grids
                .iter_mut()
                .flat_map(|grid| grid.rows.iter_mut().flatten())
                .for_each(|over| *over = 0.0);
            values.iter().enumerate().for_each(|(at, value)| heat.grids[grid].rows[0][at] = *value);
        }
        let marks = layout(&chart, 800.0).marks.into_iter();
        let percent = |mark| match mark {
            Mark::Text { text, .. } if text.ends_with('%') => Some(text),
            _ => None,
        };
        marks.filter_map(percent).collect::<Vec<_>>()
    };
    let slower = |most: f64| texts(&[most * 0.01, most], 0);
    assert_eq!(slower(0.5).last().unwrap(), "50.0%");
    assert_eq!(slower(0.006), ["0.1%", "0.2%", "0.4%", "0.5%", "0.6%"]);
    assert_eq!(slower(0.003), ["0.06%", "0.12%", "0.18%", "0.24%", "0.30%"]);
    // Only strengths that a cell has; none for cells without a difference.
    assert_eq!(texts(&[0.5], 0), ["50.0%"]);
    assert!(texts(&[1e-9, 0.009], 2).is_empty());
}

#[test]
fn parts_of_schema_version_3_are_read() {
    let parts = parts_of("fleet-3");
    assert_eq!(parts.len(), 9);
    for (name, bytes) in parts {
        let trace = import(&name, &bytes, None).unwrap();
        let of = |key: &str| &trace.source.metadata.iter().find(|(name, _)| name == key).unwrap().1;
        assert!(name.starts_with(&format!("table={}/", of("table"))), "{name}: {}", of("table"));
        assert_eq!(of("schema_version"), "3");
        assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{name}");
    }
}

#[test]
fn parts_alone_say_what_they_can() {
    let steps = report(|name| name == "table=steps/run=monday/part-4279a304fbfb71bc.parquet");
    assert!(steps.summary.starts_with("6 ranks, 4 steps, run monday: rank 5 computes longest"));
    let files = report(|name| name.starts_with("table=files/run=monday"));
    assert_eq!(files.summary, "6 ranks, 0 steps, run monday, 1 unreadable file; no steps with GPU time.");
    let kernels = report(|name| name.starts_with("table=kernels"));
    assert_eq!(kernels.summary, "The dataset has no files and no steps.");
}

#[test]
fn steps_of_interrupted_parts_are_left_out() {
    let traces = parts().into_iter().filter(|(name, _)| name.contains("run=tuesday"));
    let rename = |(name, bytes): (String, Vec<u8>)| match name.contains("table=files") {
        true => ("table=files/run=tuesday/part-0.parquet".to_string(), bytes),
        false => (name, bytes),
    };
    let traces = traces.map(rename).map(|(name, bytes)| import(&name, &bytes, None).unwrap()).collect();
    let report = (fleet::INFO.run)(&Context::new(&Run { traces }, &Query::default()));
    assert!(report.warnings().next().unwrap().starts_with("8 steps of incomplete parts left out"));
    assert!(rows(table(&report, "ranks"), &["gpu_time"]).iter().all(|row| row[0].is_null()));
}

#[test]
fn steps_that_may_be_of_several_files_are_left_out() {
    let run = |name: &str| name.replace("run=tuesday", "run=monday");
    let traces =
        parts().into_iter().map(|(name, bytes)| import(&run(&name), &bytes, None).unwrap()).collect();
    let report = (fleet::INFO.run)(&Context::new(&Run { traces }, &Query::default()));
    assert!(
        report.warnings().next().unwrap().starts_with("16 steps left out: several files have the same rank")
    );
    assert!(report.summary.starts_with("6 ranks, 4 steps, run monday"));
}

#[test]
fn parts_are_read_alike_however_they_are_cut() {
    for (name, bytes) in parts() {
        let mut first = None;
        for_each_cut(&name, &bytes, None, &mut |way, trace| {
            let trace = trace.unwrap();
            assert_eq!(trace.source.format, "fleet-parquet", "{name} {way}");
            assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{name} {way}");
            let part = trace.fleet.clone().unwrap();
            assert!(part.is_sound(trace.strings.len()));
            let is_read = !matches!(part.rows, FleetRows::NotRead);
            assert_eq!(trace.ledger.count_of("fleet-table-not-shown"), u64::from(!is_read), "{name} {way}");
            assert_eq!(trace.ledger.kept.records > 0, is_read, "{name} {way}");
            assert_eq!(&part, first.get_or_insert_with(|| part.clone()), "{name} {way}");
        });
    }
}

#[test]
fn cut_and_damaged_parts_are_refused_or_skipped() {
    for (name, bytes) in parts() {
        for n in (0..bytes.len()).step_by(97) {
            assert!(import(&name, &bytes[..n], None).is_err(), "{name} cut to {n} bytes");
        }
        // Damage of the pages leaves the footer intact.
        let mut damaged = bytes.clone();
        damaged[4..60].fill(0xff);
        if let Ok(trace) = import(&name, &damaged, None) {
            assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{name}");
            let is_read = !matches!(trace.fleet.unwrap().rows, FleetRows::NotRead);
            assert!(!is_read || trace.ledger.count_of("fleet-damaged-group") > 0, "{name}");
        }
    }
}

#[test]
fn format_is_listed() {
    assert!(FORMATS.iter().any(|format| format.id == "fleet-parquet"));
}
