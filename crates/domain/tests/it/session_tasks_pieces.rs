//! Tasks of whatever an agent may do: pieces give the list of the whole, and lines that say
//! nothing change nothing. Source: contract 3.12, number 11.

use guildhall_domain::session_tasks::{TranscriptDialect, TranscriptTaskParser};
use proptest::prelude::*;
use serde_json::json;

use crate::session_tasks::{answer, call, of, read, require_mirrors};

/// One thing an agent may do to its list, with how it ends.
fn deeds() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec((0u8..7, 0u8..6, 0u8..6, 0u8..4), 0..40)
}

/// The lines of a transcript in which these things are done; the end of each comes some lines
/// later, or never.
fn transcript_of(deeds: &[(u8, u8, u8, u8)]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut ends: Vec<(usize, String)> = Vec::new();
    for (n, (deed, a, b, end)) in deeds.iter().enumerate() {
        let id = format!("c{n}");
        let (a, b) = (a.to_string(), b.to_string());
        lines.push(match deed {
            0 => call(
                &id,
                "TodoWrite",
                json!({"todos": [
                {"content": a, "status": "completed"}, {"content": b, "blockedBy": ["1"]}]}),
            ),
            1 | 2 => call(&id, "TaskCreate", json!({"subject": a})),
            3 => call(&id, "TaskUpdate", json!({"taskId": a, "addBlocks": [b]})),
            4 => call(
                &id,
                "TaskUpdate",
                json!({"taskId": a, "addBlockedBy": [b], "subject": b}),
            ),
            5 => call(&id, "TaskUpdate", json!({"taskId": a, "status": "deleted"})),
            _ => call(
                &id,
                "TaskUpdate",
                json!({"taskId": a, "blocks": [b], "status": "completed"}),
            ),
        });
        match end {
            0 => ends.push((n + 2, answer(&id, "no", true))),
            1 => ends.push((n, answer(&id, &format!("Task #{b} created"), false))),
            2 => ends.push((n + 3, answer(&id, &format!("Task #{a} created"), false))),
            _ => {}
        }
        let (due, later) = ends.into_iter().partition(|(at, _)| *at <= n);
        let due: Vec<(usize, String)> = due;
        lines.extend(due.into_iter().map(|(_, line)| line));
        ends = later;
    }
    lines
}

const UNKNOWN: [&str; 4] = [
    "{\"type\":\"summary\",\"summary\":\"TaskCreate\"}",
    "{\"type\":\"progress\",\"data\":{\"name\":\"TodoWrite\"}}",
    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"other\"}]}}",
    "not JSON",
];

proptest! {
    #[test]
    fn pieces_give_the_list_of_the_whole(deeds in deeds(), cuts in prop::collection::vec(0usize..80, 0..12)) {
        let lines = transcript_of(&deeds);
        let whole = read(TranscriptDialect::Claude, lines.join("\n").as_bytes()).tasks().to_vec();
        let mut transcript = TranscriptTaskParser::new(TranscriptDialect::Claude);
        for (n, line) in lines.iter().enumerate() {
            transcript.take(line.as_bytes());
            if cuts.contains(&n) {
                // Who looks in between changes nothing.
                require_mirrors(transcript.tasks());
            }
        }
        prop_assert_eq!(transcript.tasks(), &whole[..]);
        require_mirrors(&whole);
    }

    #[test]
    fn unknown_lines_change_nothing_wherever_they_stand(
        deeds in deeds(),
        strewn in prop::collection::vec((0usize..80, 0usize..UNKNOWN.len()), 0..20),
    ) {
        let mut lines = transcript_of(&deeds);
        let whole = of(TranscriptDialect::Claude, lines.join("\n").as_bytes());
        for (place, which) in strewn {
            lines.insert(place.min(lines.len()), UNKNOWN[which].to_owned());
        }
        prop_assert_eq!(of(TranscriptDialect::Claude, lines.join("\n").as_bytes()), whole);
    }
}
