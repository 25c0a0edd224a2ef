//! Classification of kernels by name with a table of rules.
//!
//! The table is `kernels.rules`; its header explains the syntax.
//! Custom rules come before the builtin ones ([`Rules::with`]). The first matching rule wins.
//! A name costs a few microseconds: it is scanned once for all words of all rules.

use crate::base::sort;
use crate::gpu::names;
use crate::gpu::phases::{Part as StepPart, PhaseRule, StepPhase};
use std::cell::OnceCell;
use std::fmt;
use std::sync::OnceLock;

/// Builtin rules.
pub const BUILTIN: &str = include_str!("kernels.rules");

/// Operation of kernels that no rule matches. Always the first operation of a table.
pub const OTHER: &str = "Other";

/// Maximum characters of user text quoted in an error.
const MAX_QUOTE: usize = 40;
/// Maximum operations or words of a table, so that ids fit.
const MAX_ENTRIES: usize = 60_000;

/// Kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Computation.
    Compute,
    /// Data transfer between devices.
    Communication,
    /// Copy or fill of memory on one device, or between it and its host.
    Copy,
}

impl Kind {
    const ALL: [(&'static str, Kind); 3] =
        [("compute", Kind::Compute), ("communication", Kind::Communication), ("copy", Kind::Copy)];
}

/// An operation of a table of rules, such as `GEMM`. Equal if it is the same one of the same table.
#[derive(Clone, Copy)]
pub struct Operation<'r> {
    id: u16,
    info: &'r OperationInfo,
}

impl<'r> Operation<'r> {
    /// Index in the table; see [`Rules::operations`].
    pub fn id(self) -> u16 {
        self.id
    }

    /// Name as written in the table.
    pub fn name(self) -> &'r str {
        &self.info.name
    }

    pub fn kind(self) -> Kind {
        self.info.kind
    }

    /// Whether it transfers data between devices: collectives, send and receive.
    pub fn is_communication(self) -> bool {
        self.info.kind == Kind::Communication
    }

    /// Whether it only copies or fills memory.
    pub fn is_copy(self) -> bool {
        self.info.kind == Kind::Copy
    }

    /// Whether no rule matched.
    pub fn is_other(self) -> bool {
        self.id == 0
    }
}

impl PartialEq for Operation<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.info.name == other.info.name
    }
}

impl Eq for Operation<'_> {}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Class of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class<'r> {
    pub operation: Operation<'r>,
    /// Kernel family: `FlashAttention 2`, `nvjet`. Empty if no rule matches.
    pub family: &'r str,
    /// Library: `flash-attn`, `cuBLAS`. Empty if unknown.
    pub library: &'r str,
    /// Line of the rule in its text, from 1; 0 if no rule matches.
    pub line: u32,
}

/// Error in a line of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    /// Line number, from 1.
    pub line: u32,
    /// Problem, without a full stop.
    pub what: String,
    /// Suggestion, without a full stop.
    pub hint: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.what, self.hint)
    }
}

impl std::error::Error for RuleError {}

/// A compiled table of rules.
#[derive(Clone)]
pub struct Rules {
    operations: Vec<OperationInfo>,
    rules: Vec<Rule>,
    /// Libraries for rules that name none.
    libraries: Vec<Library>,
    phases: Vec<PhaseRule>,
    words: Words,
}

#[derive(Clone, PartialEq, Eq)]
struct OperationInfo {
    name: String,
    kind: Kind,
}

/// A rule: all conditions must hold.
#[derive(Clone)]
struct Rule {
    operation: u16,
    family: String,
    library: String,
    conditions: Vec<Condition>,
    line: u32,
}

/// A library: matching kernels belong to it.
#[derive(Clone)]
struct Library {
    name: String,
    conditions: Vec<Condition>,
}

/// Part of a name to check. All parts are in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Base,
    Space,
    Args,
    Whole,
}

impl Part {
    const ALL: [(&'static str, Part); 4] =
        [("base", Part::Base), ("space", Part::Space), ("args", Part::Args), ("whole", Part::Whole)];
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Is,
    Starts,
    Ends,
    Has,
    /// Contains all words; all other ways need only one of them.
    All,
}

impl How {
    const ALL: [(&'static str, How); 5] =
        [("is", How::Is), ("starts", How::Starts), ("ends", How::Ends), ("has", How::Has), ("all", How::All)];
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Condition {
    negated: bool,
    part: Part,
    how: How,
    /// Indices into [`Words`], sorted.
    words: Vec<u16>,
}

impl Default for Rules {
    /// No rules: everything is [`OTHER`].
    fn default() -> Self {
        let other = OperationInfo { name: OTHER.to_string(), kind: Kind::Compute };
        Rules {
            operations: vec![other],
            rules: Vec::new(),
            libraries: Vec::new(),
            phases: Vec::new(),
            words: Words::default(),
        }
    }
}

impl Rules {
    /// Builtin rules, parsed once.
    pub fn builtin() -> &'static Rules {
        static RULES: OnceLock<Rules> = OnceLock::new();
        RULES.get_or_init(|| Rules::parse(BUILTIN).unwrap_or_default())
    }

    /// Parses a table, which must declare every operation it uses.
    pub fn parse(text: &str) -> Result<Rules, Vec<RuleError>> {
        Rules::default().with(text)
    }

    /// These rules, preceded by those of `text`, which may use and declare operations.
    pub fn with(&self, text: &str) -> Result<Rules, Vec<RuleError>> {
        let mut all = Rules { rules: Vec::new(), libraries: Vec::new(), phases: Vec::new(), ..self.clone() };
        let mut errors = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at as u32 + 1;
            if let Err((what, hint)) = all.read_line(line, line_number) {
                errors.push(RuleError { line: line_number, what, hint });
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        all.rules.extend(self.rules.iter().cloned());
        all.libraries.extend(self.libraries.iter().cloned());
        all.phases.extend(self.phases.iter().cloned());
        all.words.index();
        Ok(all)
    }

    /// Classifies a kernel by its name as recorded.
    pub fn classify(&self, name: &str) -> Class<'_> {
        let name = names::demangle(name);
        let text = Texts::new(&name, &self.words);
        let rule = self.rules.iter().find(|rule| text.fits_all(&rule.conditions));
        let library = match rule {
            Some(rule) if !rule.library.is_empty() => &rule.library,
            _ => {
                let library = self.libraries.iter().find(|library| text.fits_all(&library.conditions));
                library.map_or("", |library| &library.name)
            }
        };
        Class {
            operation: self.operation(rule.map_or(0, |rule| rule.operation)),
            family: rule.map_or("", |rule| &rule.family),
            library,
            line: rule.map_or(0, |rule| rule.line),
        }
    }

    /// All operations, by index.
    pub fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        self.operations.iter().enumerate().map(|(id, info)| Operation { id: id as u16, info })
    }

    /// Rules for step phases; the first match wins.
    pub fn phases(&self) -> &[PhaseRule] {
        &self.phases
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Unreachable rules: an earlier rule matches whatever they match, as far as their words show. Pairs of lines: the rule, then
    /// the earlier one. Includes duplicates.
    ///
    /// Line numbers are only unique within one text, so use a table made by [`Rules::parse`].
    pub fn never_hit(&self) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for (at, rule) in self.rules.iter().enumerate() {
            let covers = |before: &&Rule| {
                before
                    .conditions
                    .iter()
                    .all(|wanted| rule.conditions.iter().any(|given| self.words.implies(given, wanted)))
            };
            if let Some(before) = self.rules[..at].iter().find(covers) {
                found.push((rule.line, before.line));
            }
        }
        found
    }

    fn operation(&self, id: u16) -> Operation<'_> {
        Operation { id, info: &self.operations[usize::from(id)] }
    }

    fn read_line(&mut self, line: &str, number: u32) -> Result<(), Problem> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        match fields[..] {
            ["operation", name, kind] => self.declare(name, kind),
            ["operation", ..] => Err((
                "an operation needs a name and a kind".to_string(),
                "example: “operation | Beam search | compute”".to_string(),
            )),
            ["library", name, conditions] => {
                let library = Library { name: name.to_string(), conditions: self.conditions(conditions)? };
                self.libraries.push(library);
                Ok(())
            }
            ["library", ..] => Err((
                "a library needs a name and conditions".to_string(),
                "example: “library | Ours | space has ours”".to_string(),
            )),
            ["phase", phase, condition] => self.add_phase(phase, condition),
            ["phase", ..] => Err((
                "a phase rule needs a phase and a condition".to_string(),
                "example: “phase | decode | step is TARGET_VERIFY”".to_string(),
            )),
            [operation, family, library, conditions] => {
                self.add_rule(operation, family, library, conditions, number)
            }
            _ => Err((
                format!("a rule needs four fields separated by “|”, this line has {}", fields.len()),
                "write “operation | family | library | conditions”, or start comments with “#”".to_string(),
            )),
        }
    }

    fn declare(&mut self, name: &str, kind: &str) -> Result<(), Problem> {
        if name.is_empty() {
            return Err(("the operation has no name".to_string(), "add it after “operation |”".to_string()));
        }
        let kind = choose("kind of operation", kind, &Kind::ALL)?;
        let info = OperationInfo { name: name.to_string(), kind };
        match self.operations.iter().find(|known| known.name.eq_ignore_ascii_case(name)) {
            Some(known) if *known == info => Ok(()),
            Some(known) => Err((
                format!("the operation “{}” is already declared", quote(&known.name)),
                "remove this line, or choose another name".to_string(),
            )),
            None if self.operations.len() >= MAX_ENTRIES => Err(too_many("operations")),
            None => {
                self.operations.push(info);
                Ok(())
            }
        }
    }

    fn add_phase(&mut self, phase: &str, condition: &str) -> Result<(), Problem> {
        let phase = choose("phase", phase, &StepPhase::ALL)?;
        let mut words = condition.split_whitespace();
        let part = [words.next(), words.next()].map(|word| word.unwrap_or("")).join(" ");
        let part = choose("condition on steps", part.trim(), &StepPart::ALL)?;
        let words: Vec<String> = words.map(str::to_string).collect();
        if words.is_empty() {
            return Err((
                "the condition has no words".to_string(),
                "example: “step is TARGET_VERIFY”".to_string(),
            ));
        }
        self.phases.push(PhaseRule { phase, part, words });
        Ok(())
    }

    fn add_rule(
        &mut self,
        operation: &str,
        family: &str,
        library: &str,
        conditions: &str,
        line: u32,
    ) -> Result<(), Problem> {
        let operation = self.find_operation(operation)?;
        if family.is_empty() {
            return Err((
                "the rule has no family".to_string(),
                "name the kernel family in the second field".to_string(),
            ));
        }
        let rule = Rule {
            operation,
            family: family.to_string(),
            library: library.to_string(),
            conditions: self.conditions(conditions)?,
            line,
        };
        self.rules.push(rule);
        Ok(())
    }

    fn find_operation(&self, name: &str) -> Result<u16, Problem> {
        if let Some(id) = self.operations.iter().position(|known| known.name.eq_ignore_ascii_case(name)) {
            return Ok(id as u16);
        }
        let near = nearest(name, self.operations.iter().map(|known| known.name.as_str()));
        let declare = format!("to declare it, add “operation | {} | compute” above", quote(name));
        Err((
            format!("unknown operation “{}”", quote(name)),
            near.map_or(declare.clone(), |near| format!("did you mean “{near}”? Otherwise, {declare}")),
        ))
    }

    /// Parses conditions separated by `&`.
    fn conditions(&mut self, text: &str) -> Result<Vec<Condition>, Problem> {
        text.split('&').map(|condition| self.condition(condition)).collect()
    }

    /// Parses `[not] PART HOW WORD…`.
    fn condition(&mut self, text: &str) -> Result<Condition, Problem> {
        let mut tokens = text.split_whitespace().peekable();
        let negated = tokens.next_if(|token| token.eq_ignore_ascii_case("not")).is_some();
        let part = choose("part of a name", tokens.next().unwrap_or(""), &Part::ALL)?;
        let how = choose("way to compare", tokens.next().unwrap_or(""), &How::ALL)?;
        let mut words = Vec::new();
        for word in tokens {
            words.push(self.words.add(word, how)?);
        }
        if words.is_empty() {
            return Err((
                format!("no words to match in “{}”", quote(text.trim())),
                "add one or more words, for example “base has gemm”".to_string(),
            ));
        }
        words.sort_unstable();
        words.dedup();
        Ok(Condition { negated, part, how, words })
    }
}

/// Problem and suggestion.
type Problem = (String, String);

fn too_many(what: &str) -> Problem {
    (format!("more than {MAX_ENTRIES} {what}"), "shorten the table".to_string())
}

/// Looks up a value by `name`.
fn choose<T: Copy>(what: &str, name: &str, all: &[(&'static str, T)]) -> Result<T, Problem> {
    if let Some((_, value)) = all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Ok(*value);
    }
    let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
    let problem = match name {
        "" => format!("missing {what}"),
        _ => format!("unknown {what} “{}”", quote(name)),
    };
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean “{near}”?"),
        None => format!("use one of: {}", names.join(", ")),
    };
    Err((problem, hint))
}

/// Start of a user's text.
fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The most similar name, if it is similar enough.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().take(MAX_QUOTE).collect();
    let most = (name.len() / 3).max(1);
    let near = known.map(|known| (distance(&name, &known.to_lowercase()), known)).min_by_key(|(n, _)| *n);
    near.filter(|(n, _)| *n <= most && !name.is_empty()).map(|(_, known)| known)
}

/// Edit distance (Levenshtein).
fn distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, other) in b.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, letter) in a.iter().enumerate() {
            let changed = diagonal + usize::from(*letter != other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[a.len()]
}

/// All words of all rules, with an index to find those contained in a text in one pass.
#[derive(Clone, Default)]
struct Words {
    texts: Vec<String>,
    /// Words by their first bytes, see [`start_of`]: a range of `by_start` each.
    ranges: Vec<(u16, u16)>,
    by_start: Vec<u16>,
}

/// Minimum length of words for substring search, in bytes.
const N_START: usize = 3;
/// Number of different [`start_of`]s.
const N_STARTS: usize = 1 << 13;

/// Hash of the first bytes of a text.
fn start_of(bytes: &[u8]) -> Option<usize> {
    let start = bytes.first_chunk::<N_START>()?;
    let number = start.iter().fold(0, |number, byte| number * 37 + usize::from(*byte));
    Some(number % N_STARTS)
}

impl Words {
    /// Index of a word, in lower case.
    fn add(&mut self, word: &str, how: How) -> Result<u16, Problem> {
        let word = word.to_ascii_lowercase();
        let is_anywhere = matches!(how, How::Has | How::All);
        if is_anywhere && word.len() < N_START {
            return Err((
                format!("“{}” is too short for substring search", quote(&word)),
                format!("use at least {N_START} characters"),
            ));
        }
        if let Some(id) = self.texts.iter().position(|known| *known == word) {
            return Ok(id as u16);
        }
        if self.texts.len() >= MAX_ENTRIES {
            return Err(too_many("words"));
        }
        self.texts.push(word);
        Ok((self.texts.len() - 1) as u16)
    }

    fn get(&self, id: u16) -> &str {
        &self.texts[usize::from(id)]
    }

    /// Must be called after the last [`Words::add`].
    fn index(&mut self) {
        let start_of_word = |id: &u16| start_of(self.texts[usize::from(*id)].as_bytes());
        let mut ids: Vec<u16> =
            (0..self.texts.len() as u16).filter(|id| start_of_word(id).is_some()).collect();
        sort::by_key(&mut ids, start_of_word);
        self.ranges = vec![(0, 0); N_STARTS];
        for (at, id) in ids.iter().enumerate() {
            if let Some(range) = start_of_word(id).and_then(|start| self.ranges.get_mut(start)) {
                if range.0 == range.1 {
                    *range = (at as u16, at as u16);
                }
                range.1 += 1;
            }
        }
        self.by_start = ids;
    }

    /// Bit set of the words that `text` contains.
    fn found_in(&self, text: &[u8]) -> Vec<u64> {
        let mut found = vec![0; self.texts.len().div_ceil(64)];
        for at in 0..text.len() {
            let rest = &text[at..];
            let range = start_of(rest).and_then(|start| self.ranges.get(start));
            let Some((start, end)) = range else { break };
            for id in &self.by_start[usize::from(*start)..usize::from(*end)] {
                if rest.starts_with(self.get(*id).as_bytes()) {
                    found[usize::from(*id) / 64] |= 1 << (id % 64);
                }
            }
        }
        found
    }

    /// Whether `given` implies `wanted`, as far as their words show.
    fn implies(&self, given: &Condition, wanted: &Condition) -> bool {
        if given == wanted {
            return true;
        }
        let is_wider = wanted.part == Part::Whole && matches!(wanted.how, How::Has | How::All);
        if given.negated || wanted.negated || (given.part != wanted.part && !is_wider) {
            return false;
        }
        let one = |word: u16, target: u16| {
            let (word, target) = (self.get(word), self.get(target));
            match wanted.how {
                How::Has | How::All => word.contains(target),
                How::Starts => matches!(given.how, How::Is | How::Starts) && word.starts_with(target),
                How::Ends => matches!(given.how, How::Is | How::Ends) && word.ends_with(target),
                How::Is => given.how == How::Is && word == target,
            }
        };
        let any_target = |word: u16| wanted.words.iter().any(|target| one(word, *target));
        match (given.how, wanted.how) {
            (How::All, How::All) => {
                wanted.words.iter().all(|target| given.words.iter().any(|word| one(*word, *target)))
            }
            (How::All, _) => given.words.iter().any(|word| any_target(*word)),
            (_, How::All) => {
                given.words.iter().all(|word| wanted.words.iter().all(|target| one(*word, *target)))
            }
            _ => given.words.iter().all(|word| any_target(*word)),
        }
    }
}

/// One part of a name in lower case. Contained words are found lazily.
struct Text<'w> {
    words: &'w Words,
    text: String,
    found: OnceCell<Vec<u64>>,
}

impl<'w> Text<'w> {
    fn new(text: &str, words: &'w Words) -> Text<'w> {
        Text { words, text: text.to_ascii_lowercase(), found: OnceCell::new() }
    }

    fn has(&self, id: u16) -> bool {
        let found = self.found.get_or_init(|| self.words.found_in(self.text.as_bytes()));
        found.get(usize::from(id) / 64).is_some_and(|bits| bits >> (id % 64) & 1 == 1)
    }

    fn fits(&self, condition: &Condition) -> bool {
        let mut words = condition.words.iter();
        match condition.how {
            How::Is => words.any(|id| self.text == self.words.get(*id)),
            How::Starts => words.any(|id| self.text.starts_with(self.words.get(*id))),
            How::Ends => words.any(|id| self.text.ends_with(self.words.get(*id))),
            How::Has => words.any(|id| self.has(*id)),
            How::All => words.all(|id| self.has(*id)),
        }
    }
}

/// The parts of one name.
struct Texts<'w> {
    base: Text<'w>,
    space: Text<'w>,
    args: Text<'w>,
    whole: Text<'w>,
}

impl<'w> Texts<'w> {
    fn new(name: &str, words: &'w Words) -> Texts<'w> {
        let parts = names::split(name);
        Texts {
            base: Text::new(parts.base, words),
            space: Text::new(&parts.space(), words),
            args: Text::new(parts.args, words),
            whole: Text::new(name, words),
        }
    }

    fn fits_all(&self, conditions: &[Condition]) -> bool {
        conditions.iter().all(|condition| self.fits(condition))
    }

    fn fits(&self, condition: &Condition) -> bool {
        let text = match condition.part {
            Part::Base => &self.base,
            Part::Space => &self.space,
            Part::Args => &self.args,
            Part::Whole => &self.whole,
        };
        text.fits(condition) != condition.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
        operation | Beam search | compute
        operation | Gossip      | communication
        Gossip      | chatter | mine | base starts gossip_ & not base has quiet
        Beam search | beams   | mine | base all beam search & args has float half
        Other       | rest    |      | space is tools
        library | Ours | space is ours
    ";

    #[test]
    fn rules_are_applied_in_order() {
        let rules = Rules::parse(TABLE).unwrap();
        let class = |name| (rules.classify(name).operation.name(), rules.classify(name).line);
        assert_eq!(class("void Gossip_all<int>(int)"), ("Gossip", 4));
        assert_eq!(class("gossip_quiet"), (OTHER, 0));
        assert_eq!(class("void search_beam<float>(int)"), ("Beam search", 5));
        assert_eq!(class("void search_beam<int>(float)"), (OTHER, 0));
        assert_eq!(class("void tools::x<int>()"), (OTHER, 6));
        assert!(rules.classify("gossip_").operation.is_communication());
        let library = |name| rules.classify(name).library;
        assert_eq!(library("void ours::gossip_()"), "mine");
        assert_eq!(library("void tools::x<int>()"), "");
        assert_eq!(library("void ours::unknown()"), "Ours");
    }

    #[test]
    fn own_rules_come_first() {
        let rules = Rules::builtin().with("GEMM | house GEMM | us | base is sgemm_house").unwrap();
        assert_eq!(rules.classify("sgemm_house").family, "house GEMM");
        assert_ne!(rules.classify("volta_sgemm_128x64_nn").family, "house GEMM");
        assert_eq!(rules.len(), Rules::builtin().len() + 1);
    }

    #[test]
    fn errors_say_where_and_what_to_try() {
        let text = "# fine\noperation | A | compute\nB | f | l | base has xx\nA | f | base has xx\n\
            A | f | l | bse has xx\nA | f | l | base hat xx\nA | f | l | base has\nA | f | l | base has x\n\
            operation | C | compte\noperation | a | copy\nA | | l | base has xx\noperation | D";
        let errors = Rules::parse(text).err().unwrap();
        let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
        assert_eq!(lines, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let told: Vec<String> = errors.iter().map(RuleError::to_string).collect();
        assert!(
            told[0].contains("unknown operation “B”") && told[0].contains("operation | B | compute"),
            "{told:?}"
        );
        assert!(told[1].contains("has 3"), "{told:?}");
        assert!(told[2].contains("did you mean “base”"), "{told:?}");
        assert!(told[3].contains("did you mean “has”"), "{told:?}");
        assert!(told[5].contains("too short"), "{told:?}");
        assert!(told[6].contains("did you mean “compute”"), "{told:?}");
        assert!(errors.iter().all(|error| !error.hint.is_empty()));
        let near = Rules::builtin().with("Gem | f | l | base has xx").err().unwrap();
        assert!(near[0].hint.contains("“GEMM”"), "{near:?}");
    }

    #[test]
    fn shadowed_rules_are_found() {
        let rules = |text: &str| {
            let text = format!("operation | A | compute\n{text}");
            Rules::parse(&text).unwrap().never_hit()
        };
        assert_eq!(rules("A|f|l|base has gemm\nA|f|l|base starts sgemm_ dgemm_"), [(3, 2)]);
        assert_eq!(rules("A|f|l|whole has gemm\nA|f|l|base has gemm & space is xx"), [(3, 2)]);
        assert_eq!(rules("A|f|l|base has aaa bbb\nA|f|l|base has bbb aaa"), [(3, 2)]);
        assert_eq!(rules("A|f|l|base all aaa bbb\nA|f|l|base all aaab bbbb ccc"), [(3, 2)]);
        assert_eq!(rules("A|f|l|base starts gemm\nA|f|l|base has gemm"), []);
        assert_eq!(rules("A|f|l|base has gemm & not args has xxx\nA|f|l|base has gemm"), []);
        assert_eq!(rules("A|f|l|base has aaa\nA|f|l|base has aaa bbb"), []);
    }
}
