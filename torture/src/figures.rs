//! What a campaign counts, what it holds against the server, and the words it closes with.

use std::{collections::BTreeMap, fmt};

use serde_json::{Value, json};

use crate::{campaigns::Campaign, comparison::Finding};

/// Findings that are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// The figures of one campaign.
#[derive(Debug)]
pub(crate) struct Figures {
    campaign: Campaign,
    /// What decided its moments and faults.
    seed: u64,
    /// Why it did not run.
    skipped: Option<String>,
    /// Faults that were tried.
    pub(crate) attempts: u64,
    /// The fewest faults that a run of this length is worth.
    floor: u64,
    /// Faults that took effect.
    pub(crate) faults: u64,
    /// Changes that were acknowledged.
    pub(crate) acknowledgements: u64,
    /// What was acknowledged and is not there.
    lost: Vec<String>,
    /// Everything else that may not be.
    violations: Vec<String>,
    /// Further figures by what they count.
    counts: BTreeMap<&'static str, u64>,
}

impl Figures {
    pub(crate) fn new(campaign: Campaign, seed: u64, floor: u64) -> Self {
        Self {
            campaign,
            seed,
            skipped: None,
            attempts: 0,
            floor,
            faults: 0,
            acknowledgements: 0,
            lost: Vec::new(),
            violations: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// The same campaign, not run for a reason that a sentence gives.
    pub(crate) fn skipped(mut self, why: impl Into<String>) -> Self {
        self.skipped = Some(why.into());
        self
    }

    /// Adds to a further figure.
    pub(crate) fn count(&mut self, what: &'static str, more: u64) {
        *self.counts.entry(what).or_default() += more;
    }

    /// Takes what a comparison of this attempt found.
    pub(crate) fn take(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            let at = format!("seed {}, attempt {}", self.seed, self.attempts);
            match finding {
                Finding::Lost(what) => self.lost.push(format!("{at}: lost: {what}")),
                Finding::Violation(what) => self.violations.push(format!("{at}: {what}")),
                Finding::LeftFile(name) => {
                    let what = format!("{at}: {name} was left in the working folder");
                    self.violations.push(what);
                }
            }
        }
    }

    /// Holds something against the server.
    pub(crate) fn violated(&mut self, what: impl Into<String>) {
        self.take([Finding::Violation(what.into())]);
    }

    /// Whether nothing is held against the server, or the campaign did not run.
    pub(crate) fn is_clean(&self) -> bool {
        self.skipped.is_some()
            || (self.lost.is_empty() && self.violations.is_empty() && self.is_enough())
    }

    /// Whether nothing is held against the server so far.
    pub(crate) fn is_clean_so_far(&self) -> bool {
        self.lost.is_empty() && self.violations.is_empty()
    }

    fn is_enough(&self) -> bool {
        self.faults >= self.floor && self.acknowledgements > 0
    }

    fn json(&self) -> Value {
        json!({
            "campaign": self.campaign.name(), "skipped": self.skipped,
            "attempts": self.attempts, "floor": self.floor, "faults": self.faults,
            "acknowledgements": self.acknowledgements, "lost": self.lost.len(),
            "violations": self.violations.len(), "counts": self.counts,
            "findings": self.lost.iter().chain(&self.violations).take(SHOWN_MAX).collect::<Vec<_>>(),
            "clean": self.is_clean(),
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.campaign.name();
        if let Some(why) = &self.skipped {
            return write!(f, "{name}: skipped, attempts 0: {why}");
        }
        let findings = self.lost.iter().chain(&self.violations);
        for finding in findings.take(SHOWN_MAX) {
            writeln!(f, "✗ {name}, {finding}")?;
        }
        let all = self.lost.len() + self.violations.len();
        if let Some(more @ 1..) = all.checked_sub(SHOWN_MAX) {
            writeln!(f, "and {more} more findings")?;
        }
        if !self.is_enough() {
            writeln!(
                f,
                "✗ {name}: too little: {} faults, at least {} are wanted, with at least 1 acknowledgement",
                self.faults, self.floor
            )?;
        }
        write!(
            f,
            "{name}: seed {}, attempts {} (at least {}), {} {}, acknowledgements {}, lost {}, violations {}",
            self.seed,
            self.attempts,
            self.floor,
            self.campaign.faults_word(),
            self.faults,
            self.acknowledgements,
            self.lost.len(),
            self.violations.len()
        )?;
        for (what, count) in &self.counts {
            write!(f, ", {what} {count}")?;
        }
        Ok(())
    }
}

/// All figures as one line.
pub(crate) fn json(seed: u64, all: &[Figures]) -> Value {
    let campaigns: Vec<Value> = all.iter().map(Figures::json).collect();
    json!({"seed": seed, "campaigns": campaigns, "clean": all.iter().all(Figures::is_clean)})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::new(Campaign::Kill, 7, 2);
        (figures.attempts, figures.faults, figures.acknowledgements) = (2, 2, 9);
        figures
    }

    #[test]
    fn a_run_is_clean_where_nothing_was_found_and_enough_was_tried() {
        assert!(figures().is_clean());
        let mut idle = figures();
        idle.faults = 1;
        assert!(!idle.is_clean());
        let mut lossy = figures();
        lossy.take([Finding::Lost("a post".to_owned())]);
        assert!(!lossy.is_clean());
        let mut untidy = figures();
        untidy.take([Finding::LeftFile("notes".to_owned())]);
        assert!(!untidy.is_clean());
        let told = lossy.to_string();
        assert!(
            told.contains("✗ kill, seed 7, attempt 2: lost: a post"),
            "{told}"
        );
        assert!(told.contains("lost 1, violations 0"), "{told}");
        let skipped = Figures::new(Campaign::Power, 7, 2).skipped("there is no mount");
        assert!(skipped.is_clean());
        assert_eq!(
            skipped.to_string(),
            "power: skipped, attempts 0: there is no mount"
        );
    }
}
