//! What the end of the server leaves of executions on their way.

use guildhall_domain::{
    Result, Timestamp,
    approvals::Requester,
    connectors::{
        classification::{Classification, RetryPolicy},
        event_payloads::{ExecutionStatus, ExecutionSurface},
        operation_revisions::{OperationIdentity, OperationRevision},
        results::ExecutionOutcome,
        toolkits::ToolkitSlug,
        usage::ConnectorUsageQuery,
    },
    idempotency::IdempotencyClaim,
    ids::{
        AgentId, AuthorId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId,
        ProviderId,
    },
};
use guildhall_store::{
    Store,
    connectors::{executions as rows, operation_revisions},
};
use guildhall_world::scratch::Scratch;
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn new(byte: u8, classification: Classification) -> NewExecution {
    NewExecution {
        id: LogicalOperationId::from_bytes([byte; 16]),
        agent_id: AgentId::from_bytes([1; 16]),
        connection_id: ConnectorConnectionId::from_bytes([2; 16]),
        revision_id: OperationRevisionId::from_bytes([3; 16]),
        surface: ExecutionSurface::Rest,
        classification,
        author_id: AuthorId::from_bytes([4; 16]),
        requester: Requester::from_bytes([4; 16]),
        claim: Some(IdempotencyClaim {
            id: [byte; 32],
            fingerprint: [9; 32],
        }),
    }
}

/// What was run, as it was reviewed.
fn reviewed() -> OperationRevision {
    OperationRevision {
        id: OperationRevisionId::from_bytes([3; 16]),
        identity: OperationIdentity {
            provider_id: ProviderId::from_bytes([5; 16]),
            toolkit: ToolkitSlug::parse("notes").unwrap(),
            operation_slug: "keep".to_owned(),
            toolkit_version: "1".to_owned(),
            schema_hash: String::new(),
            classification: Classification::Write,
            retry_policy: RetryPolicy::Never,
        },
        title: "Keep".to_owned(),
        description: String::new(),
        input_schema: json!({}),
        discovered_at: NOW,
    }
}

fn begun(tx: &mut Tx<'_>, new: &NewExecution) -> Result<()> {
    rows::insert(tx, new, NOW)?;
    rows::begin(tx, new, 1, NOW)
}

#[tokio::test]
async fn what_was_under_way_at_a_crash_is_closed_and_its_key_says_so() {
    let scratch = Scratch::new("crash");
    let store = Store::open(&scratch.path().join("hall.db")).unwrap();
    store
        .write(|tx| {
            operation_revisions::add(tx, &reviewed())?;
            begun(tx, &new(11, Classification::Read))?;
            begun(tx, &new(12, Classification::Write))?;
            // It waited for its second attempt, of which nothing was noted.
            let waited = new(13, Classification::Write);
            begun(tx, &waited)?;
            let no = ExecutionOutcome::Error {
                code: "PROVIDER_HTTP_503".to_owned(),
                message: String::new(),
            };
            rows::end_attempt(tx, waited.id, 1, &no, NOW)?;
            recover(tx, NOW)?;
            assert!(rows::open(tx)?.is_empty());
            recover(tx, NOW)
        })
        .await
        .unwrap();
    let ask = ConnectorUsageQuery {
        agent: None,
        connection: None,
        requester: None,
        before: None,
        limit: 50,
    };
    let (attempts, claimed) = store
        .read(move |db| {
            let claimed = |byte: u8| rows::of_claim(db, &[byte; 32], NOW);
            Ok((
                rows::usage(db, &ask)?,
                [claimed(11)?, claimed(12)?, claimed(13)?],
            ))
        })
        .await
        .unwrap()
        .value;
    let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status).collect();
    let expected = [
        ExecutionStatus::Error,
        ExecutionStatus::OutcomeUnknown,
        ExecutionStatus::Error,
    ]
    .map(Some);
    assert_eq!(statuses, expected);
    assert!(attempts.iter().all(|attempt| attempt.ended_at == Some(NOW)));
    let told = claimed.map(|claimed| {
        let executed = claimed.unwrap().executed.unwrap();
        (
            executed.outcome.status(),
            executed.outcome.code().map(str::to_owned),
        )
    });
    let code = |code: &str| Some(code.to_owned());
    let expected = [
        (ExecutionStatus::Error, code("PROVIDER_UNREACHABLE")),
        (
            ExecutionStatus::OutcomeUnknown,
            code("PROVIDER_OUTCOME_UNKNOWN"),
        ),
        (ExecutionStatus::Error, code("PROVIDER_HTTP_503")),
    ];
    assert_eq!(told, expected);
}
