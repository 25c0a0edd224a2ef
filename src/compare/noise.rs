//! Significance of differences per step, given the variation between steps of one side.
//!
//! For a number per step (duration, time in attention), with the standard error of the difference of means
//! `e = √(s²A / nA + s²B / nB)` and sample variances `s²`, a difference is significant if it exceeds both 3 e and 1% of the larger
//! mean. No distribution is assumed. A single slow step raises the mean and `e` alike, so it is not significant by itself. With
//! fewer than [`MIN_STEPS`] steps on a side the spread is unknown, and nothing is tested.
//!
//! Steps of a phase may be of different kinds: [`Sample::of_kinds`].
//!
//! Sides usually have few files. For whole files, the factor therefore comes from Student's t: [`band_of_repeats`].

use std::collections::BTreeMap;

/// Minimum steps per side for a meaningful spread.
pub const MIN_STEPS: usize = 5;
/// Differences below this share of the larger mean are never significant.
pub const MIN_SHARE: f64 = 0.01;
/// Number of standard errors.
const N_ERRORS: f64 = 3.0;

/// Significance of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// B takes significantly more.
    More,
    /// B takes significantly less.
    Less,
    /// Within noise, or below 1%.
    Noise,
    /// B takes more; too few steps to test.
    MaybeMore,
    /// B takes less; too few steps to test.
    MaybeLess,
    /// No difference at all.
    Same,
}

impl Verdict {
    /// Name in reports, distinct without color.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::More => "▲ slower in B",
            Verdict::Less => "▼ faster in B",
            Verdict::Noise => "≈ within noise",
            Verdict::MaybeMore => "▲ slower in B (not tested)",
            Verdict::MaybeLess => "▼ faster in B (not tested)",
            Verdict::Same => "= same",
        }
    }
}

/// The steps of one side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    pub n: usize,
    pub mean: f64,
    /// Sample variance; 0 with fewer than two values.
    pub variance: f64,
    pub median: f64,
}

impl Sample {
    /// Sample of one number per step.
    pub fn of(values: impl IntoIterator<Item = impl Into<i128>>) -> Sample {
        Sample::of_all(values.into_iter().map(Into::into).collect())
    }

    fn of_all(mut values: Vec<i128>) -> Sample {
        values.sort_unstable();
        let n = values.len();
        if n == 0 {
            return Sample::default();
        }
        let sum = values.iter().fold(0i128, |sum, value| sum.saturating_add(*value));
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

    /// Sample of each number times `factor`.
    pub fn times(self, factor: f64) -> Sample {
        Sample {
            n: self.n,
            mean: self.mean * factor,
            variance: self.variance * factor * factor,
            median: self.median * factor,
        }
    }

    /// Samples of one number per step on both sides, with the kind of each step (in speculative decoding, steps that draft and steps
    /// that verify take turns) and whether it is cut off. Cut ones are left out if their kind has others on that side; means weigh kinds
    /// by all steps. If each kind has the same share of the steps on both sides, only the variation within the kinds is noise: the
    /// variance is pooled over them, unless fewer than [`MIN_STEPS`] − 1 degrees of freedom remain.
    pub fn of_kinds<K: Ord>(sides: [Vec<(K, bool, i64)>; 2]) -> [Sample; 2] {
        let mut all = sides.iter().flatten().map(|(kind, ..)| kind);
        let first = all.next();
        if all.all(|kind| Some(kind) == first) {
            return sides.map(|values| {
                let is_any_whole = values.iter().any(|(_, is_cut, _)| !is_cut);
                Sample::of(values.into_iter().filter(|it| !(is_any_whole && it.1)).map(|it| it.2))
            });
        }
        let mut kinds: BTreeMap<K, [OfKind; 2]> = BTreeMap::new();
        for (side, values) in sides.into_iter().enumerate() {
            for (kind, is_cut, value) in values {
                let of = &mut kinds.entry(kind).or_default()[side];
                of.n += 1;
                if is_cut { &mut of.cut } else { &mut of.values }.push(value);
            }
        }
        kinds
            .values_mut()
            .flatten()
            .filter(|of| of.values.is_empty())
            .for_each(|of| of.values.append(&mut of.cut));
        let n_all = [0, 1].map(|side: usize| kinds.values().map(|of| of[side].n).sum::<usize>());
        let is_same_mix = kinds.values().all(|[a, b]| a.n * n_all[1] == b.n * n_all[0]);
        let mut samples = [0, 1].map(|side: usize| {
            let of_kinds = || kinds.values().map(|of| &of[side]);
            let weighed = of_kinds().map(|of| of.n as f64 * Sample::of(of.values.iter().copied()).mean);
            let mean = weighed.sum::<f64>() / n_all[side].max(1) as f64;
            Sample { mean, ..Sample::of(of_kinds().flat_map(|of| of.values.iter().copied())) }
        });
        let is_enough = samples[0].n.min(samples[1].n) + 1 >= kinds.len() + MIN_STEPS;
        if is_same_mix && is_enough {
            for (side, sample) in samples.iter_mut().enumerate() {
                let within = kinds.values().map(|of| Sample::of(of[side].values.iter().copied()));
                let squares: f64 = within.map(|of| of.variance * of.n.saturating_sub(1) as f64).sum();
                sample.variance = squares / (sample.n - kinds.len()) as f64;
            }
        }
        samples
    }
}

/// Steps of a kind on a side.
#[derive(Default)]
struct OfKind {
    /// All of them.
    n: usize,
    /// Of those that are not cut off, unless there are none.
    values: Vec<i64>,
    cut: Vec<i64>,
}

/// Largest difference of means that counts as noise; `None` with too few steps.
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

/// The rule, for captions.
pub const RULE: &str = "A difference per step is significant if it exceeds 1% of the larger side and three standard errors of the \
                        difference of means. With fewer than 5 steps per side, besides the last of each GPU, it is not tested.";

/// Largest difference of means that counts as noise, with one value per file: the difference that repeated runs exceed with
/// probability 1% (Welch's t-test, two-sided), and at least 1% of the larger mean. With one file on a side, the spread of the other
/// is used for both. `None` with one file on each side.
pub fn band_of_repeats(a: &Sample, b: &Sample) -> Option<f64> {
    if a.n == 0 || b.n == 0 || a.n + b.n < 3 {
        return None;
    }
    let [na, nb] = [a.n as f64, b.n as f64];
    let [of_a, of_b] = [a.variance / na, b.variance / nb];
    let (error, freedom) = if a.n > 1 && b.n > 1 {
        let squares = of_a * of_a / (na - 1.0) + of_b * of_b / (nb - 1.0);
        let freedom = if squares > 0.0 { (of_a + of_b).powi(2) / squares } else { na + nb - 2.0 };
        ((of_a + of_b).sqrt(), freedom)
    } else {
        // The variance of a single value is 0.
        ((a.variance.max(b.variance) * (1.0 / na + 1.0 / nb)).sqrt(), na + nb - 2.0)
    };
    let factor = T_995.get((freedom as usize).saturating_sub(1)).unwrap_or(&T_995[T_995.len() - 1]);
    Some((factor * error).max(MIN_SHARE * a.mean.abs().max(b.mean.abs())))
}

/// 99.5th percentile of Student's t for 1, 2, 3 … degrees of freedom; constant after the last, which is conservative.
const T_995: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
    2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
];

/// The rule for files, for captions.
pub const RULE_OF_REPEATS: &str = "Files of a side count as repeated runs. A difference per file is noise if it is below 1% of the \
                                   larger side or not significant (Welch's t-test across files, p ≥ 0.01).";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_different_kinds_are_no_noise() {
        // Drafting takes 100, verifying 900 or 960, each ± 1.
        let side = |verify: i64, n: i64| -> Vec<(&str, bool, i64)> {
            (0..n).flat_map(|i| [("draft", false, 100 + i % 2), ("verify", false, verify + i % 2)]).collect()
        };
        let [a, b] = Sample::of_kinds([side(900, 10), side(960, 20)]);
        assert_eq!((a.n, b.n, a.mean, b.mean), (20, 40, 500.5, 530.5));
        // Ten values of each kind that are 0.5 from their mean, and 18 degrees of freedom.
        assert!((a.variance - 20.0 * 0.25 / 18.0).abs() < 1e-9, "{a:?}");
        assert_eq!(verdict(&a, &b), Verdict::More);
        // Another mix has another mean.
        let mut more = side(960, 10);
        more.push(("draft", false, 100));
        let [a, b] = Sample::of_kinds([side(900, 10), more]);
        assert!(a.variance > 100_000.0 && verdict(&a, &b) == Verdict::Noise, "{a:?}");
        // A last step that is cut off weighs as the others of its kind.
        let mut cut = side(900, 10);
        (cut[19].1, cut[19].2) = (true, 300);
        let [a, _] = Sample::of_kinds([cut, side(960, 20)]);
        let verify = (5.0 * 900.0 + 4.0 * 901.0) / 9.0;
        assert_eq!(a.n, 19);
        assert!((a.mean - (100.5 + verify) / 2.0).abs() < 1e-9, "{a:?}");
        // One step of each kind says nothing of variation within it.
        let each = |by: i64| (0..8).map(|i| (i, false, 100 * i + by)).collect::<Vec<_>>();
        assert_eq!(Sample::of_kinds([each(0), each(5)])[0], Sample::of((0..8).map(|i| 100 * i)));
    }

    #[test]
    fn noise_is_noise() {
        let of = |values: &[i64]| Sample::of(values.iter().copied());
        let steady = of(&[100, 101, 99, 100, 100, 101, 99, 100]);
        let higher = of(&[110, 111, 109, 110, 110, 111, 109, 110]);
        // Within 1%.
        let close = of(&[100, 101, 99, 100, 101, 102, 99, 101]);
        // One slow step is not significant.
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
