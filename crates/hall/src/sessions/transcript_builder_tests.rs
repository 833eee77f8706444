//! What becomes of calls that their turn leaves open.

use guildhall_domain::{
    agents::{Agent, AgentState, ResponseMode},
    authors::{Author, AuthorKind},
    ids::AgentId,
    sessions::{Session, SessionOrigin, SessionState},
    usage::Usage,
};
use guildhall_store::{
    Store, agents, authors,
    events::{PageSize, after},
    sessions::NewSessionTurn,
};
use guildhall_world::scratch::Scratch;
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(0);
const AUTHOR: AuthorId = AuthorId::from_bytes([1; 16]);
const AGENT: AgentId = AgentId::from_bytes([2; 16]);
const SESSION: SessionId = SessionId::from_bytes([3; 16]);
const TURN: SessionTurnId = SessionTurnId::from_bytes([4; 16]);
const MESSAGE: MessageId = MessageId::from_bytes([5; 16]);

/// A session whose agent has begun a turn.
fn begin(tx: &mut Tx<'_>) -> Result<()> {
    let author = Author::new(AUTHOR, AuthorKind::Agent, "Ada".to_owned());
    authors::insert(tx, &author)?;
    let agent = Agent {
        id: AGENT,
        author_id: AUTHOR,
        handle: None,
        name: String::new(),
        description: String::new(),
        runtime: String::new(),
        cwd: String::new(),
        response_mode: ResponseMode::Engaged,
        permission_mode: String::new(),
        model: String::new(),
        effort: String::new(),
        enclosed: true,
        state: AgentState::Ready,
        live_process: false,
        created_at: NOW,
        updated_at: NOW,
    };
    agents::insert(tx, &agent)?;
    let session = Session {
        id: SESSION,
        agent_id: AGENT,
        runtime: String::new(),
        runtime_session_id: String::new(),
        title: String::new(),
        cwd: String::new(),
        permission_mode: String::new(),
        model: String::new(),
        effort: String::new(),
        state: SessionState::Running,
        state_reason: String::new(),
        origin: SessionOrigin::Person,
        room_id: None,
        read_only: false,
        queued_count: 0,
        pending_count: 0,
        last_message_preview: String::new(),
        created_at: NOW,
        updated_at: NOW,
        usage: Usage::default(),
    };
    sessions::insert(tx, &session, None, None)?;
    let turn = NewSessionTurn {
        id: TURN,
        message: MESSAGE,
    };
    sessions::begin_turn(tx, &session, &turn, NOW)
}

/// The names of the events that ending a turn brings when its agent has said `patch`.
async fn told_at_the_end(patch: ToolCallPatch) -> Vec<String> {
    let scratch = Scratch::new("fold");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let mut answer = TranscriptBuilder::new(SESSION, TURN, MESSAGE, AUTHOR);
    answer.merge_call(patch);
    let writing = answer.take_batch();
    let before = store.write(move |tx| {
        begin(tx)?;
        writing.write(tx, NOW)?;
        Ok(tx.next_event() - 1)
    });
    let before = before.await.unwrap();
    let settled =
        store.write(|tx| close_open_calls(tx, SESSION, TURN, TurnOutcome::Cancelled, NOW));
    settled.await.unwrap();
    let size = PageSize {
        events: 9,
        bytes: usize::MAX,
    };
    let log = store.read(move |db| after(db, before, size)).await.unwrap();
    log.value
        .events
        .into_iter()
        .map(|event| event.name.clone())
        .collect()
}

#[tokio::test]
async fn a_list_of_tasks_that_ends_with_its_turn_is_told() {
    let todos = ToolCallPatch {
        tool_name: Some("TodoWrite".to_owned()),
        input: Some(json!({"todos": [{"content": "a", "status": "pending"}]})),
        ..ToolCallPatch::of("t")
    };
    let ended = ToolCallPatch {
        status: Some(ToolStatus::Completed),
        ..todos.clone()
    };
    let both = ["tool_call_updated", "tasks_changed"];
    assert_eq!(told_at_the_end(todos).await, both);
    assert_eq!(told_at_the_end(ToolCallPatch::of("t")).await, both[..1]);
    assert!(told_at_the_end(ended).await.is_empty());
}
