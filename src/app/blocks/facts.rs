//! Named values: the first few large, the rest as a list.

use crate::app::erased::Show;
use crate::app::widgets::{Icon, Number, Shape};
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::report::{Fact, Facts, Mark, Value};

/// Number of values shown large.
const N_LARGE: usize = 4;
/// A text longer than this is no headline.
const LARGE_CHARS: usize = 24;
/// Above this it is smaller than others, so that a number stays in one line.
const LONG_CHARS: usize = 11;

#[component]
pub fn FactsBlock(
    #[prop(into)] facts: Signal<Option<Facts>>,
    /// Title of the report, which is not repeated.
    #[prop(into)]
    report_title: Signal<String>,
) -> impl IntoView {
    move || {
        facts.get().map(|Facts { title, facts }| {
            // One alone below them would look forgotten.
            let most = if facts.len() == N_LARGE + 1 { facts.len() } else { N_LARGE };
            let n_large = facts
                .iter()
                .take(most)
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
    let display = fact.display();
    let long = if display.chars().count() > LONG_CHARS { " fact-long" } else { "" };
    let value = match &fact.value {
        Value::Text(text) => view! { <bdi>{text::visible(text)}</bdi> }.into_any(),
        _ => view! { <Number text=display /> }.into_any(),
    };
    let hint = fact.hint.clone();
    // A name of the trace or of a tool, such as kv_cache, has no capital.
    let is_identifier = fact.label.contains('_');
    let judged = fact.mark.map_or(String::new(), |mark| format!(" judged judged-{}", mark.name()));
    let class = format!("fact-value{judged}{long}");
    view! {
        <div class="fact">
            <dt class:identifier=is_identifier><bdi>{fact.label.clone()}</bdi></dt>
            <dd>
                <span class=class>{fact.mark.map(sign_view)}{value}</span>
                {(!hint.is_empty()).then(|| view! { <span class="fact-hint">{hint}</span> })}
            </dd>
        </div>
    }
}

/// The sign beside a judgement.
fn sign_view(mark: Mark) -> impl IntoView {
    let shape = match mark {
        Mark::Good => Some(Shape::Check),
        Mark::Fair => Some(Shape::Alert),
        Mark::Bad => Some(Shape::Close),
        Mark::Plain => None,
    };
    shape.map(|shape| view! { <Icon shape /> })
}

/// Judgements as they stand above everything else: what they are on, what they say, and what that rests on.
#[component]
pub fn Judgements(#[prop(into)] facts: Signal<Vec<Fact>>) -> impl IntoView {
    let judgement = |fact: Fact| {
        let mark = fact.mark?;
        Some(view! {
            <li class=format!("judgement judged-{}", mark.name())>
                {sign_view(mark)}
                <span>
                    <strong>{fact.label.clone()} ": " <bdi>{fact.display()}</bdi></strong>
                    {(!fact.hint.is_empty()).then(|| format!(" – {}", fact.hint))}
                </span>
            </li>
        })
    };
    view! {
        <Show when=move || facts.with(|facts| !facts.is_empty())>
            <ul class="judgements">{move || facts.get().into_iter().filter_map(judgement).collect_view()}</ul>
        </Show>
    }
}
