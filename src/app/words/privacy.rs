//! Texts of the privacy screen.

use crate::app::browser::Outcome;
use crate::app::browser::WayOut;

/// Texts of the privacy screen.
pub struct PrivacyWords {
    pub link: &'static str,
    pub see_for_yourself: &'static str,
    /// First digits of the build hash.
    pub build: fn(&str) -> String,
    pub works_offline: &'static str,

    pub title: &'static str,
    pub lead: &'static str,
    pub address: &'static str,
    pub address_hint: &'static str,
    pub no_address: &'static str,
    pub try_all: &'static str,
    pub try_again: &'static str,
    /// Attempts made, all attempts.
    pub trying: fn(usize, usize) -> String,
    /// Attempts blocked, all attempts.
    pub result: fn(usize, usize) -> String,
    pub table: &'static str,
    pub way: &'static str,
    pub own_server: &'static str,
    /// Host of the other address.
    pub elsewhere: fn(&str) -> String,
    /// Name, and how it works.
    pub ways: fn(WayOut) -> (&'static str, &'static str),
    pub not_tried: &'static str,
    pub refused: &'static str,
    pub absent: &'static str,
    pub failed: &'static str,
    pub through: &'static str,
    /// Explanation of an outcome.
    pub said: fn(&Outcome) -> String,
    pub not_blocked_title: &'static str,
    pub not_blocked: &'static [&'static str],
    pub before_title: &'static str,
    pub before: &'static [&'static str],
    pub check_title: &'static str,
    pub check: &'static [&'static str],
    pub this_build: &'static str,
}

pub const ENGLISH: PrivacyWords = PrivacyWords {
    link: "What leaves this page",
    see_for_yourself: "Verify it",
    build: |digits| format!("build {digits}"),
    works_offline: ", works offline",

    title: "What leaves this page: nothing. Try it.",
    lead: "Your browser blocks every connection from this page, even to its own server. Here the page tries to send a few words \
           in every way it knows, and shows how the browser responded.",
    address: "Another address to try",
    address_hint: "Enter an address of your own to watch its log.",
    no_address: "This is not a web address. Enter one that starts with https:// or http://",
    try_all: "Try every way out",
    try_again: "Try again",
    trying: |done, all| format!("Trying: {done} of {all}"),
    result: |refused, all| match all - refused {
        0 => format!("All {all} attempts were blocked."),
        n => format!(
            "{n} of {all} attempts were not blocked. Do not open anything confidential here, and tell us which browser you use."
        ),
    },
    table: "Ways out",
    way: "Way",
    own_server: "To this page's own server",
    elsewhere: |host| format!("To {host}"),
    ways: |way| match way {
        WayOut::Fetch => ("fetch", "a request with a body"),
        WayOut::Xhr => ("XMLHttpRequest", "the older request API"),
        WayOut::WebSocket => ("WebSocket", "a permanent connection"),
        WayOut::EventSource => ("EventSource", "a stream from a server"),
        WayOut::Beacon => ("Beacon", "sent even while leaving the page"),
        WayOut::Image => ("Image", "data in its address"),
        WayOut::Frame => ("Frame", "a page inside this one"),
        WayOut::Form => ("Form", "submitted without a click"),
        WayOut::Script => ("Script", "loaded late"),
        WayOut::Style => ("Style sheet", "loaded late"),
        WayOut::Font => ("Font", "loaded late"),
        WayOut::Worker => ("Worker", "started from an address"),
        WayOut::FetchInWorker => ("fetch in a worker", "where traces are parsed"),
        WayOut::Wasm => ("WebAssembly", "a module that imports fetch"),
        WayOut::WebRtc => ("WebRTC", "calls between browsers"),
        WayOut::ServiceWorker => ("Service worker", "can use the network"),
        WayOut::Window => ("New window", "opened by the page"),
    },
    not_tried: "Not tried yet",
    refused: "Blocked",
    absent: "Not available",
    failed: "Not blocked",
    through: "Got through",
    said: |outcome| match outcome {
        Outcome::Policy(directive) => format!("by {directive}"),
        Outcome::Thrown(words) => words.clone(),
        Outcome::Absent => "removed from this page".to_string(),
        Outcome::Failed(words) if words.is_empty() => "failed for another reason".to_string(),
        Outcome::Failed(words) => format!("failed for another reason: {words}"),
        Outcome::Through => "nothing stopped it".to_string(),
    },
    not_blocked_title: "What a browser cannot block",
    not_blocked: &[
        "Links you click and addresses you type: the browser goes there, and the address could contain data. No link on this page is \
         made from a trace.",
        "What you share yourself: saved exports, copied rows and links, a trace you open in Perfetto.",
        "Extensions you installed: they may read every page.",
        "A page that navigates away by itself. This page prevents that in code, because no policy covers it. The same goes for WebRTC, \
         new windows and the service worker: the page removes them before a trace can be opened.",
    ],
    before_title: "What happened while loading",
    before: &[
        "The page fetched its own files from its own server: programs, styles, samples. Then it was locked, and only then did it start.",
        "A service worker caches these files for offline use. From time to time the browser asks the server for a newer version, \
         without sending anything from the page. The service worker fetches only the files of the site, and the page cannot make it fetch anything else.",
        "Traces are parsed in this browser. It caches large ones on this computer, if you allow it.",
    ],
    check_title: "How to verify it without trusting this page",
    check: &[
        "Open your browser's developer tools (F12), select Network, and open a trace: there are no requests.",
        "Go offline after the page has loaded: everything still works.",
        "Compare the build below with the one published with a release, or with your own from source: node tools/build-hash.mjs dist prints it.",
    ],
    this_build: "This build",
};
