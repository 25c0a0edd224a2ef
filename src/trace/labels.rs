//! What slices, processes and threads are called for people.

use super::Trace;
use super::tracks::Key;
use crate::base::strings::StringId;

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
