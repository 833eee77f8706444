//! The guildhall-cloud binary: the companion service, and accounts for it.

use std::{
    error::Error,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use guildhall_cloud::{
    CompanionConfig, PaymentSetup, accounts,
    settings::{self, DataFolderArgs, HttpOrigin, PaymentArgs, ServiceArgs, SettingError},
    store::Store,
    stripe::StripeClient,
};
use guildhall_world::{
    clock::Clock,
    data_dir::{DataDir, DataDirError},
    http_client::{HttpClient, ListenerPorts},
    reserved_ports,
};
use tokio::signal::unix::{SignalKind, signal};

/// The companion service of guildhall: links instances to accounts and knows the payment pages.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Starts the service
    #[command(after_help = "Example:\n  guildhall-cloud serve --data-dir ~/cloud")]
    Serve {
        #[command(flatten)]
        place: ServiceArgs,
        #[command(flatten)]
        payments: PaymentArgs,
    },
    /// Accounts of people
    Account {
        #[command(subcommand)]
        verb: AccountVerb,
    },
}

#[derive(Debug, Subcommand)]
enum AccountVerb {
    /// Makes an account, and prints the one-time link where its password is chosen; for an account
    /// that is there, another link
    #[command(
        after_help = "Example:\n  guildhall-cloud account add ada@example.org --data-dir ~/cloud"
    )]
    Add {
        /// What the person signs in with
        email: String,
        #[command(flatten)]
        place: ServiceArgs,
    },
    /// Lists the accounts, and how many instances are linked to each
    #[command(after_help = "Example:\n  guildhall-cloud account list --data-dir ~/cloud")]
    List {
        #[command(flatten)]
        folder: DataFolderArgs,
    },
    /// Removes an account and unlinks its instances; Stripe is not told
    #[command(
        after_help = "Example:\n  guildhall-cloud account remove ada@example.org --data-dir ~/cloud"
    )]
    Remove {
        /// What the person signs in with
        email: String,
        #[command(flatten)]
        folder: DataFolderArgs,
    },
}

type CommandResult = Result<(), Box<dyn Error + Send + Sync>>;

#[expect(clippy::print_stderr, reason = "a terminal program says why it ends")]
fn main() -> ExitCode {
    let Cli { verb } = Cli::parse();
    start_logging();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| {
        runtime.block_on(async {
            match verb {
                Verb::Serve { place, payments } => serve(place, payments).await,
                Verb::Account { verb } => account(verb).await,
            }
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guildhall-cloud: {}", told(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn serve(place: ServiceArgs, payments: PaymentArgs) -> CommandResult {
    let stop = stop()?;
    // Held to the end: a second service on the same folder would issue keys beside this one.
    let data_dir = DataDir::open(&place.folder.data_dir)?;
    let public = public(&place)?;
    let paid = paid(payments)?;
    let failed = |source| SettingError::Bind {
        address: place.bind,
        source,
    };
    let reserved = place.reserved_ports.unwrap_or_default();
    let listener = reserved_ports::listen(place.bind, reserved)
        .await
        .map_err(failed)?;
    let address = listener.local_addr()?;
    let opening = CompanionConfig {
        store: Store::open(&database(data_dir.path()))?,
        clock: Clock::System,
        public,
        paid,
    };
    let companion = opening.behind(listener, address)?;
    say(&format!("listening on http://{address}"))?;
    companion.serve(stop).await;
    Ok(())
}

async fn account(verb: AccountVerb) -> CommandResult {
    let folder = match &verb {
        AccountVerb::Add { place, .. } => &place.folder,
        AccountVerb::List { folder } | AccountVerb::Remove { folder, .. } => folder,
    };
    // Made private where it is new. A service that runs on it has the lock, and the database takes
    // both of them.
    let _held = match DataDir::open(&folder.data_dir) {
        Ok(data_dir) => Some(data_dir),
        Err(DataDirError::InUse(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let store = Store::open(&database(&folder.data_dir))?;
    match &verb {
        AccountVerb::Add { email, place } => {
            let public = match public(place)? {
                Some(public) => public,
                None => HttpOrigin::at(place.bind)?,
            };
            say(&accounts::add(&store, &public, email, Clock::System.now()).await?)
        }
        AccountVerb::List { .. } => {
            let lines = accounts::list(&store).await?;
            lines.iter().try_for_each(|line| say(line))
        }
        AccountVerb::Remove { email, .. } => say(&accounts::remove(&store, email).await?),
    }
}

/// The database's name in the data folder.
const DATABASE: &str = "guildhall-cloud.sqlite";

fn database(data_dir: &Path) -> PathBuf {
    data_dir.join(DATABASE)
}

fn public(place: &ServiceArgs) -> Result<Option<HttpOrigin>, SettingError> {
    let read = |given: &String| HttpOrigin::read("--public-url", given);
    place.public_url.as_ref().map(read).transpose()
}

fn paid(payments: PaymentArgs) -> Result<Option<PaymentSetup>, Box<dyn Error + Send + Sync>> {
    let Some(file) = payments.stripe_key_file else {
        tracing::info!("without a key of the payment service there are no offers");
        return Ok(None);
    };
    let key = settings::read_key(&file)?;
    let base = HttpOrigin::read("--stripe-base", &payments.stripe_base)?;
    Ok(Some(PaymentSetup {
        stripe: StripeClient::new(HttpClient::open(ListenerPorts::default())?, base, key),
        topup_price: payments.topup_price.map(Into::into),
    }))
}

/// The end that is asked for by a signal; taken before the service says that it runs.
fn stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
    })
}

fn say(line: &str) -> CommandResult {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// An error with everything beneath it, on one line.
fn told(error: &(dyn Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Some say of themselves what lies beneath.
        let beneath = error.to_string();
        if !text.ends_with(&beneath) {
            text = format!("{text}: {beneath}");
        }
        source = error.source();
    }
    text
}

fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GUILDHALL_CLOUD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colours are for eyes; in a file they are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
