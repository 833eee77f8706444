//! Forms: files as a browser sends them.

use serde_json::Value;

use crate::{TestCaller, TestHall, TestRequest};

/// What parts the forms of tests.
pub const BOUNDARY: &str = "----a-line-no-file-holds";

/// A file to send: its name, its declared type, its bytes.
pub type UploadFile<'a> = (&'a str, &'a str, &'a [u8]);

/// The body of a form with these files.
pub fn form(files: &[UploadFile<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, kind, bytes) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
             Content-Type: {kind}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

impl TestRequest {
    /// Sends these files.
    #[must_use]
    pub fn files(self, files: &[UploadFile<'_>]) -> Self {
        self.form(form(files))
    }

    /// Sends this body as a form.
    #[must_use]
    pub fn form(self, body: Vec<u8>) -> Self {
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        self.header("content-type", &kind).body(body)
    }
}

impl TestHall {
    /// Uploads one file; answers the attachment.
    pub async fn upload(&self, by: &TestCaller, room: &str, file: UploadFile<'_>) -> Value {
        let path = format!("/api/rooms/{room}/attachments");
        let uploaded = by.ask("POST", &path).files(&[file]).send().await.ok(201);
        uploaded["attachments"][0].clone()
    }
}
