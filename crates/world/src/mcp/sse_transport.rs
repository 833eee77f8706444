//! The transport of revision 2024-11-05: a stream that names a second address, to which
//! everything is posted. The crate no longer has one.

use std::sync::Arc;

use http::{Method, StatusCode, Uri};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};

use super::{
    McpError,
    connect::MESSAGE_BYTES_MAX,
    http_endpoint::{EVENTS, HttpEndpoint, SseStream, challenge, is_of},
    raw_message_tap::RawMessageTap,
    sse_parser::SseRead,
};
use crate::http_client::{read, within};

/// Bytes of an answer to a post that are read, so that the connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

pub(super) struct SseTransport {
    site: HttpEndpoint,
    post: Uri,
    stream: SseStream,
    ear: Arc<RawMessageTap>,
}

impl SseTransport {
    /// Opens the stream and waits until it names the other address, which must be of the same
    /// origin: everything is sent there, headers included.
    pub(super) async fn open(
        site: HttpEndpoint,
        ear: Arc<RawMessageTap>,
    ) -> Result<Self, McpError> {
        let request = site.request(Method::GET, &site.uri);
        let answer = site.outgoing.send(request).await?;
        if let Some(error) = failure(answer.status(), challenge(&answer)) {
            return Err(error);
        }
        if !is_of(&answer, EVENTS) {
            return Err(McpError::protocol("its stream is none"));
        }
        let mut stream = SseStream::of(answer.into_body(), MESSAGE_BYTES_MAX);
        loop {
            match stream.next().await? {
                Some(SseRead::Event(event)) if event.kind == "endpoint" => {
                    let post = within(&site.uri, event.data.trim());
                    let post = post.ok_or_else(|| {
                        McpError::protocol("it wants messages at an address of another origin")
                    })?;
                    return Ok(Self {
                        site,
                        post,
                        stream,
                        ear,
                    });
                }
                Some(SseRead::Event(_)) => {}
                Some(SseRead::TooLong(_)) | None => {
                    return Err(McpError::protocol("its stream names no address"));
                }
            }
        }
    }
}

/// What a status says that is no success.
fn failure(status: StatusCode, challenge: Option<String>) -> Option<McpError> {
    match challenge {
        Some(www_authenticate) if status == StatusCode::FORBIDDEN => {
            Some(McpError::InsufficientScope { www_authenticate })
        }
        Some(challenge) => Some(McpError::NeedsAuth {
            www_authenticate: Some(challenge).filter(|text| !text.is_empty()),
        }),
        None if status.is_success() => None,
        None => Some(McpError::Status {
            status: status.as_u16(),
        }),
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = McpError;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.ear.track_request(&item);
        let mut request = self.site.request(Method::POST, &self.post);
        let outgoing = self.site.outgoing.clone();
        async move {
            let body = serde_json::to_vec(&item);
            let body = body.map_err(|error| McpError::protocol(error.to_string()))?;
            *request.body_mut() = body.into();
            let answer = outgoing.send(request).await?;
            if let Some(error) = failure(answer.status(), challenge(&answer)) {
                return Err(error);
            }
            // What it says there does not matter: the answer comes over the stream.
            let _ = read(answer.into_body(), ANSWER_BYTES_MAX).await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // A stream that breaks off is over: this transport cannot take one up again.
            let message = match self.stream.next().await.ok()?? {
                SseRead::Event(event) if event.kind == "message" => {
                    self.ear.observe(&event.data);
                    serde_json::from_str(&event.data).ok()
                }
                SseRead::Event(_) => None,
                SseRead::TooLong(id) => self.ear.too_long(id.as_ref()),
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.ear.is_over();
        Ok(())
    }
}
