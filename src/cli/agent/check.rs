//! `tracedrop check`: compares numbers that someone states with those of the files.

use super::desk::Desk;
use super::files::{Folders, Search};
use crate::cli::usage;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tracedrop::base::units::Unit;
use tracedrop::filter::{CellRef, is_number};
use tracedrop::report::{Value, cell_text};

#[derive(Args)]
pub struct CheckArgs {
    /// Ids and values, as answers have them: '3f2a91c0/gpu-kernels/kernels/1f0c22aa/total=4.103 ms'.
    #[arg(required = true, value_name = "ID=VALUE")]
    claims: Vec<String>,
    /// Files, or folders with the files, searched by content; for files that were opened together, their folder or all of them in
    /// that order.
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
    if let Some(missing) = args.places.iter().find(|place| !place.exists()) {
        return Ok(usage(format!("--in {}: no such file or folder", missing.display())));
    }
    let mut desk = Desk::new(Folders::none(), None);
    let mut search = Search::new(&args.places);
    let mut out = crate::cli::output::stdout();
    let mut all_are_right = true;
    for (id, stated) in claims {
        let line = match value_of(&mut desk, id, &mut search) {
            Ok((value, unit, label)) if is_same(stated, &value, unit) => {
                format!("ok: {id} = {}", cell_text(&value, unit, &label))
            }
            Ok((Value::Missing, ..)) => {
                all_are_right = false;
                format!("wrong: {id} has no value, not {stated}")
            }
            Ok((value, unit, label)) => {
                all_are_right = false;
                let (shown, exact) = (cell_text(&value, unit, &label), value.plain());
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

/// The number of an id, its unit and its label, after opening its file, or the files that are one run.
fn value_of(desk: &mut Desk, id: &str, search: &mut Search<'_>) -> Result<(Value, Unit, String), String> {
    let parts: Vec<&str> = id.split('/').next().unwrap_or_default().split('-').collect();
    let (keys, phase) = match parts[..] {
        [_] | [_, _] => (&parts[..], ""),
        [_, _, phase] => (&parts[..2], phase),
        _ => return Err("a handle has one key, or two for a comparison, with its phase behind".to_string()),
    };
    let mut handles = Vec::new();
    for key in keys {
        let paths = search.with_key(key).ok_or_else(|| {
            format!(
                "no file or folder with the key {key} was found; name it with --in, or with one --in for each file of a run, in \
                 the order they were opened in"
            )
        })?;
        handles.push(desk.read_paths(&paths)?);
    }
    if let [a, b] = &handles[..] {
        desk.open_comparison(a, b, phase)?;
    }
    desk.value(id)
}

/// Whether a stated value equals that of the file: as shown, with or without the sign of a difference, or exactly.
fn is_same(stated: &str, value: &Value, unit: Unit) -> bool {
    // Signs, separators and units as people type them.
    let plain = |text: &str| {
        let text = text.replace(['"', ','], "").replace('\u{2212}', "-").replace(['\u{b5}', '\u{3bc}'], "u");
        text.trim_start_matches(['+', '\u{b1}']).to_string()
    };
    let number = match *value {
        Value::Unsigned(value) => CellRef::Whole(value.into()),
        Value::Integer(value) => CellRef::Whole(value.into()),
        Value::Float(value) => CellRef::Float(value),
        _ => CellRef::Missing,
    };
    let is_text = plain(stated) == plain(&value.display(unit)) || stated.trim_matches('"') == value.plain();
    let stated = plain(stated);
    is_text
        || stated.parse::<f64>().is_ok_and(|stated| value.as_f64() == Some(stated))
        || is_number(&stated, unit, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_right_as_shown_and_exactly_and_with_their_sign() {
        let time = |ns: i64, stated: &str| is_same(stated, &Value::Integer(ns), Unit::Ns);
        // 5000 ns is shown as 5.000 µs, and as +5.000 µs where it is a difference.
        for stated in ["5.000 µs", "+5.000 µs", "5.000 us", "5 us", "0.005 ms", "5000", "5,000", "+5000"] {
            assert!(time(5000, stated), "{stated}");
        }
        for stated in ["−50.00 µs", "-50.00 µs", "-50 us", "-50000"] {
            assert!(time(-50_000, stated), "{stated}");
        }
        assert!(time(0, "±0 ns") && time(0, "0 ns"));
        for stated in ["50.00 µs", "+50.00 µs", "-50.00 ms", "-50", "−50.1 us", "", "–"] {
            assert!(!time(-50_000, stated), "{stated}");
        }
        // 5003 ns is shown as 5.003 µs; a coarser number is neither.
        assert!(!time(5003, "5 us") && time(5003, "5.003 µs"));
        assert!(is_same("33.3%", &Value::Float(1.0 / 3.0), Unit::Ratio));
        assert!(is_same("–", &Value::Missing, Unit::Ns) && !is_same("0 ns", &Value::Missing, Unit::Ns));
        assert!(is_same("\"aten::mm\"", &Value::Text("aten::mm".to_string()), Unit::None));
    }
}
