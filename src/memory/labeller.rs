//! Labels: to which region of which kind each access belongs.
//!
//! What the source says of a row counts first, then what the page was taken for before, then the rules. So the first
//! classification of a page holds for good: an allocator that touches a page while weights are loaded makes it one of
//! weights. All weights are region 1, each address of the key/value cache is a region, and each page of any other kind; they get their
//! numbers from 2 on, as they appear.

use super::index::{Addresses, PageSet, PageTable, Places};
use super::kinds::{Kind, Kinds};
use super::metrics::Accumulator;
use super::ranges::{AddressRange, MarkedPages};
use super::rules::{Question, Rules};
use crate::base::hash::{HashMap, HashSet};
use crate::base::python;
use crate::base::strings::StringTable;
use crate::trace::accesses::{Access, Op, PAGE_BITS};

/// What becomes of a row that nothing tells the kind of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnknownPolicy {
    /// It is of kind unknown, in region 0.
    #[default]
    Keep,
    /// It is left out.
    Skip,
    /// Labelling stops there.
    Error,
    /// It is of kind runtime.
    Runtime,
}

impl UnknownPolicy {
    /// By the names of the labeller (`keep`, `skip`, `error`), and by those of the reference's configuration files
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

/// A region of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub id: u32,
    /// Of the first access to it.
    pub kind: Kind,
    pub page_min: u64,
    pub page_max: u64,
    /// Time of the first access in the order of the file, nanoseconds; others may be earlier.
    pub first_seen_ns: i64,
    /// Latest time of an access, nanoseconds.
    pub last_seen_ns: i64,
    pub access_count: u64,
}

impl Region {
    /// All memory of kind unknown.
    pub const UNKNOWN: u32 = 0;
    /// All weights.
    pub const WEIGHTS: u32 = 1;
    /// The first number that others get.
    pub const FIRST: u32 = 2;
}

/// Regions in the order in which they appear.
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

    /// Counts an access.
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

/// An access that nothing tells the kind of, where that is not allowed.
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

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// One more than the number of its kind; 0 before its first access of a known one, and of weights.
    kind: u32,
    /// Region of its accesses that are neither weights nor key/value cache; 0 until there is one.
    id: u32,
}

/// The first access to a region that has one page.
#[derive(Clone, Copy, Debug)]
struct Birth {
    page: u64,
    ts: i64,
}

/// What is known of the region of all weights.
#[derive(Clone, Copy, Debug)]
struct Weights {
    first_seen_ns: i64,
    page_min: u64,
    page_max: u64,
    /// Regions that had come before.
    n_before: usize,
}

/// What is known of an access beforehand, by its address alone.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Kind of its page, if that is known.
    kind: Option<Kind>,
    /// Region of all accesses to the address that are of this kind; 0 if there is none yet.
    region_id: u32,
}

impl Seen {
    /// Nothing is known.
    pub const NOTHING: Seen = Seen { kind: None, region_id: 0 };

    /// Whether what was said beforehand, of an access of which the source says `given`, is all that its label depends on.
    #[inline]
    pub fn tells(&self, given: Kind) -> bool {
        self.region_id != 0
            && self
                .kind
                .is_some_and(|kind| kind != Kind::UNKNOWN && (given == kind || given == Kind::UNKNOWN))
    }
}

/// Gives labels to accesses in the order of the file. Regions from the second on have one page each, those of the key/value cache one address.
#[derive(Clone, Debug, Default)]
pub struct Labeller {
    rules: Rules,
    policy: UnknownPolicy,
    /// Pages of weights, a bit each, as they mostly are most of all pages.
    weights: PageSet,
    /// Those of them that no access to weights has touched.
    untouched: HashSet<u64>,
    /// Pages of other kinds that accesses to weights have touched all the same.
    other_weights: HashSet<u64>,
    /// Of pages that are not of weights.
    pages: PageTable<Page>,
    ranges: MarkedPages<Kind>,
    /// Regions of addresses of the key/value cache.
    kv_addresses: Addresses,
    all_weights: Option<Weights>,
    /// Of regions from [`Region::FIRST`] on.
    births: Vec<Birth>,
    /// Answers of the rules.
    answers: HashMap<Question, Option<Kind>>,
    /// The question that was asked last; rows that follow each other often ask the same.
    last: Option<(Question, Option<Kind>)>,
    phases: HashMap<String, u32>,
    last_phase: Option<(String, u32)>,
}

impl Labeller {
    pub fn new(rules: Rules, policy: UnknownPolicy) -> Labeller {
        Labeller { rules, policy, ..Labeller::default() }
    }

    /// Says beforehand what ranges of addresses hold; gives the number of pages of which that was not said before.
    pub fn register(&mut self, ranges: &[AddressRange], kinds: &mut Kinds) -> u64 {
        let mark = |range: &AddressRange| {
            let (first, last) = range.pages();
            self.ranges.mark(first, last, kinds.of_name(&range.region_type))
        };
        ranges.iter().map(mark).fold(0, u64::saturating_add)
    }

    /// The next access; `None` if it is left out.
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

    /// The same of an access of which the source says that it is of kind `given`.
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

    /// The label of an access of which so much is known beforehand; `given` is what the source says. `None` if that does not tell it.
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

    /// Takes note of an access to weights.
    #[inline]
    fn weight(&mut self, page: u64, ts: i64) -> u32 {
        let n_before = self.births.len();
        let new = || Weights { first_seen_ns: ts, page_min: page, page_max: page, n_before };
        let weights = self.all_weights.get_or_insert_with(new);
        weights.page_min = weights.page_min.min(page);
        weights.page_max = weights.page_max.max(page);
        Region::WEIGHTS
    }

    /// What a page has been taken for.
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

    /// What is known of an address. Whoever has many of them asks beforehand, so that no look into memory waits for another.
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

    /// Pages of the accesses so far that are of a known kind.
    pub fn pages(&self) -> PageSet {
        let mut pages = self.weights.clone();
        self.pages.for_each(|page, known| {
            if known.kind > 0 {
                pages.insert(page);
            }
        });
        pages
    }

    /// Regions that have got a number, but that of weights.
    pub fn n_regions(&self) -> usize {
        self.births.len()
    }

    /// Number of pages that accesses to weights have touched.
    pub fn n_weight_pages(&self) -> u64 {
        self.weights.len() - self.untouched.len() as u64 + self.other_weights.len() as u64
    }

    /// What is to be known of the regions of the accesses so far.
    pub fn into_births(self) -> Births {
        Births { weights: self.all_weights, births: self.births }
    }
}

/// Where and when regions were touched first. Of each there is much more to tell, but not before it is asked for.
pub struct Births {
    weights: Option<Weights>,
    /// Of regions from [`Region::FIRST`] on.
    births: Vec<Birth>,
}

impl Births {
    /// The regions, of whose accesses `all` has been told.
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

/// Number of the region that comes after so many others with a number of their own.
fn id_of(n_before: usize) -> u32 {
    u32::try_from(n_before).map_or(u32::MAX, |n| Region::FIRST.saturating_add(n))
}

/// Number of a new region.
#[cold]
fn next_region(births: &mut Vec<Birth>, page: u64, ts: i64) -> u32 {
    births.push(Birth { page, ts });
    id_of(births.len() - 1)
}
