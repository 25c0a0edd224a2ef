//! Footer of a file: its columns and row groups.

use super::Error;
use super::thrift::{self, Fields, Value};

/// Kind of values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bool,
    /// Integer of this many bits.
    Int {
        bits: u8,
        signed: bool,
    },
    Float {
        bits: u8,
    },
    Text,
    /// Only nulls.
    Null,
    /// Lists, decimals, 96-bit timestamps and the like; not supported.
    Other,
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnInfo {
    pub name: String,
    pub kind: Kind,
    /// Whether values can be null.
    pub optional: bool,
    /// Nanoseconds per unit, for timestamps.
    pub unit_ns: Option<u32>,
    /// Display name of the type for [`Kind::Other`]; else empty.
    pub other_type: &'static str,
    pub(super) physical: Physical,
}

/// Physical type of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Physical {
    Bool,
    Int32,
    Int64,
    Float,
    Double,
    Bytes,
    Other,
}

#[derive(Clone, Debug)]
pub struct RowGroup {
    pub n_rows: u64,
    /// Chunks, one per column.
    pub chunks: Vec<Chunk>,
}

/// Place of the values of one column of a row group.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub codec: i64,
    pub n_values: u64,
    /// File offset, including a dictionary.
    pub start: u64,
    pub n_bytes: u64,
}

/// Content of the footer.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    pub columns: Vec<ColumnInfo>,
    pub row_groups: Vec<RowGroup>,
    pub n_rows: u64,
    pub key_values: Vec<(String, String)>,
    pub created_by: Option<String>,
}

const DAMAGED: Error = Error::Damaged("footer");

/// Maximum values in a footer: each column of a row group has some 30.
const MAX_VALUES: usize = 8 << 20;

fn unsigned(value: Option<i64>) -> Result<u64, Error> {
    value.and_then(|value| u64::try_from(value).ok()).ok_or(DAMAGED)
}

fn structs<'a, 'b>(values: &'a [Value<'b>]) -> impl Iterator<Item = Result<&'a Fields<'b>, Error>> {
    values.iter().map(|value| match value {
        Value::Struct(fields) => Ok(fields),
        _ => Err(DAMAGED),
    })
}

impl Metadata {
    /// Reads the Thrift message at the end of a file (`FileMetaData`).
    pub fn read(bytes: &[u8]) -> Result<Metadata, Error> {
        let (file, _) = thrift::read(bytes, MAX_VALUES)?;
        let columns = columns(file.list(2))?;
        let row_groups: Vec<RowGroup> =
            structs(file.list(4)).map(|group| row_group(group?, columns.len())).collect::<Result<_, _>>()?;
        let key_values = structs(file.list(5))
            .map(|pair| pair.map(|pair| (pair.text(1).unwrap_or_default(), pair.text(2).unwrap_or_default())))
            .collect::<Result<_, _>>()?;
        let n_rows = row_groups.iter().fold(0u64, |sum, group| sum.saturating_add(group.n_rows));
        Ok(Metadata { columns, row_groups, n_rows, key_values, created_by: file.text(6) })
    }
}

/// Leaves of the schema, which is a tree in depth-first order.
fn columns(schema: &[Value<'_>]) -> Result<Vec<ColumnInfo>, Error> {
    let mut columns = Vec::new();
    // Number of missing children of each open group.
    let mut open: Vec<i64> = Vec::new();
    for (n, element) in structs(schema).enumerate() {
        let element = element?;
        let n_children = element.int(5).unwrap_or(0);
        if n_children < 0 {
            return Err(DAMAGED);
        }
        if n > 0 {
            *open.last_mut().ok_or(DAMAGED)? -= 1;
        }
        if n_children > 0 || n == 0 {
            open.push(n_children);
        } else {
            columns.push(column(element, open.len() > 1));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(columns)
}

fn column(element: &Fields<'_>, is_nested: bool) -> ColumnInfo {
    let physical = match element.int(1) {
        Some(0) => Physical::Bool,
        Some(1) => Physical::Int32,
        Some(2) => Physical::Int64,
        Some(4) => Physical::Float,
        Some(5) => Physical::Double,
        Some(6) => Physical::Bytes,
        _ => Physical::Other,
    };
    let repetition = element.int(3).unwrap_or(0);
    let kind = if is_nested || repetition == 2 { Kind::Other } else { kind(element, physical) };
    let other_type = match element.int(1) {
        _ if kind != Kind::Other => "",
        _ if is_nested || repetition == 2 => "lists or structs",
        Some(3) => "INT96 timestamps",
        Some(7) if !is_decimal(element) => "fixed-length byte arrays",
        _ => "decimals",
    };
    ColumnInfo {
        name: element.text(4).unwrap_or_default(),
        kind,
        optional: repetition == 1,
        unit_ns: unit_ns(element),
        other_type,
        physical,
    }
}

/// Nanoseconds per unit of a timestamp, from the logical type or the older converted type.
fn unit_ns(element: &Fields<'_>) -> Option<u32> {
    let unit = element.fields(10).and_then(|logical| logical.fields(8)).and_then(|time| time.fields(2));
    let has = |id| unit.is_some_and(|unit| unit.get(id).is_some());
    match element.int(6) {
        _ if has(3) => Some(1),
        _ if has(2) => Some(1_000),
        _ if has(1) => Some(1_000_000),
        Some(10) => Some(1_000),
        Some(9) => Some(1_000_000),
        _ => None,
    }
}

fn is_decimal(element: &Fields<'_>) -> bool {
    element.int(6) == Some(5) || element.fields(10).is_some_and(|logical| logical.get(5).is_some())
}

fn kind(element: &Fields<'_>, physical: Physical) -> Kind {
    let logical = element.fields(10);
    let converted = element.int(6);
    if logical.is_some_and(|logical| logical.get(11).is_some()) {
        return Kind::Null;
    }
    let told = logical.and_then(|logical| logical.fields(10)).map(|integer| integer.bool(2) != Some(false));
    let signed = told.unwrap_or(!matches!(converted, Some(11..=14)));
    match physical {
        _ if is_decimal(element) => Kind::Other,
        Physical::Bool => Kind::Bool,
        Physical::Int32 => Kind::Int { bits: 32, signed },
        Physical::Int64 => Kind::Int { bits: 64, signed },
        Physical::Float => Kind::Float { bits: 32 },
        Physical::Double => Kind::Float { bits: 64 },
        Physical::Bytes => Kind::Text,
        Physical::Other => Kind::Other,
    }
}

fn row_group(group: &Fields<'_>, n_columns: usize) -> Result<RowGroup, Error> {
    let chunks: Vec<Chunk> =
        structs(group.list(1)).map(|chunk| self::chunk(chunk?)).collect::<Result<_, _>>()?;
    if chunks.len() != n_columns {
        return Err(DAMAGED);
    }
    Ok(RowGroup { n_rows: unsigned(group.int(3))?, chunks })
}

fn chunk(chunk: &Fields<'_>) -> Result<Chunk, Error> {
    if chunk.get(1).is_some() {
        return Err(Error::Unsupported("columns in other files".to_string()));
    }
    let Some(data) = chunk.fields(3) else {
        return Err(Error::Unsupported("encrypted columns".to_string()));
    };
    let first_page = unsigned(data.int(9))?;
    let dictionary =
        data.int(11).and_then(|at| u64::try_from(at).ok()).filter(|at| (1..first_page).contains(at));
    Ok(Chunk {
        codec: data.int(4).ok_or(DAMAGED)?,
        n_values: unsigned(data.int(5))?,
        start: dictionary.unwrap_or(first_page),
        n_bytes: unsigned(data.int(7))?,
    })
}
