//! Sign-ins of an account.

use guildhall_domain::{
    Timestamp,
    accounts::{Account, Email, Role},
    authors::{Author, AuthorKind},
    ids::{AccountId, AuthorId, SignInId},
    limits,
    sign_ins::SignIn,
};
use guildhall_store::{Store, accounts, authors, sign_ins};
use guildhall_world::scratch::Scratch;

#[tokio::test]
async fn a_sign_in_too_many_ends_the_one_that_rested_longest() {
    let scratch = Scratch::new("sign-ins");
    let store = Store::open(&scratch.path().join("store.sqlite")).unwrap();
    let most = limits::SIGN_INS_PER_ACCOUNT_MAX;
    let id = |n: u64| {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&n.to_be_bytes());
        SignInId::from_bytes(bytes)
    };
    let at = |n: u64| Timestamp::from_millis(i64::try_from(n).unwrap() * 1_000);
    let account = Account {
        id: AccountId::from_bytes([1; 16]),
        email: Email::stored("ada@example.org".to_owned()),
        display_name: "Ada".to_owned(),
        role: Role::Owner,
        author_id: AuthorId::from_bytes([2; 16]),
        created_at: at(0),
    };
    let left = store
        .write(move |tx| {
            let author = Author::new(account.author_id, AuthorKind::Human, "Ada".to_owned());
            authors::insert(tx, &author)?;
            accounts::insert(tx, &account, "hash", false)?;
            for n in 0..=most {
                let sign_in = SignIn {
                    id: id(n),
                    account_id: account.id,
                    created_at: at(n),
                    last_used_at: at(n),
                };
                let mut digest = [0; 32];
                digest[..8].copy_from_slice(&n.to_be_bytes());
                sign_ins::insert(tx, &sign_in, &digest)?;
                // The first one stays in use.
                sign_ins::touch(tx, id(0), at(n + 1))?;
            }
            let mut left = Vec::new();
            for n in [0, 1, 2, most] {
                left.push(sign_ins::by_id(tx, id(n))?.is_some());
            }
            Ok(left)
        })
        .await
        .unwrap();
    assert_eq!(left, [true, false, true, true]);
}
