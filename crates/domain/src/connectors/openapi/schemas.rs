//! Schemas of a document as JSON Schema 2020-12 that stands for itself: what it refers to is
//! taken along under `$defs`, and what OpenAPI 3.0 writes in its own way is written anew.
//! Source: OpenAPI 3.0.4 and 3.1.1, "Schema Object".

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::read_budget::ReadBudget;

/// Which dialect a document's schemas are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenapiVersion {
    /// OpenAPI 3.0's own.
    V30,
    /// JSON Schema 2020-12, as in OpenAPI 3.1.
    V31,
}

/// Members that say nothing of which values are valid, or are read by nobody here.
const LEFT_OUT: [&str; 9] = [
    "example",
    "examples",
    "externalDocs",
    "xml",
    "discriminator",
    "$schema",
    "$comment",
    "$defs",
    "definitions",
];
/// Members whose members are schemas.
const MAPS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Members that are schemas.
const ONES: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Members that are lists of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Members by which a schema names itself or others in ways that are not followed.
const NAMES: [&str; 4] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef"];

/// Takes the schemas of one operation out of its document.
#[derive(Debug)]
pub(super) struct SchemaCollector<'a> {
    document: &'a Value,
    dialect: OpenapiVersion,
    budget: &'a ReadBudget<'a>,
    /// The name under `$defs` of each place that is referred to.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// The number that the next of those gets which would share a name.
    numbered: BTreeMap<String, u32>,
    waiting: VecDeque<String>,
}

impl<'a> SchemaCollector<'a> {
    pub(super) fn new(
        document: &'a Value,
        dialect: OpenapiVersion,
        budget: &'a ReadBudget<'a>,
    ) -> Self {
        Self {
            document,
            dialect,
            budget,
            names: BTreeMap::new(),
            taken: BTreeSet::new(),
            numbered: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// A schema of the document, its references turned to `$defs`.
    ///
    /// # Errors
    /// Why it cannot be taken, for people.
    pub(super) fn take(&mut self, schema: &Value) -> Result<Value, String> {
        self.budget.spend(0)?;
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => return Err("a schema is no object".to_owned()),
        };
        if let Some(name) = NAMES.iter().find(|name| members.contains_key(**name)) {
            return Err(format!("a schema uses {name}"));
        }
        let mut written = Map::new();
        if let Some(reference) = members.get("$ref") {
            let reference = reference.as_str().ok_or("a $ref is no text")?;
            written.insert("$ref".to_owned(), json!(self.refer(reference)?));
            if self.dialect == OpenapiVersion::V30 {
                // What stands beside a reference counts nothing there.
                return Ok(Value::Object(written));
            }
        }
        for (name, value) in members {
            let is_dropped = LEFT_OUT.contains(&name.as_str()) || name.starts_with("x-");
            if is_dropped || name == "$ref" {
                continue;
            }
            self.budget.spend(name.len())?;
            written.insert(name.clone(), self.member(name, value)?);
        }
        self.without_read_only(members, &mut written);
        Ok(match self.dialect {
            OpenapiVersion::V30 => modern(written),
            OpenapiVersion::V31 => Value::Object(written),
        })
    }

    /// What was referred to, as `$defs`.
    ///
    /// # Errors
    /// Why something of it cannot be taken.
    pub(super) fn defs(mut self) -> Result<Map<String, Value>, String> {
        let mut defs = Map::new();
        while let Some(pointer) = self.waiting.pop_front() {
            let found = self.document.pointer(&pointer);
            let found = found.ok_or_else(|| format!("#{pointer} is not there"))?;
            let schema = self.take(found)?;
            if let Some(name) = self.names.get(&pointer) {
                defs.insert(name.clone(), schema);
            }
        }
        Ok(defs)
    }

    fn member(&mut self, name: &str, value: &Value) -> Result<Value, String> {
        match value {
            Value::Object(members) if MAPS.contains(&name) => {
                let each = members.iter().map(|(name, schema)| {
                    self.budget.spend(name.len())?;
                    let taken = self.take(schema)?;
                    Ok((name.clone(), taken))
                });
                Ok(Value::Object(each.collect::<Result<_, String>>()?))
            }
            Value::Array(schemas) if LISTS.contains(&name) => {
                let each = schemas.iter().map(|schema| self.take(schema));
                Ok(Value::Array(each.collect::<Result<_, String>>()?))
            }
            Value::Object(_) if ONES.contains(&name) => self.take(value),
            _ => {
                self.budget.spend_value(value)?;
                Ok(value.clone())
            }
        }
    }

    fn refer(&mut self, reference: &str) -> Result<String, String> {
        self.budget.spend(reference.len())?;
        let pointer = reference
            .strip_prefix('#')
            .filter(|pointer| pointer.starts_with('/'))
            .map(unescaped)
            .ok_or_else(|| format!("the reference {reference} cannot be followed"))?;
        if let Some(name) = self.names.get(&pointer) {
            return Ok(format!("#/$defs/{name}"));
        }
        let name = self.free_name(&pointer);
        self.taken.insert(name.clone());
        self.names.insert(pointer.clone(), name.clone());
        self.waiting.push_back(pointer);
        Ok(format!("#/$defs/{name}"))
    }

    /// A name made of letters, digits, `.`, `_` and `-`, so that references need no escapes.
    fn free_name(&mut self, pointer: &str) -> String {
        let short = pointer
            .strip_prefix("/components/schemas/")
            .filter(|rest| !rest.contains('/'))
            .unwrap_or(pointer);
        let plain = |c: char| match c.is_ascii_alphanumeric() || ".-".contains(c) {
            true => c,
            false => '_',
        };
        let wanted: String = short.trim_start_matches('/').chars().map(plain).collect();
        let n = self.numbered.entry(wanted.clone()).or_insert(1);
        let mut name = wanted.clone();
        while self.taken.contains(&name) {
            *n += 1;
            name = format!("{wanted}_{n}");
        }
        name
    }

    /// What the service alone writes is not required of those who ask.
    fn without_read_only(&self, members: &Map<String, Value>, written: &mut Map<String, Value>) {
        let Some(properties) = members.get("properties").and_then(Value::as_object) else {
            return;
        };
        let Some(Value::Array(required)) = written.get_mut("required") else {
            return;
        };
        required.retain(|name| {
            let property = name.as_str().and_then(|name| properties.get(name));
            !property.is_some_and(|property| self.is_read_only(property))
        });
        if required.is_empty() {
            written.remove("required");
        }
    }

    fn is_read_only(&self, property: &Value) -> bool {
        let referred = || {
            let reference = property.get("$ref")?.as_str()?;
            self.budget.spend_reference(reference).ok()?;
            let reference = reference.strip_prefix('#')?;
            self.document.pointer(&unescaped(reference))
        };
        let says_so = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        says_so(property) || referred().is_some_and(says_so)
    }
}

/// A pointer out of the fragment of an address, where signs may be escaped as `%7B`.
pub(super) fn unescaped(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| fragment.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8(plain).unwrap_or_else(|_| fragment.to_owned())
}

/// A schema of OpenAPI 3.0 as 2020-12 has it.
fn modern(mut members: Map<String, Value>) -> Value {
    for (bound, strict) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        match members.remove(strict) {
            Some(Value::Bool(true)) => {
                if let Some(number) = members.remove(bound) {
                    members.insert(strict.to_owned(), number);
                }
            }
            Some(number @ Value::Number(_)) => {
                members.insert(strict.to_owned(), number);
            }
            _ => {}
        }
    }
    if members.remove("nullable") != Some(Value::Bool(true)) {
        return Value::Object(members);
    }
    match members.get_mut("type") {
        Some(kind @ Value::String(_)) => *kind = json!([kind.take(), "null"]),
        _ => return json!({"anyOf": [members, {"type": "null"}]}),
    }
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn taken(dialect: OpenapiVersion, document: &Value, schema: &Value) -> Result<Value, String> {
        let stop = AtomicBool::new(false);
        let budget = ReadBudget::new(&stop);
        let mut schemas = SchemaCollector::new(document, dialect, &budget);
        let mut taken = schemas.take(schema)?;
        let defs = schemas.defs()?;
        if !defs.is_empty() {
            taken["$defs"] = Value::Object(defs);
        }
        Ok(taken)
    }

    #[test]
    fn what_openapi_3_0_writes_in_its_own_way_is_written_anew() {
        let cases = [
            (
                json!({"type": "string", "nullable": true}),
                json!({"type": ["string", "null"]}),
            ),
            (
                json!({"type": "string", "nullable": true, "enum": ["a"]}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"nullable": true, "allOf": [{"type": "string"}]}),
                json!({"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
            ),
            (
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9,
                       "exclusiveMaximum": false}),
                json!({"type": "number", "exclusiveMinimum": 0, "maximum": 9}),
            ),
            (
                json!({"type": "object", "required": ["id", "name"], "x-own": 1, "example": {},
                       "properties": {"id": {"type": "string", "readOnly": true},
                                      "name": {"type": "string", "nullable": true}}}),
                json!({"type": "object", "required": ["name"],
                       "properties": {"id": {"type": "string", "readOnly": true},
                                      "name": {"type": ["string", "null"]}}}),
            ),
        ];
        for (schema, expected) in cases {
            let found = taken(OpenapiVersion::V30, &Value::Null, &schema);
            assert_eq!(found, Ok(expected), "{schema}");
        }
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword() {
        let schema = json!({"properties": {"nullable": {"type": "boolean"}, "$ref": {},
            "example": {"type": "string"}, "$id": {"type": "string"}}});
        assert_eq!(
            taken(OpenapiVersion::V30, &Value::Null, &schema),
            Ok(schema.clone())
        );
        assert_eq!(
            taken(OpenapiVersion::V31, &Value::Null, &schema),
            Ok(schema.clone())
        );
    }

    #[test]
    fn what_is_referred_to_comes_along_also_in_circles() {
        let document = json!({"components": {"schemas": {
            "Node": {"type": "object", "properties": {
                "next": {"$ref": "#/components/schemas/Node"},
                "tag": {"$ref": "#/components/schemas/a~1b"}}},
            "a/b": {"type": "string"},
            "Unused": {"type": "integer"},
        }}});
        let schema = json!({"$ref": "#/components/schemas/Node", "description": "d"});
        let defs = json!({
            "Node": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/Node"},
                "tag": {"$ref": "#/$defs/a_1b"}}},
            "a_1b": {"type": "string"},
        });
        assert_eq!(
            taken(OpenapiVersion::V31, &document, &schema),
            Ok(json!({"$ref": "#/$defs/Node", "description": "d", "$defs": defs}))
        );
        assert_eq!(
            taken(OpenapiVersion::V30, &document, &schema),
            Ok(json!({"$ref": "#/$defs/Node", "$defs": defs}))
        );
    }

    #[test]
    fn two_places_never_share_a_name() {
        let document = json!({"components": {"schemas": {"a_b": {"type": "string"},
            "a b": {"type": "integer"}}}});
        let schema = json!({"allOf": [{"$ref": "#/components/schemas/a_b"},
            {"$ref": "#/components/schemas/a%20b"}]});
        assert_eq!(
            taken(OpenapiVersion::V31, &document, &schema),
            Ok(
                json!({"allOf": [{"$ref": "#/$defs/a_b"}, {"$ref": "#/$defs/a_b_2"}],
                "$defs": {"a_b": {"type": "string"}, "a_b_2": {"type": "integer"}}})
            )
        );
    }

    #[test]
    fn references_that_cannot_be_followed_are_no_schema() {
        for reference in [
            "other.json#/A",
            "#",
            "#name",
            "https://a.example/s",
            "#/gone",
        ] {
            let schema = json!({"items": {"$ref": reference}});
            assert!(
                taken(OpenapiVersion::V31, &Value::Null, &schema).is_err(),
                "{reference}"
            );
        }
        for name in NAMES {
            let schema = json!({"items": {name: "x"}});
            assert!(
                taken(OpenapiVersion::V31, &Value::Null, &schema).is_err(),
                "{name}"
            );
        }
    }
}
