//! The moves of the link: the table, and every order of start, cancel, unlink, approve, deny,
//! expire, network loss and restart against a service that keeps count of its keys.

use std::collections::{HashSet, VecDeque};

use super::*;

const EARLY: Timestamp = Timestamp::from_millis(0);
const LATE: Timestamp = Timestamp::from_millis(1_800_000);

fn code() -> LinkCode {
    LinkCode {
        user_code: "BCDF-GHJK".to_owned(),
        verification_uri: "https://cloud.example/activate".to_owned(),
        verification_uri_complete: "https://cloud.example/activate?user_code=BCDF-GHJK".to_owned(),
        expires_at: LATE,
    }
}

fn started() -> LinkEvent {
    LinkEvent::Started(code(), PollingPace::new(None))
}

fn after(link: &Link, happenings: impl IntoIterator<Item = LinkEvent>) -> (Link, Vec<KeyEffect>) {
    let mut link = link.clone();
    let mut effects = Vec::new();
    for happening in happenings {
        if let Some(moved) = link.next(happening, EARLY) {
            link = moved.link;
            effects = moved.effects;
        }
    }
    (link, effects)
}

fn linked() -> Link {
    use LinkEvent as H;
    after(
        &Link::default(),
        [started(), H::Asking, H::Answered(LinkPollResult::Key)],
    )
    .0
}

/// A link that waits, with and without a key.
fn pending() -> [Link; 2] {
    [Link::default(), linked()].map(|link| after(&link, [started()]).0)
}

#[test]
fn a_code_that_is_typed_brings_a_key_and_another_one_gives_back_the_first() {
    use LinkEvent as H;
    let (link, effects) = after(&pending()[0], [H::Asking, H::Answered(LinkPollResult::Key)]);
    assert_eq!(link.state(), LinkState::Linked);
    assert_eq!(link.approved_code.as_deref(), Some("BCDF-GHJK"));
    assert_eq!(effects, [KeyEffect::Keep]);
    let (again, effects) = after(&pending()[1], [H::Asking, H::Answered(LinkPollResult::Key)]);
    assert_eq!((again.state(), again.held), (LinkState::Linked, Some(2)));
    assert_eq!(effects, [KeyEffect::GiveBackHeld, KeyEffect::Keep]);
}

#[test]
fn a_flow_that_ends_without_a_key_leaves_a_state_or_a_note() {
    use LinkEvent as H;
    for (answer, state, note) in [
        (
            LinkPollResult::Denied,
            LinkState::Denied,
            RelinkOutcome::Denied,
        ),
        (
            LinkPollResult::Over,
            LinkState::Expired,
            RelinkOutcome::Expired,
        ),
        (
            LinkPollResult::Failed,
            LinkState::Idle,
            RelinkOutcome::Failed,
        ),
    ] {
        let [fresh, again] = pending().map(|it| after(&it, [H::Asking, H::Answered(answer)]).0);
        assert_eq!((fresh.state(), fresh.relink_outcome), (state, None));
        assert_eq!(
            (again.state(), again.relink_outcome),
            (LinkState::Linked, Some(note))
        );
        // What is left is dismissed by a cancel.
        assert_eq!(after(&fresh, [H::Cancelled]).0.state(), LinkState::Idle);
        let dismissed = after(&again, [H::Cancelled]).0;
        assert_eq!(
            (dismissed.state(), dismissed.relink_outcome),
            (LinkState::Linked, None)
        );
        // And cleared by the next start.
        assert_eq!(after(&again, [started()]).0.relink_outcome, None);
    }
}

#[test]
fn a_cancel_between_requests_settles_at_once_and_one_within_waits_for_the_answer() {
    use LinkEvent as H;
    let rested = [LinkState::Idle, LinkState::Linked];
    for (link, want) in pending().into_iter().zip(rested) {
        assert_eq!(after(&link, [H::Cancelled]).0.state(), want);
        let settling = after(&link, [H::Asking, H::Cancelled]).0;
        assert_eq!(settling.state(), LinkState::Pending);
        let kept = after(&settling, [H::Answered(LinkPollResult::Key)]);
        assert_eq!(
            (kept.0.state(), kept.1.last()),
            (LinkState::Linked, Some(&KeyEffect::Keep))
        );
        for answer in [
            LinkPollResult::Denied,
            LinkPollResult::Over,
            LinkPollResult::Failed,
            LinkPollResult::Again(PollStatus::Waiting),
            LinkPollResult::Again(PollStatus::Nobody(None)),
        ] {
            let (link, effects) = after(&settling, [H::Answered(answer)]);
            assert_eq!(
                (link.state(), link.relink_outcome),
                (want, None),
                "{answer:?}"
            );
            // Also where nobody answered nothing more is asked.
            assert!(link.flow.is_none() && effects.is_empty(), "{answer:?}");
        }
        for ended in [H::Abandoned, H::Restarted] {
            let link = after(&settling, [ended]).0;
            assert_eq!((link.state(), link.flow.is_none()), (want, true));
        }
        let unanswered = H::Answered(LinkPollResult::Again(PollStatus::Nobody(None)));
        let doubtful = after(&link, [H::Asking, unanswered, H::Cancelled]).0;
        assert_eq!((doubtful.state(), doubtful.flow.is_none()), (want, true));
    }
}

#[test]
fn unlinking_gives_back_what_is_held_and_what_is_on_its_way() {
    use LinkEvent as H;
    let (link, effects) = after(&pending()[1], [H::Asking, H::Unlinked]);
    assert_eq!(link.state(), LinkState::Idle);
    assert_eq!(effects, [KeyEffect::GiveBackHeld]);
    let (link, effects) = after(&link, [H::Answered(LinkPollResult::Key)]);
    assert_eq!((link.state(), link.held), (LinkState::Idle, None));
    assert_eq!(effects, [KeyEffect::GiveBackNew]);
    // Its code is kept until the key is given back.
    assert!(link.is_asking());
    for (answer, is_over) in [
        (LinkPollResult::Over, true),
        (LinkPollResult::Again(PollStatus::Nobody(None)), false),
    ] {
        let (link, effects) = after(&link, [H::Answered(answer)]);
        assert_eq!((link.state(), link.held), (LinkState::Idle, None));
        assert_eq!((link.flow.is_none(), effects.len()), (is_over, 0));
    }
    let restarted = after(&link, [H::Restarted]).0;
    assert_eq!(
        restarted.flow.map(|flow| flow.request),
        Some(PollState::InDoubt)
    );
}

#[test]
fn silence_never_ends_a_flow_before_its_time() {
    use LinkEvent as H;
    let mut link = pending()[0].clone();
    for _ in 0..100 {
        link = after(
            &link,
            [
                H::Asking,
                H::Answered(LinkPollResult::Again(PollStatus::Nobody(None))),
            ],
        )
        .0;
        link = after(&link, [H::Restarted, H::Looked]).0;
        assert_eq!(link.state(), LinkState::Pending);
    }
    let over = link.next(H::Looked, LATE).unwrap().link;
    assert_eq!(
        (over.state(), over.flow.is_none()),
        (LinkState::Expired, true)
    );
}

#[test]
fn a_heartbeat_speaks_of_its_own_key_alone() {
    use LinkEvent as H;
    let label = Some("ada@cloud.example".to_owned());
    let taken = HeartbeatResult::Taken {
        account_label: label.clone(),
    };
    let (link, _) = after(&linked(), [H::Heartbeat(1, taken)]);
    assert_eq!((&link.account_label, link.is_heard), (&label, Some(true)));
    assert_eq!(link.last_heartbeat_at, Some(EARLY));
    let (silent, _) = after(&link, [H::Heartbeat(1, HeartbeatResult::Nothing)]);
    assert_eq!(
        (silent.state(), silent.is_heard),
        (LinkState::Linked, Some(false))
    );
    assert_eq!(silent.account_label, label);
    let (gone, effects) = after(&link, [H::Heartbeat(1, HeartbeatResult::NotTaken)]);
    assert_eq!(
        (gone.state(), &gone.account_label),
        (LinkState::Unlinked, &None)
    );
    assert_eq!(effects, [KeyEffect::EraseHeld]);
    let relinking = after(&pending()[1], [H::Heartbeat(1, HeartbeatResult::NotTaken)]).0;
    assert_eq!(relinking.state(), LinkState::Pending);
    let renewed = after(&pending()[1], [H::Asking, H::Answered(LinkPollResult::Key)]).0;
    assert!(
        renewed
            .next(H::Heartbeat(1, HeartbeatResult::NotTaken), EARLY)
            .is_none()
    );
}

/// A key, as the service counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// Issued, and nobody has it yet.
    Sent,
    /// The instance keeps it.
    Held,
    /// Revoked.
    Revoked,
    /// Its answer was lost, and the flow in doubt was put aside for another or was over.
    Adrift,
}

/// What the service thinks of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Word {
    Undecided,
    Approved,
    Denied,
    /// The number of the key it was exchanged for.
    Issued(usize),
}

/// A request: what it brings back, once the service had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Packet {
    Out,
    Back(LinkPollResult),
    /// It gives back the key that nobody wants.
    Giving,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    link: Link,
    vault: Option<usize>,
    is_late: bool,
    word: Word,
    keys: Vec<Key>,
    packet: Option<Packet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Play {
    Start,
    Cancel,
    /// Who cancelled waits no longer.
    GiveUp,
    Unlink,
    Approve,
    Deny,
    Expire,
    Ask,
    Reach,
    Deliver,
    Lose,
    Restart,
    Look,
    HeartbeatRefused,
}

const PLAYS: [Play; 14] = [
    Play::Start,
    Play::Cancel,
    Play::GiveUp,
    Play::Unlink,
    Play::Approve,
    Play::Deny,
    Play::Expire,
    Play::Ask,
    Play::Reach,
    Play::Deliver,
    Play::Lose,
    Play::Restart,
    Play::Look,
    Play::HeartbeatRefused,
];
/// Codes that one run asks for: after the third nothing new is seen.
const KEYS_MAX: usize = 3;

impl World {
    fn now(&self) -> Timestamp {
        if self.is_late { LATE } else { EARLY }
    }

    fn happen(&mut self, happening: LinkEvent) {
        let Some(moved) = self.link.next(happening, self.now()) else {
            return;
        };
        let came = self.keys.iter().position(|key| *key == Key::Sent);
        for effect in moved.effects {
            match effect {
                KeyEffect::Keep => {
                    let key = came.expect("a key came");
                    self.keys[key] = Key::Held;
                    self.vault = Some(key);
                }
                KeyEffect::GiveBackNew => self.packet = Some(Packet::Giving),
                KeyEffect::GiveBackHeld | KeyEffect::EraseHeld => {
                    let key = self.vault.take().expect("a key is held");
                    self.keys[key] = Key::Revoked;
                }
            }
        }
        self.link = moved.link;
        if self.link.flow.is_none() {
            self.drift();
        }
    }

    /// Whether somebody cancelled and waits for the request on its way.
    fn is_settling(&self) -> bool {
        let flow = self.link.flow.as_ref();
        flow.is_some_and(|flow| flow.aim == KeyDisposition::Settle)
    }

    /// What came back and was lost is adrift once nobody asks for it any more.
    fn drift(&mut self) {
        if self.packet.is_none() {
            for key in self.keys.iter_mut().filter(|key| **key == Key::Sent) {
                *key = Key::Adrift;
            }
        }
    }

    /// What the service does with a request.
    fn reach(&mut self) -> LinkPollResult {
        match self.word {
            Word::Issued(key) => {
                // It revokes what an exchanged code was exchanged for (RFC 6749 §4.1.2).
                self.keys[key] = Key::Revoked;
                LinkPollResult::Over
            }
            _ if self.is_late => LinkPollResult::Over,
            Word::Undecided => LinkPollResult::Again(PollStatus::Waiting),
            Word::Denied => LinkPollResult::Denied,
            Word::Approved => {
                self.keys.push(Key::Sent);
                self.word = Word::Issued(self.keys.len() - 1);
                LinkPollResult::Key
            }
        }
    }

    /// The world after `play`; `None` where it cannot happen now.
    fn after(&self, play: Play) -> Option<Self> {
        let mut world = self.clone();
        let has_flow = self.link.flow.is_some();
        match play {
            Play::Start => {
                if self.link.is_asking() || self.keys.len() >= KEYS_MAX {
                    return None;
                }
                world.drift();
                world.is_late = false;
                world.word = Word::Undecided;
                world.happen(started());
            }
            Play::Cancel => world.happen(LinkEvent::Cancelled),
            Play::GiveUp => {
                if !self.is_settling() {
                    return None;
                }
                world.packet = None;
                world.happen(LinkEvent::Abandoned);
            }
            Play::Unlink => world.happen(LinkEvent::Unlinked),
            Play::Approve | Play::Deny => {
                if !has_flow || self.word != Word::Undecided || self.is_late {
                    return None;
                }
                let is_yes = play == Play::Approve;
                world.word = if is_yes { Word::Approved } else { Word::Denied };
            }
            Play::Expire => world.is_late = true,
            Play::Ask => {
                if !has_flow || self.packet.is_some() {
                    return None;
                }
                world.happen(LinkEvent::Asking);
                world.packet = Some(Packet::Out);
            }
            Play::Reach => {
                let answer = match self.packet? {
                    Packet::Out => world.reach(),
                    Packet::Giving => {
                        let came = self.keys.iter().position(|key| *key == Key::Sent);
                        world.keys[came.expect("a key came")] = Key::Revoked;
                        LinkPollResult::Over
                    }
                    Packet::Back(_) => return None,
                };
                world.packet = Some(Packet::Back(answer));
            }
            Play::Deliver => {
                let Some(Packet::Back(answer)) = world.packet.take() else {
                    return None;
                };
                world.happen(LinkEvent::Answered(answer));
            }
            Play::Lose => {
                world.packet.take()?;
                world.happen(LinkEvent::Answered(LinkPollResult::Again(
                    PollStatus::Nobody(None),
                )));
            }
            Play::Restart => {
                world.packet = None;
                world.happen(LinkEvent::Restarted);
            }
            Play::Look => world.happen(LinkEvent::Looked),
            Play::HeartbeatRefused => {
                world.happen(LinkEvent::Heartbeat(
                    self.link.held?,
                    HeartbeatResult::NotTaken,
                ));
            }
        }
        // How long it waits says nothing of where it is.
        if let Some(flow) = &mut world.link.flow {
            flow.pace = PollingPace::new(None);
        }
        (world != *self).then_some(world)
    }

    fn check(&self, before: &Self, play: Play) {
        let (link, was) = (&self.link, &before.link);
        assert_eq!(
            link.held.is_some(),
            self.vault.is_some(),
            "what is held is in the vault"
        );
        let held = self.keys.iter().filter(|key| **key == Key::Held).count();
        assert_eq!(
            held,
            usize::from(self.vault.is_some()),
            "one key is held, and no more"
        );
        assert_eq!(
            self.packet.is_some(),
            link.is_asking(),
            "a request is known of"
        );
        assert!(
            link.relink_outcome.is_none() || link.held.is_some(),
            "a note is about a key that is held"
        );
        // Nothing but a new code, a cancel and the end of its time leaves a key adrift.
        let adrift = |world: &Self| world.keys.iter().filter(|key| **key == Key::Adrift).count();
        if adrift(self) > adrift(before) {
            let is_given_up = play == Play::Cancel || before.is_settling();
            let is_excused = self.is_late || play == Play::Start || is_given_up;
            assert!(is_excused, "{play:?} loses a key");
        }
        match play {
            Play::Unlink => assert_eq!(link.state(), LinkState::Idle),
            Play::Lose | Play::Restart if !before.is_late => {
                let is_meant = was
                    .flow
                    .as_ref()
                    .is_some_and(|flow| flow.aim == KeyDisposition::Link);
                assert!(
                    !is_meant || link.state() == LinkState::Pending,
                    "loss ends nothing"
                );
            }
            Play::Cancel if !was.is_asking() => {
                let want = link.held.map_or(LinkState::Idle, |_| LinkState::Linked);
                assert_eq!(link.state(), want);
                assert_eq!(link.relink_outcome, None);
            }
            Play::Deliver => {
                let aim = was.flow.as_ref().map(|flow| flow.aim);
                let brought = before.packet == Some(Packet::Back(LinkPollResult::Key));
                match (aim, brought) {
                    (Some(KeyDisposition::Settle), false) => {
                        let want = was.held.map_or(LinkState::Idle, |_| LinkState::Linked);
                        assert_eq!((link.state(), link.held), (want, was.held));
                    }
                    (Some(KeyDisposition::Settle | KeyDisposition::Link), true) => {
                        assert_eq!((link.state(), link.kept), (LinkState::Linked, was.kept + 1));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Contract 5.14 (9) and (10), over every order there is.
#[test]
fn every_order_of_happenings_keeps_or_gives_back_each_key() {
    let first = World {
        link: Link::default(),
        vault: None,
        is_late: false,
        word: Word::Undecided,
        keys: Vec::new(),
        packet: None,
    };
    let mut seen = HashSet::from([first.clone()]);
    let mut open = VecDeque::from([first]);
    let mut states = HashSet::new();
    while let Some(world) = open.pop_front() {
        states.insert(world.link.state());
        for play in PLAYS {
            let Some(next) = world.after(play) else {
                continue;
            };
            next.check(&world, play);
            if seen.insert(next.clone()) {
                open.push_back(next);
            }
        }
    }
    assert_eq!(states.len(), LinkState::WORDS.len(), "{states:?}");
    assert!(seen.len() > 1_000, "{} worlds", seen.len());
}
