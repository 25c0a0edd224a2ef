//! Kernel time by nn.Module, from the module frames around launches.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::{SumNs, share};
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};
use crate::trace::slices::SliceId;

/// Prefix of module frame names.
const PREFIX: &str = "nn.Module: ";

/// Sums of a module, or of all modules of a class.
#[derive(Default)]
struct ModuleSums {
    /// Number of modules of the class.
    instances: u64,
    calls: u64,
    kernels: u64,
    inside: i64,
    own: i64,
}

impl ModuleSums {
    /// Adds kernels launched inside: count and total duration. `is_first` unless already counted, `is_own` if no inner module
    /// encloses them.
    fn add(&mut self, (n, ns): (u64, i64), is_first: bool, is_own: bool) {
        self.kernels += if is_first { n } else { 0 };
        self.inside = self.inside.saturating_add(if is_first { ns } else { 0 });
        self.own = self.own.saturating_add(if is_own { ns } else { 0 });
    }
}

/// `Linear` of `nn.Module: Linear_25`.
fn class(name: &str) -> &str {
    let name = name.trim_start_matches(PREFIX);
    match name.rsplit_once('_') {
        Some((class, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            class
        }
        _ => name,
    }
}

/// The innermost module around every slice.
struct Innermost {
    /// By slice: a slice, or [`NONE`].
    around: Vec<u32>,
    /// By name: whether it names a module.
    is_name: Vec<bool>,
}

impl Innermost {
    /// `None` if no name is a module's.
    fn new(gpu: &GpuTrace<'_>) -> Option<Innermost> {
        let slices = &gpu.trace.slices;
        let is_name: Vec<bool> = gpu.trace.strings.all().map(|text| text.starts_with(PREFIX)).collect();
        if !is_name.contains(&true) {
            return None;
        }
        let mut inner = Innermost { around: Vec::with_capacity(slices.len()), is_name };
        for i in 0..slices.len() {
            let around = match slices.parent[i].some() {
                None => NONE,
                Some(SliceId(parent)) if inner.is_module(gpu, parent as usize) => parent,
                // Parents come before their children, so theirs is known.
                Some(SliceId(parent)) => inner.around.get(parent as usize).copied().unwrap_or(NONE),
            };
            inner.around.push(around);
        }
        Some(inner)
    }

    fn is_module(&self, gpu: &GpuTrace<'_>, slice: usize) -> bool {
        let slices = &gpu.trace.slices;
        let is_named = self.is_name.get(slices.name[slice].0 as usize).copied().unwrap_or(false);
        is_named && gpu.kinds.get(slices.category[slice]) == Kind::Python
    }
}

/// Tables by class and by module. `None` if no launch is inside a recorded module.
pub fn tables(named: &NamedTrace<'_, '_>) -> Option<[Table; 2]> {
    let gpu = named.gpu;
    let slices = &gpu.trace.slices;
    let class_of = |name: StringId| class(gpu.trace.strings.get_opt(name).unwrap_or(""));
    let inner = Innermost::new(gpu)?;
    // Count and total duration of kernels and copies by innermost module.
    let mut by_module: HashMap<u32, (u64, i64)> = HashMap::default();
    for work in gpu.work.iter().filter(|work| work.launch != NONE) {
        let module = inner.around[work.launch as usize];
        if module != NONE {
            let (n, ns) = by_module.entry(module).or_default();
            (*n, *ns) = (*n + 1, ns.saturating_add(work.dur()));
        }
    }
    if by_module.is_empty() {
        return None;
    }
    let mut sums: HashMap<StringId, ModuleSums> = HashMap::default();
    let mut classes: HashMap<&str, ModuleSums> = HashMap::default();
    let mut around: Vec<(StringId, &str)> = Vec::new();
    for (innermost, work) in by_module {
        around.clear();
        let mut module = innermost;
        while module != NONE {
            let name = slices.name[module as usize];
            let of = (name, class_of(name));
            // Nested modules of one name or class count once.
            let is_first = around.iter().all(|inner| inner.0 != of.0);
            let is_first_of_class = around.iter().all(|inner| inner.1 != of.1);
            sums.entry(of.0).or_default().add(work, is_first, around.is_empty());
            classes.entry(of.1).or_default().add(work, is_first_of_class, around.is_empty());
            around.push(of);
            module = inner.around[module as usize];
        }
    }
    for i in (0..slices.len()).filter(|i| inner.is_module(gpu, *i)) {
        let name = slices.name[i];
        if let Some(sums) = sums.get_mut(&name) {
            sums.calls += 1;
            if let Some(of_class) = classes.get_mut(class_of(name)) {
                of_class.calls += 1;
            }
        }
    }
    for name in sums.keys() {
        if let Some(of_class) = classes.get_mut(class_of(*name)) {
            of_class.instances += 1;
        }
    }
    let total: i64 = gpu.work.iter().map(|work| work.dur()).sum_ns();
    let mut rows: Vec<(StringId, ModuleSums)> = sums.into_iter().collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    sort::by(&mut rows, |a, b| (b.1.inside, text(a.0)).cmp(&(a.1.inside, text(b.0))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("modules"),
        named.title("Modules"),
        vec![
            Column::key(
                "module",
                "module",
                Content::Symbol,
                texts(rows.iter().map(|row| Some(text(row.0).trim_start_matches(PREFIX)))),
            ),
            integers("inside", "kernel time", Unit::Ns, rows.iter().map(|row| row.1.inside))
                .with_bar()
                .hint("total duration of kernels and copies launched in it, including inner modules")
                .by_row(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.inside, total)).collect(),
            ),
            integers("own", "self kernel time", Unit::Ns, rows.iter().map(|row| row.1.own))
                .hint("excluding inner modules")
                .adds_up(),
            Column::counts("kernels", "kernels", Unit::Count, rows.iter().map(|row| row.1.kernels))
                .hint("kernels, copies and fills"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)).by_row(),
        ],
    )
    .sorted_by("inside", true)
    .caption("By nn.Module frames around the launch. The profiler numbers the instances of a class.");
    Some([class_table(named, classes, total), with_left_out(table, n_left_out)])
}

fn class_table(named: &NamedTrace<'_, '_>, classes: HashMap<&str, ModuleSums>, total: i64) -> Table {
    let mut rows: Vec<(&str, ModuleSums)> = classes.into_iter().collect();
    sort::by(&mut rows, |a, b| (b.1.inside, a.0).cmp(&(a.1.inside, b.0)));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("module_classes"),
        named.title("Modules by class"),
        vec![
            Column::key("class", "class", Content::Plain, texts(rows.iter().map(|row| Some(row.0)))),
            integers("inside", "kernel time", Unit::Ns, rows.iter().map(|row| row.1.inside))
                .with_bar()
                .hint("total duration of kernels and copies launched in modules of the class, including inner modules"),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.inside, total)).collect(),
            ),
            integers("own", "self kernel time", Unit::Ns, rows.iter().map(|row| row.1.own))
                .hint("excluding inner modules"),
            Column::counts("modules", "modules", Unit::Count, rows.iter().map(|row| row.1.instances)),
            Column::counts("kernels", "kernels", Unit::Count, rows.iter().map(|row| row.1.kernels))
                .hint("kernels, copies and fills"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)),
            Column::integer(
                "per_call",
                "kernel time per call",
                Unit::Ns,
                rows.iter()
                    .map(|row| row.1.inside.checked_div(i64::try_from(row.1.calls).ok()?))
                    .collect(),
            ),
        ],
    )
    .sorted_by("inside", true)
    .caption(
        "A class with as many modules as the model has layers is usually the layer. Modules nested in one of their own class count \
         once.",
    );
    with_left_out(table, n_left_out)
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes_are_names_without_numbers() {
        for (name, wanted) in [
            ("nn.Module: Linear_25", "Linear"),
            ("nn.Module: Conv2d_0", "Conv2d"),
            ("nn.Module: My_Block", "My_Block"),
            ("nn.Module: My_Block_3", "My_Block"),
            ("nn.Module: Odd_", "Odd_"),
        ] {
            assert_eq!(class(name), wanted);
        }
    }
}
