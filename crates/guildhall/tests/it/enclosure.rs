//! What keeps an agent's processes from their keeper's end, from programs that start others, and
//! from starting where a part is missing. Needs a Linux with all parts of the enclosure.

use std::{collections::BTreeMap, os::unix::net::UnixListener, path::PathBuf};

use guildhall_testkit::until;
use guildhall_world::{
    acp::launch,
    enclosure::{Enclosure, ProcessLauncher, ProtectedServer},
    process_guard::GuardCommand,
};

use crate::enclosed_scripts::{PATIENCE, around, enclosure, keeper, open, run, shell, text};

const PASSING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/enclosure/passing.py");

/// Rows 1 and 2: whatever an agent does to its keeper, no process of it becomes the owner: it does not reach the
/// owner's listener, and is nobody at its own.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_or_stops_its_keeper_reaches_nobody() {
    let t = open().await;
    let ada = t.agent("ada").await;
    let enclosed = enclosure(&t).await;
    for (name, signal, walls) in [
        ("killed", "KILL", enclosed.clone()),
        ("stopped", "STOP", enclosed),
        ("killed bare", "KILL", Enclosure::disabled()),
        ("stopped bare", "STOP", Enclosure::disabled()),
    ] {
        let (is_bare, is_killed) = (walls.is_off(), signal == "KILL");
        // A child in a session of its own without any environment, whose parent is gone, or has
        // ended and waits for a keeper that is stopped.
        let script = format!(
            "keeper=$PPID
             setsid sh -c 'until grep -q ^State:.Z /proc/$0/status || [ ! -e /proc/$0 ]; do :; done
                 env -i $1 api GET /api/auth/whoami --url $3 > \"{name} agents\" 2>&1
                 env -i $1 api GET /api/auth/whoami --url $2 > \"{name} main\" 2>&1
                 echo $? > \"{name} code\"' $$ \"$G\" \"$URL\" \"$AGENTS\" &
             kill -{signal} $keeper"
        );
        let folder = PathBuf::from(t.folder("out"));
        let code = folder.join(format!("{name} code"));
        let started = launch(shell(&t, &ada, &script, walls)).await;
        let (link, _heard, running) = started.unwrap();
        let answered = async {
            // What a killed keeper left is killed as well, perhaps before it asks.
            if is_killed {
                return;
            }
            until("the child's answer", || code.exists()).await;
            // A keeper that was stopped before it let go of the output does not end by itself.
            link.stop();
        };
        let (ended, ()) = tokio::join!(tokio::time::timeout(PATIENCE, running), answered);
        ended.expect("the script ends");
        if !code.exists() {
            continue;
        }
        let main = text(&folder, &format!("{name} main"));
        let is_reached = !main.contains("no guildhall server answers");
        assert_eq!(is_reached, is_bare, "{name}: {main}");
        assert!(!main.contains("\"kind\":\"owner\""), "{name}: {main}");
        if !is_bare {
            let agents = text(&folder, &format!("{name} agents"));
            assert!(agents.contains("\"caller\":null"), "{name}: {agents}");
        }
    }
    t.close().await;
}

/// The sockets of programs that start others are hidden, unless a person lets agents reach them.
#[tokio::test(flavor = "multi_thread")]
async fn who_starts_programs_is_asked_only_where_a_person_allows_it() {
    let t = open().await;
    let ada = t.agent("ada").await;
    let bus = PathBuf::from(t.folder("runtime")).join("bus");
    let _bus = UnixListener::bind(&bus).unwrap();
    let connect = format!("import socket; socket.socket(socket.AF_UNIX).connect({bus:?})");
    let script = format!("python3 -c '{connect}' 2> said; echo $? > code; true");
    for (reached, code) in [(vec![], "1"), (vec![ProcessLauncher::UserServices], "0")] {
        let enclosure = enclosure(&t).await.reaching(reached);
        let folder = run(&t, &ada, &script, enclosure).await;
        assert_eq!(
            text(&folder, "code").trim(),
            code,
            "{}",
            text(&folder, "said")
        );
    }
    t.close().await;
}

/// Where a part is missing that is required, nothing starts, and it is said why.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_required_part_no_agent_starts() {
    let t = open().await;
    // A program that says nothing of what it can hide or refuse.
    let mute = GuardCommand {
        program: "/bin/true".into(),
        args: Vec::new(),
    };
    let lacking = Enclosure::new(&mute, around(&t), &BTreeMap::new()).await;
    let ada = t.agent("ada").await;
    let started = launch(shell(&t, &ada, "true", lacking.required())).await;
    let Err(error) = started else {
        panic!("it does not start")
    };
    let error = error.to_string();
    assert!(error.contains("takes user namespaces"), "{error}");
    t.close().await;
}

/// Row 5: a connection that another agent passed on makes nobody of who holds it but by a token of
/// its own. To the owner's listener there is none that could be passed.
#[tokio::test(flavor = "multi_thread")]
async fn who_takes_over_a_connection_of_another_agent_is_itself_or_nobody() {
    let t = open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let walls = enclosure(&t).await;
    let give = format!(
        "until [ -e passing ]; do :; done; python3 {PASSING} give {} 8 2> \"given problems\"; true",
        t.agent_port()
    );
    let take = format!(
        "python3 {PASSING} take nothing= own={} others={} unknown=gha_unknown 2> \"taken problems\"; true",
        bob.token(),
        ada.token()
    );
    let (folder, _) = tokio::join!(
        run(&t, &bob, &take, walls.clone()),
        run(&t, &ada, &give, walls)
    );
    let said = text(&folder, "taken");
    let lines: Vec<_> = said.lines().collect();
    let expected = [
        "nothing: None, 401",
        "own: bob, 200",
        "others: None, 401",
        "unknown: None, 401",
    ];
    assert_eq!(lines, expected, "{}", text(&folder, "taken problems"));
    t.close().await;
}

/// An agent moves no folder that holds the data folder; where one that is not enclosed did, it is
/// hidden from the others all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_an_agent_moved_stays_hidden() {
    let t = open().await;
    let ada = t.agent("ada").await;
    for (name, is_replaced) in [("moved", false), ("replaced", true)] {
        let state = t.folder(name);
        let data = PathBuf::from(t.folder(&format!("{name}/data")));
        std::fs::write(data.join("database"), "canary").unwrap();
        let place = ProtectedServer {
            data_dir: data,
            ..around(&t)
        };
        let walls = Enclosure::new(&keeper(), place, &BTreeMap::new()).await;
        let again = match is_replaced {
            true => format!("mkdir -p {state}/data"),
            false => "true".to_owned(),
        };
        let script = format!("mv {state} {state}.away && {again}; echo $? > moved");
        let folder = run(&t, &ada, &script, walls.clone()).await;
        assert_eq!(text(&folder, "moved"), "1\n", "{name}");
        let folder = run(&t, &ada, &script, Enclosure::disabled()).await;
        assert_eq!(text(&folder, "moved"), "0\n", "{name}");
        let script = format!("ls {state}.away/data > {name}; echo $? > {name}.code");
        let folder = run(&t, &ada, &script, walls).await;
        assert_eq!(text(&folder, name), "", "{name}: it is seen as empty");
        assert_eq!(text(&folder, &format!("{name}.code")), "0\n", "{name}");
    }
    t.close().await;
}
