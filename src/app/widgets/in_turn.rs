//! Content that is made a little later, so that the page never works for long in one go.

use crate::app::browser;
use leptos::prelude::*;

/// About the time between two frames.
const TURN_MS: u64 = 20;

/// Makes its content once those before it have had their turn; the first one at once.
#[component]
pub fn InTurn(
    /// How many are before it.
    turn: usize,
    children: ChildrenFn,
) -> impl IntoView {
    let is_due = RwSignal::new(turn == 0);
    if turn > 0 {
        // It may be gone by then.
        browser::after(TURN_MS * turn as u64, move || {
            let _ = is_due.try_set(true);
        });
    }
    view! { <Show when=move || is_due.get()>{children()}</Show> }
}
