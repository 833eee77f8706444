//! Reads what a test runner prints: how many tests passed, failed and were skipped, and the names
//! of those that failed.

use std::ops::Add;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Add for TestCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl TestCounts {
    /// The last line of a run.
    pub(crate) fn closing_line(self) -> String {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        match skipped {
            0 => format!("{passed} passed, {failed} failed"),
            skipped => format!("{passed} passed, {failed} failed, {skipped} skipped"),
        }
    }
}

/// A program that runs tests, by the form of its output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runner {
    /// `Summary [ 1.2s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 2 skipped`;
    /// `FAIL [ 0.1s] (3/9) package::binary test`
    Nextest,
    /// `test result: FAILED. 9 passed; 1 failed; 2 ignored; 0 measured; …`, once per test binary;
    /// `    test`, a line each below `failures:`
    Cargo,
    /// `Tests  1 failed | 9 passed | 2 skipped (12)`; `FAIL  file > suite > test`
    Vitest,
    /// `9 passed (4.1s)`, `1 failed` and `2 skipped`, each alone on a line; `1) file:3:1 › test`
    Playwright,
}

/// Reads the output of one runner, line by line.
#[derive(Debug)]
pub(crate) struct OutputReader {
    runner: Runner,
    pub(crate) counts: TestCounts,
    /// The names of the tests that failed, each once, in the order of the output.
    pub(crate) failed_tests: Vec<String>,
    /// Whether the last line belongs to `cargo test`'s list of failures.
    is_in_failures: bool,
}

impl OutputReader {
    pub(crate) fn new(runner: Runner) -> Self {
        Self {
            runner,
            counts: TestCounts::default(),
            failed_tests: Vec::new(),
            is_in_failures: false,
        }
    }

    pub(crate) fn read_line(&mut self, line: &str) {
        let line = without_colours(line);
        let line = line.trim_end();
        self.counts = self.counts + self.runner.counts_in(line.trim());
        if let Some(name) = self.failed_test_in(line)
            && !self.failed_tests.contains(&name)
        {
            self.failed_tests.push(name);
        }
    }

    /// The name of the test that `line` says failed.
    fn failed_test_in(&mut self, line: &str) -> Option<String> {
        let name = match self.runner {
            Runner::Nextest => nextest_failure(line.trim())?,
            Runner::Cargo => {
                if !line.starts_with(' ') && !line.is_empty() {
                    self.is_in_failures = line == "failures:";
                    return None;
                }
                let name = line.strip_prefix("    ").filter(|_| self.is_in_failures)?;
                // The lines of a panic can be indented too, but hold other signs.
                let is_in_path = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
                let is_test = name.chars().all(is_in_path) || name.contains(" (line ");
                Some(name).filter(|_| is_test)?
            }
            Runner::Vitest => line.trim().strip_prefix("FAIL ")?.trim(),
            Runner::Playwright => playwright_failure(line.trim())?,
        };
        (!name.is_empty()).then(|| name.to_owned())
    }
}

impl Runner {
    /// What one line adds: nothing, unless it is a closing line of this runner.
    fn counts_in(self, line: &str) -> TestCounts {
        if !self.closes_with(line) {
            return TestCounts::default();
        }
        let failed = ["failed", "timed out", "interrupted", "did not run"];
        TestCounts {
            passed: number_before(line, "passed"),
            failed: failed.iter().map(|word| number_before(line, word)).sum(),
            skipped: number_before(line, "skipped") + number_before(line, "ignored"),
        }
    }

    /// Whether `line` is a closing line of this runner.
    fn closes_with(self, line: &str) -> bool {
        match self {
            Self::Nextest => line.starts_with("Summary ["),
            Self::Cargo => line.starts_with("test result: "),
            Self::Vitest => line.starts_with("Tests "),
            Self::Playwright => is_playwright_total(line),
        }
    }
}

/// `FAIL [ 0.1s] (3/9) package::binary test`: the state in capitals, the time, the test.
fn nextest_failure(line: &str) -> Option<&str> {
    let (state, rest) = line.split_once(" [")?;
    let is_failure = state == "FAIL"
        || state == "ABORT"
        || state == "TIMEOUT"
        || state == "LEAK-FAIL"
        || state.starts_with("SIG");
    let (_, name) = rest.split_once(']').filter(|_| is_failure)?;
    let name = name.trim();
    match name.strip_prefix('(') {
        Some(numbered) => numbered.split_once(')').map(|(_, name)| name.trim()),
        None => Some(name),
    }
}

/// `1) file:3:1 › test ────`.
fn playwright_failure(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let is_numbered = !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit());
    let is_test = is_numbered && name.contains(" › ");
    is_test.then(|| name.trim_end_matches([' ', '─']))
}

/// A number, one word or a few, and at most a duration in brackets.
fn is_playwright_total(line: &str) -> bool {
    let Some((number, rest)) = line.split_once(' ') else {
        return false;
    };
    let word = rest.split_once(" (").map_or(rest, |(word, _)| word);
    let words = ["passed", "failed", "skipped", "interrupted", "did not run"];
    number.parse::<u64>().is_ok() && words.contains(&word)
}

/// The number directly before `word`; 0 when there is none.
fn number_before(line: &str, word: &str) -> u64 {
    let before = line.match_indices(word).find_map(|(at, _)| {
        let number = line[..at].strip_suffix(' ')?;
        number.rsplit([' ', '(']).next()?.parse().ok()
    });
    before.unwrap_or(0)
}

/// Drops the escape sequences that colour a terminal.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // A sequence ends with its first letter; what stands before is its parameters.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(runner: Runner, text: &str) -> (TestCounts, Vec<String>) {
        let mut reader = OutputReader::new(runner);
        text.lines().for_each(|line| reader.read_line(line));
        (reader.counts, reader.failed_tests)
    }

    fn counts(passed: u64, failed: u64, skipped: u64) -> TestCounts {
        TestCounts {
            passed,
            failed,
            skipped,
        }
    }

    #[test]
    fn nextest_is_read_from_its_summary_even_in_colour() {
        let text = "  PASS [ 0.01s] a b\n\u{1b}[32;1m     Summary\u{1b}[0m [   2.5s] \u{1b}[1m12\u{1b}[0m tests run: \u{1b}[1m12\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m (1 slow), \u{1b}[1m3\u{1b}[0m skipped";
        assert_eq!(read(Runner::Nextest, text), (counts(12, 0, 3), vec![]));
    }

    #[test]
    fn nextest_names_what_failed_once() {
        let text = "        FAIL [   0.005s] (1/4) one::it rooms::a\n\
                    \u{20}    TIMEOUT [ 180.0s] (2/4) one::it rooms::b\n\
                    \u{20}    SIGABRT [   0.1s] two c\n\
                    \u{20}    Summary [   2.5s] 4 tests run: 1 passed, 2 failed, 1 timed out, 9 skipped\n\
                    \u{20}       FAIL [   0.005s] (1/4) one::it rooms::a";
        let names = ["one::it rooms::a", "one::it rooms::b", "two c"];
        let names = names.map(str::to_owned).to_vec();
        assert_eq!(read(Runner::Nextest, text), (counts(1, 3, 9), names));
    }

    #[test]
    fn cargo_test_is_added_up_over_its_binaries() {
        let text = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                    test passed ... ok\n\
                    test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(read(Runner::Cargo, text), (counts(7, 0, 1), vec![]));
    }

    #[test]
    fn cargo_test_names_what_failed() {
        let text = "failures:\n\n---- rooms::a stdout ----\nthread panicked at x.rs:1:\n    left: 1\n\n\
                    failures:\n    rooms::a\n    src/lib.rs - open (line 12)\n\n\
                    test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n    rooms::b";
        let names = ["rooms::a", "src/lib.rs - open (line 12)"];
        let names = names.map(str::to_owned).to_vec();
        assert_eq!(read(Runner::Cargo, text), (counts(5, 2, 0), names));
    }

    #[test]
    fn vitest_is_read_by_tests_and_not_by_files() {
        let text = " FAIL  src/a.test.ts > rooms > one\n Test Files  2 passed (2)\n      Tests  1 failed | 9 passed | 2 skipped (12)";
        let names = vec!["src/a.test.ts > rooms > one".to_owned()];
        assert_eq!(read(Runner::Vitest, text), (counts(9, 1, 2), names));
    }

    #[test]
    fn playwright_is_read_from_its_totals() {
        let text = "Running 9 tests using 1 worker\n  1) a.spec.ts:3:1 › rooms › one ─────\n\n    1) not a test\n  1 failed\n    a.spec.ts:3:1 › rooms › one ──\n  1 skipped\n  2 did not run\n  7 passed (4.1s)\n  3 passed things in a title";
        let names = vec!["a.spec.ts:3:1 › rooms › one".to_owned()];
        assert_eq!(read(Runner::Playwright, text), (counts(7, 3, 1), names));
    }

    #[test]
    fn the_closing_line_names_what_was_skipped() {
        assert_eq!(counts(4, 0, 0).closing_line(), "4 passed, 0 failed");
        assert_eq!(
            counts(4, 1, 2).closing_line(),
            "4 passed, 1 failed, 2 skipped"
        );
    }
}
