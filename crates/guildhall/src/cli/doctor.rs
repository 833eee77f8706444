//! `guildhall doctor`: what this computer has for a server, also while none runs.

use clap::Args;
use guildhall_domain::port_ranges::{PortRange, Reserved};
use guildhall_world::{
    enclosure::{Part, Parts},
    process_guard::KeeperCommand,
    reserved_ports::overlapping_range,
};
use serde_json::{Value, json};

use super::{
    common_args::Printing,
    failure::Failure,
    output::{Cell, Output, View},
};

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(super) printing: Printing,
}

const CHECKS: View = View {
    list: Some("checks"),
    id: "/name",
    columns: &[("CHECK", Cell::At("/title")), ("ANSWER", Cell::Of(answer))],
};

/// Prints every check; answers 1 when one says no.
pub(super) async fn run(ask: Doctor) -> Result<u8, Failure> {
    let (parts, mut failures) = Parts::of_this_system(&KeeperCommand::own()).await;
    if let Some(PortRange { first, last }) = overlapping_range(Reserved::default()) {
        failures.push(format!(
            "ports: reserved ones lie in net.ipv4.ip_local_port_range ({first} to {last}), so agents \
             can be given one to listen on"
        ));
    }
    let checks = Part::ALL.map(|part| {
        let is_ok = parts.has(part);
        let problem = (!is_ok).then(|| format!("{} {}", part.without(), part.takes()));
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
fn names(part: Part) -> (&'static str, &'static str) {
    match part {
        Part::Ports => ("ports", "Agents are kept from the server's ports"),
        Part::Files => ("files", "Agents are kept from the server's files"),
        Part::Scopes => ("scopes", "Agents are kept from other processes"),
        Part::Calls => ("calls", "Agents cannot get around that"),
    }
}

fn answer(check: &Value) -> String {
    match check["problem"].as_str() {
        Some(problem) => format!("no: {problem}"),
        None => "yes".to_owned(),
    }
}
