//! Call chains of CPU samples of Nsight Systems.
//!
//! `COMPOSITE_EVENTS` has a row per sample (`id`, `start`, `globalTid`), `SAMPLING_CALLCHAINS` one per frame of it (`id`,
//! `stackDepth`, `symbol`, `module`, `kernelMode`), where depth 0 is the innermost function. Symbols and modules are in `StringIds`.
//!
//! Rows of a chain follow each other, except at the ends of pages, which are read in order of the file.

use super::issues::TOO_MANY_FRAMES;
use super::names::{IdMap, Names};
use super::rows::base_name;
use super::tables::Tables;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::import::ImportError;
use crate::trace::samples::{Frame, FrameId, StackId};
use crate::trace::{Position, TraceBuilder};
use std::collections::BTreeMap;

/// Most frames of all chains; each takes 4 bytes.
const MAX_FRAMES: usize = if usize::BITS == 32 { 48_000_000 } else { 1 << 31 };

/// A function: ids of its symbol and its module, and whether it is one of the operating system.
type Function = (i64, Option<i64>, bool);

/// Chains by the id of their sample.
#[derive(Default)]
pub struct CallChains {
    functions: Vec<Function>,
    /// Functions of all chains, each from the innermost to the outermost.
    frames: Vec<u32>,
    /// Start in `frames`, and length.
    chains: IdMap<(u32, u32)>,
    /// Frames in the trace by function, once they are there.
    known: Vec<Option<FrameId>>,
}

/// Rows of the chain that is being read.
#[derive(Default)]
struct Building {
    numbers: HashMap<Function, u32>,
    id: Option<i64>,
    /// Depths and functions.
    rows: Vec<(i64, u32)>,
    /// Rows of chains that do not start in the same place, by sample.
    parted: BTreeMap<i64, Vec<(i64, u32)>>,
    n_left_out: u64,
}

impl CallChains {
    /// Reads the chains.
    pub fn read(file: &dyn Tables, out: &mut TraceBuilder) -> Result<CallChains, ImportError> {
        let mut chains = CallChains::default();
        let Some(table) = file.table_named("SAMPLING_CALLCHAINS") else { return Ok(chains) };
        let [id, depth, symbol, module, kernel] =
            ["id", "stackDepth", "symbol", "module", "kernelMode"].map(|name| file.column(table, name));
        let mut building = Building::default();
        file.each_row(table, out, |row| {
            let (Some(id), Some(depth), Some(symbol)) = (row.int(id), row.int(depth), row.int(symbol)) else {
                return;
            };
            if building.id != Some(id) {
                chains.end(&mut building);
                building.id = Some(id);
            }
            let function = (symbol, row.int(module), row.int(kernel).is_some_and(|is| is != 0));
            let number = *building.numbers.entry(function).or_insert_with(|| {
                chains.functions.push(function);
                chains.functions.len() as u32 - 1
            });
            building.rows.push((depth, number));
        })?;
        chains.end(&mut building);
        for (id, mut rows) in std::mem::take(&mut building.parted) {
            rows.extend((0..).zip(chains.get(id).iter().copied()));
            chains.put(id, &mut rows, &mut building.n_left_out);
        }
        for _ in 0..building.n_left_out {
            out.trace.ledger.file(&TOO_MANY_FRAMES, Position::NOWHERE, b"SAMPLING_CALLCHAINS");
        }
        chains.known.resize(chains.functions.len(), None);
        Ok(chains)
    }

    /// Takes the rows of a chain; more of them may come.
    fn end(&mut self, building: &mut Building) {
        let Building { id, rows, parted, n_left_out, .. } = building;
        if let Some(id) = *id {
            let starts = rows.iter().any(|(depth, _)| *depth == 0);
            match starts && self.get(id).is_empty() {
                true => self.put(id, rows, n_left_out),
                false => parted.entry(id).or_default().append(rows),
            }
        }
        rows.clear();
    }

    fn put(&mut self, id: i64, rows: &mut [(i64, u32)], n_left_out: &mut u64) {
        if self.frames.len() + rows.len() > MAX_FRAMES {
            *n_left_out += 1;
            return;
        }
        sort::by_key(rows, |(depth, _)| *depth);
        self.chains.insert(id, (self.frames.len() as u32, rows.len() as u32));
        self.frames.extend(rows.iter().map(|(_, function)| *function));
    }

    /// Functions of a chain, from the innermost to the outermost.
    fn get(&self, id: i64) -> &[u32] {
        let chain = self
            .chains
            .get(id)
            .and_then(|(start, len)| self.frames.get(*start as usize..)?.get(..*len as usize));
        chain.unwrap_or_default()
    }

    /// Stack of a sample; [`StackId::NONE`] if it has none. `offset` is the place of the sample.
    pub fn stack(&mut self, id: i64, names: &mut Names, offset: u64, out: &mut TraceBuilder) -> StackId {
        let mut stack = StackId::NONE;
        let (start, len) = self.chains.get(id).copied().unwrap_or_default();
        for at in (start as usize..start as usize + len as usize).rev() {
            let function = self.frames[at] as usize;
            let frame = match self.known[function] {
                Some(frame) => frame,
                None => {
                    let (symbol, module, is_kernel) = self.functions[function];
                    let name = names.intern(Some(symbol), offset, out);
                    // Folders may name people.
                    let module = module.and_then(|module| names.get(module)).map(base_name);
                    let strings = &mut out.trace.strings;
                    let module = module.filter(|module| !module.is_empty());
                    let module = module.map_or(StringId::NONE, |module| strings.intern_bytes(module));
                    let category = if is_kernel { strings.intern("kernel") } else { StringId::NONE };
                    let frame = out.frame(Frame { module, category, ..Frame::named(name) });
                    *self.known[function].insert(frame)
                }
            };
            stack = out.stack_on(stack, frame);
        }
        stack
    }
}
