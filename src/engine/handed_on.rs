//! A Tracedrop file as what it holds: the trace from its index, or the report alone.

use super::protocol::{Failure, SentView};
use super::{Linked, Session};
use crate::analysis::Query;
use crate::archive::Entry;
use crate::export::tracedrop_file::{self, Refusal, TracedropFile};
use crate::index::Index;
use crate::trace::args::Content;
use std::rc::Rc;

/// What such a file is opened as.
pub enum HandedOn {
    /// All that was read of the trace is in it.
    Session(Box<Session>),
    /// The report, with no trace behind it.
    Linked(Box<Linked>),
}

/// Opens such a file. `asked` is what whoever opens it asks of the trace, instead of what the sender asked. `unpack` gives the bytes of its index, wherever it puts them; where there can be none, or they are of no
/// use, the report is shown without.
pub fn open_tracedrop_file(
    content: &dyn Content,
    asked: Option<&Query>,
    unpack: impl FnOnce(&Entry) -> Result<Rc<dyn Content>, String>,
) -> Result<HandedOn, Failure> {
    let TracedropFile { report, index, .. } = tracedrop_file::open(content)?;
    let entry = match index {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(HandedOn::Linked(Box::new(Linked::of_file(report, None)))),
        Err(why) => return Ok(HandedOn::Linked(Box::new(Linked::of_file(report, Some(why.to_string()))))),
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
        Err(why) => Ok(HandedOn::Linked(Box::new(Linked::of_file(report, Some(why))))),
    }
}

/// What the sender asked, with tables of their own, is asked again, where nothing else is asked.
fn open_index(content: Rc<dyn Content>, asked: Option<&Query>) -> Result<Session, Failure> {
    let index = Index::open(content)?;
    let mut query = asked.unwrap_or(&index.head.query).clone();
    // Whoever opens it says whether to show them.
    query.show_secrets = asked.is_some_and(|asked| asked.show_secrets);
    Ok(Session::of_index(index, None, query)?)
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let hint = match &refusal {
            Refusal::OtherVersion(_) => "use a newer version of Tracedrop",
            Refusal::Archive(_) | Refusal::Damaged(_) => "copy it again, or ask for it once more",
            _ => "ask who made it for another one",
        };
        Failure { code: "tracedrop-file".to_string(), what: refusal.to_string(), hint: hint.to_string() }
    }
}
