//! `guildhall cloud`: optional, and nothing else needs it.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
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
    Billing(BillingArgs),
}

/// A billing page.
#[derive(Clone, Debug, Args)]
pub(crate) struct BillingArgs {
    /// Which page
    #[arg(value_enum)]
    page: BillingPageArg,
    /// Of `checkout`: the offer's id, as `cloud offers` shows it
    #[arg(long, value_name = "SKU_ID", required_if_eq("page", "checkout"))]
    sku: Option<String>,
}

/// A page where money is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BillingPageArg {
    /// Where a plan is changed or ended, and invoices are
    Portal,
    /// Where one offer is bought
    Checkout,
    /// Where credits are bought
    Topup,
}

impl BillingPageArg {
    fn word(self) -> &'static str {
        match self {
            Self::Portal => "portal",
            Self::Checkout => "checkout",
            Self::Topup => "topup",
        }
    }
}

const STATUS: TableLayout = TableLayout {
    list: None,
    id: "/accountLabel",
    columns: &[
        ("Service set up", CellSource::At("/configured")),
        ("Linked", CellSource::At("/linked")),
        ("Account", CellSource::At("/accountLabel")),
        ("Last heartbeat", CellSource::At("/lastHeartbeatAt")),
    ],
};

const LINK: TableLayout = TableLayout {
    list: None,
    id: "/state",
    columns: &[
        ("Link", CellSource::At("/state")),
        ("Account", CellSource::At("/accountLabel")),
        ("Last heartbeat", CellSource::At("/lastHeartbeatAt")),
        ("Linking anew", CellSource::At("/relinkOutcome")),
        ("Type this", CellSource::At("/pending/userCode")),
        ("There", CellSource::At("/pending/verificationUri")),
        (
            "Or open this",
            CellSource::At("/pending/verificationUriComplete"),
        ),
        ("Until", CellSource::At("/pending/expiresAt")),
        ("Approved code", CellSource::At("/approvedCode")),
    ],
};

const CODE: TableLayout = TableLayout {
    list: None,
    id: "/userCode",
    columns: &[
        ("Type this", CellSource::At("/userCode")),
        ("There", CellSource::At("/verificationUri")),
        ("Or open this", CellSource::At("/verificationUriComplete")),
        ("Until", CellSource::At("/expiresAt")),
    ],
};

const OFFERS: TableLayout = TableLayout {
    list: Some("offers"),
    id: "/skuId",
    columns: &[
        ("OFFER", CellSource::At("/displayName")),
        ("PLAN", CellSource::At("/planId")),
        ("EVERY", CellSource::At("/interval")),
        ("MICRO UNITS", CellSource::At("/amountMicro")),
        ("SKU", CellSource::At("/skuId")),
    ],
};

const ADDRESS: TableLayout = TableLayout {
    list: None,
    id: "/url",
    columns: &[
        ("Open this", CellSource::At("/url")),
        ("Why not", CellSource::At("/message")),
        ("The service says", CellSource::At("/problem/title")),
        ("", CellSource::At("/problem/detail")),
    ],
};

/// The exit code, or why it was not done.
pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Status => show(desk, "/api/cloud/status", &STATUS).await,
        Verb::Show => show(desk, "/api/cloud/link/status", &LINK).await,
        Verb::Link => change(desk, "/api/cloud/link/start", &CODE).await,
        Verb::Cancel => change(desk, "/api/cloud/link/cancel", &LINK).await,
        Verb::Check => change(desk, "/api/cloud/link/check", &STATUS).await,
        Verb::Offers => show(desk, "/api/cloud/offers", &OFFERS).await,
        Verb::Unlink => {
            let target = RequestTarget::new("/api/cloud/unlink");
            let answer = desk.post_with_new_key(&target, None).await?;
            match desk.output.is_for_people() {
                true => desk.output.done("Unlinked.")?,
                false => desk.output.show(&answer, &STATUS)?,
            }
            Ok(0)
        }
        Verb::Billing(ask) => billing(desk, ask).await,
    }
}

async fn show(desk: &CliContext, path: &str, view: &TableLayout) -> Result<u8, Failure> {
    let answer = desk.get(&RequestTarget::new(path)).await?;
    desk.output.show(&answer, view).map(|()| 0)
}

async fn change(desk: &CliContext, path: &str, view: &TableLayout) -> Result<u8, Failure> {
    let answer = desk
        .post_with_new_key(&RequestTarget::new(path), None)
        .await?;
    desk.output.show(&answer, view).map(|()| 0)
}

async fn billing(desk: &CliContext, ask: BillingArgs) -> Result<u8, Failure> {
    let target = RequestTarget::new("/api/cloud/billing").push_segment(ask.page.word());
    let body = ask
        .sku
        .map_or_else(|| json!({}), |sku| json!({ "skuId": sku }));
    let answer = desk.post_with_new_key(&target, Some(&body)).await?;
    desk.output.show(&answer, &ADDRESS)?;
    let said: Value = answer.json()?;
    Ok(u8::from(said["ok"] != json!(true)))
}
