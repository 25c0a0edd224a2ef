//! Step annotations of inference servers and training loops.
//!
//! The forms are those found in traces of vLLM, SGLang, xDiT and the PyTorch profiler: section 7 of the description of the dialect.

use crate::gpu::phases::{self, PhaseRule, StepPhase};

/// Phase of a step of an inference server, by its tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Prompt tokens only.
    Prefill,
    /// Generated tokens only.
    Decode,
    /// Both.
    Mixed,
    /// Neither.
    Idle,
    /// Not given by the annotation.
    Unknown,
}

impl Phase {
    /// All phases, in display order.
    pub const ALL: [Phase; 5] = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Idle, Phase::Unknown];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Mixed => "mixed",
            Phase::Idle => "idle",
            Phase::Unknown => "unknown",
        }
    }

    fn of_rule(phase: StepPhase) -> Phase {
        match phase {
            StepPhase::Prefill => Phase::Prefill,
            StepPhase::Decode => Phase::Decode,
            StepPhase::Mixed => Phase::Mixed,
            StepPhase::Idle => Phase::Idle,
        }
    }

    fn of_tokens(context: u64, generation: u64) -> Phase {
        match (context > 0, generation > 0) {
            (true, false) => Phase::Prefill,
            (false, true) => Phase::Decode,
            (true, true) => Phase::Mixed,
            (false, false) => Phase::Idle,
        }
    }
}

/// Parsed annotation of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotation {
    pub phase: Phase,
    /// Requests in prefill, and their tokens. `None` if not given.
    pub context: Option<(u64, u64)>,
    /// Requests in decode, and tokens generated. `None` if not given.
    pub generation: Option<(u64, u64)>,
}

impl Annotation {
    const BARE: Annotation = Annotation { phase: Phase::Unknown, context: None, generation: None };

    fn of(context: (u64, u64), generation: (u64, u64)) -> Annotation {
        let phase = Phase::of_tokens(context.1, generation.1);
        Annotation { phase, context: Some(context), generation: Some(generation) }
    }

    /// All tokens of the step, if known.
    pub fn tokens(&self) -> Option<u64> {
        match (self.context, self.generation) {
            (None, None) => None,
            (context, generation) => {
                let tokens = |part: Option<(u64, u64)>| part.map_or(0, |(_, tokens)| tokens);
                Some(tokens(context).saturating_add(tokens(generation)))
            }
        }
    }

    /// Parses the name of an annotation; `None` if it is not a step. Graph captures are not steps, so that no time is attributed to
    /// them. `rules` map words to phases.
    pub fn parse(name: &str, rules: &[PhaseRule]) -> Option<Annotation> {
        if let Some(phase) = phases::of_range(rules, name) {
            let known = Annotation::parse_known(name, rules).unwrap_or(Annotation::BARE);
            return Some(Annotation { phase: Phase::of_rule(phase), ..known });
        }
        Annotation::parse_known(name, rules)
    }

    /// A step of a line `Steps`, whose name is its number.
    pub fn of_line(name: &str) -> Option<Annotation> {
        (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())).then_some(Annotation::BARE)
    }

    fn parse_known(name: &str, rules: &[PhaseRule]) -> Option<Annotation> {
        if let Some(rest) = name.strip_prefix("execute_") {
            return Annotation::execute(rest);
        }
        if let Some(inside) = name.strip_prefix("step[").and_then(|rest| rest.strip_suffix(']')) {
            return Some(Annotation::bracketed(inside, rules));
        }
        let number = name.strip_prefix("ProfilerStep#").or_else(|| numbered(name))?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(Annotation::BARE)
    }

    /// `[T_]context_A(…)_generation_C(…)`, or `diffusion_…`.
    fn execute(rest: &str) -> Option<Annotation> {
        if rest.starts_with("diffusion_") {
            return Some(Annotation::BARE);
        }
        let rest = match rest.split_once('_') {
            Some((total, rest)) if !total.is_empty() && total.bytes().all(|byte| byte.is_ascii_digit()) => {
                rest
            }
            _ => rest,
        };
        let (context, rest) = part(rest.strip_prefix("context_")?)?;
        let generation = part(rest.strip_prefix("_generation_")?);
        Some(match (context, generation) {
            (Some(context), Some((Some(generation), ""))) => Annotation::of(context, generation),
            // A step of unknown kind.
            _ => Annotation::BARE,
        })
    }

    /// `DECODE bs=32`, `EXTEND bs=15 toks=15360`, `MIXED bs=18 c=2 g=16 c_sq=1024 g_sq=16`.
    fn bracketed(inside: &str, rules: &[PhaseRule]) -> Annotation {
        let word = inside.split_whitespace().next().unwrap_or("");
        let value = |key: &str| -> Option<u64> {
            inside.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
        };
        let Some(phase) = phases::of_step(rules, word).map(Phase::of_rule) else { return Annotation::BARE };
        let (requests, tokens) = (value("bs"), value("toks"));
        // Requests and new tokens of both kinds, in builds that write them.
        let part = |requests: &str, tokens: &str| Some((value(requests).unwrap_or(0), value(tokens)?));
        let (context, generation) = (part("c", "c_sq"), part("g", "g_sq"));
        if context.is_some() || generation.is_some() {
            return Annotation { phase, context, generation };
        }
        match phase {
            Phase::Decode => Annotation {
                phase,
                context: None,
                // A request generates one token per step; verified or drafted tokens are only known from `toks`.
                generation: match tokens {
                    Some(tokens) => Some((requests.unwrap_or(0), tokens)),
                    None if word.eq_ignore_ascii_case("DECODE") => {
                        requests.map(|requests| (requests, requests))
                    }
                    None => None,
                },
            },
            Phase::Prefill => Annotation {
                phase,
                context: tokens.map(|tokens| (requests.unwrap_or(0), tokens)),
                generation: None,
            },
            _ => Annotation { phase, ..Annotation::BARE },
        }
    }
}

/// The word of a step in brackets, which may be of no known phase: `FOO` of `step[FOO bs=1]`.
pub fn unknown_word(name: &str) -> Option<&str> {
    let inside = name.strip_prefix("step[")?.strip_suffix(']')?;
    inside.split_whitespace().next()
}

/// Number of a step that people mark with a range of their own (NVTX, roctx): `step 12`, `Iteration_3`.
fn numbered(name: &str) -> Option<&str> {
    let at = name.find([' ', '_', '#', ':'])?;
    let (word, number) = (&name[..at], &name[at + 1..]);
    ["step", "iteration", "iter"].iter().any(|known| word.eq_ignore_ascii_case(known)).then_some(number)
}

/// Parses `A(…)` at the start of `text`: requests and tokens, and the rest. The outer is `None` if the form differs, the inner if
/// the numbers cannot be parsed.
fn part(text: &str) -> Option<(Option<(u64, u64)>, &str)> {
    let (requests, rest) = text.split_once('(')?;
    let (inside, rest) = rest.split_once(')')?;
    // `888`, `888_788544` (a second number that some builds add), or `sq888sk888sqsq…sqsk…`.
    let digits = inside.strip_prefix("sq").unwrap_or(inside);
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let tail = &digits[end..];
    let is_known = tail.is_empty() || tail.starts_with("sk") || is_second_number(tail);
    let numbers = requests.parse().ok().zip(digits[..end].parse().ok()).filter(|_| is_known);
    Some((numbers, rest))
}

fn is_second_number(tail: &str) -> bool {
    tail.strip_prefix('_')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether an annotation of that name is a graph capture.
pub fn is_capture(name: &str) -> bool {
    name.starts_with("capture_") || name.starts_with("CUDAGraphNode.record")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let rules =
            crate::gpu::kernels::Rules::builtin().with("phase | prefill | range starts my_prefill_").unwrap();
        let of = |name| {
            Annotation::parse(name, rules.phases()).map(|step| (step.phase, step.context, step.generation))
        };
        let known = |phase, context, generation| Some((phase, Some(context), Some(generation)));
        for (name, wanted) in [
            ("execute_context_2(300)_generation_0(0)", known(Phase::Prefill, (2, 300), (0, 0))),
            ("execute_context_1(888_788544)_generation_0(0)", known(Phase::Prefill, (1, 888), (0, 0))),
            ("execute_context_0(0)_generation_8(8)", known(Phase::Decode, (0, 0), (8, 8))),
            ("execute_context_1(64)_generation_3(3)", known(Phase::Mixed, (1, 64), (3, 3))),
            ("execute_context_0(0)_generation_0(0)", known(Phase::Idle, (0, 0), (0, 0))),
            (
                "execute_8192_context_9(sq8155sk8155sqsq8353051sqsk8353051)_generation_37(sq37sk74sqsq37sqsk74)",
                known(Phase::Mixed, (9, 8155), (37, 37)),
            ),
            ("step 12", Some((Phase::Unknown, None, None))),
            ("Iteration_3", Some((Phase::Unknown, None, None))),
            ("step 12 of 30", None),
            ("step_", None),
            ("substep 1", None),
            ("step[DECODE bs=32]", Some((Phase::Decode, None, Some((32, 32))))),
            ("step[EXTEND bs=15 toks=15360]", Some((Phase::Prefill, Some((15, 15360)), None))),
            ("step[TARGET_VERIFY bs=8]", Some((Phase::Decode, None, None))),
            ("step[DRAFT_EXTEND bs=8 toks=24]", Some((Phase::Decode, None, Some((8, 24))))),
            (
                "step[MIXED bs=18 c=2 g=16 c_sq=1024 c_sk=2048 g_sq=16 g_sk=900]",
                known(Phase::Mixed, (2, 1024), (16, 16)),
            ),
            ("step[WARP bs=1]", Some((Phase::Unknown, None, None))),
            ("my_prefill_3", Some((Phase::Prefill, None, None))),
            ("ProfilerStep#12", Some((Phase::Unknown, None, None))),
            ("execute_diffusion_1_256x256", Some((Phase::Unknown, None, None))),
            ("execute_context_x(1)_generation_0(0)", Some((Phase::Unknown, None, None))),
            ("execute_context_1(99999999999999999999)_generation_0(0)", Some((Phase::Unknown, None, None))),
            ("capture_32_FULL", None),
            ("ProfilerStep#", None),
            ("execute_model", None),
            ("execute_context_", None),
            ("", None),
        ] {
            assert_eq!(of(name), wanted, "{name}");
        }
    }
}
