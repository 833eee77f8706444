//! STUB
use guildhall_domain::{Moment, Result, ids::TurnId, sessions::TurnOutcome};
use guildhall_store::Tx;
pub(crate) fn began(_: &mut Tx<'_>, _: TurnId, _: Moment) -> Result<()> {
    Ok(())
}
pub(crate) fn awaits(_: &mut Tx<'_>, _: TurnId, _: Moment) -> Result<()> {
    Ok(())
}
pub(crate) fn goes_on(_: &mut Tx<'_>, _: TurnId, _: Moment) -> Result<()> {
    Ok(())
}
pub(crate) fn ended(
    _: &mut Tx<'_>,
    _: TurnId,
    _: TurnOutcome,
    _: &str,
    _: Option<&str>,
    _: Moment,
) -> Result<()> {
    Ok(())
}
pub(crate) fn reopen_by_person(
    _: &mut Tx<'_>,
    _: guildhall_domain::ids::SessionId,
    _: Moment,
) -> Result<Option<()>> {
    Ok(None)
}
