//! The exact line grammar of mrm-trace 0.1.0, to compare with what that version reads.
//!
//! ```text
//! comm pid [cpu] seconds.fraction: [period] event: addr sym [dso]
//! ```
//!
//! Where it differs from perf: after the address the first two words are symbol and object, whatever they are; parentheses
//! stay on the object; the symbol ends at its first plus sign. White space is ASCII white space, as in the reference's
//! pattern.

use super::sample::{Problem, Sample, address_of, is_blank, nanoseconds};
use memchr::{memchr, memchr_iter};

/// Sample of a line; `None` if the pattern does not match.
pub fn parse(line: &[u8]) -> Option<Result<Sample<'_>, Problem>> {
    let n_blank = line.iter().take_while(|byte| is_blank(**byte)).count();
    // The command can be any text, so the process id is the first word at which the rest matches. The first word of the line
    // is tried last, when blanks before it have to serve as the command. A blank line has no word.
    let is_first_tried = (2..line.len()).contains(&n_blank);
    let words = (2..line.len()).filter(|at| *at != n_blank).chain(is_first_tried.then_some(n_blank));
    for at in words {
        let starts_word = line[at].is_ascii_digit() && is_blank(line[at - 1]);
        if starts_word && let Some(found) = at_pid(&line[at..]) {
            return Some(found);
        }
    }
    None
}

/// Splits off leading digits.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let n = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (n > 0).then(|| text.split_at(n))
}

/// Rest after one or more blanks.
fn blanks(text: &[u8]) -> Option<&[u8]> {
    let n = text.iter().take_while(|byte| is_blank(**byte)).count();
    (n > 0).then(|| &text[n..])
}

/// Splits off a word.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let n = text.iter().take_while(|byte| !is_blank(**byte)).count();
    (n > 0).then(|| text.split_at(n))
}

fn at_pid(text: &[u8]) -> Option<Result<Sample<'_>, Problem>> {
    let (pid, rest) = digits(text)?;
    let (cpu, rest) = digits(blanks(rest)?.strip_prefix(b"[")?)?;
    let (seconds, rest) = digits(blanks(rest.strip_prefix(b"]")?)?)?;
    let (fraction, rest) = digits(rest.strip_prefix(b".")?)?;
    let rest = rest.strip_prefix(b":")?;
    // A period is digits and blanks, which an event may be too, so everything up to the next colon is the event.
    let (event, rest) = rest.split_at(memchr(b':', rest)?);
    if event.len() < 2 || !is_blank(event[0]) {
        return None;
    }
    let rest = blanks(&rest[1..])?;
    let n_hex = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (address, rest) = rest.split_at(n_hex);
    if n_hex == 0 {
        return None;
    }
    let (symbol, rest) = word(blanks(rest)?)?;
    let dso = blanks(rest).and_then(word).map_or(&b""[..], |(dso, _)| dso);
    let (Some(ts), Some(address)) = (nanoseconds(seconds, fraction), address_of(address)) else {
        return Some(Err(Problem::OutOfRange));
    };
    let symbol = &symbol[..memchr(b'+', symbol).unwrap_or(symbol.len())];
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    Some(Ok(Sample {
        ts,
        address,
        is_store: is_store_event(event),
        symbol,
        dso,
        cpu: number(cpu).and_then(|cpu: u64| u32::try_from(cpu).ok()),
        thread: number(pid).and_then(|pid| i64::try_from(pid).ok()),
        ..Sample::default()
    }))
}

/// Whether an event counts stores by its name: `mem-store` in any case.
pub fn is_store_event(event: &[u8]) -> bool {
    const STORE: &[u8] = b"mem-store";
    // Searches for the hyphen, since this runs for every sample.
    memchr_iter(b'-', event).any(|hyphen| {
        let start = hyphen.checked_sub(3);
        let part = start.and_then(|start| event.get(start..start + STORE.len()));
        part.is_some_and(|part| part.eq_ignore_ascii_case(STORE))
    })
}
