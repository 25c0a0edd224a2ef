//! `trace.parquet`: a row for each access, 18 columns.

use super::schema::{VERSION, VERSION_KEY};
use crate::base::strings::{StringId, StringTable};
use crate::parquet::{Column, ColumnSpec, Error, Kind, Memory, ParquetFile, Source, Values, Writer};
use crate::trace::accesses::{Access, AccessColumns, AccessTable, Numbers, Op, Optional, RegionType};
use std::cell::RefCell;
use std::io::{self, Write};

const N_COLUMNS: usize = 18;

/// Columns in their order, with the types that version 0.1.23 gives them.
pub const COLUMNS: [ColumnSpec; N_COLUMNS] = [
    ColumnSpec::text("run_id"),
    ColumnSpec::uint("sample_id", 64),
    ColumnSpec::uint("timestamp_ns", 64),
    ColumnSpec::text("phase"),
    ColumnSpec::uint("address", 64),
    ColumnSpec::uint("address_page", 64),
    ColumnSpec::text("op_type"),
    ColumnSpec::text("symbol"),
    ColumnSpec::text("dso"),
    ColumnSpec::text("region_type"),
    ColumnSpec::uint("region_id", 32),
    ColumnSpec::uint("access_latency_ns", 32),
    ColumnSpec::text("cache_level"),
    ColumnSpec::uint("numa_node", 8),
    ColumnSpec::uint("cpu_id", 16),
    ColumnSpec::uint("thread_id", 32),
    ColumnSpec::uint("token_index", 32),
    ColumnSpec::uint("context_tokens", 32),
];

/// Those that are read, the ones that take longest first: a page follows from its address.
const READ: [&str; N_COLUMNS - 1] = [
    "address",
    "timestamp_ns",
    "sample_id",
    "region_id",
    "symbol",
    "dso",
    "op_type",
    "cpu_id",
    "region_type",
    "access_latency_ns",
    "cache_level",
    "phase",
    "run_id",
    "thread_id",
    "numa_node",
    "token_index",
    "context_tokens",
];

/// Rows of a row group, as the reference writes them.
pub const GROUP_ROWS: usize = 100_000;

/// What is said once for all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceInfo {
    /// That of the first row.
    pub run_id: Option<String>,
    /// Rows without a time, an address or an operation, which were left out.
    pub n_skipped: u64,
    /// Row groups in which rows have other runs than the first.
    pub has_several_runs: bool,
    /// Rows that have no number of their own, and got that of their position.
    pub n_numbered: u64,
}

/// The name of a region type, as files have it; that of [`RegionType::Other`] stands in its row.
pub fn region_name(region: RegionType) -> &'static str {
    region.name().unwrap_or("unknown")
}

/// Reads all rows.
pub fn read<S: Source>(
    file: &ParquetFile<S>,
    strings: &mut StringTable,
    rows: &mut AccessTable,
) -> Result<TraceInfo, Error> {
    let mut info = TraceInfo::default();
    for group in 0..file.n_row_groups() {
        read_group(file, group, strings, rows, &mut info)?;
    }
    Ok(info)
}

/// Texts of a column by their numbers in another table.
struct Texts {
    column: Column,
    ids: Vec<StringId>,
}

impl Texts {
    fn new(column: Column, strings: &mut StringTable) -> Texts {
        let ids =
            column.texts().into_iter().flat_map(StringTable::all).map(|text| strings.intern(text)).collect();
        Texts { column, ids }
    }

    /// What each row's text means, by `meanings` of the texts; `none` of rows without one.
    fn into_numbers(self, mut meanings: Vec<i64>, none: i64) -> Numbers {
        let Column { valid, values: Values::Texts(mut ids, _) } = self.column else {
            return Numbers::Same(none);
        };
        let code_of_none = StringId(meanings.len() as u32);
        meanings.push(none);
        for (id, _) in ids.iter_mut().zip(valid.iter().flatten()).filter(|(_, is_valid)| !**is_valid) {
            *id = code_of_none;
        }
        Numbers::Texts(ids, meanings)
    }

    /// The texts of the rows for which `is_wanted` of the text's number in the column; `None` if there are none.
    fn only(&self, is_wanted: impl Fn(usize) -> bool, n_rows: usize) -> Option<(Numbers, Option<Vec<bool>>)> {
        if !(0..self.ids.len()).any(&is_wanted) {
            return None;
        }
        let value = |row| {
            self.get(row).filter(|_| self.column.text_id(row).is_some_and(|id| is_wanted(id.0 as usize)))
        };
        let (valid, values): (Vec<bool>, Vec<i64>) =
            (0..n_rows).map(value).map(|id| (id.is_some(), id.map_or(0, |id| id.0.into()))).unzip();
        let has_any = valid.contains(&true);
        has_any.then(|| (Numbers::Each(values), Some(valid).filter(|valid| valid.contains(&false))))
    }

    fn get(&self, row: usize) -> Option<StringId> {
        self.ids.get(self.column.text_id(row)?.0 as usize).copied()
    }
}

/// Whole numbers of a column of so many rows, and which rows have one; `None` if all have.
fn numbers_of(column: Column, n_rows: usize) -> (Numbers, Option<Vec<bool>>) {
    match column {
        Column { values: Values::Null, .. } => (Numbers::Same(0), Some(vec![false; n_rows])),
        Column { valid, values: Values::Codes(codes, numbers) } => (Numbers::Codes(codes, numbers), valid),
        other => {
            let (values, valid) = other.into_ints(n_rows);
            (Numbers::Each(values), valid)
        }
    }
}

/// Memory that a column was in, if it can be used again.
fn memory_of(numbers: Numbers) -> impl Iterator<Item = Memory> {
    let (first, second) = match numbers {
        Numbers::Same(_) => (None, None),
        Numbers::Each(values) => (Some(Memory::Ints(values)), None),
        Numbers::Codes(codes, numbers) => (Some(Memory::Codes(codes)), Some(Memory::Ints(numbers))),
        Numbers::Texts(ids, _) => (Some(Memory::Texts(ids)), None),
    };
    first.into_iter().chain(second)
}

/// Reads the rows of one row group. A column that is not there is null in all rows.
pub fn read_group<S: Source>(
    file: &ParquetFile<S>,
    group: usize,
    strings: &mut StringTable,
    rows: &mut AccessTable,
    info: &mut TraceInfo,
) -> Result<(), Error> {
    // All that are there are read at once; they are taken in the order in which they are asked for.
    let there: Vec<(&str, usize)> =
        READ.iter().filter_map(|name| Some((*name, file.column(name)?))).collect();
    let places: Vec<usize> = there.iter().map(|(_, place)| *place).collect();
    let columns = there.iter().map(|(name, _)| *name).zip(file.read_columns(group, &places));
    let columns = RefCell::new(columns.collect::<Vec<_>>());
    let column = |name: &str| {
        let mut columns = columns.borrow_mut();
        let at = columns.iter().position(|(known, _)| *known == name);
        at.map_or_else(|| Ok(Column::default()), |at| columns.swap_remove(at).1)
    };
    let mut texts = |name: &str| column(name).map(|column| Texts::new(column, strings));
    let (run_id, phase, op, symbol, dso) =
        (texts("run_id")?, texts("phase")?, texts("op_type")?, texts("symbol")?, texts("dso")?);
    let (region, level) = (texts("region_type")?, texts("cache_level")?);
    let (sample, time, address) = (column("sample_id")?, column("timestamp_ns")?, column("address")?);
    let (region_id, latency, remote) =
        (column("region_id")?, column("access_latency_ns")?, column("numa_node")?);
    let (cpu, thread) = (column("cpu_id")?, column("thread_id")?);
    let (token, context) = (column("token_index")?, column("context_tokens")?);
    // What the few distinct texts mean is looked up once each.
    let ops: Vec<Op> = op.ids.iter().map(|id| op_of(strings.get(*id))).collect();
    let regions: Vec<RegionType> =
        region.ids.iter().map(|id| RegionType::of_name(strings.get(*id))).collect();
    let n_runs_before = info.run_id.is_some();
    if let Some(id) = run_id.get(0).filter(|_| !n_runs_before) {
        info.run_id = Some(strings.get(id).to_string());
    }
    let first = info.run_id.as_deref().and_then(|run| strings.find(run));
    let n_rows = file.rows_of(group);
    let has_all = |column: &Column| {
        column.valid.is_none()
            && matches!(column.values, Values::Ints(_) | Values::Codes(..) | Values::Texts(..))
    };
    if [&time, &address, &op.column].into_iter().all(has_all) {
        info.has_several_runs |= match &run_id.column {
            Column { valid: None, values: Values::Texts(ids, _) } => {
                // Of the few texts, those that are another run than the first.
                let others: Vec<bool> = run_id.ids.iter().map(|id| Some(*id) != first).collect();
                ids.iter().any(|id| others.get(id.0 as usize).copied().unwrap_or(true))
            }
            _ => (0..n_rows).any(|row| run_id.get(row) != first),
        };
        let n_before = rows.len() as i64;
        let other_ops = op.only(|id| ops.get(id) == Some(&Op::Other), n_rows);
        let other_regions = region.only(|id| regions.get(id) == Some(&RegionType::Other), n_rows);
        let op_kinds = op.into_numbers(ops.iter().map(|op| *op as i64).collect(), Op::Other as i64);
        let region_kinds = region.into_numbers(
            regions.iter().map(|region| *region as i64).collect(),
            RegionType::default() as i64,
        );
        let mut columns = AccessColumns::new(
            n_rows,
            numbers_of(time, n_rows).0,
            numbers_of(address, n_rows).0,
            op_kinds,
            region_kinds,
        );
        columns.set_samples(match numbers_of(sample, n_rows) {
            (samples, None) => samples,
            (samples, Some(valid)) => {
                info.n_numbered += valid.iter().map(|is_valid| u64::from(!*is_valid)).sum::<u64>();
                let sample = |(row, is_valid): (usize, &bool)| match is_valid {
                    true => samples.get(row),
                    false => n_before + row as i64,
                };
                Numbers::Each(valid.iter().enumerate().map(sample).collect())
            }
        });
        let (ids, valid) = numbers_of(region_id, n_rows);
        columns.set_region_ids(ids, valid);
        for (which, texts) in [(Optional::OpText, other_ops), (Optional::RegionText, other_regions)] {
            if let Some((texts, valid)) = texts {
                columns.set(which, texts, valid);
            }
        }
        for (which, texts) in [
            (Optional::Phase, phase),
            (Optional::Symbol, symbol),
            (Optional::Dso, dso),
            (Optional::CacheLevel, level),
        ] {
            if let Texts { column: Column { valid, values: Values::Texts(ids, _) }, ids: numbers } = texts {
                let numbers = numbers.iter().map(|id| i64::from(id.0)).collect();
                columns.set(which, Numbers::Texts(ids, numbers), valid);
            }
        }
        for (which, column) in [
            (Optional::Latency, latency),
            (Optional::Remote, remote),
            (Optional::Cpu, cpu),
            (Optional::Thread, thread),
            (Optional::TokenIndex, token),
            (Optional::ContextTokens, context),
        ] {
            if !matches!(column.values, Values::Null) {
                let (numbers, valid) = numbers_of(column, n_rows);
                columns.set(which, numbers, valid);
            }
        }
        rows.push_columns(&columns);
        let run_ids = run_id.into_numbers(Vec::new(), 0);
        file.take_back(columns.into_numbers().chain([run_ids]).flat_map(memory_of));
        return Ok(());
    }
    for row in 0..n_rows {
        info.has_several_runs |= run_id.get(row) != first;
        let op_at = op.column.text_id(row).map(|id| id.0 as usize);
        let (Some(ts), Some(address), Some(op_at)) = (time.int(row), address.int(row), op_at) else {
            info.n_skipped += 1;
            continue;
        };
        let op_kind = ops.get(op_at).copied().unwrap_or(Op::Other);
        info.n_numbered += u64::from(sample.int(row).is_none());
        let region_at = region.column.text_id(row).map(|id| id.0 as usize);
        let region_kind = region_at.and_then(|at| regions.get(at)).copied().unwrap_or_default();
        rows.push(&Access {
            sample: sample.int(row).map_or(rows.len() as u64, |sample| sample as u64),
            ts,
            address: address as u64,
            op: op_kind,
            op_text: op.get(row).filter(|_| op_kind == Op::Other),
            phase: phase.get(row),
            symbol: symbol.get(row),
            dso: dso.get(row),
            region: region_kind,
            region_text: region.get(row).filter(|_| region_kind == RegionType::Other),
            region_id: region_id.int(row).and_then(|id| u32::try_from(id).ok()).unwrap_or(0),
            latency: latency.int(row).map(|latency| latency as u64),
            cache_level: level.get(row),
            remote: remote.int(row).and_then(|remote| u32::try_from(remote).ok()),
            cpu: cpu.int(row).and_then(|cpu| u32::try_from(cpu).ok()),
            thread: thread.int(row),
            token_index: token.int(row),
            context_tokens: context.int(row),
        });
    }
    Ok(())
}

fn op_of(text: &str) -> Op {
    match text {
        "load" => Op::Load,
        "store" => Op::Store,
        _ => Op::Other,
    }
}

/// Writes the rows of one run, which are gone through twice. Numbers that are too large for the type of their column make it wider in
/// all of the file.
pub fn write<I: Iterator<Item = Access>>(
    run_id: &str,
    rows: impl Fn() -> I,
    strings: &StringTable,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut max = [0u64; N_COLUMNS];
    for row in rows() {
        for (n, max) in max.iter_mut().enumerate() {
            *max = (*max).max(number(&row, n).unwrap_or(0) as u64);
        }
    }
    let mut columns = COLUMNS;
    for (column, max) in columns.iter_mut().zip(max) {
        if let Kind::Int { bits, .. } = &mut column.kind
            && *bits < 64
            && max >> *bits > 0
        {
            *bits = if max >> 32 > 0 { 64 } else { 32 };
        }
    }
    let mut writer = Writer::new(&columns, &[(VERSION_KEY, VERSION)]);
    let mut rows = rows();
    let mut group: Vec<Access> = Vec::new();
    loop {
        group.clear();
        group.extend(rows.by_ref().take(GROUP_ROWS));
        if group.is_empty() {
            return out.write_all(&writer.finish());
        }
        let columns: Vec<Column> = columns
            .iter()
            .enumerate()
            .map(|(n, column)| match column.kind {
                Kind::Text => Column::of_texts(group.iter().map(|row| text(row, n, run_id, strings))),
                _ => Column::of_ints(group.iter().map(|row| number(row, n))),
            })
            .collect();
        writer.row_group(group.len(), &columns);
        out.write_all(&writer.take())?;
    }
}

/// The value of a column of numbers, by its place in [`COLUMNS`].
fn number(row: &Access, column: usize) -> Option<i64> {
    match column {
        1 => Some(row.sample as i64),
        2 => Some(row.ts),
        4 => Some(row.address as i64),
        5 => Some(row.page() as i64),
        10 => Some(i64::from(row.region_id)),
        11 => row.latency.map(|latency| latency as i64),
        13 => row.remote.map(i64::from),
        14 => row.cpu.map(i64::from),
        15 => row.thread,
        16 => row.token_index,
        17 => row.context_tokens,
        _ => None,
    }
}

/// The value of a column of texts, by its place in [`COLUMNS`].
fn text<'a>(row: &Access, column: usize, run_id: &'a str, strings: &'a StringTable) -> Option<&'a str> {
    let text = |id: Option<StringId>| id.and_then(|id| strings.get_opt(id));
    match column {
        0 => Some(run_id),
        3 => text(row.phase),
        6 => match row.op {
            Op::Load => Some("load"),
            Op::Store => Some("store"),
            Op::Other => text(row.op_text),
        },
        7 => text(row.symbol),
        8 => text(row.dso),
        9 => match row.region {
            RegionType::Other => text(row.region_text),
            region => Some(region_name(region)),
        },
        12 => text(row.cache_level),
        _ => None,
    }
}
