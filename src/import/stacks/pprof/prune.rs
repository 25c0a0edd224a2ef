//! Frames that the file asks to leave out: those of the profiler itself, such as an allocator in a heap profile.

use super::{Profile, note};
use crate::import::stacks::issues::{DROPPED_FRAMES, IGNORED_VALUE};
use crate::trace::TraceBuilder;
use regex_lite::Regex;

/// How much of a location goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// The location, and what it calls.
    All,
    /// Functions that are inlined in it, and what they call.
    Inner,
}

pub use Dropped::{All, Inner};

/// What to leave out, by location.
pub struct Pruning {
    of_location: Vec<Option<Dropped>>,
    /// Lines before this one are left out, in all stacks.
    first_line: Vec<u32>,
}

/// An expression that has to match a whole name; `None` if there is none, or it is unusable.
fn expression(profile: &Profile, number: i64, out: &mut TraceBuilder) -> Option<Regex> {
    let id = profile.text(number, out);
    let text = out.trace.strings.get_opt(id)?;
    match Regex::new(&format!("^({text})$")) {
        Ok(expression) => Some(expression),
        Err(_) => {
            let example = text.to_string();
            note(out, &IGNORED_VALUE, &example);
            None
        }
    }
}

/// The name without its arguments, and without the dot before some symbols.
fn simplified(name: &str) -> &str {
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut from = 0;
    while let Some(at) = name[from..].find('(').map(|at| from + at) {
        let kept = ["(anonymous namespace)", "()"].into_iter().find(|part| {
            let is_here = name[at..].starts_with(part);
            is_here && (*part != "()" || name[..at].ends_with("operator"))
        });
        match kept {
            Some(part) => from = at + part.len(),
            None => return &name[..at],
        }
    }
    name
}

impl Pruning {
    pub fn of(profile: &Profile, out: &mut TraceBuilder) -> Pruning {
        let n_locations = profile.locations.rows.len();
        let mut pruning = Pruning { of_location: vec![None; n_locations], first_line: vec![0; n_locations] };
        let Some(drop) = expression(profile, profile.drop_frames, out) else { return pruning };
        let keep = expression(profile, profile.keep_frames, out);
        let mut is_dropped: Vec<Option<bool>> = vec![None; profile.functions.rows.len()];
        for (row, location) in profile.locations.rows.iter().enumerate() {
            let lines = &profile.lines[location.lines.clone()];
            let dropped = lines.iter().rposition(|line| {
                let Some((number, function)) = profile.functions.get(line.function) else { return false };
                *is_dropped[number].get_or_insert_with(|| {
                    let id = profile.text(function.name, out);
                    let Some(name) = out.trace.strings.get_opt(id).map(simplified) else { return false };
                    drop.is_match(name) && !keep.as_ref().is_some_and(|keep| keep.is_match(name))
                })
            });
            let Some(line) = dropped else { continue };
            if line + 1 == lines.len() {
                pruning.of_location[row] = Some(All);
            } else {
                pruning.of_location[row] = Some(Inner);
                pruning.first_line[row] = line as u32 + 1;
                note(out, &DROPPED_FRAMES, "");
            }
        }
        pruning
    }

    pub fn of_location(&self, row: usize) -> Option<Dropped> {
        self.of_location[row]
    }

    pub fn first_line(&self, row: usize) -> usize {
        self.first_line[row] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::simplified;

    #[test]
    fn arguments_do_not_count() {
        for (name, wanted) in [
            ("a::b(int, c)", "a::b"),
            (".malloc", "malloc"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("a::operator()(int)", "a::operator()"),
            ("plain", "plain"),
        ] {
            assert_eq!(simplified(name), wanted);
        }
    }
}
