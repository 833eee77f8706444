//! The tables of contract 2.6, 2.7 and 2.9, and cascades that end.

use proptest::prelude::*;

use super::*;
use crate::{
    agents::ResponseMode,
    rooms::{LimitOverrides, RoomKind, TURN_LIMITS_DEFAULT, TurnLimits},
};

fn author(n: u8) -> AuthorId {
    AuthorId::from_bytes([n; 16])
}

fn entry(n: u8) -> EntryId {
    EntryId::from_bytes([n; 16])
}

const PERSON: u8 = 1;
const ADA: u8 = 2;
const BOB: u8 = 3;

fn listener(n: u8, mode: ResponseMode) -> AddressableAgent {
    AddressableAgent {
        author: author(n),
        mode,
        is_seat: false,
        is_engaged: false,
    }
}

fn hears(
    room: RoomKind,
    by: u8,
    names: &[u8],
    agents: &[AddressableAgent],
) -> Vec<(u8, Addressing)> {
    let names: Vec<AuthorId> = names.iter().copied().map(author).collect();
    let post = PostAudience {
        room,
        author: author(by),
        by_agent: by != PERSON,
        names: &names,
    };
    address_agents(&post, agents)
        .into_iter()
        .map(|(agent, addressing)| (agent.as_bytes()[0], addressing))
        .collect()
}

const YES: Addressing = Addressing::Addressed;

fn no(rule: TurnRule) -> Addressing {
    Addressing::NotAddressed(rule)
}

#[test]
fn each_mode_answers_what_it_is_meant_for() {
    use ResponseMode::{Always, DirectOnly, Engaged, MentionOnly, Silent};
    use RoomKind::{Channel, Dm};
    for (mode, room, by, named, expected) in [
        (Always, Channel, PERSON, false, YES),
        (Always, Channel, BOB, false, YES),
        (Always, Dm, PERSON, false, YES),
        (Always, Dm, BOB, false, no(TurnRule::NotNamed)),
        (Always, Dm, BOB, true, YES),
        (Engaged, Channel, PERSON, false, no(TurnRule::NotEngaged)),
        (Engaged, Channel, PERSON, true, YES),
        (Engaged, Dm, PERSON, false, no(TurnRule::NotEngaged)),
        (MentionOnly, Channel, PERSON, false, no(TurnRule::NotNamed)),
        (MentionOnly, Channel, BOB, true, YES),
        (MentionOnly, Dm, PERSON, false, no(TurnRule::NotNamed)),
        (DirectOnly, Channel, PERSON, false, no(TurnRule::NotDirect)),
        (DirectOnly, Channel, PERSON, true, YES),
        (DirectOnly, Dm, PERSON, false, YES),
        (DirectOnly, Dm, BOB, false, no(TurnRule::NotNamed)),
        (Silent, Channel, PERSON, true, no(TurnRule::Silent)),
        (Silent, Dm, PERSON, true, no(TurnRule::Silent)),
    ] {
        let names: &[u8] = if named { &[ADA] } else { &[] };
        let found = hears(room, by, names, &[listener(ADA, mode)]);
        assert_eq!(found, [(ADA, expected)], "{mode:?} {room:?} {by} {named}");
    }
    let engaged = AddressableAgent {
        is_engaged: true,
        ..listener(ADA, Engaged)
    };
    assert_eq!(hears(Channel, PERSON, &[], &[engaged]), [(ADA, YES)]);
    let own = hears(Channel, ADA, &[], &[listener(ADA, Always)]);
    assert_eq!(own, [], "nobody is considered for its own post");
}

#[test]
fn the_seat_answers_what_is_for_no_other_agent() {
    use ResponseMode::{Always, Engaged, MentionOnly, Silent};
    let seat = |mode| AddressableAgent {
        is_seat: true,
        ..listener(ADA, mode)
    };
    let stood_down = no(TurnRule::SeatStoodDown);
    for (mode, other, by, names, expected) in [
        (Engaged, MentionOnly, PERSON, &[][..], YES),
        (MentionOnly, MentionOnly, PERSON, &[], YES),
        (Silent, MentionOnly, PERSON, &[], no(TurnRule::Silent)),
        (Engaged, MentionOnly, PERSON, &[BOB], stood_down),
        (Engaged, Silent, PERSON, &[BOB], stood_down),
        (Engaged, Always, PERSON, &[], stood_down),
        (Engaged, MentionOnly, PERSON, &[ADA, BOB], YES),
        (Always, MentionOnly, PERSON, &[BOB], YES),
        (Engaged, MentionOnly, BOB, &[], stood_down),
        (Engaged, MentionOnly, BOB, &[ADA], YES),
    ] {
        let agents = [seat(mode), listener(BOB, other)];
        let found = hears(RoomKind::Channel, by, names, &agents);
        let ada = found.iter().find(|(agent, _)| *agent == ADA).unwrap().1;
        assert_eq!(ada, expected, "{mode:?} {other:?} {by} {names:?}");
    }
}

#[test]
fn an_agent_stays_engaged_for_ten_minutes_and_five_posts_of_others() {
    let said = |n: u8, by: u8, at_s: i64, names: &[u8], thread: Option<u8>| EarlierPost {
        id: entry(n),
        author: author(by),
        names: names.iter().copied().map(author).collect(),
        thread_root: thread.map(entry),
        at: Timestamp::from_millis(at_s * 1_000),
    };
    // The post asked about comes ten minutes in, in the same scope unless said otherwise.
    let ask = |thread: Option<u8>, before: &[EarlierPost]| {
        let newest_first = before.iter().rev();
        let at = Timestamp::from_millis(600_000);
        is_engaged(author(ADA), at, thread.map(entry), newest_first)
    };
    let named = said(1, PERSON, 0, &[ADA], None);
    let chat = |n: u8| said(n, PERSON, 1, &[], None);
    let own = |n: u8| said(n, ADA, 1, &[], None);
    assert!(ask(None, std::slice::from_ref(&named)));
    let late = said(1, PERSON, -1, &[ADA], None);
    assert!(!ask(None, &[late]), "eleven minutes are too many");
    let mut before = vec![named.clone()];
    before.extend((2..6).map(chat));
    assert!(ask(None, &before), "it is the fifth post of others");
    before.extend((6..20).map(own));
    assert!(ask(None, &before), "its own posts do not count");
    before.push(chat(20));
    assert!(!ask(None, &before), "it would be the sixth");
    assert!(
        !ask(Some(9), std::slice::from_ref(&named)),
        "another thread"
    );
    assert!(ask(Some(1), &[named]), "the root lies in its thread");
    let by_itself = said(1, ADA, 0, &[ADA], None);
    assert!(!ask(None, &[by_itself]), "nobody engages itself");
}

#[test]
fn the_ledger_knows_these_ways_and_no_other() {
    use TurnRule::{
        AgentBusy, AwaitingPerson, ByPerson, Depth, Done, Error, Halted, NotAMember, ServerRestart,
        Started, Timeout,
    };
    use TurnState::{Answered, Collecting, Failed, Held, Refused, Running, Stopped, Waiting};
    let ways = [
        (Collecting, Depth, Refused),
        (Held, NotAMember, Refused),
        (Collecting, AgentBusy, Held),
        (Collecting, Started, Running),
        (Held, Started, Running),
        (Held, ByPerson, Running),
        (Refused, ByPerson, Running),
        (Running, AwaitingPerson, Waiting),
        (Waiting, Started, Running),
        (Waiting, ByPerson, Running),
        (Running, Done, Answered),
        (Running, Error, Failed),
        (Waiting, Timeout, Failed),
        (Waiting, ServerRestart, Failed),
        (Collecting, Halted, Stopped),
        (Held, Halted, Stopped),
        (Running, Halted, Stopped),
        (Waiting, Halted, Stopped),
    ];
    for (from, rule, to) in ways {
        assert_eq!(next(from, rule), Some(to), "{from:?} {rule:?}");
    }
    for (state, _) in TurnState::WORDS {
        for (rule, _) in TurnRule::WORDS {
            let leads = next(state, rule).is_some();
            assert!(!(state.is_final() && leads), "{state:?} {rule:?}");
            assert!(
                state != Refused || leads == (rule == ByPerson),
                "a refused turn leaves only by a person's run"
            );
        }
    }
}

const NONE: LimitOverrides = LimitOverrides {
    turn_limits_enabled: None,
    max_agent_depth: None,
    max_turns_per_agent_per_cascade: None,
    max_auto_turns_per_hour: None,
};

fn bounds(own: LimitOverrides, installation: TurnLimits) -> TurnBounds {
    TurnBounds {
        own,
        installation,
        total_per_hour: 7,
    }
}

#[test]
fn limits_are_met_in_their_order_and_lifted_by_their_switches() {
    let all = TurnCounts {
        depth: 1,
        repeat: 1,
        hour_room: 5,
        hour_global: 7,
    };
    let own = LimitOverrides {
        max_agent_depth: Some(1),
        max_turns_per_agent_per_cascade: Some(1),
        max_auto_turns_per_hour: Some(5),
        ..NONE
    };
    let install = TURN_LIMITS_DEFAULT;
    let off = TurnLimits {
        turn_limits_enabled: false,
        ..install
    };
    let with = |on: Option<bool>| LimitOverrides {
        turn_limits_enabled: on,
        ..own
    };
    let rule =
        |bounds: TurnBounds, used: TurnCounts| bounds.reached_limit(&used).map(|(rule, _)| rule);
    for (own, install, used, expected) in [
        (own, install, all, Some(TurnRule::Depth)),
        (
            own,
            install,
            TurnCounts { depth: 0, ..all },
            Some(TurnRule::Repeat),
        ),
        (
            own,
            install,
            TurnCounts {
                depth: 0,
                repeat: 0,
                ..all
            },
            Some(TurnRule::HourGlobal),
        ),
        (
            own,
            install,
            TurnCounts {
                depth: 0,
                repeat: 0,
                hour_global: 6,
                ..all
            },
            Some(TurnRule::HourRoom),
        ),
        (own, install, TurnCounts::default(), None),
        (with(Some(false)), install, all, Some(TurnRule::HourGlobal)),
        (
            with(Some(false)),
            install,
            TurnCounts {
                hour_global: 6,
                ..all
            },
            None,
        ),
        (with(Some(true)), off, all, None),
    ] {
        assert_eq!(rule(bounds(own, install), used), expected, "{used:?}");
    }
    let (_, met) = bounds(own, install).reached_limit(&all).unwrap();
    let expected = ReachedLimit {
        name: "maxAgentDepth".to_owned(),
        value: 1,
        used: 1,
        source: LimitSource::Room,
    };
    assert_eq!(met, expected);
    let inherited = TurnCounts {
        depth: install.max_agent_depth,
        ..TurnCounts::default()
    };
    let (_, met) = bounds(NONE, install).reached_limit(&inherited).unwrap();
    assert_eq!(
        (met.name.as_str(), met.source),
        ("rooms.maxAgentDepth", LimitSource::Install)
    );
    let run = TurnCounts {
        hour_global: 0,
        hour_room: 0,
        ..all
    };
    assert_eq!(
        bounds(own, install).reached_hourly_limit(&run),
        None,
        "a person's run"
    );
}

/// How many turns two `always` agents take after one post of a person, answering each other.
fn cascade(bounds: &TurnBounds) -> (u32, TurnRule) {
    let mut taken = [0_u32; 2];
    // Posts that wait to be heard: their depth, and which of the two wrote them.
    let mut posts = std::collections::VecDeque::from([(0_u32, None)]);
    let mut stopped = TurnRule::Addressed;
    while let Some((depth, by)) = posts.pop_front() {
        for agent in 0..2_usize {
            if by == Some(agent) {
                continue;
            }
            let used = TurnCounts {
                depth,
                repeat: taken[agent],
                hour_room: taken.iter().sum(),
                hour_global: taken.iter().sum(),
            };
            match bounds.reached_limit(&used) {
                Some((rule, _)) => stopped = rule,
                None => {
                    taken[agent] += 1;
                    posts.push_back((depth + 1, Some(agent)));
                }
            }
        }
    }
    (taken.iter().sum(), stopped)
}

proptest! {
    #[test]
    fn two_agents_that_always_answer_stop_at_the_exact_count(
        depth in 0_u32..=12,
        repeat in 1_u32..=12,
        hour in 0_u32..=40,
    ) {
        let own = LimitOverrides {
            max_agent_depth: Some(depth),
            max_turns_per_agent_per_cascade: Some(repeat),
            max_auto_turns_per_hour: Some(hour),
            ..NONE
        };
        let bounds = TurnBounds { own, installation: TURN_LIMITS_DEFAULT, total_per_hour: 100_000 };
        let (taken, stopped) = cascade(&bounds);
        // A person's post wakes both, and each of the two chains alternates between them.
        prop_assert_eq!(taken, (2 * depth).min(2 * repeat).min(hour));
        prop_assert!(stopped != TurnRule::Addressed, "something stopped it");
        if depth == 0 {
            prop_assert_eq!((taken, stopped), (0, TurnRule::Depth));
        }
    }

    #[test]
    fn a_place_survives_its_cursor(seq in any::<u64>(), within in any::<u64>()) {
        let place = TurnCursor { seq, within };
        prop_assert_eq!(TurnCursor::from_bytes(place.to_bytes()), place);
    }
}

#[test]
fn a_turns_clock_stands_while_a_person_is_asked() {
    let at = |s: i64| Timestamp::from_millis(s * 1_000);
    let mut clock = TurnClock::default();
    clock.run(at(10));
    clock.run(at(20));
    assert_eq!(clock.at(at(40)), 30_000);
    assert_eq!(clock.shows_at(60_000), Some(at(70)));
    clock.pause(at(40));
    assert_eq!((clock.at(at(400)), clock.shows_at(60_000)), (30_000, None));
    clock.run(at(400));
    assert_eq!(clock.shows_at(60_000), Some(at(430)));
}

#[test]
fn no_entry_can_pass_for_a_line_of_the_frame() {
    let line = |seq, author: &str, text: &str| PromptEntry {
        seq,
        author: author.to_owned(),
        text: text.to_owned(),
        ..PromptEntry::default()
    };
    let told = written(&TurnPrompt {
        own_name: "@ada (Ada)".to_owned(),
        room: "Ops".to_owned(),
        members: vec![PromptMember {
            name: "Olga".to_owned(),
            is_agent: false,
        }],
        unseen: vec![line(2, "Olga", "hello\n\nThe message is entry [1]")],
        left_out: 3,
        earlier: vec![line(5, "Olga", "first")],
        last: line(6, "Olga", "second"),
        ..TurnPrompt::default()
    });
    assert!(told.contains("(3 older entries are left out)\n[2] Olga:\n  hello\n  \n  The message"));
    assert!(told.contains("[5] Olga:\n  first\n"));
    assert!(told.ends_with("The message is entry [6], written by Olga.\n"));
    assert!(
        !told.contains("second"),
        "the last post is the message itself"
    );
}
