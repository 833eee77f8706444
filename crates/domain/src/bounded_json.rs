//! JSON from strangers, of a bounded number of values: one value may take hundreds of times the
//! memory of its bytes. Pure: what is read is bytes.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads JSON of at most `values_max` values, in which no object repeats a key.
///
/// # Errors
/// What is wrong with it.
pub fn read(bytes: &[u8], values_max: usize) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let values_left = &Cell::new(values_max);
    let value = BoundedValue { values_left }.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Reads a value while some are left.
#[derive(Clone, Copy, Debug)]
pub struct BoundedValue<'a> {
    /// Values that may still be read.
    pub values_left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for BoundedValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.values_left.get().checked_sub(1);
        self.values_left
            .set(left.ok_or_else(|| D::Error::custom("there are too many values"))?);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.insert(key, map.next_value_seed(self)?).is_some() {
                return Err(A::Error::custom("a key is repeated"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_has_so_many_values_and_no_more() {
        let bytes = br#"{"a": [1, null], "b": "x"}"#;
        assert_eq!(read(bytes, 5).unwrap(), json!({"a": [1, null], "b": "x"}));
        assert!(read(bytes, 4).is_err());
        assert!(read(br#"{"a": 1, "a": 1}"#, 9).is_err());
        assert!(read(b"1 2", 9).is_err());
    }
}
