//! Performance budgets for continuous integration: limits such as `gpu.per_step > 3%`.

use super::{Comparison, Digest, Measure, gpu, measures_of};
use crate::base::text;
use crate::base::units::{Unit, format_float};
use crate::filter;

/// A limit on the change of a measure.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// Text as given.
    pub text: String,
    /// Id of a [`Measure`].
    pub measure: String,
    is_above: bool,
    is_equal_too: bool,
    size: Size,
}

#[derive(Clone, PartialEq, Debug)]
enum Size {
    /// Percent of A.
    Percent(f64),
    /// An amount with its unit, as in filters: what it is depends on the measure.
    Amount(String),
}

/// Result of checking a limit.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Within the limit, with an explanation.
    Kept(String),
    /// Exceeded, with an explanation.
    Passed(String),
}

impl Limit {
    /// Parses `MEASURE > NUMBER`, also with `<`, `>=` and `<=`. The number is in `%`, or an amount as filters have it: times with a
    /// unit, sizes and counts with or without. The limit is exceeded if the change B − A is beyond the number. Returns an error text
    /// if parsing fails.
    pub fn parse(text: &str) -> Result<Limit, String> {
        let wrong = |why: &str| format!("'{text}' is not a limit: {why}; example: 'gpu.per_step > 3%'");
        let at = text.find(['<', '>']).ok_or_else(|| wrong("it has neither < nor >"))?;
        let (measure, rest) = text.split_at(at);
        let is_above = rest.starts_with('>');
        let rest = rest.get(1..).unwrap_or("");
        let (is_equal_too, number) = match rest.strip_prefix('=') {
            Some(number) => (true, number),
            None => (false, rest),
        };
        let number = number.trim();
        let no_number = || wrong("the value is not a number");
        let size = match number.strip_suffix('%') {
            Some(digits) => Size::Percent(digits.trim().parse().map_err(|_| no_number())?),
            None if is_amount(number) => Size::Amount(number.to_string()),
            None => return Err(no_number()),
        };
        let measure = measure.trim();
        if measure.ends_with('=') {
            return Err(wrong("write >= for => and <= for =<"));
        }
        if measure.is_empty() || matches!(size, Size::Percent(percent) if !percent.is_finite()) {
            return Err(wrong("the metric is missing or the number is not finite"));
        }
        Ok(Limit {
            text: text.trim().to_string(),
            measure: measure.to_string(),
            is_above,
            is_equal_too,
            size,
        })
    }

    /// Checks the limit against the values of a single trace, not against a change. Returns an error text if there is no such
    /// measure or the unit doesn't fit.
    pub fn hold(&self, measures: &[Measure]) -> Result<Outcome, String> {
        let Some(Measure { id, what, unit, a, .. }) =
            measures.iter().find(|measure| measure.id == self.measure)
        else {
            return Err(format!(
                "no metric '{}' in this trace; list metrics with tracedrop compare TRACE TRACE --list",
                self.measure
            ));
        };
        let limit = match &self.size {
            Size::Percent(_) => return Err("a percentage needs a second trace to compare with".to_string()),
            Size::Amount(number) => self.amount(number, id, *unit)?,
        };
        let words = format!("{what}: {}", format_float(*a, *unit));
        Ok(if self.is_beyond(*a, limit) { Outcome::Passed(words) } else { Outcome::Kept(words) })
    }

    /// A number in the unit of the measure `id`.
    fn amount(&self, number: &str, id: &str, unit: Unit) -> Result<f64, String> {
        let op = match (self.is_above, self.is_equal_too) {
            (true, false) => " > ",
            (true, true) => " >= ",
            (false, false) => " < ",
            (false, true) => " <= ",
        };
        filter::number(number, unit, id, op).map_err(|why| why.trim_end_matches('.').to_string())
    }

    /// Why these traces have no value of a metric that others have. `None` if they have one, or no traces do.
    pub fn no_data(&self, comparison: &Comparison) -> Option<String> {
        let measures = || comparison.measures.iter();
        let has_others = measures().any(|measure| measure.id.starts_with("gpu."));
        let is_metric = gpu::is_metric(&self.measure) || !has_others && self.measure.starts_with("gpu.op.");
        if !is_metric || measures().any(|measure| measure.id == self.measure) {
            return None;
        }
        // Without any metric of GPUs, the headline says which side has no kernels.
        let of_gpus = comparison.reports.iter().find(|report| report.id == gpu::REPORT && !has_others);
        let why =
            of_gpus.map_or(String::new(), |report| format!(". {}", report.summary.trim_end_matches('.')));
        Some(format!("'{}': no data for {} in these traces{why}", self.text, self.measure))
    }

    fn is_beyond(&self, value: f64, limit: f64) -> bool {
        match (self.is_above, self.is_equal_too) {
            (true, false) => value > limit,
            (true, true) => value >= limit,
            (false, false) => value < limit,
            (false, true) => value <= limit,
        }
    }

    /// Checks the limit. A change within noise never exceeds it; if noise is unknown, the whole change counts. Returns an error
    /// text if there is no such measure or the unit doesn't fit.
    pub fn check(&self, comparison: &Comparison) -> Result<Outcome, String> {
        let Some(measure) = comparison.measures.iter().find(|measure| measure.id == self.measure) else {
            return Err(self.no_data(comparison).unwrap_or_else(|| {
                format!(
                    "'{}': no metric '{}' in these traces; list metrics with --list",
                    self.text, self.measure
                )
            }));
        };
        let Measure { a, b, .. } = *measure;
        let difference = b - a;
        let (change, limit) = match &self.size {
            Size::Percent(limit) if a == 0.0 && difference != 0.0 => {
                (difference.signum() * f64::INFINITY, *limit)
            }
            Size::Percent(limit) if a == 0.0 => (0.0, *limit),
            Size::Percent(limit) => (100.0 * difference / a, *limit),
            Size::Amount(number) => {
                let limit = self.amount(number, &self.measure, measure.unit);
                (difference, limit.map_err(|why| format!("'{}': {why}", self.text))?)
            }
        };
        let is_beyond = self.is_beyond(change, limit);
        let shown = |value: f64| format_float(value, measure.unit);
        let percent = super::percent(a, b);
        // In the unit of the limit.
        let changed = match &self.size {
            Size::Amount(_) if difference > 0.0 => format!("+{} ({percent})", shown(difference)),
            Size::Amount(_) if difference < 0.0 => format!("{} ({percent})", shown(difference)),
            _ => percent,
        };
        let mut numbers = format!("{}: {} in A, {} in B, {changed}", self.measure, shown(a), shown(b));
        if let Some(mean) = mean_of_unlike_groups(measure, comparison) {
            numbers.push_str(&format!("; sums over different numbers of files, see {}", mean.id));
        }
        Ok(match (is_beyond, measure.noise) {
            (true, Some(noise)) if difference.abs() <= noise => {
                Outcome::Kept(format!("{numbers}; within noise (up to {})", shown(noise)))
            }
            (true, None) if measure.id.starts_with("gpu.") => {
                Outcome::Passed(format!("{numbers}; not enough steps to test significance"))
            }
            (true, _) => Outcome::Passed(numbers),
            (false, _) => Outcome::Kept(numbers),
        })
    }
}

/// Whether a text is an amount of anything that is measured.
fn is_amount(text: &str) -> bool {
    let units = [Unit::Ns, Unit::Bytes, Unit::Flops, Unit::Ratio, Unit::Count];
    units.into_iter().any(|unit| filter::number(text, unit, "", "").is_ok())
}

/// The mean per file in place of sums over different numbers of files.
fn mean_of_unlike_groups<'a>(sum: &Measure, comparison: &'a Comparison) -> Option<&'a Measure> {
    let is_mean = |it: &&Measure| it.id.strip_suffix(super::PER_FILE) == Some(&sum.id);
    let mean = comparison.measures.iter().find(is_mean)?;
    let n_files = |sum: f64, mean: f64| if mean == 0.0 { None } else { Some((sum / mean).round()) };
    let [a, b] = [n_files(sum.a, mean.a)?, n_files(sum.b, mean.b)?];
    (a != b).then_some(mean)
}

/// A limit on one trace with its result: an error text if it cannot be checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// Text as given.
    pub text: String,
    pub outcome: Result<Outcome, String>,
}

/// Checks the limits of a budget file against one trace: one limit per line, on values instead of changes. Empty lines and text
/// after `#` are ignored.
///
/// ```text
/// # budget.txt
/// gpu.per_step > 12 ms
/// slices.slices.self > 2 s
/// ```
pub fn hold(side: &Digest, file: &str) -> Vec<Held> {
    let measures = measures_of(side);
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    file.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(|line| {
            // Makes control characters visible, and cuts lines that are too long to be limits.
            let text = text::shortened(&text::visible(line), MAX_LINE_CHARS);
            let outcome = Limit::parse(&text).and_then(|limit| limit.hold(&measures));
            Held { text, outcome }
        })
        .collect()
}

/// Maximum length of a limit, in characters.
const MAX_LINE_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    fn comparison(noise: Option<f64>) -> Comparison {
        let measure =
            |id: &str, a, b, unit| Measure { id: id.into(), what: String::new(), unit, a, b, noise };
        Comparison {
            measures: vec![
                measure("gpu.per_step", 100.0, 104.0, Unit::Ns),
                measure("n", 0.0, 2.0, Unit::Count),
            ],
            ..Comparison::default()
        }
    }

    #[test]
    fn limits_are_read_and_held() {
        let passed = |text: &str, noise| {
            let outcome = Limit::parse(text).unwrap().check(&comparison(noise));
            outcome.map(|outcome| matches!(outcome, Outcome::Passed(_)))
        };
        assert_eq!(passed("gpu.per_step > 3%", None), Ok(true));
        assert_eq!(passed("gpu.per_step > 3%", Some(5.0)), Ok(false));
        assert_eq!(passed("gpu.per_step>4 %", None), Ok(false));
        assert_eq!(passed("gpu.per_step >= 4%", None), Ok(true));
        assert_eq!(passed("gpu.per_step > 3.5 ns", Some(1.0)), Ok(true));
        assert_eq!(passed("gpu.per_step > 1us", None), Ok(false));
        assert_eq!(passed("gpu.per_step < -1%", None), Ok(false));
        assert_eq!(passed("n > 1", None), Ok(true));
        assert_eq!(passed("n > 1000%", None), Ok(true));
        assert!(passed("n > 1 ms", None).is_err() && passed("m > 1", None).is_err());
        assert_eq!(passed("n > 0.001k", None), Ok(true));
        // Nanoseconds or seconds?
        assert_eq!(
            Limit::parse("gpu.per_step > 30").unwrap().check(&comparison(None)),
            Err("'gpu.per_step > 30': 30 needs a unit: gpu.per_step > 30ms, gpu.per_step > 30us".to_string())
        );
        let words = |text: &str| match Limit::parse(text).unwrap().check(&comparison(None)) {
            Ok(Outcome::Kept(words) | Outcome::Passed(words)) => words,
            Err(why) => why,
        };
        assert_eq!(words("gpu.per_step > 1,000us"), "gpu.per_step: 100 ns in A, 104 ns in B, +4 ns (+4.0%)");
        assert_eq!(words("gpu.per_step > 30%"), "gpu.per_step: 100 ns in A, 104 ns in B, +4.0%");
        let held = |text: &str| {
            let outcome = Limit::parse(text).unwrap().hold(&comparison(None).measures);
            outcome.map(|outcome| matches!(outcome, Outcome::Passed(_)))
        };
        assert_eq!(held("gpu.per_step > 99 ns"), Ok(true));
        assert_eq!(held("gpu.per_step > 100 ns"), Ok(false));
        assert_eq!(held("gpu.per_step >= 100ns"), Ok(true));
        assert_eq!(held("n < 1"), Ok(true));
        assert!(held("gpu.per_step > 3%").is_err() && held("n > 1 s").is_err() && held("m > 1").is_err());
        for wrong in ["", "a", "a >", "> 3", "a > x%", "a > inf", "a = 3", "a => 3%", "a =< 3", "a > 1kg"] {
            assert!(Limit::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn metrics_without_data_are_no_wrong_metrics() {
        let mut report = Report::new(gpu::REPORT, "What changed");
        report.summary = "Only A has GPU activity.".to_string();
        let no_kernels = Comparison { reports: vec![report], ..Comparison::default() };
        let no_data = |text: &str, comparison: &Comparison| Limit::parse(text).unwrap().no_data(comparison);
        let why = "'gpu.per_step > 3%': no data for gpu.per_step in these traces. Only A has GPU activity";
        assert_eq!(no_data("gpu.per_step > 3%", &no_kernels).as_deref(), Some(why));
        assert_eq!(Limit::parse("gpu.per_step > 3%").unwrap().check(&no_kernels), Err(why.to_string()));
        assert!(no_data("gpu.op.GEMM > 3%", &no_kernels).is_some());
        assert_eq!(
            no_data("gpu.prefill > 3%", &comparison(None)).as_deref(),
            Some("'gpu.prefill > 3%': no data for gpu.prefill in these traces")
        );
        for (text, comparison) in [
            ("gpu.per_step > 3%", &comparison(None)),
            ("gpu.op.Gem > 3%", &comparison(None)),
            ("gpu.perstep > 3%", &no_kernels),
        ] {
            assert_eq!(no_data(text, comparison), None, "{text}");
        }
    }

    #[test]
    fn a_file_of_limits_has_one_a_line() {
        let held = hold(&Digest::default(), "# a budget\n\n gpu.per_step > 12 ms \r\nnonsense\n");
        let texts: Vec<&str> = held.iter().map(|held| held.text.as_str()).collect();
        assert_eq!(texts, ["gpu.per_step > 12 ms", "nonsense"]);
        let odd = "\u{feff}# saved on Windows\r\na > 1 # and why\r\n\u{202e}b > 1\r\n";
        let held = hold(&Digest::default(), &format!("{odd}{}", "x".repeat(5000)));
        let texts: Vec<&str> = held.iter().map(|held| held.text.as_str()).collect();
        assert_eq!(texts[..2], ["a > 1", "\\u{202e}b > 1"]);
        assert!(texts.len() == 3 && texts[2].chars().count() <= MAX_LINE_CHARS + 1);
        let held = hold(&Digest::default(), "nonsense\n");
        // Every limit fails on an empty side.
        assert!(held.iter().all(|held| held.outcome.is_err()));
        assert!(hold(&Digest::default(), "").is_empty());
    }
}
