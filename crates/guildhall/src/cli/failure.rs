//! Why a command did not do what it was asked, and the exit code that says so.
//! Source: design of the command line, "Errors" and the table of exit codes.

use std::io;

use http::StatusCode;
use serde_json::Value;

use super::{approval_cards, escaped_text, http_client::HttpResponse};

/// The exit code of a refusal: any 4xx, or a success that says no inside.
const REFUSED: u8 = 1;
/// The exit code of wrong usage.
const USAGE: u8 = 2;
/// The exit code when no server was reached.
const UNREACHED: u8 = 3;
/// The exit code of a fault of the server.
pub(super) const FAULT: u8 = 4;
/// The exit code when a person is needed first.
const PERSON_NEEDED: u8 = 5;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command line cannot be carried out as it stands.
    Usage(String),
    /// No server was reached.
    Unreached(String),
    /// The server, or the way to it, went away before the answer was whole.
    CutOff(String),
    /// The server answered something else than a success.
    Answered(HttpResponse),
    /// The owner must approve it, and was not there to be asked: the card as the server answered
    /// it, and where it is on the page.
    Unapproved {
        /// The approval.
        card: Box<HttpResponse>,
        /// Its address.
        page: String,
    },
    /// A success that says no inside; what it says was printed.
    Declined(String),
    /// A success whose body cannot be understood.
    Unreadable(String),
    /// Standard output or input failed.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Failure {
    /// What the process exits with.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Unreached(_) | Self::CutOff(_) => UNREACHED,
            Self::Answered(answer) => code_of(answer.status),
            Self::Unapproved { .. } => PERSON_NEEDED,
            Self::Declined(_) => REFUSED,
            Self::Unreadable(_) => FAULT,
            // Whoever closed the pipe has read enough.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Io(_) => FAULT,
        }
    }

    /// What is written to standard error; `as_json` asks for the server's own words, byte for byte.
    pub(super) fn message(&self, as_json: bool) -> Vec<u8> {
        match self {
            Self::Answered(answer) if as_json && !answer.body.is_empty() => {
                let mut message = answer.body.to_vec();
                message.push(b'\n');
                message
            }
            Self::Answered(answer) => sentence(answer).into_bytes(),
            Self::Unapproved { card, .. } if as_json => [&card.body[..], b"\n"].concat(),
            Self::Unapproved { card, page } => unapproved(card, page).into_bytes(),
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => Vec::new(),
            Self::Io(error) => format!("guildhall: {error}\n").into_bytes(),
            Self::Usage(why)
            | Self::Unreached(why)
            | Self::CutOff(why)
            | Self::Declined(why)
            | Self::Unreadable(why) => {
                format!("guildhall: {}\n", escaped_text::one_line(why)).into_bytes()
            }
        }
    }
}

/// The exit code of an answer that was read whole.
pub(super) fn code_of(status: StatusCode) -> u8 {
    match status {
        StatusCode::ACCEPTED => PERSON_NEEDED,
        status if status.is_success() => 0,
        status if status.is_client_error() => REFUSED,
        _ => FAULT,
    }
}

/// The envelope for a person: its sentence, its code, the request's id, and what each field lacks.
fn sentence(answer: &HttpResponse) -> String {
    let envelope: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if answer.status == StatusCode::ACCEPTED {
        return approval_needed(&envelope);
    }
    let status = answer.status.as_u16().to_string();
    let error = envelope["error"].as_str();
    let error = error.map_or_else(
        || format!("the server answered with status {status}."),
        str::to_owned,
    );
    let code = envelope["code"].as_str().unwrap_or(&status);
    let request = answer.request_id.as_deref().unwrap_or("unknown");
    let mut message = format!(
        "guildhall: {}\n  code {}, request {}\n",
        escaped_text::one_line(&error),
        escaped_text::one_line(code),
        escaped_text::one_line(request)
    );
    let details = &envelope["details"];
    for problem in texts(&details["formErrors"]) {
        message.push_str(&format!("  {problem}\n"));
    }
    for (field, problems) in details["fieldErrors"].as_object().into_iter().flatten() {
        for problem in texts(problems) {
            message.push_str(&format!("  {}: {problem}\n", escaped_text::one_line(field)));
        }
    }
    if let Some(etag) = details["currentETag"].as_str() {
        message.push_str(&format!(
            "  its ETag is {} now\n",
            escaped_text::one_line(etag)
        ));
    }
    message
}

/// What whoever asked for a deed is told while no person has allowed it.
fn approval_needed(body: &Value) -> String {
    let part = |name: &str| escaped_text::one_line(body[name].as_str().unwrap_or_default());
    format!(
        "guildhall: {}\n  approval {}, until {}\n  token {}\n",
        part("message"),
        part("approvalId"),
        part("expiresAt"),
        part("approvalToken"),
    )
}

/// The card, and what whoever has read it does next.
fn unapproved(card: &HttpResponse, page: &str) -> String {
    let approval: Value = serde_json::from_slice(&card.body).unwrap_or_default();
    let mut lines = approval_cards::of_approval(&approval);
    lines.push("guildhall: nothing was done: approve what this card shows first.".to_owned());
    lines.push(format!(
        "  the same command with --yes {}, or {}",
        approval_cards::digest(&approval),
        escaped_text::one_line(page)
    ));
    lines.join("\n") + "\n"
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(escaped_text::one_line)
}
