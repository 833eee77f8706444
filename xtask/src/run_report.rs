//! Collects how the steps of a run ended.
//!
//! A failed step does not keep later steps from running, unless they need what it makes.
//! The last lines of the run say for each failed step what failed in it.

use std::process::Command;

use crate::failure::{Failure, Result};
use crate::step;
use crate::test_counts::{OutputReader, Runner, TestCounts};

/// How many failed tests of one step are named at the end; the output above names them all.
const NAMED_TESTS_MAX: usize = 50;

/// How the steps of a run ended.
#[derive(Debug, Default)]
pub(crate) struct RunReport {
    counts: TestCounts,
    failed_steps: Vec<FailedStep>,
}

/// A step that failed or could not run.
#[derive(Debug)]
struct FailedStep {
    /// One sentence that names the step.
    sentence: String,
    /// The tests that failed in it.
    tests: Vec<String>,
}

impl RunReport {
    /// Keeps the failure of a step; returns what the step made when it succeeded.
    pub(crate) fn keep<T>(&mut self, outcome: Result<T>) -> Option<T> {
        let failure = match outcome {
            Ok(made) => return Some(made),
            Err(failure) => failure,
        };
        self.failed(failure.to_string(), Vec::new());
        None
    }

    /// Runs a step, when what it needs was made; returns what the step makes.
    pub(crate) fn step_with<N, T>(
        &mut self,
        name: &str,
        needed: Option<N>,
        work: impl FnOnce(N) -> Result<T>,
    ) -> Option<T> {
        let Some(needed) = needed else {
            self.not_run(name);
            return None;
        };
        self.keep(work(needed))
    }

    /// Runs a test runner, when what it needs was made, and adds its counts.
    pub(crate) fn tests_with<N: ?Sized>(
        &mut self,
        name: &str,
        needed: Option<&N>,
        command: &mut Command,
        runner: Runner,
    ) {
        if needed.is_none() {
            return self.not_run(name);
        }
        let mut reader = OutputReader::new(runner);
        let outcome = step::run_read(name, command, &mut reader);
        self.tests_ended(name, outcome, reader);
    }

    fn tests_ended(&mut self, name: &str, outcome: Result<()>, reader: OutputReader) {
        let OutputReader {
            counts,
            failed_tests,
            ..
        } = reader;
        self.counts = self.counts + counts;
        match outcome {
            Err(failure) => self.failed(failure.to_string(), failed_tests),
            Ok(()) if counts.passed == 0 => {
                self.failed(format!("the step \"{name}\" ran no test"), failed_tests);
            }
            Ok(()) => {}
        }
    }

    fn not_run(&mut self, name: &str) {
        let sentence = format!("the step \"{name}\" was not run: it needs a step that failed");
        self.failed(sentence, Vec::new());
    }

    fn failed(&mut self, sentence: String, tests: Vec<String>) {
        self.failed_steps.push(FailedStep { sentence, tests });
    }

    /// Prints what failed in each step and then the counts.
    ///
    /// # Errors
    /// How many steps failed, when one did.
    pub(crate) fn finish(self) -> Result<()> {
        for line in self.last_lines() {
            println!("{line}");
        }
        match self.failed_steps.len() {
            0 => Ok(()),
            1 => Err(Failure::new("1 step failed")),
            several => Err(Failure::new(format!("{several} steps failed"))),
        }
    }

    fn last_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &self.failed_steps {
            lines.push(format!("✗ {}", step.sentence));
            let named = step.tests.iter().take(NAMED_TESTS_MAX);
            lines.extend(named.map(|test| format!("    {test}")));
            if let Some(more @ 1..) = step.tests.len().checked_sub(NAMED_TESTS_MAX) {
                lines.push(format!("    and {more} more"));
            }
        }
        // A run that stopped before any test has nothing to count.
        if self.counts != TestCounts::default() {
            lines.push(self.counts.closing_line());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(lines: &[&str]) -> OutputReader {
        let mut reader = OutputReader::new(Runner::Nextest);
        lines.iter().for_each(|line| reader.read_line(line));
        reader
    }

    #[test]
    fn a_failed_step_does_not_keep_a_later_one_from_running() {
        let mut report = RunReport::default();
        let page: Option<()> = report.keep(Err(Failure::new("the step \"page\" failed")));
        let server = report.keep(Ok("server"));
        report.step_with("with the page", page, |()| -> Result<()> {
            panic!("what it needs is not there")
        });
        let red = ended(&[
            "FAIL [ 0.1s] (1/3) http::it rooms::a",
            "Summary [ 1.0s] 3 tests run: 2 passed, 1 failed",
        ]);
        report.tests_ended(
            "crates",
            Err(Failure::new("the step \"crates\" failed")),
            red,
        );
        let ran = report.step_with("with the server", server, Ok);
        assert_eq!(ran, Some("server"));
        let green = ended(&["Summary [ 1.0s] 4 tests run: 4 passed"]);
        report.tests_ended("units", Ok(()), green);
        assert_eq!(
            report.last_lines(),
            [
                "✗ the step \"page\" failed",
                "✗ the step \"with the page\" was not run: it needs a step that failed",
                "✗ the step \"crates\" failed",
                "    http::it rooms::a",
                "6 passed, 1 failed",
            ]
        );
        assert_eq!(report.finish().unwrap_err().to_string(), "3 steps failed");
    }

    #[test]
    fn a_runner_that_runs_no_test_failed() {
        let mut report = RunReport::default();
        report.tests_ended("units", Ok(()), ended(&[]));
        assert_eq!(report.last_lines(), ["✗ the step \"units\" ran no test"]);
    }

    #[test]
    fn a_green_run_ends_with_its_counts() {
        let mut report = RunReport::default();
        let green = ended(&["Summary [ 1.0s] 4 tests run: 4 passed, 2 skipped"]);
        report.tests_ended("crates", Ok(()), green);
        assert_eq!(report.last_lines(), ["4 passed, 0 failed, 2 skipped"]);
        report.finish().unwrap();
    }

    #[test]
    fn of_very_many_failures_some_are_named() {
        let mut report = RunReport::default();
        let tests = (0..NAMED_TESTS_MAX + 2).map(|number| number.to_string());
        report.failed("the step failed".into(), tests.collect());
        let lines = report.last_lines();
        assert_eq!(lines.len(), NAMED_TESTS_MAX + 2);
        assert_eq!(lines.last().unwrap(), "    and 2 more");
    }
}
