//! What is said on the stream of the local browser. Source: contract 7.6.

use guildhall_domain::{browser as rules, ids::TabId, limits};
use serde::Serialize;

use super::{BrowserState, input_steps::steps};
use crate::request_fields::{Fields, FromFields};

/// What a viewer says on the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamClientMessage {
    /// It wants pictures of a tab, or none.
    View {
        /// Of which.
        tab: Option<TabId>,
        /// Pixels at most, 1 to 4096.
        max_width: u32,
        /// Pixels at most, 1 to 4096.
        max_height: u32,
    },
    /// It has seen a picture, whose number no other one has, in whichever view.
    Ack {
        /// Which.
        sequence: u32,
    },
    /// It does something.
    Input {
        /// What it calls this.
        id: u32,
        /// In which view.
        view: u32,
        /// What.
        steps: Vec<rules::InputStep>,
    },
    /// Nothing that could be read.
    Nonsense,
}

/// The kinds of what a viewer says.
#[derive(Clone, Copy)]
enum ClientMessageKind {
    View,
    Ack,
    Input,
}

impl FromFields for StreamClientMessage {
    fn read(fields: &mut Fields) -> Self {
        let words = [
            (ClientMessageKind::View, "view"),
            (ClientMessageKind::Ack, "ack"),
            (ClientMessageKind::Input, "input"),
        ];
        match fields.known_choice("type", &words) {
            Some(ClientMessageKind::View) => {
                let tab = fields.patch_text("tabId").flatten();
                let mut side = |name: &str| {
                    let side: Option<u32> = fields.maybe_number(name);
                    let max = *limits::BROWSER_VIEWPORT_PX.end();
                    if side.is_some_and(|side| side == 0 || side > max) {
                        fields.fail_field(name, &format!("must be 1 to {max}"));
                    }
                    side.unwrap_or(max)
                };
                let (max_width, max_height) = (side("maxWidth"), side("maxHeight"));
                Self::View {
                    tab: tab.map(|tab| TabId::named(&tab)),
                    max_width,
                    max_height,
                }
            }
            Some(ClientMessageKind::Ack) => {
                // It must be a number as everywhere, and says nothing that the other does not.
                let _: u32 = fields.number("viewId");
                let sequence = fields.number("sequence");
                Self::Ack { sequence }
            }
            Some(ClientMessageKind::Input) => Self::Input {
                id: fields.number("id"),
                view: fields.number("viewId"),
                steps: steps(fields),
            },
            None => Self::Nonsense,
        }
    }
}

/// What a viewer is told in words.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum StreamServerMessage<'a> {
    /// The whole state.
    State(&'a BrowserState),
    /// What pictures with this number show.
    View {
        /// The number.
        view_id: u32,
        /// The tab.
        tab_id: String,
        /// The process.
        connection_id: String,
    },
    /// What became of its input.
    InputResult {
        /// What it called that.
        id: u32,
        /// Whether Chromium took it.
        ok: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
    },
    /// Where an agent does something.
    AgentCursor {
        /// In which tab.
        tab_id: String,
        /// CSS pixels from the left.
        x: f64,
        /// CSS pixels from above.
        y: f64,
        /// What.
        action: &'a str,
    },
}
