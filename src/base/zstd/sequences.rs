//! Sequences: a number of literals, then a copy of a length from a distance.

use super::fse::{MAX_STATES, Shares};
use super::{Bits, Damaged, SLACK, STEP, number, top};

/// Maximum bits of states: literal lengths, distances, match lengths.
const MAX_BITS: [u32; 3] = [9, 8, 9];
/// Maximum symbols.
const MAX_SYMBOLS: [usize; 3] = [35, 31, 52];
const LITERALS: usize = 0;
const DISTANCES: usize = 1;
const MATCHES: usize = 2;

const DEFAULT_BITS: [u32; 3] = [6, 5, 6];
const DEFAULT_SHARES: [&[i16]; 3] = [
    &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1,
        -1, -1, -1,
    ],
    &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
];

/// Extra bits of literal length codes from 16, and match length codes from 32 on.
const MORE_OF_LITERALS: [u8; 20] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MORE_OF_MATCHES: [u8; 21] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// State with the meaning of its symbol: a value plus extra bits.
#[derive(Clone, Copy, Default)]
struct Entry {
    value: u32,
    n_more: u8,
    n_bits: u8,
    base: u16,
}

#[derive(Clone, Copy)]
struct Table {
    entries: [Entry; MAX_STATES],
    /// Bits of a state number; `None` if there is no table yet.
    bits: Option<u32>,
}

impl Table {
    const NONE: Table =
        Table { entries: [Entry { value: 0, n_more: 0, n_bits: 0, base: 0 }; MAX_STATES], bits: None };

    fn set(&mut self, kind: usize, shares: &Shares) -> Result<(), Damaged> {
        self.bits = None;
        let states = shares.states()?;
        for (entry, state) in self.entries.iter_mut().zip(&states[..1 << shares.bits]) {
            let (value, n_more) = meaning(kind, state.symbol);
            *entry = Entry { value, n_more, n_bits: state.n_bits, base: state.base };
        }
        self.bits = Some(shares.bits);
        Ok(())
    }

    /// States, if any.
    fn states(&self) -> &[Entry] {
        self.bits.map_or(&[], |bits| &self.entries[..1 << bits])
    }

    #[inline(always)]
    fn at(&self, state: usize) -> Entry {
        self.entries[state % MAX_STATES]
    }
}

/// Smallest number of a code, and the number of extra bits.
fn meaning(kind: usize, symbol: u8) -> (u32, u8) {
    let (first, from, more): (u32, usize, &[u8]) = match kind {
        LITERALS => (0, 16, &MORE_OF_LITERALS),
        MATCHES => (3, 32, &MORE_OF_MATCHES),
        _ => return (1 << (symbol & 31), symbol & 31),
    };
    match usize::from(symbol).checked_sub(from) {
        None => (first + u32::from(symbol), 0),
        Some(at) => {
            let before: u32 = more.iter().take(at).map(|n| 1 << n).sum();
            (first + from as u32 + before, more.get(at).copied().unwrap_or(0))
        }
    }
}

/// Tables of the last block, which the next one may reuse.
pub struct Tables {
    now: Box<[Table; 3]>,
    /// Predefined tables.
    known: Box<[Table; 3]>,
}

impl Default for Tables {
    fn default() -> Tables {
        let mut known = Box::new([Table::NONE; 3]);
        for (kind, table) in known.iter_mut().enumerate() {
            // They are valid, so this cannot fail; if it did, frames would be rejected.
            let _ = table.set(kind, &Shares::of(DEFAULT_SHARES[kind], DEFAULT_BITS[kind]));
        }
        Tables { now: Box::new([Table::NONE; 3]), known }
    }
}

impl Tables {
    /// Clears the tables, as at the start of a frame.
    pub fn reset(&mut self) {
        self.now.iter_mut().for_each(|table| table.bits = None);
    }

    /// Reads the tables of a block, whose sources `modes` gives; returns their end.
    fn read(&mut self, bytes: &[u8], mut at: usize, modes: u64) -> Result<usize, Damaged> {
        if modes & 3 > 0 {
            return Err(Damaged);
        }
        for kind in [LITERALS, DISTANCES, MATCHES] {
            let table = &mut self.now[kind];
            match modes >> (6 - 2 * kind) & 3 {
                0 => *table = self.known[kind],
                1 => {
                    let symbol = number(bytes, at, 1)? as u8;
                    if usize::from(symbol) > MAX_SYMBOLS[kind] {
                        return Err(Damaged);
                    }
                    let (value, n_more) = meaning(kind, symbol);
                    table.entries[0] = Entry { value, n_more, n_bits: 0, base: 0 };
                    table.bits = Some(0);
                    at += 1;
                }
                2 => {
                    let (shares, end) = Shares::read(bytes, at, MAX_BITS[kind], MAX_SYMBOLS[kind])?;
                    table.set(kind, &shares)?;
                    at = end;
                }
                _ => {}
            }
        }
        Ok(at)
    }
}

/// Last three distances, latest first.
pub struct Repeats([usize; 3]);

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats([1, 4, 8])
    }
}

impl Repeats {
    /// Distance encoded by a number.
    #[inline(always)]
    fn distance(&mut self, number: usize, has_literals: bool) -> usize {
        let [first, second, third] = self.0;
        if number > 3 {
            self.0 = [number - 3, first, second];
            return number - 3;
        }
        match number - usize::from(has_literals) {
            0 => {}
            1 => self.0 = [second, first, third],
            2 => self.0 = [third, first, second],
            // 0 is rejected when used.
            _ => self.0 = [first.wrapping_sub(1), first, second],
        }
        self.0[0]
    }
}

/// Executes the sequences from `at` to the end of `bytes`; returns the end of the output. The last [`SLACK`] bytes of `out`
/// are scratch space.
#[expect(clippy::too_many_arguments, reason = "what a block has")]
#[inline(never)]
pub fn run(
    bytes: &[u8],
    at: usize,
    literals: &[u8],
    tables: &mut Tables,
    repeats: &mut Repeats,
    frame_start: usize,
    start: usize,
    out: &mut [u8],
) -> Result<usize, Damaged> {
    let limit = out.len() - SLACK;
    let first = number(bytes, at, 1)? as usize;
    let (n_sequences, n_head) = match first {
        0..128 => (first, 1),
        128..255 => (((first - 128) << 8) + number(bytes, at + 1, 1)? as usize, 2),
        _ => (number(bytes, at + 1, 2)? as usize + 0x7F00, 3),
    };
    let mut at = at + n_head;
    let mut done = start;
    let mut n_literals = 0;
    if n_sequences > 0 {
        let modes = number(bytes, at, 1)?;
        at = tables.read(bytes, at + 1, modes)?;
        let [of_literals, of_distances, of_matches] = &*tables.now;
        let (Some(a), Some(b), Some(c)) = (of_literals.bits, of_distances.bits, of_matches.bits) else {
            return Err(Damaged);
        };
        let mut bits = Bits::new(bytes, at)?;
        let word = bits.fill().ok_or(Damaged)?;
        let mut literal_state = top(word, a) as usize;
        let mut distance_state = top(word << a, b) as usize;
        let mut match_state = top(word << (a + b), c) as usize;
        bits.take(a + b + c);
        let mut n_left = n_sequences;
        if matches!(of_distances.states(), [Entry { value: 1, n_more: 0, .. }])
            && repeats.0[0] == SMALL_STEP
            && start - frame_start >= SMALL_STEP
            && of_literals.states().iter().all(|state| state.value > 0 && state.n_more == 0)
            && of_matches.states().iter().all(|state| state.n_more == 0)
        {
            let mut column = Column { bits, states: [literal_state, match_state], n_literals, done };
            n_left -= column.run(of_literals, of_matches, n_sequences - 1, literals, out)?;
            (bits, n_literals, done) = (column.bits, column.n_literals, column.done);
            [literal_state, match_state] = column.states;
        }
        // Last eight bytes of the output, if known.
        let mut last: Option<u64> = None;
        for left in (0..n_left).rev() {
            let now =
                (of_literals.at(literal_state), of_distances.at(distance_state), of_matches.at(match_state));
            let mut word = bits.fill().ok_or(Damaged)?;
            let mut number = now.1.value as usize;
            let (mut n_plain, mut n_match) = (now.0.value as usize, now.2.value as usize);
            let mut taken = 0;
            // For common symbols the state is all there is.
            if now.0.n_more | now.1.n_more | now.2.n_more > 0 {
                let more = [now.1.n_more, now.2.n_more, now.0.n_more].map(u32::from);
                number += top(word, more[0]) as usize;
                word <<= more[0];
                taken = more[0];
                // At most 58 bits follow, usually far fewer.
                let is_long = taken + more[1] + more[2] > 31;
                if is_long {
                    bits.take(taken);
                    word = bits.fill().ok_or(Damaged)?;
                    taken = 0;
                }
                n_match += top(word, more[1]) as usize;
                word <<= more[1];
                n_plain += top(word, more[2]) as usize;
                word <<= more[2];
                taken += more[1] + more[2];
                if is_long && left > 0 {
                    bits.take(taken);
                    word = bits.fill().ok_or(Damaged)?;
                    taken = 0;
                }
            }
            if left > 0 {
                let n_bits = [now.0.n_bits, now.2.n_bits, now.1.n_bits].map(u32::from);
                literal_state = usize::from(now.0.base) + top(word, n_bits[0]) as usize;
                word <<= n_bits[0];
                match_state = usize::from(now.2.base) + top(word, n_bits[1]) as usize;
                word <<= n_bits[1];
                distance_state = usize::from(now.1.base) + top(word, n_bits[2]) as usize;
                taken += n_bits[0] + n_bits[1] + n_bits[2];
            }
            bits.take(taken);
            let distance = repeats.distance(number, n_plain > 0);
            let end = done + n_plain + n_match;
            if end > limit || distance == 0 || distance > done + n_plain - frame_start {
                return Err(Damaged);
            }
            // In a column of eight-byte numbers, each shares its upper bytes with the previous one: most sequences are of this
            // kind.
            if distance == SMALL_STEP
                && n_plain < SMALL_STEP
                && n_match <= SMALL_STEP
                && let Some(before) = last.or_else(|| word_at(out, done.checked_sub(SMALL_STEP)?))
                && let Some(plain) = word_at(literals, n_literals)
            {
                last = Some(put_number(out, done, before, plain, n_plain, n_match));
            } else {
                copy_literals(literals, n_literals, n_plain, out, done)?;
                copy_match(out, done + n_plain, distance, n_match);
                last = None;
            }
            n_literals += n_plain;
            done = end;
        }
        if !bits.is_at_end() {
            return Err(Damaged);
        }
    } else if at != bytes.len() {
        return Err(Damaged);
    }
    let rest = literals.get(n_literals..).ok_or(Damaged)?;
    let end = done + rest.len();
    out[..limit].get_mut(done..end).ok_or(Damaged)?.copy_from_slice(rest);
    Ok(end)
}

/// Sequences of a column of eight-byte numbers that share their upper bytes with the previous one. Nearly all
/// sequences of columns of timestamps or counters are like that, and are fully given by states.
struct Column<'a> {
    bits: Bits<'a>,
    /// States of literal and match lengths.
    states: [usize; 2],
    n_literals: usize,
    done: usize,
}

/// Sequences per refill.
const N_PER_FILL: usize = 3;

impl Column<'_> {
    /// Executes up to `n` + 1 sequences; returns how many. All have at least one literal and a match distance of eight, inside
    /// the frame. A separate function, so that its state stays in registers.
    #[inline(never)]
    fn run(
        &mut self,
        of_literals: &Table,
        of_matches: &Table,
        n: usize,
        literals: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Damaged> {
        let limit = out.len() - SLACK;
        let Column { mut bits, states: [mut literal_state, mut match_state], mut n_literals, mut done } =
            *self;
        let mut last = word_at(out, done.wrapping_sub(SMALL_STEP)).ok_or(Damaged)?;
        for _ in 0..n / N_PER_FILL {
            let mut word = bits.fill().ok_or(Damaged)?;
            let mut taken = 0;
            for _ in 0..N_PER_FILL {
                let (plain, matched) = (of_literals.at(literal_state), of_matches.at(match_state));
                let n_bits = [plain.n_bits, matched.n_bits].map(u32::from);
                literal_state = usize::from(plain.base) + top(word, n_bits[0]) as usize;
                word <<= n_bits[0] & 63;
                match_state = usize::from(matched.base) + top(word, n_bits[1]) as usize;
                word <<= n_bits[1] & 63;
                taken += n_bits[0] + n_bits[1];
                let (n_plain, n_match) = (plain.value as usize, matched.value as usize);
                let end = done + n_plain + n_match;
                if end > limit {
                    return Err(Damaged);
                }
                if n_plain < SMALL_STEP
                    && n_match <= SMALL_STEP
                    && let Some(plain) = word_at(literals, n_literals)
                {
                    last = put_number(out, done, last, plain, n_plain, n_match);
                } else {
                    copy_literals(literals, n_literals, n_plain, out, done)?;
                    copy_match(out, done + n_plain, SMALL_STEP, n_match);
                    last = word_at(out, end.wrapping_sub(SMALL_STEP)).ok_or(Damaged)?;
                }
                n_literals += n_plain;
                done = end;
            }
            bits.take(taken);
        }
        *self = Column { bits, states: [literal_state, match_state], n_literals, done };
        Ok(n / N_PER_FILL * N_PER_FILL)
    }
}

/// Writes `n_plain` bytes of `plain`, fewer than eight, and up to eight bytes from a distance of eight; `before` is the last
/// eight bytes of output. Returns the new last eight bytes: reading back what was just written would stall.
#[inline(always)]
fn put_number(out: &mut [u8], to: usize, before: u64, plain: u64, n_plain: usize, n_match: usize) -> u64 {
    if n_plain + n_match == SMALL_STEP {
        let lower = LOWER_BYTES[n_plain % SMALL_STEP];
        let word = before & !lower | plain & lower;
        set_word(out, to, word);
        return word;
    }
    let bits = 8 * n_plain as u32;
    let word = before >> bits | plain << 1 << (63 - bits);
    set_word(out, to, plain);
    set_word(out, to + n_plain, word);
    word.rotate_right(8 * n_match as u32)
}

/// Copies `n` literals from `from` to `to`.
#[inline(always)]
fn copy_literals(literals: &[u8], from: usize, n: usize, out: &mut [u8], to: usize) -> Result<(), Damaged> {
    // Step by step: a call to copy any number takes as long as several steps.
    let n_steps = n.div_ceil(STEP);
    if n_steps <= MAX_STEPS && from + n_steps * STEP <= literals.len() {
        for at in 0..n_steps {
            let (from, to) = (from + at * STEP, to + at * STEP);
            if let Some(step) = literals.get(from..from + STEP)
                && let Some(room) = out.get_mut(to..to + STEP)
            {
                room.copy_from_slice(step);
            }
        }
        return Ok(());
    }
    let literals = literals.get(from..from + n).ok_or(Damaged)?;
    out.get_mut(to..to + n).ok_or(Damaged)?.copy_from_slice(literals);
    Ok(())
}

/// Maximum steps of a stepwise literal copy.
const MAX_STEPS: usize = 6;

/// Copies `n` bytes to `to` from `distance` before; `out` has room for one more step.
#[inline(always)]
fn copy_match(out: &mut [u8], to: usize, distance: usize, n: usize) {
    if distance >= STEP {
        copy_steps::<STEP>(out, to, distance, 0, n);
    } else if distance >= SMALL_STEP {
        copy_steps::<SMALL_STEP>(out, to, distance, 0, n);
    } else {
        copy_pattern(out, to, distance, n);
    }
}

const SMALL_STEP: usize = 8;

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + SMALL_STEP)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

#[inline(always)]
fn set_word(bytes: &mut [u8], at: usize, word: u64) {
    if let Some(room) = bytes.get_mut(at..at + SMALL_STEP) {
        room.copy_from_slice(&word.to_le_bytes());
    }
}

/// Copies at least `n` bytes, `N` at a time, where `N` is at most `distance`.
#[inline(always)]
fn copy_steps<const N: usize>(out: &mut [u8], to: usize, distance: usize, mut at: usize, n: usize) {
    while at < n {
        let from = to + at - distance;
        if let Some(step) = out.get(from..from + N).and_then(|step| step.first_chunk::<N>()).copied()
            && let Some(room) = out.get_mut(to + at..to + at + N)
        {
            room.copy_from_slice(&step);
        }
        at += N;
    }
}

/// Copies a pattern shorter than a step: `distance` is 1 to 7.
#[inline(always)]
fn copy_pattern(out: &mut [u8], to: usize, distance: usize, n: usize) {
    let from = to - distance;
    let Some(word) = word_at(out, from) else { return };
    // Repeats the pattern in a word: a multiplication by ones at multiples of the distance.
    let pattern = word & ((1 << (8 * distance)) - 1);
    set_word(out, to, pattern.wrapping_mul(ONES[distance & 7]));
    // From there on, the same bytes are also several patterns back.
    copy_steps::<SMALL_STEP>(out, to, distance * SMALL_STEP.div_ceil(distance), SMALL_STEP, n);
}

/// Masks of the lowest bytes of a word.
const LOWER_BYTES: [u64; SMALL_STEP] =
    [0, 0xFF, 0xFFFF, 0xFF_FFFF, 0xFFFF_FFFF, 0xFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF, 0xFF_FFFF_FFFF_FFFF];

/// By pattern length, a number with a one at each pattern start.
const ONES: [u64; 8] = [
    0,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    0x0001_0000_0100_0001,
    0x0000_0001_0000_0001,
    0x0000_0100_0000_0001,
    0x0001_0000_0000_0001,
    0x0100_0000_0000_0001,
];
