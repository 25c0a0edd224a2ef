//! Opening content that needs no parsing: an index of a trace, or a Tracedrop file, from its index or with only the report.

use super::protocol::{Failure, SentView};
use super::{Linked, Session};
use crate::analysis::Query;
use crate::archive::Entry;
use crate::export::tracedrop_file::{self, Refusal, TracedropFile};
use crate::index::{self, Index};
use crate::trace::args::Content;
use std::rc::Rc;

/// Content that was opened without parsing it.
pub enum Opened {
    /// An index, without its trace file.
    Index(Box<Session>),
    HandedOn(HandedOn),
}

/// Opens an index with `query`, or a Tracedrop file with `asked`, see [`open_tracedrop_file`]. `None` if it is neither, so that it
/// has to be parsed.
pub fn open(
    content: &Rc<dyn Content>,
    file_name: &str,
    query: &Query,
    asked: Option<&Query>,
    unpack: impl FnOnce(&Entry) -> Result<Rc<dyn Content>, String>,
) -> Option<Result<Opened, Failure>> {
    let mut head = [0; index::MAGIC.len()];
    if content.read_at(0, &mut head).is_ok() && Index::sniff(&head) {
        let opened = Index::open(content.clone());
        let session = opened.and_then(|index| Session::of_index(index, None, query.clone()));
        return Some(session.map(|session| Opened::Index(Box::new(session))).map_err(Failure::from));
    }
    if tracedrop_file::is_one(&**content, file_name) {
        return Some(open_tracedrop_file(&**content, asked, unpack).map(Opened::HandedOn));
    }
    None
}

/// An opened Tracedrop file.
pub enum HandedOn {
    /// With all trace data.
    Session(Box<Session>),
    /// Only the report, without the trace.
    Linked(Box<Linked>),
}

/// Opens a Tracedrop file. `asked` overrides the query of the sender. `unpack` extracts the index; if that fails, or if the
/// index is unusable, only the report is shown.
pub fn open_tracedrop_file(
    content: &dyn Content,
    asked: Option<&Query>,
    unpack: impl FnOnce(&Entry) -> Result<Rc<dyn Content>, String>,
) -> Result<HandedOn, Failure> {
    let TracedropFile { report, index, .. } = tracedrop_file::open(content)?;
    let shows_secrets = asked.is_some_and(|asked| asked.show_secrets);
    let linked =
        |report, problem| Ok(HandedOn::Linked(Box::new(Linked::of_file(report, problem, shows_secrets))));
    let entry = match index {
        Ok(Some(entry)) => entry,
        Ok(None) => return linked(report, None),
        Err(why) => return linked(report, Some(why.to_string())),
    };
    let opened = unpack(&entry).and_then(|index| open_index(index, asked).map_err(|failure| failure.what));
    match opened {
        Ok(mut session) => {
            session.set_sent(SentView {
                show: report.show,
                tables: report.tables,
                notes: report.notes,
                files: report.files,
                own_tables: report.own_tables,
            });
            Ok(HandedOn::Session(Box::new(session)))
        }
        Err(why) => linked(report, Some(why)),
    }
}

/// Opens the index with the sender's query, including custom tables, unless `asked` overrides it.
fn open_index(content: Rc<dyn Content>, asked: Option<&Query>) -> Result<Session, Failure> {
    let index = Index::open(content)?;
    let mut query = asked.unwrap_or(&index.head.query).clone();
    // The recipient decides whether to show secrets.
    query.show_secrets = asked.is_some_and(|asked| asked.show_secrets);
    Ok(Session::of_index(index, None, query)?)
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let hint = match &refusal {
            Refusal::OtherVersion(_) => "update Tracedrop",
            Refusal::Archive(_) | Refusal::Damaged(_) => "copy it again, or ask the sender for it",
            _ => "ask the sender for another one",
        };
        Failure { code: "tracedrop-file".to_string(), what: refusal.to_string(), hint: hint.to_string() }
    }
}
