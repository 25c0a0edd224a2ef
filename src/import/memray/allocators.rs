//! Functions that give and take memory.

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Allocator {
    /// As memray prints it, in lower case.
    pub name: &'static str,
    /// Gives memory back.
    pub is_free: bool,
}

impl Allocator {
    /// Gives memory back without saying how much.
    pub fn is_simple_free(self) -> bool {
        self.is_free && self.name != "munmap"
    }
}

/// Names by number from 1, as of version 12.
pub const NUMBERS: &[&str; 15] = &[
    "pymalloc_free",
    "pymalloc_malloc",
    "pymalloc_calloc",
    "pymalloc_realloc",
    "free",
    "malloc",
    "realloc",
    "calloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "munmap",
];

/// The same in version 11.
pub const NUMBERS_V11: &[&str; 15] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "munmap",
    "pymalloc_malloc",
    "pymalloc_calloc",
    "pymalloc_realloc",
    "pymalloc_free",
];

/// The allocator of a number; `None` if there is none.
pub fn allocator(number: u8, names: &'static [&'static str; 15]) -> Option<Allocator> {
    let name = *names.get(usize::from(number).checked_sub(1)?)?;
    Some(Allocator { name, is_free: matches!(name, "free" | "pymalloc_free" | "munmap") })
}
