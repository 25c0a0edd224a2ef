//! `tracedrop mcp`: the Model Context Protocol over standard input and output, one JSON-RPC message a line.
//!
//! A loop and no SDK: the protocol over stdio is five methods, all of them answered at once.

use super::GUIDE;
use super::desk::{Answer, Desk};
use super::exports::Exports;
use super::files::Folders;
use crate::cli::usage;
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Versions of the protocol, the newest first; for these methods they are alike.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Longest message, in bytes: no question is that long.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const NO_SUCH_METHOD: i64 = -32601;
const WRONG_ARGUMENTS: i64 = -32602;

#[derive(Args)]
pub struct McpArgs {
    /// Folders with traces. Nothing outside them is read, and without `--exports` nothing is written.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Let agents save whole tables as new CSV files in this folder.
    #[arg(long, value_name = "FOLDER")]
    exports: Option<PathBuf>,
}

pub fn run(args: &McpArgs) -> io::Result<ExitCode> {
    let folders = match Folders::new(&args.folders) {
        Ok(folders) => folders,
        Err(why) => return Ok(usage(why)),
    };
    let exports = match args.exports.as_deref().map(Exports::new).transpose() {
        Ok(exports) => exports,
        Err(why) => return Ok(usage(format!("--exports {why}; create the folder first"))),
    };
    let mut desk = Desk::new(folders, exports);
    let mut input = io::BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let n_read = io::Read::take(&mut input, MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)?;
        if n_read == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let reply = if line.last() == Some(&b'\n') || (n_read as u64) < MAX_MESSAGE_BYTES {
            reply(&mut desk, &line)
        } else {
            // The rest of it is not a message.
            input.skip_until(b'\n')?;
            Some(error(&Value::Null, INVALID_REQUEST, "the message is too long"))
        };
        if let Some(reply) = reply {
            let mut out = crate::cli::output::stdout();
            writeln!(out, "{reply}")?;
            out.flush()?;
        }
    }
}

/// Reply to a message; none to a notification.
fn reply(desk: &mut Desk, line: &[u8]) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(error(&Value::Null, PARSE_ERROR, "not JSON"));
    };
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        // A reply: this server asks nothing.
        let is_reply = message.get("result").is_some() || message.get("error").is_some();
        return (!is_reply).then(|| error(&Value::Null, INVALID_REQUEST, "not a request"));
    };
    let id = message.get("id")?;
    let nothing = Value::Null;
    let params = message.get("params").unwrap_or(&nothing);
    Some(match method {
        "initialize" => result(id, initialized(params)),
        "ping" => result(id, json!({})),
        "tools/list" => result(id, json!({ "tools": tools(desk.can_save()) })),
        "tools/call" => match params.get("name").and_then(Value::as_str) {
            Some(name) => match call(desk, name, params.get("arguments").unwrap_or(&nothing)) {
                Some(answered) => result(id, answered),
                None => error(
                    id,
                    WRONG_ARGUMENTS,
                    &format!("no tool '{}'", name.chars().take(40).collect::<String>()),
                ),
            },
            None => error(id, WRONG_ARGUMENTS, "the name of the tool is missing"),
        },
        _ => error(id, NO_SUCH_METHOD, "no such method"),
    })
}

fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn initialized(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version =
        asked.and_then(|asked| VERSIONS.iter().find(|version| **version == asked)).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "tracedrop", "title": "Tracedrop", "version": env!("CARGO_PKG_VERSION") },
        "instructions": GUIDE.split("\n## Without the server").next().unwrap_or_default(),
    })
}

/// The tools, as the protocol describes them. Without a folder for exports, all are read-only.
fn tools(can_save: bool) -> Value {
    // Checked by a test.
    let mut tools: Value = serde_json::from_str(include_str!("tools.json")).unwrap_or_default();
    let table = tools.as_array_mut().and_then(|tools| tools.iter_mut().find(|tool| tool["name"] == "table"));
    if let Some(table) = table {
        match can_save {
            true => {
                table["annotations"] =
                    json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false })
            }
            false => {
                let properties = table["inputSchema"]["properties"].as_object_mut();
                properties.and_then(|properties| properties.remove("save_as"));
            }
        }
    }
    tools
}

/// The result of a tool; `None` if there is no such tool.
fn call(desk: &mut Desk, name: &str, arguments: &Value) -> Option<Value> {
    fn with<T: DeserializeOwned>(
        arguments: &Value,
        answer: impl FnOnce(&T) -> Result<Answer, String>,
    ) -> Result<Answer, String> {
        let ask =
            serde_json::from_value(arguments.clone()).map_err(|error| format!("wrong arguments: {error}"))?;
        answer(&ask)
    }
    let answered = match name {
        "open" => with(arguments, |ask| desk.open(ask)),
        "findings" => with(arguments, |ask| desk.findings(ask)),
        "table" => with(arguments, |ask| desk.table(ask)),
        "compare" => with(arguments, |ask| desk.compare(ask)),
        "window" => with(arguments, |ask| desk.window(ask)),
        "explain" => with(arguments, |ask| desk.explain(ask)),
        _ => return None,
    };
    let (text, state) = match &answered {
        Ok(answer) => (answer.text(), answer.state()),
        Err(why) => (format!("wrong question: {why}\n"), "wrong question"),
    };
    Some(json!({
        "content": [{ "type": "text", "text": text }],
        "isError": answered.is_err(),
        "_meta": { "tracedrop/state": state },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_those_that_can_be_called() {
        let tools = tools(false);
        let names: Vec<&str> =
            tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["open", "findings", "table", "compare", "window", "explain"]);
        let mut desk = Desk::new(Folders::none(), None);
        for name in names {
            assert!(call(&mut desk, name, &json!({})).is_some());
        }
        assert!(call(&mut desk, "sh", &json!({})).is_none());
    }

    #[test]
    fn whatever_comes_in_is_answered() {
        let mut desk = Desk::new(Folders::none(), None);
        let mut code =
            |line: &str| reply(&mut desk, line.as_bytes()).map(|reply| reply["error"]["code"].as_i64());
        assert_eq!(code("{"), Some(Some(PARSE_ERROR)));
        assert_eq!(code("[]"), Some(Some(INVALID_REQUEST)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#), Some(Some(NO_SUCH_METHOD)));
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#),
            Some(Some(WRONG_ARGUMENTS))
        );
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Some(None));
    }
}
