//! Tables of reports and of events as Arrow.

use crate::arrow::{Buffer, Field, Kind, Table, Values, bits, texts};
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use tracedrop::base::strings::StringId;
use tracedrop::export::event_tables::{self, Data, EventTable};
use tracedrop::export::json::unit_name;
use tracedrop::report::{self, Cells};
use tracedrop::trace::{Run, Trace};

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_string(), value.to_string())
}

fn field(name: &str, kind: Kind, unit: &str, about: &str) -> Field {
    let mut metadata = vec![pair("unit", unit)];
    if !about.is_empty() {
        metadata.push(pair("about", about));
    }
    Field { name: name.to_string(), kind, metadata }
}

/// Values of numbers, of which some may be missing.
fn numbers<T: Copy + Default>(cells: &[Option<T>], buffer: fn(Vec<T>) -> Buffer) -> Values {
    let (valid, n_missing) = bits(cells.iter().map(Option::is_some));
    let values = cells.iter().map(|cell| cell.unwrap_or_default()).collect();
    Values {
        len: cells.len(),
        n_missing,
        valid: (n_missing > 0).then_some(valid),
        buffers: vec![buffer(values)],
        dictionary: None,
    }
}

/// A table of a report, in its own order of rows.
pub fn of_report(table: &report::Table) -> Table {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for column in &table.columns {
        let (kind, values) = match &column.cells {
            Cells::Text(cells) => (Kind::Text, texts((0..cells.len()).map(|row| cells.get(row)))),
            Cells::Unsigned(cells) => (Kind::Unsigned, numbers(cells, Buffer::Unsigned)),
            Cells::Integer(cells) => (Kind::Integer, numbers(cells, Buffer::Integer)),
            Cells::Float(cells) => (Kind::Float, numbers(cells, Buffer::Float)),
            Cells::Bool(cells) => {
                let values = |cells: Vec<bool>| Buffer::Bytes(bits(cells.into_iter()).0);
                (Kind::Bool, numbers(cells, values))
            }
        };
        fields.push(field(&column.id, kind, unit_name(column.unit), &column.hint));
        columns.push(values);
    }
    let metadata = vec![pair("title", &table.title), pair("rows_left_out", &table.n_left_out.to_string())];
    Table { fields, metadata, batches: vec![columns], _owner: None }
}

/// A table of events. `keep` keeps the traces as they are. With `with_args`, slices have their arguments as JSON.
pub fn of_events(
    table: &'static EventTable,
    run: &Run,
    with_args: bool,
    keep: Arc<dyn Any + Send + Sync>,
) -> Table {
    let mut parts: Vec<_> = run.traces.iter().map(|trace| table.of(trace).into_iter()).collect();
    let several = run.traces.len() > 1;
    let mut fields = Vec::new();
    let mut batches: Vec<Vec<Values>> = parts.iter().map(|_| Vec::new()).collect();
    if several {
        fields.push(field("file", Kind::Unsigned32, "id", "number of the file, from 0"));
        for ((file, part), batch) in (0u32..).zip(&parts).zip(&mut batches) {
            let len = part.as_slice().first().map_or(0, Data::len);
            batch.push(whole(len, vec![Buffer::Unsigned32(vec![file; len])]));
        }
    }
    let mut names = Dictionary::of_names(&run.traces);
    for column in table.columns {
        let mut kind = Kind::Integer;
        let mut words = Dictionary::default();
        let mut made = Vec::new();
        for (trace, part) in run.traces.iter().zip(&mut parts) {
            let Some(data) = part.next() else { continue };
            let (of, values) = values_of(data, trace, several, &mut names, &mut words);
            kind = of;
            made.push(values);
        }
        // The dictionary is that of all batches, so it is complete only now.
        let shared = words.values().or_else(|| names.shared());
        for (values, batch) in made.into_iter().zip(&mut batches) {
            let dictionary = if kind == Kind::Words { shared.clone() } else { None };
            batch.push(Values { dictionary, ..values });
        }
        fields.push(field(column.id, kind, unit_name(column.unit), column.about));
    }
    if with_args && table.id == "slices" {
        fields.push(field("args", Kind::Text, "none", "arguments as JSON; missing if it has none"));
        for (trace, batch) in run.traces.iter().zip(&mut batches) {
            batch.push(args_of(trace));
        }
    }
    let metadata = vec![pair("title", table.id), pair("about", table.about)];
    Table { fields, metadata, batches, _owner: Some(keep) }
}

fn args_of(trace: &Trace) -> Values {
    let texts_of: Vec<Option<String>> = (0..trace.slices.len())
        .map(|slice| {
            let mut json = Vec::new();
            trace.push_slice_args(slice, &mut json);
            (!json.is_empty()).then(|| String::from_utf8_lossy(&json).into_owned())
        })
        .collect();
    texts(texts_of.iter().map(Option::as_deref))
}

fn whole(len: usize, buffers: Vec<Buffer>) -> Values {
    Values { len, n_missing: 0, valid: None, buffers, dictionary: None }
}

/// Texts that columns refer to by position. One per column; that of the names of a trace is shared by its columns.
#[derive(Default)]
struct Dictionary {
    words: Vec<String>,
    codes: HashMap<String, u32>,
    made: Option<Arc<Values>>,
    is_used: bool,
}

impl Dictionary {
    /// The names of one trace, by their number; of several traces they are added as they are met.
    fn of_names(traces: &[Trace]) -> Dictionary {
        match traces {
            [trace] => {
                let all: Vec<&str> = trace.strings.all().collect();
                let made = Some(Arc::new(texts(all.iter().map(|text| Some(*text)))));
                Dictionary { made, ..Dictionary::default() }
            }
            _ => Dictionary::default(),
        }
    }

    fn code(&mut self, word: &str) -> u32 {
        if let Some(code) = self.codes.get(word) {
            return *code;
        }
        let code = self.words.len() as u32;
        self.words.push(word.to_string());
        self.codes.insert(word.to_string(), code);
        code
    }

    fn values(&self) -> Option<Arc<Values>> {
        self.is_used.then(|| Arc::new(texts(self.words.iter().map(|word| Some(word.as_str())))))
    }

    fn shared(&self) -> Option<Arc<Values>> {
        self.made.clone()
    }
}

/// One column of one trace. Borrowed columns stay where they are.
fn values_of(
    data: Data<'_>,
    trace: &Trace,
    several: bool,
    names: &mut Dictionary,
    words: &mut Dictionary,
) -> (Kind, Values) {
    use event_tables::Values as Of;
    fn buffer<T: Clone>(values: Cow<'_, [T]>, own: fn(Vec<T>) -> Buffer) -> Buffer {
        match values {
            Cow::Borrowed(values) => Buffer::Borrowed(values.as_ptr().cast()),
            Cow::Owned(values) => own(values),
        }
    }
    let len = data.len();
    let (kind, buffer) = match data.values {
        Of::Unsigned32(values) => (Kind::Unsigned32, buffer(values, Buffer::Unsigned32)),
        Of::Unsigned(values) => (Kind::Unsigned, buffer(values, Buffer::Unsigned)),
        Of::Integer(values) => (Kind::Integer, buffer(values, Buffer::Integer)),
        Of::Float(values) => (Kind::Float, buffer(values, Buffer::Float)),
        Of::Words(codes, of) => {
            words.is_used = true;
            let new: Vec<u32> = of.iter().map(|word| words.code(word)).collect();
            let code = |code: &u32| new.get(*code as usize).copied().unwrap_or_default();
            (Kind::Words, Buffer::Unsigned32(codes.iter().map(code).collect()))
        }
        Of::Names(ids) => {
            let is_whole = ids.iter().all(|id| !id.is_none());
            let bits = bits(ids.iter().map(|id| !id.is_none()));
            let values = match ids {
                // A number is a position in the dictionary as it is.
                _ if several || names.made.is_none() => {
                    words.is_used = true;
                    let mut codes: HashMap<StringId, u32> = HashMap::new();
                    let mut code = |id: &StringId| match id.some() {
                        Some(id) => *codes.entry(id).or_insert_with(|| words.code(trace.strings.get(id))),
                        None => 0,
                    };
                    Buffer::Unsigned32(ids.iter().map(&mut code).collect())
                }
                Cow::Borrowed(ids) => Buffer::Borrowed(ids.as_ptr().cast()),
                Cow::Owned(ids) => Buffer::Unsigned32(ids.iter().map(|id| id.0).collect()),
            };
            let (valid, n_missing) = bits;
            let valid = (!is_whole).then_some(valid);
            return (Kind::Words, Values { len, n_missing, valid, buffers: vec![values], dictionary: None });
        }
    };
    let (valid, n_missing) = match &data.valid {
        Some(valid) => {
            let (bits, n_missing) = bits(valid.iter().copied());
            (Some(bits), n_missing)
        }
        None => (None, 0),
    };
    (kind, Values { len, n_missing, valid, buffers: vec![buffer], dictionary: None })
}
