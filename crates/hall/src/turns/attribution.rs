//! Joining: what an agent writes with the token of its turn's session belongs to that turn.
//! Source: contract 2.6, the last paragraph.

use guildhall_domain::{
    Refusal, Result,
    agent_tokens::TokenOrigin,
    callers::{Caller, Credential},
    settings::{MAX_CANVAS_OPS_PER_TURN, MAX_POSTS_PER_TURN},
    turns::TurnState,
};
use guildhall_store::{
    ReadTx, Tx, agent_tokens,
    entries::Cascade,
    settings,
    turns::{self, TurnRow},
};

/// The cascade a post joins, and counts the post; `None` for a credential that names no
/// session, or one whose session works on no turn.
///
/// # Errors
/// [`Refusal::TurnWasStopped`], [`Refusal::TooManyPostsThisTurn`].
pub(crate) fn attribute_post(tx: &mut Tx<'_>, by: &Caller) -> Result<Option<Cascade>> {
    let Some(mut kept) = current_turn(tx, by)? else {
        return Ok(None);
    };
    if kept.posts >= settings::small(tx, &MAX_POSTS_PER_TURN)? {
        return Err(Refusal::TooManyPostsThisTurn.into());
    }
    kept.posts += 1;
    turns::update(tx, &kept)?;
    Ok(Some(Cascade {
        root: Some(kept.turn.cascade_root_id),
        depth: kept.turn.depth,
        turn: kept.turn.id,
        session: kept.turn.session_id,
    }))
}

/// Counts a canvas change in the turn it joins, if it joins one.
///
/// # Errors
/// [`Refusal::TurnWasStopped`], [`Refusal::TooManyCanvasOpsThisTurn`].
pub(crate) fn attribute_canvas_change(tx: &mut Tx<'_>, by: &Caller) -> Result<()> {
    let Some(mut kept) = current_turn(tx, by)? else {
        return Ok(());
    };
    if kept.canvas_ops >= settings::small(tx, &MAX_CANVAS_OPS_PER_TURN)? {
        return Err(Refusal::TooManyCanvasOpsThisTurn.into());
    }
    kept.canvas_ops += 1;
    turns::update(tx, &kept)
}

/// The turn that the session of the caller's token works on.
fn current_turn(db: &ReadTx<'_>, by: &Caller) -> Result<Option<TurnRow>> {
    let Credential::AgentToken(token) = by.credential else {
        return Ok(None);
    };
    let session = agent_tokens::by_id(db, token)?
        .filter(|bearer| bearer.token.origin == TokenOrigin::Spawn)
        .and_then(|bearer| bearer.token.session_id);
    let kept = match session {
        Some(session) => turns::of_session(db, session)?,
        None => None,
    };
    match kept {
        Some(kept) if kept.turn.state == TurnState::Stopped => Err(Refusal::TurnWasStopped.into()),
        Some(kept) if kept.turn.state.is_live() => Ok(Some(kept)),
        Some(_) | None => Ok(None),
    }
}
