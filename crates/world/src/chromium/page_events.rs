//! What happens within a page that is there: answers, dialogs, pictures, words to its console.

use base64::{Engine, engine::general_purpose::STANDARD};
use guildhall_domain::{
    browser::{Dialog, DialogKind, truncated},
    ids::TabId,
    limits,
};
use serde_json::{Value, json};

use super::{
    BrowserEvent, ChromiumState, ConsoleLine, ScreencastFrame, isolated_scripts,
    protocol_events::text, target_registry::FramePolicy,
};

/// Characters of a net error.
const ERROR_CHARS_MAX: usize = 200;

impl ChromiumState {
    pub(super) fn responded(&self, session: &str, params: &Value) {
        if text(params, "/type") != "Document" {
            return;
        }
        let status = params.pointer("/response/status").and_then(Value::as_u64);
        if let Some((_, page)) = self.book.open().of_session(session)
            && page.load == text(params, "/requestId")
        {
            page.status = status.and_then(|status| status.try_into().ok());
        }
    }

    pub(super) async fn failed(&self, session: &str, params: &Value) {
        if text(params, "/type") != "Document" || params["canceled"] == true {
            return;
        }
        self.change(session, |page| {
            if page.load == text(params, "/requestId") {
                page.facts.error = Some(truncated(text(params, "/errorText"), ERROR_CHARS_MAX));
            }
        })
        .await;
    }

    pub(super) async fn dialog(&self, session: &str, params: &Value) {
        let plain = |pointer| truncated(text(params, pointer), limits::BROWSER_DIALOG_CHARS_MAX);
        let dialog = Dialog {
            kind: match text(params, "/type") {
                "confirm" => DialogKind::Confirm,
                "prompt" => DialogKind::Prompt,
                "beforeunload" => DialogKind::BeforeUnload,
                _ => DialogKind::Alert,
            },
            message: plain("/message"),
            default_text: plain("/defaultPrompt"),
        };
        self.change(session, |page| {
            page.facts.dialog = Some(dialog);
            page.dialogs.send_replace(true);
        })
        .await;
    }

    pub(super) async fn dialog_closed(&self, session: &str) {
        self.change(session, |page| {
            page.facts.dialog = None;
            page.dialogs.send_replace(false);
        })
        .await;
    }

    pub(super) async fn set_page_error(&self, session: &str, what: &str) {
        self.change(session, |page| page.facts.error = Some(what.to_owned()))
            .await;
    }

    pub(super) async fn crashed(&self, session: &str) {
        self.change(session, |page| {
            if page.session == session {
                page.has_document("");
                page.facts.loading = false;
                page.loading.send_replace(false);
                page.facts.error = Some("crashed".to_owned());
            }
        })
        .await;
    }

    pub(super) async fn change(
        &self,
        session: &str,
        change: impl FnOnce(&mut super::target_registry::RegisteredPage),
    ) {
        let tab = self.book.open().of_session(session).map(|(tab, page)| {
            change(page);
            tab
        });
        if let Some(tab) = tab {
            self.push_tab_changed(tab).await;
        }
    }

    /// Tells a picture; answers the tab whose film has to begin anew.
    ///
    /// A picture that is still being made while another document comes is told behind the news of
    /// that document. Shown, it would be taken for one of the new page, which hears what is pressed
    /// there before it has anything to press.
    pub(super) async fn frame(&self, session: &str, params: &Value) -> Option<TabId> {
        let number = params["sessionId"].as_i64().unwrap_or_default();
        let metadata = |name: &str| params["metadata"][name].as_f64().unwrap_or_default();
        // Between 0 and 65535, whatever it was.
        let side = |name: &str| metadata(name).round() as u16;
        let known = self
            .book
            .open()
            .of_session(session)
            .map(|(tab, page)| (tab, page.shows(metadata("timestamp"))));
        let (tab, shows) = known.unzip();
        let jpeg = STANDARD.decode(text(params, "/data")).unwrap_or_default();
        let fits = !jpeg.is_empty() && jpeg.len() <= limits::BROWSER_FRAME_BYTES_MAX;
        let Some(tab) = tab.filter(|_| fits && shows == Some(FramePolicy::Document)) else {
            self.acknowledge_frame(session, number).await;
            return tab.filter(|_| shows == Some(FramePolicy::BeforeAndLast));
        };
        let frame = ScreencastFrame {
            tab,
            jpeg: jpeg.into(),
            width: side("deviceWidth"),
            height: side("deviceHeight"),
            number,
        };
        if let Some(older) = self.mailbox.push(BrowserEvent::Frame(frame)).await
            && let Ok(session) = self.book.session(older.tab)
        {
            self.acknowledge_frame(&session, older.number).await;
        }
        None
    }

    /// Tells Chromium that a picture was seen, so that it takes the next one.
    pub(super) async fn acknowledge_frame(&self, session: &str, number: i64) {
        let params = json!({ "sessionId": number });
        self.wire
            .notify(session, "Page.screencastFrameAck", params)
            .await;
    }

    pub(super) fn console(&self, session: &str, params: &Value) {
        let args = params["args"].as_array().map(Vec::as_slice);
        let words = args
            .unwrap_or_default()
            .iter()
            .map(|arg| match &arg["value"] {
                Value::String(text) => text.clone(),
                Value::Null => text(arg, "/description").to_owned(),
                value => value.to_string(),
            });
        let words: Vec<String> = words.take(20).collect();
        self.append_console_line(session, text(params, "/type"), &words.join(" "));
    }

    pub(super) fn exception(&self, session: &str, params: &Value) {
        let details = "/exceptionDetails";
        let thrown = text(params, &format!("{details}/exception/description"));
        let said = text(params, &format!("{details}/text"));
        self.append_console_line(session, "error", &format!("{said} {thrown}"));
    }

    pub(super) fn append_console_line(&self, session: &str, level: &str, said: &str) {
        let line = ConsoleLine {
            level: truncated(level, 20),
            text: truncated(said, limits::BROWSER_CONSOLE_CHARS_MAX),
        };
        if let Some((_, page)) = self.book.open().of_session(session) {
            page.push_console_line(line);
        }
    }

    /// One of our own scripts says something; pages cannot call it.
    pub(super) async fn bound(&self, session: &str, params: &Value) {
        if text(params, "/name") != isolated_scripts::BINDING {
            return;
        }
        let Some((tab, _)) = self.book.open().of_session(session) else {
            return;
        };
        let payload = text(params, "/payload");
        if let Some(title) = payload.strip_prefix(isolated_scripts::TITLE) {
            return self.change(session, |page| page.has_title(title)).await;
        }
        let happening = match payload {
            isolated_scripts::HUMAN => BrowserEvent::HumanInput(tab),
            isolated_scripts::VISIBLE => BrowserEvent::Visible(tab),
            _ => return,
        };
        self.mailbox.push(happening).await;
    }
}
