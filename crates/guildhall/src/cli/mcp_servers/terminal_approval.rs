//! What needs a card, from the owner's terminal: the card is shown, a yes is said to it by its
//! digest or at the prompt, and the same request is sent again.

use clap::Args;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::ApprovalWaitArgs;
use crate::cli::{
    approval_cards,
    approvals::{check_digest, parse_digest_prefix},
    cli_context::CliContext,
    failure::Failure,
    http_client::{ApprovalOptions, HttpResponse},
    output,
    request_target::RequestTarget,
    terminal_input,
};

/// How a command with a card comes by a person's yes.
#[derive(Clone, Debug, Args)]
pub(crate) struct TerminalApprovalArgs {
    #[command(flatten)]
    pub(super) waiting: ApprovalWaitArgs,
    /// Approve it, as its owner: the first 8 or more characters of the digest that its card shows
    #[arg(
        long,
        value_name = "DIGEST",
        value_parser = parse_digest_prefix,
        help_heading = "When a person must approve it"
    )]
    pub(super) yes: Option<String>,
}

/// A change of tool servers on its way.
pub(super) struct GatedChange<'a> {
    pub(super) method: Method,
    pub(super) target: &'a RequestTarget,
    pub(super) body: Option<&'a Value>,
    pub(super) gated: ApprovalOptions,
}

impl GatedChange<'_> {
    /// Sends it, and holds it where somebody else says yes to it.
    ///
    /// # Errors
    /// Those of [`CliContext::send_gated`].
    pub(super) async fn send(&self, desk: &CliContext) -> Result<HttpResponse, Failure> {
        let (method, gated) = (self.method.clone(), self.gated.clone());
        desk.send_gated(method, self.target, self.body, gated).await
    }

    /// Sends it, with the yes of the person at this terminal where it needs one and the caller is
    /// who can say it.
    ///
    /// # Errors
    /// Those of [`CliContext::send_gated`]; [`Failure::Unapproved`] when nobody said yes,
    /// [`Failure::Usage`] when it was said to another card, or no was.
    pub(super) async fn send_with_card(
        mut self,
        desk: &CliContext,
        yes: Option<&str>,
    ) -> Result<HttpResponse, Failure> {
        if !decides(desk).await? {
            return self.send(desk).await;
        }
        let wait = self.gated.wait.replace(0).filter(|wait| *wait > 0);
        let asked = match self.send(desk).await {
            Err(Failure::Answered(asked)) if asked.status == StatusCode::ACCEPTED => asked,
            other => return other,
        };
        let required: Value = asked.json()?;
        let word = |name: &str| required[name].as_str().unwrap_or_default();
        self.gated.token = Some(word("approvalToken").to_owned());
        let ask = RequestTarget::new("/api/approvals").push_segment(word("approvalId"));
        let card = desk.get(&ask).await?;
        let approval: Value = card.json()?;
        if let Some(seen) = yes {
            check_digest(&approval, seen)?;
        }
        // Somebody may have said yes to it at another screen.
        if approval["state"] != "granted" {
            if yes.is_none() && !terminal_input::is_interactive() {
                let page = format!("{}/asks/{}", desk.client.address()?, word("approvalId"));
                let card = Box::new(card);
                let unapproved = Failure::Unapproved { card, page };
                let Some(seconds) = wait else {
                    return Err(unapproved);
                };
                output::write_stderr(&String::from_utf8_lossy(&unapproved.message(false)));
                self.gated.wait = Some(seconds);
                return self.send(desk).await;
            }
            if yes.is_none() {
                approval_cards::of_approval(&approval)
                    .iter()
                    .for_each(|line| output::write_stderr(&format!("{line}\n")));
                if let Err(no) = terminal_input::confirm("Approve?", "--yes") {
                    // Taken back and not denied: whoever asked may change their mind at once.
                    desk.post_with_new_key(&ask.push_segment("withdraw"), None)
                        .await?;
                    return Err(no);
                }
            }
            let seen = json!({"digest": approval["digest"]});
            desk.post_with_new_key(&ask.push_segment("grant"), Some(&seen))
                .await?;
        }
        self.send(desk).await
    }
}

/// Whether the caller is who says yes: the owner, and none of the owner's programs.
async fn decides(desk: &CliContext) -> Result<bool, Failure> {
    let whoami: Value = desk
        .get(&RequestTarget::new("/api/auth/whoami"))
        .await?
        .json()?;
    let caller = &whoami["caller"];
    Ok(caller["kind"] == "owner" && caller["credential"] != "api-key")
}
