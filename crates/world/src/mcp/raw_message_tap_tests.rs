//! What is heard, and who hears of it.

use rmcp::model::CustomRequest;
use serde_json::json;

use super::*;

fn ear() -> Arc<RawMessageTap> {
    Arc::default()
}

/// A question with this id and progress token, as the transport sees it.
fn ask(
    ear: &RawMessageTap,
    id: i64,
    tag: RequestTag,
    progress: Option<mpsc::Sender<ProgressUpdate>>,
) -> Arc<TrackedRequest> {
    let asked = TrackedRequest::new(tag, progress);
    let mut custom = CustomRequest::new("tools/call", None);
    custom
        .extensions
        .insert(RequestExtension(Arc::clone(&asked)));
    let token = rmcp::model::ProgressToken(NumberOrString::Number(id));
    custom.get_meta_mut().set_progress_token(token);
    let request = ClientRequest::CustomRequest(custom);
    ear.track_request(&ClientJsonRpcMessage::request(
        request,
        NumberOrString::Number(id),
    ));
    asked
}

#[test]
fn a_result_is_kept_as_it_was_written_for_whoever_asked() {
    let ear = ear();
    let asked = ask(&ear, 7, 1, None);
    ear.observe(r#"{"jsonrpc":"2.0","id":"7","result":{"b":1.50,"a":[]}}"#);
    ear.observe(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#);
    let raw = asked.take().unwrap();
    assert_eq!(raw.get(), r#"{"b":1.50,"a":[]}"#);
}

#[test]
fn nothing_is_kept_for_those_who_went() {
    let ear = ear();
    drop(ask(&ear, 1, 1, None));
    let _stays = ask(&ear, 2, 2, None);
    assert_eq!(guard(&ear.by_id).len(), 1);
    assert_eq!(guard(&ear.by_token).len(), 1);
    assert_eq!(ear.tags(None), [2]);
}

#[test]
fn a_question_comes_of_the_call_it_names_or_of_any_that_waits() {
    let ear = ear();
    let _asked: Vec<_> = [(1, 30), (2, 20), (3, 30)]
        .into_iter()
        .map(|(id, tag)| ask(&ear, id, tag, None))
        .collect();
    assert_eq!(ear.tags(Some(&NumberOrString::Number(2))), [20]);
    assert_eq!(ear.tags(None), [20, 30]);
    assert_eq!(ear.tags(Some(&NumberOrString::Number(9))), [20, 30]);
}

#[tokio::test]
async fn progress_goes_to_its_own_question_in_its_order() {
    let ear = ear();
    let (tell, mut told) = mpsc::channel(8);
    let asked = ask(&ear, 5, 1, Some(tell));
    for (token, progress) in [(5, 1), (6, 9), (5, 2)] {
        let params = json!({"progressToken": token, "progress": progress, "message": "m"});
        ear.observe(&json!({"method": "notifications/progress", "params": params}).to_string());
    }
    for expected in [1, 2] {
        let progress = told.recv().await.unwrap();
        assert_eq!(progress.progress, expected.into());
    }
    assert!(told.try_recv().is_err());
    asked.renewed.notified().await;
}

#[tokio::test]
async fn a_change_of_a_list_is_never_lost_and_told_once() {
    let ear = ear();
    let notices = RawNotifications::of(&ear);
    let say = |method: &str, number: usize| {
        ear.observe(&json!({"method": method, "params": {"n": number}}).to_string());
    };
    say("notifications/tools/list_changed", 0);
    for number in 0..NOTICES_MAX * 2 {
        say("notifications/message", number);
        say("notifications/tools/list_changed", number);
    }
    ear.is_over();
    assert!(notices.next().await.unwrap().is_tools_changed());
    let mut last = None;
    let mut count = 1;
    while let Some(notice) = notices.next().await {
        assert!(!notice.is_tools_changed());
        (last, count) = (Some(notice.params), count + 1);
    }
    assert_eq!((count, last), (NOTICES_MAX, Some(json!({"n": 127}))));
}

#[test]
fn an_answer_that_is_too_long_is_told_in_the_servers_place() {
    let ear = ear();
    let asked = ask(&ear, 4, 1, None);
    assert!(ear.too_long(None).is_none());
    let message = ear.too_long(Some(&json!(4))).unwrap();
    let message = serde_json::to_value(&message).unwrap();
    assert_eq!((&message["id"], asked.is_too_large()), (&json!(4), true));
}
