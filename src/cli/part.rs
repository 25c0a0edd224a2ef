//! Times and time ranges on the command line.

use tracedrop::base::units::nanoseconds;

/// `1.5s..2s`, `300..400` (milliseconds), `..20ms` as nanoseconds from the start of the trace.
pub fn window(text: &str) -> Result<(i64, i64), String> {
    let (from, to) =
        text.split_once("..").ok_or("expected two times separated by .., for instance 1.5s..2s")?;
    let from = if from.trim().is_empty() { 0 } else { nanoseconds(from)? };
    let to = if to.trim().is_empty() { i64::MAX } else { nanoseconds(to)? };
    if from > to {
        return Err("the range ends before it starts".to_string());
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_a_unit() {
        assert_eq!(window("1.5s..2s"), Ok((1_500_000_000, 2_000_000_000)));
        assert_eq!(window("300 .. 400"), Ok((300_000_000, 400_000_000)));
        assert_eq!(window("..20us"), Ok((0, 20_000)));
        assert_eq!(window("7ns.."), Ok((7, i64::MAX)));
        for bad in ["5", "2..1", "x..y", "-1..2", "nan..", "1m..2m"] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
