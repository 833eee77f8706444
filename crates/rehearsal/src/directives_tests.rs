//! What reads as a directive, and what each wrong line is told.

use serde_json::json;

use super::*;

fn one(line: &str) -> Directive {
    let mut read = parse(line).unwrap();
    assert_eq!(read.len(), 1, "{line}");
    read.remove(0)
}

fn why(prompt: &str) -> String {
    parse(prompt).unwrap_err().to_string()
}

#[test]
fn directives_stand_among_other_lines_and_keep_their_order() {
    let prompt =
        "Please do this:\n# A heading\n#say one two\r\n  #say not at the margin\n#stop refusal\n";
    assert_eq!(
        parse(prompt).unwrap(),
        [
            Directive::Say("one two".to_owned()),
            Directive::Stop(StopReason::Refusal)
        ]
    );
}

#[test]
fn a_call_keeps_its_arguments_exactly() {
    let arguments = json!({"path": "a b.txt", "content": "x\ny", "n": 1});
    assert_eq!(
        one(&format!("#call write_file {arguments}")),
        Directive::Call(CallDirective {
            tool: "write_file".to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        })
    );
}

#[test]
fn a_plan_s_entries_have_a_status_and_a_priority() {
    let plan = one("#plan {\"entries\": [{\"content\": \"look\", \"status\": \"pending\"}]}");
    let entry = PlanEntry {
        content: "look".to_owned(),
        status: "pending".to_owned(),
        priority: "medium".to_owned(),
    };
    assert_eq!(plan, Directive::Plan(vec![entry]));
    assert!(
        why("#plan {\"entries\": [{\"content\": \"look\", \"status\": \"doing\"}]}")
            .contains("an entry's status is one of pending, in_progress, completed")
    );
}

#[test]
fn numbers_are_read_and_bounded() {
    assert_eq!(one("#slow 20"), Directive::Slow(20));
    assert_eq!(one("#commands 3"), Directive::Commands(3));
    assert_eq!(one("#flood 2"), Directive::Flood(2));
    assert_eq!(one("#longline 17"), Directive::LongLine(17));
    assert_eq!(one("#garbage"), Directive::Garbage(1));
    assert_eq!(one("#garbage 100"), Directive::Garbage(100));
    assert_eq!(one("#status 529"), Directive::Status(529));
    let figures = UsageDirective {
        input: 10,
        output: 5,
        cost: 0.25,
    };
    assert_eq!(one("#usage 10 5 0.25"), Directive::Usage(figures));
    for line in [
        "#slow soon",
        "#slow 600001",
        "#usage 1 2",
        "#usage 1 2 -1",
        "#status 200",
        "#flood",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_bare_ones_take_nothing() {
    for (line, directive) in [
        ("#crash", Directive::Crash),
        ("#hang", Directive::Hang),
        ("#late", Directive::Late),
    ] {
        assert_eq!(one(line), directive);
        assert!(why(&format!("{line} now")).contains("nothing may stand after it"));
    }
}

#[test]
fn partial_and_twice_want_a_call_after_them() {
    assert_eq!(
        parse("#partial opaque\n#twice\n#call read_file {}").unwrap()[..2],
        [Directive::Partial { opaque: true }, Directive::Twice]
    );
    assert!(why("#call read_file {}\n#twice").contains("the next #call"));
}

#[test]
fn a_typo_is_told_with_its_line() {
    assert_eq!(
        why("#say fine\n#sya hello"),
        "cannot carry out the line `#sya hello`: there is no directive #sya"
    );
    assert!(
        why("#call read_file {path: 1}")
            .starts_with("cannot carry out the line `#call read_file {path: 1}`: no JSON object")
    );
    assert!(why("#call").contains("something must stand after it"));
    assert!(why("#ask {\"type\": \"object\"}").contains("properties"));
}

#[test]
fn every_form_in_the_list_names_a_directive() {
    for form in FORMS {
        let name = form.split(' ').next().unwrap();
        assert!(!why_of(name).contains("there is no directive"), "{name}");
    }
}

/// What is wrong with `line`, `""` when nothing is.
fn why_of(line: &str) -> String {
    parse(line).err().map_or(String::new(), |error| error.why)
}
