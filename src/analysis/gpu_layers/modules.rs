//! Modules of the program, by their frames around launches.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::{SumNs, share};
use crate::analysis::gpu::{Kind, Named};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Table};
use rustc_hash::FxHashMap;

/// How the profiler names frames of modules.
const PREFIX: &str = "nn.Module: ";

/// A module of the program, or all of a class, with everything launched in them.
#[derive(Default)]
struct ModuleSums {
    /// Names of a class.
    instances: u64,
    calls: u64,
    kernels: u64,
    inside: i64,
    own: i64,
}

impl ModuleSums {
    /// Work that was launched in it; `is_first` unless it has been counted, `is_own` if no other module is further inside.
    fn add(&mut self, ns: i64, is_first: bool, is_own: bool) {
        self.kernels += u64::from(is_first);
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

/// A module around a launch.
struct Around<'a> {
    name: StringId,
    class: &'a str,
    /// Whether none inside it has its name, or its class: each is counted once.
    is_first: bool,
    is_first_of_class: bool,
}

/// A row for each module, and one for each class of them. `None` where no module is recorded around any launch.
pub fn tables(named: &Named<'_, '_>) -> Option<[Table; 2]> {
    let gpu = named.gpu;
    let is_module = |i: usize, kind: Kind| kind == Kind::Python && gpu.name(i as u32).starts_with(PREFIX);
    let slices = &gpu.trace.slices;
    let class_of = |name: StringId| class(gpu.trace.strings.get_opt(name).unwrap_or(""));
    let mut sums: FxHashMap<StringId, ModuleSums> = FxHashMap::default();
    let mut classes: FxHashMap<&str, ModuleSums> = FxHashMap::default();
    let mut seen: FxHashMap<u32, Vec<Around<'_>>> = FxHashMap::default();
    for work in gpu.work.iter().filter(|work| work.launch != NONE) {
        // All modules around a launch, from the innermost on.
        let around = seen.entry(work.launch).or_insert_with(|| {
            let mut modules: Vec<Around<'_>> = Vec::new();
            let mut at = work.launch;
            while let Some(module) = gpu.around(at, is_module) {
                let name = slices.name[module as usize];
                let class = class_of(name);
                modules.push(Around {
                    name,
                    class,
                    is_first: modules.iter().all(|inner| inner.name != name),
                    is_first_of_class: modules.iter().all(|inner| inner.class != class),
                });
                at = module;
            }
            modules
        });
        for (depth, module) in around.iter().enumerate() {
            sums.entry(module.name).or_default().add(work.dur(), module.is_first, depth == 0);
            let of_class = classes.entry(module.class).or_default();
            of_class.add(work.dur(), module.is_first_of_class, depth == 0);
        }
    }
    if sums.is_empty() {
        return None;
    }
    for i in 0..slices.len() {
        let name = slices.name[i];
        if let Some(sums) = sums.get_mut(&name)
            && is_module(i, gpu.kinds.get(slices.category[i]))
        {
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
    rows.sort_by(|a, b| (b.1.inside, text(a.0)).cmp(&(a.1.inside, text(b.0))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("modules"),
        named.title("Modules"),
        vec![
            Column::key("module", "module", texts(rows.iter().map(|row| Some(text(row.0).trim_start_matches(PREFIX))))),
            integers("inside", "GPU time", Unit::Ns, rows.iter().map(|row| row.1.inside))
                .with_bar()
                .hint("durations of all work launched in it and in modules inside it")
                .by_row(),
            Column::float("share", "share", Unit::Ratio, rows.iter().map(|row| share(row.1.inside, total)).collect()),
            integers("own", "own GPU time", Unit::Ns, rows.iter().map(|row| row.1.own)).hint("not in modules inside it").adds_up(),
            Column::counts("kernels", "work", Unit::Count, rows.iter().map(|row| row.1.kernels)).hint("kernels, copies and fills"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)).by_row(),
        ],
    )
    .sorted_by("inside", true)
    .caption("By the nn.Module frames around the launch; the number behind a name is the profiler's, one for each instance.");
    Some([class_table(named, classes, total), with_left_out(table, n_left_out)])
}

fn class_table(named: &Named<'_, '_>, classes: FxHashMap<&str, ModuleSums>, total: i64) -> Table {
    let mut rows: Vec<(&str, ModuleSums)> = classes.into_iter().collect();
    rows.sort_by(|a, b| (b.1.inside, a.0).cmp(&(a.1.inside, b.0)));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("module_classes"),
        named.title("Modules by class"),
        vec![
            Column::key("class", "class", texts(rows.iter().map(|row| Some(row.0)))),
            integers("inside", "GPU time", Unit::Ns, rows.iter().map(|row| row.1.inside))
                .with_bar()
                .hint("durations of all work launched in modules of the class and in those inside them"),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.inside, total)).collect(),
            ),
            integers("own", "own GPU time", Unit::Ns, rows.iter().map(|row| row.1.own))
                .hint("not in modules inside them"),
            Column::counts("modules", "modules", Unit::Count, rows.iter().map(|row| row.1.instances)),
            Column::counts("kernels", "work", Unit::Count, rows.iter().map(|row| row.1.kernels))
                .hint("kernels, copies and fills"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls)),
            Column::integer(
                "per_call",
                "GPU time a call",
                Unit::Ns,
                rows.iter()
                    .map(|row| row.1.inside.checked_div(i64::try_from(row.1.calls).ok()?))
                    .collect(),
            ),
        ],
    )
    .sorted_by("inside", true)
    .caption(
        "nn.Modules of one class together: where there are as many of a class as the model has layers, it is the layer. Work in a module \
         that is inside another of its class counts once.",
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
