//! What a server may ask of us: the folder it works in, and questions to a person. Nothing else.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use rmcp::{
    RoleClient, Service,
    model::{
        ClientCapabilities, ClientConfig, ClientResult, CustomResult, ElicitationCapability,
        ErrorCode, ErrorData, FormElicitationCapability, Implementation, ProtocolVersion,
        ServerNotification, ServerRequest, UrlElicitationCapability,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    ClientCallbacks, ElicitationRequest, ElicitationResult, RequestTag,
    raw_message_tap::RawMessageTap,
};

/// Questions of one server that wait for an answer at once.
const AT_ONCE_MAX: usize = 16;

/// Answers the questions of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ServerRequestHandler {
    hooks: Arc<ClientCallbacks>,
    ear: Arc<RawMessageTap>,
    room: Arc<Semaphore>,
}

impl ServerRequestHandler {
    pub(super) fn new(hooks: ClientCallbacks, ear: Arc<RawMessageTap>) -> Self {
        Self {
            hooks: Arc::new(hooks),
            ear,
            room: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        }
    }

    /// How often the server said that its tools are others.
    pub(super) fn tools_changes(&self) -> u64 {
        self.ear.tools_changes.load(Ordering::Acquire)
    }

    /// The answer to a request of the server, which came of one of `tags`.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: Value,
        tags: Vec<RequestTag>,
    ) -> Result<Value, ErrorData> {
        let Ok(_room) = self.room.try_acquire() else {
            let why = "too many questions at once";
            return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None));
        };
        match (method, &self.hooks.elicit, &self.hooks.root) {
            ("ping", _, _) => Ok(json!({})),
            ("roots/list", _, Some(root)) => Ok(json!({"roots": [listed(root)]})),
            ("elicitation/create", Some(elicit), _) => {
                Ok(match elicit(ElicitationRequest { params, tags }).await {
                    ElicitationResult::Accept(Value::Null) => json!({"action": "accept"}),
                    ElicitationResult::Accept(content) => {
                        json!({"action": "accept", "content": content})
                    }
                    ElicitationResult::Decline => json!({"action": "decline"}),
                    ElicitationResult::Cancel => json!({"action": "cancel"}),
                })
            }
            ("sampling/createMessage", _, _) => {
                let why = "sampling is not offered here";
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
            }
            _ => {
                let why = "this is not offered here";
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
            }
        }
    }
}

fn listed(root: &Path) -> Value {
    let name = root.file_name().unwrap_or_default();
    json!({"uri": file_address(root), "name": name.to_string_lossy()})
}

/// The `file` address of an absolute path.
fn file_address(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut address = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            address.push(byte.into());
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

impl Service<RoleClient> for ServerRequestHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        // As it is written, so that what the crate knows and what it does not are asked alike.
        let unreadable = |_| ErrorData::new(ErrorCode::INTERNAL_ERROR, "unreadable", None);
        let mut raw = serde_json::to_value(&request).map_err(unreadable)?;
        let method = raw["method"].as_str().unwrap_or_default().to_owned();
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            Some(InboundStreamOrigin::Unassociated) | None => None,
        };
        let tags = self.ear.tags(origin);
        let answer = self.answer(&method, raw["params"].take(), tags);
        let answer = tokio::select! {
            answer = answer => answer?,
            () = context.ct.cancelled() => {
                return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled", None));
            }
        };
        Ok(ClientResult::CustomResult(CustomResult(answer)))
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        // Heard already, in its order.
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = capabilities(&self.hooks);
        let own = Implementation::new("guildhall", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, own);
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }
}

fn capabilities(hooks: &ClientCallbacks) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    if hooks.elicit.is_some() {
        capabilities.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default()),
        );
    }
    if hooks.root.is_some() {
        capabilities.roots = Some(Default::default());
    }
    capabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_an_address_that_any_server_reads() {
        assert_eq!(
            listed(Path::new("/home/ä b")),
            json!({"uri": "file:///home/%C3%A4%20b", "name": "ä b"})
        );
    }

    #[tokio::test]
    async fn sampling_is_refused_and_so_is_what_nobody_offers() {
        let answers = ServerRequestHandler::new(ClientCallbacks::default(), Arc::default());
        for method in [
            "sampling/createMessage",
            "roots/list",
            "elicitation/create",
            "x",
        ] {
            let refused = answers.answer(method, Value::Null, Vec::new()).await;
            assert_eq!(
                refused.unwrap_err().code,
                ErrorCode::METHOD_NOT_FOUND,
                "{method}"
            );
        }
        let ping = answers.answer("ping", Value::Null, Vec::new()).await;
        assert_eq!(ping.unwrap(), json!({}));
    }
}
