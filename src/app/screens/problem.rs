//! Error screen: why a file cannot be shown, and what to do.

use super::FormatList;
use crate::app::state::{Phase, Tab, app};
use crate::app::widgets::{Icon, Shape, prose};
use crate::app::words::{sentence, words};
use leptos::prelude::*;
use tracedrop::engine::protocol::{Failure, FileProgress};

/// Failures that knowing the formats helps with.
const ABOUT_FORMATS: [&str; 2] = ["unknown-format", "empty-file"];

/// What lists the formats in a terminal, as hints call it.
const LISTS_FORMATS: &str = "`tracedrop formats`";

/// Content of the error screen.
#[derive(Clone, PartialEq, Eq)]
struct Problem {
    title: String,
    what: String,
    hint: String,
    code: String,
    again: bool,
    formats: bool,
}

fn problem_of(tab: Tab, phase: &Phase, file: Option<&FileProgress>) -> Option<Problem> {
    let words = &words().problem;
    match phase {
        Phase::Failed(Failure { code, what, hint }) => {
            let formats = ABOUT_FORMATS.contains(&code.as_str()) || hint.contains(LISTS_FORMATS);
            Some(Problem {
                title: match file {
                    _ if tab.is_comparison() => words.failed_compare_title,
                    _ if tab.is_link() => words.failed_link_title,
                    Some(_) => words.failed_together_title,
                    None => words.failed_title,
                }
                .to_string(),
                what: what.clone(),
                // The list is right below.
                hint: match formats && hint.contains(LISTS_FORMATS) {
                    true => words.formats_below.to_string(),
                    false => sentence(hint),
                },
                code: code.clone(),
                again: false,
                formats,
            })
        }
        Phase::Died(why) => Some(Problem {
            title: words.died_title.to_string(),
            what: match file {
                Some(file) => (words.died_together_what)(file),
                None => words.died_what.to_string(),
            },
            hint: if file.is_some() { words.died_together_hint } else { words.died_hint }.to_string(),
            code: why.clone(),
            again: true,
            formats: false,
        }),
        _ => None,
    }
}

#[component]
pub fn ProblemScreen(tab: Tab) -> impl IntoView {
    let app = app();
    move || {
        let problem = tab.run.phase.with(|phase| {
            tab.run.reading.with(|reading| problem_of(tab, phase, reading.progress.file.as_ref()))
        })?;
        Some(view! {
            <div class="problem" role="alert">
                <p class="problem-file"><Icon shape=Shape::File /><bdi>{move || tab.name.get()}</bdi></p>
                <h1><Icon shape=Shape::Alert />{problem.title}</h1>
                <p class="problem-what"><bdi>{problem.what}</bdi></p>
                {(!problem.hint.is_empty()).then(|| view! { <p class="problem-hint">{prose(&problem.hint)}</p> })}
                {(!problem.code.is_empty())
                    .then(|| view! { <p class="problem-code">{words().problem.problem_code} " " <code>{problem.code}</code></p> })}
                <div class="problem-actions">
                    {problem
                        .again
                        .then(|| {
                            view! {
                                <button type="button" class="button button-main" on:click=move |_| tab.start()>
                                    {words().problem.start_again}
                                </button>
                            }
                        })}
                    <button type="button" class="button" on:click=move |_| app.choose_files()>
                        {words().header.open_another}
                    </button>
                    <button type="button" class="button" on:click=move |_| app.close(tab.id)>{(words().header.close_tab)(tab.shows())}</button>
                </div>
                {problem
                    .formats
                    .then(|| {
                        view! {
                            <section class="problem-formats">
                                <h2>{words().start.formats_title}</h2>
                                <FormatList />
                            </section>
                        }
                    })}
            </div>
        })
    }
}
