//! Folders and dev servers shown from the terminal, and what the log keeps to itself of them.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use guildhall_world::scratch::Scratch;
use serde_json::json;

use crate::{cli_server::ServerForCli, server_process::ServerProcess};

/// A dev server as people start one.
struct DevServerProcess {
    child: Child,
    port: u16,
}

impl DevServerProcess {
    fn of(folder: &Path) -> Self {
        let mut child = Command::new("python3")
            .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
            .arg("--directory")
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut said).unwrap();
        // `Serving HTTP on 127.0.0.1 port 41235 (http://127.0.0.1:41235/) ...`
        let port = said.split(" port ").nth(1).unwrap();
        let port = port.split(' ').next().unwrap().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for DevServerProcess {
    fn drop(&mut self) {
        // One that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an address answers to who shows these headers: status line, headers and body.
fn get(url: &str, headers: &str) -> String {
    let (authority, path) = url
        .trim()
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let mut socket = TcpStream::connect(authority).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let head =
        format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{headers}\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// The header of an answer.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let start = format!("{name}: ");
    let mut lines = answer.lines();
    lines.find_map(|line| line.strip_prefix(&*start)).unwrap()
}

/// Follows the address of a preview and asks for `path`.
fn look(url: &str, path: &str) -> String {
    let entered = get(url, "");
    assert!(entered.starts_with("HTTP/1.1 302"), "{entered}");
    let cookie = header(&entered, "set-cookie").split(';').next().unwrap();
    let place = header(&entered, "location");
    let url = format!("{}{path}", place.trim_end_matches('/'));
    get(&url, &format!("Cookie: {cookie}\r\n"))
}

#[test]
fn a_folder_and_a_dev_server_are_shown_from_the_terminal() {
    let house = ServerForCli::open();
    let site = format!("{}/site", house.folder());
    std::fs::create_dir(&site).unwrap();
    std::fs::write(format!("{site}/index.html"), "<h1>served</h1>").unwrap();
    std::fs::write(format!("{site}/app.js"), "export {}").unwrap();

    let url = house.run(&["preview", "serve", &site]);
    assert_eq!(url.code, 0);
    assert!(url.stderr.contains("It counts until"), "{url:?}");
    assert!(get(&url.stdout, "").ends_with("<h1>served</h1>"));
    let file = house.done(&["preview", "serve", &site, "app.js", "-q"]);
    assert!(get(&file, "").ends_with("export {}"));
    assert_eq!(house.done(&["preview", "read", &file]), "export {}");
    let elsewhere = house.run(&["preview", "read", "http://localhost/app.js"]);
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");

    let dev = DevServerProcess::of(Path::new(&site));
    let port = dev.port.to_string();
    let probed = house.json(&["preview", "probe", &port]);
    assert_eq!(probed, json!({"listening": true}));
    let ports = house.done(&["preview", "ports"]);
    assert!(ports.contains(&port), "{ports}");
    let url = house.done(&["preview", "open", &port, "-q"]);
    assert!(look(&url, "/app.js").ends_with("export {}"));
    let page = look(&url, "/");
    assert!(page.contains("SimpleHTTP") && page.ends_with("<h1>served</h1>"));
    let signed = house.json(&["preview", "open", &port]);
    assert!(
        signed["url"]
            .as_str()
            .unwrap()
            .contains("__guildhall_preview=")
    );
    let list = house.done(&["preview", "list"]);
    assert!(list.contains(&port), "{list}");
    drop(dev);
    assert!(look(&url, "/").contains(&format!("othing is listening on port {port}")));

    house.done(&["preview", "close", &port]);
    assert_eq!(
        house.refused(&["preview", "close", &port]),
        "PREVIEW_NOT_FOUND"
    );
    house.done(&["preview", "revoke"]);
    assert!(get(&file, "").starts_with("HTTP/1.1 401"));
    assert_eq!(
        house.refused(&["preview", "serve", "/nowhere"]),
        "OUTSIDE_BOUNDARY"
    );
    // A dev server is shown on no port of its own, and there is no other one here.
    let range = format!("{port}-{port}");
    house.done(&["settings", "set", "workbench.previewPorts", &range]);
    let none = house.run(&["preview", "open", &port]);
    assert_eq!((none.code, &*none.stdout), (1, ""));
    assert!(
        none.stderr
            .contains("every port of workbench.previewPorts is taken")
    );
    let none = house.run(&["preview", "open", &port, "-q"]);
    assert_eq!((none.code, &*none.stdout), (1, ""));
    let none = house.run(&["preview", "open", &port, "--json"]);
    assert_eq!(none.code, 1);
    let said: serde_json::Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!(said["unavailable"], "no-port");
    assert_eq!(house.run(&["preview", "open", "0"]).code, 1);
    assert_eq!(house.run(&["preview", "open", "70000"]).code, 2);
}

#[test]
fn no_token_of_an_address_stands_in_the_log_or_the_data_folder() {
    let scratch = Scratch::new("preview-log");
    let data_dir = scratch.path().join("data");
    let site = scratch.path().join("site");
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("index.html"), "x").unwrap();
    let log = scratch.path().join("log");
    let to = File::create(&log).unwrap();
    let server = ServerProcess::start_with_log(&data_dir, &["--bind", "127.0.0.1:0"], Some(to));
    let sign = |ask: serde_json::Value| {
        let (status, signed) = server.ask("POST", "/api/workbench/sign", Some(&ask));
        assert_eq!(status, 200, "{signed}");
        // The test names its host without a port.
        let url = signed["url"].as_str().unwrap().to_owned();
        let own = format!("http://127.0.0.1:{}/api/", server.port());
        url.replace("http://127.0.0.1/api/", &own)
    };
    let folder = sign(json!({"kind": "serve", "cwd": site}));
    assert!(get(&folder, "").ends_with('x'));
    assert!(get(&format!("{folder}none"), "").starts_with("HTTP/1.1 404"));
    assert!(get(&format!("{folder}%ff"), "").starts_with("HTTP/1.1 400"));
    let dev = DevServerProcess::of(&site);
    let preview = sign(json!({"kind": "proxy", "port": dev.port}));
    assert!(look(&preview, "/").ends_with('x'));
    drop(dev);
    assert!(look(&preview, "/").starts_with("HTTP/1.1 502"));
    assert_eq!(server.stop(), Some(0));
    let tokens: Vec<&str> = [&folder, &preview]
        .into_iter()
        .map(|url| url.split("v4.local.").nth(1).unwrap().trim_end_matches('/'))
        .collect();
    let mut places = vec![log];
    for entry in std::fs::read_dir(&data_dir).unwrap() {
        places.push(entry.unwrap().path());
    }
    let mut files = 0;
    for place in places.into_iter().filter(|place| place.is_file()) {
        let bytes = std::fs::read(&place).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for token in &tokens {
            assert!(!text.contains(&token[..40]), "{}", place.display());
        }
        files += 1;
    }
    assert!(files > 3, "the log and the data folder are looked through");
}

#[test]
fn the_public_address_shows_no_previews_unless_it_is_this_very_listener() {
    let scratch = Scratch::new("preview-tunnel");
    let hosts = ["--allowed-host", "hall.example.org"];
    let server = ServerProcess::start_with(&scratch.path().join("data"), 0, &hosts);
    let sign = |host: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let body = r#"{"kind":"proxy","port":9}"#;
        let head = format!(
            "POST /api/workbench/sign HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str::<serde_json::Value>(body).unwrap()
    };
    let own = format!("hall.example.org:{}", server.port());
    for (public, host, is_tunnel) in [
        ("", own.clone(), false),
        (
            "https://hall.example.org",
            "hall.example.org".to_owned(),
            true,
        ),
        ("https://hall.example.org", "localhost".to_owned(), false),
        (&format!("http://{own}"), own.clone(), false),
    ] {
        let set = json!({"server.publicUrl": public});
        server.ask("PATCH", "/api/settings", Some(&set));
        let signed = sign(&host);
        assert_eq!(
            signed["unavailable"] == "tunnel",
            is_tunnel,
            "{public} {host}"
        );
        let name = host.split(':').next().unwrap();
        let start = format!("http://{name}:");
        let url = signed["url"].as_str().unwrap_or_default();
        assert_eq!(url.starts_with(&start), !is_tunnel, "{signed}");
    }
}
