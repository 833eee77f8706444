//! The binary: what it prints, how it ends, and what is there after it was killed.

use std::{net::SocketAddr, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use guildhall_testkit::stripe_stub::{StripeFault, StripeStub};
use guildhall_world::scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{
    browser::hidden,
    companion::{CompanionResponse, PASSWORD, STRIPE_KEY, form, send, token_fields},
    soon,
};

fn program(folder: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_guildhall-cloud"));
    program
        .env_clear()
        .env("GUILDHALL_CLOUD_DATA_DIR", folder)
        .env("GUILDHALL_CLOUD_LOG", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    program
}

/// A running service.
struct RunningBinary {
    address: SocketAddr,
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl RunningBinary {
    async fn start(folder: &Path) -> Self {
        let mut serve = program(folder);
        serve.args(["serve", "--bind", "127.0.0.1:0"]);
        Self::of(serve).await
    }

    async fn of(mut serve: Command) -> Self {
        let mut process = serve.spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = soon("its first line", said.next_line())
            .await
            .unwrap()
            .unwrap();
        let address = line.strip_prefix("listening on http://").unwrap();
        Self {
            address: address.parse().unwrap(),
            process,
            said,
        }
    }

    /// Sends it a signal; its exit code, and what else it said.
    async fn end(mut self, signal: Signal) -> (Option<i32>, Option<String>) {
        let pid = i32::try_from(self.process.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        let status = soon("its end", self.process.wait()).await.unwrap();
        (status.code(), self.said.next_line().await.unwrap())
    }

    async fn form(&self, path: &str, fields: &[(&str, &str)]) -> CompanionResponse {
        send(self.address, form(path, fields)).await
    }

    /// Says yes to a device, signed in by a cookie; what the form carried.
    async fn approve(&self, cookie: &str, code: &str) -> String {
        let ask =
            http::Request::get(format!("/activate?user_code={code}")).header("cookie", cookie);
        let page = send(self.address, ask.body(bytes::Bytes::new()).unwrap()).await;
        let token = hidden(&page.shows(200, "Link this guildhall?").body, "token");
        let fields = [
            ("token", token.as_str()),
            ("user_code", code),
            ("decision", "approve"),
        ];
        let mut decide = form("/activate", &fields);
        let headers = decide.headers_mut();
        headers.insert("cookie", cookie.parse().unwrap());
        let decided = send(self.address, decide).await;
        decided.shows(200, "It is linked");
        token
    }
}

/// The cookie of somebody who just signed in.
fn session(answer: &CompanionResponse) -> String {
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("set-cookie").split(';').next();
    cookie.unwrap().to_owned()
}

/// Makes an account; the path of its one-time link.
async fn invite(folder: &Path, public: &str) -> String {
    let mut add = program(folder);
    add.args(["account", "add", "ada@example.org", "--public-url", public]);
    let output = soon("an account", add.output()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let link = String::from_utf8(output.stdout).unwrap();
    let path = link.trim_end().strip_prefix(public).unwrap().to_owned();
    assert!(path.starts_with("/welcome/"), "{link}");
    path
}

#[tokio::test]
async fn a_service_says_one_line_ends_when_asked_and_is_alone_on_its_folder() {
    let folder = Scratch::new("cloud-binary");
    let data = folder.path().join("data");
    let running = RunningBinary::start(&data).await;
    // An account can be added meanwhile, and its link counts at once.
    let link = invite(&data, "http://127.0.0.1:4780").await;
    let welcome = http::Request::get(link).body(bytes::Bytes::new()).unwrap();
    let welcome = send(running.address, welcome).await;
    welcome.shows(200, "ada@example.org");
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut second = program(&data);
    second
        .args(["serve", "--bind", "127.0.0.1:0"])
        .stderr(Stdio::piped());
    let second = soon("the second", second.output()).await.unwrap();
    assert!(
        !second.status.success() && second.stdout.is_empty(),
        "{second:?}"
    );
    assert_eq!(running.end(Signal::TERM).await, (Some(0), None));
    let running = RunningBinary::start(&data).await;
    assert_eq!(running.end(Signal::INT).await, (Some(0), None));
}

/// Does something with accounts; whether it could, and what it said.
async fn account(folder: &Path, words: &[&str]) -> (bool, String) {
    let mut account = program(folder);
    account.arg("account").args(words).stderr(Stdio::piped());
    let output = soon("an end", account.output()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn accounts_are_listed_and_removed_beside_a_service_that_runs() {
    let folder = Scratch::new("cloud-binary");
    let data = folder.path().join("data");
    let running = RunningBinary::start(&data).await;
    let link = invite(&data, "http://127.0.0.1:4780").await;
    let listed = "ada@example.org: no password chosen yet\n";
    assert_eq!(account(&data, &["list"]).await, (true, listed.to_owned()));
    let remove = ["remove", "ada@example.org"];
    let removed = "ada@example.org is removed\n";
    assert_eq!(account(&data, &remove).await, (true, removed.to_owned()));
    let gone = "guildhall-cloud: there is no account ada@example.org\n";
    assert_eq!(account(&data, &remove).await, (false, gone.to_owned()));
    let none = "guildhall-cloud: ada is no e-mail address\n";
    assert_eq!(
        account(&data, &["add", "ada"]).await,
        (false, none.to_owned())
    );
    assert_eq!(account(&data, &["list"]).await, (true, String::new()));
    let welcome = http::Request::get(link).body(bytes::Bytes::new()).unwrap();
    send(running.address, welcome)
        .await
        .shows(404, "does not count");
    running.end(Signal::TERM).await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let folder = Scratch::new("cloud-binary");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut serve = program(folder.path());
    serve
        .args(["serve", "--bind", &address])
        .stderr(Stdio::piped());
    let output = soon("a refusal", serve.output()).await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = format!("guildhall-cloud: the address {address} cannot be used: ");
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1));
}

#[tokio::test]
async fn the_log_tells_of_a_key_that_is_refused_and_holds_no_secret() {
    let folder = Scratch::new("cloud-binary");
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let key_file = folder.path().join("stripe-key");
    std::fs::write(&key_file, STRIPE_KEY).unwrap();
    let stub = StripeStub::open().await;
    let link = invite(&data, "http://127.0.0.1:4780").await;
    let mut serve = program(&data);
    serve
        .args(["serve", "--bind", "127.0.0.1:0", "--stripe-base", &stub.url])
        .arg("--stripe-key-file")
        .arg(&key_file)
        .env("GUILDHALL_CLOUD_LOG", "trace")
        .stderr(std::fs::File::create(&log).unwrap());
    let running = RunningBinary::of(serve).await;
    let welcome = running
        .form(&link, &[("password", PASSWORD), ("again", PASSWORD)])
        .await;
    let cookie = session(&welcome);
    let fields = [("client_id", "guildhall-instance")];
    let device = running.form("/oauth/device", &fields).await.ok();
    let code = device["user_code"].as_str().unwrap();
    let token = running.approve(&cookie, code).await;
    let issued = running.form("/oauth/token", &token_fields(&device)).await;
    let issued = issued.ok();
    let key = issued["access_token"].as_str().unwrap();
    stub.then(&[StripeFault::Refuse(401)]);
    let offers = http::Request::get("/v1/offers").header("authorization", format!("Bearer {key}"));
    send(running.address, offers.body(bytes::Bytes::new()).unwrap())
        .await
        .problem(503, "PAYMENT_SERVICE_UNAVAILABLE");
    assert_eq!(running.end(Signal::TERM).await, (Some(0), None));

    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("does not take the secret key"), "{log}");
    assert!(!log.contains('\u{1b}'), "no colours in a file: {log}");
    for secret in [
        STRIPE_KEY,
        PASSWORD,
        link.rsplit('/').next().unwrap(),
        cookie.split_once('=').unwrap().1,
        device["device_code"].as_str().unwrap(),
        code,
        &code.replace('-', ""),
        &token,
        key,
    ] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[tokio::test]
async fn settings_that_would_speak_in_clear_to_others_are_refused() {
    let folder = Scratch::new("cloud-binary");
    let key = folder.path().join("stripe-key");
    std::fs::write(&key, "sk_canary with a blank").unwrap();
    let key = key.to_str().unwrap();
    for (args, says) in [
        (
            &["--bind", "0.0.0.0:0"][..],
            "is beyond this computer: say with --public-url",
        ),
        (
            &["--public-url", "http://cloud.example"],
            "--public-url must be https",
        ),
        (
            &["--stripe-key-file", "/nonexistent/key"],
            "cannot be read from /nonexistent/key: No such file",
        ),
        (&["--stripe-key-file", key], "it holds no key"),
    ] {
        let mut serve = program(&folder.path().join("data"));
        serve
            .arg("serve")
            .env("GUILDHALL_CLOUD_BIND", "127.0.0.1:0")
            .args(args)
            .stderr(Stdio::piped());
        let output = soon("a refusal", serve.output()).await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("guildhall-cloud: "), "{said}");
        assert!(said.contains(says) && !said.contains("canary"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// The states that a kill may leave: asked, approved, issued. Each goes on where it was.
#[tokio::test]
async fn a_killed_service_goes_on_where_it_was_and_issues_no_second_key() {
    let folder = Scratch::new("cloud-binary");
    let data = folder.path().join("data");
    let link = invite(&data, "http://127.0.0.1:4780").await;

    let running = RunningBinary::start(&data).await;
    let fields = [("client_id", "guildhall-instance"), ("name", "workshop")];
    let device: Value = running.form("/oauth/device", &fields).await.ok();
    let welcome = running
        .form(&link, &[("password", PASSWORD), ("again", PASSWORD)])
        .await;
    let cookie = session(&welcome);
    running.end(Signal::KILL).await;

    let running = RunningBinary::start(&data).await;
    let poll = running.form("/oauth/token", &token_fields(&device)).await;
    poll.error(400, "authorization_pending");
    let code = device["user_code"].as_str().unwrap();
    running.approve(&cookie, code).await;
    running.end(Signal::KILL).await;

    let running = RunningBinary::start(&data).await;
    let issued = running
        .form("/oauth/token", &token_fields(&device))
        .await
        .ok();
    let key = issued["access_token"].as_str().unwrap();
    running.end(Signal::KILL).await;

    let running = RunningBinary::start(&data).await;
    let body = r#"{"name": "workshop", "platform": "linux", "version": "0.1.0"}"#;
    let heartbeat = http::Request::post("/v1/instances/heartbeat")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json");
    let beat = send(running.address, heartbeat.body(body.into()).unwrap())
        .await
        .ok();
    assert_eq!(beat["accountLabel"], "ada@example.org");
    let poll = running.form("/oauth/token", &token_fields(&device)).await;
    poll.error(400, "invalid_grant");
    running.end(Signal::TERM).await;
}
