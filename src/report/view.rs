//! Views of a table: sorted, filtered, a window of rows.
//!
//! Row numbers are computed here for page, copies and exports alike; the page only keeps the rows it shows.

use super::table::{Cells, Column, Compared, Sort, Table};
use super::value::Value;
use super::{Block, Report};
use crate::base::sort;
use crate::base::units::Unit;
use crate::filter::{self, CellRef, ColumnInfo, Filter, FilterError, Kind, Misfit};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// Sort order and filter of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TableQuery {
    /// `None`: the table's own order.
    pub sort: Option<Sort>,
    /// Filter in the language of [`crate::filter`]; empty for all rows.
    pub filter: String,
}

/// A window of rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableRows {
    /// Number of rows that match the filter.
    pub n_matching: u64,
    /// Position of the first returned row among those.
    pub offset: u64,
    /// Values by row, then column.
    pub rows: Vec<Vec<Value>>,
    /// Of each column over the whole table, for its bars: the least value, at most 0, and the largest, at least 0.
    pub bar_ranges: Vec<(f64, f64)>,
    /// The filter cannot be used, so these are rows of the whole table.
    pub wrong: Option<WrongFilter>,
}

/// Sum of one column over some rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ColumnSum {
    /// Position of the column.
    pub column: u32,
    /// Rows that have a value; missing values and NaN are left out.
    pub n_values: u64,
    /// In the unit of the column.
    pub sum: Value,
    pub mean: f64,
}

/// Sums of the columns that add up over the rows at these positions of `order`.
pub fn column_sums(table: &Table, order: &[u32], rows: &[Range<u64>]) -> Vec<ColumnSum> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(order.len());
    let rows = || rows.iter().flat_map(|range| order.get(place(range.start)..place(range.end))).flatten();
    // Amounts of several things don't add up.
    let is_apart = |column: &Column| {
        let first = rows().next().map(|row| column.cells.get(*row as usize));
        column.compared == Compared::Apart && rows().any(|row| Some(column.cells.get(*row as usize)) != first)
    };
    if table.columns.iter().any(is_apart) {
        return Vec::new();
    }
    let columns = (0..).zip(&table.columns).filter(|(_, column)| column.compared == Compared::AddsUp);
    let sums = columns.filter_map(|(at, column)| {
        let (n_values, sum, total) = match &column.cells {
            Cells::Unsigned(cells) => {
                let values = || rows().filter_map(|row| cells[*row as usize]);
                let sum: u128 = values().map(u128::from).sum();
                (
                    values().count(),
                    u64::try_from(sum).map_or(Value::Float(sum as f64), Value::Unsigned),
                    sum as f64,
                )
            }
            Cells::Integer(cells) => {
                let values = || rows().filter_map(|row| cells[*row as usize]);
                let sum: i128 = values().map(i128::from).sum();
                (
                    values().count(),
                    i64::try_from(sum).map_or(Value::Float(sum as f64), Value::Integer),
                    sum as f64,
                )
            }
            Cells::Float(cells) => {
                let values = || rows().filter_map(|row| cells[*row as usize]).filter(|value| !value.is_nan());
                let sum: f64 = values().sum();
                (values().count(), Value::Float(sum), sum)
            }
            Cells::Text(_) | Cells::Bool(_) => return None,
        };
        let mean = total / n_values as f64;
        (n_values > 0).then_some(ColumnSum { column: at, n_values: n_values as u64, sum, mean })
    });
    sums.collect()
}

/// What is wrong with a filter, as messages have it; see [`FilterError`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WrongFilter {
    /// First byte that it is about, and the one behind the last.
    pub from: u32,
    pub to: u32,
    pub what: String,
}

impl From<FilterError> for WrongFilter {
    fn from(error: FilterError) -> WrongFilter {
        WrongFilter { from: error.at.start as u32, to: error.at.end as u32, what: error.what }
    }
}

/// Columns as filters see them.
pub fn column_infos(table: &Table) -> Vec<ColumnInfo<'_>> {
    let columns = table.columns.iter();
    let infos = columns.map(|Column { id, label, unit, cells, .. }| ColumnInfo {
        id,
        label,
        unit: *unit,
        kind: match cells {
            Cells::Text(_) => Kind::Text,
            Cells::Bool(_) => Kind::Bool,
            _ => Kind::Number,
        },
    });
    infos.collect()
}

/// Row numbers that match `query`, in its order. Sorting is stable; missing values come last.
pub fn row_order(table: &Table, query: &TableQuery) -> Result<Vec<u32>, FilterError> {
    let filter = Filter::parse(&query.filter, &column_infos(table))?;
    let mut rows = matching_rows(table, &filter);
    sort_by(table, query.sort, &mut rows);
    Ok(rows)
}

/// Row numbers that match `filter`, in the order of the table.
fn matching_rows(table: &Table, filter: &Filter) -> Vec<u32> {
    let rows = 0..table.n_rows() as u32;
    rows.filter(|row| filter.is_empty() || matches(table, *row as usize, filter)).collect()
}

/// The numbers of the rows that match `query`, in its order; all of them if there is something wrong with its filter.
pub fn row_order_or_all(table: &Table, query: &TableQuery) -> Vec<u32> {
    row_order(table, query).unwrap_or_else(|_| {
        let mut rows: Vec<u32> = (0..table.n_rows() as u32).collect();
        sort_by(table, query.sort, &mut rows);
        rows
    })
}

/// Columns that a message about an unknown one lists.
const MAX_LISTED: usize = 50;

/// Leaves only rows that match a filter in the tables of `reports`. Tables that lack a column which the filter names, or have it in
/// another unit, go: their titles are the answer. It is an error if no table is left, or if the filter is wrong for any table;
/// nothing is changed then.
pub fn keep_rows(reports: &mut [Report], filter: &str) -> Result<Vec<String>, FilterError> {
    let tables: Vec<&Table> = reports.iter().flat_map(Report::tables).collect();
    let is_known = |name: &str| tables.iter().any(|table| filter::find(name, &column_infos(table)).is_some());
    let parse = |table: &Table| Filter::parse_among(filter, &column_infos(table), &is_known);
    let filters: Vec<Result<Filter, FilterError>> = tables.iter().map(|table| parse(table)).collect();
    let errors = || filters.iter().filter_map(|filter| filter.as_ref().err());
    let wrong = errors().find(|error| error.misfit == Misfit::None);
    let unfit = errors().find(|error| error.misfit == Misfit::OtherKind).or_else(|| errors().next());
    if let Some(error) = wrong.or(unfit.filter(|_| filters.iter().all(Result::is_err))) {
        let mut error = error.clone();
        if let Misfit::Lacks(name) = &error.misfit {
            error.what = match is_known(name) {
                true => format!("No table has all columns that this filter names; some lack “{name}”."),
                false => {
                    let written = &filter[error.at.clone()];
                    filter::unknown_column(name, written, ids(&tables).iter().map(String::as_str))
                }
            };
        }
        return Err(error);
    }
    let mut left_out = Vec::new();
    let mut filters = filters.into_iter();
    for report in reports {
        report.blocks.retain_mut(|block| {
            let Block::Table(table) = block else { return true };
            let Some(Ok(filter)) = filters.next() else {
                left_out.push(table.title.clone());
                return false;
            };
            let rows = matching_rows(table, &filter);
            if rows.len() < table.n_rows() {
                *table = table.with_rows(&rows);
                table.empty = "No matching rows.".to_string();
            }
            true
        });
    }
    Ok(left_out)
}

/// Ids of all columns of these tables, each once; of very many, the first ones and how many more there are.
fn ids(tables: &[&Table]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for column in tables.iter().flat_map(|table| &table.columns) {
        if !ids.iter().any(|id| *id == column.id) {
            ids.push(column.id.to_string());
        }
    }
    if ids.len() > MAX_LISTED {
        let n_more = ids.len() - MAX_LISTED;
        ids.truncate(MAX_LISTED);
        ids.push(format!("and {n_more} more"));
    }
    ids
}

fn sort_by(table: &Table, sort: Option<Sort>, rows: &mut [u32]) {
    let Some(sort) = sort else { return };
    let Some(column) = table.columns.get(sort.column as usize) else { return };
    match &column.cells {
        Cells::Text(cells) => sort_rows(rows, sort, |row| cells.get(row), |a, b| a.cmp(b)),
        Cells::Unsigned(cells) => sort_rows(rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Integer(cells) => sort_rows(rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Bool(cells) => sort_rows(rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Float(cells) => sort_rows(
            rows,
            sort,
            |row| cells[row].filter(|value| !value.is_nan()),
            |a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal),
        ),
    }
}

fn sort_rows<T>(
    rows: &mut [u32],
    sort: Sort,
    value: impl Fn(usize) -> Option<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    sort::rows(rows, |a, b| match (value(a as usize), value(b as usize)) {
        (Some(a), Some(b)) if sort.descending => compare(&b, &a),
        (Some(a), Some(b)) => compare(&a, &b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    });
}

fn matches(table: &Table, row: usize, filter: &Filter) -> bool {
    let cell = |column: usize| match &table.columns[column].cells {
        Cells::Text(cells) => cells.get(row).map_or(CellRef::Missing, CellRef::Text),
        Cells::Unsigned(cells) => match (cells[row], table.columns[column].unit) {
            (None, _) => CellRef::Missing,
            (Some(address), Unit::Address) => CellRef::Address(address),
            (Some(value), _) => CellRef::Whole(value.into()),
        },
        Cells::Integer(cells) => cells[row].map_or(CellRef::Missing, |value| CellRef::Whole(value.into())),
        Cells::Float(cells) => cells[row].map_or(CellRef::Missing, CellRef::Float),
        Cells::Bool(cells) => cells[row].map_or(CellRef::Missing, CellRef::Bool),
    };
    let texts = |text: &mut String| {
        for column in &table.columns {
            match &column.cells {
                Cells::Text(cells) => text.push_str(cells.get(row).unwrap_or("")),
                // Ids and line numbers are names too.
                _ if column.key && column.unit == Unit::Address => {
                    text.push_str(&column.cells.get(row).display(column.unit));
                }
                _ if column.key => text.push_str(&column.cells.get(row).plain()),
                _ => continue,
            }
            text.push('\n');
        }
    };
    filter.matches(cell, texts)
}

/// The filter that finds a text as it is, whatever signs are in it.
pub fn filter_for(text: &str) -> String {
    crate::filter::exactly(text)
}

/// The rows `offset..offset + limit` of `order`.
pub fn window(table: &Table, order: &[u32], offset: u64, limit: u64) -> TableRows {
    let start = (offset.min(order.len() as u64)) as usize;
    let end = start.saturating_add(limit as usize).min(order.len());
    let rows = order[start..end]
        .iter()
        .map(|row| table.columns.iter().map(|column| column.cells.get(*row as usize)).collect())
        .collect();
    let bar_ranges = table.columns.iter().map(bar_range).collect();
    TableRows { n_matching: order.len() as u64, offset: start as u64, rows, bar_ranges, wrong: None }
}

/// From the least value to the largest, with 0 inside: what the bars of a column are drawn in.
fn bar_range(column: &super::Column) -> (f64, f64) {
    if !column.bar {
        return (0.0, 0.0);
    }
    (0..column.cells.len())
        .filter_map(|row| column.cells.get(row).as_f64())
        .filter(|value| value.is_finite())
        .fold((0.0, 0.0), |(least, most), value| (f64::min(least, value), f64::max(most, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Unit;
    use crate::report::{Column, Content};
    use std::slice::from_ref;

    #[test]
    fn sorts_filters_and_cuts() {
        let names = ["Beta", "alpha", "gamma", "alphabet"];
        let table = Table::new(
            "t",
            "t",
            vec![
                Column::key("name", "name", Content::Symbol, names.into_iter().collect()),
                Column::unsigned("n", "n", Unit::Count, vec![Some(3), None, Some(3), Some(u64::MAX)]),
            ],
        );
        let order = |column, descending, filter: &str| {
            let sort = Some(Sort { column, descending });
            row_order(&table, &TableQuery { sort, filter: filter.to_string() }).unwrap()
        };
        assert_eq!(order(1, true, ""), [3, 0, 2, 1]);
        assert_eq!(order(1, false, ""), [0, 2, 3, 1]);
        assert_eq!(order(0, false, "ALPHA"), [1, 3]);
        assert_eq!(order(0, false, "alpha bet"), [3]);
        let rows = window(&table, &[3, 0, 2, 1], 1, 2);
        assert_eq!((rows.n_matching, rows.rows.len(), rows.rows[0][0].clone()), (4, 2, "Beta".into()));
        assert_eq!(window(&table, &[3], 7, 2).rows.len(), 0);
    }
    #[test]
    fn tables_without_the_columns_go_and_are_named() {
        let names = || Column::key("name", "name", Content::Symbol, ["a", "b"].into_iter().collect());
        let own = |unit| Column::unsigned("self", "self", unit, vec![Some(20), Some(2)]);
        let table = |title: &'static str, columns| Table::new(title, title, columns);
        let reports = || {
            let mut report = Report::new("r", "r");
            report.table(table("times", vec![names(), own(Unit::Ns)]));
            report.table(table("samples", vec![names(), own(Unit::Samples)]));
            report.table(table(
                "files",
                vec![names(), Column::unsigned("line", "line", Unit::Id, vec![None; 2])],
            ));
            vec![report]
        };
        let kept = |filter: &str| {
            let mut reports = reports();
            let left_out = keep_rows(&mut reports, filter).map_err(|error| error.what)?;
            let rows: Vec<usize> = reports[0].tables().map(Table::n_rows).collect();
            Ok::<_, String>((left_out.join(" "), rows))
        };
        assert_eq!(kept("name=a"), Ok((String::new(), vec![1, 1, 1])));
        assert_eq!(kept("self>10ns"), Ok(("samples files".to_string(), vec![1])));
        // Right for samples, but a mistake in the table of times.
        assert_eq!(kept("self>1"), Err("1 needs a unit: self>1ms, self>1us.".to_string()));
        assert_eq!(
            kept("zzz=1"),
            Err("There is no column “zzz” here. Columns: name, self, line. To search for the text itself, write \"zzz=1\".".to_string())
        );
        assert_eq!(
            kept("line=2 self>1ns"),
            Err("No table has all columns that this filter names; some lack “line”.".to_string())
        );
        assert!(kept("name>1").is_err_and(|what| what.starts_with("name is text")));
    }
    #[test]
    fn sums_are_exact_and_leave_out_what_is_missing() {
        let table = Table::new(
            "t",
            "t",
            vec![
                Column::unsigned("n", "n", Unit::Count, vec![Some(3), None, Some(4), Some(u64::MAX)])
                    .adds_up(),
                Column::unsigned("p99", "p99", Unit::Count, vec![Some(1); 4]),
                Column::float("ms", "ms", Unit::None, vec![Some(0.5), Some(f64::NAN), None, Some(1.5)])
                    .adds_up(),
            ],
        );
        let order = [3, 0, 2, 1];
        let sum = |rows: &[Range<u64>]| {
            let sums = column_sums(&table, &order, rows);
            sums.into_iter().map(|it| (it.column, it.n_values, it.sum, it.mean)).collect::<Vec<_>>()
        };
        assert_eq!(sum(from_ref(&(1..4))), [(0, 2, Value::Unsigned(7), 3.5), (2, 1, Value::Float(0.5), 0.5)]);
        assert_eq!(
            sum(from_ref(&(0..1))),
            [(0, 1, Value::Unsigned(u64::MAX), u64::MAX as f64), (2, 1, Value::Float(1.5), 1.5)]
        );
        assert_eq!(sum(from_ref(&(0..2)))[0].2, Value::Float(u64::MAX as f64 + 3.0));
        assert!(sum(&[9..u64::MAX, 3..4]).is_empty());
        assert!(sum(&[]).is_empty());
    }
}
