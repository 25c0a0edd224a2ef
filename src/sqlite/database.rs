//! A database whose schema has been read.

use super::header::HEADER_BYTES;
use super::leaf::{INTERIOR, LEAF, cells, start_of, u16_at, u32_at};
use super::record::{Record, Value};
use super::schema::{self, Table};
use super::{Cell, Error, Header, PageNumber, Source};
use std::borrow::Cow;
use std::cell::{Cell as Counter, RefCell};

/// Pages this close together are read at once.
const MAX_GAP_BYTES: u64 = 128 << 10;
/// Bytes read at once.
const MAX_RUN_BYTES: u64 = 4 << 20;
/// Bytes read around an overflow page, and how many such blocks are kept.
const BLOCK_BYTES: u64 = 256 << 10;
const MAX_BLOCKS: usize = 8;
/// Longest row that is read.
const MAX_ROW_BYTES: u64 = 64 << 20;
/// Most tables that are read.
const MAX_TABLES: usize = 20_000;
/// Levels of a B-tree. More than enough for 2^32 pages.
const MAX_LEVELS: usize = 32;

/// A database.
pub struct Database<S> {
    source: S,
    header: Header,
    /// Whole pages in the file.
    n_pages: PageNumber,
    tables: Vec<Table>,
    /// Names of tables that cannot be read: virtual ones, or without row ids.
    unread: Vec<String>,
    schema_damage: u64,
    /// Blocks of the file around overflow pages, by their number; most recently used last.
    blocks: RefCell<Vec<(u64, Vec<u8>)>>,
    /// Pages that belong to a tree.
    taken: RefCell<Taken>,
    /// Overflow pages that may still be read. Each belongs to one row; damaged files could make reading take forever.
    n_overflow_left: Counter<u64>,
}

/// Leaf pages of a table.
#[derive(Default, Debug)]
pub struct Leaves {
    /// In order of row ids.
    pub pages: Vec<PageNumber>,
    /// Pages or subtrees that are missing, damaged, or already belong to something.
    pub n_damaged: u64,
}

/// Pages that belong to a tree.
struct Taken {
    bits: Vec<u64>,
}

impl Taken {
    /// Marks a page. False if it is marked already, or does not exist.
    fn take(&mut self, page: PageNumber) -> bool {
        let Some(word) = self.bits.get_mut(page as usize / 64) else { return false };
        let bit = 1 << (page % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Marks nothing but what does not exist: page 0, and those behind the last one.
fn none_taken(n_pages: PageNumber) -> Taken {
    let mut taken = Taken { bits: vec![0; n_pages as usize / 64 + 1] };
    taken.take(0);
    for page in n_pages.saturating_add(1)..n_pages.saturating_add(65) {
        taken.take(page);
    }
    taken
}

impl<S: Source> Database<S> {
    /// Reads header and schema.
    pub fn open(source: S) -> Result<Database<S>, Error> {
        let mut head = vec![0; source.n_bytes().min(HEADER_BYTES as u64) as usize];
        source.read_at(0, &mut head).map_err(Error::Unreadable)?;
        let header = Header::parse(&head)?;
        let n_pages = PageNumber::try_from(source.n_bytes() / u64::from(header.page_bytes));
        let n_pages = n_pages.unwrap_or(PageNumber::MAX - 1);
        let mut database = Database {
            source,
            header,
            n_pages,
            tables: Vec::new(),
            unread: Vec::new(),
            schema_damage: 0,
            blocks: RefCell::default(),
            taken: RefCell::new(none_taken(n_pages)),
            n_overflow_left: Counter::new(u64::from(n_pages) * 2),
        };
        database.read_schema()?;
        Ok(database)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whole pages in the file.
    pub fn n_pages(&self) -> PageNumber {
        self.n_pages
    }

    /// Whether the file has fewer pages than its header states.
    pub fn is_cut(&self) -> bool {
        self.header.n_pages.is_some_and(|n_pages| n_pages > self.n_pages)
    }

    /// Tables with rows, in order of the schema.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Names of tables that are not read: virtual ones, those without row ids, and those beyond the first 20,000.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Damaged rows and pages of the schema. Each may be a table.
    pub fn schema_damage(&self) -> u64 {
        self.schema_damage
    }

    fn read_schema(&mut self) -> Result<(), Error> {
        let leaves = self.leaves(1)?;
        let (mut tables, mut unread) = (Vec::new(), Vec::new());
        let mut n_damaged = leaves.n_damaged;
        n_damaged += self.rows(&leaves.pages, |_, payload, record| {
            let text = |column| match record.get(payload, column) {
                Some(Value::Text(text)) => {
                    String::from_utf8_lossy(&self.header.encoding.to_utf8(text)).into_owned()
                }
                _ => String::new(),
            };
            if text(0) != "table" {
                return;
            }
            let root = record
                .get(payload, 3)
                .and_then(Value::as_int)
                .and_then(|root| PageNumber::try_from(root).ok());
            match (schema::columns(&text(4)), root.filter(|root| *root > 0)) {
                (Some(columns), Some(root)) if tables.len() < MAX_TABLES => {
                    tables.push(Table { name: text(1), root, columns })
                }
                _ => unread.push(text(1)),
            }
        })?;
        if tables.is_empty() && n_damaged > 0 {
            return Err(Error::Damaged("schema"));
        }
        (self.tables, self.unread, self.schema_damage) = (tables, unread, n_damaged);
        Ok(())
    }

    /// Leaf pages of the table with that root page. Reads its interior pages only. Each page is given out once: where two tables
    /// have the same one, the file is damaged.
    pub fn leaves(&self, root: PageNumber) -> Result<Leaves, Error> {
        let mut taken = self.taken.borrow_mut();
        let mut leaves = Leaves::default();
        if !taken.take(root) {
            leaves.n_damaged += 1;
            return Ok(leaves);
        }
        let mut level = vec![root];
        for _ in 0..MAX_LEVELS {
            if level.is_empty() || !self.is_interior(&level)? {
                break;
            }
            // Children of each page of the level, in order.
            let mut children: Vec<Vec<PageNumber>> = vec![Vec::new(); level.len()];
            let mut order: Vec<usize> = (0..level.len()).collect();
            order.sort_unstable_by_key(|at| level[*at]);
            let sorted: Vec<PageNumber> = order.iter().map(|at| level[*at]).collect();
            let mut next = order.iter();
            self.for_each_page(&sorted, |number, page| {
                let Some(at) = next.next() else { return };
                match self.children(number, page, &mut leaves.n_damaged) {
                    Some(found) => children[*at] = found,
                    // Deeper in the tree than others.
                    None if page.get(start_of(number)) == Some(&LEAF) => leaves.pages.push(number),
                    None => leaves.n_damaged += 1,
                }
            })?;
            level.clear();
            for child in children.into_iter().flatten() {
                match taken.take(child) {
                    true => level.push(child),
                    false => leaves.n_damaged += 1,
                }
            }
        }
        leaves.pages.append(&mut level);
        Ok(leaves)
    }

    /// Whether pages of a level are interior ones. All are alike, but some may be damaged, so three are asked.
    fn is_interior(&self, level: &[PageNumber]) -> Result<bool, Error> {
        let mut asked = [0, level.len() / 2, level.len() - 1].map(|at| level[at]).to_vec();
        asked.sort_unstable();
        asked.dedup();
        let mut is_any = false;
        self.for_each_page(&asked, |number, page| is_any |= page.get(start_of(number)) == Some(&INTERIOR))?;
        Ok(is_any)
    }

    /// Children of an interior page; `None` if it is none.
    fn children(&self, number: PageNumber, page: &[u8], n_damaged: &mut u64) -> Option<Vec<PageNumber>> {
        let start = start_of(number);
        if *page.get(start)? != INTERIOR {
            return None;
        }
        let page = page.get(..self.header.usable_bytes as usize)?;
        let n_cells = u16_at(page, start + 3)?;
        let last = u32_at(page, start + 8)?;
        let first = start + 12;
        let mut children = Vec::new();
        for i in 0..n_cells {
            let child = u16_at(page, first + 2 * i).filter(|at| *at >= first).and_then(|at| u32_at(page, at));
            match child {
                Some(child) => children.push(child),
                None => *n_damaged += 1,
            }
            if first + 2 * i > page.len() {
                break;
            }
        }
        children.push(last);
        Some(children)
    }

    /// Calls `each` with pages of the file, which are in ascending order, and their bytes. Reads neighbors at once.
    pub fn for_each_page(
        &self,
        pages: &[PageNumber],
        mut each: impl FnMut(PageNumber, &[u8]),
    ) -> Result<(), Error> {
        let page_bytes = u64::from(self.header.page_bytes);
        let start = |page: PageNumber| u64::from(page - 1) * page_bytes;
        let mut buffer = Vec::new();
        let mut rest = pages;
        while let Some((first, _)) = rest.split_first() {
            let mut n = 1;
            while let Some(next) = rest.get(n)
                && start(*next) - start(rest[n - 1]) <= MAX_GAP_BYTES
                && start(*next) + page_bytes - start(*first) <= MAX_RUN_BYTES
            {
                n += 1;
            }
            let (run, after) = rest.split_at(n);
            rest = after;
            let n_bytes = start(run[n - 1]) + page_bytes - start(*first);
            buffer.resize(n_bytes as usize, 0);
            self.source.read_at(start(*first), &mut buffer).map_err(Error::Unreadable)?;
            for page in run {
                let at = (start(*page) - start(*first)) as usize;
                each(
                    *page,
                    buffer.get(at..).and_then(|rest| rest.get(..page_bytes as usize)).unwrap_or_default(),
                );
            }
        }
        Ok(())
    }

    /// Calls `each` with the id, the record and its places for all rows of leaf pages, in order of the file. Returns the number of
    /// damaged pages and rows.
    pub fn rows(
        &self,
        leaves: &[PageNumber],
        mut each: impl FnMut(i64, &[u8], &Record),
    ) -> Result<u64, Error> {
        let mut record = Record::default();
        self.payloads(leaves, |rowid, payload| {
            let is_sound = record.parse(payload);
            if is_sound {
                each(rowid, payload, &record);
            }
            is_sound
        })
    }

    /// Calls `each` with the id and the record of all rows of leaf pages, in order of the file. Returns the number of damaged pages and
    /// rows, and of rows for which `each` returns false.
    pub fn payloads(
        &self,
        leaves: &[PageNumber],
        mut each: impl FnMut(i64, &[u8]) -> bool,
    ) -> Result<u64, Error> {
        let mut sorted = leaves.to_vec();
        sorted.sort_unstable();
        let (mut n_damaged, mut failed) = (0, None);
        self.for_each_page(&sorted, |number, page| {
            let Some(cells) = cells(page, number, &self.header) else {
                n_damaged += 1;
                return;
            };
            for cell in cells {
                let payload = match cell
                    .map_err(|_| None)
                    .and_then(|cell| Ok((cell.rowid, self.payload(&cell).map_err(Some)?)))
                {
                    Ok(found) => Some(found),
                    Err(error) => {
                        failed = failed.take().or(error);
                        None
                    }
                };
                match payload {
                    Some((rowid, Some(payload))) if each(rowid, &payload) => {}
                    _ => n_damaged += 1,
                }
            }
        })?;
        failed.map_or(Ok(n_damaged), Err)
    }

    /// The whole record of a cell, with what is in overflow pages; `None` if that is damaged.
    pub fn payload<'a>(&self, cell: &Cell<'a>) -> Result<Option<Cow<'a, [u8]>>, Error> {
        if cell.local.len() as u64 == cell.n_payload {
            return Ok(Some(Cow::Borrowed(cell.local)));
        }
        if cell.n_payload > MAX_ROW_BYTES.min(self.source.n_bytes()) {
            return Ok(None);
        }
        let n_payload = cell.n_payload as usize;
        let mut payload = cell.local.to_vec();
        let mut page = cell.overflow;
        while payload.len() < n_payload {
            let n_left = self.n_overflow_left.get();
            if page == 0 || page > self.n_pages || n_left == 0 {
                return Ok(None);
            }
            self.n_overflow_left.set(n_left - 1);
            let usable = self.header.usable_bytes as usize;
            let next = self.with_page(page, |bytes| {
                let content = bytes.get(4..usable).unwrap_or_default();
                payload.extend_from_slice(&content[..content.len().min(n_payload - payload.len())]);
                u32_at(bytes, 0)
            })?;
            page = next.unwrap_or(0);
        }
        Ok(Some(Cow::Owned(payload)))
    }

    /// Calls `read` with the bytes of an existing page, from a block of the file that is kept for its neighbors.
    fn with_page<T>(&self, page: PageNumber, read: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let page_bytes = u64::from(self.header.page_bytes);
        let start = u64::from(page - 1) * page_bytes;
        let block = start / BLOCK_BYTES;
        let mut blocks = self.blocks.borrow_mut();
        let found = match blocks.iter().rposition(|(own, _)| *own == block) {
            Some(at) => blocks.remove(at),
            None => {
                let from = block * BLOCK_BYTES;
                let n_bytes = BLOCK_BYTES.min(self.source.n_bytes().saturating_sub(from));
                let mut bytes = if blocks.len() < MAX_BLOCKS { Vec::new() } else { blocks.remove(0).1 };
                bytes.resize(n_bytes as usize, 0);
                self.source.read_at(from, &mut bytes).map_err(Error::Unreadable)?;
                (block, bytes)
            }
        };
        let at = (start % BLOCK_BYTES) as usize;
        let result = read(found.1.get(at..).unwrap_or_default());
        blocks.push(found);
        Ok(result)
    }
}
