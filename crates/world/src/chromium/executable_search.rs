//! Where Chromium is, and whether its profile and its display may be used.
//! Source: contract 7.3, 7.10.

use std::{
    collections::BTreeMap,
    fs::DirBuilder,
    io,
    net::{TcpStream, ToSocketAddrs},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use crate::process_tree;

/// How long a display on another computer may take to answer.
const DISPLAY_WAIT: Duration = Duration::from_secs(1);

/// Names Chromium and its kin go by, best first.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "microsoft-edge-stable",
];

/// Where an executable is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPaths {
    /// What the configuration names; nothing else counts then.
    pub configured: Option<PathBuf>,
    /// `PATH` of the server.
    pub path: Option<std::ffi::OsString>,
    /// The one that was fetched, if it is there.
    pub fetched: Option<PathBuf>,
}

/// Looks for Chromium; when there is none, answers where it was looked for.
///
/// # Errors
/// The places, as a person reads them.
///
/// Source: contract 7.3, "Source of the executable".
pub fn executable(places: &SearchPaths) -> Result<PathBuf, Vec<String>> {
    if let Some(configured) = &places.configured {
        return if configured.is_absolute() && is_executable(configured) {
            Ok(configured.clone())
        } else {
            Err(vec![configured.display().to_string()])
        };
    }
    let mut searched = Vec::new();
    let folders: Vec<PathBuf> = places
        .path
        .iter()
        .flat_map(std::env::split_paths)
        // One that is relative would mean another file in each folder.
        .filter(|folder| folder.is_absolute())
        .collect();
    for name in NAMES {
        let found = folders.iter().map(|folder| folder.join(name));
        if let Some(found) = found.into_iter().find(|file| is_executable(file)) {
            return Ok(found);
        }
        searched.push(name.to_owned());
    }
    for place in APPLICATIONS
        .iter()
        .map(Path::new)
        .chain(places.fetched.as_deref())
    {
        if is_executable(place) {
            return Ok(place.to_owned());
        }
        searched.push(place.display().to_string());
    }
    Err(searched)
}

#[cfg(target_os = "macos")]
const APPLICATIONS: &[&str] = &[
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];
#[cfg(not(target_os = "macos"))]
const APPLICATIONS: &[&str] = &[];

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether Chromium's own sandbox can work for the server's user: for root it never does.
///
/// Source: contract 7.3, "Sandbox".
pub fn can_be_sandboxed() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A living browser has it.
    #[error("another browser uses the profile")]
    InUse,
    /// The file system refused.
    #[error("the profile cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Makes the folder of the profile, mode 0700, and looks whether nobody uses it.
///
/// What a killed browser left is no lock: Chromium takes it over.
///
/// # Errors
/// [`ProfileError::InUse`]; whatever the file system answers.
///
/// Source: contract 7.3, "Profile" and "Lock".
pub fn profile(folder: &Path) -> Result<(), ProfileError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    let lock = std::fs::read_link(folder.join("SingletonLock"));
    let holder = lock.ok().and_then(|lock| lock_holder(&lock));
    let own_host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    match holder {
        Some((host, pid)) if host == own_host && is_alive(pid) => Err(ProfileError::InUse),
        _ => Ok(()),
    }
}

/// What a lock says: `host-pid`.
fn lock_holder(lock: &Path) -> Option<(String, i32)> {
    let (host, pid) = lock.to_str()?.rsplit_once('-')?;
    Some((host.to_owned(), pid.parse().ok()?))
}

fn is_alive(pid: i32) -> bool {
    let Some(known) = rustix::process::Pid::from_raw(pid) else {
        return false;
    };
    // One that may not be asked is there. One that has ended is not, though nobody waited for it.
    let is_there = !matches!(
        rustix::process::test_kill_process(known),
        Err(rustix::io::Errno::SRCH)
    );
    is_there && !u32::try_from(pid).is_ok_and(process_tree::has_ended)
}

/// Whether a window can be shown: the socket that the server's environment names takes a
/// connection. May block for a second.
///
/// Source: contract 7.10, "Display test".
pub fn has_display(env: &BTreeMap<String, String>) -> bool {
    let named = |name: &str| env.get(name).filter(|value| !value.is_empty());
    let wayland = named("WAYLAND_DISPLAY").and_then(|name| {
        let folder = named("XDG_RUNTIME_DIR").map(PathBuf::from);
        match Path::new(name) {
            path if path.is_absolute() => Some(path.to_owned()),
            name => Some(folder?.join(name)),
        }
    });
    let takes = |socket: PathBuf| UnixStream::connect(socket).is_ok();
    wayland.is_some_and(takes) || named("DISPLAY").is_some_and(|name| has_x11(name))
}

/// Whether an X server answers at `:1`, `:1.0` or `host:1`.
fn has_x11(display: &str) -> bool {
    let Some((host, number)) = display.rsplit_once(':') else {
        return false;
    };
    let number = number.split('.').next().unwrap_or_default();
    let Ok(number) = number.parse::<u16>() else {
        return false;
    };
    if matches!(host, "" | "unix") {
        let path = format!("/tmp/.X11-unix/X{number}");
        return UnixStream::connect(path).is_ok() || has_abstract(number);
    }
    let Some(port) = 6_000_u16.checked_add(number) else {
        return false;
    };
    let addresses = (host.trim_matches(['[', ']']), port).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, DISPLAY_WAIT).is_ok())
}

#[cfg(target_os = "linux")]
fn has_abstract(number: u16) -> bool {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    let address = SocketAddr::from_abstract_name(format!("/tmp/.X11-unix/X{number}"));
    address.is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn has_abstract(_: u16) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;
    use crate::scratch::Scratch;

    fn program(file: &Path, mode: u32) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_hit_wins() {
        let scratch = Scratch::new("chromium-found");
        let at = |name: &str| scratch.path().join(name);
        let path = std::env::join_paths([at("a"), at("b"), "relative".into()]).unwrap();
        let mut places = SearchPaths {
            path: Some(path),
            ..SearchPaths::default()
        };
        assert_eq!(executable(&places).unwrap_err()[0], "chromium");
        places.fetched = Some(at("fetched"));
        program(&at("fetched"), 0o755);
        assert_eq!(executable(&places), Ok(at("fetched")));
        program(&at("a/google-chrome"), 0o755);
        assert_eq!(executable(&places), Ok(at("a/google-chrome")));
        program(&at("a/chromium"), 0o644);
        program(&at("b/chromium"), 0o755);
        assert_eq!(executable(&places), Ok(at("b/chromium")));
        places.configured = Some(at("own"));
        assert_eq!(
            executable(&places),
            Err(vec![at("own").display().to_string()]),
            "what is named and is not there has no stand-in"
        );
        program(&at("own"), 0o755);
        assert_eq!(executable(&places), Ok(at("own")));
        places.configured = Some("own".into());
        assert!(executable(&places).is_err());
    }

    #[test]
    fn a_profile_is_private_and_one_browsers() {
        let scratch = Scratch::new("chromium-profile");
        let folder = scratch.path().join("browser/profile");
        profile(&folder).unwrap();
        let mode = folder.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let host = rustix::system::uname();
        let host = host.nodename().to_str().unwrap().to_owned();
        let lock = folder.join("SingletonLock");
        // It has ended, and nobody waits for it.
        let mut ended = std::process::Command::new("true");
        let mut ended = ended.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut out = ended.stdout.take().unwrap();
        std::io::Read::read_to_end(&mut out, &mut Vec::new()).unwrap();
        let stat = format!("/proc/{}/stat", ended.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        for (holder, is_free) in [
            (format!("{host}-{}", std::process::id()), false),
            (format!("elsewhere-{}", std::process::id()), true),
            (format!("{host}-{}", i32::MAX), true),
            (format!("{host}-0"), true),
            (format!("{host}-{}", ended.id()), true),
            ("nonsense".to_owned(), true),
        ] {
            symlink(&holder, &lock).unwrap();
            assert_eq!(profile(&folder).is_ok(), is_free, "{holder}");
            std::fs::remove_file(&lock).unwrap();
        }
        ended.wait().unwrap();
    }

    #[test]
    fn a_display_is_one_that_answers() {
        let scratch = Scratch::new("chromium-display");
        let socket = scratch.path().join("wayland-7");
        let folder = scratch.path().display().to_string();
        let env = |rows: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            rows.iter().map(own).collect::<BTreeMap<_, _>>()
        };
        let wayland = env(&[
            ("WAYLAND_DISPLAY", "wayland-7"),
            ("XDG_RUNTIME_DIR", &folder),
        ]);
        assert!(!has_display(&wayland));
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(has_display(&wayland));
        let absolute = socket.display().to_string();
        assert!(has_display(&env(&[("WAYLAND_DISPLAY", &absolute)])));
        for rows in [
            &[][..],
            &[("WAYLAND_DISPLAY", "wayland-7")],
            &[("DISPLAY", "")],
            &[("DISPLAY", "nonsense")],
            &[("DISPLAY", ":64999")],
            &[("DISPLAY", "127.0.0.1:59999")],
        ] {
            assert!(!has_display(&env(rows)), "{rows:?}");
        }
    }
}
