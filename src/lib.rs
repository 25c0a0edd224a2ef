//! Tracedrop reads traces and says what is slow.
//!
//! ```text
//! bytes → import → Trace → analysis → Report → page and exports
//!                 (columns)          (typed blocks)
//! ```
//!
//! Data moves right, never left; each stage is a plain function of the one before.
//! The library opens no files, knows no clock and links no browser crate:
//! the native command, the web worker, the fuzz targets and the benches all drive the same [`engine::Session`].
//!
//! Modules in reading order:
//! [`base`] (no domain knowledge), [`gpu`] (what work on a GPU should cost), [`trace`] (the tables), [`import`] (bytes → tables),
//! [`memory`] (what accesses to memory say), [`filter`] (text → which rows), [`report`] (what a person reads), [`analysis`] (tables → reports),
//! [`compare`] (two sides → reports), [`export`] (reports and traces → bytes),
//! [`parquet`] (tables as files), [`memory_run`] (directories with a trace of memory accesses), [`memory_config`] (what plans them),
//! [`archive`] (files in zip archives), [`index`] (what was read as a file of its own), [`engine`] (the library as request and response).

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
