//! Generic widgets, independent of traces.

mod decimal_field;
mod dialog;
mod icon;
mod in_turn;
mod menu;
mod number;
mod prose;
mod search_field;
mod tip;
mod toast;

pub use decimal_field::DecimalField;
pub use dialog::Dialog;
pub use icon::{Icon, Shape};
pub use in_turn::{InTurn, Turn};
pub use menu::{Menu, MenuItem};
pub use number::Number;
pub use prose::prose;
pub use search_field::SearchField;
pub use tip::Tips;
pub use toast::Toasts;
