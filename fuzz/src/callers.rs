//! Who a request is from: every kind of caller there is, each with what it shows.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};

use crate::{
    Result,
    http_client::{HttpClient, HttpResponse},
    rng::Rng,
};

/// How long the fuzzer's own requests may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The label of what the fuzzer itself needs, which no random request is to take away.
const LABEL: &str = "fuzzer";
const EMAIL: &str = "ada@example.org";
const PASSWORD: &str = "correct horse battery";
const OTHER_EMAIL: &str = "bob@example.org";
const OTHER_PASSWORD: &str = "staple under a red lamp";

/// What a request shows of its caller.
#[derive(Clone, Debug)]
pub(crate) struct CallerCredentials {
    /// The kind of caller, for reports.
    pub(crate) who: &'static str,
    /// The listener that it is sent to.
    pub(crate) listener: SocketAddr,
    /// The value of its `Host` line.
    pub(crate) host: String,
    /// Further lines of its head.
    pub(crate) lines: Vec<String>,
}

/// What the callers of one house show.
#[derive(Clone, Debug)]
pub(crate) struct Callers {
    server: SocketAddr,
    /// The listener for agents.
    agents: SocketAddr,
    /// What the owner shows where people sign in.
    owner: Option<String>,
    key: Option<String>,
    cookie: Option<String>,
    person: Option<String>,
    /// A token of each of two agents.
    tokens: Vec<String>,
    /// Those two agents, the second one with the hostile runtime.
    agents_known: [FuzzedAgent; 2],
}

/// An agent that the fuzzer needs.
#[derive(Clone, Debug)]
struct FuzzedAgent {
    id: String,
    /// What it is registered with.
    record: Value,
}

impl Callers {
    /// Makes the accounts, agents, keys and tokens of a new house; `setup_code` where people sign
    /// in, and then `local_token` is what the owner's programs show.
    pub(crate) async fn set_up(
        server: SocketAddr,
        agents: SocketAddr,
        sign_in: Option<(&str, &str)>,
        folders: [&str; 2],
    ) -> Result<Self> {
        let mut callers = Self {
            server,
            agents,
            owner: None,
            key: None,
            cookie: None,
            person: None,
            tokens: Vec::new(),
            agents_known: [
                ("Ada", folders[0], "rehearsal"),
                ("Bob", folders[1], "hostile"),
            ]
            .map(|(name, folder, runtime)| FuzzedAgent {
                id: String::new(),
                record: json!({"name": name, "cwd": folder, "runtime": runtime}),
            }),
        };
        if let Some((setup_code, local_token)) = sign_in {
            let first = json!({"email": EMAIL, "password": PASSWORD, "displayName": "Ada",
                "setupCode": setup_code});
            callers.expect("POST", "/api/auth/register", &first).await?;
            callers.owner = Some(format!("Authorization: Bearer {local_token}"));
        }
        callers.repair().await?;
        Ok(callers)
    }

    /// Makes anew what random requests took away.
    pub(crate) async fn repair(&mut self) -> Result<()> {
        if !self.is_known(self.key.as_deref()).await? {
            let made = self
                .ask("POST", "/api/auth/keys", &json!({"label": LABEL}))
                .await?;
            let key = made.json()["key"].as_str().map(str::to_owned);
            self.key = key.map(|key| format!("Authorization: Bearer {key}"));
        }
        for place in 0..self.agents_known.len() {
            self.mend_agent(place).await?;
            if self
                .is_known(self.tokens.get(place).map(String::as_str))
                .await?
            {
                continue;
            }
            let path = format!("/api/agents/{}/tokens", self.agents_known[place].id);
            let minted = self.ask("POST", &path, &json!({"label": LABEL})).await?;
            let minted = minted.json();
            let token = minted["token"].as_str().unwrap_or("none");
            self.tokens.truncate(place);
            self.tokens.push(format!("X-Service-Agent: {token}"));
        }
        if !self.is_known(self.cookie.as_deref()).await? {
            self.cookie = match self.owner {
                None => self.trusted().await?,
                Some(_) => self.signed_in(EMAIL, PASSWORD).await?,
            };
        }
        if self.owner.is_some() && !self.is_known(self.person.as_deref()).await? {
            self.person = self.person().await?;
        }
        Ok(())
    }

    /// Registers the agent where it is retired; takes another one of its folder and runtime where
    /// somebody registered one.
    async fn mend_agent(&mut self, place: usize) -> Result<()> {
        let FuzzedAgent { id, record } = self.agents_known[place].clone();
        let listed = self.ask("GET", "/api/agents", &Value::Null).await?.json();
        let listed = listed["agents"].as_array().cloned().unwrap_or_default();
        if listed.iter().any(|agent| agent["id"] == *id) {
            return Ok(());
        }
        let is_same = |agent: &&Value| {
            ["cwd", "runtime"]
                .iter()
                .all(|name| agent[*name] == record[*name])
        };
        let found = match listed.iter().find(is_same) {
            Some(found) => found.clone(),
            None => self.ask("POST", "/api/agents", &record).await?.json(),
        };
        self.agents_known[place].id = text(&found, "id");
        Ok(())
    }

    /// The ids of the two agents.
    pub(crate) fn agent_ids(&self) -> [String; 2] {
        self.agents_known.clone().map(|agent| agent.id)
    }

    /// What the owner shows.
    pub(crate) fn owner(&self) -> CallerCredentials {
        let lines = self.owner.iter().cloned().collect();
        self.shown("owner", lines)
    }

    /// What the agents show at their own listener.
    pub(crate) fn agent(&self, rng: &mut Rng) -> CallerCredentials {
        let lines = if self.tokens.is_empty() {
            Vec::new()
        } else {
            vec![rng.pick(&self.tokens).clone()]
        };
        let mut shown = self.shown("agent", lines);
        if rng.chance(50) {
            (shown.listener, shown.host) = (self.agents, self.agents.to_string());
        }
        shown
    }

    /// One of all kinds.
    pub(crate) fn any(&self, rng: &mut Rng) -> CallerCredentials {
        let of = |line: &Option<String>| line.iter().cloned().collect::<Vec<_>>();
        match rng.below(20) {
            0..=8 => self.owner(),
            9 | 10 => self.shown("key", of(&self.key)),
            11 | 12 => self.shown("cookie", of(&self.cookie)),
            13 => self.shown("person", of(&self.person)),
            14..=16 => self.agent(rng),
            17 => {
                let lines = [of(&self.key), self.tokens.clone()].concat();
                self.shown("two credentials", lines)
            }
            18 => self.unknown(rng),
            _ => {
                let mut shown = self.shown("nobody", Vec::new());
                if rng.chance(50) {
                    shown.host = rng
                        .pick(&["evil.test", "localhost:1", "", "[::1", "a b"])
                        .to_string();
                } else {
                    (shown.listener, shown.host) = (self.agents, self.agents.to_string());
                }
                shown
            }
        }
    }

    /// Somebody who shows a credential that is none.
    pub(crate) fn unknown(&self, rng: &mut Rng) -> CallerCredentials {
        let odd = [
            "Authorization: Bearer ghk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "Authorization: Basic Og==",
            "Authorization: Bearer",
            "X-Service-Agent: \u{e9}",
            "X-Service-Agent: ",
            "Authorization: Digest x",
        ];
        self.shown("a bad credential", vec![rng.pick(&odd).to_string()])
    }

    fn shown(&self, who: &'static str, lines: Vec<String>) -> CallerCredentials {
        CallerCredentials {
            who,
            listener: self.server,
            host: self.server.to_string(),
            lines,
        }
    }

    async fn is_known(&self, line: Option<&str>) -> Result<bool> {
        let Some(line) = line else { return Ok(false) };
        let who = self.send("GET", "/api/auth/whoami", &[line], None).await?;
        Ok(who.json()["caller"].is_object())
    }

    /// The cookie of a browser that the owner trusts.
    async fn trusted(&self) -> Result<Option<String>> {
        let link = self.ask("POST", "/api/auth/open", &json!({})).await?.json();
        let Some(path) = link["path"].as_str() else {
            return Ok(None);
        };
        Ok(cookie_of(&self.send("GET", path, &[], None).await?))
    }

    async fn signed_in(&self, email: &str, password: &str) -> Result<Option<String>> {
        let login = json!({"email": email, "password": password});
        Ok(cookie_of(
            &self
                .send("POST", "/api/auth/login", &[], Some(&login))
                .await?,
        ))
    }

    /// The cookie of somebody who has an account and is not the owner.
    async fn person(&self) -> Result<Option<String>> {
        if let Some(cookie) = self.signed_in(OTHER_EMAIL, OTHER_PASSWORD).await? {
            return Ok(Some(cookie));
        }
        let account = json!({"email": OTHER_EMAIL, "displayName": "Bob"});
        let made = self
            .ask("POST", "/api/auth/accounts", &account)
            .await?
            .json();
        let Some(invited) = made["invitePassword"].as_str() else {
            return Ok(None);
        };
        let Some(cookie) = self.signed_in(OTHER_EMAIL, invited).await? else {
            return Ok(None);
        };
        let change = json!({"current": invited, "next": OTHER_PASSWORD});
        let changed = self
            .send("POST", "/api/auth/password", &[&cookie], Some(&change))
            .await?;
        Ok(cookie_of(&changed).or(Some(cookie)))
    }

    /// Asks as the owner and wants a yes.
    pub(crate) async fn expect(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let answer = self.ask(method, path, body).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.json());
        }
        let says = String::from_utf8_lossy(&answer.body).into_owned();
        Err(format!("{method} {path}: {} {says}", answer.status).into())
    }

    /// Asks as the owner.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<HttpResponse> {
        let owner: Vec<&str> = self.owner.iter().map(String::as_str).collect();
        let body = (method != "GET").then_some(body);
        self.send(method, path, &owner, body).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        lines: &[&str],
        body: Option<&Value>,
    ) -> Result<HttpResponse> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{lines}Prefer: wait=0\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.server,
            body.len()
        );
        let answer = HttpClient::new(self.server)
            .ask(request.as_bytes(), PATIENCE)
            .await;
        answer.map_err(|how| format!("{method} {path}: no answer: {how:?}").into())
    }
}

/// The line of the cookie that an answer sets.
fn cookie_of(answer: &HttpResponse) -> Option<String> {
    let set = answer.line("set-cookie").filter(|_| answer.status < 400)?;
    Some(format!("Cookie: {}", set.split(';').next()?))
}

fn text(of: &Value, member: &str) -> String {
    of[member].as_str().unwrap_or_default().to_owned()
}
