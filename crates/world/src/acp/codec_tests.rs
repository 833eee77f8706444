//! Lines of the protocol: what is read, skipped and refused.

use futures_util::{FutureExt, SinkExt, StreamExt};

use super::*;

const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{}}"#;

fn stream(bytes: &[u8]) -> LineStream<&[u8]> {
    LineStream::new(bytes, Arc::default())
}

async fn all(bytes: &[u8]) -> Vec<Result<String, Option<ProtocolViolation>>> {
    let mut stream = stream(bytes);
    let mut found = Vec::new();
    while let Some(line) = stream.next().await {
        stream.flow.reached();
        let line = line.map_err(|_| stream.flow.fault());
        let is_over = line.is_err();
        if line.as_deref() != Ok(MARKER_LINE) {
            found.push(line);
        }
        if is_over {
            break;
        }
    }
    found
}

#[test]
fn only_the_protocol_is_a_message() {
    for (line, expected) in [
        (UPDATE, Some(LineKind::Notification)),
        (REQUEST, Some(LineKind::Request)),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
            Some(LineKind::Request),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","result":null}"#,
            Some(LineKind::Response),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            Some(LineKind::Response),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"x","params":null}"#,
            Some(LineKind::Notification),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
            Some(LineKind::Notification),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"error":{},"result":1}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#, None),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, None),
        (r#"{"id":1,"method":"x"}"#, None),
        (r#"{"jsonrpc":"2.0","method":1}"#, None),
        (MARKER_LINE, None),
        ("[]", None),
        ("17", None),
        ("Debugger listening", None),
        ("{", None),
    ] {
        assert_eq!(kind(line), expected, "{line}");
    }
}

/// Lines that are nearly the protocol: the crate answers each, with all of it.
fn nearly_the_protocol() -> Vec<String> {
    let with = |members: &str| format!(r#"{{"jsonrpc":"2.0","method":"x",{members}}}"#);
    let deep = "[".repeat(200) + &"]".repeat(200);
    let long = "y".repeat(NAME_BYTES_MAX + 1);
    vec![
        with(r#""params":1"#),
        with(r#""params":"""#),
        with(r#""params":[1e999]"#),
        with(&format!(r#""params":{deep}"#)),
        with(r#""id":1.5"#),
        with(r#""id":true"#),
        with(r#""id":9223372036854775808"#),
        with(r#""params":["\ud800"]"#),
        with(&format!(r#""id":"{long}""#)),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}"}}"#),
    ]
}

#[test]
fn what_the_crate_would_answer_unasked_never_reaches_it() {
    for line in nearly_the_protocol() {
        assert_eq!(kind(&line), None, "{line}");
    }
}

#[tokio::test]
async fn nearly_the_protocol_is_garbage_and_ends_the_link() {
    for line in nearly_the_protocol() {
        let text = format!("{line}\n").repeat(ACP_GARBAGE_LINES_MAX);
        assert_eq!(
            all(text.as_bytes()).await,
            [Err(Some(ProtocolViolation::Garbage))]
        );
    }
}

#[test]
fn an_update_of_a_call_that_cannot_be_named_is_garbage() {
    let longest = "é".repeat(256);
    for (id, expected) in [
        ("", None),
        ("t", Some(LineKind::Notification)),
        (&longest, Some(LineKind::Notification)),
        (&format!("{longest}é"), None),
    ] {
        for update in ["tool_call", "tool_call_update"] {
            let update = format!(r#"{{"sessionUpdate":"{update}","toolCallId":"{id}"}}"#);
            let line = UPDATE.replace("{}", &format!(r#"{{"sessionId":"s","update":{update}}}"#));
            assert_eq!(kind(&line), expected, "{line}");
        }
    }
}

#[tokio::test]
async fn single_lines_of_garbage_are_skipped() {
    let text = format!("hello\n{UPDATE}\r\n\n  \n[1]\n\u{fffd}\n{UPDATE}\nunfinished");
    let found = all(text.as_bytes()).await;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(Result::is_ok));
}

#[tokio::test]
async fn garbage_in_a_row_ends_the_link() {
    let garbage = "x\n".repeat(ACP_GARBAGE_LINES_MAX - 1);
    let spared = format!("{garbage}{UPDATE}\n{garbage}{UPDATE}\n");
    assert_eq!(all(spared.as_bytes()).await.len(), 2);
    let broken = format!("{garbage}x\n{UPDATE}\n");
    assert_eq!(
        all(broken.as_bytes()).await,
        [Err(Some(ProtocolViolation::Garbage))]
    );
}

#[tokio::test]
async fn an_endless_line_ends_the_link() {
    let endless = tokio::io::repeat(b'x');
    let mut stream = LineStream::new(endless, Arc::default());
    assert!(stream.next().await.unwrap().is_err());
    assert_eq!(stream.flow.fault(), Some(ProtocolViolation::LineTooLong));
    assert!(stream.line.len() <= ACP_LINE_MAX);
}

#[tokio::test]
async fn a_line_of_the_greatest_length_passes() {
    let frame = r#"{"jsonrpc":"2.0","method":"x","params":[""]}"#;
    let filler = "y".repeat(ACP_LINE_MAX - frame.len());
    let line = frame.replace("\"\"", &format!("\"{filler}\""));
    assert_eq!(line.len(), ACP_LINE_MAX);
    let found = all(format!("{line}\n").as_bytes()).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].is_ok());
}

#[tokio::test]
async fn nothing_is_read_beyond_a_marker_that_was_not_reached() {
    let text = format!("{UPDATE}\n").repeat(10 * LINES_ON_THE_WAY_MAX);
    let mut stream = stream(text.as_bytes());
    for round in 0..3 {
        for _ in 0..LINES_ON_THE_WAY_MAX {
            assert_eq!(stream.next().await.unwrap().unwrap(), UPDATE, "{round}");
        }
        assert_eq!(stream.next().await.unwrap().unwrap(), MARKER_LINE);
        assert!(stream.next().now_or_never().is_none());
        stream.flow.reached();
    }
}

#[tokio::test]
async fn who_takes_no_answers_may_ask_no_more() {
    let text = format!("{REQUEST}\n").repeat(2 * OWED_MAX);
    let mut stream = stream(text.as_bytes());
    let mut count = 0;
    while let Some(line) = stream.next().now_or_never() {
        stream.flow.reached();
        count += usize::from(line.unwrap().unwrap() == REQUEST);
    }
    assert_eq!(count, OWED_MAX);
    let mut taken = Vec::new();
    let mut sink = LineSink::new(&mut taken, Arc::clone(&stream.flow));
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    sink.send(answer.to_owned()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), REQUEST);
    assert_eq!(taken, format!("{answer}\n").into_bytes());
}
