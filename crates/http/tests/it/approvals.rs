//! Approvals: who sees them, who decides, and that each is decided once. Source: contract 4.5,
//! 4.7, 4.12.

use guildhall_domain::approvals::ApprovalRequirement;
use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

fn at(asked: &ApprovalRequirement, verb: &str) -> String {
    format!("/api/approvals/{}/{verb}", asked.approval.id)
}

async fn grant(by: &TestCaller, asked: &ApprovalRequirement) -> TestResponse {
    let body = json!({"digest": asked.approval.digest});
    by.post(&at(asked, "grant"), body).await
}

async fn list(by: &TestCaller, query: &str) -> Vec<Value> {
    let page = by.get(&format!("/api/approvals{query}")).await.ok(200);
    page["approvals"].as_array().unwrap().clone()
}

fn ids(approvals: &[Value]) -> Vec<String> {
    let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
    approvals.iter().map(id).collect()
}

#[tokio::test]
async fn the_owner_sees_all_kinds_and_everybody_else_what_is_their_own() {
    let t = TestHall::open_login().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let key = t.key(&t.owner(), "ci").await;
    let other_key = t.key(&t.owner(), "other").await;
    let pia = t.person("Pia").await;
    let session = t.session(&ada);
    let deed = t
        .request_approval(&ada, json!({"secret": "canary-a"}))
        .await;
    let call = t.seed_interaction(&session, "c1", "ls").await;
    let program = t
        .request_approval_as_program("ci", &ada, json!({"secret": "canary-b"}))
        .await;
    let before = t.rows();

    let listed = list(&t.owner(), "").await;
    let (deed_id, program_id) = (
        deed.approval.id.to_string(),
        program.approval.id.to_string(),
    );
    assert_eq!(
        ids(&listed),
        [deed_id.clone(), call.id.clone(), program_id.clone()]
    );
    let ada_author = t.owner().get(&ada.author_url()).await.ok(200);
    let mut summary = ada_author.clone();
    summary.as_object_mut().unwrap().remove("retired");
    let expected = json!({
        "id": deed_id, "kind": "capability", "state": "pending", "capability": "mcp.add",
        "title": "Add an MCP server", "tier": "destructive", "summary": "Add files",
        "card": {"name": "files", "command": "npx"}, "why": ["It runs foreign code."],
        "digest": deed.approval.digest, "requestedBy": summary, "agentId": ada.agent(),
        "sessionId": null, "roomId": null, "requestedAt": "2026-09-21T14:13:20.000Z",
        "expiresAt": "2026-09-21T16:13:20.000Z", "parkedAt": null, "decidedAt": null,
        "consumedAt": null, "decidedBy": null, "denyReason": null,
    });
    assert_eq!(listed[0], expected);
    let asked = &listed[1];
    assert_eq!(
        json!([
            asked["kind"],
            asked["capability"],
            asked["title"],
            asked["digest"],
            asked["card"]["toolCallId"],
            asked["card"]["input"],
            asked["requestedBy"]["id"],
            asked["sessionId"],
            asked["expiresAt"]
        ]),
        json!(["tool_call", "tool_call", "Run ls", call.digest, "c1", {"command": "ls"},
            ada.author(), session.id.to_string(), "2026-09-21T18:13:20.000Z"])
    );
    let own = [deed_id.clone(), call.id.clone()];
    for (by, seen) in [
        (ada.clone(), &own[..]),
        (bob, &[]),
        (t.owner().with_key(&key), std::slice::from_ref(&program_id)),
        (t.owner().with_key(&other_key), &[]),
        (pia, &[]),
    ] {
        assert_eq!(ids(&list(&by, "").await), seen);
        for id in [&deed_id, &call.id, &program_id] {
            let answer = by.get(&format!("/api/approvals/{id}")).await;
            if seen.contains(id) {
                assert_eq!(answer.ok(200)["id"], json!(id));
            } else {
                answer.refused(404, "APPROVAL_NOT_FOUND");
            }
        }
    }
    // Neither a token nor a secret is shown or stored, and nothing that reads writes.
    let kept = format!("{listed:?} {before}");
    for secret in [
        "gap_",
        deed.token.reveal(),
        program.token.reveal(),
        "canary",
    ] {
        assert!(!kept.contains(secret), "{secret}");
    }
    let of_approvals = |rows: &str| -> Vec<String> {
        let lines = rows.lines().filter(|row| row.starts_with("approvals\t"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(of_approvals(&t.rows()), of_approvals(&before));
}

#[tokio::test]
async fn a_list_is_narrowed_and_paged_by_the_state_that_counts() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let session = t.session(&ada);
    let mut asked = Vec::new();
    for n in 0..3 {
        asked.push(t.request_approval(&ada, json!(n)).await);
    }
    asked.push(t.request_approval(&bob, json!(9)).await);
    let call = t.seed_interaction(&session, "c1", "ls").await;
    let id = |n: usize| asked[n].approval.id.to_string();
    let all = [id(0), id(1), id(2), id(3), call.id.clone()];
    for (query, expected) in [
        ("?state=pending", &all[..]),
        ("?kind=capability", &all[..4]),
        ("?kind=tool_call", &all[4..]),
        ("?kind=repin", &[]),
        (&format!("?agentId={}", bob.agent()), &all[3..4]),
        (&format!("?sessionId={}", session.id), &all[4..]),
        ("?agentId=nobody", &[]),
        ("?state=expired", &[]),
    ] {
        assert_eq!(ids(&list(&t.owner(), query).await), expected, "{query}");
    }
    let mut paged = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = t
            .owner()
            .get(&format!("/api/approvals{query}"))
            .await
            .ok(200);
        let found = ids(page["approvals"].as_array().unwrap());
        assert!(!found.is_empty() && found.len() <= 2);
        paged.extend(found);
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        let wrong = format!("/api/approvals?state=denied&cursor={next}");
        t.owner()
            .get(&wrong)
            .await
            .refused(400, "VALIDATION_FAILED");
        query = format!("?limit=2&cursor={next}");
    }
    assert_eq!(paged, all);
    // Before any chore has written it down.
    grant(&t.owner(), &asked[0]).await.ok(200);
    t.advance(7_200);
    for by in [t.owner(), ada] {
        let expired = ids(&list(&by, "?state=expired&kind=capability").await);
        let own = if by.agent().is_empty() {
            &all[..4]
        } else {
            &all[..3]
        };
        assert_eq!(expired, own);
        assert_eq!(ids(&list(&by, "").await), all[4..]);
    }
}

#[tokio::test]
async fn a_decision_meets_its_checks_in_their_order() {
    let t = TestHall::open_login().await;
    let (ada, pia) = (t.agent("ada").await, t.person("Pia").await);
    let key = t.owner().with_key(&t.key(&t.owner(), "ci").await);
    let asked = t.request_approval(&ada, json!(1)).await;
    let call = t.seed_interaction(&t.session(&ada), "c1", "ls").await;
    let token = asked.token.reveal();
    let before = t.rows();
    // Who may not decide learns nothing of what a good request is.
    for verb in ["grant", "deny"] {
        for path in [at(&asked, verb), format!("/api/approvals/nothing/{verb}")] {
            for (by, code) in [
                (ada.clone(), "AGENT_CANNOT_DECIDE"),
                (
                    ada.clone().with("x-service-approval", token),
                    "AGENT_CANNOT_DECIDE",
                ),
                (t.process_of(&ada), "AGENT_CANNOT_DECIDE"),
                (
                    key.clone().with("x-service-approval", token),
                    "REQUESTER_CANNOT_DECIDE",
                ),
                (
                    t.owner().with("x-service-approval", ""),
                    "REQUESTER_CANNOT_DECIDE",
                ),
                (key.clone(), "INTERACTIVE_ONLY"),
                (pia.clone(), "OWNER_ONLY"),
            ] {
                for body in [
                    "",
                    "{",
                    "[]",
                    &json!({"digest": asked.approval.digest}).to_string(),
                ] {
                    let ask = by
                        .ask("POST", &path)
                        .header("content-type", "application/json");
                    ask.body(body.to_owned()).send().await.refused(403, code);
                }
            }
        }
    }
    let owner = t.owner();
    for digest in [
        json!(null),
        json!(""),
        json!("0".repeat(63)),
        json!("g".repeat(64)),
    ] {
        let answer = owner
            .post(&at(&asked, "grant"), json!({ "digest": digest }))
            .await;
        answer.refused(400, "VALIDATION_FAILED");
    }
    let long = json!({"reason": "x".repeat(1_001)});
    owner
        .post(&at(&asked, "deny"), long)
        .await
        .refused(400, "VALIDATION_FAILED");
    let (other, nothing) = (json!({"digest": "0".repeat(64)}), "/api/approvals/nothing");
    for verb in ["grant", "deny"] {
        let path = format!("{nothing}/{verb}");
        owner
            .post(&path, other.clone())
            .await
            .refused(404, "APPROVAL_NOT_FOUND");
        let path = format!("/api/approvals/{}/{verb}", call.id);
        let told = owner
            .post(&path, other.clone())
            .await
            .refused(409, "USE_SESSION_ROUTE");
        let route = told["route"].as_str().unwrap();
        assert!(route.ends_with("/approve"), "{route}");
    }
    owner
        .post(&at(&asked, "grant"), other)
        .await
        .refused(409, "APPROVAL_CHANGED");
    let untouched = |rows: &str| -> Vec<String> {
        let lines = rows.lines().filter(|row| row.starts_with("approvals\t"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(untouched(&t.rows()), untouched(&before));

    let granted = grant(&owner, &asked).await.ok(200);
    assert_eq!(
        (&granted["ok"], &granted["approval"]["state"]),
        (&json!(true), &json!("granted"))
    );
    let told = grant(&owner, &asked)
        .await
        .refused(409, "APPROVAL_NOT_PENDING");
    assert_eq!(told, json!({"state": "granted"}));
    let late = t.request_approval(&ada, json!(2)).await;
    t.advance(7_200);
    grant(&owner, &late).await.refused(410, "APPROVAL_EXPIRED");
    let no = owner.post(&at(&late, "deny"), json!({})).await;
    no.refused(410, "APPROVAL_EXPIRED");
}

#[tokio::test]
async fn whoever_may_be_an_agent_does_not_decide() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let asked = t.request_approval(&ada, json!(1)).await;
    grant(&t.in_doubt(), &asked)
        .await
        .refused(401, "CALLER_IN_DOUBT");
    grant(&t.owner(), &asked).await.ok(200);
}

#[tokio::test]
async fn of_racing_decisions_one_counts() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for n in 0..5 {
        let asked = t.request_approval(&ada, json!(n)).await;
        let (owner, mut events) = (t.owner(), t.events());
        let (path, no) = (at(&asked, "deny"), json!({"reason": "no"}));
        let take_back = at(&asked, "withdraw");
        let (one, other, third, fourth) = tokio::join!(
            grant(&owner, &asked),
            grant(&owner, &asked),
            owner.post(&path, no),
            ada.post(&take_back, json!({})),
        );
        let mut won = 0;
        for answer in [one, other, third, fourth] {
            if answer.status == 200 {
                won += 1;
            } else {
                answer.refused(409, "APPROVAL_NOT_PENDING");
            }
        }
        assert_eq!((won, events.names().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_requester_takes_back_what_is_its_own_and_nothing_else() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let asked = t.request_approval(&ada, json!(1)).await;
    let call = t.seed_interaction(&t.session(&ada), "c1", "ls").await;
    let path = at(&asked, "withdraw");
    for by in [&bob, &t.owner()] {
        by.post(&path, json!({}))
            .await
            .refused(404, "APPROVAL_NOT_FOUND");
    }
    let of_call = format!("/api/approvals/{}/withdraw", call.id);
    ada.post(&of_call, json!({}))
        .await
        .refused(409, "USE_SESSION_ROUTE");
    let withdrawn = ada.post(&path, json!({})).await.ok(200);
    assert_eq!(withdrawn["approval"]["state"], "withdrawn");
    let told = ada
        .post(&path, json!({}))
        .await
        .refused(409, "APPROVAL_NOT_PENDING");
    assert_eq!(told, json!({"state": "withdrawn"}));
    let told = grant(&t.owner(), &asked)
        .await
        .refused(409, "APPROVAL_NOT_PENDING");
    assert_eq!(told, json!({"state": "withdrawn"}));
    assert_eq!(
        t.request_approval(&ada, json!(1)).await.reason,
        guildhall_domain::approvals::ApprovalRequiredReason::NoApproval
    );
}

#[tokio::test]
async fn a_repeated_decision_under_its_key_is_answered_as_before() {
    let t = TestHall::open().await;
    let asked = t.request_approval(&t.agent("ada").await, json!(1)).await;
    let body = json!({"digest": asked.approval.digest});
    let (owner, path) = (t.owner(), at(&asked, "grant"));
    let ask = || {
        owner
            .ask("POST", &path)
            .header("idempotency-key", "k")
            .json(&body)
    };
    let first = ask().send().await.ok(200);
    let again = ask().send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(200), first);
}

#[tokio::test]
async fn the_owner_and_who_asked_hear_of_every_step_and_nobody_else() {
    let t = TestHall::open_login().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let pia = t.person("Pia").await;
    t.key(&t.owner(), "ci").await;
    let mut streams = Vec::new();
    for by in [t.owner(), ada.clone(), bob, pia] {
        let mut stream = t.stream(&by, "/api/events", None).await;
        assert_eq!(stream.next().await.event, "snapshot");
        streams.push(stream);
    }
    let mut events = t.events();
    let (yes, no) = (
        t.request_approval(&ada, json!(1)).await,
        t.request_approval(&ada, json!(2)).await,
    );
    let program = t.request_approval_as_program("ci", &ada, json!(3)).await;
    let told = events.all();
    let requested = json!({"approval": t.owner().get(&format!("/api/approvals/{}", yes.approval.id))
        .await.ok(200)});
    assert_eq!(
        (&told[0]["type"], &told[0]["data"]),
        (&json!("approval_requested"), &requested)
    );
    assert_eq!(
        (&told[0]["scope"], &told[0]["actorId"]),
        (&json!("hall"), &json!(ada.author()))
    );
    grant(&t.owner(), &yes).await.ok(200);
    let reason = json!({"reason": " not today "});
    let denied = t.owner().post(&at(&no, "deny"), reason).await.ok(200);
    let told = events.all();
    assert_eq!(
        told[1]["data"],
        json!({"approvalId": no.approval.id, "state": "denied", "denyReason": "not today",
            "decidedAt": "2026-09-21T14:13:20.000Z",
            "decidedBy": denied["approval"]["decidedBy"]})
    );
    t.advance(7_200);
    t.hall().end_due_approvals().await.unwrap();
    let told = events.all();
    assert_eq!(told[0]["type"], "approval_expired");
    // A post that all see ends what each of them reads.
    let team = t.team().await;
    t.say(&t.owner(), &team, "that is all").await;
    let all = [
        "approval_requested",
        "approval_requested",
        "approval_requested",
        "approval_decided",
        "approval_decided",
        "approval_expired",
        "approval_expired",
    ];
    // The program's own is not the agent's, though it is about it.
    let own = [&all[..2], &all[3..6]].concat();
    for (stream, expected) in streams.iter_mut().zip([&all[..], &own, &[], &[]]) {
        let mut heard = Vec::new();
        loop {
            let frame = stream.next().await;
            if frame.event == "entry_added" {
                break;
            }
            if frame.event.starts_with("approval_") {
                heard.push(frame.event.clone());
            }
        }
        assert_eq!(heard, expected);
    }
    assert_ne!(program.approval.id, yes.approval.id);
}

#[tokio::test]
async fn approvals_are_the_same_after_a_restart() {
    let mut t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let asked = t.request_approval(&ada, json!(1)).await;
    t.request_approval(&ada, json!(2)).await;
    let before = list(&t.owner(), "").await;
    t.restart().await;
    assert_eq!(list(&t.owner(), "").await, before);
    let again = t.request_approval(&ada, json!(1)).await;
    assert_eq!(
        (again.approval.id, &again.token),
        (asked.approval.id, &asked.token)
    );
}
