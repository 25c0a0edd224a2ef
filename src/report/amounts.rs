//! Amounts of a table as they are, as percent of their column's total, or per step.
//!
//! Only columns that add up change ([`Compared::AddsUp`]): a total of means or quantiles says nothing. Sorting and filters go by
//! the values themselves.

use super::table::{Cells, Column, Compared, Table};
use super::value::Value;
use super::{Block, Report};
use crate::base::units::{PER_STEP, Unit};
use serde::{Deserialize, Serialize};

/// How amounts are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Amounts {
    #[default]
    Absolute,
    /// As share of the column's total.
    Percent,
    /// Divided by the number of steps of the trace.
    PerStep,
}

/// What amounts of a column relate to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Basis {
    /// Sum over all rows; `None` for a column that doesn't add up.
    pub total: Option<f64>,
    /// No rows were left out of the table, so that the total is one.
    pub is_whole: bool,
    /// Number of steps of the trace, if it has several.
    pub n_steps: Option<u64>,
    /// The table has the column's share in a column of its own; see [`has_share`].
    pub has_share: bool,
}

/// How the values of one column are shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    AsIs,
    /// As share of this total.
    OfTotal(f64),
    /// Divided by this number of steps.
    PerStep(u64),
}

impl Amounts {
    pub const ALL: [Amounts; 3] = [Amounts::Absolute, Amounts::Percent, Amounts::PerStep];

    /// Name in addresses and for the command.
    pub fn id(self) -> &'static str {
        match self {
            Amounts::Absolute => "absolute",
            Amounts::Percent => "percent",
            Amounts::PerStep => "per-step",
        }
    }

    pub fn from_id(id: &str) -> Option<Amounts> {
        Amounts::ALL.into_iter().find(|amounts| amounts.id() == id)
    }

    /// How a column is shown; as it is where that has no meaning.
    pub fn scale(self, basis: Basis) -> Scale {
        match (self, basis) {
            (Amounts::Percent, Basis { total: Some(total), is_whole: true, has_share: false, .. })
                if total != 0.0 =>
            {
                Scale::OfTotal(total)
            }
            (Amounts::PerStep, Basis { total: Some(_), n_steps: Some(n_steps @ 1..), .. }) => {
                Scale::PerStep(n_steps)
            }
            _ => Scale::AsIs,
        }
    }
}

impl Scale {
    pub fn value(self, value: &Value) -> Value {
        let divided = |by: f64| match value.as_f64() {
            Some(number) => Value::Float(number / by),
            None => value.clone(),
        };
        match self {
            Scale::AsIs => value.clone(),
            Scale::OfTotal(total) => divided(total),
            Scale::PerStep(n_steps) => divided(n_steps as f64),
        }
    }

    pub fn unit(self, unit: Unit) -> Unit {
        match self {
            Scale::AsIs | Scale::PerStep(_) => unit,
            Scale::OfTotal(_) => Unit::Ratio,
        }
    }

    pub fn label(self, label: &str) -> String {
        match self {
            Scale::AsIs => label.to_string(),
            // As in the headings of shares: "self %".
            Scale::OfTotal(_) => [label, "%"].join(" "),
            Scale::PerStep(_) => format!("{label}/step"),
        }
    }

    /// Id of such a column, so that no file names it as the amounts themselves: `total_share`, `total_per_step`. Tables may have
    /// that id for the steps of a phase.
    fn id(self, id: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
        let id = match self {
            Scale::AsIs => return id.to_string(),
            Scale::OfTotal(_) => format!("{id}_share"),
            Scale::PerStep(_) => format!("{id}{PER_STEP}"),
        };
        if is_taken(&id) { format!("{id}_overall") } else { id }
    }
}

/// Whether one of the headings `labels` of a table is that of the share of the column headed `label`. That column stays as it is
/// where others are shown as shares.
pub fn has_share<'a>(label: &str, mut labels: impl Iterator<Item = &'a str>) -> bool {
    let share = Scale::OfTotal(1.0).label(label);
    labels.any(|label| label == share)
}

/// Sum of a column of `table` over all rows; `None` if it doesn't add up.
pub fn total(table: &Table, column: &Column) -> Option<f64> {
    if column.compared != Compared::AddsUp || !table.has_totals() {
        return None;
    }
    match &column.cells {
        Cells::Unsigned(cells) => {
            Some(cells.iter().flatten().map(|value| u128::from(*value)).sum::<u128>() as f64)
        }
        Cells::Integer(cells) => {
            Some(cells.iter().flatten().map(|value| i128::from(*value)).sum::<i128>() as f64)
        }
        Cells::Float(cells) => Some(cells.iter().flatten().filter(|value| !value.is_nan()).sum()),
        Cells::Text(_) | Cells::Bool(_) => None,
    }
}

/// What the amounts of each column of a table relate to.
pub fn bases(table: &Table, n_steps: Option<u64>) -> Vec<Basis> {
    let is_whole = table.n_left_out == 0;
    let labels = || table.columns.iter().map(|column| column.label.as_str());
    let basis = |column: &Column| Basis {
        total: total(table, column),
        is_whole,
        n_steps,
        has_share: has_share(&column.label, labels()),
    };
    table.columns.iter().map(basis).collect()
}

/// The table with its amounts shown like that; `bases` are those of its columns, before any row was left out.
pub fn in_table(table: &Table, amounts: Amounts, bases: &[Basis]) -> Table {
    let is_taken = |id: &str| table.column(id).is_some();
    let columns = table
        .columns
        .iter()
        .zip(bases)
        .map(|(column, basis)| in_column(column, amounts.scale(*basis), &is_taken));
    Table { columns: columns.collect(), ..table.clone() }
}

/// What amounts of all tables of some reports relate to.
pub struct ReportBases {
    n_steps: Option<u64>,
    /// By `id` of report and table.
    tables: Vec<(String, String, Vec<Basis>)>,
}

impl ReportBases {
    /// `n_steps` is the number of steps, if there are several. Totals are those of all rows, so take them before any are left out.
    pub fn new(reports: &[Report], n_steps: Option<u64>) -> ReportBases {
        let of_report = |report: &Report| {
            let of_table =
                |table: &Table| (report.id.to_string(), table.id.to_string(), bases(table, n_steps));
            report.tables().map(of_table).collect::<Vec<_>>()
        };
        ReportBases { n_steps, tables: reports.iter().flat_map(of_report).collect() }
    }

    pub fn n_steps(&self) -> Option<u64> {
        self.n_steps
    }

    /// Shows the amounts of all tables like that.
    pub fn show(&self, reports: &mut [Report], amounts: Amounts) {
        for report in reports {
            for block in &mut report.blocks {
                let Block::Table(table) = block else { continue };
                let is_it = |(of, id, _): &&(String, String, Vec<Basis>)| *of == report.id && *id == table.id;
                if let Some((.., bases)) = self.tables.iter().find(is_it) {
                    *table = in_table(table, amounts, bases);
                }
            }
        }
    }
}

fn in_column(column: &Column, scale: Scale, is_taken: &dyn Fn(&str) -> bool) -> Column {
    if scale == Scale::AsIs {
        return column.clone();
    }
    let cells = (0..column.cells.len()).map(|row| scale.value(&column.cells.get(row)).as_f64()).collect();
    Column {
        id: scale.id(&column.id, is_taken).into(),
        label: scale.label(&column.label),
        unit: scale.unit(column.unit),
        cells: Cells::Float(cells),
        ..column.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Content;

    fn table() -> Table {
        let columns = vec![
            Column::key("name", "name", Content::Symbol, ["a", "b", "c"].into_iter().collect()),
            Column::unsigned("total", "total", Unit::Ns, vec![Some(750), None, Some(250)]).adds_up(),
            Column::float("mean", "mean", Unit::Ns, vec![Some(75.0), None, Some(25.0)]),
        ];
        Table::new("t", "t", columns)
    }

    fn texts(table: &Table, column: usize) -> Vec<String> {
        let Column { cells, unit, .. } = &table.columns[column];
        (0..cells.len()).map(|row| cells.get(row).display(*unit)).collect()
    }

    #[test]
    fn only_columns_that_add_up_change() {
        let table = table();
        let shown = |amounts| in_table(&table, amounts, &bases(&table, Some(5)));
        assert_eq!(shown(Amounts::Absolute), table);
        let percent = shown(Amounts::Percent);
        assert_eq!(
            (percent.columns[1].label.as_str(), texts(&percent, 1)),
            ("total %", vec!["75.0%".into(), "–".into(), "25.0%".into()])
        );
        assert_eq!(percent.columns[2], table.columns[2]);
        let per_step = shown(Amounts::PerStep);
        assert_eq!(
            (per_step.columns[1].label.as_str(), texts(&per_step, 1)),
            ("total/step", vec!["150 ns".into(), "–".into(), "50 ns".into()])
        );
    }

    #[test]
    fn what_has_no_meaning_stays_as_it_is() {
        let whole = Basis { total: Some(8.0), is_whole: true, ..Basis::default() };
        assert_eq!(Amounts::Percent.scale(whole), Scale::OfTotal(8.0));
        assert_eq!(Amounts::PerStep.scale(whole), Scale::AsIs);
        assert_eq!(Amounts::Percent.scale(Basis { is_whole: false, ..whole }), Scale::AsIs);
        assert_eq!(Amounts::Percent.scale(Basis { total: Some(0.0), ..whole }), Scale::AsIs);
        assert_eq!(Amounts::PerStep.scale(Basis { total: None, n_steps: Some(2), ..whole }), Scale::AsIs);
        assert_eq!(Amounts::Percent.scale(Basis { has_share: true, ..whole }), Scale::AsIs);
    }

    /// Files name columns by their ids alone.
    #[test]
    fn ids_say_how_amounts_are_shown() {
        let count = |id| Column::unsigned(id, id, Unit::Count, vec![Some(1), Some(3), None]);
        let mut table = table();
        table.columns.push(count("count").adds_up());
        table.columns.push(count("count_per_step"));
        let ids = |table: &Table, amounts| {
            let shown = in_table(table, amounts, &bases(table, Some(5)));
            shown.columns.into_iter().map(|column| column.id.into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ids(&table, Amounts::Percent), "name total_share mean count_share count_per_step");
        assert_eq!(
            ids(&table, Amounts::PerStep),
            "name total_per_step mean count_per_step_overall count_per_step"
        );
        // A table that has the share already.
        table.columns.push(Column::float(
            "share",
            "total %",
            Unit::Ratio,
            vec![Some(0.75), None, Some(0.25)],
        ));
        assert_eq!(ids(&table, Amounts::Percent), "name total mean count_share count_per_step share");
    }

    #[test]
    fn names_come_back() {
        assert!(Amounts::ALL.into_iter().all(|amounts| Amounts::from_id(amounts.id()) == Some(amounts)));
        assert_eq!(Amounts::from_id("ratio"), None);
    }
}
