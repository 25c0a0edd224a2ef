//! Files that lie beside a trace in the folder of its run, and say more of it.

/// One file of the folder; the trace's own is among them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileBeside {
    /// Bare name.
    pub name: String,
    pub n_bytes: u64,
    /// SHA-256 in lower-case hexadecimal digits; empty if the file was not read to its end.
    pub sha256: String,
    /// `None` of the trace's own file, and of what was not read.
    pub content: Option<Vec<u8>>,
}

impl FileBeside {
    /// A file that is there, and that nobody looked into.
    pub fn unread(name: String, n_bytes: u64) -> FileBeside {
        FileBeside { name, n_bytes, ..FileBeside::default() }
    }
}
