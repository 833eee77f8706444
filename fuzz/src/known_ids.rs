//! Values that the server gave out: ids, cursors, digests. A random request that names one gets
//! further than one that names nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rng::Rng;

/// Values of one name that are kept; a new one takes the place of a random one.
const KEPT_MAX: usize = 64;
/// Members whose values are kept, beside those that end with `Id`.
const NAMES: [&str; 12] = [
    "id",
    "cursor",
    "nextCursor",
    "digest",
    "handle",
    "slug",
    "hash",
    "identity",
    "name",
    "toolkit",
    "path",
    "revision",
];
/// Values that the fuzzer itself needs to last, by the member that holds them.
const LABEL_OF_OWN: &str = "fuzzer";

/// Known values by the name of their member, and ids by the collection they are of.
#[derive(Debug, Default)]
pub(crate) struct KnownIds {
    values: BTreeMap<String, Vec<String>>,
}

impl KnownIds {
    /// Keeps a value of that name.
    pub(crate) fn keep(&mut self, name: &str, value: &str, rng: &mut Rng) {
        if value.is_empty() || value.len() > 200 {
            return;
        }
        let values = self.values.entry(name.to_owned()).or_default();
        if values.iter().any(|known| known == value) {
            return;
        }
        if values.len() < KEPT_MAX {
            values.push(value.to_owned());
        } else {
            let place = rng.below(values.len());
            values[place] = value.to_owned();
        }
    }

    /// Keeps what an answer of this path holds.
    pub(crate) fn learn(&mut self, path: &str, answer: &Value, rng: &mut Rng) {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let looks_like_id = |part: &str| part.len() == 36 && part.contains('-');
        let collection = parts.iter().rev().find(|part| !looks_like_id(part));
        self.walk(collection.unwrap_or(&""), answer, rng);
    }

    fn walk(&mut self, collection: &str, value: &Value, rng: &mut Rng) {
        match value {
            Value::Array(items) => {
                for item in items.iter().take(KEPT_MAX) {
                    self.walk(collection, item, rng);
                }
            }
            Value::Object(members) => {
                if members
                    .get("label")
                    .is_some_and(|label| label == LABEL_OF_OWN)
                {
                    return;
                }
                for (name, value) in members {
                    match value {
                        Value::String(text) if name == "id" => self.keep(collection, text, rng),
                        Value::String(text)
                            if name.ends_with("Id") || NAMES.contains(&name.as_str()) =>
                        {
                            self.keep(name, text, rng);
                        }
                        Value::Array(_) | Value::Object(_) => self.walk(name, value, rng),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// A known value for a member of a body or a query.
    pub(crate) fn of_member(&self, name: &str, rng: &mut Rng) -> Option<String> {
        let single = name.strip_suffix("Ids").map(|stem| format!("{stem}Id"));
        let name = single.as_deref().unwrap_or(name);
        self.one(name, rng).or_else(|| {
            let collection = format!("{}s", name.strip_suffix("Id")?);
            self.one(&collection, rng)
        })
    }

    /// A known value for a parameter of a path that stands behind `collection`.
    pub(crate) fn of_parameter(
        &self,
        collection: &str,
        name: &str,
        rng: &mut Rng,
    ) -> Option<String> {
        let collection = match collection {
            "accessible" => "connections",
            "sessions" => "sessions",
            "threads" => "entries",
            "halt" => "authors",
            other => other,
        };
        self.one(collection, rng)
            .or_else(|| self.of_member(name, rng))
    }

    fn one(&self, name: &str, rng: &mut Rng) -> Option<String> {
        let values = self.values.get(name).filter(|values| !values.is_empty())?;
        Some(rng.pick(values).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_kept_by_what_they_are_of_and_the_fuzzers_own_are_not() {
        let mut rng = Rng::of_attempt(1, 1);
        let mut known = KnownIds::default();
        let rooms = json!({"rooms": [{"id": "r1", "authorId": "a1"}], "nextCursor": "c"});
        known.learn("/api/rooms?limit=3", &rooms, &mut rng);
        known.learn(
            "/api/auth/keys",
            &json!({"id": "k1", "label": "fuzzer"}),
            &mut rng,
        );
        assert_eq!(known.of_parameter("rooms", "id", &mut rng).unwrap(), "r1");
        assert_eq!(known.of_member("authorIds", &mut rng).unwrap(), "a1");
        assert_eq!(known.of_member("roomId", &mut rng).unwrap(), "r1");
        assert_eq!(known.of_parameter("keys", "id", &mut rng), None);
    }
}
