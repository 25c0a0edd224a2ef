//! A file's reports.

use super::file_choice::{FileChoice, Parts};
use super::{FileCard, LinkCard, MomentChoice, SidesCard, choose_moment};
use crate::app::blocks::{ChartBlock, FactsBlock, FindingsBlock, Judgements, NoteBlock, TableBlock};
use crate::app::browser;
use crate::app::custom_rules::CustomRules;
use crate::app::erased::{For, Show, effect, memo};
use crate::app::screens::{
    CustomRulesEditor, FLAME, FlameScreen, Inspector, LoadStrip, MemorySettings, NoteDialog, NotesPanel,
    PairScreen, TIMELINE, TimelineScreen,
};
use crate::app::state::{Phase, Tab};
use crate::app::widgets::{InTurn, Turn, prose};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::analysis::{Group, Query};
use tracedrop::base::sort;
use tracedrop::engine::protocol::{BlockView, DocumentView, ReportView};
use tracedrop::report::Facts;
use tracedrop::report::of_file::{file_of_title, titled};

/// Lengths of "slowest" and "longest" lists to choose from.
const TOPS: [u32; 4] = [10, 25, 100, 1000];

/// The first report on stack profiles.
const STACKS: &str = "stack-functions";
/// The report that accesses to memory are labelled for.
const MEMORY: &str = "mrm";
/// `id` of the report on a memory snapshot.
const MEMORY_SNAPSHOT: &str = "memory-snapshot";

type Document = Memo<Option<Arc<DocumentView>>>;
/// The document as a block shows it: those that are not on the screen are brought up to date later.
type Seen = Signal<Option<Arc<DocumentView>>>;

/// Where a document is from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Compared,
    Linked,
}

#[component]
pub fn DocumentScreen(tab: Tab) -> impl IntoView {
    let document: Document = memo(move || tab.document.get());
    let reports = memo(move || {
        document
            .with(|document| document.as_ref().map_or_else(Vec::new, |document| entries_of(tab, document)))
    });
    // Where nothing is chosen: the first one. A flame graph, which is there only when all is read, does not push away what was
    // looked at until then.
    let first = Memo::new(move |before: Option<&Option<String>>| {
        reports.with(|reports| {
            let first = reports.first()?.id.clone();
            let before = before.cloned().flatten();
            let stays = |before: &String| first == FLAME && reports.iter().any(|entry| entry.id == *before);
            Some(before.filter(stays).unwrap_or(first))
        })
    });
    let shown = memo(move || {
        let chosen = tab.report.get();
        let is_there = |id: &String| reports.with(|reports| reports.iter().any(|entry| entry.id == *id));
        chosen.filter(is_there).or_else(|| first.get())
    });
    let kind = memo(move || {
        document.with(|document| match document.as_deref() {
            Some(DocumentView { sides: Some(_), .. }) => Kind::Compared,
            Some(DocumentView { link: Some(_), .. }) => Kind::Linked,
            _ => Kind::Read,
        })
    });
    // In a frame that was asked for one report.
    let is_alone = move || tab.app.embed.is_some_and(|embed| embed.report.with(Option::is_some));
    // A frame shows what another page sent, and takes nothing down.
    let is_whole = memo(move || document.with(|it| it.as_ref().is_some_and(|it| !it.partial)));
    let can_write = move || tab.app.embed.is_none() && is_whole.get();
    let has_notes = memo(move || tab.notes.with(|notes| !notes.list.is_empty()));
    let has_timeline = memo(move || document.with(|it| it.as_ref().is_some_and(|it| it.has_timeline)));
    let notes_take_focus = StoredValue::new(false);
    let still_reading = move || tab.run.phase.with(|phase| matches!(phase, Phase::Reading | Phase::Stopping));
    view! {
        <div class="document" class:document-one=move || is_alone() || reports.with(|reports| reports.len() < 2)>
            {move || match kind.get() {
                Kind::Read => view! { <FileCard tab document /> }.into_any(),
                Kind::Compared => view! { <SidesCard tab document /> }.into_any(),
                Kind::Linked => view! { <LinkCard tab document /> }.into_any(),
            }}
            <Show when=move || can_write() && has_notes.get()>
                <NotesPanel tab document takes_focus=notes_take_focus />
            </Show>
            <Show
                when=move || reports.with(|reports| !reports.is_empty())
                fallback=move || {
                    view! {
                        <p class="empty">
                            {move || if still_reading() { words().reports.no_reports_yet } else { words().reports.no_reports }}
                        </p>
                    }
                }
            >
                <Show when=move || !is_alone() && reports.with(|reports| { reports.len() > 1 })>
                    <ReportList tab document reports shown />
                </Show>
                <MadeAgain tab />
                <div class="reports">
                    <Show when=move || has_timeline.get() && !is_alone()>
                        <LoadStrip tab />
                    </Show>
                    <For each=move || reports.get() key=|entry| entry.id.clone() let(entry)>
                        <Report tab document id=entry.id shown />
                    </For>
                </div>
                <Inspector tab shown />
            </Show>
            // Where there are no notes yet, the place for them is below everything else.
            <Show when=move || can_write() && !has_notes.get()>
                <NotesPanel tab document takes_focus=notes_take_focus />
            </Show>
            <Show when=can_write>
                <NoteDialog tab document />
            </Show>
        </div>
    }
}

/// How far reports are that are made again. They stay as they are until then.
#[component]
fn MadeAgain(tab: Tab) -> impl IntoView {
    let is_on = memo(move || tab.run.made_again.with(Option::is_some));
    view! {
        <p class="off-screen" role="status">{move || is_on.get().then_some(words().reading.making_again)}</p>
        <Show when=move || is_on.get()>
            <div class="made-again" aria-hidden="true">
                <p>{move || tab.run.made_again.get().map(words().reading.making_again_percent)}</p>
                <div class="progress">
                    <div class="progress-bar" style=("--share", move || (f64::from(tab.run.made_again.get().unwrap_or(0)) / 100.0).to_string())></div>
                </div>
            </div>
        </Show>
    }
}

/// A report in the list of reports.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    pub id: String,
    pub title: String,
    group: Group,
}

/// Shorter lists have no headings.
const MIN_GROUPED: usize = 6;

/// The list of reports: those with something in them, the timeline and the flame graph.
pub fn entries_of(tab: Tab, document: &DocumentView) -> Vec<Entry> {
    let has_content = |report: &&ReportView| {
        !report.blocks.is_empty() || !report.summary.is_empty() || document.reports.len() == 1
    };
    let entry = |report: &ReportView| Entry {
        id: report.id.clone(),
        title: report.title.clone(),
        group: report.group,
    };
    let mut entries: Vec<Entry> = document.reports.iter().filter(has_content).map(entry).collect();
    // Groups in the order of their first reports, so that the first report stays the first.
    let order: Vec<Group> = entries.iter().map(|entry| entry.group).collect();
    sort::by_key(&mut entries, |entry| order.iter().position(|group| *group == entry.group));
    let picture = |id: &str, title: &str| Entry {
        id: id.to_string(),
        title: title.to_string(),
        group: Group::Timeline,
    };
    let mut pictures = Vec::new();
    if tab.has_timeline() {
        pictures.push(picture(TIMELINE, words().timeline.title));
    }
    if has_live_stacks(document) {
        pictures.push(picture(FLAME, words().flame.title));
        // What someone opens a profile of stacks for.
        if entries.first().is_some_and(|entry| entry.id == STACKS) {
            pictures.reverse();
            pictures.append(&mut entries);
            return pictures;
        }
    }
    // They follow what one reads first: the group if the list has headings, else the report.
    let first = entries.first().map(|entry| entry.group);
    let n_first = match entries.len() + pictures.len() < MIN_GROUPED {
        true => 1.min(entries.len()),
        false => entries.iter().take_while(|entry| Some(entry.group) == first).count(),
    };
    entries.splice(n_first..n_first, pictures);
    entries
}

/// The way from report to report.
#[component]
fn ReportList(
    tab: Tab,
    document: Document,
    reports: Memo<Vec<Entry>>,
    shown: Memo<Option<String>>,
) -> impl IntoView {
    let place = memo(move || {
        let shown = shown.get();
        reports
            .with(|reports| reports.iter().position(|entry| Some(&entry.id) == shown.as_ref()).unwrap_or(0))
    });
    // The first of a group carries its heading.
    let entries = move || {
        reports.with(|reports| {
            let is_grouped = reports.len() >= MIN_GROUPED;
            let starts = |at: usize| at == 0 || reports[at].group != reports[at - 1].group;
            let of = |(at, entry): (usize, &Entry)| (at, entry.clone(), is_grouped && starts(at));
            reports.iter().enumerate().map(of).collect::<Vec<_>>()
        })
    };
    let choose = move |id: String| tab.show_report(Some(id));
    let headings = memo(move || {
        document
            .with(|document| {
                let (document, shown) = (document.as_ref()?, shown.get()?);
                let report = document.reports.iter().find(|report| report.id == shown)?;
                Some(tab.file.with(|file| headings_of(document, report, file.as_deref())))
            })
            .unwrap_or_default()
    });
    let headings_view = move |at: usize| {
        let headings = headings.get();
        (place.get() == at && headings.len() >= MIN_HEADINGS).then(|| {
            let heading = |(block, title): (usize, String)| {
                let lead = move |_| browser::lead_to_nth(BLOCKS_SHOWN, block);
                view! { <li><button type="button" role="link" title=title.clone() on:click=lead><bdi>{title.clone()}</bdi></button></li> }
            };
            view! {
                <ul class="report-headings" aria-label=words().reports.headings>
                    {headings.into_iter().map(heading).collect_view()}
                </ul>
            }
        })
    };
    view! {
        <nav class="report-list" aria-label=words().reports.reports>
            <ul>
                <For each=entries key=|entry| entry.clone() let((at, entry, is_first))>
                    <li>
                        {is_first.then(|| view! { <p class="report-group">{(words().reports.report_group)(entry.group)}</p> })}
                        <button
                            type="button"
                            aria-current=move || (place.get() == at).then_some("true")
                            // Keys that lead on and back press the entries beside the one that shows.
                            data-key=move || match at.checked_sub(place.get()) {
                                Some(1) => Some("j"),
                                None if at + 1 == place.get() => Some("k"),
                                _ => None,
                            }
                            on:click={
                                let id = entry.id.clone();
                                move |_| {
                                    choose(id.clone());
                                    to_top_of_reports();
                                }
                            }
                        >
                            {entry.title.clone()}
                        </button>
                        {move || headings_view(at)}
                    </li>
                </For>
            </ul>
            // On a phone the list is one field.
            <label class="report-choice">
                <span class="off-screen">{words().reports.reports}</span>
                <select
                    prop:value=move || shown.get().unwrap_or_default()
                    on:change:target=move |event| choose(event.target().value())
                >
                    <For each=move || reports.get() key=|entry| entry.clone() let(entry)>
                        <option
                            value=entry.id.clone()
                            selected={
                                let id = entry.id.clone();
                                move || shown.with(|shown| shown.as_ref() == Some(&id))
                            }
                        >
                            {entry.title.clone()}
                        </option>
                    </For>
                </select>
            </label>
        </nav>
    }
}

/// Fewer headings are in sight anyway; of more, those of each file are one.
const MIN_HEADINGS: usize = 3;
const MAX_HEADINGS: usize = 24;

/// The blocks of the report that shows.
const BLOCKS_SHOWN: &str = ".panel:not([hidden]) .report:not([hidden]) > .turn";

/// Headings in a report, with the numbers of their blocks among those that show for the chosen file. Where there are many, the blocks
/// of each file have its name instead.
fn headings_of(document: &DocumentView, report: &ReportView, file: Option<&str>) -> Vec<(usize, String)> {
    let title = |block: &BlockView| match block {
        BlockView::Facts(facts) => facts.title.clone(),
        BlockView::Chart(chart) => chart.title.clone(),
        BlockView::Table(table) => table.title.clone(),
        BlockView::Note(_) | BlockView::Findings(_) => String::new(),
    };
    let parts = Parts::of(document, report);
    // Of one file alone, the choice above says which.
    let alone = parts.shown_file(file).map(|name| titled("", name));
    let title = |block: &BlockView| {
        let title = title(block);
        let cut = alone.as_ref().and_then(|ending| title.strip_suffix(ending.as_str()));
        cut.map(str::to_string).unwrap_or(title)
    };
    let all = parts.shown_blocks(file).map(|at| title(&report.blocks[at])).enumerate();
    let mut headings: Vec<(usize, String)> =
        all.filter(|(_, title)| !title.is_empty() && *title != report.title).collect();
    if headings.len() > MAX_HEADINGS {
        let names: Vec<&str> = document.files.iter().map(|file| file.file.name.as_str()).collect();
        for (_, title) in &mut headings {
            if let Some(file) = file_of_title(title, &names) {
                *title = names[file].to_string();
            }
        }
        headings.dedup_by(|next, heading| next.1 == heading.1);
    }
    headings
}

/// A report starts at its top, wherever the one before was scrolled to.
fn to_top_of_reports() {
    browser::after(0, || browser::scroll_up_to(".panel:not([hidden]) .reports"));
}

/// The first values in a report of the blocks that show, and their place among all.
fn first_facts<'a>(report: &'a ReportView, shown: &[usize]) -> Option<(usize, &'a Facts)> {
    shown.iter().find_map(|at| match report.blocks.get(*at)? {
        BlockView::Facts(facts) => Some((*at, facts)),
        _ => None,
    })
}

/// Which block: stays the same while only the numbers change.
#[derive(Clone, PartialEq, Eq, Hash)]
enum BlockKey {
    Facts(usize),
    Note(usize),
    Findings(usize),
    Chart(String),
    Table(String),
}

fn key_of(at: usize, block: &BlockView) -> BlockKey {
    match block {
        BlockView::Facts(_) => BlockKey::Facts(at),
        BlockView::Note(_) => BlockKey::Note(at),
        BlockView::Findings(_) => BlockKey::Findings(at),
        BlockView::Chart(chart) => BlockKey::Chart(chart.id.to_string()),
        BlockView::Table(table) => BlockKey::Table(table.id.clone()),
    }
}

/// Whether the worker has the stacks, so that flame graphs can be looked at in all ways.
fn has_live_stacks(document: &DocumentView) -> bool {
    document.has_stacks && document.link.is_none()
}

#[component]
fn Report(tab: Tab, document: Document, id: String, shown: Memo<Option<String>>) -> impl IntoView {
    let id = StoredValue::new(id);
    let is_shown = memo(move || id.with_value(|id| shown.with(|shown| shown.as_ref() == Some(id))));
    // Without the stacks, it is a report like others: what a link or a Tracedrop file has of them.
    let has_stacks = memo(move || document.with(|it| it.as_ref().is_some_and(|it| has_live_stacks(it))));
    view! {
        <article class="report" class:report-timeline=id.with_value(|id| id == TIMELINE) hidden=move || !is_shown.get()>
            <Show when=move || is_shown.get()>
                {move || match id.with_value(|id| id == TIMELINE) {
                    _ if id.with_value(|id| id == FLAME) && has_stacks.get() => {
                        view! { <FlameScreen tab /> }.into_any()
                    }
                    true if untrack(|| tab.is_comparison()) => view! { <PairScreen tab /> }.into_any(),
                    true => view! { <TimelineScreen tab /> }.into_any(),
                    false => view! { <ReportBody tab document id /> }.into_any(),
                }}
            </Show>
        </article>
    }
}

#[component]
fn ReportBody(tab: Tab, document: Document, id: StoredValue<String>) -> impl IntoView {
    let title = memo(move || with_report(document, id, |report| report.title.clone()).unwrap_or_default());
    let summary =
        memo(move || with_report(document, id, |report| report.summary.clone()).unwrap_or_default());
    let so_far =
        memo(move || document.with(|document| document.as_ref().is_some_and(|document| !document.is_read)));
    let query = memo(move || {
        document.with(|document| document.as_ref().map(|document| document.query.clone()).unwrap_or_default())
    });
    // A report that was handed on without its trace answers nothing else than it does, nor does a comparison of what was read.
    let can_ask = memo(move || {
        document.with(|it| it.as_ref().is_some_and(|it| it.link.is_none() && it.sides.is_none()))
    });
    let format =
        memo(move || document.with(|it| it.as_ref().map(|it| it.file.format_id.clone()).unwrap_or_default()));
    let parts = memo(move || {
        let parts = |document: &Arc<DocumentView>| {
            let report = id.with_value(|id| document.reports.iter().find(|report| report.id == *id))?;
            Some(Arc::new(Parts::of(document, report)))
        };
        document.with(|document| document.as_ref().and_then(parts)).unwrap_or_default()
    });
    let shown_blocks = memo(move || {
        parts.with(|parts| tab.file.with(|file| parts.shown_blocks(file.as_deref()).collect::<Vec<usize>>()))
    });
    // What one is led to shows, whatever file is chosen.
    effect(move || {
        let hidden_in = tab.led_to.with(|rows| {
            let rows = rows.as_ref().filter(|rows| id.with_value(|id| *id == rows.report))?;
            let at = with_report(document, id, |report| {
                let is_it =
                    |block: &BlockView| matches!(block, BlockView::Table(table) if table.id == rows.table);
                report.blocks.iter().position(is_it)
            })
            .flatten()?;
            parts.with(|parts| tab.file.with(|file| parts.hides(at, file.as_deref()).map(str::to_string)))
        });
        if let Some(file) = hidden_in {
            tab.show_file(Some(file));
        }
    });
    // What the first values of a report judge stands above everything that can be asked.
    let judgements = memo(move || {
        with_report(document, id, |report| {
            let first = shown_blocks.with(|shown| first_facts(report, shown)).map(|(_, facts)| &facts.facts);
            first.into_iter().flatten().filter(|fact| fact.mark.is_some()).cloned().collect::<Vec<_>>()
        })
        .unwrap_or_default()
    });
    let blocks = memo(move || {
        with_report(document, id, |report| {
            let there = |at: &usize| Some(key_of(*at, report.blocks.get(*at)?));
            shown_blocks.with(|shown| shown.iter().filter_map(there).collect::<Vec<_>>())
        })
        .unwrap_or_default()
    });
    // While there is more to come, what nobody sees can wait.
    let is_whole = memo(move || document.with(|it| it.as_ref().is_some_and(|it| !it.partial)));
    let block_view = move |key: BlockKey, seen: Seen| match key {
        BlockKey::Facts(at) => {
            let facts = memo(move || {
                with_report(seen, id, |report| {
                    let Some(BlockView::Facts(facts)) = report.blocks.get(at) else { return None };
                    let mut facts = facts.clone();
                    // Its judgements stand at the top.
                    if shown_blocks.with(|shown| first_facts(report, shown)).map(|(first, _)| first)
                        == Some(at)
                    {
                        facts.facts.retain(|fact| fact.mark.is_none());
                    }
                    (!facts.facts.is_empty()).then_some(facts)
                })
                .flatten()
            });
            view! { <FactsBlock facts report_title=title /> }.into_any()
        }
        BlockKey::Note(at) => {
            let note = memo(move || {
                with_report(seen, id, |report| match report.blocks.get(at) {
                    Some(BlockView::Note(note)) => Some(note.clone()),
                    _ => None,
                })
                .flatten()
            });
            view! { <NoteBlock note /> }.into_any()
        }
        BlockKey::Findings(at) => {
            let findings = memo(move || {
                with_report(seen, id, |report| match report.blocks.get(at) {
                    Some(BlockView::Findings(findings)) => Some(findings.clone()),
                    _ => None,
                })
                .flatten()
            });
            view! { <FindingsBlock tab findings /> }.into_any()
        }
        BlockKey::Chart(chart_id) => {
            let chart = memo(move || {
                with_report(seen, id, |report| {
                    report.blocks.iter().find_map(|block| match block {
                        BlockView::Chart(chart) if chart.id == chart_id => Some(chart.clone()),
                        _ => None,
                    })
                })
                .flatten()
            });
            // The moment at which memory is looked at is chosen in the picture.
            match id.with_value(|id| id == MEMORY_SNAPSHOT) && can_ask.get_untracked() {
                true => view! { <ChartBlock chart on_time=Callback::new(move |ns| choose_moment(tab, Some(ns))) /> }.into_any(),
                false => view! { <ChartBlock chart /> }.into_any(),
            }
        }
        BlockKey::Table(table_id) => {
            let table = memo(move || {
                seen.with(|document| {
                    id.with_value(|id| document.as_deref()?.table(id, &table_id).cloned().map(Arc::new))
                })
            });
            view! { <TableBlock tab report=id table /> }.into_any()
        }
    };
    view! {
        <header class="report-head">
            <div>
                <h2 tabindex="-1">
                    {title}
                    <Show when=move || so_far.get()>
                        <span class="badge">{words().file.so_far}</span>
                    </Show>
                </h2>
                <Show when=move || summary.with(|summary| !summary.is_empty())>
                    <p class="report-summary"><bdi>{move || prose(&summary.get())}</bdi></p>
                </Show>
            </div>
            <div class="report-choices">
                <FileChoice tab parts />
                <Show when=move || can_ask.get()>
                    <TopChoice tab document id />
                </Show>
            </div>
        </header>
        <Judgements facts=judgements />
        {move || {
            if !can_ask.get() {
                return ().into_any();
            }
            let tables = id.with_value(|id| CustomRules::of_report(id));
            let editors = tables.iter().map(|table| view! { <CustomRulesEditor tab table=*table query /> }).collect_view();
            if id.with_value(|id| id == MEMORY) {
                view! { <MemorySettings tab query format>{editors}</MemorySettings> }.into_any()
            } else if id.with_value(|id| id == MEMORY_SNAPSHOT) {
                // Without a picture of memory over time, there is no moment to choose.
                let has_times = move || blocks.with(|keys| keys.iter().any(|key| matches!(key, BlockKey::Chart(_))));
                view! { <Show when=has_times><MomentChoice tab query /></Show> }.into_any()
            } else {
                editors.into_any()
            }
        }}
        <Show when=move || blocks.with(|blocks| !blocks.is_empty()) fallback=|| view! { <p class="empty">{words().reports.empty_report}</p> }>
            <For
                each=move || blocks.get().into_iter().enumerate()
                key=|(_, key)| key.clone()
                let((turn, key))
            >
                {
                    // What a link leads to is not waited for.
                    let table = match &key {
                        BlockKey::Table(table) => Some(table.clone()),
                        _ => None,
                    };
                    let is_led_to = move || {
                        tab.led_to.with(|rows| {
                            rows.as_ref().is_some_and(|rows| {
                                Some(&rows.table) == table.as_ref() && id.with_value(|id| *id == rows.report)
                            })
                        })
                    };
                    let turn = Turn::new(turn, Signal::derive(move || is_whole.get() || is_led_to()));
                    let seen = turn.follow(document);
                    view! { <InTurn turn>{block_view(key.clone(), seen)}</InTurn> }
                }
            </For>
        </Show>
    }
}

fn with_report<T>(
    document: impl With<Value = Option<Arc<DocumentView>>>,
    id: StoredValue<String>,
    of: impl FnOnce(&ReportView) -> T,
) -> Option<T> {
    document.with(|document| {
        id.with_value(|id| document.as_ref()?.reports.iter().find(|report| report.id == *id).map(of))
    })
}

/// How long lists of the slowest are; shown where a report has such a list.
#[component]
fn TopChoice(tab: Tab, document: Document, id: StoredValue<String>) -> impl IntoView {
    let top =
        memo(move || document.with(|document| document.as_ref().map_or(0, |document| document.query.top)));
    let has_list = Memo::new(move |before| {
        let full = with_report(document, id, |report| {
            report.blocks.iter().any(|block| {
                matches!(block, BlockView::Table(table) if table.n_rows == u64::from(top.get()) || table.n_left_out > 0)
            })
        });
        // Once shown it stays, also when the list turns out to be shorter than asked for.
        let is_other = top.get() != Query::default().top;
        before == Some(&true) || full == Some(true) || (is_other && full.is_some())
    });
    let select = NodeRef::<html::Select>::new();
    // What could not be done is not what is chosen.
    effect(move || {
        tab.n_refused.track();
        if let Some(select) = select.get() {
            select.set_value(&top.get_untracked().to_string());
        }
    });
    view! {
        <Show when=move || has_list.get()>
            <label class="choice">
                <span>{words().reports.top_label}</span>
                <select
                    node_ref=select
                    prop:value=move || top.get().to_string()
                    on:change:target=move |event| {
                        if let Ok(top) = event.target().value().parse() {
                            let query = document.with_untracked(|document| {
                                document.as_ref().map(|document| document.query.clone()).unwrap_or_default()
                            });
                            tab.set_query(Query { top, ..query });
                        }
                    }
                >
                    {TOPS.map(|n| view! { <option value=n.to_string() selected=move || top.get() == n>{n.to_string()}</option> }).collect_view()}
                </select>
            </label>
        </Show>
    }
}
