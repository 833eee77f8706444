//! Operations: what a toolkit can do as it is listed now, and how each is sent.
//! Source: contract 5.1, "operation revision", and the table of provider types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    classification::{Classification, RetryPolicy},
    openapi::cut,
    toolkits::OperationOverride,
};
use crate::limits::connectors as limits;

/// An operation of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name inside its toolkit.
    pub slug: String,
    /// What people call it.
    pub title: String,
    /// What it does; empty where nobody says it.
    pub description: String,
    /// What it does to the service, overrides counted in.
    pub classification: Classification,
    /// Whether it may be sent a second time.
    pub retry_policy: RetryPolicy,
    /// What its arguments look like: an object by JSON Schema 2020-12 that refers to nothing
    /// outside itself.
    pub input_schema: Value,
    /// How it is sent.
    pub binding: OperationBinding,
}

/// How an operation is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OperationBinding {
    /// As a request below the toolkit's base address.
    Http(HttpBinding),
    /// As a call of a tool.
    Mcp {
        /// Its name.
        tool: String,
    },
    /// In process; no packet leaves.
    Rehearsal {
        /// What is played.
        deed: ScriptedOperation,
    },
}

/// A request that is made of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpBinding {
    /// Its method.
    pub method: HttpMethod,
    /// Its path below the base address, such as `/pets/{id}`; each name in braces is that of a
    /// path parameter.
    pub path: String,
    /// Where each argument but the body goes.
    pub parameters: Vec<OperationParameter>,
    /// How the argument [`Operation::BODY`] is written; `None` where there is no body.
    pub body: Option<BodyEncoding>,
    /// Whether a key by which the service knows a repeat goes along.
    pub takes_key: bool,
}

impl Operation {
    /// The argument that holds the body.
    pub const BODY: &'static str = "body";
}

/// What a toolkit can do, and what of it cannot be run from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationListing {
    /// What can be run.
    pub operations: Vec<Operation>,
    /// The first of those that cannot.
    pub left_out: Vec<OmittedOperation>,
    /// How many those are in all.
    pub left_out_count: u32,
}

/// An operation that cannot be run from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OmittedOperation {
    /// Its name.
    pub operation: String,
    /// Why, for people.
    pub reason: String,
}

impl OperationListing {
    /// Notes an operation that cannot be run.
    pub(super) fn leave_out(&mut self, operation: &str, reason: impl Into<String>) {
        self.left_out_count += 1;
        if self.left_out.len() < limits::LEFT_OUT_TOLD_MAX {
            self.left_out.push(OmittedOperation {
                operation: cut(operation, limits::OPERATION_SLUG_CHARS_MAX),
                reason: cut(&reason.into(), limits::CONNECTOR_REASON_CHARS_MAX),
            });
        }
    }

    /// Raises the classes that an owner wants to be treated as worse than they say.
    ///
    /// # Errors
    /// For each override that names no operation or would lower its class, its name and why.
    pub fn raise(
        &mut self,
        overrides: &BTreeMap<String, OperationOverride>,
    ) -> Vec<(String, &'static str)> {
        let mut problems = Vec::new();
        for (slug, wanted) in overrides {
            let found = self.operations.iter_mut().find(|it| it.slug == *slug);
            match (found, wanted.classification) {
                (None, _) => problems.push((slug.clone(), "names no operation that can be run")),
                (Some(it), Some(class)) if class < it.classification => {
                    problems.push((slug.clone(), "is milder than the operation itself"));
                }
                (Some(it), Some(class)) => it.classification = class,
                (Some(_), None) => {}
            }
        }
        problems
    }
}

/// Whether a text can name an operation.
///
/// # Errors
/// Why not, for people.
pub(super) fn check_slug(slug: &str) -> Result<(), String> {
    let chars = slug.chars().count();
    match (1..=limits::OPERATION_SLUG_CHARS_MAX).contains(&chars)
        && !slug.chars().any(char::is_control)
    {
        true => Ok(()),
        false => Err(format!(
            "its name does not have 1 to {} characters without control characters",
            limits::OPERATION_SLUG_CHARS_MAX
        )),
    }
}

/// The methods that operations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Reads the head alone.
    Head,
    /// Does something.
    Post,
    /// Puts something in the place of another.
    Put,
    /// Changes something.
    Patch,
    /// Removes something.
    Delete,
}

impl HttpMethod {
    /// Every method with its word in a document.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Get, "get"),
        (Self::Head, "head"),
        (Self::Post, "post"),
        (Self::Put, "put"),
        (Self::Patch, "patch"),
        (Self::Delete, "delete"),
    ];

    /// What an operation of it does, unless the owner says worse. Source: contract 5.1.
    pub const fn classification(self) -> Classification {
        match self {
            Self::Get | Self::Head => Classification::Read,
            Self::Post | Self::Put | Self::Patch => Classification::Write,
            Self::Delete => Classification::Destructive,
        }
    }
}

/// Where one argument goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationParameter {
    /// The argument's name.
    pub argument: String,
    /// The name the service knows it by.
    pub name: String,
    /// Where it stands.
    pub place: ParameterLocation,
    /// How a list or an object is written.
    pub style: ParameterStyle,
    /// Whether each of its members stands for itself.
    pub explode: bool,
}

/// Where a parameter stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterLocation {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// How a list or an object is written in a parameter. Source: OpenAPI, "Style Values".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ParameterStyle {
    /// With commas; of paths and headers.
    Simple,
    /// As `name=value`; of queries.
    Form,
    /// With spaces between; of queries.
    SpaceDelimited,
    /// With bars between; of queries.
    PipeDelimited,
    /// As `name[member]=value`; of queries.
    DeepObject,
    /// As JSON, where the document gives a media type instead of a style.
    Json,
}

/// How a body is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum BodyEncoding {
    /// As JSON.
    Json {
        /// The media type, such as `application/merge-patch+json`.
        media_type: String,
    },
    /// As a form, `application/x-www-form-urlencoded`.
    Form {
        /// The members that are written as `name[member]=value`.
        deep: Vec<String>,
    },
    /// As it is, a text.
    Text {
        /// The media type.
        media_type: String,
    },
}

/// The operations that the scripted toolkit plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptedOperation {
    /// Reads notes.
    Read,
    /// Writes one.
    Write,
    /// Removes them all.
    Destroy,
}
