//! Classes of kernels, cached by name.

use super::kind::Kind;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::gpu::kernels::{RuleError, Rules};
use crate::gpu::names;
use crate::gpu::phases::PhaseRule;
use crate::trace::Trace;
use std::borrow::Cow;

/// Class of a kernel, a copy or a fill, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// Operation, such as `GEMM`.
    pub operation: String,
    /// Kernel family; empty if unknown.
    pub family: String,
    /// Library; empty if unknown.
    pub library: String,
    /// Communicates with other GPUs.
    pub is_communication: bool,
    /// A copy by the runtime, possibly run as a kernel.
    pub is_copy: bool,
    /// Not matched by any rule.
    pub is_unknown: bool,
}

/// Number of a class in [`Classes`].
pub type ClassId = u32;

/// Classes of all names of a trace.
pub struct Classes {
    rules: Cow<'static, Rules>,
    /// Errors in custom rules.
    pub problems: Vec<RuleError>,
    all: Vec<Class>,
    by_name: HashMap<(StringId, bool), ClassId>,
    /// Demangled names of mangled kernels.
    demangled: HashMap<StringId, Box<str>>,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes::new("")
    }
}

/// Builtin rules, preceded by custom ones. If any custom rule has an error, all of them are ignored.
pub fn rules_with(custom: &str) -> (Cow<'static, Rules>, Vec<RuleError>) {
    let builtin = Rules::builtin();
    if custom.trim().is_empty() {
        return (Cow::Borrowed(builtin), Vec::new());
    }
    match builtin.with(custom) {
        Ok(rules) => (Cow::Owned(rules), Vec::new()),
        Err(problems) => (Cow::Borrowed(builtin), problems),
    }
}

impl Classes {
    /// Classes by [`rules_with`] the custom ones.
    pub fn new(rules: &str) -> Classes {
        let (rules, problems) = rules_with(rules);
        Classes {
            rules,
            problems,
            all: Vec::new(),
            by_name: HashMap::default(),
            demangled: HashMap::default(),
        }
    }

    /// Rules for step phases.
    pub fn phases(&self) -> &[PhaseRule] {
        self.rules.phases()
    }

    /// The class of a kernel, copy or fill by name and kind.
    pub fn of(&mut self, trace: &Trace, name: StringId, kind: Kind) -> ClassId {
        let key = (name, kind == Kind::Kernel);
        if let Some(id) = self.by_name.get(&key) {
            return *id;
        }
        let class = match kind {
            Kind::Kernel => self.kernel(trace.strings.get(name)),
            Kind::Fill => moves_memory("Memset"),
            _ => moves_memory("Memcpy"),
        };
        let id = self.all.iter().position(|known| *known == class).unwrap_or_else(|| {
            self.all.push(class);
            self.all.len() - 1
        }) as ClassId;
        self.by_name.insert(key, id);
        if kind == Kind::Kernel
            && let Cow::Owned(text) = names::readable(trace.strings.get(name))
        {
            self.demangled.insert(name, text.into());
        }
        id
    }

    /// The demangled name of a kernel, if its name is mangled.
    ///
    /// Only for names that were passed to [`Classes::of`].
    pub fn demangled(&self, name: StringId) -> Option<&str> {
        self.demangled.get(&name).map(|text| &**text)
    }

    fn kernel(&self, name: &str) -> Class {
        let class = self.rules.classify(name);
        Class {
            operation: class.operation.name().to_string(),
            family: class.family.to_string(),
            library: class.library.to_string(),
            is_communication: class.operation.is_communication(),
            is_copy: is_runtime_copy(name),
            is_unknown: class.operation.is_other(),
        }
    }

    /// The class of that number.
    pub fn get(&self, id: ClassId) -> &Class {
        &self.all[id as usize]
    }

    /// All of them.
    pub fn all(&self) -> &[Class] {
        &self.all
    }
}

/// Whether a kernel is a copy that the ROCm runtime runs as a kernel. Library kernels that copy count as computation, as in
/// TraceLens.
fn is_runtime_copy(name: &str) -> bool {
    name.starts_with("__amd_rocclr_copyBuffer") || name.starts_with("MEMORY_COPY_")
}

fn moves_memory(operation: &str) -> Class {
    Class {
        operation: operation.to_string(),
        family: String::new(),
        library: String::new(),
        is_communication: false,
        is_copy: operation == "Memcpy",
        is_unknown: false,
    }
}
