//! Peak rates of GPUs, and the roofline.
//!
//! Peaks are data (`peaks.tsv`), so that users can correct them or add GPUs.

use super::op_work::{Precision, Spec, Unit, Work};
use std::fmt;

/// Builtin table.
pub const BUILTIN: &str = include_str!("peaks.tsv");

/// Column with the memory bandwidth.
const MEMORY: &str = "mem_gb_s";

/// The peaks of one GPU.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Peak {
    /// The pattern that matched its name first.
    pub pattern: String,
    /// Memory bandwidth in GB/s (10⁹ bytes per second), if known.
    pub memory_gb_s: Option<f64>,
    /// TFLOP/s (10¹² per second), if known.
    tflops: Vec<(Spec, f64)>,
    /// Whether custom lines have some of its columns.
    pub is_custom: bool,
    /// Whether the builtin table has some of its columns.
    pub is_builtin: bool,
}

impl Peak {
    /// Peak of one kind of unit in TFLOP/s (10¹² per second); `None` if unknown.
    pub fn tflops(&self, spec: Spec) -> Option<f64> {
        self.tflops.iter().find(|(of, _)| *of == spec).map(|(_, value)| *value)
    }
}

/// Peaks of GPUs. The first pattern that matches a name wins; columns that its line leaves out are those of the next one.
#[derive(Clone, PartialEq, Debug)]
pub struct Peaks {
    custom: Vec<Line>,
    builtin: Vec<Line>,
}

/// One line of a table.
#[derive(Clone, PartialEq, Debug)]
struct Line {
    pattern: String,
    /// GB/s or TFLOP/s of each column that the line has; `None` for `-`.
    values: Vec<(Column, Option<f64>)>,
}

/// Error in a line of peaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeaksError {
    /// Line number, from 1.
    pub line: usize,
    /// Problem.
    pub what: String,
    /// Suggestion.
    pub hint: String,
}

impl fmt::Display for PeaksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.what, self.hint)
    }
}

impl std::error::Error for PeaksError {}

impl Peaks {
    /// Builtin peaks.
    pub fn builtin() -> Peaks {
        // A test parses them strictly.
        Peaks { custom: Vec::new(), builtin: parse(BUILTIN).unwrap_or_default() }
    }

    /// Builtin peaks preceded by those in `text`.
    ///
    /// Fields are tab-separated. A line that starts with `gpu` names the columns that follow: `mem_gb_s` and units such as
    /// `matrix_bf16`. Without one, the columns are those of the builtin table. Empty lines and lines that start with `#` are
    /// ignored; `-` is an unknown number.
    pub fn with(text: &str) -> Result<Peaks, PeaksError> {
        Ok(Peaks { custom: parse(text)?, ..Peaks::builtin() })
    }

    /// The peaks of the GPU of this name, such as `NVIDIA H100 80GB HBM3`.
    pub fn of(&self, gpu: &str) -> Option<Peak> {
        let gpu = gpu.to_ascii_lowercase();
        let words: Vec<&str> = split(&gpu).collect();
        let custom = self.custom.iter().filter(|line| fits(&line.pattern, &words));
        let builtin = self.builtin.iter().filter(|line| is_of(&line.pattern, &words));
        // A builtin line has all columns, so that the first one is the last that matters.
        let mut lines =
            custom.map(|line| (line, true)).chain(builtin.take(1).map(|line| (line, false))).peekable();
        let mut peak = Peak { pattern: lines.peek()?.0.pattern.clone(), ..Peak::default() };
        let mut known: Vec<Column> = Vec::new();
        for (line, is_custom) in lines {
            for (column, value) in &line.values {
                if known.contains(column) {
                    continue;
                }
                known.push(*column);
                match (column, value) {
                    (_, None) => continue,
                    (Column::Memory, value) => peak.memory_gb_s = *value,
                    (Column::Unit(spec), Some(value)) => peak.tflops.push((*spec, *value)),
                }
                peak.is_custom |= is_custom;
                peak.is_builtin |= !is_custom;
            }
        }
        Some(peak)
    }
}

/// Words of a name or pattern.
fn split(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric() && c != '*').filter(|word| !word.is_empty())
}

/// Whether each word of the pattern is among `words`, which are in lower case.
fn fits(pattern: &str, words: &[&str]) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    split(&pattern).all(|wanted| match wanted.strip_suffix('*') {
        Some(start) => words.iter().any(|word| word.starts_with(start)),
        None => words.contains(&wanted),
    })
}

/// Words that make another product of a GPU, with other peaks: `NVIDIA GeForce RTX 4090 Laptop GPU` and `RTX 4090 D` are slower than
/// `RTX 4090`, and a MIG instance (`NVIDIA H100 80GB HBM3 MIG 1g.10gb`) is a part of a GPU. `max` is that of Max-Q, `fhhl` a V100 of
/// half the height.
const OTHER_PRODUCTS: [&str; 9] = ["d", "ti", "super", "laptop", "mobile", "max", "mig", "fhhl", "embedded"];

/// Whether data sheet peaks of the pattern are those of the GPU with these words in its name.
fn is_of(pattern: &str, words: &[&str]) -> bool {
    let is_other = |word: &&str| {
        OTHER_PRODUCTS.contains(word) && !split(pattern).any(|of| of.eq_ignore_ascii_case(word))
    };
    fits(pattern, words) && !words.iter().any(is_other)
}

/// Content of a column.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Column {
    Memory,
    Unit(Spec),
}

fn parse(text: &str) -> Result<Vec<Line>, PeaksError> {
    let mut columns = match BUILTIN.lines().find(|line| is_heading(line)) {
        Some(heading) => parse_heading(heading, 0)?,
        None => Vec::new(),
    };
    let mut gpus = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if is_heading(line) {
            columns = parse_heading(line, number + 1)?;
        } else {
            gpus.push(parse_gpu(line, number + 1, &columns)?);
        }
    }
    Ok(gpus)
}

fn is_heading(line: &str) -> bool {
    line.split('\t').next() == Some("gpu")
}

fn parse_heading(line: &str, number: usize) -> Result<Vec<Column>, PeaksError> {
    let column = |name: &str| match name.trim() {
        MEMORY => Ok(Column::Memory),
        name => Spec::parse(name).map(Column::Unit).ok_or_else(|| PeaksError {
            line: number,
            what: format!("unknown column '{name}'"),
            hint: format!("use columns such as {MEMORY}, matrix_bf16, vector_fp32"),
        }),
    };
    let mut columns: Vec<Column> = Vec::new();
    for name in line.split('\t').skip(1) {
        let column = column(name)?;
        if columns.contains(&column) {
            let what = format!("column '{}' is there twice", name.trim());
            return Err(PeaksError { line: number, what, hint: "keep one of them".to_string() });
        }
        columns.push(column);
    }
    Ok(columns)
}

fn parse_gpu(line: &str, number: usize, columns: &[Column]) -> Result<Line, PeaksError> {
    let mut fields = line.split('\t').map(str::trim);
    let pattern = fields.next().unwrap_or("").to_string();
    let error = |what: String, hint: &str| PeaksError { line: number, what, hint: hint.to_string() };
    if split(&pattern).next().is_none() {
        return Err(error("the GPU has no name".to_string(), "start the line with its name"));
    }
    let values: Vec<&str> = fields.collect();
    if values.len() != columns.len() {
        let what = format!("wrong number of values: expected {}, found {}", columns.len(), values.len());
        return Err(error(what, "separate fields by tabs, and use - for unknown numbers"));
    }
    let number = |value: &str| {
        let parsed = value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        parsed.ok_or_else(|| {
            let what = format!("'{value}' is not a positive number");
            error(what, "use a number such as 989.4, or - if unknown")
        })
    };
    let values = columns.iter().zip(values).map(|(column, value)| match value {
        "-" => Ok((*column, None)),
        value => Ok((*column, Some(number(value)?))),
    });
    Ok(Line { values: values.collect::<Result<_, PeaksError>>()?, pattern })
}

/// Limiting resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Compute,
    Memory,
}

/// Roofline time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Roofline {
    /// Minimum time in nanoseconds.
    pub time_ns: f64,
    /// The limiting resource.
    pub bound: Bound,
    /// `time_ns` as a share of the measured time: 1 is optimal. `None` if that is unknown or 0.
    pub share_of_roofline: Option<f64>,
}

/// Compares an operator that took `duration_ns` with the roofline of `peak`.
///
/// Part C of the specification: Roofline Time = max(flops ÷ peak, bytes ÷ bandwidth), Pct Roofline = that ÷ kernel time.
/// Of operators that only move data, the second is used alone. `None` if the bytes or the bandwidth are unknown, or the peak of the
/// unit that computes and it may be the limit, or if there is nothing to do. Ties are memory-bound.
pub fn roofline(work: &Work, peak: &Peak, duration_ns: Option<f64>) -> Option<Roofline> {
    if work.flops == 0 && work.bytes == Some(0) {
        return None;
    }
    // 1 TFLOP/s is 1000 operations per nanosecond, 1 GB/s is one byte per nanosecond.
    let memory = work.bytes? as f64 / peak.memory_gb_s?;
    let time_at = |tflops: f64| work.flops as f64 / (tflops * 1000.0);
    let compute = match work.spec.and_then(|spec| peak.tflops(spec)) {
        Some(tflops) => time_at(tflops),
        None if work.flops == 0 || work.only_moves => 0.0,
        None => Some(time_at(slowest(work.spec?, peak)?)).filter(|time| *time <= memory)?,
    };
    let (time_ns, bound) = if compute > memory { (compute, Bound::Compute) } else { (memory, Bound::Memory) };
    let share_of_roofline = duration_ns.filter(|took| *took > 0.0).map(|took| time_ns / took);
    Some(Roofline { time_ns, bound, share_of_roofline })
}

/// What a GPU reaches at least in TFLOP/s where the peak of a unit is unknown: numbers of up to 32 bits can be converted, and computed
/// in fp32. `None` for wider ones.
fn slowest(spec: Spec, peak: &Peak) -> Option<f64> {
    match spec.precision {
        Precision::Fp64 | Precision::Int8 => None,
        _ => peak.tflops(Spec { unit: Unit::Vector, precision: Precision::Fp32 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::op_work::Kind;

    #[test]
    fn the_peaks_that_come_along_are_sound() {
        let lines = parse(BUILTIN).unwrap();
        assert!(lines.len() >= 35);
        let columns: Vec<Column> = lines[0].values.iter().map(|(column, _)| *column).collect();
        let peaks = Peaks::builtin();
        for line in &lines {
            assert!(
                line.values.iter().map(|(column, _)| *column).eq(columns.iter().copied()),
                "{}",
                line.pattern
            );
            let gpu = peaks.of(&line.pattern.replace('*', "")).unwrap();
            assert!(gpu.memory_gb_s.is_some(), "{}", gpu.pattern);
            // A number in the wrong column: fewer bits are never slower.
            let of = |precision| gpu.tflops(Spec { unit: Unit::Matrix, precision }).unwrap_or(f64::MAX);
            assert!(of(Precision::Fp32) <= of(Precision::Fp16), "{}", gpu.pattern);
            assert!(of(Precision::Fp16) <= of(Precision::Fp8), "{}", gpu.pattern);
            assert!(of(Precision::Fp8) <= of(Precision::Fp4), "{}", gpu.pattern);
        }
    }

    #[test]
    fn names_as_drivers_report_them() {
        let peaks = Peaks::builtin();
        let names = [
            ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
            ("NVIDIA A100-SXM4-40GB", "A100"),
            ("NVIDIA A100-PCIE-40GB", "A100"),
            ("NVIDIA A100 80GB PCIe", "A100 PCI* 80GB"),
            ("NVIDIA A10", "A10"),
            ("NVIDIA L4", "L4"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("NVIDIA H100 PCIe", "H100 PCI*"),
            ("NVIDIA H100 80GB HBM2e", "H100 HBM2e"),
            ("NVIDIA GH200 480GB", "GH200"),
            ("NVIDIA B200", "B200"),
            ("NVIDIA GB200", "GB200"),
            ("Tesla V100-SXM2-32GB", "V100"),
            ("Tesla V100-PCIE-16GB", "V100 PCI*"),
            ("Tesla T4", "T4"),
            ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
            ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
            ("AMD Instinct MI250X", "MI250X"),
            ("AMD Instinct MI250X / MI250", "MI250X MI250"),
            ("AMD Instinct MI300X VF", "MI300X"),
        ];
        for (name, pattern) in names {
            assert_eq!(peaks.of(name).map(|peak| peak.pattern).as_deref(), Some(pattern), "{name}");
        }
        assert_eq!(peaks.of("Graphcore IPU"), None);
    }

    #[test]
    fn own_peaks_come_first() {
        let peaks = Peaks::with("gpu\tmem_gb_s\tmatrix_bf16\nMine 9\t100\t-\nH100\t1\t2\n").unwrap();
        assert_eq!(peaks.of("mine-9").unwrap().memory_gb_s, Some(100.0));
        assert_eq!(peaks.of("NVIDIA H100").unwrap().memory_gb_s, Some(1.0));
        assert_eq!(peaks.of("NVIDIA H200").unwrap().memory_gb_s, Some(4800.0));
    }

    /// Patterns are split into words as names are.
    #[test]
    fn the_name_of_a_gpu_is_a_pattern() {
        for name in
            ["NVIDIA A100-SXM4-80GB", "Foo-9", "Tesla V100-SXM2-32GB", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"]
        {
            let peaks = Peaks::with(&format!("gpu\tmem_gb_s\n{name}\t1\n")).unwrap();
            assert_eq!(peaks.of(name).unwrap().memory_gb_s, Some(1.0), "{name}");
        }
        let peaks = Peaks::with("gpu\tmem_gb_s\na100-sxm*\t1\n").unwrap();
        assert_eq!(peaks.of("NVIDIA A100-SXM4-80GB").unwrap().memory_gb_s, Some(1.0));
        assert_eq!(peaks.of("NVIDIA A100-PCIE-40GB").unwrap().memory_gb_s, Some(1555.0));
    }

    /// A column that is left out is that of the next line, `-` is not.
    #[test]
    fn own_peaks_replace_columns() {
        let spec = |precision| Spec { unit: Unit::Matrix, precision };
        let peaks = Peaks::with("gpu\tmem_gb_s\tmatrix_fp8\nH100\t1000\t-\n").unwrap();
        let h100 = peaks.of("NVIDIA H100 80GB HBM3").unwrap();
        assert_eq!((h100.memory_gb_s, h100.is_custom, h100.is_builtin), (Some(1000.0), true, true));
        assert_eq!(h100.tflops(spec(Precision::Bf16)), Some(989.4));
        assert_eq!(h100.tflops(spec(Precision::Fp8)), None);
        let peaks = Peaks::with("gpu\tmem_gb_s\nFoo 9\t1000\n").unwrap();
        let foo = peaks.of("Foo 9").unwrap();
        assert_eq!((foo.memory_gb_s, foo.is_custom, foo.is_builtin), (Some(1000.0), true, false));
        assert_eq!(foo.tflops(spec(Precision::Bf16)), None);
        let h100 = peaks.of("NVIDIA H100 80GB HBM3").unwrap();
        assert_eq!((h100.memory_gb_s, h100.is_custom, h100.is_builtin), (Some(3350.0), false, true));
    }

    /// A part of a GPU and a GPU of a laptop are slower than the GPU whose data sheet is known.
    #[test]
    fn other_products_are_unknown() {
        let peaks = Peaks::builtin();
        let others = [
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA GeForce RTX 4090 D",
            "NVIDIA GeForce RTX 5090 Laptop GPU",
            "NVIDIA GeForce RTX 3090 Ti",
            "NVIDIA GeForce RTX 2080 Ti with Max-Q Design",
            "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
            "Tesla V100-FHHL-16GB",
        ];
        for name in others {
            assert_eq!(peaks.of(name), None, "{name}");
        }
        // Custom lines match as they are written.
        let peaks = Peaks::with("gpu\tmem_gb_s\nRTX 4090\t1\n").unwrap();
        let laptop = peaks.of("NVIDIA GeForce RTX 4090 Laptop GPU").unwrap();
        assert_eq!((laptop.memory_gb_s, laptop.is_builtin), (Some(1.0), false));
    }

    #[test]
    fn errors_say_line_cause_and_remedy() {
        let error = |text: &str| Peaks::with(text).unwrap_err().to_string();
        assert_eq!(
            error("# x\ngpu\tmem_gb_s\nA\tfast"),
            "line 3: 'fast' is not a positive number; use a number such as 989.4, or - if unknown"
        );
        assert_eq!(
            error("gpu\tspeed"),
            "line 1: unknown column 'speed'; use columns such as mem_gb_s, matrix_bf16, vector_fp32"
        );
        assert_eq!(
            error("gpu\tmem_gb_s\tmem_gb_s"),
            "line 1: column 'mem_gb_s' is there twice; keep one of them"
        );
        assert!(error("-\t1").contains("has no name"));
        assert!(error("A 1 2").contains("expected 13, found 0; separate fields"));
        assert!(error("\t1").contains("has no name"));
        assert!(error("gpu\tmem_gb_s\nA\tnan").contains("'nan'"));
    }

    #[test]
    fn the_longer_of_two_times() {
        let peaks = Peaks::with("gpu\tmem_gb_s\tmatrix_bf16\nX\t1000\t100").unwrap();
        let peak = &peaks.of("X").unwrap();
        let spec = Spec { unit: Unit::Matrix, precision: Precision::Bf16 };
        let mut work = Work::new(Kind::Gemm, 10_000_000, Some(5_000), Some(spec));
        let best = roofline(&work, peak, Some(200.0)).unwrap();
        assert_eq!((best.time_ns, best.bound, best.share_of_roofline), (100.0, Bound::Compute, Some(0.5)));
        work.bytes = Some(500_000);
        let best = roofline(&work, peak, None).unwrap();
        assert_eq!((best.time_ns, best.bound, best.share_of_roofline), (500.0, Bound::Memory, None));
        assert_eq!(roofline(&work, peak, Some(0.0)).unwrap().share_of_roofline, None);
    }

    /// The peak of the V100's data sheet has no bf16, so a product of 4096³ in it may be limited by either.
    #[test]
    fn what_may_be_the_limit_must_be_known() {
        let peaks = Peaks::builtin();
        let v100 = &peaks.of("Tesla V100-SXM2-16GB").unwrap();
        let spec = |precision| Some(Spec { unit: Unit::Matrix, precision });
        let bytes = 3 * 4096 * 4096 * 2;
        let mut work = Work::new(Kind::Gemm, 2 * 4096 * 4096 * 4096, Some(bytes), spec(Precision::Bf16));
        assert_eq!(roofline(&work, v100, Some(1e6)), None);
        work.spec = None;
        assert_eq!(roofline(&work, v100, Some(1e6)), None);
        work.spec = spec(Precision::Fp16);
        assert_eq!(roofline(&work, v100, Some(1e6)).unwrap().bound, Bound::Compute);
        work.bytes = None;
        assert_eq!(roofline(&work, v100, Some(1e6)), None);
        // One operation per six bytes is limited by memory even at the 15.7 TFLOP/s of fp32.
        let vector = Some(Spec { unit: Unit::Vector, precision: Precision::Bf16 });
        let add = Work::new(Kind::Elementwise, 1_000, Some(6_000), vector);
        assert_eq!(roofline(&add, v100, Some(1e6)).unwrap().bound, Bound::Memory);
        // An empty product has nothing to do.
        let empty = Work::new(Kind::Gemm, 0, Some(0), vector);
        assert_eq!(roofline(&empty, v100, Some(1e6)), None);
        // Copies compute nothing: 900 bytes at 900 GB/s.
        let copy = Work { only_moves: true, ..Work::new(Kind::Elementwise, 225, Some(900), None) };
        let best = roofline(&copy, v100, Some(2.0)).unwrap();
        assert_eq!((best.time_ns, best.bound, best.share_of_roofline), (1.0, Bound::Memory, Some(0.5)));
    }
}
