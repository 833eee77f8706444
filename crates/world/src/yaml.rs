//! YAML from strangers, within budgets; the one place that knows YAML.
//!
//! A few kilobytes of aliases can stand for gigabytes, so what a document becomes is bounded, not
//! what it is written in.

use guildhall_domain::limits::connectors::OPENAPI_DOCUMENT_VALUES_MAX;
use serde_json::Value;
use serde_saphyr::{Options, alias_limits, budget, options};

/// How deep a document may nest.
const DEPTH_MAX: usize = 64;

/// What a document may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YamlLimits {
    /// A page of settings, such as the front matter of a command: nothing stands in two places.
    FrontMatter,
    /// A whole document, whose parts may stand in several places.
    Document,
}

impl YamlLimits {
    /// Nodes, repeated ones included.
    const fn nodes_max(self) -> usize {
        match self {
            Self::FrontMatter => 1_000,
            Self::Document => OPENAPI_DOCUMENT_VALUES_MAX,
        }
    }

    const fn aliases_max(self) -> usize {
        match self {
            Self::FrontMatter => 0,
            Self::Document => 10_000,
        }
    }

    fn options(self) -> Options {
        let nodes = self.nodes_max();
        let aliases = self.aliases_max();
        options! {
            budget: budget! {
                max_depth: DEPTH_MAX,
                flow_nesting_limit: DEPTH_MAX,
                max_nodes: nodes,
                max_events: nodes * 3,
                max_aliases: aliases,
                max_anchors: aliases,
                max_recorded_anchor_events: nodes,
            },
            alias_limits: alias_limits! {
                max_total_replayed_events: nodes.min(100_000),
            },
            strict_booleans: true,
            reject_unsupported_tags: true,
            with_snippet: false,
        }
    }
}

/// One document as JSON; names that are numbers or booleans are texts.
///
/// # Errors
/// What is wrong with it, for people: no YAML, what JSON does not have, or more than its extent.
pub(crate) fn read(bytes: &[u8], extent: YamlLimits) -> Result<Value, String> {
    let read = serde_saphyr::from_slice_with_options(bytes, extent.options());
    read.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_becomes_json_and_nothing_else() {
        let yaml = b"a: 3.0.0\n200: {}\ntrue: [1, 1.5, -2]\nb: yes\nc: !!str 5\nd: |\n  x\n  y\n";
        let expected = json!({"a": "3.0.0", "200": {}, "true": [1, 1.5, -2], "b": "yes", "c": "5",
            "d": "x\ny\n"});
        assert_eq!(read(yaml, YamlLimits::Document).unwrap(), expected);
        for extent in [YamlLimits::FrontMatter, YamlLimits::Document] {
            assert_eq!(read(b"", extent).unwrap(), Value::Null);
            for wrong in [
                &b"a: !own 1"[..],
                b"a: .nan",
                b"a: 1\na: 2",
                b"a\n---\nb",
                b"\xff\xfe",
                b"a: [1",
                b"? [a]\n: 1",
            ] {
                let text = String::from_utf8_lossy(wrong);
                assert!(read(wrong, extent).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn aliases_are_for_documents() {
        let yaml = b"a: &a {b: 1}\nc: *a\n";
        let expected = json!({"a": {"b": 1}, "c": {"b": 1}});
        assert_eq!(read(yaml, YamlLimits::Document).unwrap(), expected);
        assert!(read(yaml, YamlLimits::FrontMatter).is_err());
        assert!(read(b"a: &a 1\n", YamlLimits::FrontMatter).is_err());
    }

    #[test]
    fn what_multiplies_or_nests_without_end_is_refused() {
        let mut multiplied = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = format!("*a{}, ", n - 1).repeat(10);
            multiplied.push_str(&format!("a{n}: &a{n} [{before}]\n"));
        }
        let wide = format!(
            "a: &a [{}]\nb: [{}]\n",
            "1,".repeat(9_000),
            "*a,".repeat(4_000)
        );
        let deep = "[".repeat(200_000);
        let nested = (0..2_000)
            .map(|n| " ".repeat(n) + "a:\n")
            .collect::<String>();
        let long = "- x\n".repeat(500_000);
        for hostile in [&multiplied, &wide, &deep, &nested, &long] {
            assert!(read(hostile.as_bytes(), YamlLimits::Document).is_err());
            assert!(read(hostile.as_bytes(), YamlLimits::FrontMatter).is_err());
        }
        let whole = "- x\n".repeat(300_000);
        assert!(read(whole.as_bytes(), YamlLimits::Document).is_ok());
    }
}
