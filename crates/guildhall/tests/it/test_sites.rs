//! Sites for the browser to visit: pages that a test makes, and what they were asked and told.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct SiteRequest {
    /// With its query.
    pub(crate) path: String,
    /// The lines of the head behind the first.
    pub(crate) headers: String,
    pub(crate) cookie: String,
    pub(crate) body: String,
}

/// An answer: its headers, each with its line end, and what it holds.
pub(crate) struct SitePage {
    status: &'static str,
    headers: String,
    body: String,
}

impl SitePage {
    pub(crate) fn html(body: impl Into<String>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    pub(crate) fn of(kind: &str, body: impl Into<String>) -> Self {
        Self {
            status: "200 OK",
            headers: format!("Content-Type: {kind}\r\n"),
            body: body.into(),
        }
    }

    /// The same with another status.
    pub(crate) fn status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// Sends whoever asks to another address.
    pub(crate) fn redirect(to: &str) -> Self {
        Self {
            status: "302 Found",
            headers: format!("Location: {to}\r\n"),
            body: String::new(),
        }
    }

    pub(crate) fn with(mut self, header: &str) -> Self {
        self.headers.push_str(header);
        self.headers.push_str("\r\n");
        self
    }
}

/// A site on this computer. What its pages post to `/reports` is kept as what they tell.
pub(crate) struct TestSite {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<SiteRequest>>>,
}

impl TestSite {
    pub(crate) fn new(answer: impl Fn(&SiteRequest) -> SitePage + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, known) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (answer, known) = (Arc::clone(&answer), Arc::clone(&known));
                // A browser that goes away in the middle is none of our concern.
                thread::spawn(move || serve(&socket, &known, &*answer));
            }
        });
        Self { address, asked }
    }

    /// One page at every address.
    pub(crate) fn page(body: &'static str) -> Self {
        Self::new(move |_| SitePage::html(body))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked until now.
    pub(crate) fn asked(&self) -> Vec<SiteRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// What a page tells, as soon as one has told something.
    pub(crate) fn reports(&self) -> Value {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let asked = self.asked();
            if let Some(told) = asked.iter().find(|asked| asked.path == "/told") {
                return serde_json::from_str(&told.body).unwrap();
            }
            assert!(Instant::now() < end, "nothing was told: {asked:?}");
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}

fn serve(
    mut socket: &TcpStream,
    known: &Mutex<Vec<SiteRequest>>,
    answer: &dyn Fn(&SiteRequest) -> SitePage,
) -> Option<()> {
    let mut reader = BufReader::new(socket);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let (mut length, mut cookie, mut headers) = (0, String::new(), String::new());
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        headers.push_str(&line);
        headers.push('\n');
        let (name, value) = line.split_once(": ").unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "cookie" => value.clone_into(&mut cookie),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked = SiteRequest {
        path,
        headers,
        cookie,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let SitePage {
        status,
        headers,
        body,
    } = answer(&asked);
    known.lock().unwrap().push(asked);
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close");
    write!(socket, "{head}\r\n\r\n{body}").ok()
}
