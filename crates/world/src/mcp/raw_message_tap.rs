//! What is heard of a server beside what the protocol's crate makes of it: results exactly as
//! they were written, progress in its order, and notifications, which never wait for anybody.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetExtensions, GetMeta,
    NumberOrString, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::{Number, Value, value::RawValue};
use tokio::sync::{Notify, mpsc};

use super::RequestTag;

/// How many notifications wait for whoever listens; then the oldest are forgotten.
const NOTICES_MAX: usize = 64;
/// Characters of what progress says that are passed on.
const PROGRESS_CHARS_MAX: usize = 2_000;

/// How far a server is with something.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressUpdate {
    /// How much is done.
    pub progress: Number,
    /// How much there is to do, where it is known.
    pub total: Option<Number>,
    /// The same in words, where there are any.
    pub message: Option<String>,
}

/// Something a server said unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct RawNotification {
    /// Such as `notifications/tools/list_changed`.
    pub method: String,
    /// As they were written; null when there are none.
    pub params: Value,
}

impl RawNotification {
    /// Whether it says that the list of tools is another.
    pub fn is_tools_changed(&self) -> bool {
        self.method == "notifications/tools/list_changed"
    }

    /// Whether saying it once is as good as saying it twice.
    fn is_change_of_list(&self) -> bool {
        self.method.ends_with("/list_changed")
    }
}

/// What a server says unasked, in order. Changes of lists are never lost; of the others the
/// oldest are, when nobody listens.
#[derive(Clone, Debug)]
pub struct RawNotifications(Arc<RawMessageTap>);

impl RawNotifications {
    pub(super) fn of(ear: &Arc<RawMessageTap>) -> Self {
        Self(Arc::clone(ear))
    }

    /// The next one; waits for it as long as the server can say anything. Cancel-safe.
    pub async fn next(&self) -> Option<RawNotification> {
        loop {
            let news = self.0.news.notified();
            let is_over = self.0.is_over.load(Ordering::Acquire);
            if let Some(notice) = guard(&self.0.notices).pop_front() {
                return Some(notice);
            }
            if is_over {
                return None;
            }
            news.await;
        }
    }
}

/// A question of ours and where what comes of it goes; it ends with whoever asked.
#[derive(Debug)]
pub(super) struct TrackedRequest {
    pub(super) tag: RequestTag,
    /// The result as it was written.
    // A std mutex, as all in here: held for a move and never over an await.
    result: Mutex<Option<Box<RawValue>>>,
    progress: Option<mpsc::Sender<ProgressUpdate>>,
    /// Told when there is progress.
    pub(super) renewed: Notify,
    is_too_large: AtomicBool,
}

impl TrackedRequest {
    pub(super) fn new(
        tag: RequestTag,
        progress: Option<mpsc::Sender<ProgressUpdate>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            tag,
            result: Mutex::default(),
            progress,
            renewed: Notify::new(),
            is_too_large: AtomicBool::new(false),
        })
    }

    pub(super) fn take(&self) -> Option<Box<RawValue>> {
        guard(&self.result).take()
    }

    /// Whether its answer was beyond the bound.
    pub(super) fn is_too_large(&self) -> bool {
        self.is_too_large.load(Ordering::Acquire)
    }
}

/// Travels with a request to the transport, unseen by the server.
#[derive(Clone)]
pub(super) struct RequestExtension(pub(super) Arc<TrackedRequest>);

/// What one connection hears.
#[derive(Debug, Default)]
pub(super) struct RawMessageTap {
    by_id: Mutex<HashMap<String, Weak<TrackedRequest>>>,
    by_token: Mutex<HashMap<String, Weak<TrackedRequest>>>,
    notices: Mutex<VecDeque<RawNotification>>,
    news: Notify,
    is_over: AtomicBool,
    /// How often it was said that the list of tools is another.
    pub(super) tools_changes: AtomicU64,
    /// Whether the server turned out to want no handshake after it was given up on.
    pub(super) is_late_direct: AtomicBool,
}

/// What is looked at of any message.
#[derive(Deserialize)]
struct MessageEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams {
    progress_token: Value,
    progress: Number,
    #[serde(default)]
    total: Option<Number>,
    #[serde(default)]
    message: Option<String>,
}

impl RawMessageTap {
    /// Takes note of a question on its way to the server.
    pub(super) fn track_request(&self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(request) = message else {
            return;
        };
        let ClientRequest::CustomRequest(custom) = &request.request else {
            return;
        };
        let Some(RequestExtension(asked)) = custom.extensions().get::<RequestExtension>() else {
            return;
        };
        let (id, asked) = (key(&request.id), Arc::downgrade(asked));
        if let Some(token) = custom.get_meta().get_progress_token() {
            enter(&self.by_token, key(&token.0), Weak::clone(&asked));
        }
        enter(&self.by_id, id, asked);
    }

    /// Looks at a message as it was written, before anybody else does.
    pub(super) fn observe(&self, text: &str) {
        let Ok(peek) = serde_json::from_str::<MessageEnvelope<'_>>(text) else {
            return;
        };
        match (peek.id, peek.method) {
            (None, Some(method)) => self.notified(&method, peek.params),
            (Some(id), None) => {
                let asked = serde_json::from_str(id.get())
                    .ok()
                    .and_then(|id| self.asked(&id));
                if let (Some(asked), Some(result)) = (asked, peek.result) {
                    *guard(&asked.result) = Some(result.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Answers in the server's place that its answer is beyond the bound; `None` when nobody
    /// waits for it.
    pub(super) fn too_long(&self, id: Option<&Value>) -> Option<ServerJsonRpcMessage> {
        let id = id?;
        if let Some(asked) = self.asked(id) {
            asked.is_too_large.store(true, Ordering::Release);
        }
        let id: RequestId = serde_json::from_value(id.clone()).ok()?;
        Some(ServerJsonRpcMessage::error(
            ErrorData::new(ErrorCode::INTERNAL_ERROR, "the answer is too large", None),
            Some(id),
        ))
    }

    /// The marks of the questions that wait for an answer; of `only` this one, where it waits.
    pub(super) fn tags(&self, only: Option<&RequestId>) -> Vec<RequestTag> {
        let waiting = guard(&self.by_id);
        let one = only.and_then(|id| waiting.get(&key(id))?.upgrade());
        let mut tags: Vec<RequestTag> = match one {
            Some(asked) => vec![asked.tag],
            None => waiting
                .values()
                .filter_map(|asked| Some(asked.upgrade()?.tag))
                .collect(),
        };
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    /// Nothing comes any more.
    pub(super) fn is_over(&self) {
        self.is_over.store(true, Ordering::Release);
        self.news.notify_waiters();
    }

    fn asked(&self, id: &Value) -> Option<Arc<TrackedRequest>> {
        guard(&self.by_id).get(&key_of(id)?)?.upgrade()
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/progress" {
            if let Some(told) = params.and_then(|params| serde_json::from_str(params.get()).ok()) {
                self.progressed(told);
            }
            return;
        }
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
        let notice = RawNotification {
            method: method.to_owned(),
            params: params.unwrap_or_default(),
        };
        if notice.is_tools_changed() {
            self.tools_changes.fetch_add(1, Ordering::AcqRel);
        }
        let mut notices = guard(&self.notices);
        let is_known =
            notice.is_change_of_list() && notices.iter().any(|old| old.method == notice.method);
        if is_known {
            return;
        }
        if notices.len() >= NOTICES_MAX {
            let oldest = notices.iter().position(|old| !old.is_change_of_list());
            notices.remove(oldest.unwrap_or_default());
        }
        notices.push_back(notice);
        drop(notices);
        // One that is about to listen looks first.
        self.news.notify_waiters();
    }

    fn progressed(&self, told: ProgressParams) {
        let asked = key_of(&told.progress_token)
            .and_then(|token| guard(&self.by_token).get(&token)?.upgrade());
        let Some(asked) = asked else {
            return;
        };
        asked.renewed.notify_one();
        if let Some(progress) = &asked.progress {
            let message = told.message.map(|message| {
                let shown: String = message.chars().take(PROGRESS_CHARS_MAX).collect();
                shown
            });
            // Whoever does not listen misses some of it.
            let _ = progress.try_send(ProgressUpdate {
                progress: told.progress,
                total: told.total,
                message,
            });
        }
    }
}

fn enter(
    map: &Mutex<HashMap<String, Weak<TrackedRequest>>>,
    key: String,
    asked: Weak<TrackedRequest>,
) {
    let mut map = guard(map);
    map.retain(|_, asked| asked.strong_count() > 0);
    map.insert(key, asked);
}

fn key(id: &NumberOrString) -> String {
    id.to_string()
}

/// Ids and tokens of ours are numbers, which some servers write as text.
fn key_of(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "raw_message_tap_tests.rs"]
mod tests;
