//! A real agent whose command is a hostile program: it knows token, port, data folder and
//! command line, and tries every way to decide by itself or to get what would let it.
//! Source: contract 1.14 (7, 18, 22), 3.1, 3.12 (1, 7).

pub(crate) mod attack_targets;

use std::{fs, time::Instant};

use serde_json::{Value, json};

use self::attack_targets::{AttackTargets, local_token};
use crate::{
    hostile_program::{self, AttackMethod, ProcessDisguise, SocketKind},
    workspace::ServerWithFolder,
};

use AttackMethod::{
    At, CommandLine, Connects, Ended, FirstPacket, HandedOn, HeldByStopped, Hidden, InNamespaces,
    InNamespacesOfTheOwner, KeptAlive, Orphaned, OwnDescriptors, Pipelined, Relayed, Shows,
    Together, Trailing, While, WholeAddress,
};

/// Nobody, or an agent that may not.
const REFUSED: &[u16] = &[401, 403];
/// A head that cannot be read may also be refused as such.
const MALFORMED: &[u16] = &[400, 401, 403];
/// Nobody listens there.
const NO_DOOR: &[u16] = &[0, 401, 403];
/// These, where what only people use is not there.
const REFUSED_OR_NO_ROUTE: &[u16] = &[401, 403, 404, 405];
/// Nobody is there to read an answer.
const UNREAD: &[u16] = &[hostile_program::UNREAD];
const MALFORMED_OR_NO_ROUTE: &[u16] = &[400, 401, 403, 404, 405];

/// A way in, its name before, and what the server may answer to it.
type AttackCase = (&'static str, AttackMethod, &'static [u16]);

/// Every way in.
pub(crate) const WAYS: &[AttackCase] = &[
    ("nothing shown", Shows(&[]), REFUSED),
    ("its own token", Shows(&["X-Service-Agent: {own}"]), REFUSED),
    (
        "another agent's token",
        Shows(&["X-Service-Agent: {other}"]),
        REFUSED,
    ),
    (
        "an invented token",
        Shows(&["X-Service-Agent: gha_owner"]),
        REFUSED,
    ),
    ("an empty token", Shows(&["X-Service-Agent: "]), REFUSED),
    (
        "its own token twice",
        Shows(&["X-Service-Agent: {own}", "X-Service-Agent: {own}"]),
        REFUSED,
    ),
    (
        "its own token as a bearer's",
        Shows(&["Authorization: Bearer {own}"]),
        REFUSED,
    ),
    (
        "another's token as a bearer's",
        Shows(&["Authorization: Bearer {other}"]),
        REFUSED,
    ),
    (
        "two tokens that differ",
        Shows(&["X-Service-Agent: {own}", "Authorization: Bearer {other}"]),
        REFUSED,
    ),
    (
        "a stolen API key",
        Shows(&["Authorization: Bearer {key}"]),
        REFUSED,
    ),
    (
        "the local token of the discovery file",
        Shows(&["Authorization: Bearer {local}"]),
        REFUSED,
    ),
    (
        "another scheme",
        Shows(&["Authorization: Basic b3duZXI6b3duZXI="]),
        REFUSED,
    ),
    (
        "a forged cookie",
        Shows(&["Cookie: guildhall_{port}=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
        REFUSED,
    ),
    (
        "the look of the page",
        Shows(&[
            "Origin: {url}",
            "Referer: {url}/",
            "Sec-Fetch-Site: same-origin",
            "Sec-Fetch-Mode: cors",
            "User-Agent: Mozilla/5.0",
        ]),
        REFUSED,
    ),
    (
        "the word of a proxy",
        Shows(&[
            "Forwarded: for=127.0.0.1",
            "X-Forwarded-For: 127.0.0.1",
            "X-Real-IP: 127.0.0.1",
        ]),
        REFUSED,
    ),
    (
        "the name of this computer",
        Shows(&["Host: localhost:{port}"]),
        REFUSED,
    ),
    (
        "a name of somebody else",
        Shows(&["Host: owner.localhost:{port}"]),
        REFUSED,
    ),
    (
        "two hosts",
        Shows(&["Host: 127.0.0.1:{port}", "Host: localhost:{port}"]),
        MALFORMED,
    ),
    ("the whole address as target", WholeAddress, MALFORMED),
    (
        "an upgrade to a WebSocket",
        Shows(&[
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]),
        REFUSED,
    ),
    ("the other loopback", At("[::1]:{port}"), NO_DOOR),
    (
        "another address of this computer",
        At("127.0.0.2:{port}"),
        NO_DOOR,
    ),
    ("a connection used before", KeptAlive, REFUSED),
    ("behind a harmless request", Pipelined, REFUSED),
    ("a connection handed to a child", HandedOn, REFUSED),
    ("a connection that nobody holds", Hidden(&[]), REFUSED),
    (
        "the local token on a connection that nobody holds",
        Hidden(&["Authorization: Bearer {local}"]),
        REFUSED,
    ),
    ("an orphan in a session of its own", Orphaned, REFUSED),
    ("a grandchild that passes on", Relayed, REFUSED),
    (
        "the command line as itself",
        CommandLine(&[
            ("GUILDHALL_URL", "{url}"),
            ("GUILDHALL_AGENT_TOKEN", "{own}"),
        ]),
        REFUSED,
    ),
    (
        "the command line without a token",
        CommandLine(&[("GUILDHALL_URL", "{url}")]),
        REFUSED,
    ),
    (
        "the command line with a stolen key",
        CommandLine(&[("GUILDHALL_URL", "{url}"), ("GUILDHALL_API_KEY", "{key}")]),
        REFUSED,
    ),
    (
        "the command line by the discovery file and its local token",
        CommandLine(&[("GUILDHALL_DATA_DIR", "{data}")]),
        REFUSED,
    ),
    (
        "a stolen cookie of a trusted browser",
        Shows(&["Cookie: {trusted}"]),
        REFUSED,
    ),
    (
        "a stolen key and the mark of a server, on a connection that nobody holds",
        Hidden(MARKED),
        REFUSED,
    ),
    (
        "the same among more descriptors than are looked at",
        While(ProcessDisguise::ManyDescriptors, MARKED),
        REFUSED,
    ),
    (
        "a stolen cookie of a trusted browser among them",
        While(ProcessDisguise::ManyDescriptors, &["Cookie: {trusted}"]),
        REFUSED,
    ),
    (
        "a process that nobody may look into",
        While(ProcessDisguise::NotDumpable, &[]),
        REFUSED,
    ),
    (
        "a stopped keeper",
        While(ProcessDisguise::StoppedKeeper, &[]),
        REFUSED,
    ),
    (
        "a name that looks like another parent",
        While(ProcessDisguise::OddName, &[]),
        REFUSED,
    ),
    (
        "among processes that come and go",
        While(ProcessDisguise::ShortLived, &[]),
        REFUSED,
    ),
    (
        "a thread with descriptors of its own",
        OwnDescriptors,
        REFUSED,
    ),
    (
        "a connection that a stopped process holds",
        HeldByStopped,
        REFUSED,
    ),
    ("a sender that ended before it is read", Ended, UNREAD),
    ("all at one moment", Together, REFUSED),
    ("namespaces of its own", InNamespaces, REFUSED),
    (
        "an orphan in the namespaces of a program of the owner's",
        InNamespacesOfTheOwner,
        REFUSED,
    ),
    (
        "the loopback address written as IPv6",
        Connects(SocketKind::Mapped),
        REFUSED,
    ),
    (
        "no address at all",
        Connects(SocketKind::Unspecified),
        REFUSED,
    ),
    (
        "a source port that was another's a moment ago",
        Connects(SocketKind::UsedPort),
        REFUSED,
    ),
    ("the request in the first packet", FirstPacket, REFUSED),
    (
        "another protocol than TCP",
        Connects(SocketKind::Multipath),
        REFUSED,
    ),
    (
        "a socket of another user",
        Connects(SocketKind::OfAnotherUser),
        REFUSED,
    ),
    (
        "credentials behind the body",
        Trailing(&["Authorization: Bearer {key}", "Cookie: {trusted}"]),
        REFUSED,
    ),
];

/// What a guildhall shows that sends a request for somebody else, with a key of the owner's.
const MARKED: &[&str] = &["guildhall-outgoing: 1", "Authorization: Bearer {key}"];

/// Without the enclosure, which keeps them from connecting at all: this is what stands behind it.
pub(crate) const BARE: &str = "[agents]\nenclosure = \"off\"\n";
/// With all parts of it; else no agent starts.
pub(crate) const ENCLOSED: &str = "[agents]\nenclosure = \"required\"\n";

#[test]
fn nothing_an_agent_shows_lets_it_decide_or_take_what_would_let_it() {
    let t = ServerWithFolder::open_configured("hostile-shows", BARE);
    try_all(&t, |(_, way, _)| matches!(way, Shows(_)));
}

#[test]
fn no_connection_an_agent_makes_lets_it_decide_or_take_what_would_let_it() {
    let t = ServerWithFolder::open_configured("hostile-connects", BARE);
    try_all(&t, |(_, way, _)| {
        !matches!(way, Shows(_)) && !is_of_the_process(*way)
    });
}

#[test]
fn nothing_a_process_is_lets_it_decide_or_take_what_would_let_it() {
    let t = ServerWithFolder::open_configured("hostile-processes", BARE);
    try_all(&t, |(_, way, _)| is_of_the_process(*way));
}

#[test]
fn where_people_sign_in_the_secrets_of_the_data_folder_open_nothing_to_an_agent() {
    let mut t = ServerWithFolder::open_configured(
        "hostile-login",
        &format!("{BARE}[auth]\nmode = \"login\"\n"),
    );
    let code = fs::read_to_string(t.data_dir().join("setup-code")).unwrap();
    let first = json!({"email": "ada@example.org", "displayName": "Ada",
        "password": "correct horse battery", "setupCode": code.trim()});
    let (status, made) = t.server.ask("POST", "/api/auth/register", Some(&first));
    assert_eq!(status, 201, "{made}");
    t.server.authorization = Some(format!("Bearer {}", local_token(&t)));
    try_all(&t, |(name, ..)| {
        name.contains("local token") || name.contains("cookie") || name.contains("nothing")
    });
}

/// In the enclosure none of them even begins.
#[test]
fn an_enclosed_agent_connects_to_the_main_listener_in_no_way() {
    let t = ServerWithFolder::open_configured("hostile-enclosed", ENCLOSED);
    // The command line says that no server answers.
    let out_of_reach = |way: &AttackMethod| match way {
        CommandLine(_) => &[500][..],
        _ => &[0][..],
    };
    try_at(&t, &t.server.url, |_| true, |(_, way, _)| out_of_reach(way));
}

/// What they can connect to is a listener at which nobody is known but by a token, and which has
/// nothing that only people use.
#[test]
fn at_the_listener_for_agents_no_way_decides_or_takes_what_would_let_it() {
    let t = ServerWithFolder::open_configured("hostile-agents", ENCLOSED);
    // What the process does beside that makes no difference there.
    let is_tried = |(_, way, _): &AttackCase| matches!(*way, Shows(_) | HandedOn | Hidden(&[]));
    let allowed = |(_, _, at_main): &AttackCase| match *at_main == MALFORMED {
        true => MALFORMED_OR_NO_ROUTE,
        false => REFUSED_OR_NO_ROUTE,
    };
    try_at(&t, &t.server.agent_url(), is_tried, allowed);
}

fn try_all(t: &ServerWithFolder, wanted: impl Fn(&AttackCase) -> bool) {
    try_at(t, &t.server.url, wanted, |(_, _, allowed)| allowed);
}

#[expect(clippy::print_stdout, reason = "the ways that were tried are listed")]
fn try_at(
    t: &ServerWithFolder,
    url: &str,
    wanted: impl Fn(&AttackCase) -> bool,
    allowed: impl Fn(&AttackCase) -> &'static [u16],
) {
    let stage = AttackTargets::set(t, url);
    let mut orders = stage.orders.clone();
    orders["requests"] = json!(stage.requests);
    hostile_program::instruct(&t.folder, &orders);
    let (before, glance) = (stage.protected_state(), stage.snapshot());
    let (mut turns, mut wrong) = (0, Vec::new());
    for (at, entry) in WAYS.iter().enumerate().filter(|(_, entry)| wanted(entry)) {
        let (name, allowed) = (entry.0, allowed(entry));
        turns += 1;
        let began = Instant::now();
        let run = json!({"command": hostile_program::command(at)});
        t.send(&stage.own, &[&format!("#call run_command {run}")]);
        t.turn_ended(&stage.own, turns);
        let Some(found) = hostile_program::found(&t.folder) else {
            let told = t.messages(&stage.own);
            panic!(
                "{name}: the intruder did not come to its end: {:#?}",
                told.last()
            );
        };
        assert_eq!(found.len(), stage.requests.len(), "{name}");
        if !allowed.contains(&0)
            && let Some(why) = found.iter().find_map(|one| one["cannot"].as_str())
        {
            assert!(way_may_be_missing(entry.1), "{name}: {why}");
            println!("{turns}. {name}: NOT TRIED, this computer cannot do it: {why}");
            continue;
        }
        for one in &found {
            let status = u16::try_from(one["status"].as_u64().unwrap()).unwrap();
            if !allowed.contains(&status) {
                wrong.push(format!("{name}: {one}"));
            }
        }
        if stage.snapshot() != glance {
            wrong.push(format!("{name}: something changed"));
        }

        let mut statuses: Vec<_> = found.iter().map(|one| one["status"].clone()).collect();
        statuses.sort_by_key(Value::as_u64);
        statuses.dedup();
        let count = found.len();
        let took = began.elapsed();
        println!("{turns}. {name}: {count} requests in {took:.1?}, answered {statuses:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(stage.protected_state(), before, "nothing changed");
    for folder in [&t.folder, &stage.folder] {
        assert!(!folder.join("fell").exists(), "no tool ran");
    }
}

/// Whether it is the process that is unusual, and not its connection.
fn is_of_the_process(way: AttackMethod) -> bool {
    matches!(
        way,
        While(..)
            | OwnDescriptors
            | HeldByStopped
            | Ended
            | Together
            | InNamespaces
            | InNamespacesOfTheOwner
    )
}

/// Whether a computer may be unable to try this: all of them can but for what the kernel leaves
/// out, and for what only root may do.
fn way_may_be_missing(way: AttackMethod) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    match way {
        InNamespaces | InNamespacesOfTheOwner | While(ProcessDisguise::ManyDescriptors, _) => {
            !is_root
        }
        Connects(SocketKind::OfAnotherUser) => !is_root,
        Connects(SocketKind::Multipath) => true,
        _ => false,
    }
}
