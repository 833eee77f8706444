//! The documentation pages: the interface document and the error codes, as HTML.
//! Rendered here from the same document that `/api/openapi.json` serves; no script, no request
//! to anywhere but this server.

pub(crate) mod html;
mod operations;
mod schemas;

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{
        HeaderValue, Response,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::IntoResponse,
    routing::get,
};
use bytes::Bytes;
use serde_json::Value;

use self::html::{Html, escape};
use crate::{guards::GuardRefusal, web_page};

/// One error code as its page explains it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorDoc {
    /// The stable `UPPER_SNAKE` code.
    pub code: &'static str,
    /// The status it comes with.
    pub status: u16,
    /// A fixed title of a few words.
    pub title: &'static str,
    /// What it means, in one or two plain sentences.
    pub meaning: &'static str,
    /// What to do about it, in one or two plain sentences.
    pub advice: &'static str,
}

/// What the documentation is made of.
pub struct Docs {
    interface: fn() -> &'static Value,
    errors: Vec<ErrorDoc>,
    faults: &'static [ErrorDoc],
    /// The interface page, made when it is first asked for: start-up does not wait for it.
    interface_page: OnceLock<Bytes>,
}

/// The docs pages load one style sheet and nothing else.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("../assets/docs.css");
const STYLE_TYPE: &str = "text/css; charset=utf-8";
const PAGE_TYPE: &str = "text/html; charset=utf-8";

impl Docs {
    /// Documentation of `interface`, an OpenAPI 3.1 document, of `errors`, and of the `faults`
    /// that stand in an answer, by code.
    pub fn new(
        interface: fn() -> &'static Value,
        errors: Vec<ErrorDoc>,
        faults: &'static [ErrorDoc],
    ) -> Self {
        Self {
            interface,
            errors,
            faults,
            interface_page: OnceLock::new(),
        }
    }

    /// The interface as one page.
    fn interface_page(&self) -> Bytes {
        let make = || Bytes::from(self.render_interface());
        self.interface_page.get_or_init(make).clone()
    }

    fn render_interface(&self) -> String {
        let interface = (self.interface)();
        let groups = operations::groups(interface);
        let mut nav = Html::default();
        operations::contents(&mut nav, &groups);
        schemas::contents(&mut nav, interface);
        nav.raw("<h2><a href=\"#errors\">Error codes</a></h2>");

        let mut main = Html::default();
        let info = &interface["info"];
        main.raw("<header><h1>")
            .text(info["title"].as_str().unwrap_or("guildhall"))
            .raw(" <small>")
            .text(info["version"].as_str().unwrap_or_default())
            .raw("</small></h1>");
        main.prose(info["description"].as_str().unwrap_or_default());
        main.raw("<p>The same as a document for programs: <a href=\"/api/openapi.json\"><code>/api/openapi.json</code></a>.</p></header>");
        operations::sections(&mut main, &groups);
        schemas::section(&mut main, interface);
        self.error_table(&mut main);
        frame("Interface", &nav, &main)
    }

    fn error_table(&self, main: &mut Html) {
        main.raw("<section id=\"errors\"><h2>Error codes</h2><div class=\"wide\"><table><thead><tr><th>Code</th><th>Status</th><th>Title</th></tr></thead><tbody>");
        for error in self.codes() {
            main.raw("<tr><td>")
                .error_link(error.code)
                .raw("</td><td>")
                .text(&error.status.to_string())
                .raw("</td><td>")
                .text(error.title)
                .raw("</td></tr>");
        }
        main.raw("</tbody></table></div></section>");
    }

    fn codes(&self) -> impl Iterator<Item = &ErrorDoc> {
        self.errors.iter().chain(self.faults)
    }

    /// The page of one code, `None` for a code that does not exist.
    fn error_page(&self, code: &str) -> Option<String> {
        let error = self.codes().find(|error| error.code == code)?;
        let mut main = Html::default();
        main.raw("<article class=\"error\"><p><code>")
            .text(error.code)
            .raw("</code> <span class=\"badge\">")
            .text(&error.status.to_string())
            .raw("</span></p><h1>")
            .text(error.title)
            .raw("</h1><h2>What it means</h2>");
        main.prose(error.meaning);
        main.raw("<h2>What to do</h2>");
        main.prose(error.advice);
        main.raw("<p><a href=\"/docs#errors\">All error codes</a></p></article>");
        Some(frame(error.code, &Html::default(), &main))
    }
}

/// `GET /docs`, `GET /docs/errors/{code}` and the style sheet of both.
pub fn routes<S: Clone + Send + Sync + 'static>(docs: Arc<Docs>) -> Router<S> {
    Router::new()
        .route("/docs", get(interface))
        .route("/docs/errors/{code}", get(error))
        .route("/docs/assets/docs.css", get(style))
        .with_state(docs)
}

async fn interface(State(docs): State<Arc<Docs>>) -> Response<Body> {
    answer(PAGE_TYPE, docs.interface_page())
}

async fn error(State(docs): State<Arc<Docs>>, Path(code): Path<String>) -> Response<Body> {
    match docs.error_page(&code) {
        Some(page) => answer(PAGE_TYPE, page),
        None => GuardRefusal::NoRoute.into_response(),
    }
}

async fn style() -> Response<Body> {
    answer(STYLE_TYPE, STYLE)
}

fn answer(content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    web_page::isolate(headers, CONTENT_POLICY);
    response
}

/// A whole page; an empty `nav` is left out.
fn frame(title: &str, nav: &Html, main: &Html) -> String {
    let nav = if nav.as_str().is_empty() {
        String::new()
    } else {
        format!("<nav aria-label=\"Contents\">{}</nav>", nav.as_str())
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{} · guildhall</title>\
         <link rel=\"stylesheet\" href=\"/docs/assets/docs.css\"></head>\
         <body><a class=\"skip\" href=\"#main\">Skip to the content</a>\
         <div class=\"bar\"><a href=\"/docs\">guildhall</a> <a href=\"/\">Open the page</a></div>\
         <div class=\"columns\">{nav}<main id=\"main\">{}</main></div></body></html>\n",
        escape(title),
        main.as_str()
    )
}

#[cfg(test)]
#[path = "docs_tests.rs"]
mod tests;
