//! Forms: files out of a `multipart/form-data` body, handed on as they come and never held whole.
//! The body is not read before the handler asks for it, so that a no costs nobody an upload.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderValue, header},
};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use guildhall_domain::{Refusal, attachments::AttachmentLimits, errors::ValidationErrors};
use guildhall_hall::attachments::Upload;
use http_body_util::BodyExt;
use multer::{Field, Multipart};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};

use crate::{
    body::{BODY_IDLE_S, BODY_TOTAL_S},
    error_catalogue,
    errors::{ApiError, ApiResult},
};

/// The field that holds the files.
const FILES: &str = "files";
/// Bytes a form may have beside its files: boundaries, heads of parts, other fields.
const FORM_BYTES_BESIDE_FILES: u64 = 256 * 1024;
/// Fields a form may have beside its files.
const FIELDS_BESIDE_FILES: usize = 16;
/// Bytes of the head of one part.
const PART_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes the parser is given at once; it keeps what it is given until it needs it.
const PIECE_BYTES: usize = 32 * 1024;

/// A form that is not read yet; the last argument of a handler.
pub struct MultipartFiles(Request);

impl<S: Sync> FromRequest<S> for MultipartFiles {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        Ok(Self(request))
    }
}

impl MultipartFiles {
    /// Reads the form to its end and hands its files to `upload`; answers the SHA-256 of the
    /// body.
    ///
    /// # Errors
    /// 413, 415, 408, 400 for a form that cannot be read, and what `upload` refuses.
    pub async fn receive(self, upload: &mut Upload) -> ApiResult<[u8; 32]> {
        let limits = upload.limits();
        let most = bytes_max(limits);
        let headers = self.0.headers();
        if declared_length(headers).is_some_and(|bytes| bytes > most) {
            return Err(MultipartError::TooLarge(most).into());
        }
        let boundary = boundary(headers)?;
        let mut pieces = BodyPieces::new(self.0.into_body(), most);
        forward_files(&mut pieces, boundary, upload).await?;
        pieces.read_to_end().await.map_err(Into::into)
    }
}

/// Hands the files among the parts to `upload`.
async fn forward_files(
    pieces: &mut BodyPieces,
    boundary: String,
    upload: &mut Upload,
) -> ApiResult<()> {
    let parts_max = upload.limits().per_entry_max + FIELDS_BESIDE_FILES;
    let unparsed = Arc::clone(&pieces.unparsed);
    let mut parts = Multipart::new(pieces.stream(), boundary);
    for _ in 0..=parts_max {
        let part = parts.next_field().await;
        let Some(mut part) = part.map_err(|error| unreadable(&error))? else {
            return Ok(());
        };
        let is_file = is_file(&part);
        if is_file {
            let name = part.file_name().unwrap_or_default();
            let kind = part.headers().get(header::CONTENT_TYPE);
            let kind = kind.and_then(|kind| kind.to_str().ok());
            upload.begin_file(name, kind).await?;
        }
        unparsed.store(0, Ordering::Relaxed);
        while let Some(bytes) = part.chunk().await.map_err(|error| unreadable(&error))? {
            unparsed.store(0, Ordering::Relaxed);
            if is_file {
                upload.write(bytes).await?;
            }
        }
    }
    Err(invalid("the form has too many parts"))
}

/// Bytes of a whole form.
fn bytes_max(limits: AttachmentLimits) -> u64 {
    let files = u64::try_from(limits.per_entry_max).unwrap_or(u64::MAX);
    files
        .saturating_mul(limits.bytes_max)
        .saturating_add(FORM_BYTES_BESIDE_FILES)
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

fn boundary(headers: &HeaderMap) -> ApiResult<String> {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| multer::parse_boundary(kind.to_str().ok()?).ok())
        .ok_or_else(|| {
            ApiError::new(error_catalogue::UNSUPPORTED_MEDIA_TYPE)
                .with_sentence("The body must be multipart/form-data with a boundary.")
        })
}

/// Whether a part brings a file; a file field in which nobody chose one has an empty file name.
fn is_file(part: &Field<'_>) -> bool {
    part.name() == Some(FILES) && part.file_name() != Some("")
}

/// The body in small pieces, within its deadlines and limits.
struct BodyPieces {
    body: Body,
    /// Bytes the body may have, and how many of them are left.
    most: u64,
    left: u64,
    end: Instant,
    /// What came and was not given to the parser yet.
    frame: Bytes,
    /// Bytes the parser was given since it last got anywhere.
    unparsed: Arc<AtomicUsize>,
    digest: Sha256,
}

impl BodyPieces {
    fn new(body: Body, most: u64) -> Self {
        Self {
            body,
            most,
            left: most,
            end: Instant::now() + Duration::from_secs(BODY_TOTAL_S),
            frame: Bytes::new(),
            unparsed: Arc::default(),
            digest: Sha256::new(),
        }
    }

    fn stream(&mut self) -> impl Stream<Item = Result<Bytes, MultipartError>> + Send {
        stream::unfold(self, |pieces| async move {
            // The parser takes all there is before it looks at it; a break after each piece
            // makes it look.
            tokio::task::yield_now().await;
            let piece = pieces.next().await.transpose()?;
            Some((piece, pieces))
        })
    }

    /// The next piece, for the parser.
    async fn next(&mut self) -> Result<Option<Bytes>, MultipartError> {
        if self.frame.is_empty() && !self.more().await? {
            return Ok(None);
        }
        let piece = self.frame.split_to(self.frame.len().min(PIECE_BYTES));
        let unparsed = self.unparsed.fetch_add(piece.len(), Ordering::Relaxed);
        if unparsed > PART_HEAD_BYTES_MAX {
            return Err(MultipartError::Endless);
        }
        Ok(Some(piece))
    }

    /// Takes more of the body; false at its end.
    async fn more(&mut self) -> Result<bool, MultipartError> {
        while self.frame.is_empty() {
            let rest = Instant::now() + Duration::from_secs(BODY_IDLE_S);
            let frame = timeout_at(self.end.min(rest), self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| MultipartError::TooSlow)? else {
                return Ok(false);
            };
            let frame = frame.map_err(|_| MultipartError::Broken)?;
            self.frame = frame.into_data().unwrap_or_default();
            self.digest.update(&self.frame);
            let left = self.left.checked_sub(self.frame.len() as u64);
            self.left = left.ok_or(MultipartError::TooLarge(self.most))?;
        }
        Ok(true)
    }

    /// Reads past what may follow the last part; answers the SHA-256 of the whole body.
    async fn read_to_end(mut self) -> Result<[u8; 32], MultipartError> {
        self.frame.clear();
        while self.more().await? {
            self.frame.clear();
        }
        Ok(self.digest.finalize().into())
    }
}

/// Why a body cannot be read on.
#[derive(Clone, Copy, Debug)]
enum MultipartError {
    /// It is longer than this.
    TooLarge(u64),
    /// It rests, or takes too long.
    TooSlow,
    /// Its framing is broken, or its sender is gone.
    Broken,
    /// The head of a part does not end.
    Endless,
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for MultipartError {}

impl From<MultipartError> for ApiError {
    fn from(trouble: MultipartError) -> Self {
        let error = match trouble {
            MultipartError::TooLarge(most) => Self::new(error_catalogue::PAYLOAD_TOO_LARGE)
                .with_details(json!({ "limitBytes": most })),
            MultipartError::TooSlow => Self::new(error_catalogue::REQUEST_TIMEOUT),
            MultipartError::Broken => Self::new(error_catalogue::BAD_REQUEST),
            MultipartError::Endless => invalid("the head of a part is too long"),
        };
        error.with_header(header::CONNECTION, HeaderValue::from_static("close"))
    }
}

fn unreadable(error: &multer::Error) -> ApiError {
    if let multer::Error::StreamReadFailed(source) = error
        && let Some(trouble) = source.downcast_ref::<MultipartError>()
    {
        return (*trouble).into();
    }
    invalid("the body is not readable multipart/form-data")
}

fn invalid(problem: &str) -> ApiError {
    Refusal::Validation(ValidationErrors::form(problem)).into()
}
