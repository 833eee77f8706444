//! Accounts on the wire. Source: contract 1.4, "Accounts, sessions, keys".

use guildhall_domain::{
    Timestamp,
    accounts::{self, Password, RegistrationRequest},
    ids::{AccountId, AuthorId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// What an account may do here.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything: the first account.
    Owner,
    /// What people may.
    Person,
}

/// A person's account.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its id.
    #[schema(value_type = String)]
    pub id: AccountId,
    /// What the person signs in with.
    #[schema(example = "ada@example.org")]
    pub email: String,
    /// The name of its author.
    #[schema(example = "Ada")]
    pub display_name: String,
    /// What it may do.
    pub role: Role,
    /// Whom the person writes as.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<accounts::Account> for Account {
    fn from(account: accounts::Account) -> Self {
        Self {
            id: account.id,
            email: account.email.as_str().to_owned(),
            display_name: account.display_name,
            role: match account.role {
                accounts::Role::Owner => Role::Owner,
                accounts::Role::Person => Role::Person,
            },
            author_id: account.author_id,
            created_at: account.created_at,
        }
    }
}

/// A page of accounts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accounts {
    /// In the order they were made.
    pub accounts: Vec<Account>,
    /// What `cursor` takes for the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// Makes the first account; without `Debug`, because it holds secrets.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisterOwner {
    /// An e-mail address; nothing is ever sent there.
    #[schema(example = "ada@example.org")]
    pub email: String,
    /// 12..256 characters.
    #[schema(example = "correct horse battery")]
    pub password: String,
    /// 1..80 characters.
    #[schema(example = "Ada")]
    pub display_name: String,
    /// What the server wrote to its terminal and into the file `setup-code` of its data folder.
    #[schema(example = "M5ZGK43UPFXXE2LTNBQWC7DKYA")]
    pub setup_code: String,
}

impl FromFields for RegisterOwner {
    fn read(fields: &mut Fields) -> Self {
        Self {
            email: fields.text("email"),
            password: fields.text("password"),
            display_name: fields.text("displayName"),
            setup_code: fields.text("setupCode"),
        }
    }
}

impl From<RegisterOwner> for RegistrationRequest {
    fn from(ask: RegisterOwner) -> Self {
        Self {
            email: ask.email,
            password: Password::new(ask.password),
            display_name: ask.display_name,
            setup_code: ask.setup_code,
        }
    }
}

/// Makes an account for another person.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddAccount {
    /// An e-mail address; nothing is ever sent there.
    #[schema(example = "bob@example.org")]
    pub email: String,
    /// 1..80 characters.
    #[schema(example = "Bob")]
    pub display_name: String,
}

impl FromFields for AddAccount {
    fn read(fields: &mut Fields) -> Self {
        Self {
            email: fields.text("email"),
            display_name: fields.text("displayName"),
        }
    }
}

/// A new account with its first password, which is shown this once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invitation {
    /// The account.
    pub account: Account,
    /// To be handed to the person, who has to replace it at the first sign-in.
    pub invite_password: String,
}
