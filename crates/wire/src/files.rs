//! Saves of files on the wire. Source: contract 6.4 to 6.6.

use guildhall_domain::{
    Timestamp,
    files::{
        self, Digest, FileIdentity, SaveEffect,
        document_saves::{self, ClaimedIncarnation, IncarnationClaim, ReceiptStatus},
    },
    ids::DocumentId,
    limits,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Gives a file that is there other content.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SaveFile {
    /// A folder: an absolute path, `~` or `~/x`.
    #[schema(min_length = 1, example = "~/project")]
    pub cwd: String,
    /// A file in it, absolute or relative to it.
    #[schema(min_length = 1, example = "notes.md")]
    pub path: String,
    /// All of the new content, at most 10 MiB as UTF-8.
    #[schema(example = "# Notes\n")]
    pub content: String,
    /// What the file is to hold before, as SHA-256; without it and `expectedContent` the file is
    /// overwritten whatever it holds.
    #[schema(nullable = false, value_type = Option<String>, pattern = "^[0-9a-f]{64}$", example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub expected_hash: Option<Digest>,
    /// The same as text; ignored beside `expectedHash`.
    #[schema(nullable = false)]
    pub expected_content: Option<String>,
    /// Which file is meant: the `identity` of a read or an earlier save.
    #[schema(nullable = false, value_type = Option<String>)]
    pub expected_identity: Option<FileIdentity>,
    /// Saves the file of a canvas document; the owner alone.
    #[schema(nullable = false)]
    pub document_save: Option<DocumentSave>,
}

impl FromFields for SaveFile {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            cwd: fields.folder("cwd"),
            path: fields.path("path"),
            content: fields.text("content"),
            expected_hash: hash(fields, "expectedHash"),
            expected_content: fields.maybe_text("expectedContent"),
            expected_identity: fields.maybe_text("expectedIdentity").map(FileIdentity::new),
            document_save: fields.maybe_object("documentSave", DocumentSave::read),
        };
        if let (Some(hash), Some(save)) = (ask.expected_hash, &ask.document_save)
            && save.expected_file_hash != Some(hash)
        {
            fields.fail_field("expectedHash", "must equal documentSave.expectedFileHash");
        }
        ask
    }
}

impl SaveFile {
    /// The content's baseline outside of `documentSave`.
    pub fn baseline(&self) -> Option<Digest> {
        let of_text = |text: &String| files::digest(text.as_bytes());
        self.expected_hash
            .or_else(|| self.expected_content.as_ref().map(of_text))
    }
}

/// A save of a canvas document's file. Source: contract 6.5.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DocumentSave {
    /// The document.
    #[schema(value_type = String, max_length = 200)]
    pub document_id: DocumentId,
    /// The client's id of this save: with it the save happens once, however often it is sent.
    #[schema(format = "uuid")]
    pub event_id: String,
    /// What the file is to hold before, as SHA-256.
    #[schema(required = true, value_type = String, pattern = "^[0-9a-f]{64}$", example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub expected_file_hash: Option<Digest>,
    /// The document's `incarnation`, or its `generation` as `expectedGeneration`.
    #[schema(inline, value_type = Option<Incarnation>, nullable = false)]
    pub incarnation: IncarnationClaim,
    /// The generation alone.
    #[schema(
        nullable = false,
        example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )]
    pub expected_generation: Option<String>,
}

impl DocumentSave {
    fn read(fields: &mut Fields) -> Self {
        let id = fields.text("documentId");
        if id.is_empty() || id.chars().count() > limits::DOCUMENT_ID_CHARS_MAX {
            fields.fail_field("documentId", "must have 1 to 200 characters");
        }
        let event = fields.text("eventId");
        let event_id = document_saves::event_id(&event).unwrap_or_else(|| {
            fields.fail_field("eventId", "must be a UUID");
            String::new()
        });
        if !fields.holds("expectedFileHash") {
            fields.fail_field("expectedFileHash", "is required");
        }
        let expected_file_hash = hash(fields, "expectedFileHash");
        let whole = fields.maybe_object("incarnation", claimed);
        let short = fields.maybe_text("expectedGeneration");
        let incarnation = match (whole, &short) {
            (None, None) => {
                fields.fail("incarnation or expectedGeneration is required");
                IncarnationClaim::Generation(String::new())
            }
            (None, Some(short)) => IncarnationClaim::Generation(short.clone()),
            (Some(whole), short) => {
                if short
                    .as_ref()
                    .is_some_and(|short| *short != whole.generation)
                {
                    fields.fail_field("expectedGeneration", "must equal incarnation.generation");
                }
                IncarnationClaim::Whole(whole)
            }
        };
        fields.fail_others();
        Self {
            document_id: DocumentId::named(&id),
            event_id,
            expected_file_hash,
            incarnation,
            expected_generation: short,
        }
    }
}

fn claimed(fields: &mut Fields) -> ClaimedIncarnation {
    let claimed = ClaimedIncarnation {
        v: fields.number("v"),
        document_id: fields.text("documentId"),
        physical_opened_at: fields.text("physicalOpenedAt"),
        channel_created_at: fields.text("channelCreatedAt"),
        generation: fields.text("generation"),
    };
    fields.fail_others();
    claimed
}

/// A SHA-256 that may be absent; capitals are folded.
fn hash(fields: &mut Fields, name: &str) -> Option<Digest> {
    let text = fields.maybe_text(name)?;
    let hash = Digest::parse(&text.to_ascii_lowercase());
    if hash.is_none() {
        fields.fail_field(name, "must be 64 hex digits");
    }
    hash
}

/// Sets one checkbox of a Markdown file.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SetCheckbox {
    /// A folder: an absolute path, `~` or `~/x`.
    #[schema(min_length = 1, example = "~/project")]
    pub cwd: String,
    /// A file in it, absolute or relative to it.
    #[schema(min_length = 1, example = "todo.md")]
    pub path: String,
    /// The line, from 1.
    #[schema(minimum = 1, example = 3)]
    pub line: u64,
    /// The whole line without its ending, as the client saw it.
    #[schema(example = "- [ ] water the plants")]
    pub expected_line: String,
    /// Whether it is to be checked.
    #[schema(example = true)]
    pub checked: bool,
}

impl FromFields for SetCheckbox {
    fn read(fields: &mut Fields) -> Self {
        let had_line = fields.holds("line");
        let ask = Self {
            cwd: fields.folder("cwd"),
            path: fields.path("path"),
            line: fields.number("line"),
            expected_line: fields.text("expectedLine"),
            checked: fields.flag("checked"),
        };
        if had_line && ask.line == 0 {
            fields.fail_field("line", "must be 1 or more");
        }
        ask
    }
}

/// One binding of a document to a physical file. Clients compare it and never compute it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incarnation {
    /// The version of this form.
    #[schema(example = 1)]
    pub v: u64,
    /// The document.
    #[schema(value_type = String)]
    pub document_id: DocumentId,
    /// When it was bound to its present physical file.
    #[schema(value_type = String, format = DateTime)]
    pub physical_opened_at: Timestamp,
    /// When its room or session was made.
    #[schema(value_type = String, format = DateTime)]
    pub channel_created_at: Timestamp,
    /// A hash over the others.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$", example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub generation: Digest,
}

impl From<document_saves::Incarnation> for Incarnation {
    fn from(incarnation: document_saves::Incarnation) -> Self {
        Self {
            v: incarnation.v,
            document_id: incarnation.document_id,
            physical_opened_at: incarnation.physical_opened_at,
            channel_created_at: incarnation.channel_created_at,
            generation: incarnation.generation,
        }
    }
}

/// What is given for a committed save of a document.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentReceipt {
    /// The document.
    #[schema(value_type = String)]
    pub document_id: DocumentId,
    /// The client's id of the save.
    #[schema(format = "uuid")]
    pub event_id: String,
    /// The binding it was saved in.
    pub incarnation: Incarnation,
    /// Its number in that binding, from 1.
    #[schema(example = 1)]
    pub doc_seq: u64,
    /// What the file held after it, as SHA-256.
    #[schema(value_type = String)]
    pub file_hash: Digest,
    /// `accepted` for a save made now, `duplicate` for one made before.
    #[schema(value_type = String, example = "accepted")]
    pub status: ReceiptStatus,
}

impl From<document_saves::SaveReceipt> for DocumentReceipt {
    fn from(receipt: document_saves::SaveReceipt) -> Self {
        Self {
            document_id: receipt.document_id,
            event_id: receipt.event_id,
            incarnation: receipt.incarnation.into(),
            doc_seq: receipt.doc_seq,
            file_hash: receipt.file_hash,
            status: receipt.status,
        }
    }
}

/// A save that was made, or needed none.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedFile {
    /// Always true.
    pub ok: bool,
    /// What the file holds, as SHA-256; of a duplicate, what it held then, which proves nothing
    /// about later writes.
    #[schema(value_type = String)]
    pub hash: Digest,
    /// `changed`, or `no_op` when the file was left alone.
    #[schema(value_type = String, example = "changed")]
    pub effect: SaveEffect,
    /// Which file it is now.
    #[schema(value_type = String)]
    pub identity: FileIdentity,
    /// For a committed save of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_receipt: Option<DocumentReceipt>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::request_fields;

    fn wrong(body: &Value) -> Vec<String> {
        let json = serde_json::from_value(body.clone()).unwrap();
        match request_fields::read::<SaveFile>(json) {
            Ok(_) => Vec::new(),
            Err(invalid) => {
                let form = invalid.form_errors.into_iter();
                form.chain(invalid.field_errors.into_keys()).collect()
            }
        }
    }

    fn ask(change: impl FnOnce(&mut Value)) -> Value {
        let mut ask = json!({"cwd": "/w", "path": "a.md", "content": "", "unknown": 1,
            "documentSave": {"documentId": "d", "eventId": "01a1fe26-ce7a-77e6-9c51-69b26c991bbe",
                "expectedFileHash": "0".repeat(64), "expectedGeneration": "g"}});
        change(&mut ask);
        ask
    }

    #[test]
    fn a_save_is_read_field_by_field() {
        assert_eq!(wrong(&ask(|_| {})), [""; 0]);
        let hash = "a".repeat(64);
        let incarnation = json!({"v": 1, "documentId": "d", "physicalOpenedAt": "x",
            "channelCreatedAt": "y", "generation": "g"});
        type Change = Box<dyn FnOnce(&mut Value)>;
        let table: Vec<(Change, &[&str])> = vec![
            (Box::new(|ask| ask["cwd"] = json!("")), &["cwd"]),
            (Box::new(|ask| ask["path"] = json!(1)), &["path"]),
            (Box::new(|ask| ask["content"] = json!("\0")), &["content"]),
            (
                Box::new(|ask| ask["expectedHash"] = json!("a")),
                &["expectedHash"],
            ),
            (
                Box::new(move |ask| ask["expectedHash"] = json!(hash)),
                &["expectedHash"],
            ),
            (
                Box::new(|ask| ask["expectedHash"] = json!("0".repeat(64))),
                &[],
            ),
            (
                Box::new(|ask| ask["documentSave"] = json!(null)),
                &["documentSave"],
            ),
            (
                Box::new(|ask| ask["documentSave"]["more"] = json!(1)),
                &["documentSave.more"],
            ),
            (
                Box::new(|ask| ask["documentSave"]["eventId"] = json!("x")),
                &["documentSave.eventId"],
            ),
            (
                Box::new(|ask| ask["documentSave"]["documentId"] = json!("x".repeat(201))),
                &["documentSave.documentId"],
            ),
            (
                Box::new(|ask| ask["documentSave"] = json!({})),
                &[
                    "incarnation or expectedGeneration is required",
                    "documentSave.documentId",
                    "documentSave.eventId",
                    "documentSave.expectedFileHash",
                ],
            ),
            (
                Box::new({
                    let incarnation = incarnation.clone();
                    move |ask| ask["documentSave"]["incarnation"] = incarnation
                }),
                &[],
            ),
            (
                Box::new({
                    let incarnation = incarnation.clone();
                    move |ask| {
                        ask["documentSave"]["incarnation"] = incarnation;
                        ask["documentSave"]["expectedGeneration"] = json!("other");
                    }
                }),
                &["documentSave.expectedGeneration"],
            ),
            (
                Box::new(move |ask| {
                    ask["documentSave"]["incarnation"] = incarnation;
                    ask["documentSave"]["incarnation"]["w"] = json!(1);
                }),
                &["documentSave.incarnation.w"],
            ),
        ];
        for (n, (change, expected)) in table.into_iter().enumerate() {
            assert_eq!(wrong(&ask(change)), expected, "{n}");
        }
    }
}
