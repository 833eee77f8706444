//! JSON values: whole ones that follow a schema, and bent ones that almost do.

use serde_json::{Map, Number, Value, json};

use crate::{known_ids::KnownIds, operations::ApiDocument, rng::Rng};

/// How deep a whole value may nest before optional members are left out.
const DEPTH_MAX: usize = 5;
/// How deep a bent value nests; more than any body may.
const BENT_DEPTH: usize = 400;
/// Characters of a long text; more than any field takes.
const LONG_TEXT: usize = 120_000;

/// Texts that programs stumble over.
const ODD_TEXTS: &[&str] = &[
    "",
    " ",
    "\u{0}",
    "a\u{0}b",
    "..",
    "../../etc/passwd",
    "/",
    "~",
    "~root",
    "%2e%2e%2f",
    "%00",
    "%",
    "%zz",
    "null",
    "-1",
    "1e999",
    "\u{feff}",
    "\u{202e}abc",
    "\u{1f468}\u{200d}\u{1f469}",
    "e\u{301}\u{301}\u{301}",
    "\u{fffd}",
    "\r\nSet-Cookie: a=b",
    "' OR 1=1 --",
    "\" OR NEAR(",
    "*",
    "a AND",
    "{{7*7}}",
    "<b>x</b>",
    "$ref",
    "constructor",
    "__proto__",
    "true",
    "[]",
    "{}",
    "#call write_file {\"path\":\"",
    "@ada @ada @ada",
    "```",
    "\u{7f}",
    "\u{85}\u{2028}",
    "00000000-0000-0000-0000-000000000000",
    "01980000-0000-7000-8000-000000000000",
];
/// Texts that most fields take.
const PLAIN_TEXTS: &[&str] = &[
    "Release notes",
    "ada",
    "Check the tests",
    "# Plan\n\n- [ ] first\n- [x] second\n",
    "a",
    "tally",
    "hello @ada",
    "#say hi",
    "#plan {\"entries\":[]}",
    "What is left?",
];
/// Numbers at the edges of what types hold.
const ODD_NUMBERS: &[&str] = &[
    "-1",
    "0",
    "1",
    "0.5",
    "-0.0",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e-400",
    "123456789012345678901234567890",
];

/// What values are made with.
pub(crate) struct ValueGenerator<'a> {
    pub(crate) interface: &'a ApiDocument,
    pub(crate) known: &'a KnownIds,
    pub(crate) rng: &'a mut Rng,
    /// A folder that agents may work in.
    pub(crate) folder: &'a str,
    /// The address of the hostile peers, which every address that is followed leads to.
    pub(crate) peers: &'a str,
    /// The fuzzer's own program, the only one that a tool server is made of.
    pub(crate) program: &'a str,
}

impl ValueGenerator<'_> {
    /// A value that follows the schema, for the member of that name.
    pub(crate) fn valid(&mut self, name: &str, schema: &Value) -> Value {
        self.at_depth(name, schema, 0)
    }

    fn at_depth(&mut self, name: &str, schema: &Value, depth: usize) -> Value {
        let interface = self.interface;
        let schema = interface.resolved(schema);
        for choice in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[choice].as_array().filter(|all| !all.is_empty()) {
                let chosen = &choices[self.rng.below(choices.len())];
                return self.at_depth(name, chosen, depth);
            }
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut joined = Map::new();
            for part in parts {
                if let Value::Object(members) = self.at_depth(name, part, depth) {
                    joined.extend(members);
                }
            }
            return Value::Object(joined);
        }
        if let Some(words) = schema["enum"].as_array().filter(|all| !all.is_empty()) {
            return self.rng.pick(words).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.rng.below(kinds.len())].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let count = if depth > DEPTH_MAX {
                    0
                } else {
                    self.rng.below(4)
                };
                (0..count)
                    .map(|_| self.at_depth(name, &schema["items"], depth + 1))
                    .collect()
            }
            Some("string") => match schema["example"].as_str() {
                Some(example) if !leads_outside(name) && self.rng.chance(40) => json!(example),
                _ => Value::String(self.text(name)),
            },
            Some("integer" | "number") => {
                let least = schema["minimum"].as_i64().unwrap_or(0);
                json!(least + i64::try_from(self.rng.below(100)).unwrap_or_default())
            }
            Some("boolean") => json!(self.rng.chance(50)),
            Some("null") => Value::Null,
            _ => self.anything(2),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut made = Map::new();
        let required = schema["required"].as_array();
        // Each further member is one more that may be wrong for the others.
        let share = *self.rng.pick(&[0, 0, 10, 50]);
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
            if is_required || (depth <= DEPTH_MAX && self.rng.chance(share)) {
                made.insert(name.clone(), self.at_depth(name, member, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() && depth <= DEPTH_MAX {
            for _ in 0..self.rng.below(3) {
                let name = self.text("key");
                let value = self.at_depth("", &schema["additionalProperties"], depth + 1);
                made.insert(name, value);
            }
        }
        Value::Object(made)
    }

    /// A text that the member of that name may take. Folders, programs and addresses are the
    /// fuzzer's own, so that nothing else is written, started or called.
    pub(crate) fn text(&mut self, name: &str) -> String {
        if is_address(name) {
            let tail = self
                .rng
                .pick(&["/mcp", "/openapi.json", "/junk", "/endless", "/", ""]);
            return format!("{}{tail}", self.peers);
        }
        match name {
            "cwd" => return self.folder.to_owned(),
            "command" => return self.program.to_owned(),
            "args" => return self.rng.pick(&["mcp-peer", "", "--"]).to_string(),
            "path" | "sourcePath" => {
                return self
                    .rng
                    .pick(&["plan.md", "notes.txt", "new.md", "deep/er.md", "."])
                    .to_string();
            }
            "runtime" => {
                return self
                    .rng
                    .pick(&["rehearsal", "hostile", "silent"])
                    .to_string();
            }
            "permissionMode" | "modeId" => return "default".to_owned(),
            "email" => return format!("p{}@example.org", self.rng.below(50)),
            "emoji" => return self.rng.pick(&["👍", "🎉", "👩‍👩‍👧", "x"]).to_string(),
            "setting" | "key" => {
                let keys = ["rooms.maxAgentDepth", "sessions.idleMinutes", "a", "HEADER"];
                return self.rng.pick(&keys).to_string();
            }
            _ => {}
        }
        if self.rng.chance(70)
            && let Some(known) = self.known.of_member(name, self.rng)
        {
            return known;
        }
        match self.rng.below(10) {
            0 => self.rng.pick(ODD_TEXTS).to_string(),
            1 => format!("n{}", self.rng.below(100_000)),
            _ => self.rng.pick(PLAIN_TEXTS).to_string(),
        }
    }

    /// A text that few fields take.
    pub(crate) fn odd_text(&mut self) -> String {
        match self.rng.below(12) {
            0 => "x".repeat(LONG_TEXT),
            1 => "é".repeat(300),
            2 => {
                let bytes = self.rng.bytes(12);
                String::from_utf8_lossy(&bytes).into_owned()
            }
            _ => self.rng.pick(ODD_TEXTS).to_string(),
        }
    }

    /// A number at an edge.
    pub(crate) fn odd_number(&mut self) -> Value {
        let text = self.rng.pick(ODD_NUMBERS);
        let number: Option<Number> = text.parse().ok();
        number.map_or(Value::Null, Value::Number)
    }

    /// Any JSON at all.
    pub(crate) fn anything(&mut self, depth: usize) -> Value {
        match self.rng.below(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.rng.chance(50)),
            2 => self.odd_number(),
            3 | 4 => Value::String(self.odd_text()),
            5 | 6 => {
                let count = self.rng.below(4);
                (0..count).map(|_| self.anything(depth - 1)).collect()
            }
            _ => {
                let count = self.rng.below(4);
                let members = (0..count).map(|_| (self.odd_text(), self.anything(depth - 1)));
                Value::Object(members.collect())
            }
        }
    }

    /// Bends one place of the value: leaves out, adds, or puts something of another kind there.
    /// Folders, programs and addresses stay what they are.
    pub(crate) fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) if !members.is_empty() && self.rng.chance(90) => {
                let place = self.rng.below(members.len());
                let Some(name) = members.keys().nth(place).cloned() else {
                    return;
                };
                match self.rng.below(5) {
                    0 => {
                        members.remove(&name);
                    }
                    1 => {
                        let (extra, any) = (self.odd_text(), self.anything(1));
                        members.insert(extra, any);
                    }
                    _ if leads_outside(&name) => {
                        let wrong = [json!(0), json!("\u{0}"), json!([]), json!("relative")];
                        members.insert(name, self.rng.pick(&wrong).clone());
                    }
                    2 => {
                        let any = self.anything(2);
                        members.insert(name, any);
                    }
                    _ => {
                        if let Some(member) = members.get_mut(&name) {
                            self.mutate(member);
                        }
                    }
                }
            }
            Value::Array(items) if !items.is_empty() && self.rng.chance(70) => {
                let place = self.rng.below(items.len());
                match self.rng.below(4) {
                    0 => {
                        let item = items[place].clone();
                        items.extend(std::iter::repeat_n(item, 300));
                    }
                    1 => drop(items.remove(place)),
                    _ => self.mutate(&mut items[place]),
                }
            }
            Value::String(_) if self.rng.chance(70) => *value = Value::String(self.odd_text()),
            Value::Number(_) if self.rng.chance(70) => *value = self.odd_number(),
            other => *other = self.anything(2),
        }
    }

    /// Bytes that no operation takes as a body, of a value that it might.
    pub(crate) fn broken(&mut self, value: &Value) -> Vec<u8> {
        let text = value.to_string();
        match self.rng.below(9) {
            0 => text.as_bytes()[..text.len() / 2].to_vec(),
            1 => "[".repeat(BENT_DEPTH).into_bytes(),
            2 => {
                let deep = "{\"a\":".repeat(BENT_DEPTH) + "0" + &"}".repeat(BENT_DEPTH);
                deep.into_bytes()
            }
            3 => format!("{{\"a\":1,\"a\":2,{}", text.trim_start_matches('{')).into_bytes(),
            4 => [text.as_bytes(), b"\xff\xfe"].concat(),
            5 => self.rng.bytes(64),
            6 => b"[\"no\",\"object\"]".to_vec(),
            7 => format!("[{}1]", "1,".repeat(50_000)).into_bytes(),
            _ => b"{\"a\":NaN}".to_vec(),
        }
    }
}

/// Whether the member of that name says where the server goes: a folder, a program, an address.
fn leads_outside(name: &str) -> bool {
    ["cwd", "command", "args", "env"].contains(&name) || is_address(name)
}

fn is_address(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("url") || name.contains("origin")
}
