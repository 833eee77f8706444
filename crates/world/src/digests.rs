//! Digests: the SHA-256 of bytes that come bit by bit, and the keyed digest of what a person
//! decides on, which says whether what is asked now is what was shown then.

use std::path::Path;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use guildhall_domain::{
    Fault,
    approvals::ApprovalToken,
    attachments::Digest,
    ids::{AgentId, ApprovalId},
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::host_key::{HostKey, hex};

/// A digest on its way.
#[derive(Clone, Debug, Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
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
/// How the token of an approval begins.
const APPROVAL_PREFIX: &str = "gap_";

/// What somebody asks to do, as far as a decision on it reaches. Source: contract 4.6.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalAction<'a> {
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
pub struct ApprovalDigests {
    key: HostKey,
}

impl ApprovalDigests {
    /// Reads the host key from the data folder; the first start makes it, mode 0600.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness, the folder takes no file, or the file does
    /// not hold a key.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let key = HostKey::open(data_dir, KEY_FILE)?;
        Ok(Self { key })
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
    pub fn of(&self, action: &ApprovalAction<'_>) -> Result<String, Fault> {
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
        Ok(hex(&self.keyed(during, &[&canonical])?))
    }

    /// The token of an approval: `gap_` and the keyed hash of its id, 47 characters. It is made
    /// anew each time and kept nowhere, so it stays valid over restarts.
    ///
    /// # Errors
    /// A fault when no hash can be made.
    ///
    /// Source: contract 4.5.
    pub fn approval_token(&self, id: ApprovalId) -> Result<ApprovalToken, Fault> {
        let hash = self.keyed("making an approval's token", &[b"approval", id.as_bytes()])?;
        let text = URL_SAFE_NO_PAD.encode(hash);
        Ok(ApprovalToken::new(format!("{APPROVAL_PREFIX}{text}")))
    }

    fn keyed(&self, during: &'static str, parts: &[&[u8]]) -> Result<[u8; 32], Fault> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.bytes())
            .map_err(|error| Fault::broken(during, error))?;
        for part in parts {
            mac.update(part);
        }
        Ok(mac.finalize().into_bytes().into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host_key::KEY_BYTES, scratch::Scratch};

    fn digest(digests: &ApprovalDigests, input: &Value) -> String {
        let action = ApprovalAction {
            capability: "tool_call",
            agent: Some(AgentId::from_bytes([7; 16])),
            input,
            pin: &Value::Null,
        };
        digests.of(&action).unwrap()
    }

    #[test]
    fn digests_and_tokens_are_the_hosts_own_and_outlive_a_start() {
        let scratch = Scratch::new("host-key");
        let (input, id) = (json!({"command": "ls"}), ApprovalId::from_bytes([3; 16]));
        let host = ApprovalDigests::open(scratch.path()).unwrap();
        let first = digest(&host, &input);
        assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let token = host.approval_token(id).unwrap();
        assert_eq!((token.reveal().len(), &token.reveal()[..4]), (47, "gap_"));
        assert!(
            !format!("{token:?}").contains(token.reveal()),
            "it is not logged"
        );
        let again = ApprovalDigests::open(scratch.path()).unwrap();
        assert_eq!(digest(&again, &input), first);
        assert_eq!(again.approval_token(id).unwrap(), token);
        let other = ApprovalId::from_bytes([4; 16]);
        assert_ne!(host.approval_token(other).unwrap(), token);
        // Another host's digests tell nothing of this one's.
        let elsewhere = Scratch::new("host-key");
        let elsewhere = ApprovalDigests::open(elsewhere.path()).unwrap();
        assert_ne!(digest(&elsewhere, &input), first);
        assert_ne!(elsewhere.approval_token(id).unwrap(), token);
    }

    #[test]
    fn a_digest_is_the_keyed_hash_of_the_canonical_form() {
        let digests = ApprovalDigests {
            key: HostKey::of([0x0b; KEY_BYTES]),
        };
        let action = ApprovalAction {
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
        let digests = ApprovalDigests {
            key: HostKey::of([1; KEY_BYTES]),
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
