//! What ends a share with a chat while the browser goes on, or changes its mode.

use super::*;

#[test]
fn an_open_without_a_session_ends_every_share() {
    let unshared = LogEvent::Unshared(session(5), connection(1), UnshareReason::Person);
    let ended = [MachineEffect::Unshare, tell(unshared)];
    // In the same mode.
    row(
        &connected(Embedded, Some(5)),
        open(Embedded, None, None),
        "embedded Connected Ready 100 1 0 -",
        &ended,
    );
    // In the other one, whose tabs are opened again and shared with nobody.
    let switch = MachineEvent::Open(OpenRequest {
        mode: Window,
        session: None,
        url: None,
        tabs: vec![page("https://a", true)],
    });
    let from = connected(Embedded, Some(5));
    let expected = [&ended[..], &[MachineEffect::Close]].concat();
    row(
        &from,
        switch.clone(),
        "window Closing Idle 0 1 0 -",
        &expected,
    );
    let (from, _) = from.next(switch, NOW).unwrap();
    let (from, _) = from.next(MachineEvent::Ended(Some(0)), NOW).unwrap();
    let (from, _) = from
        .next(MachineEvent::Started(connection(2)), NOW)
        .unwrap();
    let tabs = MachineEffect::Open(vec![page("https://a", false)]);
    row(
        &from,
        attached(),
        "window Connected Ready 100 2 0 -",
        &[
            tell(LogEvent::Connected(connection(2), "156".to_owned())),
            tabs,
        ],
    );
    // And before there is a tab, where nobody was told of a share yet.
    for (from, stage) in [
        (
            checking(Embedded, Some(5)),
            "embedded Disconnected Checking 0 0 0 -",
        ),
        (
            connecting(Embedded, Some(5)),
            "embedded Connecting Launching 0 1 0 -",
        ),
    ] {
        row(
            &from,
            open(Embedded, None, None),
            stage,
            &[MachineEffect::Unshare],
        );
    }
}

#[test]
fn a_share_that_cannot_go_on_in_the_other_mode_ends() {
    let mut from = connected(Embedded, Some(5));
    for event in [open(Window, Some(5), None), MachineEvent::Ended(Some(0))] {
        (from, _) = from.next(event, NOW).unwrap();
    }
    row(
        &from,
        MachineEvent::CheckFailed(BrowserFailure::NoDisplay),
        "window Failed Failed 0 0 0 NO_DISPLAY",
        &[
            MachineEffect::Unshare,
            tell(LogEvent::Unshared(
                session(5),
                connection(1),
                UnshareReason::Crashed,
            )),
            tell(LogEvent::Failed(BrowserFailure::NoDisplay)),
        ],
    );
}
