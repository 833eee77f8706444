//! Fetching an OpenAPI document, JSON or YAML.

use std::time::Duration;

use bytes::Bytes;
use guildhall_domain::limits::connectors::{CONNECTOR_REDIRECTS_MAX, OPENAPI_DOCUMENT_BYTES_MAX};
use http::{
    HeaderValue, Request,
    header::{ACCEPT, USER_AGENT},
};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{AGENT, Services, http_talk::ask};
use crate::{
    outgoing::read,
    yaml::{self, Extent},
};

/// How long a document may take to come.
const WAIT: Duration = Duration::from_secs(30);

/// Why there is no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It could not be had.
    #[error("the document could not be read: {0}")]
    Unreachable(String),
    /// It is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {0}")]
    Unreadable(String),
}

impl Services {
    /// The document at an address.
    ///
    /// # Errors
    /// See [`Unread`].
    pub async fn document(&self, url: &str) -> Result<Value, Unread> {
        let unreachable = |why: &dyn std::fmt::Display| Unread::Unreachable(why.to_string());
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
        let asked = ask(way, request, CONNECTOR_REDIRECTS_MAX, until).await;
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
        parse(&body).map_err(Unread::Unreadable)
    }
}

/// A document that is JSON or YAML.
fn parse(bytes: &[u8]) -> Result<Value, String> {
    let as_json = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    // What begins like JSON is meant to be, and its mistakes are told as such.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return Err(as_json);
    }
    yaml::read(bytes, Extent::Document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
