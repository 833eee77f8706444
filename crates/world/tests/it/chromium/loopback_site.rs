//! A site on loopback whose pages are texts, and which remembers who asked for what.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
};

/// A whole answer.
#[derive(Clone)]
pub(super) struct SiteResponse {
    pub(super) head: String,
    pub(super) body: String,
}

/// A page of HTML.
pub(super) fn html(body: &str) -> SiteResponse {
    answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

pub(super) fn answer(status: &str, headers: &str, body: &str) -> SiteResponse {
    let length = body.len();
    SiteResponse {
        head: format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        ),
        body: body.to_owned(),
    }
}

/// One request: its path, its `Authorization`, and where it came from.
#[derive(Clone, Debug)]
pub(super) struct SiteRequest {
    pub(super) path: String,
    pub(super) authorization: Option<String>,
    pub(super) from: SocketAddr,
}

type SitePages = Arc<Mutex<BTreeMap<String, SiteResponse>>>;

/// The icon that Chromium requests on its own: for which pages, when and with which headers
/// depends on its version.
const ICON: &str = "/favicon.ico";

/// The site. What it is asked for comes through `asked`, before it is answered; requests for
/// [`ICON`] are answered and not reported.
pub(super) struct LoopbackSite {
    pub(super) asked: mpsc::Receiver<SiteRequest>,
    pages: SitePages,
    address: SocketAddr,
    /// Answers to `/held` wait for a word here.
    pub(super) release: mpsc::Sender<()>,
}

impl LoopbackSite {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = mpsc::channel();
        let (release, held) = mpsc::channel();
        let held = Arc::new(Mutex::new(held));
        let pages = SitePages::default();
        let known = Arc::clone(&pages);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (known, tell, held) = (Arc::clone(&known), tell.clone(), Arc::clone(&held));
                // A browser that goes away in the middle is none of our concern.
                std::thread::spawn(move || serve(stream, &known, &tell, &held));
            }
        });
        Self {
            asked,
            pages,
            address,
            release,
        }
    }

    pub(super) fn page(self, path: &str, answer: SiteResponse) -> Self {
        self.pages.lock().unwrap().insert(path.to_owned(), answer);
        self
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The paths that were asked for until now, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        self.asked.try_iter().map(|asked| asked.path).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    pages: &SitePages,
    tell: &mpsc::Sender<SiteRequest>,
    held: &Mutex<mpsc::Receiver<()>>,
) -> Option<()> {
    let from = stream.peer_addr().ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let heads = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    let heads: Vec<String> = heads.collect();
    let authorization = heads.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization")
            .then(|| value.to_owned())
    });
    let asked = SiteRequest {
        path: path.clone(),
        authorization: authorization.clone(),
        from,
    };
    if path != ICON {
        // Nobody may listen any more.
        let _ = tell.send(asked);
    }
    if path == "/held" {
        let _ = held.lock().unwrap().recv();
    }
    let known = pages.lock().unwrap().get(&path).cloned();
    let mut found = known.unwrap_or_else(|| answer("404 Not Found", "", "nothing here"));
    if path == "/private" && authorization.is_none() {
        let asks = "WWW-Authenticate: Basic realm=\"the vault\"\r\n";
        found = answer("401 Unauthorized", asks, "<title>refused</title>");
    }
    stream.write_all(found.head.as_bytes()).ok()?;
    stream.write_all(found.body.as_bytes()).ok()
}
