//! Rule: areas of the hall do not import each other, but for a few crossings that say why.
//!
//! The crossings stand twice, here and in docs/crossings.md under "Crossings" as lines
//! `- rooms → members: why`, and both must say the same. What a test imports is its own affair.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::rust_tokens::{self, Token};
use super::workspace_tree::WorkspaceTree;

/// Where the areas are: one file or folder each.
const HALL: &str = "crates/hall/src/";

/// Modules that are no area: every area may import them, and they may import areas.
const INFRASTRUCTURE: &[&str] = &[
    "lib",
    "tasks",
    "callers",
    "start",
    "visibility",
    "retention",
    "idempotency",
    "passwords",
    "file_io_pool",
    "tries",
    "blobs",
    "garbage_collection",
    "file_changes",
    "launch_config",
    "oauth_callback",
];

/// Which area imports which, each for a reason given in docs/crossings.md.
const CROSSINGS: &[(&str, &str)] = &[
    ("accounts", "authors"),
    ("accounts", "members"),
    ("accounts", "sign_ins"),
    ("agents", "approvals"),
    ("agents", "authors"),
    ("agents", "mcp_servers"),
    ("agents", "members"),
    ("agents", "rooms"),
    ("agents", "runtimes"),
    ("agents", "sessions"),
    ("agents", "agent_tokens"),
    ("agents", "turns"),
    ("authors", "rooms"),
    ("approvals", "mcp_servers"),
    ("canvas", "entries"),
    ("canvas", "files"),
    ("canvas", "turns"),
    ("connectors", "approvals"),
    ("entries", "attachments"),
    ("entries", "turns"),
    ("interactions", "sessions"),
    ("interactions", "turns"),
    ("mcp_gateway", "approvals"),
    ("mcp_gateway", "interactions"),
    ("mcp_gateway", "mcp_servers"),
    ("mcp_gateway", "sessions"),
    ("mcp_servers", "approvals"),
    ("mcp_servers", "mcp_signins"),
    ("mcp_signins", "mcp_servers"),
    ("mcp_signins", "sessions"),
    ("members", "canvas"),
    ("members", "rooms"),
    ("members", "turns"),
    ("revived", "accounts"),
    ("revived", "api_keys"),
    ("revived", "agent_tokens"),
    ("rooms", "members"),
    ("rooms", "turns"),
    ("sessions", "agents"),
    ("sessions", "interactions"),
    ("sessions", "mcp_gateway"),
    ("sessions", "runtimes"),
    ("sessions", "agent_tokens"),
    ("sessions", "turns"),
    ("settings", "runtimes"),
    ("streams", "interactions"),
    ("streams", "rooms"),
    ("turns", "entries"),
    ("turns", "runtimes"),
    ("turns", "sessions"),
];

/// The document that gives the reasons.
const DOCUMENT: &str = "docs/crossings.md";

/// One area that imports another.
type Crossing = (String, String);

/// Finds imports that no crossing allows, and crossings that the document tells otherwise.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    check_against(tree, CROSSINGS)
}

fn check_against(tree: &WorkspaceTree, allowed: &[(&str, &str)]) -> Vec<Finding> {
    let allowed: BTreeSet<Crossing> = allowed
        .iter()
        .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
        .collect();
    let imports = imports_in(tree);
    let mut found: Vec<Finding> = imports
        .iter()
        .filter(|import| !allowed.contains(&import.crossing))
        .map(AreaImport::finding)
        .collect();
    for (from, to) in &allowed {
        if !imports
            .iter()
            .any(|import| import.crossing.0 == *from && import.crossing.1 == *to)
        {
            let says = format!(
                "the crossing {from} → {to} is no longer used: take it out of hall_areas.rs"
            );
            found.push(Finding::of_file(DOCUMENT, says));
        }
    }
    found.extend(differences(tree, &allowed));
    found
}

/// What the document and this file do not say alike; nothing when the document has no such section.
fn differences(tree: &WorkspaceTree, allowed: &BTreeSet<Crossing>) -> Vec<Finding> {
    let Some(told) = tree
        .files
        .get(DOCUMENT)
        .and_then(|text| crossings_told(text))
    else {
        return Vec::new();
    };
    let untold = allowed
        .difference(&told)
        .map(|(from, to)| format!("tell why {from} → {to} under Crossings"));
    let unknown = told
        .difference(allowed)
        .map(|(from, to)| format!("{from} → {to} stands under Crossings but not in hall_areas.rs"));
    untold
        .chain(unknown)
        .map(|says| Finding::of_file(DOCUMENT, says))
        .collect()
}

/// The crossings that the document's section lists, `None` when it has no such section.
fn crossings_told(document: &str) -> Option<BTreeSet<Crossing>> {
    let is_heading = |line: &&str| line.starts_with('#');
    let mut lines = document.lines();
    lines.find(|line| is_heading(line) && line.trim_start_matches('#').trim() == "Crossings")?;
    let section = lines.take_while(|line| !is_heading(line));
    let crossings = section.filter_map(|line| {
        let (pair, why) = line.strip_prefix("- ")?.split_once(':')?;
        let (from, to) = pair.split_once('→')?;
        let name = |text: &str| text.trim().trim_matches('`').to_owned();
        (!why.trim().is_empty()).then(|| (name(from), name(to)))
    });
    Some(crossings.collect())
}

/// One place where an area names another.
struct AreaImport {
    crossing: Crossing,
    path: String,
    line: usize,
}

impl AreaImport {
    fn finding(&self) -> Finding {
        let (from, to) = &self.crossing;
        let says = format!(
            "the area `{from}` must not import `{to}`: pass the value in, or add a crossing that says why"
        );
        Finding::of_line(&self.path, self.line, says)
    }
}

/// Every place where an area names another.
fn imports_in(tree: &WorkspaceTree) -> Vec<AreaImport> {
    let files: Vec<_> = tree
        .rust_sources()
        .filter(|(path, _)| path.starts_with(HALL))
        .collect();
    let areas: BTreeSet<&str> = files.iter().filter_map(|(path, _)| area_of(path)).collect();
    let root = format!("{HALL}lib.rs");
    let reexported = tree
        .files
        .get(&root)
        .map(|text| reexports(text, &areas))
        .unwrap_or_default();
    let mut imports = Vec::new();
    for (path, text) in files {
        let Some(from) = area_of(path) else { continue };
        for (name, line) in crate_names(path, text) {
            let to = areas
                .get(name.as_str())
                .map(|area| (*area).to_owned())
                .or_else(|| reexported.get(&name).cloned());
            if let Some(to) = to.filter(|to| to != from) {
                imports.push(AreaImport {
                    crossing: (from.to_owned(), to),
                    path: path.to_owned(),
                    line,
                });
            }
        }
    }
    imports
}

/// The area a file of the hall belongs to, `None` for infrastructure and files of tests.
fn area_of(path: &str) -> Option<&str> {
    let below = path.strip_prefix(HALL)?.strip_suffix(".rs")?;
    let name = below.split('/').next()?;
    let is_test = below.ends_with("tests");
    (!is_test && !INFRASTRUCTURE.contains(&name)).then_some(name)
}

/// Names that the crate's root hands on from an area: `pub use rooms::Room` makes `crate::Room`.
fn reexports(root: &str, areas: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let code = rust_tokens::code_only(root);
    let tokens = rust_tokens::tokens(&code);
    let mut names = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let mut rest = tokens
            .iter()
            .skip(at + 1)
            .skip_while(|token| matches!(token.text, "crate" | "self" | "::"));
        let Some(area) = rest
            .next()
            .filter(|area| token.text == "use" && areas.contains(area.text))
        else {
            continue;
        };
        let tree: Vec<_> = rest.take_while(|token| token.text != ";").collect();
        for (at, leaf) in tree.iter().enumerate() {
            let is_inner = tree
                .get(at + 1)
                .is_some_and(|next| matches!(next.text, "::" | "as"));
            if leaf.is_word() && !is_inner {
                names.insert(leaf.text.to_owned(), area.text.to_owned());
            }
        }
    }
    names
}

/// Every name that a file takes from the crate's root, with its line.
fn crate_names(path: &str, text: &str) -> Vec<(String, usize)> {
    let code = rust_tokens::code_only(text);
    let tokens = rust_tokens::tokens(&code);
    let mut names = Vec::new();
    // For each open brace, whether a module opened it.
    let mut braces = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let Some(end) = test_module_end(&tokens, at) {
            at = end;
            continue;
        }
        match token.text {
            "{" => braces.push(at >= 2 && tokens[at - 2].text == "mod"),
            "}" => drop(braces.pop()),
            _ => {}
        }
        let depth = file_depth(path) + braces.iter().filter(|is_module| **is_module).count();
        if let Some(after) = root_path_end(&tokens, at, depth) {
            names.extend(first_names(&tokens, after));
            at = after;
        } else {
            at += 1;
        }
    }
    names
}

/// How many modules deep a file's own items are: 1 in `rooms.rs`, 2 in `rooms/entries.rs`.
fn file_depth(path: &str) -> usize {
    let below = path.strip_prefix(HALL).unwrap_or(path);
    below.split('/').filter(|part| *part != "mod.rs").count()
}

/// Where a path to the crate's root ends that begins at `at`: `crate::`, or as many `super::` as
/// the place is deep.
fn root_path_end(tokens: &[Token<'_>], at: usize, depth: usize) -> Option<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    if text(at) == "crate" && text(at + 1) == "::" {
        return Some(at + 2);
    }
    let continues = at >= 2 && text(at - 1) == "::" && text(at - 2) == "super";
    let supers = (0..)
        .take_while(|step| text(at + 2 * step) == "super" && text(at + 2 * step + 1) == "::")
        .count();
    (!continues && supers == depth && supers > 0).then_some(at + 2 * supers)
}

/// The first names of the paths at `at`: one, or those of a list in braces.
fn first_names(tokens: &[Token<'_>], at: usize) -> Vec<(String, usize)> {
    let name = |token: &Token<'_>| (token.text.to_owned(), token.line);
    match tokens.get(at) {
        Some(token) if token.is_word() => vec![name(token)],
        Some(token) if token.text == "{" => {
            let end = matching_brace(tokens, at);
            let mut depth = 0_usize;
            let mut names = Vec::new();
            for pair in tokens.get(at..end).unwrap_or_default().windows(2) {
                match pair[0].text {
                    "{" => depth += 1,
                    "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 1 && matches!(pair[0].text, "{" | ",") && pair[1].is_word() {
                    names.push(name(&pair[1]));
                }
            }
            names
        }
        _ => Vec::new(),
    }
}

/// Where a `#[cfg(test)] mod … { … }` ends that begins at `at`.
fn test_module_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let texts = tokens.get(at..at + MARK.len() + 3)?;
    let is_marked = texts
        .iter()
        .zip(MARK)
        .all(|(token, mark)| token.text == mark);
    let is_module = texts[MARK.len()].text == "mod" && texts[MARK.len() + 2].text == "{";
    (is_marked && is_module).then(|| matching_brace(tokens, at + MARK.len() + 2) + 1)
}

/// Where the brace closes that opens at `at`; the end of the file when it does not.
fn matching_brace(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}

#[cfg(test)]
#[path = "hall_areas_tests.rs"]
mod tests;
