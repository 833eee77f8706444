//! OpenAPI documents: which operations they hold and how each is asked.
//! A document of 3.0 or 3.1 that stands for itself; what points outside of it is refused.
//! Pure: fetching one is `world::connectors`. Source: contract 5.1 and 5.3.

mod operation_binding;
mod read_budget;
mod schemas;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Map, Value};
use url::Url;

pub(super) use self::operation_binding::is_header;
use self::{
    read_budget::ReadBudget,
    schemas::{OpenapiVersion, unescaped},
};
use super::{
    classification::RetryPolicy,
    operations::{HttpMethod, Operation, OperationBinding, OperationListing},
    refusals::ValidationProblem,
    toolkits::ToolkitAuth,
};
use crate::limits::connectors as limits;

/// Members that hold what is shown or compared, and never references.
const VALUES: [&str; 5] = ["example", "examples", "default", "enum", "const"];
/// Members of a path that hold operations which are never run.
const OTHER_METHODS: [&str; 2] = ["options", "trace"];
/// References that are followed one after the other.
const REFERENCES_MAX: usize = 16;
/// Bytes of one reference.
const REFERENCE_BYTES_MAX: usize = 2 << 10;
/// Characters of a problem's place and of its message.
const PROBLEM_CHARS_MAX: usize = 500;
/// Bytes of a server's address, before and after its variables are filled in.
const SERVER_BYTES_MAX: usize = 2_048;

/// What a document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenapiDocument {
    /// Its `info.version`.
    pub version: String,
    /// Where its first server answers, as it is written.
    pub server: Option<String>,
    /// What it can do, in the order of paths and methods.
    pub listed: OperationListing,
}

/// Why there is no [`OpenapiDocument`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenapiError {
    /// What is wrong with it, at most [`limits::CONNECTOR_PROBLEMS_MAX`] problems.
    Invalid(Vec<ValidationProblem>),
    /// The reading was stopped.
    Stopped,
}

/// Reads a document. `auth` says which parameters are no arguments, because signing in writes them.
/// The reading ends soon after `stop` turns true.
///
/// # Errors
/// See [`OpenapiError`].
pub fn read(
    document: &Value,
    auth: &ToolkitAuth,
    stop: &AtomicBool,
) -> Result<OpenapiDocument, OpenapiError> {
    let mut problems = ProblemCollector {
        found: Vec::new(),
        stop,
    };
    let dialect = dialect(document, &mut problems);
    let version = document
        .pointer("/info/version")
        .and_then(Value::as_str)
        .map(|version| cut(version, limits::TOOLKIT_VERSION_CHARS_MAX));
    if version.is_none() {
        problems.add("/info/version", "is no text");
    }
    external(document, &mut String::new(), &mut problems);
    let budget = ReadBudget::new(stop);
    let listed = operations((document, dialect, auth), &budget, &mut problems);
    if stop.load(Ordering::Relaxed) {
        return Err(OpenapiError::Stopped);
    }
    match (problems.found.is_empty(), version) {
        (true, Some(version)) => Ok(OpenapiDocument {
            version,
            server: server(document),
            listed,
        }),
        _ => Err(OpenapiError::Invalid(problems.found)),
    }
}

/// What is wrong, as far as it is told.
struct ProblemCollector<'a> {
    found: Vec<ValidationProblem>,
    /// Turns true when nobody waits for the document any more.
    stop: &'a AtomicBool,
}

impl ProblemCollector<'_> {
    fn add(&mut self, pointer: &str, message: impl AsRef<str>) {
        if !self.is_enough() {
            self.found.push(ValidationProblem {
                pointer: cut(pointer, PROBLEM_CHARS_MAX),
                message: cut(message.as_ref(), PROBLEM_CHARS_MAX),
            });
        }
    }

    /// Whether nothing more is looked for.
    fn is_enough(&self) -> bool {
        self.found.len() >= limits::CONNECTOR_PROBLEMS_MAX || self.stop.load(Ordering::Relaxed)
    }
}

/// Finds what a reference stands for.
#[derive(Clone, Copy, Debug)]
struct ReferenceResolver<'a> {
    document: &'a Value,
    budget: &'a ReadBudget<'a>,
}

impl<'a> ReferenceResolver<'a> {
    fn resolve(self, mut value: &'a Value) -> Result<&'a Value, String> {
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = value.get("$ref") else {
                return Ok(value);
            };
            if reference.as_str().is_some_and(is_long) {
                return Err("a reference is too long".to_owned());
            }
            self.budget
                .spend_reference(reference.as_str().unwrap_or_default())?;
            let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
            let found = pointer.and_then(|pointer| self.document.pointer(&unescaped(pointer)));
            value = found.ok_or_else(|| format!("the reference {reference} leads nowhere"))?;
        }
        Err("its references go in circles".to_owned())
    }
}

/// Whether a reference is longer than one that is followed.
fn is_long(reference: &str) -> bool {
    reference.len() > REFERENCE_BYTES_MAX
}

fn dialect(document: &Value, problems: &mut ProblemCollector<'_>) -> OpenapiVersion {
    let version = document.get("openapi").and_then(Value::as_str);
    match version {
        Some(version) if version.starts_with("3.0.") => OpenapiVersion::V30,
        Some(version) if version.starts_with("3.1.") => OpenapiVersion::V31,
        Some(version) => {
            problems.add("/openapi", format!("{version} is neither 3.0 nor 3.1"));
            OpenapiVersion::V31
        }
        None if document.get("swagger").is_some() => {
            problems.add("/swagger", "Swagger 2 is not read; convert it to OpenAPI 3");
            OpenapiVersion::V31
        }
        None => {
            problems.add("/openapi", "is no text");
            OpenapiVersion::V31
        }
    }
}

/// Finds references that lead out of the document.
fn external(value: &Value, at: &mut String, problems: &mut ProblemCollector<'_>) {
    if problems.is_enough() {
        return;
    }
    let mut step = |name: &str, value: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(&name.replace('~', "~0").replace('/', "~1"));
        external(value, at, problems);
        at.truncate(length);
    };
    match value {
        Value::Array(values) => {
            for (n, value) in values.iter().enumerate() {
                step(&n.to_string(), value);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                if !VALUES.contains(&name.as_str()) && !name.starts_with("x-") {
                    step(name, value);
                }
            }
            let Some(Value::String(reference)) = members.get("$ref") else {
                return;
            };
            if is_long(reference) {
                problems.add(&format!("{at}/$ref"), "is too long");
            } else if !reference.starts_with('#') {
                let message = format!("{reference} is outside of the document");
                problems.add(&format!("{at}/$ref"), message);
            }
        }
        _ => {}
    }
}

fn operations<'a>(
    (document, dialect, auth): (&'a Value, OpenapiVersion, &'a ToolkitAuth),
    budget: &'a ReadBudget<'a>,
    problems: &mut ProblemCollector<'_>,
) -> OperationListing {
    let paths = match document.get("paths") {
        Some(Value::Object(paths)) => paths,
        None if dialect == OpenapiVersion::V31 => return OperationListing::default(),
        _ => {
            problems.add("/paths", "is no object");
            return OperationListing::default();
        }
    };
    let mut reading = DocumentReader {
        resolving: ReferenceResolver { document, budget },
        dialect,
        auth,
        listed: OperationListing::default(),
        taken: BTreeSet::new(),
        numbered: BTreeMap::new(),
        bytes: 0,
        budget,
    };
    reading.known_ids(paths, problems);
    for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
        if problems.is_enough() {
            break;
        }
        let at = format!("/paths/{}", path.replace('~', "~0").replace('/', "~1"));
        if !path.starts_with('/') {
            problems.add(&at, "a path begins with /");
            continue;
        }
        budget.spend_of_all(path.len());
        match reading.resolving.resolve(item) {
            Ok(item) => reading.path(path, item),
            Err(_) if budget.is_over() => {}
            Err(why) => problems.add(&at, why),
        }
        if reading.listed.operations.len() > limits::OPERATIONS_MAX {
            let message = format!("has more than {} operations", limits::OPERATIONS_MAX);
            problems.add("/paths", message);
            break;
        }
        if reading.bytes > limits::TOOLKIT_SCHEMAS_BYTES_MAX || budget.is_over() {
            problems.add("/paths", "the arguments of its operations are too long");
            break;
        }
    }
    reading.listed
}

struct DocumentReader<'a> {
    resolving: ReferenceResolver<'a>,
    dialect: OpenapiVersion,
    auth: &'a ToolkitAuth,
    listed: OperationListing,
    /// Names that operations have, so that none that is made up takes one of them.
    taken: BTreeSet<String>,
    /// The number that the next operation gets whose name was made up before.
    numbered: BTreeMap<String, u32>,
    /// Bytes of all input schemas.
    bytes: usize,
    budget: &'a ReadBudget<'a>,
}

impl<'a> DocumentReader<'a> {
    fn known_ids(&mut self, paths: &'a Map<String, Value>, problems: &mut ProblemCollector<'_>) {
        for (path, item) in paths {
            if problems.is_enough() {
                return;
            }
            for (_, word) in HttpMethod::WORDS {
                let id = item.get(word).and_then(|it| it.get("operationId"));
                if let Some(id) = id.and_then(Value::as_str)
                    && !self.taken.insert(id.to_owned())
                {
                    let path = path.replace('~', "~0").replace('/', "~1");
                    let at = format!("/paths/{path}/{word}/operationId");
                    problems.add(&at, format!("{id} names two operations"));
                }
            }
        }
    }

    fn path(&mut self, path: &'a str, item: &'a Value) {
        for word in OTHER_METHODS {
            if let Some(operation) = item.get(word) {
                let slug = self.slug(word, path, operation);
                self.listed.leave_out(
                    &slug,
                    format!("operations of the method {word} are not run"),
                );
            }
        }
        for (method, word) in HttpMethod::WORDS {
            let Some(operation) = item.get(word) else {
                continue;
            };
            let slug = self.slug(word, path, operation);
            match self.operation(&slug, (method, path), (item, operation)) {
                Ok(operation) => self.listed.operations.push(operation),
                Err(why) => self.listed.leave_out(&slug, why),
            }
        }
    }

    fn operation(
        &mut self,
        slug: &str,
        (method, path): (HttpMethod, &str),
        (item, operation): (&'a Value, &'a Value),
    ) -> Result<Operation, String> {
        super::operations::check_slug(slug)?;
        if item.get("servers").is_some() || operation.get("servers").is_some() {
            return Err("it has a server of its own".to_owned());
        }
        self.budget.begin();
        let reader = operation_binding::OperationReader {
            resolving: self.resolving,
            dialect: self.dialect,
            auth: self.auth,
            budget: self.budget,
        };
        let asked = operation_binding::read(reader, (method, path), (item, operation))?;
        let bytes = asked.input_schema.to_string().len();
        if bytes > limits::OPERATION_SCHEMA_BYTES_MAX {
            return Err("the description of its arguments is too long".to_owned());
        }
        self.bytes += bytes;
        let text = |member: &str| {
            let own = operation.get(member).or_else(|| item.get(member));
            own.and_then(Value::as_str).unwrap_or_default().trim()
        };
        let (summary, description) = (text("summary"), text("description"));
        let title = if summary.is_empty() { slug } else { summary };
        let description = match description.is_empty() {
            true => summary,
            false => description,
        };
        let title = cut(title, limits::OPERATION_TITLE_CHARS_MAX);
        let description = cut(description, limits::OPERATION_DESCRIPTION_CHARS_MAX);
        self.budget.spend_of_all(title.len() + description.len());
        Ok(Operation {
            title,
            description,
            slug: slug.to_owned(),
            classification: method.classification(),
            retry_policy: match asked.binding.takes_key {
                true => RetryPolicy::ProviderIdempotencyKey,
                false => RetryPolicy::Never,
            },
            input_schema: asked.input_schema,
            binding: OperationBinding::Http(asked.binding),
        })
    }

    /// The name of an operation: its own, or one made of method and path.
    fn slug(&mut self, method: &str, path: &str, operation: &Value) -> String {
        self.budget.spend_of_all(path.len());
        if let Some(id) = operation.get("operationId").and_then(Value::as_str) {
            self.budget.spend_of_all(id.len());
            return id.to_owned();
        }
        let words = path
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .filter(|word| !word.is_empty());
        let made: Vec<&str> = std::iter::once(method).chain(words).collect();
        let made = made.join("_");
        let n = self.numbered.entry(made.clone()).or_insert(1);
        let mut slug = made.clone();
        while !self.taken.insert(slug.clone()) {
            *n += 1;
            slug = format!("{made}_{n}");
        }
        slug
    }
}

/// The address of the first server, its variables filled in with what the document says: once,
/// so that what is filled in is not read again. `None` also for one that is too long.
fn server(document: &Value) -> Option<String> {
    let first = document.pointer("/servers/0")?;
    let mut rest = first.get("url")?.as_str()?;
    if rest.len() > SERVER_BYTES_MAX {
        return None;
    }
    let usual = |name: &str| first.get("variables")?.get(name)?.get("default")?.as_str();
    let mut url = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        url.push_str(before);
        let variable = after.split_once('}');
        match variable.and_then(|(name, after)| Some((usual(name)?, after))) {
            Some((usual, _)) if url.len() + usual.len() > SERVER_BYTES_MAX => return None,
            Some((usual, after)) => {
                url.push_str(usual);
                rest = after;
            }
            None => {
                url.push('{');
                rest = after;
            }
        }
    }
    url.push_str(rest);
    (url.len() <= SERVER_BYTES_MAX).then_some(url)
}

/// The address that a document's server means, when the document itself was found at `at`.
pub fn absolute(server: &str, at: Option<&str>) -> Option<String> {
    match Url::parse(server) {
        Ok(url) => Some(url.into()),
        Err(_) => {
            let joined = Url::parse(at?).ok()?.join(server).ok()?;
            Some(joined.into())
        }
    }
}

/// A text of at most `chars` characters.
pub(super) fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

#[cfg(test)]
#[path = "openapi_bounds_tests.rs"]
mod bounds_tests;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
