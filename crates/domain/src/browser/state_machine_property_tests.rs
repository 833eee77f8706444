//! Whatever happens in whatever order, the browser stands at a row of its table.

use proptest::prelude::*;

use super::*;

fn any_event() -> impl Strategy<Value = Event> {
    let by = || prop::option::of((1_u8..4).prop_map(session));
    let mode = prop_oneof![Just(Embedded), Just(Window)];
    prop_oneof![
        4 => (mode, by()).prop_map(|(mode, session)| Event::Open(Open { mode, session, ..Open::default() })),
        1 => any::<bool>().prop_map(|download| Event::Prepare { download }),
        1 => Just(Event::Prepared),
        1 => Just(Event::Progress(Stage::Installing, 30)),
        4 => (1_u8..250).prop_map(|number| Event::Started(connection(number))),
        1 => Just(Event::CheckFailed(Failure::NoDisplay)),
        4 => Just(attached()),
        1 => Just(Event::LaunchOverdue),
        1 => Just(Event::Silent),
        2 => prop::option::of(0..2).prop_map(Event::Ended),
        2 => Just(close()),
        2 => by().prop_map(|session| Event::Share { session, tab: None }),
        1 => Just(Event::SharedTabsGone),
        1 => (1_u8..4).prop_map(|number| Event::SessionEnded(session(number))),
        1 => any::<bool>().prop_map(Event::Pause),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_state_is_one_of_the_table(events in prop::collection::vec(any_event(), 0..80)) {
        let mut machine = Machine::default();
        // What is known from the effects and events alone.
        let (mut is_starting, mut is_preparing) = (false, false);
        let (mut runs, mut shared) = (None, None);
        for event in events {
            // Those whom the machine asked for something answer once.
            match event {
                Event::Started(_) if !is_starting => continue,
                Event::CheckFailed(_) if !is_starting && !is_preparing => continue,
                Event::Ended(_) | Event::Silent | Event::LaunchOverdue if runs.is_none() => continue,
                _ => {}
            }
            match &event {
                Event::Started(id) => { is_starting = false; runs = Some(*id); }
                Event::CheckFailed(_) => { is_starting = false; is_preparing = false; }
                Event::Prepared => is_preparing = false,
                Event::Ended(_) => runs = None,
                _ => {}
            }
            let Ok((next, effects)) = machine.next(event, NOW) else { continue };
            for effect in effects {
                match effect {
                    Effect::Start(mode) => {
                        prop_assert!(!is_starting && runs.is_none(), "never two processes");
                        prop_assert_eq!(mode, next.mode());
                        is_starting = true;
                    }
                    Effect::StopStarting => is_starting = false,
                    Effect::Prepare { .. } => is_preparing = true,
                    Effect::StopPreparing => is_preparing = false,
                    Effect::Kill => runs = None,
                    Effect::Close => prop_assert!(runs.is_some()),
                    Effect::Tell(Told::Shared(session, _)) => {
                        prop_assert_eq!(shared.replace(session), None, "one at a time");
                    }
                    Effect::Tell(Told::Unshared(session, ..)) => {
                        prop_assert_eq!(shared.take(), Some(session));
                    }
                    Effect::Open(_) | Effect::Share(_) | Effect::Unshare | Effect::Tell(_) => {}
                }
            }
            machine = next;
            prop_assert_eq!(machine.connection(), runs);
            prop_assert!(shared.is_none() || shared == machine.session());
            let stage = machine.preparation().stage;
            let is_in_table = match machine.status() {
                Status::Disconnected => !matches!(stage, Stage::Launching | Stage::Ready | Stage::Failed),
                Status::Connecting => stage == Stage::Launching,
                Status::Connected => stage == Stage::Ready,
                Status::Closing => stage == Stage::Idle,
                Status::Failed => matches!(stage, Stage::Failed | Stage::Idle) && machine.session().is_none(),
            };
            prop_assert!(is_in_table, "{:?}", machine);
            if machine.status() == Status::Connected {
                prop_assert_eq!(shared, machine.session());
            }
        }
    }
}
