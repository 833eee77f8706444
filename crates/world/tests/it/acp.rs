//! Speaking with an agent, well behaved or not. Source: contract 3.3, 3.12 (9, 10, 16).

use guildhall_domain::{
    interactions::{InteractionRequest, InteractionResponse, PermissionChoiceKind, QuestionType},
    sessions::TurnOutcome,
    usage::TokenCounts,
};
use guildhall_world::acp::{
    AgentCallError, AgentMessage, AgentUpdate, ExitCause, NativeMode, OpenMode, OptionCategory,
    ResponseSlot,
};
use serde_json::json;

use crate::fake_agents::{FakeAgentProcess, launch_of, puppet, soon};

impl FakeAgentProcess {
    /// What it asks next, past everything else.
    async fn asked(&mut self) -> (InteractionRequest, ResponseSlot) {
        loop {
            if let AgentMessage::Ask { asked, reply, .. } = self.receive().await {
                return (asked, reply);
            }
        }
    }
}

#[tokio::test]
async fn an_agent_says_what_it_is_and_what_a_session_offers() {
    let puppet = FakeAgentProcess::agent().await;
    let greeted = puppet.greet().await;
    assert_eq!(
        (greeted.name.as_str(), greeted.version.as_str()),
        ("puppet", "1.2.3")
    );
    assert!(greeted.load_session && !greeted.resume_session && !greeted.close_session);
    let opened = puppet.new_session().await;
    assert_eq!(opened.session, "one");
    assert_eq!(opened.current_mode.as_deref(), Some("default"));
    let plan = NativeMode {
        id: "plan".to_owned(),
        name: "Plan".to_owned(),
        description: String::new(),
    };
    assert_eq!(opened.modes[1], plan);
    assert_eq!(opened.options[0].category, "model");
    assert_eq!(opened.options[0].values.len(), 2);
}

#[tokio::test]
async fn a_prompt_ends_with_its_outcome_after_everything_it_said() {
    let mut puppet = FakeAgentProcess::open().await;
    let end = puppet.prompt("say hello you").await.unwrap();
    assert_eq!(end.stop, TurnOutcome::EndTurn);
    let tokens = TokenCounts {
        input: 3,
        output: 4,
        total: 7,
        ..TokenCounts::default()
    };
    assert_eq!(end.tokens, Some(tokens));
    assert!(matches!(
        puppet.heard.try_recv().unwrap(),
        AgentMessage::Update { session, update: AgentUpdate::Commands(commands) }
            if session == "one" && commands[0].name == "web"
    ));
    assert!(matches!(
        puppet.heard.try_recv().unwrap(),
        AgentMessage::Update { update: AgentUpdate::Text(text), .. } if text == "hello you"
    ));
}

#[tokio::test]
async fn a_mode_and_a_model_are_set_as_the_session_offers() {
    let mut puppet = FakeAgentProcess::open().await;
    soon(puppet.link.set_mode("one", "plan")).await.unwrap();
    puppet.prompt("mode").await.unwrap();
    assert_eq!(puppet.receive_text().await, "plan");
    let refused = soon(puppet.link.set_mode("one", "broken"))
        .await
        .unwrap_err();
    let AgentCallError::Refused { code, message } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((code, message.as_str()), (-32602, "no such mode: broken"));
    let link = &puppet.link;
    soon(link.set_option("one", OptionCategory::Model, "large"))
        .await
        .unwrap();
    for (category, value) in [
        (OptionCategory::Model, "huge"),
        (OptionCategory::Effort, "high"),
    ] {
        let refused = soon(link.set_option("one", category, value))
            .await
            .unwrap_err();
        assert!(
            matches!(refused, AgentCallError::NotOffered(_)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_answer_to_a_permission_reaches_the_agent() {
    for (answer, heard) in [
        (
            Some(InteractionResponse::Selected("yes".to_owned())),
            json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
        ),
        (
            Some(InteractionResponse::Cancelled),
            json!({"outcome": {"outcome": "cancelled"}}),
        ),
        (
            Some(InteractionResponse::Declined),
            json!({"outcome": {"outcome": "cancelled"}}),
        ),
        (None, json!({"outcome": {"outcome": "cancelled"}})),
    ] {
        let mut puppet = FakeAgentProcess::open().await;
        let link = puppet.link.clone();
        let ask = async {
            let (asked, reply) = puppet.asked().await;
            let InteractionRequest::Permission {
                tool_call_id,
                options,
            } = asked
            else {
                panic!("{asked:?}");
            };
            assert_eq!(tool_call_id, "t");
            assert_eq!(options[1].kind, PermissionChoiceKind::RejectOnce);
            match answer {
                Some(answer) => reply.send(answer),
                None => drop(reply),
            }
            puppet.receive_text().await
        };
        let prompt = link.prompt(
            "one",
            vec![guildhall_world::acp::PromptPart::Text("permit".to_owned())],
        );
        let (end, text) = soon(async { tokio::join!(prompt, ask) }).await;
        assert_eq!(end.unwrap().stop, TurnOutcome::EndTurn);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            heard
        );
    }
}

#[tokio::test]
async fn the_values_of_a_form_reach_the_agent() {
    let mut puppet = FakeAgentProcess::open().await;
    let link = puppet.link.clone();
    let ask = async {
        let (asked, reply) = puppet.asked().await;
        let InteractionRequest::Form {
            tool_call_id: None,
            message,
            questions,
        } = asked
        else {
            panic!("{asked:?}");
        };
        assert_eq!(
            (message.as_str(), questions[0].kind),
            ("Which?", QuestionType::Choice)
        );
        let mut values = serde_json::Map::new();
        values.insert("colour".to_owned(), json!("red"));
        reply.send(InteractionResponse::Accepted(values));
        puppet.receive_text().await
    };
    let prompt = link.prompt(
        "one",
        vec![guildhall_world::acp::PromptPart::Text("form".to_owned())],
    );
    let (_, text) = soon(async { tokio::join!(prompt, ask) }).await;
    let heard: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        heard,
        json!({"action": "accept", "content": {"colour": "red"}})
    );
}

#[tokio::test]
async fn what_we_did_not_offer_is_refused_to_the_agent() {
    let mut puppet = FakeAgentProcess::open().await;
    puppet.prompt("read").await.unwrap();
    assert_eq!(puppet.receive_text().await, "-32601");
}

#[tokio::test]
async fn a_cancelled_turn_ends_as_cancelled() {
    let puppet = FakeAgentProcess::open().await;
    let prompt = puppet.prompt("hang");
    let cancel = async { puppet.link.cancel("one") };
    // Polled in this order: the prompt is on its way before it is cancelled.
    let (end, ()) = tokio::join!(biased; prompt, cancel);
    assert_eq!(end.unwrap().stop, TurnOutcome::Cancelled);
}

#[tokio::test]
async fn a_replay_is_dropped_when_it_is_not_wanted() {
    let mut puppet = FakeAgentProcess::agent().await;
    puppet.greet().await;
    puppet
        .open_session(OpenMode::Resume("old".to_owned()))
        .await
        .unwrap();
    assert_eq!(puppet.receive_text().await, "told after");
    puppet
        .open_session(OpenMode::Load("old".to_owned()))
        .await
        .unwrap();
    assert_eq!(puppet.receive_text().await, "told before");
    assert_eq!(puppet.receive_text().await, "told after");
}

#[tokio::test]
async fn an_agent_that_is_asked_to_stop_stops() {
    let puppet = FakeAgentProcess::open().await;
    puppet.link.stop();
    let link = puppet.link.clone();
    let ended = puppet.ended().await;
    assert_eq!((ended.kind, ended.code), (ExitCause::Asked, Some(0)));
    assert_eq!(link.ended(), Some(ended));
    let gone = soon(link.initialize()).await.unwrap_err();
    assert!(matches!(gone, AgentCallError::Gone(_)), "{gone:?}");
}

#[tokio::test]
async fn a_crash_ends_the_turn_and_the_process() {
    let puppet = FakeAgentProcess::open().await;
    let gone = puppet.prompt("crash").await.unwrap_err();
    assert_eq!(
        gone,
        AgentCallError::Gone("the agent's process ended with exit code 9".to_owned())
    );
    let ended = puppet.ended().await;
    assert_eq!((ended.kind, ended.code), (ExitCause::Exited, Some(9)));
}

#[tokio::test]
async fn an_agent_that_exits_at_once_says_why() {
    let puppet = FakeAgentProcess::start(launch_of(puppet(), &["exits"])).await;
    let why = "the agent's process ended with exit code 3:\nthe puppet has no strings";
    let gone = soon(puppet.link.initialize()).await.unwrap_err();
    assert_eq!(gone, AgentCallError::Gone(why.to_owned()));
    assert_eq!(puppet.ended().await.why, why);
}

#[tokio::test]
async fn a_program_that_does_not_exist_says_so() {
    let puppet = FakeAgentProcess::start(launch_of("no-such-program".into(), &[])).await;
    let ended = puppet.ended().await;
    assert_eq!(ended.code, Some(127));
    assert!(
        ended.why.contains("no-such-program could not be started"),
        "{}",
        ended.why
    );
}

#[tokio::test]
async fn a_folder_that_does_not_exist_is_refused_at_once() {
    let mut ask = launch_of(puppet(), &["agent"]);
    ask.cwd = "/no/such/folder".into();
    let refused = guildhall_world::acp::launch(ask).await.unwrap_err();
    assert!(
        matches!(refused, AgentCallError::NotStarted { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn garbage_and_an_endless_line_break_the_protocol() {
    for deed in ["garbage", "longline"] {
        let puppet = FakeAgentProcess::open().await;
        let broken = puppet.prompt(deed).await.unwrap_err();
        let is_told =
            matches!(&broken, AgentCallError::Protocol(why) if why.starts_with("PROTOCOL_ERROR"));
        assert!(
            is_told || matches!(broken, AgentCallError::Gone(_)),
            "{broken:?}"
        );
        assert_eq!(puppet.ended().await.kind, ExitCause::Protocol, "{deed}");
    }
}

#[tokio::test]
async fn a_flood_waits_for_whoever_listens_and_loses_nothing() {
    const COUNT: usize = 20_000;
    let mut puppet = FakeAgentProcess::open().await;
    let link = puppet.link.clone();
    let flood = vec![guildhall_world::acp::PromptPart::Text(format!(
        "flood {COUNT}"
    ))];
    let listen = async {
        for _ in 0..COUNT {
            assert_eq!(puppet.receive_text().await.len(), 1_000);
        }
    };
    let (end, ()) = soon(async { tokio::join!(link.prompt("one", flood), listen) }).await;
    assert_eq!(end.unwrap().stop, TurnOutcome::EndTurn);
}

#[tokio::test]
async fn a_flood_nobody_listens_to_can_be_stopped() {
    let puppet = FakeAgentProcess::open().await;
    let flood = puppet.prompt("flood 1000000");
    let stop = async {
        // The queue is full: the agent waits for us, and nobody else does.
        soon(async {
            while puppet.heard.capacity() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        puppet.link.stop();
    };
    let (end, ()) = tokio::join!(flood, stop);
    assert!(matches!(end, Err(AgentCallError::Gone(_))), "{end:?}");
    assert_eq!(puppet.ended().await.kind, ExitCause::Asked);
}

#[tokio::test]
async fn a_silent_agent_can_be_stopped() {
    let puppet = FakeAgentProcess::start(launch_of(puppet(), &["silent"])).await;
    let greet = puppet.link.initialize();
    let stop = async { puppet.link.stop() };
    let (greeted, ()) = soon(async { tokio::join!(greet, stop) }).await;
    assert!(
        matches!(greeted, Err(AgentCallError::Gone(_))),
        "{greeted:?}"
    );
    assert_eq!(puppet.ended().await.kind, ExitCause::Asked);
}

#[tokio::test]
async fn the_environment_is_exactly_the_one_given() {
    let mut ask = launch_of(puppet(), &["agent"]);
    ask.env = vec![
        ("ONE".to_owned(), "1".to_owned()),
        ("TWO".to_owned(), "2".to_owned()),
    ];
    let mut puppet = FakeAgentProcess::start(ask).await;
    puppet.greet().await;
    puppet.new_session().await;
    puppet.prompt("env").await.unwrap();
    assert_eq!(puppet.receive_text().await, "ONE TWO");
}

#[tokio::test]
async fn a_link_that_nobody_drives_tells_who_asks() {
    let (link, _heard, running) = guildhall_world::acp::launch(launch_of(puppet(), &["agent"]))
        .await
        .unwrap();
    drop(running);
    let gone = soon(link.initialize()).await.unwrap_err();
    assert!(matches!(gone, AgentCallError::Gone(_)), "{gone:?}");
}
