//! What of a workspace is read and replayed, when it is left and when it is opened again.

use guildhall_testkit::{TestCaller, TestHall, first_column};

use super::facts::Facts;

/// Everything that is read: by whom, and where.
///
/// Left out is what says something of the computer or of the running server and not of what is
/// stored: health, ports, runtimes' programs, folders.
pub(super) fn paths(facts: &Facts) -> Vec<(String, String)> {
    let id = |name: &str| facts.id(name);
    let agent = |name: &str| facts.agents[name].id.as_str();
    let (room, session) = (id("room"), id("session"));
    let mut paths: Vec<(String, String)> = Vec::new();
    let mut of = |by: &str, more: &[String]| {
        paths.extend(more.iter().map(|path| (by.to_owned(), path.clone())));
    };
    for by in ["owner", "pia", "ada"] {
        of(
            by,
            &[
                "/api/auth/whoami".into(),
                "/api/rooms?includeArchived=true".into(),
                "/api/rooms/authors?includeRetired=true".into(),
                "/api/rooms/authors/me".into(),
                "/api/rooms/threads".into(),
                format!("/api/rooms/{room}"),
                format!("/api/rooms/{room}/entries"),
                format!("/api/rooms/{room}/entries/{}", id("entry")),
                format!("/api/rooms/{room}/threads/{}", id("entry")),
                format!("/api/rooms/{room}/members"),
                format!("/api/rooms/{room}/canvas"),
                format!("/api/rooms/{room}/read-cursor"),
                format!("/api/rooms/{room}/attachments/{}", id("plan")),
                "/api/search?q=release".into(),
                "/api/sessions".into(),
            ],
        );
    }
    for account in ["keyed account", "signed-in account", "scripted account"] {
        let account = id(account);
        of(
            "owner",
            &[
                format!("/api/connectors/connections/{account}"),
                format!("/api/connectors/connections/{account}/grants"),
            ],
        );
    }
    for name in ["ada", "bob", "cleo"] {
        of(
            "owner",
            &[
                format!("/api/agents/{}", agent(name)),
                format!("/api/agents/{}/tokens", agent(name)),
                format!("/api/agents/{}/mcp-servers", agent(name)),
                format!("/api/connectors/accessible?agentId={}", agent(name)),
            ],
        );
    }
    for state in [
        "pending",
        "granted",
        "denied",
        "expired",
        "withdrawn",
        "consumed",
    ] {
        of("owner", &[format!("/api/approvals?state={state}")]);
    }
    for session in [session, id("asking session")] {
        of(
            "owner",
            &[
                format!("/api/sessions/{session}"),
                format!("/api/sessions/{session}/canvas"),
                format!("/api/sessions/{session}/connections"),
                format!("/api/sessions/{session}/interactions"),
                format!("/api/sessions/{session}/messages"),
                format!("/api/sessions/{session}/queue"),
            ],
        );
    }
    of(
        "owner",
        &[
            "/api/agents?includeRetired=true".into(),
            "/api/auth/accounts".into(),
            "/api/auth/keys".into(),
            "/api/backups".into(),
            "/api/cloud/link/status".into(),
            "/api/cloud/status".into(),
            "/api/connectors/authentication-flows".into(),
            "/api/connectors/catalog".into(),
            "/api/connectors/connections".into(),
            "/api/connectors/providers".into(),
            "/api/connectors/usage".into(),
            "/api/sessions/pending-interactions".into(),
            "/api/settings".into(),
            "/api/usage?groupBy=session".into(),
            format!(
                "/api/agents/{}/mcp-servers/web/signin/{}",
                agent("bob"),
                id("sign-in")
            ),
            format!(
                "/api/connectors/accessible/{}/operations?agentId={}",
                id("keyed account"),
                agent("ada")
            ),
            format!(
                "/api/connectors/authentication-flows/{}",
                id("connector flow")
            ),
            format!("/api/connectors/authentication-flows/{}", id("device flow")),
            format!("/api/rooms/authors/{}/handles", facts.owner.author),
            format!("/api/rooms/{room}/canvas/{}", id("notes")),
            format!("/api/rooms/{room}/export"),
            format!("/api/rooms/{}/entries", id("old room")),
            format!("/api/rooms/{}/entries", id("turn room")),
            format!("/api/rooms/{}/sessions", id("turn room")),
            format!("/api/rooms/{}/turns", id("turn room")),
            format!("/api/rooms/{}/turns/{}", id("turn room"), id("turn")),
        ],
    );
    paths
}

/// The streams that are replayed from their beginning: by whom, where, and the scope whose newest
/// event is the last one.
pub(super) fn streams(facts: &Facts) -> Vec<(&'static str, String, String)> {
    let (room, session) = (facts.id("room"), facts.id("session"));
    let of_room = format!("room:{room}");
    let everything = "/api/events?after=0".to_owned();
    let mut streams = Vec::new();
    for by in ["owner", "pia", "ada"] {
        streams.push((by, everything.clone(), of_room.clone()));
    }
    let path = format!("/api/rooms/{room}/events?after=0");
    streams.push(("owner", path, of_room));
    let path = format!("/api/sessions/{session}/events?after=0");
    streams.push(("owner", path, format!("session:{session}")));
    streams
}

/// The newest event that everybody hears who hears of this scope.
pub(super) fn newest(t: &TestHall, scope: &str) -> u64 {
    let query = format!(
        "SELECT CAST(MAX(e.seq) AS TEXT) FROM event_scopes s JOIN events e ON e.seq = s.seq
         WHERE s.scope = '{scope}' AND e.audience IS NULL"
    );
    let found = first_column(&t.database(), &query).remove(0);
    String::from_utf8(found).unwrap().parse().unwrap()
}

/// What a stream replays up to an event, as it comes.
pub(super) async fn replay(t: &TestHall, by: &TestCaller, path: &str, until: u64) -> String {
    let mut stream = t.stream(by, path, None).await;
    stream.lines_until(until).await
}
