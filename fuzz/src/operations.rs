//! The operations of `openapi.json`, and which of them are asked for otherwise than the others.

use serde_json::Value;

use crate::Result;

/// The interface document as it stands in the project.
const DOCUMENT: &str = include_str!("../../openapi.json");

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Its `operationId`.
    pub(crate) id: String,
    /// Such as `POST`.
    pub(crate) method: String,
    /// With its parameters in braces.
    pub(crate) path: String,
    /// Its query parameters, each a name and a schema.
    pub(crate) query: Vec<(String, Value)>,
    /// The schema of its body and the body's media type.
    pub(crate) body: Option<(Value, String)>,
    /// The codes that it may refuse with beside those that every operation has.
    pub(crate) codes: Vec<String>,
}

/// Operations that nobody asks for, each with the reason.
const EXCLUDED: &[(&str, &str)] = &[];

/// Operations that wait by design, how many seconds at most, and for what.
const WAITS: &[(&str, u64, &str)] = &[
    (
        "checkRuntime",
        35,
        "starts the agent's program, which has 30 s",
    ),
    (
        "testMcpServer",
        25,
        "speaks with the tool server, which has 20 s",
    ),
    (
        "startMcpSignin",
        35,
        "asks the sign-in's server, which has 30 s",
    ),
    (
        "getMcpSignin",
        35,
        "may exchange a code with the sign-in's server, which has 30 s",
    ),
    (
        "signOutOfMcpServer",
        35,
        "revokes at the sign-in's server, which has 30 s",
    ),
    (
        "closeSession",
        20,
        "ends a turn, which has 10 s, and then the program",
    ),
    (
        "cancelTurn",
        20,
        "waits until the agent stopped, which has 10 s",
    ),
    (
        "retireAgent",
        20,
        "ends the agent's turns and programs first",
    ),
    (
        "startCloudLink",
        35,
        "asks the cloud service, which has 30 s",
    ),
    ("unlinkCloud", 35, "tells the cloud service, which has 30 s"),
    (
        "cancelCloudLink",
        35,
        "tells the cloud service, which has 30 s",
    ),
    (
        "checkCloudLink",
        35,
        "asks the cloud service, which has 30 s",
    ),
    (
        "listCloudOffers",
        35,
        "asks the cloud service, which has 30 s",
    ),
    ("openBilling", 35, "asks the cloud service, which has 30 s"),
    (
        "putConnectorToolkit",
        35,
        "reads the document of an address, which has 30 s",
    ),
    ("connectConnector", 35, "asks the service, which has 30 s"),
    ("reconnectConnector", 35, "asks the service, which has 30 s"),
    (
        "openConnectorReview",
        35,
        "asks the service for its tools, which has 30 s",
    ),
    (
        "executeConnector",
        65,
        "runs at the service, which has 60 s",
    ),
    (
        "executeConnectorFromCli",
        65,
        "runs at the service, which has 60 s",
    ),
    (
        "disconnectConnector",
        35,
        "revokes at the service, which has 30 s",
    ),
    ("openBrowser", 65, "waits for the browser's start"),
];

impl Operation {
    /// How long its answer may take before it counts as a hang, in seconds.
    pub(crate) fn answer_max_s(&self) -> u64 {
        let waits = WAITS.iter().find(|(id, ..)| *id == self.id);
        waits.map_or(crate::HANG_S, |(_, seconds, _)| *seconds)
    }

    /// Whether it changes something when it is granted.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET"
    }
}

/// The operations, and the schemas that they refer to.
#[derive(Clone, Debug)]
pub(crate) struct ApiDocument {
    /// Every operation that is not left out.
    pub(crate) operations: Vec<Operation>,
    schemas: Value,
}

impl ApiDocument {
    /// Reads the document.
    pub(crate) fn read() -> Result<Self> {
        let mut document: Value = serde_json::from_str(DOCUMENT)?;
        let schemas = document["components"]["schemas"].take();
        let paths = document["paths"].as_object().ok_or("no paths")?;
        let mut operations = Vec::new();
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().ok_or("no methods")? {
                let operation = operation_of(method, path, operation);
                if !EXCLUDED.iter().any(|(id, _)| *id == operation.id) {
                    operations.push(operation);
                }
            }
        }
        Ok(Self {
            operations,
            schemas,
        })
    }

    /// The schema itself where this one refers to one.
    pub(crate) fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str();
        let name = name.and_then(|name| name.rsplit('/').next());
        name.map_or(schema, |name| &self.schemas[name])
    }
}

fn operation_of(method: &str, path: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"].as_array();
    let in_query = parameters.into_iter().flatten();
    let in_query = in_query.filter(|parameter| parameter["in"] == "query");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let contents = operation["requestBody"]["content"].as_object();
    let body = contents.and_then(|contents| {
        let (media_type, content) = contents.iter().next()?;
        Some((content["schema"].clone(), media_type.clone()))
    });
    let codes = operation["x-codes"].as_array();
    Operation {
        id: text(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.to_owned(),
        query: in_query
            .map(|one| (text(&one["name"]), one["schema"].clone()))
            .collect(),
        body,
        codes: codes.into_iter().flatten().map(text).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_with_a_rule_of_its_own_exists() {
        let interface = ApiDocument::read().unwrap();
        let exists = |id: &str| interface.operations.iter().any(|one| one.id == id);
        for (id, ..) in WAITS {
            assert!(exists(id), "{id}");
        }
        assert!(interface.operations.len() > 190);
    }
}
