//! Join of two tables of one kind by their key columns.
//!
//! Values are whole numbers in the unit of their column (milliseconds become nanoseconds), or of 10⁻⁹ of it where amounts have
//! fractions, so rows add up exactly to the totals, and row differences to the total difference. If the sides have different numbers
//! of files, means per file are compared, as sums times the number of files of the other side, so nothing is rounded.

use super::noise::{RULE_OF_REPEATS, Sample, band_of_repeats};
use super::repeats::Repeats;
use super::shown;
use crate::analysis::gpu::annotation::Annotation;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::units::{Unit, in_words};
use crate::filter;
use crate::report::{Cells, Column, Compared, Content, Table, TextCells, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Value of one side. The default means a missing row or cell.
#[derive(Clone, Default)]
struct Side {
    /// Whole number; 0 for anything else.
    value: i128,
    /// A value that is not a whole number and cannot be summed.
    other: Option<Value>,
    is_there: bool,
}

impl Side {
    /// Adds a value of a column in this unit.
    fn add(&mut self, holds: Holds, value: Value, unit: Unit) {
        match (holds, value) {
            (_, Value::Missing) => {}
            (Holds::Whole | Holds::Fraction, value) => {
                if let Some(value) = whole(&value, unit, holds.places()) {
                    self.value = self.value.saturating_add(value);
                    self.is_there = true;
                }
            }
            // Two rows with the same key: neither represents both.
            (_, value) => {
                let value = match holds {
                    Holds::Float => value.as_f64().map_or(value, Value::Float),
                    _ => value,
                };
                let is_word_of_both = holds != Holds::Float && self.other.as_ref() == Some(&value);
                self.other = (!self.is_there || is_word_of_both).then_some(value);
                self.is_there = true;
            }
        }
    }

    /// Whether there are values of several files, which nothing represents: means don't add up.
    fn is_of_several(&self, holds: Holds) -> bool {
        let adds_up = matches!(holds, Holds::Whole | Holds::Fraction);
        self.is_there && self.other.is_none() && !adds_up
    }

    fn float(&self) -> Option<f64> {
        match self.other {
            Some(Value::Float(value)) if value.is_finite() => Some(value),
            _ => None,
        }
    }
}

/// Type of the values of a measure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Whole numbers, milliseconds as nanoseconds.
    Whole,
    /// Amounts with fractions that add up, such as weights of stacks, as whole numbers of 10^-[`PLACES`].
    Fraction,
    /// Doubles without a total.
    Float,
    Text,
    Bool,
}

/// Decimal places of amounts with fractions.
const PLACES: u32 = 9;

impl Holds {
    fn of(column: &Column) -> Holds {
        match &column.cells {
            Cells::Unsigned(_) | Cells::Integer(_) => Holds::Whole,
            Cells::Float(_) if column.unit == Unit::Ms => Holds::Whole,
            Cells::Float(_) if column.compared == Compared::AddsUp => Holds::Fraction,
            Cells::Float(_) => Holds::Float,
            Cells::Text(_) => Holds::Text,
            Cells::Bool(_) => Holds::Bool,
        }
    }

    /// Decimal places of its whole numbers.
    fn places(self) -> u32 {
        if self == Holds::Fraction { PLACES } else { 0 }
    }

    /// Type for values of both: a file has fractions, another has none. `None` if they are no numbers of one kind.
    fn with(self, other: Holds) -> Option<Holds> {
        match (self, other) {
            (one, other) if one == other => Some(one),
            (Holds::Whole, Holds::Fraction) | (Holds::Fraction, Holds::Whole) => Some(Holds::Fraction),
            (Holds::Whole, Holds::Float) | (Holds::Float, Holds::Whole) => Some(Holds::Float),
            _ => None,
        }
    }

    /// One side of a column.
    fn cells<'a>(self, sides: impl Iterator<Item = &'a Side>) -> Cells {
        match self {
            Holds::Whole | Holds::Fraction => {
                self.amounts(sides.map(|side| side.is_there.then_some(side.value)))
            }
            Holds::Float => Cells::Float(
                sides
                    .map(|side| match side.other {
                        Some(Value::Float(value)) => Some(value),
                        _ => None,
                    })
                    .collect(),
            ),
            Holds::Text => {
                let mut cells = TextCells::default();
                sides.for_each(|side| cells.push(side.other.as_ref().map(Value::plain).as_deref()));
                Cells::Text(cells)
            }
            Holds::Bool => Cells::Bool(
                sides
                    .map(|side| match side.other {
                        Some(Value::Bool(value)) => Some(value),
                        _ => None,
                    })
                    .collect(),
            ),
        }
    }

    /// Cells of whole numbers.
    fn amounts(self, values: impl Iterator<Item = Option<i128>>) -> Cells {
        match self.places() {
            0 => Cells::Integer(values.map(|value| value.map(narrow)).collect()),
            places => Cells::Float(values.map(|value| value.map(|value| number(value, places))).collect()),
        }
    }
}

/// The number that is `value` of 10^-`places`.
fn number(value: i128, places: u32) -> f64 {
    value as f64 / 10f64.powi(places as i32)
}

/// A row of both tables.
struct Row {
    key: Vec<Value>,
    /// Values of A and B, by column.
    values: Vec<[Side; 2]>,
    is_in: [bool; 2],
    /// Values by file, if known.
    by_file: Option<ByFile>,
}

impl Row {
    /// See [`Total::told`].
    fn told(&self) -> [i128; 2] {
        told(self.by_file.as_ref(), [self.values[0][0].value, self.values[0][1].value])
    }

    /// Size of the change.
    fn size(&self) -> i128 {
        let [a, b] = self.told();
        b.saturating_sub(a).saturating_abs()
    }

    fn is_noise(&self) -> bool {
        self.by_file.is_some_and(|by_file| !by_file.counts())
    }

    /// Whether only A or only B has it because it is named after a step, such as `ProfilerStep#3`: no change, but another recording.
    fn is_other_step(&self) -> bool {
        let is_step =
            |key: &Value| matches!(key, Value::Text(name) if Annotation::parse(name, &[]).is_some());
        self.is_in != [true; 2] && self.key.iter().any(is_step)
    }
}

/// A compared column.
struct Measure {
    id: Cow<'static, str>,
    label: String,
    hint: String,
    unit: Unit,
    content: Content,
    adds_up: bool,
    holds: Holds,
    /// Of lower bounds: the column that says which are exact.
    exact_id: Option<Cow<'static, str>>,
}

/// Total of a column on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Total {
    /// Id of the column.
    pub id: Cow<'static, str>,
    pub label: String,
    pub unit: Unit,
    /// All values of it are whole numbers of 10^-`places` of the unit; 0 unless amounts have fractions.
    pub places: u32,
    pub a: i128,
    pub b: i128,
    /// Sum of increases over rows; minus [`Total::lost`] it is the difference.
    pub gained: i128,
    /// Sum of decreases over rows.
    pub lost: i128,
    /// Values by file; `None` if unknown for this column.
    pub by_file: Option<ByFile>,
}

/// What whole numbers of a total stand for.
#[derive(Clone, Copy)]
pub struct Scale {
    unit: Unit,
    /// They are of 10^-`places` of the unit,
    places: u32,
    /// divided by this: for means per file, the product of the numbers of files.
    divisor: i128,
}

impl Scale {
    /// A value as a number in its unit.
    pub fn number(self, value: i128) -> f64 {
        number(value, self.places) / self.divisor as f64
    }

    /// A value for a cell.
    pub fn value(self, value: i128) -> Value {
        match self.whole(value) {
            Some(value) if self.divisor == 1 => Value::Integer(narrow(value)),
            _ => Value::Float(self.number(value)),
        }
    }

    /// A value in a sentence.
    pub fn shown(self, value: i128) -> String {
        match self.whole(value) {
            Some(value) => shown(value, self.unit),
            None => in_words(self.number(value), self.unit),
        }
    }

    fn whole(self, value: i128) -> Option<i128> {
        (self.places == 0 && value % self.divisor == 0).then(|| value / self.divisor)
    }

    /// The same of a difference, with its sign.
    pub fn signed(self, value: i128) -> String {
        match value {
            0 => format!("±{}", self.shown(0)),
            value if value > 0 => format!("+{}", self.shown(value)),
            value => format!("−{}", self.shown(value.saturating_neg())),
        }
    }
}

impl Total {
    /// Scale of sums.
    pub fn scale(&self) -> Scale {
        Scale { unit: self.unit, places: self.places, divisor: 1 }
    }

    /// Scale of [`Total::told`].
    pub fn told_scale(&self) -> Scale {
        let [a, b] = unlike_files(self.by_file.as_ref()).unwrap_or([1, 1]);
        Scale { divisor: a * b, ..self.scale() }
    }

    /// A mean of sums, or what is up to noise, in a sentence.
    pub fn mean_shown(&self, mean: f64) -> String {
        in_words(mean / 10f64.powi(self.places as i32), self.unit)
    }

    /// B − A.
    pub fn difference(&self) -> i128 {
        self.b.saturating_sub(self.a)
    }

    /// Reported values of A and B in [`Total::told_scale`]: sums, or means per file if the numbers of files differ.
    pub fn told(&self) -> [i128; 2] {
        told(self.by_file.as_ref(), [self.a, self.b])
    }

    /// Whether the reported values are per file.
    pub fn is_told_by_file(&self) -> bool {
        unlike_files(self.by_file.as_ref()).is_some()
    }
}

/// Numbers of files of A and B if they differ, so that sums are not comparable.
fn unlike_files(by_file: Option<&ByFile>) -> Option<[i128; 2]> {
    let [a, b] = by_file?.sides.map(|side| side.n as i128);
    (a != b && a > 0 && b > 0).then_some([a, b])
}

/// Means per file if the numbers of files differ, as whole numbers: each sum times the number of files of the other side.
fn told(by_file: Option<&ByFile>, [a, b]: [i128; 2]) -> [i128; 2] {
    match unlike_files(by_file) {
        Some([n_a, n_b]) => [a.saturating_mul(n_b), b.saturating_mul(n_a)],
        None => [a, b],
    }
}

/// Samples of one number per file, for each side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ByFile {
    /// A and B.
    pub sides: [Sample; 2],
    /// Differences of the means up to this are noise; `None` if unknown.
    pub noise: Option<f64>,
}

impl ByFile {
    /// From samples of the files, or from sums over numbers of files if these differ. `None` with too few files to determine noise.
    fn of(samples: [Option<Sample>; 2], sums: [i128; 2], n_files: [usize; 2]) -> Option<ByFile> {
        if let [Some(a), Some(b)] = samples {
            let noise = band_of_repeats(&a, &b)?;
            return Some(ByFile { sides: [a, b], noise: Some(noise) });
        }
        let [a, b] = n_files;
        let mean = |side: usize| {
            let mean = sums[side] as f64 / n_files[side] as f64;
            Sample { n: n_files[side], mean, median: mean, variance: 0.0 }
        };
        (a != b && a > 0 && b > 0).then(|| ByFile { sides: [mean(0), mean(1)], noise: None })
    }

    /// Mean of B − mean of A.
    pub fn difference(&self) -> f64 {
        self.sides[1].mean - self.sides[0].mean
    }

    /// Whether the means differ by more than noise, or may.
    pub fn counts(&self) -> bool {
        self.noise.is_none_or(|noise| self.difference().abs() > noise)
    }
}

/// A row that differs between A and B.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its keys as shown in the table, without empty ones.
    pub name: Vec<String>,
    /// The most distinctive of its keys that are words, for where there is little room.
    pub label: String,
    /// Filter of the table that finds its row, with as few keys as that takes.
    pub filter: String,
    /// Whether A and B have the row.
    pub is_in: [bool; 2],
    /// Main values of A and B: sums, or means per file as in [`Total::told`].
    pub sides: [i128; 2],
    /// Counts behind the values, if the table has them.
    pub pieces: Option<[i128; 2]>,
}

impl Change {
    /// B − A.
    pub fn difference(&self) -> i128 {
        self.sides[1].saturating_sub(self.sides[0])
    }
}

/// Maximum rows of [`Joined::changes`].
const MAX_CHANGES: usize = 8;

/// Two joined tables.
pub struct Joined {
    /// Id, title and key columns of the tables; for each compared column `<id>_a`, `<id>_b` and `<id>_difference` (B − A), and for
    /// the first summable one also ratio, shares, and share of the total difference.
    pub table: Table,
    /// Totals of summable columns, the main one first.
    pub totals: Vec<Total>,
    /// Largest changes first: as many rows as make up 90% of all changes, at most eight, without noise and single steps.
    pub changes: Vec<Change>,
    /// Number of rows in which nothing is known to differ, but values of several files, which don't add up, may.
    pub n_unknown: u64,
    /// Number of rows that differ.
    pub n_changed: u64,
    /// Main value of the rows that don't, as in [`Total::told`]; it is the same on both sides.
    pub unchanged: i128,
    /// Number of those that differ within noise.
    pub n_noise: u64,
    /// Number of the other ones that are steps which only one side has.
    pub n_steps: u64,
    /// Rows only in A, only in B, and in both.
    pub n_rows: [u64; 3],
    /// Total rows left out of the input tables.
    pub n_left_out: u64,
    /// Columns in different units on the two sides, which are not compared: label, and the units of A and B.
    pub unlike_units: Vec<(String, [Unit; 2])>,
    /// Labels of columns that add up and that only A, or only B, has values of; they are not compared.
    pub one_sided: [Vec<String>; 2],
    /// Files that have such tables; 0 if files are of no interest.
    n_files: [usize; 2],
}

impl Joined {
    /// Files of each side that have such tables, of `n_files`.
    pub fn n_files_of(&self, n_files: [usize; 2]) -> [usize; 2] {
        if self.n_files.contains(&0) { n_files } else { self.n_files }
    }
}

/// Whether a table is comparable: it has keys and a compared column.
pub fn is_comparable(table: &Table) -> bool {
    let has_key = table.columns.iter().any(|column| column.key);
    has_key && table.columns.iter().any(is_measure)
}

fn is_measure(column: &Column) -> bool {
    matches!(column.compared, Compared::ByRow | Compared::AddsUp | Compared::Exactness)
}

/// Tables of one kind, each with what its amounts are of: these are joined apart. A table on several things is taken apart.
pub fn apart<'a>(tables: &[&'a Table]) -> Vec<(String, Cow<'a, Table>)> {
    let mut out: Vec<(String, Cow<'a, Table>)> = Vec::new();
    for table in tables {
        let key = table.columns.iter().find(|column| column.compared == Compared::Apart);
        let Some(key) = key else {
            out.push((table.of.clone(), Cow::Borrowed(table)));
            continue;
        };
        let mut values: Vec<(Value, Vec<u32>)> = Vec::new();
        for row in 0..table.n_rows() {
            let value = key.cells.get(row);
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, rows)) => rows.push(row as u32),
                None => values.push((value, vec![row as u32])),
            }
        }
        // Not in the order of the rows, which differs from run to run.
        sort::by_cached_key(&mut values, |(value, _)| {
            let text = value.plain();
            (text.len(), text)
        });
        if values.is_empty() {
            out.push((table.of.clone(), Cow::Borrowed(table)));
        }
        for (value, rows) in values {
            let of = [table.of.clone(), value.plain()].into_iter().filter(|text| !text.is_empty());
            out.push((of.collect::<Vec<_>>().join(", "), Cow::Owned(table.with_rows(&rows))));
        }
    }
    out
}

/// A table reduced to the columns that a comparison needs.
pub fn essence(table: &Table) -> Table {
    let mut columns = table.columns.clone();
    let sort = table.sort.and_then(|sort| table.columns.get(sort.column as usize)).map(|by| by.id.clone());
    columns.retain(|column| column.key || column.compared != Compared::Not);
    let mut out = Table { columns, sort: None, ..table.clone() };
    if let Some(by) = sort {
        out = out.sorted_by(&by, true);
    }
    out
}

/// Index of the main column of a table, if one is summable.
pub fn main_measure(table: &Table) -> Option<usize> {
    let main = measures(table).into_iter().next().filter(|main| main.adds_up)?;
    table.columns.iter().position(|column| column.id == main.id)
}

/// Whether a column has times that add up.
pub fn is_time(column: &Column) -> bool {
    column.unit == Unit::Ns && column.compared == Compared::AddsUp
}

/// A table reduced to its keys and main column, and to times if that counts samples: where sampling intervals differ, these are
/// compared. `None` if it is not comparable or has no main column.
pub fn essence_of_main(table: &Table) -> Option<Table> {
    let main = main_measure(table).filter(|_| is_comparable(table))?;
    let id = table.columns[main].id.clone();
    let times = table.columns.iter().find(|column| is_time(column)).map(|column| column.id.clone());
    let times = times.filter(|_| table.columns[main].unit == Unit::Samples);
    let mut out = table.clone();
    out.columns.retain(|column| column.key || column.id == id || Some(&column.id) == times.as_ref());
    out.sort = None;
    Some(out.sorted_by(&id, true))
}

/// The keys of a row as one text, equal for joined rows.
pub fn key_text_of(table: &Table, row: usize) -> String {
    let mut text = String::new();
    for key in table.columns.iter().filter(|column| column.key) {
        push_key(&key.cells.get(row), &mut text);
    }
    text
}

/// Joins the tables of A with those of B, all of one kind and several per side if it has several files. Rows with the same key are
/// summed within a side. `each` contains the values by file of A and B. `None` if nothing is comparable.
pub fn join(a: &[&Table], b: &[&Table], each: &[Repeats; 2]) -> Option<Joined> {
    let first = a.iter().chain(b).find(|table| is_comparable(table))?;
    let keys: Vec<&Column> = first.columns.iter().filter(|column| column.key).collect();
    let measures = measures(first);
    let main_id = measures.first().map(|main| main.id.clone());
    let (measures, unlike_units) = in_like_units(measures, [a, b]);
    let (mut measures, mut one_sided) = on_both_sides(measures, [a, b]);
    // What no table of A has a column of is in none of the measures.
    let has_rows = |tables: &[&Table]| tables.iter().any(|table| table.n_rows() > 0);
    if has_rows(a) && has_rows(b) {
        let of_b = b.iter().flat_map(|table| &table.columns).filter(|it| it.compared == Compared::AddsUp);
        for column in of_b {
            let is_new = a.iter().all(|table| table.column(&column.id).is_none());
            if is_new && !one_sided[1].contains(&column.label) {
                one_sided[1].push(column.label.clone());
            }
        }
    }
    // The main one comes first, if any is left.
    if let Some(at) = measures.iter().position(|measure| measure.adds_up) {
        measures[..=at].rotate_right(1);
    }
    // Amounts with fractions of the kind that adds up, such as totals of functions beside their self weights.
    if let Some(unit) = measures.first().filter(|main| main.holds == Holds::Fraction).map(|main| main.unit) {
        let others = measures.iter_mut().filter(|it| it.holds == Holds::Float && it.unit == unit);
        others.for_each(|it| it.holds = Holds::Fraction);
    }
    let measures = measures;
    let mut rows: Vec<Row> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::default();
    let mut text = String::new();
    // Without a measure in common there is nothing to say of a row.
    let sides = if measures.is_empty() { [&[][..], &[]] } else { [a, b] };
    for (side, tables) in sides.into_iter().enumerate() {
        for table in tables {
            let of_keys: Vec<Option<&Column>> = keys.iter().map(|key| table.column(&key.id)).collect();
            let cells: Vec<Option<&Column>> =
                measures.iter().map(|measure| table.column(&measure.id)).collect();
            for number in 0..table.n_rows() {
                text.clear();
                for key in &of_keys {
                    push_key(&value_of(*key, number), &mut text);
                }
                let at = match by_key.get(&text) {
                    Some(at) => *at,
                    None => {
                        let key = of_keys.iter().map(|key| value_of(*key, number)).collect();
                        rows.push(Row {
                            key,
                            values: vec![Default::default(); measures.len()],
                            is_in: [false; 2],
                            by_file: None,
                        });
                        by_key.insert(text.clone(), rows.len() - 1);
                        rows.len() - 1
                    }
                };
                let row = &mut rows[at];
                row.is_in[side] = true;
                for ((values, column), measure) in row.values.iter_mut().zip(&cells).zip(&measures) {
                    if let Some(column) = column {
                        values[side].add(measure.holds, column.cells.get(number), column.unit);
                    }
                }
            }
        }
    }
    let mut totals = totals(&measures, &rows);
    if let Some(main) = totals.first_mut() {
        let n_files = [0, 1].map(|side: usize| each[side].n_files);
        // Files have the values of the main column of all.
        let is_of_files = Some(&main.id) == main_id.as_ref();
        let total = |side: usize| each[side].total(main.places).filter(|_| is_of_files);
        main.by_file = ByFile::of([total(0), total(1)], [main.a, main.b], n_files);
        rows.iter_mut().filter(|_| main.by_file.is_some()).for_each(|row| {
            let key = key_text(&row.key);
            let sample = |side: usize| each[side].sample(&key, main.places).filter(|_| is_of_files);
            let sums = [0, 1].map(|side: usize| row.values[0][side].value);
            row.by_file = ByFile::of([sample(0), sample(1)], sums, n_files);
        });
    }
    sort::by_cached_key(&mut rows, |row| {
        let size = row.values[0].iter().map(|side| side.value.saturating_abs()).max().unwrap_or(0);
        (std::cmp::Reverse(row.size()), std::cmp::Reverse(size), key_text(&row.key))
    });
    let table = write(first, &keys, &measures, &rows, totals.first());
    let has_main = !totals.is_empty();
    let count = |is_in: [bool; 2]| rows.iter().filter(|row| row.is_in == is_in).count() as u64;
    Some(Joined {
        table,
        totals,
        changes: changes(&keys, &measures, &rows),
        n_changed: rows
            .iter()
            .filter(|row| row.size() != 0 || !has_main && is_different(row, &measures))
            .count() as u64,
        n_unknown: rows.iter().filter(|row| !has_main && is_unknown(row, &measures)).count() as u64,
        unchanged: match has_main {
            true => rows
                .iter()
                .filter(|row| row.size() == 0)
                .map(|row| row.told()[0])
                .fold(0, i128::saturating_add),
            false => 0,
        },
        n_noise: rows.iter().filter(|row| row.size() != 0 && row.is_noise()).count() as u64,
        n_steps: rows.iter().filter(|row| row.size() != 0 && !row.is_noise() && row.is_other_step()).count()
            as u64,
        n_rows: [count([true, false]), count([false, true]), count([true, true])],
        n_left_out: a.iter().chain(b).map(|table| table.n_left_out).sum(),
        unlike_units,
        n_files: [0, 1].map(|side: usize| each[side].n_files),
        one_sided,
    })
}

/// Milliseconds are compared as nanoseconds.
fn compared_unit(unit: Unit) -> Unit {
    if unit == Unit::Ms { Unit::Ns } else { unit }
}

/// Splits off the measures whose columns have other units, or another type, in some table. A difference of bytes and counts is no
/// number. Tables of one program version always agree, except that amounts may have fractions in some, but a side may come from a
/// file that another version wrote.
fn in_like_units(measures: Vec<Measure>, sides: [&[&Table]; 2]) -> (Vec<Measure>, Vec<(String, [Unit; 2])>) {
    let mut unlike = Vec::new();
    let is_like = |measure: &mut Measure| {
        let others = sides.map(|tables| {
            let mut columns = tables.iter().filter_map(|table| table.column(&measure.id));
            let is_other = |column: &&Column| {
                if compared_unit(column.unit) != measure.unit {
                    return true;
                }
                let with = measure.holds.with(Holds::of(column));
                // Doubles have no total.
                match with.filter(|with| !measure.adds_up || *with != Holds::Float) {
                    Some(with) => {
                        measure.holds = with;
                        false
                    }
                    None => true,
                }
            };
            columns.find(is_other).map(|column| column.unit)
        });
        if others == [None, None] {
            return true;
        }
        unlike.push((measure.label.clone(), others.map(|unit| unit.unwrap_or(measure.unit))));
        false
    };
    let mut measures = measures;
    measures.retain_mut(is_like);
    (measures, unlike)
}

/// Splits off the measures that add up and that only one side has a value of, though both have rows: what the other did not record
/// is not 0 there. Their labels are by side.
fn on_both_sides(measures: Vec<Measure>, sides: [&[&Table]; 2]) -> (Vec<Measure>, [Vec<String>; 2]) {
    let mut one_sided: [Vec<String>; 2] = Default::default();
    if sides.iter().any(|tables| tables.iter().all(|table| table.n_rows() == 0)) {
        return (measures, one_sided);
    }
    let has_value =
        |column: &Column| (0..column.cells.len()).any(|row| !matches!(column.cells.get(row), Value::Missing));
    let mut measures = measures;
    measures.retain(|measure| {
        let has =
            sides.map(|tables| tables.iter().filter_map(|table| table.column(&measure.id)).any(has_value));
        match has {
            [true, false] if measure.adds_up => one_sided[0].push(measure.label.clone()),
            [false, true] if measure.adds_up => one_sided[1].push(measure.label.clone()),
            _ => return true,
        }
        false
    });
    (measures, one_sided)
}

/// Compared columns, the main one first: the summable column that the table is sorted by, else one with bars, else any.
fn measures(table: &Table) -> Vec<Measure> {
    let adds_up = |at: usize| {
        let is_sum = |column: &Column| {
            column.compared == Compared::AddsUp && matches!(Holds::of(column), Holds::Whole | Holds::Fraction)
        };
        table.columns.get(at).is_some_and(is_sum)
    };
    let by_sort = table.sort.map(|sort| sort.column as usize).filter(|at| adds_up(*at));
    let with_bar = || (0..table.columns.len()).find(|at| adds_up(*at) && table.columns[*at].bar);
    let any = || (0..table.columns.len()).find(|at| adds_up(*at));
    let main = by_sort.or_else(with_bar).or_else(any);
    let others = (0..table.columns.len())
        .filter(|at| Some(*at) != main && !table.columns[*at].key)
        .filter(|at| is_measure(&table.columns[*at]));
    let of = |at: usize| {
        let column = &table.columns[at];
        Measure {
            id: column.id.clone(),
            // A label may name its unit, which the values have.
            label: match column.label.strip_suffix(" ms").filter(|_| column.unit == Unit::Ms) {
                Some(of) => format!("{of} time"),
                None => column.label.clone(),
            },
            hint: column.hint.clone(),
            unit: compared_unit(column.unit),
            content: column.content,
            adds_up: adds_up(at),
            holds: Holds::of(column),
            exact_id: table.columns[at..]
                .iter()
                .find(|other| other.compared == Compared::Exactness)
                .filter(|_| column.compared == Compared::ByRow)
                .map(|exact| exact.id.clone()),
        }
    };
    main.into_iter().chain(others).map(of).collect()
}

fn totals(measures: &[Measure], rows: &[Row]) -> Vec<Total> {
    let sum = |at: usize, side: usize| {
        rows.iter().fold(0i128, |sum, row| sum.saturating_add(row.values[at][side].value))
    };
    let risen = |at: usize, sign: i128| {
        let by = rows.iter().map(|row| difference(row, at).saturating_mul(sign).max(0));
        by.fold(0i128, i128::saturating_add)
    };
    let of = |(at, measure): (usize, &Measure)| Total {
        id: measure.id.clone(),
        label: measure.label.clone(),
        unit: measure.unit,
        places: measure.holds.places(),
        a: sum(at, 0),
        b: sum(at, 1),
        gained: risen(at, 1),
        lost: risen(at, -1),
        by_file: None,
    };
    measures.iter().enumerate().filter(|(_, measure)| measure.adds_up).map(of).collect()
}

/// B − A of a measure.
fn difference(row: &Row, measure: usize) -> i128 {
    let [a, b] = &row.values[measure];
    b.value.saturating_sub(a.value)
}

/// The same where it is known: what a side with the row has no value of is not 0, unless rows are to add up to the total.
fn known_difference(row: &Row, at: usize, measure: &Measure) -> Option<i128> {
    let [is_in_a, is_in_b] = row.values[at].each_ref().map(|side| side.is_there);
    let is_known = match measure.adds_up {
        true => is_in_a || is_in_b,
        false => row.is_in == [is_in_a, is_in_b],
    };
    is_known.then(|| difference(row, at))
}

/// Whether a measure of lower bounds is exact on both sides, so that their difference is no guess.
fn is_exact(row: &Row, measure: &Measure, measures: &[Measure]) -> bool {
    let Some(id) = &measure.exact_id else { return true };
    let Some(at) = measures.iter().position(|other| other.id == *id) else { return false };
    let sides = row.values[at].iter().zip(row.is_in);
    // Nothing is exactly 0.
    sides.into_iter().all(|(side, is_in)| !is_in || side.other == Some(Value::Bool(true)))
}

/// Changes from sorted `rows`, see [`Joined::changes`].
fn changes(keys: &[&Column], measures: &[Measure], rows: &[Row]) -> Vec<Change> {
    if !measures.first().is_some_and(|measure| measure.adds_up) {
        return Vec::new();
    }
    let counting = || rows.iter().filter(|row| !row.is_noise() && !row.is_other_step());
    let all = counting().map(Row::size).fold(0i128, i128::saturating_add);
    let is_count = |it: &Measure| it.adds_up && it.unit == Unit::Count && it.holds == Holds::Whole;
    let pieces = (1..measures.len()).find(|at| is_count(&measures[*at]));
    let telling = telling(keys, rows);
    let mut told = 0i128;
    let mut out = Vec::new();
    for row in counting().take(MAX_CHANGES) {
        if row.size() == 0 || told.saturating_mul(10) >= all.saturating_mul(9) {
            break;
        }
        told = told.saturating_add(row.size());
        let label = telling.iter().map(|at| row.key[*at].plain()).find(|text| !text.is_empty());
        out.push(Change {
            label: label.unwrap_or_default(),
            name: name_of(keys, row),
            filter: filter_of(keys, &telling, row, rows),
            is_in: row.is_in,
            sides: row.told(),
            // Sums of counts don't match means per file.
            pieces: pieces
                .filter(|_| unlike_files(row.by_file.as_ref()).is_none())
                .map(|at| [0, 1].map(|side| row.values[at][side].value)),
        });
    }
    out
}

/// Key columns by what they tell: words before numbers, and then those with the most distinct values; at ties, the first.
fn telling(keys: &[&Column], rows: &[Row]) -> Vec<usize> {
    let distinct = |at: usize| rows.iter().map(|row| row.key[at].plain()).collect::<HashSet<String>>().len();
    let mut all: Vec<usize> = (0..rows.first().map_or(0, |row| row.key.len())).collect();
    sort::by_cached_key(&mut all, |at| {
        let is_number = keys.get(*at).is_some_and(|key| !matches!(key.cells, Cells::Text(_)));
        (is_number, std::cmp::Reverse(distinct(*at)))
    });
    all
}

/// The keys of a row as shown, without empty ones: `["step", "train.py:27"]`, `["allreduce", "3.91 KiB", "group 0"]`.
fn name_of(keys: &[&Column], row: &Row) -> Vec<String> {
    let mut name: Vec<String> = Vec::new();
    for (key, value) in keys.iter().zip(&row.key) {
        let text = value.plain();
        let is_bare = matches!(key.unit, Unit::None | Unit::Id | Unit::Count | Unit::Plain);
        match name.last_mut() {
            _ if text.is_empty() => {}
            // A line belongs to the file before it.
            Some(file) if key.id == "line" => file.push_str(&format!(":{text}")),
            // A number alone says nothing.
            _ if is_bare && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                name.push(format!("{} {text}", key.label));
            }
            _ if is_bare => name.push(text),
            _ => name.push(value.display(key.unit)),
        }
    }
    name
}

/// Filter that finds a row among `rows`, by as few of its keys as that takes; `telling` has the order in which they are tried.
fn filter_of(keys: &[&Column], telling: &[usize], row: &Row, rows: &[Row]) -> String {
    let mut tests = Vec::new();
    let mut alike: Vec<&Row> = rows.iter().collect();
    for at in telling {
        let (value, n_before) = (&row.key[*at], alike.len());
        alike.retain(|other| other.key[*at] == *value);
        let text = value.plain();
        if let Some(key) = keys.get(*at).filter(|_| !text.is_empty() && alike.len() < n_before) {
            tests.push(filter::is(&key.id, &text));
        }
        if alike.len() == 1 {
            break;
        }
    }
    tests.join(" ")
}

fn value_of(column: Option<&Column>, row: usize) -> Value {
    column.map_or(Value::Missing, |column| column.cells.get(row))
}

/// Appends a key. A missing key differs from an empty one.
fn push_key(value: &Value, out: &mut String) {
    match value {
        Value::Missing => out.push('\u{1}'),
        value => out.push_str(&value.plain()),
    }
    out.push('\u{1f}');
}

fn key_text(key: &[Value]) -> String {
    let mut text = String::new();
    key.iter().for_each(|value| push_key(value, &mut text));
    text
}

/// A value in this unit as a whole number of 10^-`places`; milliseconds as nanoseconds. `None` if there is none, or it is not finite.
fn whole(value: &Value, unit: Unit, places: u32) -> Option<i128> {
    let factor = 10i128.pow(places);
    match value {
        Value::Unsigned(value) => Some(i128::from(*value).saturating_mul(factor)),
        Value::Integer(value) => Some(i128::from(*value).saturating_mul(factor)),
        Value::Float(value) if value.is_finite() => {
            let ns = if unit == Unit::Ms { 1e6 } else { 1.0 };
            Some((value * ns * factor as f64).round() as i128)
        }
        _ => None,
    }
}

/// The values of a column with totals as whole numbers, 0 for none, and their decimal places.
pub fn amounts(column: &Column) -> (Vec<i128>, u32) {
    let places = Holds::of(column).places();
    let of_row = |row| whole(&column.cells.get(row), column.unit, places).unwrap_or(0);
    ((0..column.cells.len()).map(of_row).collect(), places)
}

/// Clamps a whole number to the range of a cell.
pub fn narrow(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// B / A; `None` if A is 0.
pub fn ratio(a: i128, b: i128) -> Option<f64> {
    // No zero has a sign.
    (a != 0).then(|| b as f64 / a as f64 + 0.0)
}

fn is_different(row: &Row, measures: &[Measure]) -> bool {
    let mut values = row.values.iter().zip(measures);
    row.is_in != [true; 2]
        || values.any(|([a, b], measure)| {
            let is_known = !a.is_of_several(measure.holds) && !b.is_of_several(measure.holds);
            is_known && (a.value != b.value || a.other != b.other || a.is_there != b.is_there)
        })
}

/// Whether nothing that can be compared differs, and a side has values of several files, none for all of them.
fn is_unknown(row: &Row, measures: &[Measure]) -> bool {
    let mut values = row.values.iter().zip(measures);
    !is_different(row, measures)
        && values.any(|([a, b], measure)| a.is_of_several(measure.holds) || b.is_of_several(measure.holds))
}

/// Change of a row as sign and word, distinct without color. `has_main`: whether the first value is a main column. Means per file have
/// words of their own, as the sums beside them may have changed the other way.
fn change(row: &Row, measures: &[Measure], has_main: bool) -> &'static str {
    let [a, b] = row.told();
    let is_by_file = unlike_files(row.by_file.as_ref()).is_some();
    match (row.is_in, b.cmp(&a)) {
        ([true, false], _) => "▽ only in A",
        ([false, true], _) => "△ only in B",
        (_, Ordering::Greater | Ordering::Less) if is_by_file && row.is_noise() => "≈ within noise",
        (_, Ordering::Greater) if is_by_file => "▲ more per file in B",
        (_, Ordering::Less) if is_by_file => "▼ less per file in B",
        (_, Ordering::Greater) if has_main => "▲ more in B",
        (_, Ordering::Less) if has_main => "▼ less in B",
        _ if !has_main && is_unknown(row, measures) => "– not compared",
        _ if !is_different(row, measures) => "= same",
        _ if has_main => "≈ equal, other columns differ",
        _ => "≠ different",
    }
}

fn write(first: &Table, keys: &[&Column], measures: &[Measure], rows: &[Row], main: Option<&Total>) -> Table {
    let mut columns: Vec<Column> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let cells = key_cells(&key.cells, rows.iter().map(|row| &row.key[at]));
        let column = Column::new(key.id.clone(), &key.label, key.unit, key.content, cells);
        columns.push(column.as_key().hint(&key.hint));
    }
    columns.push(Column::text(
        "change",
        "change",
        Content::Plain,
        rows.iter().map(|row| change(row, measures, main.is_some())).collect(),
    ));
    for (at, measure) in measures.iter().enumerate() {
        let mut add = |end: &str, label: String, cells: Cells, hint: &str, bar: bool| {
            let id = format!("{}_{end}", measure.id);
            let column = Column::new(id, &label, measure.unit, measure.content, cells).hint(hint);
            let column = if measure.adds_up { column.adds_up() } else { column.by_row() };
            columns.push(if bar { column.with_bar() } else { column });
        };
        for (number, letter) in [(0, "A"), (1, "B")] {
            let cells = measure.holds.cells(rows.iter().map(|row| &row.values[at][number]));
            add(&letter.to_lowercase(), format!("{letter}: {}", measure.label), cells, &measure.hint, false);
        }
        let label = format!("B − A: {}", measure.label);
        match measure.holds {
            Holds::Whole | Holds::Fraction => {
                let known = |row: &Row| {
                    known_difference(row, at, measure).filter(|_| is_exact(row, measure, measures))
                };
                let all = measure.holds.amounts(rows.iter().map(known));
                add("difference", label, all, "", at == 0 && main.is_some());
            }
            Holds::Float => {
                let by = |row: &Row| Some(row.values[at][1].float()? - row.values[at][0].float()?);
                add("difference", label, Cells::Float(rows.iter().map(by).collect()), "", false);
            }
            Holds::Text | Holds::Bool => {}
        }
        if let Some(main) = main.filter(|_| at == 0) {
            columns.extend(shares(rows, main));
            if let Some(of_files) = &main.by_file {
                columns.extend(by_file(rows, measure, of_files.noise.is_some()));
            }
        }
    }
    let mut table = Table::new(first.id.clone(), first.title.clone(), columns);
    table.caption = first.caption.clone();
    table.empty = "No rows on either side.".to_string();
    table
}

/// Ratio and share columns of the main column.
fn shares(rows: &[Row], main: &Total) -> Vec<Column> {
    let each = |get: &dyn Fn(i128, i128) -> Option<f64>| {
        rows.iter().map(|row| get(row.values[0][0].value, row.values[0][1].value)).collect::<Vec<_>>()
    };
    let whole = main.difference();
    let shares_of = |a: i128, b: i128| Some(ratio(main.b, b)? - ratio(main.a, a)?);
    vec![
        Column::float("ratio", "B / A", Unit::Plain, each(&|a, b| ratio(a, b))),
        Column::float("share_a", "% of A", Unit::Ratio, each(&|a, _| ratio(main.a, a)))
            .hint("share of the total of A"),
        Column::float("share_b", "% of B", Unit::Ratio, each(&|_, b| ratio(main.b, b)))
            .hint("share of the total of B"),
        Column::float("share_difference", "% of B − % of A", Unit::Ratio, each(&shares_of))
            .hint("change in share, useful if A and B were recorded for different durations"),
        Column::float(
            "of_difference",
            "% of difference",
            Unit::Ratio,
            each(&|a, b| ratio(whole, b.saturating_sub(a))),
        )
        .hint("share of the total difference; rows add up to 100%"),
    ]
}

/// Columns of means per file on each side, with significance if noise is known.
fn by_file(rows: &[Row], measure: &Measure, has_noise: bool) -> Vec<Column> {
    let column = |id: &'static str, label: &str, hint: &str, get: &dyn Fn(&ByFile) -> Option<f64>| {
        let values = rows.iter().map(|row| get(row.by_file.as_ref()?));
        let cells = match measure.unit {
            // Less than a nanosecond or a byte says nothing.
            Unit::Ns | Unit::Bytes => {
                measure.holds.amounts(values.map(|value| value.map(|value| value.round() as i128)))
            }
            _ => {
                let one = 10f64.powi(measure.holds.places() as i32);
                Cells::Float(values.map(|value| value.map(|value| value / one)).collect())
            }
        };
        Column::new(id, label, measure.unit, Content::Plain, cells).hint(hint).by_row()
    };
    let status = |row: &Row| match row.by_file {
        Some(of) if of.difference() == 0.0 => "= same",
        Some(of) if !of.counts() => "≈ within noise",
        Some(of) if of.difference() > 0.0 => "▲ more in B",
        Some(_) => "▼ less in B",
        None => "",
    };
    let mut columns = vec![
        column("file_a", "A: per file", "mean over the files of A", &|of| Some(of.sides[0].mean)),
        column("file_b", "B: per file", "mean over the files of B", &|of| Some(of.sides[1].mean)),
    ];
    if has_noise {
        columns.push(column("file_noise", "noise", "smaller differences per file are noise", &|of| of.noise));
        columns.push(
            Column::text("file_status", "significance", Content::Plain, rows.iter().map(status).collect())
                .hint(RULE_OF_REPEATS),
        );
    }
    columns
}

/// Key cells of the original type, or as text if the sides have different types.
fn key_cells<'a>(like: &Cells, keys: impl Iterator<Item = &'a Value> + Clone) -> Cells {
    let all = |is: fn(&Value) -> bool| keys.clone().all(|key| matches!(key, Value::Missing) || is(key));
    match like {
        Cells::Unsigned(_) if all(|key| matches!(key, Value::Unsigned(_))) => Cells::Unsigned(
            keys.map(|key| if let Value::Unsigned(key) = key { Some(*key) } else { None }).collect(),
        ),
        Cells::Integer(_) if all(|key| matches!(key, Value::Integer(_))) => Cells::Integer(
            keys.map(|key| if let Value::Integer(key) = key { Some(*key) } else { None }).collect(),
        ),
        _ => {
            let mut cells = TextCells::default();
            for key in keys {
                match key {
                    Value::Missing => cells.push(None),
                    key => cells.push(Some(&key.plain())),
                }
            }
            Cells::Text(cells)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, u64, f64)]) -> Table {
        Table::new(
            "t",
            "T",
            vec![
                Column::key("name", "name", Content::Symbol, rows.iter().map(|row| row.0).collect()),
                Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.1)).adds_up(),
                Column::float("ms", "time", Unit::Ms, rows.iter().map(|row| Some(row.2)).collect())
                    .with_bar()
                    .adds_up(),
            ],
        )
    }

    /// Sides written by different versions may have a column in different units: no difference is better than a wrong one.
    #[test]
    fn columns_in_unlike_units_are_not_subtracted() {
        let a = table(&[("x", 2, 1.5)]);
        let mut b = table(&[("x", 2048, 1.0)]);
        b.columns[1].unit = Unit::Bytes;
        for (left, right) in [(&a, &b), (&b, &a)] {
            let joined = join(&[left], &[right], &Default::default()).unwrap();
            let units = [left.columns[1].unit, right.columns[1].unit];
            assert_eq!(joined.unlike_units, [("count".to_string(), units)]);
            assert!(joined.table.column("count_difference").is_none());
            assert_eq!(joined.totals.len(), 1);
        }
    }

    #[test]
    fn tables_without_a_measure_in_common_say_so() {
        let a = table(&[("x", 2, 1.5)]);
        let mut b = table(&[("x", 2048, 1.0)]);
        b.columns[1].unit = Unit::Bytes;
        b.columns[2].unit = Unit::Bytes;
        let joined = join(&[&a], &[&b], &Default::default()).unwrap();
        assert_eq!((joined.unlike_units.len(), joined.totals.len(), joined.n_rows), (2, 0, [0, 0, 0]));
        assert_eq!(joined.table.n_rows(), 0);
    }

    #[test]
    fn rows_of_one_side_stay_and_all_adds_up() {
        let a = table(&[("x", 2, 1.5), ("y", 1, 0.25), ("y", 1, 0.25)]);
        let b = table(&[("z", 7, 4.0), ("x", 2, 1.0)]);
        let joined = join(&[&a], &[&b], &Default::default()).unwrap();
        assert_eq!(joined.n_rows, [1, 1, 1]);
        let totals: Vec<_> = joined.totals.iter().map(|total| (&*total.id, total.a, total.b)).collect();
        assert_eq!(totals, [("ms", 2_000_000, 5_000_000), ("count", 4, 9)]);
        let time = &joined.totals[0];
        assert_eq!((time.gained, time.lost), (4_000_000, 1_000_000));
        let changes: Vec<_> = joined
            .changes
            .iter()
            .map(|change| (&*change.filter, change.difference(), change.pieces))
            .collect();
        assert_eq!(changes, [("name=z", 4_000_000, Some([0, 7])), ("name=x", -500_000, Some([2, 2]))]);
        assert_eq!(joined.n_changed, 3);
        let cell = |row, id: &str| joined.table.column(id).unwrap().cells.get(row).plain();
        let rows: Vec<String> =
            (0..3).map(|row| format!("{} {}", cell(row, "name"), cell(row, "ms_difference"))).collect();
        assert_eq!(rows, ["z 4000000", "x -500000", "y -500000"]);
        assert_eq!(
            (cell(0, "ms_a"), cell(0, "change"), cell(2, "count_a")),
            (String::new(), "△ only in B".into(), "2".into())
        );
    }

    /// Numbers among the keys have their unit or label, and labels no unit that the values have.
    #[test]
    fn numbers_in_names_say_what_they_are() {
        let collectives = |ms: &[f64]| {
            let text = |id, label, text: &str| {
                Column::key(id, label, Content::Argument, [text].into_iter().collect())
            };
            let number =
                |id, label, unit, value| Column { key: true, ..Column::counts(id, label, unit, [value]) };
            let columns = vec![
                text("collective", "collective", "allreduce"),
                number("message", "message", Unit::Bytes, 4096),
                text("group", "group", "0"),
                number("ranks", "ranks", Unit::Count, 2),
                Column::float("ms", "total ms", Unit::Ms, ms.iter().copied().map(Some).collect()).adds_up(),
            ];
            Table::new("t", "T", columns)
        };
        let joined = join(&[&collectives(&[1.0])], &[&collectives(&[3.0])], &Default::default()).unwrap();
        assert_eq!(joined.changes[0].name, ["allreduce", "4.00 KiB", "group 0", "ranks 2"]);
        assert_eq!((&*joined.totals[0].label, joined.totals[0].unit), ("total time", Unit::Ns));
        // Nothing of a decrease is nothing, without a sign.
        assert!(ratio(-5, 0).is_some_and(f64::is_sign_positive));
    }

    #[test]
    fn changes_are_named_by_words_and_found_by_as_few_keys_as_it_takes() {
        let sites = |rows: &[(&str, &str, u64, u64)]| {
            Table::new(
                "t",
                "T",
                vec![
                    Column::key(
                        "function",
                        "function",
                        Content::Symbol,
                        rows.iter().map(|row| row.0).collect(),
                    ),
                    Column::key("file", "file", Content::Symbol, rows.iter().map(|row| row.1).collect()),
                    Column {
                        key: true,
                        ..Column::counts("line", "line", Unit::Count, rows.iter().map(|row| row.2))
                    },
                    Column::counts("bytes", "at peak", Unit::Bytes, rows.iter().map(|row| row.3))
                        .with_bar()
                        .adds_up(),
                ],
            )
        };
        let rows = [("step", "train.py", 27, 80), ("step", "train.py", 30, 60), ("load", "data.py", 27, 50)];
        let joined = join(&[&sites(&[])], &[&sites(&rows)], &Default::default()).unwrap();
        let changes: Vec<_> = joined
            .changes
            .iter()
            .map(|change| (change.name.join(" · "), &*change.label, &*change.filter))
            .collect();
        assert_eq!(
            changes,
            [
                ("step · train.py:27".to_string(), "step", "function=step line=27"),
                ("step · train.py:30".to_string(), "step", "function=step line=30"),
                ("load · data.py:27".to_string(), "load", "function=load"),
            ]
        );
    }
}
