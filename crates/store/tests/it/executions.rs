//! Executions of connectors' operations.

use guildhall_domain::{
    Timestamp,
    approvals::Requester,
    connectors::{
        classification::Classification, event_payloads::ExecutionSurface, results::ExecutionOutcome,
    },
    ids::{AgentId, AuthorId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId},
};
use guildhall_store::{Store, connectors::executions};
use guildhall_world::scratch::Scratch;

fn execution(byte: u8) -> executions::NewExecution {
    executions::NewExecution {
        id: LogicalOperationId::from_bytes([byte; 16]),
        agent_id: AgentId::from_bytes([1; 16]),
        connection_id: ConnectorConnectionId::from_bytes([2; 16]),
        revision_id: OperationRevisionId::from_bytes([3; 16]),
        surface: ExecutionSurface::Cli,
        classification: Classification::Read,
        author_id: AuthorId::from_bytes([4; 16]),
        requester: Requester::of_agent(AuthorId::from_bytes([4; 16])),
        claim: None,
    }
}

#[tokio::test]
async fn executions_are_dropped_with_their_attempts_a_while_after_their_end() {
    let scratch = Scratch::new("executions");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let at = Timestamp::from_millis;
    let open = store
        .write(move |tx| {
            for (byte, ended_at) in [(1, None), (2, Some(10)), (3, Some(20)), (4, Some(100))] {
                let new = execution(byte);
                executions::insert(tx, &new, at(0))?;
                executions::begin(tx, &new, 1, at(0))?;
                if let Some(ended_at) = ended_at {
                    let outcome = ExecutionOutcome::Success { data: None };
                    executions::end_attempt(tx, new.id, 1, &outcome, at(ended_at))?;
                    executions::end(tx, new.id, &outcome, at(ended_at))?;
                }
            }
            let dropped = [1, 9, 9].map(|max| executions::drop_ended(tx, at(100), max));
            let dropped: Result<Vec<usize>, _> = dropped.into_iter().collect();
            assert_eq!(dropped?, [1, 1, 0]);
            executions::open(tx)
        })
        .await
        .unwrap();
    assert_eq!(open.len(), 1, "what has not ended stays");
    assert_eq!(open[0].attempt_count, 1);
}
