//! All browser APIs beyond elements and their events; `web-sys` is used nowhere else.

mod address;
mod canvas;
mod clipboard;
mod files;
mod folders;
mod handles;
mod host;
mod host_messages;
mod keys;
mod launch;
mod listeners;
mod neighbours;
mod perfetto;
mod place;
mod start;
mod storage;
mod theme;
mod timers;
mod ways_out;
mod worker;

pub use address::{
    address_with, fragment, load_id, on_fragment, on_history, push_fragment, replace_fragment,
};
pub use canvas::{Canvas, Letters, Lines, dots_per_pixel, style_value};
pub use clipboard::{copy_names_whole, copy_text};
pub use files::{
    Dropped, Half, Picked, Ranges, download, download_text, heads_of_blobs, on_choosing, on_drag, on_paste,
    picked, text_of_blob,
};
pub use folders::{Folder, picked_folder};
pub use handles::{PendingHandle, file_by_handle, forget_handles, handle_names, keep_handle};
pub use host::{Asked, FromHost, asked, mark_as_frame, on_height, on_host, tell_host};
pub use host_messages::{CheckedLimit, LimitState, ReportName, ToHost, Verdict};
pub use keys::{give_key, on_key, on_search_key};
pub use launch::{given_files, on_launch};
pub use neighbours::Neighbours;
pub use perfetto::{HandedOver, PERFETTO, hand_over};
pub use place::{
    Nearing, Resizing, Spot, ask_before_leaving, blur, capture, catch_focus, digit_px, edges_of, focus_first,
    focus_inside, focus_sibling, focus_unmoved, focused_inside, focused_inside_as, has_more_right,
    has_selected_text, header_px, is_on_control, is_target, is_there, keep_in_window, keep_rows_whole,
    lead_to, lead_to_nth, on_nearing, on_resize, on_scroll, press, reveal, reveal_above, reveal_in,
    reveal_part, root_font_px, scroll_to, scroll_top_of, scroll_up_to, scroll_window_by, scroll_window_to,
    set_class, set_title, show_dialog, size_of, spot_below, spot_of, spot_of_focus, tell_width, to_top,
    width_of, window_top, with_next_frame,
};
pub use start::{build, is_kept_offline, local_time, now_ms, samples, take_newer, version, when_newer};
pub use storage::{remember, remember_session, remembered, session_files};
pub use theme::{Theme, apply_theme, is_wide, on_system_theme, stored_theme};
pub use timers::{Pause, after};
pub use ways_out::{Outcome, WayOut, own_address, try_way_out, web_address};
pub use worker::{Attached, Port, WorkerHandle, channel, n_processors};

use leptos::prelude::{LocalStorage, StoredValue};

/// A file or similar data; never copied.
pub type Blob = web_sys::Blob;

/// A browser value in a `Copy` handle, like signals.
pub type Local<T> = StoredValue<T, LocalStorage>;
