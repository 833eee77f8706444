//! `guildhall tokens`. A token's text is printed once, to standard output, when it is minted;
//! it is never an argument.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::Desk,
    common_args::{self, Once},
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with tokens.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the tokens of an agent, revoked ones too; never their text
    #[command(after_help = "Example:\n  guildhall tokens list ada")]
    List(common_args::Agent),
    /// Mints a token and prints its text, this once
    #[command(
        after_help = "Example:\n  GUILDHALL_AGENT_TOKEN=$(guildhall tokens mint ada --label laptop)"
    )]
    Mint(Mint),
    /// Revokes a token; what speaks with it is cut off
    #[command(
        after_help = "Example:\n  guildhall tokens revoke ada 01920000-0000-7000-8000-000000000000"
    )]
    Revoke(Revoke),
}

/// A new token.
#[derive(Clone, Debug, Args)]
pub(crate) struct Mint {
    #[command(flatten)]
    agent: common_args::Agent,
    /// What it is for, 1 to 80 characters
    #[arg(long)]
    label: String,
    #[command(flatten)]
    once: Once,
}

/// One token.
#[derive(Clone, Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    agent: common_args::Agent,
    /// The token's id, as `tokens list` shows it; not its text
    #[arg(value_name = "TOKEN_ID", value_parser = NonEmptyStringValueParser::new())]
    token_id: String,
}

const LIST: View = View {
    list: Some("tokens"),
    id: "/id",
    columns: &[
        ("LABEL", Cell::At("/label")),
        ("ORIGIN", Cell::At("/origin")),
        ("CREATED", Cell::At("/createdAt")),
        ("LAST USED", Cell::At("/lastUsedAt")),
        ("EXPIRES", Cell::At("/expiresAt")),
        ("REVOKED", Cell::At("/revokedAt")),
        ("ID", Cell::At("/id")),
    ],
};

/// Its text stands where others have their id: a script that asks for one word wants this one.
const MINTED: View = View {
    list: None,
    id: "/token",
    columns: &[],
};

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<(), Failure> {
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
            let target = target(desk, &ask.agent).await?.then(&ask.token_id);
            desk.delete(&target, None).await?;
            desk.output
                .done(&format!("Token {} is revoked.", ask.token_id))
        }
    }
}

async fn target(desk: &Desk, agent: &common_args::Agent) -> Result<Target, Failure> {
    let agent = desk.agent_id(&agent.agent).await?;
    Ok(Target::agent(&agent).then("tokens"))
}
