//! The local browser on the wire. Source: contract 7.2, 7.4, 7.6 and 7.7.

mod input_steps;
mod requests;
mod stream;
pub mod tools;

use guildhall_domain::{
    Timestamp,
    browser::{self as rules, BrowserFailure, ControlHolder, DialogKind},
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

pub use requests::{
    AnswerAuth, AnswerDialog, EmptyBrowserRequest, NavigateTab, NewTab, OpenBrowser, PauseBrowser,
    PrepareBrowser, ResizeTab, SelectedText, ShareBrowser, TabAction, TabInput,
};
pub use stream::{StreamClientMessage, StreamServerMessage};

/// The whole state of the local browser.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserState {
    /// `embedded` or `window`: of the present or last browser.
    #[schema(example = "embedded")]
    pub mode: &'static str,
    /// `disconnected`, `connecting`, `connected`, `closing` or `failed`.
    #[schema(value_type = String, example = "connected")]
    pub status: rules::BrowserStatus,
    /// How far it has been got ready.
    pub preparation: Preparation,
    /// The present process, or `""`.
    pub connection_id: String,
    /// The chat that shares a tab, or `""`.
    pub session_id: String,
    /// Whether a person refuses agents' tools.
    pub paused: bool,
    /// In visual order.
    pub tabs: Vec<BrowserTab>,
    /// The one that is shown, or `""`.
    pub selected_tab_id: String,
    /// One more with each change; never falls.
    pub revision: u64,
    /// Who has the mouse.
    pub control: MouseControl,
    /// The size of the page, or of the window.
    pub viewport: Viewport,
    /// Whether Chromium's own sandbox is on.
    pub sandboxed: bool,
    /// What went wrong last, until the next open.
    #[schema(required = true)]
    pub last_error: Option<LastError>,
}

/// How far the browser has been got ready.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Preparation {
    /// `idle`, `checking`, `downloading`, `installing`, `launching`, `ready` or `failed`.
    #[schema(value_type = String, example = "ready")]
    pub stage: rules::PreparationStage,
    /// `chromium`.
    #[schema(value_type = String, example = "chromium")]
    pub component: rules::PreparedComponent,
    /// 0 to 100; 0 when unknown.
    pub percent: u8,
}

/// A tab.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserTab {
    /// Its id.
    pub id: String,
    /// Its address, at most 2048 characters.
    pub url: String,
    /// Its title, at most 512 characters.
    pub title: String,
    /// Whether it is loading.
    pub loading: bool,
    /// Whether there is a page before it.
    pub can_go_back: bool,
    /// Whether there is a page after it.
    pub can_go_forward: bool,
    /// Whether an agent may reach it.
    pub shared: bool,
    /// The dialog it shows.
    #[schema(required = true)]
    pub dialog: Option<Dialog>,
    /// The password it asks for.
    #[schema(required = true)]
    pub auth: Option<HttpAuthRequest>,
    /// What went wrong with its last load, or was refused since.
    #[schema(required = true)]
    pub error: Option<String>,
}

/// A dialog that waits for an answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[schema(value_type = String, example = "confirm")]
    pub kind: DialogKind,
    /// Its words.
    pub message: String,
    /// What stands in its field.
    pub default_text: String,
}

/// A request for a name and a password.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HttpAuthRequest {
    /// Who asks.
    pub origin: String,
    /// What for, in the words of who asks.
    pub realm: String,
    /// How, such as `basic`.
    pub scheme: String,
}

/// Who has the mouse.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct MouseControl {
    /// `none`, `person` or `agent`.
    #[schema(value_type = String, example = "none")]
    pub holder: ControlHolder,
    /// Since when; null with `none`.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

/// The size of the page.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Viewport {
    /// CSS pixels, 200 to 4096.
    #[schema(example = 1280)]
    pub width: u32,
    /// CSS pixels, 200 to 4096.
    #[schema(example = 800)]
    pub height: u32,
    /// Physical pixels of one of them, 0.5 to 3.
    #[schema(example = 1.0)]
    pub scale: f64,
}

/// What went wrong with the browser as a whole.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LastError {
    /// The word of the fault; none of them is the code of a refusal.
    pub code: &'static str,
    /// The same for a person.
    pub message: &'static str,
    /// What belongs to the code; null for most.
    #[schema(required = true, value_type = Option<Value>)]
    pub details: Value,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl From<&rules::BrowserState> for BrowserState {
    fn from(state: &rules::BrowserState) -> Self {
        let text = |id: Option<String>| id.unwrap_or_default();
        Self {
            mode: state.mode.as_str(),
            status: state.status,
            preparation: Preparation {
                stage: state.preparation.stage,
                component: state.preparation.component,
                percent: state.preparation.percent,
            },
            connection_id: text(state.connection_id.map(|id| id.to_string())),
            session_id: text(state.session_id.map(|id| id.to_string())),
            paused: state.paused,
            tabs: state.tabs.iter().map(Into::into).collect(),
            selected_tab_id: text(state.selected_tab_id.map(|id| id.to_string())),
            revision: state.revision,
            control: MouseControl {
                holder: state.holder,
                since: state.held_since,
            },
            viewport: Viewport {
                width: state.viewport.width,
                height: state.viewport.height,
                scale: state.viewport.scale,
            },
            sandboxed: state.sandboxed,
            last_error: state.last_error.as_ref().map(Into::into),
        }
    }
}

impl From<&rules::Tab> for BrowserTab {
    fn from(tab: &rules::Tab) -> Self {
        let page = tab.page.clone();
        Self {
            id: tab.id.to_string(),
            url: page.url,
            title: page.title,
            loading: page.loading,
            can_go_back: page.can_go_back,
            can_go_forward: page.can_go_forward,
            shared: tab.shared,
            dialog: page.dialog.map(|dialog| Dialog {
                kind: dialog.kind,
                message: dialog.message,
                default_text: dialog.default_text,
            }),
            auth: page.auth.map(|auth| HttpAuthRequest {
                origin: auth.origin,
                realm: auth.realm,
                scheme: auth.scheme,
            }),
            error: page.error,
        }
    }
}

impl From<&rules::LastError> for LastError {
    fn from(error: &rules::LastError) -> Self {
        Self {
            code: error.failure.code(),
            message: error.failure.message(),
            details: match &error.failure {
                BrowserFailure::NotInstalled {
                    searched,
                    can_download,
                } => json!({ "searched": searched, "canDownload": can_download }),
                BrowserFailure::LaunchFailed(fault) => json!({ "reason": fault }),
                BrowserFailure::NoDisplay
                | BrowserFailure::PrepareFailed
                | BrowserFailure::Crashed => Value::Null,
            },
            at: error.at,
        }
    }
}
