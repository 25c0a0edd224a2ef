//! What slices, processes and threads are called for people.

use super::Trace;
use super::tracks::{Key, ProcessId};
use crate::base::strings::StringId;
use std::borrow::Cow;

/// Display name of a slice.
pub fn shown(name: Option<&str>) -> &str {
    match name {
        None | Some("") => "[No name]",
        Some(name) => name,
    }
}

/// An id as written in the file, with text in quotes so that `7` and `"7"` differ.
pub fn key_text(trace: &Trace, key: Key) -> String {
    match key {
        Key::Number(number) => number.to_string(),
        Key::Text(id) => format!("\"{}\"", trace.strings.get(id)),
        Key::Digits(id) => trace.strings.get(id).to_string(),
    }
}

/// `name (key)`, or the key alone.
pub fn process_label(trace: &Trace, process: usize) -> String {
    let table = &trace.processes;
    let Some(key) = table.key.get(process) else { return String::new() };
    label(trace, table.name.get(process).copied().unwrap_or(StringId::NONE), *key)
}

/// `name (key)`, or the key alone.
pub fn thread_label(trace: &Trace, thread: usize) -> String {
    let table = &trace.threads;
    let Some(key) = table.key.get(thread) else { return String::new() };
    label(trace, table.name.get(thread).copied().unwrap_or(StringId::NONE), *key)
}

/// For headings: `name (key)`, or `Process key`.
pub fn process_title(trace: &Trace, process: usize) -> String {
    titled("Process", trace, trace.processes.key.get(process), process_label(trace, process))
}

/// `[TP00]` of `[TP00] 1000`, as written by tools that merge profiles of several ranks.
pub fn prefix(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.strip_prefix('[')?.find(']')? + 2;
    Some(&text[..end])
}

/// The id of a process, if it's a text.
pub fn text_key(trace: &Trace, process: ProcessId) -> Option<&str> {
    match trace.processes.key.get(process.0 as usize)? {
        Key::Text(text) => trace.strings.get_opt(*text),
        Key::Number(_) | Key::Digits(_) => None,
    }
}

/// Name of the GPU of a process: `GPU 0`, or `[TP00] GPU 0` if the id has a prefix.
pub fn gpu_label(trace: &Trace, process: ProcessId) -> String {
    match (trace.processes.key.get(process.0 as usize), text_key(trace, process)) {
        (Some(Key::Number(number)), _) => format!("GPU {number}"),
        (_, Some(text)) => {
            let prefix = prefix(text);
            let rest = text.trim_start().strip_prefix(prefix.unwrap_or("")).unwrap_or(text).trim();
            let name = if rest.is_empty() || rest.bytes().all(|byte| byte.is_ascii_digit()) {
                format!("GPU {rest}").trim_end().to_string()
            } else {
                rest.to_string()
            };
            match prefix {
                Some(prefix) => format!("{prefix} {name}"),
                None => name,
            }
        }
        _ => "GPU".to_string(),
    }
}

/// For headings: `name (key)`, or `Thread key`.
pub fn thread_title(trace: &Trace, thread: usize) -> String {
    titled("Thread", trace, trace.threads.key.get(thread), thread_label(trace, thread))
}

fn titled(what: &str, trace: &Trace, key: Option<&Key>, label: String) -> String {
    match key {
        Some(key) if key_text(trace, *key) == label => format!("{what} {label}"),
        _ => label,
    }
}

fn label(trace: &Trace, name: StringId, key: Key) -> String {
    let key_text = key_text(trace, key);
    match (trace.strings.get_opt(name), key) {
        (None | Some(""), _) => key_text,
        // A text key often is the name.
        (Some(name), Key::Text(text)) if trace.strings.get(text) == name => name.to_string(),
        // `thread 1234 (python3)` already contains its number.
        (Some(name), _) if name.split(|c: char| !c.is_alphanumeric()).any(|word| word == key_text) => {
            name.trim().to_string()
        }
        (Some(name), _) => format!("{name} ({key_text})"),
    }
}

/// The name of a thread of a stack profile with that number of namesakes before it: `worker #2` for the second.
pub fn with_number(name: Option<&str>, n_before: u32) -> Option<Cow<'_, str>> {
    match (name, n_before) {
        (name, 0) => name.map(Cow::Borrowed),
        (Some(name), n) => Some(Cow::Owned(format!("{name} #{}", u64::from(n) + 1))),
        (None, n) => Some(Cow::Owned(format!("#{}", u64::from(n) + 1))),
    }
}

/// Process, thread and name of a [`numbered_thread`]; `None` if a text is none with numbers.
pub fn numbers_of_thread(text: &str) -> Option<(Option<u64>, Option<u64>, Option<&str>)> {
    let split = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let (name, numbers) = split.map_or((None, text), |(name, numbers)| (Some(name), numbers));
    let (mut process, mut thread) = (None, None);
    for part in numbers.split(", ") {
        let (what, number) = part.split_once(' ')?;
        let number = Some(number.parse().ok()?);
        match what {
            "thread" if thread.is_none() && process.is_none() => thread = number,
            "process" if process.is_none() => process = number,
            _ => return None,
        }
    }
    Some((process, thread, name))
}

/// A thread of a stack profile with its numbers, as far as they are known: `worker (thread 12, process 3)`.
pub fn numbered_thread(name: Option<&str>, thread: Option<&str>, process: Option<&str>) -> String {
    let number = |what: &str, number: Option<&str>| number.map(|number| format!("{what} {number}"));
    let numbers = [number("thread", thread), number("process", process)];
    let numbers: Vec<String> = numbers.into_iter().flatten().collect();
    match (name, &numbers[..]) {
        (Some(name), []) => name.to_string(),
        (Some(name), numbers) => format!("{name} ({})", numbers.join(", ")),
        (None, []) => "all samples".to_string(),
        (None, numbers) => numbers.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_numbers_are_told_from_names() {
        for (name, thread, process) in
            [(Some("a (b)"), Some("12"), Some("3")), (None, Some("12"), None), (Some("x"), None, Some("3"))]
        {
            let number = |text: Option<&str>| text.map(|text| text.parse::<u64>().unwrap());
            let label = numbered_thread(name, thread, process);
            assert_eq!(numbers_of_thread(&label), Some((number(process), number(thread), name)), "{label}");
        }
        for text in ["", "all samples", "main (app.py:3)", "f (thread)", "process 3, thread 1", "thread x"] {
            assert_eq!(numbers_of_thread(text), None, "{text}");
        }
        assert_eq!(with_number(Some("t"), 0).as_deref(), Some("t"));
        assert_eq!(with_number(Some("t"), 1).as_deref(), Some("t #2"));
        assert_eq!(with_number(None, 1).as_deref(), Some("#2"));
    }
}
