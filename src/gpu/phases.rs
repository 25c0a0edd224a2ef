//! Phases of serving steps by their annotation: `phase` rules in the kernel table.

/// Phase of a step of an inference server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepPhase {
    /// Prompt tokens only.
    Prefill,
    /// Generated tokens only.
    Decode,
    /// Both.
    Mixed,
    /// Neither.
    Idle,
}

impl StepPhase {
    /// Names in rules.
    pub const ALL: [(&'static str, StepPhase); 4] = [
        ("prefill", StepPhase::Prefill),
        ("decode", StepPhase::Decode),
        ("mixed", StepPhase::Mixed),
        ("idle", StepPhase::Idle),
    ];
}

/// What a rule checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The first word of `step[WORD …]`.
    StepIs,
    /// The full name of an annotation.
    RangeIs,
    /// The start of the name of an annotation.
    RangeStarts,
}

impl Part {
    /// Names in rules.
    pub const ALL: [(&'static str, Part); 3] =
        [("step is", Part::StepIs), ("range is", Part::RangeIs), ("range starts", Part::RangeStarts)];
}

/// A rule: steps with one of these words have that phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseRule {
    pub phase: StepPhase,
    pub part: Part,
    /// Case-insensitive.
    pub words: Vec<String>,
}

impl PhaseRule {
    fn fits(&self, part: Part, text: &str) -> bool {
        self.part == part
            && self.words.iter().any(|word| match part {
                Part::RangeStarts => {
                    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
                }
                _ => text.eq_ignore_ascii_case(word),
            })
    }
}

/// The phase of the first matching rule.
pub fn of_step(rules: &[PhaseRule], word: &str) -> Option<StepPhase> {
    rules.iter().find(|rule| rule.fits(Part::StepIs, word)).map(|rule| rule.phase)
}

/// The phase of an annotation that a rule declares as a step.
pub fn of_range(rules: &[PhaseRule], name: &str) -> Option<StepPhase> {
    let fits = |rule: &&PhaseRule| rule.fits(Part::RangeIs, name) || rule.fits(Part::RangeStarts, name);
    rules.iter().find(fits).map(|rule| rule.phase)
}
