//! A stub of the payment service, in process: it records what it is asked, answers like Stripe,
//! and plays what goes wrong there: 402, 429, 500, silence, and a connection that breaks off.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::form_urlencoded;

use crate::received_request::ReceivedRequest;

/// What goes wrong with one request of the payment service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripeFault {
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
pub struct RecordedRequest {
    /// Its method and address.
    pub line: String,
    /// Its headers, their names in small letters.
    pub headers: HashMap<String, String>,
    /// The fields of its body.
    pub form: Vec<(String, String)>,
    /// The status and body that were its answer, unless the play kept them back.
    pub answer: (u16, Value),
}

impl RecordedRequest {
    /// A field of its body.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.form.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Its method and path, as in `GET /v1/prices`.
    pub fn call(&self) -> &str {
        self.parts().0
    }

    /// All fields, of its address and of its body.
    pub fn fields(&self) -> Vec<(String, String)> {
        let query = form_urlencoded::parse(self.parts().1.as_bytes());
        query.into_owned().chain(self.form.clone()).collect()
    }

    fn parts(&self) -> (&str, &str) {
        self.line.split_once('?').unwrap_or((&self.line, ""))
    }
}

#[derive(Debug, Default)]
struct StripeStubState {
    seen: Vec<RecordedRequest>,
    plays: VecDeque<StripeFault>,
    /// By idempotency key, as Stripe keeps what it began to do: failures of its own too.
    kept: HashMap<String, (u16, Value)>,
    customers: usize,
}

/// The stub; it ends when it is dropped.
#[derive(Debug)]
pub struct StripeStub {
    /// Where it answers.
    pub url: String,
    books: Arc<Mutex<StripeStubState>>,
    serving: JoinHandle<()>,
}

impl Drop for StripeStub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl StripeStub {
    /// Opens one on a port of its own.
    ///
    /// # Panics
    /// When no port is free.
    #[expect(
        clippy::disallowed_methods,
        reason = "a counterpart stands outside of all tasks"
    )]
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let books: Arc<Mutex<StripeStubState>> = Arc::default();
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
    ///
    /// # Panics
    /// When a request made it panic.
    pub fn then(&self, plays: &[StripeFault]) {
        self.books.lock().unwrap().plays.extend(plays);
    }

    /// What was asked since this was called last.
    ///
    /// # Panics
    /// When a request made it panic.
    pub fn seen(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.books.lock().unwrap().seen)
    }

    /// Customers that were made.
    ///
    /// # Panics
    /// When a request made it panic.
    pub fn customers(&self) -> usize {
        self.books.lock().unwrap().customers
    }
}

async fn serve(mut stream: TcpStream, books: Arc<Mutex<StripeStubState>>) {
    let Some(mut seen) = request(&mut stream).await else {
        return;
    };
    let (play, (status, body)) = {
        let mut books = books.lock().unwrap();
        let play = books.plays.pop_front().unwrap_or(StripeFault::Well);
        let answer = books.answer(&seen, play);
        seen.answer = answer.clone();
        books.seen.push(seen);
        (play, answer)
    };
    let retry = match play {
        StripeFault::HangUp => return,
        StripeFault::Silence => return drained(stream).await,
        StripeFault::Later(seconds) => format!("Retry-After: {seconds}\r\n"),
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

impl StripeStubState {
    fn answer(&mut self, seen: &RecordedRequest, play: StripeFault) -> (u16, Value) {
        let key = seen.headers.get("idempotency-key").cloned();
        if let Some(kept) = key.as_ref().and_then(|key| self.kept.get(key)) {
            return kept.clone();
        }
        let answer = match play {
            StripeFault::Refuse(status) => (status, error(status)),
            StripeFault::Later(_) => return (429, error(429)),
            StripeFault::Mislead(url) => (200, json!({"id": "cs_1", "url": url})),
            StripeFault::Well | StripeFault::HangUp | StripeFault::Silence => self.well(seen),
        };
        // What it refuses before it begins is looked at anew each time.
        let is_begun = !matches!(answer.0, 400 | 401 | 403 | 409);
        if let Some(key) = key.filter(|_| is_begun) {
            self.kept.insert(key, answer.clone());
        }
        answer
    }

    fn well(&mut self, seen: &RecordedRequest) -> (u16, Value) {
        if !seen
            .headers
            .get("authorization")
            .is_some_and(|key| key.starts_with("Bearer sk_"))
        {
            return (401, error(401));
        }
        let (call, query) = seen.parts();
        match call {
            "GET /v1/prices" => (200, prices(query)),
            "POST /v1/customers" => {
                self.customers += 1;
                let id = format!("cus_{}", self.customers);
                (200, json!({"id": id, "object": "customer"}))
            }
            "POST /v1/checkout/sessions" => {
                let url = "https://checkout.stripe.com/c/pay/1";
                let page = json!({"id": "cs_test_1", "object": "checkout.session", "url": url});
                (200, page)
            }
            "POST /v1/billing_portal/sessions" => {
                let url = "https://billing.stripe.com/p/1";
                let page = json!({"id": "bps_1", "object": "billing_portal.session", "url": url});
                (200, page)
            }
            _ => (404, error(404)),
        }
    }
}

fn error(status: u16) -> Value {
    let kind = match status {
        402 => "card_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
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
    let monthly = json!({"interval": "month", "interval_count": 1, "usage_type": "licensed"});
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
async fn request(stream: &mut TcpStream) -> Option<RecordedRequest> {
    let ReceivedRequest { head, body } = ReceivedRequest::read(stream).await?;
    let mut lines = head.lines();
    let line = lines.next()?.strip_suffix(" HTTP/1.1")?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let form = form_urlencoded::parse(&body).into_owned().collect();
    Some(RecordedRequest {
        line,
        headers,
        form,
        answer: (0, Value::Null),
    })
}
