//! Hiding of passwords, tokens and keys in all texts of a trace, and showing them again.
//!
//! Each distinct text is checked once, when the trace is built; arguments are checked when they are read from the file. Hidden
//! texts are kept in memory only: indexes and exports contain the trace without them.

use super::Trace;
use super::ledger::{Position, issue_kinds};
use crate::base::hash::{HashMap, HashSet};
use crate::base::secrets::{HIDDEN, Without, hide, hide_json, hide_value};
use crate::base::strings::{StringId, StringTable};

issue_kinds! {
    SECRET = "secret-hidden", Note, "password, token or key hidden in reports and exports",
        "remove it from the file before you share that; --show-secrets, or the checkbox in the parsing details, shows it", 3;
}

/// Original texts of those that were replaced.
#[derive(Clone, Default)]
pub struct Hidden {
    strings: Vec<(StringId, String)>,
    /// By metadata row: name and value.
    metadata: Vec<(usize, (String, String))>,
    file_name: Option<String>,
    producer: Option<String>,
    /// By profile number.
    run_ids: Vec<(usize, String)>,
    /// By issue code.
    examples: Vec<(&'static str, String)>,
    /// By file number.
    sidecar_files: Vec<(usize, Vec<u8>)>,
    text: Option<Vec<u8>>,
}

/// Texts already checked in a file that is still being read, shared by successive partial traces.
#[derive(Clone, Default)]
pub struct Known {
    n_strings: usize,
    /// Texts with secrets. Invariant: ascending, below `n_strings`.
    found: Vec<StringId>,
}

impl Known {
    /// Forgets all but the first `n_strings` texts, since later ones will get other ids.
    pub fn keep(&mut self, n_strings: usize) {
        self.n_strings = self.n_strings.min(n_strings);
        self.found.retain(|id| (id.0 as usize) < n_strings);
    }

    fn look_at(&mut self, strings: &StringTable) {
        for id in self.n_strings as u32..strings.len() as u32 {
            if hide(strings.get(StringId(id))).is_some() {
                self.found.push(StringId(id));
            }
        }
        self.n_strings = strings.len();
    }
}

/// Places of secrets, as shown to the user, and their counts.
#[derive(Default)]
struct Places(Vec<(String, u64)>);

impl Places {
    fn add(&mut self, place: impl Into<String>, n: u64) {
        let place = place.into();
        match self.0.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += n,
            None => self.0.push((place, n)),
        }
    }
}

impl Trace {
    /// Hides secrets in all texts and counts them in the ledger. Texts already hidden stay so.
    pub fn hide_secrets(&mut self) {
        self.hide_secrets_after(&mut Known::default());
    }

    /// Like [`Trace::hide_secrets`], skipping texts that `known` has checked.
    pub fn hide_secrets_after(&mut self, known: &mut Known) {
        let mut places = Places::default();
        known.look_at(&self.strings);
        self.hide_strings(&known.found, &mut places);
        for (number, row) in self.source.metadata.iter_mut().enumerate() {
            // A name may hold a secret too: `password=…` as a key.
            let (name, value) = (hide(&row.0), hide_value(&row.0, &row.1));
            let n = name.iter().chain(&value).map(|without| without.n).sum();
            if n == 0 {
                continue;
            }
            let shown = row.clone();
            row.0 = name.map_or_else(|| shown.0.clone(), |without| without.text);
            row.1 = value.map_or_else(|| shown.1.clone(), |without| without.text);
            places.add(row.0.clone(), n);
            self.hidden.metadata.push((number, shown));
        }
        if let Some(Without { text, n }) = hide(&self.source.file_name) {
            places.add("file name", n);
            self.hidden.file_name = Some(std::mem::replace(&mut self.source.file_name, text));
        }
        if let Some(producer) = &mut self.source.producer
            && let Some(Without { text, n }) = hide(producer)
        {
            places.add("producer", n);
            self.hidden.producer = Some(std::mem::replace(producer, text));
        }
        for (number, profile) in self.profiles.iter_mut().enumerate() {
            if let Some(Without { text, n }) = hide(&profile.run_id) {
                places.add("run id", n);
                self.hidden.run_ids.push((number, std::mem::replace(&mut profile.run_id, text)));
            }
        }
        if let Some((text, n)) = hide_file("", &self.text) {
            places.add("file text", n);
            self.hidden.text = Some(std::mem::replace(&mut self.text, text));
        }
        for issue in &mut self.ledger.issues {
            if let Some(Without { text, n }) = hide_value("", &issue.example) {
                places.add("issue example", n);
                self.hidden.examples.push((issue.kind.code, std::mem::replace(&mut issue.example, text)));
            }
        }
        self.args.hide_secrets(true);
        self.count_hidden(places);
        self.hide_beside();
    }

    /// Hides secrets in files next to the trace, which may be added later.
    pub fn hide_beside(&mut self) {
        let mut places = Places::default();
        for (number, file) in self.sidecar_files.iter_mut().enumerate() {
            let Some(content) = &mut file.content else { continue };
            if let Some((without, n)) = hide_file(&file.name, content) {
                places.add(file.name.clone(), n);
                self.hidden.sidecar_files.push((number, std::mem::replace(content, without)));
            }
        }
        self.count_hidden(places);
    }

    /// Shows hidden texts, if this trace was read from its own file.
    pub fn show_secrets(&mut self) {
        let hidden = std::mem::take(&mut self.hidden);
        if !hidden.strings.is_empty() {
            self.strings.replace(&hidden.strings);
        }
        for (number, shown) in hidden.metadata {
            if let Some(row) = self.source.metadata.get_mut(number) {
                *row = shown;
            }
        }
        if let Some(name) = hidden.file_name {
            self.source.file_name = name;
        }
        self.source.producer = hidden.producer.or_else(|| self.source.producer.take());
        for (number, run_id) in hidden.run_ids {
            if let Some(profile) = self.profiles.get_mut(number) {
                profile.run_id = run_id;
            }
        }
        for (code, example) in hidden.examples {
            if let Some(issue) = self.ledger.issues.iter_mut().find(|issue| issue.kind.code == code) {
                issue.example = example;
            }
        }
        for (number, content) in hidden.sidecar_files {
            if let Some(file) = self.sidecar_files.get_mut(number) {
                file.content = Some(content);
            }
        }
        if let Some(text) = hidden.text {
            self.text = text;
        }
        self.args.hide_secrets(false);
        self.ledger.issues.retain(|issue| issue.kind.code != SECRET.code);
    }

    fn hide_strings(&mut self, found: &[StringId], places: &mut Places) {
        if found.is_empty() {
            return;
        }
        let (mut others, mut taken) = (Vec::new(), HashSet::default());
        let mut numbers: HashMap<String, u32> = HashMap::default();
        for id in found {
            let text = self.strings.get(*id);
            let Some(without) = hide(text) else { continue };
            places.add("names", without.n);
            // Distinct texts stay distinct, so that rows do not merge.
            let number = numbers.entry(without.text.clone()).or_insert(0);
            let mut other = without.text.clone();
            while self.strings.find(&other).is_some() || taken.contains(&other) {
                *number += 1;
                let numbered = format!("{} {})", HIDDEN.trim_end_matches(')'), *number + 1);
                other = without.text.replacen(HIDDEN, &numbered, 1);
            }
            self.hidden.strings.push((*id, text.to_string()));
            taken.insert(other.clone());
            others.push((*id, other));
        }
        self.strings.replace(&others);
    }

    fn count_hidden(&mut self, places: Places) {
        for (place, n) in places.0 {
            self.ledger.file(&SECRET, Position::NOWHERE, place.as_bytes());
            if let Some(issue) = self.ledger.issues.iter_mut().find(|issue| issue.kind.code == SECRET.code) {
                issue.count += n.saturating_sub(1);
            }
        }
    }
}

/// Short file without its secrets, as JSON or text; `None` if it has none, or is neither.
fn hide_file(name: &str, content: &[u8]) -> Option<(Vec<u8>, u64)> {
    let text = std::str::from_utf8(content).ok()?;
    if text.trim_start().starts_with(['{', '[']) || name.ends_with(".json") {
        return hide_json(content);
    }
    hide(text).map(|without| (without.text.into_bytes(), without.n))
}
