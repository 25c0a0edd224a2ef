//! What the page has besides its tabs: cached files, workers that wait or help.

use crate::app::archives::Work;
use crate::app::browser::Local;
use crate::app::client::Client;
use crate::app::helper_pool::HelperPool;
use crate::app::recent_files::RecentFiles;
use leptos::prelude::*;

/// Shared by all tabs.
#[derive(Clone, Copy)]
pub struct AppServices {
    /// Cached files.
    pub recent_files: RecentFiles,
    /// Started with the page to list the formats; parses the first file.
    pub spare: Local<Option<Client>>,
    /// Workers that help with large files.
    pub helper_pool: Local<HelperPool>,
    /// Worker that opens archives.
    pub unpacker: Local<Option<Client>>,
    /// Number of archives it is working on.
    pub n_unpacking: StoredValue<u32>,
    /// Continuations for when those archives are opened or have failed.
    pub unpacking: Local<Vec<Work>>,
}

impl AppServices {
    pub fn new() -> AppServices {
        AppServices {
            recent_files: RecentFiles::new(),
            spare: StoredValue::new_local(None),
            helper_pool: StoredValue::new_local(HelperPool::default()),
            unpacker: StoredValue::new_local(None),
            n_unpacking: StoredValue::new(0),
            unpacking: StoredValue::new_local(Vec::new()),
        }
    }
}
