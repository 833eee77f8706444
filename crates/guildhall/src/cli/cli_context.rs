//! What every command works with: a server to ask and a place to print.
//! Names that people give to rooms, authors and agents become ids here; a name that nothing
//! bears goes to the server as it is, so that the refusal is the server's own.

use std::collections::HashMap;

use http::{HeaderName, Method, header};
use serde_json::Value;

use super::{
    common_args::{self, CommonArgs, IdempotencyArgs, IfMatchArg},
    failure::Failure,
    http_client::{
        ApprovalOptions, Client, HttpResponse, RequestParts, StreamingResponse, bearer, secret,
    },
    output::Output,
    request_body::RequestBody,
    request_target::RequestTarget,
    server_discovery::ServerLocation,
};

/// The variable that makes a command speak as an agent.
const AGENT_TOKEN: &str = "GUILDHALL_AGENT_TOKEN";
/// The variable that makes a command speak as the person who made the key.
const API_KEY: &str = "GUILDHALL_API_KEY";
/// The variable that makes a command speak as the person who signed in.
const COOKIE: &str = "GUILDHALL_COOKIE";
/// The header that carries an agent's token.
const SERVICE_AGENT: HeaderName = HeaderName::from_static("x-service-agent");

/// A server to ask and a place to print.
#[derive(Debug)]
pub(super) struct CliContext {
    /// Asks the server.
    pub(super) client: Client,
    /// Prints what it answers.
    pub(super) output: Output,
}

impl CliContext {
    /// The desk that the arguments and the environment describe.
    ///
    /// # Errors
    /// [`Failure::Usage`] when they name no server.
    pub(super) fn new(common: CommonArgs) -> Result<Self, Failure> {
        let server = ServerLocation::named(common.url.as_deref(), common.data_dir)?;
        // Never an argument: arguments are seen by everybody who lists processes.
        let credential = match (
            variable(AGENT_TOKEN)?,
            variable(API_KEY)?,
            variable(COOKIE)?,
        ) {
            (Some(token), ..) => Some(secret(SERVICE_AGENT, &token)?),
            (None, Some(key), _) => Some(bearer(&key)?),
            (None, None, Some(cookie)) => Some(secret(header::COOKIE, &cookie)?),
            (None, None, None) => None,
        };
        Ok(Self {
            client: Client::new(server, credential),
            output: Output::new(common.printing),
        })
    }

    /// Reads.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn get(&self, target: &RequestTarget) -> Result<HttpResponse, Failure> {
        let answer = self
            .client
            .ask(Method::GET, target.as_str(), RequestParts::default())
            .await?;
        answer.success()
    }

    /// Posts, under a key with which the same command can be sent again.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no, or that a person is needed first.
    pub(super) async fn post(
        &self,
        target: &RequestTarget,
        body: Option<&Value>,
        once: &IdempotencyArgs,
    ) -> Result<HttpResponse, Failure> {
        self.post_under(once.key(), target, body).await
    }

    /// Posts under `key`.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no, or that a person is needed first.
    pub(super) async fn post_under(
        &self,
        key: String,
        target: &RequestTarget,
        body: Option<&Value>,
    ) -> Result<HttpResponse, Failure> {
        let payload = body.map(json).unwrap_or_default();
        self.post_payload(target, payload, key).await
    }

    /// Puts a whole, under a key with which the same command can be sent again.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn put_once(
        &self,
        target: &RequestTarget,
        body: &Value,
        once: &IdempotencyArgs,
    ) -> Result<HttpResponse, Failure> {
        self.send_under(once.key(), Method::PUT, target, json(body))
            .await
    }

    /// Posts any body under `key`.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no, or that a person is needed first.
    pub(super) async fn post_payload(
        &self,
        target: &RequestTarget,
        payload: RequestBody,
        key: String,
    ) -> Result<HttpResponse, Failure> {
        self.send_under(key, Method::POST, target, payload).await
    }

    async fn send_under(
        &self,
        key: String,
        method: Method,
        target: &RequestTarget,
        payload: RequestBody,
    ) -> Result<HttpResponse, Failure> {
        let load = RequestParts {
            payload,
            idempotency_key: Some(key.clone()),
            ..RequestParts::default()
        };
        let asked = self.client.ask(method, target.as_str(), load).await;
        let answer = asked.map_err(|failure| match failure {
            Failure::CutOff(why) => Failure::CutOff(format!(
                "{why} Send it again with --idempotency-key {key}: then it happens once."
            )),
            other => other,
        })?;
        answer.success()
    }

    /// Posts what happens anew each time: signals leave nothing behind, and signing in knows
    /// nobody yet whose key it could be.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn post_with_new_key(
        &self,
        target: &RequestTarget,
        body: Option<&Value>,
    ) -> Result<HttpResponse, Failure> {
        self.send(Method::POST, target, body, None).await
    }

    /// Posts what the server goes on with behind its answer, and has it hold that for at most so
    /// many seconds.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn post_and_wait(
        &self,
        target: &RequestTarget,
        body: &Value,
        seconds: u32,
    ) -> Result<HttpResponse, Failure> {
        let load = RequestParts {
            payload: json(body),
            wait: Some(seconds),
            ..RequestParts::default()
        };
        let answer = self.client.ask(Method::POST, target.as_str(), load).await?;
        answer.success()
    }

    /// Puts a whole.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn put(
        &self,
        target: &RequestTarget,
        body: Option<&Value>,
    ) -> Result<HttpResponse, Failure> {
        self.send(Method::PUT, target, body, None).await
    }

    /// Changes what `request_target` names.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn patch(
        &self,
        target: &RequestTarget,
        body: &Value,
        if_match: Option<&IfMatchArg>,
    ) -> Result<HttpResponse, Failure> {
        let if_match = if_match.and_then(IfMatchArg::tags);
        self.send(Method::PATCH, target, Some(body), if_match).await
    }

    /// Takes away what `request_target` names.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn delete(
        &self,
        target: &RequestTarget,
        if_match: Option<&IfMatchArg>,
    ) -> Result<HttpResponse, Failure> {
        let if_match = if_match.and_then(IfMatchArg::tags);
        self.send(Method::DELETE, target, None, if_match).await
    }

    /// Sends what a person may have to approve first.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no, or that a person is needed first.
    pub(super) async fn send_gated(
        &self,
        method: Method,
        target: &RequestTarget,
        body: Option<&Value>,
        gated: ApprovalOptions,
    ) -> Result<HttpResponse, Failure> {
        let load = RequestParts {
            payload: body.map(json).unwrap_or_default(),
            idempotency_key: gated.idempotency_key,
            if_match: gated.if_match,
            wait: gated.wait,
            approval: gated.token,
            ..RequestParts::default()
        };
        let answer = self.client.ask(method, target.as_str(), load).await?;
        answer.success()
    }

    async fn send(
        &self,
        method: Method,
        target: &RequestTarget,
        body: Option<&Value>,
        if_match: Option<String>,
    ) -> Result<HttpResponse, Failure> {
        let load = RequestParts {
            payload: body.map(json).unwrap_or_default(),
            if_match,
            ..RequestParts::default()
        };
        let answer = self.client.ask(method, target.as_str(), load).await?;
        answer.success()
    }

    /// Begins to read something large.
    ///
    /// # Errors
    /// [`Failure::Answered`] when the server says no.
    pub(super) async fn open(&self, target: &RequestTarget) -> Result<StreamingResponse, Failure> {
        let opened = self
            .client
            .open(Method::GET, target.as_str(), RequestParts::default())
            .await?;
        if opened.status.is_success() {
            return Ok(opened);
        }
        Err(Failure::Answered(opened.whole().await?))
    }

    /// The id of the room that `named` means.
    ///
    /// # Errors
    /// [`Failure::Usage`] when two rooms bear the name.
    pub(super) async fn room_id(&self, named: &str) -> Result<String, Failure> {
        if is_id(named) {
            return Ok(named.to_owned());
        }
        let target = RequestTarget::new("/api/rooms").query("includeArchived", Some(true));
        let listing: Value = self.get(&target).await?.json()?;
        let rooms = items(&listing, "rooms");
        let slug = named.strip_prefix('#').unwrap_or(named);
        let open = |room: &&Value| room["archived"] != Value::Bool(true);
        let mut tries = vec![
            bearers(rooms.iter().filter(open), "slug", slug),
            bearers(rooms.iter(), "slug", slug),
        ];
        if !named.starts_with('#') {
            tries.push(bearers(rooms.iter().filter(open), "title", named));
            tries.push(bearers(rooms.iter(), "title", named));
        }
        only("rooms", named, tries)
    }

    /// The id of the author that `named` means; `me` is the author the caller writes as.
    ///
    /// # Errors
    /// [`Failure::Usage`] when two authors bear the name.
    pub(super) async fn author_id(&self, named: &str) -> Result<String, Failure> {
        if is_id(named) {
            return Ok(named.to_owned());
        }
        if named == "me" {
            let own: Value = self.get(&RequestTarget::author("me")).await?.json()?;
            return Ok(own["id"].as_str().unwrap_or_default().to_owned());
        }
        let handle = named.strip_prefix('@').unwrap_or(named);
        let authors = self.authors(Some(handle)).await?;
        let mut tries = vec![bearers(authors.iter(), "handle", handle)];
        if !named.starts_with('@') {
            let here = |author: &&Value| author["retired"] != Value::Bool(true);
            tries.push(bearers(authors.iter().filter(here), "displayName", named));
            tries.push(bearers(authors.iter(), "displayName", named));
        }
        only("authors", named, tries)
    }

    /// The id of the agent that `named` means.
    ///
    /// # Errors
    /// [`Failure::Usage`] when two agents bear the name.
    pub(super) async fn agent_id(&self, named: &str) -> Result<String, Failure> {
        if is_id(named) {
            return Ok(named.to_owned());
        }
        let target = RequestTarget::new("/api/agents").query("includeRetired", Some(true));
        let listing: Value = self.get(&target).await?.json()?;
        let agents = items(&listing, "agents");
        let handle = named.strip_prefix('@').unwrap_or(named);
        let mut tries = vec![bearers(agents.iter(), "handle", handle)];
        if !named.starts_with('@') {
            let at_work = |agent: &&Value| agent["state"] != "retired";
            tries.push(bearers(agents.iter().filter(at_work), "name", named));
            tries.push(bearers(agents.iter(), "name", named));
        }
        only("agents", named, tries)
    }

    /// Where the entry that a person names is.
    ///
    /// # Errors
    /// [`Failure::Usage`] when two rooms bear the room's name.
    pub(super) async fn entry(
        &self,
        named: &common_args::EntryArg,
    ) -> Result<RequestTarget, Failure> {
        let room = self.room_id(&named.room.room).await?;
        let entry = self.entry_id(&room, &named.entry).await?;
        Ok(RequestTarget::room(&room)
            .push_segment("entries")
            .push_segment(&entry))
    }

    /// The id of the entry that `named` means in a room: its id, or its number there.
    pub(super) async fn entry_id(&self, room: &str, named: &str) -> Result<String, Failure> {
        let seq = match named.parse::<u64>() {
            Ok(seq) if seq > 0 => seq,
            _ => return Ok(named.to_owned()),
        };
        let page = RequestTarget::room(room)
            .push_segment("entries")
            .query("after", Some(seq - 1))
            .query("limit", Some(1));
        let page: Value = self.get(&page).await?.json()?;
        let entry = &page["entries"][0];
        let found = entry["id"].as_str().filter(|_| entry["seq"] == seq);
        Ok(found.unwrap_or(named).to_owned())
    }

    /// The id of the document that `named` means on a canvas.
    ///
    /// # Errors
    /// [`Failure::Usage`] when two documents bear the title.
    pub(super) async fn document_id(
        &self,
        canvas: &RequestTarget,
        named: &str,
    ) -> Result<String, Failure> {
        if is_id(named) {
            return Ok(named.to_owned());
        }
        let canvas: Value = self.get(canvas).await?.json()?;
        let documents = items(&canvas, "documents").iter();
        only("documents", named, vec![bearers(documents, "title", named)])
    }

    /// What people call each author and the agent behind it: its handle, else its name.
    pub(super) async fn author_names(&self) -> Result<HashMap<String, String>, Failure> {
        let authors = self.authors(None).await?;
        Ok(authors.iter().flat_map(names_of).collect())
    }

    /// What people call each author and each room.
    pub(super) async fn names(&self) -> Result<HashMap<String, String>, Failure> {
        let mut names = self.author_names().await?;
        let target = RequestTarget::new("/api/rooms").query("includeArchived", Some(true));
        let listing: Value = self.get(&target).await?.json()?;
        for room in items(&listing, "rooms") {
            if let Some(id) = room["id"].as_str() {
                names.insert(id.to_owned(), room_name(room));
            }
        }
        Ok(names)
    }

    /// Every author whose name or handle holds `part`, page by page.
    async fn authors(&self, part: Option<&str>) -> Result<Vec<Value>, Failure> {
        let mut authors = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let target = RequestTarget::new("/api/rooms/authors")
                .query("q", part)
                .query("includeRetired", Some(true))
                .query("limit", Some(200))
                .query("cursor", cursor);
            let page: Value = self.get(&target).await?.json()?;
            authors.extend_from_slice(items(&page, "authors"));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(authors),
            }
        }
    }
}

/// What an environment variable says.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("{name} holds no token.")))
        }
    }
}

/// What people call an author: `@handle`, else its name.
pub(super) fn name_of(author: &Value) -> String {
    match (author["handle"].as_str(), author["displayName"].as_str()) {
        (Some(handle), _) if !handle.is_empty() => format!("@{handle}"),
        (_, name) => name.unwrap_or_default().to_owned(),
    }
}

/// What people call an author, by its id and by that of the agent behind it.
pub(super) fn names_of(author: &Value) -> impl Iterator<Item = (String, String)> {
    let ids = ["id", "agentRef"].map(|member| author[member].as_str().map(str::to_owned));
    let name = name_of(author);
    let ids = ids.into_iter().flatten().filter(|id| !id.is_empty());
    ids.map(move |id| (id, name.clone()))
}

/// What people call a room: `#slug` for a channel, its title for a direct message.
pub(super) fn room_name(room: &Value) -> String {
    match (room["slug"].as_str(), room["title"].as_str()) {
        (Some(slug), _) if !slug.is_empty() => format!("#{slug}"),
        (_, title) => title.unwrap_or("direct message").to_owned(),
    }
}

fn json(body: &Value) -> RequestBody {
    RequestBody::json(body.to_string().into_bytes())
}

fn items<'a>(listing: &'a Value, list: &str) -> &'a [Value] {
    listing[list].as_array().map_or(&[], Vec::as_slice)
}

/// The ids of those whose `member` is `name`, whatever the case.
fn bearers<'a>(items: impl Iterator<Item = &'a Value>, member: &str, name: &str) -> Vec<&'a str> {
    let name = name.to_lowercase();
    items
        .filter(|item| item[member].as_str().map(str::to_lowercase).as_ref() == Some(&name))
        .filter_map(|item| item["id"].as_str())
        .collect()
}

/// The one bearer of the first try that finds any.
fn only(what: &str, named: &str, tries: Vec<Vec<&str>>) -> Result<String, Failure> {
    match tries.into_iter().find(|ids| !ids.is_empty()).as_deref() {
        None => Ok(named.to_owned()),
        Some([id]) => Ok((*id).to_owned()),
        Some(ids) => Err(Failure::Usage(format!(
            "{} {what} are called {named:?}; name one by its id: {}.",
            ids.len(),
            ids.join(", ")
        ))),
    }
}

/// Whether `text` is a UUID in its written form.
fn is_id(text: &str) -> bool {
    let mut bytes = text.bytes().enumerate();
    text.len() == 36
        && bytes.all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
