//! Content that is made a little later, so that the page never works for long in one go, nor for what nobody sees while there is
//! more to do.

use crate::app::browser::{self, Local, Nearing};
use leptos::html::Div;
use leptos::prelude::*;

/// About the time between two frames.
const TURN_MS: u64 = 20;
/// What comes near waits for so many turns at most, as no more come near at once.
const NEIGHBOURS: usize = 4;

/// When content below other content is made, and brought up to date.
#[derive(Clone, Copy)]
pub struct Turn {
    /// How many are before it. The first one is made at once.
    pub turn: usize,
    /// It is on the screen, or not far from it.
    near: RwSignal<bool>,
    /// There is time for what is not.
    has_time: Signal<bool>,
}

impl Turn {
    pub fn new(turn: usize, has_time: impl Into<Signal<bool>>) -> Turn {
        Turn { turn, near: RwSignal::new(turn == 0), has_time: has_time.into() }
    }

    /// Calls `act` as soon as its turn comes, and again whenever `track` has changed. `act` may find that what it belongs to is
    /// gone.
    fn when_due(self, track: impl Fn() + 'static, act: impl Fn() + Copy + 'static) {
        Effect::new(move |_| {
            track();
            if self.near.get() {
                match self.turn {
                    0 => act(),
                    turn => browser::after(TURN_MS * turn.min(NEIGHBOURS) as u64, act),
                }
            } else if self.has_time.get() {
                browser::after(TURN_MS * self.turn as u64, act);
            }
        });
    }

    /// What `source` is, once its turn comes after each change.
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

/// Makes its content when it is its turn, and keeps it.
#[component]
pub fn InTurn(turn: Turn, children: ChildrenFn) -> impl IntoView {
    let is_made = RwSignal::new(turn.turn == 0);
    let place = NodeRef::<Div>::new();
    let nearing: Local<Option<Nearing>> = StoredValue::new_local(None);
    place.on_load(move |place| {
        let watch = browser::on_nearing(&place, move |is_near| {
            if turn.near.try_get_untracked().is_some_and(|before| before != is_near) {
                turn.near.set(is_near);
            }
        });
        nearing.set_value(Some(watch));
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
        <div class="turn" class:turn-waits=move || !is_made.get() node_ref=place>
            <Show when=move || is_made.get()>{children()}</Show>
        </div>
    }
}
