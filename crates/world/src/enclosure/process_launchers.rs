//! Programs outside of the enclosure that start others when they are asked to: their sockets are
//! hidden like the data folder, unless a person lets agents reach them.

use std::{collections::BTreeMap, path::PathBuf};

/// A kind of programs that start others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessLauncher {
    /// Services of the user and of the system: their buses and systemd's own sockets.
    UserServices,
    /// Daemons that start containers: Docker and Podman.
    Containers,
    /// Terminal multiplexers: tmux and GNU Screen.
    Terminals,
}

/// Where the sockets of each are, by the environment of the user with this number.
pub(super) fn sockets(
    environment: &BTreeMap<String, String>,
    user: u32,
) -> Vec<(ProcessLauncher, PathBuf)> {
    let variable = |name: &str| environment.get(name).map(PathBuf::from);
    let runtime = variable("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{user}").into());
    let tmux = variable("TMUX_TMPDIR").unwrap_or_else(|| "/tmp".into());
    let screen = variable("SCREENDIR").or_else(|| {
        let name = environment.get("USER")?;
        Some(PathBuf::from(format!("/run/screen/S-{name}")))
    });
    let mut sockets = vec![
        (ProcessLauncher::UserServices, runtime.join("bus")),
        (ProcessLauncher::UserServices, runtime.join("systemd")),
        (
            ProcessLauncher::UserServices,
            "/run/dbus/system_bus_socket".into(),
        ),
        (ProcessLauncher::UserServices, "/run/systemd/private".into()),
        (ProcessLauncher::Containers, "/run/docker.sock".into()),
        (ProcessLauncher::Containers, "/run/podman".into()),
        (ProcessLauncher::Containers, runtime.join("docker.sock")),
        (ProcessLauncher::Containers, runtime.join("podman")),
        (
            ProcessLauncher::Terminals,
            tmux.join(format!("tmux-{user}")),
        ),
    ];
    sockets.extend(screen.map(|screen| (ProcessLauncher::Terminals, screen)));
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_where_the_environment_puts_them() {
        let found = |environment: &[(&str, &str)]| {
            let environment = environment.iter().copied();
            let owned = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
            sockets(&owned.collect(), 1000)
        };
        let paths = |environment: &[(&str, &str)], kind: ProcessLauncher| -> Vec<String> {
            let found = found(environment).into_iter();
            let of_kind = found.filter(|(starter, _)| *starter == kind);
            of_kind
                .map(|(_, path)| path.to_str().unwrap().to_owned())
                .collect()
        };
        const OF_THE_SYSTEM: [&str; 2] = ["/run/dbus/system_bus_socket", "/run/systemd/private"];
        assert_eq!(
            paths(&[("XDG_RUNTIME_DIR", "/r")], ProcessLauncher::UserServices),
            [&["/r/bus", "/r/systemd"][..], &OF_THE_SYSTEM].concat()
        );
        assert_eq!(
            paths(&[], ProcessLauncher::UserServices),
            [
                &["/run/user/1000/bus", "/run/user/1000/systemd"][..],
                &OF_THE_SYSTEM
            ]
            .concat()
        );
        assert_eq!(
            paths(
                &[("TMUX_TMPDIR", "/t"), ("USER", "ada")],
                ProcessLauncher::Terminals
            ),
            ["/t/tmux-1000", "/run/screen/S-ada"]
        );
        assert_eq!(paths(&[], ProcessLauncher::Terminals), ["/tmp/tmux-1000"]);
    }
}
