//! Places in the fragment of the address.
//!
//! ```text
//! #tab=m3k9x.2&report=slices&sort=slices/slices:-4&filter=slices/slices:self%3E1ms&rows=slices/slices:0,4-9
//! ```
//! `flame=` is how the flame graph is looked at, see [`super::flame_look`]. `time=` is what is in view in the timeline, `event=` and `stretch=` what is selected in it, `find=` what is searched for there, `tracks=` which tracks show, `pinned=` and `folds=` those at the top and those that are folded or open unlike at first.
//! `file=` is the file whose parts show in reports on several, nothing behind it stands for all.
//! `columns=` lists the chosen columns of a table, `show=` says how its amounts are shown, `search=` is the text of the search over
//! everything.

use super::flame_look;
use super::{Place, RowSet, TabView, TableLook, TableName, TimelineLook};
use std::fmt::Write as _;
use tracedrop::engine::protocol::ColorBy;
use tracedrop::report::{Amounts, Sort};

impl Place {
    /// Numbers of tabs start anew with each load of the page, which `load` tells from others.
    pub fn fragment(&self, load: &str) -> String {
        let mut parts = Vec::new();
        if self.is_privacy {
            parts.push("privacy".to_string());
        }
        if let Some(tab) = &self.tab {
            parts.push(format!("tab={load}.{}", tab.id));
            if let Some(report) = &tab.report {
                parts.push(format!("report={}", encoded(report)));
            }
            if let Some(file) = &tab.file {
                parts.push(format!("file={}", encoded(file)));
            }
            if let Some(look) = &tab.timeline {
                let TimelineLook { view, selected, stretch, search, tracks, pinned, color_by, folds } = look;
                parts.push(format!("time={}-{}", view.0, view.1));
                parts.extend(selected.map(|(part, id)| format!("event={part}-{id}")));
                parts.extend(stretch.map(|(from, to)| format!("stretch={from}-{to}")));
                if !search.is_empty() {
                    parts.push(format!("find={}", encoded(search)));
                }
                if !tracks.is_empty() {
                    parts.push(format!("tracks={}", encoded(tracks)));
                }
                parts.extend(numbers("pinned", pinned));
                if *color_by != ColorBy::default() {
                    parts.push(format!("colors={}", color_by.id()));
                }
                parts.extend(numbers("folds", folds));
            }
            let flame = flame_look::to_text(&tab.flame);
            if !flame.is_empty() {
                parts.push(format!("flame={flame}"));
            }
            for TableLook { name, query, columns, rows, amounts } in &tab.tables {
                let name = format!("{}/{}", encoded(&name.report), encoded(&name.table));
                if let Some(Sort { column, descending }) = query.sort {
                    parts.push(format!("sort={name}:{}{column}", if descending { "-" } else { "" }));
                }
                if !query.filter.is_empty() {
                    parts.push(format!("filter={name}:{}", encoded(&query.filter)));
                }
                if let Some(columns) = columns {
                    let columns: Vec<String> = columns.iter().map(|id| encoded(id)).collect();
                    parts.push(format!("columns={name}:{}", columns.join(",")));
                }
                if *amounts != Amounts::Absolute {
                    parts.push(format!("show={name}:{}", amounts.id()));
                }
                if !rows.is_empty() {
                    parts.push(format!("rows={name}:{}", rows.to_text()));
                }
            }
        }
        if let Some(text) = &self.search {
            parts.push(format!("search={}", encoded(text)));
        }
        parts.join("&")
    }

    /// `None` of a part of the page, such as `#main`. A tab of another load of the page is the start screen.
    pub fn parse(fragment: &str, load: &str) -> Option<Place> {
        let mut place = Place::default();
        let mut tab = TabView::default();
        let mut id = None;
        let mut is_place = fragment.is_empty();
        for part in fragment.split('&') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "privacy" => place.is_privacy = true,
                "tab" => {
                    let number = value.strip_prefix(load).and_then(|rest| rest.strip_prefix('.'));
                    id = number.and_then(|number| number.parse().ok());
                }
                "search" => place.search = decoded(value),
                "report" => tab.report = decoded(value),
                "file" => tab.file = decoded(value),
                "flame" => tab.flame = flame_look::parse(value),
                "time" => {
                    if let Some(view) = pair(value) {
                        tab.timeline.get_or_insert_default().view = view;
                    }
                }
                // These follow the view.
                "event" => {
                    if let Some(look) = &mut tab.timeline {
                        look.selected = pair(value);
                    }
                }
                "stretch" => {
                    if let Some(look) = &mut tab.timeline {
                        look.stretch = pair(value);
                    }
                }
                "find" => {
                    if let Some(look) = &mut tab.timeline {
                        look.search = decoded(value).unwrap_or_default();
                    }
                }
                "colors" => {
                    if let Some(look) = &mut tab.timeline {
                        look.color_by =
                            ColorBy::ALL.into_iter().find(|by| by.id() == value).unwrap_or_default();
                    }
                }
                "tracks" | "pinned" | "folds" => {
                    let list = || value.split(',').filter_map(|number| number.parse().ok()).collect();
                    match (&mut tab.timeline, name) {
                        (Some(look), "tracks") => look.tracks = decoded(value).unwrap_or_default(),
                        (Some(look), "pinned") => look.pinned = list(),
                        (Some(look), _) => look.folds = list(),
                        (None, _) => {}
                    }
                }
                "sort" | "filter" | "columns" | "show" | "rows" => read_table(&mut tab, name, value),
                _ => continue,
            }
            is_place |= matches!(name, "privacy" | "tab" | "search");
        }
        place.tab = id.map(|id| TabView { id, ..tab });
        is_place.then_some(place)
    }
}

/// `pinned=4,7`; nothing of an empty list.
fn numbers(name: &str, list: &[u32]) -> Option<String> {
    let list: Vec<String> = list.iter().map(u32::to_string).collect();
    (!list.is_empty()).then(|| format!("{name}={}", list.join(",")))
}

/// Two numbers with a hyphen.
fn pair<T: std::str::FromStr>(text: &str) -> Option<(T, T)> {
    let (a, b) = text.split_once('-')?;
    Some((a.parse().ok()?, b.parse().ok()?))
}

/// Reads `report/table:value`; what cannot be read stays as by default.
fn read_table(tab: &mut TabView, part: &str, text: &str) {
    let Some((name, value)) = text.split_once(':') else { return };
    let Some((report, table)) = name.split_once('/') else { return };
    let (Some(report), Some(table)) = (decoded(report), decoded(table)) else { return };
    tab.change(&TableName { report, table }, |look| match part {
        "sort" => {
            let column = value.strip_prefix('-').unwrap_or(value).parse().ok();
            look.query.sort = column.map(|column| Sort { column, descending: value.starts_with('-') });
        }
        "filter" => look.query.filter = decoded(value).unwrap_or_default(),
        "columns" => {
            let columns: Option<Vec<String>> = value.split(',').map(decoded).collect();
            look.columns = columns.filter(|columns| columns.iter().all(|id| !id.is_empty()));
        }
        "show" => look.amounts = Amounts::from_id(value).unwrap_or_default(),
        _ => look.rows = RowSet::parse(value),
    });
}

/// Text as it stands in a part of an address, as by `encodeURIComponent`.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte.into()),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => out.push(byte.into()),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// `None` of what no program has encoded.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'%' => {
                let (digits, after) = after.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}
