//! Kinds of lines that `perf script` prints.

use crate::base::text::is_control;
use crate::trace::stack_profiles::Amount;

/// First line of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    pub command: &'a [u8],
    pub process: Option<i64>,
    pub thread: Option<i64>,
    pub time: Option<Amount>,
    pub period: Option<u64>,
    pub event: Option<&'a [u8]>,
    /// The kind of a record that is no sample, such as `PERF_RECORD_COMM`, which `perf script` prints with `--show-…-events`.
    pub record: Option<&'a [u8]>,
}

/// Line of a call chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameLine<'a> {
    pub address: u64,
    /// What follows the address.
    pub text: &'a [u8],
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |at| at + 1);
    &text[start..end]
}

/// First word, and what follows.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len());
    (&text[..end], trim(&text[end..]))
}

/// What precedes the last word, and that.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().rposition(|byte| is_blank(*byte)).map_or(0, |at| at + 1);
    (trim(&text[..start]), &text[start..])
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    let plain = digits.strip_prefix(b"-").unwrap_or(digits);
    let is_number = !plain.is_empty() && plain.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

/// The head of a sample: what precedes the last `[pid/]tid [cpu] time:` is the command.
pub fn head(line: &[u8]) -> Option<Head<'_>> {
    memchr::memrchr_iter(b':', line).take(64).find_map(|colon| {
        let after = &line[colon + 1..];
        if after.first().is_some_and(|byte| !is_blank(*byte)) {
            return None;
        }
        let (before, time) = last_word(&line[..colon]);
        let point = time.iter().position(|byte| *byte == b'.')?;
        let (seconds, fraction) = (&time[..point], &time[point + 1..]);
        let is_time = !fraction.is_empty()
            && !seconds.is_empty()
            && seconds.iter().chain(fraction).all(u8::is_ascii_digit);
        if !is_time {
            return None;
        }
        let (mut rest, mut word) = last_word(before);
        if let Some(cpu) = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")) {
            number::<u32>(cpu)?;
            (rest, word) = last_word(rest);
        }
        let (process, thread) = match word.iter().position(|byte| *byte == b'/') {
            Some(at) => (Some(number(&word[..at])?), number(&word[at + 1..])?),
            None => (None, number(word)?),
        };
        let after = trim(after);
        let record = record_kind(after);
        let (period, event) = if record.is_some() { (None, None) } else { period_and_event(after) };
        let time = Amount::parse(time);
        Some(Head { command: rest, process, thread: Some(thread), time, period, event, record })
    })
}

/// `PERF_RECORD_FORK` of `PERF_RECORD_FORK(12:12):(1:1)`.
fn record_kind(text: &[u8]) -> Option<&[u8]> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = &text[..text.iter().position(|byte| !is_of_name(byte)).unwrap_or(text.len())];
    let kind = name.strip_prefix(b"PERF_RECORD_")?;
    (!kind.is_empty() && kind != b"SAMPLE").then_some(name)
}

/// `period event:`; what follows is text of the event.
fn period_and_event(text: &[u8]) -> (Option<u64>, Option<&[u8]>) {
    let (word, rest) = first_word(text);
    let (period, text) = match number::<u64>(word) {
        Some(period) => (Some(period), rest),
        None => (None, text),
    };
    let (word, _) = first_word(text);
    (period, word.strip_suffix(b":").filter(|event| !event.is_empty()))
}

/// A line of a call chain: blanks, an address, and what that is.
pub fn frame_line(line: &[u8]) -> Option<FrameLine<'_>> {
    if !line.first().is_some_and(|byte| is_blank(*byte)) {
        return None;
    }
    let (word, text) = first_word(trim(line));
    let is_address = !word.is_empty() && word.len() <= 16 && word.iter().all(u8::is_ascii_hexdigit);
    if !is_address {
        return None;
    }
    // The head of a sample may be indented, too.
    if head(line).is_some() {
        return None;
    }
    let address = u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
    Some(FrameLine { address, text })
}

/// File and line of the frame before: `  file.c:12`; the inner `None` is a place that says nothing.
pub fn source_line(line: &[u8]) -> Option<Option<(&[u8], i64)>> {
    if !line.first().is_some_and(|byte| is_blank(*byte)) {
        return None;
    }
    let text = trim(line);
    let is_text = !text.iter().any(|byte| is_control(char::from(*byte)) && byte.is_ascii());
    if let Some(colon) = memchr::memrchr(b':', text)
        && colon > 0
        && is_text
    {
        let line = number::<i64>(&text[colon + 1..])?;
        let file = &text[..colon];
        return Some((file != b"??").then_some((file, line)));
    }
    // A module and an address in it.
    let address = text.strip_suffix(b"]").and_then(|text| text.rsplit(|byte| *byte == b'[').next())?;
    (!address.is_empty() && address.iter().all(u8::is_ascii_hexdigit)).then_some(None)
}

impl<'a> FrameLine<'a> {
    /// The symbol without its offset, and the module in the last brackets, if there are any.
    pub fn symbol_and_module(&self) -> (&'a [u8], Option<&'a [u8]>) {
        let (symbol, module) = match module_start(self.text) {
            Some(at) => (trim(&self.text[..at]), Some(&self.text[at + 1..self.text.len() - 1])),
            None => (self.text, None),
        };
        (without_offset(symbol), module)
    }
}

/// Where the last brackets open; they may hold others.
fn module_start(text: &[u8]) -> Option<usize> {
    if text.last() != Some(&b')') {
        return None;
    }
    let mut depth = 0;
    for at in memchr::memchr2_iter(b'(', b')', text).rev() {
        if text[at] == b')' {
            depth += 1;
            continue;
        }
        depth -= 1;
        if depth == 0 {
            return (at == 0 || is_blank(text[at - 1])).then_some(at);
        }
    }
    None
}

fn without_offset(symbol: &[u8]) -> &[u8] {
    let Some(at) = memchr::memrchr(b'+', symbol) else { return symbol };
    match symbol[at + 1..].strip_prefix(b"0x") {
        Some(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) => &symbol[..at],
        _ => symbol,
    }
}

/// Whether a module is the kernel, or a part of it.
pub fn is_kernel(module: &[u8]) -> bool {
    let file = module.rsplit(|byte| *byte == b'/').next().unwrap_or(module);
    let is_named = module.starts_with(b"[") && module.ends_with(b"]");
    let is_of_user = [&b"[vdso]"[..], b"[vsyscall]", b"[heap]", b"[stack]", b"[anon]"].contains(&module);
    is_named && !is_of_user
        || module.starts_with(b"[guest.kernel")
        || module.ends_with(b".ko")
        || module.contains(&b'/') && file.starts_with(b"vmlinux")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_from_the_last_time() {
        let of = |line: &'static str| {
            let head = head(line.as_bytes()).unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (text(head.command), head.process, head.thread.unwrap(), head.period, head.event.map(text))
        };
        let event = |name: &str| Some(name.to_string());
        assert_eq!(
            of("FS Broker 5858  5791/5860  30171.917889:    4612247 cycles:ppp: "),
            ("FS Broker 5858".into(), Some(5791), 5860, Some(4_612_247), event("cycles:ppp"))
        );
        assert_eq!(
            of(":-1    -1 [000] 12.5: 1 cycles: "),
            (":-1".into(), None, -1, Some(1), event("cycles"))
        );
        assert_eq!(
            of("sh [x] y/z 77 12.750000: sched:sched_switch: prev_comm=sh prev_pid=77 ==> next_comm=a b"),
            ("sh [x] y/z".into(), None, 77, None, event("sched:sched_switch"))
        );
        assert_eq!(of("a 1 1.5:"), ("a".into(), None, 1, None, None));
        let record = |line: &'static str| head(line.as_bytes()).unwrap().record.map(<[u8]>::to_vec);
        for (line, kind) in [
            ("app 12 [000] 0.000000: PERF_RECORD_COMM exec: app:12/12", "PERF_RECORD_COMM"),
            ("app 12 0.5: PERF_RECORD_FORK(12:12):(1:1)", "PERF_RECORD_FORK"),
            ("app 0 [0] 0.5: PERF_RECORD_MMAP2 -1/0: [0x8(0x1) @ 0]: x [k]_text", "PERF_RECORD_MMAP2"),
        ] {
            assert_eq!(record(line).as_deref(), Some(kind.as_bytes()), "{line}");
        }
        assert_eq!(record("a 1 1.5: 10 cycles: PERF_RECORD_COMM"), None);
        for line in ["garbage without numbers", "a 1 15:", "a b 1.5: x:", "1.5: x:"] {
            assert_eq!(head(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn frames_have_symbols_and_modules() {
        for (line, symbol, module) in [
            ("\t1 f+0x2 (/a)", "f", Some("/a")),
            (
                "\t44 std::function<void (int)>::operator()(int) const+0x1f (/usr/lib/x y/lib (1).so)",
                "std::function<void (int)>::operator()(int) const",
                Some("/usr/lib/x y/lib (1).so"),
            ),
            ("\t45 f(int (*)(int)) (/memfd:jit (deleted))", "f(int (*)(int))", Some("/memfd:jit (deleted)")),
            ("   4 main", "main", None),
            ("   4 f(int)", "f(int)", None),
            ("   4 a+b (x)", "a+b", Some("x")),
            ("\t00ff", "", None),
        ] {
            let frame = frame_line(line.as_bytes()).unwrap();
            let (got, of) = frame.symbol_and_module();
            assert_eq!((got, of), (symbol.as_bytes(), module.map(str::as_bytes)), "{line}");
        }
        assert_eq!(source_line(b"  main.c:12"), Some(Some((&b"main.c"[..], 12))));
        assert_eq!(source_line(b"  ??:0"), Some(None));
        assert_eq!(source_line(b"  mix[1234]"), Some(None));
        assert_eq!(source_line(b"main.c:12"), None);
        assert!(
            is_kernel(b"[nf_conntrack]") && is_kernel(b"/usr/lib/debug/vmlinux-5") && !is_kernel(b"[vdso]")
        );
    }
}
