//! Finite state entropy: tables of states, each with a symbol and how to come to the next state.

use super::{Damaged, number};

/// States of the largest table that is made here: 9 bits.
pub const MAX_STATES: usize = 512;

const MAX_SYMBOLS: usize = 256;

/// A state: the symbol, and the next state, which is `base` and as many bits more.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub symbol: u8,
    pub n_bits: u8,
    pub base: u16,
}

/// How often each symbol comes, in so many parts as there are states; -1 is less than one of them.
pub struct Shares {
    shares: [i16; MAX_SYMBOLS],
    n_symbols: usize,
    /// Bits of the number of a state.
    pub bits: u32,
}

impl Shares {
    /// Those that the definition gives.
    pub fn of(known: &[i16], bits: u32) -> Shares {
        let mut shares = [0; MAX_SYMBOLS];
        let n_symbols = known.len().min(MAX_SYMBOLS);
        shares[..n_symbols].copy_from_slice(&known[..n_symbols]);
        Shares { shares, n_symbols, bits }
    }

    /// Reads them from `at` on, of states of at most `max_bits`; gives where they end.
    pub fn read(
        bytes: &[u8],
        at: usize,
        max_bits: u32,
        max_symbol: usize,
    ) -> Result<(Shares, usize), Damaged> {
        let mut bit = 0;
        let mut peek = |n: usize, taken: usize| {
            let at = at + bit / 8;
            // Bits behind the end are 0, and are seen not to be there in the end.
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
            // Numbers up to what is left and one more, of which the smaller take one bit less.
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

    /// The states that follow from them.
    pub fn states(&self) -> Result<[State; MAX_STATES], Damaged> {
        let mut states = [State::default(); MAX_STATES];
        let n_states = 1usize << self.bits;
        if n_states > MAX_STATES {
            return Err(Damaged);
        }
        // Rare symbols stand at the end, one state each.
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
