//! `guildhall asks`: what waits for a person, and deciding on it. What is decided is what was
//! shown: a yes carries the digest of the card that stood here. What is asked outside sessions
//! is `approvals`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Map, Value, json};

use super::{
    approval_cards,
    approvals::{self, ShownDigestArgs, parse_digest_prefix},
    cli_context::CliContext,
    common_args::IdempotencyArgs,
    events,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_bodies::only_given,
    request_target::RequestTarget,
    terminal_input,
};

/// What can be done with asks.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists what waits for you, of all kinds, oldest first
    #[command(
        after_help = "Examples:\n  guildhall asks list\n  guildhall asks list --kind capability --state denied"
    )]
    List(approvals::ListArgs),
    /// Lists the tool calls and questions that wait, with the answers they offer
    #[command(after_help = "Example:\n  guildhall asks calls")]
    Calls,
    /// Follows what begins to wait for you and what becomes of it
    #[command(after_help = "Example:\n  guildhall asks watch --jsonl")]
    Watch(events::StreamPositionArgs),
    /// Shows an ask as a whole: what is to be done, with its input and the full change
    #[command(after_help = "Example:\n  guildhall asks show call_1")]
    Show(AskArg),
    /// Shows a tool call or another deed and approves it, this once
    #[command(
        after_help = "Examples:\n  guildhall asks approve call_1\n  guildhall asks approve call_1 --digest 5f1c09ab\n  guildhall asks approve call_1 --always --option allow-npm"
    )]
    Approve(ApproveArgs),
    /// Shows a deed that no session asks for and approves it
    #[command(
        after_help = "Examples:\n  guildhall asks grant 01a1fe26-ce7a-77e6-9c51-69b26c991bbe\n  guildhall asks grant 01a1fe26-ce7a-77e6-9c51-69b26c991bbe --digest 5f1c09ab"
    )]
    Grant(approvals::GrantArgs),
    /// Denies a deed that no session asks for
    #[command(
        after_help = "Example:\n  guildhall asks refuse 01a1fe26-ce7a-77e6-9c51-69b26c991bbe --reason 'not that one'"
    )]
    Refuse(approvals::RefuseArgs),
    /// Takes back what you asked for
    #[command(
        after_help = "Example:\n  guildhall asks withdraw 01a1fe26-ce7a-77e6-9c51-69b26c991bbe"
    )]
    Withdraw(approvals::WithdrawArgs),
    /// Denies a tool call or another deed
    #[command(
        after_help = "Example:\n  guildhall asks deny call_1 --reason 'not on a Friday' --tell-agent"
    )]
    Deny(DenyArgs),
    /// Answers a question, or declines to
    #[command(
        after_help = "Examples:\n  guildhall asks answer call_1 way=left steps=3\n  guildhall asks answer call_1 --decline"
    )]
    Answer(AnswerArgs),
    /// Shows several tool calls of one session and approves them, this once
    #[command(after_help = "Example:\n  guildhall asks batch-approve call_1 call_2")]
    BatchApprove(BatchApproveArgs),
    /// Denies several tool calls of one session
    #[command(after_help = "Example:\n  guildhall asks batch-deny call_1 call_2")]
    BatchDeny(BatchArgs),
}

/// An ask, as a person names one.
#[derive(Clone, Debug, Args)]
pub(crate) struct AskArg {
    /// The ask: its id, or the id of its tool call
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    ask: String,
    /// The session that asks, where several use the same id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// A yes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    named: AskArg,
    /// Allow all that is like it, too
    #[arg(long)]
    always: bool,
    /// The agent's option, where it offers several
    #[arg(long, value_name = "ID")]
    option: Option<String>,
    #[command(flatten)]
    seen: ShownDigestArgs,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A no.
#[derive(Clone, Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    named: AskArg,
    /// Why, at most 1000 characters
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Send the agent the reason as its next message
    #[arg(long, requires = "reason")]
    tell_agent: bool,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// An answer.
#[derive(Clone, Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    named: AskArg,
    /// The answers; name a question again to choose several options
    #[arg(value_name = "QUESTION=ANSWER", conflicts_with = "decline")]
    answers: Vec<String>,
    /// Say that you do not want to answer
    #[arg(long)]
    decline: bool,
    /// The digest of what you saw elsewhere
    #[arg(long)]
    digest: Option<String>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// Several asks.
#[derive(Clone, Debug, Args)]
pub(crate) struct BatchArgs {
    /// The asks: ids, or ids of tool calls
    #[arg(required = true, num_args = 1..=50, value_parser = NonEmptyStringValueParser::new())]
    asks: Vec<String>,
    /// The session that asks, where several use the same id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

impl From<ApproveArgs> for approvals::GrantArgs {
    fn from(ask: ApproveArgs) -> Self {
        Self {
            approval: ask.named.ask,
            seen: ask.seen,
            once: ask.once,
        }
    }
}

impl From<DenyArgs> for approvals::RefuseArgs {
    fn from(ask: DenyArgs) -> Self {
        Self {
            approval: ask.named.ask,
            reason: ask.reason,
            once: ask.once,
        }
    }
}

/// Several yeses.
#[derive(Clone, Debug, Args)]
pub(crate) struct BatchApproveArgs {
    #[command(flatten)]
    batch: BatchArgs,
    /// The first 8 or more characters of the digest of what you saw, once for each ask and in
    /// their order; nobody is asked again
    #[arg(long = "digest", value_name = "DIGEST", value_parser = parse_digest_prefix)]
    digests: Vec<String>,
}

const LIST: TableLayout = TableLayout {
    list: Some("interactions"),
    id: "/id",
    columns: &[
        ("ASK", CellSource::At("/toolCallId")),
        ("KIND", CellSource::At("/kind")),
        ("TOOL", CellSource::At("/toolName")),
        ("SAYS", CellSource::At("/title")),
        ("PARKED", CellSource::At("/parked")),
        ("REFUSED AT", CellSource::At("/expiresAt")),
        ("SESSION", CellSource::At("/sessionId")),
        ("ID", CellSource::At("/id")),
    ],
};

const RESULTS: TableLayout = TableLayout {
    list: Some("results"),
    id: "/toolCallId",
    columns: &[
        ("ASK", CellSource::At("/toolCallId")),
        ("DONE", CellSource::At("/ok")),
        ("CODE", CellSource::At("/code")),
    ],
};

/// What a decision is answered with has nothing to show.
const DONE: TableLayout = TableLayout {
    list: None,
    id: "/ok",
    columns: &[],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(ask) => approvals::list(desk, ask).await,
        Verb::Watch(position) => {
            let is_ask =
                |event: &str| event.starts_with("interaction_") || event.starts_with("approval_");
            let target = RequestTarget::new("/api/events");
            events::follow_only(desk, target, position, is_ask).await
        }
        Verb::Grant(ask) => approvals::grant(desk, ask).await,
        Verb::Refuse(ask) => approvals::refuse(desk, ask).await,
        Verb::Withdraw(ask) => approvals::withdraw(desk, ask).await,
        Verb::Calls => {
            let answer = desk.get(&pending()).await?;
            desk.output.show(&answer, &LIST)
        }
        Verb::Show(named) => {
            let found = find(desk, &named.ask, named.session.as_deref()).await;
            let ask = match found {
                Err(Failure::Usage(_)) if approvals::is_id(&named.ask) => {
                    return approvals::show(desk, &named.ask).await;
                }
                found => found?,
            };
            match (desk.output.is_for_people(), desk.output.is_ids()) {
                (true, _) => show(desk, &ask),
                (false, true) => desk
                    .output
                    .show_value(&ask, &TableLayout { list: None, ..LIST }),
                (false, false) => desk.output.json_line(&ask.to_string()),
            }
        }
        Verb::Approve(ask) => approve(desk, ask).await,
        Verb::Deny(ask) => deny(desk, ask).await,
        Verb::Answer(ask) => answer(desk, ask).await,
        Verb::BatchApprove(ask) => {
            let asks = all(desk, &ask.batch).await?;
            for one in &asks {
                show(desk, one)?;
            }
            all_seen(&asks, &ask.digests)?;
            batch(desk, &asks, "batch-approve", &ask.batch.once).await
        }
        Verb::BatchDeny(ask) => {
            let asks = all(desk, &ask).await?;
            batch(desk, &asks, "batch-deny", &ask.once).await
        }
    }
}

async fn approve(desk: &CliContext, ask: ApproveArgs) -> Result<(), Failure> {
    let found = match find_or_take(desk, &ask.named).await {
        Err(Failure::Usage(_)) if approvals::is_id(&ask.named.ask) => {
            return approvals::grant(desk, ask.into()).await;
        }
        found => found?,
    };
    // What waits no more is the server's to refuse.
    let is_gone = found["digest"].is_null();
    let digest = match ask
        .seen
        .full_digest()
        .or(ask.seen.typed().filter(|_| is_gone))
    {
        Some(digest) => digest.into(),
        None => {
            show(desk, &found)?;
            let how = if ask.always {
                "and all that is like it"
            } else {
                "this once"
            };
            ask.seen.confirm(&found, &format!("Approve it, {how}?"))?;
            found["digest"].clone()
        }
    };
    let body = only_given(json!({
        "toolCallId": found["toolCallId"],
        "alwaysAllow": ask.always.then_some(true),
        "optionId": ask.option,
        "digest": digest,
    }));
    decide(desk, &found, "approve", &body, &ask.once, "Approved.").await
}

/// Sees to it that a person said yes to each of these: beforehand, by their digests, or now.
fn all_seen(asks: &[Value], digests: &[String]) -> Result<(), Failure> {
    if digests.is_empty() {
        let question = format!("Approve these {}, this once?", asks.len());
        return terminal_input::confirm(&question, "--digest and the beginning of what each shows");
    }
    let is_seen = |(ask, seen): (&Value, &String)| {
        let digest = ask["digest"].as_str().unwrap_or_default();
        digest.starts_with(seen)
    };
    if asks.len() != digests.len() || !asks.iter().zip(digests).all(is_seen) {
        let why = "these are not what you saw: name the digest of each, in the order of the asks.";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(())
}

async fn deny(desk: &CliContext, ask: DenyArgs) -> Result<(), Failure> {
    let found = match find_or_take(desk, &ask.named).await {
        Err(Failure::Usage(_)) if approvals::is_id(&ask.named.ask) => {
            return approvals::refuse(desk, ask.into()).await;
        }
        found => found?,
    };
    let body = only_given(json!({
        "toolCallId": found["toolCallId"],
        "reason": ask.reason,
        "tellAgent": ask.tell_agent.then_some(true),
    }));
    decide(desk, &found, "deny", &body, &ask.once, "Denied.").await
}

async fn answer(desk: &CliContext, ask: AnswerArgs) -> Result<(), Failure> {
    let found = find_or_take(desk, &ask.named).await?;
    let digest = ask.digest.map_or(found["digest"].clone(), Value::from);
    let body = only_given(json!({
        "toolCallId": found["toolCallId"],
        "answers": (!ask.decline).then(|| answers(&ask.answers)).transpose()?,
        "decline": ask.decline.then_some(true),
        "digest": digest,
    }));
    let said = if ask.decline {
        "Declined."
    } else {
        "Answered."
    };
    decide(desk, &found, "submit-answers", &body, &ask.once, said).await
}

async fn decide(
    desk: &CliContext,
    ask: &Value,
    verb: &str,
    body: &Value,
    once: &IdempotencyArgs,
    said: &str,
) -> Result<(), Failure> {
    let answer = desk.post(&route(ask, verb), Some(body), once).await?;
    if desk.output.is_for_people() {
        return desk.output.done(said);
    }
    if desk.output.is_ids() {
        return Ok(());
    }
    desk.output.show(&answer, &DONE)
}

async fn batch(
    desk: &CliContext,
    asks: &[Value],
    verb: &str,
    once: &IdempotencyArgs,
) -> Result<(), Failure> {
    let Some(first) = asks.first() else {
        return Ok(());
    };
    let ids: Vec<&Value> = asks.iter().map(|ask| &ask["toolCallId"]).collect();
    let body = json!({ "toolCallIds": ids });
    let answer = desk.post(&route(first, verb), Some(&body), once).await?;
    desk.output.show(&answer, &RESULTS)
}

/// Shows a card to people; to programs nothing, whose answer is the server's alone.
fn show(desk: &CliContext, ask: &Value) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return Ok(());
    }
    let card = approval_cards::lines(ask);
    card.iter().try_for_each(|line| desk.output.line(line))
}

/// `question=answer` pairs as the body wants them.
fn answers(pairs: &[String]) -> Result<Value, Failure> {
    let mut answers: Map<String, Value> = Map::new();
    for pair in pairs {
        let (question, answer) = pair.split_once('=').ok_or_else(|| {
            Failure::Usage(format!("{pair:?} is no answer; write QUESTION=ANSWER."))
        })?;
        let answer = Value::from(answer);
        let entry = answers.entry(question);
        match entry.or_insert(Value::Null) {
            nothing @ Value::Null => *nothing = answer,
            Value::Array(several) => several.push(answer),
            one => *one = json!([one.take(), answer]),
        }
    }
    Ok(Value::Object(answers))
}

/// The asks of a batch, all of one session.
async fn all(desk: &CliContext, batch: &BatchArgs) -> Result<Vec<Value>, Failure> {
    let waiting = waiting(desk).await?;
    let asks: Vec<Value> = batch
        .asks
        .iter()
        .map(|named| only(&waiting, named, batch.session.as_deref()))
        .collect::<Result<_, _>>()?;
    let is_one = asks
        .windows(2)
        .all(|pair| pair[0]["sessionId"] == pair[1]["sessionId"]);
    if !is_one {
        let why = "these are asks of several sessions; decide on one session at a time.";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(asks)
}

/// The ask that is named; one that waits no more and whose session is named goes to the server
/// as it is, so that the refusal is the server's own.
async fn find_or_take(desk: &CliContext, named: &AskArg) -> Result<Value, Failure> {
    let found = find(desk, &named.ask, named.session.as_deref()).await;
    match (found, &named.session) {
        (Err(Failure::Usage(_)), Some(session)) => {
            Ok(json!({"sessionId": session, "toolCallId": named.ask}))
        }
        (found, _) => found,
    }
}

async fn find(desk: &CliContext, named: &str, session: Option<&str>) -> Result<Value, Failure> {
    only(&waiting(desk).await?, named, session)
}

/// The one ask that bears the name.
fn only(waiting: &[Value], named: &str, session: Option<&str>) -> Result<Value, Failure> {
    let bears = |ask: &&Value| ask["id"] == named || ask["toolCallId"] == named;
    let within = |ask: &&Value| session.is_none_or(|session| ask["sessionId"] == session);
    let bearers: Vec<&Value> = waiting.iter().filter(bears).filter(within).collect();
    match bearers.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::Usage(format!(
            "no ask {named:?} waits; `guildhall asks list` shows those that do."
        ))),
        several => {
            let ids = several.iter().filter_map(|ask| ask["id"].as_str());
            let ids: Vec<&str> = ids.collect();
            Err(Failure::Usage(format!(
                "{} asks are called {named:?}; name one by its id: {}.",
                several.len(),
                ids.join(", ")
            )))
        }
    }
}

async fn waiting(desk: &CliContext) -> Result<Vec<Value>, Failure> {
    let mut listing: Value = desk.get(&pending()).await?.json()?;
    match listing["interactions"].take() {
        Value::Array(waiting) => Ok(waiting),
        _ => Ok(Vec::new()),
    }
}

fn pending() -> RequestTarget {
    RequestTarget::new("/api/sessions/pending-interactions")
}

fn route(ask: &Value, verb: &str) -> RequestTarget {
    let session = ask["sessionId"].as_str().unwrap_or_default();
    RequestTarget::new("/api/sessions")
        .push_segment(session)
        .push_segment(verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_named_again_takes_several_answers() {
        let pairs = ["a=1", "b=x=y", "a=2", "a=3", "c="].map(str::to_owned);
        let expected = json!({"a": ["1", "2", "3"], "b": "x=y", "c": ""});
        assert_eq!(answers(&pairs).unwrap(), expected);
        assert!(answers(&["a".to_owned()]).is_err());
    }

    #[test]
    fn a_yes_is_to_what_was_seen() {
        let asks = [
            json!({"digest": "ab".repeat(32)}),
            json!({"digest": "cd".repeat(32)}),
        ];
        let seen = |digests: &[&str]| {
            let digests: Vec<String> = digests.iter().map(|one| (*one).to_owned()).collect();
            all_seen(&asks, &digests).is_ok()
        };
        assert!(seen(&["abababab", "cdcdcdcdc"]));
        for other in [
            &["abababab"][..],
            &["cdcdcdcd", "abababab"],
            &["abababab"; 3],
        ] {
            assert!(!seen(other), "{other:?}");
        }
        for (typed, is_one) in [("ABCDEF01", true), ("abcdef0", false), ("abcdefgh", false)] {
            assert_eq!(parse_digest_prefix(typed).is_ok(), is_one, "{typed}");
        }
    }

    #[test]
    fn an_ask_is_named_by_its_id_or_its_calls_and_its_session_tells_two_apart() {
        let waiting = [
            json!({"id": "i1", "toolCallId": "c", "sessionId": "s1"}),
            json!({"id": "i2", "toolCallId": "c", "sessionId": "s2"}),
        ];
        let found = |named, session| {
            let found = only(&waiting, named, session);
            found.ok().map(|ask| ask["id"].clone())
        };
        assert_eq!(found("i2", None), Some(json!("i2")));
        assert_eq!(found("c", Some("s1")), Some(json!("i1")));
        assert_eq!(found("c", None), None);
        assert_eq!(found("x", None), None);
    }
}
