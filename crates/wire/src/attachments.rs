//! Attachments on the wire. Source: contract 2.4.

use guildhall_domain::{
    attachments,
    ids::{AttachmentId, RoomId},
};
use serde::Serialize;
use utoipa::ToSchema;

/// How a file may be shown before it is opened.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PreviewKind {
    /// As a picture.
    Image,
}

/// A file of a room.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: AttachmentId,
    /// Its room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// 1..255 of `[A-Za-z0-9._-]`.
    #[schema(example = "plan.png")]
    pub name: String,
    /// Its media type as declared; it is not what the file is served with.
    #[schema(example = "image/png")]
    pub mime_type: String,
    /// Bytes.
    pub size: u64,
    /// 64 hex digits.
    #[schema(example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub sha256: String,
    /// `image` or null, by its bytes.
    #[schema(required = true)]
    pub preview: Option<PreviewKind>,
    /// Where it is served.
    pub url: String,
}

impl From<attachments::Attachment> for Attachment {
    fn from(attachment: attachments::Attachment) -> Self {
        Self {
            id: attachment.id,
            room_id: attachment.room_id,
            name: attachment.name,
            mime_type: attachment.mime_type,
            size: attachment.size,
            sha256: attachment.sha256.to_string(),
            preview: attachment.preview.map(|preview| match preview {
                attachments::Preview::Image => PreviewKind::Image,
            }),
            url: attachment.url,
        }
    }
}

/// Uploads files: all of them or none.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UploadAttachments {
    /// 1..10 files, each at most 10 MiB.
    #[schema(value_type = Vec<String>, format = Binary)]
    pub files: Vec<Vec<u8>>,
}

/// What an upload led to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UploadedAttachments {
    /// In the order sent; posted within a day, or gone.
    pub attachments: Vec<Attachment>,
}

impl From<Vec<attachments::Attachment>> for UploadedAttachments {
    fn from(attachments: Vec<attachments::Attachment>) -> Self {
        Self {
            attachments: attachments.into_iter().map(Into::into).collect(),
        }
    }
}
