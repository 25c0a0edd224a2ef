//! Finite state entropy: state tables with a symbol and a transition per state.

use super::{Damaged, number};

/// States of the largest table: 9 bits.
pub const MAX_STATES: usize = 512;

const MAX_SYMBOLS: usize = 256;

/// A state: its symbol, and the next state as `base` plus some more bits.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub symbol: u8,
    pub n_bits: u8,
    pub base: u16,
}

/// Frequency of each symbol, in units of one state; -1 means less than one.
pub struct Shares {
    shares: [i16; MAX_SYMBOLS],
    n_symbols: usize,
    /// Bits of a state number.
    pub bits: u32,
}

impl Shares {
    /// Predefined frequencies.
    pub fn of(known: &[i16], bits: u32) -> Shares {
        let mut shares = [0; MAX_SYMBOLS];
        let n_symbols = known.len().min(MAX_SYMBOLS);
        shares[..n_symbols].copy_from_slice(&known[..n_symbols]);
        Shares { shares, n_symbols, bits }
    }

    /// Reads frequencies from `at` on, for states of at most `max_bits`; returns their end.
    pub fn read(
        bytes: &[u8],
        at: usize,
        max_bits: u32,
        max_symbol: usize,
    ) -> Result<(Shares, usize), Damaged> {
        let mut bit = 0;
        let mut peek = |n: usize, taken: usize| {
            let at = at + bit / 8;
            // Bits past the end are 0, which is detected at the end.
            let rest = bytes.get(at..).unwrap_or_default();
            let word = number(rest, 0, rest.len().min(4))?;
            let value = word >> (bit % 8) & ((1 << n) - 1);
            bit += taken;
            Ok::<usize, Damaged>(value as usize)
        };
        let bits = peek(4, 4)? as u32 + 5;
        if bits > max_bits {
            return Err(Damaged);
        }
        let mut shares = [0; MAX_SYMBOLS];
        let mut n_symbols = 0;
        let mut left = 1usize << bits;
        while left > 0 {
            // Numbers up to the remainder plus one; the smaller ones take one bit less.
            let n = (left + 1).ilog2() as usize + 1;
            let (low, few) = ((1 << (n - 1)) - 1, (1 << n) - 1 - (left + 1));
            let value = peek(n, 0)?;
            let value = if value & low < few {
                peek(0, n - 1)?;
                value & low
            } else {
                peek(0, n)?;
                if value > low { value - few } else { value }
            };
            if n_symbols > max_symbol {
                return Err(Damaged);
            }
            shares[n_symbols] = value as i16 - 1;
            n_symbols += 1;
            left = left.checked_sub(value.abs_diff(1)).ok_or(Damaged)?;
            if value == 1 {
                loop {
                    let n_zeros = peek(2, 2)?;
                    n_symbols += n_zeros;
                    if n_symbols > max_symbol + 1 {
                        return Err(Damaged);
                    }
                    if n_zeros < 3 {
                        break;
                    }
                }
            }
        }
        let end = at + bit.div_ceil(8);
        if end > bytes.len() {
            return Err(Damaged);
        }
        Ok((Shares { shares, n_symbols, bits }, end))
    }

    /// States for these frequencies.
    pub fn states(&self) -> Result<[State; MAX_STATES], Damaged> {
        let mut states = [State::default(); MAX_STATES];
        let n_states = 1usize << self.bits;
        if n_states > MAX_STATES {
            return Err(Damaged);
        }
        // Rare symbols are at the end, one state each.
        let mut n_free = n_states;
        let mut next = [0u16; MAX_SYMBOLS];
        for (symbol, share) in self.shares[..self.n_symbols].iter().enumerate() {
            next[symbol] = share.unsigned_abs();
            if *share < 0 {
                n_free = n_free.checked_sub(1).ok_or(Damaged)?;
                states[n_free].symbol = symbol as u8;
            }
        }
        let step = (n_states >> 1) + (n_states >> 3) + 3;
        let mut at = 0;
        for (symbol, share) in self.shares[..self.n_symbols].iter().enumerate() {
            for _ in 0..*share {
                states[at].symbol = symbol as u8;
                at = (at + step) % n_states;
                while at >= n_free {
                    at = (at + step) % n_states;
                    if n_free == 0 {
                        return Err(Damaged);
                    }
                }
            }
        }
        if at != 0 {
            return Err(Damaged);
        }
        for state in &mut states[..n_states] {
            let number = &mut next[usize::from(state.symbol)];
            let n_bits = self.bits - number.checked_ilog2().ok_or(Damaged)?;
            state.n_bits = n_bits as u8;
            state.base = ((usize::from(*number) << n_bits) - n_states) as u16;
            *number += 1;
        }
        Ok(states)
    }
}
