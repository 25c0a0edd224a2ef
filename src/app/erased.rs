//! Parts of Leptos that are compiled once for the page, in place of once for each use.
//!
//! Leptos compiles its effects, memos, `Show` and `For` anew for each closure that they are given. In these, closures are
//! boxed, so that all uses share one body of code; that is what keeps the page small.

use leptos::children::ViewFn;
use leptos::either::Either;
use leptos::prelude::{
    AnyView, ArcMemo, Children, ChildrenFn, Effect, Get, IntoAny, IntoView, Memo, component, view,
};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An effect without a value: `run` is called after the current task, and whenever something that it read has changed.
pub fn effect(run: impl FnMut() + 'static) {
    boxed_effect(Box::new(run));
}

/// Like [`effect`]; `run` gets whether it was called before.
pub fn effect_again(mut run: impl FnMut(bool) + 'static) {
    let mut again = false;
    effect(move || run(std::mem::replace(&mut again, true)));
}

fn boxed_effect(mut run: Box<dyn FnMut()>) {
    Effect::new(move |_: Option<()>| run());
}

/// A value made from others, made again when they have changed.
pub fn memo<T: PartialEq + Send + Sync + 'static>(make: impl Fn() -> T + Send + Sync + 'static) -> Memo<T> {
    boxed_memo(Box::new(make))
}

fn boxed_memo<T: PartialEq + Send + Sync + 'static>(make: Box<dyn Fn() -> T + Send + Sync>) -> Memo<T> {
    Memo::new(move |_| make())
}

type Condition = Box<dyn Fn() -> bool + Send + Sync>;

/// `children` while `when` holds, `fallback` otherwise.
#[component(transparent)]
pub fn Show<W>(when: W, children: ChildrenFn, #[prop(optional, into)] fallback: ViewFn) -> AnyView
where
    W: Fn() -> bool + Send + Sync + 'static,
{
    show(Box::new(when), children, fallback)
}

fn show(when: Condition, children: ChildrenFn, fallback: ViewFn) -> AnyView {
    let when = ArcMemo::new(move |_| when());
    // Two sides, so that a change makes the other one anew.
    let either = move || match when.get() {
        true => Either::Left(children()),
        false => Either::Right(fallback.run()),
    };
    either.into_any()
}

/// A view for each item, kept as long as its key is there.
#[component(transparent)]
pub fn For<IF, I, T, KF, K, EF, N>(each: IF, key: KF, children: EF) -> AnyView
where
    IF: Fn() -> I + Send + 'static,
    I: IntoIterator<Item = T>,
    T: Send + 'static,
    KF: Fn(&T) -> K + Send + 'static,
    K: Eq + Hash + Send + Sync + 'static,
    EF: Fn(T) -> N + Send + Sync + 'static,
    N: IntoView + 'static,
{
    let children = Arc::new(children);
    for_items(Box::new(move || {
        let item = |item| {
            let children = children.clone();
            Item { key: Key(Arc::new(key(&item))), view: Box::new(move || children(item).into_any()) }
        };
        each().into_iter().map(item).collect()
    }))
}

fn for_items(each: Box<dyn Fn() -> Vec<Item> + Send>) -> AnyView {
    view! {
        <leptos::prelude::For each=move || each() key=|item: &Item| item.key.clone() children=|item: Item| (item.view)() />
    }
    .into_any()
}

struct Item {
    key: Key,
    view: Children,
}

/// Keys of one list have one type.
#[derive(Clone)]
struct Key(Arc<dyn AnyKey>);

trait AnyKey: Any + Send + Sync {
    fn is(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<K: Eq + Hash + Send + Sync + 'static> AnyKey for K {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        (*self.0).is(other)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (*self.0).feed(hasher);
    }
}
