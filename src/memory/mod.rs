//! What memory accesses say: which kind of memory each one touches, how long data is kept, how it is read and written.
//!
//! Takes the accesses of a [`Trace`](crate::trace::Trace) and what the person gave ([`Options`]); gives labels, tables of
//! regions and of blocks of the key/value cache, and the metrics. It knows no view.
//!
//! Numbers are those of mrm-trace 0.1.0, to the last digit where its sums can be repeated; where that tool is wrong by its own
//! words, the module concerned says so. What is kept of each access is packed: its label, and intervals and strides, whose quantiles
//! are exact ([`spread`]). Tables grow with regions and pages; what has to be known of each distinct address is known of
//! a share of them at a time ([`once`]).

pub mod index;
pub mod kinds;
pub mod kv;
pub mod labeller;
pub mod labelling;
pub mod metrics;
pub mod numbers;
pub mod once;
pub mod phase_spans;
pub mod phases;
pub mod quality;
pub mod ranges;
pub mod row_table;
pub mod rules;
pub mod settings;
pub mod spread;
pub mod suitability;
pub mod summary;
pub mod telemetry;
pub mod tracker;
pub mod view;

pub use kinds::{Kind, Kinds};
pub use labeller::{Labeller, UnknownPolicy};
pub use metrics::Metrics;
pub use phases::Phases;
pub use rules::Rules;
pub use view::{Measured, Options, View};
