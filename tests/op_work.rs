//! Cost models of operators, compared with the tables of TraceLens (0.1.0 at 171dd74721ca) row by row.
//! `tests/data/pytorch/golden/tracelens.jsonl` has some of the rows; the full tables are in the collection next to the checkout.

use crate::support::{Random, data_dirs, files, stem};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use tracedrop::gpu::op_args::{ArgTexts, DType, OpArgs};
use tracedrop::gpu::op_category::{self, Categories};
use tracedrop::gpu::op_work::{Kind, Spec, StepTokens, Work, work, work_in_step};
use tracedrop::gpu::peaks::{Bound, Peak, Peaks, roofline};

/// Version that generated the tables, as named in them.
const ARCH: &str = "gpu\tmem_gb_s\tmatrix_fp16\tmatrix_bf16\tmatrix_fp32\tmatrix_fp64\tmatrix_fp8\tmatrix_int8\t\
    vector_fp16\tvector_bf16\tvector_fp32\tvector_fp64\n\
    reference\t5300\t1000\t1000\t160\t80\t2000\t2000\t160\t160\t160\t80\n";

/// The step that the attention of `vllm-mi300-mixed-piecewise` was part of.
const STEP: &str =
    "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)";

/// A row of one of TraceLens' tables.
struct Row {
    file: String,
    sheet: String,
    cells: BTreeMap<String, Value>,
    /// Its possible first kernels.
    kernels: Vec<String>,
}

impl Row {
    /// A cell; some tables append `_first` to column names.
    fn cell(&self, column: &str) -> &Value {
        let first = format!("{column}_first");
        self.cells.get(column).or_else(|| self.cells.get(&first)).unwrap_or(&Value::Null)
    }

    fn number(&self, column: &str) -> Option<f64> {
        self.cell(column).as_f64()
    }

    fn text(&self, column: &str) -> &str {
        self.cell(column).as_str().unwrap_or("")
    }

    fn args(&self) -> OpArgs {
        let text = |column: &str| match self.cell(column) {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let [dims, types, strides, concrete] =
            ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].map(text);
        let texts = ArgTexts {
            dims: Some(dims.as_bytes()),
            types: Some(types.as_bytes()),
            strides: Some(strides.as_bytes()),
            concrete: Some(concrete.as_bytes()),
        };
        OpArgs::parse(&texts).unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {}", self.file, self.sheet, self.text("name"), self.cell("Input Dims"))
    }
}

/// Rows of the tables with costs and categories of operators.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for dir in data_dirs("pytorch") {
        let own = dir.join("golden/tracelens.jsonl");
        if own.is_file() {
            let text = std::fs::read_to_string(own).unwrap();
            rows.extend(text.lines().map(|line| own_row(&serde_json::from_str(line).unwrap())));
        }
        let tables = dir.join("golden/tracelens");
        if tables.is_dir() {
            for path in files(&tables, &[".json"]) {
                let golden: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                rows.extend(rows_of(&stem(&path), &golden));
            }
        }
    }
    rows
}

fn own_row(value: &Value) -> Row {
    let cells = value["cells"].as_object().unwrap();
    Row {
        file: value["file"].as_str().unwrap().to_string(),
        sheet: value["sheet"].as_str().unwrap().to_string(),
        cells: cells.iter().map(|(column, cell)| (column.clone(), cell.clone())).collect(),
        kernels: value["kernels"].as_array().unwrap().iter().map(|k| k.as_str().unwrap().into()).collect(),
    }
}

/// The rows of a sheet, each as its columns.
fn table(sheet: &Value) -> Vec<BTreeMap<String, Value>> {
    let (Some(columns), Some(rows)) = (sheet["columns"].as_array(), sheet["rows"].as_array()) else {
        return Vec::new();
    };
    let cells = |row: &Value| -> BTreeMap<String, Value> {
        let names = columns.iter().map(|column| column.as_str().unwrap().to_string());
        names.zip(row.as_array().unwrap().iter().cloned()).collect()
    };
    rows.iter().map(cells).collect()
}

fn rows_of(file: &str, golden: &Value) -> Vec<Row> {
    let Some(sheets) = golden["sheets"].as_object() else { return Vec::new() };
    let kernels = table(&sheets["kernel_summary"]);
    let mut rows = Vec::new();
    for (sheet, content) in sheets {
        for cells in table(content) {
            let is_about_ops = cells.contains_key("GFLOPS_first") || sheet == "unified_perf_summary";
            if !is_about_ops {
                continue;
            }
            let of_op = kernels.iter().filter(|kernel| kernel.get("Parent cpu_op") == cells.get("name"));
            let kernels = of_op.map(|kernel| kernel["Kernel name"].as_str().unwrap().to_string()).collect();
            rows.push(Row { file: file.to_string(), sheet: sheet.clone(), cells, kernels });
        }
    }
    rows
}

fn work_of(row: &Row, args: &OpArgs) -> Option<Work> {
    let step = StepTokens::parse(STEP).unwrap();
    match row.file.as_str() {
        "vllm-mi300-mixed-piecewise" => work_in_step(row.text("name"), args, &step),
        _ => work(row.text("name"), args),
    }
}

/// Reasons for differences from TraceLens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Why {
    /// It doesn't know the size of booleans.
    SizeOfBool,
    /// It treats bytes as 8-bit floats even in copies.
    BytesAreNoFloats,
    /// It assumes one result element for every reduction, as it expects numbers where there is text.
    OneElementLeft,
    /// It treats the elementwise minimum of two tensors as a reduction of the first.
    PairwiseMinimum,
    /// It counts missing weights, as it takes `[]` for a shape.
    NoWeights,
    /// It treats these gradients as inference, which has none, and omits that of the input.
    TrainingOnly,
    /// It counts the input's gradient, which the mask doesn't request.
    OneGradient,
    /// Its list of operations lacks `cos`, `sin` and `ge`, and it only knows the sizes of `c10::` types there.
    FusedLists,
    /// It writes `vector_bfloat16` for fused kernels, for which it has no peak and thus no roofline.
    FusedSpec,
    /// It reports 0 instead of unknown if the file has no arguments.
    NoArguments,
}

/// Operator, dimensions and reason of each exception.
#[rustfmt::skip]
const EXCEPTIONS: &[(&str, &str, Why)] = &[
    ("aten::copy_", "[[1],[1],[]]", Why::SizeOfBool),
    ("aten::copy_", "[[32],[32],[]]", Why::SizeOfBool),
    ("aten::copy_", "[[46],[46],[]]", Why::SizeOfBool),
    ("aten::copy_", "[[512,512],[512,512],[]]", Why::SizeOfBool),
    ("aten::copy_", "[[16],[16],[]]", Why::BytesAreNoFloats),
    ("aten::mean", "[[1,512,4096],[],[],[]]", Why::OneElementLeft),
    ("aten::mean", "[[10,512,7,7],[],[],[]]", Why::OneElementLeft),
    ("aten::mean", "[[16,559,1024],[],[],[]]", Why::OneElementLeft),
    ("aten::sum", "[[10,1000],[],[],[]]", Why::OneElementLeft),
    ("aten::sum", "[[5,128],[],[],[]]", Why::OneElementLeft),
    ("aten::sum", "[[8,16],[],[],[]]", Why::OneElementLeft),
    ("aten::min", "[[512,512],[512,512]]", Why::PairwiseMinimum),
    ("aten::_fused_rms_norm", "[[8,16,32,32],[],[],[]]", Why::NoWeights),
    ("aten::_fused_rms_norm_backward", "[[8,16,32,32],[8,16,32,32],[],[8,16,1,1],[],[]]", Why::NoWeights),
    ("aten::batch_norm", "[[8,16,32,32],[],[],[16],[16],[],[],[],[]]", Why::NoWeights),
    ("aten::group_norm", "[[8,16,32,32],[],[],[],[],[]]", Why::NoWeights),
    ("aten::instance_norm", "[[8,16,32,32],[],[],[],[],[],[],[],[]]", Why::NoWeights),
    ("aten::layer_norm", "[[8,16,32,32],[],[],[],[],[]]", Why::NoWeights),
    ("aten::native_batch_norm", "[[1,128,32,32],[],[],[],[],[],[],[]]", Why::NoWeights),
    ("aten::native_batch_norm", "[[8,16,32,32],[],[],[16],[16],[],[],[]]", Why::NoWeights),
    ("aten::native_batch_norm_backward", "[[1,128,32,32],[1,128,32,32],[],[],[],[128],[128],[],[],[]]", Why::NoWeights),
    ("aten::native_batch_norm_backward", "[[8,16,32,32],[8,16,32,32],[],[16],[16],[16],[16],[],[],[]]", Why::NoWeights),
    ("aten::native_group_norm_backward", "[[8,16,32,32],[8,16,32,32],[8,4],[8,4],[],[],[],[],[],[]]", Why::NoWeights),
    ("aten::miopen_batch_norm_backward", "[[1,128,32,32],[1,128,32,32],[128],[],[],[128],[128],[]]", Why::TrainingOnly),
    ("aten::miopen_batch_norm_backward", "[[8,16,32,32],[8,16,32,32],[16],[16],[16],[16],[16],[]]", Why::TrainingOnly),
    ("aten::convolution_backward", "[[10,64,112,112],[10,3,224,224],[64,3,7,7],[],[],[],[],[],[],[],[]]", Why::OneGradient),
    ("triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0", "[[888],[888],[888],[],[],[],[],[],[]]", Why::FusedLists),
    ("triton_poi_fused_add_cos_sin_0", "[[10,10],[10,10],[10,10],[]]", Why::FusedLists),
    ("triton_poi_fused__unsafe_view_add_3", "[[8,4096,2048],[8,4096,2048],[32768,2048],[]]", Why::FusedSpec),
    ("triton_poi_fused__unsafe_view_mul_silu_2", "[[8,4096,8192],[32768,8192],[]]", Why::FusedSpec),
    ("triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", "[[8,4096,2048],[32768,2048],[2048],[8,4096,2048],[],[]]", Why::FusedSpec),
    ("triton_red_fused_add_mean_mul_pow_rsqrt_0", "[[8,4096,2048],[2048],[8,4096,2048],[],[]]", Why::FusedSpec),
    ("aten::mean", "null", Why::NoArguments),
    ("aten::sum", "null", Why::NoArguments),
];

fn exception(row: &Row) -> Option<usize> {
    let dims = row.cell("Input Dims").to_string().replace(' ', "");
    EXCEPTIONS.iter().position(|(op, of, why)| {
        *op == row.text("name")
            && *of == dims
            // Copies of this shape are right for other types.
            && (*why != Why::SizeOfBool || row.cell("Input type").to_string().contains("\"bool\""))
            && (*why != Why::BytesAreNoFloats || row.cell("Input type").to_string().contains("unsigned char"))
    })
}

/// TraceLens' value for an exception.
fn theirs(why: Why, row: &Row, args: &OpArgs, ours: Option<Work>) -> Work {
    let mut work = ours.unwrap_or_else(|| Work::new(Kind::Reduction, 0, None, None));
    let n = work.fact("n").unwrap_or(0);
    let size = args.dtype(0).size().unwrap_or(0);
    match why {
        Why::SizeOfBool => work.bytes = None,
        Why::BytesAreNoFloats => work.spec = Spec::parse("vector_fp8"),
        Why::OneElementLeft | Why::PairwiseMinimum => work.bytes = Some((n + 1) * size),
        Why::NoWeights => {
            let mut args = args.clone();
            let weights: &[usize] = match row.text("name") {
                "aten::layer_norm" => &[2, 3],
                "aten::group_norm" | "aten::_fused_rms_norm" | "aten::native_batch_norm_backward" => &[2],
                "aten::native_group_norm_backward" | "aten::_fused_rms_norm_backward" => &[4],
                _ => &[1],
            };
            for weight in weights {
                args.inputs[*weight].dims = vec![1];
            }
            return work_of(row, &args).unwrap();
        }
        Why::TrainingOnly => {
            let c = work.fact("c").unwrap();
            (work.flops, work.bytes) = (4 * n + 3 * c, Some((2 * n + c) * size));
        }
        Why::OneGradient => (work.flops, work.bytes) = (2 * work.flops, work.bytes.map(|bytes| 2 * bytes)),
        Why::FusedLists => {
            let operations = if row.text("name").contains("_cos_sin_") { 1 } else { 4 };
            work.flops = operations * work.fact("x").unwrap();
            (work.bytes, work.spec) = (Some(0), None);
        }
        Why::FusedSpec | Why::NoArguments => {}
    }
    work
}

/// Goldens have nine digits.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

fn assert_close(row: &Row, column: &str, ours: Option<f64>) {
    let golden = row.number(column);
    let same = match (ours, golden) {
        (Some(ours), Some(golden)) => is_close(ours, golden),
        (ours, golden) => ours.is_none() && golden.is_none(),
    };
    assert!(same, "{row}: {column} {ours:?} instead of {golden:?}");
}

/// Checks all columns of a row.
fn check(row: &Row, why: Option<Why>, work: &Work, peak: &Peak) {
    assert_close(row, "GFLOPS", Some(work.flops as f64 / 1e9));
    assert_close(row, "Data Moved (MB)", work.bytes.map(|bytes| bytes as f64 / 1_048_576.0));
    assert_close(row, "FLOPS/Byte", work.intensity());
    let spec = work.spec.map_or(String::new(), |spec| spec.to_string());
    let golden = row.text("Compute Spec");
    if why == Some(Why::FusedSpec) {
        assert_eq!((spec.as_str(), golden), ("vector_bf16", "vector_bfloat16"), "{row}");
        assert!(row.number("Roofline Time (µs)").is_none(), "{row}");
        return;
    }
    assert_eq!(spec, golden, "{row}");
    check_roofline(row, work, peak);
}

/// Without a peak, as for integers, there is no roofline either way; but ours have one of the memory where nothing is computed.
fn check_roofline(row: &Row, work: &Work, peak: &Peak) {
    let once = row.number("operation_count") == Some(1.0) || row.number("name_count") == Some(1.0);
    let took_ns = row.number("Kernel Time (µs)_mean").map(|us| us * 1000.0);
    let best = roofline(work, peak, took_ns);
    let Some(golden) = row.number("Roofline Time (µs)") else {
        let has_peak = work.spec.and_then(|spec| peak.tflops(spec)).is_some();
        let only_moves = work.only_moves || work.flops == 0;
        assert!(!has_peak && best.is_none_or(|best| only_moves && best.bound == Bound::Memory), "{row}");
        return;
    };
    let best = best.unwrap_or_else(|| panic!("{row}: no roofline"));
    assert!(is_close(best.time_ns / 1000.0, golden), "{row}: {} instead of {golden}", best.time_ns / 1000.0);
    let bound = match best.bound {
        Bound::Compute => "COMPUTE_BOUND",
        Bound::Memory => "MEMORY_BOUND",
    };
    assert_eq!(bound, row.text("Roofline Bound"), "{row}");
    if let Some(percent) = row.number("Pct Roofline_mean").filter(|_| once) {
        let ours = best.share_of_roofline.unwrap() * 100.0;
        assert!(is_close(ours, percent), "{row}: {ours}% instead of {percent}%");
    }
}

/// For each file: rows that agree, exceptions, rows where only we have a number, and rows where neither has one.
#[test]
fn operators_cost_what_tracelens_says() {
    let peaks = Peaks::with(ARCH).unwrap();
    let peak = &peaks.of("reference").unwrap();
    let mut met = vec![false; EXCEPTIONS.len()];
    let mut tally: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for row in rows() {
        let args = row.args();
        let ours = work_of(&row, &args);
        let counts = tally.entry(row.file.clone()).or_default();
        if row.number("GFLOPS").is_none() {
            counts[if ours.is_some() { 2 } else { 3 }] += 1;
            continue;
        }
        if let Some(at) = exception(&row) {
            let why = EXCEPTIONS[at].2;
            check(&row, Some(why), &theirs(why, &row, &args, ours), peak);
            met[at] = true;
            counts[1] += 1;
        } else {
            check(&row, None, &ours.unwrap_or_else(|| panic!("{row}: no model")), peak);
            counts[0] += 1;
        }
    }
    for (file, [same, exceptions, ours, nobody]) in &tally {
        println!("{file}: {same} agree, {exceptions} exceptions, {ours} only ours, {nobody} nobody's");
    }
    assert!(tally.values().map(|counts| counts[0]).sum::<usize>() > 100);
    let unmet: Vec<_> = EXCEPTIONS.iter().zip(&met).filter(|(_, met)| !**met).collect();
    assert!(unmet.is_empty(), "no longer exceptions: {unmet:?}");
}

/// Operators unknown to TraceLens.
const BETTER_KNOWN: &[&str] = &["_C::rms_norm", "_C::fused_add_rms_norm", "_C::rotary_embedding"];

#[test]
fn categories_are_those_of_tracelens() {
    let categories = Categories::builtin();
    let mut n = 0;
    for row in rows() {
        let Some(golden) = row.cell("op category").as_str() else { continue };
        // An operator with several kernels has one row per kernel.
        let (op, kernel) = match row.text("name").split_once("->") {
            Some((op, kernel)) => (op, Some(kernel)),
            None => (row.text("name"), None),
        };
        let is_call = op.contains("Launch");
        let kernels = row.kernels.iter().map(String::as_str).chain(kernel).filter(|_| !is_call);
        // The tables don't show which of them came first.
        let mut ours = kernels.map(|kernel| categories.of(op, Some(kernel)));
        let fits = ours.any(|category| category == golden) || categories.of(op, None) == golden;
        if golden == "other" && BETTER_KNOWN.contains(&op) {
            assert!(!fits, "{row}: {op} is no exception");
            continue;
        }
        assert!(fits, "{row}: not {golden}");
        n += 1;
    }
    assert!(n > 100);
    for dir in data_dirs("pytorch").iter().map(|dir| dir.join("golden/tracelens")).filter(|dir| dir.is_dir())
    {
        for path in files(&dir, &[".json"]) {
            let golden: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            for cells in table(&golden["sheets"]["kernel_summary"]) {
                let call = cells.get("Parent cpu_op").and_then(Value::as_str);
                if call.is_some_and(|call| !call.contains("Launch")) {
                    continue;
                }
                if let Some(golden) = cells["Parent op category"].as_str() {
                    assert_eq!(op_category::without_op(call), golden, "{} {call:?}", path.display());
                }
            }
        }
    }
}

/// Arguments as in real files: lists of tensors, scalars, old files with half of the members.
#[test]
fn arguments_of_recordings_are_read() {
    let (mut n_read, mut n_known) = (0, 0);
    for path in data_dirs("pytorch").iter().flat_map(|dir| files(dir, &[".json.gz"])) {
        let packed = std::fs::read(&path).unwrap();
        // The small ones cover everything, and the others take long.
        if packed.len() > 500_000 {
            continue;
        }
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
        let Ok(trace) = serde_json::from_slice::<Value>(&text) else { continue };
        for event in trace["traceEvents"].as_array().into_iter().flatten() {
            if event["args"].get("Input Dims").or_else(|| event["args"].get("Input type")).is_none() {
                continue;
            }
            let texts = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
                .map(|member| event["args"].get(member).map(|value| value.to_string().into_bytes()));
            let [dims, types, strides, concrete] = texts.each_ref().map(|text| text.as_deref());
            let args = OpArgs::parse(&ArgTexts { dims, types, strides, concrete });
            let args = args.unwrap_or_else(|error| panic!("{} {}: {error}", path.display(), event["name"]));
            n_read += 1;
            n_known += usize::from(work(event["name"].as_str().unwrap_or(""), &args).is_some());
        }
    }
    println!("{n_read} read, {n_known} with a model");
    assert!(n_known <= n_read);
}

#[test]
fn arguments_of_any_kind_do_no_harm() {
    let rows = rows();
    let step = StepTokens::parse(STEP).unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let row = &rows[random.below(rows.len() as u64) as usize];
        let other = &rows[random.below(rows.len() as u64) as usize];
        let mut texts = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
            .map(|column| row.cell(column).to_string().into_bytes());
        for text in &mut texts {
            for _ in 0..random.below(3) {
                let at = random.below(text.len() as u64) as usize;
                match random.below(4) {
                    0 => text[at] = b"[]{},\"-.0189eTn\\\xff"[random.below(17) as usize],
                    1 => text.truncate(at),
                    2 => {
                        text.remove(at);
                    }
                    _ => text.insert(at, b"[]9,"[random.below(4) as usize]),
                }
                if text.is_empty() {
                    break;
                }
            }
        }
        let [dims, types, strides, concrete] = texts.each_ref().map(|text| Some(text.as_slice()));
        if let Ok(args) = OpArgs::parse(&ArgTexts { dims, types, strides, concrete }) {
            let _ = work(row.text("name"), &args);
            let _ = work_in_step(other.text("name"), &args, &step);
        }
    }
}

#[test]
fn shapes_of_any_size_do_no_harm() {
    const DIMS: [i64; 12] = [0, 1, 2, 7, 64, 4096, -1, -7, 1 << 31, 1 << 62, i64::MAX, i64::MIN];
    const TEXTS: [&str; 9] = [
        "",
        "0",
        "-1",
        "9223372036854775807",
        "[]",
        "[0, 9223372036854775807]",
        "[-9223372036854775808]",
        "True",
        "[nan, 1e308]",
    ];
    let huge = u64::MAX.to_string();
    let sums = format!("(sq{huge}sk{huge}sqsq{huge}sqsk{huge})");
    let step = StepTokens::parse(&format!("execute_1_context_1{sums}_generation_1{sums}")).unwrap();
    let peaks = Peaks::with(ARCH).unwrap();
    let peak = &peaks.of("reference").unwrap();
    let rows = rows();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..60_000 {
        let row = &rows[random.below(rows.len() as u64) as usize];
        let mut args = row.args();
        for input in &mut args.inputs {
            for dim in &mut input.dims {
                if random.below(3) == 0 {
                    *dim = DIMS[random.below(DIMS.len() as u64) as usize];
                }
            }
            if random.below(6) == 0 {
                input.dims.truncate(random.below(4) as usize);
            }
            if random.below(6) == 0 {
                input.concrete = TEXTS[random.below(TEXTS.len() as u64) as usize].to_string();
            }
            if random.below(12) == 0 {
                input.dtype = [DType::Other, DType::F4x2, DType::Complex128][random.below(3) as usize];
            }
        }
        args.inputs.truncate(args.inputs.len().saturating_sub(random.below(8).saturating_sub(5) as usize));
        for work in [work(row.text("name"), &args), work_in_step(row.text("name"), &args, &step)] {
            let Some(best) = work.and_then(|work| roofline(&work, peak, Some(1.0))) else { continue };
            assert!(best.time_ns.is_finite() && best.time_ns >= 0.0, "{row}");
        }
    }
}
