//! Names of a plane: what its events and stats refer to by id. They may come after the lines, so they are read first.

use super::framing::{Framing, Level, Piece};
use super::stats::{self, Stat};
use crate::base::hash::HashMap;
use crate::base::protobuf::{Fields, Value};
use crate::base::strings::StringId;
use crate::trace::args::Content;
use std::io;

/// Bytes read at once.
const BLOCK_BYTES: u64 = 1 << 18;

/// Metadata of events with one id.
#[derive(Default)]
pub struct EventNames {
    pub name: Box<[u8]>,
    pub display_name: Box<[u8]>,
    /// Stats of all these events, as messages.
    pub stats: Vec<Box<[u8]>>,
    /// The name in the trace, once an event has it.
    pub shown: Option<StringId>,
}

/// Everything of a plane but its lines.
#[derive(Default)]
pub struct Plane {
    pub name: String,
    pub events: HashMap<u64, EventNames>,
    /// Names of stats, and texts that stats refer to.
    pub stats: HashMap<u64, Box<[u8]>>,
    /// Stats of the plane itself, as messages.
    pub own: Vec<Box<[u8]>>,
    /// Values of bytes, which are not kept: id of the stat, name of the events (empty for those of the plane), size.
    pub bytes: Vec<(u64, Box<[u8]>, usize)>,
}

/// Reads the names of all planes, and skips the lines.
pub fn read(content: &dyn Content) -> io::Result<Vec<Plane>> {
    let mut planes: Vec<Plane> = Vec::new();
    let mut framing = Framing::without_lines();
    let mut each = |piece: Piece<'_>| match (piece, planes.last_mut()) {
        (Piece::Begin(Level::Plane), _) => planes.push(Plane::default()),
        (Piece::Field(Level::Plane, number, value), Some(plane)) => plane.add(number, value),
        _ => {}
    };
    let n_bytes = content.n_bytes();
    let mut block = vec![0; BLOCK_BYTES.min(n_bytes) as usize];
    let mut at = 0;
    while at < n_bytes {
        at += framing.pass(n_bytes - at);
        let n = (n_bytes - at).min(BLOCK_BYTES);
        let block = &mut block[..n as usize];
        content.read_at(at, block)?;
        framing.feed(block, &mut |piece, _| each(piece));
        at += n;
    }
    Ok(planes)
}

impl Plane {
    /// Name of a stat, or text that one refers to.
    pub fn stat(&self, id: u64) -> Option<&[u8]> {
        self.stats.get(&id).map(|name| &**name)
    }

    /// Takes a field of the plane.
    fn add(&mut self, number: u64, value: Value<'_>) {
        match (number, value) {
            (2, Value::Bytes(name)) => self.name = String::from_utf8_lossy(name).into_owned(),
            (4, Value::Bytes(entry)) => {
                let (id, message) = entry_of(entry);
                let (mut names, mut bytes) = (EventNames::default(), Vec::new());
                for (number, value) in Fields::new(message) {
                    match (number, value) {
                        (2, Value::Bytes(name)) => names.name = name.into(),
                        (4, Value::Bytes(name)) => names.display_name = name.into(),
                        (5, Value::Bytes(stat)) => match stats::parse(stat) {
                            (id, Stat::Bytes(n), _) => bytes.push((id, n)),
                            _ => names.stats.push(stat.into()),
                        },
                        _ => {}
                    }
                }
                self.bytes.extend(bytes.into_iter().map(|(id, n)| (id, names.name.clone(), n)));
                self.events.insert(id, names);
            }
            (5, Value::Bytes(entry)) => {
                let (id, message) = entry_of(entry);
                let name = Fields::new(message).filter(|(number, _)| *number == 2).last();
                let name = name.and_then(|(_, value)| value.bytes()).unwrap_or_default();
                self.stats.insert(id, name.into());
            }
            (6, Value::Bytes(stat)) => match stats::parse(stat) {
                (id, Stat::Bytes(n), _) => self.bytes.push((id, Box::default(), n)),
                _ => self.own.push(stat.into()),
            },
            _ => {}
        }
    }
}

/// Key and value of an entry of a map. The key is the id that counts.
fn entry_of(entry: &[u8]) -> (u64, &[u8]) {
    let (mut id, mut message) = (0, &[][..]);
    for (number, value) in Fields::new(entry) {
        match (number, value) {
            (1, Value::Number(key)) => id = key,
            (2, Value::Bytes(value)) => message = value,
            _ => {}
        }
    }
    (id, message)
}
