//! The `.mcp.json` of an agent's folder. Links lead nowhere out of that folder, and what the
//! text means is `domain::mcp_servers::project_servers`. Source: contract 4.4.

use std::{
    io::{self, Read},
    path::Path,
};

use guildhall_domain::{limits, mcp_servers::project_servers::ProjectServers};

use crate::confined_fs::contained_folder::ContainedFolder;

/// The file's name.
const FILE: &str = ".mcp.json";

/// What the `.mcp.json` of `folder` names, nothing when there is none; never one that lies in
/// `shunned`.
///
/// Reads the disk, so it is no call for an async thread.
pub fn read(folder: &Path, shunned: &Path) -> ProjectServers {
    match text(folder, shunned) {
        Ok(text) => ProjectServers::parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ProjectServers::default(),
        Err(error) => ProjectServers::warning(because(&error)),
    }
}

fn text(folder: &Path, shunned: &Path) -> io::Result<String> {
    let folder = ContainedFolder::open(folder)?.excluding(shunned)?;
    let file = folder.file(Path::new(FILE))?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let most = limits::MCP_DISCOVERED_BYTES_MAX;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn because(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::CrossesDevices => ".mcp.json leads out of the agent's folder.",
        io::ErrorKind::FileTooLarge => ".mcp.json is larger than 256 KiB.",
        io::ErrorKind::InvalidData => ".mcp.json is no Unicode text.",
        io::ErrorKind::InvalidInput => ".mcp.json is no file.",
        _ => ".mcp.json cannot be read.",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::Scratch;

    const GOOD: &str = r#"{"mcpServers": {"files": {"command": "x"}}}"#;

    #[test]
    fn the_file_is_read_in_the_folder_and_never_out_of_it() {
        let scratch = Scratch::new("mcp-discovered");
        let root = scratch.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for folder in ["ada", "data", "none"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        let found = || {
            let ProjectServers { servers, warnings } = read(&at("ada"), &at("ada/data"));
            (servers.len(), warnings.len())
        };
        assert_eq!(found(), (0, 0), "no file is fine");
        let file = at("ada/.mcp.json");
        std::fs::write(&file, GOOD).unwrap();
        assert_eq!(found(), (1, 0));
        let replace = |by: &dyn Fn()| {
            std::fs::remove_file(&file).unwrap();
            by();
        };
        std::fs::write(at("outside.json"), GOOD).unwrap();
        std::fs::write(at("ada/inside.json"), GOOD).unwrap();
        std::fs::create_dir(at("ada/data")).unwrap();
        std::fs::write(at("ada/data/secret.json"), GOOD).unwrap();
        replace(&|| symlink("inside.json", &file).unwrap());
        assert_eq!(found(), (1, 0));
        replace(&|| symlink("../outside.json", &file).unwrap());
        assert_eq!(found(), (0, 1));
        replace(&|| symlink("data/secret.json", &file).unwrap());
        assert_eq!(found(), (0, 1));
        let mode = rustix::fs::Mode::RUSR;
        replace(&|| rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).unwrap());
        assert_eq!(found(), (0, 1), "a pipe is not waited for");
        replace(&|| std::fs::write(&file, [0xff]).unwrap());
        assert_eq!(found(), (0, 1));
        replace(&|| {
            let large = std::fs::File::create(&file).unwrap();
            large.set_len(limits::MCP_DISCOVERED_BYTES_MAX + 1).unwrap();
        });
        assert_eq!(found(), (0, 1));
    }
}
