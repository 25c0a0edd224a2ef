//! Labels: to which region of which kind each access belongs.
//!
//! What the source says of a row counts first, then what the page was taken for before, then the rules. So the first
//! classification of a page holds for good: an allocator that touches a page while weights are loaded makes it one of
//! weights. All weights are region 1, each address of the key/value cache is a region, and each page of any other kind; they get their
//! numbers from 2 on, as they appear.

use super::index::{Numbers, PageSet, PageTable, Places};
use super::kinds::{Kind, Kinds};
use super::ranges::{AddressRange, MarkedPages};
use super::rules::{Question, Rules};
use crate::base::python;
use crate::base::strings::StringTable;
use crate::trace::accesses::{Access, Op, PAGE_BITS};
use rustc_hash::FxHashMap;

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
    const FIRST: u32 = 2;
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

/// Gives labels to accesses in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Labeller {
    rules: Rules,
    policy: UnknownPolicy,
    /// Pages of weights, a bit each, as they mostly are most of all pages.
    weights: PageSet,
    /// Of the others.
    pages: PageTable<Page>,
    ranges: MarkedPages<Kind>,
    /// Addresses of the key/value cache by number, and their regions by that.
    kv_addresses: Numbers,
    kv_regions: Vec<u32>,
    /// Number of the latest address of the cache.
    kv_number: u32,
    map: RegionMap,
    /// Answers of the rules.
    answers: FxHashMap<Question, Option<Kind>>,
    /// The question that was asked last; rows that follow each other often ask the same.
    last: Option<(Question, Option<Kind>)>,
    phases: FxHashMap<String, u32>,
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
        let page = row.page();
        let given = kinds.of_row(row, strings);
        let known = self.kind_of(page);
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
        if known.is_none() {
            match self.ranges.get(page).unwrap_or(kind) {
                Kind::WEIGHT => _ = self.weights.insert(page),
                kind => self.pages.entry(page).kind = kind.0 + 1,
            }
        }
        let region_id = match kind {
            Kind::WEIGHT => Region::WEIGHTS,
            Kind::KV_CACHE => {
                let (at, is_new) = self.kv_addresses.get_or_add(row.address);
                if is_new {
                    self.kv_regions.push(self.map.next_id());
                }
                self.kv_number = at;
                self.kv_regions.get(at as usize).copied().unwrap_or(Region::UNKNOWN)
            }
            _ => {
                let page = self.pages.entry(page);
                if page.id == 0 {
                    page.id = self.map.next_id();
                }
                page.id
            }
        };
        self.map.count(region_id, kind, page, row.ts);
        Ok(Some(Label { kind, region_id }))
    }

    /// What a page has been taken for.
    #[inline]
    fn kind_of(&self, page: u64) -> Option<Kind> {
        if self.weights.contains(page) {
            return Some(Kind::WEIGHT);
        }
        self.pages.see(page).kind.checked_sub(1).map(Kind)
    }

    /// Of the latest access to the key/value cache, the number of its address; they count from 0, as they appear.
    #[inline]
    pub fn kv_number(&self) -> u32 {
        self.kv_number
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

    /// Looks at what is known of an address, so that it is near the processor when the access comes. Gives what is known so far: the
    /// region, the number of an address of the key/value cache, and a number that is of no use but that nobody can leave the look out.
    #[inline]
    pub fn see(&self, address: u64) -> (u32, Option<u32>, u32) {
        let page = address >> PAGE_BITS;
        if self.weights.contains(page) {
            return (Region::WEIGHTS, None, 0);
        }
        let known = self.pages.see(page);
        let number = match known.kind.checked_sub(1).map(Kind) {
            Some(Kind::KV_CACHE) => self.kv_addresses.get(address),
            _ => None,
        };
        let of_number = number.and_then(|at| self.kv_regions.get(at as usize));
        let id = of_number.copied().unwrap_or(known.id);
        (id, number, self.map.get(id).map_or(0, |region| region.access_count as u32))
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

    /// The regions of the accesses so far.
    pub fn into_regions(self) -> RegionMap {
        self.map
    }
}
