//! What grants let an agent reach, and what finding it out costs.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::{
    Timestamp,
    connectors::{
        classification::{Classification, RetryPolicy},
        connections::{
            AccountStatus, Connection as Connected, ConnectionLifecycle, ExternalCleanup,
        },
        operations::Operation,
        scripted_toolkit,
        toolkits::Toolkit,
    },
    ids::ProviderId,
};
use rusqlite::Connection;
use serde_json::json;

use super::*;
use crate::{
    connectors::{connections, operations as operation_rows, toolkits},
    events::LogEnd,
    migrations,
};

const AGENT: AgentId = AgentId::from_bytes([1; 16]);
const PROVIDER: ProviderId = ProviderId::from_bytes([2; 16]);
const CONNECTION: ConnectorConnectionId = ConnectorConnectionId::from_bytes([3; 16]);
const REVISION: OperationRevisionId = OperationRevisionId::from_bytes([4; 16]);

/// A store in memory whose rows refer to nothing outside this file.
fn store() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    migrations::apply(&mut connection).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    connection
}

fn put(tx: &mut Tx<'_>, toolkit: &Toolkit, operation: &Operation) {
    toolkits::put(tx, PROVIDER, toolkit, "").unwrap();
    let listed = std::slice::from_ref(operation);
    operation_rows::replace(tx, PROVIDER, &toolkit.slug, listed).unwrap();
}

fn kept(toolkit: &Toolkit) -> connections::ConnectionRow {
    connections::ConnectionRow {
        connection: Connected {
            id: CONNECTION,
            provider_id: PROVIDER,
            toolkit: toolkit.slug.clone(),
            label: "Notes".to_owned(),
            account_label: None,
            lifecycle: ConnectionLifecycle::Connected,
            account_status: AccountStatus::Active,
            enabled: true,
            external_cleanup: ExternalCleanup::NotRequired,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        },
        credentials: None,
        credentials_end: None,
    }
}

/// Grants the agent what the toolkit lists first.
fn grant(tx: &mut Tx<'_>, toolkit: &Toolkit, operation: &Operation) {
    put(tx, toolkit, operation);
    connections::insert(tx, &kept(toolkit)).unwrap();
    let listed = operation_rows::identities(tx, PROVIDER, &toolkit.slug).unwrap();
    let revision = OperationRevision {
        id: REVISION,
        identity: listed[0].clone(),
        title: operation.title.clone(),
        description: operation.description.clone(),
        input_schema: operation.input_schema.clone(),
        discovered_at: Timestamp::from_millis(0),
    };
    operation_revisions::add(tx, &revision).unwrap();
    let selection = GrantSelection {
        grants: BTreeMap::from([(AGENT, BTreeSet::from([REVISION]))]),
        // What every agent may run, and this one by itself, counts once.
        every_agent: BTreeSet::from([REVISION]),
    };
    replace(tx, CONNECTION, &selection).unwrap();
}

/// How many operations the agent may run, which every question answers alike.
fn reached(tx: &Tx<'_>, toolkit: &Toolkit, operation: &Operation) -> usize {
    let all = accessible(tx, AGENT).unwrap();
    let counted: usize = all.iter().map(|one| one.operation_count).sum();
    let found = operations(tx, AGENT, CONNECTION).unwrap();
    assert_eq!(found.len(), counted);
    let named = operation_rows::identity_of(tx, PROVIDER, &toolkit.slug, &operation.slug).unwrap();
    let granted = operation_revisions::by_id(tx, REVISION)
        .unwrap()
        .unwrap()
        .identity;
    assert_eq!(usize::from(named == Some(granted)), counted);
    counted
}

#[test]
fn words_for_people_make_no_other_operation_and_everything_else_does() {
    let toolkit = scripted_toolkit::toolkit().unwrap();
    let operation = scripted_toolkit::operations().operations.remove(0);
    let same = operation.clone();
    let reworded = Operation {
        title: "Look".to_owned(),
        description: "Says what there is.".to_owned(),
        ..same.clone()
    };
    let renamed = Operation {
        slug: "look".to_owned(),
        ..same.clone()
    };
    let raised = Operation {
        classification: Classification::Destructive,
        ..same.clone()
    };
    let repeated = Operation {
        retry_policy: RetryPolicy::ProviderIdempotencyKey,
        ..same.clone()
    };
    let reshaped = Operation {
        input_schema: json!({"type": "object"}),
        ..same.clone()
    };
    let newer = Toolkit {
        version: "2".to_owned(),
        ..toolkit.clone()
    };
    for (after, toolkit_after, expected) in [
        (&same, &toolkit, 1),
        (&reworded, &toolkit, 1),
        (&renamed, &toolkit, 0),
        (&raised, &toolkit, 0),
        (&repeated, &toolkit, 0),
        (&reshaped, &toolkit, 0),
        (&same, &newer, 0),
    ] {
        let (connection, mut log) = (store(), LogEnd::default());
        let mut tx = Tx::new(&connection, &mut log);
        grant(&mut tx, &toolkit, &operation);
        put(&mut tx, toolkit_after, after);
        let count = reached(&tx, toolkit_after, &operation);
        assert_eq!(count, expected, "{after:?}");
    }
}

#[test]
fn a_connection_that_was_given_up_reaches_nothing() {
    let toolkit = scripted_toolkit::toolkit().unwrap();
    let operation = scripted_toolkit::operations().operations.remove(0);
    let (connection, mut log) = (store(), LogEnd::default());
    let mut tx = Tx::new(&connection, &mut log);
    grant(&mut tx, &toolkit, &operation);
    let mut given_up = kept(&toolkit);
    given_up.connection.lifecycle = ConnectionLifecycle::Disconnected;
    connections::update(&mut tx, &given_up).unwrap();
    assert_eq!(accessible(&tx, AGENT).unwrap(), []);
    assert_eq!(operations(&tx, AGENT, CONNECTION).unwrap(), []);
}

#[test]
fn what_an_agent_may_run_is_found_along_indices_from_its_grants() {
    let connection = store();
    for sql in [accessible_sql(), operations_sql()] {
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let ids = [[0_u8; 16]; 2];
        let ids = &ids[..plan.parameter_count()];
        let params = rusqlite::params_from_iter(ids.iter());
        let steps = plan.query_map(params, |row| row.get::<_, String>(3));
        let steps: Vec<_> = steps.unwrap().map(Result::unwrap).collect();
        let has = |step: &str| steps.iter().any(|it| it.starts_with(step));
        // What every agent is granted is part of the answer.
        let scanned = |step: &&String| {
            step.starts_with("SCAN")
                && !["SCAN g", "SCAN connector_every_agent"].contains(&step.as_str())
        };
        assert_eq!(steps.iter().find(scanned), None, "{steps:?}");
        for table in ["connector_grants", "c", "v", "t", "o"] {
            assert!(has(&format!("SEARCH {table} USING")), "{table}: {steps:?}");
        }
    }
}
