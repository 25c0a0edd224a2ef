//! Processes, threads and the events on their tracks.
//!
//! Thread slices are written by start, others track by track; within a track in an order that makes a reader that
//! replays them arrive at the same nesting:
//!
//! ```text
//! by start, then by depth: a parent comes before a child with the same start.
//! X  begin and duration; readers process all X of one time first, longer first
//! B  begin only: the slice has no end in the file
//! B+E  where a slice begins at the time of an instant or unfinished slice that is not inside it:
//!      as X it would be taken first and swallow it; and where a child ends after it
//! ```

mod async_slices;
mod counters;
mod fields;
mod flows;
mod layout;
mod names;
mod objects;
mod samples;
mod threads;

pub use layout::Layout;
pub use samples::write_samples;

use super::OwnFacts;
use super::writer::Writer;

impl Layout<'_> {
    pub async fn write_events(&self, w: &mut Writer<'_>, facts: &mut OwnFacts) {
        let (arrows, bound) = self.plan_flows(facts);
        self.write_threads(&bound, w).await;
        self.write_loose_instants(w);
        self.write_async(&bound, w).await;
        self.write_counters(w, facts).await;
        self.write_flows(&arrows, w).await;
        self.write_objects(w);
    }
}
