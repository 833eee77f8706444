//! A browser: it keeps the cookie, reads the forms it is shown, and sends them as a browser does.

use std::cell::RefCell;

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::companion::{CompanionResponse, PASSWORD, TestCompanion, form};

/// Somebody at the pages of a companion.
pub(crate) struct CookieBrowser<'a> {
    companion: &'a TestCompanion,
    /// Where a proxy says that it comes from.
    from: &'a str,
    cookie: RefCell<Option<String>>,
}

impl TestCompanion {
    /// A browser that nobody is signed in with.
    pub(crate) fn strangers_browser<'a>(&'a self, from: &'a str) -> CookieBrowser<'a> {
        CookieBrowser {
            companion: self,
            from,
            cookie: RefCell::default(),
        }
    }

    /// A browser with a new account that is signed in.
    pub(crate) async fn browser(&self, email: &str) -> CookieBrowser<'_> {
        let browser = self.strangers_browser("192.0.2.1");
        let link = self.invite(email).await;
        let fields = [("password", PASSWORD), ("again", PASSWORD)];
        let answer = browser.post(&link, &fields).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        browser
    }
}

impl CookieBrowser<'_> {
    pub(crate) async fn get(&self, path: &str) -> CompanionResponse {
        self.send(Request::get(path).body(Bytes::new()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> CompanionResponse {
        let mut request = form(path, fields);
        let origin = format!("http://{}", self.companion.address);
        let headers = request.headers_mut();
        headers.insert("origin", origin.parse().unwrap());
        headers.insert("sec-fetch-site", "same-origin".parse().unwrap());
        self.send(request).await
    }

    /// Sends anything with what the browser keeps.
    pub(crate) async fn send(&self, mut request: Request<Bytes>) -> CompanionResponse {
        let headers = request.headers_mut();
        headers.insert("x-forwarded-for", self.from.parse().unwrap());
        if let Some(cookie) = &*self.cookie.borrow() {
            headers.insert("cookie", cookie.parse().unwrap());
        }
        let answer = self.companion.send(request).await;
        if let Some(set) = answer.headers.get("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            *self.cookie.borrow_mut() = Some(pair.to_owned());
        }
        answer
    }

    /// What the forms of this session carry, as it stands on a page.
    pub(crate) async fn form_token(&self) -> String {
        let page = self.get("/activate").await.shows(200, "Type the code").body;
        hidden(&page, "token")
    }

    /// Follows a device's link to the page and presses one of its buttons.
    pub(crate) async fn decide(&self, device: &Value, decision: &str) -> CompanionResponse {
        let place = device["verification_uri_complete"].as_str().unwrap();
        let path = place.split_once("/activate").unwrap().1;
        let page = self.get(&format!("/activate{path}")).await;
        let page = page.shows(200, "Link this guildhall?").body;
        let (token, code) = (hidden(&page, "token"), hidden(&page, "user_code"));
        let fields = [
            ("token", token.as_str()),
            ("user_code", &code),
            ("decision", decision),
        ];
        self.post("/activate", &fields).await
    }

    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> CompanionResponse {
        self.post("/login", &[("email", email), ("password", password)])
            .await
    }
}

/// The value of a hidden field.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let field = format!("name=\"{name}\" value=\"");
    let (_, after) = page
        .split_once(&field)
        .unwrap_or_else(|| panic!("{name}: {page}"));
    after.split('"').next().unwrap().to_owned()
}
