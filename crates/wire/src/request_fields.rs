//! Fields: reading a JSON body field by field, so that everything wrong is told at once.
//! Shape alone; what a text may say is the domain's to check.

use std::{cell::Cell, collections::BTreeMap};

use guildhall_domain::{
    bounded_json::{self, BoundedValue},
    directories as paths,
    errors::ValidationErrors,
    limits,
};
use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use serde_json::{Map, Value};

/// What is wrong with a text that holds the character no text may hold (contract 1.1).
const NO_NULL: &str = "must not hold the character U+0000";

/// A body that can be read from fields.
pub trait FromFields: Sized {
    /// Reads the body; what is wrong is noted in `fields`.
    fn read(fields: &mut Fields) -> Self;
}

/// Reads `json` as an `A`.
///
/// # Errors
/// Everything that is wrong with its shape.
pub fn read<A: FromFields>(json: Json) -> Result<A, ValidationErrors> {
    let Value::Object(map) = json.0 else {
        return Err(ValidationErrors::form("the body must be a JSON object"));
    };
    let mut fields = Fields {
        map,
        invalid: ValidationErrors::default(),
    };
    let ask = A::read(&mut fields);
    if fields.invalid.is_empty() {
        Ok(ask)
    } else {
        Err(fields.invalid)
    }
}

/// The fields of one object. Unknown ones are ignored (contract 1.1).
#[derive(Debug)]
pub struct Fields {
    map: Map<String, Value>,
    invalid: ValidationErrors,
}

impl Fields {
    /// A text that must be there; `""` with a note when it is not.
    pub fn text(&mut self, name: &str) -> String {
        self.required(name, Self::maybe_text)
    }

    /// A text that may be absent.
    pub fn maybe_text(&mut self, name: &str) -> Option<String> {
        match self.map.remove(name)? {
            Value::String(text) if text.contains('\0') => self.wrong(name, NO_NULL),
            Value::String(text) => Some(text),
            _ => self.wrong(name, "must be text"),
        }
    }

    /// Notes every field that was not read, for objects whose fields are closed.
    pub fn fail_others(&mut self) {
        for name in std::mem::take(&mut self.map)
            .into_iter()
            .map(|(name, _)| name)
        {
            self.invalid.field(&name, "is not known");
        }
    }

    /// A path of a folder that must be there: absolute, or beginning with `~`. What a path may
    /// not hold is said by whoever follows it.
    pub fn folder(&mut self, name: &str) -> String {
        self.required(name, |fields, name| match fields.map.remove(name)? {
            Value::String(text) => match paths::problem_of_folder(&text) {
                Some(problem) => fields.wrong(name, problem),
                None => Some(text),
            },
            _ => fields.wrong(name, "must be text"),
        })
    }

    /// A path that must be there and is not empty; `""` with a note when it is not. What no path
    /// holds has a refusal of its own, and is not looked for here.
    pub fn path(&mut self, name: &str) -> String {
        let path = self.required(name, Self::maybe_path);
        if path.is_empty() && !self.invalid.field_errors.contains_key(name) {
            self.invalid.field(name, "must not be empty");
        }
        path
    }

    /// A path that may be absent, or empty.
    pub fn maybe_path(&mut self, name: &str) -> Option<String> {
        match self.map.remove(name)? {
            Value::String(text) => Some(text),
            _ => self.wrong(name, "must be text"),
        }
    }

    /// A port that must be there; 0 with a note when it is not.
    pub fn port(&mut self, name: &str) -> u16 {
        self.required(name, |fields, name| {
            let port = fields.map.remove(name)?.as_u64();
            let port = port.and_then(|port| u16::try_from(port).ok());
            match port {
                Some(port) if port > 0 => Some(port),
                _ => fields.wrong(name, "must be 1 to 65535"),
            }
        })
    }

    /// A text that may be absent, or null to clear it; `""` clears it too.
    pub fn patch_text(&mut self, name: &str) -> Option<Option<String>> {
        self.patch(name, Self::maybe_text)
            .map(|text| text.filter(|text| !text.is_empty()))
    }

    /// A boolean that may be absent.
    pub fn maybe_flag(&mut self, name: &str) -> Option<bool> {
        match self.map.remove(name)? {
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(name, "must be true or false"),
        }
    }

    /// A boolean that must be there.
    pub fn flag(&mut self, name: &str) -> bool {
        self.required(name, Self::maybe_flag)
    }

    /// A boolean that may be absent, or null to clear it.
    pub fn patch_flag(&mut self, name: &str) -> Option<Option<bool>> {
        self.patch(name, Self::maybe_flag)
    }

    /// A whole number that may be absent.
    pub fn maybe_number<N: TryFrom<u64>>(&mut self, name: &str) -> Option<N> {
        let number = self
            .map
            .remove(name)?
            .as_u64()
            .and_then(|number| number.try_into().ok());
        if number.is_none() {
            return self.wrong(name, "must be a whole number that is not negative");
        }
        number
    }

    /// A whole number that must be there.
    pub fn number<N: TryFrom<u64> + Default>(&mut self, name: &str) -> N {
        self.required(name, Self::maybe_number)
    }

    /// A whole number that may be absent, or null to clear it.
    pub fn patch_number<N: TryFrom<u64>>(&mut self, name: &str) -> Option<Option<N>> {
        self.patch(name, Self::maybe_number)
    }

    /// A number that must be there, with fractions; 0 with a note when it is not.
    pub fn float(&mut self, name: &str) -> f64 {
        self.required(name, |fields, name| {
            let number = fields.map.remove(name)?.as_f64();
            number.or_else(|| fields.wrong(name, "must be a number"))
        })
    }

    /// One of a set of words; may be absent.
    pub fn maybe_choice<T: Copy>(&mut self, name: &str, words: &[(T, &str)]) -> Option<T> {
        let text = self.maybe_text(name)?;
        let known = words
            .iter()
            .find(|(_, word)| *word == text)
            .map(|(value, _)| *value);
        if known.is_none() {
            let all: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
            return self.wrong(name, &format!("must be one of {}", all.join(", ")));
        }
        known
    }

    /// One of a set of words that must be there; `otherwise`, with a note, when it is not.
    pub fn choice<T: Copy>(&mut self, name: &str, words: &[(T, &str)], otherwise: T) -> T {
        self.known_choice(name, words).unwrap_or(otherwise)
    }

    /// One of a set of words that must be there; `None`, with a note, when it is not.
    pub fn known_choice<T: Copy>(&mut self, name: &str, words: &[(T, &str)]) -> Option<T> {
        self.require(name);
        self.maybe_choice(name, words)
    }

    /// Any JSON value that must be there; null, with a note, when it is not.
    pub fn any(&mut self, name: &str) -> Value {
        self.require(name);
        let value = self.map.remove(name).unwrap_or_default();
        if holds_null(&value) {
            self.invalid.field(name, NO_NULL);
        }
        value
    }

    /// An object of any fields that must be there; empty, with a note, when it is not.
    pub fn any_object(&mut self, name: &str) -> Map<String, Value> {
        match self.any(name) {
            Value::Object(map) => map,
            _ => self.wrong(name, "must be an object").unwrap_or_default(),
        }
    }

    /// An object that may be absent, read by `read`; its problems are noted as `name.field`.
    pub fn maybe_object<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let Value::Object(map) = self.map.remove(name)? else {
            return self.wrong(name, "must be an object");
        };
        Some(self.within(name, map, read))
    }

    /// A list of objects that must be there, each read by `read`; problems are noted as
    /// `name.0.field`.
    pub fn objects<T>(&mut self, name: &str, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        self.require(name);
        let items = match self.map.remove(name) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => return self.wrong(name, "must be a list").unwrap_or_default(),
        };
        let mut objects = Vec::with_capacity(items.len());
        for (n, item) in items.into_iter().enumerate() {
            let name = format!("{name}.{n}");
            match item {
                Value::Object(map) => objects.push(self.within(&name, map, &mut read)),
                _ => self.invalid.field(&name, "must be an object"),
            }
        }
        objects
    }

    fn within<T>(
        &mut self,
        name: &str,
        map: Map<String, Value>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mut inner = Self {
            map,
            invalid: ValidationErrors::default(),
        };
        let value = read(&mut inner);
        let ValidationErrors {
            form_errors,
            field_errors,
        } = inner.invalid;
        self.invalid.form_errors.extend(form_errors);
        for (field, problems) in field_errors {
            let field = format!("{name}.{field}");
            self.invalid.field_errors.insert(field, problems);
        }
        value
    }

    /// An object that must be there, read by `read`; `None`, with a note, when it is not.
    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.require(name);
        self.maybe_object(name, read)
    }

    /// A list of texts; empty when absent.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.map.remove(name) else {
            return Vec::new();
        };
        let Value::Array(items) = value else {
            self.invalid.field(name, "must be a list of texts");
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(items.len());
        for (n, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) if !text.contains('\0') => texts.push(text),
                Value::String(_) => self.invalid.field(&format!("{name}.{n}"), NO_NULL),
                _ => self.invalid.field(&format!("{name}.{n}"), "must be text"),
            }
        }
        texts
    }

    /// A list of texts that may be absent or null.
    pub fn maybe_texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.is_set(name).then(|| self.texts(name))
    }

    /// An object of texts, each one text or a list of texts, that may be absent.
    pub fn maybe_text_lists(&mut self, name: &str) -> Option<BTreeMap<String, Vec<String>>> {
        let Value::Object(map) = self.map.remove(name)? else {
            return self.wrong(name, "must be an object");
        };
        let mut lists = BTreeMap::new();
        for (key, value) in map {
            let items = match value {
                Value::Array(items) => items,
                one => vec![one],
            };
            let mut texts = Vec::with_capacity(items.len());
            for item in items {
                match item {
                    Value::String(text) if !text.contains('\0') => texts.push(text),
                    Value::String(_) => self.invalid.field(&format!("{name}.{key}"), NO_NULL),
                    _ => {
                        let problem = "must be text or a list of texts";
                        self.invalid.field(&format!("{name}.{key}"), problem);
                    }
                }
            }
            lists.insert(key, texts);
        }
        Some(lists)
    }

    /// An object of texts; empty when absent. Problems are noted as `name.key`.
    pub fn text_map(&mut self, name: &str) -> BTreeMap<String, String> {
        let map = match self.map.remove(name) {
            None => return BTreeMap::new(),
            Some(Value::Object(map)) => map,
            Some(_) => return self.wrong(name, "must be an object").unwrap_or_default(),
        };
        let mut texts = BTreeMap::new();
        for (key, value) in map {
            let field = format!("{name}.{key}");
            match value {
                Value::String(text) if !text.contains('\0') && !key.contains('\0') => {
                    texts.insert(key, text);
                }
                Value::String(_) => self.invalid.field(&field, NO_NULL),
                _ => self.invalid.field(&field, "must be text"),
            }
        }
        texts
    }

    /// Whether a field is there, whatever it holds.
    pub fn holds(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Every field of the body, for bodies whose names are open; `read` may note a problem.
    pub fn drain<T>(&mut self, mut read: impl FnMut(&mut Self, &str, Value) -> T) -> Vec<T> {
        std::mem::take(&mut self.map)
            .into_iter()
            .map(|(key, value)| read(self, &key, value))
            .collect()
    }

    /// Whether a field is there and holds something: not null, and no empty list.
    pub fn is_set(&self, name: &str) -> bool {
        match self.map.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        }
    }

    /// Notes a problem of one field.
    pub fn fail_field(&mut self, name: &str, problem: &str) {
        self.invalid.field(name, problem);
    }

    /// Notes a problem of the body as a whole.
    pub fn fail(&mut self, problem: &str) {
        self.invalid.form_errors.push(problem.to_owned());
    }

    fn required<T: Default>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> T {
        self.require(name);
        read(self, name).unwrap_or_default()
    }

    fn require(&mut self, name: &str) {
        if !self.map.contains_key(name) {
            self.invalid.field(name, "is required");
        }
    }

    fn patch<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.map.get(name)?.is_null() {
            return Some(None);
        }
        Some(read(self, name))
    }

    fn wrong<T>(&mut self, name: &str, problem: &str) -> Option<T> {
        self.invalid.field(name, problem);
        None
    }
}

/// Whether a text or name in `value` holds U+0000; a body is at most as deep as its reader allows.
fn holds_null(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(map) => map
            .iter()
            .any(|(name, value)| name.contains('\0') || holds_null(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A JSON value in which no object repeats a key, of at most [`limits::JSON_VALUES_MAX`] values.
/// Source: contract 1.1, "Request fields".
#[derive(Debug, PartialEq)]
pub struct Json(pub Value);

impl Json {
    /// The empty object, which an absent body stands for.
    pub fn empty() -> Self {
        Self(Value::Object(Map::new()))
    }

    /// Reads JSON of at most `values` values, where the usual bound does not hold.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(bytes: &[u8], values: usize) -> serde_json::Result<Self> {
        bounded_json::read(bytes, values).map(Self)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values_left = &Cell::new(limits::JSON_VALUES_MAX);
        let seed = BoundedValue { values_left };
        seed.deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Sample {
        name: String,
        topic: Option<Option<String>>,
        depth: Option<Option<u32>>,
        on: Option<bool>,
        ids: Vec<String>,
    }

    impl FromFields for Sample {
        fn read(fields: &mut Fields) -> Self {
            Self {
                name: fields.text("name"),
                topic: fields.patch_text("topic"),
                depth: fields.patch_number("depth"),
                on: fields.maybe_flag("on"),
                ids: fields.texts("ids"),
            }
        }
    }

    fn sample(json: &str) -> Result<Sample, Vec<String>> {
        read::<Sample>(serde_json::from_str(json).unwrap())
            .map_err(|invalid| invalid.field_errors.into_keys().collect())
    }

    #[test]
    fn absent_null_and_empty_are_three_things() {
        let absent = sample(r#"{"name": "a", "unknown": 1}"#).unwrap();
        assert_eq!((absent.topic, absent.depth, absent.on), (None, None, None));
        let cleared = sample(r#"{"name": "a", "topic": null, "depth": null}"#).unwrap();
        assert_eq!((cleared.topic, cleared.depth), (Some(None), Some(None)));
        let set = sample(r#"{"name": "", "topic": "t", "depth": 3, "ids": ["x"]}"#).unwrap();
        assert_eq!(
            (set.topic, set.depth),
            (Some(Some("t".to_owned())), Some(Some(3)))
        );
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let wrong = r#"{"topic": 1, "depth": -1, "on": "yes", "ids": ["x", 2]}"#;
        assert_eq!(
            sample(wrong),
            Err(["depth", "ids.1", "name", "on", "topic"]
                .map(str::to_owned)
                .to_vec())
        );
        assert!(read::<Sample>(Json(Value::Null)).is_err());
    }

    #[test]
    fn a_repeated_key_is_not_json_to_us() {
        assert!(serde_json::from_str::<Json>(r#"{"a": 1, "a": 2}"#).is_err());
        assert!(serde_json::from_str::<Json>(r#"{"x": [{"a": 1, "a": 1}]}"#).is_err());
        assert!(serde_json::from_str::<Json>(r#"{"a": {"a": null}, "b": -1.5}"#).is_ok());
        let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
        assert!(serde_json::from_str::<Json>(&deep).is_err());
    }

    #[test]
    fn more_values_than_a_body_may_have_are_not_json_to_us_however_they_are_written() {
        let most = limits::JSON_VALUES_MAX;
        let list = |count| format!("[{}]", vec!["0"; count].join(","));
        let objects = |count| format!("[{}]", vec![r#"{"":0}"#; count].join(","));
        let fields = |count| {
            let fields: Vec<String> = (0..count).map(|n| format!("\"{n}\":[]")).collect();
            format!("{{{}}}", fields.join(","))
        };
        for (fits, more) in [
            (list(most - 1), list(most)),
            (objects((most - 1) / 2), objects(most / 2)),
            (fields(most - 1), fields(most)),
        ] {
            assert!(serde_json::from_str::<Json>(&fits).is_ok());
            assert!(serde_json::from_str::<Json>(&more).is_err());
        }
    }
}
