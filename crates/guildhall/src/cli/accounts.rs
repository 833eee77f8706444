//! `guildhall accounts`. Passwords and the setup code are typed unseen or come through a pipe,
//! one line each; they are never arguments. A sign-in is printed and kept nowhere: who wants to
//! go on with it hands it over in `GUILDHALL_COOKIE`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use http::Method;
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    failure::Failure,
    http_client::RequestParts,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
    terminal_input,
};

/// What can be done with accounts and sign-ins.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Makes the first account, the owner's; asks for the setup code and a password
    #[command(
        after_help = "Examples:\n  guildhall accounts register --email ada@example.org --name Ada\n  printf '%s\\n' \"$CODE\" \"$PASSWORD\" | guildhall accounts register --email ada@example.org --name Ada"
    )]
    Register(RegisterArgs),
    /// Signs in and prints the sign-in, this once; asks for the password
    #[command(
        after_help = "Example:\n  export GUILDHALL_COOKIE=$(guildhall accounts login --email ada@example.org)"
    )]
    Login(LoginArgs),
    /// Ends the sign-in of GUILDHALL_COOKIE
    #[command(after_help = "Example:\n  guildhall accounts logout")]
    Logout,
    /// Changes the password of GUILDHALL_COOKIE's account; its other sign-ins and its keys end
    #[command(after_help = "Example:\n  guildhall accounts password")]
    Password,
    /// Lists the accounts, in the order they were made
    #[command(after_help = "Example:\n  guildhall accounts list")]
    List(common_args::PageArgs),
    /// Makes an account for another person and prints its first password, this once
    #[command(after_help = "Example:\n  guildhall accounts add bob@example.org Bob")]
    Add(AddAccountArgs),
    /// Removes another person's account; what the person wrote stays
    #[command(after_help = "Example:\n  guildhall accounts remove bob@example.org")]
    Remove(RemoveAccountArgs),
}

/// The first account.
#[derive(Clone, Debug, Args)]
pub(crate) struct RegisterArgs {
    /// What the owner signs in with; nothing is ever sent there
    #[arg(long)]
    email: String,
    /// The owner's name, 1 to 80 characters
    #[arg(long)]
    name: String,
}

/// A sign-in.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoginArgs {
    /// The account's e-mail address
    #[arg(long)]
    email: String,
}

/// Another person's account.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddAccountArgs {
    /// What the person signs in with; nothing is ever sent there
    email: String,
    /// The person's name, 1 to 80 characters
    name: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// An account that goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveAccountArgs {
    /// The account: its id or its e-mail address
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    account: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("accounts"),
    id: "/id",
    columns: &[
        ("E-MAIL", CellSource::At("/email")),
        ("NAME", CellSource::At("/displayName")),
        ("ROLE", CellSource::At("/role")),
        ("MADE", CellSource::At("/createdAt")),
        ("AUTHOR", CellSource::At("/authorId")),
        ("ID", CellSource::At("/id")),
    ],
};

const ACCOUNT: TableLayout = TableLayout {
    list: None,
    id: "/id",
    columns: &[
        ("E-mail", CellSource::At("/email")),
        ("Name", CellSource::At("/displayName")),
        ("Role", CellSource::At("/role")),
        ("Author", CellSource::At("/authorId")),
        ("Id", CellSource::At("/id")),
    ],
};

/// The password stands where others have their id: a script that asks for one word wants this.
const INVITATION: TableLayout = TableLayout {
    list: None,
    id: "/invitePassword",
    columns: &[],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Register(ask) => register(desk, ask).await,
        Verb::Login(ask) => login(desk, ask).await,
        Verb::Logout => {
            desk.post_with_new_key(&auth("logout"), None).await?;
            desk.output.done("The sign-in has ended.")
        }
        Verb::Password => {
            let current = terminal_input::secret("current password")?;
            let next = terminal_input::new_secret("new password")?;
            let body = json!({"current": current, "next": next});
            desk.post_with_new_key(&auth("password"), Some(&body))
                .await?;
            desk.output
                .done("The password is changed; other sign-ins and all keys have ended.")
        }
        Verb::List(page) => {
            let answer = desk.get(&auth("accounts").page(page)).await?;
            desk.output.show_page(&answer, &LIST)
        }
        Verb::Add(ask) => add(desk, ask).await,
        Verb::Remove(ask) => {
            let id = account_id(desk, &ask.account).await?;
            desk.delete(&auth("accounts").push_segment(&id), None)
                .await?;
            desk.output
                .done(&format!("{} has no account any more.", ask.account))
        }
    }
}

async fn register(desk: &CliContext, ask: RegisterArgs) -> Result<(), Failure> {
    let setup_code = terminal_input::secret("setup code")?;
    let password = terminal_input::new_secret("password")?;
    let body = json!({
        "email": ask.email,
        "displayName": ask.name,
        "setupCode": setup_code,
        "password": password,
    });
    let answer = desk
        .post_with_new_key(&auth("register"), Some(&body))
        .await?;
    // It came with a sign-in, which nobody would ever use.
    if let Some(cookie) = &answer.cookie {
        let signed_in = desk.client.signed_in(cookie)?;
        let logout = auth("logout");
        let ended = signed_in.ask(Method::POST, logout.as_str(), RequestParts::default());
        ended.await?.success()?;
    }
    desk.output.show(&answer, &ACCOUNT)
}

async fn login(desk: &CliContext, ask: LoginArgs) -> Result<(), Failure> {
    let password = terminal_input::secret("password")?;
    let body = json!({"email": ask.email, "password": password});
    let answer = desk.post_with_new_key(&auth("login"), Some(&body)).await?;
    let cookie = answer.cookie.as_deref().unwrap_or_default();
    if desk.output.is_ids() {
        return desk.output.line(&desk.output.safe_line(cookie));
    }
    if !desk.output.is_for_people() {
        // The body goes out as it came, and without its cookie a sign-in is of no use.
        desk.output.print_notice(&format!(
            "GUILDHALL_COOKIE={}",
            desk.output.safe_line(cookie)
        ));
        return desk.output.show(&answer, &ACCOUNT);
    }
    let account: Value = answer.json()?;
    desk.output.line(&desk.output.safe_line(cookie))?;
    desk.output.note(&format!(
        "{} is signed in: whoever has this line in GUILDHALL_COOKIE, until `accounts logout`.",
        account["displayName"].as_str().unwrap_or_default()
    ));
    Ok(())
}

async fn add(desk: &CliContext, ask: AddAccountArgs) -> Result<(), Failure> {
    let body = json!({"email": ask.email, "displayName": ask.name});
    let answer = desk.post(&auth("accounts"), Some(&body), &ask.once).await?;
    if !desk.output.is_for_people() {
        return desk.output.show(&answer, &INVITATION);
    }
    let invitation: Value = answer.json()?;
    let password = invitation["invitePassword"].as_str().unwrap_or_default();
    desk.output.line(&desk.output.safe_line(password))?;
    desk.output.note(&format!(
        "First password of {}: shown this once, and to be changed at the first sign-in.",
        ask.email
    ));
    Ok(())
}

/// The id of the account that `named` means: its id, or its e-mail address in any case.
async fn account_id(desk: &CliContext, named: &str) -> Result<String, Failure> {
    if !named.contains('@') {
        return Ok(named.to_owned());
    }
    let mut page = common_args::PageArgs {
        limit: Some(200),
        cursor: None,
    };
    loop {
        let accounts: Value = desk.get(&auth("accounts").page(page)).await?.json()?;
        let mut list = accounts["accounts"].as_array().into_iter().flatten();
        let is_named = |account: &&Value| {
            let email = account["email"].as_str().unwrap_or_default();
            email.to_lowercase() == named.to_lowercase()
        };
        if let Some(id) = list
            .find(is_named)
            .and_then(|account| account["id"].as_str())
        {
            return Ok(id.to_owned());
        }
        match accounts["nextCursor"].as_str() {
            Some(next) => {
                page = common_args::PageArgs {
                    limit: Some(200),
                    cursor: Some(next.to_owned()),
                };
            }
            None => return Ok(named.to_owned()),
        }
    }
}

fn auth(part: &str) -> RequestTarget {
    RequestTarget::new("/api/auth").push_segment(part)
}
