//! Allocator functions.

/// Allocator function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Allocator {
    /// Name as memray prints it, in lower case.
    pub name: &'static str,
    /// Frees memory.
    pub is_free: bool,
}

impl Allocator {
    /// Whether it maps memory, which is freed in ranges.
    pub fn is_mapping(self) -> bool {
        self.name == "mmap"
    }

    /// Whether it frees memory without stating a size.
    pub fn is_simple_free(self) -> bool {
        self.is_free && self.name != "munmap"
    }
}

/// Names by number from 1, since version 12.
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

/// Names by number from 1, in version 11.
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

/// Allocator by number; `None` if unknown.
pub fn allocator(number: u8, names: &'static [&'static str; 15]) -> Option<Allocator> {
    let name = *names.get(usize::from(number).checked_sub(1)?)?;
    Some(Allocator { name, is_free: matches!(name, "free" | "pymalloc_free" | "munmap") })
}
