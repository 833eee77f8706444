//! `guildhall api`: any request, for what has no command of its own.

use std::io::Read;

use clap::Args;
use http::{Method, Uri};

use super::{
    cli_context::CliContext,
    common_args::{self, IfMatchArg},
    failure::{Failure, code_of},
    http_client::RequestParts,
    request_body::RequestBody,
};

/// Bytes of a body taken from standard input: above what any route takes.
const STDIN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A request.
#[derive(Clone, Debug, Args)]
pub(crate) struct RawRequestArgs {
    /// The method: GET, POST, PATCH, PUT or DELETE
    #[arg(value_parser = method)]
    method: Method,
    /// The path with its query, such as `/api/rooms?kind=dm`
    #[arg(value_parser = path)]
    path: String,
    /// The JSON body, or `-` to read it from standard input
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// With a POST: whatever is sent again with this key happens once
    #[arg(long, value_name = "KEY", value_parser = common_args::key)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    if_match: IfMatchArg,
}

pub(super) async fn run(desk: &CliContext, ask: RawRequestArgs) -> Result<u8, Failure> {
    let json = match ask.data.as_deref() {
        Some("-") => {
            let mut body = Vec::new();
            std::io::stdin()
                .lock()
                .take(STDIN_BYTES_MAX + 1)
                .read_to_end(&mut body)?;
            if body.len() as u64 > STDIN_BYTES_MAX {
                let why = "standard input holds more than any request may.";
                return Err(Failure::Usage(why.to_owned()));
            }
            Some(body)
        }
        Some(json) => Some(json.as_bytes().to_vec()),
        None => None,
    };
    let load = RequestParts {
        payload: json.map(RequestBody::json).unwrap_or_default(),
        idempotency_key: ask.idempotency_key,
        if_match: ask.if_match.tags(),
        ..RequestParts::default()
    };
    let mut opened = desk.client.open(ask.method, &ask.path, load).await?;
    let status = opened.status;
    if status.is_success() && opened.is_stream() {
        while let Ok(Some(bytes)) = opened.next().await {
            desk.output.body(&bytes)?;
        }
        return Ok(0);
    }
    let answer = opened.whole().await?;
    if !status.is_success() {
        return Err(Failure::Answered(answer));
    }
    desk.output.body(&answer.body)?;
    Ok(code_of(status))
}

fn method(text: &str) -> Result<Method, String> {
    let text = text.to_ascii_uppercase();
    Method::from_bytes(text.as_bytes()).map_err(|_| "is no HTTP method".to_owned())
}

fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.parse::<Uri>().is_ok();
    if is_path {
        Ok(text.to_owned())
    } else {
        Err("must be a path of the server, such as /api/rooms".to_owned())
    }
}
