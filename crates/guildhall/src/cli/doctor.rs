//! `guildhall doctor`: what this computer has for a server, also while none runs.

use clap::Args;
use guildhall_domain::port_ranges::{PortRange, ReservedPorts};
use guildhall_world::{
    enclosure::{AvailableMechanisms, Mechanism},
    process_guard::GuardCommand,
    reserved_ports::overlapping_range,
};
use serde_json::{Value, json};

use super::{
    common_args::OutputArgs,
    failure::Failure,
    output::{CellSource, Output, TableLayout},
};

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(super) printing: OutputArgs,
}

const CHECKS: TableLayout = TableLayout {
    list: Some("checks"),
    id: "/name",
    columns: &[
        ("CHECK", CellSource::At("/title")),
        ("ANSWER", CellSource::Of(answer)),
    ],
};

/// Prints every check; answers 1 when one says no.
pub(super) async fn run(ask: DoctorArgs) -> Result<u8, Failure> {
    let (parts, mut failures) = AvailableMechanisms::of_this_system(&GuardCommand::own()).await;
    if let Some(PortRange { first, last }) = overlapping_range(ReservedPorts::default()) {
        failures.push(format!(
            "ports: reserved ones lie in net.ipv4.ip_local_port_range ({first} to {last}), so agents \
             can be given one to listen on"
        ));
    }
    let checks = Mechanism::ALL.map(|part| {
        let is_ok = parts.has_mechanism(part);
        let problem = (!is_ok).then(|| format!("{} {}", part.without(), part.requirement()));
        let (name, title) = names(part);
        json!({"name": name, "title": title, "isOk": is_ok, "problem": problem})
    });
    let report = json!({"checks": checks, "failures": failures});
    let output = Output::new(ask.printing);
    match output.is_for_people() || output.is_ids() {
        true => {
            output.show_value(&report, &CHECKS)?;
            failures.iter().for_each(|failure| output.note(failure));
        }
        false => output.body(format!("{report}\n").as_bytes())?,
    }
    Ok(u8::from(
        !failures.is_empty() || parts.missing().next().is_some(),
    ))
}

/// The name for programs, and what people read.
fn names(part: Mechanism) -> (&'static str, &'static str) {
    match part {
        Mechanism::Ports => ("ports", "Agents are kept from the server's ports"),
        Mechanism::Files => ("files", "Agents are kept from the server's files"),
        Mechanism::Scopes => ("scopes", "Agents are kept from other processes"),
        Mechanism::Calls => ("calls", "Agents cannot get around that"),
    }
}

fn answer(check: &Value) -> String {
    match check["problem"].as_str() {
        Some(problem) => format!("no: {problem}"),
        None => "yes".to_owned(),
    }
}
