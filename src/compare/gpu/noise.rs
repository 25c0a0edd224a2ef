//! Whether a difference per step is more than what steps of one side differ by themselves.
//!
//! The rule, for a number that each step has (its length, its time in attention): with the mean of each side and the
//! standard error of the difference of the means, `e = √(s²A / nA + s²B / nB)` with the sample variances `s²`, a
//! difference counts when it is above both 3 e and 1 % of the larger mean. Nothing is assumed of how values are
//! distributed; a single slow step raises the mean and `e` alike, so it is no difference by itself. With fewer than
//! [`MIN_STEPS`] steps on a side the spread is not known, and nothing is called noise or more than noise.

/// Steps of a side from which on a spread means something.
pub const MIN_STEPS: usize = 5;
/// Differences below this share of the larger mean do not count, however steady steps are.
pub const MIN_SHARE: f64 = 0.01;
/// Standard errors.
const N_ERRORS: f64 = 3.0;

/// Whether a difference counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// B takes more, for certain.
    More,
    /// B takes less, for certain.
    Less,
    /// Within the noise, or below 1 %.
    Noise,
    /// Too few steps to tell; B takes more.
    MaybeMore,
    /// Too few steps to tell; B takes less.
    MaybeLess,
    /// No difference at all.
    Same,
}

impl Verdict {
    /// For people; told apart by sign and word, without a colour.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::More => "▲ more in B",
            Verdict::Less => "▼ less in B",
            Verdict::Noise => "≈ within noise",
            Verdict::MaybeMore => "▲? more in B, untested",
            Verdict::MaybeLess => "▼? less in B, untested",
            Verdict::Same => "= same",
        }
    }
}

/// The steps of one side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    pub n: usize,
    pub mean: f64,
    /// Sample variance; 0 of fewer than two.
    pub variance: f64,
    pub median: f64,
}

impl Sample {
    /// Of one number a step.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Sample {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        let n = values.len();
        if n == 0 {
            return Sample::default();
        }
        let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
        let mean = sum as f64 / n as f64;
        let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
        let middle = |at: usize| values.get(at).map_or(0.0, |value| *value as f64);
        Sample {
            n,
            mean,
            variance: if n > 1 { squares / (n - 1) as f64 } else { 0.0 },
            median: (middle((n - 1) / 2) + middle(n / 2)) / 2.0,
        }
    }
}

/// The largest difference of means that is noise; `None` with too few steps.
pub fn band(a: &Sample, b: &Sample) -> Option<f64> {
    if a.n < MIN_STEPS || b.n < MIN_STEPS {
        return None;
    }
    let error = (a.variance / a.n as f64 + b.variance / b.n as f64).sqrt();
    Some((N_ERRORS * error).max(MIN_SHARE * a.mean.abs().max(b.mean.abs())))
}

/// Whether B differs from A.
pub fn verdict(a: &Sample, b: &Sample) -> Verdict {
    let difference = b.mean - a.mean;
    if difference == 0.0 {
        return Verdict::Same;
    }
    match (band(a, b), difference > 0.0) {
        (Some(band), _) if difference.abs() <= band => Verdict::Noise,
        (Some(_), true) => Verdict::More,
        (Some(_), false) => Verdict::Less,
        (None, true) => Verdict::MaybeMore,
        (None, false) => Verdict::MaybeLess,
    }
}

/// What the rule is, for captions.
pub const RULE: &str = "A difference per step counts when it is above 1 % of the larger side and above three standard errors of the \
                        difference of the means, from the spread between the steps of each side. With fewer than 5 steps on a side \
                        the spread is not known, and signs carry a question mark.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_noise() {
        let of = |values: &[i64]| Sample::of(values.iter().copied());
        let steady = of(&[100, 101, 99, 100, 100, 101, 99, 100]);
        let higher = of(&[110, 111, 109, 110, 110, 111, 109, 110]);
        // Within one percent.
        let close = of(&[100, 101, 99, 100, 101, 102, 99, 101]);
        // One slow step is no difference.
        let outlier = of(&[100, 101, 99, 100, 100, 101, 99, 1000]);
        assert_eq!(verdict(&steady, &higher), Verdict::More);
        assert_eq!(verdict(&higher, &steady), Verdict::Less);
        assert_eq!(verdict(&steady, &close), Verdict::Noise);
        assert_eq!(verdict(&steady, &outlier), Verdict::Noise);
        assert_eq!(verdict(&steady, &steady), Verdict::Same);
        assert_eq!(verdict(&of(&[100]), &of(&[200])), Verdict::MaybeMore);
        assert_eq!(verdict(&of(&[]), &of(&[])), Verdict::Same);
        assert_eq!((steady.median, of(&[1, 2]).median, of(&[]).mean), (100.0, 1.5, 0.0));
    }
}
