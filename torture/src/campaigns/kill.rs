//! Kill: the server ends at a random moment, as by `kill -9`, sometimes again while it starts.

use std::time::Instant;

use crate::{
    Result,
    campaigns::{Run, Series, is_before, millis_below},
    figures::Figures,
    ledger::{Ledger, Phase},
    load,
    server::Server,
};

/// Kills that one data folder goes through: every comparison reads all of it.
const KILLS_OF_A_FOLDER: usize = 24;
/// The longest time before a kill, in milliseconds.
const BEFORE_KILL_MS: usize = 400;
/// How often the next start is killed too, in percent, and within how many milliseconds.
const START_KILLED_PERCENT: usize = 20;
const START_KILLED_MS: usize = 300;

/// Runs the campaign.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(run: &Run<'_>, mut figures: Figures) -> Result<Figures> {
    let until = Instant::now() + run.span;
    let disk = run.folder.join("kill");
    while is_before(until) {
        let (series, server) = Series::open(run, &disk, Ledger::new(true))?;
        let mut server = Some(server);
        for _ in 0..KILLS_OF_A_FOLDER {
            let Some(running) = server.take().filter(|_| is_before(until)) else {
                break;
            };
            server = kill(&series, running, &mut figures)?;
        }
        drop(server);
        series.close(&mut figures)?;
    }
    Ok(figures)
}

fn kill(series: &Series<'_>, mut server: Server, figures: &mut Figures) -> Result<Option<Server>> {
    let mut rng = series.begin(figures);
    let before = millis_below(&mut rng, BEFORE_KILL_MS);
    let load = rng.clone();
    let was_alive = load::run_beside(
        server.address,
        &series.workspace,
        &series.ledger,
        load,
        || {
            load::pause(before);
            series.set_phase(Phase::Breaking);
            server.kill()
        },
    );
    if was_alive {
        figures.faults += 1;
    } else {
        figures.violated(format!(
            "the server ended by itself: {}",
            server.last_words()
        ));
    }
    if let Some(panic) = server.panic() {
        figures.violated(format!("a panic: {panic}"));
    }
    if rng.chance(START_KILLED_PERCENT) {
        let after = millis_below(&mut rng, START_KILLED_MS);
        series.installation.start_and_kill(after)?;
        figures.count("starts killed", 1);
    }
    Ok(series.restart(figures))
}
