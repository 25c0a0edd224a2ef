//! One search over everything: commands, reports, findings, and the rows of all tables, which the browser's own search cannot see.

use super::document::{Entry, entries_of};
use super::timeline::TIMELINE;
use crate::app::browser;
use crate::app::client::Answer;
use crate::app::erased::effect;
use crate::app::shortcuts;
use crate::app::state::{App, Tab, app};
use crate::app::view_state::Action;
use crate::app::widgets::{Dialog, Icon, SearchField, Shape};
use crate::app::words::{KeyGroup, words};
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use tracedrop::base::{sort, text};
use tracedrop::engine::protocol::{BlockView, DocumentView, Request, SearchHits};
use tracedrop::report::RowsOf;

/// Typing pauses this long before the worker is asked.
const TYPING_MS: u32 = 120;
/// Hits of a group that are neither rows nor reports.
const MAX_HITS: usize = 8;
const HITS: &str = "[role=option]";

/// Where a hit leads.
#[derive(Clone)]
enum Way {
    /// A key, and whether it is the timeline's.
    Command(&'static str, bool),
    Tab(u32),
    Report(String),
    /// A report, and the text of one of its findings.
    Finding(String, String),
    Rows(RowsOf),
}

#[derive(Clone)]
struct Hit {
    label: String,
    detail: String,
    way: Way,
}

#[derive(Clone)]
struct HitGroup {
    title: String,
    hits: Vec<Hit>,
}

/// The button that opens it, for the bar of a file.
#[component]
pub fn SearchButton() -> impl IntoView {
    let app = app();
    view! {
        <button type="button" class="button search-open" on:click=move |_| app.open_search()>
            <Icon shape=Shape::Search />
            <span>{words().search.open}</span>
            <kbd aria-hidden="true">{words().search.key}</kbd>
        </button>
    }
}

#[component]
pub fn SearchDialog() -> impl IntoView {
    let app = app();
    let typed = RwSignal::new(String::new());
    let found = RwSignal::new(Vec::<SearchHits>::new());
    let pause = browser::Pause::new();
    let list = NodeRef::<html::Div>::new();
    let field = NodeRef::<html::Input>::new();
    // One search at a time: a worker gets no queue of what nobody wants any more.
    let is_asked = StoredValue::new(false);
    let ask = StoredValue::new(None::<Callback<()>>);
    effect(move || {
        if app.search.get() {
            // Back may lead to a search.
            let text = app.view.with_untracked(|view| view.search.clone()).unwrap_or_default();
            let is_asked_again = !text.is_empty();
            typed.set(text);
            found.set(Vec::new());
            if let (true, Some(ask)) = (is_asked_again, ask.get_value()) {
                ask.run(());
            }
            browser::after(0, move || {
                if let Some(field) = field.try_get_untracked().flatten() {
                    let _ = field.focus();
                }
            });
        }
    });
    ask.set_value(Some(Callback::new(move |()| {
        let text = typed.get_untracked();
        let Some(tab) = app.active_tab().filter(|_| !is_asked.get_value() && !text.trim().is_empty()) else {
            return;
        };
        is_asked.set_value(true);
        let asked = text.clone();
        tab.ask(
            move |ticket| Request::Search { ticket, text },
            move |answer| {
                is_asked.set_value(false);
                if let Answer::Searched(hits) = answer {
                    found.set(hits);
                }
                if typed.with_untracked(|typed| *typed != asked)
                    && let Some(ask) = ask.get_value()
                {
                    ask.run(());
                }
            },
        );
    })));
    let search = move |text: String| {
        typed.set(text);
        pause.start(TYPING_MS, move || {
            if app.search.get_untracked()
                && let Some(ask) = ask.get_value()
            {
                app.act(Action::Search(Some(typed.get_untracked())));
                ask.run(());
            }
        });
    };
    let groups = Memo::new_with_compare(
        move |_| if app.search.get() { groups(app, &typed.get(), &found.get()) } else { Vec::new() },
        |_, _| true,
    );
    let go = move |way: Way| {
        app.close_search();
        browser::after(0, move || follow(app, way));
    };
    let move_focus = move |step: i32| {
        if let Some(list) = list.get_untracked() {
            browser::focus_sibling(&list, HITS, step);
        }
    };
    let first =
        move || groups.with_untracked(|groups| groups.iter().flat_map(|group| &group.hits).next().cloned());
    let press = move |event: KeyboardEvent| match event.key().as_str() {
        "ArrowDown" => {
            event.prevent_default();
            move_focus(i32::MIN);
        }
        // The browser would only empty the field.
        "Escape" => {
            event.prevent_default();
            app.close_search();
        }
        "Enter" => {
            event.prevent_default();
            if let Some(hit) = first() {
                go(hit.way);
            }
        }
        _ => {}
    };
    view! {
        <Dialog
            open=app.search
            on_close=move |_: ()| app.close_search()
            title_id="search-title"
            title=Signal::stored(words().search.title.to_string())
            class="search-dialog"
        >
            <SearchField
                label=Signal::stored(words().search.title.to_string())
                placeholder=words().search.placeholder
                text=typed
                on_text=search
                on_key=press
                class="search-field"
                node_ref=field
            />
            <div
                class="search-hits"
                role="listbox"
                aria-label=words().search.hits
                node_ref=list
                on:keydown=move |event| {
                    match event.key().as_str() {
                        "ArrowDown" => move_focus(1),
                        "ArrowUp" => move_focus(-1),
                        _ => return,
                    }
                    event.prevent_default();
                }
            >
                {move || {
                    groups
                        .get()
                        .into_iter()
                        .map(|HitGroup { title, hits }| {
                            let label = title.clone();
                            view! {
                                <div role="group" aria-label=label>
                                    <p class="search-group" aria-hidden="true">{title}</p>
                                    {hits
                                        .into_iter()
                                        .map(|Hit { label, detail, way }| {
                                            view! {
                                                <button
                                                    type="button"
                                                    class="search-hit"
                                                    role="option"
                                                    aria-selected="false"
                                                    tabindex="-1"
                                                    on:click=move |_| go(way.clone())
                                                >
                                                    <bdi class="search-label">{label}</bdi>
                                                    <span class="search-detail">{detail}</span>
                                                </button>
                                            }
                                        })
                                        .collect_view()}
                                </div>
                            }
                        })
                        .collect_view()
                }}
            </div>
            <p class="hint" role="status">
                {move || groups.with(Vec::is_empty).then_some(words().search.nothing)}
            </p>
        </Dialog>
    }
}

fn follow(app: App, way: Way) {
    match way {
        Way::Command(key, is_of_timeline) => shortcuts::run(app, key, is_of_timeline),
        Way::Tab(id) => app.show(Some(id)),
        Way::Report(id) => match app.active_tab() {
            Some(tab) if id == TIMELINE => tab.go_to_timeline(),
            Some(tab) => tab.show_report(Some(id)),
            None => {}
        },
        Way::Finding(report, text) => {
            if let Some(tab) = app.active_tab() {
                tab.show_report(Some(report));
                tab.led_to_finding.set(Some(text));
            }
        }
        Way::Rows(rows) => {
            if let Some(tab) = app.active_tab() {
                tab.lead_to(rows);
            }
        }
    }
}

/// Hits by group: rows by their report, then findings, reports, open files, commands.
fn groups(app: App, typed: &str, found: &[SearchHits]) -> Vec<HitGroup> {
    let wanted: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
    let fits = |text: &str| {
        let text = text.to_lowercase();
        wanted.iter().all(|word| text.contains(word.as_str()))
    };
    let tab = app.active_tab();
    let mut groups = Vec::new();
    let mut add = |title: &str, hits: Vec<Hit>| {
        if !hits.is_empty() {
            groups.push(HitGroup { title: title.to_string(), hits });
        }
    };
    add(words().search.reports, reports(tab, &fits));
    if !wanted.is_empty() {
        add(words().search.findings, findings(tab, &fits));
        let document = tab.and_then(|tab| tab.document.get_untracked());
        let mut found: Vec<&SearchHits> = found.iter().collect();
        sort::by_key(&mut found, |hits| rank(document.as_deref(), typed, hits));
        for hits in found {
            let rows = |(label, filter): &(String, String)| Hit {
                label: text::visible(label),
                detail: String::new(),
                way: Way::Rows(rows_of(hits, filter)),
            };
            let mut list: Vec<Hit> = hits.rows.iter().map(rows).collect();
            if hits.n_matching > list.len() as u64 {
                list.push(Hit {
                    label: (words().search.all_rows)(hits.n_matching),
                    detail: String::new(),
                    way: Way::Rows(rows_of(hits, typed)),
                });
            }
            add(&format!("{} › {}", hits.report_title, hits.table_title), list);
        }
    }
    let tabs = app.tabs.get_untracked().into_iter().filter(|other| Some(other.id) != tab.map(|tab| tab.id));
    let tabs = tabs.filter(|tab| fits(&tab.name.get_untracked()));
    let of_tab =
        |tab: Tab| Hit { label: tab.name.get_untracked(), detail: String::new(), way: Way::Tab(tab.id) };
    add(words().search.files, tabs.map(of_tab).take(MAX_HITS).collect());
    let can_use = |group: &&KeyGroup| !group.is_of_timeline || shortcuts::shows_timeline();
    let commands = words().keys.keys.iter().filter(can_use).flat_map(|group| {
        group.keys.iter().filter_map(|(keys, what)| match keys {
            [key] if key.chars().count() == 1 && fits(what) => Some(Hit {
                label: (*what).to_string(),
                detail: (*key).to_string(),
                way: Way::Command(key, group.is_of_timeline),
            }),
            _ => None,
        })
    });
    add(words().search.commands, commands.take(MAX_HITS).collect());
    groups
}

/// Place of a table among those with hits: a row of this very name first, then tables of kernels, functions and other names, then
/// those that divide them further.
fn rank(document: Option<&DocumentView>, typed: &str, hits: &SearchHits) -> u8 {
    let is_it = |(label, _): &(String, String)| label.to_lowercase() == typed.trim().to_lowercase();
    let table = document.and_then(|document| document.table(&hits.report, &hits.table));
    let has_names =
        || table.is_some_and(|table| table.columns.iter().any(|column| column.key && column.is_symbol));
    match hits.rows.iter().any(is_it) {
        true => 0,
        false if has_names() => 1,
        false => 2,
    }
}

fn rows_of(hits: &SearchHits, filter: &str) -> RowsOf {
    RowsOf {
        report: hits.report.clone(),
        table: hits.table.clone(),
        filter: filter.to_string(),
        label: String::new(),
    }
}

fn reports(tab: Option<Tab>, fits: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    let entries =
        untrack(|| tab.and_then(|tab| Some(entries_of(tab, tab.document.get_untracked()?.as_ref()))));
    let hit = |entry: Entry| Hit { label: entry.title, detail: String::new(), way: Way::Report(entry.id) };
    entries.into_iter().flatten().filter(|entry| fits(&entry.title)).map(hit).collect()
}

fn findings(tab: Option<Tab>, fits: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    let document = tab.and_then(|tab| tab.document.get_untracked());
    let mut hits = Vec::new();
    for report in document.iter().flat_map(|document| &document.reports) {
        for block in &report.blocks {
            let BlockView::Findings(findings) = block else { continue };
            for finding in findings.findings.iter().filter(|finding| fits(&finding.text)) {
                hits.push(Hit {
                    // Marks of names are for prose.
                    label: text::visible(&finding.text).replace('`', ""),
                    detail: String::new(),
                    way: Way::Finding(report.id.clone(), finding.text.clone()),
                });
            }
        }
    }
    hits.truncate(MAX_HITS);
    hits
}
