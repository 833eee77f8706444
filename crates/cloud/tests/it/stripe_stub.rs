//! A stub of the payment service, in process: it records what it is asked, answers like Stripe,
//! and plays what goes wrong there: 402, 429, 500, silence, and a connection that breaks off.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::form_urlencoded;

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Play {
    /// Nothing.
    Well,
    /// It says no with this status.
    Refuse(u16),
    /// It wants to be asked again in so many seconds.
    Later(u32),
    /// It does what it was asked, and the connection breaks before the answer.
    HangUp,
    /// It never answers.
    Silence,
    /// It answers with a page's address that nobody should follow.
    Mislead(&'static str),
}

/// A request as the payment service saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) form: Vec<(String, String)>,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self.form.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Books {
    seen: Vec<Seen>,
    plays: VecDeque<Play>,
    /// By idempotency key, as Stripe keeps them: failures of its own too.
    kept: HashMap<String, (u16, Value)>,
    customers: usize,
}

/// The stub; it ends when it is dropped.
pub(crate) struct StripeStub {
    pub(crate) url: String,
    books: Arc<Mutex<Books>>,
    serving: JoinHandle<()>,
}

impl Drop for StripeStub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl StripeStub {
    #[expect(
        clippy::disallowed_methods,
        reason = "a counterpart stands outside of all tasks"
    )]
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let books: Arc<Mutex<Books>> = Arc::default();
        let shared = Arc::clone(&books);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // One that is not answered must not keep others waiting.
                drop(tokio::spawn(serve(stream, Arc::clone(&shared))));
            }
        });
        Self {
            url,
            books,
            serving,
        }
    }

    /// What goes wrong with the next requests, in this order.
    pub(crate) fn then(&self, plays: &[Play]) {
        self.books.lock().unwrap().plays.extend(plays);
    }

    /// What was asked since this was called last.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.books.lock().unwrap().seen)
    }

    /// Customers that were made.
    pub(crate) fn customers(&self) -> usize {
        self.books.lock().unwrap().customers
    }
}

async fn serve(mut stream: TcpStream, books: Arc<Mutex<Books>>) {
    let Some(seen) = request(&mut stream).await else {
        return;
    };
    let (play, (status, body)) = {
        let mut books = books.lock().unwrap();
        books.seen.push(seen.clone());
        let play = books.plays.pop_front().unwrap_or(Play::Well);
        let answer = books.answer(&seen, play);
        (play, answer)
    };
    let retry = match play {
        Play::HangUp => return,
        Play::Silence => return drained(stream).await,
        Play::Later(seconds) => format!("Retry-After: {seconds}\r\n"),
        _ => String::new(),
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nRequest-Id: req_1\r\n\
         {retry}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that is gone reads nothing.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Says nothing until the other side leaves.
async fn drained(mut stream: TcpStream) {
    let mut rest = [0; 64];
    while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
}

impl Books {
    fn answer(&mut self, seen: &Seen, play: Play) -> (u16, Value) {
        let key = seen.headers.get("idempotency-key").cloned();
        if let Some(kept) = key.as_ref().and_then(|key| self.kept.get(key)) {
            return kept.clone();
        }
        let answer = match play {
            Play::Refuse(status) => (status, error("card_declined")),
            Play::Later(_) => return (429, error("rate_limit")),
            Play::Mislead(url) => (200, json!({"id": "cs_1", "url": url})),
            Play::Well | Play::HangUp | Play::Silence => self.well(seen),
        };
        if let Some(key) = key {
            self.kept.insert(key, answer.clone());
        }
        answer
    }

    fn well(&mut self, seen: &Seen) -> (u16, Value) {
        if !seen
            .headers
            .get("authorization")
            .is_some_and(|key| key.starts_with("Bearer sk_"))
        {
            return (401, error("authentication"));
        }
        let (method_and_path, query) = match seen.line.split_once('?') {
            Some((path, query)) => (path, query),
            None => (seen.line.as_str(), ""),
        };
        match method_and_path {
            "GET /v1/prices" => (200, prices(query)),
            "POST /v1/customers" => {
                self.customers += 1;
                (
                    200,
                    json!({"id": format!("cus_{}", self.customers), "object": "customer"}),
                )
            }
            "POST /v1/checkout/sessions" => (200, page("https://checkout.stripe.com/c/pay/1")),
            "POST /v1/billing_portal/sessions" => (200, page("https://billing.stripe.com/p/1")),
            _ => (404, error("no_such_route")),
        }
    }
}

fn page(url: &str) -> Value {
    json!({"id": "cs_test_1", "object": "checkout.session", "url": url})
}

fn error(kind: &str) -> Value {
    json!({"error": {"type": kind, "message": "words of Stripe: canary-words"}})
}

/// Two pages of prices: one that is offered on each, and some that are not.
fn prices(query: &str) -> Value {
    let after = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "starting_after");
    let product = |offered: &str| {
        json!({"id": "prod_1", "object": "product", "active": true, "name": "Team",
            "metadata": {"guildhall": offered, "planId": "team", "limit.agents": "5"}})
    };
    let price = |id: &str, amount: Value, offered: &str, recurring: Value| {
        json!({"id": id, "object": "price", "active": true, "currency": "eur",
            "unit_amount": amount, "recurring": recurring, "product": product(offered)})
    };
    let monthly = json!({"interval": "month", "interval_count": 1});
    match after.map(|(_, id)| id.into_owned()).as_deref() {
        None => json!({"object": "list", "has_more": true, "data": [
            price("price_month", json!(1_200), "1", monthly.clone()),
            {"id": "price_odd", "object": "price"},
            price("price_other", json!(500), "0", monthly),
        ]}),
        Some("price_other") => json!({"object": "list", "has_more": false, "data": [
            price("price_topup", Value::Null, "1", Value::Null),
            price("price_once", json!(9_900), "1", Value::Null),
        ]}),
        Some(_) => json!({"object": "list", "has_more": false, "data": []}),
    }
}

/// Reads a request to its end; `None` when it never came whole.
async fn request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let line = lines.next()?.strip_suffix(" HTTP/1.1")?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |text| text.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = Bytes::copy_from_slice(&bytes[end..]);
    let form = form_urlencoded::parse(&body).into_owned().collect();
    Some(Seen {
        line,
        headers,
        form,
    })
}
