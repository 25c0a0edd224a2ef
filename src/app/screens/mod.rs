//! What fills the page: a component a screen or a part that is always there.

mod document;
mod drop_overlay;
mod files;
mod frame;
mod header;
mod kept;
mod keys_dialog;
mod ledger;
mod link_card;
mod newer;
mod own_table;
mod panel;
mod privacy;
mod problem;
mod reading;
mod share;
mod sides;
mod start;

pub use document::DocumentScreen;
pub use drop_overlay::DropOverlay;
pub use frame::FrameScreen;
pub use header::Header;
pub use kept::{KeepChoice, KeptFiles};
pub use keys_dialog::KeysDialog;
pub use ledger::FileCard;
pub use link_card::LinkCard;
pub use newer::NewerNotice;
pub use own_table::{MemorySettings, OwnTableEditor};
pub use panel::Panel;
pub use privacy::PrivacyScreen;
pub use problem::ProblemScreen;
pub use reading::ReadingCard;
pub use share::Way;
pub use sides::SidesCard;
pub use start::{FormatList, StartScreen};
