//! `trace.parquet`: one row per access, 18 columns.

use super::schema::{VERSION, VERSION_KEY};
use crate::base::strings::{StringId, StringTable};
use crate::parquet::{Column, ColumnSpec, Error, Kind, Memory, ParquetFile, Source, Values, Writer};
use crate::trace::accesses::{Access, AccessColumns, AccessTable, Numbers, Op, Optional, RegionType};
use std::cell::RefCell;
use std::io::{self, Write};

const N_COLUMNS: usize = 18;

/// Columns in order, with their types in version 0.1.23.
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

/// Columns that are read, slowest first. Pages are derived from addresses.
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

/// Rows per row group in the reference.
pub const GROUP_ROWS: usize = 100_000;

/// Facts about all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceInfo {
    /// Run id of the first row.
    pub run_id: Option<String>,
    /// Skipped rows without a timestamp, address or operation.
    pub n_skipped: u64,
    /// Row groups with rows of runs other than the first.
    pub has_several_runs: bool,
    /// Rows without a number, which got their position instead.
    pub n_numbered: u64,
    /// Numbers out of range, treated as missing.
    pub n_out_of_range: u64,
    /// In the last row group read: an operation that is neither load nor store.
    pub other_op: Option<String>,
}

/// Name of a region type in files; for [`RegionType::Other`], the row has the name.
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

/// Texts of a column, by their numbers in another table.
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

    /// Meaning of each row's text, from the `meanings` of the texts; `none` for rows without text.
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

    /// The first row with a wanted text, by the text's number in the column.
    fn first(&self, is_wanted: &[bool]) -> Option<usize> {
        let Column { valid, values: Values::Texts(ids, _) } = &self.column else { return None };
        let has = |id: &StringId| is_wanted.get(id.0 as usize).copied().unwrap_or(false);
        // Rarely any row matches: the empty text is in every text table but in hardly any row.
        let mut wanted = is_wanted.iter().enumerate().filter(|(_, is_wanted)| **is_wanted);
        let any = |ids: &[StringId], number: usize| {
            ids.chunks(64).any(|ids| ids.iter().fold(false, |any, id| any | (id.0 as usize == number)))
        };
        match (wanted.next(), wanted.next()) {
            (None, _) => return None,
            (Some((only, _)), None) if !any(ids, only) => return None,
            _ => {}
        }
        let is_valid =
            |row: usize| valid.as_ref().is_none_or(|valid| valid.get(row).copied().unwrap_or(false));
        ids.iter().enumerate().position(|(row, id)| has(id) && is_valid(row))
    }

    /// The texts of rows whose text number in the column is wanted; `None` if there are none.
    fn only(&self, is_wanted: impl Fn(usize) -> bool) -> Option<(Numbers, Option<Vec<bool>>)> {
        let Column { valid, values: Values::Texts(ids, _) } = &self.column else { return None };
        let is_wanted: Vec<bool> = (0..self.ids.len()).map(is_wanted).collect();
        self.first(&is_wanted)?;
        let meaning = |(id, is_wanted): (&StringId, &bool)| if *is_wanted { id.0.into() } else { 0 };
        let meanings: Vec<i64> = self.ids.iter().zip(&is_wanted).map(meaning).collect();
        let has = |id: &StringId| is_wanted.get(id.0 as usize).copied().unwrap_or(false);
        let (there, texts): (Vec<bool>, _) = match valid {
            None => (ids.iter().map(has).collect(), Numbers::Texts(ids.clone(), meanings)),
            Some(valid) => {
                let there: Vec<bool> =
                    ids.iter().zip(valid).map(|(id, is_valid)| *is_valid && has(id)).collect();
                let number = |(id, is_there): (&StringId, &bool)| {
                    meanings.get(id.0 as usize).copied().filter(|_| *is_there).unwrap_or(0)
                };
                let numbers = ids.iter().zip(&there).map(number).collect();
                (there, Numbers::Each(numbers))
            }
        };
        there.contains(&true).then(|| (texts, Some(there).filter(|there| there.contains(&false))))
    }

    fn get(&self, row: usize) -> Option<StringId> {
        self.ids.get(self.column.text_id(row)?.0 as usize).copied()
    }
}

/// Valid range of the numbers in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    /// Any 64 bits.
    Bits,
    /// Signed; for an unsigned column, values up to the signed maximum.
    Signed,
    /// Nonnegative; for an unsigned column, all values.
    Unsigned,
    /// Nonnegative values of 32 bits.
    Unsigned32,
}

impl Range {
    /// Whether a number of an unsigned or signed column is out of range.
    #[inline]
    fn lacks(self, value: i64, is_unsigned: bool) -> bool {
        match self {
            Range::Bits => false,
            Range::Signed => is_unsigned && value < 0,
            Range::Unsigned => !is_unsigned && value < 0,
            Range::Unsigned32 => value as u64 > u64::from(u32::MAX),
        }
    }
}

/// Integers of a column with `n_rows` rows; other values and integers out of range become missing. Also returns how many are out of
/// range.
fn whole_numbers(column: Column, n_rows: usize, range: Range, is_unsigned: bool) -> (Column, u64) {
    let Column { mut valid, values } = match column {
        // Only these columns contain plain numbers.
        column if matches!(column.values, Values::Null | Values::Ints(_) | Values::Codes(..)) => column,
        other => {
            let (values, valid) = other.into_ints(n_rows);
            Column { valid, values: Values::Ints(values) }
        }
    };
    // A branch-free scan, as usually nothing is out of range.
    let any_lacks = |values: &[i64]| {
        range != Range::Bits && values.iter().fold(false, |any, value| any | range.lacks(*value, is_unsigned))
    };
    let mut n_lacking = 0;
    let mut leave_out = |lacks: &mut dyn Iterator<Item = bool>| {
        let valid = valid.get_or_insert_with(|| vec![true; n_rows]);
        for (is_valid, _) in valid.iter_mut().zip(lacks).filter(|(is_valid, lacks)| **is_valid && *lacks) {
            *is_valid = false;
            n_lacking += 1;
        }
    };
    match &values {
        Values::Ints(values) if any_lacks(values) => {
            leave_out(&mut values.iter().map(|value| range.lacks(*value, is_unsigned)));
        }
        Values::Codes(codes, numbers) if any_lacks(numbers) => {
            let lacks: Vec<bool> = numbers.iter().map(|value| range.lacks(*value, is_unsigned)).collect();
            leave_out(&mut codes.iter().map(|code| lacks.get(*code as usize).copied().unwrap_or(false)));
        }
        _ => {}
    }
    let valid = valid.filter(|valid| valid.contains(&false));
    (Column { valid, values }, n_lacking)
}

/// Nanoseconds of a column, given the nanoseconds per unit; values out of range become missing. Also returns how many are
/// out of range.
fn nanoseconds(column: Column, n_rows: usize, unit_ns: i64) -> (Column, u64) {
    if matches!(column.values, Values::Null) {
        return (column, 0);
    }
    let (mut values, valid) = column.into_ints(n_rows);
    let mut valid = valid.unwrap_or_else(|| vec![true; n_rows]);
    let mut n_lacking = 0;
    for (value, is_valid) in values.iter_mut().zip(&mut valid).filter(|(_, is_valid)| **is_valid) {
        let (product, is_lacking) = value.overflowing_mul(unit_ns);
        (*value, *is_valid) = (product, !is_lacking);
        n_lacking += u64::from(is_lacking);
    }
    let valid = Some(valid).filter(|valid| valid.contains(&false));
    (Column { valid, values: Values::Ints(values) }, n_lacking)
}

/// A text column; numbers become their digits, so that unknown operations round-trip.
fn spelled(column: Column, n_rows: usize) -> Column {
    if matches!(column.values, Values::Null | Values::Texts(..)) {
        return column;
    }
    let texts: Vec<Option<String>> = (0..n_rows).map(|row| Some(column.int(row)?.to_string())).collect();
    Column::of_texts(texts.iter().map(|text| text.as_deref()))
}

/// A column with an unexpected type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OddColumn {
    pub name: &'static str,
    /// Actual and expected type.
    pub holds: &'static str,
    pub wanted: &'static str,
}

impl std::fmt::Display for OddColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, not {})", self.name, self.holds, self.wanted)
    }
}

/// Columns with unexpected types.
pub fn odd_columns<S: Source>(file: &ParquetFile<S>) -> Vec<OddColumn> {
    let known = COLUMNS;
    let odd = |name: &'static str| {
        let wanted = known.iter().find(|column| column.name == name)?;
        let found = file.columns().iter().find(|column| column.name == name)?;
        let holds = match (wanted.kind, found.kind) {
            // Columns with missing values are often floats.
            (Kind::Int { .. }, Kind::Int { .. } | Kind::Float { .. }) | (_, Kind::Null) => return None,
            (Kind::Text, Kind::Text) => return None,
            (_, Kind::Text) => "text",
            (_, Kind::Bool) => "booleans",
            (_, Kind::Int { .. } | Kind::Float { .. }) => "numbers",
            (_, Kind::Other) => found.other_type,
        };
        let wanted = match wanted.kind {
            Kind::Text => "text",
            _ if name == "timestamp_ns" => "integer nanoseconds",
            _ => "integers",
        };
        Some(OddColumn { name, holds, wanted })
    };
    READ.iter().filter_map(|name| odd(name)).collect()
}

/// Integers of a column, and which rows have one; `None` if all do.
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

/// Recovers the buffer of a column for reuse.
fn memory_of(numbers: Numbers) -> impl Iterator<Item = Memory> {
    let (first, second) = match numbers {
        Numbers::Same(_) => (None, None),
        Numbers::Each(values) => (Some(Memory::Ints(values)), None),
        Numbers::Codes(codes, numbers) => (Some(Memory::Codes(codes)), Some(Memory::Ints(numbers))),
        Numbers::Texts(ids, _) => (Some(Memory::Texts(ids)), None),
    };
    first.into_iter().chain(second)
}

/// Reads the rows of one row group. A missing column is null in all rows.
pub fn read_group<S: Source>(
    file: &ParquetFile<S>,
    group: usize,
    strings: &mut StringTable,
    rows: &mut AccessTable,
    info: &mut TraceInfo,
) -> Result<(), Error> {
    // All columns present are read at once and taken in the order of use.
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
    let n_rows = file.rows_of(group);
    let op = Texts::new(spelled(column("op_type")?, n_rows), strings);
    let mut texts = |name: &str| column(name).map(|column| Texts::new(column, strings));
    let (run_id, phase, symbol, dso) = (texts("run_id")?, texts("phase")?, texts("symbol")?, texts("dso")?);
    let (region, level) = (texts("region_type")?, texts("cache_level")?);
    let mut numbers = |name: &str, range: Range| {
        let told = file.column(name).and_then(|place| file.columns().get(place));
        let is_unsigned = told.is_some_and(|told| matches!(told.kind, Kind::Int { signed: false, .. }));
        column(name).map(|column| {
            let (column, n_lacking) = whole_numbers(column, n_rows, range, is_unsigned);
            // Time columns are in nanoseconds by name, even if a library converted them to timestamps of another unit.
            let (column, n_lost) = match told.and_then(|told| told.unit_ns) {
                None | Some(1) => (column, 0),
                Some(unit) => nanoseconds(column, n_rows, i64::from(unit)),
            };
            info.n_out_of_range += n_lacking + n_lost;
            column
        })
    };
    let (sample, time) = (numbers("sample_id", Range::Unsigned)?, numbers("timestamp_ns", Range::Signed)?);
    let (address, region_id) = (numbers("address", Range::Bits)?, numbers("region_id", Range::Unsigned32)?);
    let latency = numbers("access_latency_ns", Range::Unsigned)?;
    let (remote, cpu) = (numbers("numa_node", Range::Unsigned32)?, numbers("cpu_id", Range::Unsigned32)?);
    let thread = numbers("thread_id", Range::Signed)?;
    let (token, context) =
        (numbers("token_index", Range::Signed)?, numbers("context_tokens", Range::Signed)?);
    // Look up the meaning of each of the few distinct texts once.
    let ops: Vec<Op> = op.ids.iter().map(|id| op_of(strings.get(*id))).collect();
    let is_other: Vec<bool> = ops.iter().map(|op| *op == Op::Other).collect();
    let other = op.first(&is_other).and_then(|row| op.get(row));
    info.other_op = other.map(|id| strings.get(id).to_string());
    let regions: Vec<RegionType> =
        region.ids.iter().map(|id| RegionType::of_name(strings.get(*id))).collect();
    // If some rows have labels, all rows were labelled; those without one are of unknown kind.
    let has_labels = || ["region_type", "region_id"].iter().all(|name| file.column(name).is_some());
    if !rows.is_labelled() && has_labels() && (has_named(&region) || has_numbered(&region_id, n_rows)) {
        rows.set_labelled(true);
    }
    let unnamed = if rows.is_labelled() { RegionType::Other } else { RegionType::Unknown };
    let n_runs_before = info.run_id.is_some();
    if let Some(id) = run_id.get(0).filter(|_| !n_runs_before) {
        info.run_id = Some(strings.get(id).to_string());
    }
    let first = info.run_id.as_deref().and_then(|run| strings.find(run));
    let has_all = |column: &Column| column.valid.is_none() && !matches!(column.values, Values::Null);
    // By now, number columns contain only numbers, and the operation column only text.
    if [&time, &address, &op.column].into_iter().all(has_all) {
        info.has_several_runs |= match &run_id.column {
            Column { valid: None, values: Values::Texts(ids, _) } => {
                // Among the few texts, those of runs other than the first.
                let others: Vec<bool> = run_id.ids.iter().map(|id| Some(*id) != first).collect();
                ids.iter().any(|id| others.get(id.0 as usize).copied().unwrap_or(true))
            }
            _ => (0..n_rows).any(|row| run_id.get(row) != first),
        };
        let n_before = rows.len() as i64;
        let other_ops = op.only(|id| ops.get(id) == Some(&Op::Other));
        let other_regions = region.only(|id| regions.get(id) == Some(&RegionType::Other));
        let op_kinds = op.into_numbers(ops.iter().map(|op| *op as i64).collect(), Op::Other as i64);
        let region_kinds =
            region.into_numbers(regions.iter().map(|region| *region as i64).collect(), unnamed as i64);
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
        let region_kind = region_at.and_then(|at| regions.get(at)).copied().unwrap_or(unnamed);
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

/// Whether some row has a region type other than unknown.
fn has_named(regions: &Texts) -> bool {
    let is_named = |name: &str| !name.is_empty() && RegionType::of_name(name) != RegionType::Unknown;
    let named: Vec<bool> =
        regions.column.texts().into_iter().flat_map(StringTable::all).map(is_named).collect();
    regions.only(|id| named.get(id).copied().unwrap_or(false)).is_some()
}

/// Whether some row has a nonzero region number.
fn has_numbered(ids: &Column, n_rows: usize) -> bool {
    match &ids.values {
        Values::Null => false,
        Values::Codes(_, numbers) if numbers.iter().all(|id| *id == 0) => false,
        _ => (0..n_rows).any(|row| ids.int(row).is_some_and(|id| id != 0)),
    }
}

fn op_of(text: &str) -> Op {
    match text {
        "load" => Op::Load,
        "store" => Op::Store,
        _ => Op::Other,
    }
}

/// Indexes in [`COLUMNS`] of times, threads and tokens, which are signed in an [`Access`].
const SIGNED: [usize; 4] = [2, 15, 16, 17];

/// Writes the rows of one run, in two passes. Numbers too large for the type of their column widen it in
/// the whole file, negative ones make it signed.
pub fn write<I: Iterator<Item = Access>>(
    run_id: &str,
    rows: impl Fn() -> I,
    strings: &StringTable,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_in_groups(run_id, rows, strings, GROUP_ROWS, out)
}

/// Like [`write()`], with a given number of rows per row group.
pub fn write_in_groups<I: Iterator<Item = Access>>(
    run_id: &str,
    rows: impl Fn() -> I,
    strings: &StringTable,
    group_rows: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut max = [0u64; N_COLUMNS];
    let mut is_negative = [false; N_COLUMNS];
    for row in rows() {
        for (n, (max, is_negative)) in max.iter_mut().zip(&mut is_negative).enumerate() {
            let number = number(&row, n).unwrap_or(0);
            *max = (*max).max(number as u64);
            *is_negative |= SIGNED.contains(&n) && number < 0;
        }
    }
    let mut columns = COLUMNS;
    for ((column, max), is_negative) in columns.iter_mut().zip(max).zip(is_negative) {
        if is_negative {
            column.kind = Kind::Int { bits: 64, signed: true };
        } else if let Kind::Int { bits, .. } = &mut column.kind
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
        group.extend(rows.by_ref().take(group_rows));
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

/// The value of a number column, by its index in [`COLUMNS`].
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

/// The value of a text column, by its index in [`COLUMNS`].
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
