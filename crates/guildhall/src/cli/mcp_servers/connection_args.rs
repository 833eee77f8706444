//! How a tool server is reached, as options of a command name it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::NO_CONNECTION;
use crate::cli::{common_args::word, failure::Failure, terminal_input};

/// How a server is reached.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// The server's address, an http or https URL
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    address: Option<String>,
    /// How the address is spoken with [default: http]
    #[arg(long, value_enum, requires = "address", conflicts_with = "command")]
    transport: Option<RemoteTransport>,
    /// A variable and its value; whoever lists processes sees it
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "address")]
    env: Vec<String>,
    /// A variable with the value it has here, or that another one has
    #[arg(long, value_name = "NAME[=HERE]", conflicts_with = "address")]
    env_from: Vec<String>,
    /// A variable whose value is in a file, or `-` for standard input
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "address")]
    env_file: Vec<String>,
    /// A header and its value; whoever lists processes sees it
    #[arg(
        long,
        value_name = "NAME=VALUE",
        requires = "address",
        conflicts_with = "command"
    )]
    header: Vec<String>,
    /// A header with the value of an environment variable
    #[arg(
        long,
        value_name = "NAME=VARIABLE",
        requires = "address",
        conflicts_with = "command"
    )]
    header_from: Vec<String>,
    /// A header whose value is in a file, or `-` for standard input
    #[arg(
        long,
        value_name = "NAME=FILE",
        requires = "address",
        conflicts_with = "command"
    )]
    header_file: Vec<String>,
    /// The program and its arguments
    #[arg(last = true)]
    command: Vec<String>,
}

/// How an address is spoken with.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RemoteTransport {
    /// Streamable HTTP.
    Http,
    /// The older transport of two endpoints.
    Sse,
}

impl ConnectionArgs {
    /// The connection that was named, if any was.
    ///
    /// # Errors
    /// [`Failure::Usage`] where a value cannot be read, or belongs to nothing.
    pub(super) fn named(&self) -> Result<Option<Value>, Failure> {
        if let Some(url) = &self.address {
            let transport = self.transport.and_then(word);
            let headers = values(&self.header, &self.header_from, &self.header_file)?;
            return Ok(Some(json!({
                "transport": transport.unwrap_or_else(|| "http".to_owned()),
                "url": url,
                "headers": headers,
            })));
        }
        let env = values(&self.env, &self.env_from, &self.env_file)?;
        match self.command.split_first() {
            Some((command, args)) => Ok(Some(json!({
                "transport": "stdio", "command": command, "args": args, "env": env,
            }))),
            None if env.is_empty() => Ok(None),
            None => Err(Failure::Usage(NO_CONNECTION.to_owned())),
        }
    }
}

/// Names with values: said, taken from the environment, and read.
fn values(
    said: &[String],
    from: &[String],
    files: &[String],
) -> Result<Map<String, Value>, Failure> {
    let mut values = Map::new();
    let mut put = |name: &str, value: String| match values.insert(name.to_owned(), value.into()) {
        None => Ok(()),
        Some(_) => Err(Failure::Usage(format!("{name} is named twice."))),
    };
    for pair in said {
        let (name, value) = parted(pair)?;
        put(name, value.to_owned())?;
    }
    for pair in from {
        let (name, here) = pair.split_once('=').unwrap_or((pair, pair));
        put(name, variable(here)?)?;
    }
    for pair in files {
        let (name, file) = parted(pair)?;
        put(name, terminal_input::text_of(&PathBuf::from(file))?)?;
    }
    Ok(values)
}

fn parted(pair: &str) -> Result<(&str, &str), Failure> {
    // The pair may hold a secret, so it is not repeated.
    let why = "a name and its value are written NAME=VALUE.";
    pair.split_once('=')
        .ok_or_else(|| Failure::Usage(why.to_owned()))
}

/// The value of a variable of this command's environment.
///
/// # Errors
/// [`Failure::Usage`] where it has none that is text.
pub(super) fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name)
        .map_err(|_| Failure::Usage(format!("the environment has no text called {name}.")))
}
