//! Which file a part of a report is of, where the report is of several: by the names in its titles and notes.

use super::{Block, Note};
use crate::base::text::first_names;

/// Names of files in a note that some of many share.
const MAX_NAMED: usize = 3;

/// The title of a table, a chart or facts of one of several files.
pub fn titled(title: &str, file_name: &str) -> String {
    format!("{title}: {file_name}")
}

/// A note on one of several files.
pub fn noted(text: &str, file_name: &str) -> String {
    format!("{file_name}: {text}")
}

/// Number of the file that a title is of; `None` of a title of all files. A title may be nothing but the name.
pub fn file_of_title<S: AsRef<str>>(title: &str, file_names: &[S]) -> Option<usize> {
    longest(file_names, |name| {
        title.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(": "))
    })
}

/// Number of the file that a note is of; `None` of a note on several.
pub fn file_of_note<S: AsRef<str>>(text: &str, file_names: &[S]) -> Option<usize> {
    longest(file_names, |name| text.strip_prefix(name).is_some_and(|after| after.starts_with(": ")))
}

/// The longest name that fits: one file may be called like the end of another.
fn longest<S: AsRef<str>>(file_names: &[S], fits: impl Fn(&str) -> bool) -> Option<usize> {
    let fitting =
        file_names.iter().map(AsRef::as_ref).enumerate().filter(|(_, name)| !name.is_empty() && fits(name));
    // The first of those with one name.
    fitting
        .reduce(|best, other| if other.1.len() > best.1.len() { other } else { best })
        .map(|(number, _)| number)
}

/// Says notes that several files have once, with the files that have them.
pub fn join_notes(blocks: &mut Vec<Block>, file_names: &[&str]) {
    let mut notes: Vec<(Note, Vec<&str>)> = Vec::new();
    let mut places = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let Block::Note(note) = block else { continue };
        let Some(file) = file_of_note(&note.text, file_names) else { continue };
        let text = note.text[file_names[file].len() + 2..].to_string();
        let same = notes.iter().position(|(other, _)| other.level == note.level && other.text == text);
        let number = same.unwrap_or_else(|| {
            notes.push((Note { level: note.level, text }, Vec::new()));
            notes.len() - 1
        });
        if !notes[number].1.contains(&file_names[file]) {
            notes[number].1.push(file_names[file]);
        }
        places.push((at, number));
    }
    // Each stands where the last of its kind stood, behind what it is about.
    let mut last = vec![0; notes.len()];
    for (at, number) in &places {
        last[*number] = *at;
    }
    // Files of one name count once, so they never are all.
    let said = notes.into_iter().map(|(note, files)| {
        // Numbers are of each file, not of all together.
        let of = match files.len() {
            1 => files[0].to_string(),
            n if n == file_names.len() => format!("Each of {n} files"),
            _ => format!("Each of {}", first_names(&files, MAX_NAMED)),
        };
        Note { text: noted(&note.text, &of), ..note }
    });
    let mut said: Vec<Option<Block>> = said.map(|note| Some(Block::Note(note))).collect();
    let mut next = places.into_iter().peekable();
    let mut kept = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.drain(..).enumerate() {
        match next.next_if(|(place, _)| *place == at) {
            Some((place, number)) if last[number] == place => kept.extend(said[number].take()),
            Some(_) => {}
            None => kept.push(block),
        }
    }
    *blocks = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{NoteLevel, Report};

    const FILES: [&str; 3] = ["rank0.json", "rank1.json", "0.json"];

    #[test]
    fn titles_and_notes_name_their_file() {
        assert_eq!(file_of_title("Kernels: rank1.json", &FILES), Some(1));
        assert_eq!(file_of_title("rank0.json", &FILES), Some(0));
        assert_eq!(file_of_title("Steps: 0.json", &FILES), Some(2));
        assert_eq!(file_of_title("Collectives across ranks", &FILES), None);
        assert_eq!(file_of_note("rank1.json: nothing was launched.", &FILES), Some(1));
        assert_eq!(file_of_note("rank1.json, 0.json: nothing was launched.", &FILES), None);
    }

    #[test]
    fn a_note_of_several_files_is_said_once() {
        let mut report = Report::new("gpu-idle", "Idle and launch");
        for file in FILES {
            report.warning(noted("No Python frames.", file));
            if file != "rank1.json" {
                report.info(noted("2 kernels are left out.", file));
            }
        }
        report.info("Of all.");
        join_notes(&mut report.blocks, &FILES);
        let text = |block: &Block| match block {
            Block::Note(note) => (note.level, note.text.clone()),
            _ => panic!("only notes"),
        };
        let texts: Vec<_> = report.blocks.iter().map(text).collect();
        let right = [
            (NoteLevel::Warning, "Each of 3 files: No Python frames."),
            (NoteLevel::Info, "Each of rank0.json, 0.json: 2 kernels are left out."),
            (NoteLevel::Info, "Of all."),
        ];
        assert_eq!(texts, right.map(|(level, text)| (level, text.to_string())));
    }
}
