//! The moment at which the memory of a snapshot is looked at.

use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::analysis::Query;
use tracedrop::base::units::{format_ns, nanoseconds};

/// Chooses the moment, in nanoseconds since the start; `None` for none.
pub fn choose_moment(tab: Tab, moment: Option<i64>) {
    let asked = tab.document.with_untracked(|it| it.as_ref().map(|it| it.query.clone()));
    if let Some(query) = asked.filter(|query| query.memory_at != moment) {
        tab.set_query(Query { memory_at: moment, ..query });
    }
}

/// A field for the moment. A click on the chart below does the same.
#[component]
pub fn MomentChoice(tab: Tab, #[prop(into)] query: Signal<Query>) -> impl IntoView {
    let words = || &words().reports;
    let moment = memo(move || query.with(|query| query.memory_at));
    let problem = RwSignal::new(None::<String>);
    // What is chosen in the chart is written here too.
    let text = move || moment.get().map(|ns| format_ns(ns).replace('\u{a0}', " ")).unwrap_or_default();
    let choose = move |text: String| match text.trim() {
        "" => {
            problem.set(None);
            choose_moment(tab, None);
        }
        text => match nanoseconds(text) {
            Ok(ns) => {
                problem.set(None);
                choose_moment(tab, Some(ns));
            }
            Err(why) => problem.set(Some(why)),
        },
    };
    view! {
        <div class="choices moment">
            <label class="choice">
                <span>{words().moment_label}</span>
                <input
                    type="text"
                    size="10"
                    placeholder=words().moment_hint
                    aria-invalid=move || problem.with(Option::is_some).to_string()
                    prop:value=text
                    on:change:target=move |event| choose(event.target().value())
                />
            </label>
            <Show when=move || moment.get().is_some()>
                <button
                    type="button"
                    class="button button-icon button-quiet"
                    title=words().moment_clear
                    aria-label=words().moment_clear
                    on:click=move |_| choose(String::new())
                >
                    <Icon shape=Shape::Close />
                </button>
            </Show>
            <span class="choice-hint" role="status">{move || problem.get().unwrap_or_else(|| words().moment_about.to_string())}</span>
        </div>
    }
}
