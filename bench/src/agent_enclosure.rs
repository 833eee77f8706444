//! What the enclosure of agents costs: the first turn of a session, whose agent is started for it,
//! and the turns after it, beside agents that are not enclosed.

use guildhall_domain::{ids::SessionId, limits};
use serde_json::{Value, json};

use crate::{
    Result,
    http_client::{HttpClient, patch, post},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    turns::ServedSession,
};

/// Starts of the server, each with agents that were never started before.
const ROUNDS: usize = 5;
/// Agents of each round: as many as may live at once, one enclosed and one not by turns.
const AGENTS: usize = limits::PROCESSES_MAX;
/// Turns of each session after the first.
const LATER: usize = 20;
/// What the first turn may take longer.
const FIRST_MAX_MS: f64 = 40.0;

/// How long the turns took of agents that are enclosed, and of those that are not.
#[derive(Default)]
struct EnclosureTimes {
    first: DurationSamples,
    later: DurationSamples,
}

/// The rows of the first turn and of later ones.
pub(crate) async fn measure(house: &ServerFolder) -> Result<Vec<ResultRow>> {
    let (mut enclosed, mut open) = (EnclosureTimes::default(), EnclosureTimes::default());
    for round in 0..ROUNDS {
        let sessions = prepare(house, round).await?;
        // The agents' processes end with the server.
        let server = house.start()?;
        for (session, is_enclosed) in sessions {
            let turns = match is_enclosed {
                true => &mut enclosed,
                false => &mut open,
            };
            let mut peer = ServedSession::connect(server.address, session).await?;
            turns.first.push(peer.turn("#clock").await?.until_prompt());
            for _ in 0..LATER {
                turns.later.push(peer.turn("#clock").await?.until_prompt());
            }
        }
        server.stop()?;
    }
    let row =
        |work: &str, (enclosed, open): (&DurationSamples, &DurationSamples), targets| ResultRow {
            work: format!("{work} of an enclosed agent, p50, longer by"),
            measured: Measurement::Millis(enclosed.percentile_ms(50.0) - open.percentile_ms(50.0)),
            limit: Some((
                Measurement::Millis(open.percentile_ms(50.0)),
                "not enclosed",
            )),
            targets,
        };
    let first = vec![Target::AtMost(Measurement::Millis(FIRST_MAX_MS))];
    Ok(vec![
        row("first turn", (&enclosed.first, &open.first), first),
        row("later turn", (&enclosed.later, &open.later), Vec::new()),
    ])
}

/// A session of each agent, and whether that is enclosed.
async fn prepare(house: &ServerFolder, round: usize) -> Result<Vec<(SessionId, bool)>> {
    let server = house.start()?;
    let mut client = HttpClient::connect(server.address).await?;
    let mut sessions = Vec::with_capacity(AGENTS);
    for n in 0..AGENTS {
        let folder = house.home().join(format!("round-{round}-agent-{n}"));
        std::fs::create_dir_all(&folder)?;
        let ask = json!({"cwd": folder, "runtime": "rehearsal"});
        let is_enclosed = n % 2 == 0;
        let session = open_session(&mut client, &server, &ask, is_enclosed).await?;
        sessions.push((session, is_enclosed));
    }
    server.stop()?;
    Ok(sessions)
}

/// Opens the session that this asks for; its agent is enclosed, or is not, from its next start on.
pub(crate) async fn open_session(
    client: &mut HttpClient,
    server: &ServerProcess,
    ask: &Value,
    is_enclosed: bool,
) -> Result<SessionId> {
    let request = post(server.address, "/api/sessions", ask);
    let session: Value = serde_json::from_slice(client.expect(&request, 201).await?)?;
    let agent = session["agentId"].as_str().unwrap_or_default();
    let change = json!({"enclosed": is_enclosed});
    let request = patch(server.address, &format!("/api/agents/{agent}"), &change);
    client.expect(&request, 200).await?;
    let id = session["id"].as_str().and_then(SessionId::parse);
    Ok(id.ok_or("a new session has no id")?)
}
