//! `guildhall completions` and `guildhall man`: documents made from the commands' own definition.

use std::{io::Write, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::failure::Failure;

/// For which shell.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Where the pages go.
#[derive(Clone, Debug, Args)]
pub(crate) struct ManArgs {
    /// An existing folder
    folder: PathBuf,
}

/// Prints the completions of `command`.
pub(super) fn completions(mut command: Command, ask: CompletionsArgs) -> Result<(), Failure> {
    // Into memory first: the generator cannot tell of a pipe that was closed.
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(ask.shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

/// Writes a page for `command` and one for each of its verbs.
pub(super) fn man(command: Command, ask: &ManArgs) -> Result<(), Failure> {
    clap_mangen::generate_to(command, &ask.folder).map_err(|error| {
        let folder = ask.folder.display();
        Failure::Usage(format!(
            "the pages cannot be written into {folder}: {error}."
        ))
    })
}
