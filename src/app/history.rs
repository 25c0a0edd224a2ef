//! What one looks at, behind `#` in the address: Back and Forward lead through it.
//!
//! ```text
//! #tab=m3k9x.2&report=slices&sort=slices/slices:-4&filter=slices/slices:self%3E1ms
//! ```
//! Each change is an entry of the browser's history, but for typing on in the same filter. The address of a tab that is
//! closed, or of an earlier load of the page, leads to the start screen.

use super::browser;
use super::state::{App, Source};
use leptos::prelude::*;
use tracedrop::engine::protocol::TableSpot;
use tracedrop::report::Sort;
use tracedrop::report::view::TableQuery;

/// Changes of one filter that follow each other as quickly are one step back.
const TYPING_MS: f64 = 3_000.0;

/// What shows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Place {
    tab: Option<u32>,
    /// The page on what leaves the browser.
    is_privacy: bool,
    /// `id` of the report; `None` for the first one.
    report: Option<String>,
    tables: Vec<TableSpot>,
}

impl Place {
    fn fragment(&self) -> String {
        let mut parts = Vec::new();
        if self.is_privacy {
            parts.push("privacy".to_string());
        }
        if let Some(tab) = self.tab {
            parts.push(format!("tab={}.{tab}", browser::load_id()));
            if let Some(report) = &self.report {
                parts.push(format!("report={}", browser::encoded(report)));
            }
            for TableSpot { report, table, query, .. } in &self.tables {
                let name = format!("{}/{}", browser::encoded(report), browser::encoded(table));
                if let Some(Sort { column, descending }) = query.sort {
                    parts.push(format!("sort={name}:{}{column}", if descending { "-" } else { "" }));
                }
                if !query.filter.is_empty() {
                    parts.push(format!("filter={name}:{}", browser::encoded(&query.filter)));
                }
            }
        }
        parts.join("&")
    }

    /// `None` of a part of the page, such as `#main`.
    fn parse(fragment: &str) -> Option<Place> {
        let mut place = Place::default();
        let mut is_of_tab = false;
        for part in fragment.split('&') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "privacy" => place.is_privacy = true,
                "tab" => {
                    // Numbers of tabs start anew with each load of the page.
                    let number =
                        value.strip_prefix(&browser::load_id()).and_then(|rest| rest.strip_prefix('.'));
                    place.tab = number.and_then(|number| number.parse().ok());
                    is_of_tab = true;
                }
                "report" => place.report = browser::decoded(value),
                "sort" => {
                    if let Some((query, value)) = place.query(value) {
                        let column = value.strip_prefix('-').unwrap_or(value).parse();
                        query.sort =
                            column.ok().map(|column| Sort { column, descending: value.starts_with('-') });
                    }
                }
                "filter" => {
                    if let Some((query, value)) = place.query(value) {
                        query.filter = browser::decoded(value).unwrap_or_default();
                    }
                }
                _ => {}
            }
        }
        (fragment.is_empty() || is_of_tab || place.is_privacy).then_some(place)
    }

    /// What is asked of the table that a value is about, and the rest of the value.
    fn query<'a>(&mut self, value: &'a str) -> Option<(&mut TableQuery, &'a str)> {
        let (name, value) = value.split_once(':')?;
        let (report, table) = name.split_once('/')?;
        let (report, table) = (browser::decoded(report)?, browser::decoded(table)?);
        let at = self.tables.iter().position(|it| it.report == report && it.table == table);
        let at = at.unwrap_or_else(|| {
            let query = TableQuery::default();
            self.tables.push(TableSpot { report, table, query, chosen: None });
            self.tables.len() - 1
        });
        Some((&mut self.tables[at].query, value))
    }

    /// Whether only the filter of one table is another one.
    fn differs_in_one_filter(&self, other: &Place) -> bool {
        let rest = |place: &Place| (place.tab, place.is_privacy, place.report.clone());
        let without_filters = |place: &Place| {
            let sorts = place.tables.iter().filter_map(|it| Some((&it.report, &it.table, it.query.sort?)));
            sorts.map(|(report, table, sort)| (report.clone(), table.clone(), sort)).collect::<Vec<_>>()
        };
        rest(self) == rest(other) && without_filters(self) == without_filters(other)
    }
}

impl App {
    fn place_now(self) -> Place {
        let is_privacy = self.privacy.get();
        match self.active.get().and_then(|id| self.tab(id)) {
            Some(tab) => Place {
                tab: Some(tab.id),
                is_privacy,
                report: tab.report.get(),
                tables: tab.looks.with(|looks| {
                    let mut looks = looks.clone();
                    looks.sort_by(|a, b| (&a.report, &a.table).cmp(&(&b.report, &b.table)));
                    looks
                }),
            },
            None => Place { is_privacy, ..Place::default() },
        }
    }

    /// The address of a place: that of a link as long as the report shows as it came.
    fn address_of(self, place: &Place) -> String {
        let tab = place.tab.and_then(|id| self.tab(id));
        let link = tab.and_then(|tab| {
            let (report, tables) = tab.as_sent.get_value().unwrap_or_default();
            let is_as_sent = place.report == report && place.tables == tables;
            tab.source.with_value(|source| match source {
                Some(Source::Link(fragment)) if is_as_sent => Some(fragment.clone()),
                _ => None,
            })
        });
        link.unwrap_or_else(|| place.fragment())
    }

    /// Keeps the address in step with what shows, and what shows in step with the address.
    pub fn follow_history(self) {
        let known: StoredValue<(Place, f64)> = StoredValue::new((Place::default(), f64::NEG_INFINITY));
        let shown = Memo::new(move |_| self.place_now());
        Effect::new(move |before: Option<()>| {
            let place = shown.get();
            let (last, filtered_ms) = known.get_value();
            if place == last {
                return;
            }
            let now = browser::now_ms();
            let is_filter = place.differs_in_one_filter(&last);
            known.set_value((place.clone(), if is_filter { now } else { f64::NEG_INFINITY }));
            if before.is_none() {
                return;
            }
            let address = self.address_of(&place);
            if address == browser::fragment() {
                return;
            }
            match is_filter && now - filtered_ms < TYPING_MS {
                true => browser::replace_fragment(&address),
                false => browser::push_fragment(&address),
            }
        });
        browser::on_history(move || {
            let fragment = browser::fragment();
            let place = match self.tab_of_link(&fragment) {
                Some(id) => {
                    let as_sent = self.tab(id).and_then(|tab| tab.as_sent.get_value());
                    let (report, tables) = as_sent.unwrap_or_default();
                    Place { tab: Some(id), is_privacy: false, report, tables }
                }
                None => match Place::parse(&fragment) {
                    Some(place) => place,
                    None => return,
                },
            };
            let tab = place.tab.and_then(|id| self.tab(id));
            let place = match (place.tab, tab) {
                (Some(_), None) => Place::default(),
                _ => place,
            };
            known.set_value((place.clone(), f64::NEG_INFINITY));
            self.show(tab.map(|tab| tab.id));
            if place.is_privacy {
                self.privacy.set(true);
            }
            if let Some(tab) = tab {
                if tab.report.get_untracked() != place.report {
                    tab.report.set(place.report.clone());
                }
                if self.place_now() != place {
                    tab.looks.set(place.tables);
                    tab.gone_to.update(|n| *n += 1);
                }
            }
        });
    }

    /// The open tab with the report of a link.
    pub fn tab_of_link(self, fragment: &str) -> Option<u32> {
        let is_it = |source: &Option<Source>| matches!(source, Some(Source::Link(link)) if link == fragment);
        self.tabs
            .with_untracked(|tabs| tabs.iter().find(|tab| tab.source.with_value(is_it)).map(|tab| tab.id))
    }
}
