//! Time range of the path: the longest step, or one chosen by the user.

use crate::analysis::gpu::spans::Span;
use crate::analysis::gpu::{GpuTrace, Kind};

/// Range chosen by the user: HTA's annotation and instances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Part of the name of an annotation.
    pub name: String,
    /// First and last instance, counted from 0 in order of start.
    pub instances: (usize, usize),
}

impl Wanted {
    /// Parses `ProfilerStep`, `ProfilerStep @ 2` or `ProfilerStep @ 2..4` (inclusive). `None` for blank text.
    pub fn parse(text: &str) -> Option<Wanted> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let numbered = text.rsplit_once('@').and_then(|(name, numbers)| {
            let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            Some(Wanted { name: name.trim().to_string(), instances: (first, last) })
        });
        Some(numbered.unwrap_or_else(|| Wanted { name: text.to_string(), instances: (0, 0) }))
    }

    /// Time range of those instances, and the number of all instances. `Err` contains the reason if there is none.
    ///
    /// Searches user annotations first, then operators and frames.
    pub fn window(&self, gpu: &GpuTrace<'_>) -> Result<(Span, usize), String> {
        let slices = &gpu.trace.slices;
        let found = |is: fn(Kind) -> bool| -> Vec<Span> {
            (0..slices.len())
                .filter(|i| is(gpu.kind_of(*i)) && gpu.name(*i as u32).contains(&self.name))
                .map(|i| (slices.ts[i], slices.ts[i].saturating_add(slices.dur.get(i).max(0))))
                .collect()
        };
        let mut spans = found(|kind| kind == Kind::Annotation);
        if spans.is_empty() {
            spans = found(|kind| matches!(kind, Kind::Op | Kind::Python));
        }
        if spans.is_empty() {
            return Err(format!("no annotation, operator or frame contains \"{}\" in its name", self.name));
        }
        let (first, last) = self.instances;
        let of = spans.iter().take(last.saturating_add(1)).skip(first).copied();
        match of.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            Some(window) => Ok((window, spans.len())),
            None => Err(format!(
                "instance {first} of \"{}\" does not exist ({} found, counted from 0)",
                self.name,
                spans.len()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let of = |text: &str| Wanted::parse(text).map(|wanted| (wanted.name, wanted.instances));
        let wanted = |name: &str, first, last| Some((name.to_string(), (first, last)));
        assert_eq!(of("  "), None);
        assert_eq!(of("ProfilerStep"), wanted("ProfilerStep", 0, 0));
        assert_eq!(of("ProfilerStep @ 2"), wanted("ProfilerStep", 2, 2));
        assert_eq!(of("[param|a@b|0] @1..3"), wanted("[param|a@b|0]", 1, 3));
        assert_eq!(of("user@host"), wanted("user@host", 0, 0));
        assert_eq!(of("@ 4"), wanted("", 4, 4));
    }
}
