//! Threads as Firefox records them: tables of rows, with a schema that says which column is where.

use super::*;
use crate::import::stacks::{Below, json::index};

/// A table of rows, which may be shorter than its schema.
struct Table<'a> {
    table: Option<Item<'a>>,
    schema: Option<Item<'a>>,
}

impl<'a> Table<'a> {
    fn of(thread: Item<'a>, name: &str) -> Table<'a> {
        let table = thread.get(name);
        Table { table, schema: table.and_then(|table| table.get("schema")) }
    }

    /// Position of a column.
    fn column(&self, name: &str) -> Option<usize> {
        self.schema?.get(name).and_then(index)
    }

    fn rows(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        self.table.and_then(|table| table.get("data")).into_iter().flat_map(Item::items)
    }
}

/// Cell of a row; `None` if it is missing or null.
fn cell(row: Item<'_>, column: Option<usize>) -> Option<Item<'_>> {
    row.items().nth(column?).filter(|item| !item.is_null())
}

/// Frames of a thread, by row.
struct Frames<'a> {
    rows: Vec<Item<'a>>,
    location: Option<usize>,
    line: Option<usize>,
    column: Option<usize>,
    category: Option<usize>,
    strings: Vec<Item<'a>>,
    /// Start, end and name of each library.
    libraries: Vec<(u64, u64, Item<'a>)>,
    known: Vec<Option<Frame>>,
}

impl<'a> Frames<'a> {
    fn of(thread: Item<'a>, profile: Item<'a>) -> Frames<'a> {
        let table = Table::of(thread, "frameTable");
        let rows: Vec<Item<'a>> = table.rows().collect();
        let libraries = profile.get("libs").into_iter().flat_map(Item::items).filter_map(|library| {
            let number = |key: &str| u64::try_from(library.get(key)?.whole()?).ok();
            Some((number("start")?, number("end")?, library.get("name")?))
        });
        Frames {
            known: vec![None; rows.len()],
            rows,
            location: table.column("location"),
            line: table.column("line"),
            column: table.column("column"),
            category: table.column("category"),
            strings: thread.get("stringTable").into_iter().flat_map(Item::items).collect(),
            libraries: libraries.collect(),
        }
    }

    fn get(&mut self, number: Option<usize>, about: &mut Thread<'_, '_>, out: &mut TraceBuilder) -> Frame {
        let Some(row) = number.and_then(|number| self.rows.get(number).copied()) else {
            note(out, &DANGLING_ID, "frame");
            return Frame::named(out.trace.strings.intern(MISSING));
        };
        let number = number.unwrap_or_default();
        if let Some(known) = self.known[number] {
            return known;
        }
        let mut frame = match cell(row, self.location) {
            None => Frame::named(out.trace.strings.intern(UNKNOWN)),
            Some(location) => match index(location).and_then(|at| self.strings.get(at).copied()) {
                Some(text) => self.located(text, about, out),
                None => {
                    note(out, &DANGLING_ID, "location");
                    Frame::named(out.trace.strings.intern(MISSING))
                }
            },
        };
        frame.line = cell(row, self.line).and_then(Item::whole).unwrap_or(frame.line);
        frame.column = cell(row, self.column).and_then(Item::whole).unwrap_or(frame.column);
        frame.category = about.category(cell(row, self.category));
        self.known[number] = Some(frame);
        frame
    }

    /// Frame of a location's text.
    fn located(&self, item: Item<'_>, about: &mut Thread<'_, '_>, out: &mut TraceBuilder) -> Frame {
        let Some(text) = item.text() else { return Frame::named(out.trace.strings.intern(UNKNOWN)) };
        let strings = &mut out.trace.strings;
        match Location::of(text) {
            Location::Script { name, file, line, column } => {
                let name = strings.intern(name.unwrap_or("(anonymous)"));
                Frame { file: strings.intern(file), line, column, ..Frame::named(name) }
            }
            Location::Native { name, module } => {
                let name = strings.intern(name);
                Frame { module: strings.intern(module), ..Frame::named(name) }
            }
            Location::Address(address) => {
                let name = strings.intern(&format!("{address:#x}"));
                let library =
                    self.libraries.iter().find(|(start, end, _)| *start <= address && address < *end);
                let module = library.map_or(StringId::NONE, |(_, _, name)| about.texts.id(Some(*name), out));
                Frame { module, ..Frame::named(name) }
            }
            Location::Label(_) => Frame::named(about.texts.id(Some(item), out)),
        }
    }
}

pub fn read<'a>(about: &mut Thread<'a, '_>, profile: Item<'a>, out: &mut TraceBuilder) {
    let thread = about.thread;
    let mut frames = Frames::of(thread, profile);
    let table = Table::of(thread, "stackTable");
    let (prefix, frame) = (table.column("prefix"), table.column("frame"));
    let (mut below, mut frame_rows) = (Vec::new(), Vec::new());
    for row in table.rows() {
        below.push(match cell(row, prefix) {
            None => Below::Nothing,
            Some(prefix) => index(prefix).map_or(Below::Missing, Below::Row),
        });
        frame_rows.push(cell(row, frame).and_then(index));
    }
    let mut stacks = StackRows::new(below);
    let mut read = about.profile("samples", "samples", out);
    let table = Table::of(thread, "samples");
    let (stack, time) = (table.column("stack"), table.column("time"));
    let mut last = None;
    for row in table.rows() {
        if !row.is_array() {
            skip_sample(out, "a sample");
            continue;
        }
        let stack = match cell(row, stack) {
            None => StackId::NONE,
            Some(item) => match index(item).filter(|row| *row < stacks.len()) {
                Some(row) => {
                    stacks.stack(row, &mut |row, out| Some(frames.get(frame_rows[row], about, out)), out)
                }
                None => {
                    note(out, &DANGLING_ID, "stack");
                    StackId::NONE
                }
            },
        };
        let time = cell(row, time).and_then(amount);
        push_timed(&mut read, stack, Amount::ONE, time, &mut last, out);
    }
    read.span_of_times();
    out.trace.stack_profiles.push(read);
}

/// Counts the markers of a thread by name.
pub fn count_markers(about: &mut Thread<'_, '_>, markers: &mut Markers, out: &mut TraceBuilder) {
    let table = Table::of(about.thread, "markers");
    let name = table.column("name");
    let strings: Vec<Item<'_>> = about.thread.get("stringTable").into_iter().flat_map(Item::items).collect();
    for row in table.rows() {
        let text = cell(row, name).and_then(index).and_then(|at| strings.get(at).copied());
        *markers.entry(about.texts.id(text, out)).or_default() += 1;
    }
}
