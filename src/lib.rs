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
//! ```
//! use tracedrop::analysis::Query;
//! use tracedrop::engine::{Session, Shown};
//! use tracedrop::export::{Options, markdown};
//!
//! let trace = br#"[{"name":"step","ph":"X","ts":0,"dur":1500,"pid":1,"tid":1}]"#;
//! let mut session = Session::new("trace.json", trace.len() as u64, None, Query::default());
//! // Chunks of any size, cut anywhere.
//! trace.chunks(16).for_each(|chunk| session.feed(chunk));
//! assert!(session.finish().is_ok());
//!
//! let mut text = Vec::new();
//! session.export(&markdown::INFO, &Options::default(), &mut text)?;
//! assert!(String::from_utf8_lossy(&text).contains("step"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Modules in reading order: [`base`] (no domain knowledge), [`gpu`] (expected cost of GPU operations), [`trace`] (tables),
//! [`import`] (bytes → tables), [`memory`] (analysis of memory accesses), [`stacks`] (sums over weighted stacks), [`filter`] (text → rows), [`report`] (reports for people), [`analysis`]
//! (tables → reports), [`compare`] (A and B → reports), [`export`] (reports and traces → bytes), [`parquet`] (Parquet files), [`sqlite`] (SQLite databases),
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
pub mod sqlite;
pub mod stacks;
pub mod timeline;
pub mod trace;
