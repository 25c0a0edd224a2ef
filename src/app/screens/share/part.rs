//! Which part of a trace goes out.

use crate::app::times::millis;
use crate::app::times::nanoseconds;
use crate::app::widgets::DecimalField;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::Cut;

/// Which part of a trace is written, as someone writes it.
#[derive(Clone, Copy)]
pub struct PartDraft {
    /// Milliseconds since the start of the trace.
    from: RwSignal<String>,
    to: RwSignal<String>,
    /// Slices that may be one inside the other; empty for all.
    depth: RwSignal<String>,
}

/// What is wrong with a part as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    From,
    To,
    /// It ends before it starts.
    Order,
    /// It starts when the trace is over.
    Beyond,
    Depth,
}

impl PartDraft {
    pub fn new((from, to): (i64, i64)) -> PartDraft {
        PartDraft {
            from: RwSignal::new(millis(from.max(0))),
            to: RwSignal::new(millis(to.max(0))),
            depth: RwSignal::default(),
        }
    }

    /// What is kept of a trace of that length.
    pub fn cut(self, span: Option<i64>) -> Result<Cut, Wrong> {
        let window = match span {
            Some(span) => {
                let from = nanoseconds(&self.from.get()).ok_or(Wrong::From)?;
                let to = nanoseconds(&self.to.get()).ok_or(Wrong::To)?;
                match () {
                    () if from > to => return Err(Wrong::Order),
                    () if from > span => return Err(Wrong::Beyond),
                    () => (from > 0 || to < span).then_some((from, to)),
                }
            }
            None => None,
        };
        let max_depth = match self.depth.get().trim() {
            "" => None,
            depth => Some(depth.parse().ok().filter(|depth| *depth > 0).ok_or(Wrong::Depth)?),
        };
        Ok(Cut { window, max_depth })
    }
}

pub fn words_for(wrong: Wrong, span: i64) -> String {
    match wrong {
        Wrong::From | Wrong::To => words().notes.bad_time.to_string(),
        Wrong::Order => words().notes.bad_range.to_string(),
        Wrong::Beyond => (words().sharing.beyond)(&millis(span)),
        Wrong::Depth => words().sharing.bad_depth.to_string(),
    }
}

/// Where a part of a trace is written, and what is wrong with it.
#[component]
pub fn PartFields(
    part: PartDraft,
    cut: Memo<Result<Cut, Wrong>>,
    /// Length of the trace.
    span: i64,
    /// Slices may be left out by their depth, too.
    #[prop(optional)]
    with_depth: bool,
    #[prop(optional, into)] disabled: Signal<bool>,
) -> impl IntoView {
    let wrong = move || cut.with(|cut| cut.as_ref().err().copied());
    let field = move |label: &'static str, value: RwSignal<String>, concerns: &'static [Wrong]| {
        let invalid = Signal::derive(move || wrong().is_some_and(|wrong| concerns.contains(&wrong)));
        view! { <DecimalField label value invalid /> }
    };
    view! {
        <fieldset disabled=disabled>
            <legend>{(words().sharing.part)(&millis(span))}</legend>
            {field(words().sharing.from, part.from, &[Wrong::From, Wrong::Order, Wrong::Beyond])}
            {field(words().sharing.to, part.to, &[Wrong::To, Wrong::Order])}
            {with_depth.then(|| field(words().sharing.depth, part.depth, &[Wrong::Depth]))}
        </fieldset>
        <p class="wrong" role="status">{move || wrong().map(|wrong| words_for(wrong, span))}</p>
    }
}
