//! Which of several files a report shows its parts of: reports on many ranks have all of them once a rank.

use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{BlockView, DocumentView, ReportView};
use tracedrop::report::of_file::{file_of_note, file_of_title};

/// Reports with more parts than this show those of one file at first.
const MAX_PARTS_AT_FIRST: usize = 12;

/// The files that the parts of a report belong to.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Numbers of the files that have parts of their own, ascending, with their names.
    files: Vec<(usize, String)>,
    /// The file of each block; `None` of one on all files.
    of_block: Vec<Option<usize>>,
}

impl Parts {
    pub fn of(document: &DocumentView, report: &ReportView) -> Parts {
        if document.files.len() < 2 {
            return Parts { files: Vec::new(), of_block: vec![None; report.blocks.len()] };
        }
        let names: Vec<&str> = document.files.iter().map(|file| file.file.name.as_str()).collect();
        let file_of = |block: &BlockView| match block {
            BlockView::Facts(facts) => file_of_title(&facts.title, &names),
            BlockView::Chart(chart) => file_of_title(&chart.title, &names),
            BlockView::Table(table) => file_of_title(&table.title, &names),
            BlockView::Note(note) => file_of_note(&note.text, &names),
            BlockView::Findings(_) => None,
        };
        let of_block: Vec<Option<usize>> = report.blocks.iter().map(file_of).collect();
        let is_there = |(number, _): &(usize, &&str)| of_block.contains(&Some(*number));
        let there = names.iter().enumerate().filter(is_there);
        Parts { files: there.map(|(number, name)| (number, (*name).to_string())).collect(), of_block }
    }

    /// Whether there is something to choose.
    pub fn are_several(&self) -> bool {
        self.files.len() > 1
    }

    /// The file that shows: the `chosen` one (empty for all), or the first where all of them are too much at once. `None` for all.
    fn shown(&self, chosen: Option<&str>) -> Option<usize> {
        if !self.are_several() {
            return None;
        }
        if chosen == Some("") {
            return None;
        }
        let is_chosen = |(_, file): &&(usize, String)| Some(file.as_str()) == chosen;
        // The chosen one may have no parts in this report.
        let first = || {
            let n_parts = self.of_block.iter().flatten().count();
            self.files.first().filter(|_| n_parts > MAX_PARTS_AT_FIRST)
        };
        self.files.iter().find(is_chosen).or_else(first).map(|(number, _)| *number)
    }

    /// Name of the only file that shows.
    pub fn shown_file(&self, chosen: Option<&str>) -> Option<&str> {
        let shown = self.shown(chosen)?;
        self.files.iter().find(|(number, _)| *number == shown).map(|(_, name)| name.as_str())
    }

    /// Numbers of the blocks that show.
    pub fn shown_blocks(&self, chosen: Option<&str>) -> impl Iterator<Item = usize> {
        let shown = self.shown(chosen);
        let is_in = move |file: &Option<usize>| shown.is_none() || file.is_none() || *file == shown;
        self.of_block.iter().enumerate().filter(move |(_, file)| is_in(file)).map(|(at, _)| at)
    }

    /// Name of the file that must be chosen to see a block; `None` if it shows.
    pub fn hides(&self, block: usize, chosen: Option<&str>) -> Option<&str> {
        if self.shown_blocks(chosen).any(|at| at == block) {
            return None;
        }
        let file = self.of_block.get(block).copied().flatten()?;
        self.files.iter().find(|(number, _)| *number == file).map(|(_, name)| name.as_str())
    }
}

/// The choice of a file, where a report has parts of several.
#[component]
pub fn FileChoice(tab: Tab, parts: Memo<Arc<Parts>>) -> impl IntoView {
    let shown = memo(move || {
        parts.with(|parts| {
            tab.file.with(|file| parts.shown_file(file.as_deref()).unwrap_or_default().to_string())
        })
    });
    let names = memo(move || {
        parts.with(|parts| parts.files.iter().map(|(_, name)| name.clone()).collect::<Vec<String>>())
    });
    view! {
        <Show when=move || parts.with(|parts| parts.are_several())>
            <label class="choice choice-file">
                <span>{words().reports.file_label}</span>
                <select
                    prop:value=move || shown.get()
                    on:change:target=move |event| tab.show_file(Some(event.target().value()))
                >
                    {move || {
                        names.get().into_iter().map(|name| {
                            let value = name.clone();
                            let is_it = move || shown.with(|shown| *shown == value);
                            view! { <option value=name.clone() selected=is_it>{name.clone()}</option> }
                        }).collect_view()
                    }}
                    <option value="" selected=move || shown.with(String::is_empty)>
                        {move || (words().reports.all_files)(names.with(|names| names.len() as u64))}
                    </option>
                </select>
            </label>
        </Show>
    }
}
