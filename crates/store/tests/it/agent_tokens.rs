//! Tokens of agents.

use guildhall_domain::{
    Timestamp,
    agent_tokens::{AgentToken, TokenOrigin},
    agents::{Agent, AgentState, ResponseMode},
    authors::{Author, AuthorKind},
    ids::{AgentId, AgentTokenId, AuthorId},
    limits::AGENT_TOKEN_IDLE_S,
};
use guildhall_store::{Store, agent_tokens, agents, authors};
use guildhall_world::scratch::Scratch;

const AGENT: AgentId = AgentId::from_bytes([1; 16]);

fn agent() -> Agent {
    Agent {
        id: AGENT,
        author_id: AuthorId::from_bytes([2; 16]),
        handle: None,
        name: "Ada".to_owned(),
        description: String::new(),
        runtime: "rehearsal".to_owned(),
        cwd: "/work".to_owned(),
        response_mode: ResponseMode::Engaged,
        permission_mode: String::new(),
        model: String::new(),
        effort: String::new(),
        enclosed: true,
        state: AgentState::Ready,
        live_process: false,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

fn token(byte: u8, origin: TokenOrigin) -> AgentToken {
    AgentToken {
        id: AgentTokenId::from_bytes([byte; 16]),
        agent_id: AGENT,
        label: "one".to_owned(),
        origin,
        session_id: None,
        created_at: Timestamp::from_millis(0),
        last_used_at: None,
        revoked_at: None,
    }
}

#[tokio::test]
async fn only_the_live_tokens_of_processes_are_revoked_together() {
    let scratch = Scratch::new("tokens");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let now = Timestamp::from_millis(5);
    let (revoked, again, left) = store
        .write(move |tx| {
            let agent = agent();
            let author = Author::new(agent.author_id, AuthorKind::Agent, agent.name.clone());
            authors::insert(tx, &author)?;
            agents::insert(tx, &agent)?;
            for (byte, origin) in [
                (1, TokenOrigin::Spawn),
                (2, TokenOrigin::Person),
                (3, TokenOrigin::Spawn),
            ] {
                agent_tokens::insert(tx, &token(byte, origin), &[byte; 32])?;
            }
            agent_tokens::revoke(tx, AgentTokenId::from_bytes([3; 16]), now)?;
            let revoked = agent_tokens::revoke_spawned(tx, now)?;
            let again = agent_tokens::revoke_spawned(tx, now)?;
            let left = agent_tokens::of_agent(tx, AGENT)?;
            let left = left.into_iter().filter(|token| token.revoked_at.is_none());
            Ok((
                revoked,
                again,
                left.map(|token| token.id).collect::<Vec<_>>(),
            ))
        })
        .await
        .unwrap();
    assert_eq!(revoked, [(AGENT, AgentTokenId::from_bytes([1; 16]))]);
    assert_eq!(again, []);
    assert_eq!(left, [AgentTokenId::from_bytes([2; 16])]);
}

#[tokio::test]
async fn revoked_tokens_are_dropped_after_a_while_those_of_sessions_sooner() {
    let scratch = Scratch::new("tokens-dropped");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let at = Timestamp::from_millis;
    let left = store
        .write(move |tx| {
            let agent = agent();
            let author = Author::new(agent.author_id, AuthorKind::Agent, agent.name.clone());
            authors::insert(tx, &author)?;
            agents::insert(tx, &agent)?;
            for (byte, origin, revoked_at) in [
                (1, TokenOrigin::Spawn, None),
                (2, TokenOrigin::Spawn, Some(50)),
                (3, TokenOrigin::Spawn, Some(100)),
                (4, TokenOrigin::Person, None),
                (5, TokenOrigin::Person, Some(10)),
                (6, TokenOrigin::Person, Some(50)),
            ] {
                agent_tokens::insert(tx, &token(byte, origin), &[byte; 32])?;
                if let Some(revoked_at) = revoked_at {
                    agent_tokens::revoke(tx, AgentTokenId::from_bytes([byte; 16]), at(revoked_at))?;
                }
            }
            assert_eq!(agent_tokens::drop_revoked(tx, at(100), at(50), 1)?, 1);
            assert_eq!(agent_tokens::drop_revoked(tx, at(100), at(50), 9)?, 1);
            assert_eq!(agent_tokens::drop_revoked(tx, at(100), at(50), 9)?, 0);
            let left = agent_tokens::of_agent(tx, AGENT)?;
            Ok(left.into_iter().map(|token| token.id).collect::<Vec<_>>())
        })
        .await
        .unwrap();
    let ids = [1, 3, 4, 6].map(|byte| AgentTokenId::from_bytes([byte; 16]));
    assert_eq!(left, ids);
}

#[tokio::test]
async fn expired_tokens_are_dropped_after_a_while_those_of_sessions_sooner() {
    let scratch = Scratch::new("tokens-expired");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let idle = |seconds: i64| Timestamp::from_millis(0).plus_seconds(AGENT_TOKEN_IDLE_S + seconds);
    let left = store
        .write(move |tx| {
            let agent = agent();
            let author = Author::new(agent.author_id, AuthorKind::Agent, agent.name.clone());
            authors::insert(tx, &author)?;
            agents::insert(tx, &agent)?;
            for (byte, origin, used_at_s) in [
                (1, TokenOrigin::Spawn, None),
                (2, TokenOrigin::Spawn, Some(100)),
                (3, TokenOrigin::Person, None),
                (4, TokenOrigin::Person, Some(49)),
                (5, TokenOrigin::Person, Some(50)),
            ] {
                agent_tokens::insert(tx, &token(byte, origin), &[byte; 32])?;
                if let Some(used_at_s) = used_at_s {
                    let used_at = Timestamp::from_millis(0).plus_seconds(used_at_s);
                    agent_tokens::touch(tx, AgentTokenId::from_bytes([byte; 16]), used_at)?;
                }
            }
            let (of_sessions, others) = (idle(100), idle(50));
            assert_eq!(agent_tokens::drop_expired(tx, of_sessions, others, 1)?, 1);
            assert_eq!(agent_tokens::drop_expired(tx, of_sessions, others, 9)?, 2);
            assert_eq!(agent_tokens::drop_expired(tx, of_sessions, others, 9)?, 0);
            let left = agent_tokens::of_agent(tx, AGENT)?;
            Ok(left.into_iter().map(|token| token.id).collect::<Vec<_>>())
        })
        .await
        .unwrap();
    assert_eq!(
        left,
        [2, 5].map(|byte| AgentTokenId::from_bytes([byte; 16]))
    );
}
