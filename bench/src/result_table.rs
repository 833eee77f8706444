//! The table: each row's figure beside the limit measured in the same run and the target.

use std::fmt;

use serde_json::{Value, json};

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measurement {
    /// How often a second.
    PerSecond(f64),
    /// Milliseconds.
    Millis(f64),
    /// Microseconds.
    Micros(f64),
    /// Units of 1,024 bytes.
    Kib(f64),
    /// Units of 1,024 × 1,024 bytes.
    Mib(f64),
    /// Units of 1,000,000 bytes.
    Mb(f64),
    /// Units of 1,000,000 bytes a second.
    MbPerSecond(f64),
}

impl Measurement {
    fn value(self) -> f64 {
        match self {
            Self::PerSecond(value)
            | Self::Millis(value)
            | Self::Micros(value)
            | Self::Kib(value)
            | Self::Mib(value)
            | Self::Mb(value)
            | Self::MbPerSecond(value) => value,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::PerSecond(_) => "/s",
            Self::Millis(_) => "ms",
            Self::Micros(_) => "µs",
            Self::Kib(_) => "KiB",
            Self::Mib(_) => "MiB",
            Self::Mb(_) => "MB",
            Self::MbPerSecond(_) => "MB/s",
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = (self.value(), self.unit());
        let digits = match value.abs() {
            _ if value.fract() == 0.0 => 0,
            size if size >= 100.0 => 0,
            size if size >= 10.0 => 1,
            _ => 2,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// What a row is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// The figure is at least this.
    AtLeast(Measurement),
    /// The figure is at most this.
    AtMost(Measurement),
    /// The figure is at least this share of the limit.
    ShareAtLeast(f64),
    /// The figure is at most this many times the limit.
    TimesAtMost(f64),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(amount) => write!(f, "≥ {amount}"),
            Self::AtMost(amount) => write!(f, "≤ {amount}"),
            Self::ShareAtLeast(share) => write!(f, "≥ {share} × limit"),
            Self::TimesAtMost(times) => write!(f, "≤ {times} × limit"),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct ResultRow {
    /// What was done.
    pub(crate) work: String,
    /// What it gave.
    pub(crate) measured: Measurement,
    /// What the machine gives without the server, and what that is; not every row has one.
    pub(crate) limit: Option<(Measurement, &'static str)>,
    /// What the figure is to reach; all of them.
    pub(crate) targets: Vec<Target>,
}

impl ResultRow {
    fn ratio(&self) -> Option<f64> {
        self.limit
            .map(|(limit, _)| self.measured.value() / limit.value())
    }

    fn is_met(&self) -> bool {
        self.targets.iter().all(|target| match target {
            Target::AtLeast(amount) => self.measured.value() >= amount.value(),
            Target::AtMost(amount) => self.measured.value() <= amount.value(),
            Target::ShareAtLeast(share) => self.ratio().is_some_and(|ratio| ratio >= *share),
            Target::TimesAtMost(times) => self.ratio().is_some_and(|ratio| ratio <= *times),
        })
    }

    fn target(&self) -> String {
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        targets.join(", ")
    }

    fn met(&self) -> &'static str {
        match (self.targets.is_empty(), self.is_met()) {
            (true, _) => "",
            (false, true) => "yes",
            (false, false) => "no",
        }
    }

    fn cells(&self) -> [String; 6] {
        [
            self.work.clone(),
            self.measured.to_string(),
            self.limit
                .map_or(String::new(), |(limit, name)| format!("{limit} {name}")),
            self.ratio()
                .map_or(String::new(), |ratio| format!("{ratio:.2}")),
            self.target(),
            self.met().to_owned(),
        ]
    }

    fn to_json(&self) -> Value {
        let amount =
            |amount: Measurement| json!({ "value": amount.value(), "unit": amount.unit() });
        json!({
            "work": self.work,
            "measured": amount(self.measured),
            "limit": self.limit.map(|(limit, name)| {
                json!({ "is": name, "value": limit.value(), "unit": limit.unit() })
            }),
            "ratio": self.ratio(),
            "target": self.target(),
            "met": (!self.targets.is_empty()).then(|| self.is_met()),
        })
    }
}

/// The rows as text with aligned columns.
pub(crate) fn text(rows: &[ResultRow]) -> String {
    let head = ["Work", "Measured", "Limit", "Ratio", "Target", "Met"].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head)
        .chain(rows.iter().map(ResultRow::cells))
        .collect();
    let mut widths = [0; 6];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        for (width, cell) in widths.iter().zip(line) {
            let gap = width - cell.chars().count() + 2;
            text.push_str(cell);
            text.push_str(&" ".repeat(gap));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The rows as JSON.
pub(crate) fn json(rows: &[ResultRow]) -> Vec<Value> {
    rows.iter().map(ResultRow::to_json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_met_when_every_target_is() {
        let mut row = ResultRow {
            work: "posts".to_owned(),
            measured: Measurement::PerSecond(6_000.0),
            limit: Some((Measurement::PerSecond(30_000.0), "bare")),
            targets: vec![Target::AtLeast(Measurement::PerSecond(5_000.0))],
        };
        assert!(row.is_met());
        row.targets.push(Target::ShareAtLeast(0.3));
        assert!(!row.is_met());
        assert_eq!(
            text(&[row]),
            "Work   Measured  Limit          Ratio  Target                    Met\n\
             posts  6000 /s   30000 /s bare  0.20   ≥ 5000 /s, ≥ 0.3 × limit  no\n"
        );
    }
}
