//! What the page knows: one signal a fact. Everything else is worked out from these where it is shown.

use super::against::Sides;
use super::archives::Work;
use super::browser::{self, Half, Local, Picked, Port, Ranges, Spot, Theme};
use super::client::{Answer, Client, Event};
use super::embed::{self, Embed};
use super::landing::Landing;
use super::pool::{Helper, Pool};
use super::rest::{Rest, Waiting};
use super::screens::Way;
use super::shelf::Shelf;
use super::words::words;
use super::writing::Writing;
use crate::app::own_table::{OwnTable, first_query};
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::pace::Pace;
use tracedrop::base::text;
use tracedrop::engine::protocol::{
    DocumentView, ExporterView, Failure, FormatView, Keep, KeptView, NamedFile, OpenFile, Progress, Request,
    ShareOptions, TableSpot,
};
use tracedrop::report::{Notes, RowsOf};

/// The way into the tab that shows.
const SHOWN_TAB: &str = "[role=tab][aria-selected=true]";

/// Short messages go away by themselves after this time, those about something that failed stay longer.
const TOAST_MS: u64 = 5_000;
const ALERT_MS: u64 = 12_000;

/// Stopping can be given up after so long, by the same button.
const SURELY_MS: f64 = 1_500.0;

/// The list of what is kept is read so long after the page was opened.
const SHELF_AFTER_MS: u64 = 300;

/// Smaller files are read by one worker alone.
const MIN_HELPED_BYTES: f64 = 1e6;

/// Smaller files are read as quickly as they are opened from an index.
const MIN_KEPT_BYTES: f64 = 4e6;

/// The whole page.
#[derive(Clone, Copy)]
pub struct App {
    pub tabs: RwSignal<Vec<Tab>>,
    /// The tab that shows; `None` for the start screen.
    pub active: RwSignal<Option<u32>>,
    /// What can be read, once a worker has said so.
    pub formats: RwSignal<Vec<FormatView>>,
    pub theme: RwSignal<Theme>,
    /// The half of the window over which files are held.
    pub hover: RwSignal<Option<Half>>,
    /// The dialog of keys is open.
    pub keys: RwSignal<bool>,
    /// A tab that is to be closed, with notes that would be lost: whoever wrote them is asked.
    pub closing: RwSignal<Option<Tab>>,
    /// The page on what leaves the browser shows, in place of the start screen.
    pub privacy: RwSignal<bool>,
    /// What a frame of another page knows; `None` where the page stands by itself.
    pub embed: Option<Embed>,
    pub toasts: RwSignal<Vec<Toast>>,
    pub tip: RwSignal<Option<Tip>>,
    /// What is kept of files that were opened before.
    pub shelf: Shelf,
    /// Started with the page to ask for the formats; reads the first file.
    spare: Local<Option<Client>>,
    /// Workers that help with large files.
    pool: Local<Pool>,
    /// Looks into archives.
    pub unpacker: Local<Option<Client>>,
    /// Archives that it has not answered for yet.
    pub n_unpacking: StoredValue<u32>,
    /// What goes on once those archives are opened, or are lost.
    pub unpacking: Local<Vec<Work>>,
    /// Tabs to be compared, A and B, once both are read.
    pub to_compare: StoredValue<Vec<[u32; 2]>>,
    next_id: StoredValue<u32>,
    /// Signals of tabs belong to the page, not to the click that opened them. What weighs something is dropped when
    /// the tab is closed; the few bytes of its signals stay until the page is left, so that nothing late can miss them.
    owner: StoredValue<Owner>,
}

/// A short message at the edge of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toast {
    pub id: u32,
    pub text: String,
    pub alert: bool,
}

/// An explanation beside what has the focus or the pointer.
#[derive(Clone, PartialEq, Debug)]
pub struct Tip {
    pub text: String,
    pub at: Spot,
}

/// How far a tab is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Read when it is shown for the first time: the file is being read together with others.
    Waiting,
    Reading,
    /// Asked to stop; the report of what was read is on its way.
    Stopping,
    Done,
    /// The file has nothing to show.
    Failed(Failure),
    /// The worker ended, in the browser's words.
    Died(String),
}

/// How far reading is, with what the clock says of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    pub progress: Progress,
    pub bytes_per_second: Option<f64>,
    pub seconds_left: Option<f64>,
}

/// How fast bytes are read, and percents of the reports made.
#[derive(Clone, Default)]
struct Paces {
    reading: Pace,
    making: Pace,
}

/// An export that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exporting {
    pub title: String,
    pub bytes: u64,
}

/// What there is in a tab, as people call it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shows {
    File,
    Files,
    Comparison,
    Link,
}

/// What a tab is opened from.
#[derive(Clone)]
pub enum Source {
    File(Picked),
    /// Several files as one run, in this order.
    Together(Vec<Picked>),
    /// An index that is kept, without its file.
    Kept(KeptView),
    /// Two other tabs, held against each other.
    Sides(Sides),
    /// The part of a link behind `#`.
    Link(String),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::File(file) => file.name.clone(),
            Source::Together(files) => super::together::name(files),
            Source::Kept(entry) => entry.file_name.clone(),
            Source::Sides(sides) => sides.name(),
            Source::Link(_) => words().sharing.link.to_string(),
        }
    }

    /// Address ranges that came with it.
    fn ranges(&self) -> Option<Ranges> {
        match self {
            Source::File(file) => file.ranges.clone(),
            Source::Together(files) => files.iter().find_map(|file| file.ranges.clone()),
            Source::Kept(_) | Source::Sides(_) | Source::Link(_) => None,
        }
    }

    fn file_bytes(&self) -> u64 {
        match self {
            Source::File(file) => file.blob.size() as u64,
            Source::Together(files) => files.iter().map(|file| file.blob.size() as u64).sum(),
            Source::Kept(entry) => entry.file_bytes,
            Source::Sides(sides) => sides.n_bytes(),
            Source::Link(_) => 0,
        }
    }
}

/// An open file, or several that are read together.
#[derive(Clone, Copy)]
pub struct Tab {
    pub id: u32,
    /// As shown: control characters visible.
    pub name: RwSignal<String>,
    pub phase: RwSignal<Phase>,
    pub reading: RwSignal<Reading>,
    /// Percent of the reports that are made, where they are made again for another question and that takes its time.
    pub made_again: RwSignal<Option<u8>>,
    pub document: RwSignal<Option<Arc<DocumentView>>>,
    /// How often what was asked of the reports could not be done, so that they are as they were.
    pub n_refused: RwSignal<u32>,
    /// `id` of the report that shows; `None` for the first one.
    pub report: RwSignal<Option<String>>,
    /// Rows that someone asked to be led to; their table takes it.
    pub led_to: RwSignal<Option<RowsOf>>,
    /// `id` of the format that it is read as, where that is not by its content.
    format: StoredValue<Option<&'static str>>,
    /// The stretch of time that alone is held when it is read, in nanoseconds from its start; `None` for all of it.
    only: StoredValue<Option<(i64, i64)>>,
    /// The address ranges that came from a file.
    pub ranges: RwSignal<Option<Ranges>>,
    pub exporting: RwSignal<Option<Exporting>>,
    /// Where something is to go, while the dialog on it is open.
    pub share: RwSignal<Option<Way>>,
    /// The part of the trace that someone wants to see there, in nanoseconds since its start.
    pub window: StoredValue<Option<(i64, i64)>>,
    /// What someone wrote on it.
    pub notes: RwSignal<Notes>,
    /// What of that is somewhere else too: in the file or link that it came with, or in one that it went into.
    pub saved_notes: RwSignal<Notes>,
    /// What is being written, while the dialog on it is open.
    pub writing: RwSignal<Option<Writing>>,
    /// Something stands in that dialog that would be lost without it.
    pub half_written: RwSignal<bool>,
    /// How tables are to be looked at, as the sender of a link did.
    pub spots: RwSignal<Vec<TableSpot>>,
    /// How tables are looked at, where not in their own order and whole.
    pub looks: StoredValue<Vec<TableSpot>>,
    /// The link that the file may be of, until its SHA-256 is known.
    pub landing: StoredValue<Option<Landing>>,
    /// A comparison of files that a link may be of, once the SHA-256 of its sides are known.
    pub awaits_digests: StoredValue<bool>,
    /// SHA-256 of each file that was read as hexadecimal digits, in the order of the document, once they are known.
    pub digests: RwSignal<Option<Vec<Option<String>>>>,
    /// Tabs that were opened at once with this one and are not all read yet, this one among them.
    pub batch: StoredValue<Vec<u32>>,
    /// Tabs whose files may be read together with this one's, this one among them.
    pub fellows: RwSignal<Vec<u32>>,
    /// Where the page was scrolled to when another tab was chosen.
    pub top_px: StoredValue<f64>,
    pub app: App,
    pace: StoredValue<Paces>,
    /// When reading was stopped by hand.
    pub stopped_ms: StoredValue<f64>,
    /// When it was shown last.
    pub seen_ms: StoredValue<f64>,
    pub source: Local<Option<Source>>,
    pub client: Local<Option<Client>>,
    pub rest: StoredValue<Rest>,
    /// What is asked of a worker that is not back yet.
    pub waiting: Local<Vec<Waiting>>,
    /// Workers that help this tab's with reading.
    helpers: Local<Vec<Helper>>,
}

impl App {
    pub fn new() -> App {
        let asked = browser::asked();
        App {
            tabs: RwSignal::default(),
            active: RwSignal::new(None),
            formats: RwSignal::default(),
            theme: RwSignal::new(asked.as_ref().map_or_else(browser::stored_theme, embed::theme_of)),
            hover: RwSignal::new(None),
            keys: RwSignal::new(false),
            closing: RwSignal::new(None),
            privacy: RwSignal::new(false),
            embed: asked.map(Embed::new),
            toasts: RwSignal::default(),
            tip: RwSignal::new(None),
            shelf: Shelf::new(),
            spare: StoredValue::new_local(None),
            pool: StoredValue::new_local(Pool::default()),
            unpacker: StoredValue::new_local(None),
            n_unpacking: StoredValue::new(0),
            unpacking: StoredValue::new_local(Vec::new()),
            to_compare: StoredValue::default(),
            next_id: StoredValue::new(0),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
        }
    }

    /// Starts a worker before there is a file, to learn what can be read.
    pub fn warm_up(self) {
        let client = Client::start(move |event| {
            if let Event::Ready { formats } = event {
                self.formats.set(formats);
            }
        });
        self.spare.set_value(client.ok());
        self.pool.update_value(Pool::start);
        // What is kept can wait until everything else is ready.
        if self.embed.is_none() {
            browser::after(SHELF_AFTER_MS, move || self.shelf.follow());
        }
    }

    /// A file is about to be chosen or dropped: workers that help to read it get ready.
    pub fn expect_file(self) {
        self.pool.update_value(Pool::expect_file);
    }

    fn id(self) -> u32 {
        let id = self.next_id.get_value() + 1;
        self.next_id.set_value(id);
        id
    }

    /// Opens a file from its index, without the file.
    pub fn open_kept(self, entry: KeptView) {
        self.open_tab(Source::Kept(entry));
    }

    /// Opens a tab, shows it and reads what it is of.
    pub fn open_tab(self, source: Source) -> Tab {
        let tab = self.add_tab(source);
        self.show(Some(tab.id));
        tab
    }

    /// Adds a tab that reads what it is of when it is shown.
    pub fn add_tab(self, source: Source) -> Tab {
        let tab = self.owner.with_value(|owner| owner.with(|| Tab::new(self, source)));
        self.tabs.update(|tabs| tabs.push(tab));
        tab
    }

    /// Shows the browser's dialog to choose files.
    pub fn choose_files(self) {
        browser::press("[data-key=o]");
    }

    /// Shows the browser's dialog to choose a folder.
    pub fn choose_folder(self) {
        browser::press("[data-key=f]");
    }

    pub fn tab(self, id: u32) -> Option<Tab> {
        self.tabs.with_untracked(|tabs| tabs.iter().find(|tab| tab.id == id).copied())
    }

    pub fn active_tab(self) -> Option<Tab> {
        self.active.get_untracked().and_then(|id| self.tab(id))
    }

    /// Shows a tab, or the start screen, as it was left.
    pub fn show(self, id: Option<u32>) {
        if let Some(tab) = self.active_tab() {
            tab.top_px.set_value(browser::window_top());
            tab.seen_ms.set_value(browser::now_ms());
        }
        self.tip.set(None);
        self.privacy.set(false);
        if self.active.get_untracked() != id {
            self.active.set(id);
            let top = id.and_then(|id| self.tab(id)).map_or(0.0, |tab| tab.top_px.get_value());
            browser::after(0, move || {
                browser::catch_focus(&[SHOWN_TAB, ".brand"]);
                browser::scroll_window_to(top);
            });
        }
        if let Some(tab) = self.active_tab().filter(|tab| tab.phase.get_untracked() == Phase::Waiting) {
            tab.start();
        }
    }

    /// Shows the page on what leaves the browser.
    pub fn show_privacy(self) {
        self.show(None);
        self.privacy.set(true);
        browser::after(0, || {
            browser::scroll_window_to(0.0);
            browser::focus_first("#main");
        });
    }

    /// Opens files that came with the start of the page, and those that the system hands to it later.
    pub fn open_what_came_along(self) {
        match browser::given_files() {
            Ok(files) if files.is_empty() => {}
            Ok(files) => self.open(files),
            Err(why) => self.alert((words().not_given)(&why)),
        }
        browser::on_launch(move |files, n_lost| {
            if n_lost > 0 {
                self.alert((words().not_launched)(n_lost as u64));
            }
            self.open(files);
        });
    }

    /// Shows the tab at a place of the strip.
    pub fn show_at(self, at: usize) -> bool {
        let id = self.tabs.with_untracked(|tabs| tabs.get(at).map(|tab| tab.id));
        if id.is_some() {
            self.show(id);
        }
        id.is_some()
    }

    /// Shows the tab `step` places on, round at the ends.
    pub fn step(self, step: isize) -> bool {
        let n_tabs = self.tabs.with_untracked(Vec::len);
        if n_tabs == 0 {
            return false;
        }
        let at = self.place(self.active.get_untracked());
        let to = match at {
            Some(at) => (at as isize + step).rem_euclid(n_tabs as isize) as usize,
            None if step < 0 => n_tabs - 1,
            None => 0,
        };
        self.show_at(to)
    }

    fn place(self, id: Option<u32>) -> Option<usize> {
        self.tabs.with_untracked(|tabs| tabs.iter().position(|tab| Some(tab.id) == id))
    }

    /// Closes a tab; asks first if notes would be lost with it.
    pub fn close(self, id: u32) {
        match self.tab(id).filter(|tab| tab.would_lose_notes()) {
            Some(tab) => self.closing.set(Some(tab)),
            None => self.close_unasked(id),
        }
    }

    /// Closes a tab, whatever was written on it.
    pub fn close_unasked(self, id: u32) {
        let Some(at) = self.place(Some(id)) else { return };
        let tab = self.tabs.with_untracked(|tabs| tabs[at]);
        if self.active.get_untracked() == Some(id) {
            let next = self.tabs.with_untracked(|tabs| {
                tabs.get(at + 1)
                    .or_else(|| at.checked_sub(1).and_then(|before| tabs.get(before)))
                    .map(|tab| tab.id)
            });
            self.show(next);
        }
        self.tabs.update(|tabs| tabs.retain(|tab| tab.id != id));
        tab.drop_contents();
        self.settled(tab);
    }

    /// A tab is read, or will not be: goes on with what waited for it.
    fn settled(self, tab: Tab) {
        self.look_at_batch(tab);
        self.compare_what_is_read();
        self.let_idle_rest();
    }

    pub fn say(self, text: String) {
        self.toast(text, false);
    }

    pub fn alert(self, text: String) {
        self.toast(text, true);
    }

    fn toast(self, text: String, alert: bool) {
        let id = self.id();
        self.toasts.update(|toasts| {
            // The same thing said twice is said once.
            toasts.retain(|toast| toast.text != text);
            toasts.push(Toast { id, text, alert });
        });
        browser::after(if alert { ALERT_MS } else { TOAST_MS }, move || self.dismiss(id));
    }

    pub fn dismiss(self, id: u32) {
        self.toasts.update(|toasts| toasts.retain(|toast| toast.id != id));
    }

    /// Forgets the file of that key, or all of them.
    pub fn forget(self, key: Option<String>) {
        let n_kept = self.shelf.entries.with_untracked(|entries| entries.as_ref().map_or(0, Vec::len));
        self.say((words().forgotten)(if key.is_some() { 1 } else { n_kept }));
        match key {
            Some(key) => self.shelf.forget(key),
            None => self.shelf.forget_all(),
        }
    }

    /// Whether what is read is kept from now on.
    pub fn set_keeps(self, keeps: bool) {
        if !keeps {
            self.tabs.with_untracked(|tabs| tabs.iter().for_each(|tab| tab.send(&Request::KeepNothing)));
        }
        self.shelf.set_keeps(keeps);
    }

    pub fn choose_theme(self, theme: Theme) {
        self.theme.set(theme);
    }
}

impl Tab {
    fn new(app: App, source: Source) -> Tab {
        Tab {
            id: app.id(),
            name: RwSignal::new(text::visible(&source.name())),
            phase: RwSignal::new(Phase::Waiting),
            reading: RwSignal::default(),
            made_again: RwSignal::default(),
            document: RwSignal::new(None),
            n_refused: RwSignal::default(),
            report: RwSignal::new(None),
            led_to: RwSignal::new(None),
            format: StoredValue::new(None),
            only: StoredValue::new(None),
            ranges: RwSignal::new(source.ranges()),
            exporting: RwSignal::new(None),
            share: RwSignal::new(None),
            window: StoredValue::new(None),
            notes: RwSignal::default(),
            saved_notes: RwSignal::default(),
            writing: RwSignal::new(None),
            half_written: RwSignal::new(false),
            spots: RwSignal::default(),
            looks: StoredValue::default(),
            landing: StoredValue::default(),
            awaits_digests: StoredValue::default(),
            digests: RwSignal::new(None),
            batch: StoredValue::default(),
            fellows: RwSignal::default(),
            top_px: StoredValue::new(0.0),
            app,
            pace: StoredValue::default(),
            stopped_ms: StoredValue::new(0.0),
            seen_ms: StoredValue::new(browser::now_ms()),
            source: StoredValue::new_local(Some(source)),
            client: StoredValue::new_local(None),
            rest: StoredValue::default(),
            waiting: StoredValue::new_local(Vec::new()),
            helpers: StoredValue::new_local(Vec::new()),
        }
    }

    /// Opens the file, with a worker of its own: from its index if that is kept, else it is read.
    pub fn start(self) {
        self.start_with(false);
    }

    /// Reads the file again, as the format of that `id`; `None` to go by its content.
    pub fn read_as(self, format: Option<&'static str>) {
        self.format.set_value(format);
        // Not from within a part of the document that ends with this.
        browser::after(0, move || self.read_again());
    }

    /// Reads the file from its beginning, whatever is kept.
    pub fn read_again(self) {
        self.only.set_value(None);
        self.start_with(true);
    }

    /// Reads the file again and holds only what touches a stretch of time: first and last nanosecond from its start.
    pub fn read_only(self, from_ns: i64, to_ns: i64) {
        self.only.set_value(Some((from_ns, to_ns)));
        // Not from within a part of the document that ends with this.
        browser::after(0, move || self.start_with(true));
    }

    /// Whether it shows an index that is kept of a file of that name and size, and has no file yet.
    pub fn misses(self, file: &Picked) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::Kept(entry)) => {
                (entry.file_name.as_str(), entry.file_bytes) == (file.name.as_str(), file.blob.size() as u64)
            }
            _ => false,
        })
    }

    /// The file that an index is of is at hand now: shows that, with the notes that were written meanwhile. From its index, or
    /// read again where it is another file.
    pub fn take_file(self, file: Picked) {
        self.source.set_value(Some(Source::File(file)));
        self.start();
        self.app.say((words().file_at_hand)(&self.name.get_untracked()));
    }

    /// Whether it shows an index that the browser keeps, without the file.
    pub fn lacks_file(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Kept(_))))
    }

    fn start_with(self, afresh: bool) {
        let Some(source) = self.source.with_value(Clone::clone) else { return };
        // What was asked of it, if it is read again.
        let asked = self.document.with_untracked(|document| Some(document.as_ref()?.query.clone()));
        let query = asked.unwrap_or_else(|| match self.ranges.get_untracked() {
            Some(ranges) => OwnTable::MemoryRanges.put(first_query(), ranges.text),
            None => first_query(),
        });
        self.document.set(None);
        self.exporting.set(None);
        self.digests.set(None);
        self.pace.set_value(Paces::default());
        let progress = Progress { file_bytes: source.file_bytes(), ..Progress::default() };
        self.reading.set(Reading { progress, ..Reading::default() });
        self.phase.set(Phase::Reading);
        self.stopped_ms.set_value(0.0);
        self.rest.set_value(Rest::Awake);
        self.start_worker(source, query, afresh);
    }

    /// Starts a worker that opens the source.
    pub fn start_worker(self, source: Source, query: Query, afresh: bool) {
        // The old worker ends before the new one takes memory.
        self.client.set_value(None);
        let spare = self.app.spare.try_update_value(Option::take).flatten().filter(|spare| !spare.is_dead());
        let client = match spare {
            Some(spare) => {
                spare.listen(move |event| self.hear(event));
                Ok(spare)
            }
            None => Client::start(move |event| self.hear(event)),
        };
        match client {
            Ok(client) => {
                match source {
                    Source::File(file) => self.open_file(&client, file, query, afresh),
                    Source::Together(files) => self.send_files(&client, files, None, query),
                    Source::Kept(entry) => client.send(&Request::OpenKept { key: entry.key, query }),
                    Source::Sides(sides) => client.send(&sides.request()),
                    Source::Link(fragment) => client.send(&Request::OpenLink { fragment }),
                }
                self.client.set_value(Some(client));
            }
            Err(why) => self.hear(Event::Died { why, was_idle: false }),
        }
    }

    fn open_file(self, client: &Client, file: Picked, query: Query, afresh: bool) {
        let keep = self.kept_as(&file).map(|modified_ms| Keep { modified_ms, afresh });
        self.send_files(client, vec![file], keep, query);
    }

    /// The time of the last change of a file whose index may be kept, in milliseconds since the Unix epoch.
    fn kept_as(self, file: &Picked) -> Option<u64> {
        let Picked { blob, modified_ms, beside, .. } = file;
        // An index would not have what lies beside the file.
        // In a frame nothing is kept either: what another page shows is its own.
        let is_large = self.app.embed.is_none()
            && blob.size() >= MIN_KEPT_BYTES
            && beside.is_empty()
            && self.app.shelf.keeps.get_untracked();
        // An index is of what everybody reads in the file.
        let is_usual = self.format.with_value(Option::is_none) && self.only.with_value(Option::is_none);
        modified_ms.filter(|_| is_large && is_usual)
    }

    /// Whether an index of its file may be kept.
    pub fn may_be_kept(self) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => self.kept_as(file).is_some(),
            _ => false,
        })
    }

    /// Files that are read one after the other, with the same helpers, and put together.
    fn send_files(self, client: &Client, files: Vec<Picked>, keep: Option<Keep>, query: Query) {
        let is_large = files.iter().any(|file| file.blob.size() >= MIN_HELPED_BYTES);
        let ports = if is_large { self.take_helpers() } else { Vec::new() };
        let only = self.only.get_value().filter(|_| files.len() == 1);
        let (files, blobs) = as_sent(files, keep, self.format.get_value(), only);
        client.send_with(&Request::Open { files, query }, &blobs, ports);
    }

    /// Takes the helpers that are free; gives the ways to them.
    fn take_helpers(self) -> Vec<Port> {
        self.let_helpers_go();
        let helpers = self.app.pool.try_update_value(Pool::take).unwrap_or_default();
        let ports = helpers.iter().enumerate().map_while(|(index, helper)| {
            helper.help(move || self.send(&Request::HelperLost { index: index as u32 }))
        });
        let ports = ports.collect();
        self.helpers.set_value(helpers);
        ports
    }

    /// Reading is over: the helpers end. Others are started once another file is in sight.
    fn let_helpers_go(self) {
        let helpers = self.helpers.try_update_value(std::mem::take).unwrap_or_default();
        if !helpers.is_empty() {
            self.app.pool.update_value(|pool| pool.dismiss(helpers));
        }
    }

    /// Size of the one file that is read; `None` for anything else.
    pub fn file_bytes(self) -> Option<u64> {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => Some(file.blob.size() as u64),
            _ => None,
        })
    }

    /// What is in it, as people call it.
    pub fn shows(self) -> Shows {
        self.source.with_value(|source| match source {
            Some(Source::Together(_)) => Shows::Files,
            Some(Source::Sides(_)) => Shows::Comparison,
            Some(Source::Link(_)) => Shows::Link,
            Some(Source::File(_) | Source::Kept(_)) | None => Shows::File,
        })
    }

    /// Whether several files are read together in it.
    pub fn is_of_several(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Together(_))))
    }

    pub fn send(self, request: &Request) {
        // A tab whose worker is not there has nothing to stop and keeps nothing.
        if matches!(request, Request::SetQuery(_) | Request::WantDigests)
            && self.keep_waiting(Waiting::Told(request.clone())).is_none()
        {
            return;
        }
        self.client.with_value(|client| {
            if let Some(client) = client {
                client.send(request);
            }
        });
    }

    fn hear(self, event: Event) {
        let is_read = match &event {
            Event::Document(document) => !document.partial,
            Event::Progress(progress) => progress.finishing,
            Event::Failed(_) | Event::Died { .. } => true,
            Event::Ready { .. } | Event::KeptChanged | Event::Digests(_) | Event::Stale(_) => false,
        };
        if is_read {
            self.let_helpers_go();
        }
        if !matches!(event, Event::Progress(_)) && self.made_again.with_untracked(Option::is_some) {
            self.made_again.set(None);
        }
        if self.rest.get_value() == Rest::Waking {
            match &event {
                // What shows is whole already.
                Event::Document(document) if document.partial => return,
                Event::Failed(failure) => return self.stays_asleep(failure),
                Event::Died { .. } => {
                    let what = words().died_what.to_string();
                    let failure = Failure { code: String::new(), what, hint: String::new() };
                    return self.stays_asleep(&failure);
                }
                _ => {}
            }
        }
        match event {
            Event::Ready { formats } => self.app.formats.set(formats),
            Event::Progress(progress) if self.phase.get_untracked() == Phase::Done => {
                let Progress { file_bytes_read, file_bytes, .. } = progress;
                let is_waking = self.rest.get_value() == Rest::Waking && file_bytes > 0;
                let read_percent =
                    is_waking.then(|| (file_bytes_read as f64 / file_bytes as f64 * 100.0) as u8);
                self.made_again.set(progress.made_percent.or(read_percent));
            }
            Event::Progress(progress) => {
                let now = browser::now_ms();
                let mut pace = self.pace.get_value();
                // How long reports take is not known where nothing is told of it.
                let seconds_left = match (progress.finishing, progress.made_percent) {
                    (false, _) => {
                        pace.reading.note(now, progress.file_bytes_read);
                        pace.reading.seconds_left(progress.file_bytes)
                    }
                    (true, None) => None,
                    (true, Some(percent)) => {
                        pace.making.note(now, percent.into());
                        pace.making.seconds_left(100)
                    }
                };
                let bytes_per_second = pace.reading.per_second_of(progress.file_bytes);
                self.pace.set_value(pace);
                let reading = Reading { bytes_per_second, seconds_left, progress };
                self.reading.set(reading);
            }
            Event::Document(document) => {
                let is_whole = !document.partial;
                if is_whole {
                    if self.phase.get_untracked() == Phase::Stopping {
                        // What was pressed to stop is gone.
                        browser::after(0, || browser::catch_focus(&[SHOWN_TAB]));
                    }
                    if let Some(name) = super::against::name_of(&document)
                        .or_else(|| super::together::name_of_fellows(&document))
                    {
                        self.name.set(name);
                    }
                    self.phase.set(Phase::Done);
                }
                let is_first = is_whole
                    && self.document.with_untracked(|before| before.as_ref().is_none_or(|it| it.partial));
                if is_first {
                    self.show_as_sent(&document);
                }
                self.document.set(Some(document));
                if is_first {
                    self.app.land(self);
                }
                if is_whole {
                    self.woke_up();
                    self.app.settled(self);
                }
            }
            Event::Failed(failure) => {
                self.document.set(None);
                self.refuse_waiting(&failure);
                self.phase.set(Phase::Failed(failure));
                self.end_worker();
                self.app.settled(self);
            }
            Event::KeptChanged => self.app.shelf.has_changed(),
            Event::Digests(digests) => {
                self.check_landing(&digests);
                self.digests.set(Some(digests));
                self.app.land_compared_with(self);
            }
            Event::Stale(failure) => {
                self.n_refused.update(|n| *n += 1);
                self.app.shelf.has_changed();
                if self.can_be_read_again() {
                    self.app.alert((words().read_again_because)(&failure.what));
                    // Not from within the message of a worker that ends with this.
                    browser::after(0, move || {
                        self.read_again();
                        self.app.compare_anew(self.id);
                    });
                } else {
                    self.app.alert((words().refused)(&failure.what, &failure.hint));
                }
            }
            // The report stays, and another worker comes when it is asked something.
            Event::Died { why, was_idle: true } if why.is_empty() && self.can_come_back() => {
                self.rest.set_value(Rest::Asleep);
            }
            Event::Died { why, .. } => {
                self.exporting.set(None);
                self.phase.set(Phase::Died(why));
                self.end_worker();
                self.app.settled(self);
            }
        }
    }

    /// The title that someone gave to it, else its name.
    pub fn title(self) -> String {
        let title = self.notes.with(|notes| text::visible(&notes.title));
        if title.is_empty() { self.name.get() } else { title }
    }

    /// What it is called, with a number where an earlier tab has the same name.
    pub fn label(self) -> String {
        let name = self.name.get();
        if self.notes.with(|notes| !notes.title.is_empty()) {
            return self.title();
        }
        let earlier = self.app.tabs.with(|tabs| {
            tabs.iter()
                .take_while(|tab| tab.id != self.id)
                .filter(|tab| tab.name.with(|other| *other == name))
                .count()
        });
        if earlier == 0 { name } else { (words().numbered)(&name, earlier + 1) }
    }

    /// Whether it shows a file that is at hand.
    pub fn can_be_read_again(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::File(_))))
    }

    /// Shows rows of a table of some report.
    pub fn lead_to(self, rows: RowsOf) {
        self.report.set(Some(rows.report.clone()));
        self.led_to.set(Some(rows));
    }

    /// Stops reading and keeps what was read; asked a second time, closes the tab.
    pub fn stop(self) {
        match self.phase.get_untracked() {
            Phase::Reading => {
                self.phase.set(Phase::Stopping);
                self.stopped_ms.set_value(browser::now_ms());
                self.send(&Request::Stop);
            }
            // A second click may have been meant for the first button.
            Phase::Stopping if browser::now_ms() - self.stopped_ms.get_value() < SURELY_MS => {}
            _ => self.app.close(self.id),
        }
    }

    /// Holds only a stretch of time of what is read: nanoseconds from `start_ns` on the trace's clock.
    pub fn hold_only(self, start_ns: i64, from_ns: i64, to_ns: i64) {
        self.send(&Request::HoldOnly { start_ns, from_ns, to_ns });
    }

    pub fn set_query(self, query: Query) {
        self.send(&Request::SetQuery(query));
    }

    /// Asks the worker, which comes back where it has ended; a tab without one gives no answer.
    pub fn ask(self, request: impl FnOnce(u32) -> Request + 'static, answer: impl Fn(Answer) + 'static) {
        let asked = Waiting::Asked { request: Box::new(request), answer: Rc::new(answer) };
        let Some(Waiting::Asked { request, answer }) = self.keep_waiting(asked) else { return };
        self.client.with_value(|client| {
            if let Some(client) = client {
                client.ask(request, move |it| answer(it));
            }
        });
    }

    pub fn export(self, exporter: ExporterView) {
        self.export_with(exporter, ShareOptions::default());
    }

    /// The same of a part, or with something taken out. Notes go along where there is a place for them.
    pub fn export_with(self, exporter: ExporterView, options: ShareOptions) {
        let options = self.with_notes(options);
        if self.exporting.with_untracked(Option::is_some) {
            return;
        }
        let ExporterView { id, title, takes_notes, .. } = exporter;
        // What is taken out of notes would be lost.
        let saved = options.notes.clone().filter(|_| takes_notes && options.redact.is_none());
        self.exporting.set(Some(Exporting { title, bytes: 0 }));
        let app = self.app;
        self.ask(
            |ticket| Request::Share { ticket, exporter: id, options },
            move |answer| match answer {
                Answer::ExportProgress(bytes) => self.exporting.update(|exporting| {
                    if let Some(exporting) = exporting {
                        exporting.bytes = bytes;
                    }
                }),
                Answer::Exported { file_name, bytes, left_out, blob } => {
                    self.exporting.set(None);
                    browser::download(&file_name, &blob);
                    if let Some(notes) = &saved {
                        self.mark_saved(notes);
                    }
                    app.say((words().exported)(&text::visible(&file_name), bytes, &left_out));
                }
                Answer::Refused(failure) => {
                    self.exporting.set(None);
                    app.alert((words().refused)(&failure.what, &failure.hint));
                }
                _ => {}
            },
        );
    }

    /// With what was written here so far.
    pub fn with_notes(self, options: ShareOptions) -> ShareOptions {
        ShareOptions { notes: Some(self.notes.get_untracked()), ..options }
    }

    fn drop_contents(self) {
        self.let_helpers_go();
        self.client.set_value(None);
        self.waiting.set_value(Vec::new());
        self.source.set_value(None);
        self.document.set(None);
    }
}

/// Files as a request names them, and the `Blob`s that go beside it.
fn as_sent(
    files: Vec<Picked>,
    keep: Option<Keep>,
    format: Option<&str>,
    only: Option<(i64, i64)>,
) -> (Vec<OpenFile>, Vec<browser::Blob>) {
    let (mut named, mut blobs) = (Vec::new(), Vec::new());
    for Picked { name, blob, beside, .. } in files {
        blobs.push(blob);
        let beside = beside.into_iter().map(|other| {
            let n_bytes = other.n_bytes();
            blobs.push(other.blob);
            NamedFile { name: other.name, n_bytes }
        });
        let format = format.map(str::to_string);
        named.push(OpenFile { name, format, keep, beside: beside.collect(), only });
    }
    (named, blobs)
}

/// The page's state, from any component.
pub fn app() -> App {
    expect_context::<App>()
}
