//! Commands: a folder with as many command files as count, looked at for the first time and kept.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use guildhall_domain::limits;
use serde_json::Value;

use crate::{
    Result, Scale,
    http_client::{HttpClient, get},
    measure::{self, DurationSamples},
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Folders that are looked at for the first time; each holds the same files.
const FOLDERS: usize = 9;
/// Command files of one of their folders.
const PER_NAMESPACE: usize = 100;

/// Folders full of command files.
pub(crate) struct CommandFolders(Vec<PathBuf>);

impl CommandFolders {
    /// Writes them beneath the server's home.
    pub(crate) fn write(house: &ServerFolder) -> Result<Self> {
        let folders = (0..FOLDERS).map(|n| house.home().join(format!("commands-{n}")));
        let folders: Vec<PathBuf> = folders.collect();
        folders.iter().try_for_each(|folder| write(folder))?;
        Ok(Self(folders))
    }

    /// The rows of a first look and of a kept one.
    pub(crate) async fn measure(
        &self,
        server: &ServerProcess,
        scale: &Scale,
    ) -> Result<Vec<ResultRow>> {
        let mut client = HttpClient::connect(server.address).await?;
        let ask = |folder: &Path| {
            let path = format!("/api/commands?cwd={}", folder.display());
            get(server.address, &path)
        };
        let (mut first, mut bare) = (DurationSamples::default(), DurationSamples::default());
        for folder in &self.0 {
            let began = Instant::now();
            read_bare(&folder.join(".claude/commands"))?;
            bare.push(began.elapsed());
            let began = Instant::now();
            let body = client.expect(&ask(folder), 200).await?;
            first.push(began.elapsed());
            let listing: Value = serde_json::from_slice(body)?;
            if listing["commands"].as_array().map(Vec::len) != Some(limits::COMMAND_FILES_MAX) {
                return Err("commands are missing".into());
            }
        }
        let kept = measure::times(&mut client, || ask(&self.0[0]), 200, scale.span).await?;
        let files = limits::COMMAND_FILES_MAX;
        Ok(vec![
            ResultRow {
                work: format!("commands of {files} files, first look"),
                measured: Measurement::Millis(first.percentile_ms(50.0)),
                limit: Some((Measurement::Millis(bare.percentile_ms(50.0)), "bare reads")),
                targets: vec![Target::AtMost(Measurement::Millis(150.0))],
            },
            ResultRow {
                work: "the same, kept, p99".to_owned(),
                measured: Measurement::Millis(kept.percentile_ms(99.0)),
                limit: None,
                targets: vec![Target::AtMost(Measurement::Millis(2.0))],
            },
        ])
    }
}

fn write(folder: &Path) -> Result<()> {
    for n in 0..limits::COMMAND_FILES_MAX {
        let namespace = format!(".claude/commands/area{}", n / PER_NAMESPACE);
        let namespace = folder.join(namespace);
        fs::create_dir_all(&namespace)?;
        let text = format!(
            "---\ndescription: Does the work number {n}\nargument-hint: [what] [where]\n\
             allowed-tools: Read, Edit, Bash(git add:*)\n---\n\nDo $ARGUMENTS, and then rest.\n"
        );
        fs::write(namespace.join(format!("work{n}.md")), text)?;
    }
    Ok(())
}

/// Reads every file and does nothing with it.
fn read_bare(folder: &Path) -> Result<()> {
    for namespace in fs::read_dir(folder)? {
        for file in fs::read_dir(namespace?.path())? {
            fs::read(file?.path())?;
        }
    }
    Ok(())
}
