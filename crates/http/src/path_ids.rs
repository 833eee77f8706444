//! Paths: the ids in an address. A text that cannot be an id names nothing, and that nothing
//! is there is told by the use case, after the request's shape was checked.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use guildhall_domain::{
    Refusal,
    ids::{
        AccountId, AgentId, AgentTokenId, ApiKeyId, ApprovalId, AttachmentId, AuthFlowId, AuthorId,
        BackupId, ConnectorConnectionId, DocumentId, EntryId, MessageId, ProviderId, ReviewId,
        RoomId, SessionId, TabId, TurnId,
    },
};

use crate::errors::{ApiError, internal};

/// The ids of a route's path, in the order they stand there.
pub struct Path<T>(pub T);

/// An id that can stand in a path.
pub trait PathId {
    /// Reads it.
    fn from_path(text: &str) -> Self;
}

macro_rules! path_ids {
    ($($id:ident)+) => {$(
        impl PathId for $id {
            fn from_path(text: &str) -> Self {
                Self::named(text)
            }
        }
    )+};
}

path_ids! {
    AccountId AgentId ApprovalId AttachmentId AuthorId BackupId DocumentId EntryId ApiKeyId MessageId RoomId SessionId
    TabId AgentTokenId TurnId
    ConnectorConnectionId AuthFlowId
    ProviderId ReviewId
}

/// A part of the path that is no id, percent-decoded; its form is checked by who takes it.
impl PathId for String {
    fn from_path(text: &str) -> Self {
        text.to_owned()
    }
}

impl<S: Send + Sync, A: PathId> FromRequestParts<S> for Path<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let texts = texts(parts, state).await?;
        let [first] = texts.as_slice() else {
            return Err(internal());
        };
        Ok(Self(A::from_path(first)))
    }
}

impl<S: Send + Sync, A: PathId, B: PathId> FromRequestParts<S> for Path<(A, B)> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let texts = texts(parts, state).await?;
        let [first, second] = texts.as_slice() else {
            return Err(internal());
        };
        Ok(Self((A::from_path(first), B::from_path(second))))
    }
}

impl<S: Send + Sync, A: PathId, B: PathId, C: PathId> FromRequestParts<S> for Path<(A, B, C)> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let texts = texts(parts, state).await?;
        let [first, second, third] = texts.as_slice() else {
            return Err(internal());
        };
        Ok(Self((
            A::from_path(first),
            B::from_path(second),
            C::from_path(third),
        )))
    }
}

/// The session that a path begins with: a UUID of any version, in either case, unlike other ids.
///
/// Source: contract 1.1, "Ids".
pub struct SessionPath(pub SessionId);

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let texts = texts(parts, state).await?;
        let first = texts.first().ok_or_else(internal)?;
        let session = SessionId::parse(&first.to_ascii_lowercase());
        let session = session.ok_or_else(|| Refusal::field("id", "must be a UUID"))?;
        Ok(Self(session))
    }
}

/// The id that a path begins with, whatever follows.
pub(crate) async fn first_id<S: Send + Sync, T: PathId>(
    parts: &mut Parts,
    state: &S,
) -> Result<T, ApiError> {
    let texts = texts(parts, state).await?;
    let first = texts.first().ok_or_else(internal)?;
    Ok(T::from_path(first))
}

async fn texts<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<String>, ApiError> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| internal())?;
    Ok(params.iter().map(|(_, text)| text.to_owned()).collect())
}
