//! Canvas documents on the wire. Source: spec, "Canvas document"; contract 2.5.

use guildhall_domain::{
    Timestamp,
    canvas::{self, Content, ContentType},
    files::{Digest, FileIdentity},
    ids::{AuthorId, DocumentId, EntryId},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    files::Incarnation,
    request_fields::{Fields, FromFields},
};

/// What a document shows. A `src` is an https URL, a `data:` URI or the absolute path of a file;
/// a `title` and the texts that may be left out are always there in answers.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CanvasContent {
    /// A text in Markdown.
    Markdown {
        /// The text.
        #[schema(example = "# Plan")]
        content: String,
        /// The file it was read from, an absolute path.
        #[serde(rename = "sourcePath")]
        #[schema(required = false)]
        source_path: String,
        /// At most 200 characters.
        #[schema(required = false, example = "Plan")]
        title: String,
    },
    /// A page of the web.
    Url {
        /// An http(s) URI.
        url: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A page the embedded browser loads.
    Browser {
        /// An http(s) URI, `localhost` with or without a port, or a path of this server.
        url: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A file with text.
    File {
        /// An absolute path.
        #[serde(rename = "sourcePath")]
        source_path: String,
        /// What it is written in.
        #[schema(required = false)]
        language: String,
        /// Whether it is only to be read; false.
        #[serde(rename = "readOnly")]
        #[schema(required = false)]
        read_only: bool,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// What changed in a file.
    Diff {
        /// An absolute path.
        #[serde(rename = "sourcePath")]
        source_path: String,
        /// `text` or `image`; text.
        #[serde(rename = "mediaKind")]
        #[schema(required = false, value_type = String)]
        media_kind: canvas::DiffMediaKind,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// Any JSON value.
    Json {
        /// The value.
        data: Value,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A view described by its definition.
    Widget {
        /// The definition.
        #[schema(value_type = Object)]
        definition: Map<String, Value>,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A picture.
    Image {
        /// Where it is.
        src: String,
        /// What it shows, in words.
        #[schema(required = false)]
        alt: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A PDF.
    Pdf {
        /// Where it is.
        src: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A 3D model.
    Model3d {
        /// Where it is.
        src: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A sound.
    Audio {
        /// Where it is.
        src: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A film.
    Video {
        /// Where it is.
        src: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A table.
    Csv {
        /// Where it is.
        src: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
    /// A view of a tool server.
    McpApp {
        /// The server.
        #[serde(rename = "serverName")]
        server_name: String,
        /// The view.
        uri: String,
        /// At most 200 characters.
        #[schema(required = false)]
        title: String,
    },
}

impl From<Content> for CanvasContent {
    fn from(content: Content) -> Self {
        match content {
            Content::Url { url, title } => Self::Url { url, title },
            Content::Browser { url, title } => Self::Browser { url, title },
            Content::Markdown {
                content,
                source_path,
                title,
            } => Self::Markdown {
                content,
                source_path,
                title,
            },
            Content::File {
                source_path,
                language,
                read_only,
                title,
            } => Self::File {
                source_path,
                language,
                read_only,
                title,
            },
            Content::Diff {
                source_path,
                media_kind,
                title,
            } => Self::Diff {
                source_path,
                media_kind,
                title,
            },
            Content::Json { data, title } => Self::Json { data, title },
            Content::Widget { definition, title } => Self::Widget { definition, title },
            Content::Image { src, alt, title } => Self::Image { src, alt, title },
            Content::Pdf { src, title } => Self::Pdf { src, title },
            Content::Model3d { src, title } => Self::Model3d { src, title },
            Content::Audio { src, title } => Self::Audio { src, title },
            Content::Video { src, title } => Self::Video { src, title },
            Content::Csv { src, title } => Self::Csv { src, title },
            Content::McpApp {
                server_name,
                uri,
                title,
            } => Self::McpApp {
                server_name,
                uri,
                title,
            },
        }
    }
}

/// Reads content; of an unknown kind nothing else is read.
fn content(fields: &mut Fields) -> Content {
    let title = fields.maybe_text("title").unwrap_or_default();
    let title = title.trim().to_owned();
    let Some(kind) = fields.known_choice("type", &ContentType::WORDS) else {
        return nothing();
    };
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    match kind {
        ContentType::Url => Content::Url {
            url: fields.text("url"),
            title,
        },
        ContentType::Browser => Content::Browser {
            url: fields.text("url"),
            title,
        },
        ContentType::Markdown => Content::Markdown {
            content: fields.text("content"),
            source_path: or_empty(fields.maybe_text("sourcePath")),
            title,
        },
        ContentType::File => Content::File {
            source_path: fields.text("sourcePath"),
            language: or_empty(fields.maybe_text("language")),
            read_only: fields.maybe_flag("readOnly").unwrap_or(false),
            title,
        },
        ContentType::Diff => Content::Diff {
            source_path: fields.text("sourcePath"),
            media_kind: fields
                .maybe_choice("mediaKind", &canvas::DiffMediaKind::WORDS)
                .unwrap_or_default(),
            title,
        },
        ContentType::Json => Content::Json {
            data: fields.any("data"),
            title,
        },
        ContentType::Widget => Content::Widget {
            definition: fields.any_object("definition"),
            title,
        },
        ContentType::Image => Content::Image {
            src: fields.text("src"),
            alt: or_empty(fields.maybe_text("alt")),
            title,
        },
        ContentType::Pdf => Content::Pdf {
            src: fields.text("src"),
            title,
        },
        ContentType::Model3d => Content::Model3d {
            src: fields.text("src"),
            title,
        },
        ContentType::Audio => Content::Audio {
            src: fields.text("src"),
            title,
        },
        ContentType::Video => Content::Video {
            src: fields.text("src"),
            title,
        },
        ContentType::Csv => Content::Csv {
            src: fields.text("src"),
            title,
        },
        ContentType::McpApp => Content::McpApp {
            server_name: fields.text("serverName"),
            uri: fields.text("uri"),
            title,
        },
    }
}

/// Stands for content that could not be read and was noted as wrong.
fn nothing() -> Content {
    Content::Json {
        data: Value::Null,
        title: String::new(),
    }
}

/// One document of a canvas.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanvasDocument {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: DocumentId,
    /// `room:<id>` or `session:<id>`.
    #[schema(value_type = String, example = "room:01a1fe26-ce7a-77e6-9c51-69b26c991bbe")]
    pub scope: canvas::CanvasScope,
    /// The room; `""` on a session's canvas.
    pub room_id: String,
    /// What it shows.
    pub content: CanvasContent,
    /// The content's title: the given one, else one made from what it shows.
    #[schema(example = "Plan")]
    pub title: String,
    /// The content's `type`.
    #[schema(value_type = String, example = "markdown")]
    pub content_type: ContentType,
    /// Who opened it first.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// Whether it stays when the canvas is full.
    pub pinned: bool,
    /// Its place; lists begin with the highest.
    pub position: u64,
    /// Stored changes of it; editing alone is none.
    pub rev: u64,
    /// Who last opened it or changed its content.
    #[schema(value_type = String, example = "01a1fe26-ce7a-77e6-9c51-69b26c991bbe")]
    pub last_touched_by: AuthorId,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub last_touched_at: Timestamp,
    /// Who edits it now; absent when nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub editing_by: Option<AuthorId>,
    /// Which copy its file came from, such as "ada's copy"; `""` when there is nothing to say.
    pub source_label: String,
    /// `room-main`, `worktree` or `agent-cwd`; absent when it is none of these.
    #[serde(skip_serializing_if = "canvas::TreeKind::is_none")]
    #[schema(value_type = String, required = false, example = "worktree")]
    pub tree_kind: canvas::TreeKind,
    /// Commits that a linked worktree was ahead of the main branch at opening; null when that was
    /// not measured.
    #[schema(required = true, example = 2)]
    pub ahead_of_main: Option<u64>,
    /// When it was opened first.
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// When it was last opened, changed in content, or activated.
    #[schema(value_type = String, format = DateTime)]
    pub last_active_at: Timestamp,
    /// The entry its thread begins with; `""` when there is none.
    #[schema(example = "")]
    pub thread_root_entry_id: String,
    /// Its binding to its file; absent when it shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

impl From<canvas::CanvasDocument> for CanvasDocument {
    fn from(document: canvas::CanvasDocument) -> Self {
        Self {
            id: document.id,
            scope: document.scope,
            room_id: or_empty(document.room_id),
            content: document.content.into(),
            title: document.title,
            content_type: document.content_type,
            author_id: document.author_id,
            pinned: document.pinned,
            position: document.position,
            rev: document.rev,
            last_touched_by: document.last_touched_by,
            last_touched_at: document.last_touched_at,
            editing_by: document.editing_by,
            source_label: document.source_label,
            tree_kind: document.tree_kind,
            ahead_of_main: document.ahead_of_main,
            opened_at: document.opened_at,
            last_active_at: document.last_active_at,
            thread_root_entry_id: or_empty(document.thread_root_entry_id),
            incarnation: document.incarnation.map(Into::into),
        }
    }
}

fn or_empty(id: Option<impl ToString>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

/// A canvas.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CanvasDocuments {
    /// In their order.
    pub documents: Vec<CanvasDocument>,
}

/// Opens a document.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OpenDocument {
    /// What it shows.
    #[schema(value_type = CanvasContent)]
    pub content: Content,
    /// Whether it is pinned; false. A document opened again keeps its pin.
    #[schema(nullable = false)]
    pub pinned: Option<bool>,
}

impl FromFields for OpenDocument {
    fn read(fields: &mut Fields) -> Self {
        Self {
            content: fields.object("content", content).unwrap_or_else(nothing),
            pinned: fields.maybe_flag("pinned"),
        }
    }
}

impl From<OpenDocument> for canvas::NewDocument {
    fn from(ask: OpenDocument) -> Self {
        Self {
            content: ask.content,
            pinned: ask.pinned.unwrap_or(false),
        }
    }
}

/// Changes a document; every change is optional, and all are made or none.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UpdateDocument {
    /// What it shows from now on.
    #[schema(nullable = false, value_type = Option<CanvasContent>)]
    pub content: Option<Content>,
    /// Whether it is pinned.
    #[schema(nullable = false)]
    pub pinned: Option<bool>,
    /// Moves it to the front of the list; opens nobody's tab.
    #[schema(nullable = false)]
    pub activate: Option<bool>,
}

impl FromFields for UpdateDocument {
    fn read(fields: &mut Fields) -> Self {
        Self {
            content: fields.maybe_object("content", content),
            pinned: fields.maybe_flag("pinned"),
            activate: fields.maybe_flag("activate"),
        }
    }
}

impl From<UpdateDocument> for canvas::DocumentPatch {
    fn from(ask: UpdateDocument) -> Self {
        Self {
            content: ask.content,
            pinned: ask.pinned,
            activate: ask.activate.unwrap_or(false),
        }
    }
}

/// Begins, prolongs or ends editing.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct EditDocument {
    /// Whether the caller edits.
    #[schema(example = true)]
    pub editing: bool,
}

impl FromFields for EditDocument {
    fn read(fields: &mut Fields) -> Self {
        Self {
            editing: fields.flag("editing"),
        }
    }
}

/// Who edits a document.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentEditor {
    /// Who; `""` when nobody does.
    #[schema(example = "01a1fe26-ce7a-77e6-9c51-69b26c991bbe")]
    pub editing_by: String,
    /// Until when, unless prolonged; null when nobody edits.
    #[schema(required = true, value_type = Option<String>)]
    pub expires_at: Option<Timestamp>,
}

impl From<Option<canvas::EditLock>> for DocumentEditor {
    fn from(lock: Option<canvas::EditLock>) -> Self {
        Self {
            editing_by: or_empty(lock.map(|lock| lock.by)),
            expires_at: lock.map(|lock| lock.until),
        }
    }
}

/// Begins a document's thread; there is nothing to say about it.
#[derive(Clone, Copy, Debug)]
pub struct BeginThread;

impl FromFields for BeginThread {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// Reads a document's file anew; there is nothing to say about it.
#[derive(Clone, Copy, Debug)]
pub struct ReloadDocument;

impl FromFields for ReloadDocument {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// A document with its file as it is now.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReloadedDocument {
    /// The document.
    pub document: CanvasDocument,
    /// What its file holds.
    pub content: String,
    /// The SHA-256 of that.
    #[schema(value_type = String)]
    pub hash: Digest,
    /// Which file it is.
    #[schema(value_type = String)]
    pub identity: FileIdentity,
    /// The binding that saves name from now on.
    pub incarnation: Incarnation,
}

/// The thread of a document.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentThread {
    /// The entry it begins with.
    #[schema(value_type = String)]
    pub thread_root_entry_id: EntryId,
    /// Whether it began just now.
    pub created: bool,
}
