//! Experiment configurations for mrm-trace (YAML): validation and planned runs.
//!
//! Takes the text of a file; gives all values including defaults, errors with field paths, and the plan.
//! Types are lenient, as in the reference: `"128"` and `128.0` are integers; unknown keys are ignored.

mod read;
mod schema;
mod yaml;

use self::yaml::Yaml;
use crate::base::json::Json;

/// Number of planned runs that triggers a warning.
const MANY_RUNS: u64 = 1000;

/// An invalid field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// Dotted path; numbers are list indexes.
    pub path: String,
    /// Problem, to follow the path.
    pub what: String,
}

/// Reason why a configuration cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// The file is empty.
    Empty,
    /// Invalid YAML; line and column count from 1.
    Yaml {
        line: usize,
        column: usize,
        what: String,
    },
    Invalid(Vec<FieldError>),
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfigError::Empty => f.write_str("the file is empty"),
            ConfigError::Yaml { line, column, what } => write!(f, "line {line}, column {column}: {what}"),
            ConfigError::Invalid(errors) => {
                for (n, error) in errors.iter().enumerate() {
                    write!(f, "{}{}: {}", if n > 0 { "\n" } else { "" }, error.path, error.what)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// Validation result of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judged {
    /// `None` if a field is invalid; there is no plan then.
    pub config: Option<Config>,
    pub warnings: Vec<String>,
    /// Empty if the file is valid.
    pub errors: Vec<String>,
}

/// Parses and validates a file.
pub fn judge(bytes: &[u8]) -> Judged {
    match Config::read(bytes) {
        Ok(config) => {
            let (warnings, errors) = (config.warnings(), config.errors());
            Judged { config: Some(config), warnings, errors }
        }
        Err(error) => {
            let errors = error.to_string().lines().map(str::to_string).collect();
            Judged { config: None, warnings: Vec::new(), errors }
        }
    }
}

/// A configuration in which every field is valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// All values, including defaults.
    pub values: Json,
}

/// One run of the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedRun {
    /// Name without the start time, which is appended later (see [`PlannedRun::name_at`]).
    pub name: String,
    pub model: String,
    pub context_length: u64,
    pub batch_size: u64,
    pub output_tokens: u64,
    /// From 0, without warm-ups.
    pub repetition: u64,
    pub is_warm_up: bool,
    pub output_dir: String,
}

impl PlannedRun {
    /// The name of a run that starts at `stamp` (`20260102T030405Z`).
    pub fn name_at(&self, stamp: &str) -> String {
        format!("{}_{stamp}", self.name)
    }
}

impl Config {
    /// Parses a file.
    pub fn read(bytes: &[u8]) -> Result<Config, ConfigError> {
        if let Some((line, column, what)) = yaml::first_unreadable(bytes) {
            return Err(ConfigError::Yaml { line, column, what: what.to_string() });
        }
        let text = String::from_utf8_lossy(bytes);
        let document = yaml::read(text.strip_prefix('\u{feff}').unwrap_or(&text))?;
        if document == Yaml::Null {
            return Err(ConfigError::Empty);
        }
        let mut errors = Vec::new();
        let values = read::section(&document, schema::TOP, "", &mut errors);
        let Json::Object(mut members) = values else { return Err(ConfigError::Invalid(errors)) };
        let models = models(document.get("models"), &mut errors);
        members.insert(1, ("models".to_string(), models));
        if errors.is_empty() {
            Ok(Config { values: Json::Object(members) })
        } else {
            Err(ConfigError::Invalid(errors))
        }
    }

    fn models(&self) -> impl Iterator<Item = &str> {
        let models = self.values.get("models").and_then(Json::as_array).unwrap_or_default();
        models.iter().filter_map(|model| model.get("id")?.as_str())
    }

    fn numbers(&self, path: &str) -> Vec<u64> {
        let numbers = self.values.at(path).and_then(Json::as_array).unwrap_or_default();
        numbers.iter().filter_map(Json::as_u64).collect()
    }

    fn number(&self, path: &str) -> u64 {
        self.values.at(path).and_then(Json::as_u64).unwrap_or(0)
    }

    /// Number of settings in the sweep.
    fn n_settings(&self) -> u64 {
        let lists = ["sweep.context_lengths", "sweep.batch_sizes", "sweep.output_tokens"];
        let n = lists.iter().map(|path| self.numbers(path).len() as u64).fold(1, u64::saturating_mul);
        n.saturating_mul(self.models().count() as u64)
    }

    /// Number of planned runs, with and without warm-ups.
    pub fn n_runs(&self) -> (u64, u64) {
        let (warm_ups, repetitions) = (self.number("sweep.warmup_runs"), self.number("sweep.repetitions"));
        let all = self.n_settings().saturating_mul(warm_ups.saturating_add(repetitions));
        (all, self.n_settings().saturating_mul(repetitions))
    }

    /// Conflicts between fields that are valid on their own.
    pub fn errors(&self) -> Vec<String> {
        let mut ids: Vec<&str> = self.models().collect();
        ids.sort_unstable();
        let mut twice: Vec<&str> =
            ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        twice.dedup();
        if twice.is_empty() { Vec::new() } else { vec![format!("duplicate model ids: {}", twice.join(", "))] }
    }

    /// Warnings.
    pub fn warnings(&self) -> Vec<String> {
        let (_, n) = self.n_runs();
        if n > MANY_RUNS {
            vec![format!("{n} planned runs (without warm-ups) may take a long time")]
        } else {
            Vec::new()
        }
    }

    /// Base directory of all runs.
    pub fn base_dir(&self) -> &str {
        self.values.at("output.base_dir").and_then(Json::as_str).unwrap_or_default()
    }

    /// The runs in execution order: by model, context, batch and output length; warm-ups before repetitions.
    pub fn plan(&self) -> impl Iterator<Item = PlannedRun> {
        let base = self.base_dir().to_string();
        let models: Vec<String> = self.models().map(str::to_string).collect();
        let (contexts, batches, outputs) = (
            self.numbers("sweep.context_lengths"),
            self.numbers("sweep.batch_sizes"),
            self.numbers("sweep.output_tokens"),
        );
        let (n_warm_ups, n_repetitions) =
            (self.number("sweep.warmup_runs"), self.number("sweep.repetitions"));
        let settings = models.into_iter().flat_map(move |model| {
            let (contexts, batches, outputs) = (contexts.clone(), batches.clone(), outputs.clone());
            contexts.into_iter().flat_map(move |context| {
                let (model, batches, outputs) = (model.clone(), batches.clone(), outputs.clone());
                batches.into_iter().flat_map(move |batch| {
                    let (model, outputs) = (model.clone(), outputs.clone());
                    outputs.into_iter().map(move |output| (model.clone(), context, batch, output))
                })
            })
        });
        settings.flat_map(move |(model, context_length, batch_size, output_tokens)| {
            let base = base.clone();
            (0..n_warm_ups.saturating_add(n_repetitions)).map(move |n| {
                let is_warm_up = n < n_warm_ups;
                let repetition = n.saturating_sub(n_warm_ups);
                let which = if is_warm_up { "warmup".to_string() } else { format!("rep{repetition}") };
                let name =
                    format!("{model}_ctx{context_length}_batch{batch_size}_out{output_tokens}_{which}");
                PlannedRun {
                    output_dir: joined([&base, &model, &name]),
                    name,
                    model: model.clone(),
                    context_length,
                    batch_size,
                    output_tokens,
                    repetition,
                    is_warm_up,
                }
            })
        })
    }
}

/// Joins path components like Python's `pathlib`: one that begins with `/` discards those before it, and redundant
/// components are dropped.
fn joined(parts: [&str; 3]) -> String {
    let (mut root, mut names) = ("", Vec::new());
    for part in parts {
        if part.starts_with('/') {
            root = if part.starts_with("//") && !part.starts_with("///") { "//" } else { "/" };
            names.clear();
        }
        names.extend(part.split('/').filter(|name| !matches!(*name, "" | ".")));
    }
    let path = format!("{root}{}", names.join("/"));
    if path.is_empty() { ".".to_string() } else { path }
}

/// Parses the models and checks what their engines need.
fn models(value: Option<&Yaml>, errors: &mut Vec<FieldError>) -> Json {
    let wrong = |path: &str, what: String, errors: &mut Vec<FieldError>| {
        errors.push(FieldError { path: path.to_string(), what });
        Json::Null
    };
    let values = match value {
        None => return wrong("models", "is missing".to_string(), errors),
        Some(Yaml::List(values)) if values.is_empty() => {
            return wrong("models", "needs at least one model".to_string(), errors);
        }
        Some(Yaml::List(values)) => values,
        Some(_) => return wrong("models", "must be a list".to_string(), errors),
    };
    let read = |(n, value): (usize, &Yaml)| {
        let path = format!("models.{n}");
        let n_before = errors.len();
        let model = read::section(value, schema::MODEL, &path, errors);
        let text = |key: &str| model.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
        let id = text("id").unwrap_or_default();
        let missing = match text("engine") {
            Some("llamacpp") if text("path").is_none() => {
                Some(format!("model '{id}' uses llamacpp and needs a path"))
            }
            Some("vllm") if text("hf_repo").or(text("path")).is_none() => {
                Some(format!("model '{id}' uses vllm and needs hf_repo or path"))
            }
            _ => None,
        };
        if let Some(what) = missing.filter(|_| errors.len() == n_before) {
            wrong(&path, what, errors);
        }
        model
    };
    Json::Array(values.iter().enumerate().map(read).collect())
}
