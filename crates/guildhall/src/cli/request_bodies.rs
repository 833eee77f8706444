//! Bodies of requests: only what was said on the command line goes to the server.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failure::Failure;

/// The members of `body` that were given a value.
pub(super) fn only_given(body: Value) -> Value {
    let Value::Object(members) = body else {
        return body;
    };
    let given = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.collect())
}

/// `body` when it changes anything.
///
/// # Errors
/// [`Failure::Usage`] when `guildhall <command>` was told nothing to change.
pub(super) fn changes(body: Value, command: &str) -> Result<Value, Failure> {
    match body.as_object() {
        Some(members) if members.is_empty() => Err(Failure::Usage(format!(
            "say what to change; `guildhall {command} --help` lists it."
        ))),
        _ => Ok(body),
    }
}

/// A path as the server can find it, which knows nothing of the folder this command runs in.
///
/// # Errors
/// [`Failure::Usage`] when it is no UTF-8 text.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path)?;
    let path = path.components().collect::<PathBuf>();
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::Usage(format!("the path {} is no UTF-8 text.", path.display())))
}
