//! The start: opens the hall, and at the first start makes what every installation has.

use std::path::PathBuf;

use guildhall_domain::{
    Error, Fault, Moment, Refusal, Result,
    agents::ResponseMode,
    authors::{Author, AuthorKind, Handle, RESERVED_WORDS, SYSTEM_HANDLE},
    events::Event,
    ids::{AuthorId, LogId, RoomId},
    limits,
    rooms::{LimitOverrides, Room, RoomKind, TEAM, TURN_LIMITS_DEFAULT},
    settings::FILES_ROOTS,
};
use guildhall_store::{
    Store, Tx, authors, installation, members, rooms,
    settings::{self, Configured},
};
use guildhall_world::{clock::Clock, confined::Confined, users};

use crate::{Hall, retention::Retention, streams::StreamLimits};

/// What a hall is opened with.
pub struct Opening {
    /// The data folder, already locked.
    pub data_dir: PathBuf,
    /// The database file in it.
    pub database: PathBuf,
    /// Where "now" comes from.
    pub clock: Clock,
    /// The folders agents may work beneath, unless a setting names others.
    pub roots: Vec<PathBuf>,
    /// The settings that file, environment and flags name.
    pub configured: Configured,
    /// How many streams may be open.
    pub streams: StreamLimits,
    /// How long events are kept.
    pub retention: Retention,
}

pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) confined: Confined,
    pub(crate) data_dir: PathBuf,
    pub(crate) log_id: LogId,
    pub(crate) owner: AuthorId,
    pub(crate) started_at: Moment,
}

impl Hall {
    /// Opens the installation; the first start makes the system author, the owner's author and
    /// the `team` room.
    ///
    /// # Errors
    /// A fault when the store or an allowed folder cannot be opened.
    ///
    /// Source: contract 2.1.
    pub async fn open(opening: Opening) -> Result<Self, Fault> {
        let Opening {
            data_dir,
            database,
            clock,
            roots,
            configured,
            streams,
            retention,
        } = opening;
        let store = Store::open(&database)?;
        let started_at = clock.now();
        let ((log_id, owner), set_roots) = store
            .write(move |tx| {
                settings::configure(tx, &configured)?;
                let known = match known(tx)? {
                    Some(known) => known,
                    None => found(tx, started_at)?,
                };
                Ok((known, settings::get(tx, &FILES_ROOTS)?.value))
            })
            .await
            .map_err(as_fault)?;
        let set_roots: Vec<PathBuf> = set_roots.texts().iter().map(PathBuf::from).collect();
        let roots = if set_roots.is_empty() {
            roots
        } else {
            set_roots
        };
        let confined = Confined::new(&roots, &data_dir)?;
        let parts = Parts {
            store,
            clock,
            confined,
            data_dir,
            log_id,
            owner,
            started_at,
        };
        let hall = Self::assemble(parts, streams);
        crate::retention::start(&hall, retention);
        crate::canvas::start(&hall);
        Ok(hall)
    }
}

fn as_fault(error: Error) -> Fault {
    match error {
        Error::Fault(fault) => fault,
        other => Fault::broken("opening the hall", format!("{other:?}")),
    }
}

fn known(tx: &Tx<'_>) -> Result<Option<(LogId, AuthorId)>> {
    Ok(installation::log_id(tx)?.zip(installation::owner(tx)?))
}

fn found(tx: &mut Tx<'_>, now: Moment) -> Result<(LogId, AuthorId)> {
    let log_id = Hall::new_id(LogId::from_bytes);
    installation::set_log_id(tx, log_id)?;
    add_system_author(tx, now)?;
    let owner = author(AuthorKind::Human, users::own_display_name());
    authors::insert(tx, &owner)?;
    installation::set_owner(tx, owner.id)?;
    add_team(tx, owner.id, now)?;
    Ok((log_id, owner.id))
}

fn add_system_author(tx: &mut Tx<'_>, now: Moment) -> Result<()> {
    let system = author(AuthorKind::System, "guildhall".to_owned());
    authors::insert(tx, &system)?;
    authors::take_handle(tx, system.id, &legal(SYSTEM_HANDLE)?, now)?;
    for word in RESERVED_WORDS {
        authors::reserve_handle(tx, system.id, &legal(word)?, now)?;
    }
    Ok(())
}

fn add_team(tx: &mut Tx<'_>, owner: AuthorId, now: Moment) -> Result<()> {
    let limits = TURN_LIMITS_DEFAULT;
    let team = Room {
        id: Hall::new_id(RoomId::from_bytes),
        kind: RoomKind::Channel,
        slug: TEAM.to_owned(),
        title: "Team".to_owned(),
        topic: "Everybody here, people and agents".to_owned(),
        archived: false,
        ambient_max_entries: limits::AMBIENT_ENTRIES_DEFAULT,
        well_known: TEAM.to_owned(),
        fallback_seat_author_id: None,
        turn_limits_enabled: limits.turn_limits_enabled,
        max_agent_depth: limits.max_agent_depth,
        max_turns_per_agent_per_cascade: limits.max_turns_per_agent_per_cascade,
        max_auto_turns_per_hour: limits.max_auto_turns_per_hour,
        limit_overrides: LimitOverrides::default(),
        created_at: now,
        last_activity_at: now,
        bridge: None,
    };
    rooms::insert(tx, &team, Some(&team.title), false)?;
    let room = team.id;
    tx.append(now, None, &Event::RoomCreated { room: team })?;
    let joining = members::Joining {
        room,
        author: owner,
        response_mode: ResponseMode::Engaged,
        seen_from: tx.next_event(),
        now,
    };
    let member = members::insert(tx, &joining)?;
    tx.append(now, None, &Event::RoomMemberAdded { member })?;
    Ok(())
}

fn author(kind: AuthorKind, display_name: String) -> Author {
    Author::new(Hall::new_id(AuthorId::from_bytes), kind, display_name)
}

fn legal(word: &str) -> Result<Handle> {
    Ok(Handle::parse(word)?.ok_or(Refusal::HandleReserved)?)
}
