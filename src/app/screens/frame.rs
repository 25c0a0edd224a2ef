//! What stands around a trace in a frame of another page: the badge of its limits, and a foot.

use crate::app::embed::Embed;
use crate::app::erased::Show;
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::{BudgetView, HeldView};

#[component]
pub fn FrameScreen(embed: Embed) -> impl IntoView {
    let app = app();
    view! {
        <Show when=move || app.active.get().is_none()>
            <p class="frame-waits" role="status">{words().frame.frame_waits}</p>
        </Show>
        {move || embed.budget.get().map(|budget| view! { <Budget budget /> })}
    }
}

/// Green or red, in words too, and each limit with the reason.
#[component]
fn Budget(budget: BudgetView) -> impl IntoView {
    let n = budget.limits.len();
    let n_kept = budget.limits.iter().filter(|limit| matches!(limit.held, HeldView::Kept(_))).count();
    let is_kept = budget.is_kept();
    let summary = match n {
        0 => words().frame.budget_empty.to_string(),
        n if is_kept => (words().frame.budget_kept)(n),
        n => (words().frame.budget_passed)(n - n_kept, n),
    };
    let limits = budget.limits.into_iter().map(|limit| {
        let (state, is_kept, why) = match limit.held {
            HeldView::Kept(why) => (words().frame.limit_kept, true, why),
            HeldView::Passed(why) => (words().frame.limit_passed, false, why),
            HeldView::Unknown(why) => (words().frame.limit_unknown, false, why),
        };
        view! {
            <li>
                <span class="budget-limit" class:privacy-good=is_kept class:privacy-bad=!is_kept>
                    <Icon shape=if is_kept { Shape::Check } else { Shape::Alert } />
                    <code>{limit.text}</code>
                    " "
                    {state}
                </span>
                <span class="budget-why">{why}</span>
            </li>
        }
    });
    view! {
        <details class="budget" class:budget-kept=is_kept data-testid="budget">
            <summary>
                <Icon shape=if is_kept { Shape::Check } else { Shape::Alert } />
                <span>{summary}</span>
            </summary>
            <ul>{limits.collect_view()}</ul>
        </details>
    }
}
