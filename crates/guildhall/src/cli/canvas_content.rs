//! What a canvas document shows, as a person says it. Source: contract 2.5, "Content variants".

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    common_args,
    failure::Failure,
    request_bodies::{absolute, only_given},
    terminal_input,
};

/// What a document shows.
#[derive(Clone, Debug, Args)]
pub(crate) struct ContentArgs {
    /// What kind of thing it is
    #[arg(
        value_enum,
        required_unless_present = "content",
        conflicts_with = "content"
    )]
    kind: Option<ContentKind>,
    /// The thing: an address or a path; of markdown, json and widget a file that holds it, or `-`
    /// for standard input; of mcp_app the view's URI
    #[arg(required_unless_present = "content", requires = "kind")]
    what: Option<String>,
    /// Its title, at most 200 characters [default: made from what it shows]
    #[arg(long, conflicts_with = "content")]
    title: Option<String>,
    /// markdown: the file it belongs to
    #[arg(long, value_name = "FILE", conflicts_with = "content")]
    source_path: Option<PathBuf>,
    /// file: what it is written in
    #[arg(long, conflicts_with = "content")]
    language: Option<String>,
    /// file: it is only to be read
    #[arg(long, conflicts_with = "content")]
    read_only: bool,
    /// diff: text or image
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "content")]
    media_kind: Option<MediaKind>,
    /// image: what it shows, in words
    #[arg(long, value_name = "TEXT", conflicts_with = "content")]
    alt: Option<String>,
    /// mcp_app: the tool server
    #[arg(long, value_name = "NAME", conflicts_with = "content")]
    server: Option<String>,
    /// The whole content as JSON, as a file that holds it, or as `-` for standard input
    #[arg(long, value_name = "JSON|FILE")]
    content: Option<String>,
}

/// What kind of thing a document shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ContentKind {
    /// A page of the web.
    Url,
    /// A page for the embedded browser.
    Browser,
    /// A text in Markdown.
    Markdown,
    /// A file with text.
    File,
    /// What changed in a file.
    Diff,
    /// Any JSON value.
    Json,
    /// A view described in JSON.
    Widget,
    /// A picture.
    Image,
    /// A PDF.
    Pdf,
    /// A 3D model.
    #[value(name = "model3d")]
    Model3d,
    /// A sound.
    Audio,
    /// A film.
    Video,
    /// A table.
    Csv,
    /// A view of a tool server.
    #[value(name = "mcp_app", alias = "mcp-app")]
    McpApp,
}

/// What a diff compares.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MediaKind {
    /// Text.
    Text,
    /// Pictures.
    Image,
}

impl ContentArgs {
    /// The content as the server takes it.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what cannot be read, and for options of another kind.
    pub(super) fn read(self) -> Result<Value, Failure> {
        if let Some(content) = &self.content {
            return json_of(content);
        }
        let (Some(kind), Some(what)) = (self.kind, &self.what) else {
            return Err(Failure::Usage("say what it shows.".to_owned()));
        };
        self.only_options_of(kind)?;
        let source_path = self.source_path.as_deref().map(absolute).transpose()?;
        let (field, value) = thing(kind, what)?;
        let mut content = only_given(json!({
            "type": common_args::word(kind),
            "title": self.title,
            "sourcePath": source_path,
            "language": self.language,
            "readOnly": self.read_only.then_some(true),
            "mediaKind": self.media_kind.and_then(common_args::word),
            "alt": self.alt,
            "serverName": self.server,
        }));
        content[field] = value;
        Ok(content)
    }

    /// An option that the server would drop silently is a mistake.
    fn only_options_of(&self, kind: ContentKind) -> Result<(), Failure> {
        for (option, is_given, of) in [
            (
                "source-path",
                self.source_path.is_some(),
                ContentKind::Markdown,
            ),
            ("language", self.language.is_some(), ContentKind::File),
            ("read-only", self.read_only, ContentKind::File),
            ("media-kind", self.media_kind.is_some(), ContentKind::Diff),
            ("alt", self.alt.is_some(), ContentKind::Image),
            ("server", self.server.is_some(), ContentKind::McpApp),
        ] {
            if is_given && kind != of {
                let of = common_args::word(of).unwrap_or_default();
                return Err(Failure::Usage(format!("--{option} is for {of} alone.")));
            }
        }
        if kind == ContentKind::McpApp && self.server.is_none() {
            return Err(Failure::Usage("mcp_app needs --server.".to_owned()));
        }
        Ok(())
    }
}

/// The field that holds the thing, and its value.
fn thing(kind: ContentKind, what: &str) -> Result<(&'static str, Value), Failure> {
    Ok(match kind {
        ContentKind::Url | ContentKind::Browser => ("url", what.into()),
        ContentKind::Markdown => (
            "content",
            terminal_input::document_of(Path::new(what))?.into(),
        ),
        ContentKind::File | ContentKind::Diff => ("sourcePath", absolute(Path::new(what))?.into()),
        ContentKind::Json => ("data", json_of(what)?),
        ContentKind::Widget => ("definition", json_of(what)?),
        ContentKind::Image
        | ContentKind::Pdf
        | ContentKind::Model3d
        | ContentKind::Audio
        | ContentKind::Video
        | ContentKind::Csv => ("src", source(what)?.into()),
        ContentKind::McpApp => ("uri", what.into()),
    })
}

/// An address as it is, a path as the server can find it.
fn source(what: &str) -> Result<String, Failure> {
    let is_address = ["https:", "http:", "data:"]
        .iter()
        .any(|scheme| what.starts_with(scheme));
    if is_address {
        Ok(what.to_owned())
    } else {
        absolute(Path::new(what))
    }
}

/// JSON as it is, or what a file or standard input holds.
fn json_of(what: &str) -> Result<Value, Failure> {
    let is_json = what.starts_with(['{', '[']);
    let (name, text) = match what {
        what if is_json => ("what you gave", what.to_owned()),
        "-" => (
            "standard input",
            terminal_input::document_of(Path::new(what))?,
        ),
        file => (file, terminal_input::document_of(Path::new(file))?),
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("{name} is no JSON: {error}.")))
}
