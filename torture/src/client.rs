//! A client: asks for one change after another and notes in the ledger what was acknowledged.

use std::{io, net::SocketAddr, sync::Mutex};

use serde_json::{Value, json};

use crate::{
    Result,
    http::{Answer, Connection},
    ledger::{Ledger, POST, Phase, Post, locked, post_text, upload_bytes, version_text},
    rng::Rng,
    server::Workspace,
};

/// A program that is there on every Linux; no approval of it is ever used.
const PROGRAM: &str = "/bin/true";

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Post,
    Upload,
    /// A post with the file that was uploaded last.
    PostWithUpload,
    Canvas,
    /// A save of a file of its own.
    Save,
    /// A save of a file that has two names, which is written in place.
    SaveInPlace,
    /// A request for an approval and the decision about it.
    Decision,
}

/// How often each kind is asked for, of a hundred.
const SHARES: [(Change, usize); 7] = [
    (Change::Post, 44),
    (Change::Upload, 8),
    (Change::PostWithUpload, 6),
    (Change::Canvas, 16),
    (Change::Save, 10),
    (Change::SaveInPlace, 6),
    (Change::Decision, 10),
];

/// Who asks for changes.
pub(crate) struct Client<'a> {
    /// The number that tells it from the others.
    number: usize,
    workspace: &'a Workspace,
    ledger: &'a Mutex<Ledger>,
    connection: Connection,
    rng: Rng,
    /// The file it uploaded last.
    upload: Option<String>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        number: usize,
        server: SocketAddr,
        workspace: &'a Workspace,
        ledger: &'a Mutex<Ledger>,
        rng: Rng,
    ) -> Self {
        Self {
            number,
            workspace,
            ledger,
            connection: Connection::new(server),
            rng,
            upload: None,
        }
    }

    /// The name of its own file; those of clients differ.
    pub(crate) fn file_name(number: usize) -> String {
        format!("notes-{number}.md")
    }

    /// The name of its file with two names.
    pub(crate) fn linked_name(number: usize) -> String {
        format!("linked-{number}.md")
    }

    /// A kind of change, as often as its share.
    pub(crate) fn pick(&mut self) -> Change {
        let mut left = self.rng.below(100);
        for (change, share) in SHARES {
            if left < share {
                return change;
            }
            left -= share;
        }
        Change::Post
    }

    /// Asks for one change.
    ///
    /// # Errors
    /// When no answer came.
    pub(crate) fn ask(&mut self, change: Change) -> io::Result<()> {
        match change {
            Change::Post => self.post(None),
            Change::Upload => self.upload(),
            Change::PostWithUpload => {
                if self.upload.is_none() {
                    self.upload()?;
                }
                let upload = self.upload.take();
                self.post(upload)
            }
            Change::Canvas => self.canvas(),
            Change::Save => self.save(&Self::file_name(self.number)),
            Change::SaveInPlace => self.save(&Self::linked_name(self.number)),
            Change::Decision => self.decision(),
        }
    }

    fn post(&mut self, attachment: Option<String>) -> io::Result<()> {
        let (label, begun) = {
            let mut ledger = locked(self.ledger);
            let label = ledger.new_label("post");
            let post = Post {
                acknowledged: None,
                attachment: attachment.clone(),
            };
            ledger.posts.insert(label.clone(), post);
            (label, ledger.phase)
        };
        let mut body = json!({"text": post_text(&label)});
        if let Some(id) = attachment {
            body["attachmentIds"] = json!([id]);
        }
        let path = format!("/api/rooms/{}/entries", self.workspace.room);
        let answer = self.connection.send("POST", &path, &body)?;
        self.settle(POST, begun, &answer, |ledger, body| {
            let entry = &body["entry"];
            let id = entry["id"].as_str().unwrap_or_default().to_owned();
            if let Some(post) = ledger.posts.get_mut(&label) {
                post.acknowledged = Some((id, entry["seq"].as_u64().unwrap_or_default()));
            }
        });
        Ok(())
    }

    fn upload(&mut self) -> io::Result<()> {
        let (label, begun) = {
            let mut ledger = locked(self.ledger);
            let label = ledger.new_label("upload");
            ledger.uploads.insert(label.clone(), None);
            (label, ledger.phase)
        };
        let path = format!("/api/rooms/{}/attachments", self.workspace.room);
        let bytes = upload_bytes(&label);
        let answer = self.connection.upload(&path, &label, &bytes)?;
        let mut upload = None;
        self.settle("an upload", begun, &answer, |ledger, body| {
            let id = body["attachments"][0]["id"].as_str().map(str::to_owned);
            upload.clone_from(&id);
            ledger.uploads.insert(label, id);
        });
        self.upload = upload;
        Ok(())
    }

    /// Opens its document, or changes it when it has one.
    fn canvas(&mut self) -> io::Result<()> {
        let label = format!("document-{}", self.number);
        let (id, version, begun) = {
            let mut ledger = locked(self.ledger);
            let begun = ledger.phase;
            let document = ledger.documents.entry(label.clone()).or_default();
            if document.id.is_none() && !document.asked.is_empty() {
                // Whether it was opened shows at the next comparison.
                return Ok(());
            }
            (document.id.clone(), document.next(), begun)
        };
        let data = json!({"name": label, "text": version_text(&label, version)});
        let body = json!({"content": {"type": "json", "data": data}});
        let path = format!("/api/rooms/{}/canvas", self.workspace.room);
        let answer = match &id {
            None => self.connection.send("POST", &path, &body)?,
            Some(id) => self
                .connection
                .send("PATCH", &format!("{path}/{id}"), &body)?,
        };
        self.settle("a canvas change", begun, &answer, |ledger, body| {
            let document = ledger.documents.entry(label).or_default();
            document.id = body["id"].as_str().map(str::to_owned);
            document.settle(Some(version));
        });
        Ok(())
    }

    fn save(&mut self, name: &str) -> io::Result<()> {
        let (version, begun) = {
            let mut ledger = locked(self.ledger);
            let begun = ledger.phase;
            (
                ledger.files.entry(name.to_owned()).or_default().next(),
                begun,
            )
        };
        let body = json!({"cwd": self.workspace.work, "path": name, "content": version_text(name, version)});
        let answer = self.connection.send("PUT", "/api/files/content", &body)?;
        self.settle("a save", begun, &answer, |ledger, _| {
            let file = ledger.files.entry(name.to_owned()).or_default();
            file.settle(Some(version));
        });
        Ok(())
    }

    fn decision(&mut self) -> io::Result<()> {
        let (label, begun) = {
            let mut ledger = locked(self.ledger);
            let label = ledger.new_label("server");
            ledger.approvals.entry(label.clone()).or_default().asked = Some("pending");
            (label, ledger.phase)
        };
        let path = format!("/api/agents/{}/mcp-servers", self.workspace.agent);
        let connection = json!({"transport": "stdio", "command": PROGRAM, "args": []});
        let body = json!({"name": label, "connection": connection});
        let answer = self
            .connection
            .send_with("POST", &path, "Prefer: wait=0\r\n", &body)?;
        let mut id = None;
        self.settle(
            "a request for an approval",
            begun,
            &answer,
            |ledger, body| {
                id = body["approvalId"].as_str().map(str::to_owned);
                let approval = ledger.approvals.entry(label.clone()).or_default();
                approval.id.clone_from(&id);
                approval.acknowledged = approval.asked.take();
            },
        );
        match id {
            Some(id) => {
                let is_granted = self.rng.chance(50);
                self.decide(&label, &id, is_granted)
            }
            None => Ok(()),
        }
    }

    /// Grants or denies an approval.
    fn decide(&mut self, label: &str, id: &str, is_granted: bool) -> io::Result<()> {
        let path = format!("/api/approvals/{id}");
        let (verb, state, body) = if is_granted {
            let card = self.connection.get(&path)?.json();
            ("grant", "granted", json!({"digest": card["digest"]}))
        } else {
            ("deny", "denied", json!({}))
        };
        let begun = {
            let mut ledger = locked(self.ledger);
            ledger.approvals.entry(label.to_owned()).or_default().asked = Some(state);
            ledger.phase
        };
        let answer = self
            .connection
            .send("POST", &format!("{path}/{verb}"), &body)?;
        self.settle("a decision", begun, &answer, |ledger, _| {
            let approval = ledger.approvals.entry(label.to_owned()).or_default();
            approval.acknowledged = approval.asked.take();
        });
        Ok(())
    }

    /// Asks for a backup; true when it was made.
    ///
    /// # Errors
    /// When no answer came.
    pub(crate) fn back_up(&mut self) -> io::Result<bool> {
        let answer = self.connection.send("POST", "/api/backups", &json!({}))?;
        if !answer.is_granted() {
            locked(self.ledger).refused("a backup", &answer);
        }
        Ok(answer.is_granted())
    }

    /// Denies what no decision was acknowledged of, so that requests do not add up.
    ///
    /// # Errors
    /// When no answer came.
    pub(crate) fn deny_pending(&mut self) -> io::Result<()> {
        let pending: Vec<(String, String)> = {
            let ledger = locked(self.ledger);
            let pending = ledger.approvals.iter().filter_map(|(label, approval)| {
                let id = approval.id.clone()?;
                (approval.acknowledged == Some("pending")).then(|| (label.clone(), id))
            });
            pending.collect()
        };
        for (label, id) in pending {
            self.decide(&label, &id, false)?;
        }
        Ok(())
    }

    fn settle(
        &self,
        what: &str,
        begun: Phase,
        answer: &Answer,
        acknowledge: impl FnOnce(&mut Ledger, &Value),
    ) {
        let mut ledger = locked(self.ledger);
        if !answer.is_granted() {
            ledger.refused(what, answer);
        } else if ledger.counts(begun) {
            ledger.acknowledgements += 1;
            acknowledge(&mut ledger, &answer.json());
        }
    }
}

/// Makes a room and an agent to ask with.
///
/// # Errors
/// What the server answered in place of them.
pub(crate) fn furnish(server: SocketAddr, work: &str) -> Result<(String, String)> {
    let mut connection = Connection::new(server);
    let room = json!({"kind": "channel", "title": "Torture"});
    let room = connection.send("POST", "/api/rooms", &room)?;
    let session = json!({"cwd": work, "runtime": "rehearsal"});
    let session = connection.send("POST", "/api/sessions", &session)?;
    let (room, agent) = (room.json(), session.json());
    match (room["id"].as_str(), agent["agentId"].as_str()) {
        (Some(room), Some(agent)) => Ok((room.to_owned(), agent.to_owned())),
        _ => Err(format!("the server made no room or no agent: {room} {agent}").into()),
    }
}
