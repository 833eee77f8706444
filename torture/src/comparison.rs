//! The comparison: what the server has against what it acknowledged, its events against its state,
//! and the file of its store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
};

use rusqlite::{Connection as Database, OpenFlags};
use serde_json::{Value, json};

use crate::{
    Result,
    client::Client,
    event_stream::{self, Event},
    http::Connection,
    ledger::{Ledger, post_text, upload_bytes, version_in},
    load::CLIENTS,
    server::{Installation, Workspace},
};

/// Entries of one page.
const PAGE: u64 = 200;

/// What a comparison finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It was acknowledged and is not there, or not as it was.
    Lost(String),
    /// It may not be so.
    Violation(String),
    /// The name of a file that was left in the working folder.
    LeftFile(String),
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// Not the events of saves and of live readers: a restored store is older than the files of
    /// the working folder, and its log is another one.
    Restored,
}

/// Compares, and takes into the ledger what there is of changes nobody knew of.
///
/// # Errors
/// When the server does not answer.
pub(crate) fn compare(
    server: SocketAddr,
    installation: &Installation,
    workspace: &Workspace,
    ledger: &mut Ledger,
    extent: Extent,
) -> Result<Vec<Finding>> {
    let mut comparison = Comparison {
        connection: Connection::new(server),
        installation,
        workspace,
        ledger,
        findings: Vec::new(),
    };
    let entries = comparison.posts()?;
    comparison.uploads()?;
    let documents = comparison.documents()?;
    comparison.files()?;
    let approvals = comparison.approvals()?;
    let head = comparison.head()?;
    let events = event_stream::read(server, 0, head)?;
    comparison.event_order(&events, head);
    if extent == Extent::Whole {
        comparison.events_heard(&events);
        let saved = comparison.saved()?;
        comparison.events_of_saves(&events, &saved);
    }
    comparison.events_of_posts(&events, &entries);
    comparison.events_of_documents(&events, &documents);
    comparison.events_of_approvals(&events, &approvals);
    comparison.integrity()?;
    Ok(comparison.findings)
}

struct Comparison<'a> {
    connection: Connection,
    installation: &'a Installation,
    workspace: &'a Workspace,
    ledger: &'a mut Ledger,
    findings: Vec<Finding>,
}

impl Comparison<'_> {
    fn lost(&mut self, what: String) {
        self.findings.push(Finding::Lost(what));
    }

    fn violation(&mut self, what: String) {
        self.findings.push(Finding::Violation(what));
    }

    /// Reads something that must be answered.
    fn read(&mut self, path: &str) -> Result<Value> {
        let answer = self.connection.get(path)?;
        if answer.status != 200 {
            self.violation(format!("GET {path} was answered {}", answer.named()));
        }
        Ok(answer.json())
    }

    /// The newest event, as a read says it.
    fn head(&mut self) -> Result<u64> {
        let answer = self.connection.get("/api/rooms")?;
        let head = answer.header("x-event-seq");
        Ok(head.ok_or("a read does not say at which event")?.parse()?)
    }

    /// Each post is there as it was acknowledged, and each entry is a whole one that was sent.
    fn posts(&mut self) -> Result<Vec<Value>> {
        let mut entries: Vec<Value> = Vec::new();
        loop {
            let path = format!(
                "/api/rooms/{}/entries?after={}&limit={PAGE}",
                self.workspace.room,
                entries.len()
            );
            let page = self.read(&path)?;
            let found = page["entries"].as_array().cloned().unwrap_or_default();
            let is_over = found.is_empty() || page["hasMore"] == json!(false);
            entries.extend(found);
            if is_over {
                break;
            }
        }
        let mut seen = BTreeMap::new();
        for (n, entry) in entries.iter().enumerate() {
            let text = entry["text"].as_str().unwrap_or_default();
            let label = text.split(' ').next().unwrap_or_default();
            if entry["seq"] != json!(n + 1) {
                self.violation(format!(
                    "the entry after {n} others has seq {}",
                    entry["seq"]
                ));
            }
            let Some(post) = self.ledger.posts.get(label) else {
                self.violation(format!("nobody posted {text:?}"));
                continue;
            };
            let attached = &entry["attachments"][0]["id"];
            let is_whole =
                text == post_text(label) && attached.as_str() == post.attachment.as_deref();
            if !is_whole {
                self.violation(format!("{label} is there in part: {entry}"));
            }
            if seen.insert(label.to_owned(), entry).is_some() {
                self.violation(format!("{label} is there twice"));
            }
        }
        let acknowledged = self.ledger.posts.iter().filter_map(|(label, post)| {
            let (id, seq) = post.acknowledged.as_ref()?;
            let found = seen.get(label);
            let is_there =
                found.is_some_and(|entry| entry["id"] == json!(id) && entry["seq"] == json!(seq));
            (!is_there).then(|| {
                (
                    label.clone(),
                    format!("the post {label}, entry {seq} ({id})"),
                )
            })
        });
        let lost: Vec<_> = acknowledged.collect();
        for (label, what) in lost {
            // Told once.
            self.ledger.posts.entry(label).or_default().acknowledged = None;
            self.lost(what);
        }
        Ok(entries)
    }

    /// Each uploaded file is there byte for byte.
    fn uploads(&mut self) -> Result<()> {
        let uploads: Vec<_> = self.ledger.uploads.clone().into_iter().collect();
        for (label, id) in uploads {
            let Some(id) = id else { continue };
            let path = format!("/api/rooms/{}/attachments/{id}", self.workspace.room);
            let answer = self.connection.get(&path)?;
            if answer.status != 200 || answer.body != upload_bytes(&label) {
                self.ledger.uploads.insert(label.clone(), None);
                self.lost(format!(
                    "the file {label} ({id}): {} with {} bytes",
                    answer.named(),
                    answer.body.len()
                ));
            }
        }
        Ok(())
    }

    /// Each document has a version that it may have; answers them by their id.
    fn documents(&mut self) -> Result<BTreeMap<String, Value>> {
        let path = format!("/api/rooms/{}/canvas", self.workspace.room);
        let canvas = self.read(&path)?;
        let documents = canvas["documents"].as_array().cloned().unwrap_or_default();
        let mut by_id = BTreeMap::new();
        let mut versions = BTreeMap::new();
        for document in documents {
            let id = document["id"].as_str().unwrap_or_default().to_owned();
            let data = &document["content"]["data"];
            let label = data["name"].as_str().unwrap_or_default().to_owned();
            let version = version_in(&label, data["text"].as_str().unwrap_or_default());
            if version.is_none() {
                self.violation(format!("a document is there in part: {document}"));
            }
            if versions
                .insert(label.clone(), (id.clone(), version))
                .is_some()
            {
                self.violation(format!("{label} was opened twice"));
            }
            by_id.insert(id, document);
        }
        let labels: Vec<String> = self.ledger.documents.keys().cloned().collect();
        for label in labels {
            let found = versions.get(&label);
            let version = found.and_then(|(_, version)| *version);
            let Some(document) = self.ledger.documents.get_mut(&label) else {
                continue;
            };
            let is_right = document.may_be(version);
            let acknowledged = document.acknowledged;
            document.settle(version);
            document.id = found.map(|(id, _)| id.clone());
            if !is_right {
                self.lost(format!(
                    "the document {label}: version {acknowledged:?} was acknowledged, {version:?} is there"
                ));
            }
        }
        Ok(by_id)
    }

    /// Each file of the working folder has a version that it may have, and nothing else lies
    /// there.
    fn files(&mut self) -> Result<()> {
        let names: Vec<String> = self.ledger.files.keys().cloned().collect();
        for name in names {
            let text = fs::read_to_string(self.installation.work().join(&name)).unwrap_or_default();
            let version = version_in(&name, &text);
            if version.is_none() && !text.is_empty() {
                self.violation(format!("{name} is there in part, {} bytes", text.len()));
            }
            let Some(file) = self.ledger.files.get_mut(&name) else {
                continue;
            };
            let (is_right, acknowledged) = (file.may_be(version), file.acknowledged);
            file.settle(version);
            if !is_right {
                self.lost(format!(
                    "the save of {name}: version {acknowledged:?} was acknowledged, {version:?} is there"
                ));
            }
        }
        for entry in fs::read_dir(self.installation.work())?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_known = (0..CLIENTS).any(|number| {
                name == Client::file_name(number) || name == Client::linked_name(number)
            });
            if !is_known {
                self.findings.push(Finding::LeftFile(name));
            }
        }
        Ok(())
    }

    /// What the server says of each file that was saved, by its path.
    fn saved(&mut self) -> Result<BTreeMap<String, Value>> {
        let saved = self.ledger.files.iter();
        let saved = saved.filter(|(_, file)| file.acknowledged.is_some());
        let names: Vec<String> = saved.map(|(name, _)| name.clone()).collect();
        let work = &self.workspace.work;
        let read = names.iter().map(|name| {
            let file = self.read(&format!("/api/files/content?cwd={work}&path={name}"))?;
            Ok((format!("{work}/{name}"), file))
        });
        read.collect()
    }

    /// Each approval is in a state that it may be in; answers them by their id.
    fn approvals(&mut self) -> Result<BTreeMap<String, Value>> {
        let pending = self.read("/api/approvals?state=pending")?;
        for approval in pending["approvals"].as_array().into_iter().flatten() {
            let label = approval["card"]["name"].as_str().unwrap_or_default();
            match self.ledger.approvals.get_mut(label) {
                Some(known) if known.id.is_none() => {
                    known.id = approval["id"].as_str().map(str::to_owned);
                }
                Some(known) if known.id.as_deref() == approval["id"].as_str() => {}
                _ => self.violation(format!("nobody asked for the approval {approval}")),
            }
        }
        let mut by_id = BTreeMap::new();
        let approvals: Vec<_> = self.ledger.approvals.clone().into_iter().collect();
        for (label, known) in approvals {
            let Some(id) = known.id.clone() else {
                continue;
            };
            let answer = self.connection.get(&format!("/api/approvals/{id}"))?;
            let approval = answer.json();
            let state = approval["state"].as_str().unwrap_or_default();
            let may_be = [known.acknowledged, known.asked];
            let found = may_be.into_iter().flatten().find(|may| *may == state);
            if found.is_none() {
                self.lost(format!(
                    "the approval {label} ({id}): {:?} was acknowledged, {:?} asked for, and {} {state:?} is there",
                    known.acknowledged,
                    known.asked,
                    answer.named()
                ));
                self.ledger.approvals.remove(&label);
                continue;
            }
            if let Some(approval) = self.ledger.approvals.get_mut(&label) {
                (approval.acknowledged, approval.asked) = (found, None);
            }
            by_id.insert(id, approval);
        }
        Ok(by_id)
    }

    /// The events are numbered without a gap.
    fn event_order(&mut self, events: &[Event], head: u64) {
        for (event, expected) in events.iter().zip(1..) {
            if event.seq != expected {
                self.violation(format!(
                    "the replay of {head} events has {} in place of {expected}",
                    event.seq
                ));
                return;
            }
        }
    }

    /// What a live reader heard is what the events are, each once and in order.
    fn events_heard(&mut self, events: &[Event]) {
        let heard = std::mem::take(&mut self.ledger.heard);
        for ((seq, fingerprint), expected) in heard.iter().zip(1..) {
            let kept = usize::try_from(*seq - 1).ok().and_then(|n| events.get(n));
            if *seq != expected {
                self.violation(format!(
                    "a live reader heard event {seq} in place of {expected}"
                ));
                break;
            }
            match kept {
                None => {
                    self.lost(format!("event {seq}, which a live reader heard"));
                    break;
                }
                Some(kept) if kept.fingerprint != *fingerprint => {
                    self.violation(format!("event {seq} is not what a live reader heard"));
                    break;
                }
                Some(_) => {}
            }
        }
        self.ledger.heard = heard;
    }

    /// Each entry has one event with the same text, and no event tells of another one.
    fn events_of_posts(&mut self, events: &[Event], entries: &[Value]) {
        let fields = |entry: &Value| {
            let field = |name: &str| entry[name].to_string();
            [field("id"), field("seq"), field("text")]
        };
        let told = events.iter().filter(|event| event.kind == "entry_added");
        let told = told.map(|event| &event.data["entry"]);
        let told = told.filter(|entry| entry["roomId"] == json!(self.workspace.room));
        let told: Vec<_> = told.map(fields).collect();
        let stored: Vec<_> = entries.iter().map(fields).collect();
        if told != stored {
            let (told, stored): (BTreeSet<_>, BTreeSet<_>) =
                (told.iter().collect(), stored.iter().collect());
            let untold = stored.difference(&told).next();
            let unstored = told.difference(&stored).next();
            self.violation(format!(
                "entries and their events differ: without event {untold:?}, without entry {unstored:?}"
            ));
        }
    }

    /// The last event of each document tells what it is.
    fn events_of_documents(&mut self, events: &[Event], documents: &BTreeMap<String, Value>) {
        let mut told = BTreeMap::new();
        for event in events {
            if event.kind == "canvas_document" {
                let document = &event.data["document"];
                let id = document["id"].as_str().unwrap_or_default();
                told.insert(id.to_owned(), (&document["rev"], &document["content"]));
            }
        }
        let stored: BTreeMap<_, _> = documents
            .iter()
            .map(|(id, document)| (id.clone(), (&document["rev"], &document["content"])))
            .collect();
        if told != stored {
            let revs = |of: &BTreeMap<String, (&Value, &Value)>| {
                let revs = of.iter().map(|(id, (rev, _))| format!("{id}: {rev}"));
                revs.collect::<Vec<_>>().join(", ")
            };
            self.violation(format!(
                "documents and their events differ: {} and {}",
                revs(&stored),
                revs(&told)
            ));
        }
    }

    /// The saves of each file follow one another, and the last one left what is there.
    fn events_of_saves(&mut self, events: &[Event], saved: &BTreeMap<String, Value>) {
        let mut told: BTreeMap<&str, &Value> = BTreeMap::new();
        for event in events {
            if event.kind != "file_saved" {
                continue;
            }
            let path = event.data["path"].as_str().unwrap_or_default();
            let before = told.insert(path, &event.data["hash"]);
            if before.is_some_and(|before| *before != event.data["previousHash"]) {
                self.violation(format!(
                    "event {} follows no earlier save: {}",
                    event.seq, event.data
                ));
            }
        }
        for (path, file) in saved {
            let hash = told.get(path.as_str()).copied().unwrap_or(&Value::Null);
            if *hash != file["hash"] {
                self.violation(format!(
                    "{path} is {}, and its last event tells of {hash}",
                    file["hash"]
                ));
            }
        }
    }

    /// Each approval was told of once, and so was its decision, if it is decided.
    fn events_of_approvals(&mut self, events: &[Event], approvals: &BTreeMap<String, Value>) {
        let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in events {
            let (id, state) = match event.kind.as_str() {
                "approval_requested" => (&event.data["approval"]["id"], "pending"),
                "approval_decided" => (
                    &event.data["approvalId"],
                    event.data["state"].as_str().unwrap_or_default(),
                ),
                _ => continue,
            };
            let id = id.as_str().unwrap_or_default().to_owned();
            told.entry(id).or_default().push(state.to_owned());
        }
        for (id, approval) in approvals {
            let state = approval["state"].as_str().unwrap_or_default();
            let mut expected = vec!["pending".to_owned()];
            expected.extend((state != "pending").then(|| state.to_owned()));
            let told = told.get(id).cloned().unwrap_or_default();
            if told != expected {
                self.violation(format!(
                    "the approval {id} is {state}, and its events say {told:?}"
                ));
            }
        }
    }

    /// The engine finds nothing wrong with the file, which the server has open.
    fn integrity(&mut self) -> Result<()> {
        let file = self.installation.database();
        let database = Database::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = database.prepare("PRAGMA integrity_check")?;
        let problems = statement.query_map([], |row| row.get::<_, String>(0))?;
        let problems = problems.collect::<std::result::Result<Vec<_>, _>>()?;
        if problems != ["ok"] {
            self.violation(format!("integrity check: {}", problems.join("; ")));
        }
        Ok(())
    }
}
