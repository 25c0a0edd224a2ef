//! A table as someone looks at it: sorted, filtered, a window of rows.
//!
//! Row numbers are worked out here once for page, copies and exports; the page only ever holds what it shows.

use super::table::{Cells, Sort, Table};
use super::value::Value;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What someone wants to see of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TableQuery {
    /// `None`: the table's own order.
    pub sort: Option<Sort>,
    /// Rows whose text cells hold all of these words, in any case; empty: all rows.
    pub filter: String,
}

/// A window of rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableRows {
    /// Rows that pass the filter.
    pub n_matching: u64,
    /// Position of the first row given here among those.
    pub offset: u64,
    /// Values by row, then column.
    pub rows: Vec<Vec<Value>>,
    /// Largest value of each column over the whole table, for bars; 0 where there are none.
    pub column_max: Vec<f64>,
}

/// The numbers of the rows that match `query`, in its order. Sorting is stable; missing values come last.
pub fn row_order(table: &Table, query: &TableQuery) -> Vec<u32> {
    let words: Vec<String> = query.filter.split_whitespace().map(str::to_lowercase).collect();
    let mut rows: Vec<u32> = (0..table.n_rows() as u32)
        .filter(|row| words.is_empty() || matches(table, *row as usize, &words))
        .collect();
    let Some(sort) = query.sort else { return rows };
    let Some(column) = table.columns.get(sort.column as usize) else { return rows };
    match &column.cells {
        Cells::Text(cells) => sort_rows(&mut rows, sort, |row| cells.get(row), |a, b| a.cmp(b)),
        Cells::Unsigned(cells) => sort_rows(&mut rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Integer(cells) => sort_rows(&mut rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Bool(cells) => sort_rows(&mut rows, sort, |row| cells[row], |a, b| a.cmp(b)),
        Cells::Float(cells) => sort_rows(
            &mut rows,
            sort,
            |row| cells[row].filter(|value| !value.is_nan()),
            |a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal),
        ),
    }
    rows
}

fn sort_rows<T>(
    rows: &mut [u32],
    sort: Sort,
    value: impl Fn(usize) -> Option<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    rows.sort_by(|a, b| match (value(*a as usize), value(*b as usize)) {
        (Some(a), Some(b)) if sort.descending => compare(&b, &a),
        (Some(a), Some(b)) => compare(&a, &b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    });
}

fn matches(table: &Table, row: usize, words: &[String]) -> bool {
    let mut text = String::new();
    for column in &table.columns {
        match &column.cells {
            Cells::Text(cells) => text.push_str(cells.get(row).unwrap_or("")),
            // Ids and line numbers are names too.
            _ if column.key => text.push_str(&column.cells.get(row).plain()),
            _ => continue,
        }
        text.push('\n');
    }
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// The rows `offset..offset + limit` of `order`.
pub fn window(table: &Table, order: &[u32], offset: u64, limit: u64) -> TableRows {
    let start = (offset.min(order.len() as u64)) as usize;
    let end = start.saturating_add(limit as usize).min(order.len());
    let rows = order[start..end]
        .iter()
        .map(|row| table.columns.iter().map(|column| column.cells.get(*row as usize)).collect())
        .collect();
    let column_max = table.columns.iter().map(column_max).collect();
    TableRows { n_matching: order.len() as u64, offset: start as u64, rows, column_max }
}

fn column_max(column: &super::Column) -> f64 {
    if !column.bar {
        return 0.0;
    }
    (0..column.cells.len())
        .filter_map(|row| column.cells.get(row).as_f64())
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Unit;
    use crate::report::Column;

    #[test]
    fn sorts_filters_and_cuts() {
        let names = ["Beta", "alpha", "gamma", "alphabet"];
        let table = Table::new(
            "t",
            "t",
            vec![
                Column::key("name", "name", names.into_iter().collect()),
                Column::unsigned("n", "n", Unit::Count, vec![Some(3), None, Some(3), Some(u64::MAX)]),
            ],
        );
        let order = |column, descending, filter: &str| {
            let sort = Some(Sort { column, descending });
            row_order(&table, &TableQuery { sort, filter: filter.to_string() })
        };
        assert_eq!(order(1, true, ""), [3, 0, 2, 1]);
        assert_eq!(order(1, false, ""), [0, 2, 3, 1]);
        assert_eq!(order(0, false, "ALPHA"), [1, 3]);
        assert_eq!(order(0, false, "alpha bet"), [3]);
        let rows = window(&table, &[3, 0, 2, 1], 1, 2);
        assert_eq!((rows.n_matching, rows.rows.len(), rows.rows[0][0].clone()), (4, 2, "Beta".into()));
        assert_eq!(window(&table, &[3], 7, 2).rows.len(), 0);
    }
}
