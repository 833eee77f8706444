//! The project's own commands, called as `cargo xtask <verb>`.
//!
//! One module per verb; `step` runs child programs, `tools` finds them.
//! A verb that fails says why in one sentence and ends with exit code 1.
//! Programs are started from argument lists only, never through a shell.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

mod bench;
mod ci;
mod failure;
mod fuzz;
mod pinned_packages;
mod real_agents;
mod run;
mod run_report;
mod step;
mod test;
mod test_counts;
mod tidy;
mod tool_packages;
mod toolchain;
mod tools;
mod torture;
mod web;

use std::process::ExitCode;

use failure::{Failure, Result};

/// One word after `cargo xtask`.
struct Verb {
    /// The word as typed.
    name: &'static str,
    /// What it does, for the list of verbs.
    about: &'static str,
    /// Whether it takes arguments of its own.
    takes_arguments: bool,
    /// Does it; the arguments are what followed the verb, without a leading `--`.
    run: fn(&[String]) -> Result<()>,
}

/// Every verb, in the order a newcomer needs them.
const VERBS: &[Verb] = &[
    Verb {
        name: "run",
        about: "build the page and the server, then start it: `run -- --help` shows its options",
        takes_arguments: true,
        run: run::run,
    },
    Verb {
        name: "test",
        about: "install what the tests need and run them all",
        takes_arguments: false,
        run: |_| test::run(),
    },
    Verb {
        name: "ci",
        about: "formatting, lints, documentation and house rules, everything `test` does, a minute of `fuzz`, two of `torture`",
        takes_arguments: false,
        run: |_| ci::run(),
    },
    Verb {
        name: "tidy",
        about: "check the house rules that neither compiler nor linter knows",
        takes_arguments: false,
        run: |_| tidy::run(),
    },
    Verb {
        name: "web",
        about: "build the page into web/dist, if anything changed",
        takes_arguments: false,
        run: |_| web::run(),
    },
    Verb {
        name: "bench",
        about: "measure speed and memory beside the machine's own: `bench -- --quick`, `--json`",
        takes_arguments: true,
        run: bench::run,
    },
    Verb {
        name: "fuzz",
        about: "send malformed requests to a server beside hostile peers: `fuzz --minutes 15`",
        takes_arguments: true,
        run: fuzz::run,
    },
    Verb {
        name: "torture",
        about: "kill the server, cut, fill and fail its disk, damage its files: `torture --campaign kill --minutes 20`",
        takes_arguments: true,
        run: torture::run,
    },
    Verb {
        name: "agents",
        about: "install the real agents that tests can drive, as pinned: `agents install`",
        takes_arguments: true,
        run: real_agents::run,
    },
    Verb {
        name: "counterparts",
        about: "install the foreign servers that tests speak with: `counterparts install`",
        takes_arguments: true,
        run: tool_packages::run,
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the verb that `words` opens with; without one, lists them all.
fn dispatch(words: &[String]) -> Result<()> {
    let Some((name, rest)) = words.split_first() else {
        print!("{}", usage());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", usage());
        return Ok(());
    }
    let verb = VERBS.iter().find(|verb| verb.name == name).ok_or_else(|| {
        Failure::new(format!(
            "there is no verb `{name}`; `cargo xtask` lists them"
        ))
    })?;
    let arguments = match rest.split_first() {
        Some((first, after)) if first == "--" => after,
        _ => rest,
    };
    if !verb.takes_arguments && !arguments.is_empty() {
        return Err(Failure::new(format!(
            "`cargo xtask {name}` takes no arguments"
        )));
    }
    (verb.run)(arguments)
}

/// The list of verbs.
fn usage() -> String {
    let mut text = String::from("Usage: cargo xtask <verb>\n\n");
    for verb in VERBS {
        text.push_str(&format!("  {:12} {}\n", verb.name, verb.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(of: &[&str]) -> Vec<String> {
        of.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_unknown_verb_is_named_in_the_answer() {
        let failure = dispatch(&words(&["dance"])).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "there is no verb `dance`; `cargo xtask` lists them"
        );
    }

    #[test]
    fn a_verb_without_arguments_refuses_them_before_it_starts() {
        let failure = dispatch(&words(&["tidy", "--fast"])).unwrap_err();
        assert_eq!(failure.to_string(), "`cargo xtask tidy` takes no arguments");
    }

    #[test]
    fn the_usage_names_every_verb() {
        let text = usage();
        for verb in VERBS {
            assert!(text.contains(verb.about), "{} is missing", verb.name);
        }
    }
}
