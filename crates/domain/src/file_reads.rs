//! File reads: what reading a person's files answers.
//! Pure: the bytes come from `world::file_reads`, who may ask is `hall::file_reads`.

use crate::{
    Refusal, Timestamp,
    directories::NamedEntry,
    files::{Digest, FileIdentity, TextError},
};

/// A text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// Where it lies, without links.
    pub path: String,
    /// What it holds, byte for byte.
    pub content: String,
    /// The SHA-256 of its bytes.
    pub hash: Digest,
    /// Which file it is.
    pub identity: FileIdentity,
    /// Its bytes.
    pub size: u64,
    /// When it was last written.
    pub mtime: Timestamp,
    /// Whether the caller could save it now.
    pub writable: bool,
}

/// What lies in a folder and below it, down to some depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree {
    /// Level by level, so that what is cut off lies deepest; in each folder in its order.
    pub entries: Vec<FileTreeEntry>,
    /// Whether there is more than is listed.
    pub truncated: bool,
}

/// A folder or file, or a link, which stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTreeEntry {
    /// Its name.
    pub name: String,
    /// Its path below the working folder, with `/`.
    pub path: String,
    /// Whether it is a folder, or a link to one in the working folder.
    pub is_directory: bool,
    /// Its bytes; of a link those of the link.
    pub size: u64,
    /// When it was last written.
    pub mtime: Timestamp,
    /// Whether it is a link.
    pub is_link: bool,
}

impl NamedEntry for FileTreeEntry {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_directory(&self) -> bool {
        self.is_directory
    }
}

impl From<TextError> for Refusal {
    fn from(why: TextError) -> Self {
        match why {
            TextError::TooLarge => Self::FileTooLarge,
            TextError::Binary => Self::BinaryFile,
            TextError::NotUtf8 => Self::NotUtf8,
        }
    }
}

/// Kinds of files that are shown as they are, by the last part of their name.
const SHOWN: [(&str, &str); 41] = [
    ("3gp", "video/3gpp"),
    ("aac", "audio/aac"),
    ("apng", "image/apng"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("glb", "model/gltf-binary"),
    ("gltf", "model/gltf+json"),
    ("heic", "image/heic"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("jxl", "image/jxl"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("mtl", "model/mtl"),
    ("obj", "model/obj"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("ply", "application/octet-stream"),
    ("png", "image/png"),
    ("stl", "model/stl"),
    (SVG_EXTENSION, "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("usdz", "model/vnd.usdz+zip"),
    ("wav", "audio/wav"),
    ("weba", "audio/webm"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("wma", "audio/x-ms-wma"),
];
const SVG_EXTENSION: &str = "svg";

/// The kind of a file that is shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMediaType(&'static str, &'static str);

impl RawMediaType {
    /// What a file of this path is shown as.
    ///
    /// # Errors
    /// [`Refusal::UnsupportedType`] for what is no picture, PDF, sound, film or 3D model.
    ///
    /// Source: contract 6.3, "raw".
    pub fn of(path: &str) -> Result<Self, Refusal> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let (_, extension) = name.rsplit_once('.').ok_or(Refusal::UnsupportedType)?;
        let extension = extension.to_ascii_lowercase();
        let known = SHOWN.iter().find(|(known, _)| *known == extension);
        let (extension, media_type) = *known.ok_or(Refusal::UnsupportedType)?;
        Ok(Self(extension, media_type))
    }

    /// As `Content-Type` says it.
    pub fn media_type(self) -> &'static str {
        self.1
    }

    /// Whether it is a picture that may hold programs.
    pub fn is_svg(self) -> bool {
        self.0 == SVG_EXTENSION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_known_by_the_end_of_its_name() {
        for (path, expected) in [
            ("a/b.png", Some("image/png")),
            ("B.JPG", Some("image/jpeg")),
            ("x.tar.PDF", Some("application/pdf")),
            (".svg", Some("image/svg+xml")),
            ("model.glb", Some("model/gltf-binary")),
            ("film.webm", Some("video/webm")),
            ("song.mp3", Some("audio/mpeg")),
            ("page.html", None),
            ("script.js", None),
            ("png", None),
            ("a.png/b", None),
            ("a.", None),
            ("", None),
        ] {
            let shown = RawMediaType::of(path).map(RawMediaType::media_type);
            assert_eq!(shown.ok(), expected, "{path}");
        }
        assert!(RawMediaType::of("x.SVG").is_ok_and(RawMediaType::is_svg));
        assert!(RawMediaType::of("x.png").is_ok_and(|shown| !shown.is_svg()));
    }

    #[test]
    fn nothing_that_is_shown_is_a_page_or_a_program() {
        for (extension, media_type) in SHOWN {
            let is_inert = [
                "image/",
                "audio/",
                "video/",
                "model/",
                "application/pdf",
                "application/octet-stream",
            ]
            .iter()
            .any(|prefix| media_type.starts_with(prefix));
            assert!(is_inert, "{extension}");
        }
        assert!(SHOWN.is_sorted());
    }
}
