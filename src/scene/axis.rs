//! Round numbers for axes.

use crate::base::units::{Unit, format_float};

/// Round values from 0 to at least `max`, about `n` of them.
pub fn linear(max: f64, n: usize, unit: Unit) -> Vec<f64> {
    if !(max.is_finite() && max > 0.0) {
        return vec![0.0];
    }
    let rough = max / n.max(1) as f64;
    // Byte ticks are powers of two.
    let step = if unit == Unit::Bytes { 2f64.powf(rough.log2().ceil()) } else { round_up(rough) };
    // Counts have no fractions.
    let step = if matches!(unit, Unit::Count | Unit::Bytes) { step.max(1.0) } else { step };
    let mut ticks = vec![0.0];
    while ticks[ticks.len() - 1] < max && ticks.len() < 100 {
        ticks.push(ticks.len() as f64 * step);
    }
    ticks
}

/// Round values from at most `min` to at least `max`, both above 0, about `n` steps.
pub fn around(min: f64, max: f64, n: usize, unit: Unit) -> Vec<f64> {
    let rough = ((max - min) / n.max(1) as f64).max(max * 1e-9);
    let step = if unit == Unit::Bytes { 2f64.powf(rough.log2().ceil()).max(1.0) } else { round_up(rough) };
    let first = (min / step).floor();
    let mut ticks = vec![first * step];
    while ticks[ticks.len() - 1] < max && ticks.len() < 100 {
        ticks.push((first + ticks.len() as f64) * step);
    }
    ticks
}

/// Round values from `start` to `end`, about `n` of them.
pub fn between(start: f64, end: f64, n: usize) -> Vec<f64> {
    let step = round_up(((end - start) / n.max(1) as f64).max(1.0));
    let first = (start / step).ceil();
    (0..100).map(|at| (first + f64::from(at)) * step).take_while(|tick| *tick <= end).collect()
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `value`.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= value * 0.999_999).unwrap_or(10.0);
    factor * power
}

/// Powers of ten around `min` and `max`, both above 0.
pub fn powers_of_ten(min: f64, max: f64) -> Vec<f64> {
    let (first, last) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    (first..=last.max(first + 1)).map(|power| 10f64.powi(power)).collect()
}

/// Text of a tick, without trailing zeros.
pub fn label(value: f64, unit: Unit) -> String {
    let text = if unit == Unit::NsOffset { format_float(value, Unit::Ns) } else { format_float(value, unit) };
    if value == 0.0 && matches!(unit, Unit::Ns | Unit::NsOffset | Unit::Bytes) {
        return "0".to_string();
    }
    let (number, rest) = match text.split_once(' ') {
        Some((number, rest)) => (number.to_string(), format!(" {rest}")),
        None => (text, String::new()),
    };
    let number = if number.contains('.') && !number.ends_with('%') {
        number.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        number
    };
    format!("{number}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(linear(7.3, 4, Unit::Plain), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(linear(1.0, 4, Unit::Count), [0.0, 1.0]);
        assert_eq!(linear(3000.0, 3, Unit::Bytes), [0.0, 1024.0, 2048.0, 3072.0]);
        assert_eq!(around(2100.0, 4000.0, 2, Unit::Bytes), [2048.0, 3072.0, 4096.0]);
        assert_eq!(linear(0.0, 4, Unit::Ns), [0.0]);
        assert_eq!(linear(f64::NAN, 4, Unit::Ns), [0.0]);
        assert_eq!(between(2_212.0, 9_000.0, 3), [5_000.0]);
        assert_eq!(between(-10.0, 10.0, 2), [-10.0, 0.0, 10.0]);
        assert_eq!(powers_of_ten(3.0, 200.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(
            (label(2e6, Unit::Ns), label(0.0, Unit::Ns), label(0.5, Unit::Ratio)),
            ("2 ms".into(), "0".into(), "50.0%".into())
        );
    }
}
