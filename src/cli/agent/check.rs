//! `tracedrop check`: compares numbers that someone states with those of the files.

use super::desk::Desk;
use super::files::{self, Folders};
use crate::cli::usage;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct CheckArgs {
    /// Ids and values, as answers have them: '3f2a91c0/gpu-kernels/kernels/1f0c22aa/total=4.103 ms'.
    #[arg(required = true, value_name = "ID=VALUE")]
    claims: Vec<String>,
    /// Files, or folders with the files; searched by content.
    #[arg(long = "in", value_name = "PATH", default_value = ".")]
    places: Vec<PathBuf>,
}

pub fn run(args: &CheckArgs) -> io::Result<ExitCode> {
    let mut claims = Vec::new();
    for claim in &args.claims {
        match claim.split_once('=') {
            Some((id, value)) if id.contains('/') => claims.push((id.trim(), value.trim())),
            _ => return Ok(usage(format!("'{claim}' is not ID=VALUE"))),
        }
    }
    let mut desk = Desk::new(Folders::none(), None);
    let mut out = crate::cli::output::stdout();
    let mut all_are_right = true;
    for (id, stated) in claims {
        let line = match value_of(&mut desk, id, &args.places) {
            Ok((shown, exact, number)) if is_same(stated, &shown, &exact, number) => {
                format!("ok: {id} = {shown}")
            }
            Ok((shown, exact, _)) => {
                all_are_right = false;
                let exact = if exact == shown { String::new() } else { format!(" (exactly {exact})") };
                format!("wrong: {id} = {shown}{exact}, not {stated}")
            }
            Err(why) => {
                all_are_right = false;
                format!("cannot tell, because {why}: {id}")
            }
        };
        writeln!(out, "{line}")?;
    }
    Ok(if all_are_right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The number of an id, after opening its file.
fn value_of(desk: &mut Desk, id: &str, places: &[PathBuf]) -> Result<(String, String, Option<f64>), String> {
    let handle = id.split('/').next().unwrap_or_default();
    let mut handles = Vec::new();
    for key in handle.split('-') {
        let path = files::with_key(places, key)
            .ok_or_else(|| format!("no file with the key {key} was found; see --in"))?;
        handles.push(desk.read_paths(&[path], false)?);
    }
    match &handles[..] {
        [_] => {}
        [a, b] => desk.open_comparison(a, b)?,
        _ => return Err("a handle has one key, or two for a comparison".to_string()),
    }
    desk.value(id)
}

/// Whether a stated value equals that of the file, as shown or exactly.
fn is_same(stated: &str, shown: &str, exact: &str, number: Option<f64>) -> bool {
    let plain = |text: &str| text.replace([',', '\u{2212}'], "").replace('"', "");
    let is_text = plain(stated) == plain(shown) || stated.trim_matches('"') == exact;
    let stated = stated.replace(',', "").replace('\u{2212}', "-");
    is_text || stated.parse::<f64>().is_ok_and(|stated| number == Some(stated))
}
