//! Accounts: the people of an installation in mode `login`, and what their words must be like.
//! Pure: hashing passwords is `world::passwords`, rows are `store::accounts`.

use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AccountId, AuthorId},
    limits,
};

/// What an account may do here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything: the first account.
    Owner,
    /// What people may.
    Person,
}

/// A person's account. Source: contract 1.4, "Accounts, sessions, keys".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// What the person signs in with.
    pub email: Email,
    /// The name of its author.
    pub display_name: String,
    /// What it may do.
    pub role: Role,
    /// Whom the person writes as.
    pub author_id: AuthorId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An e-mail address: trimmed and in lower case, so that one person is one account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Reads an address as a person typed it; what is wrong is noted in `check` as `email`.
    ///
    /// The grammar is the least that tells an address from a slip: one `@` with something on
    /// both sides, 3 to 254 characters, no white space and no control characters. Nothing is
    /// ever sent there.
    pub fn read(raw: &str, check: &mut FieldValidator) -> Self {
        let text = raw.trim().to_lowercase();
        let range = limits::EMAIL_CHARS;
        check.chars("email", &text, *range.start(), *range.end());
        let is_address = text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !host.contains('@')
        });
        let has_space = text.chars().any(|c| c.is_whitespace() || c.is_control());
        if !is_address || has_space {
            check.fail("email", "must look like ada@example.org");
        }
        Self(text)
    }

    /// The address of a stored row.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A password on its way to be hashed. It has no `Debug` and no `Display`, and is never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Takes a password as it was typed, nothing trimmed.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Its bytes, for the hash.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Notes against `field` when it is no password one may choose: 12 to 256 characters.
    pub fn check_new(&self, field: &str, check: &mut FieldValidator) {
        let range = limits::PASSWORD_CHARS;
        check.chars(field, &self.0, *range.start(), *range.end());
    }

    /// Notes against `field` when nobody can have chosen it, so that it need not be hashed.
    pub fn check_shown(&self, field: &str, check: &mut FieldValidator) {
        check.chars(field, &self.0, 1, *limits::PASSWORD_CHARS.end());
    }
}

/// The first account, as asked for.
pub struct RegistrationRequest {
    /// As typed.
    pub email: String,
    /// As typed.
    pub password: Password,
    /// As typed.
    pub display_name: String,
    /// As typed.
    pub setup_code: String,
}

/// A registration whose words are in order.
pub struct ValidRegistration {
    /// What the person will sign in with.
    pub email: Email,
    /// 12 to 256 characters.
    pub password: Password,
    /// 1 to 80 characters on one line.
    pub display_name: String,
    /// In the code's own letters: upper case, without spaces and hyphens.
    pub setup_code: String,
}

impl RegistrationRequest {
    /// Checks everything that can be told from the request alone.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with every field that is wrong.
    pub fn check(self) -> Result<ValidRegistration, Refusal> {
        let mut check = FieldValidator::new();
        let email = Email::read(&self.email, &mut check);
        self.password.check_new("password", &mut check);
        let display_name = read_display_name(&self.display_name, &mut check);
        check.chars(
            "setupCode",
            &self.setup_code,
            1,
            limits::SETUP_CODE_CHARS_MAX,
        );
        check.finish()?;
        let setup_code = self.setup_code.to_ascii_uppercase();
        Ok(ValidRegistration {
            email,
            password: self.password,
            display_name,
            setup_code: setup_code.replace(|c: char| c == '-' || c.is_whitespace(), ""),
        })
    }
}

/// Reads the e-mail address and name of a new account.
///
/// # Errors
/// [`Refusal::Validation`] with every field that is wrong.
pub fn check_invitation(email: &str, display_name: &str) -> Result<(Email, String), Refusal> {
    let mut check = FieldValidator::new();
    let email = Email::read(email, &mut check);
    let display_name = read_display_name(display_name, &mut check);
    check.finish()?;
    Ok((email, display_name))
}

fn read_display_name(raw: &str, check: &mut FieldValidator) -> String {
    let name = raw.trim().to_owned();
    let range = limits::DISPLAY_NAME_CHARS;
    check.chars("displayName", &name, *range.start(), *range.end());
    check.one_line("displayName", &name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email(raw: &str) -> Option<String> {
        let mut check = FieldValidator::new();
        let email = Email::read(raw, &mut check);
        check.finish().ok().map(|()| email.as_str().to_owned())
    }

    #[test]
    fn an_address_is_folded_and_slips_are_told() {
        for (raw, expected) in [
            (" Ada@Example.ORG ", Some("ada@example.org")),
            ("a@b", Some("a@b")),
            ("ada+x@localhost", Some("ada+x@localhost")),
            ("Ünal@example.org", Some("ünal@example.org")),
            ("ada", None),
            ("@example.org", None),
            ("ada@", None),
            ("a@b@c", None),
            ("a b@example.org", None),
            ("", None),
        ] {
            assert_eq!(email(raw).as_deref(), expected, "{raw:?}");
        }
        assert_eq!(email(&format!("{}@b", "a".repeat(253))), None);
    }

    #[test]
    fn a_registration_names_everything_that_is_wrong_and_reads_the_code_as_people_write_it() {
        let ask = |password: &str, name: &str, code: &str| RegistrationRequest {
            email: "ada@example.org".to_owned(),
            password: Password::new(password.to_owned()),
            display_name: name.to_owned(),
            setup_code: code.to_owned(),
        };
        let good = ask("twelve chars", " Ada ", "abcd-efgh 2345").check();
        let good = good.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        assert_eq!(good.display_name, "Ada");
        assert_eq!(good.setup_code, "ABCDEFGH2345");
        let fields = |ask: RegistrationRequest| match ask.check() {
            Err(Refusal::Validation(invalid)) => invalid.field_errors.into_keys().collect(),
            _ => Vec::new(),
        };
        assert_eq!(
            fields(ask("eleven char", "", "")),
            ["displayName", "password", "setupCode"]
        );
        let long = "x".repeat(257);
        assert_eq!(
            fields(ask(&long, "a\nb", &long)),
            ["displayName", "password", "setupCode"]
        );
        assert_eq!(fields(ask(&"ü".repeat(256), "Ada", "c")), [""; 0]);
    }
}
