//! The arguments of an operator, from the four JSON texts that the PyTorch profiler writes with `record_shapes`.
//!
//! `Input Dims`, `Input type`, `Input Strides` and `Concrete Inputs` are arrays with one element per argument. A tensor's
//! dimensions are an array of integers, a list of tensors is an array of such arrays, and everything else an empty one.
//! The type shows what an argument is: `c10::BFloat16` for a tensor, `Scalar`, `ScalarList`, `TensorList`, or empty if an optional
//! argument is omitted. Values of scalars are text in `Concrete Inputs`.

use crate::base::json::{Dialect, JsonError, Number, Parser, Token, unescape_to_string};
use std::fmt;

/// Maximum text length; the longest seen in practice have some ten thousand bytes.
const MAX_TEXT: usize = 4 << 20;
/// Maximum arguments, far more than any operator has; each takes many times its two bytes of text.
const MAX_INPUTS: usize = 10_000;
/// PyTorch's own limit of tensor dimensions is 64.
const MAX_DIMS: usize = 64;

/// Element type of a tensor, or type of another argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DType {
    F64,
    F32,
    F16,
    Bf16,
    /// Any of the 8-bit floating-point formats.
    F8,
    /// Two 4-bit floating-point numbers in a byte.
    F4x2,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
    Complex128,
    Complex64,
    Complex32,
    /// A scalar.
    Scalar,
    /// None, a list, text, or an unknown type.
    #[default]
    Other,
}

impl DType {
    /// The type by the name that libtorch prints, in any case: `float`, `c10::Half`, `long int`, `c10::Float8_e4m3fn` …
    pub fn of(name: &str) -> DType {
        let name = name.to_ascii_lowercase();
        let name = name.strip_prefix("c10::").unwrap_or(&name);
        match name {
            "double" => DType::F64,
            "float" => DType::F32,
            "half" => DType::F16,
            "bfloat16" => DType::Bf16,
            "long int" | "long" | "__int64" | "unsigned long" | "unsigned long int" => DType::I64,
            "int" | "unsigned int" | "qint32" => DType::I32,
            "short int" | "short" | "unsigned short" => DType::I16,
            "signed char" | "char" | "qint8" => DType::I8,
            "unsigned char" | "quint8" => DType::U8,
            "bool" => DType::Bool,
            "complex<double>" => DType::Complex128,
            "complex<float>" => DType::Complex64,
            "complex<c10::half>" => DType::Complex32,
            "scalar" => DType::Scalar,
            _ if name.starts_with("float8_") || name == "fp8" => DType::F8,
            _ if name.starts_with("float4_") => DType::F4x2,
            _ => DType::Other,
        }
    }

    /// Bytes of an element; `None` for [`DType::Other`].
    /// A scalar counts 4 bytes, as in TraceLens (`name2bpe`).
    pub fn size(self) -> Option<u64> {
        match self {
            DType::Complex128 => Some(16),
            DType::F64 | DType::I64 | DType::Complex64 => Some(8),
            DType::F32 | DType::I32 | DType::Complex32 | DType::Scalar => Some(4),
            DType::F16 | DType::Bf16 | DType::I16 => Some(2),
            DType::F8 | DType::F4x2 | DType::I8 | DType::U8 | DType::Bool => Some(1),
            DType::Other => None,
        }
    }

    /// Whether this is a tensor's element, as opposed to a number or nothing.
    pub fn is_element(self) -> bool {
        !matches!(self, DType::Scalar | DType::Other)
    }
}

/// One argument.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Input {
    /// Dimensions of a tensor, outermost first. Empty for scalars, for tensors without dimensions and for lists.
    pub dims: Vec<i64>,
    /// Dimensions of each tensor where the argument is a list of them.
    pub list: Vec<Vec<i64>>,
    /// Strides in elements, per dimension. Empty if not recorded.
    pub strides: Vec<i64>,
    /// The type as written.
    pub type_name: String,
    /// The parsed type.
    pub dtype: DType,
    /// Value of a scalar or a list of scalars as written: `1`, `False`, `[1, 1]`. Empty for tensors.
    pub concrete: String,
}

impl Input {
    /// Whether it is a tensor, possibly without dimensions.
    pub fn is_tensor(&self) -> bool {
        self.dtype.is_element()
    }

    /// The concrete value as a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.concrete.as_str() {
            "True" | "true" | "1" => Some(true),
            "False" | "false" | "0" => Some(false),
            _ => None,
        }
    }

    /// The concrete value as an integer.
    pub fn as_i64(&self) -> Option<i64> {
        self.concrete.trim().parse().ok()
    }

    /// The concrete value as a list of integers, `[3, 3]`; a single one counts as a list of one.
    pub fn as_list(&self) -> Option<Vec<i64>> {
        let text = self.concrete.trim();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if inner.trim().is_empty() {
            return text.starts_with('[').then(Vec::new);
        }
        inner.split(',').take(MAX_DIMS + 1).map(|part| part.trim().parse().ok()).collect()
    }

    /// The concrete value as a list of booleans, `[True, False]`.
    pub fn as_bools(&self) -> Option<Vec<bool>> {
        let inner = self.concrete.trim().strip_prefix('[')?.strip_suffix(']')?;
        let part = |part: &str| match part.trim() {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        };
        inner.split(',').take(MAX_DIMS).map(part).collect()
    }
}

/// The raw texts of a file, if present.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgTexts<'a> {
    pub dims: Option<&'a [u8]>,
    pub types: Option<&'a [u8]>,
    pub strides: Option<&'a [u8]>,
    pub concrete: Option<&'a [u8]>,
}

/// All arguments of an operator, in the order of its schema.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpArgs {
    pub inputs: Vec<Input>,
}

/// Error in arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgsError {
    /// Which of the four: `Input Dims` …
    pub member: &'static str,
    /// Byte offset in its text.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for ArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\", byte {}: expected {}", self.member, self.at, self.expected)
    }
}

impl std::error::Error for ArgsError {}

impl OpArgs {
    /// Parses the texts. Arguments in only some of them are kept, with the rest left empty.
    ///
    /// Fails on invalid JSON, on shapes nested deeper than a list of tensors, on dimensions that are not 64-bit integers, on more
    /// than 10,000 arguments, and on texts above 4 MiB. Memory is proportional to the texts.
    pub fn parse(texts: &ArgTexts<'_>) -> Result<OpArgs, ArgsError> {
        let mut args = OpArgs::default();
        read_array("Input Dims", texts.dims, |at, reader| {
            let input = args.at(at);
            reader.shape(&mut input.dims, Some(&mut input.list))
        })?;
        read_array("Input Strides", texts.strides, |at, reader| {
            let mut of_list = Vec::new();
            reader.shape(&mut args.at(at).strides, Some(&mut of_list))
        })?;
        read_array("Input type", texts.types, |at, reader| {
            let name = reader.text()?;
            let input = args.at(at);
            input.dtype = DType::of(&name);
            input.type_name = name;
            Ok(())
        })?;
        read_array("Concrete Inputs", texts.concrete, |at, reader| {
            args.at(at).concrete = reader.text()?;
            Ok(())
        })?;
        Ok(args)
    }

    /// The argument at this index of the schema.
    pub fn get(&self, at: usize) -> Option<&Input> {
        self.inputs.get(at)
    }

    /// Dimensions of the tensor at this index; `None` without a tensor of at least one dimension.
    pub fn shape(&self, at: usize) -> Option<&[i64]> {
        let input = self.get(at)?;
        (!input.dims.is_empty()).then_some(&input.dims)
    }

    /// Type of the argument at this index; [`DType::Other`] if there is none.
    pub fn dtype(&self, at: usize) -> DType {
        self.get(at).map_or(DType::Other, |input| input.dtype)
    }

    fn at(&mut self, at: usize) -> &mut Input {
        if at >= self.inputs.len() {
            self.inputs.resize_with(at + 1, Input::default);
        }
        &mut self.inputs[at]
    }
}

/// Reads one of the four texts.
struct Reader<'a> {
    parser: Parser<'a>,
    member: &'static str,
    len: usize,
}

/// Calls `element` with the number of each element of the array in `text`.
fn read_array(
    member: &'static str,
    text: Option<&[u8]>,
    mut element: impl FnMut(usize, &mut Reader<'_>) -> Result<(), ArgsError>,
) -> Result<(), ArgsError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
    if text.len() > MAX_TEXT {
        return Err(ArgsError { member, at: MAX_TEXT, expected: "at most 4 MiB" });
    }
    let mut reader = Reader { parser: Parser::new(text, Dialect::Lenient), member, len: text.len() };
    match reader.token()? {
        Token::Array => {}
        Token::Null => return Ok(()),
        _ => return Err(reader.error("an array")),
    }
    let mut first = true;
    let mut at = 0;
    while reader.next(&mut first)? {
        if at == MAX_INPUTS {
            return Err(reader.error("at most 10000 arguments"));
        }
        element(at, &mut reader)?;
        at += 1;
    }
    Ok(())
}

impl<'a> Reader<'a> {
    fn error(&self, expected: &'static str) -> ArgsError {
        ArgsError { member: self.member, at: self.parser.position(), expected }
    }

    fn json(&self, error: JsonError) -> ArgsError {
        match error {
            JsonError::Cut => ArgsError { member: self.member, at: self.len, expected: "more text" },
            JsonError::Syntax { at, expected } => ArgsError { member: self.member, at, expected },
        }
    }

    fn token(&mut self) -> Result<Token<'a>, ArgsError> {
        self.parser.token().map_err(|error| self.json(error))
    }

    fn next(&mut self, first: &mut bool) -> Result<bool, ArgsError> {
        self.parser.next_element(first).map_err(|error| self.json(error))
    }

    /// Text, or a number or literal as written; empty for a container.
    fn text(&mut self) -> Result<String, ArgsError> {
        if matches!(self.parser.peek(), Some(b'[' | b'{')) {
            self.parser.skip_value().map_err(|error| self.json(error))?;
            return Ok(String::new());
        }
        Ok(match self.token()? {
            Token::String(raw) => unescape_to_string(raw),
            Token::Number(literal) => String::from_utf8_lossy(literal).into_owned(),
            Token::True => "True".to_string(),
            Token::False => "False".to_string(),
            _ => String::new(),
        })
    }

    /// An array of integers into `dims`, or of such arrays into `list`, where that is allowed.
    fn shape(&mut self, dims: &mut Vec<i64>, mut list: Option<&mut Vec<Vec<i64>>>) -> Result<(), ArgsError> {
        match self.token()? {
            Token::Array => {}
            Token::Null => return Ok(()),
            _ => return Err(self.error("the dimensions of a tensor")),
        }
        let mut first = true;
        while self.next(&mut first)? {
            match (self.parser.peek(), &mut list) {
                (Some(b'['), Some(list)) => {
                    let mut of_one = Vec::new();
                    self.shape(&mut of_one, None)?;
                    list.push(of_one);
                }
                _ => dims.push(self.integer()?),
            }
            if dims.len() > MAX_DIMS {
                return Err(self.error("at most 64 dimensions"));
            }
        }
        Ok(())
    }

    fn integer(&mut self) -> Result<i64, ArgsError> {
        match self.token()? {
            Token::Number(literal) => Number::as_i64(literal).ok_or_else(|| self.error("a 64-bit integer")),
            _ => Err(self.error("an integer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dims: &str, types: &str, concrete: &str) -> Result<OpArgs, ArgsError> {
        let texts = ArgTexts {
            dims: Some(dims.as_bytes()),
            types: Some(types.as_bytes()),
            strides: None,
            concrete: Some(concrete.as_bytes()),
        };
        OpArgs::parse(&texts)
    }

    #[test]
    fn reads_tensors_lists_and_scalars() {
        let args = parse(
            "[[2, 3], [[4], [5, 6]], [], []]",
            r#"["c10::BFloat16", "TensorList", "Scalar", ""]"#,
            r#"["", "", "-1", ""]"#,
        )
        .unwrap();
        assert_eq!(args.shape(0), Some(&[2, 3][..]));
        assert_eq!(args.inputs[1].list, [vec![4], vec![5, 6]]);
        assert_eq!(args.inputs[2].as_i64(), Some(-1));
        assert_eq!(args.dtype(0), DType::Bf16);
        assert!(!args.inputs[3].is_tensor());
        assert_eq!(args.dtype(9), DType::Other);
    }

    #[test]
    fn texts_may_be_missing_or_of_different_lengths() {
        assert_eq!(OpArgs::parse(&ArgTexts::default()), Ok(OpArgs::default()));
        let args = parse("null", r#"["float", "int"]"#, r#"["a"]"#).unwrap();
        assert_eq!(args.inputs.len(), 2);
        assert_eq!(args.shape(0), None);
    }

    #[test]
    fn concrete_values_are_read_on_demand() {
        let args =
            parse("[]", "[]", r#"["[2, -3]", "[True, False]", "7", "[]", "[1, x]", true, 1.5]"#).unwrap();
        assert_eq!(args.inputs[0].as_list(), Some(vec![2, -3]));
        assert_eq!(args.inputs[1].as_bools(), Some(vec![true, false]));
        assert_eq!(args.inputs[2].as_list(), Some(vec![7]));
        assert_eq!(args.inputs[3].as_list(), Some(vec![]));
        assert_eq!(args.inputs[4].as_list(), None);
        assert_eq!(args.inputs[5].as_bool(), Some(true));
        assert_eq!(args.inputs[6].concrete, "1.5");
    }

    #[test]
    fn errors_say_where() {
        let error = parse("[[1, 2.5]]", "[]", "[]").unwrap_err();
        assert_eq!(error.to_string(), "\"Input Dims\", byte 8: expected a 64-bit integer");
        assert_eq!(parse("[[1", "[]", "[]").unwrap_err().expected, "more text");
        assert_eq!(parse("[[[[1]]]]", "[]", "[]").unwrap_err().expected, "an integer");
        assert_eq!(parse("7", "[]", "[]").unwrap_err().expected, "an array");
        let many = format!("[[{}1]]", "1,".repeat(100));
        assert_eq!(parse(&many, "[]", "[]").unwrap_err().expected, "at most 64 dimensions");
    }

    #[test]
    fn knows_the_sizes_of_elements() {
        let sizes = [
            ("c10::BFloat16", 2),
            ("c10::Half", 2),
            ("float", 4),
            ("double", 8),
            ("signed char", 1),
            ("unsigned char", 1),
            ("c10::Float8_e4m3fn", 1),
            ("c10::Float8_e4m3fnuz", 1),
            ("c10::Float8_e5m2", 1),
            ("c10::Float8_e5m2fnuz", 1),
            ("int", 4),
            ("long int", 8),
            ("short int", 2),
            ("bool", 1),
            ("c10::complex<float>", 8),
            ("c10::complex<double>", 16),
            ("Scalar", 4),
        ];
        for (name, size) in sizes {
            assert_eq!(DType::of(name).size(), Some(size), "{name}");
        }
        assert_eq!(DType::of("TensorList").size(), None);
    }
}
