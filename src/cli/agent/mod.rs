//! Answers for programs that read text and pay by its length: agents.
//!
//! [`desk`] holds open documents and answers six questions about them; [`mcp`] serves these over the Model Context Protocol, and
//! [`check`] compares a number that someone states with the one in the file. Answers are bounded in bytes, cut at whole rows, and the
//! same for the same file. Each is one of three: an answer, `nothing found`, or `cannot tell, because …`.

pub mod check;
pub mod desk;
mod exports;
pub mod files;
pub mod mcp;
mod text;
mod values;

/// How to use the command without the protocol.
pub const GUIDE: &str = include_str!("guide.md");
