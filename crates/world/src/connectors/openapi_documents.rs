//! Fetching an OpenAPI document, JSON or YAML.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use guildhall_domain::{
    bounded_json,
    limits::connectors::{
        CONNECTOR_REDIRECTS_MAX, OPENAPI_DOCUMENT_BYTES_MAX, OPENAPI_DOCUMENT_VALUES_MAX,
    },
};
use http::{
    HeaderValue, Request,
    header::{ACCEPT, USER_AGENT},
};
use serde_json::Value;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout_at},
};
use url::Url;

use super::{AGENT, ServiceClients, http_execution::send_request};
use crate::{
    http_client::read,
    yaml::{self, YamlLimits},
};

/// How long a document may take to come.
const WAIT: Duration = Duration::from_secs(30);
/// Documents that are parsed at once: each may take a processor for a while.
pub(super) const PARSED_AT_ONCE_MAX: usize = 2;

/// Why there is no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It could not be had.
    #[error("the document could not be read: {0}")]
    Unreachable(String),
    /// It is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {0}")]
    Unreadable(String),
}

impl ServiceClients {
    /// The document at an address.
    ///
    /// # Errors
    /// See [`DocumentError`].
    pub async fn fetch_document(&self, url: &str) -> Result<Value, DocumentError> {
        let unreachable = |why: &dyn std::fmt::Display| DocumentError::Unreachable(why.to_string());
        let parsed = Url::parse(url).map_err(|error| unreachable(&error))?;
        let way = self.way(&parsed);
        let way = way.ok_or_else(|| unreachable(&"its address is none that may be asked"))?;
        let request = Request::get(parsed.as_str())
            .header(USER_AGENT, HeaderValue::from_static(AGENT))
            .header(
                ACCEPT,
                HeaderValue::from_static("application/json, application/yaml, */*;q=0.5"),
            )
            .body(Bytes::new())
            .map_err(|error| unreachable(&error))?;
        let until = Instant::now() + WAIT;
        let asked = send_request(way, request, CONNECTOR_REDIRECTS_MAX, until).await;
        let answer = asked.map_err(|undone| unreachable(&undone))?;
        if !answer.status().is_success() {
            let status = answer.status().as_u16();
            return Err(unreachable(&format!(
                "it was answered with status {status}"
            )));
        }
        let body = timeout_at(until, read(answer.into_body(), OPENAPI_DOCUMENT_BYTES_MAX)).await;
        let body = body.map_err(|_| unreachable(&"it did not come in time"))?;
        let body = body.map_err(|error| unreachable(&error))?;
        self.parsed(move || parse(&body)).await
    }

    /// Parses a document off the async threads, in its turn.
    async fn parsed(
        &self,
        parse: impl FnOnce() -> Result<Value, String> + Send + 'static,
    ) -> Result<Value, DocumentError> {
        let turn = Arc::clone(&self.parsing).acquire_owned().await;
        let turn = turn.map_err(|closed| DocumentError::Unreachable(closed.to_string()))?;
        let parsing = spawn_blocking(move || {
            let parsed = parse();
            // The work keeps its turn also when nobody waits for it any more.
            drop(turn);
            parsed
        });
        let parsed = parsing.await;
        let parsed = parsed.map_err(|broken| DocumentError::Unreachable(broken.to_string()))?;
        parsed.map_err(DocumentError::Unreadable)
    }
}

/// A document that is JSON or YAML.
fn parse(bytes: &[u8]) -> Result<Value, String> {
    let as_json = match bounded_json::read(bytes, OPENAPI_DOCUMENT_VALUES_MAX) {
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    // What begins like JSON is meant to be, and its mistakes are told as such.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return Err(as_json);
    }
    yaml::read(bytes, YamlLimits::Document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::{sync::mpsc, task::JoinSet};

    use super::*;
    use crate::http_client::{HttpClient, ListenerPorts};

    #[test]
    fn documents_are_json_or_yaml() {
        let yaml = b"openapi: 3.0.0\npaths:\n  /x:\n    get:\n      responses:\n        200: {}\n";
        assert_eq!(
            parse(yaml).unwrap(),
            json!({"openapi": "3.0.0", "paths": {"/x": {"get": {"responses": {"200": {}}}}}})
        );
        assert_eq!(parse(b" {\"a\": 1}").unwrap(), json!({"a": 1}));
        assert!(parse(b"{\"a\": 1,}").is_err());
    }

    #[test]
    fn a_json_document_has_as_many_values_as_a_yaml_one() {
        let many = |values: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(values - 3));
        assert!(parse(many(OPENAPI_DOCUMENT_VALUES_MAX).as_bytes()).is_ok());
        let refused = parse(many(OPENAPI_DOCUMENT_VALUES_MAX + 1).as_bytes()).unwrap_err();
        assert!(
            refused.starts_with("there are too many values"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn documents_are_parsed_off_the_async_thread_a_few_at_a_time() {
        let services = ServiceClients::new(&HttpClient::open(ListenerPorts::default()).unwrap());
        let mut parsings = JoinSet::new();
        let mut held = Vec::new();
        let (begun_tx, mut begun) = mpsc::unbounded_channel();
        for _ in 0..=PARSED_AT_ONCE_MAX {
            let (services, begun_tx) = (services.clone(), begun_tx.clone());
            let (go_on, wait) = std::sync::mpsc::channel::<()>();
            held.push(go_on);
            parsings.spawn(async move {
                let parse = move || {
                    begun_tx.send(()).unwrap();
                    // Ends with its sender.
                    wait.recv().unwrap_err();
                    Ok(Value::Null)
                };
                services.parsed(parse).await
            });
        }
        // This thread, the only one that drives futures, waits for none of them.
        for _ in 0..PARSED_AT_ONCE_MAX {
            begun.recv().await.unwrap();
        }
        assert_eq!(services.parsing.available_permits(), 0);
        assert!(begun.try_recv().is_err());
        held.clear();
        begun.recv().await.unwrap();
        for parsed in parsings.join_all().await {
            assert_eq!(parsed, Ok(Value::Null));
        }
    }
}
