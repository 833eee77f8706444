//! What a canvas document shows: a closed set of kinds, what each may hold, its key and title.
//! Pure: whether a path lies where its opener may reach is `world::confined_fs`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Refusal, field_validation::FieldValidator, limits};

/// The kinds of content. Source: contract 2.5, "Content variants".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// A page of the web.
    Url,
    /// A page the embedded browser loads.
    Browser,
    /// A text in Markdown.
    Markdown,
    /// A file with text.
    File,
    /// What changed in a file.
    Diff,
    /// Any JSON value.
    Json,
    /// A view described by its definition.
    Widget,
    /// A picture.
    Image,
    /// A PDF.
    Pdf,
    /// A 3D model.
    Model3d,
    /// A sound.
    Audio,
    /// A film.
    Video,
    /// A table.
    Csv,
    /// A view of a tool server.
    McpApp,
}

impl ContentType {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 14] = [
        (Self::Url, "url"),
        (Self::Browser, "browser"),
        (Self::Markdown, "markdown"),
        (Self::File, "file"),
        (Self::Diff, "diff"),
        (Self::Json, "json"),
        (Self::Widget, "widget"),
        (Self::Image, "image"),
        (Self::Pdf, "pdf"),
        (Self::Model3d, "model3d"),
        (Self::Audio, "audio"),
        (Self::Video, "video"),
        (Self::Csv, "csv"),
        (Self::McpApp, "mcp_app"),
    ];

    /// The kind's word.
    pub fn as_str(self) -> &'static str {
        Self::WORDS
            .iter()
            .find_map(|(kind, word)| (*kind == self).then_some(*word))
            .unwrap_or_default()
    }
}

/// What a diff compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffMediaKind {
    /// Lines of text.
    #[default]
    Text,
    /// Two pictures.
    Image,
}

impl DiffMediaKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Text, "text"), (Self::Image, "image")];
}

/// What a document shows, as the interface shows it. A `title` of `""` is none given, until
/// [`Content::with_default_title`] makes one; further texts are `""` when not given.
///
/// Source: contract 2.5, "Content variants".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are told in `wire::canvas`")]
pub enum Content {
    /// See [`ContentType::Url`].
    Url { url: String, title: String },
    /// See [`ContentType::Browser`].
    Browser { url: String, title: String },
    /// See [`ContentType::Markdown`].
    Markdown {
        content: String,
        source_path: String,
        title: String,
    },
    /// See [`ContentType::File`].
    File {
        source_path: String,
        language: String,
        read_only: bool,
        title: String,
    },
    /// See [`ContentType::Diff`].
    Diff {
        source_path: String,
        media_kind: DiffMediaKind,
        title: String,
    },
    /// See [`ContentType::Json`].
    Json { data: Value, title: String },
    /// See [`ContentType::Widget`].
    Widget {
        definition: Map<String, Value>,
        title: String,
    },
    /// See [`ContentType::Image`].
    Image {
        src: String,
        alt: String,
        title: String,
    },
    /// See [`ContentType::Pdf`].
    Pdf { src: String, title: String },
    /// See [`ContentType::Model3d`].
    Model3d { src: String, title: String },
    /// See [`ContentType::Audio`].
    Audio { src: String, title: String },
    /// See [`ContentType::Video`].
    Video { src: String, title: String },
    /// See [`ContentType::Csv`].
    Csv { src: String, title: String },
    /// See [`ContentType::McpApp`].
    McpApp {
        server_name: String,
        uri: String,
        title: String,
    },
}

impl Content {
    /// Its kind.
    pub fn content_type(&self) -> ContentType {
        match self {
            Self::Url { .. } => ContentType::Url,
            Self::Browser { .. } => ContentType::Browser,
            Self::Markdown { .. } => ContentType::Markdown,
            Self::File { .. } => ContentType::File,
            Self::Diff { .. } => ContentType::Diff,
            Self::Json { .. } => ContentType::Json,
            Self::Widget { .. } => ContentType::Widget,
            Self::Image { .. } => ContentType::Image,
            Self::Pdf { .. } => ContentType::Pdf,
            Self::Model3d { .. } => ContentType::Model3d,
            Self::Audio { .. } => ContentType::Audio,
            Self::Video { .. } => ContentType::Video,
            Self::Csv { .. } => ContentType::Csv,
            Self::McpApp { .. } => ContentType::McpApp,
        }
    }

    /// Its title.
    pub fn title(&self) -> &str {
        match self {
            Self::Url { title, .. }
            | Self::Browser { title, .. }
            | Self::Markdown { title, .. }
            | Self::File { title, .. }
            | Self::Diff { title, .. }
            | Self::Json { title, .. }
            | Self::Widget { title, .. }
            | Self::Image { title, .. }
            | Self::Pdf { title, .. }
            | Self::Model3d { title, .. }
            | Self::Audio { title, .. }
            | Self::Video { title, .. }
            | Self::Csv { title, .. }
            | Self::McpApp { title, .. } => title,
        }
    }

    /// Gives it a title made from what it shows, unless it has one.
    #[must_use]
    pub fn with_default_title(mut self) -> Self {
        if self.title().is_empty() {
            let derived = self.derived_title();
            *self.title_mut() = derived
                .chars()
                .take(limits::CANVAS_TITLE_CHARS_MAX)
                .collect();
        }
        self
    }

    /// Checks every field; problems are noted under `content.<field>`.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        check.chars(
            "content.title",
            self.title(),
            0,
            limits::CANVAS_TITLE_CHARS_MAX,
        );
        check.one_line("content.title", self.title());
        match self {
            Self::Url { url, .. } => check_address(&mut check, url, is_web(url), "an http(s) URI"),
            Self::Browser { url, .. } => {
                let known = is_web(url) || is_localhost(url) || is_served(url);
                let what = "an http(s) URI, localhost, or a path of this server";
                check_address(&mut check, url, known, what);
            }
            Self::Markdown { source_path, .. } if source_path.is_empty() => {}
            Self::Markdown { source_path, .. } | Self::Diff { source_path, .. } => {
                check_path(&mut check, "content.sourcePath", source_path);
            }
            Self::File {
                source_path,
                language,
                ..
            } => {
                check_path(&mut check, "content.sourcePath", source_path);
                check_name(&mut check, "content.language", language, 0);
            }
            Self::Json { data, .. } => check_depth(&mut check, "content.data", depth(data)),
            Self::Widget { definition, .. } => {
                let depth = definition.values().map(depth).max().unwrap_or(0) + 1;
                check_depth(&mut check, "content.definition", depth);
            }
            Self::Image { src, alt, .. } => {
                check_src(&mut check, src);
                check.chars("content.alt", alt, 0, limits::CANVAS_ALT_CHARS_MAX);
            }
            Self::Pdf { src, .. }
            | Self::Model3d { src, .. }
            | Self::Audio { src, .. }
            | Self::Video { src, .. }
            | Self::Csv { src, .. } => check_src(&mut check, src),
            Self::McpApp {
                server_name, uri, ..
            } => {
                check_name(&mut check, "content.serverName", server_name, 1);
                check.chars("content.uri", uri, 1, limits::CANVAS_URL_CHARS_MAX);
                check.one_line("content.uri", uri);
            }
        }
        check.finish()
    }

    /// What makes it the same document when it is opened again; `None` when nothing does.
    pub fn key(&self) -> Option<String> {
        let key = match self {
            Self::Url { url, .. } | Self::Browser { url, .. } => url.clone(),
            Self::Markdown { source_path, .. } if source_path.is_empty() => return None,
            Self::Markdown { source_path, .. }
            | Self::File { source_path, .. }
            | Self::Diff { source_path, .. } => source_path.clone(),
            Self::Json { .. } | Self::Widget { .. } => return None,
            Self::Image { src, .. }
            | Self::Pdf { src, .. }
            | Self::Model3d { src, .. }
            | Self::Audio { src, .. }
            | Self::Video { src, .. }
            | Self::Csv { src, .. } => src.clone(),
            // No name of a server holds a line feed.
            Self::McpApp {
                server_name, uri, ..
            } => format!("{server_name}\n{uri}"),
        };
        Some(format!("{}:{key}", self.content_type().as_str()))
    }

    /// The file it shows; `None` when it shows none.
    pub fn path(&self) -> Option<&str> {
        let place = match self {
            Self::Markdown { source_path, .. }
            | Self::File { source_path, .. }
            | Self::Diff { source_path, .. } => source_path,
            Self::Image { src, .. }
            | Self::Pdf { src, .. }
            | Self::Model3d { src, .. }
            | Self::Audio { src, .. }
            | Self::Video { src, .. }
            | Self::Csv { src, .. } => src,
            Self::Url { .. }
            | Self::Browser { .. }
            | Self::Json { .. }
            | Self::Widget { .. }
            | Self::McpApp { .. } => return None,
        };
        place.starts_with('/').then_some(place)
    }

    /// The same content, showing the file at `path`; for content that shows a file.
    #[must_use]
    pub fn at(mut self, path: String) -> Self {
        match &mut self {
            Self::Markdown { source_path, .. }
            | Self::File { source_path, .. }
            | Self::Diff { source_path, .. } => *source_path = path,
            Self::Image { src, .. }
            | Self::Pdf { src, .. }
            | Self::Model3d { src, .. }
            | Self::Audio { src, .. }
            | Self::Video { src, .. }
            | Self::Csv { src, .. } => *src = path,
            Self::Url { .. }
            | Self::Browser { .. }
            | Self::Json { .. }
            | Self::Widget { .. }
            | Self::McpApp { .. } => {}
        }
        self
    }

    fn title_mut(&mut self) -> &mut String {
        match self {
            Self::Url { title, .. }
            | Self::Browser { title, .. }
            | Self::Markdown { title, .. }
            | Self::File { title, .. }
            | Self::Diff { title, .. }
            | Self::Json { title, .. }
            | Self::Widget { title, .. }
            | Self::Image { title, .. }
            | Self::Pdf { title, .. }
            | Self::Model3d { title, .. }
            | Self::Audio { title, .. }
            | Self::Video { title, .. }
            | Self::Csv { title, .. }
            | Self::McpApp { title, .. } => title,
        }
    }

    fn derived_title(&self) -> String {
        let title = match self {
            Self::Url { url, .. } | Self::Browser { url, .. } => {
                return match host(url) {
                    Some(host) => host.to_ascii_lowercase(),
                    None => base_name(url).unwrap_or("Browser").to_owned(),
                };
            }
            Self::Markdown { source_path, .. } => base_name(source_path).unwrap_or("Document"),
            Self::File { source_path, .. } | Self::Diff { source_path, .. } => {
                base_name(source_path).unwrap_or("File")
            }
            Self::Json { .. } => "JSON data",
            Self::Widget { .. } => "Widget",
            Self::Image { src, .. } if is_data(src) => "Image",
            Self::Image { src, .. } => base_name(src).unwrap_or("Image"),
            Self::Pdf { .. } => "PDF",
            Self::Model3d { .. } => "3D model",
            Self::Audio { .. } => "Audio",
            Self::Video { .. } => "Video",
            Self::Csv { .. } => "CSV",
            Self::McpApp { .. } => "App",
        };
        title.to_owned()
    }
}

fn check_address(check: &mut FieldValidator, url: &str, is_known: bool, what: &str) {
    check.chars("content.url", url, 1, limits::CANVAS_URL_CHARS_MAX);
    if !is_known || !is_printable(url) {
        check.fail("content.url", format!("must be {what}"));
    }
}

fn check_path(check: &mut FieldValidator, field: &str, path: &str) {
    check.chars(field, path, 1, limits::CANVAS_PATH_CHARS_MAX);
    if !path.starts_with('/') {
        check.fail(field, "must be an absolute path");
    }
}

fn check_src(check: &mut FieldValidator, src: &str) {
    let field = "content.src";
    if src.starts_with('/') {
        check_path(check, field, src);
    } else if is_data(src) {
        check.no_null(field, src);
    } else {
        check.chars(field, src, 1, limits::CANVAS_URL_CHARS_MAX);
        if !(starts_with(src, "https://") && is_web(src) && is_printable(src)) {
            check.fail(
                field,
                "must be an https URL, a data: URI or an absolute path",
            );
        }
    }
}

fn check_name(check: &mut FieldValidator, field: &str, name: &str, min: usize) {
    check.chars(field, name, min, limits::CANVAS_NAME_CHARS_MAX);
    check.one_line(field, name);
}

fn check_depth(check: &mut FieldValidator, field: &str, depth: usize) {
    let max = limits::CANVAS_JSON_DEPTH_MAX;
    if depth > max {
        check.fail(field, format!("must nest at most {max} deep"));
    }
}

/// How deep lists and objects nest in `value`, whose reader has bounded it.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0) + 1,
        Value::Object(map) => map.values().map(depth).max().unwrap_or(0) + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

fn is_web(url: &str) -> bool {
    (starts_with(url, "http://") || starts_with(url, "https://")) && host(url).is_some()
}

fn is_localhost(url: &str) -> bool {
    url.strip_prefix("localhost")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

/// A path of this server; two slashes would name another one.
fn is_served(url: &str) -> bool {
    url.starts_with('/') && !url.starts_with("//") && !url.starts_with("/\\")
}

fn is_data(src: &str) -> bool {
    starts_with(src, "data:") && src.contains(',')
}

fn is_printable(url: &str) -> bool {
    !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The host an address names, as a browser reads it; `None` when it names none.
fn host(url: &str) -> Option<&str> {
    let rest = match url.split_once("://") {
        Some((_, rest)) => rest,
        None if is_localhost(url) => url,
        None => return None,
    };
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let named = authority.rsplit('@').next()?;
    let host = match named.find(']') {
        Some(end) if named.starts_with('[') => &named[..=end],
        _ => named.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}

/// The last part of a path or of an address's path.
fn base_name(place: &str) -> Option<&str> {
    let path = match place.split_once("://") {
        Some((_, rest)) => rest.split(['?', '#']).next()?.split_once('/')?.1,
        None => place,
    };
    path.rsplit('/').find(|part| !part.is_empty())
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
