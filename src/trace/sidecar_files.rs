//! Files next to a trace in its run directory.

/// One file of the directory, possibly the trace itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SidecarFile {
    /// File name without its folder.
    pub name: String,
    pub n_bytes: u64,
    /// SHA-256 in lower-case hexadecimal; empty if the file was not fully read.
    pub sha256: String,
    /// `None` for the trace itself, and for files that were not read.
    pub content: Option<Vec<u8>>,
}

impl SidecarFile {
    /// Creates the entry of a file that was not read.
    pub fn unread(name: String, n_bytes: u64) -> SidecarFile {
        SidecarFile { name, n_bytes, ..SidecarFile::default() }
    }
}
