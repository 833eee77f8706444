//! The groups of rows: what each needs, and in which order they are measured.

use std::{path::Path, time::Duration};

use guildhall_domain::ids::RoomId;
use guildhall_world::chromium::{self, SearchPaths};
use tokio::time::timeout;

use crate::{
    BenchArgs, Result, Scale, agent_enclosure, backups, browser, command_files::CommandFolders,
    connectors, directories, entry_pages, exports, measure, overload, peer_lookups, posts,
    result_table::ResultRow, room_listing, saves, say, searches, seeded_store,
    seeded_store::SeededStore, served_files, server::ServerFolder, sessions::StoredSessions,
    startup, streams, tool_servers, transcripts::TranscriptFiles, turns::AgentSessions,
};

/// How long a group may take before the run is given up; what hangs is told, not waited for.
const GROUP_MAX: Duration = Duration::from_secs(20 * 60);

/// Rows that are measured together, and can be asked for alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowGroup {
    /// Starts, listings, pages, searches, exports and posts.
    Rooms,
    /// What lies in files of agents: transcripts and commands.
    Transcripts,
    /// One entry to many streams.
    Streams,
    /// Tool servers behind the gateway.
    Tools,
    /// Files, folders, saves and previews.
    Files,
    /// The local browser.
    Browser,
    /// Operations of connectors.
    Connectors,
    /// Sessions and turns.
    Sessions,
    /// What the enclosure of agents costs, and what one without it can cost everybody.
    Enclosure,
    /// What everybody waits while many peers hold connections.
    Overload,
}

impl RowGroup {
    const ALL: [Self; 10] = [
        Self::Rooms,
        Self::Transcripts,
        Self::Streams,
        Self::Tools,
        Self::Files,
        Self::Browser,
        Self::Connectors,
        Self::Sessions,
        Self::Enclosure,
        Self::Overload,
    ];

    /// As it is called on the command line.
    const fn name(self) -> &'static str {
        match self {
            Self::Rooms => "rooms",
            Self::Transcripts => "transcripts",
            Self::Streams => "streams",
            Self::Tools => "tools",
            Self::Files => "files",
            Self::Browser => "browser",
            Self::Connectors => "connectors",
            Self::Sessions => "sessions",
            Self::Enclosure => "enclosure",
            Self::Overload => "overload",
        }
    }

    /// The group of this name.
    ///
    /// # Errors
    /// A sentence with all the names.
    pub(crate) fn by_name(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|group| group.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("--only takes one of {names}, not `{name}`").into()
        })
    }

    /// Its rows.
    async fn measure(
        self,
        ask: &BenchArgs,
        folder: &Path,
        few: &SmallStore,
    ) -> Result<Vec<ResultRow>> {
        let scale = &ask.scale;
        match self {
            Self::Rooms => of_rooms(folder, few, scale).await,
            Self::Transcripts => {
                say("transcripts and commands");
                let house = few.house.copy_to(folder.join("transcripts"))?;
                let (transcripts, folders) = (
                    TranscriptFiles::write(&house)?,
                    CommandFolders::write(&house)?,
                );
                let server = house.start()?;
                let mut rows = transcripts.measure(&server).await?;
                rows.extend(folders.measure(&server, scale).await?);
                server.stop()?;
                Ok(rows)
            }
            Self::Streams => {
                say("streams");
                let server = few.house.copy_to(folder.join("streams"))?.start()?;
                let rows = streams::entry_to_all_streams(&server, few.room, scale).await?;
                server.stop()?;
                Ok(rows)
            }
            Self::Tools => {
                say("tool servers");
                tool_servers::measure(&few.house.copy_to(folder.join("tools"))?, scale).await
            }
            Self::Files => {
                let house = few.house.copy_to(folder.join("files"))?;
                of_files(&house, ask.nginx.as_deref(), scale).await
            }
            Self::Browser => of_browser(&few.house.copy_to(folder.join("browser"))?).await,
            Self::Connectors => {
                say("connectors");
                connectors::measure(&few.house.copy_to(folder.join("connectors"))?, scale).await
            }
            Self::Sessions => {
                say("sessions and turns");
                of_sessions(few.house.copy_to(folder.join("sessions"))?, scale).await
            }
            Self::Enclosure => {
                say("the enclosure");
                let mut rows =
                    agent_enclosure::measure(&few.house.copy_to(folder.join("enclosure"))?).await?;
                say("an agent that is not enclosed");
                let house = few.house.copy_to(folder.join("descriptors"))?;
                rows.extend(peer_lookups::measure(&house).await?);
                Ok(rows)
            }
            Self::Overload => {
                say("more connections than the server keeps");
                overload::measure(&few.house.copy_to(folder.join("overload"))?).await
            }
        }
    }
}

/// Every row that the release build is asked for, of one group or of all.
pub(crate) async fn run_groups(ask: &BenchArgs, folder: &Path) -> Result<Vec<ResultRow>> {
    let few = SmallStore::fill(ask, folder).await?;
    let mut rows = Vec::new();
    for group in RowGroup::ALL {
        if ask.only.is_some_and(|only| only != group) {
            continue;
        }
        let measured = timeout(GROUP_MAX, group.measure(ask, folder, &few)).await;
        let name = group.name();
        let measured = measured.map_err(|_| format!("the rows of `{name}` do not end"))?;
        rows.extend(measured.map_err(|failure| format!("{name}: {failure}"))?);
    }
    Ok(rows)
}

/// The rows about rooms and their entries, and about starts with few and with many of them.
async fn of_rooms(folder: &Path, few: &SmallStore, scale: &Scale) -> Result<Vec<ResultRow>> {
    let many = LargeStore::fill(folder, few, scale).await?;
    say("starts");
    let mut starts = startup::ready(&[
        (&few.house, "small store".to_owned()),
        (&many.house, format!("{} entries", scale.entries)),
    ])?;
    starts.push(startup::idle_memory(&few.house).await?);
    let bare = few.house.copy_to(folder.join("bare"))?;

    say("list of rooms");
    let (few_server, many_server) = (few.house.start()?, many.house.start()?);
    room_listing::check_counts(&few_server, few.unread).await?;
    room_listing::check_counts(&many_server, few.unread + scale.entries).await?;
    let listing = room_listing::listing(&few_server, &many_server, few.bare_listings, scale);
    let mut listing = listing.await?;

    say("pages of entries");
    let page = entry_pages::anywhere(&many_server, few.large_room, &many.bare_pages, scale);
    listing.push(page.await?);
    say("searches");
    listing.extend(searches::rare_and_common(&many_server, few.room, scale).await?);

    say("exports");
    let (room, bare_export) = (few.large_room, many.bare_export);
    listing.extend(exports::whole_room(&many_server, room, bare_export, scale).await?);

    say("posts beside a backup");
    listing.push(backups::posts_beside_one(&many_server, few.room, scale).await?);
    many_server.stop()?;

    say("posts");
    let pair = posts::ServerAndBareStore {
        server: &few_server,
        bare: &bare,
        room: few.room,
    };
    let mut rows = vec![posts::by_many(&pair, scale).await?];
    rows.extend(posts::by_one(&pair, scale).await?);
    few_server.stop()?;
    rows.extend(listing);
    rows.extend(starts);
    Ok(rows)
}

/// The rows about the files of home, in a house of their own.
async fn of_files(
    house: &ServerFolder,
    nginx: Option<&Path>,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let server = house.start()?;
    let mut rows = Vec::new();
    match nginx {
        Some(nginx) => {
            say("files and previews");
            rows.extend(served_files::measure(house, &server, nginx, scale).await?);
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
async fn of_browser(house: &ServerFolder) -> Result<Vec<ResultRow>> {
    let path = std::env::var_os("PATH");
    let places = SearchPaths {
        path,
        ..SearchPaths::default()
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
async fn of_sessions(house: ServerFolder, scale: &Scale) -> Result<Vec<ResultRow>> {
    let sessions = StoredSessions::open(&house, scale).await?;
    let mut rows = startup::ready(&[(&house, format!("{} sessions", scale.sessions))])?;
    let bare = sessions.bare_listings(&house, scale).await?;
    let server = house.start()?;
    rows.push(sessions.listing(&server, &bare, scale).await?);
    let resting = server.resident_bytes()?;
    let crew = AgentSessions::open_with_first_turn(&server, &house, &sessions).await?;
    rows.push(sessions.memory_beside_agents(&server, resting)?);
    let turns = crew.measure(scale).await?;
    rows.push(sessions.idle_memory(&server).await?);
    server.stop()?;
    Ok(turns.into_iter().chain(rows).collect())
}

/// A store with many rooms and few entries, which every group begins with a copy of.
struct SmallStore {
    house: ServerFolder,
    /// Posts in it that are unread to the owner.
    unread: u64,
    /// The room that gets the many entries.
    large_room: RoomId,
    /// A room with few entries and no agent.
    room: RoomId,
    /// Listings a second that the store reads by itself.
    bare_listings: f64,
}

impl SmallStore {
    /// Entries in each room.
    const EACH: u64 = 10;

    async fn fill(ask: &BenchArgs, folder: &Path) -> Result<Self> {
        let scale = &ask.scale;
        say("rooms");
        let house = ServerFolder::new(&ask.server, folder.join("few"))?;
        let server = house.start()?;
        let rooms = seeded_store::make_rooms(&server, scale.rooms).await?;
        server.stop()?;
        let [large_room, room, ..] = rooms[..] else {
            return Err("too few rooms".into());
        };
        let filling = SeededStore::open(&house).await?;
        filling.post_in(&rooms, Self::EACH).await?;
        let bare_listings = room_listing::bare_rate(filling, scale).await?;
        Ok(Self {
            house,
            unread: rooms.len() as u64 * Self::EACH,
            large_room,
            room,
            bare_listings,
        })
    }
}

/// The same store with very many entries in one room, all of them unread.
struct LargeStore {
    house: ServerFolder,
    /// Pages that the store reads by itself.
    bare_pages: measure::DurationSamples,
    /// How long the store takes to read the large room by itself.
    bare_export: Duration,
}

impl LargeStore {
    async fn fill(folder: &Path, few: &SmallStore, scale: &Scale) -> Result<Self> {
        say("entries");
        let house = few.house.copy_to(folder.join("many"))?;
        let filling = SeededStore::open(&house).await?;
        filling.post_in(&[few.large_room], scale.entries).await?;
        let bare_pages = entry_pages::bare_times(&filling, few.large_room, scale).await?;
        let bare_export = exports::bare_time(&filling, few.large_room).await?;
        Ok(Self {
            house,
            bare_pages,
            bare_export,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_asked_for_by_its_name_and_an_unknown_one_names_them_all() {
        for group in RowGroup::ALL {
            assert_eq!(RowGroup::by_name(group.name()).unwrap(), group);
        }
        let refused = RowGroup::by_name("weather").unwrap_err().to_string();
        let names = RowGroup::ALL.map(RowGroup::name).join(", ");
        assert_eq!(
            refused,
            format!("--only takes one of {names}, not `weather`")
        );
    }
}
