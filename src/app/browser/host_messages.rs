//! Messages of an embedded page and its host, version 1. `docs/embed.md` describes them, `embed/trace-drop.d.ts` has their
//! types for scripts: change all three together.

use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

/// Version of the messages, part of each message.
pub const VERSION: u32 = 1;

/// Message to the host.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ToHost {
    /// The frame listens.
    Ready { version: String, build: String },
    /// Height of the content in pixels.
    Height { height: f64 },
    /// A trace was parsed.
    Read { name: String, reports: Vec<ReportName> },
    /// Limits were checked.
    Limits { state: Verdict, limits: Vec<CheckedLimit> },
    /// A message, a trace or a limit is invalid.
    Problem { what: String, hint: String },
}

#[derive(Clone, Debug, Serialize)]
pub struct ReportName {
    pub id: String,
    pub title: String,
}

/// Color of the badge.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Green,
    Red,
}

#[derive(Clone, Debug, Serialize)]
pub struct CheckedLimit {
    /// As the host wrote it.
    pub limit: String,
    pub state: LimitState,
    pub words: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitState {
    /// Not exceeded.
    Kept,
    /// Exceeded.
    Passed,
    /// Cannot be checked.
    Unknown,
}

/// What makes an object a message: without it, the message is for others.
#[derive(Deserialize)]
pub struct Addressed {
    pub tracedrop: f64,
}

#[derive(Deserialize)]
pub struct Typed {
    #[serde(rename = "type")]
    pub kind: String,
}

/// Message `open`.
#[derive(Deserialize)]
pub struct Open {
    pub files: Vec<GivenFile>,
}

#[derive(Deserialize)]
pub struct GivenFile {
    pub name: String,
    /// A Blob, an ArrayBuffer, a view of one, or a string.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub data: JsValue,
}

/// Message `report`; no text shows all reports.
#[derive(Deserialize, Default)]
pub struct ShowReport {
    pub report: Option<String>,
}

/// Message `theme`.
#[derive(Deserialize)]
pub struct ShowTheme {
    pub theme: String,
}

/// Message `limits`.
#[derive(Deserialize)]
pub struct CheckLimits {
    pub limits: String,
}
