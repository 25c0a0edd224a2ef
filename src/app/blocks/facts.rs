//! Named values: the first few large, the rest as a list.

use super::cells::text_of;
use crate::app::widgets::Number;
use leptos::prelude::*;
use tracedrop::report::{Fact, Facts, Value};

/// So many are shown large.
const N_LARGE: usize = 4;
/// A text longer than this is no headline.
const LARGE_CHARS: usize = 24;

#[component]
pub fn FactsBlock(
    #[prop(into)] facts: Signal<Option<Facts>>,
    /// Title of the report, which is not said again.
    #[prop(into)]
    report_title: Signal<String>,
) -> impl IntoView {
    move || {
        facts.get().map(|Facts { title, facts }| {
            let n_large = facts
                .iter()
                .take(N_LARGE)
                .take_while(|fact| fact.display().chars().count() <= LARGE_CHARS)
                .count();
            let (large, rest) = facts.split_at(n_large);
            view! {
                <section class="facts">
                    {(!title.is_empty() && title != report_title.get()).then(|| view! { <h3>{title}</h3> })}
                    {(!large.is_empty())
                        .then(|| view! { <dl class="facts-large">{large.iter().map(fact_view).collect_view()}</dl> })}
                    {(!rest.is_empty())
                        .then(|| view! { <dl class="facts-rest">{rest.iter().map(fact_view).collect_view()}</dl> })}
                </section>
            }
        })
    }
}

fn fact_view(fact: &Fact) -> impl IntoView + use<> {
    let value = match &fact.value {
        Value::Text(text) => view! { <bdi>{text_of(text)}</bdi> }.into_any(),
        _ => view! { <Number text=fact.display() /> }.into_any(),
    };
    let hint = fact.hint.clone();
    view! {
        <div class="fact">
            <dt>{fact.label.clone()}</dt>
            <dd>
                <span class="fact-value">{value}</span>
                {(!hint.is_empty()).then(|| view! { <span class="fact-hint">{hint}</span> })}
            </dd>
        </div>
    }
}
