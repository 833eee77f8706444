//! The other programs that a furnished workspace knows: at addresses and in folders of their own
//! that stay the same, because they stand in what is stored, sealed values among it.

use std::{
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
};

use guildhall_domain::settings::{CLOUD_URL, SettingSource, SettingValue as Setting};
use guildhall_testkit::{HallOptions, TestHall, until};
use serde_json::json;

use crate::{cloud_service_stub::CloudServiceStub, signin_server_stub::SigninServerStub};

/// The folder agents work beneath. It is the same on every computer, so that no scratch folder
/// stands in what is stored.
pub(super) const ROOT: &str = "/tmp/guildhall-stored-data/work";
/// Held by whoever uses that folder and the addresses.
const LOCK: &str = "/tmp/guildhall-stored-data/lock";

// Of this computer, where nothing else listens, and below the ports that are given at random.
const SIGN_IN: &str = "127.77.1.1:7801";
const TOOLS: &str = "127.77.1.1:7802";
const CLOUD: &str = "127.77.1.1:7803";
const OTHER_CLOUD: &str = "127.77.1.1:7804";
/// The port of a dev server, which is not there.
pub(super) const DEV_SERVER: u16 = 7805;

/// The value of a header that a tool server wants.
pub(super) const HEADER: &str = "canary-header-value";
/// The value of a variable that a tool server wants.
pub(super) const VARIABLE: &str = "canary-variable-value";
/// The key of an account.
pub(super) const KEY: &str = "canary-key-0123456789";
/// The secret of a client that a person registered.
pub(super) const CLIENT_SECRET: &str = "canary-client-secret";

/// A keeper that keeps nothing, and an agent that says the same in every turn; `#ask` lets it ask
/// a permission and a question, and wait.
const AGENT: &str = r##"#!/bin/sh
if [ "$1" = keeper ]; then
    while [ "$1" != -- ]; do shift; done
    shift
    read -r _
    exec "$@"
fi
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tell() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n' "$session" "$1"; }
ask() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"sessionId":"%s",%s}}\n' "$1" "$2" "$session" "$3"; }
opened=0
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    session=${line#*\"sessionId\":\"}; session=${session%%\"*}
    case $line in
    *'"initialize"'*)
        say '{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"rehearsal","version":"1"}}' ;;
    *'"session/new"'*)
        opened=$((opened + 1))
        say "{\"sessionId\":\"s-$opened\",\"modes\":{\"currentModeId\":\"default\",\"availableModes\":[{\"id\":\"default\",\"name\":\"Default\"}]}}" ;;
    *'#ask'*)
        ask 1 session/request_permission '"toolCall":{"toolCallId":"c-ask","title":"Run ls","kind":"execute","status":"pending","rawInput":{"command":"ls"},"locations":[{"path":"/tmp/a","line":3}]},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"Deny","kind":"reject_once"}]'
        ask 2 elicitation/create '"mode":"form","message":"Which way?","requestedSchema":{"type":"object","properties":{"way":{"type":"string","title":"Way","enum":["left","right"]},"steps":{"type":"integer","title":"Steps"}},"required":["way"]}' ;;
    *'"session/prompt"'*)
        tell '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"The tests come first."}}'
        tell '{"sessionUpdate":"plan","entries":[{"content":"Run the tests","priority":"high","status":"completed"},{"content":"Write the release notes","priority":"low","status":"pending"}]}'
        tell '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"Edit notes","kind":"edit","status":"in_progress","rawInput":{"path":"notes.md"},"locations":[{"path":"/tmp/notes.md","line":3}]}'
        tell '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed","rawOutput":"done","content":[{"type":"diff","path":"/tmp/notes.md","oldText":"x","newText":"y"},{"type":"content","content":{"type":"text","text":"ok"}},{"type":"terminal","terminalId":"1"}]}'
        tell '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The release is ready."}}'
        tell '{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review","description":"Review the change","input":{"hint":"which"}}]}'
        tell '{"sessionUpdate":"session_info_update","title":"Release"}'
        tell '{"sessionUpdate":"usage_update","used":700,"size":9000,"cost":{"amount":0.25,"currency":"usd"}}'
        say '{"stopReason":"end_turn","usage":{"totalTokens":700,"inputTokens":500,"outputTokens":150,"thoughtTokens":50,"cachedReadTokens":40,"cachedWriteTokens":10}}' ;;
    *'"method"'*'"session/cancel"'*) ;;
    *'"method"'*) say '{}' ;;
    esac
done
"##;

/// A tool server that keeps the value of its variable beside itself.
const TOOL: &str = r#"#!/bin/sh
printf %s "$KEY" > /tmp/guildhall-stored-data/work/tools/heard
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) say '"result":{"tools":[{"name":"look","description":"Looks","inputSchema":{"type":"object"}}]}' ;;
    *'"notifications/'*) ;;
    *) say '"error":{"code":-32601,"message":"unknown"}' ;;
    esac
done
"#;

/// The programs that a furnished workspace knows, and its folders.
pub(super) struct Services {
    /// Tool servers, an authorization server and an account's service, in one.
    pub(super) sign_in: SigninServerStub,
    /// A tool server that wants a header.
    pub(super) tools: SigninServerStub,
    /// The cloud service that gave a key.
    pub(super) cloud: CloudServiceStub,
    /// The cloud service whose code nobody typed yet.
    pub(super) other_cloud: CloudServiceStub,
    _lock: File,
}

impl Services {
    /// Starts them all, once nobody else uses their addresses.
    pub(super) async fn start() -> Self {
        fs::create_dir_all(ROOT).unwrap();
        let lock = File::options()
            .create(true)
            .append(true)
            .open(LOCK)
            .unwrap();
        let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
        let lock = lock.await.unwrap().unwrap();
        fs::remove_dir_all(ROOT).unwrap();
        // Whoever held the lock before may be about to end.
        for address in [SIGN_IN, TOOLS, CLOUD, OTHER_CLOUD] {
            let is_free = || TcpListener::bind(address).is_ok();
            until("a free address", is_free).await;
        }
        let services = Self {
            sign_in: SigninServerStub::open_at(SIGN_IN).await,
            tools: SigninServerStub::open_at(TOOLS).await,
            cloud: CloudServiceStub::start_at(CLOUD).await,
            other_cloud: CloudServiceStub::start_at(OTHER_CLOUD).await,
            _lock: lock,
        };
        services
            .sign_in
            .answers("/me", 200, json!({"login": "ada"}));
        let notes = json!([{"id": 1, "text": "Release on Friday"}]);
        services.sign_in.answers("/notes", 200, notes);
        let device = json!({"device_code": "canary-device-code", "user_code": "ABCD-EFGH",
            "verification_uri": format!("http://{SIGN_IN}/activate"), "expires_in": 1_800,
            "interval": 5});
        services.sign_in.answers("/device", 200, device);
        let waits = json!({"error": "authorization_pending"});
        services.sign_in.answers("/device-token", 400, waits);
        services.tools.takes_token(HEADER);
        services.tools.rewords("Reads a file");
        for (file, content) in [
            ("notes.md", "# Notes\n"),
            ("app.rs", "fn main() {}\n"),
            ("app.diff", "-a\n+b\n"),
            ("plan.pdf", "pdf"),
            ("call.ogg", "ogg"),
            ("talk.mp4", "mp4"),
            ("counts.csv", "a,b\n1,2\n"),
            ("site/index.html", "<h1>Release</h1>"),
        ] {
            write(&format!("files/{file}"), content, 0o644);
        }
        write("tools/tool", TOOL, 0o755);
        for agent in ["ada", "bob", "cleo"] {
            fs::create_dir(format!("{ROOT}/{agent}")).unwrap();
        }
        services
    }

    /// What a hall is opened with that holds such a workspace, linked to `cloud`.
    pub(super) fn options(&self, cloud: &CloudServiceStub) -> HallOptions {
        let url = Setting::Text(cloud.origin.clone());
        HallOptions {
            configured: Box::leak(Box::new([(&CLOUD_URL, SettingSource::Flag, url)])),
            root: Some(ROOT),
            mode: guildhall_domain::callers::AuthMode::Login,
            ..HallOptions::default()
        }
    }

    /// Lets the agents of a hall be started.
    pub(super) fn install_agent(&self, t: &TestHall) {
        t.install("guildhall", AGENT);
    }
}

fn write(name: &str, content: &str, mode: u32) {
    let path = format!("{ROOT}/{name}");
    let folder = path.rsplit_once('/').unwrap().0;
    fs::create_dir_all(folder).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}
