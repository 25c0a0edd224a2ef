//! `docs/reports.md` lists every report with its tables, columns and definitions, as the code has them, and `docs/tables.md` every
//! table for SQL and Python. `UPDATE=1 cargo test --test native reports_page` writes both.

use crate::support::{all_files, files, own_dir, stem};
use crate::{fleet, run_directory};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tracedrop::analysis::{ANALYSES, CONCLUSIONS, Query};
use tracedrop::engine::{Session, Shown};
use tracedrop::export::event_tables;
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::report::{Block, Report};

/// Larger files take long and add few tables.
const MAX_BYTES: usize = 120_000;

#[derive(Default)]
struct Table {
    title: String,
    /// Id, label, unit and definition, in the order of the first table that has them.
    columns: Vec<[String; 4]>,
}

#[derive(Default)]
struct Described {
    title: String,
    facts: Vec<[String; 4]>,
    tables: Vec<(String, Table)>,
}

fn session_of(name: &str, bytes: &[u8]) -> Option<Session> {
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.feed(bytes);
    session.finish().ok()?;
    Some(session)
}

fn reports_of(path: &Path) -> Option<Vec<Report>> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.len() <= MAX_BYTES)?;
    let name = path.file_name()?.to_str()?;
    let reports = session_of(name, &bytes)?.reports().to_vec();
    reports.iter().for_each(|report| check_order(name, report));
    Some(reports)
}

/// Reports on what is no single trace: ranks, runs with their directories, a configuration, address ranges, a fleet dataset.
fn other_reports() -> Vec<Report> {
    let ranks = files(&own_dir("pytorch/dlrm8"), &[".json.gz"]);
    let ranks = ranks.iter().map(|path| session_of(&stem(path), &std::fs::read(path).unwrap()).unwrap());
    let config = "experiment: {name: n}\nmodels: [{id: a, engine: vllm, path: p}]\nsweep: {context_lengths: [1], batch_sizes: [1, \
                  2], repetitions: 1, warmup_runs: 0}\n";
    let ranges = r#"[{"addr_start": 4096, "addr_end": 8192, "region_type": "kv_cache"}]"#;
    let runs =
        || run_directory::runs_in(&own_dir("mrm/runs")).into_iter().map(|run| run_directory::open(&run));
    // One by one first, as titles of several have the names of their files.
    let mut sessions: Vec<Session> = runs().collect();
    sessions.extend([
        Session::together(ranks.collect()).unwrap(),
        session_of("config.yaml", config.as_bytes()).unwrap(),
        session_of("config.yaml", config.replace("name: n", "name: 1").as_bytes()).unwrap(),
        session_of("kv_ranges.json", ranges.as_bytes()).unwrap(),
        Session::together(runs().collect()).unwrap(),
    ]);
    let mut reports: Vec<Report> = sessions.iter().flat_map(|session| session.reports().to_vec()).collect();
    reports.push(fleet::report(|_| true));
    reports
}

/// A table that is marked as sorted is: the mark sorts nothing itself.
fn check_order(file: &str, report: &Report) {
    for table in report.tables() {
        let query = TableQuery { sort: table.sort, ..TableQuery::default() };
        let order = row_order(table, &query).unwrap();
        assert!(order.is_sorted(), "{file}: {} {}: {order:?}", report.id, table.id);
    }
}

/// The id without the number that tables after the first of their kind carry.
fn base(id: &str) -> &str {
    match id.rsplit_once('_') {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => id,
    }
}

fn line(list: &mut Vec<[String; 4]>, row: [String; 4]) {
    match list.iter_mut().find(|known| known[0] == row[0]) {
        Some(known) if known[3].is_empty() => known[3] = row[3].clone(),
        Some(_) => {}
        None => list.push(row),
    }
}

/// A definition without numbers and names of the file that it was met in.
fn definition(hint: &str) -> String {
    let is_general = !hint.contains(|letter: char| letter.is_ascii_digit());
    if is_general { hint.replace('|', "\\|").replace('\n', " ") } else { String::new() }
}

fn described() -> BTreeMap<String, Described> {
    let mut all: BTreeMap<String, Described> = BTreeMap::new();
    let mut paths = Vec::new();
    for dir in [
        "pytorch",
        "chrome",
        "sway",
        "pysampling",
        "stacks",
        "mrm/inputs",
        "mrm/memray",
        "mrm/parquet-variants",
        "memsnapshot",
        "situations",
    ] {
        paths.extend(all_files(
            &own_dir(dir),
            &[".json", ".jsonl", ".gz", ".bin", ".parquet", ".pickle", ".txt"],
        ));
    }
    for report in paths.iter().filter_map(|path| reports_of(path)).flatten().chain(other_reports()) {
        let described = all.entry(report.id.to_string()).or_default();
        described.title.clone_from(&report.title);
        for block in &report.blocks {
            match block {
                Block::Facts(facts) => {
                    for fact in &facts.facts {
                        let unit = format!("{:?}", fact.unit);
                        line(
                            &mut described.facts,
                            [fact.id.to_string(), fact.label.clone(), unit, definition(&fact.hint)],
                        );
                    }
                }
                Block::Table(table) => {
                    let id = base(&table.id);
                    let at =
                        described.tables.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
                            let title = if table.id == id { table.title.clone() } else { String::new() };
                            described.tables.push((id.to_string(), Table { title, columns: Vec::new() }));
                            described.tables.len() - 1
                        });
                    for column in &table.columns {
                        let unit = format!("{:?}", column.unit);
                        let row =
                            [column.id.to_string(), column.label.clone(), unit, definition(&column.hint)];
                        line(&mut described.tables[at].1.columns, row);
                    }
                }
                _ => {}
            }
        }
    }
    all
}

fn unit(name: &str) -> &str {
    match name {
        "None" => "",
        "Ns" | "NsOffset" | "NsClock" => "ns",
        "Ms" => "ms",
        "Bytes" => "bytes",
        "Ratio" => "share (0–1)",
        "Count" => "count",
        "Samples" => "samples",
        "Seconds" | "UnixSeconds" => "s",
        "BytesPerSecond" => "bytes/s",
        "Flops" => "FLOP",
        "FlopsPerSecond" => "FLOP/s",
        _ => "number",
    }
}

fn rows(page: &mut String, list: &[[String; 4]]) {
    page.push_str("| id | shown as | unit | definition |\n| --- | --- | --- | --- |\n");
    for [id, label, of, hint] in list {
        let label = label.replace('|', "\\|");
        writeln!(page, "| `{id}` | {label} | {} | {hint} |", unit(of)).unwrap();
    }
    page.push('\n');
}

#[test]
fn the_page_lists_what_there_is() {
    let all = described();
    let mut page = String::from(
        "# Reports\n\nEvery report with its values, tables and columns. Ids are what JSON and `--where` use; CSV has the unit behind them (`total_ns`), which `--where` takes, too. Times are nanoseconds \
         there. This page is generated: `UPDATE=1 cargo test --test native reports_page`.\n\n",
    );
    let ids = CONCLUSIONS.iter().map(|info| (info.id, info.title));
    for (id, title) in ids.chain(ANALYSES.iter().map(|info| (info.id, info.title))) {
        writeln!(page, "## {title} (`{id}`)\n").unwrap();
        let Some(report) = all.get(id) else {
            page.push_str("Only for runs of several files.\n\n");
            continue;
        };
        if !report.facts.is_empty() {
            rows(&mut page, &report.facts);
        }
        for (id, table) in &report.tables {
            let title = if table.title.is_empty() { id.as_str() } else { table.title.as_str() };
            writeln!(page, "### {title} (`{id}`)\n").unwrap();
            rows(&mut page, &table.columns);
        }
    }
    is_written("docs/reports.md", &page);
}

/// Writes a page with UPDATE=1, and compares it with what is there.
fn is_written(name: &str, page: &str) {
    let page = format!("{}\n", page.trim_end());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{name} is out of date: UPDATE=1 cargo test --test native reports_page");
}

/// Tables of fleet datasets, from the list that `tracedrop fleet add` writes them by.
fn of_fleets() -> String {
    let mut text = String::from(
        "## Fleets\n\nParquet files of a dataset that `tracedrop fleet add` writes; in `tracedrop fleet sql` by name. Each table also \
         has `run`, the name of its folder. [fleet.md](fleet.md) has examples.\n\n",
    );
    for line in
        include_str!("../python/lib/tracedrop/fleet.tsv").lines().filter(|line| !line.starts_with('#'))
    {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [table, about] => {
                writeln!(
                    text,
                    "### `{table}`\n\n{about}\n\n| column | unit | meaning |\n| --- | --- | --- |"
                )
                .unwrap();
            }
            ["", column, _, unit, about] => {
                let unit = if unit == "none" { "" } else { unit };
                writeln!(text, "| `{column}` | {unit} | {about} |").unwrap();
            }
            _ => text.push('\n'),
        }
    }
    text + "\n"
}

#[test]
fn the_page_lists_all_tables() {
    let mut page = String::from(
        "# Tables\n\nEvery table for `tracedrop sql` and for Python, with its columns and units. Times are integer nanoseconds. Missing \
         values are `NULL`. In SQL, write the columns `from`, `to` and `offset` in double quotes, since they are reserved words: \
         `select \"from\" …`. This page is generated: `UPDATE=1 cargo test --test native reports_page`.\n\n## Events\n\n\
         In SQL `slices`, in Python `t.events(\"slices\")`. With several files opened together, each table starts with the column \
         `file`, the number of the file from 0.\n\n",
    );
    for table in event_tables::TABLES {
        writeln!(page, "### `{}`\n\n{}\n", table.id, table.about).unwrap();
        page.push_str("| column | unit | meaning |\n| --- | --- | --- |\n");
        for column in table.columns {
            let of = format!("{:?}", column.unit);
            writeln!(page, "| `{}` | {} | {} |", column.id, unit(&of), column.about).unwrap();
        }
        page.push('\n');
    }
    page.push_str(&of_fleets());
    page.push_str(
        "## Reports\n\nIn SQL `\"gpu-kernels\".kernels`, or `kernels` alone if only one report has a table of that name; in Python \
         `t.report(\"gpu-kernels\").tables[\"kernels\"]`. A trace has the tables of its reports; `tracedrop sql FILE --tables` lists \
         them. Tables that a report has several times have a number from the second on (`kernels_2`). \
         [reports.md](reports.md) has the definitions.\n\n| table | columns |\n| --- | --- |\n",
    );
    for (id, report) in described() {
        for (table, Table { columns, .. }) in report.tables {
            let named = columns.iter().map(|[id, _, of, _]| match unit(of) {
                "" => format!("`{id}`"),
                unit => format!("`{id}` ({unit})"),
            });
            writeln!(page, "| `\"{id}\".{table}` | {} |", named.collect::<Vec<_>>().join(", ")).unwrap();
        }
    }
    is_written("docs/tables.md", &page);
}
