//! What the file system's word means to a caller. Source: contract 6.1, "Path refusals".

use std::{io, path::Path};

use guildhall_domain::{
    Error, Fault, Refusal,
    errors::{FaultKind, ResourceKind},
};
use rustix::io::Errno;

/// Says why `path` cannot be used; the path itself is for the log alone.
pub(crate) fn refusal_of_errno(errno: Errno, path: &Path) -> Error {
    let invalid = |name| Refusal::InvalidPath(name).into();
    match errno {
        Errno::XDEV => Refusal::OutsideBoundary.into(),
        Errno::NOENT => Refusal::NotFound(ResourceKind::Path).into(),
        Errno::LOOP => invalid("ELOOP"),
        Errno::NOTDIR => invalid("ENOTDIR"),
        Errno::NAMETOOLONG => invalid("ENAMETOOLONG"),
        Errno::ACCESS | Errno::PERM => Refusal::PermissionDenied.into(),
        Errno::NOSPC | Errno::DQUOT => fault(FaultKind::StorageFull, errno, path),
        _ => fault(FaultKind::FileIo, errno, path),
    }
}

/// The same of an error of the standard library.
pub(crate) fn refusal_of_io_error(error: &io::Error, path: &Path) -> Error {
    refusal_of_errno(Errno::from_io_error(error).unwrap_or(Errno::IO), path)
}

fn fault(kind: FaultKind, errno: Errno, path: &Path) -> Error {
    let source = format!("{}: {errno}", path.display());
    Fault::new(kind, "reaching a file or folder", source).into()
}
