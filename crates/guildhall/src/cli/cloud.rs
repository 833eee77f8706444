//! `guildhall cloud`: optional, and nothing else needs it.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::Desk,
    failure::Failure,
    output::{Cell, View},
    request_target::Target,
};

/// What can be done with the link to a cloud service.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows whether a cloud service is set up and linked
    #[command(after_help = "Example:\n  guildhall cloud status")]
    Status,
    /// Shows the link: its state, and the code that waits to be typed
    #[command(after_help = "Example:\n  guildhall cloud show --json")]
    Show,
    /// Asks for a code to be typed in a browser; `show` tells when that is done
    #[command(after_help = "Example:\n  guildhall cloud link")]
    Link,
    /// Stops linking, or dismisses the note that an attempt left
    #[command(after_help = "Example:\n  guildhall cloud cancel")]
    Cancel,
    /// Asks the service whether it takes this instance's key
    #[command(after_help = "Example:\n  guildhall cloud check")]
    Check,
    /// Forgets the key, and gives it back
    #[command(after_help = "Example:\n  guildhall cloud unlink")]
    Unlink,
    /// Lists what the service sells
    #[command(after_help = "Example:\n  guildhall cloud offers")]
    Offers,
    /// Prints the address of a billing page; exits with 1 when there is none
    #[command(
        after_help = "Examples:\n  guildhall cloud billing portal\n  guildhall cloud billing checkout --sku price_team_month"
    )]
    Billing(Billing),
}

/// A billing page.
#[derive(Clone, Debug, Args)]
pub(crate) struct Billing {
    /// Which page
    #[arg(value_enum)]
    page: Page,
    /// Of `checkout`: the offer's id, as `cloud offers` shows it
    #[arg(long, value_name = "SKU_ID", required_if_eq("page", "checkout"))]
    sku: Option<String>,
}

/// A page where money is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Page {
    /// Where a plan is changed or ended, and invoices are
    Portal,
    /// Where one offer is bought
    Checkout,
    /// Where credits are bought
    Topup,
}

impl Page {
    fn word(self) -> &'static str {
        match self {
            Self::Portal => "portal",
            Self::Checkout => "checkout",
            Self::Topup => "topup",
        }
    }
}

const STATUS: View = View {
    list: None,
    id: "/accountLabel",
    columns: &[
        ("Service set up", Cell::At("/configured")),
        ("Linked", Cell::At("/linked")),
        ("Account", Cell::At("/accountLabel")),
        ("Last heartbeat", Cell::At("/lastHeartbeatAt")),
    ],
};

const LINK: View = View {
    list: None,
    id: "/state",
    columns: &[
        ("Link", Cell::At("/state")),
        ("Account", Cell::At("/accountLabel")),
        ("Last heartbeat", Cell::At("/lastHeartbeatAt")),
        ("Linking anew", Cell::At("/relinkOutcome")),
        ("Type this", Cell::At("/pending/userCode")),
        ("There", Cell::At("/pending/verificationUri")),
        ("Or open this", Cell::At("/pending/verificationUriComplete")),
        ("Until", Cell::At("/pending/expiresAt")),
        ("Approved code", Cell::At("/approvedCode")),
    ],
};

const CODE: View = View {
    list: None,
    id: "/userCode",
    columns: &[
        ("Type this", Cell::At("/userCode")),
        ("There", Cell::At("/verificationUri")),
        ("Or open this", Cell::At("/verificationUriComplete")),
        ("Until", Cell::At("/expiresAt")),
    ],
};

const OFFERS: View = View {
    list: Some("offers"),
    id: "/skuId",
    columns: &[
        ("OFFER", Cell::At("/displayName")),
        ("PLAN", Cell::At("/planId")),
        ("EVERY", Cell::At("/interval")),
        ("MICRO UNITS", Cell::At("/amountMicro")),
        ("SKU", Cell::At("/skuId")),
    ],
};

const ADDRESS: View = View {
    list: None,
    id: "/url",
    columns: &[
        ("Open this", Cell::At("/url")),
        ("Why not", Cell::At("/message")),
        ("The service says", Cell::At("/problem/title")),
        ("", Cell::At("/problem/detail")),
    ],
};

/// The exit code, or why it was not done.
pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Status => show(desk, "/api/cloud/status", &STATUS).await,
        Verb::Show => show(desk, "/api/cloud/link/status", &LINK).await,
        Verb::Link => change(desk, "/api/cloud/link/start", &CODE).await,
        Verb::Cancel => change(desk, "/api/cloud/link/cancel", &LINK).await,
        Verb::Check => change(desk, "/api/cloud/link/check", &STATUS).await,
        Verb::Offers => show(desk, "/api/cloud/offers", &OFFERS).await,
        Verb::Unlink => {
            let target = Target::new("/api/cloud/unlink");
            let answer = desk.post_anew(&target, None).await?;
            match desk.output.is_for_people() {
                true => desk.output.done("Unlinked.")?,
                false => desk.output.show(&answer, &STATUS)?,
            }
            Ok(0)
        }
        Verb::Billing(ask) => billing(desk, ask).await,
    }
}

async fn show(desk: &Desk, path: &str, view: &View) -> Result<u8, Failure> {
    let answer = desk.get(&Target::new(path)).await?;
    desk.output.show(&answer, view).map(|()| 0)
}

async fn change(desk: &Desk, path: &str, view: &View) -> Result<u8, Failure> {
    let answer = desk.post_anew(&Target::new(path), None).await?;
    desk.output.show(&answer, view).map(|()| 0)
}

async fn billing(desk: &Desk, ask: Billing) -> Result<u8, Failure> {
    let target = Target::new("/api/cloud/billing").then(ask.page.word());
    let body = ask
        .sku
        .map_or_else(|| json!({}), |sku| json!({ "skuId": sku }));
    let answer = desk.post_anew(&target, Some(&body)).await?;
    desk.output.show(&answer, &ADDRESS)?;
    let said: Value = answer.json()?;
    Ok(u8::from(said["ok"] != json!(true)))
}
