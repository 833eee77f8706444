//! Every row of the table of states, and what is told in each.

use super::*;
use crate::browser::BrowserAddress;

#[path = "state_machine_shares_tests.rs"]
mod shares;

const NOW: Timestamp = Timestamp::from_millis(7);

fn connection(number: u8) -> BrowserConnectionId {
    BrowserConnectionId::from_bytes([number; 16])
}

fn session(number: u8) -> SessionId {
    SessionId::from_bytes([number; 16])
}

fn page(text: &str, shared: bool) -> SavedTab {
    let address = BrowserAddress::typed(text).unwrap();
    SavedTab { address, shared }
}

fn open(mode: DisplayMode, by: Option<u8>, url: Option<&str>) -> MachineEvent {
    MachineEvent::Open(OpenRequest {
        mode,
        session: by.map(session),
        url: url.map(|url| BrowserAddress::typed(url).unwrap()),
        tabs: Vec::new(),
    })
}

fn close() -> MachineEvent {
    MachineEvent::Close(CloseReason::Person)
}

fn attached() -> MachineEvent {
    MachineEvent::Attached("156".to_owned())
}

fn crashed() -> BrowserFailure {
    BrowserFailure::Crashed
}

fn not_started(fault: LaunchFault) -> BrowserFailure {
    BrowserFailure::LaunchFailed(fault)
}

fn tell(told: LogEvent) -> MachineEffect {
    MachineEffect::Tell(told)
}

/// A machine that all of these happened to.
fn after(events: impl IntoIterator<Item = MachineEvent>) -> StateMachine {
    events
        .into_iter()
        .fold(StateMachine::default(), |machine, event| {
            machine.next(event, NOW).unwrap().0
        })
}

fn checking(mode: DisplayMode, by: Option<u8>) -> StateMachine {
    after([open(mode, by, None)])
}

fn connecting(mode: DisplayMode, by: Option<u8>) -> StateMachine {
    let events = [open(mode, by, None), MachineEvent::Started(connection(1))];
    after(events)
}

fn connected(mode: DisplayMode, by: Option<u8>) -> StateMachine {
    let (machine, _) = connecting(mode, by).next(attached(), NOW).unwrap();
    machine
}

fn closing(mode: DisplayMode) -> StateMachine {
    connected(mode, None).next(close(), NOW).unwrap().0
}

/// What a machine shows, in one line.
fn shown(machine: &StateMachine) -> String {
    let preparation = machine.preparation();
    let error = machine.last_error().map_or("-", |error| {
        assert_eq!(error.at, NOW);
        error.failure.code()
    });
    format!(
        "{} {:?} {:?} {} {} {} {error}",
        machine.mode().as_str(),
        machine.status(),
        preparation.stage,
        preparation.percent,
        machine.connection().map_or(0, |id| id.as_bytes()[0]),
        machine.session().map_or(0, |id| id.as_bytes()[0]),
    )
}

/// One row of the table: a state, what happens, and what follows.
#[expect(clippy::needless_pass_by_value, reason = "callers make it on the spot")]
fn row(from: &StateMachine, event: MachineEvent, expected: &str, effects: &[MachineEffect]) {
    let (to, done) = from.next(event.clone(), NOW).unwrap();
    assert_eq!(shown(&to), expected, "{event:?}");
    assert_eq!(done, effects, "{event:?}");
}

use DisplayMode::{Embedded, Window};

#[test]
fn a_fresh_one_is_idle() {
    assert_eq!(
        shown(&StateMachine::default()),
        "embedded Disconnected Idle 0 0 0 -"
    );
    assert_eq!(
        shown(&StateMachine::new(Window)),
        "window Disconnected Idle 0 0 0 -"
    );
}

#[test]
fn open_begins_to_look_and_forgets_what_went_wrong() {
    let start = [MachineEffect::Start(Window)];
    let expected = "window Disconnected Checking 0 0 5 -";
    row(
        &StateMachine::default(),
        open(Window, Some(5), None),
        expected,
        &start,
    );
    let failed = after([
        open(Embedded, None, None),
        MachineEvent::CheckFailed(BrowserFailure::NoDisplay),
    ]);
    row(&failed, open(Window, Some(5), None), expected, &start);
}

#[test]
fn checks_that_pass_lead_to_a_process() {
    row(
        &checking(Embedded, Some(5)),
        MachineEvent::Started(connection(1)),
        "embedded Connecting Launching 0 1 5 -",
        &[tell(LogEvent::Opened(connection(1), Embedded))],
    );
}

#[test]
fn a_check_that_fails_starts_nothing_and_forgets_the_session() {
    for failure in [
        BrowserFailure::NoDisplay,
        BrowserFailure::NotInstalled {
            searched: vec!["chromium".to_owned()],
            can_download: false,
        },
        not_started(LaunchFault::Sandbox),
    ] {
        row(
            &checking(Window, Some(5)),
            MachineEvent::CheckFailed(failure.clone()),
            &format!("window Failed Failed 0 0 0 {}", failure.code()),
            &[MachineEffect::Unshare, tell(LogEvent::Failed(failure))],
        );
    }
}

#[test]
fn who_opens_the_same_mode_meanwhile_joins() {
    let url = Some("https://example.org/");
    for (from, stage) in [
        (
            checking(Embedded, None),
            "embedded Disconnected Checking 0 0 5 -",
        ),
        (
            connecting(Embedded, None),
            "embedded Connecting Launching 0 1 5 -",
        ),
    ] {
        row(&from, open(Embedded, Some(5), url), stage, &[]);
        let (mut joined, _) = from.next(open(Embedded, Some(5), url), NOW).unwrap();
        (joined, _) = joined.next(open(Embedded, Some(5), url), NOW).unwrap();
        if joined.status() == BrowserStatus::Disconnected {
            (joined, _) = joined
                .next(MachineEvent::Started(connection(1)), NOW)
                .unwrap();
        }
        row(
            &joined,
            attached(),
            "embedded Connected Ready 100 1 5 -",
            &[
                tell(LogEvent::Connected(connection(1), "156".to_owned())),
                MachineEffect::Open(vec![page("https://example.org", false); 2]),
                MachineEffect::Share(None),
                tell(LogEvent::Shared(session(5), connection(1))),
            ],
        );
    }
}

#[test]
fn who_opens_the_other_mode_meanwhile_is_told_to_wait() {
    for from in [
        checking(Embedded, None),
        connecting(Embedded, None),
        closing(Window),
        after([MachineEvent::Prepare { download: true }]),
    ] {
        assert_eq!(
            from.next(open(Window, None, None), NOW),
            Err(Refusal::BrowserBusy)
        );
    }
    for from in [
        closing(Window),
        after([MachineEvent::Prepare { download: false }]),
    ] {
        let same = open(from.mode(), None, None);
        assert_eq!(from.next(same, NOW), Err(Refusal::BrowserBusy));
    }
}

#[test]
fn the_first_tab_makes_it_usable() {
    row(
        &connecting(Embedded, None),
        attached(),
        "embedded Connected Ready 100 1 0 -",
        &[tell(LogEvent::Connected(connection(1), "156".to_owned()))],
    );
    assert_eq!(connected(Embedded, None).connected(), Ok(connection(1)));
    assert_eq!(
        connecting(Embedded, None).connected(),
        Err(Refusal::BrowserNotConnected)
    );
}

#[test]
fn what_ends_before_its_first_tab_failed_to_launch() {
    for (event, fault) in [
        (MachineEvent::Ended(Some(0)), LaunchFault::Exited),
        (MachineEvent::Ended(Some(21)), LaunchFault::Exited),
        (MachineEvent::Ended(None), LaunchFault::Exited),
        (MachineEvent::LaunchOverdue, LaunchFault::Deadline),
    ] {
        row(
            &connecting(Window, Some(5)),
            event,
            "window Failed Failed 0 0 0 LAUNCH_FAILED",
            &[
                MachineEffect::Kill,
                MachineEffect::Unshare,
                tell(LogEvent::Failed(not_started(fault))),
            ],
        );
    }
}

#[test]
fn a_person_closes_it_at_any_time() {
    row(
        &checking(Embedded, Some(5)),
        close(),
        "embedded Disconnected Idle 0 0 0 -",
        &[MachineEffect::Unshare, MachineEffect::StopStarting],
    );
    row(
        &connecting(Embedded, Some(5)),
        close(),
        "embedded Closing Idle 0 1 0 -",
        &[MachineEffect::Unshare, MachineEffect::Close],
    );
    row(
        &connected(Embedded, Some(5)),
        close(),
        "embedded Closing Idle 0 1 0 -",
        &[
            MachineEffect::Unshare,
            tell(LogEvent::Unshared(
                session(5),
                connection(1),
                UnshareReason::Closed,
            )),
            MachineEffect::Close,
        ],
    );
    for code in [Some(0), Some(137), None] {
        row(
            &closing(Embedded),
            MachineEvent::Ended(code),
            "embedded Disconnected Idle 0 0 0 -",
            &[tell(LogEvent::Closed(connection(1), CloseReason::Person))],
        );
    }
    row(
        &after([MachineEvent::Prepare { download: true }]),
        close(),
        "embedded Disconnected Idle 0 0 0 -",
        &[MachineEffect::StopPreparing],
    );
    let failed = after([
        open(Embedded, None, None),
        MachineEvent::CheckFailed(BrowserFailure::NoDisplay),
    ]);
    for from in [StateMachine::default(), failed, closing(Window)] {
        row(&from, close(), &shown(&from), &[]);
    }
}

#[test]
fn opening_again_what_is_open_changes_nothing_but_what_it_names() {
    let expected = "embedded Connected Ready 100 1 5 -";
    let from = connected(Embedded, Some(5));
    row(&from, open(Embedded, Some(5), None), expected, &[]);
    let alone = connected(Embedded, None);
    row(&alone, open(Embedded, None, None), &shown(&alone), &[]);
    row(
        &from,
        open(Embedded, Some(6), Some("https://a")),
        "embedded Connected Ready 100 1 6 -",
        &[
            MachineEffect::Open(vec![page("https://a", false)]),
            tell(LogEvent::Unshared(
                session(5),
                connection(1),
                UnshareReason::Replaced,
            )),
            tell(LogEvent::Shared(session(6), connection(1))),
            MachineEffect::Share(None),
        ],
    );
}

#[test]
fn another_mode_closes_it_and_opens_its_tabs_again() {
    let tabs = vec![page("https://a", false), page("https://b", true)];
    let switch = |by: Option<u8>| {
        MachineEvent::Open(OpenRequest {
            mode: Window,
            session: by.map(session),
            url: Some(BrowserAddress::typed("https://c").unwrap()),
            tabs: tabs.clone(),
        })
    };
    // The share of the same session goes on, with its tab.
    let from = connected(Embedded, Some(5));
    row(
        &from,
        switch(Some(5)),
        "window Closing Idle 0 1 5 -",
        &[MachineEffect::Close],
    );
    let (from, _) = from.next(switch(Some(5)), NOW).unwrap();
    row(
        &from,
        MachineEvent::Ended(Some(0)),
        "window Disconnected Checking 0 0 5 -",
        &[
            tell(LogEvent::Closed(connection(1), CloseReason::Mode)),
            MachineEffect::Start(Window),
        ],
    );
    let (from, _) = from.next(MachineEvent::Ended(Some(0)), NOW).unwrap();
    let (from, _) = from
        .next(MachineEvent::Started(connection(2)), NOW)
        .unwrap();
    let mut all = tabs.clone();
    all.push(page("https://c", false));
    row(
        &from,
        attached(),
        "window Connected Ready 100 2 5 -",
        &[
            tell(LogEvent::Connected(connection(2), "156".to_owned())),
            MachineEffect::Open(all),
        ],
    );
    // Another session ends it, and shares what is shown.
    let (from, effects) = connected(Embedded, Some(5))
        .next(switch(Some(6)), NOW)
        .unwrap();
    let told = LogEvent::Unshared(session(5), connection(1), UnshareReason::Replaced);
    assert_eq!(effects, [tell(told), MachineEffect::Close]);
    let (from, _) = from.next(MachineEvent::Ended(Some(0)), NOW).unwrap();
    let (from, _) = from
        .next(MachineEvent::Started(connection(2)), NOW)
        .unwrap();
    let (_, effects) = from.next(attached(), NOW).unwrap();
    let all = ["https://a", "https://b", "https://c"].map(|url| page(url, false));
    assert_eq!(
        effects[1..],
        [
            MachineEffect::Open(all.into()),
            MachineEffect::Share(None),
            tell(LogEvent::Shared(session(6), connection(2))),
        ]
    );
}

#[test]
fn who_closes_while_the_mode_changes_gets_no_other_browser() {
    let from = connected(Embedded, Some(5));
    let (from, _) = from.next(open(Window, Some(5), None), NOW).unwrap();
    let told = LogEvent::Unshared(session(5), connection(1), UnshareReason::Closed);
    row(
        &from,
        close(),
        "window Closing Idle 0 1 0 -",
        &[MachineEffect::Unshare, tell(told)],
    );
    let (from, _) = from.next(close(), NOW).unwrap();
    row(
        &from,
        MachineEvent::Ended(Some(0)),
        "window Disconnected Idle 0 0 0 -",
        &[tell(LogEvent::Closed(connection(1), CloseReason::Person))],
    );
}

#[test]
fn the_last_window_closed_by_its_person_is_no_failure() {
    row(
        &connected(Window, Some(5)),
        MachineEvent::Ended(Some(0)),
        "window Disconnected Idle 0 0 0 -",
        &[
            MachineEffect::Unshare,
            tell(LogEvent::Unshared(
                session(5),
                connection(1),
                UnshareReason::Closed,
            )),
            tell(LogEvent::Closed(connection(1), CloseReason::Window)),
        ],
    );
}

#[test]
fn every_other_end_is_a_crash() {
    for (mode, event) in [
        (Embedded, MachineEvent::Ended(Some(0))),
        (Embedded, MachineEvent::Ended(Some(137))),
        (Embedded, MachineEvent::Silent),
        (Window, MachineEvent::Ended(Some(1))),
        (Window, MachineEvent::Ended(None)),
        (Window, MachineEvent::Silent),
    ] {
        row(
            &connected(mode, Some(5)),
            event,
            &format!("{} Failed Idle 0 0 0 BROWSER_CRASHED", mode.as_str()),
            &[
                MachineEffect::Kill,
                MachineEffect::Unshare,
                tell(LogEvent::Unshared(
                    session(5),
                    connection(1),
                    UnshareReason::Crashed,
                )),
                tell(LogEvent::Failed(crashed())),
            ],
        );
    }
}

#[test]
fn nobody_using_it_and_the_servers_end_close_it() {
    for reason in [CloseReason::Idle, CloseReason::Shutdown] {
        let (from, effects) = connected(Embedded, None)
            .next(MachineEvent::Close(reason), NOW)
            .unwrap();
        assert_eq!(effects, [MachineEffect::Close]);
        row(
            &from,
            MachineEvent::Ended(Some(0)),
            "embedded Disconnected Idle 0 0 0 -",
            &[tell(LogEvent::Closed(connection(1), reason))],
        );
    }
}

#[test]
fn preparing_has_its_stages() {
    let prepare = || MachineEvent::Prepare { download: true };
    row(
        &StateMachine::default(),
        prepare(),
        "embedded Disconnected Checking 0 0 0 -",
        &[MachineEffect::Prepare { download: true }],
    );
    let from = after([
        prepare(),
        MachineEvent::Progress(PreparationStage::Downloading, 40),
    ]);
    assert_eq!(shown(&from), "embedded Disconnected Downloading 40 0 0 -");
    row(
        &from,
        MachineEvent::Prepared,
        "embedded Disconnected Idle 0 0 0 -",
        &[],
    );
    row(
        &from,
        MachineEvent::CheckFailed(BrowserFailure::PrepareFailed),
        "embedded Failed Failed 40 0 0 PREPARE_FAILED",
        &[tell(LogEvent::Failed(BrowserFailure::PrepareFailed))],
    );
    for from in [
        checking(Embedded, None),
        connecting(Embedded, None),
        connected(Embedded, None),
        closing(Embedded),
        from,
    ] {
        assert_eq!(from.next(prepare(), NOW), Err(Refusal::BrowserBusy));
    }
}

#[test]
fn a_share_has_an_end_with_a_reason() {
    let share = |by: Option<u8>| MachineEvent::Share {
        session: by.map(session),
        tab: None,
    };
    let shared = connected(Embedded, Some(5));
    let nobody = "embedded Connected Ready 100 1 0 -";
    for (event, reason) in [
        (share(None), UnshareReason::Person),
        (MachineEvent::SharedTabsGone, UnshareReason::Tab),
        (
            MachineEvent::SessionEnded(session(5)),
            UnshareReason::SessionEnded,
        ),
    ] {
        let told = LogEvent::Unshared(session(5), connection(1), reason);
        row(
            &shared,
            event,
            nobody,
            &[MachineEffect::Unshare, tell(told)],
        );
    }
    let same = shown(&shared);
    row(&shared, MachineEvent::SessionEnded(session(6)), &same, &[]);
    row(&connected(Embedded, None), share(None), nobody, &[]);
    let tab = Some(TabId::from_bytes([3; 16]));
    let other_tab = MachineEvent::Share {
        session: Some(session(5)),
        tab,
    };
    row(&shared, other_tab, &same, &[MachineEffect::Share(tab)]);
    for from in [StateMachine::default(), connecting(Embedded, None)] {
        let refused = from.next(share(Some(5)), NOW);
        assert_eq!(refused, Err(Refusal::BrowserNotConnected));
    }
}

#[test]
fn a_pause_is_told_once_and_outlives_the_browser() {
    let from = connected(Embedded, Some(5));
    let told = LogEvent::Paused(true, Some(session(5)));
    row(
        &from,
        MachineEvent::Pause(true),
        &shown(&from),
        &[tell(told)],
    );
    let (from, _) = from.next(MachineEvent::Pause(true), NOW).unwrap();
    assert!(from.is_paused());
    row(&from, MachineEvent::Pause(true), &shown(&from), &[]);
    let (from, _) = from.next(close(), NOW).unwrap();
    assert!(from.is_paused());
}

#[test]
fn a_process_that_nobody_waits_for_is_killed() {
    for from in [StateMachine::default(), connected(Embedded, None)] {
        let started = MachineEvent::Started(connection(9));
        row(&from, started, &shown(&from), &[MachineEffect::Kill]);
    }
}

#[path = "state_machine_property_tests.rs"]
mod properties;
