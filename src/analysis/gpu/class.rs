//! Classes of kernels, found once for each name.

use super::kind::Kind;
use crate::base::strings::StringId;
use crate::gpu::kernels::Rules;
use crate::trace::Trace;
use rustc_hash::FxHashMap;

/// What a kernel, a copy or a fill does, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// What it computes, in the field's words.
    pub operation: String,
    /// Family of kernels it is one of; empty if not known.
    pub family: String,
    /// Library it comes from; empty if not known.
    pub library: String,
    /// It talks to other GPUs.
    pub is_communication: bool,
    /// It only moves memory, though it may run as a kernel.
    pub is_copy: bool,
    /// No rule knows it.
    pub is_unknown: bool,
}

/// Number of a class in [`Classes`].
pub type ClassId = u32;

/// Classes of all names of a trace.
pub struct Classes {
    rules: Rules,
    all: Vec<Class>,
    by_name: FxHashMap<(StringId, bool), ClassId>,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes { rules: Rules::builtin(), all: Vec::new(), by_name: FxHashMap::default() }
    }
}

impl Classes {
    /// The class of work of that name and kind.
    pub fn of(&mut self, trace: &Trace, name: StringId, kind: Kind) -> ClassId {
        let key = (name, kind == Kind::Kernel);
        if let Some(id) = self.by_name.get(&key) {
            return *id;
        }
        let class = match kind {
            Kind::Kernel => self.kernel(trace.strings.get(name)),
            Kind::Fill => moves_memory("memset"),
            _ => moves_memory("memcpy"),
        };
        let id = self.all.iter().position(|known| *known == class).unwrap_or_else(|| {
            self.all.push(class);
            self.all.len() - 1
        }) as ClassId;
        self.by_name.insert(key, id);
        id
    }

    fn kernel(&self, name: &str) -> Class {
        let class = self.rules.classify(name);
        Class {
            operation: class.operation.to_string(),
            family: class.family.to_string(),
            library: class.library.to_string(),
            is_communication: class.is_communication,
            is_copy: class.is_copy,
            is_unknown: class.is_unknown,
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

fn moves_memory(operation: &str) -> Class {
    Class {
        operation: operation.to_string(),
        family: String::new(),
        library: String::new(),
        is_communication: false,
        is_copy: operation == "memcpy",
        is_unknown: false,
    }
}
