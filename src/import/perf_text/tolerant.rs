//! Lines as perf prints them, with any selection of fields.
//!
//! ```text
//! [comm] pid|tid|pid/tid [[cpu]] seconds.fraction: [period] [event:] addr [tail]
//! tail: [data symbol (object)] [data source |…|] [weight [more latencies]] [ip [symbol (object)]]
//! ```
//!
//! Nothing in a line says which fields are present, so each is recognized by its form: hexadecimal numbers, the piped text of
//! a data source, objects in parentheses. The symbol of the instruction is preferred to that of the data, since rules for
//! regions name functions.

use super::sample::{Problem, Sample, address_of, is_blank, nanoseconds};
use super::seed::is_store_event;
use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

/// Sample of a line that is neither comment nor frame; `None` if it is not a sample.
pub fn parse(line: &[u8]) -> Option<Result<Sample<'_>, Problem>> {
    // The time is the first number with a fraction and a colon after which a sample is valid.
    memchr_iter(b':', line).find_map(|colon| {
        let after = &line[colon + 1..];
        if after.first().is_some_and(|byte| !is_blank(*byte)) {
            return None;
        }
        let (before, fraction) = split_digits_off(&line[..colon]);
        let (head, seconds) = split_digits_off(before.strip_suffix(b".")?);
        let stands_alone = head.last().is_none_or(|byte| is_blank(*byte));
        if fraction.is_empty() || seconds.is_empty() || !stands_alone {
            return None;
        }
        at_time(head, seconds, fraction, after)
    })
}

/// Starts of further samples in a line whose line ends were lost: after the object that ends the previous sample. Empty for
/// lines with at most one sample; `None` if the starts are ambiguous.
pub fn further_samples(line: &[u8]) -> Option<Vec<usize>> {
    let mut marks = times(line);
    let Some((mut before, _)) = marks.next() else { return Some(Vec::new()) };
    let mut starts = Vec::new();
    for (colon, thread) in marks {
        let end = memrchr(b')', line.get(before..thread)?)?;
        starts.push(before + end + 1);
        before = colon;
    }
    Some(starts)
}

/// Positions of the colons after the times of samples, and of the thread ids before them.
fn times(line: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    memchr_iter(b':', line).filter_map(|colon| {
        let is_near = line[..colon].last().is_some_and(u8::is_ascii_digit)
            && line.get(colon + 1).is_some_and(|byte| is_blank(*byte));
        if !is_near {
            return None;
        }
        let (before, _) = split_digits_off(&line[..colon]);
        let (head, seconds) = split_digits_off(before.strip_suffix(b".")?);
        if seconds.is_empty() || head.last().is_some_and(|byte| !is_blank(*byte)) {
            return None;
        }
        let (mut rest, mut word) = last_word(trim_end(head));
        if word.starts_with(b"[") && word.ends_with(b"]") {
            (rest, word) = last_word(rest);
        }
        thread_of(word)?;
        // The word follows the rest and blanks.
        let blanks = trim_start(&line[rest.len()..]);
        Some((colon, line.len() - blanks.len()))
    })
}

/// Splits off trailing digits.
fn split_digits_off(text: &[u8]) -> (&[u8], &[u8]) {
    let n = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(text.len() - n)
}

fn trim_start(text: &[u8]) -> &[u8] {
    let n = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[n..]
}

fn trim_end(text: &[u8]) -> &[u8] {
    let n = text.iter().rev().take_while(|byte| is_blank(**byte)).count();
    &text[..text.len() - n]
}

/// Splits off the first word and the blanks after it. `text` starts with no blank.
fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let n = text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len());
    let (word, rest) = text.split_at(n);
    (word, trim_start(rest))
}

/// Splits off the last word. `text` ends with no blank.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let n = text.iter().rev().position(|byte| is_blank(*byte)).unwrap_or(text.len());
    let (rest, word) = text.split_at(text.len() - n);
    (trim_end(rest), word)
}

/// Position of the first match of `what`, which starts with a rare byte. Building a searcher takes longer than searching a
/// line.
fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr_iter(*what.first()?, text).find(|at| text[*at..].starts_with(what))
}

/// Position of the last match of `what`.
fn rfind(text: &[u8], what: &[u8]) -> Option<usize> {
    memrchr_iter(*what.first()?, text).find(|at| text[*at..].starts_with(what))
}

#[inline]
fn all(word: &[u8], is: impl Fn(&u8) -> bool) -> bool {
    !word.is_empty() && word.iter().all(is)
}

fn is_decimal(word: &[u8]) -> bool {
    all(word, u8::is_ascii_digit)
}

fn is_hex(word: &[u8]) -> bool {
    all(word, u8::is_ascii_hexdigit)
}

/// Whether a word of the tail is a number rather than a function name such as `add`.
fn is_number(word: &[u8]) -> bool {
    is_hex(word) && (word.iter().any(u8::is_ascii_digit) || word.len() >= 12)
}

/// Parses everything around the time.
fn at_time<'a>(
    head: &'a [u8],
    seconds: &[u8],
    fraction: &[u8],
    after: &'a [u8],
) -> Option<Result<Sample<'a>, Problem>> {
    let (mut rest, mut word) = last_word(trim_end(head));
    let mut cpu = None;
    if let Some(number) = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")) {
        if !is_decimal(number) {
            return None;
        }
        cpu = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        (rest, word) = last_word(rest);
    }
    let thread = thread_of(word)?;
    let has_comm = !rest.is_empty();
    let (event, address, tail) = event_and_address(trim_start(after), has_comm)?;
    let (Some(ts), Some(address)) = (nanoseconds(seconds, fraction), address_of(address)) else {
        return Some(Err(Problem::OutOfRange));
    };
    let tail = read_tail(tail);
    Some(Ok(Sample {
        ts,
        address,
        is_store: tail.is_store.unwrap_or_else(|| is_store_event(event)),
        symbol: tail.symbol,
        dso: tail.dso,
        cpu,
        thread: thread.filter(|thread| *thread >= 0),
        is_negative_thread: thread.is_some_and(|thread| thread < 0),
        latency: tail.weight,
        cache_level: tail.cache_level,
        remote: tail.remote,
    }))
}

/// Thread id of `pid`, `tid` or `pid/tid`. `None` if it is not such a word.
fn thread_of(word: &[u8]) -> Option<Option<i64>> {
    let is_integer = |part: &[u8]| is_decimal(part.strip_prefix(b"-").unwrap_or(part));
    let tid = match memchr(b'/', word) {
        Some(at) if is_integer(&word[..at]) => &word[at + 1..],
        Some(_) => return None,
        None => word,
    };
    is_integer(tid).then(|| std::str::from_utf8(tid).ok()?.parse().ok())
}

/// Maximum number of event words, and of parentheses in a name, that are tried: each try may scan the whole line, which can be
/// a mebibyte long.
const MAX_TRIES: usize = 64;

/// Event, address digits, and the rest. Only a line without a command may lack an event.
fn event_and_address(text: &[u8], has_comm: bool) -> Option<(&[u8], &[u8], &[u8])> {
    let mut at = 0;
    let mut start = 0;
    let mut n_words = 0;
    loop {
        let (word, rest) = next_word(&text[at..]);
        if word.is_empty() {
            break;
        }
        let behind = text.len() - rest.len();
        n_words += 1;
        if n_words > MAX_TRIES {
            break;
        }
        if let Some(name) = word.strip_suffix(b":") {
            let (address, tail) = next_word(rest);
            if is_hex(address) {
                let event = &text[start..at + name.len()];
                return Some((event, address, tail));
            }
            // What precedes an event is its period, not an address of the compact form.
            if n_words == 2 && start > 0 {
                return None;
            }
            // The event continues.
        } else if n_words == 1 && is_decimal(word) {
            // The period.
            start = behind;
        } else if n_words == 1 && !has_comm && is_hex(word) {
            break;
        }
        at = behind;
    }
    let (address, tail) = next_word(text);
    (!has_comm && is_hex(address)).then_some((&b""[..], address, tail))
}

#[derive(Default)]
struct Tail<'a> {
    symbol: &'a [u8],
    dso: &'a [u8],
    is_store: Option<bool>,
    weight: Option<u64>,
    cache_level: Option<&'static str>,
    remote: Option<u32>,
}

/// Parses the tail. `text` starts with no blank.
fn read_tail(text: &[u8]) -> Tail<'_> {
    let text = trim_end(text);
    let mut tail = Tail::default();
    if text.is_empty() {
        return tail;
    }
    let data;
    let behind;
    match find_data_source(text) {
        Some((before, source, piped)) => {
            data = before;
            let (described, rest) = split_piped(piped);
            tail.is_store = op_of(source, described);
            tail.cache_level = cache_level(described);
            tail.remote = address_of(source).map(|bits| (bits >> 37 & 1) as u32);
            behind = rest;
        }
        None => (data, behind) = split_data_group(text),
    }
    let (weight, ip_group) = read_numbers(behind);
    tail.weight = weight;
    let group = match ip_group {
        Some(group) if !group.is_empty() => group,
        _ => data,
    };
    (tail.symbol, tail.dso) = read_group(group);
    tail
}

/// Splits a tail into the text before the data source, its digits, and the piped text with the rest.
fn find_data_source(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    memchr_iter(b'|', text).find_map(|pipe| {
        let before = trim_end(&text[..pipe]);
        // Without a blank there is no word to search for, in a line that may be all pipes.
        if before.len() == pipe {
            return None;
        }
        let (rest, source) = last_word(before);
        is_hex(source).then(|| (rest, source, &text[pipe..]))
    })
}

/// Splits the description of a data source from the numbers after it. Its last part is an upper-case word and its value;
/// numbers follow.
fn split_piped(text: &[u8]) -> (&[u8], &[u8]) {
    let mut last = 0;
    for pipe in memchr_iter(b'|', text) {
        let key = &text[pipe + 1..];
        let n = key.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        if (2..=4).contains(&n) && key.get(n).is_some_and(|byte| is_blank(*byte)) {
            last = pipe;
        }
    }
    // After the key.
    let (_, mut rest) = next_word(&text[last..]);
    while !rest.is_empty() {
        let (word, after) = next_word(rest);
        if is_number(word) {
            break;
        }
        rest = after;
    }
    text.split_at(text.len() - rest.len())
}

/// Whether a data source is a store; `None` if it says neither load nor store.
fn op_of(source: &[u8], described: &[u8]) -> Option<bool> {
    let says = |what: &[u8]| find(described, what).is_some();
    match (says(b"|OP STORE"), says(b"|OP LOAD")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        // Bit 2 is a store, bit 1 a load.
        _ => match address_of(source)? & 31 {
            4 => Some(true),
            2 => Some(false),
            _ => None,
        },
    }
}

/// Level of the memory hierarchy in `|LVL L1 hit`.
fn cache_level(described: &[u8]) -> Option<&'static str> {
    const LEVELS: [(&[u8], &str); 8] = [
        (b"DRAM", "DRAM"),
        (b"RAM", "DRAM"),
        (b"L4", "L4"),
        (b"L3", "L3"),
        (b"L2", "L2"),
        (b"LFB", "LFB"),
        (b"MAB", "LFB"),
        (b"L1", "L1"),
    ];
    let text = &described[find(described, b"|LVL ")? + 5..];
    let n =
        text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/')).count();
    let text = &text[..n];
    let has = |name: &[u8]| text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name));
    LEVELS.iter().find(|(name, _)| has(name)).map(|(_, level)| *level)
}

/// Splits the data group from the rest, without a data source. The group ends with an object in parentheses before a number;
/// without one it is the whole text, unless that starts with a number.
fn split_data_group(text: &[u8]) -> (&[u8], &[u8]) {
    if is_number(next_word(text).0) {
        return (b"", text);
    }
    for close in memchr_iter(b')', text).take(MAX_TRIES) {
        let behind = trim_start(&text[close + 1..]);
        if behind.len() + close + 1 < text.len()
            && is_number(next_word(behind).0)
            && open_of(&text[..=close]).is_some()
        {
            return (&text[..=close], behind);
        }
    }
    (text, b"")
}

/// Position of the parenthesis, after a blank, that closes at the end of `text`.
fn open_of(text: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (*byte == b'(' && (at == 0 || is_blank(text[at - 1]))).then_some(at);
        }
    }
    // Unbalanced: use the last one that may open an object.
    rfind(text, b" (").map(|at| at + 1)
}

/// Weight and instruction group, which is empty if only its address is present; `None` without an address.
fn read_numbers(text: &[u8]) -> (Option<u64>, Option<&[u8]>) {
    let mut rest = text;
    let mut first: Option<&[u8]> = None;
    let mut last: &[u8] = b"";
    let mut n = 0;
    while !rest.is_empty() {
        let (word, after) = next_word(rest);
        if !is_number(word) {
            break;
        }
        first = first.or(Some(word));
        last = word;
        n += 1;
        rest = after;
    }
    let Some(first) = first else { return (None, None) };
    // The instruction address is the last number if a name follows, or if it cannot be a weight.
    let has_ip = !rest.is_empty() || !is_decimal(last);
    let weight = if has_ip && n == 1 || !is_decimal(first) {
        None
    } else {
        std::str::from_utf8(first).ok().and_then(|digits| digits.parse().ok())
    };
    (weight, has_ip.then_some(rest))
}

/// Name and object of `name[+0xhex] (object)`, or of `name[+0xhex] object`.
fn read_group(text: &[u8]) -> (&[u8], &[u8]) {
    if text.ends_with(b")")
        && let Some(open) = open_of(text)
    {
        let name = trim_end(&text[..open]);
        return (without_offset(name), &text[open + 1..text.len() - 1]);
    }
    // With an offset the name ends there and the object is the next word; otherwise the object is the last word.
    if let Some(end) = end_of_offset(text) {
        let (object, _) = next_word(trim_start(&text[end..]));
        return (without_offset(&text[..end]), object);
    }
    let (name, object) = last_word(text);
    if name.is_empty() { (object, b"") } else { (name, object) }
}

/// End of the first offset that is followed by a blank or the end.
fn end_of_offset(text: &[u8]) -> Option<usize> {
    memchr_iter(b'+', text).filter(|at| text[*at..].starts_with(b"+0x")).find_map(|at| {
        let digits = &text[at + 3..];
        let n = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        (n > 0 && digits.get(n).is_none_or(|byte| is_blank(*byte))).then_some(at + 3 + n)
    })
}

fn without_offset(name: &[u8]) -> &[u8] {
    match rfind(name, b"+0x") {
        Some(at) if is_hex(&name[at + 3..]) => &name[..at],
        _ => name,
    }
}
