//! Run directories and Parquet files as the reference wrote them, and as they are written again.

use crate::support;
use crate::support::{data_dirs, import};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::base::json::Json;
use tracedrop::base::strings::StringTable;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::csv::table_csv;
use tracedrop::export::mrm_run;
use tracedrop::import::part_scheduler::{Next, PartScheduler};
use tracedrop::import::{Import, perf_text};
use tracedrop::memory_run::dataset::{self, Dataset};
use tracedrop::memory_run::manifest::{Manifest, State};
use tracedrop::memory_run::schema::{self, Check, Kind};
use tracedrop::memory_run::trace_table::{self, region_name};
use tracedrop::memory_run::{self, Contents, RunDirectory, metadata, metrics};
use tracedrop::parquet::{self, Column, ColumnSpec, Error, ParquetFile, Values, Writer};
use tracedrop::report::Table;
use tracedrop::report::chart::Plot;
use tracedrop::trace::Trace;
use tracedrop::trace::accesses::{Access, AccessTable, Op, RegionType};
use tracedrop::trace::args::Content;

fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    serde_json::from_str(&text).unwrap()
}

/// Every folder below `dir` that holds a trace.
fn run_dirs(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(if path.join("trace.parquet").is_file() { vec![path] } else { run_dirs(&path) });
        }
    }
    found.sort();
    found
}

fn files_of(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), std::fs::read(path).unwrap()))
        .collect()
}

fn named(files: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

/// A row as the goldens have it: 18 columns with tabs between them, nothing for null.
fn push_line(run_id: &str, it: &Access, strings: &StringTable, out: &mut String) {
    use std::fmt::Write;
    fn number<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let text = |id| strings.get_opt(id).unwrap();
    let optional = |id: Option<_>| id.map_or("", text);
    let op = match it.op {
        Op::Load => "load",
        Op::Store => "store",
        Op::Other => optional(it.op_text),
    };
    let region = match it.region {
        RegionType::Other => optional(it.region_text),
        region => region_name(region),
    };
    writeln!(
        out,
        "{run_id}\t{}\t{}\t{}\t{}\t{}\t{op}\t{}\t{}\t{region}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
        it.sample,
        it.ts,
        optional(it.phase),
        it.address,
        it.page(),
        optional(it.symbol),
        optional(it.dso),
        it.region_id,
        number(it.latency),
        optional(it.cache_level),
        number(it.remote),
        number(it.cpu),
        number(it.thread),
        number(it.token_index),
        number(it.context_tokens),
    )
    .unwrap();
}

fn lines(run_id: &str, rows: &AccessTable, strings: &StringTable) -> String {
    let mut out = String::new();
    rows.iter().for_each(|row| push_line(run_id, &row, strings, &mut out));
    out
}

fn lines_of(run: &RunDirectory) -> String {
    lines(&run.run_id, run.accesses.as_ref().unwrap(), &run.strings)
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_again(run: &RunDirectory) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let contents = Contents {
        run_id: &run.run_id,
        rows: || run.accesses.as_ref().unwrap().iter(),
        strings: &run.strings,
        regions: &run.regions,
        kv_blocks: &run.kv_blocks,
        metrics: &run.metrics,
        metadata: run.metadata.as_ref(),
        prompt_outputs: run.prompt_outputs.as_ref(),
        figures: Vec::new(),
        now_ms: 1_795_252_616_060,
    };
    memory_run::write(contents, &mut files).unwrap();
    files
}

/// All that was read has to come back when it is written: tables as rows, texts byte for byte.
fn assert_comes_back(what: &str, run: &RunDirectory, files: &[(String, Vec<u8>)]) {
    let written = write_again(run);
    let written: Vec<(&str, &[u8])> =
        written.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let again = memory_run::read(&written);
    assert_eq!(again.problems, [], "{what}");
    assert!(again.checks.iter().all(|check| check.state == State::Same), "{what}: {:?}", again.checks);
    assert!(lines_of(&again) == lines_of(run), "{what}");
    assert_eq!((&again.regions, &again.kv_blocks), (&run.regions, &run.kv_blocks), "{what}");
    assert_eq!(again.metrics, run.metrics);
    for name in ["metrics.csv", "metadata.json", "prompt_outputs.json"] {
        let find = |(other, _): &&(&str, &[u8])| *other == name;
        let (old, new) = (named(files), written.iter().find(find).map(|(_, bytes)| *bytes));
        if let Some((_, old)) = old.iter().find(find) {
            assert!(Some(*old) == new, "{what}: {name}");
        }
    }
    // The manifest's own layout, with the time it was written at.
    let find = |name: &str| files.iter().find(|(other, _)| other == name).map(|(_, bytes)| bytes.as_slice());
    if let Some(bytes) = find("manifest.json") {
        let manifest = Manifest::read(bytes).unwrap();
        assert_eq!(manifest.to_json().to_python_text(2).as_bytes(), bytes, "{what}");
    }
}

#[test]
fn runs_of_version_0_1_0() {
    for dir in data_dirs("mrm") {
        for path in run_dirs(&dir.join("runs")) {
            let files = files_of(&path);
            let run = memory_run::read(&named(&files));
            let what = path.display().to_string();
            assert_eq!(run.problems, [], "{what}");
            assert_eq!(run.checks.len(), 5);
            assert!(run.checks.iter().all(|check| check.state == State::Same), "{what}: {:?}", run.checks);
            let case = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
            let plain = dir.join("cases").join(format!("{case}.expected.json"));
            let expected = json(&if plain.is_file() { plain } else { plain.with_extension("json.gz") });
            let labelled = &expected["labelled_keep"];
            // The rows of the goldens have a short name of their own.
            let run_id = expected["run_id"].as_str().unwrap();
            let text = lines(run_id, run.accesses.as_ref().unwrap(), &run.strings);
            let text = if digest(&text) == labelled["rows_sha256"] { text } else { lines_of(&run) };
            assert_eq!(digest(&text), labelled["rows_sha256"], "{what}");
            let regions = labelled["region_map"].as_array().unwrap();
            assert_eq!(run.regions.len(), regions.len(), "{what}");
            for (row, wanted) in run.regions.iter().zip(regions) {
                assert_eq!(row.region_type, wanted["region_type"].as_str().unwrap());
                let got = [
                    row.region_id,
                    row.page_min,
                    row.page_max,
                    row.first_seen_ns,
                    row.last_seen_ns,
                    row.access_count,
                ];
                let keys =
                    ["region_id", "page_min", "page_max", "first_seen_ns", "last_seen_ns", "access_count"];
                assert_eq!(got, keys.map(|key| wanted[key].as_u64().unwrap()), "{what}");
            }
            let blocks = labelled["kv_lifecycle"].as_array().unwrap();
            assert_eq!(run.kv_blocks.len(), blocks.len(), "{what}");
            for (row, wanted) in run.kv_blocks.iter().zip(blocks) {
                assert_eq!(row.evict_ns, wanted["evict_ns"].as_u64());
                let got = [
                    row.block_id,
                    row.address,
                    row.address_page,
                    row.write_ns,
                    row.last_read_ns,
                    row.total_reads,
                    row.lifetime_ns,
                ];
                let keys = [
                    "block_id",
                    "address",
                    "address_page",
                    "write_ns",
                    "last_read_ns",
                    "total_reads",
                    "lifetime_ns",
                ];
                assert_eq!(got, keys.map(|key| wanted[key].as_u64().unwrap()), "{what}");
            }
            let told = run.metadata.as_ref().unwrap();
            assert_eq!(metadata::phases(told).len(), expected["phase_boundaries"].as_array().unwrap().len());
            assert!(metadata::known(told).contains(&("run_validity", "Validity", "clean".to_string())));
            assert_comes_back(&what, &run, &files);
        }
    }
}

#[test]
fn runs_of_version_0_1_23() {
    for dir in data_dirs("mrm") {
        let cases = json(&dir.join("cases/latest-runs.json"));
        for case in cases.as_array().unwrap().iter().filter(|case| case["run"].is_string()) {
            let path = dir.join(case["run"].as_str().unwrap());
            let files = files_of(&path);
            let run = memory_run::read(&named(&files));
            assert_eq!(run.problems, []);
            assert!(run.checks.iter().all(|check| check.state == State::Same), "{:?}", run.checks);
            let rows = run.accesses.as_ref().unwrap();
            assert_eq!(rows.len() as u64, case["rows"].as_u64().unwrap());
            for (region, n) in case["rows_per_type"].as_object().unwrap() {
                assert_eq!(
                    rows.iter().filter(|row| region_name(row.region) == region).count() as u64,
                    n.as_u64().unwrap()
                );
            }
            for (level, n) in case["rows_per_cache_level"].as_object().unwrap() {
                let at = |row: &Access| row.cache_level.is_some_and(|id| run.strings.get(id) == level);
                assert_eq!(rows.iter().filter(at).count() as u64, n.as_u64().unwrap());
            }
            assert!(run.prompt_outputs.as_ref().and_then(|json| json.get("prompts")).is_some());
            assert_comes_back(&path.display().to_string(), &run, &files);
        }
        let bytes = std::fs::read(dir.join("runs-latest/manifest.csv")).unwrap();
        let dataset = Dataset::read(&bytes).unwrap();
        assert_eq!(dataset.columns, dataset::COLUMNS);
        assert_eq!(dataset.write().as_bytes(), bytes);
        assert_eq!((dataset.rows.len(), dataset.get(1, "machine_id")), (2, Some("node-b")));
    }
}

#[test]
fn a_directory_that_was_changed_is_shown_and_said_to_be() {
    for dir in data_dirs("mrm") {
        let cases = json(&dir.join("cases/runs-bad.json"));
        for (name, expected) in cases.as_object().unwrap() {
            let run = memory_run::read(&named(&files_of(&dir.join("runs-bad").join(name))));
            assert_eq!(run.checks.len(), expected.as_object().unwrap().len());
            for check in &run.checks {
                let wanted = match expected[&check.path].as_str().unwrap() {
                    "ok" => State::Same,
                    "same size, other SHA-256" => State::Changed,
                    "named in the manifest, absent" => State::Missing,
                    "present, not named in the manifest" => State::NotListed,
                    other => panic!("{other}"),
                };
                assert_eq!(check.state, wanted, "{}", check.path);
            }
            assert!(run.accesses.is_some_and(|rows| !rows.is_empty()));
        }
    }
}

#[test]
fn parquet_in_every_compression_and_encoding() {
    for dir in data_dirs("mrm") {
        let golden = json(&dir.join("cases/tiny-24.expected.json"));
        let golden = &golden["labelled_keep"]["rows_sha256"];
        for case in json(&dir.join("cases/parquet-variants.json")).as_array().unwrap() {
            let name = case["file"].as_str().unwrap();
            let bytes = std::fs::read(dir.join("parquet-variants").join(name)).unwrap();
            let file = ParquetFile::open(bytes.as_slice()).unwrap();
            assert_eq!(file.n_rows(), case["rows"].as_u64().unwrap(), "{name}");
            assert_eq!(file.n_row_groups() as u64, case["row_groups"].as_u64().unwrap(), "{name}");
            match schema::check(Kind::Trace, &file) {
                Check::Fits => assert_eq!(case["check"], "ok", "{name}"),
                Check::Missing(columns) => {
                    assert_eq!(case["check"]["error"], "ValueError", "{name}");
                    assert!(!columns.is_empty() && columns.is_sorted());
                    continue;
                }
                Check::Version(_) => assert!(case["check"]["error"].is_string(), "{name}"),
            }
            let (mut strings, mut rows) = (StringTable::default(), AccessTable::default());
            let info = trace_table::read(&file, &mut strings, &mut rows).unwrap();
            assert_eq!((info.n_skipped, info.has_several_runs), (0, false), "{name}");
            if rows.len() == 24 {
                let text = lines(info.run_id.as_deref().unwrap(), &rows, &strings);
                assert_eq!(&Value::String(digest(&text)), golden, "{name}");
            }
        }
    }
    assert_eq!(schema::is_compatible("1.9"), Ok(true));
    assert_eq!(schema::is_compatible("2.0"), Ok(false));
    assert!(["", "1", "1.0.0", "a.b"].iter().all(|version| schema::is_compatible(version).is_err()));
}

/// A file that was cut or damaged is refused or read, and nothing else happens.
#[test]
fn damaged_parquet_is_refused() {
    let dir = support::own_dir("mrm").join("parquet-variants");
    let mut random = support::Random(0x1234_5678_9abc_def1);
    for name in [
        "codec-zstd",
        "codec-lz4",
        "codec-snappy",
        "codec-brotli",
        "codec-gzip",
        "delta",
        "plain-v2pages-rg7",
    ] {
        let whole = std::fs::read(dir.join(format!("{name}.parquet"))).unwrap();
        for len in [0, 3, 8, 11, 12, whole.len() / 2, whole.len() - 1] {
            assert!(matches!(ParquetFile::open(&whole[..len]).err().unwrap(), Error::Damaged(_)));
        }
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
            let files = [("trace.parquet", bytes.as_slice())];
            memory_run::read(&files);
        }
    }
}

#[test]
fn tables_without_rows_and_with_gaps() {
    let empty = RunDirectory {
        run_id: "r".into(),
        accesses: Some(AccessTable::default()),
        ..RunDirectory::default()
    };
    assert_comes_back("empty", &empty, &[]);
    let of = |name: &'static str, kind| ColumnSpec { name: name.into(), kind };
    let specs = [
        ColumnSpec::uint("a", 16),
        ColumnSpec::text("b"),
        ColumnSpec::uint("c", 64),
        of("d", parquet::Kind::Int { bits: 64, signed: true }),
        of("e", parquet::Kind::Float { bits: 64 }),
        of("f", parquet::Kind::Bool),
    ];
    let mut writer = Writer::new(&specs, &[("k", "v")]);
    let ints: Vec<Option<i64>> = (0..1000).map(|n| (n % 3 > 0).then_some(n % 70)).collect();
    let texts: Vec<Option<String>> = (0..1000).map(|n| (n % 7 > 0).then(|| format!("text {n}"))).collect();
    let large: Vec<Option<i64>> = (0..1000).map(|n| Some(i64::MIN + n * 977)).collect();
    let doubles: Vec<f64> =
        (0..1000).map(|n| [f64::NAN, -0.0, 1e300, f64::NEG_INFINITY, 0.1 + n as f64][n % 5]).collect();
    let bools: Vec<bool> = (0..1000).map(|n| n % 11 < 4).collect();
    let valid: Vec<bool> = (0..1000).map(|n| n % 13 != 5).collect();
    let gaps = |values| Column { valid: Some(valid.clone()), values };
    for _ in 0..2 {
        let texts = texts.iter().map(|text| text.as_deref());
        writer.row_group(
            1000,
            &[
                Column::of_ints(ints.clone()),
                Column::of_texts(texts),
                Column::of_ints(large.clone()),
                Column::of_ints(large.clone()),
                gaps(Values::Floats(doubles.clone())),
                gaps(Values::Bools(bools.clone())),
            ],
        );
    }
    let bytes = writer.finish();
    let file = ParquetFile::open(bytes.as_slice()).unwrap();
    assert_eq!((file.n_rows(), file.key_values()), (2000, &[("k".to_string(), "v".to_string())][..]));
    for group in 0..2 {
        let [a, b, c] = [0, 1, 2].map(|column| file.read_column(group, column).unwrap());
        for row in 0..1000 {
            assert_eq!((a.int(row), b.text(row), c.int(row)), (ints[row], texts[row].as_deref(), large[row]));
        }
        let [d, e, f] = [3, 4, 5].map(|column| file.read_column(group, column).unwrap());
        let (Values::Floats(e_values), Values::Bools(f_values)) = (&e.values, &f.values) else { panic!() };
        for row in 0..1000 {
            assert_eq!((d.int(row), e.is_valid(row), f.is_valid(row)), (large[row], valid[row], valid[row]));
            if valid[row] {
                assert_eq!((e_values[row].to_bits(), f_values[row]), (doubles[row].to_bits(), bools[row]));
            }
        }
    }
}

#[test]
fn metrics_take_what_pandas_writes() {
    let text = "region_type,n_regions,retention_p99_s,write_once_ratio_mean,suitability\nkv_cache,2.0,5.6e-08,,low_mrm\n";
    let rows = metrics::read(text.as_bytes()).unwrap();
    assert_eq!(
        (rows[0].n_regions, rows[0].retention_p99_s, rows[0].write_once_ratio_mean),
        (Some(2), Some(5.6e-8), None)
    );
    assert_eq!(metrics::write(&rows).lines().nth(1), Some("kv_cache,2,,,5.6e-08,,,,,,low_mrm"));
    assert!(metrics::read(b"a,b\n1,2\n").unwrap_err().contains("n_regions, region_type"));
    assert_eq!(Json::parse(b"{\"a\": {\"b\": 1}}").unwrap().at("a.b").and_then(Json::as_u64), Some(1));
}

/// Through the import, read again at any place and not, and however it is cut.
#[test]
fn parquet_traces_are_imported() {
    for dir in data_dirs("mrm") {
        for path in support::files(&dir.join("parquet-variants"), &[".parquet"]) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let mut first = None;
            support::for_each_cut(name, &bytes, None, &mut |how, trace| {
                let told = match trace {
                    Err(error) => error.to_string(),
                    Ok(trace) => {
                        let rows = lines("r", &trace.accesses, &trace.strings);
                        format!("{rows}{:?}{:?}", trace.ledger, trace.source)
                    }
                };
                assert!(*first.get_or_insert_with(|| told.clone()) == told, "{name} {how}");
            });
            let trace = support::import(name, &bytes, None);
            match name {
                "version-2.0.parquet" | "version-junk.parquet" => {
                    assert_eq!(trace.err().unwrap().code, "parquet-version");
                }
                "zero-rows.parquet" => assert!(trace.unwrap().accesses.is_empty()),
                "missing-columns.parquet" => match trace {
                    Ok(trace) => assert_eq!(trace.ledger.count_of("mrm-missing-columns"), 1),
                    Err(error) => assert_eq!(error.code, "parquet-other-table"),
                },
                _ => {
                    let trace = trace.unwrap();
                    assert_eq!((trace.accesses.len(), trace.ledger.kept.records), (24, 24), "{name}");
                    assert_eq!(trace.ledger.skipped.records, 0);
                    assert!(trace.accesses.is_labelled(), "{name}");
                    let extra = u64::from(name == "extra-column.parquet");
                    assert_eq!(trace.ledger.count_of("mrm-extra-columns"), extra, "{name}");
                }
            }
            // Cut in the middle there is no footer, and so nothing.
            let cut = &bytes[..bytes.len() / 2];
            assert_eq!(support::import(name, cut, None).err().unwrap().code, "parquet-unreadable");
        }
        for path in support::all_files(&run_dirs(&dir.join("runs"))[0], &["map.parquet"]) {
            let error = support::import("x.parquet", &std::fs::read(path).unwrap(), None).err().unwrap();
            assert_eq!(error.code, "parquet-other-table");
        }
    }
}

/// Row groups that several read are those that one reads, also where rows depend on what is before them: of another run or of none,
/// without a number, without an address, in a group that is damaged.
#[test]
fn row_groups_are_read_by_several() {
    const N_GROUPS: i64 = 40;
    let columns = trace_table::COLUMNS;
    for odd in ["nothing", "runs", "no run", "no run at first", "numbers", "addresses", "damage", "labels"] {
        let mut writer = Writer::new(&columns, &[]);
        for group in 0..N_GROUPS {
            let n_rows = 5 + group * 613 % 2500;
            let is_odd = group % 13 == 7;
            let run = match odd {
                "runs" if group > 30 => Some("other"),
                "no run" if is_odd => None,
                "no run at first" if group < 9 => None,
                _ => Some("run"),
            };
            let symbols: Vec<String> = (0..n_rows).map(|n| format!("f{}", (n * group) % 50)).collect();
            let gap = |what: &str, n: i64| odd == what && is_odd && n % 3 == 1;
            let table: Vec<Column> = columns
                .iter()
                .map(|column| match &*column.name {
                    "run_id" => Column::of_texts((0..n_rows).map(|_| run)),
                    "sample_id" => {
                        Column::of_ints((0..n_rows).map(|n| Some(n * 7).filter(|_| !gap("numbers", n))))
                    }
                    "timestamp_ns" => Column::of_ints((0..n_rows).map(|n| Some(group * 10_000 + n))),
                    "address" => Column::of_ints(
                        // Without a pattern, so that the file is long enough for several to read it.
                        (0..n_rows)
                            .map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64).rotate_left(29))
                            .enumerate()
                            .map(|(n, address)| Some(address).filter(|_| !gap("addresses", n as i64))),
                    ),
                    "op_type" => Column::of_texts(
                        (0..n_rows).map(|n| Some(["load", "store", "fence"][n as usize % 3])),
                    ),
                    "symbol" => Column::of_texts(symbols.iter().map(|symbol| Some(symbol.as_str()))),
                    // All of them are labelled, or only some late in the file.
                    "region_type" if odd == "labels" && group < 35 => {
                        Column::of_texts((0..n_rows).map(|n| ["unknown", ""].get(n as usize % 3).copied()))
                    }
                    "region_type" => Column::of_texts((0..n_rows).map(|_| Some("weight"))),
                    "region_id" if odd == "labels" && group < 35 => {
                        Column::of_ints((0..n_rows).map(|n| Some(0).filter(|_| n % 2 == 0)))
                    }
                    "region_id" => Column::of_ints((0..n_rows).map(|n| Some(n % 3))),
                    _ => Column::default(),
                })
                .collect();
            writer.row_group(n_rows as usize, &table);
        }
        let mut bytes = writer.finish();
        if odd == "damage" {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 2000].fill(0x55);
        }
        let mut first = None;
        support::for_each_cut("trace.parquet", &bytes, None, &mut |how, trace| {
            let trace = trace.unwrap();
            assert!(trace.accesses.is_labelled(), "{odd} {how}");
            let rows = lines("r", &trace.accesses, &trace.strings);
            let told = format!("{rows}{:?}{:?}", trace.ledger, trace.source);
            assert!(*first.get_or_insert_with(|| told.clone()) == told, "{odd} {how}");
        });
        if odd == "nothing" {
            // Who stops keeps the rows that are there, and what is known of their run.
            let content: Rc<dyn Content> = Rc::new(bytes.clone());
            let mut import = Import::new("trace.parquet", bytes.len() as u64);
            import.can_read_again(content.clone());
            import.feed(&bytes[..bytes.len() / 2]);
            let mut reader = (import.parts().unwrap().reader)();
            let mut scheduler =
                PartScheduler::new(import.position()..bytes.len() as u64, bytes.len() as u64 / 4);
            let stretch = scheduler.next_range().unwrap();
            reader.lend(content);
            reader.start(stretch.start, stretch.end);
            scheduler.put_back(&stretch, Some(reader.finish()));
            while let Next::Feed(range) = scheduler.advance(&mut import) {
                import.feed(&bytes[range.start as usize..range.end as usize]);
            }
            let trace = import.stop("enough").unwrap();
            assert!(!trace.accesses.is_empty());
            assert!(trace.source.metadata.contains(&("run_id".to_string(), "run".to_string())));
        }
    }
}

/// A trace of three rows, one column of which is another than the format's.
fn with_column(name: &'static str, kind: parquet::Kind, column: Column) -> Vec<u8> {
    let specs: Vec<ColumnSpec> = trace_table::COLUMNS
        .iter()
        .map(|spec| if spec.name == name { ColumnSpec { kind, ..spec.clone() } } else { spec.clone() })
        .collect();
    let columns: Vec<Column> = specs
        .iter()
        .map(|spec| match &*spec.name {
            other if other == name => column.clone(),
            "run_id" => Column::of_texts([Some("run"); 3]),
            "op_type" => Column::of_texts([Some("load"); 3]),
            "sample_id" | "timestamp_ns" => Column::of_ints([Some(0), Some(1), Some(2)]),
            "address" => Column::of_ints([Some(4096); 3]),
            _ => Column::default(),
        })
        .collect();
    let mut writer = Writer::new(&specs, &[]);
    writer.row_group(3, &columns);
    writer.finish()
}

/// Nothing becomes a number that it is not: what does not fit is missing, its row is left out where it can not be without, and
/// the account says so.
#[test]
fn what_does_not_fit_its_column_is_said() {
    let unsigned = parquet::Kind::Int { bits: 64, signed: false };
    let signed = parquet::Kind::Int { bits: 64, signed: true };
    let float = parquet::Kind::Float { bits: 64 };
    let ints = |values: [i64; 3]| Column::of_ints(values.map(Some));
    let texts = || Column::of_texts([Some("1"), Some("2"), Some("3")]);
    let floats = |values: [f64; 3]| Column { valid: None, values: Values::Floats(values.to_vec()) };
    let flags = || Column { valid: None, values: Values::Bools(vec![true, false, true]) };
    let (odd, range) = (Some("mrm-odd-columns"), Some("mrm-out-of-range"));
    const HALF: i64 = i64::MIN;
    let cases = [
        ("address", parquet::Kind::Text, texts(), 0, odd, ""),
        ("timestamp_ns", parquet::Kind::Text, texts(), 0, odd, ""),
        ("address", unsigned, ints([1, -1, HALF]), 3, None, "1 18446744073709551615 9223372036854775808"),
        ("address", signed, ints([1, -1, HALF]), 3, None, "1 18446744073709551615 9223372036854775808"),
        ("timestamp_ns", unsigned, ints([7, HALF, -1]), 1, range, "7"),
        ("timestamp_ns", signed, ints([-7, 8, HALF]), 3, None, "-7 8 -9223372036854775808"),
        ("timestamp_ns", float, floats([5.0, 1.5, f64::NAN]), 1, None, "5"),
        ("op_type", signed, ints([0, 1, -1]), 3, odd, "0 1 -1"),
        ("op_type", parquet::Kind::Bool, flags(), 3, odd, "1 0 1"),
        ("sample_id", signed, ints([5, -3, 9]), 3, range, "5 1 9"),
        ("sample_id", parquet::Kind::Text, texts(), 3, odd, "0 1 2"),
        ("thread_id", signed, ints([-1, 4, -1]), 3, None, "-1 4 -1"),
        ("thread_id", unsigned, ints([1, HALF, -1]), 3, range, "1  "),
        ("thread_id", parquet::Kind::Text, texts(), 3, odd, "  "),
        ("access_latency_ns", signed, ints([-1, 3, 0]), 3, range, " 3 0"),
        ("access_latency_ns", unsigned, ints([-1, 3, 0]), 3, None, "18446744073709551615 3 0"),
        ("access_latency_ns", float, floats([-1.0, 3.0, f64::NAN]), 3, range, " 3 "),
        ("cpu_id", signed, ints([-1, 1 << 32, 3]), 3, range, "  3"),
        ("numa_node", unsigned, ints([-1, 1, 0]), 3, range, " 1 0"),
        ("region_id", signed, ints([-1, 1 << 32, 3]), 3, range, "0 0 3"),
        ("token_index", signed, ints([-1, 2, 3]), 3, None, "-1 2 3"),
        ("symbol", signed, ints([1, 2, 3]), 3, odd, "  "),
    ];
    for (name, kind, column, n_rows, code, wanted) in cases {
        let what = format!("{name} {kind:?}");
        let bytes = with_column(name, kind, column);
        let trace = import("trace.parquet", &bytes, None).unwrap();
        let place = trace_table::COLUMNS.iter().position(|spec| spec.name == name).unwrap();
        let field = |text: String| -> Vec<String> {
            text.lines().map(|line| line.split('\t').nth(place).unwrap().to_string()).collect()
        };
        let got = field(lines("run", &trace.accesses, &trace.strings));
        assert_eq!((got.len(), got.join(" ").as_str()), (n_rows, wanted), "{what}");
        assert_eq!(trace.ledger.skipped.records, 3 - n_rows as u64, "{what}");
        for other in ["mrm-odd-columns", "mrm-out-of-range"] {
            assert_eq!(trace.ledger.count_of(other), u64::from(code == Some(other)), "{what}: {other}");
        }
        assert_eq!(trace.ledger.count_of("mrm-row-without-address"), u64::from(n_rows < 3), "{what}");
        // What was read comes back when it is written.
        let mut written = Vec::new();
        trace_table::write("run", || trace.accesses.iter(), &trace.strings, &mut written).unwrap();
        let again = import("trace.parquet", &written, None).unwrap();
        assert_eq!(field(lines("run", &again.accesses, &again.strings)), got, "{what}");
        assert_eq!(again.ledger.count_of("mrm-out-of-range"), 0, "{what}");
    }
}

/// What keeps a file from being read as a trace is named: columns that are not there, and operations of other names.
#[test]
fn what_a_trace_lacks_is_named() {
    let columns: Vec<ColumnSpec> =
        trace_table::COLUMNS.into_iter().filter(|spec| spec.name != "op_type").collect();
    let error = import("trace.parquet", &Writer::new(&columns, &[]).finish(), None).err().unwrap();
    assert_eq!(error.code, "parquet-other-table");
    assert!(error.what.contains("has no column op_type"), "{}", error.what);
    let bytes =
        with_column("op_type", parquet::Kind::Text, Column::of_texts([Some("LOAD"), Some("load"), None]));
    let trace = import("trace.parquet", &bytes, None).unwrap();
    assert_eq!(trace.ledger.issue("mrm-other-operation").unwrap().example, "LOAD");
    let bytes = with_column("timestamp_ns", parquet::Kind::Text, Column::of_texts([Some("1"); 3]));
    let trace = import("trace.parquet", &bytes, None).unwrap();
    let example = &trace.ledger.issue("mrm-row-without-address").unwrap().example;
    assert_eq!(example, "3 rows: timestamp_ns (text, not integer nanoseconds)");
}

/// Libraries make timestamps of the column of nanoseconds, and of the unit they like. The files are of pyarrow.
#[test]
fn timestamps_of_any_unit_are_nanoseconds() {
    for unit in ["ms", "us", "ns"] {
        let path = format!("tests/data/mrm/timestamps/timestamp-{unit}.parquet");
        let trace = import("trace.parquet", &std::fs::read(path).unwrap(), None).unwrap();
        let times: Vec<i64> = trace.accesses.iter().map(|row| row.ts).collect();
        assert_eq!(times, [1_000_000_000, 2_500_000_000, -1_000_000], "{unit}");
    }
}

/// The tables of a trace without rows are those of any other, with their columns; and it becomes a run directory.
#[test]
fn a_trace_without_rows_has_its_tables() {
    for dir in data_dirs("mrm") {
        let opened = |name: &str| {
            let bytes = std::fs::read(dir.join("parquet-variants").join(name)).unwrap();
            let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
            session.feed(&bytes);
            session.finish().unwrap();
            session
        };
        let tables = |session: &Session| -> Vec<(String, Vec<String>, usize)> {
            let report = session.reports().iter().find(|report| report.id == "mrm").expect("the report");
            let columns = |table: &Table| table.columns.iter().map(|column| column.id.to_string()).collect();
            report.tables().map(|table| (table.id.to_string(), columns(table), table.n_rows())).collect()
        };
        let (empty, full) = (opened("zero-rows.parquet"), opened("codec-none.parquet"));
        let of_full = tables(&full);
        let of_empty = tables(&empty);
        let results = [
            "retention_per_region",
            "retention_summary",
            "write_once",
            "read_freq",
            "working_set_per_region",
        ]
        .into_iter()
        .chain(["working_set_summary", "locality_per_region", "locality_summary", "iai"])
        .chain(["suitability", "metrics", "region_map"]);
        for id in results.clone() {
            let columns = |tables: &[(String, Vec<String>, usize)]| {
                tables.iter().find(|table| table.0 == id).unwrap_or_else(|| panic!("no {id}")).1.clone()
            };
            assert_eq!(columns(&of_empty), columns(&of_full), "{id}");
        }
        assert!(of_empty.iter().all(|table| table.2 == 0), "{of_empty:?}");
        // Columns of results are called the same wherever they are written, as the reference fixes their names.
        let report = full.reports().iter().find(|report| report.id == "mrm").expect("the report");
        for table in report.tables().filter(|table| results.clone().any(|id| id == table.id)) {
            let ids: Vec<&str> = table.columns.iter().map(|column| &*column.id).collect();
            assert_eq!(table_csv(table, &[]).trim_end(), ids.join(","));
        }
        let trace = &empty.run().traces[0];
        let mut files = Vec::new();
        mrm_run::write_run(trace, &MemoryQuery::default(), "r", 0, Vec::new(), &mut files).unwrap();
        let again = memory_run::read(&named(&files));
        assert_eq!(again.accesses.expect("a trace").len(), 0);
        assert!(again.checks.iter().all(|check| check.state == State::Same));
    }
}

/// Text of perf in which the grammar that was asked for finds nothing is a trace without accesses, as for the reference, and so is no text
/// at all. Whoever has not said that it is one is told that it is of no use.
#[test]
fn text_without_samples_has_empty_tables_where_it_was_asked_for() {
    for dir in data_dirs("mrm") {
        let mut texts = vec![("empty.txt", Vec::new())];
        for name in ["real-pf-collector-fields.txt.gz", "real-breakpoint.txt.gz", "real-pf-pidtid-ns.txt.gz"]
        {
            texts.push((name, std::fs::read(dir.join("real").join(name)).unwrap()));
        }
        for (name, bytes) in texts {
            let mut session =
                Session::new(name, bytes.len() as u64, Some(&perf_text::SEED_INFO), Query::default());
            session.feed(&bytes);
            session.finish().unwrap();
            assert_eq!(session.why_useless(), None, "{name}");
            let trace = &session.run().traces[0];
            assert!(trace.accesses.is_empty() && trace.ledger.skipped.records > 0 || bytes.is_empty());
            let report = session.reports().iter().find(|report| report.id == "mrm").expect("the report");
            let results = |table: &&Table| table.id == "retention_per_region" || table.id == "suitability";
            let tables: Vec<&Table> = report.tables().filter(results).collect();
            assert!(
                tables.len() == 2
                    && tables.iter().all(|table| table.n_rows() == 0 && !table.columns.is_empty())
            );
        }
        let mut session = Session::new("notes.txt", 0, Some(&perf_text::INFO), Query::default());
        session.feed(b"# nothing\nno sample\n");
        session.finish().unwrap();
        assert_eq!(session.why_useless(), None);
        assert_eq!(session.run().traces[0].ledger.skipped.records, 1);
    }
}

/// Of memory between accesses that none is to, nothing is said.
#[test]
fn untouched_memory_is_of_no_kind() {
    let mut trace = Trace::default();
    for n in 0..40u64 {
        trace.accesses.push(&Access { ts: n as i64, address: ((n % 2) * 200) << 12, ..Access::default() });
    }
    let session = Session::of_trace(trace, Query::default());
    let report = session.reports().iter().find(|report| report.id == "mrm-time").expect("the report");
    let places = report.tables().find(|table| table.id == "places").unwrap();
    let cells = |id: &str, row: usize| places.column(id).unwrap().cells.get(row).plain();
    let mut n_untouched = 0;
    for row in 0..places.n_rows() {
        let is_untouched = cells("accesses", row) == "0";
        n_untouched += usize::from(is_untouched);
        assert_eq!(cells("mostly", row), if is_untouched { "" } else { "unknown" });
    }
    assert!(n_untouched > 0);
    // The picture of what was touched so far has its numbers.
    let so_far = report.tables().find(|table| table.id == "touched_so_far").unwrap();
    let last = so_far.n_rows() - 1;
    assert_eq!(so_far.column("bytes").unwrap().cells.get(last).plain(), "8192");
}

/// Phases are marked in pictures over time, whether accesses have them or they were given, and stand in a table.
#[test]
fn phases_are_marked_in_pictures_over_time() {
    let mut own = Trace::default();
    let phases = ["weight_load", "generation"].map(|phase| own.strings.intern(phase));
    for n in 0..100i64 {
        let phase = (n >= 10).then_some(phases[usize::from(n >= 40)]);
        own.accesses.push(&Access { ts: 1000 + n, address: 4096 * n as u64, phase, ..Access::default() });
    }
    let mut none = Trace::default();
    own.accesses.iter().for_each(|row| none.accesses.push(&Access { phase: None, ..row }));
    let given = MemoryQuery {
        phases: r#"[{"phase": "weight_load", "start_ns": 1010, "end_ns": 1039},
                    {"phase": "generation", "start_ns": 1040, "end_ns": 5000},
                    {"phase": "teardown", "start_ns": 5000, "end_ns": 6000}]"#
            .to_string(),
        ..MemoryQuery::default()
    };
    for (trace, memory) in [(own, MemoryQuery::default()), (none, given)] {
        let session = Session::of_trace(trace, Query { memory, ..Query::default() });
        let report = session.reports().iter().find(|report| report.id == "mrm-time").expect("the report");
        let table = report.tables().find(|table| table.id == "phases").expect("the table");
        let cells = |id: &str| -> Vec<String> {
            (0..table.n_rows()).map(|row| table.column(id).unwrap().cells.get(row).plain()).collect()
        };
        assert_eq!(cells("phase"), ["weight_load", "generation"]);
        assert_eq!(
            (cells("start"), cells("end")),
            (vec!["10".into(), "40".into()], vec!["39".into(), "99".into()])
        );
        let marked = report.charts().filter(|chart| match &chart.plot {
            Plot::Lines(lines) => lines.periods.len() == 2,
            Plot::Heat(heat) => heat.periods.len() == 2,
            _ => false,
        });
        assert_eq!(marked.count(), 3);
    }
}

/// From text of perf to a run directory: the tables that the reference wrote of the same text.
#[test]
fn a_capture_becomes_the_run_directory_of_the_reference() {
    let mut n = 0;
    for dir in data_dirs("mrm") {
        for case in ["tiny-24", "mid-llama-5k", "mid-vllm-5k", "big-200k"] {
            let found = |folder: &str, endings: &[&str]| {
                endings
                    .iter()
                    .map(|ending| dir.join(folder).join(format!("{case}{ending}")))
                    .find(|path| path.is_file())
            };
            let (Some(input), Some(expected)) = (
                found("inputs", &[".txt", ".txt.gz"]),
                found("cases", &[".expected.json", ".expected.json.gz"]),
            ) else {
                continue;
            };
            let Some(golden) = run_dirs(&dir.join("runs").join(case)).into_iter().next() else { continue };
            n += 1;
            let expected = json(&expected);
            let name = input.file_name().unwrap().to_str().unwrap();
            let trace = import(name, &std::fs::read(&input).unwrap(), Some(&perf_text::SEED_INFO)).unwrap();
            let query =
                MemoryQuery { phases: expected["phase_boundaries"].to_string(), ..MemoryQuery::default() };
            assert_eq!(query.problem(), None, "{case}");
            let run_id = expected["run_id"].as_str().unwrap();
            let mut written = Vec::new();
            let notes = mrm_run::write_run(&trace, &query, run_id, 0, Vec::new(), &mut written).unwrap();
            assert!(notes.is_empty(), "{case}: {notes:?}");
            let golden_files = files_of(&golden);
            let ours: Vec<(&str, &[u8])> =
                written.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
            let wanted = golden_files.iter().find(|file| file.0 == "metrics.csv").unwrap();
            let metrics = ours.iter().find(|file| file.0 == "metrics.csv").unwrap();
            assert_eq!(String::from_utf8_lossy(metrics.1), String::from_utf8_lossy(&wanted.1), "{case}");
            let (ours, theirs) = (memory_run::read(&ours), memory_run::read(&named(&golden_files)));
            assert!(ours.regions == theirs.regions, "{case}: regions");
            assert!(ours.kv_blocks == theirs.kv_blocks, "{case}: blocks");
            let lines = |run: &RunDirectory| {
                let mut out = String::new();
                for row in run.accesses.as_ref().unwrap().iter() {
                    push_line(run_id, &row, &run.strings, &mut out);
                }
                out
            };
            assert!(lines(&ours) == lines(&theirs), "{case}: rows");
        }
    }
    assert!(n > 0);
}
