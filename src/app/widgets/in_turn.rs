//! Deferred rendering, so that the page never blocks for long, nor renders hidden content while there is more to do.

use crate::app::browser::{self, Local, Nearing};
use crate::app::erased::{Show, effect};
use leptos::html::Div;
use leptos::prelude::*;

/// About the time between two frames.
const TURN_MS: u32 = 20;
/// Maximum turns that content near the window waits, because no more come near at once.
const NEIGHBOURS: usize = 4;

/// Schedule for rendering and updating content.
#[derive(Clone, Copy)]
pub struct Turn {
    /// Number of turns before it. The first one is rendered at once.
    pub turn: usize,
    /// Whether it is in or near the window.
    near: RwSignal<bool>,
    /// Whether there is time for content elsewhere.
    has_time: Signal<bool>,
}

impl Turn {
    pub fn new(turn: usize, has_time: impl Into<Signal<bool>>) -> Turn {
        Turn { turn, near: RwSignal::new(turn == 0), has_time: has_time.into() }
    }

    /// Calls `act` when its turn comes, and again on every change of `track`. The owner of `act` may be gone by then.
    fn when_due(self, track: impl Fn() + 'static, act: impl Fn() + Copy + 'static) {
        effect(move || {
            track();
            if self.near.get() {
                match self.turn {
                    0 => act(),
                    turn => browser::after(TURN_MS * turn.min(NEIGHBOURS) as u32, act),
                }
            } else if self.has_time.get() {
                browser::after(TURN_MS * self.turn as u32, act);
            }
        });
    }

    /// Value of `source`, updated when its turn comes after a change.
    pub fn follow<T>(self, source: Memo<T>) -> Signal<T>
    where
        T: Clone + Send + Sync + 'static,
    {
        let seen = RwSignal::new(source.get_untracked());
        self.when_due(
            move || source.track(),
            move || {
                if let Some(now) = source.try_get_untracked() {
                    let _ = seen.try_set(now);
                }
            },
        );
        seen.into()
    }
}

/// Renders its content when its turn comes, and keeps it.
#[component]
pub fn InTurn(turn: Turn, children: ChildrenFn) -> impl IntoView {
    let is_made = RwSignal::new(turn.turn == 0);
    let place = NodeRef::<Div>::new();
    let nearing: Local<Option<Nearing>> = StoredValue::new_local(None);
    place.on_load(move |place| {
        nearing.set_value(Some(browser::on_nearing(&place, turn.near)));
    });
    turn.when_due(
        || {},
        move || {
            if is_made.try_get_untracked() == Some(false) {
                is_made.set(true);
            }
        },
    );
    view! {
        <div class="turn" tabindex="-1" class:turn-waits=move || !is_made.get() node_ref=place>
            <Show when=move || is_made.get()>{children()}</Show>
        </div>
    }
}
