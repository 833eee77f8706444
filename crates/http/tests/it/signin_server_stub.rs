//! A tool server with its authorization server, of another program at an address of this
//! computer: it answers what a test tells it to, and remembers what it was asked.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// One request that came.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    /// Method and path.
    pub(crate) what: String,
    /// The `Authorization` header.
    pub(crate) authorization: String,
    /// The `X-Key` header.
    pub(crate) key: String,
    /// The body.
    pub(crate) body: String,
}

#[derive(Default)]
struct StubState {
    asked: Vec<RecordedRequest>,
    /// Answers in the place of the usual ones, by path.
    answers: HashMap<String, (u16, Value)>,
    /// The access tokens that count.
    tokens: HashSet<String>,
    given: usize,
    /// The scope that a call of a tool wants and no token has.
    wider: Option<String>,
    /// In how many seconds tokens end.
    expires_in: u64,
    /// What its tool is said to do.
    tool: String,
}

/// The place.
pub(crate) struct SigninServerStub {
    /// Its origin.
    pub(crate) origin: String,
    inner: Arc<Mutex<StubState>>,
    /// Whom the token endpoint keeps waiting: those whose question holds this.
    holds: Arc<watch::Sender<Option<&'static str>>>,
    _serving: JoinSet<()>,
}

impl SigninServerStub {
    pub(crate) async fn open() -> Self {
        Self::open_at("127.0.0.1:0").await
    }

    /// One at an address of its own.
    pub(crate) async fn open_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Mutex::new(StubState {
            expires_in: 3_600,
            ..StubState::default()
        }));
        let holds = Arc::new(watch::Sender::new(None));
        let mut serving = JoinSet::new();
        let (place, own, held) = (Arc::clone(&inner), origin.clone(), Arc::clone(&holds));
        serving.spawn(async move {
            let mut lines = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (place, own, held) = (Arc::clone(&place), own.clone(), Arc::clone(&held));
                lines.spawn(async move {
                    // A client that goes away ends its line.
                    let _ = serve(socket, &place, &own, &held).await;
                });
            }
        });
        Self {
            origin,
            inner,
            holds,
            _serving: serving,
        }
    }

    /// How the tool server is reached.
    pub(crate) fn connection(&self) -> Value {
        json!({"transport": "http", "url": format!("{}/mcp", self.origin), "headers": {}})
    }

    /// Answers this at `path` from now on.
    pub(crate) fn answers(&self, path: &str, status: u16, body: Value) {
        let mut inner = self.inner.lock().unwrap();
        inner.answers.insert(path.to_owned(), (status, body));
    }

    /// Answers as usual at `path` again.
    pub(crate) fn answers_as_usual(&self, path: &str) {
        self.inner.lock().unwrap().answers.remove(path);
    }

    /// The metadata of the authorization server with some fields changed.
    pub(crate) fn says(&self, changes: &Value) {
        self.says_at("/.well-known/oauth-authorization-server", changes);
    }

    /// The same at another place.
    pub(crate) fn says_at(&self, path: &str, changes: &Value) {
        let mut metadata = metadata(&self.origin);
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => metadata.as_object_mut().unwrap().remove(name),
                value => metadata
                    .as_object_mut()
                    .unwrap()
                    .insert(name.clone(), value.clone()),
            };
        }
        self.answers(path, 200, metadata);
    }

    /// Tokens that are given from now on end in so many seconds.
    pub(crate) fn tokens_end_in(&self, seconds: u64) {
        self.inner.lock().unwrap().expires_in = seconds;
    }

    /// Calls of tools want a scope that no token has, or no longer.
    pub(crate) fn wants_scope(&self, scope: Option<&str>) {
        self.inner.lock().unwrap().wider = scope.map(str::to_owned);
    }

    /// Says something else of its tool.
    pub(crate) fn rewords(&self, tool: &str) {
        tool.clone_into(&mut self.inner.lock().unwrap().tool);
    }

    /// Takes this token, which it gave before it was started anew, or which a person typed.
    pub(crate) fn takes_token(&self, token: &str) {
        self.inner.lock().unwrap().tokens.insert(token.to_owned());
    }

    /// No token counts any more.
    pub(crate) fn forgets_tokens(&self) {
        self.inner.lock().unwrap().tokens.clear();
    }

    /// Keeps those waiting who ask for a token with this in their question; nobody any longer
    /// without.
    pub(crate) fn holds(&self, question: Option<&'static str>) {
        self.holds.send_replace(question);
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        self.inner.lock().unwrap().asked.clone()
    }

    /// What was asked of one place so far.
    pub(crate) fn asked_of(&self, what: &str) -> Vec<RecordedRequest> {
        let mut asked = self.asked();
        asked.retain(|one| one.what == what);
        asked
    }
}

fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
    })
}

async fn serve(
    mut socket: TcpStream,
    place: &Mutex<StubState>,
    origin: &str,
    holds: &watch::Sender<Option<&'static str>>,
) -> std::io::Result<()> {
    let (read, mut write) = socket.split();
    let mut read = BufReader::new(read);
    loop {
        let (mut length, mut first) = (0, String::new());
        let (mut authorization, mut key) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if read.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if first.is_empty() {
                line.clone_into(&mut first);
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => value.trim().clone_into(&mut authorization),
                "x-key" => value.trim().clone_into(&mut key),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        read.read_exact(&mut body).await?;
        let what = first.rsplit_once(' ').unwrap_or_default().0.to_owned();
        let asked = RecordedRequest {
            what,
            authorization,
            key,
            body: String::from_utf8(body).unwrap(),
        };
        place.lock().unwrap().asked.push(asked.clone());
        if asked.what == "POST /token" {
            let mut holding = holds.subscribe();
            // The test that holds it is over.
            let is_free = |holds: &Option<&str>| holds.is_none_or(|it| !asked.body.contains(it));
            let _ = holding.wait_for(is_free).await;
        }
        let (head, body) = answer(&mut place.lock().unwrap(), &asked, origin);
        let length = body.len();
        let kind = "content-type: application/json";
        let whole = format!("HTTP/1.1 {head}\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{body}");
        write.write_all(whole.as_bytes()).await?;
    }
}

fn answer(place: &mut StubState, asked: &RecordedRequest, origin: &str) -> (String, String) {
    let (_, path) = asked.what.split_once(' ').unwrap();
    if let Some((status, body)) = place.answers.get(path) {
        return (format!("{status} X"), body.to_string());
    }
    let ok = |body: Value| ("200 OK".to_owned(), body.to_string());
    match asked.what.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" => ok(json!({
            "resource": format!("{origin}/mcp"),
            "authorization_servers": [origin],
            "scopes_supported": ["tools"],
        })),
        "GET /.well-known/oauth-authorization-server" => ok(metadata(origin)),
        "POST /register" => {
            let ask: Value = serde_json::from_str(&asked.body).unwrap();
            let id = "registered-client";
            let answer = json!({"client_id": id, "redirect_uris": ask["redirect_uris"],
                "token_endpoint_auth_method": "none"});
            ("201 Created".to_owned(), answer.to_string())
        }
        "POST /token" => {
            place.given += 1;
            let access = format!("canary-access-{}", place.given);
            place.tokens.insert(access.clone());
            ok(json!({"access_token": access, "token_type": "Bearer",
                "refresh_token": format!("canary-refresh-{}", place.given),
                "expires_in": place.expires_in}))
        }
        "POST /revoke" => ok(json!({})),
        "POST /mcp" => tools(place, asked, origin),
        _ => ("404 Not Found".to_owned(), String::new()),
    }
}

fn tools(place: &StubState, asked: &RecordedRequest, origin: &str) -> (String, String) {
    let token = asked.authorization.strip_prefix("Bearer ");
    if !token.is_some_and(|token| place.tokens.contains(token)) {
        let at = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!("www-authenticate: Bearer resource_metadata=\"{at}\"");
        return (format!("401 Unauthorized\r\n{challenge}"), String::new());
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let ok = |result: Value| {
        let whole = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        ("200 OK".to_owned(), whole.to_string())
    };
    match message["method"].as_str() {
        Some("tools/call") if let Some(scope) = &place.wider => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            let head = format!("403 Forbidden\r\nwww-authenticate: {challenge}");
            (head, String::new())
        }
        Some("tools/call") => ok(json!({"content": [{"type": "text", "text": "done"}]})),
        Some("initialize") => ok(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "place", "version": "1"},
        })),
        Some("tools/list") => ok(json!({"tools": [
            {"name": "read", "description": place.tool, "inputSchema": {"type": "object"}},
        ]})),
        Some(_) if message["id"].is_null() => ("202 Accepted".to_owned(), String::new()),
        _ => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            let whole = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            ("200 OK".to_owned(), whole.to_string())
        }
    }
}
