//! Directives: lines of a prompt that say what an agent does, one after the other.
//! Pure; the scripted agent and the model server for tests read the same grammar.
//! Source: contract "Testing with coding agents" 2.

use std::fmt;

use serde_json::{Map, Value};

/// The longest pause, in milliseconds.
pub const SLOW_MS_MAX: u64 = 600_000;
/// The most commands that can be announced.
pub const COMMANDS_MAX: u32 = 1_000;
/// The most that can be written at once, in mebibytes.
pub const MIB_MAX: u32 = 1_024;
/// The most lines of garbage.
pub const GARBAGE_MAX: u32 = 10_000;

/// Every directive as it is typed, in the order of the list that the agent gives.
pub const FORMS: [&str; 20] = [
    "#say TEXT",
    "#think TEXT",
    "#call TOOL {json}",
    "#plan {\"entries\": [{content, status, priority?}]}",
    "#ask {json}",
    "#slow MS",
    "#usage IN OUT COST",
    "#mode ID",
    "#commands N",
    "#stop REASON",
    "#crash",
    "#hang",
    "#garbage [LINES]",
    "#flood MIB",
    "#longline MIB",
    "#late",
    "#partial [opaque]",
    "#twice",
    "#clock",
    "#status CODE",
];

/// One directive.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Says this text, in word pieces.
    Say(String),
    /// Thinks this text.
    Think(String),
    /// Calls a tool with exactly these arguments.
    Call(CallDirective),
    /// Tells a plan: the entries as they stand in the directive.
    Plan(Vec<PlanEntry>),
    /// Asks by a form; the value is the form's JSON Schema, an object.
    Ask(Value),
    /// Pauses before the next step, in milliseconds.
    Slow(u64),
    /// The figures of this turn.
    Usage(UsageDirective),
    /// Switches the agent's own mode.
    Mode(String),
    /// Announces this many slash commands.
    Commands(u32),
    /// Ends the turn with this reason.
    Stop(StopReason),
    /// Ends the process with status 1.
    Crash,
    /// Goes silent for good.
    Hang,
    /// Writes this many lines that are no JSON.
    Garbage(u32),
    /// Writes this many mebibytes of text as fast as it is read.
    Flood(u32),
    /// Writes one line of this many mebibytes.
    LongLine(u32),
    /// Sends updates after a cancel.
    Late,
    /// The next call's permission request carries only its id.
    Partial {
        /// The call is not announced before either.
        opaque: bool,
    },
    /// The next call is announced twice, first without its arguments.
    Twice,
    /// Says when the prompt came and when this is said, so that a bench sees the way between.
    Clock,
    /// The model server answers this HTTP status once.
    Status(u16),
}

/// A call that a directive asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDirective {
    /// The tool's name.
    pub tool: String,
    /// Exactly what it is called with.
    pub arguments: Map<String, Value>,
}

/// An entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// `high`, `medium` (unless given) or `low`.
    pub priority: String,
}

/// What a turn used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageDirective {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// What the turn cost, in US dollars.
    pub cost: f64,
}

/// Why a turn ends. Source: the Agent Client Protocol's stop reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It is done.
    EndTurn,
    /// The model's answer became too long.
    MaxTokens,
    /// It asked the model too often.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// It was cancelled.
    Cancelled,
}

impl StopReason {
    /// Every reason with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::EndTurn, "end_turn"),
        (Self::MaxTokens, "max_tokens"),
        (Self::MaxTurnRequests, "max_turn_requests"),
        (Self::Refusal, "refusal"),
        (Self::Cancelled, "cancelled"),
    ];
}

/// A line that begins like a directive and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveError {
    /// The line as it stands in the prompt.
    pub line: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for DirectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot carry out the line `{}`: {}", self.line, self.why)
    }
}

impl std::error::Error for DirectiveError {}

/// The directives of `prompt` in their order.
///
/// A line is a directive when it begins with `#` and a lower-case letter, so headings of
/// Markdown are none; lines that do not are skipped. A carriage return at a line's end is dropped.
///
/// # Errors
/// [`DirectiveError`] for the first line with an unknown name or a wrong argument, and for
/// `#partial` and `#twice` without a `#call` after them.
pub fn parse(prompt: &str) -> Result<Vec<Directive>, DirectiveError> {
    let mut read = Vec::new();
    let mut waiting: Option<String> = None;
    for line in prompt.lines().map(str::trim_end) {
        if !is_directive(line) {
            continue;
        }
        let fails = |why: String| DirectiveError {
            line: line.to_owned(),
            why,
        };
        let directive = of_line(line).map_err(fails)?;
        match directive {
            Directive::Partial { .. } | Directive::Twice => waiting = Some(line.to_owned()),
            Directive::Call(_) => waiting = None,
            _ => {}
        }
        read.push(directive);
    }
    match waiting {
        None => Ok(read),
        Some(line) => Err(DirectiveError {
            line,
            why: "it speaks of the next #call, and there is none".to_owned(),
        }),
    }
}

fn is_directive(line: &str) -> bool {
    line.strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_lowercase()))
}

fn of_line(line: &str) -> Result<Directive, String> {
    let (name, rest) = line
        .split_once(char::is_whitespace)
        .map_or((line, ""), |(name, rest)| (name, rest.trim()));
    match name {
        "#say" => Ok(Directive::Say(some_text(rest)?)),
        "#think" => Ok(Directive::Think(some_text(rest)?)),
        "#call" => call(rest),
        "#plan" => plan(rest),
        "#ask" => form(rest),
        "#slow" => up_to(rest, SLOW_MS_MAX).map(Directive::Slow),
        "#usage" => usage(rest),
        "#mode" => Ok(Directive::Mode(some_text(rest)?)),
        "#commands" => up_to(rest, COMMANDS_MAX.into()).map(|n| Directive::Commands(small(n))),
        "#stop" => stop(rest),
        "#crash" => bare(rest, Directive::Crash),
        "#hang" => bare(rest, Directive::Hang),
        "#garbage" if rest.is_empty() => Ok(Directive::Garbage(1)),
        "#garbage" => up_to(rest, GARBAGE_MAX.into()).map(|n| Directive::Garbage(small(n))),
        "#flood" => up_to(rest, MIB_MAX.into()).map(|n| Directive::Flood(small(n))),
        "#longline" => up_to(rest, MIB_MAX.into()).map(|n| Directive::LongLine(small(n))),
        "#late" => bare(rest, Directive::Late),
        "#partial" => match rest {
            "" => Ok(Directive::Partial { opaque: false }),
            "opaque" => Ok(Directive::Partial { opaque: true }),
            _ => Err("after it stands `opaque` or nothing".to_owned()),
        },
        "#twice" => bare(rest, Directive::Twice),
        "#clock" => bare(rest, Directive::Clock),
        "#status" => status(rest),
        _ => Err(format!("there is no directive {name}")),
    }
}

fn some_text(rest: &str) -> Result<String, String> {
    if rest.is_empty() {
        Err("something must stand after it".to_owned())
    } else {
        Ok(rest.to_owned())
    }
}

fn bare(rest: &str, directive: Directive) -> Result<Directive, String> {
    if rest.is_empty() {
        Ok(directive)
    } else {
        Err("nothing may stand after it".to_owned())
    }
}

fn up_to(rest: &str, max: u64) -> Result<u64, String> {
    let number = rest.parse().ok().filter(|number| *number <= max);
    number.ok_or_else(|| format!("a whole number up to {max} must stand after it"))
}

/// A number that [`up_to`] has bounded.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON object stands after it: {error}"))
}

fn call(rest: &str) -> Result<Directive, String> {
    let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Ok(Directive::Call(CallDirective {
        tool: some_text(tool)?,
        arguments: object(arguments.trim())?,
    }))
}

fn plan(rest: &str) -> Result<Directive, String> {
    let told = object(rest)?;
    let entries = told
        .get("entries")
        .and_then(Value::as_array)
        .ok_or("the plan has no list `entries`")?;
    entries
        .iter()
        .map(plan_entry)
        .collect::<Result<_, _>>()
        .map(Directive::Plan)
}

fn plan_entry(entry: &Value) -> Result<PlanEntry, String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let one_of = |name: &str, usual: Option<&str>, all: &[&str]| {
        let given = text(name).or(usual).unwrap_or_default();
        if all.contains(&given) {
            Ok(given.to_owned())
        } else {
            Err(format!("an entry's {name} is one of {}", all.join(", ")))
        }
    };
    Ok(PlanEntry {
        content: text("content")
            .ok_or("an entry has no text `content`")?
            .to_owned(),
        status: one_of("status", None, &["pending", "in_progress", "completed"])?,
        priority: one_of("priority", Some("medium"), &["high", "medium", "low"])?,
    })
}

fn form(rest: &str) -> Result<Directive, String> {
    let schema = object(rest)?;
    if schema.get("properties").is_some_and(Value::is_object) {
        Ok(Directive::Ask(Value::Object(schema)))
    } else {
        Err("the form's schema has no object `properties`".to_owned())
    }
}

fn usage(rest: &str) -> Result<Directive, String> {
    let words: Vec<_> = rest.split_whitespace().collect();
    let figures = match words.as_slice() {
        [input, output, cost] => input
            .parse()
            .ok()
            .zip(output.parse().ok())
            .zip(cost.parse().ok()),
        _ => None,
    };
    match figures {
        Some(((input, output), cost)) if f64::is_finite(cost) && cost >= 0.0 => {
            Ok(Directive::Usage(UsageDirective {
                input,
                output,
                cost,
            }))
        }
        _ => Err("tokens read, tokens written and a cost must stand after it".to_owned()),
    }
}

fn stop(rest: &str) -> Result<Directive, String> {
    let found = StopReason::WORDS.iter().find(|(_, word)| *word == rest);
    found
        .map(|(reason, _)| Directive::Stop(*reason))
        .ok_or_else(|| {
            let words: Vec<_> = StopReason::WORDS.iter().map(|(_, word)| *word).collect();
            format!("one of {} must stand after it", words.join(", "))
        })
}

fn status(rest: &str) -> Result<Directive, String> {
    let code = rest.parse().ok().filter(|code| (400..=599).contains(code));
    code.map(Directive::Status)
        .ok_or_else(|| "an HTTP status from 400 to 599 must stand after it".to_owned())
}

#[cfg(test)]
#[path = "directives_tests.rs"]
mod tests;
