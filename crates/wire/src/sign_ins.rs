//! Sign-ins on the wire. Source: contract 1.4, "Accounts, sessions, keys".

use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Opens a sign-in; without `Debug`, because it holds a secret.
#[derive(Serialize, ToSchema)]
pub struct Login {
    /// As in the account, in any case.
    #[schema(example = "ada@example.org")]
    pub email: String,
    /// 1..256 characters.
    #[schema(example = "correct horse battery")]
    pub password: String,
}

impl FromFields for Login {
    fn read(fields: &mut Fields) -> Self {
        Self {
            email: fields.text("email"),
            password: fields.text("password"),
        }
    }
}

/// Changes the password; without `Debug`, because it holds secrets.
#[derive(Serialize, ToSchema)]
pub struct ChangePassword {
    /// The password until now.
    #[schema(example = "correct horse battery")]
    pub current: String,
    /// The password from now on; 12..256 characters.
    #[schema(example = "staple under a red lamp")]
    pub next: String,
}

impl FromFields for ChangePassword {
    fn read(fields: &mut Fields) -> Self {
        Self {
            current: fields.text("current"),
            next: fields.text("next"),
        }
    }
}
