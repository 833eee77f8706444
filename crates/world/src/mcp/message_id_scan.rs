//! Finding the id of a message that is too long to be kept, so that only its own question fails.

use serde_json::Value;

/// Bytes of a member's name, or of an id, that are looked at.
const WORD_BYTES_MAX: usize = 128;

/// Reads a JSON object byte by byte and remembers nothing of it but its member `id`.
#[derive(Debug, Default)]
pub(super) struct MessageIdScanner {
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
    /// The name or value of the outermost object that is being read.
    word: Vec<u8>,
    /// Whether `word` is the value of `id`.
    is_id: bool,
    id: Option<Value>,
}

impl MessageIdScanner {
    /// Reads on.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The id, where the object has one.
    pub(super) fn id(&self) -> Option<&Value> {
        self.id.as_ref()
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_text {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_in_text = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.word.clear();
            }
            b'}' | b']' => {
                self.end_of_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_of_member(),
            b':' if self.depth == 1 => {
                self.is_id = self.word == br#""id""#;
                self.word.clear();
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < WORD_BYTES_MAX {
            self.word.push(byte);
        }
    }

    fn end_of_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id {
            let id = serde_json::from_slice(&self.word).ok();
            self.id = id.filter(|id: &Value| id.is_number() || id.is_string());
        }
        self.is_id = false;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let cases = [
            (r#"{"id":7,"result":{"id":8}}"#, Some(json!(7))),
            (
                r#"{"result":{"id":8,"t":"\"id\":9}"},"jsonrpc":"2.0","id":"a,b"}"#,
                Some(json!("a,b")),
            ),
            (
                r#"{ "result" : [ {"id": 1} ] , "id" : -3 }"#,
                Some(json!(-3)),
            ),
            (r#"{"result":"id","x":"id"}"#, None),
            (r#"{"id":null,"error":{}}"#, None),
            (r#"{"id":{"id":3}}"#, None),
            (r#"[{"id":3}]"#, None),
            (r#"{"result":"#, None),
        ];
        for (text, expected) in cases {
            for size in [1, 3, 1_000] {
                let mut skim = MessageIdScanner::default();
                for piece in text.as_bytes().chunks(size) {
                    skim.read(piece);
                }
                assert_eq!(skim.id(), expected.as_ref(), "{text} by {size}");
            }
        }
    }
}
