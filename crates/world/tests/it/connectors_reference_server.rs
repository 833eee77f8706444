//! The reference server as a service: its tools as operations, over both of its addresses.
//! Installed by `cargo xtask counterparts install`.

use std::time::Duration;

use guildhall_domain::connectors::{
    classification::Classification,
    mcp_operations::operations,
    operations::{Operation, OperationBinding},
    send_result::SendResult,
    toolkits::{Toolkit, ToolkitAuth, ToolkitSlug},
};
use guildhall_world::{
    connectors::{AccountCredentials, OutgoingOperation, ServiceClients},
    http_client::{HttpClient, ListenerPorts},
    mcp::ServerTarget,
};
use serde_json::{Value, json};

use crate::{
    fake_agents::PATIENCE,
    mcp_connections::map,
    reference_server::{ReferenceServer, over_http, over_sse},
};

/// A service, and the ways to it.
struct ReferenceService {
    services: ServiceClients,
    toolkit: Toolkit,
    listed: Vec<Operation>,
    _server: ReferenceServer,
}

impl ReferenceService {
    async fn at(server: ReferenceServer) -> Self {
        let (ServerTarget::Http(address) | ServerTarget::Sse(address)) = &server.target else {
            panic!("it has an address");
        };
        let toolkit = Toolkit {
            slug: ToolkitSlug::parse("x").unwrap(),
            display_name: "X".to_owned(),
            description: String::new(),
            document_url: None,
            base_url: None,
            url: Some(address.url.clone()),
            auth: ToolkitAuth::None,
            account: None,
            overrides: Default::default(),
            version: "1".to_owned(),
            operation_count: 0,
            left_out: Vec::new(),
            left_out_count: 0,
            has_credential: false,
        };
        let services = ServiceClients::new(&HttpClient::open(ListenerPorts::default()).unwrap());
        let tools = services
            .tools(&toolkit, &AccountCredentials::None, PATIENCE)
            .await;
        let listed = operations(&tools.unwrap());
        assert!(listed.left_out.is_empty(), "{:?}", listed.left_out);
        Self {
            services,
            toolkit,
            listed: listed.operations,
            _server: server,
        }
    }

    async fn send(&self, tool: &str, arguments: Value, within: Duration) -> SendResult {
        let arguments = map(arguments);
        let binding = OperationBinding::Mcp {
            tool: tool.to_owned(),
        };
        let sending = OutgoingOperation {
            toolkit: &self.toolkit,
            binding: &binding,
            arguments: &arguments,
            credentials: &AccountCredentials::None,
            key: Some("guildhall:1"),
            within,
        };
        self.services.send(sending).await
    }
}

async fn tells_what_tools_say(service: &ReferenceService) {
    let class = |name: &str| {
        let found = service.listed.iter().find(|it| it.slug == name);
        found.unwrap().classification
    };
    assert_eq!(class("echo"), Classification::Read);
    let echoed = |text: &str| SendResult::Done {
        data: Some(json!({"content": [{"type": "text", "text": format!("Echo: {text}")}]})),
    };
    let said = service.send("echo", json!({"message": "hi"}), PATIENCE);
    assert_eq!(said.await, echoed("hi"));
    // Longer than what is kept of a result, and told whole here.
    let long = "long ".repeat(300_000);
    let said = service.send("echo", json!({"message": long}), PATIENCE);
    assert_eq!(said.await, echoed(&long));
    let weather = json!({"location": "New York"});
    let weather = service
        .send("get-structured-content", weather, PATIENCE)
        .await;
    let SendResult::Done {
        data: Some(weather),
    } = weather
    else {
        panic!("{weather:?}");
    };
    assert!(weather["structuredContent"].is_object(), "{weather}");
    // A tool that says no, and a name that is none.
    for (tool, arguments) in [("get-sum", json!({"a": "x"})), ("no-such-tool", json!({}))] {
        let no = service.send(tool, arguments, PATIENCE).await;
        let SendResult::Refused {
            status: None,
            message,
            ..
        } = no
        else {
            panic!("{tool}: {no:?}");
        };
        assert!(message.contains(tool), "{message}");
    }
    // What takes too long was sent, and nobody knows what became of it.
    let slow = json!({"duration": 60, "steps": 1});
    let slow = service.send(
        "trigger-long-running-operation",
        slow,
        Duration::from_secs(1),
    );
    let lost = slow.await;
    assert!(matches!(lost, SendResult::Lost { .. }), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_over_streamable_http_are_told_as_they_answer() {
    tells_what_tools_say(&ReferenceService::at(over_http()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_over_two_endpoints_are_told_as_they_answer() {
    tells_what_tools_say(&ReferenceService::at(over_sse()).await).await;
}
