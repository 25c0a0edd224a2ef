//! Analysis of memory accesses: kind of memory, retention, reads and writes.
//!
//! Takes the accesses of a [`Trace`](crate::trace::Trace) and user settings ([`Options`]); gives labels, tables of
//! regions and key/value cache blocks, and metrics. Independent of reports.
//!
//! Numbers match mrm-trace 0.1.0, to the last digit where its sums can be reproduced. Where that tool contradicts its own
//! documentation, the module concerned notes it. Data per access is packed: its label, and intervals and strides, whose quantiles
//! are exact ([`exact_quantiles`]). Tables grow with regions and pages; per-address data is computed for
//! a share of the addresses at a time ([`distinct_addresses`]).

pub mod distinct_addresses;
pub mod exact_quantiles;
pub mod index;
pub mod kept;
pub mod kinds;
pub mod kv;
pub mod labeller;
pub mod labelling;
pub mod metrics;
pub mod numbers;
pub mod phase_spans;
pub mod phases;
pub mod quality;
pub mod ranges;
pub mod row_table;
pub mod rules;
pub mod settings;
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
pub use view::{LabelledTrace, Measured, Options};
