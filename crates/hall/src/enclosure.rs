//! What agents are kept from: as far as this computer can, as the settings say, and unless a
//! person opened an agent's enclosure. `world::enclosure` does it, `docs/security.md` says what
//! holds.

use std::{collections::BTreeSet, path::PathBuf};

use guildhall_domain::{
    Error, Fault,
    ids::AgentId,
    port_ranges::PortRange,
    settings::{
        AGENTS_ENCLOSURE, AGENTS_HIDDEN_FOLDERS, AGENTS_REACH_CONTAINERS, AGENTS_REACH_TERMINALS,
        AGENTS_REACH_USER_SERVICES, PREVIEW_PORTS, Setting, SettingValue,
    },
    workbench::PreviewPorts,
};
use guildhall_store::{ReadTx, agents, settings};
use guildhall_world::enclosure::{Enclosure, Mechanism, ProcessLauncher, REQUIRED};

use crate::Hall;

/// What an agent may ask to start programs, by the setting that lets it.
const REACHED: [(&Setting, ProcessLauncher); 3] = [
    (&AGENTS_REACH_CONTAINERS, ProcessLauncher::Containers),
    (&AGENTS_REACH_TERMINALS, ProcessLauncher::Terminals),
    (&AGENTS_REACH_USER_SERVICES, ProcessLauncher::UserServices),
];

/// For each mechanism, whether it is in force; else what follows, in a sentence.
#[derive(Clone, Debug)]
pub struct EnclosureChecks {
    /// The server's ports.
    pub ports: Result<(), String>,
    /// The server's files.
    pub files: Result<(), String>,
    /// Processes outside.
    pub scopes: Result<(), String>,
    /// System calls that get around the rest.
    pub calls: Result<(), String>,
}

impl EnclosureChecks {
    /// What follows from the mechanisms that are not in force, each sentence once.
    pub fn problems(&self) -> BTreeSet<&str> {
        let all = [&self.ports, &self.files, &self.scopes, &self.calls];
        all.into_iter()
            .filter_map(|check| check.as_ref().err().map(String::as_str))
            .collect()
    }
}

/// The setting `agents.enclosure`, and where previews are listened for.
fn setting_and_preview_ports(
    db: &ReadTx<'_>,
) -> Result<(SettingValue, Result<PreviewPorts, String>), Error> {
    let word = settings::get(db, &AGENTS_ENCLOSURE)?.value;
    let previews = settings::get(db, &PREVIEW_PORTS)?.value;
    Ok((word, PreviewPorts::parse(previews.text())))
}

impl Hall {
    /// What an agent is kept from that starts now, with its tool servers; a check of a runtime is
    /// no agent's.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn enclosure(&self, agent: Option<AgentId>) -> Result<Enclosure, Fault> {
        let read = move |db: &ReadTx<'_>| {
            let word = settings::get(db, &AGENTS_ENCLOSURE)?.value;
            let mut reached = Vec::new();
            for (setting, starter) in REACHED {
                if settings::get(db, setting)?.value.is_on() {
                    reached.push(starter);
                }
            }
            let hidden = settings::get(db, &AGENTS_HIDDEN_FOLDERS)?.value;
            let mut hidden: Vec<PathBuf> = hidden.texts().iter().map(PathBuf::from).collect();
            // Whoever reads a backup reads every room.
            hidden.extend(Hall::own_backup_folder(db)?);
            let agent = match agent {
                Some(agent) => agents::by_id(db, agent)?,
                None => None,
            };
            let is_open = agent.is_some_and(|agent| !agent.enclosed);
            Ok((word, hidden, reached, is_open))
        };
        let (word, hidden, reached, is_open) = self.read_settings(read).await?;
        let enclosure = self.inner.launching.enclosure.clone();
        let enclosure = enclosure.hiding(hidden).reaching(reached);
        Ok(match word.text() {
            "off" => Enclosure::disabled(),
            "required" if is_open => Enclosure::disabled().required(),
            "required" => enclosure.required(),
            _ if is_open => Enclosure::disabled(),
            _ => enclosure,
        })
    }

    /// What a local browser is kept from that starts now: agents drive its pages.
    pub(crate) async fn enclosure_of_browser(&self) -> Enclosure {
        match self.read_settings(setting_and_preview_ports).await {
            Ok((word, _)) if word.text() == "off" => Enclosure::disabled(),
            Ok((_, Ok(previews))) => {
                let own = &self.inner.launching.enclosure;
                own.of_browser(previews.ports())
            }
            // Without previews then.
            Ok((_, Err(_))) => self.inner.launching.enclosure.of_browser([]),
            Err(fault) => {
                tracing::warn!(%fault, "the local browser starts without access to previews");
                self.inner.launching.enclosure.of_browser([])
            }
        }
    }

    /// What agents that start now are kept from. When the settings cannot be read, every check
    /// says that.
    pub async fn enclosure_checks(&self) -> EnclosureChecks {
        let (word, previews) = match self.read_settings(setting_and_preview_ports).await {
            Ok(settled) => settled,
            Err(fault) => {
                let unknown = || Err(fault.to_string());
                return EnclosureChecks {
                    ports: unknown(),
                    files: unknown(),
                    scopes: unknown(),
                    calls: unknown(),
                };
            }
        };
        let own = &self.inner.launching.enclosure;
        let is_off = own.is_off() || word.text() == "off";
        let off = "Agents on this computer are not enclosed: agents.enclosure is off.";
        let check = |part| match (word.text(), own.parts().has_mechanism(part)) {
            _ if is_off => Err(off.to_owned()),
            ("required", false) => Err(format!("{REQUIRED} {}", part.requirement())),
            (_, false) => Err(format!("{} {}", part.without(), part.requirement())),
            (_, true) => Ok(()),
        };
        let ports = check(Mechanism::Ports).and_then(|()| {
            let mut previews = previews.ok().into_iter().flat_map(PreviewPorts::ports);
            let preview = previews.find(|port| !own.reserves(*port));
            match (own.overlapping_range(), own.unreserved_port(), preview) {
                (Some(PortRange { first, last }), ..) => Err(format!(
                    "Agents on this computer can listen on reserved ports, because the system \
                     gives ports {first} to {last} to programs that choose none \
                     (net.ipv4.ip_local_port_range)."
                )),
                (None, Some(port), _) => Err(format!(
                    "Agents of other guildhalls on this computer can reach this server, because \
                     its port {port} is not a reserved one."
                )),
                (None, None, Some(port)) => Err(format!(
                    "Agents on this computer can reach previews, because port {port} of \
                     workbench.previewPorts is not a reserved one."
                )),
                (None, None, None) => Ok(()),
            }
        });
        EnclosureChecks {
            ports,
            files: check(Mechanism::Files),
            scopes: check(Mechanism::Scopes),
            calls: check(Mechanism::Calls),
        }
    }

    /// What the settings say; they refuse nothing.
    async fn read_settings<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Fault> {
        match self.store().read(read).await {
            Ok(seen) => Ok(seen.value),
            Err(Error::Fault(fault)) => Err(fault),
            Err(error) => Err(Fault::broken("reading settings", format!("{error:?}"))),
        }
    }
}
