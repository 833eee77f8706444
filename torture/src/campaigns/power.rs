//! Power: the file system below the data is cut off while the server works, by turns ext4 and XFS.
//!
//! What counts is what was acknowledged before the cut began, and what was acknowledged although it
//! was asked for after the cut.

use std::time::{Duration, Instant};

use crate::{
    Result,
    campaigns::{Run, Series, is_before, millis_below},
    figures::Figures,
    ledger::{Ledger, Phase},
    load,
    mounts::{Disk, FileSystem},
    server::Server,
};

/// Cuts that one file system goes through.
const CUTS_OF_A_DISK: usize = 8;
/// The longest time before a cut, in milliseconds.
const BEFORE_CUT_MS: usize = 500;
/// How long the server goes on with a disk that is gone, in milliseconds.
const AFTER_CUT_MS: usize = 60;
/// The least time between the end of a cut and the end of the server.
const AFTER_CUT_MIN: Duration = Duration::from_millis(10);

/// Runs the campaign, or says why it cannot be run here.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(run: &Run<'_>, mut figures: Figures) -> Result<Figures> {
    let usable = run.mounts.clone().and_then(|()| {
        let usable =
            is_usable(run, FileSystem::Ext4).and_then(|()| is_usable(run, FileSystem::Xfs));
        usable.map_err(|failure| failure.to_string())
    });
    if let Err(why) = usable {
        return Ok(figures.skipped(format!(
            "ext4 and XFS in loop devices cannot be cut off here: {why}"
        )));
    }
    let until = Instant::now() + run.span;
    let kinds = [FileSystem::Ext4, FileSystem::Xfs];
    for kind in kinds.into_iter().cycle() {
        if !is_before(until) {
            break;
        }
        let disk = Disk::make(kind, run.folder)?;
        let (series, server) = Series::open(run, &disk.at, Ledger::new(false))?;
        let mut server = Some(server);
        for _ in 0..CUTS_OF_A_DISK {
            let Some(running) = server.take().filter(|_| is_before(until)) else {
                break;
            };
            server = cut(&series, &disk, running, &mut figures)?;
        }
        drop(server);
        series.close(&mut figures)?;
    }
    Ok(figures)
}

/// Tries a cut on an empty disk.
fn is_usable(run: &Run<'_>, kind: FileSystem) -> Result<()> {
    let disk = Disk::make(kind, run.folder)?;
    disk.cut()?;
    disk.unmount()
}

fn cut(
    series: &Series<'_>,
    disk: &Disk,
    mut server: Server,
    figures: &mut Figures,
) -> Result<Option<Server>> {
    let mut rng = series.begin(figures);
    let before = millis_below(&mut rng, BEFORE_CUT_MS);
    let after = AFTER_CUT_MIN + millis_below(&mut rng, AFTER_CUT_MS);
    let cut = load::run_beside(
        server.address,
        &series.workspace,
        &series.ledger,
        rng,
        || {
            load::pause(before);
            // An answer that is noted from here on may be from during the cut.
            series.set_phase(Phase::Breaking);
            let cut = disk.cut();
            series.set_phase(Phase::Broken);
            load::pause(after);
            server.kill();
            cut
        },
    );
    cut?;
    figures.faults += 1;
    figures.count(
        match disk.kind {
            FileSystem::Xfs => "on XFS",
            _ => "on ext4",
        },
        1,
    );
    if let Some(panic) = server.panic() {
        figures.violated(format!("a panic: {panic}"));
    }
    drop(server);
    disk.unmount()?;
    disk.mount()?;
    Ok(series.restart(figures))
}
