//! Calls: what is asked, what happens, and what is told of it.

use guildhall_fake_llm::agent_client::{AgentClient, PermissionReply};
use serde_json::json;

use crate::with_session::{ALLOW, ALWAYS, REJECT, asks, call, statuses, touch, with_session};

#[tokio::test]
async fn a_call_is_announced_asked_about_carried_out_and_told() {
    with_session("default", async |client, session, folder| {
        folder.write("notes.md", "one\ntwo\n");
        client.decide = ALLOW;
        let arguments = json!({"path": "notes.md", "old": "two", "new": "three"});
        client.prompt(session, &call("edit_file", &arguments)).await.unwrap();
        let announced = client.updates("tool_call")[0];
        let place = folder.cwd().join("notes.md");
        let diff = json!({"type": "diff", "path": place, "oldText": "one\ntwo\n", "newText": "one\nthree\n"});
        assert_eq!(announced["title"], "Edit notes.md");
        assert_eq!(announced["kind"], "edit");
        assert_eq!(announced["name"], "edit_file");
        assert_eq!(announced["_meta"]["rehearsal"]["toolName"], "edit_file");
        assert_eq!(announced["rawInput"], arguments);
        assert_eq!(announced["locations"], json!([{"path": place}]));
        assert_eq!(announced["content"], json!([diff]));
        let asked = asks(client)[0]["params"]["toolCall"].clone();
        assert_eq!(asked["rawInput"], arguments);
        assert_eq!(asked["content"], json!([diff]));
        assert_eq!(statuses(client), [("call-1".to_owned(), "completed".to_owned())]);
        assert_eq!(folder.read("notes.md").unwrap(), "one\nthree\n");
    })
    .await;
}

#[tokio::test]
async fn what_is_refused_or_unanswered_does_not_happen_and_the_turn_goes_on() {
    with_session("default", async |client, session, folder| {
        for decide in [REJECT, PermissionReply::Cancelled] {
            client.seen.clear();
            client.decide = decide;
            let end = client
                .prompt(session, &format!("{}\n#say on", touch("no.txt")))
                .await
                .unwrap();
            assert_eq!(end["stopReason"], "end_turn");
            assert_eq!(statuses(client)[0].1, "failed");
            assert_eq!(client.message_text(), "on");
        }
        assert_eq!(folder.read("no.txt"), None);
    })
    .await;
}

#[tokio::test]
async fn each_mode_asks_refuses_or_acts_as_it_says() {
    let script = format!(
        "{}\n{}",
        call("write_file", &json!({"path": "w.txt", "content": "w"})),
        touch("t.txt")
    );
    for (mode, questions, written, touched) in [
        ("default", 2, true, true),
        ("accept-edits", 1, true, true),
        ("plan", 0, false, false),
        ("autopilot", 0, true, true),
    ] {
        with_session(mode, async |client, session, folder| {
            client.decide = ALLOW;
            client.prompt(session, &script).await.unwrap();
            assert_eq!(asks(client).len(), questions, "{mode}");
            assert_eq!(folder.read("w.txt").is_some(), written, "{mode}");
            assert_eq!(folder.read("t.txt").is_some(), touched, "{mode}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_options_have_three_kinds_and_another_order_each_time() {
    with_session("default", async |client, session, _| {
        client
            .prompt(session, &[touch("a"), touch("b"), touch("c")].join("\n"))
            .await
            .unwrap();
        let kinds = |ask: &serde_json::Value| -> Vec<String> {
            let options = ask["params"]["options"].as_array().unwrap();
            options
                .iter()
                .map(|option| option["kind"].as_str().unwrap().to_owned())
                .collect()
        };
        let orders: Vec<_> = asks(client).into_iter().map(kinds).collect();
        assert_ne!(orders[0], orders[1]);
        for mut order in orders {
            order.sort();
            assert_eq!(order, ["allow_always", "allow_once", "reject_once"]);
        }
    })
    .await;
}

#[tokio::test]
async fn always_covers_the_equal_call_and_no_other() {
    with_session("default", async |client, session, _| {
        client.decide = ALWAYS;
        client.prompt(session, &touch("a")).await.unwrap();
        client.decide = REJECT;
        client.seen.clear();
        client
            .prompt(session, &format!("{}\n{}", touch("a"), touch("b")))
            .await
            .unwrap();
        assert_eq!(asks(client).len(), 1);
        assert_eq!(
            asks(client)[0]["params"]["toolCall"]["title"],
            "Run touch b"
        );
    })
    .await;
}

#[tokio::test]
async fn a_cancel_with_an_open_question_runs_nothing_even_when_allowed_afterwards() {
    with_session("default", async |client, session, folder| {
        let prompt = AgentClient::prompt_of(session, &format!("{}\n#say on", touch("no.txt")));
        let id = client.send_request("session/prompt", prompt).await.unwrap();
        let ask = client.asked("session/request_permission").await.unwrap();
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await
            .unwrap();
        client.choose(&ask, ALLOW).await.unwrap();
        let end = client.ended(id).await.unwrap().unwrap();
        assert_eq!(end["stopReason"], "cancelled");
        assert_eq!(folder.read("no.txt"), None);
        assert_eq!(client.message_text(), "");
    })
    .await;
}

#[tokio::test]
async fn told_that_a_call_is_approved_it_repeats_exactly_that_call() {
    with_session("default", async |client, session, folder| {
        client.decide = REJECT;
        client
            .prompt(
                session,
                &format!("{}\n{}", touch("yes.txt"), touch("other.txt")),
            )
            .await
            .unwrap();
        client.seen.clear();
        client.decide = ALLOW;
        let approved = |title: &str| {
            format!("The call \"{title}\" you asked about was approved; you may repeat it.")
        };
        client
            .prompt(session, &approved("Run touch yes.txt"))
            .await
            .unwrap();
        assert_eq!(asks(client).len(), 1);
        assert_eq!(
            asks(client)[0]["params"]["toolCall"]["rawInput"],
            json!({"command": ["touch", "yes.txt"]})
        );
        assert!(folder.read("yes.txt").is_some());
        assert_eq!(folder.read("other.txt"), None);
        // Once only: what was allowed is no longer open.
        client.seen.clear();
        client
            .prompt(session, &approved("Run touch yes.txt"))
            .await
            .unwrap();
        assert_eq!(asks(client).len(), 0);
        assert_eq!(
            client.message_text(),
            "I did not ask about \"Run touch yes.txt\"."
        );
    })
    .await;
}

#[tokio::test]
async fn files_outside_of_the_folder_are_out_of_reach_by_name_and_by_link() {
    with_session("autopilot", async |client, session, folder| {
        std::os::unix::fs::symlink(folder.cwd().parent().unwrap(), folder.cwd().join("up"))
            .unwrap();
        std::os::unix::fs::symlink(folder.cwd().join("../new"), folder.cwd().join("dangling"))
            .unwrap();
        for path in ["../out.txt", "/etc/hostname", "up/out.txt", "dangling", ""] {
            client.seen.clear();
            let write = call("write_file", &json!({"path": path, "content": "x"}));
            client.prompt(session, &write).await.unwrap();
            assert_eq!(statuses(client)[0].1, "failed", "{path}");
        }
        assert!(!folder.cwd().join("../out.txt").exists());
        assert!(!folder.cwd().join("../new").exists());
    })
    .await;
}

#[tokio::test]
async fn a_program_runs_in_the_folder_and_its_output_is_bounded() {
    with_session("autopilot", async |client, session, folder| {
        client
            .prompt(session, &call("run_command", &json!({"command": ["pwd"]})))
            .await
            .unwrap();
        let told = *client.updates("tool_call_update").last().unwrap();
        assert_eq!(
            told["rawOutput"]["output"],
            format!("{}\n", folder.cwd().display())
        );
        assert_eq!(told["rawOutput"]["exitCode"], 0);
        client.seen.clear();
        let many = call(
            "run_command",
            &json!({"command": ["head", "-c", "2000000", "/dev/zero"]}),
        );
        client.prompt(session, &many).await.unwrap();
        let told = *client.updates("tool_call_update").last().unwrap();
        assert_eq!(told["rawOutput"]["truncated"], true);
        assert!(told["rawOutput"]["output"].as_str().unwrap().len() < 300_000);
        client.seen.clear();
        client
            .prompt(
                session,
                &call("run_command", &json!({"command": ["false"]})),
            )
            .await
            .unwrap();
        assert_eq!(statuses(client)[0].1, "failed");
    })
    .await;
}

#[tokio::test]
async fn a_cancel_kills_the_program_that_runs() {
    with_session("autopilot", async |client, session, _| {
        let endless = call("run_command", &json!({"command": ["sleep", "600"]}));
        let id = client
            .send_request("session/prompt", AgentClient::prompt_of(session, &endless))
            .await
            .unwrap();
        loop {
            let message = client.next().await.unwrap();
            if message["params"]["update"]["status"] == "in_progress" {
                break;
            }
        }
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await
            .unwrap();
        assert_eq!(
            client.ended(id).await.unwrap().unwrap()["stopReason"],
            "cancelled"
        );
    })
    .await;
}

#[tokio::test]
async fn tasks_get_numbers_and_an_unknown_one_is_a_failed_call() {
    with_session("default", async |client, session, _| {
        let create = |subject: &str| call("task_create", &json!({"subject": subject}));
        let update = |id: &str| call("task_update", &json!({"taskId": id, "status": "completed"}));
        let todos = call(
            "todo_write",
            &json!({"todos": [{"content": "x", "status": "pending"}]}),
        );
        let script = [create("a"), create("b"), update("2"), update("9"), todos];
        client.prompt(session, &script.join("\n")).await.unwrap();
        assert!(asks(client).is_empty());
        let outputs: Vec<_> = client
            .updates("tool_call_update")
            .into_iter()
            .filter_map(|update| update["rawOutput"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(
            outputs,
            [
                "Task #1 created",
                "Task #2 created",
                "Task #2 updated",
                "There is no task 9",
                "The list has 1 todos"
            ]
        );
        let ended: Vec<_> = statuses(client)
            .into_iter()
            .map(|(_, status)| status)
            .collect();
        assert_eq!(
            ended,
            ["completed", "completed", "completed", "failed", "completed"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_person_is_asked_within_a_call() {
    with_session("default", async |client, session, _| {
        let ask = call(
            "ask_person",
            &json!({"question": "Which?", "options": ["red", "blue"]}),
        );
        let id = client
            .send_request("session/prompt", AgentClient::prompt_of(session, &ask))
            .await
            .unwrap();
        let form = client.asked("elicitation/create").await.unwrap();
        assert_eq!(form["params"]["toolCallId"], "call-1");
        assert_eq!(
            form["params"]["requestedSchema"]["properties"]["answer"]["enum"],
            json!(["red", "blue"])
        );
        let content = json!({"action": "accept", "content": {"answer": "blue"}});
        client.answer(&form, content).await.unwrap();
        client.ended(id).await.unwrap().unwrap();
        let told = *client.updates("tool_call_update").last().unwrap();
        assert_eq!(told["rawOutput"], "blue");
    })
    .await;
}

#[tokio::test]
async fn a_partial_question_has_only_an_id_and_an_opaque_one_was_never_announced() {
    with_session("default", async |client, session, _| {
        client.decide = ALLOW;
        client
            .prompt(session, &format!("#partial\n{}", touch("a")))
            .await
            .unwrap();
        assert_eq!(
            asks(client)[0]["params"]["toolCall"],
            json!({"toolCallId": "call-1"})
        );
        assert_eq!(client.updates("tool_call")[0]["title"], "Run touch a");
        client.seen.clear();
        client
            .prompt(session, &format!("#partial opaque\n{}", touch("b")))
            .await
            .unwrap();
        assert_eq!(
            asks(client)[0]["params"]["toolCall"],
            json!({"toolCallId": "call-2"})
        );
        assert!(client.updates("tool_call").is_empty());
    })
    .await;
}

#[tokio::test]
async fn twice_announces_a_call_first_without_its_arguments() {
    with_session("autopilot", async |client, session, _| {
        client
            .prompt(session, &format!("#twice\n{}", touch("a")))
            .await
            .unwrap();
        let announced = client.updates("tool_call");
        assert_eq!(announced.len(), 2);
        assert_eq!(announced[0]["rawInput"], json!({}));
        assert_eq!(announced[1]["rawInput"], json!({"command": ["touch", "a"]}));
        assert_eq!(announced[0]["toolCallId"], announced[1]["toolCallId"]);
    })
    .await;
}
