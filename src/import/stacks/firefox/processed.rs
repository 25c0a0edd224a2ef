//! Threads as the Firefox Profiler saves them: tables of columns, of the thread or shared by all.

use super::*;
use crate::import::stacks::{Below, json::index};

/// A column; without values, all are missing.
#[derive(Default)]
struct Column<'a>(Vec<Item<'a>>);

impl<'a> Column<'a> {
    fn of(table: Option<Item<'a>>, name: &str) -> Column<'a> {
        Column(table.and_then(|table| table.get(name)).into_iter().flat_map(Item::items).collect())
    }

    fn get(&self, row: usize) -> Option<Item<'a>> {
        self.0.get(row).copied().filter(|item| !item.is_null())
    }

    /// Index in another table; −1 stands for none.
    fn index(&self, row: usize) -> Option<usize> {
        self.get(row).and_then(index)
    }

    fn is_missing(&self) -> bool {
        self.0.is_empty()
    }
}

/// Rows of a table: as its length says, but not more than its columns have.
fn n_rows(table: Option<Item<'_>>, columns: &[&Column<'_>]) -> usize {
    let longest = columns.iter().map(|column| column.0.len()).max().unwrap_or(0);
    match table.and_then(|table| table.get("length")).and_then(index) {
        Some(length) => length.min(longest),
        None => longest,
    }
}

/// Stacks and what they refer to.
pub struct Tables<'a> {
    stacks: StackRows,
    stack_frame: Column<'a>,
    n_frames: usize,
    frame_func: Column<'a>,
    frame_line: Column<'a>,
    frame_column: Column<'a>,
    frame_category: Column<'a>,
    frame_lib: Column<'a>,
    n_funcs: usize,
    func_name: Column<'a>,
    func_file: Column<'a>,
    /// The file is a row of `source_file`.
    func_source: Column<'a>,
    func_line: Column<'a>,
    func_column: Column<'a>,
    func_resource: Column<'a>,
    source_file: Column<'a>,
    resource_name: Column<'a>,
    resource_lib: Column<'a>,
    libs: Vec<Item<'a>>,
    strings: Vec<Item<'a>>,
    known: Vec<Option<Frame>>,
}

/// A table of the thread, or else of all threads.
fn table_of<'a>(name: &str, thread: Item<'a>, profile: Item<'a>) -> Option<Item<'a>> {
    let own = thread.get(name).filter(|table| !table.is_null());
    own.or_else(|| profile.get("shared")?.get(name))
}

/// Texts that other tables refer to.
fn strings_of<'a>(thread: Item<'a>, profile: Item<'a>) -> Vec<Item<'a>> {
    let list = |name| table_of(name, thread, profile).into_iter().flat_map(Item::items).collect::<Vec<_>>();
    match list("stringArray") {
        strings if strings.is_empty() => list("stringTable"),
        strings => strings,
    }
}

/// Counts the markers of a thread by name. `shared` has the texts of all threads, once one has needed them.
pub fn count_markers<'a>(
    about: &mut Thread<'a, '_>,
    profile: Item<'a>,
    shared: &mut Option<Vec<Item<'a>>>,
    markers: &mut Markers,
    out: &mut TraceBuilder,
) {
    let table = about.thread.get("markers");
    let name = Column::of(table, "name");
    let n_markers = n_rows(table, &[&name]);
    if n_markers == 0 {
        return;
    }
    let own = ["stringArray", "stringTable"]
        .iter()
        .any(|name| about.thread.get(name).is_some_and(|it| !it.is_null()));
    let of_thread = own.then(|| strings_of(about.thread, profile));
    let strings = match &of_thread {
        Some(strings) => strings,
        None => shared.get_or_insert_with(|| strings_of(about.thread, profile)),
    };
    for row in 0..n_markers {
        let text = name.index(row).and_then(|at| strings.get(at).copied());
        *markers.entry(about.texts.id(text, out)).or_default() += 1;
    }
}

const OF_THREAD: [&str; 5] = ["stackTable", "frameTable", "funcTable", "resourceTable", "stringArray"];

impl<'a> Tables<'a> {
    fn of(thread: Item<'a>, profile: Item<'a>) -> Tables<'a> {
        let shared = profile.get("shared");
        let table = |name: &str| table_of(name, thread, profile);
        let list = |item: Option<Item<'a>>| item.into_iter().flat_map(Item::items).collect::<Vec<_>>();
        let (stack, frame, func, resource) =
            (table("stackTable"), table("frameTable"), table("funcTable"), table("resourceTable"));
        let (prefix, offset) = (Column::of(stack, "prefix"), Column::of(stack, "prefixOffset"));
        let stack_frame = Column::of(stack, "frame");
        let below = (0..n_rows(stack, &[&stack_frame, &prefix, &offset]))
            .map(|row| match prefix.is_missing() {
                false => match prefix.get(row) {
                    None => Below::Nothing,
                    Some(prefix) => index(prefix).map_or(Below::Missing, Below::Row),
                },
                true => match offset.get(row) {
                    None => Below::Nothing,
                    Some(offset) => match index(offset) {
                        Some(0) => Below::Nothing,
                        Some(offset) => row.checked_sub(offset).map_or(Below::Missing, Below::Row),
                        None => Below::Missing,
                    },
                },
            })
            .collect();
        let (frame_func, func_name) = (Column::of(frame, "func"), Column::of(func, "name"));
        let n_frames = n_rows(frame, &[&frame_func]);
        let libs = thread.get("libs").or_else(|| profile.get("libs"));
        let strings = strings_of(thread, profile);
        let sources = shared.and_then(|shared| shared.get("sources")).or_else(|| table("sources"));
        Tables {
            stacks: StackRows::new(below),
            stack_frame,
            n_frames,
            frame_func,
            frame_line: Column::of(frame, "line"),
            frame_column: Column::of(frame, "column"),
            frame_category: Column::of(frame, "category"),
            frame_lib: Column::of(frame, "lib"),
            n_funcs: n_rows(func, &[&func_name]),
            func_name,
            func_file: Column::of(func, "fileName"),
            func_source: Column::of(func, "source"),
            func_line: Column::of(func, "lineNumber"),
            func_column: Column::of(func, "columnNumber"),
            func_resource: Column::of(func, "resource"),
            source_file: Column::of(sources, "filename"),
            resource_name: Column::of(resource, "name"),
            resource_lib: Column::of(resource, "lib"),
            libs: list(libs),
            strings,
            known: vec![None; n_frames],
        }
    }

    /// Text of a reference into the list of texts; `(missing)` if there is none.
    fn text(&self, item: Item<'_>, about: &mut Thread<'_, '_>, out: &mut TraceBuilder) -> StringId {
        match index(item).and_then(|at| self.strings.get(at).copied()) {
            Some(text) => about.texts.id(Some(text), out),
            None => {
                note(out, &DANGLING_ID, "text");
                out.trace.strings.intern(MISSING)
            }
        }
    }

    fn frame(&mut self, row: Option<usize>, about: &mut Thread<'_, '_>, out: &mut TraceBuilder) -> Frame {
        let Some(row) = row.filter(|row| *row < self.n_frames) else {
            note(out, &DANGLING_ID, "frame");
            return Frame::named(out.trace.strings.intern(MISSING));
        };
        if let Some(known) = self.known[row] {
            return known;
        }
        let func = self.frame_func.index(row).filter(|func| *func < self.n_funcs);
        let mut frame = match func {
            Some(func) => self.function(func, about, out),
            None => {
                note(out, &DANGLING_ID, "function");
                Frame::named(out.trace.strings.intern(MISSING))
            }
        };
        if let Some(lib) = self.frame_lib.index(row).and_then(|lib| self.libs.get(lib)) {
            frame.module = about.texts.id(lib.get("name"), out);
        }
        frame.line = self.frame_line.get(row).and_then(Item::whole).unwrap_or(frame.line);
        frame.column = self.frame_column.get(row).and_then(Item::whole).unwrap_or(frame.column);
        frame.category = about.category(self.frame_category.get(row));
        self.known[row] = Some(frame);
        frame
    }

    fn function(&self, func: usize, about: &mut Thread<'_, '_>, out: &mut TraceBuilder) -> Frame {
        let name = self.func_name.get(func).map_or(StringId::NONE, |name| self.text(name, about, out));
        let number = |column: &Column<'_>| column.get(func).and_then(Item::whole).unwrap_or(NO_LINE);
        let source = self.func_source.index(func).and_then(|source| self.source_file.get(source));
        let file = source.or_else(|| self.func_file.get(func));
        let resource = self.func_resource.index(func);
        let module = match resource.and_then(|resource| self.resource_name.get(resource)) {
            Some(name) => self.text(name, about, out),
            None => {
                let lib = resource.and_then(|resource| self.resource_lib.index(resource));
                about.texts.id(lib.and_then(|lib| self.libs.get(lib)).and_then(|lib| lib.get("name")), out)
            }
        };
        let mut frame = Frame {
            file: file.map_or(StringId::NONE, |file| self.text(file, about, out)),
            module,
            line: number(&self.func_line),
            column: number(&self.func_column),
            ..Frame::named(name)
        };
        if name.is_none() || name == StringId::EMPTY {
            frame.name = out.trace.strings.intern(UNKNOWN);
        } else if self.func_source.is_missing() && self.func_file.is_missing() {
            // In the first versions, the file was in the name.
            let text = out.trace.strings.get(name).to_string();
            if let Location::Script { name: Some(name), file, line, column } = Location::of(&text) {
                let strings = &mut out.trace.strings;
                (frame.name, frame.file) = (strings.intern(name), strings.intern(file));
                if frame.line == NO_LINE {
                    (frame.line, frame.column) = (line, column);
                }
            }
        }
        frame
    }

    /// Stack of a reference, whatever that is.
    fn stack(
        &mut self,
        item: Option<Item<'_>>,
        about: &mut Thread<'_, '_>,
        out: &mut TraceBuilder,
    ) -> StackId {
        let Some(item) = item else { return StackId::NONE };
        let Some(row) = index(item).filter(|row| *row < self.stacks.len()) else {
            note(out, &DANGLING_ID, "stack");
            return StackId::NONE;
        };
        // The table of stacks is not needed for frames.
        let mut stacks = std::mem::replace(&mut self.stacks, StackRows::new(Vec::new()));
        let stack =
            stacks.stack(row, &mut |row, out| Some(self.frame(self.stack_frame.index(row), about, out)), out);
        self.stacks = stacks;
        stack
    }
}

pub fn read<'a>(
    about: &mut Thread<'a, '_>,
    profile: Item<'a>,
    shared: &mut Option<Tables<'a>>,
    out: &mut TraceBuilder,
) {
    let thread = about.thread;
    let has_own = OF_THREAD.iter().any(|name| thread.get(name).is_some());
    let mut own;
    let tables = if has_own {
        own = Tables::of(thread, profile);
        &mut own
    } else {
        shared.get_or_insert_with(|| Tables::of(thread, profile))
    };
    read_table(about, "samples", tables, out);
    for name in ["jsAllocations", "nativeAllocations"] {
        if thread.get(name).is_some_and(|table| !table.is_null()) {
            read_table(about, name, tables, out);
        }
    }
}

/// A table of samples, or of allocations.
fn read_table<'a>(about: &mut Thread<'a, '_>, name: &str, tables: &mut Tables<'a>, out: &mut TraceBuilder) {
    let table = about.thread.get(name);
    let unit = match table.and_then(|table| table.get("weightType")).and_then(Item::text) {
        None if name == "samples" => "samples",
        None => "bytes",
        Some("tracing-ms") => "milliseconds",
        Some(unit) => unit,
    };
    if !["samples", "milliseconds", "bytes"].contains(&unit) {
        note(out, &UNKNOWN_UNIT, unit);
    }
    let mut read = about.profile(name, unit, out);
    if name != "samples" {
        read.measure = read.kind;
    }
    let (stack, weight) = (Column::of(table, "stack"), Column::of(table, "weight"));
    let (time, delta) = (Column::of(table, "time"), Column::of(table, "timeDeltas"));
    let mut n_samples = n_rows(table, &[&stack, &weight, &time, &delta]);
    let needed = [Some(stack.0.len()), (!weight.is_missing()).then_some(weight.0.len())];
    let n_complete = needed.into_iter().flatten().min().unwrap_or(0);
    if n_complete < n_samples {
        note(out, &LENGTH_MISMATCH, name);
        n_samples = n_complete;
    }
    let (mut sum, mut last) = (Amount::ZERO, None);
    for row in 0..n_samples {
        let time_of_row = if time.is_missing() {
            delta.get(row).and_then(amount).map(|delta| {
                sum = sum.plus(delta);
                sum
            })
        } else {
            time.get(row).and_then(amount)
        };
        let weight = match weight.is_missing() {
            true => Some(Amount::ONE),
            false => weight.get(row).and_then(amount),
        };
        let Some(weight) = weight else {
            skip_sample(out, "a sample");
            continue;
        };
        let stack = tables.stack(stack.get(row), about, out);
        if about.has_times && !(time.is_missing() && delta.is_missing()) {
            push_timed(&mut read, stack, weight, time_of_row, &mut last, out);
        } else {
            push_sample(&mut read, stack, weight, out);
        }
    }
    if read.time.is_empty() && !read.is_empty() {
        read.time_unit = StringId::NONE;
    }
    read.span_of_times();
    out.trace.stack_profiles.push(read);
}
