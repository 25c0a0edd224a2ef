//! Files that were open when the page was loaded anew, and how they were looked at.

use super::{App, Source, Tab};
use crate::app::browser;
use crate::app::erased::effect_again;
use crate::app::view_state::{Action, Place, TabView};
use leptos::prelude::*;

/// Stands for the load of the page in stored addresses, which are read by the next one.
const ANY_LOAD: &str = "reload";

/// A file that was open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostFile {
    /// As its tab was called.
    pub name: String,
    view: TabView,
}

impl LostFile {
    /// Those of the load before.
    pub fn stored() -> Vec<LostFile> {
        let file = |(name, address): (String, String)| {
            let view = Place::parse(&address, ANY_LOAD).and_then(|place| place.tab).unwrap_or_default();
            LostFile { name, view }
        };
        browser::session_files().into_iter().map(file).collect()
    }
}

/// A link has its own address, and a comparison is made from other tabs.
fn is_of_files(tab: Tab) -> bool {
    tab.source
        .with_value(|source| matches!(source, Some(Source::File(_) | Source::Together(_) | Source::Kept(_))))
}

impl App {
    /// Keeps in mind which files are open, for a reload.
    pub fn remember_open_files(self) {
        effect_again(move |again| {
            let file = |tab: &Tab| {
                let view = self.view.with(|view| view.tab(tab.id).cloned()).unwrap_or(TabView::new(tab.id));
                let place = Place { tab: Some(view), ..Place::default() };
                (tab.name.get(), place.fragment(ANY_LOAD))
            };
            let files: Vec<(String, String)> =
                self.tabs.with(|tabs| tabs.iter().filter(|tab| is_of_files(**tab)).map(file).collect());
            // What was open before is offered until something else is.
            if !files.is_empty() || again {
                browser::remember_session(&files);
                let is_open = |lost: &LostFile| files.iter().any(|(name, _)| *name == lost.name);
                if self.lost_files.with_untracked(|lost| lost.iter().any(is_open)) {
                    self.lost_files.update(|lost| lost.retain(|lost| !is_open(lost)));
                }
            }
        });
    }

    /// Shows a file that is opened again as it was before the page was loaded anew.
    pub fn look_as_before_reload(self, tab: Tab) {
        let name = tab.name.get_untracked();
        let view = self.lost_files.with_untracked(|lost| {
            lost.iter()
                .find(|lost| lost.name == name)
                .filter(|_| is_of_files(tab))
                .map(|lost| lost.view.clone())
        });
        if let Some(view) = view {
            self.act(Action::Restore(TabView { id: tab.id, ..view }));
            tab.is_reopened.set_value(true);
        }
    }
}
