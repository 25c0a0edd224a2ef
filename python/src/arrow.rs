//! Tables for other programs through the Arrow C data interface (PyCapsule protocol): no Arrow crate, four structs of the
//! specification. Columns that the library has in memory are passed by reference.
//!
//! Integers, floats and booleans keep their width; texts are `large_utf8`, those of a trace `dictionary<int32, large_utf8>`
//! (pandas takes no unsigned indices). Units are in the metadata of the fields.

use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Unsigned32,
    Unsigned,
    Integer,
    Float,
    Bool,
    Text,
    /// Texts by position in a dictionary.
    Words,
}

impl Kind {
    /// Format string of the specification.
    fn format(self) -> &'static str {
        match self {
            Kind::Unsigned32 => "I",
            Kind::Unsigned => "L",
            Kind::Integer => "l",
            Kind::Float => "g",
            Kind::Bool => "b",
            Kind::Text => "U",
            Kind::Words => "i",
        }
    }
}

/// Name, type and metadata of a column.
pub struct Field {
    pub name: String,
    pub kind: Kind,
    pub metadata: Vec<(String, String)>,
}

/// Memory of a column.
pub enum Buffer {
    Bytes(Vec<u8>),
    Unsigned32(Vec<u32>),
    Integer(Vec<i64>),
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
    /// Memory that [`Table::_owner`] keeps alive and unchanged.
    Borrowed(*const c_void),
}

// SAFETY: a buffer does not change, and the owner of its table keeps what it borrows.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn pointer(&self) -> *const c_void {
        match self {
            Buffer::Bytes(values) => values.as_ptr().cast(),
            Buffer::Unsigned32(values) => values.as_ptr().cast(),
            Buffer::Integer(values) => values.as_ptr().cast(),
            Buffer::Unsigned(values) => values.as_ptr().cast(),
            Buffer::Float(values) => values.as_ptr().cast(),
            Buffer::Borrowed(pointer) => *pointer,
        }
    }
}

/// Values of a column.
pub struct Values {
    pub len: usize,
    pub n_missing: usize,
    /// A bit per value, the lowest first; `None` if nothing is missing.
    pub valid: Option<Vec<u8>>,
    /// The values, or the offsets and bytes of texts.
    pub buffers: Vec<Buffer>,
    pub dictionary: Option<Arc<Values>>,
}

/// A table as batches of columns.
pub struct Table {
    pub fields: Vec<Field>,
    pub metadata: Vec<(String, String)>,
    pub batches: Vec<Vec<Values>>,
    /// Owner of borrowed memory.
    pub _owner: Option<Arc<dyn Any + Send + Sync>>,
}

impl Table {
    pub fn n_rows(&self) -> usize {
        self.batches.iter().filter_map(|columns| columns.first()).map(|column| column.len).sum()
    }
}

/// Bits of `valid`, and the number of values that are missing.
pub fn bits(valid: impl ExactSizeIterator<Item = bool>) -> (Vec<u8>, usize) {
    let mut bytes = vec![0; valid.len().div_ceil(8)];
    let mut n_missing = 0;
    for (at, is_there) in valid.enumerate() {
        match is_there {
            true => bytes[at / 8] |= 1 << (at % 8),
            false => n_missing += 1,
        }
    }
    (bytes, n_missing)
}

/// A column of texts.
pub fn texts<'a>(cells: impl ExactSizeIterator<Item = Option<&'a str>> + Clone) -> Values {
    let (mut offsets, mut bytes) = (Vec::with_capacity(cells.len() + 1), Vec::new());
    offsets.push(0);
    for cell in cells.clone() {
        bytes.extend_from_slice(cell.unwrap_or_default().as_bytes());
        offsets.push(bytes.len() as i64);
    }
    let len = cells.len();
    let (valid, n_missing) = bits(cells.map(|cell| cell.is_some()));
    let valid = (n_missing > 0).then_some(valid);
    Values {
        len,
        n_missing,
        valid,
        buffers: vec![Buffer::Integer(offsets), Buffer::Bytes(bytes)],
        dictionary: None,
    }
}

#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

// SAFETY: what the private data of all three points to is owned by them and may be used by one thread at a time.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowStream {}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet, or `release` would be null.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for the schema.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for the schema.
            unsafe { release(self) }
        }
    }
}

/// What a schema points to.
struct OfSchema {
    _texts: [CString; 2],
    _metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// The value may be missing.
const NULLABLE: i64 = 2;

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Key-value pairs as the specification has them.
fn encoded(pairs: &[(String, String)]) -> Vec<u8> {
    let mut out = (pairs.len() as i32).to_ne_bytes().to_vec();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        out.extend_from_slice(&(text.len() as i32).to_ne_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out
}

fn made_schema(
    format: &str,
    name: &str,
    pairs: &[(String, String)],
    children: Vec<ArrowSchema>,
    dictionary: Option<ArrowSchema>,
) -> ArrowSchema {
    let texts = [c_text(format), c_text(name)];
    let metadata = encoded(pairs);
    let children: Vec<_> = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let dictionary = dictionary.map_or(ptr::null_mut(), |dictionary| Box::into_raw(Box::new(dictionary)));
    let (format, name) = (texts[0].as_ptr(), texts[1].as_ptr());
    let of_metadata = if pairs.is_empty() { ptr::null() } else { metadata.as_ptr().cast() };
    let mut private = Box::new(OfSchema { _texts: texts, _metadata: metadata, children, dictionary });
    ArrowSchema {
        format,
        name,
        metadata: of_metadata,
        flags: NULLABLE,
        n_children: private.children.len() as i64,
        children: private.children.as_mut_ptr(),
        dictionary,
        release: Some(release_schema),
        private_data: Box::into_raw(private).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller passes a schema of `made_schema` that is not released; its children are dropped, which releases those
    // that were not moved away.
    unsafe {
        let private = Box::from_raw((*schema).private_data.cast::<OfSchema>());
        for child in &private.children {
            drop(Box::from_raw(*child));
        }
        if !private.dictionary.is_null() {
            drop(Box::from_raw(private.dictionary));
        }
        (*schema).release = None;
    }
}

/// Schema of a table: a struct with a child per column.
pub fn schema(table: &Table) -> ArrowSchema {
    let child = |field: &Field| {
        let words = (field.kind == Kind::Words).then(|| made_schema("U", "", &[], Vec::new(), None));
        made_schema(field.kind.format(), &field.name, &field.metadata, Vec::new(), words)
    };
    made_schema("+s", "", &table.metadata, table.fields.iter().map(child).collect(), None)
}

/// What an array points to.
struct OfArray {
    _table: Arc<Table>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

fn made_array(
    table: &Arc<Table>,
    (len, n_missing): (usize, usize),
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
) -> ArrowArray {
    let children: Vec<_> = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let dictionary = dictionary.map_or(ptr::null_mut(), |dictionary| Box::into_raw(Box::new(dictionary)));
    let mut private = Box::new(OfArray { _table: table.clone(), buffers, children, dictionary });
    ArrowArray {
        length: len as i64,
        null_count: n_missing as i64,
        offset: 0,
        n_buffers: private.buffers.len() as i64,
        n_children: private.children.len() as i64,
        buffers: private.buffers.as_mut_ptr(),
        children: private.children.as_mut_ptr(),
        dictionary,
        release: Some(release_array),
        private_data: Box::into_raw(private).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as for schemas.
    unsafe {
        let private = Box::from_raw((*array).private_data.cast::<OfArray>());
        for child in &private.children {
            drop(Box::from_raw(*child));
        }
        if !private.dictionary.is_null() {
            drop(Box::from_raw(private.dictionary));
        }
        (*array).release = None;
    }
}

fn array_of(table: &Arc<Table>, values: &Values) -> ArrowArray {
    let valid = values.valid.as_ref().map_or(ptr::null(), |bits| bits.as_ptr().cast());
    let buffers = [valid].into_iter().chain(values.buffers.iter().map(Buffer::pointer)).collect();
    let dictionary = values.dictionary.as_ref().map(|dictionary| array_of(table, dictionary));
    made_array(table, (values.len, values.n_missing), buffers, Vec::new(), dictionary)
}

/// A stream and how far it is.
struct OfStream {
    table: Arc<Table>,
    next: usize,
}

/// Stream of the batches of a table.
pub fn stream(table: Arc<Table>) -> ArrowStream {
    ArrowStream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(OfStream { table, next: 0 })).cast(),
    }
}

unsafe extern "C" fn stream_schema(stream: *mut ArrowStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller passes a stream of `stream` that is not released, and memory for a schema.
    unsafe {
        let private = &*(*stream).private_data.cast::<OfStream>();
        ptr::write(out, schema(&private.table));
    }
    0
}

unsafe extern "C" fn stream_next(stream: *mut ArrowStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above, with memory for an array. An array without `release` is the end.
    unsafe {
        let private = &mut *(*stream).private_data.cast::<OfStream>();
        let table = &private.table;
        let Some(columns) = table.batches.get(private.next) else {
            ptr::write_bytes(out, 0, 1);
            return 0;
        };
        private.next += 1;
        let len = columns.first().map_or(0, |column| column.len);
        let children = columns.iter().map(|column| array_of(table, column)).collect();
        ptr::write(out, made_array(table, (len, 0), vec![ptr::null()], children, None));
    }
    0
}

unsafe extern "C" fn stream_error(_: *mut ArrowStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowStream) {
    // SAFETY: as above.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<OfStream>()));
        (*stream).release = None;
    }
}
