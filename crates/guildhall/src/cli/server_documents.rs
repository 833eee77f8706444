//! `guildhall openapi` and `guildhall metrics`: what the server says about itself as a document.

use serde_json::Value;

use super::{
    cli_context::CliContext, failure::Failure, operation_commands, request_target::RequestTarget,
};

/// Runs `guildhall openapi`: for people each operation with its command, else the document.
pub(super) async fn run(desk: &CliContext) -> Result<(), Failure> {
    let answer = desk.get(&RequestTarget::new("/api/openapi.json")).await?;
    if !desk.output.is_for_people() && !desk.output.is_ids() {
        return desk.output.body(&answer.body);
    }
    let document: Value = answer.json()?;
    let mut rows = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            if desk.output.is_ids() {
                desk.output.line(&desk.output.safe_line(id))?;
            }
            // A newer server may know operations that this command line does not.
            let command = operation_commands::command_of(id).map_or_else(
                || format!("guildhall api {} {path}", method.to_uppercase()),
                |words| format!("guildhall {words}"),
            );
            rows.push(vec![method.to_uppercase(), path.clone(), command]);
        }
    }
    if desk.output.is_ids() {
        return Ok(());
    }
    desk.output.rows(&["METHOD", "PATH", "COMMAND"], rows)
}

/// Runs `guildhall metrics`.
pub(super) async fn metrics(desk: &CliContext) -> Result<(), Failure> {
    let answer = desk.get(&RequestTarget::new("/metrics")).await?;
    desk.output.body(&answer.body)
}
