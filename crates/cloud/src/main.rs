//! The guildhall-cloud binary: the companion service, and accounts for it.

use std::{error::Error, io::Write, process::ExitCode};

use clap::{Parser, Subcommand};
use guildhall_cloud::{
    Opening, Paid, accounts,
    settings::{self, Origin, Payments, Place},
    store::Store,
    stripe::Stripe,
};
use guildhall_world::{clock::Clock, data_dir::DataDir, outgoing::Outgoing};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

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
        place: Place,
        #[command(flatten)]
        payments: Payments,
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
        place: Place,
    },
}

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

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
                Verb::Account {
                    verb: AccountVerb::Add { email, place },
                } => add(&email, place).await,
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

async fn serve(place: Place, payments: Payments) -> Outcome {
    let stop = stop()?;
    // Held to the end: a second service on the same folder would issue keys beside this one.
    let data_dir = DataDir::open(&place.data_dir)?;
    let public = public(&place)?;
    let paid = paid(payments)?;
    let listener = TcpListener::bind(place.bind).await?;
    let address = listener.local_addr()?;
    let opening = Opening {
        store: Store::open(&database(&data_dir))?,
        clock: Clock::System,
        public,
        paid,
    };
    let companion = opening.behind(listener, address)?;
    say(&format!("listening on http://{address}"))?;
    companion.serve(stop).await;
    Ok(())
}

async fn add(email: &str, place: Place) -> Outcome {
    // A service may run on the folder, which has the lock; the database takes both.
    make_private(&place.data_dir)?;
    let public = match public(&place)? {
        Some(public) => public,
        None => Origin::at("GUILDHALL_CLOUD_PUBLIC_URL", place.bind)?,
    };
    let store = Store::open(&place.data_dir.join(DATABASE))?;
    let link = accounts::add(&store, &public, email, Clock::System.now()).await?;
    say(&link)
}

/// The database's name in the data folder.
const DATABASE: &str = "guildhall-cloud.sqlite";

fn database(data_dir: &DataDir) -> std::path::PathBuf {
    data_dir.path().join(DATABASE)
}

/// Makes the folder, mode 0700, where it is not there.
fn make_private(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn public(place: &Place) -> Result<Option<Origin>, settings::SettingError> {
    let read = |given: &String| Origin::read("GUILDHALL_CLOUD_PUBLIC_URL", given);
    place.public_url.as_ref().map(read).transpose()
}

fn paid(payments: Payments) -> Result<Option<Paid>, Box<dyn Error + Send + Sync>> {
    let Some(file) = payments.stripe_key_file else {
        tracing::info!("without a key of the payment service there are no offers");
        return Ok(None);
    };
    let key = settings::read_key(&file)?;
    let base = Origin::read("GUILDHALL_CLOUD_STRIPE_BASE", &payments.stripe_base)?;
    Ok(Some(Paid {
        stripe: Stripe::new(Outgoing::open()?, base, key),
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

fn say(line: &str) -> Outcome {
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
        .init();
}
