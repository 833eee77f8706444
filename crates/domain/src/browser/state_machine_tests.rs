//! Every row of the table of states, and what is told in each.

use super::*;
use crate::browser::Address;

#[path = "state_machine_shares_tests.rs"]
mod shares;

const NOW: Moment = Moment::from_millis(7);

fn connection(number: u8) -> ConnectionId {
    ConnectionId::from_bytes([number; 16])
}

fn session(number: u8) -> SessionId {
    SessionId::from_bytes([number; 16])
}

fn page(text: &str, shared: bool) -> KeptTab {
    let address = Address::typed(text).unwrap();
    KeptTab { address, shared }
}

fn open(mode: Mode, by: Option<u8>, url: Option<&str>) -> Event {
    Event::Open(Open {
        mode,
        session: by.map(session),
        url: url.map(|url| Address::typed(url).unwrap()),
        tabs: Vec::new(),
    })
}

fn close() -> Event {
    Event::Close(CloseReason::Person)
}

fn attached() -> Event {
    Event::Attached("156".to_owned())
}

fn crashed() -> Failure {
    Failure::Crashed
}

fn not_started(fault: LaunchFault) -> Failure {
    Failure::LaunchFailed(fault)
}

fn tell(told: Told) -> Effect {
    Effect::Tell(told)
}

/// A machine that all of these happened to.
fn after(events: impl IntoIterator<Item = Event>) -> Machine {
    events
        .into_iter()
        .fold(Machine::default(), |machine, event| {
            machine.next(event, NOW).unwrap().0
        })
}

fn checking(mode: Mode, by: Option<u8>) -> Machine {
    after([open(mode, by, None)])
}

fn connecting(mode: Mode, by: Option<u8>) -> Machine {
    let events = [open(mode, by, None), Event::Started(connection(1))];
    after(events)
}

fn connected(mode: Mode, by: Option<u8>) -> Machine {
    let (machine, _) = connecting(mode, by).next(attached(), NOW).unwrap();
    machine
}

fn closing(mode: Mode) -> Machine {
    connected(mode, None).next(close(), NOW).unwrap().0
}

/// What a machine shows, in one line.
fn shown(machine: &Machine) -> String {
    let preparation = machine.preparation();
    let error = machine.last_error().map_or("-", |error| {
        assert_eq!(error.at, NOW);
        error.failure.code()
    });
    format!(
        "{} {:?} {:?} {} {} {} {error}",
        machine.mode().word(),
        machine.status(),
        preparation.stage,
        preparation.percent,
        machine.connection().map_or(0, |id| id.as_bytes()[0]),
        machine.session().map_or(0, |id| id.as_bytes()[0]),
    )
}

/// One row of the table: a state, what happens, and what follows.
#[expect(clippy::needless_pass_by_value, reason = "callers make it on the spot")]
fn row(from: &Machine, event: Event, expected: &str, effects: &[Effect]) {
    let (to, done) = from.next(event.clone(), NOW).unwrap();
    assert_eq!(shown(&to), expected, "{event:?}");
    assert_eq!(done, effects, "{event:?}");
}

use Mode::{Embedded, Window};

#[test]
fn a_fresh_one_is_idle() {
    assert_eq!(
        shown(&Machine::default()),
        "embedded Disconnected Idle 0 0 0 -"
    );
    assert_eq!(
        shown(&Machine::new(Window)),
        "window Disconnected Idle 0 0 0 -"
    );
}

#[test]
fn open_begins_to_look_and_forgets_what_went_wrong() {
    let start = [Effect::Start(Window)];
    let expected = "window Disconnected Checking 0 0 5 -";
    row(
        &Machine::default(),
        open(Window, Some(5), None),
        expected,
        &start,
    );
    let failed = after([
        open(Embedded, None, None),
        Event::CheckFailed(Failure::NoDisplay),
    ]);
    row(&failed, open(Window, Some(5), None), expected, &start);
}

#[test]
fn checks_that_pass_lead_to_a_process() {
    row(
        &checking(Embedded, Some(5)),
        Event::Started(connection(1)),
        "embedded Connecting Launching 0 1 5 -",
        &[tell(Told::Opened(connection(1), Embedded))],
    );
}

#[test]
fn a_check_that_fails_starts_nothing_and_forgets_the_session() {
    for failure in [
        Failure::NoDisplay,
        Failure::NotInstalled {
            searched: vec!["chromium".to_owned()],
            can_download: false,
        },
        not_started(LaunchFault::Sandbox),
    ] {
        row(
            &checking(Window, Some(5)),
            Event::CheckFailed(failure.clone()),
            &format!("window Failed Failed 0 0 0 {}", failure.code()),
            &[Effect::Unshare, tell(Told::Failed(failure))],
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
        if joined.status() == Status::Disconnected {
            (joined, _) = joined.next(Event::Started(connection(1)), NOW).unwrap();
        }
        row(
            &joined,
            attached(),
            "embedded Connected Ready 100 1 5 -",
            &[
                tell(Told::Connected(connection(1), "156".to_owned())),
                Effect::Open(vec![page("https://example.org", false); 2]),
                Effect::Share(None),
                tell(Told::Shared(session(5), connection(1))),
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
        after([Event::Prepare { download: true }]),
    ] {
        assert_eq!(
            from.next(open(Window, None, None), NOW),
            Err(Refusal::BrowserBusy)
        );
    }
    for from in [closing(Window), after([Event::Prepare { download: false }])] {
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
        &[tell(Told::Connected(connection(1), "156".to_owned()))],
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
        (Event::Ended(Some(0)), LaunchFault::Exited),
        (Event::Ended(Some(21)), LaunchFault::Exited),
        (Event::Ended(None), LaunchFault::Exited),
        (Event::LaunchOverdue, LaunchFault::Deadline),
    ] {
        row(
            &connecting(Window, Some(5)),
            event,
            "window Failed Failed 0 0 0 LAUNCH_FAILED",
            &[
                Effect::Kill,
                Effect::Unshare,
                tell(Told::Failed(not_started(fault))),
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
        &[Effect::Unshare, Effect::StopStarting],
    );
    row(
        &connecting(Embedded, Some(5)),
        close(),
        "embedded Closing Idle 0 1 0 -",
        &[Effect::Unshare, Effect::Close],
    );
    row(
        &connected(Embedded, Some(5)),
        close(),
        "embedded Closing Idle 0 1 0 -",
        &[
            Effect::Unshare,
            tell(Told::Unshared(
                session(5),
                connection(1),
                UnshareReason::Closed,
            )),
            Effect::Close,
        ],
    );
    for code in [Some(0), Some(137), None] {
        row(
            &closing(Embedded),
            Event::Ended(code),
            "embedded Disconnected Idle 0 0 0 -",
            &[tell(Told::Closed(connection(1), CloseReason::Person))],
        );
    }
    row(
        &after([Event::Prepare { download: true }]),
        close(),
        "embedded Disconnected Idle 0 0 0 -",
        &[Effect::StopPreparing],
    );
    let failed = after([
        open(Embedded, None, None),
        Event::CheckFailed(Failure::NoDisplay),
    ]);
    for from in [Machine::default(), failed, closing(Window)] {
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
            Effect::Open(vec![page("https://a", false)]),
            tell(Told::Unshared(
                session(5),
                connection(1),
                UnshareReason::Replaced,
            )),
            tell(Told::Shared(session(6), connection(1))),
            Effect::Share(None),
        ],
    );
}

#[test]
fn another_mode_closes_it_and_opens_its_tabs_again() {
    let tabs = vec![page("https://a", false), page("https://b", true)];
    let switch = |by: Option<u8>| {
        Event::Open(Open {
            mode: Window,
            session: by.map(session),
            url: Some(Address::typed("https://c").unwrap()),
            tabs: tabs.clone(),
        })
    };
    // The share of the same session goes on, with its tab.
    let from = connected(Embedded, Some(5));
    row(
        &from,
        switch(Some(5)),
        "window Closing Idle 0 1 5 -",
        &[Effect::Close],
    );
    let (from, _) = from.next(switch(Some(5)), NOW).unwrap();
    row(
        &from,
        Event::Ended(Some(0)),
        "window Disconnected Checking 0 0 5 -",
        &[
            tell(Told::Closed(connection(1), CloseReason::Mode)),
            Effect::Start(Window),
        ],
    );
    let (from, _) = from.next(Event::Ended(Some(0)), NOW).unwrap();
    let (from, _) = from.next(Event::Started(connection(2)), NOW).unwrap();
    let mut all = tabs.clone();
    all.push(page("https://c", false));
    row(
        &from,
        attached(),
        "window Connected Ready 100 2 5 -",
        &[
            tell(Told::Connected(connection(2), "156".to_owned())),
            Effect::Open(all),
        ],
    );
    // Another session ends it, and shares what is shown.
    let (from, effects) = connected(Embedded, Some(5))
        .next(switch(Some(6)), NOW)
        .unwrap();
    let told = Told::Unshared(session(5), connection(1), UnshareReason::Replaced);
    assert_eq!(effects, [tell(told), Effect::Close]);
    let (from, _) = from.next(Event::Ended(Some(0)), NOW).unwrap();
    let (from, _) = from.next(Event::Started(connection(2)), NOW).unwrap();
    let (_, effects) = from.next(attached(), NOW).unwrap();
    let all = ["https://a", "https://b", "https://c"].map(|url| page(url, false));
    assert_eq!(
        effects[1..],
        [
            Effect::Open(all.into()),
            Effect::Share(None),
            tell(Told::Shared(session(6), connection(2))),
        ]
    );
}

#[test]
fn who_closes_while_the_mode_changes_gets_no_other_browser() {
    let from = connected(Embedded, Some(5));
    let (from, _) = from.next(open(Window, Some(5), None), NOW).unwrap();
    let told = Told::Unshared(session(5), connection(1), UnshareReason::Closed);
    row(
        &from,
        close(),
        "window Closing Idle 0 1 0 -",
        &[Effect::Unshare, tell(told)],
    );
    let (from, _) = from.next(close(), NOW).unwrap();
    row(
        &from,
        Event::Ended(Some(0)),
        "window Disconnected Idle 0 0 0 -",
        &[tell(Told::Closed(connection(1), CloseReason::Person))],
    );
}

#[test]
fn the_last_window_closed_by_its_person_is_no_failure() {
    row(
        &connected(Window, Some(5)),
        Event::Ended(Some(0)),
        "window Disconnected Idle 0 0 0 -",
        &[
            Effect::Unshare,
            tell(Told::Unshared(
                session(5),
                connection(1),
                UnshareReason::Closed,
            )),
            tell(Told::Closed(connection(1), CloseReason::Window)),
        ],
    );
}

#[test]
fn every_other_end_is_a_crash() {
    for (mode, event) in [
        (Embedded, Event::Ended(Some(0))),
        (Embedded, Event::Ended(Some(137))),
        (Embedded, Event::Silent),
        (Window, Event::Ended(Some(1))),
        (Window, Event::Ended(None)),
        (Window, Event::Silent),
    ] {
        row(
            &connected(mode, Some(5)),
            event,
            &format!("{} Failed Idle 0 0 0 BROWSER_CRASHED", mode.word()),
            &[
                Effect::Kill,
                Effect::Unshare,
                tell(Told::Unshared(
                    session(5),
                    connection(1),
                    UnshareReason::Crashed,
                )),
                tell(Told::Failed(crashed())),
            ],
        );
    }
}

#[test]
fn nobody_using_it_and_the_servers_end_close_it() {
    for reason in [CloseReason::Idle, CloseReason::Shutdown] {
        let (from, effects) = connected(Embedded, None)
            .next(Event::Close(reason), NOW)
            .unwrap();
        assert_eq!(effects, [Effect::Close]);
        row(
            &from,
            Event::Ended(Some(0)),
            "embedded Disconnected Idle 0 0 0 -",
            &[tell(Told::Closed(connection(1), reason))],
        );
    }
}

#[test]
fn preparing_has_its_stages() {
    let prepare = || Event::Prepare { download: true };
    row(
        &Machine::default(),
        prepare(),
        "embedded Disconnected Checking 0 0 0 -",
        &[Effect::Prepare { download: true }],
    );
    let from = after([prepare(), Event::Progress(Stage::Downloading, 40)]);
    assert_eq!(shown(&from), "embedded Disconnected Downloading 40 0 0 -");
    row(
        &from,
        Event::Prepared,
        "embedded Disconnected Idle 0 0 0 -",
        &[],
    );
    row(
        &from,
        Event::CheckFailed(Failure::PrepareFailed),
        "embedded Failed Failed 40 0 0 PREPARE_FAILED",
        &[tell(Told::Failed(Failure::PrepareFailed))],
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
    let share = |by: Option<u8>| Event::Share {
        session: by.map(session),
        tab: None,
    };
    let shared = connected(Embedded, Some(5));
    let nobody = "embedded Connected Ready 100 1 0 -";
    for (event, reason) in [
        (share(None), UnshareReason::Person),
        (Event::SharedTabsGone, UnshareReason::Tab),
        (Event::SessionEnded(session(5)), UnshareReason::SessionEnded),
    ] {
        let told = Told::Unshared(session(5), connection(1), reason);
        row(&shared, event, nobody, &[Effect::Unshare, tell(told)]);
    }
    let same = shown(&shared);
    row(&shared, Event::SessionEnded(session(6)), &same, &[]);
    row(&connected(Embedded, None), share(None), nobody, &[]);
    let tab = Some(TabId::from_bytes([3; 16]));
    let other_tab = Event::Share {
        session: Some(session(5)),
        tab,
    };
    row(&shared, other_tab, &same, &[Effect::Share(tab)]);
    for from in [Machine::default(), connecting(Embedded, None)] {
        let refused = from.next(share(Some(5)), NOW);
        assert_eq!(refused, Err(Refusal::BrowserNotConnected));
    }
}

#[test]
fn a_pause_is_told_once_and_outlives_the_browser() {
    let from = connected(Embedded, Some(5));
    let told = Told::Paused(true, Some(session(5)));
    row(&from, Event::Pause(true), &shown(&from), &[tell(told)]);
    let (from, _) = from.next(Event::Pause(true), NOW).unwrap();
    assert!(from.is_paused());
    row(&from, Event::Pause(true), &shown(&from), &[]);
    let (from, _) = from.next(close(), NOW).unwrap();
    assert!(from.is_paused());
}

#[test]
fn a_process_that_nobody_waits_for_is_killed() {
    for from in [Machine::default(), connected(Embedded, None)] {
        let started = Event::Started(connection(9));
        row(&from, started, &shown(&from), &[Effect::Kill]);
    }
}

#[path = "state_machine_property_tests.rs"]
mod properties;
