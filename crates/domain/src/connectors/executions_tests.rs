//! What must be true before an operation is sent, as tables.

use super::*;
use crate::{
    Timestamp,
    connectors::{
        classification::RetryPolicy,
        connections::{AccountStatus, ConnectionLifecycle, ExternalCleanup},
        operation_revisions::tests::{identity, operation},
        operations::Operation,
        toolkits::ToolkitSlug,
    },
    ids::ProviderId,
};

pub(super) fn facts() -> AuthorizationFacts {
    let identity = identity(&operation());
    AuthorizationFacts {
        connection: Connection {
            id: ConnectorConnectionId::from_bytes([2; 16]),
            provider_id: identity.provider_id,
            toolkit: identity.toolkit.clone(),
            label: "Notes".to_owned(),
            account_label: None,
            lifecycle: ConnectionLifecycle::Connected,
            account_status: AccountStatus::Active,
            enabled: true,
            external_cleanup: ExternalCleanup::NotRequired,
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(1),
        },
        readiness: readiness(ReadinessState::Ready),
        generation: 4,
        revision: OperationRevision {
            id: OperationRevisionId::from_bytes([3; 16]),
            identity: identity.clone(),
            title: String::new(),
            description: String::new(),
            input_schema: operation().input_schema,
            discovered_at: Timestamp::from_millis(1),
        },
        listed: Some(identity),
        is_granted: true,
        is_turned_off: false,
    }
}

fn readiness(state: ReadinessState) -> Readiness {
    Readiness {
        state,
        reason: None,
        fix: None,
    }
}

/// What may be wrong, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    OtherInstance,
    OtherToolkit,
    NotListed,
    OtherVersion,
    OtherSchema,
    OtherClass,
    OtherPolicy,
    Paused,
    NeedsYou,
    Unavailable,
    Gone,
    NotGranted,
    TurnedOff,
}

const ALL: [Wrong; 13] = [
    Wrong::OtherInstance,
    Wrong::OtherToolkit,
    Wrong::NotListed,
    Wrong::OtherVersion,
    Wrong::OtherSchema,
    Wrong::OtherClass,
    Wrong::OtherPolicy,
    Wrong::Paused,
    Wrong::NeedsYou,
    Wrong::Unavailable,
    Wrong::Gone,
    Wrong::NotGranted,
    Wrong::TurnedOff,
];

fn spoil(facts: &mut AuthorizationFacts, wrong: Wrong) {
    let listed = identity(&operation());
    match wrong {
        Wrong::OtherInstance => facts.connection.provider_id = ProviderId::from_bytes([9; 16]),
        Wrong::OtherToolkit => facts.connection.toolkit = ToolkitSlug::parse("other").unwrap(),
        Wrong::NotListed => facts.listed = None,
        Wrong::OtherVersion => {
            facts.listed = Some(OperationIdentity {
                toolkit_version: "1.1".to_owned(),
                ..listed
            });
        }
        Wrong::OtherSchema => {
            facts.listed = Some(OperationIdentity {
                schema_hash: "0".repeat(64),
                ..listed
            });
        }
        Wrong::OtherClass => {
            facts.listed = Some(identity(&Operation {
                classification: Classification::Destructive,
                ..operation()
            }));
        }
        Wrong::OtherPolicy => {
            facts.listed = Some(identity(&Operation {
                retry_policy: RetryPolicy::ProviderIdempotencyKey,
                ..operation()
            }));
        }
        Wrong::Paused => facts.readiness = readiness(ReadinessState::Paused),
        Wrong::NeedsYou => facts.readiness = readiness(ReadinessState::NeedsYou),
        Wrong::Unavailable => facts.readiness = readiness(ReadinessState::Unavailable),
        Wrong::Gone => facts.readiness = readiness(ReadinessState::Gone),
        Wrong::NotGranted => facts.is_granted = false,
        Wrong::TurnedOff => facts.is_turned_off = true,
    }
}

fn is_told(wrong: Wrong, refused: &ConnectorRefusal) -> bool {
    match refused {
        ConnectorRefusal::RevisionMismatch => wrong <= Wrong::OtherPolicy,
        ConnectorRefusal::NotExecutable(readiness) => {
            readiness.state != ReadinessState::Ready
                && (Wrong::Paused..=Wrong::Gone).contains(&wrong)
        }
        ConnectorRefusal::GrantRequired => wrong >= Wrong::NotGranted,
        _ => false,
    }
}

#[test]
fn what_stands_against_it_is_told_in_the_order_of_the_checks() {
    assert!(facts().authorize().is_ok());
    for first in ALL {
        for second in ALL {
            let mut facts = facts();
            spoil(&mut facts, second);
            spoil(&mut facts, first);
            let refused = facts.authorize().unwrap_err();
            assert!(
                is_told(first.min(second), &refused),
                "{first:?} {second:?}: {refused:?}"
            );
        }
    }
}

#[test]
fn an_authority_holds_while_nothing_of_it_changes() {
    let authority = facts().authorize().unwrap();
    let mut reworded = facts();
    reworded.connection.label = "Other notes".to_owned();
    reworded.revision.title = "Other words".to_owned();
    assert_eq!(authority.still_holds(&reworded), Ok(()));
    let other = AuthorizationFacts {
        generation: 5,
        ..facts()
    };
    assert_eq!(
        authority.still_holds(&other),
        Err(ConnectorRefusal::AuthorityChanged)
    );
    for wrong in ALL {
        let mut facts = facts();
        spoil(&mut facts, wrong);
        let held = authority.still_holds(&facts);
        assert_eq!(held, Err(ConnectorRefusal::AuthorityChanged), "{wrong:?}");
    }
    // Granted anew in a version that came meanwhile: what was approved was another one.
    let mut anew = facts();
    spoil(&mut anew, Wrong::OtherVersion);
    anew.revision.identity = anew.listed.clone().unwrap();
    assert!(anew.authorize().is_ok());
    assert_eq!(
        authority.still_holds(&anew),
        Err(ConnectorRefusal::AuthorityChanged)
    );
}

#[test]
fn what_a_word_is_bound_to_differs_with_generation_and_revision() {
    let pin = |facts: AuthorizationFacts| facts.authorize().unwrap().pin();
    let generation = AuthorizationFacts {
        generation: 5,
        ..facts()
    };
    assert_ne!(pin(generation), pin(facts()));
    for wrong in [Wrong::OtherVersion, Wrong::OtherSchema, Wrong::OtherClass] {
        let mut other = facts();
        spoil(&mut other, wrong);
        other.revision.identity = other.listed.clone().unwrap();
        assert_ne!(pin(other), pin(facts()), "{wrong:?}");
    }
}

#[test]
fn arguments_have_bounds() {
    let nested = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    let keyed = |keys: usize| {
        let members = (0..keys).map(|key| (key.to_string(), json!(1)));
        Value::Object(members.collect())
    };
    // {"a":"…"} has eight bytes beside its text.
    let long = |bytes: usize| json!({"a": "x".repeat(bytes - 8)});
    let spread = json!({"a": keyed(150), "b": [keyed(48)]});
    let too_many = json!({"a": keyed(150), "b": [keyed(49)]});
    for (arguments, fits) in [
        (json!({}), true),
        (nested(32), true),
        (nested(33), false),
        (json!({"a": vec![json!([]); 1]}), true),
        (keyed(200), true),
        (keyed(201), false),
        (spread, true),
        (too_many, false),
        (long(256 << 10), true),
        (long((256 << 10) + 1), false),
    ] {
        let found = within_bounds(arguments.as_object().unwrap());
        assert_eq!(found.is_ok(), fits, "{:.60}", arguments.to_string());
    }
}

#[test]
fn at_most_twenty_problems_are_told() {
    let problem = |place: usize| ValidationProblem {
        pointer: format!("/{place}"),
        message: "must be a text".to_owned(),
    };
    assert_eq!(check_arguments(Vec::new()), Ok(()));
    let all: Vec<ValidationProblem> = (0..30).map(problem).collect();
    let told = all[..20].to_vec();
    assert_eq!(
        check_arguments(all),
        Err(ConnectorRefusal::ArgumentsInvalid(told))
    );
}
