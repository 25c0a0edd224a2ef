//! Charts of reports as SVG files, one each.

use crate::cli::output;
use std::io;
use std::path::Path;
use tracedrop::base::text;
use tracedrop::report::{Chart, Report};
use tracedrop::scene::svg;

/// Writes the charts of `reports` into `folder`, created if missing, and prints their paths to standard error. File names are
/// `prefix` (if not empty), report and chart.
pub fn write(reports: &[Report], folder: &Path, prefix: &str, is_quiet: bool) -> io::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| in_place(folder, &error))?;
    let mut n = 0u64;
    for report in reports {
        for chart in report.charts() {
            let path = folder.join(file_name(prefix, &report.id, &chart.id));
            output::write_file(&path, svg::picture(chart, svg::FILE_WIDTH).as_bytes())
                .map_err(|error| in_place(&path, &error))?;
            if !is_quiet {
                say!("tracedrop: wrote {}", path.display());
            }
            n += 1;
        }
    }
    if n == 0 && !is_quiet {
        say!("tracedrop: these reports have no charts");
    }
    Ok(())
}

/// `trace.json-gpu-kernels-operations.svg`: no name can point outside the folder.
fn file_name(prefix: &str, report: &str, chart: &str) -> String {
    let prefix = text::file_name(prefix);
    let dash = if prefix.is_empty() { "" } else { "-" };
    let chart = text::file_name(&Chart::name_of(chart)).replace('_', "-");
    format!("{prefix}{dash}{report}-{chart}.svg")
}

fn in_place(path: &Path, error: &io::Error) -> io::Error {
    output::cannot_write(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_stay_in_the_folder() {
        assert_eq!(file_name("", "gpu-kernels", "operations_chart_2"), "gpu-kernels-operations-2.svg");
        assert_eq!(file_name("../a b.json", "r", "c_chart"), "_a b.json-r-c.svg");
    }
}
