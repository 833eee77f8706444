//! Whatever happens in whatever order, the browser stands at a row of its table.

use proptest::prelude::*;

use super::*;

fn any_event() -> impl Strategy<Value = MachineEvent> {
    let by = || prop::option::of((1_u8..4).prop_map(session));
    let mode = prop_oneof![Just(Embedded), Just(Window)];
    prop_oneof![
        4 => (mode, by()).prop_map(|(mode, session)| MachineEvent::Open(OpenRequest { mode, session, ..OpenRequest::default() })),
        1 => any::<bool>().prop_map(|download| MachineEvent::Prepare { download }),
        1 => Just(MachineEvent::Prepared),
        1 => Just(MachineEvent::Progress(PreparationStage::Installing, 30)),
        4 => (1_u8..250).prop_map(|number| MachineEvent::Started(connection(number))),
        1 => Just(MachineEvent::CheckFailed(BrowserFailure::NoDisplay)),
        4 => Just(attached()),
        1 => Just(MachineEvent::LaunchOverdue),
        1 => Just(MachineEvent::Silent),
        2 => prop::option::of(0..2).prop_map(MachineEvent::Ended),
        2 => Just(close()),
        2 => by().prop_map(|session| MachineEvent::Share { session, tab: None }),
        1 => Just(MachineEvent::SharedTabsGone),
        1 => (1_u8..4).prop_map(|number| MachineEvent::SessionEnded(session(number))),
        1 => any::<bool>().prop_map(MachineEvent::Pause),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_state_is_one_of_the_table(events in prop::collection::vec(any_event(), 0..80)) {
        let mut machine = StateMachine::default();
        // What is known from the effects and events alone.
        let (mut is_starting, mut is_preparing) = (false, false);
        let (mut runs, mut shared) = (None, None);
        for event in events {
            // Those whom the machine asked for something answer once.
            match event {
                MachineEvent::Started(_) if !is_starting => continue,
                MachineEvent::CheckFailed(_) if !is_starting && !is_preparing => continue,
                MachineEvent::Ended(_) | MachineEvent::Silent | MachineEvent::LaunchOverdue if runs.is_none() => continue,
                _ => {}
            }
            match &event {
                MachineEvent::Started(id) => { is_starting = false; runs = Some(*id); }
                MachineEvent::CheckFailed(_) => { is_starting = false; is_preparing = false; }
                MachineEvent::Prepared => is_preparing = false,
                MachineEvent::Ended(_) => runs = None,
                _ => {}
            }
            let Ok((next, effects)) = machine.next(event, NOW) else { continue };
            for effect in effects {
                match effect {
                    MachineEffect::Start(mode) => {
                        prop_assert!(!is_starting && runs.is_none(), "never two processes");
                        prop_assert_eq!(mode, next.mode());
                        is_starting = true;
                    }
                    MachineEffect::StopStarting => is_starting = false,
                    MachineEffect::Prepare { .. } => is_preparing = true,
                    MachineEffect::StopPreparing => is_preparing = false,
                    MachineEffect::Kill => runs = None,
                    MachineEffect::Close => prop_assert!(runs.is_some()),
                    MachineEffect::Tell(LogEvent::Shared(session, _)) => {
                        prop_assert_eq!(shared.replace(session), None, "one at a time");
                    }
                    MachineEffect::Tell(LogEvent::Unshared(session, ..)) => {
                        prop_assert_eq!(shared.take(), Some(session));
                    }
                    MachineEffect::Open(_) | MachineEffect::Share(_) | MachineEffect::Unshare | MachineEffect::Tell(_) => {}
                }
            }
            machine = next;
            prop_assert_eq!(machine.connection(), runs);
            prop_assert!(shared.is_none() || shared == machine.session());
            let stage = machine.preparation().stage;
            let is_in_table = match machine.status() {
                BrowserStatus::Disconnected => !matches!(stage, PreparationStage::Launching | PreparationStage::Ready | PreparationStage::Failed),
                BrowserStatus::Connecting => stage == PreparationStage::Launching,
                BrowserStatus::Connected => stage == PreparationStage::Ready,
                BrowserStatus::Closing => stage == PreparationStage::Idle,
                BrowserStatus::Failed => matches!(stage, PreparationStage::Failed | PreparationStage::Idle) && machine.session().is_none(),
            };
            prop_assert!(is_in_table, "{:?}", machine);
            if machine.status() == BrowserStatus::Connected {
                prop_assert_eq!(shared, machine.session());
            }
        }
    }
}
