//! Connectors: what running an operation costs beside the service itself, and how long one waits
//! for the catalog.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::Instant,
};

use crate::{
    Result, Scale,
    http_client::{HttpClient, find, get, post, put},
    measure,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    timeouts::PATIENCE,
};

/// Services in the catalog.
const SERVICES: usize = 5;
/// Operations of each.
const OPERATIONS: usize = 1_000;
/// What the service answers.
const NOTE: &str = r#"{"id":"1","text":"A note of a few words."}"#;

/// The rows about connectors.
pub(crate) async fn measure(house: &ServerFolder, scale: &Scale) -> Result<Vec<ResultRow>> {
    let (service, _serving) = serve().await?;
    let server = house.start()?;
    let mut asking = OwnerClient::new(&server).await?;
    let provider = asking.fill(service).await?;
    let granted = asking.granted(house, &provider).await?;

    let run = post(server.address, "/api/connectors/executions", &granted);
    let ran: Value = serde_json::from_slice(asking.client.expect(&run, 200).await?)?;
    if ran["result"]["status"] != "success" {
        return Err(format!("an operation did not run: {ran}").into());
    }
    let runs = measure::times(&mut asking.client, || run.clone(), 200, scale.span).await?;
    let bare = get(service, "/notes/1");
    let mut alone = HttpClient::connect(service).await?;
    let alone = measure::times(&mut alone, || bare.clone(), 200, scale.span).await?;

    let search = get(server.address, "/api/connectors/catalog?q=service-3");
    let found: Value = serde_json::from_slice(asking.client.expect(&search, 200).await?)?;
    if found["services"].as_array().map(Vec::len) != Some(1) {
        return Err(format!("the catalog does not find the one service: {found}").into());
    }
    let searches = measure::times(&mut asking.client, || search.clone(), 200, scale.span).await?;
    server.stop()?;
    Ok(vec![
        ResultRow {
            work: "operation of a connector beyond its service's time, p50".to_owned(),
            measured: Measurement::Millis(runs.percentile_ms(50.0) - alone.percentile_ms(50.0)),
            limit: Some((
                Measurement::Millis(alone.percentile_ms(50.0)),
                "the service alone",
            )),
            targets: vec![Target::AtMost(Measurement::Millis(2.0))],
        },
        ResultRow {
            work: format!(
                "catalog of {} operations searched, p50",
                SERVICES * OPERATIONS
            ),
            measured: Measurement::Millis(searches.percentile_ms(50.0)),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Millis(3.0))],
        },
    ])
}

/// The owner at the server.
struct OwnerClient {
    server: SocketAddr,
    client: HttpClient,
}

impl OwnerClient {
    async fn new(server: &ServerProcess) -> Result<Self> {
        Ok(Self {
            server: server.address,
            client: HttpClient::connect(server.address).await?,
        })
    }

    async fn post(&mut self, path: &str, body: &Value, status: u16) -> Result<Value> {
        let request = post(self.server, path, body);
        Ok(serde_json::from_slice(
            self.client.expect(&request, status).await?,
        )?)
    }

    /// An instance with all the services; answers its id.
    async fn fill(&mut self, service: SocketAddr) -> Result<String> {
        let body = json!({"type": "openapi", "label": "Services of the bench"});
        let made = self.post("/api/connectors/providers", &body, 201).await?;
        let provider = word(&made["id"])?;
        for number in 0..SERVICES {
            let slug = format!("service-{number}");
            let body = json!({
                "displayName": slug,
                "description": "A service of the bench.",
                "document": document(),
                "baseUrl": format!("http://{service}"),
                "auth": {"kind": "none"},
            });
            let path = format!("/api/connectors/providers/{provider}/toolkits/{slug}");
            let request = put(self.server, &path, &body);
            self.client.expect(&request, 200).await?;
        }
        Ok(provider)
    }

    /// A read that an agent is granted, as the body that runs it.
    async fn granted(&mut self, house: &ServerFolder, provider: &str) -> Result<Value> {
        let folder = house.home().join("agent-of-connectors");
        std::fs::create_dir_all(&folder)?;
        let body = json!({"cwd": folder, "runtime": "rehearsal"});
        let agent = word(&self.post("/api/sessions", &body, 201).await?["agentId"])?;
        let body = json!({"providerInstanceId": provider, "toolkit": "service-0",
            "idempotencyKey": "bench"});
        let flow = self.post("/api/connectors/connections", &body, 201).await?;
        let connection = self.connected(&word(&flow["flowId"])?).await?;
        let path = format!("/api/connectors/connections/{connection}/reviews");
        let review = self.post(&path, &json!({}), 201).await?;
        let operations = review["operations"].as_array();
        let mut operations = operations.into_iter().flatten();
        let read = operations.find(|one| one["operationSlug"] == "read-0");
        let revision = word(&read.ok_or("the read is not listed")?["id"])?;
        let path = format!(
            "/api/connectors/reviews/{}/apply",
            word(&review["reviewId"])?
        );
        let body = json!({"grants": [{"agentId": agent, "operationRevisionIds": [revision]}]});
        self.post(&path, &body, 200).await?;
        Ok(json!({"agentId": agent, "connectionId": connection,
            "operationRevisionId": revision, "arguments": {"id": "1"}}))
    }

    /// The connection of a flow, once it stands.
    async fn connected(&mut self, flow: &str) -> Result<String> {
        let path = format!("/api/connectors/authentication-flows/{flow}");
        let request = get(self.server, &path);
        let began = Instant::now();
        loop {
            let flow: Value = serde_json::from_slice(self.client.expect(&request, 200).await?)?;
            match flow["connectionId"].as_str() {
                Some(id) => return Ok(id.to_owned()),
                None if began.elapsed() > PATIENCE => {
                    return Err(format!("the service is not connected: {flow}").into());
                }
                None => {}
            }
        }
    }
}

fn word(value: &Value) -> Result<String> {
    let word = value.as_str().ok_or("an id is no text")?;
    Ok(word.to_owned())
}

/// The document of a service.
fn document() -> Value {
    let mut paths = Map::new();
    for number in 0..OPERATIONS {
        let path = match number {
            0 => "/notes/{id}".to_owned(),
            _ => format!("/notes/{{id}}/part-{number}"),
        };
        let id = json!({"name": "id", "in": "path", "required": true,
            "schema": {"type": "string"}});
        let answers = json!({"200": {"description": "A note."}});
        let operation = json!({"operationId": format!("read-{number}"),
            "summary": format!("Reads part {number} of a note"), "responses": answers});
        paths.insert(path, json!({"parameters": [id], "get": operation}));
    }
    json!({"openapi": "3.1.0", "info": {"title": "Notes", "version": "1"}, "paths": paths})
}

/// A service that answers every request with the same note.
async fn serve() -> Result<(SocketAddr, JoinSet<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut answering = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            answering.spawn(answer(stream));
        }
    });
    Ok((address, serving))
}

/// Answers requests without bodies on one connection, until it ends.
async fn answer(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{NOTE}",
        NOTE.len()
    );
    let mut asked = Vec::new();
    loop {
        match stream.read_buf(&mut asked).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if find(&asked, b"\r\n\r\n").is_some() {
            asked.clear();
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
