//! Tracedrop reads traces and shows where the time went.
//!
//! ```text
//! bytes → import → Trace → analysis → Report → page and exports
//!                 (columns)          (typed blocks)
//! ```
//!
//! Data flows right only; each stage is a plain function of the one before. The library opens no files, knows no clock and
//! links no browser crate: the native command, the web worker, the fuzz targets and the benchmarks all use the same
//! [`engine::Session`].
//!
//! Modules in reading order: [`base`] (no domain knowledge), [`gpu`] (expected cost of GPU operations), [`trace`] (tables),
//! [`import`] (bytes → tables), [`memory`] (analysis of memory accesses), [`filter`] (text → rows), [`report`] (reports for people), [`analysis`]
//! (tables → reports), [`compare`] (A and B → reports), [`export`] (reports and traces → bytes), [`parquet`] (Parquet files),
//! [`memory_run`] (run directories of memory-access traces), [`memory_config`] (their experiment configurations), [`archive`]
//! (zip archives), [`index`] (everything read from a trace, as a file), [`engine`] (the library as requests and responses).

pub mod analysis;
pub mod archive;
pub mod base;
pub mod compare;
pub mod engine;
pub mod export;
pub mod filter;
pub mod gpu;
pub mod import;
pub mod index;
pub mod memory;
pub mod memory_config;
pub mod memory_run;
pub mod parquet;
pub mod report;
pub mod scene;
pub mod trace;
