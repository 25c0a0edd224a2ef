//! Values read from a column, or to be written as one.

use crate::base::strings::{StringId, StringTable};

/// The values of a column in one row group.
#[derive(Clone, Default)]
pub struct Column {
    /// Which rows have a value; `None` if all have.
    pub valid: Option<Vec<bool>>,
    /// One value per row; arbitrary for rows without one.
    pub values: Values,
}

#[derive(Clone, Default)]
pub enum Values {
    /// No row has a value.
    #[default]
    Null,
    /// Integers; unsigned 64-bit numbers are stored as the signed ones with the same bits.
    Ints(Vec<i64>),
    /// Integers as indexes into distinct values, as in a dictionary.
    Codes(Vec<u32>, Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    /// Ids of texts in the table.
    Texts(Vec<StringId>, StringTable),
}

/// Memory of columns no longer needed.
pub enum Memory {
    Ints(Vec<i64>),
    Codes(Vec<u32>),
    Texts(Vec<StringId>),
}

impl Column {
    /// Whether the row has a value.
    pub fn is_valid(&self, row: usize) -> bool {
        !matches!(self.values, Values::Null)
            && self.valid.as_ref().is_none_or(|valid| valid.get(row).copied().unwrap_or(false))
    }

    /// Integer in a row; a float counts if it is integral, since tables with gaps are often written as floats.
    pub fn int(&self, row: usize) -> Option<i64> {
        if !self.is_valid(row) {
            return None;
        }
        match &self.values {
            Values::Ints(values) => values.get(row).copied(),
            Values::Codes(codes, numbers) => numbers.get(*codes.get(row)? as usize).copied(),
            Values::Floats(values) => {
                let value = *values.get(row)?;
                (value.fract() == 0.0 && value.abs() < 9.3e18).then_some(value as i64)
            }
            Values::Bools(values) => values.get(row).map(|value| i64::from(*value)),
            Values::Null | Values::Texts(..) => None,
        }
    }

    /// Number of any type in a row.
    pub fn number(&self, row: usize) -> Option<f64> {
        match &self.values {
            Values::Floats(values) if self.is_valid(row) => values.get(row).copied(),
            _ => self.int(row).map(|value| value as f64),
        }
    }

    /// The column with plain numbers instead of indexes into distinct values.
    pub fn spelled_out(self) -> Column {
        let Column { valid, values: Values::Codes(codes, numbers) } = self else { return self };
        let values = codes.iter().map(|code| numbers.get(*code as usize).copied().unwrap_or(0));
        Column { valid, values: Values::Ints(values.collect()) }
    }

    /// Integers of `n_rows` rows (0 if missing), and which rows have one; `None` if all have. See [`Column::int`].
    pub fn into_ints(self, n_rows: usize) -> (Vec<i64>, Option<Vec<bool>>) {
        match self {
            Column { valid, values: Values::Ints(values) } if values.len() == n_rows => (values, valid),
            other => {
                let ints = (0..n_rows).map(|row| other.int(row));
                let (valid, values): (Vec<bool>, Vec<i64>) =
                    ints.map(|value| (value.is_some(), value.unwrap_or(0))).unzip();
                (values, some_missing(valid))
            }
        }
    }

    /// Id of the text in a row, for [`Column::texts`].
    pub fn text_id(&self, row: usize) -> Option<StringId> {
        match &self.values {
            Values::Texts(ids, _) if self.is_valid(row) => ids.get(row).copied(),
            _ => None,
        }
    }

    /// Texts of the column.
    pub fn texts(&self) -> Option<&StringTable> {
        match &self.values {
            Values::Texts(_, texts) => Some(texts),
            _ => None,
        }
    }

    /// Text in a row.
    pub fn text(&self, row: usize) -> Option<&str> {
        Some(self.texts()?.get(self.text_id(row)?))
    }

    /// Creates a column of integers.
    pub fn of_ints(values: impl IntoIterator<Item = Option<i64>>) -> Column {
        let (valid, values): (Vec<bool>, Vec<i64>) =
            values.into_iter().map(|value| (value.is_some(), value.unwrap_or(0))).unzip();
        Column { valid: some_missing(valid), values: Values::Ints(values) }
    }

    /// Creates a column of texts.
    pub fn of_texts<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Column {
        let mut texts = StringTable::default();
        let (valid, ids): (Vec<bool>, Vec<StringId>) = values
            .into_iter()
            .map(|text| (text.is_some(), text.map_or(StringId::EMPTY, |text| texts.intern(text))))
            .unzip();
        Column { valid: some_missing(valid), values: Values::Texts(ids, texts) }
    }
}

fn some_missing(valid: Vec<bool>) -> Option<Vec<bool>> {
    valid.contains(&false).then_some(valid)
}
