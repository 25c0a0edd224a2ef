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

    /// Samples of one number per step on both sides. Cut steps are left out if that side has others; means weigh kinds with others by
    /// all steps. If each kind has the same share of the steps on both sides, only the variation within the kinds is noise: the
    /// variance is pooled over them, unless fewer than [`MIN_STEPS`] − 1 degrees of freedom remain. Where the same holds for the kinds
    /// on each GPU, a difference between GPUs is no noise either.
    pub fn of_kinds<K: Ord>(sides: [Vec<OfStep<K>>; 2]) -> [Sample; 2] {
        let mut kinds: BTreeMap<K, [OfKind; 2]> = BTreeMap::new();
        for (side, steps) in sides.into_iter().enumerate() {
            for step in steps {
                let of = &mut kinds.entry(step.kind).or_default()[side];
                of.n += 1;
                if step.is_cut { &mut of.cut } else { &mut of.values }.push((step.gpu, step.value));
            }
        }
        for side in [0, 1] {
            let is_any_whole = kinds.values().any(|of| !of[side].values.is_empty());
            for of in kinds.values_mut().map(|of| &mut of[side]).filter(|of| of.values.is_empty()) {
                let cut = std::mem::take(&mut of.cut);
                // What a kind without whole steps takes is unknown.
                if is_any_whole { of.n = 0 } else { of.values = cut }
            }
        }
        kinds.retain(|_, [a, b]| a.n + b.n > 0);
        let n_all = [0, 1].map(|side: usize| kinds.values().map(|of| of[side].n).sum::<usize>());
        let mut samples = [0, 1].map(|side: usize| {
            let all = Sample::of(kinds.values().flat_map(|of| of[side].values()));
            if kinds.len() < 2 {
                return all;
            }
            let weighed = kinds.values().map(|of| of[side].n as f64 * Sample::of(of[side].values()).mean);
            Sample { mean: weighed.sum::<f64>() / n_all[side].max(1) as f64, ..all }
        });
        if kinds.values().any(|[a, b]| a.n * n_all[1] != b.n * n_all[0]) {
            return samples;
        }
        let mut by_gpu: BTreeMap<(usize, u32), [Vec<i64>; 2]> = BTreeMap::new();
        for (kind, of_sides) in kinds.values().enumerate() {
            for (side, of) in of_sides.iter().enumerate() {
                for (gpu, value) in &of.values {
                    by_gpu.entry((kind, *gpu)).or_default()[side].push(*value);
                }
            }
        }
        let n = samples.map(|sample| sample.n);
        let is_same_mix = by_gpu.values().all(|[a, b]| a.len() * n[1] == b.len() * n[0]);
        let by_gpu = by_gpu.into_values().filter(|_| is_same_mix).collect();
        let by_kind =
            kinds.values().map(|of| [0, 1].map(|side: usize| of[side].values().collect())).collect();
        let is_enough =
            |groups: &Vec<[Vec<i64>; 2]>| groups.len() > 1 && n[0].min(n[1]) + 1 >= groups.len() + MIN_STEPS;
        if let Some(groups) = [by_gpu, by_kind].into_iter().find(is_enough) {
            for (side, sample) in samples.iter_mut().enumerate() {
                let within = groups.iter().map(|of| Sample::of(of[side].iter().copied()));
                let squares: f64 = within.map(|of| of.variance * of.n.saturating_sub(1) as f64).sum();
                sample.variance = squares / (sample.n - groups.len()) as f64;
            }
        }
        samples
    }
}

/// One number of a step.
pub struct OfStep<K> {
    /// Steps of one kind do the same: in speculative decoding, steps that draft and steps that verify take turns.
    pub kind: K,
    pub gpu: u32,
    /// Whether it is cut off.
    pub is_cut: bool,
    pub value: i64,
}

/// Steps of a kind on a side.
#[derive(Default)]
struct OfKind {
    /// All of them.
    n: usize,
    /// GPU and value of those that are not cut off, unless there are none.
    values: Vec<(u32, i64)>,
    cut: Vec<(u32, i64)>,
}

impl OfKind {
    fn values(&self) -> impl Iterator<Item = i64> {
        self.values.iter().map(|(_, value)| *value)
    }
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
        let step = |kind, value| OfStep { kind, gpu: 0, is_cut: false, value };
        let side = |verify: i64, n: i64| -> Vec<OfStep<&str>> {
            (0..n).flat_map(|i| [step("draft", 100 + i % 2), step("verify", verify + i % 2)]).collect()
        };
        let [a, b] = Sample::of_kinds([side(900, 10), side(960, 20)]);
        assert_eq!((a.n, b.n, a.mean, b.mean), (20, 40, 500.5, 530.5));
        // Ten values of each kind that are 0.5 from their mean, and 18 degrees of freedom.
        assert!((a.variance - 20.0 * 0.25 / 18.0).abs() < 1e-9, "{a:?}");
        assert_eq!(verdict(&a, &b), Verdict::More);
        // Another mix has another mean.
        let mut more = side(960, 10);
        more.push(step("draft", 100));
        let [a, b] = Sample::of_kinds([side(900, 10), more]);
        assert!(a.variance > 100_000.0 && verdict(&a, &b) == Verdict::Noise, "{a:?}");
        // A last step that is cut off weighs as the others of its kind.
        let mut cut = side(900, 10);
        (cut[19].is_cut, cut[19].value) = (true, 300);
        let [a, _] = Sample::of_kinds([cut, side(960, 20)]);
        let verify = (5.0 * 900.0 + 4.0 * 901.0) / 9.0;
        assert_eq!(a.n, 19);
        assert!((a.mean - (100.5 + verify) / 2.0).abs() < 1e-9, "{a:?}");
        // A last step that is alone of its kind is left out; a last step that is alone is not.
        let all_cut = || vec![OfStep { is_cut: true, ..step("draft", 100) }];
        let mut alone = side(900, 10);
        alone.push(OfStep { is_cut: true, ..step("other", 70) });
        let [a, b] = Sample::of_kinds([alone, all_cut()]);
        assert_eq!((a.n, a.mean, b.n, b.mean), (20, 500.5, 1, 100.0));
        // One step of each kind says nothing of variation within it.
        let number = |kind, value| OfStep { kind, gpu: 0, is_cut: false, value };
        let each = |by: i64| (0..8).map(|i| number(i, 100 * i + by)).collect::<Vec<_>>();
        assert_eq!(Sample::of_kinds([each(0), each(5)])[0], Sample::of((0..8).map(|i| 100 * i)));
    }

    #[test]
    fn gpus_that_differ_are_no_noise() {
        // Six steps on each of two GPUs, GPU 1 takes longer.
        let side = |gpus: [i64; 2], n: i64| -> Vec<OfStep<()>> {
            let gpus = || gpus.into_iter().zip(0..);
            let steps = gpus().flat_map(|(value, gpu)| {
                (0..n).map(move |i| OfStep { kind: (), gpu, is_cut: false, value: value + i % 2 })
            });
            steps.collect()
        };
        let [a, b] = Sample::of_kinds([side([50, 70], 6), side([50, 170], 6)]);
        assert_eq!((a.mean, b.mean), (60.5, 110.5));
        // Six values on each GPU that are 0.5 from their mean, and 10 degrees of freedom.
        assert!((b.variance - 12.0 * 0.25 / 10.0).abs() < 1e-9, "{b:?}");
        assert_eq!(verdict(&a, &b), Verdict::More);
        // GPUs of other shares: what is due to them is not known.
        let mut more = side([50, 170], 6);
        more.push(OfStep { kind: (), gpu: 1, is_cut: false, value: 170 });
        let [a, b] = Sample::of_kinds([side([50, 70], 6), more]);
        assert!(a.variance > 100.0 && b.variance > 3_000.0, "{a:?} {b:?}");
        // One GPU against two.
        let one: Vec<OfStep<()>> = side([50, 70], 6).into_iter().filter(|step| step.gpu == 0).collect();
        let [a, b] = Sample::of_kinds([one, side([50, 170], 6)]);
        assert!((a.variance - 6.0 * 0.25 / 5.0).abs() < 1e-9 && b.variance > 3_000.0, "{a:?} {b:?}");
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
