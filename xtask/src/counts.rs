//! Counts: how many tests ran, read from the closing lines of their runners.
//! Failures are not counted: a runner with a failure stops the verb.

use std::ops::Add;

/// How many tests passed and how many were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Ran and held.
    pub(crate) passed: u64,
    /// Did not run.
    pub(crate) skipped: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Counts {
    /// The closing line of a green run.
    pub(crate) fn closing_line(self) -> String {
        match self.skipped {
            0 => format!("{} passed, 0 failed", self.passed),
            skipped => format!("{} passed, 0 failed, {skipped} skipped", self.passed),
        }
    }
}

/// Whose closing lines are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runner {
    /// `Summary [ 1.2s] 9 tests run: 9 passed (1 slow), 2 skipped`
    Nextest,
    /// `test result: ok. 9 passed; 0 failed; 2 ignored; 0 measured; …`, once per test binary
    Cargo,
    /// `Tests  9 passed | 2 skipped (11)`
    Vitest,
    /// `9 passed (4.1s)`, `2 skipped` and `1 flaky`, each alone on a line
    Playwright,
}

impl Runner {
    /// What one line adds: nothing, unless it is a closing line of this runner.
    pub(crate) fn counts_in(self, line: &str) -> Counts {
        let line = without_colours(line);
        let line = line.trim();
        if !self.closes_with(line) {
            return Counts::default();
        }
        Counts {
            // A flaky test passed when it was tried again.
            passed: number_before(line, "passed") + number_before(line, "flaky"),
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

/// A number, one word, and at most a duration in brackets.
fn is_playwright_total(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    let word = matches!(words.next(), Some("passed" | "skipped" | "flaky"));
    number && word && words.next().is_none_or(|rest| rest.starts_with('('))
}

/// The number that stands directly before `word`; 0 when there is none.
fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line
        .split([' ', ',', ';'])
        .filter(|part| !part.is_empty())
        .collect();
    words
        .windows(2)
        .find(|pair| pair[1] == word)
        .and_then(|pair| pair[0].trim_start_matches('(').parse().ok())
        .unwrap_or(0)
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

    fn read(runner: Runner, text: &str) -> Counts {
        text.lines()
            .fold(Counts::default(), |sum, line| sum + runner.counts_in(line))
    }

    #[test]
    fn nextest_is_read_from_its_summary_even_in_colour() {
        let text = "  PASS [ 0.01s] a b\n\u{1b}[32;1m     Summary\u{1b}[0m [   2.5s] \u{1b}[1m12\u{1b}[0m tests run: \u{1b}[1m12\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m (1 slow), \u{1b}[1m3\u{1b}[0m skipped";
        assert_eq!(
            read(Runner::Nextest, text),
            Counts {
                passed: 12,
                skipped: 3
            }
        );
    }

    #[test]
    fn cargo_test_is_added_up_over_its_binaries() {
        let text = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                    test passed ... ok\n\
                    test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(
            read(Runner::Cargo, text),
            Counts {
                passed: 7,
                skipped: 1
            }
        );
    }

    #[test]
    fn vitest_is_read_by_tests_and_not_by_files() {
        let text = " Test Files  2 passed (2)\n      Tests  9 passed | 2 skipped (11)";
        assert_eq!(
            read(Runner::Vitest, text),
            Counts {
                passed: 9,
                skipped: 2
            }
        );
    }

    #[test]
    fn playwright_counts_a_flaky_test_as_passed() {
        let text = "Running 9 tests using 1 worker\n  1 flaky\n  1 skipped\n  7 passed (4.1s)\n  3 passed things in a title";
        assert_eq!(
            read(Runner::Playwright, text),
            Counts {
                passed: 8,
                skipped: 1
            }
        );
    }

    #[test]
    fn the_closing_line_names_what_was_left_out() {
        assert_eq!(
            Counts {
                passed: 4,
                skipped: 0
            }
            .closing_line(),
            "4 passed, 0 failed"
        );
        assert_eq!(
            Counts {
                passed: 4,
                skipped: 2
            }
            .closing_line(),
            "4 passed, 0 failed, 2 skipped"
        );
    }
}
