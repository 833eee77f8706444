//! Damage: pages of the store, its write-ahead log and files of attachments are damaged while no
//! server runs. Each damage is noticed or harmless, nothing is acknowledged after the notice, and
//! one command brings the newest backup back.

mod damages;

use std::{
    fs,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Result,
    campaigns::{Run, Series, is_before},
    client::{Change, Client},
    comparison::{Extent, Finding, compare},
    figures::Figures,
    http::Connection,
    ledger::{Ledger, Phase, locked, upload_bytes},
    load,
    rng::Rng,
    server::{Installation, Server, StartFailure},
};
use damages::{DAMAGES, Damage, Target};

/// Damages that are made to copies of one data folder.
const DAMAGES_OF_A_FOLDER: usize = 48;
/// How long clients work before the backup and after it.
const BEFORE_BACKUP: Duration = Duration::from_millis(1_500);
const AFTER_BACKUP: Duration = Duration::from_millis(700);
/// How long the check after a bad end may take.
const CHECK_MAX: Duration = Duration::from_secs(60);
/// Changes that are asked for after a notice.
const CHANGES_AFTER_NOTICE: usize = 5;
/// The code of a server that refuses to start with this data.
const DAMAGED_EXIT: i32 = 4;
/// What it says then.
const COMMAND: &str = "guildhall restore latest";

/// A data folder with a backup, as a killed server left it, and once more as one that was stopped.
struct Template<'a> {
    series: Series<'a>,
    /// The folder of the stopped server, in whose store everything is in its place.
    stopped: Installation,
    /// The ledger when the backup was begun.
    at_backup: Ledger,
}

/// How a start on damaged data ended.
enum StartOutcome {
    /// The server does not start.
    AtStart,
    /// The server runs and takes no change any more.
    ByCheck(Server),
    /// The check ended and found nothing.
    Unnoticed(Server),
}

/// Runs the campaign.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(run: &Run<'_>, mut figures: Figures) -> Result<Figures> {
    let until = Instant::now() + run.span;
    while is_before(until) {
        let template = Template::make(run, figures.attempts)?;
        {
            let mut ledger = locked(&template.series.ledger);
            figures.acknowledgements += ledger.acknowledgements;
            figures.take(ledger.take_findings());
        }
        for _ in 0..DAMAGES_OF_A_FOLDER {
            if !is_before(until) {
                break;
            }
            let mut rng = template.series.begin(&mut figures);
            let damage = &DAMAGES[usize::try_from(figures.attempts)? % DAMAGES.len()];
            let clean = figures.is_clean_so_far();
            template.damage(damage, &mut rng, &mut figures)?;
            if clean && !figures.is_clean_so_far() {
                figures.violated(format!("the damage before was: {}", damage.name));
            }
        }
        for folder in ["template", "stopped"] {
            fs::remove_dir_all(run.folder.join(folder))?;
        }
    }
    Ok(figures)
}

impl<'a> Template<'a> {
    fn make(run: &'a Run<'a>, attempts: u64) -> Result<Self> {
        let ledger = Ledger::new(true);
        let (series, mut server) = Series::open(run, &run.folder.join("template"), ledger)?;
        let rng = Rng::of_attempt(run.seed, attempts);
        let at_backup = load::run_beside(
            server.address,
            &series.workspace,
            &series.ledger,
            rng,
            || {
                load::pause(BEFORE_BACKUP);
                let then = locked(&series.ledger).clone();
                let backup =
                    Connection::new(server.address).send("POST", "/api/backups", &json!({}));
                load::pause(AFTER_BACKUP);
                series.set_phase(Phase::Breaking);
                server.kill();
                backup.map(|answer| (answer.is_granted().then_some(then), answer.named()))
            },
        );
        let (at_backup, answer) = at_backup?;
        let at_backup = at_backup.ok_or_else(|| format!("a backup was answered {answer}"))?;
        let stopped = series.installation.copy_to(run.folder.join("stopped"))?;
        stopped.start()?.stop()?;
        // As after a bad end, so that the next start checks.
        let file = stopped.data().join("run/store-state.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&file)?)?;
        state["is_open"] = json!(true);
        fs::write(file, state.to_string())?;
        Ok(Self {
            series,
            stopped,
            at_backup,
        })
    }

    /// Damages a copy, starts a server on it and restores the backup where that is due.
    fn damage(&self, damage: &Damage, rng: &mut Rng, figures: &mut Figures) -> Result<()> {
        let from = match damage.target {
            Target::Log => &self.series.installation,
            Target::Pages | Target::Attachment => &self.stopped,
        };
        let installation = from.copy_to(self.series.run.folder.join("damaged"))?;
        let victim = (damage.make)(&installation, rng)?;
        figures.faults += u64::from(victim.is_some());
        let outcome = start(&installation, figures)?;
        match outcome {
            Some(StartOutcome::AtStart) => {
                figures.count("noticed at start", 1);
                self.restore(&installation, figures)?;
            }
            Some(StartOutcome::ByCheck(mut server)) => {
                figures.count("noticed by the running server", 1);
                self.nothing_is_acknowledged(&server, figures)?;
                server.kill();
                self.restore(&installation, figures)?;
            }
            Some(StartOutcome::Unnoticed(mut server)) => {
                match (damage.target, victim) {
                    (Target::Attachment, Some(file)) => {
                        self.is_mended(&server, &file, figures)?;
                    }
                    _ => self.unnoticed(&installation, &server, damage, figures)?,
                }
                server.kill();
            }
            None => {}
        }
        fs::remove_dir_all(&installation.disk)?;
        Ok(())
    }

    /// After the notice no change is acknowledged, and reading answers or says why not.
    fn nothing_is_acknowledged(&self, server: &Server, figures: &mut Figures) -> Result<()> {
        let scratch = Mutex::new(locked(&self.series.ledger).clone());
        {
            let mut ledger = locked(&scratch);
            ledger.phase = Phase::Working;
            ledger.tolerated = &["STORE_DAMAGED"];
            ledger.acknowledgements = 0;
        }
        let rng = Rng::of_attempt(0, figures.attempts);
        let mut client = Client::new(0, server.address, &self.series.workspace, &scratch, rng);
        for _ in 0..CHANGES_AFTER_NOTICE {
            client.ask(Change::Post)?;
        }
        let mut scratch = locked(&scratch);
        if scratch.acknowledgements > 0 {
            figures.violated(format!(
                "{} changes were acknowledged after the notice",
                scratch.acknowledgements
            ));
        }
        figures.take(scratch.take_findings());
        let path = format!("/api/rooms/{}/entries", self.series.workspace.room);
        let read = Connection::new(server.address).get(&path)?;
        match read.named().as_str() {
            "200" => figures.count("still read", 1),
            "503 STORE_DAMAGED" => {}
            other => figures.violated(format!("a read after the notice was answered {other}")),
        }
        Ok(())
    }

    /// Goes back to the backup with one command, and compares with what it holds.
    fn restore(&self, installation: &Installation, figures: &mut Figures) -> Result<()> {
        let output = installation.run(&["restore", "latest"])?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            figures.violated(format!("`{COMMAND}` ended with {}: {said}", output.status));
            return Ok(());
        }
        let server = match installation.start() {
            Ok(server) => server,
            Err(failure) => {
                figures.violated(format!("after `{COMMAND}`: {failure}"));
                return Ok(());
            }
        };
        let now = locked(&self.series.ledger).clone();
        let mut held = now.as_of(&self.at_backup);
        let workspace = &self.series.workspace;
        let found = compare(
            server.address,
            installation,
            workspace,
            &mut held,
            Extent::Restored,
        )?;
        figures.take(found);
        figures.count("restored", 1);
        figures.count(
            "acknowledged after the backup and so not in it",
            now.acknowledgements - self.at_backup.acknowledgements,
        );
        Ok(())
    }

    /// What nothing noticed is harmless, or was lost without a notice.
    fn unnoticed(
        &self,
        installation: &Installation,
        server: &Server,
        damage: &Damage,
        figures: &mut Figures,
    ) -> Result<()> {
        let mut ledger = locked(&self.series.ledger).clone();
        let workspace = &self.series.workspace;
        let found = compare(
            server.address,
            installation,
            workspace,
            &mut ledger,
            Extent::Restored,
        )?;
        let lost = found.iter().filter(|one| matches!(one, Finding::Lost(_)));
        let lost = lost.count() as u64;
        let is_of_loss = |one: &Finding| match one {
            Finding::Lost(_) => true,
            Finding::LeftFile(name) => is_temporary(name),
            Finding::Violation(_) => false,
        };
        if found.is_empty() {
            figures.count("harmless", 1);
        } else if damage.is_beyond_notice && found.iter().any(is_of_loss) {
            figures.count("damages of the log beyond notice", 1);
            figures.count("acknowledgements lost by them", lost);
            for finding in found {
                match finding {
                    Finding::Lost(_) => {}
                    // The row of a save that ran is lost with the others, and without it the
                    // server cannot know whose the file is.
                    Finding::LeftFile(name) if is_temporary(&name) => {
                        figures.count("temporary files left by them", 1);
                        fs::remove_file(installation.work().join(name))?;
                    }
                    Finding::LeftFile(_) | Finding::Violation(_) => figures.take([finding]),
                }
            }
        } else {
            figures.violated(format!("{} was not noticed", damage.name));
            figures.take(found);
        }
        Ok(())
    }

    /// A damaged attachment is never served, all others are, and uploading it again mends it.
    fn is_mended(&self, server: &Server, file: &Path, figures: &mut Figures) -> Result<()> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let uploads: Vec<_> = locked(&self.series.ledger)
            .uploads
            .clone()
            .into_iter()
            .collect();
        let mut connection = Connection::new(server.address);
        let room = format!("/api/rooms/{}/attachments", self.series.workspace.room);
        let mut damaged = None;
        for (label, id) in uploads {
            let Some(id) = id else { continue };
            let answer = connection.get(&format!("{room}/{id}"))?;
            let is_right = answer.status == 200 && answer.body == upload_bytes(&label);
            match (is_right, answer.named().as_str()) {
                (true, _) => {}
                (false, "500 ATTACHMENT_DAMAGED" | "404 ATTACHMENT_NOT_FOUND")
                    if damaged.is_none() =>
                {
                    damaged = Some((label, id));
                }
                (false, other) => figures.violated(format!(
                    "beside the damaged file {name}, {label} was answered {other}"
                )),
            }
        }
        let Some((label, id)) = damaged else {
            // It was of an upload that nobody heard of.
            figures.count("harmless", 1);
            return Ok(());
        };
        figures.count("noticed when read", 1);
        let again = connection.upload(&room, &label, &upload_bytes(&label))?;
        let answer = connection.get(&format!("{room}/{id}"))?;
        if !again.is_granted() || answer.body != upload_bytes(&label) {
            figures.violated(format!(
                "uploading {label} again ({}) does not mend it ({})",
                again.named(),
                answer.named()
            ));
        }
        Ok(())
    }
}

/// Starts a server and waits for the end of its check; `None` where it does neither start nor
/// refuse as it should.
fn start(installation: &Installation, figures: &mut Figures) -> Result<Option<StartOutcome>> {
    let checked_before = checked_at(installation);
    let server = match installation.start() {
        Ok(server) => server,
        Err(failure) => {
            let refused = failure.downcast_ref::<StartFailure>();
            let code = refused.and_then(|refused| refused.ended?.code());
            if code == Some(DAMAGED_EXIT) && failure.to_string().contains(COMMAND) {
                return Ok(Some(StartOutcome::AtStart));
            }
            figures.violated(failure.to_string());
            return Ok(None);
        }
    };
    let is_noticed = |said: &Value| said["checks"]["store"] != "ok";
    let waited = server.wait_until(CHECK_MAX, |said| {
        is_noticed(said) || checked_at(installation) != checked_before
    });
    if let Some(panic) = server.panic() {
        figures.violated(format!("a panic: {panic}"));
    }
    match waited {
        Ok(said) if is_noticed(&said) => Ok(Some(StartOutcome::ByCheck(server))),
        Ok(_) => Ok(Some(StartOutcome::Unnoticed(server))),
        Err(failure) => {
            figures.violated(format!("the check does not end: {failure}"));
            Ok(None)
        }
    }
}

/// Whether the file is one that a save writes before it takes the place of the file it saves.
fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".guildhall-tmp")
}

/// When the server last noted that a check found everything in order.
fn checked_at(installation: &Installation) -> Option<i64> {
    let state = fs::read(installation.data().join("run/store-state.json")).ok()?;
    let state: Value = serde_json::from_slice(&state).ok()?;
    state["checked_at_ms"].as_i64()
}
