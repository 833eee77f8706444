//! The pages of ours that stand where a preview would: short, without anything to load.

use axum::{
    body::Body,
    http::{
        HeaderValue, Response, StatusCode,
        header::{
            CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
            RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::IntoResponse,
};

use crate::docs::html::escape;

/// What keeps a request from the dev server, or its answer from the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyError {
    /// No token, or one that does not open this preview.
    Stranger,
    /// The request is not what it should be.
    Unclear(&'static str),
    /// A page of another origin opens a socket.
    ForeignSocket,
    /// As many sockets are open as may be.
    TooManySockets,
    /// The request came through here before.
    Loop,
    /// Nothing listens on the dev server's port.
    NobodyListens(u16),
    /// The dev server ended the connection, or said what is no HTTP.
    Broken(u16),
    /// The dev server said nothing in time.
    Silent(u16),
    /// Our own fault.
    Fault,
}

impl ProxyError {
    fn status(self) -> StatusCode {
        match self {
            Self::Stranger => StatusCode::UNAUTHORIZED,
            Self::Unclear(_) => StatusCode::BAD_REQUEST,
            Self::ForeignSocket => StatusCode::FORBIDDEN,
            Self::TooManySockets => StatusCode::SERVICE_UNAVAILABLE,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::NobodyListens(_) | Self::Broken(_) => StatusCode::BAD_GATEWAY,
            Self::Silent(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Fault => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Stranger => "Open the preview again",
            Self::Unclear(_) | Self::ForeignSocket | Self::Fault => "This did not work",
            Self::TooManySockets => "Too many connections",
            Self::Loop => "This preview leads to itself",
            Self::NobodyListens(_) | Self::Silent(_) => "The dev server does not answer",
            Self::Broken(_) => "The dev server broke off",
        }
    }

    fn text(self) -> String {
        match self {
            Self::Stranger => "The address of this preview no longer counts, or was never made. \
                Open the preview again in guildhall."
                .to_owned(),
            Self::Unclear(why) => why.to_owned(),
            Self::ForeignSocket => "A page of another origin opened this connection.".to_owned(),
            Self::TooManySockets => "Close a tab of this preview and try again.".to_owned(),
            Self::Loop => "The dev server hands requests back to this preview. Change where it \
                sends them."
                .to_owned(),
            Self::NobodyListens(port) => format!(
                "Nothing is listening on port {port}. Start the dev server; this page looks again \
                 by itself."
            ),
            Self::Broken(port) => {
                format!("What listens on port {port} ended the connection, or does not speak HTTP.")
            }
            Self::Silent(port) => {
                format!("What listens on port {port} took the request and said nothing to it.")
            }
            Self::Fault => "Something broke on our side. Try again.".to_owned(),
        }
    }
}

impl IntoResponse for ProxyError {
    fn into_response(self) -> Response<Body> {
        let reload = match self {
            Self::NobodyListens(_) => "<meta http-equiv=\"refresh\" content=\"2\">\n",
            _ => "",
        };
        let (title, text) = (self.title(), self.text());
        let text = escape(&text);
        let page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n{reload}<title>{title}</title>\n\
             <h1>{title}</h1>\n<p>{text}</p>\n</html>\n"
        );
        let mut response = (self.status(), page).into_response();
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CONTENT_SECURITY_POLICY, "default-src 'none'"),
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // Whatever else was sent is not read.
            (CONNECTION, "close"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        match self {
            Self::Stranger => {
                let challenge = HeaderValue::from_static("Bearer realm=\"guildhall\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            Self::TooManySockets => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
