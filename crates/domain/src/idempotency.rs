//! Repeats: a post that is sent again with its idempotency key is answered and not done again.
//! Pure: rows are `store::idempotency`, the key is read by `http::idempotency`.

/// A post with a key: whose it is, and what it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyClaim {
    /// SHA-256 of caller, method, path and key.
    pub id: [u8; 32],
    /// SHA-256 of the body's bytes.
    pub fingerprint: [u8; 32],
}

/// What was answered to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedResponse {
    /// Its status, a 2xx.
    pub status: u16,
    /// What it said.
    pub body: RecordedBody,
}

/// What an answer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedBody {
    /// These bytes of JSON; none at all for an answer without a body.
    Json(Vec<u8>),
    /// The same, with secrets that only its caller may read: kept encrypted. In a stored answer
    /// the bytes are the encrypted ones.
    Private(Vec<u8>),
    /// A secret that was shown once and is not kept; holds the id of what it belongs to.
    Secret(String),
}
