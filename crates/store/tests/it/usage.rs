//! Sums over turns, by every key.

use guildhall_domain::{
    Result, Timestamp,
    agents::{Agent, AgentState, ResponseMode},
    authors::{Author, AuthorKind},
    ids::{AgentId, AuthorId, MessageId, SessionId, SessionTurnId},
    sessions::{Session, SessionOrigin, SessionState, TurnOutcome},
    usage::{Cost, GroupBy, TimeRange, TokenCounts, TurnUsage, Usage, UsageTotal, rows},
};
use guildhall_store::{
    Store, Tx, agents, authors,
    sessions::{self, NewSessionTurn, SessionTurnEnd},
    usage,
};
use guildhall_world::scratch::Scratch;

const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// A turn of session 1 or 2: when it ended, in days, its input tokens and its cost.
type Turn = (u8, i64, Option<u64>, Option<(i64, &'static str)>);

const TURNS: [Turn; 6] = [
    (1, 0, Some(10), Some((5, "USD"))),
    (1, 1, Some(20), Some((7, "EUR"))),
    (2, 1, Some(30), Some((1, "USD"))),
    (1, 1, None, None),
    (2, 2, None, Some((2, "USD"))),
    (2, 3, Some(40), None),
];

fn at(days: i64) -> Timestamp {
    Timestamp::from_millis(days * DAY_MS)
}

fn session(n: u8) -> Session {
    Session {
        id: SessionId::from_bytes([n; 16]),
        agent_id: AgentId::from_bytes([9; 16]),
        runtime: "rehearsal".to_owned(),
        runtime_session_id: String::new(),
        title: String::new(),
        cwd: "/".to_owned(),
        permission_mode: "default".to_owned(),
        model: format!("model {n}"),
        effort: String::new(),
        state: SessionState::Idle,
        state_reason: String::new(),
        origin: SessionOrigin::Person,
        room_id: None,
        read_only: false,
        queued_count: 0,
        pending_count: 0,
        last_message_preview: String::new(),
        created_at: at(0),
        updated_at: at(0),
        usage: Usage::default(),
    }
}

fn figures(input: Option<u64>, cost: Option<(i64, &str)>) -> TurnUsage {
    TurnUsage {
        tokens: input.map(|input| TokenCounts {
            input,
            ..TokenCounts::default()
        }),
        cost: cost.map(|(nanos, currency)| Cost {
            nanos,
            currency: currency.to_owned(),
        }),
    }
}

fn fill(tx: &mut Tx<'_>) -> Result<()> {
    let author = Author::new(
        AuthorId::from_bytes([8; 16]),
        AuthorKind::Agent,
        "Ada".to_owned(),
    );
    authors::insert(tx, &author)?;
    let agent = Agent {
        id: AgentId::from_bytes([9; 16]),
        author_id: author.id,
        handle: None,
        name: "Ada".to_owned(),
        description: String::new(),
        runtime: "rehearsal".to_owned(),
        cwd: "/".to_owned(),
        response_mode: ResponseMode::Engaged,
        permission_mode: "default".to_owned(),
        model: String::new(),
        effort: String::new(),
        enclosed: true,
        state: AgentState::Ready,
        live_process: false,
        created_at: at(0),
        updated_at: at(0),
    };
    agents::insert(tx, &agent)?;
    for n in [1, 2] {
        sessions::insert(tx, &session(n), None, None)?;
    }
    for (number, (n, day, input, cost)) in (1..).zip(TURNS) {
        let turn = NewSessionTurn {
            id: SessionTurnId::from_bytes([number; 16]),
            message: MessageId::from_bytes([number; 16]),
        };
        sessions::begin_turn(tx, &session(n), &turn, at(day))?;
        let end = SessionTurnEnd {
            outcome: TurnOutcome::EndTurn,
            error: None,
            figures: figures(input, cost),
        };
        sessions::end_turn(tx, turn.id, &end, at(day))?;
    }
    // One that runs counts nowhere yet.
    let open = NewSessionTurn {
        id: SessionTurnId::from_bytes([99; 16]),
        message: MessageId::from_bytes([99; 16]),
    };
    sessions::begin_turn(tx, &session(1), &open, at(1))
}

/// Rows as `key turns input costs complete`.
fn lines(parts: Vec<(String, Usage)>) -> Vec<String> {
    let rows = rows(parts).into_iter();
    rows.map(|row| {
        let usage = row.sum.usage();
        let costs: Vec<String> = row
            .sum
            .costs()
            .into_iter()
            .map(|cost| format!("{}{}", cost.nanos, cost.currency))
            .collect();
        let (turns, input) = (usage.turns, usage.input_tokens);
        let whole = if usage.complete { "" } else { " incomplete" };
        format!("{} {turns} {input} {}{whole}", row.key, costs.join("+"))
    })
    .collect()
}

#[tokio::test]
async fn turns_are_summed_under_every_key_and_only_those_that_ended_in_the_span() {
    let scratch = Scratch::new("usage");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    store.write(fill).await.unwrap();
    let read = async |from, to, by| {
        let span = TimeRange {
            from: at(from),
            to: at(to),
        };
        let seen = store.read(move |db| usage::parts(db, span, by)).await;
        lines(seen.unwrap().value)
    };
    let agent = AgentId::from_bytes([9; 16]);
    let ids = [1, 2].map(|n| SessionId::from_bytes([n; 16]));
    let all = "6 100 7EUR+8USD incomplete";
    for (by, expected) in [
        (
            GroupBy::Day,
            vec![
                "1970-01-01 1 10 5USD".to_owned(),
                "1970-01-02 3 50 7EUR+1USD incomplete".to_owned(),
                "1970-01-03 1 0 2USD".to_owned(),
                "1970-01-04 1 40 ".to_owned(),
            ],
        ),
        (
            GroupBy::Session,
            vec![
                format!("{} 3 30 7EUR+5USD incomplete", ids[0]),
                format!("{} 3 70 3USD", ids[1]),
            ],
        ),
        (GroupBy::Agent, vec![format!("{agent} {all}")]),
        (GroupBy::Runtime, vec![format!("rehearsal {all}")]),
        (
            GroupBy::Model,
            vec![
                "model 1 3 30 7EUR+5USD incomplete".to_owned(),
                "model 2 3 70 3USD".to_owned(),
            ],
        ),
        (GroupBy::Room, vec![format!(" {all}")]),
    ] {
        assert_eq!(read(0, 4, by).await, expected, "{by:?}");
    }
    let some = read(1, 3, GroupBy::Day).await;
    assert_eq!(some.len(), 2, "the end is not included: {some:?}");
    assert!(read(4, 9, GroupBy::Day).await.is_empty());
}

#[tokio::test]
async fn a_session_used_what_its_turns_used_in_all_currencies() {
    let scratch = Scratch::new("usage-of-session");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    store.write(fill).await.unwrap();
    for n in [1, 2] {
        let of_turns: Vec<Usage> = TURNS
            .into_iter()
            .filter(|(of, ..)| *of == n)
            .map(|(_, _, input, cost)| figures(input, cost).usage())
            .collect();
        let expected: UsageTotal = of_turns.iter().collect();
        let id = SessionId::from_bytes([n; 16]);
        let found = store.read(move |db| usage::of_session(db, id)).await;
        let found = found.unwrap().value;
        assert_eq!(
            (found.usage(), found.costs()),
            (expected.usage(), expected.costs())
        );
    }
}

#[tokio::test]
async fn a_sum_beyond_all_numbers_stops_at_the_greatest() {
    let scratch = Scratch::new("usage-without-end");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    store.write(fill).await.unwrap();
    let most = figures(Some(u64::MAX), Some((i64::MAX, "USD")));
    let endless = |number: u8, figures: TurnUsage| {
        store.write(move |tx| {
            let turn = NewSessionTurn {
                id: SessionTurnId::from_bytes([number; 16]),
                message: MessageId::from_bytes([number; 16]),
            };
            sessions::begin_turn(tx, &session(2), &turn, at(8))?;
            let end = SessionTurnEnd {
                outcome: TurnOutcome::EndTurn,
                error: None,
                figures,
            };
            sessions::end_turn(tx, turn.id, &end, at(8)).map(|_| ())
        })
    };
    for number in [50, 51, 52] {
        endless(number, most.clone()).await.unwrap();
    }
    let greatest = i64::MAX;
    let span = TimeRange {
        from: at(8),
        to: at(9),
    };
    let seen = store.read(move |db| usage::parts(db, span, GroupBy::Day));
    let expected = format!("1970-01-09 3 {greatest} {greatest}USD");
    assert_eq!(lines(seen.await.unwrap().value), [expected]);
    let seen = store.read(|db| usage::of_session(db, SessionId::from_bytes([2; 16])));
    let sum = seen.await.unwrap().value;
    assert_eq!(sum.usage().cost.unwrap().nanos, greatest);
}
