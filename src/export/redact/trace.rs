//! Redaction of all texts in a trace.

use super::{Classes, Redactor};
use crate::base::hash::HashMap;
use crate::base::json::write::push_value_with;
use crate::base::strings::{StringId, StringTable};
use crate::trace::Trace;
use crate::trace::args::ArgsPlace;
use crate::trace::tracks::Key;
use std::cell::RefCell;
use std::rc::Rc;

/// Role of a text in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// Name of a slice, frame or flow.
    Symbol,
    /// File or library of a frame.
    File,
    /// Anything else.
    Text,
}

/// Map from old to redacted texts.
struct Texts<'a> {
    old: &'a StringTable,
    new: StringTable,
    known: HashMap<(StringId, Role), StringId>,
    redactor: &'a mut Redactor,
}

impl Texts<'_> {
    fn id(&mut self, id: StringId, role: Role) -> StringId {
        let Some(text) = self.old.get_opt(id) else { return id };
        if let Some(known) = self.known.get(&(id, role)) {
            return *known;
        }
        let text = match role {
            Role::Symbol => self.redactor.symbol(text),
            Role::File => self.redactor.file(text),
            Role::Text => self.redactor.text(text),
        };
        let new = self.new.intern(&text);
        self.known.insert((id, role), new);
        new
    }

    fn all(&mut self, ids: &mut [StringId], role: Role) {
        ids.iter_mut().for_each(|id| *id = self.id(*id, role));
    }

    fn keys(&mut self, keys: &mut [Key]) {
        for key in keys {
            match key {
                Key::Number(_) => {}
                Key::Text(id) => *id = self.id(*id, Role::Text),
                // A number, which is never redacted.
                Key::Digits(id) => *id = self.new.intern(self.old.get(*id)),
            }
        }
    }
}

/// The redacted trace. Arguments are redacted when they are read.
pub fn redacted(trace: &Trace, classes: Classes, redactor: &Rc<RefCell<Redactor>>) -> Trace {
    let mut out = trace.clone();
    let mut borrowed = redactor.borrow_mut();
    let redactor_now = &mut *borrowed;
    let mut texts = Texts {
        old: &trace.strings,
        new: StringTable::default(),
        known: HashMap::default(),
        redactor: redactor_now,
    };
    texts.keys(&mut out.processes.key);
    texts.keys(&mut out.threads.key);
    for ids in [
        &mut out.processes.name,
        &mut out.processes.labels,
        &mut out.threads.name,
        &mut out.slices.category,
        &mut out.counter_series.name,
        &mut out.counter_series.id,
        &mut out.counter_series.key,
        &mut out.flows.category,
        &mut out.objects.id,
        &mut out.frames.category,
        &mut out.samples.name,
        &mut out.scoring_calls.probe,
        &mut out.scoring_calls.view_id,
        &mut out.scoring_calls.prompt_hash,
        &mut out.scoring_calls.op,
    ] {
        texts.all(ids, Role::Text);
    }
    for ids in [
        &mut out.tracks.name,
        &mut out.slices.name,
        &mut out.flows.name,
        &mut out.objects.name,
        &mut out.frames.name,
    ] {
        texts.all(ids, Role::Symbol);
    }
    texts.all(&mut out.frames.module, Role::File);
    texts.all(&mut out.frames.file, Role::File);
    for (_, id) in &mut out.links.untimed {
        *id = texts.id(*id, Role::Symbol);
    }
    for (_, id) in &mut out.scoring_calls.wide_top_k {
        *id = texts.id(*id, Role::Text);
    }
    for profile in &mut out.profiles {
        texts.all(&mut profile.frames.func, Role::Symbol);
        texts.all(&mut profile.frames.path, Role::File);
        profile.run_id = texts.redactor.text(&profile.run_id);
    }
    for profile in &mut out.stack_profiles {
        for id in profile.texts_mut() {
            *id = texts.id(*id, Role::Text);
        }
    }
    if let Some(snapshot) = &mut out.memory_snapshot {
        snapshot.for_each_text(|id| *id = texts.id(*id, Role::Text));
    }
    if let Some(part) = &mut out.fleet {
        part.for_each_text(|id| *id = texts.id(*id, Role::Text));
    }
    out.strings = texts.new;
    out.forget_slice_categories();
    out.source.file_name = redactor_now.file_name(&trace.source.file_name);
    out.source.producer = trace.source.producer.as_deref().map(|text| redactor_now.text(text));
    for (name, value) in &mut out.source.metadata {
        *value = metadata(name, value, redactor_now);
    }
    drop(borrowed);
    if classes.arguments {
        out.slices.places = out.slices.places.without_args();
        out.slices.end_args.clear();
        out.objects.args.iter_mut().for_each(|args| *args = ArgsPlace::NONE);
    } else {
        let redactor = redactor.clone();
        out.args.rewrite_with(Rc::new(move |raw| json(raw, &mut redactor.borrow_mut())));
    }
    out
}

/// A metadata value of the file: JSON, or plain text.
fn metadata(name: &str, value: &str, redactor: &mut Redactor) -> String {
    if value.starts_with(['{', '[', '"']) {
        let raw = json(value.as_bytes(), redactor);
        let text = String::from_utf8_lossy(&raw).into_owned();
        // Only the key shows whether plain text is a host name.
        return match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            // It stays a text: what is left of `"17"` is no number.
            Some(inner) => format!("\"{}\"", redactor.value_of(name, inner)),
            None => text,
        };
    }
    redactor.value_of(name, value)
}

/// Arguments with redacted texts.
pub(super) fn json(raw: &[u8], redactor: &mut Redactor) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    push_value_with(raw, &mut |key, text| redactor.argument(key, text), &mut out);
    out
}
