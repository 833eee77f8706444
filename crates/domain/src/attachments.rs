//! Attachments: files that are uploaded to a room and then posted with an entry.
//! Pure: bytes are `world::blobs`, rows `store::attachments`, deeds `hall::attachments`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    ids::{AttachmentId, RoomId},
    limits,
};

/// How much may be attached; settings say it. Source: contract 2.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// Bytes of one file.
    pub bytes_max: u64,
    /// Files of one entry, and of one upload.
    pub per_entry_max: usize,
    /// Bytes of all stored files together.
    pub store_bytes_max: u64,
}

/// The SHA-256 of a file's bytes, which is also its name in the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the one written form: 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 64 || !text.bytes().all(is_hex) {
            return None;
        }
        let mut bytes = [0; 32];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("a digest has 64 hex digits"))
    }
}

/// How a client may show a file before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preview {
    /// As a picture.
    Image,
}

/// A picture that browsers show and never run: the only files served inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
    /// `image/gif`.
    Gif,
    /// `image/webp`.
    Webp,
}

/// Bytes from which [`ImageFormat::sniff`] tells what a file is.
pub const SNIFFED_BYTES: usize = 12;

impl ImageFormat {
    /// Every picture with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::Png, "png"),
        (Self::Jpeg, "jpeg"),
        (Self::Gif, "gif"),
        (Self::Webp, "webp"),
    ];

    /// Which picture begins with these bytes, whatever anybody declares it to be.
    ///
    /// `head` is the first [`SNIFFED_BYTES`] of the file, or all of a shorter one.
    ///
    /// Source: contract 2.4; the WHATWG's "MIME Sniffing", 6.1.
    pub fn sniff(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }

    /// The type it is served with.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// The type of a file of which nothing better is known.
pub const OCTET_STREAM: &str = "application/octet-stream";

/// The name under which a file is kept: the last part of the path it was sent with, characters
/// outside `[A-Za-z0-9._-]` as `_`, 1..=255 of them; `file` when nothing is left.
///
/// Source: contract 2.4.
pub fn stored_name(raw: &str) -> String {
    let last = raw.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = last
        .chars()
        .map(|c| if is_kept(c) { c } else { '_' })
        .take(limits::ATTACHMENT_NAME_CHARS_MAX)
        .collect();
    match name.as_str() {
        "" | "." | ".." => "file".to_owned(),
        _ => name,
    }
}

/// The media type as declared, without parameters and in lower case; [`OCTET_STREAM`] when it
/// is absent, overlong or no `type/subtype`. It is told and never served by.
pub fn stored_media_type(declared: Option<&str>) -> String {
    let essence = declared.unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |part: &str| {
        let of_token = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        !part.is_empty() && part.chars().all(of_token)
    };
    match essence.split_once('/') {
        Some((kind, sub))
            if is_token(kind) && is_token(sub) && essence.len() <= limits::MEDIA_TYPE_CHARS_MAX =>
        {
            essence
        }
        _ => OCTET_STREAM.to_owned(),
    }
}

/// A file of a room, as the interface shows it. Source: contract 2.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Its id.
    pub id: AttachmentId,
    /// Its room.
    pub room_id: RoomId,
    /// See [`stored_name`].
    pub name: String,
    /// See [`stored_media_type`].
    pub mime_type: String,
    /// Bytes.
    pub size: u64,
    /// The digest of its bytes.
    pub sha256: Digest,
    /// How it may be shown, by its bytes.
    pub preview: Option<Preview>,
    /// Where it is served.
    pub url: String,
}

impl Attachment {
    /// Where the attachment `id` of `room` is served.
    pub fn url_of(room: RoomId, id: AttachmentId) -> String {
        format!("/api/rooms/{room}/attachments/{id}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_last_part_and_its_harmless_characters() {
        let long = "a".repeat(300);
        for (raw, kept) in [
            ("report.pdf", "report.pdf"),
            ("../../guildhall.sqlite", "guildhall.sqlite"),
            ("C:\\Users\\ada\\plan.txt", "plan.txt"),
            ("Übersicht \"neu\".md", "_bersicht__neu_.md"),
            ("a\r\nSet-Cookie: x", "a__Set-Cookie__x"),
            ("folder/", "file"),
            ("..", "file"),
            (".", "file"),
            ("", "file"),
            (".profile", ".profile"),
            (&long, &long[..255]),
        ] {
            assert_eq!(stored_name(raw), kept, "{raw}");
        }
    }

    #[test]
    fn a_declared_type_is_kept_when_it_is_one() {
        let long = format!("text/{}", "x".repeat(200));
        for (declared, kept) in [
            (Some("text/plain"), "text/plain"),
            (Some("Text/HTML; charset=utf-8"), "text/html"),
            (Some("image/svg+xml"), "image/svg+xml"),
            (Some("text"), OCTET_STREAM),
            (Some("text/"), OCTET_STREAM),
            (Some("text/pl ain"), OCTET_STREAM),
            (Some("text/plain\r\nx: y"), OCTET_STREAM),
            (Some(&long), OCTET_STREAM),
            (None, OCTET_STREAM),
        ] {
            assert_eq!(stored_media_type(declared), kept, "{declared:?}");
        }
    }

    #[test]
    fn only_four_pictures_are_known_and_by_their_bytes_alone() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\r"[..], Some(ImageFormat::Png)),
            (b"\xff\xd8\xff\xe0", Some(ImageFormat::Jpeg)),
            (b"GIF87a", Some(ImageFormat::Gif)),
            (b"GIF89a\0\0", Some(ImageFormat::Gif)),
            (b"RIFF\x10\0\0\0WEBP", Some(ImageFormat::Webp)),
            (b"RIFF\x10\0\0\0WAVE", None),
            (b"GIF88a", None),
            (b"<svg xmlns=", None),
            (b"<!DOCTYPE ht", None),
            (b"\x89PNG", None),
            (b"", None),
        ] {
            assert_eq!(ImageFormat::sniff(head), expected, "{head:?}");
        }
    }

    #[test]
    fn a_digest_is_read_from_its_one_written_form() {
        let digest = Digest::from_bytes([0xab; 32]);
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for wrong in [
            "",
            "ab",
            &"AB".repeat(32),
            &"zz".repeat(32),
            &"é".repeat(32),
        ] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
