//! Attributes: giving the temporary file the owner, access list, extended attributes and mode of
//! the file whose place it takes.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString},
    fs::{File, Metadata},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
};

use rustix::{
    fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr},
    io::Errno,
};

/// Bytes of one attribute, and of all names together, as Linux limits them.
const BYTES_MAX: usize = 64 << 10;

/// Copies everything but content and times from `from` to `to`.
///
/// # Errors
/// What could not be copied; the file is to be written in place then.
pub(super) fn copy(from: &File, before: &Metadata, to: &File) -> io::Result<()> {
    let made = to.metadata()?;
    if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
        fchown(to, Some(before.uid()), Some(before.gid()))?;
    }
    copy_extended(from, to)?;
    // Last, because a change of owner or access list changes it.
    to.set_permissions(PermissionsExt::from_mode(before.mode() & 0o7777))
}

/// Copies extended attributes, access lists among them, and drops those a folder hands down.
fn copy_extended(from: &File, to: &File) -> io::Result<()> {
    let (wanted, found) = (all(from)?, all(to)?);
    for name in found.keys().filter(|name| !wanted.contains_key(*name)) {
        fremovexattr(to, name.as_c_str())?;
    }
    for (name, value) in &wanted {
        if found.get(name) != Some(value) {
            fsetxattr(to, name.as_c_str(), value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Every extended attribute; none where the file system has none.
fn all(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let mut names = vec![0; BYTES_MAX];
    let length = match flistxattr(file, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut attributes = BTreeMap::new();
    let mut value = vec![0; BYTES_MAX];
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let name = CStr::from_bytes_with_nul(name).map_err(io::Error::other)?;
        let length = fgetxattr(file, name, &mut value[..])?;
        attributes.insert(name.to_owned(), value[..length].to_vec());
    }
    Ok(attributes)
}
