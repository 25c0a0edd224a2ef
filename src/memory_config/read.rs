//! Field values from a document: lenient in types, strict in meaning.

use super::FieldError;
use super::schema::{Default, Field, Kind};
use super::yaml::Yaml;
use crate::base::compat::python;
use crate::base::json::Json;

/// Parses the fields of a section; problems go to `errors` with their path.
pub fn section(value: &Yaml, fields: &[Field], path: &str, errors: &mut Vec<FieldError>) -> Json {
    if !matches!(value, Yaml::Map(_)) {
        return wrong(path, "must be a map of fields", errors);
    }
    let members = fields.iter().map(|field| {
        let path = if path.is_empty() { field.name.to_string() } else { format!("{path}.{}", field.name) };
        (field.name.to_string(), read_field(value.get(field.name), field, &path, errors))
    });
    Json::Object(members.collect())
}

fn read_field(value: Option<&Yaml>, field: &Field, path: &str, errors: &mut Vec<FieldError>) -> Json {
    match value {
        None => default(field, path, errors),
        Some(Yaml::Null) if field.nullable => Json::Null,
        Some(value) => typed(value, field.kind, path, errors),
    }
}

fn default(field: &Field, path: &str, errors: &mut Vec<FieldError>) -> Json {
    let text = |text: &&str| Json::String(text.to_string());
    match field.default {
        Default::Required => wrong(path, "is missing", errors),
        Default::Null => Json::Null,
        Default::Text(value) => text(&value),
        Default::Int(value) => Json::Number(value.to_string()),
        Default::Bool(value) => Json::Bool(value),
        Default::Texts(values) => Json::Array(values.iter().map(text).collect()),
        Default::Ints(values) => {
            Json::Array(values.iter().map(|value| Json::Number(value.to_string())).collect())
        }
        Default::Section => match field.kind {
            Kind::Section(fields) => section(&Yaml::Map(Vec::new()), fields, path, errors),
            _ => Json::Null,
        },
    }
}

fn wrong(path: &str, what: &str, errors: &mut Vec<FieldError>) -> Json {
    errors.push(FieldError { path: path.to_string(), what: what.to_string() });
    Json::Null
}

fn typed(value: &Yaml, kind: Kind, path: &str, errors: &mut Vec<FieldError>) -> Json {
    match kind {
        Kind::Text => match value {
            Yaml::Text(text) => Json::String(text.clone()),
            _ => wrong(path, "must be a string; put it in quotes", errors),
        },
        Kind::Int => number(int(value), "an integer", path, errors),
        Kind::IntFrom(min, what) => match int(value) {
            Some(value) if value < i128::from(min) => wrong(path, what, errors),
            value => number(value, "an integer", path, errors),
        },
        Kind::Float => match float(value) {
            Some(value) => Json::Number(python::float_json(value)),
            None => wrong(path, "must be a number", errors),
        },
        Kind::Bool => match bool(value) {
            Some(value) => Json::Bool(value),
            None => wrong(path, "must be true or false", errors),
        },
        Kind::OneOf(texts) => match value {
            Yaml::Text(text) if texts.contains(&text.as_str()) => Json::String(text.clone()),
            _ => wrong(path, &format!("must be one of {}", texts.join(", ")), errors),
        },
        Kind::Texts => {
            list(value, path, errors, |value, path, errors| typed(value, Kind::Text, path, errors))
        }
        Kind::SomeOf(texts) => {
            list(value, path, errors, |value, path, errors| typed(value, Kind::OneOf(texts), path, errors))
        }
        Kind::Counts => counts(value, path, errors),
        Kind::Section(fields) => section(value, fields, path, errors),
    }
}

fn number(value: Option<i128>, what: &str, path: &str, errors: &mut Vec<FieldError>) -> Json {
    match value {
        Some(value) => Json::Number(value.to_string()),
        None => wrong(path, &format!("must be {what}"), errors),
    }
}

fn counts(value: &Yaml, path: &str, errors: &mut Vec<FieldError>) -> Json {
    let n_before = errors.len();
    let json = list(value, path, errors, |value, path, errors| typed(value, Kind::Int, path, errors));
    if errors.len() > n_before {
        return json;
    }
    let values = json.as_array().unwrap_or_default();
    if values.is_empty() {
        return wrong(path, "needs at least one value", errors);
    }
    let is_too_large = |value: &Json| {
        matches!(value, Json::Number(digits) if !digits.starts_with('-')) && value.as_i64().is_none()
    };
    if values.iter().any(is_too_large) {
        return wrong(path, "contains a value that is too large", errors);
    }
    if values.iter().any(|value| value.as_i64().is_none_or(|value| value <= 0)) {
        return wrong(path, "contains a value that is not positive", errors);
    }
    json
}

fn list(
    value: &Yaml,
    path: &str,
    errors: &mut Vec<FieldError>,
    read: impl Fn(&Yaml, &str, &mut Vec<FieldError>) -> Json,
) -> Json {
    let Yaml::List(values) = value else { return wrong(path, "must be a list", errors) };
    let values = values.iter().enumerate();
    Json::Array(values.map(|(n, value)| read(value, &format!("{path}.{n}"), errors)).collect())
}

/// Integers, also as strings and as floats without a fraction.
fn int(value: &Yaml) -> Option<i128> {
    match value {
        Yaml::Int(value) => Some(*value),
        Yaml::Bool(value) => Some(i128::from(*value)),
        Yaml::Float(value) if value.fract() == 0.0 && value.abs() < 1e18 => Some(*value as i128),
        Yaml::Text(text) => {
            // `256.0` is an integer as well.
            let text = text.trim();
            let whole = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|byte| byte == b'0'));
            python::parse_int(whole.map_or(text, |(whole, _)| whole))?.parse().ok()
        }
        _ => None,
    }
}

fn float(value: &Yaml) -> Option<f64> {
    match value {
        Yaml::Float(value) => Some(*value),
        Yaml::Text(text) => python::parse_float(text),
        other => int(other).map(|value| value as f64),
    }
}

fn bool(value: &Yaml) -> Option<bool> {
    match value {
        Yaml::Bool(value) => Some(*value),
        Yaml::Int(0) => Some(false),
        Yaml::Int(1) => Some(true),
        Yaml::Float(value) => (*value == 0.0 || *value == 1.0).then_some(*value == 1.0),
        Yaml::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
