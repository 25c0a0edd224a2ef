//! Which phase of serving a step belongs to, by the words of others: rules in the table of kernels, lines that begin with `phase`.

/// What a step of an inference server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepPhase {
    /// Only tokens of prompts.
    Prefill,
    /// Only generated tokens.
    Decode,
    /// Both.
    Mixed,
    /// Neither.
    Idle,
}

impl StepPhase {
    /// As rules write them.
    pub const ALL: [(&'static str, StepPhase); 4] = [
        ("prefill", StepPhase::Prefill),
        ("decode", StepPhase::Decode),
        ("mixed", StepPhase::Mixed),
        ("idle", StepPhase::Idle),
    ];
}

/// What a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The first word of `step[WORD …]`.
    StepIs,
    /// The whole name of a range.
    RangeIs,
    /// How the name of a range starts.
    RangeStarts,
}

impl Part {
    /// As rules write them.
    pub const ALL: [(&'static str, Part); 3] =
        [("step is", Part::StepIs), ("range is", Part::RangeIs), ("range starts", Part::RangeStarts)];
}

/// A rule: steps of one of these words are of that phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseRule {
    pub phase: StepPhase,
    pub part: Part,
    /// Upper and lower case are the same.
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

/// The phase of the first rule that fits.
pub fn of_step(rules: &[PhaseRule], word: &str) -> Option<StepPhase> {
    rules.iter().find(|rule| rule.fits(Part::StepIs, word)).map(|rule| rule.phase)
}

/// The phase of a range that a rule names as a step.
pub fn of_range(rules: &[PhaseRule], name: &str) -> Option<StepPhase> {
    let fits = |rule: &&PhaseRule| rule.fits(Part::RangeIs, name) || rule.fits(Part::RangeStarts, name);
    rules.iter().find(fits).map(|rule| rule.phase)
}
