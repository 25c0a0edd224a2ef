//! Pictures of reports as files, one each.

use crate::output;
use std::io;
use std::path::Path;
use tracedrop::base::text;
use tracedrop::report::{Chart, Report};
use tracedrop::scene::svg;

/// Writes the pictures of `reports` into `folder`, which is made if need be, and says on standard error which. They are
/// called after report and chart, behind `prefix` if that is not empty.
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
        say!("tracedrop: there are no pictures in these reports");
    }
    Ok(())
}

/// `trace.json-gpu-kernels-operations.svg`: nothing of a name leads out of the folder.
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
