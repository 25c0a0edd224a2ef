//! Where someone puts lines before a table that comes along.

use crate::app::browser;
use crate::app::custom_rules::CustomRules;
use crate::app::erased::{effect, memo};
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::analysis::Query;
use tracedrop::base::text;

/// How a file is read that mrm-trace 0.1.0 reads in another way. It is read again for the other one.
#[derive(Clone, Copy, PartialEq)]
struct Reading {
    label: &'static str,
    /// As usual, and as by mrm-trace 0.1.0.
    choices: [&'static str; 2],
    /// `id` of the format that stands for the latter.
    seed: &'static str,
    is_as_usual: bool,
}

impl Reading {
    /// `None` of formats that there is only one way for.
    fn of(format: &str) -> Option<Reading> {
        let words = &words().reports;
        let (label, choices, seed) = match format {
            "perf-text" | "perf-text-seed" => {
                (words.perf_grammar_label, words.perf_grammars, "perf-text-seed")
            }
            "memray" | "memray-seed" => (words.memray_clock_label, words.memray_clocks, "memray-seed"),
            _ => return None,
        };
        Some(Reading { label, choices, seed, is_as_usual: format != seed })
    }
}

/// Labeling and validity of memory accesses: policy for unclassified ones, validity rules, and editors in `children`.
/// Collapsed unless a setting differs from the default.
#[component]
pub fn MemorySettings(
    tab: Tab,
    #[prop(into)] query: Signal<Query>,
    /// `id` of the format that the file was read as.
    #[prop(into)]
    format: Signal<String>,
    children: Children,
) -> impl IntoView {
    let reading = memo(move || tab.can_be_read_again().then(|| format.with(|format| Reading::of(format)))?);
    let is_as_usual = memo(move || reading.get().is_none_or(|reading| reading.is_as_usual));
    let unknown = memo(move || query.with(|query| query.memory.unknown.clone()));
    let later = memo(move || query.with(|query| query.memory.has_later_rules()));
    let is_asked = memo(move || !is_as_usual.get() || query.with(|query| query.memory != Default::default()));
    let ask = move |change: &dyn Fn(&mut Query)| {
        let mut query = query.get_untracked();
        change(&mut query);
        tab.set_query(query);
    };
    view! {
        <details class="own-table" open=move || is_asked.get()>
        <summary>{words().reports.memory_settings}</summary>
        <div class="choices">
            <label class="choice">
                <span>{words().reports.unknown_label}</span>
                <select
                    data-testid="unknown"
                    prop:value=move || unknown.get()
                    on:change:target=move |event| {
                        let name = event.target().value();
                        ask(&|query| query.memory.unknown.clone_from(&name));
                    }
                >
                    {words()
                        .reports.unknown_policies
                        .map(|(name, label)| view! { <option value=name selected=move || unknown.get() == name>{label}</option> })
                        .collect_view()}
                </select>
            </label>
            <label class="choice">
                <span>{words().reports.validity_label}</span>
                <select
                    prop:value=move || if later.get() { "later" } else { "seed" }
                    on:change:target=move |event| {
                        let is_later = event.target().value() == "later";
                        ask(&|query| query.memory.judge_by_later_rules(is_later));
                    }
                >
                    {words()
                        .reports.validity_rules
                        .map(|(name, label)| {
                            view! { <option value=name selected=move || later.get() == (name == "later")>{label}</option> }
                        })
                        .collect_view()}
                </select>
            </label>
            {move || {
                reading
                    .get()
                    .map(|Reading { label, choices, seed, is_as_usual }| {
                        view! {
                            <label class="choice">
                                <span>{label}</span>
                                <select
                                    data-testid="read-as"
                                    on:change:target=move |event| {
                                        tab.read_as((event.target().value() == "seed").then_some(seed));
                                    }
                                >
                                    <option value="usual" selected=is_as_usual>{choices[0]}</option>
                                    <option value="seed" selected=!is_as_usual>{choices[1]}</option>
                                </select>
                            </label>
                        }
                    })
            }}
        </div>
        {children()}
        </details>
    }
}

/// A place to write lines, closed until someone opens it.
#[component]
pub fn CustomRulesEditor(tab: Tab, table: CustomRules, #[prop(into)] query: Signal<Query>) -> impl IntoView {
    // The report may have been left and come back to.
    let kept = tab
        .drafts
        .with_value(|drafts| drafts.iter().find(|(of, _)| *of == table).map(|(_, text)| text.clone()));
    let draft = RwSignal::new(kept.unwrap_or_else(|| query.with_untracked(|query| table.text_of(query))));
    effect(move || {
        let text = draft.get();
        let is_applied = query.with(|query| table.text_of(query) == text);
        tab.drafts.update_value(|drafts| {
            drafts.retain(|(of, _)| *of != table);
            if !is_applied {
                drafts.push((table, text));
            }
        });
    });
    let in_use = memo(move || query.with(|query| table.text_of(query)));
    // It may be changed by a file that is dropped.
    let mut before = None;
    effect(move || {
        let now = in_use.get();
        if before.as_ref().is_some_and(|before| *before != now) {
            draft.set(now.clone());
        }
        before = Some(now);
    });
    // Ranges are a file's until someone has written over them.
    let from_file = move || {
        let ranges = tab.ranges.get().filter(|_| table == CustomRules::MemoryRanges)?;
        in_use
            .with(|in_use| *in_use == ranges.text)
            .then(|| (words().reports.ranges_from)(&text::visible(&ranges.name)))
    };
    let is_changed = move || draft.with(|draft| in_use.with(|in_use| draft != in_use));
    let apply = move |text: String| {
        if let Some(key) = table.key() {
            browser::remember(key, (!text.trim().is_empty()).then_some(text.as_str()));
        }
        tab.set_query(table.put(query.get_untracked(), text));
    };
    view! {
        <details class="own-table" open=move || in_use.with(|text| !text.is_empty())>
            <summary>{table.title()}</summary>
            <label>
                <span>{table.explanation()}</span>
                <textarea
                    rows=move || draft.with(|draft| draft.lines().count().clamp(5, 14)).to_string()
                    spellcheck="false"
                    placeholder=table.example()
                    prop:value=move || draft.get()
                    on:input:target=move |event| draft.set(event.target().value())
                ></textarea>
            </label>
            {move || from_file().map(|words| view! { <p class="own-table-from">{words}</p> })}
            <div class="own-table-actions">
                <button class="button" disabled=move || !is_changed() on:click=move |_| apply(draft.get_untracked())>
                    {words().reports.own_apply}
                </button>
                <button
                    class="button"
                    disabled=move || draft.with(String::is_empty) && in_use.with(String::is_empty)
                    on:click=move |_| {
                        draft.set(String::new());
                        apply(String::new());
                    }
                >
                    {words().reports.own_clear}
                </button>
                {query
                    .with_untracked(|query| table.builtin(query))
                    .map(|builtin| {
                        view! {
                            <button
                                class="button"
                                data-testid="start-from-builtin"
                                disabled=move || draft.with(|draft| !draft.trim().is_empty())
                                on:click=move |_| draft.set(builtin.clone())
                            >
                                {words().reports.own_start_from_builtin}
                            </button>
                        }
                    })}
            </div>
        </details>
    }
}
