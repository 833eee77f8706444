//! What is asked outside sessions: the list of all kinds, and deciding on deeds. Its verbs stand
//! among those of `guildhall asks`.

use clap::{Args, ValueEnum, builder::NonEmptyStringValueParser};
use guildhall_domain::ids::ApprovalId;
use serde_json::{Value, json};

use super::{
    approval_cards,
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::only_given,
    request_target::RequestTarget,
    terminal_input,
};

/// Which asks to list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    /// Only in this state [default: pending]
    #[arg(long, value_enum)]
    state: Option<StateFilter>,
    /// Only of this kind
    #[arg(long, value_enum)]
    kind: Option<KindFilter>,
    /// Only about this agent: its id, its handle, or its name
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only asked by this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    page: common_args::PageArgs,
}

/// Where an ask stands.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum StateFilter {
    /// A person must decide.
    Pending,
    /// Allowed, and not used yet.
    Granted,
    /// Refused.
    Denied,
    /// Nobody decided in time, or it was not used in time.
    Expired,
    /// It no longer matters.
    Withdrawn,
    /// Allowed and used.
    Consumed,
}

/// What an ask is about.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum KindFilter {
    /// A deed that somebody asked for.
    Capability,
    /// What was allowed before looks different now.
    Repin,
    /// An agent wants to use a connector.
    Access,
    /// A tool call of a session.
    ToolCall,
    /// A question of a session.
    Question,
}

/// What a person saw, and says yes to.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShownDigestArgs {
    /// The first 8 or more characters of the digest of what you saw; nobody is asked again
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest_prefix)]
    digest: Option<String>,
}

impl ShownDigestArgs {
    /// Sees to it that a person said yes to this very ask: beforehand, by its digest, or now.
    ///
    /// # Errors
    /// [`Failure::Usage`] when nobody did, or to something else.
    pub(super) fn confirm(&self, ask: &Value, question: &str) -> Result<(), Failure> {
        match &self.digest {
            None => {
                terminal_input::confirm(question, "--digest and the beginning of what it shows")
            }
            Some(seen) => check_digest(ask, seen),
        }
    }

    /// What was typed of the digest.
    pub(super) fn typed(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The whole digest, where it was typed: the server alone holds it against what is asked.
    pub(super) fn full_digest(&self) -> Option<&str> {
        self.typed().filter(|digest| digest.len() == DIGEST_CHARS)
    }
}

/// Sees to it that the digest of an ask begins as it was typed.
///
/// # Errors
/// [`Failure::Usage`] when it does not.
pub(super) fn check_digest(ask: &Value, seen: &str) -> Result<(), Failure> {
    let digest = ask["digest"].as_str().unwrap_or_default();
    match digest.starts_with(seen) {
        true => Ok(()),
        false => Err(Failure::Usage(
            "this is not what you saw: its digest is another.".to_owned(),
        )),
    }
}

/// The beginning of a digest, long enough to name one.
pub(super) fn parse_digest_prefix(text: &str) -> Result<String, String> {
    let is_one = (8..=DIGEST_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_one {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("write 8 to 64 hex digits, as the card shows them".to_owned()),
    }
}

/// A yes.
#[derive(Clone, Debug, Args)]
pub(crate) struct GrantArgs {
    /// The ask's id
    #[arg(value_name = "ASK", value_parser = NonEmptyStringValueParser::new())]
    pub(super) approval: String,
    #[command(flatten)]
    pub(super) seen: ShownDigestArgs,
    #[command(flatten)]
    pub(super) once: IdempotencyArgs,
}

/// A no.
#[derive(Clone, Debug, Args)]
pub(crate) struct RefuseArgs {
    /// The ask's id
    #[arg(value_name = "ASK", value_parser = NonEmptyStringValueParser::new())]
    pub(super) approval: String,
    /// Why, at most 1000 characters; whoever asks reads it
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    #[command(flatten)]
    pub(super) once: IdempotencyArgs,
}

/// An ask that is taken back.
#[derive(Clone, Debug, Args)]
pub(crate) struct WithdrawArgs {
    /// The ask's id
    #[arg(value_name = "ASK", value_parser = NonEmptyStringValueParser::new())]
    approval: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// Hex digits of a digest.
const DIGEST_CHARS: usize = 64;

const LIST: TableLayout = TableLayout {
    list: Some("approvals"),
    id: "/id",
    columns: &[
        ("ASK", CellSource::At("/id")),
        ("KIND", CellSource::At("/kind")),
        ("STATE", CellSource::At("/state")),
        ("BY", CellSource::At("/requestedBy/displayName")),
        ("SAYS", CellSource::At("/title")),
        ("WHAT", CellSource::At("/summary")),
        ("UNTIL", CellSource::At("/expiresAt")),
        ("CALL", CellSource::At("/card/toolCallId")),
    ],
};

const ONE: TableLayout = TableLayout { list: None, ..LIST };

/// An answer with an approval in it.
const DECIDED: TableLayout = TableLayout {
    list: None,
    id: "/approval/id",
    columns: &[
        ("State", CellSource::At("/approval/state")),
        ("Says", CellSource::At("/approval/title")),
        ("Until", CellSource::At("/approval/expiresAt")),
        ("Id", CellSource::At("/approval/id")),
    ],
};

pub(super) async fn list(desk: &CliContext, ask: ListArgs) -> Result<(), Failure> {
    let agent = match &ask.agent {
        Some(named) => Some(desk.agent_id(named).await?),
        None => None,
    };
    let target = RequestTarget::new("/api/approvals")
        .query("state", ask.state.map(word))
        .query("kind", ask.kind.map(word))
        .query("agentId", agent)
        .query("sessionId", ask.session)
        .page(ask.page);
    desk.output.show_page(&desk.get(&target).await?, &LIST)
}

pub(super) async fn show(desk: &CliContext, approval: &str) -> Result<(), Failure> {
    let answer = desk.get(&one(approval)).await?;
    if desk.output.is_for_people() {
        return draw(desk, &answer.json()?);
    }
    desk.output.show(&answer, &ONE)
}

pub(super) async fn grant(desk: &CliContext, ask: GrantArgs) -> Result<(), Failure> {
    let digest = match ask.seen.full_digest() {
        Some(digest) => digest.into(),
        None => {
            let found: Value = desk.get(&one(&ask.approval)).await?.json()?;
            if desk.output.is_for_people() {
                draw(desk, &found)?;
            }
            ask.seen.confirm(&found, "Approve it, this once?")?;
            found["digest"].clone()
        }
    };
    let body = json!({ "digest": digest });
    decide(desk, &ask.approval, "grant", Some(&body), &ask.once).await
}

pub(super) async fn refuse(desk: &CliContext, ask: RefuseArgs) -> Result<(), Failure> {
    let body = only_given(json!({ "reason": ask.reason }));
    decide(desk, &ask.approval, "deny", Some(&body), &ask.once).await
}

pub(super) async fn withdraw(desk: &CliContext, ask: WithdrawArgs) -> Result<(), Failure> {
    decide(desk, &ask.approval, "withdraw", None, &ask.once).await
}

async fn decide(
    desk: &CliContext,
    approval: &str,
    verb: &str,
    body: Option<&Value>,
    once: &IdempotencyArgs,
) -> Result<(), Failure> {
    let answer = desk
        .post(&one(approval).push_segment(verb), body, once)
        .await?;
    desk.output.show(&answer, &DECIDED)
}

/// Shows a card to people.
fn draw(desk: &CliContext, approval: &Value) -> Result<(), Failure> {
    let card = approval_cards::of_approval(approval);
    card.iter().try_for_each(|line| desk.output.line(line))
}

/// Whether a text can be the id of an approval.
pub(super) fn is_id(text: &str) -> bool {
    ApprovalId::parse(text).is_some()
}

fn one(approval: &str) -> RequestTarget {
    RequestTarget::new("/api/approvals").push_segment(approval)
}

/// A value's word, as the server writes it.
fn word<V: ValueEnum + Copy>(value: V) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
