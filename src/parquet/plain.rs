//! Plain values (`PLAIN`), and values with separated bytes (`BYTE_STREAM_SPLIT`).

use super::Error;
use super::metadata::Physical;

const DAMAGED: Error = Error::Damaged("values");

/// Appends `n` integers.
pub fn read_ints(
    bytes: &[u8],
    physical: Physical,
    signed: bool,
    n: usize,
    out: &mut Vec<i64>,
) -> Result<(), Error> {
    match physical {
        Physical::Int64 => {
            let (words, _) = bytes.as_chunks::<8>();
            out.extend(words.get(..n).ok_or(DAMAGED)?.iter().map(|word| i64::from_le_bytes(*word)));
        }
        Physical::Int32 => {
            let (words, _) = bytes.as_chunks::<4>();
            let words = words.get(..n).ok_or(DAMAGED)?.iter().map(|word| i32::from_le_bytes(*word));
            out.extend(words.map(|value| widen(value, signed)));
        }
        _ => return Err(DAMAGED),
    }
    Ok(())
}

/// Widens 32 bits to 64.
pub fn widen(value: i32, signed: bool) -> i64 {
    if signed { i64::from(value) } else { i64::from(value as u32) }
}

/// Appends `n` floats.
pub fn read_floats(bytes: &[u8], physical: Physical, n: usize, out: &mut Vec<f64>) -> Result<(), Error> {
    match physical {
        Physical::Double => {
            let (words, _) = bytes.as_chunks::<8>();
            out.extend(words.get(..n).ok_or(DAMAGED)?.iter().map(|word| f64::from_le_bytes(*word)));
        }
        Physical::Float => {
            let (words, _) = bytes.as_chunks::<4>();
            out.extend(
                words.get(..n).ok_or(DAMAGED)?.iter().map(|word| f64::from(f32::from_le_bytes(*word))),
            );
        }
        _ => return Err(DAMAGED),
    }
    Ok(())
}

/// Emits `n` texts, each after its length.
pub fn read_texts(mut bytes: &[u8], n: usize, mut push: impl FnMut(&[u8])) -> Result<(), Error> {
    for _ in 0..n {
        let (length, after) = bytes.split_first_chunk::<4>().ok_or(DAMAGED)?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(DAMAGED)?;
        push(text);
        bytes = after;
    }
    Ok(())
}

/// Reassembles `n` values of a width from separated bytes.
pub fn join_bytes(bytes: &[u8], width: usize, n: usize) -> Result<Vec<u8>, Error> {
    if n.checked_mul(width).is_none_or(|all| all > bytes.len()) {
        return Err(DAMAGED);
    }
    let mut out = Vec::with_capacity(n * width);
    for value in 0..n {
        out.extend((0..width).map(|byte| bytes[byte * n + value]));
    }
    Ok(out)
}
