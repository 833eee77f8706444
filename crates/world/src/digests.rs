//! Digests: the SHA-256 of bytes that come bit by bit, and the keyed digest of what a person
//! decides on, which says whether what is asked now is what was shown then.

use std::{io, path::Path, sync::Arc};

use guildhall_domain::{Fault, attachments::Digest, ids::AgentId};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{data_dir, tokens};

/// A digest on its way.
#[derive(Clone, Debug, Default)]
pub struct Digesting(Sha256);

impl Digesting {
    /// Takes the next bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything taken in.
    pub fn finish(self) -> Digest {
        Digest::from_bytes(self.0.finalize().into())
    }
}

/// The file of the host key in the data folder.
const KEY_FILE: &str = "host-key";
/// Bytes of the host key.
const KEY_BYTES: usize = 32;

/// What somebody asks to do, as far as a decision on it reaches. Source: contract 4.6.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// What kind of deed it is, such as `tool_call`.
    pub capability: &'a str,
    /// Who asks, when it is an agent.
    pub agent: Option<AgentId>,
    /// The parsed request with defaults filled in and secrets in clear.
    pub input: &'a Value,
    /// What of the machine it rests on; null for what rests on nothing.
    pub pin: &'a Value,
}

/// Makes the digests of one host. Without `Debug`, because it holds the host key: the key keeps
/// short secrets from being guessed out of a digest. Cheap to clone.
#[derive(Clone)]
pub struct Digests {
    key: Arc<[u8; KEY_BYTES]>,
}

impl Digests {
    /// Reads the host key from the data folder; the first start makes it, mode 0600.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness, the folder takes no file, or the file does
    /// not hold a key.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let during = "reading the host key";
        let file = data_dir.join(KEY_FILE);
        let key = match std::fs::read_to_string(&file) {
            Ok(text) => unhex(text.trim())
                .ok_or_else(|| Fault::broken(during, "the file holds no key of 64 hex digits"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = tokens::random::<KEY_BYTES>("making the host key")?;
                data_dir::write_private(&file, &format!("{}\n", hex(&key)))
                    .map_err(|error| Fault::broken("making the host key", error))?;
                key
            }
            Err(error) => return Err(Fault::broken(during, error)),
        };
        Ok(Self { key: Arc::new(key) })
    }

    /// The digest of an action, 64 hex digits: HMAC-SHA-256 under the host key over the
    /// canonical JSON (RFC 8785) of `{v: 1, capability, agentId, input, pin}`.
    ///
    /// Canonical JSON knows no integers but those a double holds; the others of `input` and
    /// `pin` stand exactly in one more member, so that no two of them look alike.
    ///
    /// # Errors
    /// A fault when there is no canonical form.
    ///
    /// Source: contract 4.6.
    pub fn of(&self, action: &Action<'_>) -> Result<String, Fault> {
        let during = "making a digest";
        let mut whole = json!({
            "v": 1,
            "capability": action.capability,
            "agentId": action.agent,
            "input": action.input,
            "pin": action.pin,
        });
        let mut exact = Vec::new();
        inexact_integers(&whole, &mut String::new(), &mut exact);
        if !exact.is_empty() {
            // By place, because the order of an object's members says nothing.
            exact.sort_unstable();
            let exact: Vec<Value> = exact.into_iter().map(|one| json!(one)).collect();
            whole["integers"] = exact.into();
        }
        let canonical = serde_jcs::to_vec(&whole).map_err(|error| Fault::broken(during, error))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_slice())
            .map_err(|error| Fault::broken(during, error))?;
        mac.update(&canonical);
        Ok(hex(&mac.finalize().into_bytes()))
    }
}

/// Every integer that no double holds, as text behind the place where it stands.
fn inexact_integers(value: &Value, place: &mut String, found: &mut Vec<(String, String)>) {
    let mut within = |name: &str, inner: &Value| {
        let length = place.len();
        // Lengths keep names that hold the separator apart.
        place.push_str(&format!("/{}:{name}", name.len()));
        inexact_integers(inner, place, found);
        place.truncate(length);
    };
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                within(name, inner);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                within(&index.to_string(), inner);
            }
        }
        Value::Number(number) => {
            let whole = number
                .as_i64()
                .map(i128::from)
                .or_else(|| number.as_u64().map(i128::from));
            if whole.is_some_and(|whole| !is_exact(whole)) {
                found.push((place.clone(), number.to_string()));
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Whether a double holds this integer.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the loss is what is looked for"
)]
fn is_exact(whole: i128) -> bool {
    (whole as f64) as i128 == whole
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch::Scratch;

    fn digest(digests: &Digests, input: &Value) -> String {
        let action = Action {
            capability: "tool_call",
            agent: Some(AgentId::from_bytes([7; 16])),
            input,
            pin: &Value::Null,
        };
        digests.of(&action).unwrap()
    }

    #[test]
    fn the_key_is_made_once_in_a_private_file_and_kept() {
        let scratch = Scratch::new("host-key");
        let input = json!({"command": "ls"});
        let first = digest(&Digests::open(scratch.path()).unwrap(), &input);
        assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let again = digest(&Digests::open(scratch.path()).unwrap(), &input);
        assert_eq!(first, again);
        let file = scratch.path().join(KEY_FILE);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Another host's digests tell nothing of this one's.
        let other = Scratch::new("host-key");
        assert_ne!(digest(&Digests::open(other.path()).unwrap(), &input), first);
        std::fs::write(&file, "short").unwrap();
        assert!(Digests::open(scratch.path()).is_err());
    }

    #[test]
    fn a_digest_is_the_keyed_hash_of_the_canonical_form() {
        let digests = Digests {
            key: Arc::new([0x0b; KEY_BYTES]),
        };
        let action = Action {
            capability: "tool_call",
            agent: None,
            input: &json!({"b": 1.0, "a": "\u{20ac}"}),
            pin: &Value::Null,
        };
        let written = "{\"agentId\":null,\"capability\":\"tool_call\",\"input\":{\"a\":\"\u{20ac}\",\"b\":1},\"pin\":null,\"v\":1}";
        let mut mac = Hmac::<Sha256>::new_from_slice(&[0x0b; KEY_BYTES]).unwrap();
        mac.update(written.as_bytes());
        assert_eq!(
            digests.of(&action).unwrap(),
            hex(&mac.finalize().into_bytes())
        );
    }

    #[test]
    fn what_differs_at_all_has_another_digest() {
        let digests = Digests {
            key: Arc::new([1; KEY_BYTES]),
        };
        let inputs = [
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
            json!({"a": "1", "b": 2}),
            json!(null),
            json!({}),
            json!([]),
            json!(["x"]),
            json!("x"),
            json!([9_007_199_254_740_993_u64, 9_007_199_254_740_992_u64]),
            json!([9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64]),
            json!([9_007_199_254_740_992_u64, 9_007_199_254_740_992_u64]),
            json!({"1:a/1:b": u64::MAX}),
            json!({"1:a": {"1:b": u64::MAX}}),
            json!({"1:a": {"1:b": u64::MAX - 1}}),
            json!(i64::MIN + 1),
            json!(i64::MIN),
        ];
        let all: std::collections::HashSet<String> =
            inputs.iter().map(|input| digest(&digests, input)).collect();
        assert_eq!(all.len(), inputs.len());
        let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        for (one, same) in [
            ("{\"b\": 2, \"a\": 1.0}", "{\"a\": 1, \"b\": 2}"),
            (
                "{\"b\": 18446744073709551615, \"a\": -9007199254740993}",
                "{\"a\": -9007199254740993, \"b\": 18446744073709551615}",
            ),
        ] {
            assert_eq!(digest(&digests, &read(one)), digest(&digests, &read(same)));
        }
    }
}
