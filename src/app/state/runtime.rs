//! A tab's worker: requests to it, and its messages.

use super::{App, Exporting, SHOWN_REPORT, SHOWN_TAB, Source, Tab};
use crate::app::browser::{self, Local, Picked, Port};
use crate::app::client::{Answer, Client, Event};
use crate::app::compare_tabs;
use crate::app::custom_rules::{CustomRules, first_query};
use crate::app::file_groups;
use crate::app::helper_pool::{Helper, HelperPool};
use crate::app::rest::{Rest, Waiting};
use crate::app::words::words;
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::eta::Eta;
use tracedrop::engine::protocol::{DocumentView, Failure, Keep, NamedFile, OpenFile, Progress, Request};

/// Time after which the same button discards a tab that is stopping.
const SURELY_MS: f64 = 1_500.0;

/// Smaller files are parsed without helpers.
const MIN_HELPED_BYTES: f64 = 1e6;

/// Parsing smaller files is as fast as opening them from an index.
const MIN_KEPT_BYTES: f64 = 4e6;

/// The worker of a tab and how far it is.
#[derive(Clone, Copy)]
pub struct TabRuntime {
    pub phase: RwSignal<Phase>,
    pub reading: RwSignal<Reading>,
    /// Percentage of the reports that are rebuilt after a change of settings, if that takes a while.
    pub made_again: RwSignal<Option<u8>>,
    pub exporting: RwSignal<Option<Exporting>>,
    pace: StoredValue<Paces>,
    /// Time of the user's stop request.
    pub stopped_ms: StoredValue<f64>,
    /// Time when the tab was last shown.
    pub seen_ms: StoredValue<f64>,
    pub client: Local<Option<Client>>,
    pub rest: StoredValue<Rest>,
    /// Requests queued until the worker is back.
    pub waiting: Local<Vec<Waiting>>,
    /// Helpers of the worker.
    helpers: Local<Vec<Helper>>,
}

impl TabRuntime {
    pub fn new() -> TabRuntime {
        TabRuntime {
            phase: RwSignal::new(Phase::Waiting),
            reading: RwSignal::default(),
            made_again: RwSignal::default(),
            exporting: RwSignal::new(None),
            pace: StoredValue::default(),
            stopped_ms: StoredValue::new(0.0),
            seen_ms: StoredValue::new(browser::now_ms()),
            client: StoredValue::new_local(None),
            rest: StoredValue::default(),
            waiting: StoredValue::new_local(Vec::new()),
            helpers: StoredValue::new_local(Vec::new()),
        }
    }
}

/// State of a tab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Parsed when first shown: meanwhile the file is parsed as part of a run.
    Waiting,
    Reading,
    /// Asked to stop; the report on what was parsed is pending.
    Stopping,
    Done,
    /// The file has nothing to show.
    Failed(Failure),
    /// The worker crashed, with the browser's message.
    Died(String),
}

/// Parsing progress with its timing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    pub progress: Progress,
    pub bytes_per_second: Option<f64>,
    pub seconds_left: Option<f64>,
}

/// Rate of parsing, in bytes, and of building reports, in percent.
#[derive(Clone, Default)]
struct Paces {
    reading: Eta,
    making: Eta,
}

impl App {
    /// Starts a worker before there is a file, to list the formats.
    pub fn warm_up(self) {
        let client = Client::start(move |event| {
            if let Event::Ready { formats } = event {
                self.formats.set(formats);
            }
        });
        self.services.spare.set_value(client.ok());
        self.services.helper_pool.update_value(HelperPool::start);
        // The list of cached files can wait until everything else is ready.
        if self.embed.is_none() {
            browser::after(super::RECENT_FILES_AFTER_MS, move || self.services.recent_files.follow());
        }
    }

    /// Prepares helpers before a file is chosen or dropped.
    pub fn expect_file(self) {
        self.services.helper_pool.update_value(HelperPool::expect_file);
    }
}

impl Tab {
    /// Opens the file in a new worker: from its index if cached, else by parsing it.
    pub fn start(self) {
        self.start_with(false);
    }

    /// Parses the file again, as the format of that `id`; `None` to detect it.
    pub fn read_as(self, format: Option<&'static str>) {
        self.format.set_value(format);
        // Not inside a component that this removes.
        browser::after(0, move || self.read_again());
    }

    /// Parses the file from the beginning, ignoring the cache.
    pub fn read_again(self) {
        self.only.set_value(None);
        self.start_with(true);
    }

    /// Parses the file again and keeps only what overlaps a time range: first and last nanosecond from its start.
    pub fn read_only(self, from_ns: i64, to_ns: i64) {
        self.only.set_value(Some((from_ns, to_ns)));
        // Not inside a component that this removes.
        browser::after(0, move || self.start_with(true));
    }

    fn start_with(self, afresh: bool) {
        let Some(source) = self.source.with_value(Clone::clone) else { return };
        // Keep the query if it is parsed again.
        let asked = self.document.with_untracked(|document| Some(document.as_ref()?.query.clone()));
        let asked = asked.or_else(|| self.asked.try_update_value(Option::take).flatten());
        let query = asked.unwrap_or_else(|| match self.ranges.get_untracked() {
            Some(ranges) => CustomRules::MemoryRanges.put(first_query(), ranges.text),
            None => first_query(),
        });
        self.document.set(None);
        self.timeline.reset();
        self.flame.set(None);
        self.run.exporting.set(None);
        self.digests.set(None);
        self.run.pace.set_value(Paces::default());
        let progress = Progress { file_bytes: source.file_bytes(), ..Progress::default() };
        self.run.reading.set(Reading { progress, ..Reading::default() });
        self.run.phase.set(Phase::Reading);
        self.run.stopped_ms.set_value(0.0);
        self.run.rest.set_value(Rest::Awake);
        self.start_worker(source, query, afresh);
    }

    /// Starts a worker that opens the source.
    pub fn start_worker(self, source: Source, query: Query, afresh: bool) {
        // End the old worker before the new one takes memory.
        self.run.client.set_value(None);
        let spare =
            self.app.services.spare.try_update_value(Option::take).flatten().filter(|spare| !spare.is_dead());
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
                self.run.client.set_value(Some(client));
            }
            Err(why) => self.hear(Event::Died { why, was_idle: false }),
        }
    }

    fn open_file(self, client: &Client, file: Picked, query: Query, afresh: bool) {
        let keep = self.kept_as(&file).map(|modified_ms| Keep { modified_ms, afresh });
        self.send_files(client, vec![file], keep, query);
    }

    /// Modification time of a file whose index may be cached, in milliseconds since the Unix epoch.
    fn kept_as(self, file: &Picked) -> Option<u64> {
        let Picked { blob, modified_ms, beside, .. } = file;
        // An index would not contain the other files of the run.
        // An embedded page caches nothing: the content belongs to the host.
        let is_large = self.app.embed.is_none()
            && blob.size() >= MIN_KEPT_BYTES
            && beside.is_empty()
            && self.app.services.recent_files.keeps.get_untracked();
        // An index must not depend on settings.
        let is_usual = self.format.with_value(Option::is_none) && self.only.with_value(Option::is_none);
        modified_ms.filter(|_| is_large && is_usual)
    }

    /// Whether an index of its file may be cached.
    pub fn may_be_kept(self) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => self.kept_as(file).is_some(),
            _ => false,
        })
    }

    /// Parses files one after the other, with the same helpers, and combines them.
    fn send_files(self, client: &Client, files: Vec<Picked>, keep: Option<Keep>, query: Query) {
        let is_large = files.iter().any(|file| file.blob.size() >= MIN_HELPED_BYTES);
        let ports = if is_large { self.take_helpers() } else { Vec::new() };
        let only = self.only.get_value().filter(|_| files.len() == 1);
        let (files, blobs) = as_sent(files, keep, self.format.get_value(), only);
        client.send_with(&Request::Open { files, query }, &blobs, ports);
    }

    /// Takes the idle helpers; returns ports to them.
    fn take_helpers(self) -> Vec<Port> {
        self.let_helpers_go();
        let helpers = self.app.services.helper_pool.try_update_value(HelperPool::take).unwrap_or_default();
        let ports = helpers.iter().enumerate().map_while(|(index, helper)| {
            helper.help(move || self.send(&Request::HelperLost { index: index as u32 }))
        });
        let ports = ports.collect();
        self.run.helpers.set_value(helpers);
        ports
    }

    /// Ends the helpers after parsing. New ones start before another file is opened.
    pub fn let_helpers_go(self) {
        let helpers = self.run.helpers.try_update_value(std::mem::take).unwrap_or_default();
        if !helpers.is_empty() {
            self.app.services.helper_pool.update_value(|pool| pool.dismiss(helpers));
        }
    }

    pub fn send(self, request: &Request) {
        // Without a worker there is nothing to stop and nothing to cache.
        if matches!(request, Request::SetQuery(_) | Request::WantDigests)
            && self.keep_waiting(Waiting::Told(request.clone())).is_none()
        {
            return;
        }
        self.run.client.with_value(|client| {
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
            Event::Ready { .. }
            | Event::ReportAdded(_)
            | Event::KeptChanged
            | Event::Digests(_)
            | Event::Stale(_) => false,
        };
        if is_read {
            self.let_helpers_go();
        }
        if !matches!(event, Event::Progress(_)) && self.run.made_again.with_untracked(Option::is_some) {
            self.run.made_again.set(None);
        }
        if self.run.rest.get_value() == Rest::Waking {
            match &event {
                // The visible document is complete already.
                Event::Document(document) if document.partial => return,
                Event::Failed(failure) => return self.stays_asleep(failure),
                Event::Died { .. } => {
                    let what = words().problem.died_what.to_string();
                    let failure = Failure { code: String::new(), what, hint: String::new() };
                    return self.stays_asleep(&failure);
                }
                _ => {}
            }
        }
        match event {
            Event::Ready { formats } => self.app.formats.set(formats),
            Event::Progress(progress) => self.hear_progress(progress),
            Event::Document(document) => self.hear_document(document),
            Event::ReportAdded(added) => {
                // A document that is complete already is another one, such as that of the worker before.
                let document = self.document.get_untracked();
                if let Some(mut document) = document.filter(|document| document.partial)
                    && Arc::make_mut(&mut document).add(*added)
                {
                    self.document.set(Some(document));
                }
            }
            Event::Failed(failure) => {
                self.document.set(None);
                self.refuse_waiting(&failure);
                self.run.phase.set(Phase::Failed(failure));
                self.end_worker();
                self.app.settled(self);
            }
            Event::KeptChanged => self.app.services.recent_files.has_changed(),
            Event::Digests(digests) => {
                self.check_link_match(&digests);
                self.digests.set(Some(digests));
                self.app.match_links_compared_with(self);
            }
            Event::Stale(failure) => {
                self.n_refused.update(|n| *n += 1);
                self.app.services.recent_files.has_changed();
                if self.can_be_read_again() {
                    self.app.alert((words().file.read_again_because)(&failure.what));
                    // Not inside a message handler of the worker that this ends.
                    browser::after(0, move || {
                        self.read_again();
                        self.app.compare_anew(self.id);
                    });
                } else {
                    self.app.alert((words().export.refused)(&failure.what, &failure.hint));
                }
            }
            // The report stays; a new worker starts on demand.
            Event::Died { why, was_idle: true } if why.is_empty() && self.can_come_back() => {
                self.run.rest.set_value(Rest::Asleep);
            }
            Event::Died { why, .. } => {
                self.run.exporting.set(None);
                self.run.phase.set(Phase::Died(why));
                self.end_worker();
                self.app.settled(self);
            }
        }
    }

    fn hear_progress(self, progress: Progress) {
        if self.run.phase.get_untracked() == Phase::Done {
            let Progress { file_bytes_read, file_bytes, .. } = progress;
            let is_waking = self.run.rest.get_value() == Rest::Waking && file_bytes > 0;
            let read_percent = is_waking.then(|| (file_bytes_read as f64 / file_bytes as f64 * 100.0) as u8);
            self.run.made_again.set(progress.made_percent.or(read_percent));
            return;
        }
        let now = browser::now_ms();
        let mut pace = self.run.pace.get_value();
        // Without progress messages, the time for reports is unknown.
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
        self.run.pace.set_value(pace);
        let reading = Reading { bytes_per_second, seconds_left, progress };
        self.run.reading.set(reading);
    }

    fn hear_document(self, document: Arc<DocumentView>) {
        let is_whole = !document.partial;
        if is_whole {
            if self.run.phase.get_untracked() == Phase::Stopping {
                // The Stop button is gone.
                browser::after(0, || browser::catch_focus(&[SHOWN_TAB]));
            }
            if let Some(name) =
                compare_tabs::name_of(&document).or_else(|| file_groups::name_of_fellows(&document))
            {
                self.name.set(name);
            }
            self.run.phase.set(Phase::Done);
        }
        let is_first =
            is_whole && self.document.with_untracked(|before| before.as_ref().is_none_or(|it| it.partial));
        if is_first {
            self.show_as_sent(&document);
        }
        self.document.set(Some(document));
        if is_first {
            self.app.match_links(self);
            self.app.show_if_wanted(self);
            // From where the file was chosen, and not from where someone is already.
            if self.app.embed.is_none() && self.app.active.get_untracked() == Some(self.id) {
                browser::after(0, || browser::catch_focus(&[SHOWN_REPORT, SHOWN_TAB]));
            }
        }
        if is_whole {
            self.woke_up();
            self.app.settled(self);
        }
    }

    /// Stops parsing and keeps what was parsed; called a second time, closes the tab.
    pub fn stop(self) {
        match self.run.phase.get_untracked() {
            Phase::Reading => {
                self.run.phase.set(Phase::Stopping);
                self.run.stopped_ms.set_value(browser::now_ms());
                self.send(&Request::Stop);
            }
            // Ignore a double click on the Stop button.
            Phase::Stopping if browser::now_ms() - self.run.stopped_ms.get_value() < SURELY_MS => {}
            _ => self.app.close(self.id),
        }
    }

    /// Keeps only a time range of the file being parsed: nanoseconds from `start_ns` on the trace's clock.
    pub fn hold_only(self, start_ns: i64, from_ns: i64, to_ns: i64) {
        self.send(&Request::HoldOnly { start_ns, from_ns, to_ns });
    }

    pub fn set_query(self, query: Query) {
        self.send(&Request::SetQuery(query));
    }

    /// Sends a request to the worker, restarting it if it has ended; a tab without one does not answer.
    pub fn ask(self, request: impl FnOnce(u32) -> Request + 'static, answer: impl Fn(Answer) + 'static) {
        let asked = Waiting::Asked { request: Box::new(request), answer: Rc::new(answer) };
        let Some(Waiting::Asked { request, answer }) = self.keep_waiting(asked) else { return };
        self.run.client.with_value(|client| {
            if let Some(client) = client {
                client.ask(request, move |it| answer(it));
            }
        });
    }
}

/// Files for a request, and their `Blob`s to attach.
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
