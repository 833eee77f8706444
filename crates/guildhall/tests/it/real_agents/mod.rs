//! The pinned real agents against the model server, through our own interface: one generic suite,
//! its facts about each agent in a table.
//! Source: contract "Testing with coding agents" 7; the numbers of the rows are those there.
//!
//! Row 5, an ask that nobody answers in time, needs a clock that a test moves, and the binary has
//! none: it runs against a hall in the test's own process.
//! Rows 19 and 20, the house's own tools and those of a shared tab, are beyond that list.

mod agent_differences;
mod agent_state_rows;
mod deadline_rows;
mod isolation_rows;
mod permission_rows;
mod real_agent_server;
mod tool_server_rows;

use std::panic::{AssertUnwindSafe, catch_unwind};

use guildhall_fake_llm::real_agents::{RealAgent, pinned};

use real_agent_server::RealAgentServer;

/// A row of the suite: its number, and what shows it.
type SuiteRow = (u32, fn(&mut RealAgentServer));

/// Every row, in the order that keeps one from disturbing another: what an agent is allowed for
/// good comes late, and what must hold after all comes last.
const ROWS: &[SuiteRow] = &[
    (
        1,
        agent_state_rows::it_is_the_pinned_version_and_every_mode_is_known,
    ),
    (2, permission_rows::an_approved_call_happens),
    (3, permission_rows::a_denied_call_does_not_happen),
    (
        4,
        permission_rows::a_cancelled_turn_runs_nothing_and_keeps_or_drops_the_queue,
    ),
    (
        5,
        deadline_rows::an_ask_that_nobody_answers_in_time_is_refused,
    ),
    (
        11,
        tool_server_rows::it_calls_a_tool_of_a_server_that_was_added,
    ),
    (12, agent_state_rows::its_list_of_tasks_is_told),
    (
        13,
        agent_state_rows::a_session_of_its_own_command_line_is_listed,
    ),
    (
        14,
        agent_state_rows::its_commands_and_those_of_the_folder_are_merged,
    ),
    (15, permission_rows::a_question_is_answered),
    (19, tool_server_rows::it_posts_with_the_houses_own_tools),
    (20, tool_server_rows::it_fills_a_form_in_a_shared_tab),
    (16, isolation_rows::its_shell_cannot_decide_rename_or_mint),
    (17, isolation_rows::its_shell_sees_only_what_is_listed),
    (9, permission_rows::each_mode_asks_as_it_says),
    (10, permission_rows::the_widest_mode_needs_a_word),
    (7, permission_rows::a_killed_agent_goes_on_with_its_history),
    (
        6,
        permission_rows::an_ask_outlives_the_server_and_is_granted_once,
    ),
    (8, permission_rows::always_covers_the_equal_call_alone),
    (18, isolation_rows::nothing_is_left),
];

/// How one row went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowResult {
    Well,
    Badly,
    /// It failed, as the pins say it would.
    AsExpected,
    /// It went well, and the pins say it would not.
    Unexpectedly,
}

/// Plays every row with the agent called `name`, and tells which ran.
#[allow(clippy::print_stderr, reason = "which rows ran must be seen")]
fn play(name: &str) {
    let agent = pinned()
        .unwrap()
        .into_iter()
        .find(|agent| agent.name == name);
    let agent = agent.expect("the agent is pinned");
    if !agent.program.is_file() {
        let must = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!must, "{name} is not installed, and CI is true");
        eprintln!("not run: {name} is not installed (`cargo xtask agents install`)");
        return;
    }
    let facts = agent_differences::of(name);
    let rows = ROWS
        .iter()
        .filter(|(row, _)| !facts.not_its_rows.contains(row));
    // To look into one row alone; a whole run names none.
    let only = std::env::var("GUILDHALL_ROWS").unwrap_or_default();
    let only: Vec<u32> = only.split(',').filter_map(|row| row.parse().ok()).collect();
    let rows = rows.filter(|(row, _)| only.is_empty() || only.contains(row));
    let mut stage = RealAgentServer::open(agent.clone(), facts);
    let mut results = Vec::new();
    for (row, shows) in rows {
        let start = std::time::Instant::now();
        let went_well = catch_unwind(AssertUnwindSafe(|| shows(&mut stage))).is_ok();
        let must_pass = !agent.expected_failures.contains(row);
        let went = match (went_well, must_pass) {
            (true, true) => RowResult::Well,
            (false, true) => RowResult::Badly,
            (false, false) => RowResult::AsExpected,
            (true, false) => RowResult::Unexpectedly,
        };
        eprintln!(
            "{name} row {row}: {} in {:.1} s",
            went.word(),
            start.elapsed().as_secs_f64()
        );
        if went == RowResult::Badly {
            eprintln!("{}", stage.account());
        }
        results.push((*row, went));
    }
    results.sort_by_key(|(row, _)| *row);
    let foreign: Vec<_> = stage
        .llm
        .requests()
        .into_iter()
        .filter(|it| !it.key_known)
        .collect();
    eprintln!("{}", report(&agent, &results));
    assert!(
        foreign.is_empty(),
        "{name} used a key that is none of the test's: {foreign:?}"
    );
    let is_good = |went: RowResult| matches!(went, RowResult::Well | RowResult::AsExpected);
    assert!(
        results.iter().all(|(_, went)| is_good(*went)),
        "see the report above"
    );
}

impl RowResult {
    fn word(self) -> &'static str {
        match self {
            Self::Well => "passed",
            Self::Badly => "FAILED",
            Self::AsExpected => "failed as the pins expect",
            Self::Unexpectedly => "PASSED, and the pins expect a failure",
        }
    }
}

/// One line for each outcome: how many rows, and which.
fn report(agent: &RealAgent, results: &[(u32, RowResult)]) -> String {
    let mut text = format!(
        "{} {}: {} rows ran",
        agent.name,
        agent.version,
        results.len()
    );
    for went in [
        RowResult::Well,
        RowResult::AsExpected,
        RowResult::Unexpectedly,
        RowResult::Badly,
    ] {
        let rows = results.iter().filter(|(_, it)| *it == went);
        let rows: Vec<_> = rows.map(|(row, _)| row.to_string()).collect();
        if !rows.is_empty() {
            text.push_str(&format!(
                "; {} {} ({})",
                rows.len(),
                went.word(),
                rows.join(" ")
            ));
        }
    }
    for row in agent_differences::of(&agent.name).not_its_rows {
        text.push_str(&format!("; not here: {row}"));
    }
    text
}

#[test]
fn claude_code_does_what_the_suite_asks() {
    play("claude-code");
}

#[test]
fn codex_does_what_the_suite_asks() {
    play("codex");
}

#[test]
fn opencode_does_what_the_suite_asks() {
    play("opencode");
}
