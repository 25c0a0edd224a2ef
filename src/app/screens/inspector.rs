//! Beside a report in a wide window: all columns of the row that had the focus last, and the events that it stands for.

use super::timeline::details::BoxDetails;
use crate::app::browser::Pause;
use crate::app::client::Answer;
use crate::app::erased::{Show, effect, memo};
use crate::app::state::{Inspected, Tab};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::units::{format_ns, group_digits};
use tracedrop::engine::protocol::Request;
use tracedrop::timeline::answers::{BoxLink, Lengths, Named, TimelineAnswer, TimelineAsk};

/// How long a row has the focus before its events are looked for.
const PAUSE_MS: u32 = 120;

#[component]
pub fn Inspector(
    tab: Tab,
    /// `id` of the report that shows.
    shown: Memo<Option<String>>,
) -> impl IntoView {
    let of_shown = move || shown.with(|shown| tab.inspected_of(shown.as_ref()?));
    // It has its place before a row is chosen, so that no column moves then.
    let is_there = memo(move || {
        shown.with(|shown| shown.as_ref().is_some_and(|shown| tab.can_inspect(shown))) || of_shown().is_some()
    });
    let is_empty = memo(move || of_shown().is_none());
    let named = RwSignal::new(None::<Arc<Named>>);
    let ask = move |inspected: Arc<Inspected>| {
        let text = inspected.text.clone();
        tab.ask(
            move |ticket| Request::Timeline { ticket, of: None, ask: TimelineAsk::Named { text } },
            move |answer| {
                let is_same = || {
                    tab.inspected
                        .with_untracked(|now| now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &inspected)))
                };
                if let Answer::Timeline(TimelineAnswer::Named(Some(found))) = answer
                    && is_same()
                {
                    let _ = named.try_set(Some(Arc::from(found)));
                }
            },
        );
    };
    // Keys may pass many rows, and each is looked for in all of the trace.
    let pause = Pause::new();
    effect(move || {
        named.set(None);
        match of_shown() {
            Some(inspected) => pause.start(PAUSE_MS, move || ask(inspected)),
            None => pause.cancel(),
        }
    });
    view! {
        <Show when=move || is_there.get()>
            <aside class="inspector" aria-label=words().timeline.row>
                <Show when=move || is_empty.get()>
                    <p class="hint">{words().timeline.choose_row}</p>
                </Show>
                {move || of_shown().map(|inspected| view! { <Cells inspected /> })}
                {move || named.get().map(|named| view! { <Events tab named /> })}
            </aside>
        </Show>
    }
}

/// All columns of the row, also those that the table has no room for.
#[component]
fn Cells(inspected: Arc<Inspected>) -> impl IntoView {
    let columns = inspected.table.columns.iter().zip(&inspected.values);
    let cells: Vec<_> = columns
        .map(|(column, value)| (column, value.display(column.unit)))
        .filter(|(_, value)| !value.is_empty() && value != "–")
        .collect();
    // The others are of events beside it, such as the next kernel.
    let title = cells.iter().position(|(column, _)| column.is_symbol && column.key);
    let is_said = |at: usize| title.is_some_and(|title| cells[title].1 == cells[at].1);
    let rest: Vec<_> = (0..cells.len()).filter(|at| !is_said(*at)).map(|at| cells[at].clone()).collect();
    view! {
        {title.map(|at| view! { <h3>{cells[at].1.clone()}</h3> })}
        <dl>
            {rest.into_iter().map(|(column, value)| view! {
                <div class:inspector-wide=column.is_symbol>
                    <dt>{column.label.clone()}</dt>
                    <dd>{value}</dd>
                </div>
            }).collect_view()}
        </dl>
    }
}

#[component]
fn Events(tab: Tab, named: Arc<Named>) -> impl IntoView {
    let words = &words().timeline;
    let go = Callback::new(move |link: BoxLink| tab.show_event(&link));
    let Named { n, total_ns, lengths, longest, callers, n_callers, details } = (*named).clone();
    let n_more = n_callers.saturating_sub(callers.len() as u64);
    view! {
        <section>
            <h4>{(words.of_row)(n, total_ns)}</h4>
            {(n > 1).then(|| view! { <Histogram n lengths /> })}
        </section>
        {(n > 1).then(|| view! {
            <section>
                <h4>{words.longest}</h4>
                <ul>
                    {longest.into_iter().map(|link| {
                        let dur = link.dur_ns.map_or_else(|| words.no_end.to_string(), |ns| format_ns(ns as i64));
                        let at = format_ns(link.start_ns as i64);
                        view! {
                            <li>
                                <button type="button" class="link" on:click=move |_| go.run(link.clone())>{dur}</button>
                                <span class="unit">{format!("{} {at}", words.start.to_lowercase())}</span>
                            </li>
                        }
                    }).collect_view()}
                </ul>
            </section>
        })}
        {(!callers.is_empty()).then(|| view! {
            <section>
                <h4>{words.callers}</h4>
                <ul>
                    {callers.into_iter().map(|(name, n)| view! {
                        <li>
                            <span class="inspector-name">{name}</span>
                            <span class="unit">{group_digits(i128::from(n))}</span>
                        </li>
                    }).collect_view()}
                    {(n_more > 0).then(|| view! { <li>{(words.more_names)(n_more)}</li> })}
                </ul>
            </section>
        })}
        <section>
            <h4>{words.longest_of_row}</h4>
            <BoxDetails tab details=Arc::new(details) go />
        </section>
    }
}

/// Numbers of events by duration, as bars.
#[component]
fn Histogram(n: u64, lengths: Lengths) -> impl IntoView {
    let most = lengths.bins.iter().copied().max().unwrap_or(0).max(1);
    let label = (words().timeline.lengths)(n, lengths.min_ns, lengths.max_ns, lengths.is_log);
    view! {
        <div class="inspector-bins" role="img" aria-label=label.clone()>
            {lengths.bins.into_iter().map(|n| {
                view! { <span style=("--share", (n as f64 / most as f64).to_string())></span> }
            }).collect_view()}
        </div>
        <p class="table-caption" aria-hidden="true">{label}</p>
    }
}
