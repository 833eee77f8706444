//! Ids of what the service keeps: UUIDv7, stored as text.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(Uuid);

        impl $name {
            /// A new one.
            pub fn mint() -> Self {
                Self(guildhall_world::ids::new())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.to_string().into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let id = value.as_str()?.parse();
                id.map(Self).map_err(|error| FromSqlError::Other(Box::new(error)))
            }
        }
    )+};
}

ids! {
    /// A person's account.
    AccountId;
    /// One guildhall that is linked to an account.
    InstanceId;
}
