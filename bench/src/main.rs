//! The benchmark: the server as its users run it, beside what the machine itself can do.
//! It prints figures and judges them against the targets; it is no test and fails for no figure.
//!
//! `cargo xtask bench` builds the programs and starts it. The load generator runs on one thread,
//! so that on two cores the server has the other one.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

mod browser;
mod commands;
mod connectors;
mod directories;
mod exports;
mod filling;
mod frames;
mod http;
mod machine;
mod measure;
mod nginx;
mod pages;
mod posts;
mod rooms;
mod saves;
mod searches;
mod served;
mod server;
mod sessions;
mod starts;
mod streams;
mod table;
mod tool_servers;
mod transcripts;
mod turns;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use commands::Commands;
use filling::Filling;
use guildhall_domain::ids::RoomId;
use guildhall_world::chromium::{self, Places};
use measure::Span;
use server::House;
use sessions::Sessions;
use table::Row;
use transcripts::Transcripts;
use turns::Crew;

/// Why the run could not go on.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// What everything here answers that can fail.
type Result<T> = std::result::Result<T, Failure>;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Rooms the caller belongs to.
    rooms: usize,
    /// Entries in the large room of the full store.
    entries: u64,
    /// Open streams.
    streams: usize,
    /// Sessions with agents.
    sessions: usize,
    /// How long each row is measured.
    span: Span,
}

impl Scale {
    /// What the targets are about.
    const FULL: Self = Self {
        rooms: 1_000,
        entries: 1_000_000,
        streams: 2_000,
        sessions: 1_000,
        span: Span {
            warm_up: Duration::from_secs(1),
            measured: Duration::from_secs(6),
        },
    };

    /// A quick look while something is being built.
    const QUICK: Self = Self {
        rooms: 1_000,
        entries: 50_000,
        streams: 500,
        sessions: 200,
        span: Span {
            warm_up: Duration::from_millis(300),
            measured: Duration::from_millis(1_500),
        },
    };
}

/// What the command line asks for.
#[derive(Debug)]
struct Ask {
    /// The release build of the server.
    server: PathBuf,
    /// The stripped build, whose size is told.
    dist: Option<PathBuf>,
    /// The program that files and previews are measured beside.
    nginx: Option<PathBuf>,
    /// Where the data folders go, on the disk to be measured; removed at the end.
    folder: PathBuf,
    scale: Scale,
    is_json: bool,
}

impl Ask {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut server, mut dist, mut nginx, mut folder) = (None, None, None, None);
        let (mut scale, mut is_json) = (Scale::FULL, false);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--server" => server = words.next().map(PathBuf::from),
                "--dist" => dist = words.next().map(PathBuf::from),
                "--nginx" => nginx = words.next().map(PathBuf::from),
                "--folder" => folder = words.next().map(PathBuf::from),
                "--quick" => scale = Scale::QUICK,
                "--json" => is_json = true,
                _ => return Err(format!("there is no option `{word}`").into()),
            }
        }
        Ok(Self {
            server: server.ok_or("--server names no program")?,
            dist,
            nginx,
            folder: folder.ok_or("--folder names no folder")?,
            scale,
            is_json,
        })
    }
}

fn main() -> ExitCode {
    if std::env::args()
        .nth(1)
        .is_some_and(|word| word == tool_servers::WORD)
    {
        // Whoever started it reads what it says; there is nobody to tell of a failure.
        let _ = tool_servers::serve();
        return ExitCode::SUCCESS;
    }
    let outcome = Ask::read(std::env::args().skip(1)).and_then(|ask| {
        raise_descriptor_limit()?;
        let folder = Folder::new(&ask.folder)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(run(&ask, &folder.0))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(ask: &Ask, folder: &Path) -> Result<()> {
    let busy_before = machine::load_average();
    let mut rows = measured(ask, folder).await?;
    if let Some(dist) = &ask.dist {
        rows.push(starts::size(dist)?);
    }
    let busy_after = machine::load_average();
    let machine = machine::description(folder);
    if ask.is_json {
        let answer = serde_json::json!({
            "rows": table::json(&rows),
            "machine": machine,
            "loadAverage": { "before": busy_before, "after": busy_after },
        });
        println!("{answer}");
    } else {
        println!("\n{}", table::text(&rows));
        println!("machine: {machine}");
        println!("load average before: {busy_before}, after: {busy_after}");
    }
    Ok(())
}

/// Every row that the release build is asked for.
async fn measured(ask: &Ask, folder: &Path) -> Result<Vec<Row>> {
    let scale = &ask.scale;
    let stores = Stores::fill(ask, folder).await?;
    let Stores { few, many, .. } = &stores;

    say("starts");
    let mut rows = starts::ready(&[
        (few, "small store".to_owned()),
        (many, format!("{} entries", scale.entries)),
    ])?;
    rows.push(starts::memory_at_rest(few).await?);

    let bare = few.copy_to(folder.join("bare"))?;

    say("list of rooms");
    let (few_server, many_server) = (few.start()?, many.start()?);
    rooms::check_counts(&few_server, stores.few_unread).await?;
    rooms::check_counts(&many_server, stores.few_unread + scale.entries).await?;
    let listing = rooms::listing(&few_server, &many_server, stores.bare_listings, scale);
    let mut listing = listing.await?;

    say("pages of entries");
    let page = pages::anywhere(&many_server, stores.large_room, &stores.bare_pages, scale);
    listing.push(page.await?);
    say("searches");
    listing.extend(searches::rare_and_common(&many_server, stores.room, scale).await?);

    say("exports");
    let (room, bare_export) = (stores.large_room, stores.bare_export);
    listing.extend(exports::whole_room(&many_server, room, bare_export, scale).await?);
    many_server.stop()?;

    say("posts");
    let pair = posts::Pair {
        server: &few_server,
        bare: &bare,
        room: stores.room,
    };
    let mut all = vec![posts::by_many(&pair, scale).await?];
    all.extend(posts::by_one(&pair, scale).await?);
    few_server.stop()?;

    say("transcripts and commands");
    let (transcripts, folders) = (Transcripts::write(few)?, Commands::write(few)?);
    let server = few.start()?;
    let mut files = transcripts.measure(&server).await?;
    files.extend(folders.measure(&server, scale).await?);
    server.stop()?;

    say("streams");
    let server = few.start()?;
    let streams = streams::to_all(&server, stores.room, scale).await?;
    server.stop()?;

    say("tool servers");
    let tools = tool_servers::measure(&few.copy_to(folder.join("tools"))?, scale).await?;

    let files_house = few.copy_to(folder.join("files"))?;
    files.extend(of_files(&files_house, ask.nginx.as_deref(), scale).await?);

    files.extend(of_browser(&few.copy_to(folder.join("browser"))?).await?);

    say("connectors");
    let connectors = connectors::measure(&few.copy_to(folder.join("connectors"))?, scale).await?;

    say("sessions and turns");
    let sessions = of_sessions(few.copy_to(folder.join("sessions"))?, scale).await?;

    all.extend(listing);
    all.extend(streams);
    all.extend(files);
    all.extend(sessions);
    all.extend(tools);
    all.extend(connectors);
    all.extend(rows);
    Ok(all)
}

/// The rows about the files of home, in a house of their own.
async fn of_files(house: &House, nginx: Option<&Path>, scale: &Scale) -> Result<Vec<Row>> {
    let server = house.start()?;
    let mut rows = Vec::new();
    match nginx {
        Some(nginx) => {
            say("files and previews");
            rows.extend(served::measure(house, &server, nginx, scale).await?);
        }
        None => eprintln!(
            "  left out: files and previews beside nginx, which is not installed \
             (on Debian: `apt-get install nginx-light`)"
        ),
    }
    say("directories and saves");
    rows.push(directories::listing(house, &server, scale).await?);
    rows.push(saves::by_one(house, &server, scale).await?);
    server.stop()?;
    Ok(rows)
}

/// The rows about the local browser, in a house of its own.
async fn of_browser(house: &House) -> Result<Vec<Row>> {
    let path = std::env::var_os("PATH");
    let places = Places {
        path,
        ..Places::default()
    };
    match chromium::executable(&places) {
        Ok(chromium) => {
            say("the local browser");
            browser::measure(house, &chromium).await
        }
        Err(_) => {
            eprintln!(
                "  left out: the local browser, for want of Chromium \
                 (on Debian: `apt-get install chromium`)"
            );
            Ok(Vec::new())
        }
    }
}

/// The rows about sessions with agents, in a house of their own.
async fn of_sessions(house: House, scale: &Scale) -> Result<Vec<Row>> {
    let sessions = Sessions::open(&house, scale).await?;
    let mut rows = starts::ready(&[(&house, format!("{} sessions", scale.sessions))])?;
    let bare = sessions.bare_listings(&house, scale).await?;
    let server = house.start()?;
    rows.push(sessions.listing(&server, &bare, scale).await?);
    let resting = server.resident_bytes()?;
    let crew = Crew::gather(&server, &house, &sessions).await?;
    rows.push(sessions.memory_beside_agents(&server, resting)?);
    let turns = crew.measure(scale).await?;
    rows.push(sessions.memory_at_rest(&server).await?);
    server.stop()?;
    Ok(turns.into_iter().chain(rows).collect())
}

/// Two stores with the same rooms: one with few entries, one with very many in one room.
struct Stores {
    few: House,
    many: House,
    /// Posts that are unread to the owner in the first; the second has the large room's more.
    few_unread: u64,
    /// The room that holds the many.
    large_room: RoomId,
    /// A room with few entries and no agent.
    room: RoomId,
    /// Listings a second that the store reads by itself.
    bare_listings: f64,
    /// Pages that the full store reads by itself.
    bare_pages: measure::Times,
    /// How long the store takes to read the large room by itself.
    bare_export: Duration,
}

impl Stores {
    /// Entries in each room of either store.
    const EACH: u64 = 10;

    async fn fill(ask: &Ask, folder: &Path) -> Result<Self> {
        let scale = &ask.scale;
        say("rooms");
        let few = House::new(&ask.server, folder.join("few"))?;
        let server = few.start()?;
        let rooms = filling::make_rooms(&server, scale.rooms).await?;
        server.stop()?;
        let [large_room, room, ..] = rooms[..] else {
            return Err("too few rooms".into());
        };
        let filling = Filling::open(&few).await?;
        filling.post_in(&rooms, Self::EACH).await?;
        let bare_listings = rooms::bare_rate(filling, scale).await?;

        say("entries");
        let many = few.copy_to(folder.join("many"))?;
        let filling = Filling::open(&many).await?;
        filling.post_in(&[large_room], scale.entries).await?;
        let bare_pages = pages::bare_times(&filling, large_room, scale).await?;
        let bare_export = exports::bare_time(&filling, large_room).await?;
        Ok(Self {
            few,
            many,
            few_unread: rooms.len() as u64 * Self::EACH,
            large_room,
            room,
            bare_listings,
            bare_pages,
            bare_export,
        })
    }
}

/// The folder of the run, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(path: &Path) -> Result<Self> {
        let path = path.join(format!("bench-data-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies beside the build's own files and goes with them.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Tells on the error output what is being done, so that the standard output is figures alone.
fn say(what: &str) {
    eprintln!("  measuring: {what}");
}

/// A failure of the store, which has no sentence of its own here.
fn broken(error: guildhall_domain::Error) -> Failure {
    match error {
        guildhall_domain::Error::Fault(fault) => fault.into(),
        refused => format!("the store refused: {refused:?}").into(),
    }
}

/// Each open stream is a descriptor here as well, and two where nobody serves.
fn raise_descriptor_limit() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )?;
    Ok(())
}
