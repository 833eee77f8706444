//! Steps: a child program with a name, its output shown as it comes, its duration printed.
//! A child never waits for typed input: its standard input is empty.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use crate::failure::{Failure, Result, WithContext};
use crate::test_counts::OutputReader;

/// Runs `work` under a heading and prints how long it took.
///
/// # Errors
/// Whatever `work` fails with.
pub(crate) fn run_timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("→ {name}");
    let start = Instant::now();
    let outcome = work();
    let mark = if outcome.is_ok() { '✓' } else { '✗' };
    println!("{mark} {name} ({:.1} s)", start.elapsed().as_secs_f64());
    outcome
}

/// Says that there is nothing to do, in the form of a finished step.
pub(crate) fn nothing_to_do(name: &str, why: &str) {
    println!("✓ {name} ({why})");
}

/// Runs a child whose output goes straight to the terminal.
///
/// # Errors
/// When the program cannot be started or ends with another status than 0.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<()> {
    run_timed(name, || {
        let status = command.stdin(Stdio::null()).status();
        let status = status.with_context(format!("start {}", shown(command)))?;
        ended_well(name, command, status)
    })
}

/// Runs a child that prints for a program, shows its errors, and returns its standard output.
///
/// # Errors
/// When the program cannot be started, ends with another status than 0, or prints something
/// other than UTF-8.
pub(crate) fn captured(name: &str, command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.with_context(format!("start {}", shown(command)))?;
    ended_well(name, command, output.status)?;
    String::from_utf8(output.stdout).with_context(format!("read the output of {}", shown(command)))
}

/// Runs a test runner, shows its output as it comes, and hands every line to `reader`.
///
/// # Errors
/// When the runner cannot be started or ends with another status than 0.
pub(crate) fn run_read(name: &str, command: &mut Command, reader: &mut OutputReader) -> Result<()> {
    run_timed(name, || {
        keep_colours(command);
        // Both outputs through one pipe: their order stays as it was written.
        let (output, input) = std::io::pipe().with_context("open a pipe")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(input.try_clone().with_context("open a pipe")?)
            .stderr(input)
            .spawn();
        let mut child = child.with_context(format!("start {}", shown(command)))?;
        // The pipe ends when the last writer closes it, and the command holds two.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        copy_lines(output, std::io::stdout(), |line| reader.read_line(line));
        let status = child
            .wait()
            .with_context(format!("wait for {}", shown(command)))?;
        ended_well(name, command, status)
    })
}

/// Copies `from` line by line and shows each line to `read`.
fn copy_lines(from: impl Read, mut to: impl Write, mut read: impl FnMut(&str)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(1..) = from.read_until(b'\n', &mut line) {
        // A closed terminal is no reason to stop the tests: the exit code still tells.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        read(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

/// Asks for colours when a person watches: a runner that writes to a pipe drops them.
fn keep_colours(command: &mut Command) {
    use std::io::IsTerminal;
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command
            .env("CARGO_TERM_COLOR", "always")
            .env("FORCE_COLOR", "1");
    }
}

/// Turns an exit status into the sentence that names the step.
fn ended_well(name: &str, command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the step \"{name}\" failed: {} ended with {status}",
        shown(command)
    )))
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words: Vec<_> = std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_counts::Runner;

    fn rustc(argument: &str) -> Command {
        let mut command = Command::new("rustc");
        command.arg(argument).stderr(Stdio::null());
        command
    }

    #[test]
    fn a_failed_step_is_named_with_its_command() {
        let failure = run("compiler", &mut rustc("--no-such-option"))
            .unwrap_err()
            .to_string();
        assert!(
            failure.starts_with("the step \"compiler\" failed: `rustc --no-such-option` ended"),
            "{failure}"
        );
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let failure = run("ghost", &mut Command::new("no-such-program-here"))
            .unwrap_err()
            .to_string();
        assert!(
            failure.starts_with("could not start `no-such-program-here`: "),
            "{failure}"
        );
    }

    #[test]
    fn output_is_copied_byte_for_byte_and_read() {
        let text = b"one\n\xff two\nno line break";
        let (mut copy, mut lines) = (Vec::new(), Vec::new());
        copy_lines(&text[..], &mut copy, |line| lines.push(line.to_owned()));
        assert_eq!(copy, text);
        assert_eq!(lines, ["one\n", "\u{fffd} two\n", "no line break"]);
    }

    #[test]
    fn what_a_runner_prints_is_read_whichever_output_it_goes_to() {
        let mut reader = OutputReader::new(Runner::Cargo);
        let mut rustc = Command::new("rustc");
        run_read("version", rustc.arg("--version"), &mut reader).unwrap();
        let failure = run_read("compiler", rustc.arg("--no-such-option"), &mut reader);
        assert!(
            failure
                .unwrap_err()
                .to_string()
                .contains("\"compiler\" failed")
        );
    }
}
