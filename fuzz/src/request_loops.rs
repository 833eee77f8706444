//! The connections that send requests, one after another each, until a moment comes.
//!
//! Every attempt has random numbers of its own, so that the seed and the attempt's number give
//! the same request again where the server gave out the same ids.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    net::SocketAddr,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    HANG_S, Result,
    callers::{CallerCredentials, Callers},
    findings::{FailureKind, Findings, summary},
    http_client::{HttpClient, HttpResponse, NoResponse},
    json_values::ValueGenerator,
    known_ids::KnownIds,
    mcp_calls::{self, ToolSchema},
    operations::{ApiDocument, Operation},
    raw_http,
    requests::{self, Request, Validity},
    rng::Rng,
    server_under_test::ServerUnderTest,
};

/// How often one operation may change something, so that what there is stays bounded and lists
/// stay short.
const GRANTED_MAX: u64 = 250;
/// While rows are compared one write in so many of all that were granted may still be.
const HELD_SHARE: u64 = 100;
/// Attempts after which is looked whether the callers are still known.
const MEND_EVERY: u64 = 200;
/// How long bytes that need no answer are given one.
const RAW_PATIENCE: Duration = Duration::from_millis(300);
/// How long a step towards a hostile peer may take: what waits for a peer gives it up to 30 s.
const PEER_PATIENCE: Duration = Duration::from_secs(35);
/// Answers of 500 and above that say that something other than the server is at fault, or that it
/// has too much to do; each is documented.
const ALLOWED: &[&str] = &[
    "OVERLOADED",
    "FILE_GATE_FULL",
    "FILE_GATE_TIMEOUT",
    "BROWSER_DISABLED",
    "BROWSER_TIMEOUT",
    "CLOUD_UNREACHABLE",
    "CLOUD_ANSWER_INVALID",
    "CLOUD_NOT_CONFIGURED",
];

/// What the connections to one house share.
pub(crate) struct RequestLoops<'a> {
    pub(crate) interface: &'a ApiDocument,
    pub(crate) house: &'a ServerUnderTest,
    pub(crate) findings: &'a RefCell<Findings>,
    pub(crate) callers: RefCell<Callers>,
    pub(crate) known: RefCell<KnownIds>,
    pub(crate) tools: RefCell<Vec<ToolSchema>>,
    pub(crate) peers: SocketAddr,
    pub(crate) program: String,
    pub(crate) seed: u64,
    /// The number of the next attempt.
    next: Cell<u64>,
    /// Writes granted, by operation.
    granted: RefCell<BTreeMap<String, u64>>,
    /// How many writes may be granted in all; none yet while there is no bound.
    granted_max: Cell<Option<u64>>,
}

/// One request and what it is for.
struct Attempt<'a> {
    number: u64,
    what: &'static str,
    /// What failures are told apart by.
    place: String,
    operation: Option<&'a Operation>,
    request: Request,
    shown: CallerCredentials,
    patience: Duration,
    /// Whether an answer has to come.
    is_answered: bool,
}

impl<'a> RequestLoops<'a> {
    pub(crate) fn new(
        interface: &'a ApiDocument,
        house: &'a ServerUnderTest,
        findings: &'a RefCell<Findings>,
        callers: Callers,
        peers: SocketAddr,
        seed: u64,
    ) -> Result<Self> {
        Ok(Self {
            interface,
            house,
            findings,
            callers: RefCell::new(callers),
            known: RefCell::default(),
            tools: RefCell::default(),
            peers,
            program: std::env::current_exe()?.display().to_string(),
            seed,
            next: Cell::new(0),
            granted: RefCell::default(),
            granted_max: Cell::new(None),
        })
    }

    /// Lets few more writes be granted, so that rows can be compared.
    pub(crate) fn hold_rows(&self) {
        let granted = self.granted_in_all();
        self.granted_max.set(Some(granted + granted / HELD_SHARE));
    }

    /// Sends requests on one connection to each listener until then.
    ///
    /// # Errors
    /// That the server is there no longer.
    pub(crate) async fn connection(&self, until: Instant) -> Result<()> {
        let mut clients: BTreeMap<SocketAddr, HttpClient> = BTreeMap::new();
        while Instant::now() < until {
            let number = self.next.get();
            self.next.set(number + 1);
            if number.is_multiple_of(MEND_EVERY) {
                self.mend().await?;
            }
            let attempt = self.attempt(number);
            self.findings.borrow_mut().attempted(attempt.what);
            let listener = attempt.shown.listener;
            let client = clients
                .entry(listener)
                .or_insert_with(|| HttpClient::new(listener));
            if attempt.operation.is_none() && attempt.what == "raw" {
                client.close();
            }
            let patience = attempt.patience;
            let mut answer = client.ask(&attempt.request.bytes, patience).await;
            if answer == Err(NoResponse::Late) && attempt.is_answered {
                // On a busy computer one answer may be late; the same one twice is not.
                answer = client.ask(&attempt.request.bytes, patience).await;
                if answer.is_ok() {
                    self.findings.borrow_mut().record_late(&attempt.place);
                }
            }
            match answer {
                Ok(answer) => self.judge(&attempt, &answer),
                Err(NoResponse::Refused) => return Err("nobody listens any longer".into()),
                Err(how) if attempt.is_answered => self.unanswered(&attempt, how),
                Err(_) => self
                    .findings
                    .borrow_mut()
                    .answered(0, attempt.shown.who, None),
            }
        }
        Ok(())
    }

    async fn mend(&self) -> Result<()> {
        let mut callers = self.callers.borrow().clone();
        callers.repair().await?;
        if self.tools.borrow().is_empty() {
            let agent = callers.agent(&mut Rng::of_attempt(self.seed, 0));
            let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
            let request = format!(
                "POST /mcp HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{list}",
                agent.host,
                agent.lines.join("\r\n"),
                list.len()
            );
            let hang = Duration::from_secs(HANG_S);
            let answer = HttpClient::new(agent.listener)
                .ask(request.as_bytes(), hang)
                .await;
            if let Ok(answer) = answer {
                *self.tools.borrow_mut() = mcp_calls::tools_in(&answer.json());
            }
        }
        *self.callers.borrow_mut() = callers;
        Ok(())
    }

    fn attempt(&self, number: u64) -> Attempt<'a> {
        let mut rng = Rng::of_attempt(self.seed, number);
        let callers = self.callers.borrow();
        let known = self.known.borrow();
        let (folder, peers) = (self.house.work("ada"), format!("http://{}", self.peers));
        let kind = rng.below(100);
        let mut maker = ValueGenerator {
            interface: self.interface,
            known: &known,
            rng: &mut rng,
            folder: &folder,
            peers: &peers,
            program: &self.program,
        };
        match kind {
            0..=6 => {
                let shown = callers.any(maker.rng);
                let (bytes, is_answered) = raw_http::bytes(&shown.host, maker.rng);
                let hang = Duration::from_secs(HANG_S);
                Attempt {
                    number,
                    what: "raw",
                    place: "raw HTTP".to_owned(),
                    operation: None,
                    request: Request {
                        bytes,
                        path: String::new(),
                    },
                    shown,
                    patience: if is_answered { hang } else { RAW_PATIENCE },
                    is_answered,
                }
            }
            7..=15 => {
                let shown = match maker.rng.chance(90) {
                    true => callers.agent(maker.rng),
                    false => callers.any(maker.rng),
                };
                let is_kept = self.may_be_granted("mcp");
                let request = mcp_calls::request(&mut maker, &self.tools.borrow(), &shown, is_kept);
                let patience = Duration::from_secs(mcp_calls::answer_max_s(&request));
                Attempt {
                    number,
                    what: "mcp",
                    place: request.path.clone(),
                    operation: None,
                    request,
                    shown,
                    patience,
                    is_answered: true,
                }
            }
            _ => {
                let interface: &'a ApiDocument = self.interface;
                let operation = maker.rng.pick(&interface.operations);
                let is_held = operation.is_write() && !self.may_be_granted(&operation.id);
                let has_no_place_to_break =
                    operation.body.is_none() && !operation.path.contains('{');
                let shown = match is_held && has_no_place_to_break {
                    true => callers.unknown(maker.rng),
                    false => callers.any(maker.rng),
                };
                let shape = match maker.rng.below(100) {
                    _ if is_held => Validity::Broken,
                    0..=54 => Validity::Whole,
                    55..=84 => Validity::Bent,
                    _ => Validity::Broken,
                };
                let request = requests::request(&mut maker, operation, shape, &shown);
                Attempt {
                    number,
                    what: "operations",
                    place: operation.id.clone(),
                    operation: Some(operation),
                    request,
                    shown,
                    patience: Duration::from_secs(operation.answer_max_s()),
                    is_answered: true,
                }
            }
        }
    }

    /// Asks as the owner for one of the steps towards a hostile peer, and answers the answer's JSON.
    ///
    /// # Errors
    /// That the server is there no longer.
    pub(crate) async fn ask(
        &self,
        callers: &Callers,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value> {
        self.ask_with(callers, &[], method, path, body).await
    }

    /// The same with the approval's token.
    pub(crate) async fn ask_approved(
        &self,
        callers: &Callers,
        path: &str,
        body: &Value,
        token: &str,
    ) -> Result<Value> {
        let line = format!("X-Service-Approval: {token}");
        self.ask_with(callers, &[line], "POST", path, body).await
    }

    async fn ask_with(
        &self,
        callers: &Callers,
        lines: &[String],
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value> {
        let mut shown = callers.owner();
        shown.lines.extend_from_slice(lines);
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let lines: String = shown
            .lines
            .iter()
            .map(|line| format!("{line}\r\n"))
            .collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{lines}Prefer: wait=0\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            shown.host,
            body.len()
        );
        let attempt = Attempt {
            number: 0,
            what: "peers",
            place: format!("{method} {path}"),
            operation: None,
            request: Request {
                bytes: request.into_bytes(),
                path: path.to_owned(),
            },
            shown,
            patience: PEER_PATIENCE,
            is_answered: true,
        };
        self.findings.borrow_mut().attempted(attempt.what);
        let mut client = HttpClient::new(attempt.shown.listener);
        match client.ask(&attempt.request.bytes, attempt.patience).await {
            Ok(answer) => {
                self.judge(&attempt, &answer);
                Ok(answer.json())
            }
            Err(NoResponse::Refused) => Err("nobody listens any longer".into()),
            Err(how) => {
                self.unanswered(&attempt, how);
                Ok(Value::Null)
            }
        }
    }

    /// Notes that this changed something.
    pub(crate) fn granted(&self, what: &str) {
        *self
            .granted
            .borrow_mut()
            .entry(what.to_owned())
            .or_default() += 1;
    }

    fn granted_in_all(&self) -> u64 {
        self.granted.borrow().values().sum()
    }

    /// Whether this may change something once more.
    pub(crate) fn may_be_granted(&self, operation: &str) -> bool {
        let granted = self
            .granted
            .borrow()
            .get(operation)
            .copied()
            .unwrap_or_default();
        let is_bounded = self
            .granted_max
            .get()
            .is_some_and(|max| self.granted_in_all() >= max);
        granted < GRANTED_MAX && !is_bounded
    }

    fn judge(&self, attempt: &Attempt<'_>, answer: &HttpResponse) {
        let operation = attempt.operation.map(|operation| operation.id.as_str());
        self.findings
            .borrow_mut()
            .answered(answer.status, attempt.shown.who, operation);
        let is_json = answer
            .line("content-type")
            .is_some_and(|kind| kind.contains("json"));
        let json = if is_json && answer.body.len() < 1 << 20 {
            answer.json()
        } else {
            Value::Null
        };
        if answer.status >= 500 {
            let code = json["code"].as_str().unwrap_or("no code");
            if !is_allowed(attempt.operation, answer.status, code) {
                let place = format!("{} {} {code}", attempt.place, answer.status);
                let details = || self.details(attempt, &summary(&answer.body));
                self.findings
                    .borrow_mut()
                    .failed(FailureKind::ServerError, &place, details);
            }
        }
        if !(200..300).contains(&answer.status) {
            return;
        }
        let mut rng = Rng::of_attempt(self.seed, attempt.number ^ u64::MAX);
        if attempt.operation.is_some_and(Operation::is_write) || attempt.what == "mcp" {
            let operation = attempt.operation.map_or("mcp", |operation| &operation.id);
            self.granted(operation);
        }
        self.known
            .borrow_mut()
            .learn(&attempt.request.path, &json, &mut rng);
    }

    fn unanswered(&self, attempt: &Attempt<'_>, how: NoResponse) {
        let kind = match how {
            NoResponse::Late => FailureKind::Hang,
            NoResponse::Closed | NoResponse::Refused | NoResponse::Garbled => FailureKind::NoAnswer,
        };
        let place = format!("{} ({how:?})", attempt.place);
        let details = || self.details(attempt, "nothing");
        self.findings.borrow_mut().failed(kind, &place, details);
    }

    /// All that helps to see it again.
    fn details(&self, attempt: &Attempt<'_>, answer: &str) -> String {
        format!(
            "seed {}, attempt {}, mode {}, at {} as {}:\n{}\nanswered: {answer}",
            self.seed,
            attempt.number,
            self.house.mode.word(),
            attempt.shown.listener,
            attempt.shown.who,
            summary(&attempt.request.bytes)
        )
    }
}

/// Whether an answer of 500 or above says what it should.
fn is_allowed(operation: Option<&Operation>, status: u16, code: &str) -> bool {
    let page = operation.is_some_and(|operation| {
        // A page for people: what the sign-in's server said cannot be used.
        operation.path.starts_with("/api/oauth/") && status == 502
    });
    let of_operation = operation
        .is_some_and(|operation| status > 500 && operation.codes.iter().any(|known| known == code));
    page || of_operation || (status > 500 && ALLOWED.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_is_allowed_and_what_broke_is_not() {
        let interface = ApiDocument::read().unwrap();
        let of = |id: &str| interface.operations.iter().find(|one| one.id == id);
        assert!(is_allowed(of("listRooms"), 503, "OVERLOADED"));
        assert!(is_allowed(of("openBrowser"), 503, "BROWSER_DISABLED"));
        assert!(!is_allowed(of("listRooms"), 500, "INTERNAL_ERROR"));
        assert!(!is_allowed(of("getFileContent"), 500, "FILE_IO_FAILED"));
        assert!(!is_allowed(None, 503, "SHUTTING_DOWN"));
    }
}
