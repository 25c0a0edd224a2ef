//! Conversion of pictures of memory by address to and from JSON.
//!
//! ```text
//! { over, start, end, columns, legend: [[name, tone]], texts: [text], stacks: [[text]],
//!   bands: [[label, bytes, rows, [[start, end, low, high]]]],
//!   blocks: [BLOCK], cells: [[band, row, column, tone, share, n, BLOCK]], moments: [[at, name, text, is_bad]] }
//! BLOCK  [[band, low, address, bytes], [start, end, open], [name, tone, stack]]
//! ```
//! Texts of a stack and names are indexes into `texts`, stacks into `stacks`; `open` is 1 if a block was there before the first
//! event, plus 2 if it was there after the last one.

use super::charts::{
    Budget, Legend, float, legend_of, named, not_whole, over_name, over_of, tone_name, tone_of, tuple,
};
use crate::base::json::typed::{Float, Lenient};
use crate::export::link::Refusal;
use crate::export::link::json::JsonWriter;
use crate::report::address_map::{AddressMap, Band, MapBlock, MapCell, Moment, Reserved};
use serde::Deserialize;

/// Columns and rows that a reader accepts: each may become a mark.
const MAX_CELLS: u32 = 4_000;

pub(super) fn write(map: &AddressMap, json: &mut JsonWriter) {
    json.member("over", over_name(map.over));
    for (key, value) in [("start", map.start), ("end", map.end), ("columns", i64::from(map.n_columns))] {
        json.key(key);
        json.number(value);
    }
    json.key("legend");
    json.list(&map.legend, |(name, tone), json| named(name, *tone, json, |_| {}));
    json.key("texts");
    json.list(&map.texts, |text, json| json.text(text));
    json.key("stacks");
    json.list(&map.stacks, |stack, json| json.list(stack, |frame, json| json.number(frame)));
    json.key("bands");
    json.list(&map.bands, |Band { label, bytes, n_rows, reserved }, json| {
        tuple(json, |json| {
            json.text(label);
            json.number(bytes);
            json.number(n_rows);
            json.list(reserved, |Reserved { start, end, low, high }, json| {
                tuple(json, |json| {
                    json.number(start);
                    json.number(end);
                    json.number(low);
                    json.number(high);
                });
            });
        });
    });
    json.key("blocks");
    json.list(&map.blocks, write_block);
    json.key("cells");
    json.list(&map.cells, |MapCell { band, row, column, tone, share, n, largest }, json| {
        tuple(json, |json| {
            json.number(band);
            json.number(row);
            json.number(column);
            json.text(&tone_name(*tone));
            float(*share, json);
            json.number(n);
            write_block(largest, json);
        });
    });
    json.key("moments");
    json.list(&map.moments, |Moment { at, name, text, is_bad }, json| {
        tuple(json, |json| {
            json.number(at);
            json.text(name);
            json.text(text);
            json.number(u8::from(*is_bad));
        });
    });
}

fn write_block(block: &MapBlock, json: &mut JsonWriter) {
    let MapBlock { band, low, address, bytes, start, end, is_open, name, tone, stack } = block;
    tuple(json, |json| {
        tuple(json, |json| {
            json.number(band);
            json.number(low);
            json.number(address);
            json.number(bytes);
        });
        tuple(json, |json| {
            json.number(start);
            json.number(end);
            json.number(u8::from(is_open.0) + 2 * u8::from(is_open.1));
        });
        tuple(json, |json| {
            json.number(name);
            json.text(&tone_name(*tone));
            json.number(stack);
        });
    });
}

type BlockContent = ((u32, u64, i64, u64), (i64, i64, u8), (u32, String, u32));
/// Label, bytes, rows, and when parts were reserved.
type BandContent = (String, u64, u32, Vec<(i64, i64, u64, u64)>);
/// Band, row, column, tone, share, number of blocks, and the largest.
type CellContent = (u32, u32, u32, String, Float, u64, BlockContent);

/// Time, name, text, and 1 if it is bad.
type MomentContent = (i64, String, String, u8);

#[derive(Deserialize)]
pub(super) struct AddressMapContent {
    #[serde(default)]
    over: Lenient<String>,
    start: i64,
    end: i64,
    columns: u32,
    #[serde(default)]
    legend: Option<Vec<Legend>>,
    #[serde(default)]
    texts: Option<Vec<String>>,
    #[serde(default)]
    stacks: Option<Vec<Vec<u32>>>,
    #[serde(default)]
    bands: Option<Vec<BandContent>>,
    #[serde(default)]
    blocks: Option<Vec<BlockContent>>,
    #[serde(default)]
    cells: Option<Vec<CellContent>>,
    #[serde(default)]
    moments: Option<Vec<MomentContent>>,
}

pub(super) fn read(content: AddressMapContent, budget: &mut Budget) -> Result<AddressMap, Refusal> {
    let is_whole = content.start < content.end && (1..=MAX_CELLS).contains(&content.columns);
    if !is_whole {
        return Err(not_whole());
    }
    let mut bands = Vec::new();
    for (label, bytes, n_rows, reserved) in budget.short(content.bands)? {
        if !(1..=MAX_CELLS).contains(&n_rows) {
            return Err(not_whole());
        }
        let part = |(start, end, low, high)| Reserved { start, end, low, high };
        let reserved = budget.short(Some(reserved))?.into_iter().map(part).collect();
        bands.push(Band { label, bytes, n_rows, reserved });
    }
    let mut stacks = Vec::new();
    for stack in budget.short(content.stacks)? {
        stacks.push(budget.short(Some(stack))?);
    }
    let block =
        |((band, low, address, bytes), (start, end, open), (name, tone, stack)): BlockContent| MapBlock {
            band,
            low,
            address,
            bytes,
            start,
            end,
            is_open: (open & 1 != 0, open & 2 != 0),
            name,
            tone: tone_of(&tone),
            stack,
        };
    let cell = |(band, row, column, tone, share, n, largest): CellContent| MapCell {
        band,
        row,
        column,
        tone: tone_of(&tone),
        share: share.0,
        n,
        largest: block(largest),
    };
    let moment = |(at, name, text, is_bad): MomentContent| Moment { at, name, text, is_bad: is_bad != 0 };
    Ok(AddressMap {
        over: over_of(&content.over.0),
        start: content.start,
        end: content.end,
        n_columns: content.columns,
        bands,
        legend: legend_of(budget.short(content.legend)?),
        texts: budget.short(content.texts)?,
        stacks,
        blocks: budget.short(content.blocks)?.into_iter().map(block).collect(),
        cells: budget.short(content.cells)?.into_iter().map(cell).collect(),
        moments: budget.short(content.moments)?.into_iter().map(moment).collect(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::chart::{Over, Tone};

    /// A picture with one of everything.
    pub fn map() -> AddressMap {
        let block = MapBlock {
            band: 0,
            low: 512,
            address: 0x7f00_0000_0200,
            bytes: 1536,
            start: 10,
            end: 40,
            is_open: (false, true),
            name: 1,
            tone: Tone::Other(2),
            stack: 0,
        };
        AddressMap {
            over: Over::Time,
            start: -5,
            end: 100,
            n_columns: 8,
            bands: vec![Band {
                label: "0x7f0000000000 2.00 KiB".into(),
                bytes: 2048,
                n_rows: 4,
                reserved: vec![Reserved { start: 0, end: 90, low: 0, high: 2048 }],
            }],
            legend: vec![("forward (a.py:7)".into(), Tone::Other(2))],
            texts: vec!["main (a.py:1)".into(), "forward (a.py:7)".into()],
            stacks: vec![vec![1, 0]],
            blocks: vec![block],
            cells: vec![MapCell {
                band: 0,
                row: 3,
                column: 7,
                tone: Tone::Idle,
                share: 0.25,
                n: 3,
                largest: MapBlock { is_open: (true, false), ..block },
            }],
            moments: vec![Moment { at: 30, name: "peak".into(), text: "Peak: 1.5 KiB".into(), is_bad: true }],
        }
    }
}
