//! Redaction of cells and sentences in reports.

use super::trace::json;
use super::{Redactor, is_prose};
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::write::push_if_json;
use crate::base::sort;
use crate::report::chart::{Bars, Plot};
use crate::report::{
    Anchor, Block, Cells, Chart, Column, Content, Document, Fact, Facts, Notes, Report, Table, TextCells,
    Value,
};
use crate::trace::Run;

/// Shorter argument values are not replaced in sentences, where they can be ordinary words: `float`.
const MIN_ARGUMENT_IN_SENTENCE: usize = 8;
/// Shorter symbols are not replaced in sentences, where they would match parts of words.
const MIN_IN_SENTENCE: usize = 3;
/// Sentences truncate long names with an ellipsis; this many bytes identify one.
const TOLD_BY: usize = 24;
/// Upper bound on the bytes of a truncated name.
const NAME_BYTES: usize = 1024;

/// A redacted document.
pub struct Redacted {
    title: String,
    source: Vec<Facts>,
    ledger: Report,
    reports: Vec<Report>,
    notes: Notes,
}

impl Redacted {
    /// Redacts a document on `run`, which provides the names to look for, and the user's `notes` on it.
    pub fn new(document: &Document<'_>, run: &Run, notes: &Notes, redactor: &mut Redactor) -> Redacted {
        let mut names = Vec::new();
        if redactor.classes.symbols {
            names.extend(names_of(document, run).into_iter().map(|name| (SYMBOL, name)));
        }
        if redactor.classes.arguments {
            let is_long = |text: &String| text.len() >= MIN_ARGUMENT_IN_SENTENCE;
            let arguments = cells_of(document, Content::Argument);
            names.extend(arguments.into_iter().filter(is_long).map(|text| (ARGUMENT, text)));
        }
        if redactor.classes.paths {
            // Without a dot or a folder it may be an ordinary word: `main`.
            let is_file =
                |text: &String| text.contains(['.', '/', '\\']) || text.len() >= MIN_ARGUMENT_IN_SENTENCE;
            let files = cells_of(document, Content::Path);
            names.extend(files.into_iter().filter(is_file).map(|text| (PATH, text)));
        }
        // Longest first, so that no name is split by a shorter one inside it.
        sort::by(&mut names, |(a_class, a), (b_class, b)| (b.len(), a, b_class).cmp(&(a.len(), b, a_class)));
        let prose = if redactor.classes.prompts { prose_of(document, run) } else { Vec::new() };
        let mut work = Work::new(names, files_of(document), redactor);
        work.prose = prose;
        Redacted {
            title: work.sentence(&document.title),
            source: document.source.iter().map(|facts| work.facts(facts)).collect(),
            ledger: work.report(&document.ledger),
            reports: document.reports.iter().map(|report| work.report(report)).collect(),
            notes: work.notes(notes, document.reports),
        }
    }

    /// Hides the passwords, tokens and keys in a report that was written elsewhere, and says how many there were.
    pub fn without_secrets(document: &Document<'_>, notes: &Notes) -> (Redacted, u64) {
        let mut redactor = Redactor::of_secrets();
        let redacted = Redacted::new(document, &Run::default(), notes, &mut redactor);
        (redacted, redactor.n_secrets.unwrap_or(0))
    }

    /// The reports and the notes on them.
    pub fn into_reports(self) -> (Vec<Report>, Notes) {
        (self.reports, self.notes)
    }

    /// The notes, attached to the same rows of the redacted tables.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    pub fn document(&self) -> Document<'_> {
        Document {
            title: self.title.clone(),
            source: self.source.clone(),
            ledger: self.ledger.clone(),
            reports: &self.reports,
        }
    }
}

/// Token classes of values found by their text.
const SYMBOL: &str = "symbol";
const ARGUMENT: &str = "argument";
const PATH: &str = "path";

/// File names of the document, longest first.
fn files_of(document: &Document<'_>) -> Vec<String> {
    let facts = document.source.iter().flat_map(|facts| &facts.facts);
    let mut names: Vec<String> = facts
        .filter(|fact| fact.id == "file_name")
        .filter_map(|fact| match &fact.value {
            Value::Text(name) if !name.trim().is_empty() => Some(name.clone()),
            _ => None,
        })
        .collect();
    sort::by(&mut names, |a, b| (b.len(), a).cmp(&(a.len(), b)));
    names.dedup();
    names
}

/// All texts in columns with this content.
fn cells_of(document: &Document<'_>, content: Content) -> HashSet<String> {
    let columns = document.reports.iter().flat_map(Report::tables).flat_map(|table| &table.columns);
    texts_of(columns.filter(|column| column.content == content)).collect()
}

fn texts_of<'a>(columns: impl Iterator<Item = &'a Column>) -> impl Iterator<Item = String> {
    columns.flat_map(|column| match &column.cells {
        Cells::Text(cells) => (0..cells.len()).filter_map(|row| cells.get(row)).map(str::to_string).collect(),
        _ => Vec::new(),
    })
}

/// All symbols.
fn names_of(document: &Document<'_>, run: &Run) -> Vec<String> {
    let mut names: HashSet<String> = HashSet::default();
    for trace in &run.traces {
        let ids = [&trace.slices.name, &trace.frames.name, &trace.flows.name].into_iter().flatten();
        let functions = trace.profiles.iter().flat_map(|profile| &profile.frames.func);
        let distinct: HashSet<_> = ids.chain(functions).copied().collect();
        names.extend(distinct.into_iter().filter_map(|id| trace.strings.get_opt(id)).map(str::to_string));
    }
    names.extend(cells_of(document, Content::Symbol));
    names.into_iter().filter(|name| !name.trim().is_empty()).collect()
}

/// Beginnings of all trace texts that could be prompts, to find them in slice names and quotes.
pub(super) fn prose_of(document: &Document<'_>, run: &Run) -> Vec<String> {
    let mut starts: HashSet<String> = HashSet::default();
    let mut add = |text: &str| {
        if is_prose(text) {
            starts.insert(text.chars().take(TOLD_BY).collect());
        }
    };
    for trace in &run.traces {
        let ids = [&trace.slices.name, &trace.frames.name, &trace.flows.name].into_iter().flatten();
        let distinct: HashSet<_> = ids.copied().collect();
        distinct.into_iter().filter_map(|id| trace.strings.get_opt(id)).for_each(&mut add);
    }
    for column in document.reports.iter().flat_map(Report::tables).flat_map(|table| &table.columns) {
        if let Cells::Text(cells) = &column.cells {
            (0..cells.len()).filter_map(|row| cells.get(row)).for_each(&mut add);
        }
    }
    let of_reports =
        document.reports.iter().flat_map(|report| &report.blocks).filter_map(|block| match block {
            Block::Facts(facts) => Some(facts),
            _ => None,
        });
    for fact in document.source.iter().chain(of_reports).flat_map(|facts| &facts.facts) {
        if let Value::Text(text) = &fact.value {
            add(text);
        }
    }
    starts.into_iter().collect()
}

struct Work<'a> {
    /// Beginnings of texts that could be prompts.
    prose: Vec<String>,
    /// Texts that are redacted everywhere, with their class; longest first.
    names: Vec<(&'static str, String)>,
    /// Tokens and file names, longest first.
    files: Vec<(String, String)>,
    whole: HashMap<String, &'static str>,
    /// Numbers of the names by their first bytes, longest first.
    starts: HashMap<[u8; MIN_IN_SENTENCE], Vec<u32>>,
    /// Cache of redacted sentences, as many recur.
    known: HashMap<String, String>,
    redactor: &'a mut Redactor,
}

impl<'a> Work<'a> {
    /// `names` are sorted longest first; `files` are the names of opened files.
    fn new(names: Vec<(&'static str, String)>, files: Vec<String>, redactor: &'a mut Redactor) -> Work<'a> {
        let mut starts: HashMap<[u8; MIN_IN_SENTENCE], Vec<u32>> = HashMap::default();
        for (number, (_, name)) in names.iter().enumerate() {
            if let Some(start) = name.as_bytes().first_chunk() {
                starts.entry(*start).or_default().push(number as u32);
            }
        }
        let mut whole = HashMap::default();
        for (class, name) in &names {
            // A text in both gets a single token, that of the first class.
            whole.entry(name.clone()).or_insert(*class);
        }
        let files = match redactor.classes.paths {
            true => files.into_iter().map(|name| (redactor.file_name(&name), name)).collect(),
            false => Vec::new(),
        };
        Work { prose: Vec::new(), names, files, whole, starts, known: HashMap::default(), redactor }
    }

    fn report(&mut self, report: &Report) -> Report {
        Report {
            id: report.id.clone(),
            title: self.own(&report.title),
            summary: self.own(&report.summary),
            blocks: report.blocks.iter().map(|block| self.block(block)).collect(),
        }
    }

    /// Row keys become the redacted cells of the row.
    fn notes(&mut self, notes: &Notes, reports: &[Report]) -> Notes {
        let mut notes = notes.clone();
        notes.title = self.sentence(&notes.title);
        for note in &mut notes.list {
            note.text = self.sentence(&note.text);
            match &mut note.on {
                Anchor::Event { name, .. } => *name = self.redactor.symbol(name),
                Anchor::Row { report, table, key } => {
                    let report = reports.iter().find(|known| known.id == *report);
                    let table = report.and_then(|report| report.tables().find(|known| known.id == *table));
                    for (id, value) in key {
                        match table.and_then(|table| table.column(id)) {
                            Some(column) if !matches!(column.cells, Cells::Text(_)) => {}
                            Some(column) => *value = self.cell(column.content, value, None),
                            None => *value = self.sentence(value),
                        }
                    }
                }
                Anchor::Whole | Anchor::Range { .. } => {}
            }
        }
        notes
    }

    /// Whether a value is an argument to redact.
    fn takes_out(&self, content: Content, value: &str) -> bool {
        self.redactor.classes.arguments && content == Content::Argument && !value.is_empty()
    }

    fn block(&mut self, block: &Block) -> Block {
        match block {
            Block::Facts(facts) => Block::Facts(self.facts(facts)),
            Block::Table(table) => Block::Table(self.table(table)),
            Block::Note(note) => {
                let mut note = note.clone();
                note.text = self.own(&note.text);
                Block::Note(note)
            }
            Block::Findings(findings) => {
                let mut findings = findings.clone();
                findings.title = self.own(&findings.title);
                findings.caption = self.own(&findings.caption);
                for finding in &mut findings.findings {
                    finding.text = self.own(&finding.text);
                    finding.evidence = finding.evidence.iter().map(|fact| self.fact(fact)).collect();
                    if let Some(rows) = &mut finding.rows {
                        rows.filter = self.sentence(&rows.filter);
                        rows.label = self.own(&rows.label);
                    }
                }
                Block::Findings(findings)
            }
            Block::Chart(chart) => Block::Chart(self.chart(chart)),
        }
    }

    fn facts(&mut self, facts: &Facts) -> Facts {
        Facts {
            title: self.own(&facts.title),
            facts: facts.facts.iter().map(|fact| self.fact(fact)).collect(),
        }
    }

    fn fact(&mut self, fact: &Fact) -> Fact {
        let mut fact = fact.clone();
        if let Value::Text(text) = &fact.value {
            let by_key = self.redactor.value_of(&fact.id, text);
            fact.value = Value::Text(match by_key == *text {
                true if self.takes_out(fact.content, text) => self.redactor.token(ARGUMENT, text),
                true => self.sentence(text),
                false => by_key,
            });
        }
        fact.label = self.own(&fact.label);
        fact.hint = self.own(&fact.hint);
        fact
    }

    fn table(&mut self, table: &Table) -> Table {
        let mut table = table.clone();
        table.title = self.own(&table.title);
        table.caption = self.own(&table.caption);
        table.empty = self.own(&table.empty);
        // Tables of names and values, such as metadata.
        let keys = table.columns.iter().find(|column| column.id == "name" || column.id == "key").cloned();
        for column in &mut table.columns {
            let Cells::Text(cells) = &column.cells else { continue };
            let mut redacted = TextCells::default();
            for row in 0..cells.len() {
                let Some(text) = cells.get(row) else {
                    redacted.push(None);
                    continue;
                };
                let keys = keys.as_ref().filter(|_| column.content == Content::Value);
                let key = keys.map(|keys| keys.cells.get(row).plain());
                redacted.push(Some(&self.cell(column.content, text, key.as_deref())));
            }
            column.cells = Cells::Text(redacted);
        }
        table
    }

    /// Redacts a text cell; `key` is the name or key in its row, if the table has such a column.
    fn cell(&mut self, content: Content, text: &str, key: Option<&str>) -> String {
        match (content, key) {
            (Content::Record, _) if self.redactor.classes.arguments && !text.is_empty() => {
                self.redactor.token("example", text)
            }
            (Content::Record, _) if !self.redactor.classes.is_none() && text.starts_with('{') => {
                let redacted = self.record(text);
                self.sentence(&redacted)
            }
            (Content::Value, Some(key)) => self.redactor.value_of(key, text),
            (Content::Symbol, _) => self.redactor.symbol(text),
            (Content::Path, _) => self.redactor.file(text),
            (Content::Argument, _) if self.takes_out(content, text) => {
                let class = self.whole.get(text).copied().unwrap_or(ARGUMENT);
                self.redactor.token(class, text)
            }
            _ => self.sentence(text),
        }
    }

    /// Redacts the texts of a JSON object by their names and bounds: a prompt, or a path with spaces, has no form in a sentence.
    fn record(&mut self, text: &str) -> String {
        let (whole, closing) = closed(text);
        let mut shown = Vec::new();
        if !push_if_json(whole.as_bytes(), &mut shown) {
            return self.redactor.token("example", text);
        }
        let redacted = json(whole.as_bytes(), self.redactor);
        if redacted == shown {
            return text.to_string();
        }
        let redacted = String::from_utf8_lossy(&redacted);
        match text.ends_with('…') {
            true => format!("{}…", redacted.strip_suffix(closing.as_str()).unwrap_or(&redacted)),
            false => redacted.into_owned(),
        }
    }

    fn chart(&mut self, chart: &Chart) -> Chart {
        let mut chart = chart.clone();
        chart.title = self.own(&chart.title);
        chart.caption = self.own(&chart.caption);
        if let Plot::Flame(flame) = &mut chart.plot {
            flame.boxes.iter_mut().for_each(|it| it.place = self.redactor.file(&it.place));
        }
        let texts: Vec<&mut String> = match &mut chart.plot {
            Plot::Bars(bars) => of_bars(bars),
            // Threshold names come from Tracedrop itself.
            Plot::Measured(measured) => of_bars(&mut measured.bars),
            Plot::Lines(lines) => lines.lines.iter_mut().map(|line| &mut line.name).collect(),
            Plot::Heat(heat) => {
                let traces = heat.sources.iter_mut().flat_map(|sources| &mut sources.traces);
                let of_traces = traces.flat_map(|trace| [&mut trace.label, &mut trace.file]);
                heat.labels.iter_mut().chain(&mut heat.names).chain(of_traces).collect()
            }
            Plot::Spans(spans) => {
                let names = spans.spans.iter_mut().map(|span| &mut span.name);
                spans.labels.iter_mut().chain(names).collect()
            }
            Plot::Flame(flame) => flame.boxes.iter_mut().map(|it| &mut it.name).collect(),
            Plot::Boxes(boxes) => {
                let legend = boxes.legend.iter_mut().map(|(name, _)| name);
                legend.chain(boxes.boxes.iter_mut().map(|it| &mut it.name)).collect()
            }
            Plot::Addresses(map) => {
                let legend = map.legend.iter_mut().map(|(name, _)| name);
                legend.chain(&mut map.texts).collect()
            }
            Plot::Points(points) => points.points.iter_mut().map(|point| &mut point.name).collect(),
        };
        for text in texts {
            *text = self.sentence(text);
        }
        chart
    }

    /// Redacts a sentence by Tracedrop, which is never a prompt itself but may quote one.
    fn own(&mut self, text: &str) -> String {
        if !self.redactor.classes.prompts || self.prose.iter().any(|start| text.contains(start.as_str())) {
            return self.sentence(text);
        }
        // Trace texts and sentences need separate caches, as they are redacted differently.
        let known = (std::mem::take(&mut self.known), self.redactor.forget_known());
        self.redactor.classes.prompts = false;
        let out = self.sentence(text);
        self.redactor.classes.prompts = true;
        self.known = known.0;
        self.redactor.remember_known(known.1);
        out
    }

    /// Redacts a text in which names can occur among other words.
    fn sentence(&mut self, text: &str) -> String {
        if self.files.iter().any(|(_, name)| text.contains(name.as_str())) {
            let without =
                self.files.iter().fold(text.to_string(), |text, (token, name)| text.replace(name, token));
            return self.names_in(&without);
        }
        self.names_in(text)
    }

    fn names_in(&mut self, text: &str) -> String {
        if self.names.is_empty() || text.is_empty() {
            return self.redactor.text(text);
        }
        if let Some(class) = self.whole.get(text) {
            return self.redactor.token(class, text);
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            match self.name_at(text, at) {
                Some((number, end)) => {
                    let (class, name) = &self.names[number];
                    out.push_str(&self.redactor.token(class, name));
                    at = end;
                }
                None => {
                    out.push(c);
                    at += c.len_utf8();
                }
            }
        }
        let out = self.redactor.text(&out);
        self.known.insert(text.to_string(), out.clone());
        out
    }

    /// The longest name at a position of a text that forms a word of its own, or a truncated name with its ellipsis; and
    /// its end.
    fn name_at(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let rest = &text[at..];
        let names = self.starts.get(rest.as_bytes().first_chunk()?)?;
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_part(text[..at].chars().next_back()) && is_part(rest.chars().next()) {
            return None;
        }
        let near = &rest[..rest.floor_char_boundary(NAME_BYTES)];
        let cut = near.find('…').filter(|cut| *cut >= TOLD_BY);
        names.iter().map(|number| *number as usize).find_map(|number| {
            let (_, name) = &self.names[number];
            if let Some(behind) = rest.strip_prefix(name.as_str()) {
                let goes_on = is_part(behind.chars().next()) && is_part(name.chars().next_back());
                return (!goes_on).then_some((number, at + name.len()));
            }
            let cut = cut.filter(|cut| name.starts_with(&rest[..*cut]))?;
            Some((number, at + cut + '…'.len_utf8()))
        })
    }
}

/// JSON that was cut, which an ellipsis at the end shows, with what closes it; and what was added.
fn closed(text: &str) -> (String, String) {
    let mut open = Vec::new();
    let (mut in_text, mut escaped) = (false, false);
    let cut = text.strip_suffix('…').unwrap_or(text);
    for byte in cut.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' if !in_text => open.push('}'),
            b'[' if !in_text => open.push(']'),
            b'}' | b']' if !in_text => drop(open.pop()),
            _ => {}
        }
    }
    let cut = if escaped { &cut[..cut.len() - 1] } else { cut };
    let closing: String = in_text.then_some('"').into_iter().chain(open.into_iter().rev()).collect();
    (format!("{cut}{closing}"), closing)
}

/// Redacts the texts of bars.
fn of_bars(bars: &mut Bars) -> Vec<&mut String> {
    bars.labels.iter_mut().chain(bars.parts.iter_mut().map(|part| &mut part.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Classes;
    use super::*;

    #[test]
    fn cut_json_is_closed() {
        let check = |text: &str, wanted: &str| assert_eq!(closed(text).0, wanted, "{text}");
        check(r#"{"a":[1,{"b":"x\"}…"#, r#"{"a":[1,{"b":"x\"}"}]}"#);
        check(r#"{"a":"x\…"#, r#"{"a":"x"}"#);
        check(r#"{"a":1}"#, r#"{"a":1}"#);
    }

    #[test]
    fn names_are_found_among_words_and_where_they_were_cut() {
        let long = "void cutlass::gemm_kernel<float, 128, 256>(Params)";
        let mut redactor = Redactor::new(Classes { symbols: true, ..Classes::default() });
        let names = [long, "attention", "f"].map(|name| (SYMBOL, name.to_string())).to_vec();
        let mut work = Work::new(names, Vec::new(), &mut redactor);
        let cut = format!("Most: {}… (3 ms), attention; self-attention, attentions.", &long[..30]);
        assert_eq!(work.sentence(&cut), "Most: [symbol 1] (3 ms), [symbol 2]; self-[symbol 2], attentions.");
        assert_eq!(work.sentence("f"), "[symbol 3]");
        assert_eq!(work.sentence("of f"), "of f");
    }
}
