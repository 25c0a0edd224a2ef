//! Throughput of our decoders and of the usual crates on the same bytes, in MB of decoded data per second.
//!
//! `cargo run --release --manifest-path benches/crates/Cargo.toml`; takes a quarter of a minute. Names after `--` choose:
//! `-- stacks`. Not part of `make test`.

mod stacks;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::hint::black_box;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracedrop::base::zstd::Decoder;
use tracedrop::memory_config::Config;
use tracedrop::parquet::ParquetFile;

/// Each measurement takes about this long.
const BUDGET: Duration = Duration::from_secs(1);

/// Prints the throughput of the fastest of several runs.
fn measure(name: &str, n_bytes: usize, mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < BUDGET {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    let speed = n_bytes as f64 / 1e6 / best.as_secs_f64();
    println!("{name:42} {speed:9.1} MB/s");
    speed
}

fn ratio(ours: f64, theirs: f64) {
    println!("{:42} {:9.2} ×\n", "ours by theirs", ours / theirs);
}

fn scattered(at: u64) -> u64 {
    at.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40
}

fn zstd() {
    const N: u64 = 1_000_000;
    let numbers = |value: &dyn Fn(u64) -> u64| (0..N).flat_map(|at| value(at).to_le_bytes()).collect::<Vec<u8>>();
    let text = |at| format!("{at} aten::mm_{}\n", scattered(at) % 50).into_bytes();
    let contents = [
        ("times", numbers(&|at| 12_345_000_000_000 + at * 60_000 + scattered(at) % 60 * 1000)),
        ("addresses", numbers(&|at| 0x7f3a_4000_0000 + scattered(at) * 64)),
        ("text", (0..N / 8).flat_map(text).collect()),
    ];
    for (name, content) in contents {
        let packed = compress_to_vec(content.as_slice(), CompressionLevel::Fastest);
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        let ours = measure(&format!("zstd, {name}: base::zstd"), content.len(), || {
            decoder.unpack(&packed, content.len(), &mut out).expect("our own frame");
        });
        assert!(out == content);
        let theirs = measure(&format!("zstd, {name}: ruzstd"), content.len(), || {
            out.clear();
            StreamingDecoder::new(packed.as_slice()).unwrap().read_to_end(&mut out).unwrap();
        });
        assert!(out == content);
        ratio(ours, theirs);
    }
}

/// A table like one of memory accesses: two columns of numbers, one of few distinct texts. Snappy, because the crate's zstd is
/// written in C.
fn parquet() {
    const N: u64 = 1_000_000;
    const SCHEMA: &str = "message accesses { required int64 ns; required int64 address; required binary op (UTF8); }";
    let times: Vec<i64> = (0..N).map(|at| (12_345_000_000_000 + at * 60 + scattered(at) % 60) as i64).collect();
    let addresses: Vec<i64> = (0..N).map(|at| (0x7f3a_4000_0000 + scattered(at) % 50_000 * 64) as i64).collect();
    let ops: Vec<ByteArray> = (0..N).map(|at| ["load", "store", "prefetch"][scattered(at) as usize % 3].into()).collect();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = Vec::new();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in [&times, &addresses] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&ops, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    println!("parquet: {N} rows, {} bytes\n", file.len());

    // As plain values: 8 bytes a number, and the letters of a text.
    let n_bytes = times.len() * 16 + ops.iter().map(ByteArray::len).sum::<usize>();
    let ours = measure("parquet: crate::parquet", n_bytes, || {
        let file = ParquetFile::open(file.as_slice()).unwrap();
        for column in file.read_columns(0, &[0, 1, 2]) {
            black_box(column.unwrap());
        }
    });
    let bytes = bytes::Bytes::from(file.clone());
    let theirs = measure("parquet: the parquet crate", n_bytes, || {
        let reader = SerializedFileReader::new(bytes.clone()).unwrap();
        let group = reader.get_row_group(0).unwrap();
        for column in 0..3 {
            match group.get_column_reader(column).unwrap() {
                ColumnReader::Int64ColumnReader(mut column) => {
                    let mut values = Vec::with_capacity(N as usize);
                    column.read_records(N as usize, None, None, &mut values).unwrap();
                    black_box(values);
                }
                ColumnReader::ByteArrayColumnReader(mut column) => {
                    let mut values = Vec::with_capacity(N as usize);
                    column.read_records(N as usize, None, None, &mut values).unwrap();
                    black_box(values);
                }
                _ => unreachable!("the schema above"),
            }
        }
    });
    ratio(ours, theirs);
}

/// An experiment configuration, one of the corpus's in layout. Ours also checks it.
fn yaml() {
    let models: String = (0..40).map(|n| format!("  - id: model-{n}\n    path: /models/{n}\n    dtype: bf16\n")).collect();
    let text = format!("experiment:\n  name: long\n  repetitions: 3\nmodels:\n{models}generation:\n  context_lengths: [512, 2048]\n");
    let ours = measure("YAML: saphyr-parser, our values and checks", text.len(), || {
        drop(black_box(Config::read(text.as_bytes())));
    });
    let ng = measure("YAML: serde_yaml_ng, its values", text.len(), || {
        black_box(serde_yaml_ng::from_str::<serde_yaml_ng::Value>(&text).unwrap());
    });
    ratio(ours, ng);
    let saphyr = measure("YAML: serde-saphyr, values of serde_json", text.len(), || {
        black_box(serde_saphyr::from_str::<serde_json::Value>(&text).unwrap());
    });
    ratio(ours, saphyr);
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let parts: [(&str, fn()); 4] = [("zstd", zstd), ("parquet", parquet), ("yaml", yaml), ("stacks", stacks::stacks)];
    for (name, run) in parts {
        if named.is_empty() || named.iter().any(|it| it == name) {
            run();
        }
    }
}
