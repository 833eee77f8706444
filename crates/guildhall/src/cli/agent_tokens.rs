//! `guildhall tokens`. A token's text is printed once, to standard output, when it is minted;
//! it is never an argument.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with tokens.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the tokens of an agent, revoked ones too; never their text
    #[command(after_help = "Example:\n  guildhall tokens list ada")]
    List(common_args::AgentArg),
    /// Mints a token and prints its text, this once
    #[command(
        after_help = "Example:\n  GUILDHALL_AGENT_TOKEN=$(guildhall tokens mint ada --label laptop)"
    )]
    Mint(MintTokenArgs),
    /// Revokes a token; what speaks with it is cut off
    #[command(
        after_help = "Example:\n  guildhall tokens revoke ada 01920000-0000-7000-8000-000000000000"
    )]
    Revoke(RevokeTokenArgs),
}

/// A new token.
#[derive(Clone, Debug, Args)]
pub(crate) struct MintTokenArgs {
    #[command(flatten)]
    agent: common_args::AgentArg,
    /// What it is for, 1 to 80 characters
    #[arg(long)]
    label: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// One token.
#[derive(Clone, Debug, Args)]
pub(crate) struct RevokeTokenArgs {
    #[command(flatten)]
    agent: common_args::AgentArg,
    /// The token's id, as `tokens list` shows it; not its text
    #[arg(value_name = "TOKEN_ID", value_parser = NonEmptyStringValueParser::new())]
    token_id: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("tokens"),
    id: "/id",
    columns: &[
        ("LABEL", CellSource::At("/label")),
        ("ORIGIN", CellSource::At("/origin")),
        ("CREATED", CellSource::At("/createdAt")),
        ("LAST USED", CellSource::At("/lastUsedAt")),
        ("EXPIRES", CellSource::At("/expiresAt")),
        ("REVOKED", CellSource::At("/revokedAt")),
        ("ID", CellSource::At("/id")),
    ],
};

/// Its text stands where others have their id: a script that asks for one word wants this one.
const MINTED: TableLayout = TableLayout {
    list: None,
    id: "/token",
    columns: &[],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(agent) => {
            let target = target(desk, &agent).await?;
            desk.output.show(&desk.get(&target).await?, &LIST)
        }
        Verb::Mint(ask) => {
            let target = target(desk, &ask.agent).await?;
            let body = json!({"label": ask.label});
            let answer = desk.post(&target, Some(&body), &ask.once).await?;
            if !desk.output.is_for_people() {
                return desk.output.show(&answer, &MINTED);
            }
            let minted: Value = answer.json()?;
            desk.output.line(
                &desk
                    .output
                    .safe_line(minted["token"].as_str().unwrap_or_default()),
            )?;
            desk.output.note(&format!(
                "Token {} of {}: shown this once; it expires at {}, or at {} when it is not used.",
                minted["id"].as_str().unwrap_or_default(),
                ask.agent.agent,
                minted["expiresAt"].as_str().unwrap_or_default(),
                minted["idleExpiresAt"].as_str().unwrap_or_default(),
            ));
            Ok(())
        }
        Verb::Revoke(ask) => {
            if ask.token_id.starts_with("gha_") {
                let why = "this is a token's text; name the token by its id, from `tokens list`.";
                return Err(Failure::Usage(why.to_owned()));
            }
            let target = target(desk, &ask.agent).await?.push_segment(&ask.token_id);
            desk.delete(&target, None).await?;
            desk.output
                .done(&format!("Token {} is revoked.", ask.token_id))
        }
    }
}

async fn target(
    desk: &CliContext,
    agent: &common_args::AgentArg,
) -> Result<RequestTarget, Failure> {
    let agent = desk.agent_id(&agent.agent).await?;
    Ok(RequestTarget::agent(&agent).push_segment("tokens"))
}
