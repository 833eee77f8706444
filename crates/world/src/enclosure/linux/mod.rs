//! What Linux has for an enclosure: Landlock, namespaces and filters of system calls.

mod hidden_files;
mod mounts;
mod syscall_filter;

use std::io;

use landlock::{
    AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

pub(super) use self::{hidden_files::hide, syscall_filter::filter};

/// What Landlock refuses.
pub(super) struct LandlockRules(RulesetCreated);

impl LandlockRules {
    /// Whether this kernel can keep a process from ports.
    pub(super) fn know_ports() -> bool {
        empty(true, false).is_ok()
    }

    /// Whether this kernel can keep a process from signals and abstract sockets.
    pub(super) fn know_scopes() -> bool {
        empty(false, true).is_ok()
    }

    /// Rules against ports, and against what is outside of the enclosure. Landlock knows no
    /// refusals of single ports: each that is allowed is named.
    pub(super) fn build(
        ports: bool,
        scopes: bool,
        is_allowed: impl Fn(u16) -> bool,
    ) -> io::Result<Self> {
        let rules = |port| NetPort::new(port, AccessNet::BindTcp | AccessNet::ConnectTcp);
        let allowed = (0..=u16::MAX).filter(|port| ports && is_allowed(*port));
        let ruleset = empty(ports, scopes)
            .and_then(|empty| allowed.map(rules).try_fold(empty, RulesetCreated::add_rule));
        ruleset.map(Self).map_err(io::Error::other)
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Restricts this thread, and all that it starts.
    pub(super) fn restrict(self) -> io::Result<()> {
        let restricted = self.0.restrict_self().map_err(io::Error::other)?;
        match restricted.ruleset {
            RulesetStatus::FullyEnforced => Ok(()),
            _ => Err(io::Error::other("Landlock did not restrict everything")),
        }
    }
}

/// A ruleset without rules, which fails where the kernel lacks what it is of.
fn empty(ports: bool, scopes: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if ports {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    if scopes {
        ruleset = ruleset.scope(Scope::Signal | Scope::AbstractUnixSocket)?;
    }
    ruleset.create()
}
