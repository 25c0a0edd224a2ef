//! Labelling: assigns each access a region and a kind.
//!
//! Precedence: the label in the source, the earlier classification of the page, the rules. So the first
//! classification of a page is permanent: an allocator that touches a page while weights are loaded makes it a
//! weight page. All weights are region 1. Each key/value cache address and each page of any other kind is a region, numbered
//! from 2 in order of first access.
//!
//! # Before you change this
//!
//! - Labels, and numbers of regions, must equal those of mrm-trace; `tests/mrm.rs` compares them. They depend on the order of
//!   accesses, so rows are labelled one after the other, in file order, also where a file is read in parts.
//! - [`Labeller::see`] and [`Labeller::label_seen`] are a fast way that looks ahead from the address alone. It must give the
//!   label that [`Labeller::label_given`] would, or nothing; [`Seen::tells`] decides which.
//! - Only a known kind classifies a page. A row of unknown kind leaves no trace, whatever the policy, except with
//!   [`UnknownPolicy::Runtime`].
//! - There can be hundreds of millions of rows and of pages: weight pages are a bit set, other state is one entry per page, and
//!   nothing is allocated per row.

use super::index::{Addresses, PageSet, PageTable, Places};
use super::kinds::{Kind, Kinds};
use super::metrics::Accumulator;
use super::ranges::{AddressRange, MarkedPages};
use super::rules::{Question, Rules};
use crate::base::compat::python;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringTable;
use crate::trace::accesses::{Access, Op, PAGE_BITS};

/// Policy for rows of unknown kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnknownPolicy {
    /// Keep the row with kind unknown, in region 0.
    #[default]
    Keep,
    /// Skip the row.
    Skip,
    /// Stop labelling.
    Error,
    /// Classify the row as runtime.
    Runtime,
}

impl UnknownPolicy {
    /// Accepts the names of the labeller (`keep`, `skip`, `error`), and those in the reference's configuration files
    /// (`assign_unknown`, `log_and_skip`, `fail_run`, `assign_runtime`).
    pub fn of_name(name: &str) -> Option<UnknownPolicy> {
        match name {
            "keep" | "assign_unknown" => Some(UnknownPolicy::Keep),
            "skip" | "log_and_skip" => Some(UnknownPolicy::Skip),
            "error" | "fail_run" => Some(UnknownPolicy::Error),
            "runtime" | "assign_runtime" => Some(UnknownPolicy::Runtime),
            _ => None,
        }
    }
}

/// A memory region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub id: u32,
    /// Kind of its first access.
    pub kind: Kind,
    pub page_min: u64,
    pub page_max: u64,
    /// Time of the first access in file order, nanoseconds; others can be earlier.
    pub first_seen_ns: i64,
    /// Time of the latest access, nanoseconds.
    pub last_seen_ns: i64,
    pub access_count: u64,
}

impl Region {
    /// Region of all memory of unknown kind.
    pub const UNKNOWN: u32 = 0;
    /// Region of all weights.
    pub const WEIGHTS: u32 = 1;
    /// First number of all other regions.
    pub const FIRST: u32 = 2;
}

/// Regions in order of first access.
#[derive(Clone, Debug, Default)]
pub struct RegionMap {
    regions: Vec<Region>,
    places: Places,
    n_given: u32,
}

impl RegionMap {
    /// A number that no region has.
    pub fn next_id(&mut self) -> u32 {
        let id = Region::FIRST.saturating_add(self.n_given);
        self.n_given = self.n_given.saturating_add(1);
        id
    }

    /// Adds an access.
    #[inline]
    pub fn count(&mut self, id: u32, kind: Kind, page: u64, ts: i64) {
        let (at, _) = self.places.get_or_add(id);
        match self.regions.get_mut(at as usize) {
            Some(region) => {
                if region.kind == Kind::NONE {
                    region.kind = kind;
                }
                region.page_min = region.page_min.min(page);
                region.page_max = region.page_max.max(page);
                region.last_seen_ns = region.last_seen_ns.max(ts);
                region.access_count += 1;
            }
            None => self.regions.push(Region {
                id,
                kind,
                page_min: page,
                page_max: page,
                first_seen_ns: ts,
                last_seen_ns: ts,
                access_count: 1,
            }),
        }
    }

    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn push(&mut self, region: Region) {
        self.places.get_or_add(region.id);
        self.regions.push(region);
    }

    /// The region with that number.
    pub fn get(&self, id: u32) -> Option<&Region> {
        self.regions.get(self.places.get(id)? as usize)
    }
}

/// Kind and region of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    pub kind: Kind,
    pub region_id: u32,
}

/// An access of unknown kind, under the `error` policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unclassified {
    pub page: u64,
    pub symbol: String,
    pub dso: String,
}

impl std::fmt::Display for Unclassified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mut symbol, mut dso) = (String::new(), String::new());
        python::push_str_repr(&self.symbol, &mut symbol);
        python::push_str_repr(&self.dso, &mut dso);
        write!(
            f,
            "Could not classify row: address_page={:#x}, symbol={symbol}, dso={dso}. \
             Set unknown_policy='keep' to allow unknowns.",
            self.page
        )
    }
}

/// State of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Number of its kind plus one; 0 before its first access of known kind, and for weights.
    kind: u32,
    /// Region of its accesses other than weights and key/value cache; 0 until there is one.
    id: u32,
}

/// The first access to a single-page region.
#[derive(Clone, Copy, Debug)]
struct Birth {
    page: u64,
    ts: i64,
}

/// State of the weights region.
#[derive(Clone, Copy, Debug)]
struct Weights {
    first_seen_ns: i64,
    page_min: u64,
    page_max: u64,
    /// Number of regions before it.
    n_before: usize,
}

/// Prefetched state of an access, from its address alone.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Kind of its page, if known.
    kind: Option<Kind>,
    /// Region of accesses of this kind to the address; 0 if there is none yet.
    region_id: u32,
}

impl Seen {
    /// Nothing known.
    pub const NOTHING: Seen = Seen { kind: None, region_id: 0 };

    /// Whether the prefetched state fully determines the label of an access with `given` kind in the source.
    #[inline]
    pub fn tells(&self, given: Kind) -> bool {
        self.region_id != 0
            && self
                .kind
                .is_some_and(|kind| kind != Kind::UNKNOWN && (given == kind || given == Kind::UNKNOWN))
    }
}

/// Labels accesses in file order. Regions from number 2 on have one page each, those of the key/value cache one address.
#[derive(Clone, Debug, Default)]
pub struct Labeller {
    rules: Rules,
    policy: UnknownPolicy,
    /// Weight pages as a bit set, as they usually are the majority of pages.
    weights: PageSet,
    /// Weight pages not yet touched by a weight access.
    untouched: HashSet<u64>,
    /// Pages of other kinds that weight accesses have touched.
    other_weights: HashSet<u64>,
    /// State of pages other than weight pages.
    pages: PageTable<Page>,
    ranges: MarkedPages<Kind>,
    /// Regions of key/value cache addresses.
    kv_addresses: Addresses,
    all_weights: Option<Weights>,
    /// First accesses of regions from [`Region::FIRST`] on.
    births: Vec<Birth>,
    /// Cached results of the rules.
    answers: HashMap<Question, Option<Kind>>,
    /// The last lookup; consecutive rows often have the same key.
    last: Option<(Question, Option<Kind>)>,
    phases: HashMap<String, u32>,
    last_phase: Option<(String, u32)>,
}

impl Labeller {
    pub fn new(rules: Rules, policy: UnknownPolicy) -> Labeller {
        Labeller { rules, policy, ..Labeller::default() }
    }

    /// Registers the kind of an address range; returns the number of newly registered pages.
    pub fn register(&mut self, ranges: &[AddressRange], kinds: &mut Kinds) -> u64 {
        let mark = |range: &AddressRange| {
            let (first, last) = range.pages();
            self.ranges.mark(first, last, kinds.of_name(&range.region_type))
        };
        ranges.iter().map(mark).fold(0, u64::saturating_add)
    }

    /// Labels the next access; `None` if it is skipped.
    #[inline]
    pub fn label(
        &mut self,
        row: &Access,
        phase: Option<&str>,
        strings: &StringTable,
        kinds: &mut Kinds,
    ) -> Result<Option<Label>, Unclassified> {
        let given = kinds.of_row(row, strings);
        self.label_given(row, given, phase, strings, kinds)
    }

    /// Labels an access that has kind `given` in the source.
    pub fn label_given(
        &mut self,
        row: &Access,
        given: Kind,
        phase: Option<&str>,
        strings: &StringTable,
        kinds: &mut Kinds,
    ) -> Result<Option<Label>, Unclassified> {
        let page = row.page();
        let known = self.kind_of(page);
        let given = if given == Kind::NONE { Kind::UNKNOWN } else { given };
        let mut kind = match known {
            _ if given != Kind::UNKNOWN => given,
            Some(kind) => kind,
            None => match self.ranges.get(page) {
                Some(kind) => kind,
                None => self.classify(row, phase, strings, kinds),
            },
        };
        if kind == Kind::UNKNOWN {
            match self.policy {
                UnknownPolicy::Keep => return Ok(Some(Label { kind, region_id: Region::UNKNOWN })),
                UnknownPolicy::Skip => return Ok(None),
                UnknownPolicy::Error => {
                    let text = |id: Option<_>| id.map_or("", |id| strings.get(id)).to_string();
                    return Err(Unclassified { page, symbol: text(row.symbol), dso: text(row.dso) });
                }
                UnknownPolicy::Runtime => kind = Kind::RUNTIME,
            }
        }
        let of_page = known.unwrap_or_else(|| {
            let of_page = self.ranges.get(page).unwrap_or(kind);
            match of_page {
                Kind::WEIGHT => {
                    self.weights.insert(page);
                    self.untouched.insert(page);
                }
                _ => self.pages.entry(page).kind = of_page.0 + 1,
            }
            of_page
        });
        if kind == Kind::WEIGHT {
            if of_page != Kind::WEIGHT {
                self.other_weights.insert(page);
            } else if !self.untouched.is_empty() {
                self.untouched.remove(&page);
            }
        }
        let region_id = match kind {
            Kind::WEIGHT => self.weight(page, row.ts),
            Kind::KV_CACHE => {
                let region_id = self.kv_addresses.entry(row.address);
                if *region_id == 0 {
                    *region_id = next_region(&mut self.births, page, row.ts);
                }
                *region_id
            }
            _ => {
                let known = self.pages.entry(page);
                if known.id == 0 {
                    known.id = next_region(&mut self.births, page, row.ts);
                }
                known.id
            }
        };
        Ok(Some(Label { kind, region_id }))
    }

    /// The label of an access from prefetched state and the `given` kind in the source; `None` if that is not enough.
    #[inline]
    pub fn label_seen(&mut self, seen: &Seen, given: Kind, address: u64, ts: i64) -> Option<Label> {
        let kind = seen.kind.filter(|_| seen.tells(given))?;
        if kind == Kind::WEIGHT {
            if !self.untouched.is_empty() {
                return None;
            }
            self.weight(address >> PAGE_BITS, ts);
        }
        Some(Label { kind, region_id: seen.region_id })
    }

    /// Records an access to weights.
    #[inline]
    fn weight(&mut self, page: u64, ts: i64) -> u32 {
        let n_before = self.births.len();
        let new = || Weights { first_seen_ns: ts, page_min: page, page_max: page, n_before };
        let weights = self.all_weights.get_or_insert_with(new);
        weights.page_min = weights.page_min.min(page);
        weights.page_max = weights.page_max.max(page);
        Region::WEIGHTS
    }

    /// Kind of a page so far.
    #[inline]
    fn kind_of(&self, page: u64) -> Option<Kind> {
        if self.weights.contains(page) {
            return Some(Kind::WEIGHT);
        }
        self.pages.see(page).kind.checked_sub(1).map(Kind)
    }

    fn classify(
        &mut self,
        row: &Access,
        phase: Option<&str>,
        strings: &StringTable,
        kinds: &mut Kinds,
    ) -> Kind {
        let phase_number = phase.map_or(u32::MAX, |phase| self.number_of(phase));
        let question = (row.symbol, row.dso, phase_number, row.op, row.op_text);
        if let Some((last, answer)) = &self.last
            && *last == question
        {
            return answer.unwrap_or(Kind::UNKNOWN);
        }
        let rules = &self.rules;
        let answer = *self.answers.entry(question).or_insert_with(|| {
            let text = |id: Option<_>| id.map_or("", |id| strings.get(id));
            let op = match row.op {
                Op::Load => "load",
                Op::Store => "store",
                Op::Other => text(row.op_text),
            };
            rules.classify(text(row.symbol), text(row.dso), phase, op).map(|name| kinds.of_name(name))
        });
        self.last = Some((question, answer));
        answer.unwrap_or(Kind::UNKNOWN)
    }

    fn number_of(&mut self, phase: &str) -> u32 {
        if let Some((last, number)) = &self.last_phase
            && last == phase
        {
            return *number;
        }
        let number = match self.phases.get(phase) {
            Some(number) => *number,
            None => {
                let number = self.phases.len() as u32;
                self.phases.insert(phase.to_string(), number);
                number
            }
        };
        self.last_phase = Some((phase.to_string(), number));
        number
    }

    /// Prefetches the state of an address. With many addresses, independent reads hide memory latency.
    #[inline]
    pub fn see(&self, address: u64) -> Seen {
        let page = address >> PAGE_BITS;
        if self.weights.contains(page) {
            return Seen { kind: Some(Kind::WEIGHT), region_id: Region::WEIGHTS };
        }
        let known = self.pages.see(page);
        let kind = known.kind.checked_sub(1).map(Kind);
        let region_id = match kind {
            Some(Kind::KV_CACHE) => self.kv_addresses.get(address),
            _ => known.id,
        };
        Seen { kind, region_id }
    }

    /// Pages of known kind so far.
    pub fn pages(&self) -> PageSet {
        let mut pages = self.weights.clone();
        self.pages.for_each(|page, known| {
            if known.kind > 0 {
                pages.insert(page);
            }
        });
        pages
    }

    /// Number of regions so far, without the weights region.
    pub fn n_regions(&self) -> usize {
        self.births.len()
    }

    /// Number of pages touched by weight accesses.
    pub fn n_weight_pages(&self) -> u64 {
        self.weights.len() - self.untouched.len() as u64 + self.other_weights.len() as u64
    }

    /// State of the regions so far.
    pub fn into_births(self) -> Births {
        Births { weights: self.all_weights, births: self.births }
    }
}

/// First access of each region. Further data is computed on demand.
pub struct Births {
    weights: Option<Weights>,
    /// First accesses of regions from [`Region::FIRST`] on.
    births: Vec<Birth>,
}

impl Births {
    /// The regions; `all` must have seen all accesses.
    pub fn into_regions(self, all: &Accumulator) -> RegionMap {
        let mut map = RegionMap::default();
        let region = |id: u32, first_seen_ns: i64, page_min: u64, page_max: u64| {
            let (kind, last_seen_ns, access_count) = all.touches_of(id)?;
            Some(Region { id, kind, page_min, page_max, first_seen_ns, last_seen_ns, access_count })
        };
        let mut add = |region: Option<Region>| region.into_iter().for_each(|region| map.push(region));
        let mut weights = self.weights.map(|all| {
            (all.n_before, region(Region::WEIGHTS, all.first_seen_ns, all.page_min, all.page_max))
        });
        for (at, birth) in self.births.iter().enumerate() {
            if let Some((_, region)) = weights.take_if(|(n_before, _)| *n_before == at) {
                add(region);
            }
            add(region(id_of(at), birth.ts, birth.page, birth.page));
        }
        add(weights.and_then(|(_, region)| region));
        map
    }
}

/// Number of the next region, given the count of regions numbered so far.
fn id_of(n_before: usize) -> u32 {
    u32::try_from(n_before).map_or(u32::MAX, |n| Region::FIRST.saturating_add(n))
}

/// Number of a new region.
#[cold]
fn next_region(births: &mut Vec<Birth>, page: u64, ts: i64) -> u32 {
    births.push(Birth { page, ts });
    id_of(births.len() - 1)
}
