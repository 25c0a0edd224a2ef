//! Table entries logged by a part of a file, to be applied when it is joined.
//!
//! Numbers of 32 bits, since nearly all fit; a table with a larger one is written in the wide form.
//!
//! ```text
//! [table][kind][n entries] then n times, by kind:
//!   frame  id path func line end_line col end_col     count  frame self cumulative
//! ```

use super::record::{AggEntry, FrameEntry};

/// Kind of a table entry.
pub(super) enum Entry {
    Frame(FrameEntry),
    Count(AggEntry),
}

const FRAMES: u32 = 0;
const COUNTS: u32 = 1;
const WIDE_FRAMES: u32 = 2;
const WIDE_COUNTS: u32 = 3;

const HEAD_WORDS: usize = 3;
/// Missing number, in tables that are not wide.
const MISSING: u32 = u32::MAX;

/// 32-bit numbers, little-endian.
#[derive(Clone, Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
}

impl Log {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn push<const N: usize>(&mut self, words: [u32; N]) {
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Logs the frames of a table, by its number.
    pub fn add_frames(&mut self, table: u32, frames: &[FrameEntry]) {
        let n = frames.len() as u32;
        let start = self.bytes.len();
        self.push([table, FRAMES, n]);
        for frame in frames {
            let Some(words) = narrow_frame(frame) else {
                self.bytes.truncate(start);
                self.push([table, WIDE_FRAMES, n]);
                return frames.iter().for_each(|frame| self.push(wide_frame(frame)));
            };
            self.push(words);
        }
    }

    /// Logs the counts of a table, by its number.
    pub fn add_counts(&mut self, table: u32, counts: &[AggEntry]) {
        let n = counts.len() as u32;
        let start = self.bytes.len();
        self.push([table, COUNTS, n]);
        for count in counts {
            let all = [count.frame, count.self_samples, count.cumulative];
            let [Ok(frame), Ok(self_samples), Ok(cumulative)] = all.map(u32::try_from) else {
                self.bytes.truncate(start);
                self.push([table, WIDE_COUNTS, n]);
                return counts.iter().for_each(|count| self.push(wide_count(count)));
            };
            self.push([frame, self_samples, cumulative]);
        }
    }

    /// Whether `bytes` are a valid log of `n_tables` tables.
    pub fn is_sound(bytes: &[u8], n_tables: usize) -> bool {
        let (words, odd) = bytes.as_chunks::<4>();
        let mut at = 0;
        while let Some([table, kind, n]) = read::<HEAD_WORDS>(words, at) {
            let Some(width) = width(kind) else { return false };
            if table as usize >= n_tables {
                return false;
            }
            at = (n as usize).saturating_mul(width).saturating_add(at + HEAD_WORDS);
        }
        odd.is_empty() && at == words.len()
    }

    /// Calls `each` for every entry of a valid log, in order, with the number of its table.
    pub fn for_each(bytes: &[u8], mut each: impl FnMut(u32, Entry)) {
        let words = bytes.as_chunks::<4>().0;
        let mut at = 0;
        while let Some([table, kind, n]) = read::<HEAD_WORDS>(words, at) {
            at += HEAD_WORDS;
            let Some(width) = width(kind) else { return };
            let end = (n as usize).saturating_mul(width).saturating_add(at);
            let Some(entries) = words.get(at..end) else { return };
            at = end;
            match kind {
                FRAMES => entries.as_chunks().0.iter().for_each(|words| {
                    each(table, Entry::Frame(frame_of_narrow(words.map(u32::from_le_bytes))))
                }),
                WIDE_FRAMES => entries.as_chunks().0.iter().for_each(|words| {
                    each(table, Entry::Frame(frame_of_wide(words.map(u32::from_le_bytes))))
                }),
                COUNTS => entries.as_chunks().0.iter().for_each(|words| {
                    let [frame, self_samples, cumulative] =
                        words.map(|word| u64::from(u32::from_le_bytes(word)));
                    each(table, Entry::Count(AggEntry { frame, self_samples, cumulative }));
                }),
                _ => entries.as_chunks().0.iter().for_each(|words| {
                    let [a, b, c, d, e, f] = words.map(u32::from_le_bytes);
                    let (frame, self_samples, cumulative) = (join_u64(a, b), join_u64(c, d), join_u64(e, f));
                    each(table, Entry::Count(AggEntry { frame, self_samples, cumulative }));
                }),
            }
        }
    }
}

/// Words per entry.
fn width(kind: u32) -> Option<usize> {
    match kind {
        FRAMES => Some(7),
        COUNTS => Some(3),
        WIDE_FRAMES => Some(WIDE_FRAME_WORDS),
        WIDE_COUNTS => Some(6),
        _ => None,
    }
}

fn read<const N: usize>(words: &[[u8; 4]], at: usize) -> Option<[u32; N]> {
    let words: &[[u8; 4]; N] = words.get(at..)?.first_chunk()?;
    Some(words.map(u32::from_le_bytes))
}

/// `None` if a number is too large, or negative.
fn narrow_frame(frame: &FrameEntry) -> Option<[u32; 7]> {
    let optional = |number: Option<i128>| match number {
        None => Some(MISSING),
        Some(number) => u32::try_from(number).ok().filter(|number| *number != MISSING),
    };
    Some([
        u32::try_from(frame.id).ok()?,
        u32::try_from(frame.path).ok()?,
        u32::try_from(frame.func).ok()?,
        u32::try_from(frame.line).ok()?,
        optional(frame.end_line)?,
        optional(frame.col)?,
        optional(frame.end_col)?,
    ])
}

fn frame_of_narrow([id, path, func, line, end_line, col, end_col]: [u32; 7]) -> FrameEntry {
    let optional = |number: u32| (number != MISSING).then_some(i128::from(number));
    FrameEntry {
        id: id.into(),
        path: path.into(),
        func: func.into(),
        line: line.into(),
        end_line: optional(end_line),
        col: optional(col),
        end_col: optional(end_col),
    }
}

/// Three ids, and four numbers, each after a flag for whether it is present.
const WIDE_FRAME_WORDS: usize = 3 * 2 + 4 * 5;

fn wide_frame(frame: &FrameEntry) -> [u32; WIDE_FRAME_WORDS] {
    let mut words = [0; WIDE_FRAME_WORDS];
    let ids = [frame.id, frame.path, frame.func];
    let numbers = [Some(frame.line), frame.end_line, frame.col, frame.end_col];
    let of_ids = ids.into_iter().flat_map(split_u64);
    let of_numbers = numbers.into_iter().flat_map(|number| {
        let bits = number.unwrap_or_default() as u128;
        let [low, high] = [bits as u64, (bits >> 64) as u64].map(split_u64);
        [u32::from(number.is_some()), low[0], low[1], high[0], high[1]]
    });
    words.iter_mut().zip(of_ids.chain(of_numbers)).for_each(|(word, value)| *word = value);
    words
}

fn frame_of_wide(words: [u32; WIDE_FRAME_WORDS]) -> FrameEntry {
    let id = |at: usize| join_u64(words[at], words[at + 1]);
    let number = |at: usize| {
        let low = u128::from(join_u64(words[at + 1], words[at + 2]));
        let high = u128::from(join_u64(words[at + 3], words[at + 4]));
        (words[at] != 0).then_some((low | high << 64) as i128)
    };
    FrameEntry {
        id: id(0),
        path: id(2),
        func: id(4),
        line: number(6).unwrap_or(0),
        end_line: number(11),
        col: number(16),
        end_col: number(21),
    }
}

fn wide_count(count: &AggEntry) -> [u32; 6] {
    let [a, b, c] = [count.frame, count.self_samples, count.cumulative].map(split_u64);
    [a[0], a[1], b[0], b[1], c[0], c[1]]
}

fn split_u64(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn join_u64(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_down_is_read_back() {
        let ids = [0, 7, u64::from(u32::MAX), 1 << 32, u64::MAX];
        let numbers = [
            None,
            Some(0),
            Some(i128::from(u32::MAX) - 1),
            Some(i128::from(u32::MAX)),
            Some(i128::from(u64::MAX)),
            Some(-1),
            Some(i128::from(i64::MIN)),
        ];
        let mut log = Log::default();
        let mut expected = Vec::new();
        for (table, id) in (0..).zip(ids) {
            let frames: Vec<FrameEntry> = numbers
                .iter()
                .map(|number| FrameEntry {
                    id,
                    path: 1,
                    func: id,
                    line: number.unwrap_or(3),
                    end_line: *number,
                    col: None,
                    end_col: *number,
                })
                .collect();
            let counts = ids.map(|count| AggEntry { frame: id, self_samples: 2, cumulative: count });
            // All together, which is wide, and each alone.
            log.add_frames(table, &frames);
            frames.iter().for_each(|frame| log.add_frames(table, &[*frame]));
            log.add_counts(table, &counts);
            counts.iter().for_each(|count| log.add_counts(table, &[*count]));
            log.add_frames(table, &[]);
            let frames = frames.repeat(2).into_iter().map(|frame| format!("{table} {frame:?}"));
            let counts = counts.repeat(2).into_iter().map(|count| format!("{table} {count:?}"));
            expected.extend(frames.chain(counts));
        }
        let mut read = Vec::new();
        Log::for_each(log.bytes(), |table, entry| {
            read.push(match entry {
                Entry::Frame(frame) => format!("{table} {frame:?}"),
                Entry::Count(count) => format!("{table} {count:?}"),
            });
        });
        assert_eq!(read, expected);
        assert!(Log::is_sound(log.bytes(), ids.len()));
        assert!(!Log::is_sound(log.bytes(), ids.len() - 1));
        assert!(!Log::is_sound(&log.bytes()[4..], ids.len()));
        assert!(!Log::is_sound(&log.bytes()[..log.bytes().len() - 1], ids.len()));
    }
}
