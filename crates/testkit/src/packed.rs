//! Packed data folders: the files of one, as small as they get, to be opened again later.
//! Each file keeps its place; the database and what is large is compressed.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::event_log::checkpoint;

/// The database and what SQLite keeps beside it while it is open.
const DATABASE: &str = "guildhall.sqlite";
const BESIDE_DATABASE: [&str; 2] = ["guildhall.sqlite-wal", "guildhall.sqlite-shm"];
/// What a compressed file's name ends with. Backups end with `.zst` by themselves.
const COMPRESSED: &str = ".packed";
const LEVEL: i32 = 19;

/// Packs the data folder of a hall that was stopped into the new folder `packed`.
///
/// # Panics
/// When a file cannot be read or written.
pub fn pack(data: &Path, packed: &Path) {
    checkpoint(&data.join(DATABASE));
    for file in files(data) {
        let name = file.to_str().expect("a name");
        if BESIDE_DATABASE.contains(&name) {
            continue;
        }
        let bytes = fs::read(data.join(&file)).unwrap();
        let to = packed.join(&file);
        fs::create_dir_all(to.parent().expect("a folder")).unwrap();
        match name {
            DATABASE => fs::write(packed.join(format!("{name}{COMPRESSED}")), compress(&bytes)),
            _ => fs::write(to, bytes),
        }
        .unwrap();
    }
}

/// Makes a data folder of what [`pack`] packed, with the modes it had.
///
/// # Panics
/// When a file cannot be read or written.
pub fn unpack(packed: &Path, data: &Path) {
    for file in files(packed) {
        let bytes = fs::read(packed.join(&file)).unwrap();
        let name = file.to_str().expect("a name");
        let (name, bytes) = match name.strip_suffix(COMPRESSED) {
            Some(name) => (name, decompress(&bytes)),
            None => (name, bytes),
        };
        let to = data.join(name);
        fs::create_dir_all(to.parent().expect("a folder")).unwrap();
        fs::write(&to, bytes).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
    }
    for folder in folders(data) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// These bytes, compressed.
///
/// # Panics
/// When there is no memory for it.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, LEVEL).unwrap()
}

/// What was compressed.
///
/// # Panics
/// When it was not.
pub fn decompress(bytes: &[u8]) -> Vec<u8> {
    zstd::decode_all(bytes).unwrap()
}

/// Every file beneath a folder, by its path from there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder_of in folders(folder) {
        for entry in fs::read_dir(folder_of).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                found.push(path.strip_prefix(folder).expect("beneath it").to_owned());
            }
        }
    }
    found.sort_unstable();
    found
}

/// A folder and every one beneath it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(next) = found.get(looked_at).cloned() {
        looked_at += 1;
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.push(path);
            }
        }
    }
    found
}
