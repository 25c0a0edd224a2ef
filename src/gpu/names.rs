//! Parsing of kernel names as written by profilers.
//!
//! A name is a C++ signature, demangled or not, or plain text (Triton, Tensile, copies).
//! [`demangle`] gives the signature, [`split`] its namespaces, base name and template arguments.
//! Both take any text, never panic, and need time linear in its length.

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};
use std::borrow::Cow;
use std::fmt;

/// Maximum length of mangled names to demangle, in bytes; leading identifiers of longer ones are still read.
const MAX_MANGLED: usize = 16 << 10;
/// Maximum ratio of demangled to mangled length, since back references could make it exponentially longer.
const MAX_GROWTH: usize = 24;
/// Maximum nesting of a mangled name, limited by the stack of a web worker.
const MAX_DEPTH: u32 = 160;

const ANONYMOUS: &str = "(anonymous namespace)";
const UNNAMED: &str = "<unnamed>";

/// A parsed name; all parts are slices of the original text.
///
/// | name | `spaces` | `base` | `args` |
/// |---|---|---|---|
/// | `void at::native::reduce_kernel<512, 1>(int)` | `at`, `native` | `reduce_kernel` | `512, 1` |
/// | `std::enable_if<!A, void>::type internal::gemvx::kernel<int>(A)` | `internal`, `gemvx` | `kernel` | `int` |
/// | `nvjet_tst_64x8_TNT` | | `nvjet_tst_64x8_TNT` | |
/// | `Memcpy DtoH (Device -> Pinned)` | | `Memcpy DtoH` | |
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts<'a> {
    /// Namespaces and classes around the function, outermost first, without their template arguments.
    pub spaces: Vec<&'a str>,
    /// The function: no return type, template arguments, parameters or clone suffix. Empty only for blank text.
    pub base: &'a str,
    /// The function's template arguments, without the angle brackets; up to the end if truncated.
    pub args: &'a str,
}

impl Parts<'_> {
    /// The namespaces with `::` between them; empty if there are none.
    pub fn space(&self) -> String {
        self.spaces.join("::")
    }

    /// Namespaces and base name: `at::native::reduce_kernel`.
    pub fn qualified(&self) -> String {
        let mut out = String::new();
        for space in &self.spaces {
            out.push_str(space);
            out.push_str("::");
        }
        out.push_str(self.base);
        out
    }
}

/// The demangled name; unchanged if it is not mangled (Itanium) or cannot be demangled.
///
/// `_ZN5aiter4gemmIfEEvPT_` gives `void aiter::gemm<float>(float*)`; suffixes such as `.kd` (the kernel descriptor of
/// AMD's compiler) are left out.
pub fn demangle(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let Some(mangled) = mangled_part(name) else { return Cow::Borrowed(name) };
    if mangled.len() > MAX_MANGLED {
        return Cow::Borrowed(name);
    }
    let options = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let Ok(symbol) = Symbol::new_with_options(mangled, &options) else { return Cow::Borrowed(name) };
    let mut out = Bounded { text: String::new(), room: 256 + MAX_GROWTH * mangled.len(), writes: 0 };
    let options = DemangleOptions::new().recursion_limit(MAX_DEPTH);
    match symbol.structured_demangle(&mut out, &options) {
        Ok(()) if !out.text.is_empty() => Cow::Owned(out.text),
        _ => Cow::Borrowed(name),
    }
}

/// The name for display: [`demangle`]d, or the leading identifiers if that fails, as in `aiter::gemm<…>`.
pub fn readable(name: &str) -> Cow<'_, str> {
    match demangle(name) {
        Cow::Borrowed(name) => match mangled_part(name).and_then(split_mangled) {
            Some(parts) if !parts.base.is_empty() => Cow::Owned(format!("{}<…>", parts.qualified())),
            _ => Cow::Borrowed(name),
        },
        demangled => demangled,
    }
}

/// The function's name without namespaces, return type, template arguments, parameters or clone suffix.
/// The shortest text that identifies a kernel; see [`Parts`] for examples.
pub fn base_name(name: &str) -> String {
    split(&demangle(name)).base.to_string()
}

/// Parses a name: a demangled signature, plain text, or a mangled name that [`demangle`] returned unchanged.
pub fn split(name: &str) -> Parts<'_> {
    let name = name.trim();
    if let Some(parts) = mangled_part(name).and_then(split_mangled) {
        return parts;
    }
    let signature = name.strip_prefix("void ").unwrap_or(name).trim_start();
    if !signature.contains(['(', '<']) && signature.contains(' ') {
        return Parts { base: until_clone(signature), ..Parts::default() };
    }
    let mut parts = Splitter::new(signature).run();
    if parts.base.is_empty() {
        parts.base = signature;
    }
    parts
}

/// Plain text without ` [clone …]`.
fn until_clone(text: &str) -> &str {
    text.split(" [").next().unwrap_or(text).trim_end()
}

/// The mangled symbol without suffixes of compilers and linkers; `None` if the name is not mangled.
fn mangled_part(name: &str) -> Option<&str> {
    let symbol = name.split([' ', '.', '@']).next().unwrap_or(name);
    let symbol = if symbol.starts_with("__Z") { &symbol[1..] } else { symbol };
    let is_mangled = symbol.strip_prefix("_Z").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'N' | 'L' | 'S' | 'Z'))
    });
    is_mangled.then_some(symbol)
}

/// The identifiers a mangled name starts with, up to the first template argument or parameter.
/// For names that the demangler doesn't understand: less complete, but correct.
fn split_mangled(symbol: &str) -> Option<Parts<'_>> {
    let rest = symbol.strip_prefix("_Z")?;
    let mut rest = rest.trim_start_matches('Z');
    if let Some(nested) = rest.strip_prefix('N') {
        rest = nested.trim_start_matches(['K', 'V', 'r', 'R', 'O']);
    }
    rest = rest.strip_prefix("St").unwrap_or(rest);
    let mut names = Vec::new();
    while let Some((name, behind)) = source_name(rest) {
        names.push(if name.starts_with("_GLOBAL__N_") { ANONYMOUS } else { name });
        rest = behind;
    }
    let base = names.pop()?;
    Some(Parts { spaces: names, base, args: rest.strip_prefix('I').unwrap_or("") })
}

/// `3foo…` → `foo`, `…`.
fn source_name(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('L').unwrap_or(text);
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let len: usize = text.get(..n_digits)?.parse().ok()?;
    let behind = &text[n_digits..];
    // A truncated name keeps what there is.
    let len = len.min(behind.len());
    let name = behind.get(..len).filter(|name| !name.is_empty())?;
    Some((name, &behind[len..]))
}

/// Text limited in bytes and in the number of writes.
struct Bounded {
    text: String,
    room: usize,
    writes: usize,
}

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        self.writes += 1;
        if self.text.len() + text.len() > self.room || self.writes > self.room {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Scans a signature once, considering only text outside all brackets.
struct Splitter<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets. An unclosed one is dropped when an enclosing one closes.
    open: Vec<u8>,
    /// Number of those that are not `<`.
    n_round: usize,
    names: Vec<&'a str>,
    /// Start of the current name, and its end if reached.
    start: usize,
    end: Option<usize>,
    /// Its template arguments.
    args: Option<(usize, usize)>,
    has_parameters: bool,
}

impl<'a> Splitter<'a> {
    fn new(text: &'a str) -> Splitter<'a> {
        Splitter {
            text,
            at: 0,
            open: Vec::new(),
            n_round: 0,
            names: Vec::new(),
            start: 0,
            end: None,
            args: None,
            has_parameters: false,
        }
    }

    fn run(mut self) -> Parts<'a> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            let goes_on = if self.open.is_empty() { self.outside(*byte) } else { self.inside(*byte) };
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        self.finish()
    }

    /// A byte within brackets.
    fn inside(&mut self, byte: u8) -> bool {
        match byte {
            b'<' if self.is_operator() => {}
            b'<' => self.open.push(byte),
            b'>' if self.is_arrow() => {}
            b'>' if self.open.last() == Some(&b'<') => {
                self.open.pop();
            }
            b'(' | b'{' | b'[' => {
                self.open.push(byte);
                self.n_round += 1;
            }
            b')' | b'}' | b']' if self.n_round > 0 => {
                while self.open.pop() == Some(b'<') {}
                self.n_round -= 1;
            }
            _ => {}
        }
        if self.open.is_empty()
            && let Some((start, end)) = &mut self.args
            && *end < *start
        {
            *end = self.at;
        }
        true
    }

    /// A byte outside all brackets; false at the end of the name.
    fn outside(&mut self, byte: u8) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        match byte {
            b'(' if self.at == self.start && rest.starts_with(ANONYMOUS.as_bytes()) => {
                self.at += ANONYMOUS.len() - 1;
            }
            b'<' if self.at == self.start && rest.starts_with(UNNAMED.as_bytes()) => {
                self.at += UNNAMED.len() - 1;
            }
            b'(' if rest.starts_with(b"()") && self.is_operator() => self.at += 1,
            b'<' if self.is_operator() => {}
            b'<' | b'(' | b'{' | b'[' => self.open_bracket(byte),
            b':' if rest.starts_with(b"::") => {
                self.close_name();
                self.at += 1;
                self.begin_name(self.at + 1);
            }
            b' ' => return self.blank(rest),
            _ => {}
        }
        true
    }

    fn open_bracket(&mut self, byte: u8) {
        self.end.get_or_insert(self.at);
        self.open.push(byte);
        if byte == b'<' {
            // An end before the start means that they are still open.
            self.args.get_or_insert((self.at + 1, 0));
        } else {
            self.n_round += 1;
            self.has_parameters |= byte == b'(';
        }
    }

    /// A blank ends a return type, or the whole name.
    fn blank(&mut self, rest: &[u8]) -> bool {
        if self.has_parameters {
            if rest.starts_with(b" const::") {
                self.at += b" const".len() - 1;
                return true;
            }
            return false;
        }
        if rest.starts_with(b" [") {
            return false;
        }
        if rest.starts_with(b" (") && !rest[1..].starts_with(ANONYMOUS.as_bytes()) {
            // Signatures have no blank before parameters: this is plain text with a suffix.
            self.names.clear();
            self.begin_name(0);
            return false;
        }
        self.names.clear();
        self.begin_name(self.at + 1);
        true
    }

    fn begin_name(&mut self, start: usize) {
        self.start = start;
        self.end = None;
        self.args = None;
        self.has_parameters = false;
    }

    /// Keeps the name that ends here; lambdas and call operators are named after the enclosing function.
    fn close_name(&mut self) {
        let end = self.end.unwrap_or(self.at).min(self.text.len());
        let name = self.text.get(self.start..end).unwrap_or("").trim();
        if !name.is_empty() && name != "operator()" {
            self.names.push(name);
        }
    }

    fn finish(mut self) -> Parts<'a> {
        self.close_name();
        let args = match self.args {
            Some((start, end)) if end < start => self.text.get(start..),
            Some((start, end)) => self.text.get(start..end),
            None => None,
        };
        let base = self.names.pop().unwrap_or("");
        Parts { spaces: self.names, base, args: args.unwrap_or("").trim() }
    }

    /// Whether the bracket here belongs to the name of an operator.
    fn is_operator(&self) -> bool {
        let before = &self.text.as_bytes()[..self.at];
        let before = before.strip_suffix(b"<").unwrap_or(before);
        before.ends_with(b"operator")
    }

    fn is_arrow(&self) -> bool {
        self.text.as_bytes()[..self.at].ends_with(b"-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qualified(name: &str) -> String {
        split(&demangle(name)).qualified()
    }

    #[test]
    fn signatures() {
        let names = [
            (
                "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float*)",
                "at::native::reduce_kernel",
            ),
            (
                "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, (a)1>(b<int>)",
                "internal::gemvx::kernel",
            ),
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64>(float*, \
                 at::native::(anonymous namespace)::Meta)",
                "at::native::(anonymous namespace)::CatArrayBatchedCopy",
            ),
            (
                "void (anonymous namespace)::softmax_warp_forward<float>(float*)",
                "(anonymous namespace)::softmax_warp_forward",
            ),
            ("void <unnamed>::foo<int>(int)", "<unnamed>::foo"),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic"),
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
            ("Memset (Device)", "Memset"),
            ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
            ("void foo<a<b>::c>::bar<(x < 3)>::baz<-1>(int) [clone .kd]", "foo::bar::baz"),
            ("void f(int)::{lambda(int)#1}::operator()(int) const", "f"),
            ("unsigned long long a::b(c)", "a::b"),
            ("void k<&a::operator< <int>, 3>(int)", "k"),
            ("void a::operator<<(b)", "a::operator<<"),
            ("foo [clone .isra.0]", "foo"),
            ("my own kernel", "my own kernel"),
        ];
        for (name, expected) in names {
            assert_eq!(qualified(name), expected, "{name}");
        }
    }

    #[test]
    fn mangled_names() {
        let names = [
            (
                "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
                "aiter::add_rmsnorm_quant_kernel",
            ),
            ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bEEvPT_.kd", "aiter::add_rmsnorm_quant_kernel"),
            (
                "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
                "sgl_hip::activation::act_and_mul_kernel",
            ),
            ("_Z9my_kernelPfi", "my_kernel"),
            (
                "_ZN2ck16tensor_operation6device12_GLOBAL__N_13fooEv",
                "ck::tensor_operation::device::(anonymous namespace)::foo",
            ),
            // Not a mangled name, and a truncated one.
            ("_Zebra", "_Zebra"),
            ("_ZN7ck_tile6kentryILi1ENS_12Rmsn", "ck_tile::kentry"),
            ("_ZN5aiter48fmoe_bf16_block", "aiter::fmoe_bf16_block"),
        ];
        for (name, expected) in names {
            assert_eq!(qualified(name), expected, "{name}");
        }
    }

    #[test]
    fn template_arguments() {
        assert_eq!(split("void a::k<x<1>, y>(z<2>)").args, "x<1>, y");
        assert_eq!(split("void a<q>::k(z<2>)").args, "");
        assert_eq!(split("void a::k<x<1>, y").args, "x<1>, y");
        assert_eq!(split("plain").args, "");
    }

    #[test]
    fn no_text_is_too_odd() {
        let pieces = [
            "<", ">", "(", ")", "::", " ", "operator", "{", "}", "[", "é", "_Z", "N3a", "I", "-", "const",
            "9", ANONYMOUS,
        ];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let name = demangle(&text).into_owned();
            assert_eq!(
                split(&name).base.is_empty(),
                name.trim_start_matches("void ").trim().is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn long_names_take_linear_time() {
        let started = std::time::Instant::now();
        for piece in
            ["<", "(", ">", ")", "a::", "operator<", "(anonymous namespace)::", " (", "N1a", "I", "((<", "<)"]
        {
            let text = piece.repeat(200_000);
            split(&text);
            demangle(&format!("_ZN1a{text}"));
            split(&format!("_ZN1a{text}"));
        }
        // Each type has the one before it as argument, twice: written out, they would fill any memory.
        let mut bomb = String::from("_Z1f1aIiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_E");
        for at in 3..36 {
            let digit = char::from_digit(at, 36).unwrap_or_default().to_ascii_uppercase();
            bomb.push_str(&format!("S_IS{digit}_S{digit}_E"));
        }
        assert_eq!(demangle(&bomb), bomb);
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }
}
