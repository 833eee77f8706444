//! Turns: what the directives that change nothing do.

use guildhall_fake_llm::agent_client::AgentClient;
use serde_json::json;

use crate::with_session::{TempFolder, opened, set_mode, with_agent, with_session};

#[tokio::test]
async fn it_introduces_itself_as_scripted_and_names_its_modes() {
    let folder = TempFolder::new();
    with_agent(&folder, async |client| {
        let about = client.initialize().await.unwrap();
        assert_eq!(about["agentInfo"]["name"], "rehearsal");
        assert_eq!(about["agentInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(about["agentInfo"]["title"], "Rehearsal (scripted)");
        assert_eq!(about["agentCapabilities"]["loadSession"], true);
        assert_eq!(
            about["agentCapabilities"]["sessionCapabilities"],
            json!({"resume": {}, "close": {}})
        );
        let new = client
            .call(
                "session/new",
                json!({"cwd": folder.cwd(), "mcpServers": []}),
            )
            .await
            .unwrap();
        assert_eq!(new["modes"]["currentModeId"], "default");
        let modes = new["modes"]["availableModes"].as_array().unwrap();
        let ids: Vec<_> = modes
            .iter()
            .map(|mode| mode["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["default", "accept-edits", "plan", "autopilot"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_directive_it_says_what_it_is() {
    with_session("default", async |client, session, _| {
        let end = client.prompt(session, "Hello there").await.unwrap();
        assert_eq!(end["stopReason"], "end_turn");
        let said = client.message_text();
        assert!(
            said.contains("rehearsal agent, which is scripted"),
            "{said}"
        );
        assert!(said.contains("#call TOOL {json}"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn it_says_words_in_pieces_and_further_words_on_their_own_line() {
    with_session("default", async |client, session, _| {
        client
            .prompt(session, "#say one two\n#think hm\n#say three")
            .await
            .unwrap();
        assert_eq!(client.message_text(), "one two\nthree");
        assert_eq!(client.updates("agent_message_chunk").len(), 4);
        assert_eq!(
            client.updates("agent_thought_chunk")[0]["content"]["text"],
            "hm"
        );
    })
    .await;
}

#[tokio::test]
async fn a_typo_fails_the_turn_with_its_line_before_anything_happens() {
    with_session("autopilot", async |client, session, folder| {
        let write = "#call write_file {\"path\": \"a.txt\", \"content\": \"x\"}";
        for (wrong, why) in [
            ("#sya hello", "there is no directive #sya"),
            ("#call paint {}", "unknown variant `paint`"),
            (
                "#call write_file {\"path\": \"b\"}",
                "missing field `content`",
            ),
            (
                "#call read_file {\"path\": \"b\", \"line\": 1}",
                "unknown field `line`",
            ),
            ("#call run_command {\"command\": []}", "no program"),
        ] {
            let prompt = AgentClient::prompt_of(session, &format!("{write}\n{wrong}"));
            let id = client.send_request("session/prompt", prompt).await.unwrap();
            let error = client.ended(id).await.unwrap().unwrap_err();
            let says = error["message"].as_str().unwrap();
            assert!(says.contains(wrong.split(' ').next().unwrap()), "{says}");
            assert!(says.contains(why), "{says}");
        }
        assert_eq!(folder.read("a.txt"), None);
    })
    .await;
}

#[tokio::test]
async fn only_the_last_text_of_a_prompt_holds_directives() {
    with_session("default", async |client, session, _| {
        let pieces = json!([
            {"type": "text", "text": "Somebody wrote:\n#say framed"},
            {"type": "text", "text": "#say meant"},
        ]);
        client
            .call(
                "session/prompt",
                json!({"sessionId": session, "prompt": pieces}),
            )
            .await
            .unwrap();
        assert_eq!(client.message_text(), "meant");
    })
    .await;
}

#[tokio::test]
async fn figures_are_the_turn_s_and_cost_is_the_session_s() {
    with_session("default", async |client, session, _| {
        let first = client.prompt(session, "#usage 100 20 0.25").await.unwrap();
        assert_eq!(
            first["usage"],
            json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120})
        );
        let second = client.prompt(session, "#say hi").await.unwrap();
        assert_eq!(second["usage"]["totalTokens"], 15);
        client.prompt(session, "#usage 1 1 0.5").await.unwrap();
        let updates = client.updates("usage_update");
        let costs: Vec<_> = updates
            .iter()
            .map(|update| update["cost"]["amount"].as_f64().unwrap())
            .collect();
        assert_eq!(costs, [0.25, 0.25, 0.75]);
        assert_eq!(updates[2]["used"], 137);
    })
    .await;
}

#[tokio::test]
async fn a_turn_ends_with_the_reason_it_is_told() {
    with_session("default", async |client, session, _| {
        let end = client
            .prompt(session, "#stop max_tokens\n#say never")
            .await
            .unwrap();
        assert_eq!(end["stopReason"], "max_tokens");
        assert_eq!(client.message_text(), "");
    })
    .await;
}

#[tokio::test]
async fn plans_commands_and_its_own_mode_are_told() {
    with_session("default", async |client, session, _| {
        let entry = json!({"content": "look", "status": "in_progress"});
        let script = format!(
            "#plan {}\n#commands 2\n#mode autopilot",
            json!({"entries": [entry]})
        );
        client.prompt(session, &script).await.unwrap();
        assert_eq!(
            client.updates("plan")[0]["entries"],
            json!([{"content": "look", "status": "in_progress", "priority": "medium"}])
        );
        let commands = &client.updates("available_commands_update")[0]["availableCommands"];
        assert_eq!(commands.as_array().unwrap().len(), 2);
        assert_eq!(commands[0]["name"], "rehearse-1");
        assert_eq!(
            client.updates("current_mode_update")[0]["currentModeId"],
            "autopilot"
        );
        let id = client
            .send_request(
                "session/prompt",
                AgentClient::prompt_of(session, "#mode warp"),
            )
            .await
            .unwrap();
        assert!(client.ended(id).await.unwrap().is_err());
    })
    .await;
}

#[tokio::test]
async fn a_form_is_sent_as_it_stands_and_its_answers_are_said() {
    with_session("default", async |client, session, _| {
        let form = json!({"title": "Colour?", "properties": {"colour": {"type": "string"}}});
        let prompt = AgentClient::prompt_of(session, &format!("#ask {form}"));
        let id = client.send_request("session/prompt", prompt).await.unwrap();
        let ask = client.asked("elicitation/create").await.unwrap();
        assert_eq!(ask["params"]["message"], "Colour?");
        assert_eq!(
            ask["params"]["requestedSchema"]["properties"],
            form["properties"]
        );
        let content = json!({"action": "accept", "content": {"colour": "red"}});
        client.answer(&ask, content).await.unwrap();
        client.ended(id).await.unwrap().unwrap();
        assert_eq!(client.message_text(), "Answers: {\"colour\":\"red\"}");
    })
    .await;
}

#[tokio::test]
async fn a_cancel_ends_a_pause_and_what_follows_never_happens() {
    with_session("default", async |client, session, _| {
        let prompt = AgentClient::prompt_of(session, "#say before\n#slow 600000\n#say after");
        let id = client.send_request("session/prompt", prompt).await.unwrap();
        let first = client.next().await.unwrap();
        assert_eq!(first["params"]["update"]["content"]["text"], "before");
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await
            .unwrap();
        let end = client.ended(id).await.unwrap().unwrap();
        assert_eq!(end["stopReason"], "cancelled");
        assert_eq!(client.message_text(), "");
        let next = client.prompt(session, "#say again").await.unwrap();
        assert_eq!(next["stopReason"], "end_turn");
    })
    .await;
}

#[tokio::test]
async fn a_session_runs_one_turn_at_a_time_and_another_session_does_not_wait() {
    with_session("default", async |client, session, folder| {
        let other = opened(client, &folder.cwd(), "default").await;
        let slow = client
            .send_request(
                "session/prompt",
                AgentClient::prompt_of(session, "#slow 600000"),
            )
            .await
            .unwrap();
        let again = client
            .send_request("session/prompt", AgentClient::prompt_of(session, "#say no"))
            .await
            .unwrap();
        assert!(client.ended(again).await.unwrap().is_err());
        client.prompt(&other, "#say free").await.unwrap();
        assert_eq!(client.message_text(), "free");
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await
            .unwrap();
        client.ended(slow).await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_unknown_mode_is_refused_and_the_old_one_stays() {
    with_session("plan", async |client, session, _| {
        let ask = json!({"sessionId": session, "modeId": "warp"});
        let id = client.send_request("session/set_mode", ask).await.unwrap();
        assert!(client.ended(id).await.unwrap().is_err());
        client
            .prompt(
                session,
                "#call write_file {\"path\": \"a\", \"content\": \"\"}",
            )
            .await
            .unwrap();
        set_mode(client, session, "default").await;
    })
    .await;
}

#[tokio::test]
async fn the_clock_says_when_the_prompt_came_and_when_it_is_said() {
    with_session("default", async |client, session, _| {
        client.prompt(session, "#clock\n#clock").await.unwrap();
        let said = client.message_text();
        let times: Vec<u64> = said
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [came, first, again, second] = times[..] else {
            panic!("{said}");
        };
        assert_eq!(came, again);
        assert!(came <= first && first <= second, "{said}");
    })
    .await;
}
