//! The address of the page, of which the part behind `#` may hold a report.

use leptos::ev;
use leptos::prelude::{window, window_event_listener};

/// The part behind `#`, without it.
pub fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.strip_prefix('#').unwrap_or(&hash).to_string()
}

/// The page's own address with `fragment` behind it; of a page on a disk that part alone, as the address is of use to nobody
/// else, and names folders.
pub fn address_with(fragment: &str) -> String {
    let address = window().location().href().unwrap_or_default();
    if !address.starts_with("http") {
        return format!("#{fragment}");
    }
    let own = address.split('#').next().unwrap_or_default();
    format!("{own}#{fragment}")
}

/// Calls `act` when another part behind `#` is gone to.
pub fn on_fragment(act: impl Fn() + 'static) {
    window_event_listener(ev::hashchange, move |_| act());
}
