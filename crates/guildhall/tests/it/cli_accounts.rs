//! Accounts, sign-ins and keys, from the terminal.

use serde_json::Value;

use crate::cli_server::{CommandOutput, ServerForCli};

const PASSWORD: &str = "correct horse battery";

/// A house whose owner is registered.
fn settled() -> ServerForCli {
    let house = ServerForCli::with_accounts();
    let registered = register(&house, &house.setup_code(), &["-q"]);
    assert_eq!(registered.code, 0, "{registered:?}");
    house
}

fn register(house: &ServerForCli, code: &str, more: &[&str]) -> CommandOutput {
    let args = [
        "accounts",
        "register",
        "--email",
        "ada@example.org",
        "--name",
        "Ada",
    ];
    let secrets = format!("{code}\n{PASSWORD}\n");
    house.run_with(secrets.as_bytes(), &[&args, more].concat())
}

fn login(house: &ServerForCli, email: &str, password: &str) -> CommandOutput {
    let args = ["accounts", "login", "--email", email];
    house.run_with(format!("{password}\n").as_bytes(), &args)
}

fn signed_in(house: &ServerForCli, cookie: &str, input: &str, args: &[&str]) -> CommandOutput {
    house.run_where(("GUILDHALL_COOKIE", cookie), input.as_bytes(), args)
}

#[test]
fn the_first_account_is_made_with_the_setup_code_and_is_the_owner() {
    let house = ServerForCli::with_accounts();
    let wrong = register(&house, "WRONG", &[]);
    assert_eq!((wrong.code, &*wrong.stdout), (1, ""));
    assert!(wrong.stderr.contains("SETUP_CODE_WRONG"), "{wrong:?}");
    let registered = register(&house, &house.setup_code(), &["--json"]);
    assert_eq!(registered.code, 0, "{registered:?}");
    let account: Value = serde_json::from_str(&registered.stdout).unwrap();
    assert_eq!(
        (&account["role"], &account["displayName"]),
        (&"owner".into(), &"Ada".into())
    );
    let again = register(&house, "WRONG", &[]);
    assert!(again.stderr.contains("REGISTRATION_CLOSED"), "{again:?}");

    // Programs of the owner's user on this computer are the owner without signing in.
    let whoami = house.json(&["whoami"]);
    assert_eq!(whoami["caller"]["authorId"], account["authorId"]);
    assert_eq!(whoami["caller"]["credential"], "local-token");
    let listed = house.json(&["accounts", "list"]);
    assert_eq!(listed["accounts"][0], account);
    assert!(
        house
            .done(&["accounts", "list"])
            .contains("ada@example.org")
    );
}

#[test]
fn a_sign_in_is_handed_over_and_ends() {
    let house = settled();
    let wrong = login(&house, "ada@example.org", "wrong password 1");
    assert_eq!((wrong.code, &*wrong.stdout), (1, ""));
    assert!(wrong.stderr.contains("INVALID_CREDENTIALS"), "{wrong:?}");
    let login = login(&house, "ada@example.org", PASSWORD);
    let cookie = login.stdout.trim();
    assert!(
        cookie.starts_with("guildhall_") && !login.stderr.contains(cookie),
        "{login:?}"
    );

    let whoami = signed_in(&house, cookie, "", &["whoami"]);
    assert!(whoami.stdout.contains("cookie"), "{whoami:?}");
    let logout = signed_in(&house, cookie, "", &["accounts", "logout"]);
    assert_eq!(
        (logout.code, &*logout.stdout),
        (0, "The sign-in has ended.\n")
    );
    let after = signed_in(&house, cookie, "", &["rooms", "list"]);
    assert_eq!((after.code, &*after.stdout), (1, ""));
    assert!(after.stderr.contains("AUTH_REQUIRED"), "{after:?}");
}

#[test]
fn another_person_is_invited_chooses_a_password_and_goes() {
    let house = settled();
    let invited = house.run(&["accounts", "add", "bob@example.org", "Bob"]);
    assert!(invited.stderr.contains("this once"), "{invited:?}");
    let first = invited.stdout.trim();
    let cookie = login(&house, "bob@example.org", first).stdout;
    let cookie = cookie.trim();
    let unsettled = signed_in(&house, cookie, "", &["rooms", "list"]);
    assert_eq!((unsettled.code, &*unsettled.stdout), (1, ""));
    let secrets = format!("{first}\n{PASSWORD}\n");
    let changed = signed_in(&house, cookie, &secrets, &["accounts", "password"]);
    assert_eq!(changed.code, 0, "{changed:?}");
    let posted = signed_in(&house, cookie, "", &["post", "team", "hello"]);
    assert_eq!(posted.code, 0, "{posted:?}");
    assert_eq!(login(&house, "bob@example.org", first).code, 1);

    assert_eq!(
        house.refused(&["accounts", "remove", "ada@example.org"]),
        "OWNER_ACCOUNT"
    );
    let removed = house.done(&["accounts", "remove", "Bob@Example.org"]);
    assert_eq!(removed, "Bob@Example.org has no account any more.\n");
    assert_eq!(
        house.json(&["accounts", "list"])["accounts"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(signed_in(&house, cookie, "", &["rooms", "list"]).code, 1);
    assert_eq!(
        house.refused(&["accounts", "remove", "nobody"]),
        "ACCOUNT_NOT_FOUND"
    );
}

#[test]
fn a_key_speaks_as_its_maker_until_it_is_revoked() {
    for house in [settled(), ServerForCli::open()] {
        let made = house.run(&["keys", "make", "--label", "backup"]);
        let key = made.stdout.trim().to_owned();
        assert_eq!((made.code, key.len()), (0, 47), "{made:?}");
        assert!(made.stderr.contains("this once") && !made.stderr.contains(&key));
        let with_key = |args: &[&str]| house.run_where(("GUILDHALL_API_KEY", &key), b"", args);
        assert!(with_key(&["whoami"]).stdout.contains("api-key"));
        let listed = house.done(&["keys", "list"]);
        assert!(
            listed.contains("backup") && !listed.contains(&key),
            "{listed}"
        );

        let text = house.run(&["keys", "revoke", &key]);
        assert_eq!((text.code, &*text.stdout), (2, ""));
        assert!(!text.stderr.contains(&key));
        let id = house.done(&["keys", "list", "-q"]);
        house.done(&["keys", "revoke", id.trim()]);
        let dead = with_key(&["rooms", "list"]);
        assert_eq!((dead.code, &*dead.stdout), (1, ""));
        assert_eq!(
            house.refused(&["keys", "revoke", id.trim()]),
            "KEY_NOT_FOUND"
        );
    }
}

#[test]
fn without_accounts_there_is_nothing_to_sign_in_to() {
    let house = ServerForCli::open();
    assert_eq!(house.refused(&["accounts", "list"]), "AUTH_MODE_LOCAL");
    let login = login(&house, "ada@example.org", PASSWORD);
    assert_eq!((login.code, &*login.stdout), (1, ""));
    assert!(login.stderr.contains("AUTH_MODE_LOCAL"), "{login:?}");
    // A secret that does not come is told, and nothing is sent.
    let silent = house.run(&["accounts", "login", "--email", "ada@example.org"]);
    assert_eq!((silent.code, &*silent.stdout), (2, ""));
}
