//! Largest changes of a table: the rows that make up the difference of its total.

use super::noise::{MIN_SHARE as LEAST, RULE_OF_REPEATS};
use super::tables::{ByFile, Change, Joined, Total, narrow, ratio};
use super::{percent, shown};
use crate::analysis::mrm;
use crate::base::text::capitalized;
use crate::base::units::{Unit, counted, format_ratio, group_decimal};
use crate::report::chart::{Bars, Part, Plot, Tone};
use crate::report::{Chart, Facts, Finding, Findings, Report, RowsOf, Stakes, Table};

/// `Self: 1.250 ms in A, 1.500 ms in B (+20.0%).`
pub fn summary(joined: &Joined) -> String {
    let Some(total) = joined.totals.first() else { return String::new() };
    let sums = format!(
        "{} in A, {} in B ({}).",
        total.scale().shown(total.a),
        total.scale().shown(total.b),
        percent(total.a as f64, total.b as f64)
    );
    let label = capitalized(&total.label);
    let mut text = match &total.by_file {
        Some(by_file) if total.is_told_by_file() => {
            format!("{} In total: {sums}", for_one_file(by_file, total))
        }
        Some(by_file) => format!("{label}: {sums} {}", for_one_file(by_file, total)),
        None => format!("{label}: {sums}"),
    };
    // A cache with different requests can have the same number of hits.
    if let Some(hits) = joined.totals.iter().find(|total| total.id == "hits")
        && (hits.gained, hits.lost) != (0, 0)
    {
        text.push_str(&format!(
            " {} gained, {} lost.",
            counted(u64::try_from(hits.gained).unwrap_or(u64::MAX), "hit", "hits"),
            hits.scale().shown(hits.lost)
        ));
    }
    text
}

/// `Self per file: 1.250 ms in A, 1.500 ms in B (+20.0%), significant (noise is up to 0.100 ms).`
fn for_one_file(by_file: &ByFile, total: &Total) -> String {
    let [a, b] = &by_file.sides;
    let noise = by_file.noise.map(|noise| total.mean_shown(noise));
    let numbers = format!(
        "{} per file: {} in A, {} in B ({})",
        capitalized(&total.label),
        total.mean_shown(a.mean),
        total.mean_shown(b.mean),
        percent(a.mean, b.mean)
    );
    match noise.filter(|_| by_file.difference() != 0.0) {
        None => format!("{numbers}."),
        Some(noise) if by_file.counts() => format!("{numbers}, significant (noise is up to {noise})."),
        Some(noise) => format!("{numbers}, not significant (noise is up to {noise})."),
    }
}

/// Warning if one side has more files with such tables than the other, of `of` files.
pub fn unlike_groups(n_files: [usize; 2], of: [usize; 2]) -> Option<String> {
    let [a, b] = n_files;
    if a == b || a == 0 || b == 0 {
        return None;
    }
    let files = |side: usize| match n_files[side] {
        n if n == of[side] => counted(n as u64, "file", "files"),
        n => format!("such data in {n} of {}", counted(of[side] as u64, "file", "files")),
    };
    Some(format!(
        "A has {}, B has {}; sums cover all of them. Differences below are per file.",
        files(0),
        files(1),
    ))
}

/// Why a table of one side has no counterpart: only that side has what its amounts are of, or its rows.
pub fn only_on_one_side(like: Option<&Table>, of: &str, side: &str) -> String {
    let title = like.map_or("Table", |table| table.title.split(" by ").next().unwrap_or(&table.title));
    if of.is_empty() {
        return format!("{title}: only {side} has this table, so it is not compared.");
    }
    format!("{title}: only {side} has \u{201c}{of}\u{201d}, so there is nothing to compare it with.")
}

/// Why columns of a table are not compared: only that side has values of them.
pub fn recorded_on_one_side(table: &Table, labels: &[String], side: &str) -> String {
    let labels: Vec<String> = labels.iter().map(|label| format!("\u{201c}{label}\u{201d}")).collect();
    let these = if labels.len() == 1 { "it is" } else { "these are" };
    format!("{}: only {side} has {}, so {these} not compared.", table.title, labels.join(", "))
}

/// Name of a unit in a sentence.
pub fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "counts",
        Unit::Ratio => "shares",
        unit if unit.symbol().is_empty() => "plain numbers",
        unit => unit.symbol(),
    }
}

/// Warnings if only one side counted loads, or stores: a recording counts what its profiler was told to sample, so none may mean
/// that nobody looked.
pub fn not_counted(report: &str, joined: &Joined) -> Vec<String> {
    if report != mrm::INFO.id {
        return Vec::new();
    }
    let warning = |total: &Total| {
        let what = match &*total.id {
            "reads" => "loads",
            "writes" => "stores",
            _ => return None,
        };
        let side = match (total.a, total.b) {
            (0, b) if b > 0 => "A",
            (a, 0) if a > 0 => "B",
            _ => return None,
        };
        Some(format!(
            "{side} has no {what}. If they were not sampled, do not compare reads, writes, or their ratio."
        ))
    };
    joined.totals.iter().filter_map(warning).collect()
}

/// Largest changes, with the rest in one line, so that lines add up to the total difference. `report` will contain the table.
pub fn findings(joined: &Joined, report: &Report) -> Findings {
    let mut out = Findings {
        title: "Largest changes".to_string(),
        empty: format!("No changes in “{}”.", joined.table.title),
        stakes: Stakes::Difference,
        ..Findings::default()
    };
    let Some(total) = joined.totals.first() else { return out };
    let noise = match total.by_file.and_then(|by_file| by_file.noise) {
        Some(_) => RULE_OF_REPEATS,
        None => "Sums don't show run-to-run variation, so small differences may be noise.",
    };
    let told = total.told();
    out.caption = format!(
        "Differences of “{}”{} in table {}; they add up to {}. {noise}",
        total.label,
        if total.is_told_by_file() { " per file" } else { "" },
        joined.table.title,
        total.told_scale().signed(told[1].saturating_sub(told[0]))
    );
    let rows = |filter: &str| {
        Some(RowsOf {
            report: report.id.to_string(),
            table: joined.table.id.to_string(),
            filter: filter.to_string(),
            label: joined.table.title.clone(),
        })
    };
    let mut rest = told.map(|value| value.saturating_sub(joined.unchanged));
    // A change of less than this share of A says nothing by itself.
    let is_large =
        |change: &&Change| ratio(told[0], change.difference()).is_none_or(|share| share.abs() >= LEAST);
    let large: Vec<&Change> = joined.changes.iter().filter(is_large).collect();
    for change in &large {
        rest = [0, 1].map(|side| rest[side].saturating_sub(change.sides[side]));
        out.findings.push(finding(text_of(change, total), change.sides, total, rows(&change.filter)));
    }
    let n_rest = joined.n_changed - large.len() as u64;
    if n_rest > 0 {
        let mut text = match large.len() {
            0 => counted(n_rest, "row", "rows"),
            _ => counted(n_rest, "other row", "other rows"),
        };
        if large.is_empty() && !joined.changes.is_empty() {
            text.push_str(", each with less than 1% of A");
        }
        match joined.n_noise {
            0 => {}
            n_noise if n_noise == n_rest => text.push_str(", within noise"),
            n_noise => text.push_str(&format!(", {n_noise} within noise")),
        }
        match joined.n_steps {
            0 => {}
            n_steps if n_steps == n_rest => text.push_str(", steps that only A or only B has"),
            n_steps => text.push_str(&format!(", {n_steps} steps that only A or only B has")),
        }
        out.findings.push(finding(text, rest, total, rows("")));
    }
    out
}

/// Largest changes as bars. `None` if there are none.
pub fn chart(joined: &Joined) -> Option<Chart> {
    let total = joined.totals.first().filter(|_| !joined.changes.is_empty())?;
    let lines = joined.changes.iter().map(|change| {
        let is_shared = joined.changes.iter().filter(|other| other.label == change.label).count() > 1;
        let name = if is_shared { change.name.join(" · ") } else { change.label.clone() };
        (name, change.difference())
    });
    Some(Chart {
        title: format!("{}: more (▲) and less (▼) in B", capitalized(&total.label)),
        caption: format!(
            "The largest changes{}; see table {}.",
            if total.is_told_by_file() { " per file" } else { "" },
            joined.table.title
        ),
        ..differences_drawn(lines.map(|(name, value)| (name, total.told_scale().number(value))), total.unit)
    })
}

/// Bars of differences: to the right of zero what B has more of, to the left what it has less of. Without a title.
pub(super) fn differences_drawn(lines: impl Iterator<Item = (String, f64)>, unit: Unit) -> Chart {
    let (mut labels, mut more, mut less) = (Vec::new(), Vec::new(), Vec::new());
    for (name, difference) in lines.filter(|line| line.1 != 0.0) {
        labels.push(format!("{} {name}", if difference > 0.0 { "▲" } else { "▼" }));
        more.push(difference.max(0.0));
        less.push(difference.min(0.0));
    }
    Chart {
        id: "differences".into(),
        title: String::new(),
        caption: String::new(),
        plot: Plot::Bars(Bars {
            labels,
            parts: vec![
                Part { name: "▲ more in B".to_string(), tone: Tone::More, values: more },
                Part { name: "▼ less in B".to_string(), tone: Tone::Less, values: less },
            ],
            unit,
            is_strip: false,
            what: "change".to_string(),
        }),
    }
}

fn finding(text: String, sides: [i128; 2], total: &Total, rows: Option<RowsOf>) -> Finding {
    let difference = sides[1].saturating_sub(sides[0]);
    let (is_time, scale) = (total.unit == Unit::Ns, total.told_scale());
    let mut evidence = Facts::new("");
    evidence.push("a", "A", scale.value(sides[0]), total.unit);
    evidence.push("b", "B", scale.value(sides[1]), total.unit);
    Finding {
        id: "difference".to_string(),
        text: if is_time { text } else { format!("{} {text}", scale.signed(difference)) },
        time: is_time.then(|| narrow(scale.number(difference).round() as i128)),
        share: ratio(total.told()[0], difference),
        evidence: evidence.facts,
        rows,
    }
}

/// `parse json.py (same count, self 2.00× longer each)`, `work app.py (25.0% in A, 75.0% in B)`.
fn text_of(change: &Change, total: &Total) -> String {
    let name = change.name.join(" · ");
    let why = match (change.is_in, change.pieces) {
        ([true, false], _) => "only in A".to_string(),
        ([false, true], _) => "only in B".to_string(),
        (_, Some([a, b])) if a > 0 && b > 0 && total.unit == Unit::Ns => {
            let counts = if a == b {
                "same count".to_string()
            } else {
                format!("{}, was {}", shown(b, Unit::Count), shown(a, Unit::Count))
            };
            let mean = |side: usize| total.told_scale().number(change.sides[side]) / [a, b][side] as f64;
            // Of a part of the duration, the change is none of the whole.
            let of = match &*total.id {
                "total" | "time" => "",
                _ => &format!("{} ", total.label),
            };
            format!("{counts}, {of}{}", each(mean(0), mean(1)))
        }
        _ => {
            let share = |value: i128, of: i128| ratio(of, value).map_or("none".to_string(), format_ratio);
            let [a, b] = total.told();
            // Other units say what they count.
            let of = if total.unit == Unit::Count { format!(" of {}", total.label) } else { String::new() };
            format!("{}{of} in A, {} in B", share(change.sides[0], a), share(change.sides[1], b))
        }
    };
    format!("{name} ({why})")
}

/// `2.7× longer each`.
pub(super) fn each(a: f64, b: f64) -> String {
    if a <= 0.0 || b <= 0.0 {
        return "zero duration on one side".to_string();
    }
    let ratio = if b > a { b / a } else { a / b };
    let word = if b > a { "longer" } else { "shorter" };
    match ratio {
        ratio if ratio < 1.005 => "same duration each".to_string(),
        ratio if ratio < 1.1 => format!("{:.1}% {word} each", 100.0 * (b - a).abs() / a),
        ratio if ratio < 100.0 => format!("{ratio:.2}× {word} each"),
        ratio => format!("{}× {word} each", group_decimal(ratio, 0)),
    }
}
