//! What is asked of the local browser. Source: contract 7.4.

use guildhall_domain::{
    browser::{self as rules, DisplayMode},
    ids::{BrowserConnectionId, SessionId, TabId},
    limits,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::input_steps::steps;
use crate::request_fields::{Fields, FromFields};

/// Opens the browser.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenBrowser {
    /// `embedded` or `window`.
    #[schema(value_type = String, example = "embedded")]
    pub mode: DisplayMode,
    /// The chat a tab shall be shared with; without it every share ends.
    #[schema(nullable = false, value_type = Option<String>, format = "uuid")]
    pub session_id: Option<SessionId>,
    /// What shall be opened, at most 2048 characters.
    #[schema(nullable = false, example = "https://example.org")]
    pub url: Option<String>,
}

impl FromFields for OpenBrowser {
    fn read(fields: &mut Fields) -> Self {
        Self {
            mode: fields.choice("mode", &DisplayMode::WORDS, DisplayMode::Embedded),
            session_id: maybe_session(fields, "sessionId"),
            url: fields.maybe_text("url"),
        }
    }
}

fn maybe_session(fields: &mut Fields, name: &str) -> Option<SessionId> {
    let text = fields.maybe_text(name)?;
    let id = SessionId::parse(&text.to_ascii_lowercase());
    if id.is_none() {
        fields.fail_field(name, "must be a UUID");
    }
    id
}

/// Looks for the browser's program.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct PrepareBrowser {
    /// Whether it may be fetched from the network when there is none.
    pub download: bool,
}

impl FromFields for PrepareBrowser {
    fn read(fields: &mut Fields) -> Self {
        Self {
            download: fields.flag("download"),
        }
    }
}

/// Asks for nothing beyond the route itself.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct EmptyBrowserRequest {}

impl FromFields for EmptyBrowserRequest {
    fn read(_: &mut Fields) -> Self {
        Self {}
    }
}

/// Opens a tab.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NewTab {
    /// What it shall show; about:blank.
    #[schema(nullable = false, example = "https://example.org")]
    pub url: Option<String>,
}

impl FromFields for NewTab {
    fn read(fields: &mut Fields) -> Self {
        Self {
            url: fields.maybe_text("url"),
        }
    }
}

/// A way along a tab's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TabAction {
    /// To the page before.
    Back,
    /// To the page after.
    Forward,
    /// The same page anew.
    Reload,
    /// No further.
    Stop,
}

impl TabAction {
    const WORDS: [(Self, &str); 4] = [
        (Self::Back, "back"),
        (Self::Forward, "forward"),
        (Self::Reload, "reload"),
        (Self::Stop, "stop"),
    ];
}

/// Sends a tab somewhere: exactly one of the two.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"url": "https://example.org"}))]
pub struct NavigateTab {
    /// An address.
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// A way along its history.
    #[schema(nullable = false)]
    pub action: Option<TabAction>,
}

impl FromFields for NavigateTab {
    fn read(fields: &mut Fields) -> Self {
        let (has_url, has_action) = (fields.holds("url"), fields.holds("action"));
        let ask = Self {
            url: fields.maybe_text("url"),
            action: fields.maybe_choice("action", &TabAction::WORDS),
        };
        if has_url == has_action {
            fields.fail("exactly one of url and action must be there");
        }
        ask
    }
}

/// Does steps of mouse and keyboard.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "connectionId": "0192f0c1-2d3e-7abc-8def-0123456789ab",
    "steps": [{"type": "click", "x": 10, "y": 20, "button": "left", "count": 1}],
}))]
pub struct TabInput {
    /// The process they are meant for.
    pub connection_id: String,
    /// 1 to 16 steps, each a flat object with its `type`: click, mouseMove, mouseDown, mouseUp,
    /// wheel, keyDown, keyUp or text.
    #[schema(value_type = Vec<Value>)]
    pub steps: Vec<rules::InputStep>,
}

impl TabInput {
    /// The process they are meant for, when there can be such a one.
    pub fn connection(&self) -> Option<BrowserConnectionId> {
        BrowserConnectionId::parse(&self.connection_id)
    }
}

impl FromFields for TabInput {
    fn read(fields: &mut Fields) -> Self {
        Self {
            connection_id: fields.text("connectionId"),
            steps: steps(fields),
        }
    }
}

/// Gives pages another size.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ResizeTab {
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

impl FromFields for ResizeTab {
    fn read(fields: &mut Fields) -> Self {
        Self {
            width: fields.number("width"),
            height: fields.number("height"),
            scale: fields.float("scale"),
        }
    }
}

/// Answers the dialog of a tab.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AnswerDialog {
    /// Yes or no.
    pub accept: bool,
    /// What goes into its field, at most 2048 characters.
    #[schema(nullable = false)]
    pub text: Option<String>,
}

impl FromFields for AnswerDialog {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            accept: fields.flag("accept"),
            text: fields.maybe_text("text"),
        };
        let max = limits::BROWSER_DIALOG_CHARS_MAX;
        if ask
            .text
            .as_ref()
            .is_some_and(|text| text.chars().count() > max)
        {
            fields.fail_field("text", &format!("must have at most {max} characters"));
        }
        ask
    }
}

/// Answers a tab's request for a name and a password; without `Debug`, because it holds one.
#[derive(Clone, ToSchema)]
#[schema(example = json!({"username": "ada", "password": "…"}))]
pub struct AnswerAuth {
    /// The name.
    #[schema(nullable = false)]
    pub username: Option<String>,
    /// The password; never kept.
    #[schema(nullable = false)]
    pub password: Option<String>,
    /// True instead of both: no answer at all.
    #[schema(nullable = false)]
    pub cancel: Option<bool>,
}

impl AnswerAuth {
    /// The name and the password; `None` cancels the request.
    pub fn credentials(&self) -> Option<(&str, &str)> {
        let both = self.username.as_deref().zip(self.password.as_deref());
        both.filter(|_| self.cancel != Some(true))
    }
}

impl FromFields for AnswerAuth {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            username: fields.maybe_text("username"),
            password: fields.maybe_text("password"),
            cancel: fields.maybe_flag("cancel"),
        };
        let has_one = ask.username.is_some() || ask.password.is_some();
        let has_both = ask.username.is_some() && ask.password.is_some();
        if (ask.cancel == Some(true)) == has_one || has_one != has_both {
            fields.fail("either username and password must be there, or cancel: true");
        }
        let max = limits::BROWSER_DIALOG_CHARS_MAX;
        for (name, text) in [("username", &ask.username), ("password", &ask.password)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > max) {
                fields.fail_field(name, &format!("must have at most {max} characters"));
            }
        }
        ask
    }
}

/// The text that is selected in a tab.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SelectedText {
    /// At most 64 KiB.
    pub text: String,
}

/// Shares a tab with a session, or none any more.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"sessionId": "0192f0c1-2d3e-7abc-8def-0123456789ab"}))]
pub struct ShareBrowser {
    /// The session; null ends the share.
    #[schema(required = true, value_type = Option<String>, format = "uuid")]
    pub session_id: Option<SessionId>,
    /// The tab; the one that is shown.
    #[schema(nullable = false, value_type = Option<String>)]
    pub tab_id: Option<TabId>,
}

impl FromFields for ShareBrowser {
    fn read(fields: &mut Fields) -> Self {
        if !fields.holds("sessionId") {
            fields.fail_field("sessionId", "is required");
        }
        let session = fields.patch_text("sessionId").flatten();
        let session_id = session.and_then(|text| {
            let id = SessionId::parse(&text.to_ascii_lowercase());
            if id.is_none() {
                fields.fail_field("sessionId", "must be a UUID");
            }
            id
        });
        let tab = fields.maybe_text("tabId");
        Self {
            session_id,
            tab_id: tab.map(|tab| TabId::named(&tab)),
        }
    }
}

/// Refuses agents' tools, or lets them on.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct PauseBrowser {
    /// Whether they are refused.
    pub paused: bool,
}

impl FromFields for PauseBrowser {
    fn read(fields: &mut Fields) -> Self {
        Self {
            paused: fields.flag("paused"),
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::browser::{KeyModifiers, MouseButton};
    use serde_json::{Value, json};

    use super::*;
    use crate::request_fields;

    fn read<A: FromFields>(value: Value) -> Result<A, String> {
        request_fields::read::<A>(serde_json::from_value(value).unwrap()).map_err(|invalid| {
            let fields = invalid.field_errors.into_keys();
            let all: Vec<_> = fields.chain(invalid.form_errors).collect();
            all.join(" ")
        })
    }

    #[test]
    fn steps_are_flat_objects_with_a_type() {
        let steps = json!([
            {"type": "click", "x": 1, "y": 2.5, "button": "left", "count": 1},
            {"type": "wheel", "x": 1, "y": 2, "deltaX": 0, "deltaY": -10},
            {"type": "keyDown", "key": "a", "code": "KeyA", "modifiers": 8},
            {"type": "text", "text": "hello"},
        ]);
        let read_all = read::<TabInput>(json!({"connectionId": "x", "steps": steps})).unwrap();
        assert_eq!(
            read_all.steps,
            [
                rules::InputStep::Click {
                    x: 1.0,
                    y: 2.5,
                    button: MouseButton::Left,
                    count: 1
                },
                rules::InputStep::Wheel {
                    x: 1.0,
                    y: 2.0,
                    delta_x: 0.0,
                    delta_y: -10.0
                },
                rules::InputStep::KeyDown {
                    key: "a".to_owned(),
                    code: "KeyA".to_owned(),
                    modifiers: KeyModifiers(8)
                },
                rules::InputStep::Text {
                    text: "hello".to_owned()
                },
            ]
        );
        for (steps, wrong) in [
            (json!([{"type": "jump"}]), "steps.0.type"),
            (
                json!([{"type": "mouseMove", "x": "1", "y": 1}]),
                "steps.0.x",
            ),
            (json!([1]), "steps.0"),
            (json!(1), "steps"),
        ] {
            let ask = json!({"connectionId": "x", "steps": steps});
            assert_eq!(read::<TabInput>(ask).unwrap_err(), wrong);
        }
    }

    #[test]
    fn a_tab_goes_to_an_address_or_along_its_history() {
        for (ask, is_fine) in [
            (json!({"url": "a"}), true),
            (json!({"action": "back"}), true),
            (json!({}), false),
            (json!({"url": "a", "action": "back"}), false),
            (json!({"action": "sideways"}), false),
        ] {
            assert_eq!(read::<NavigateTab>(ask.clone()).is_ok(), is_fine, "{ask}");
        }
    }

    #[test]
    fn a_password_is_answered_whole_or_not_at_all() {
        for (ask, is_fine) in [
            (json!({"username": "a", "password": ""}), true),
            (json!({"cancel": true}), true),
            (json!({}), false),
            (json!({"username": "a"}), false),
            (json!({"cancel": false}), false),
            (
                json!({"username": "a", "password": "b", "cancel": true}),
                false,
            ),
        ] {
            assert_eq!(read::<AnswerAuth>(ask.clone()).is_ok(), is_fine, "{ask}");
        }
    }

    #[test]
    fn a_share_names_a_session_or_ends() {
        let id = "0192f0c1-2d3e-7abc-8def-0123456789ab";
        let named = read::<ShareBrowser>(json!({"sessionId": id})).unwrap();
        assert_eq!(named.session_id, SessionId::parse(id));
        let ended = read::<ShareBrowser>(json!({"sessionId": null})).unwrap();
        assert_eq!((ended.session_id, ended.tab_id), (None, None));
        for wrong in [
            json!({}),
            json!({"sessionId": "x"}),
            json!({"sessionId": 1}),
        ] {
            assert_eq!(read::<ShareBrowser>(wrong).unwrap_err(), "sessionId");
        }
    }
}
