//! The page embedded in a frame: it shows only what its host sends, stores nothing, and reports its height and the result of
//! parsing to the host.

use super::browser::{self, Asked, CheckedLimit, FromHost, LimitState, ReportName, Theme, ToHost, Verdict};
use super::client::Answer;
use super::screens::{FLAME, TIMELINE};
use super::state::{App, Phase, Source, Tab};
use super::words::words;
use crate::app::erased::effect;
use leptos::prelude::*;
use tracedrop::engine::protocol::{BudgetView, HeldView, LimitView, ReportView, Request};

/// State of an embedded page.
#[derive(Clone, Copy)]
pub struct Embed {
    /// Id of the only report to show.
    pub report: RwSignal<Option<String>>,
    /// Limits from the host.
    limits: RwSignal<Option<String>>,
    /// Results of checking them.
    pub budget: RwSignal<Option<BudgetView>>,
}

impl Embed {
    pub fn new(asked: Asked) -> Embed {
        browser::mark_as_frame(asked.show.as_deref());
        Embed {
            report: RwSignal::new(full_id(asked.report)),
            limits: RwSignal::new(None),
            budget: RwSignal::new(None),
        }
    }
}

/// Theme by id; the system's if unknown.
pub fn theme_of(asked: &Asked) -> Theme {
    theme(asked.theme.as_deref().unwrap_or_default()).unwrap_or(Theme::System)
}

fn theme(id: &str) -> Option<Theme> {
    Theme::ALL.into_iter().find(|theme| theme.id() == id)
}

/// Id of a report, which the command has short names for.
fn full_id(id: Option<String>) -> Option<String> {
    id.map(|id| if id == "flame" { FLAME.to_string() } else { id })
}

fn problem(what: &str, hint: &str) {
    browser::tell_host(ToHost::Problem { what: what.to_string(), hint: hint.to_string() });
}

impl App {
    /// Starts serving the host page.
    pub fn serve_host(self, embed: Embed) {
        browser::on_host(move |message| match message {
            FromHost::Open(files) => {
                let open: Vec<u32> = self.tabs.with_untracked(|tabs| tabs.iter().map(|tab| tab.id).collect());
                open.into_iter().for_each(|id| self.close_unasked(id));
                embed.budget.set(None);
                self.open_given(files);
            }
            FromHost::Report(id) => {
                let id = full_id(id);
                embed.report.set(id.clone());
                if let Some(tab) = self.active_tab() {
                    tab.show_asked(id);
                }
            }
            FromHost::Theme(id) => match theme(&id) {
                Some(theme) => self.choose_theme(theme),
                None => problem(&format!("unknown theme {id}"), ""),
            },
            FromHost::Limits(limits) => embed.limits.set(Some(limits)),
            FromHost::Unknown(why) => problem(&why, ""),
        });
        match browser::given_files() {
            Ok(files) if files.is_empty() => {}
            Ok(files) => self.open_given(files),
            Err(why) => {
                problem(&why, "");
                self.alert((words().opening.not_given)(&why));
            }
        }
        effect(move || self.tell_of_document(embed));
        effect(move || self.hold_limits(embed));
        browser::on_height(|height| browser::tell_host(ToHost::Height { height }));
        browser::tell_host(ToHost::Ready { version: browser::version(), build: browser::build() });
    }

    /// Opens one tab, for one file or several combined.
    fn open_given(self, mut files: Vec<browser::Picked>) {
        let source = match files.len() {
            1 => files.pop().map(Source::File),
            _ => Some(Source::Together(files)),
        };
        if let Some(source) = source {
            self.open_tab(source);
        }
    }

    fn shown_tab(self) -> Option<Tab> {
        let id = self.active.get();
        self.tabs.with(|tabs| tabs.iter().find(|tab| Some(tab.id) == id).copied())
    }

    /// Tells the host when a trace is parsed or cannot be, and shows the requested report.
    fn tell_of_document(self, embed: Embed) {
        let Some(tab) = self.shown_tab() else { return };
        match tab.run.phase.get() {
            Phase::Done => {
                let Some(document) = tab.document.get_untracked() else { return };
                let reports = document.reports.iter();
                let named =
                    |report: &ReportView| ReportName { id: report.id.clone(), title: report.title.clone() };
                browser::tell_host(ToHost::Read {
                    name: tab.name.get_untracked(),
                    reports: reports.map(named).collect(),
                });
                tab.show_asked(embed.report.get_untracked());
            }
            Phase::Failed(failure) => problem(&failure.what, &failure.hint),
            Phase::Died(why) => problem(words().problem.died_what, &why),
            Phase::Waiting | Phase::Reading | Phase::Stopping => {
                tab.show_report(embed.report.get_untracked())
            }
        }
    }

    /// Checks the trace against the limits as soon as both are there.
    fn hold_limits(self, embed: Embed) {
        let Some(limits) = embed.limits.get() else { return };
        let Some(tab) = self.shown_tab() else { return };
        if tab.run.phase.get() != Phase::Done {
            return;
        }
        tab.ask(
            |ticket| Request::Hold { ticket, limits },
            move |answer| match answer {
                Answer::Held(budget) => {
                    let checked = |limit: &LimitView| {
                        let (state, words) = match &limit.held {
                            HeldView::Kept(words) => (LimitState::Kept, words),
                            HeldView::Passed(words) => (LimitState::Passed, words),
                            HeldView::Unknown(words) => (LimitState::Unknown, words),
                        };
                        CheckedLimit { limit: limit.text.clone(), state, words: words.clone() }
                    };
                    browser::tell_host(ToHost::Limits {
                        state: if budget.is_kept() { Verdict::Green } else { Verdict::Red },
                        limits: budget.limits.iter().map(checked).collect(),
                    });
                    embed.budget.set(Some(budget));
                }
                Answer::Refused(failure) => problem(&failure.what, &failure.hint),
                _ => {}
            },
        );
    }
}

impl Tab {
    /// Shows the requested report; reports a problem if there is none of that id.
    fn show_asked(self, id: Option<String>) {
        if let Some(id) = &id
            && let Some(document) = self.document.get_untracked()
            && !document.reports.iter().any(|report| report.id == *id)
            // These are made when someone looks.
            && !(id == FLAME && document.has_stacks)
            && !(id == TIMELINE && document.has_timeline)
        {
            problem(&(words().frame.no_such_report)(id), "");
        }
        self.show_report(id);
    }
}
