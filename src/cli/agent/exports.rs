//! Files that answers are saved as: new ones in one folder, named by the agent.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder for exports.
pub struct Exports(PathBuf);

impl Exports {
    /// The error says why it is no folder.
    pub fn new(path: &Path) -> Result<Exports, String> {
        match path.canonicalize() {
            Ok(folder) if folder.is_dir() => Ok(Exports(folder)),
            Ok(_) => Err(format!("{}: not a folder", path.display())),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Writes a new CSV file. The error says what is wrong with the name, or why it cannot be written.
    pub fn save(&self, name: &str, content: &str) -> Result<(), String> {
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name)
            && !name.contains(['/', '\\', ':']);
        let stem = name.strip_suffix(".csv").unwrap_or_default();
        if !is_plain || stem.is_empty() || name.starts_with('.') || name.chars().any(char::is_control) {
            return Err("save_as is the name of a file without folders, and ends in .csv".to_string());
        }
        let path = self.0.join(name);
        // An existing file, or a link of that name, is never written to.
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| {
            // Half a table would look like a whole one.
            file.write_all(content.as_bytes()).inspect_err(|_| {
                let _ = std::fs::remove_file(&path);
            })
        });
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                "save_as: a file of that name exists already; choose another".to_string()
            }
            _ => format!("save_as: {error}"),
        })
    }
}
