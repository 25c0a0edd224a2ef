//! Decimal digits to numbers, eight at a time.

pub const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Number made of the leading digits of eight bytes (first one lowest), and how many digits there are.
#[inline(always)]
pub fn leading_digits(word: u64) -> (u64, usize) {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // Digits become 0 to 9; other bytes exceed 9, at the latest after the addition.
    let values = word ^ (ONES * b'0' as u64);
    let others = (values | values.wrapping_add(ONES * 0x76)) & (ONES << 7);
    // A carry only affects bytes after the first one that is not a digit.
    let n = others.trailing_zeros() as usize / 8;
    if n == 0 {
        return (0, 0);
    }
    // Leading zeros make it eight digits in any case.
    (eight_digits(values << (64 - 8 * n)), n)
}

/// Number made of eight bytes from 0 to 9: pairs, then fours, then all.
#[inline(always)]
pub fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let high = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

/// Whether all eight bytes are digits, and their values from 0 to 9.
#[inline(always)]
pub fn all_digits(word: u64) -> Option<u64> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let values = word ^ (ONES * b'0' as u64);
    ((values | values.wrapping_add(ONES * 0x76)) & (ONES << 7) == 0).then_some(values)
}
