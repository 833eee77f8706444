//! One run: two houses, what they hold after two thirds and at the end, and the judgement.

use std::{cell::RefCell, future::pending, path::Path, time::Duration};

use futures_util::future::try_join_all;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    FuzzArgs, HANG_S, Result,
    findings::{FailureKind, Findings},
    hostile_server::HostileServer,
    operations::ApiDocument,
    peer_exposure,
    request_loops::RequestLoops,
    resource_usage::{self, ResourceGrowth, ResourceUsage},
    server_under_test::{ServerMode, ServerUnderTest},
};

/// Connections that send at once, to each house.
const CONNECTIONS: usize = 4;
/// How often is looked whether a house is at rest, and how often it has to be the same.
const LOOK_EVERY: Duration = Duration::from_millis(300);
const LOOKS_SAME: usize = 5;
/// How long it may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(20);

/// Runs and prints; true where nothing went wrong.
///
/// # Errors
/// Why the run could not begin or go on.
pub(crate) async fn run(ask: &FuzzArgs, folder: &Path) -> Result<bool> {
    let hostile = HostileServer::start(ask.seed).await?;
    tokio::select! {
        outcome = run_beside(ask, folder, &hostile) => outcome,
        () = hostile.serve() => Err("the hostile server ended".into()),
    }
}

async fn run_beside(ask: &FuzzArgs, folder: &Path, hostile: &HostileServer) -> Result<bool> {
    let interface = ApiDocument::read()?;
    let findings = RefCell::new(Findings::default());
    println!(
        "fuzz: seed {}, {:.1} minutes, {} operations, {CONNECTIONS} connections to each of two servers",
        ask.seed,
        ask.span.as_secs_f64() / 60.0,
        interface.operations.len()
    );
    let mut houses = Vec::new();
    for mode in [ServerMode::Local, ServerMode::Login] {
        houses.push(ServerUnderTest::start(
            &ask.server,
            &folder.join(mode.word()),
            mode,
            hostile.address,
        )?);
    }
    let mut all = Vec::new();
    for (number, house) in houses.iter().enumerate() {
        let callers = house.callers().await?;
        // Each house has random numbers of its own.
        let seed = ask.seed.wrapping_add(u64::try_from(number)? << 32);
        all.push(RequestLoops::new(
            &interface,
            house,
            &findings,
            callers,
            hostile.address,
            seed,
        )?);
    }
    try_join_all(all.iter().map(peer_exposure::create_prerequisites)).await?;
    let outcome = thirds(&all, ask.span).await;
    for house in &houses {
        for line in house.panics() {
            findings
                .borrow_mut()
                .failed(FailureKind::Panic, house.mode.word(), || line.clone());
        }
        if let Some(how) = house.ended() {
            let told = || format!("seed {}: {how}\n{}", ask.seed, house.last_words());
            findings
                .borrow_mut()
                .failed(FailureKind::Ended, house.mode.word(), told);
        }
    }
    let growth = match outcome {
        Ok(growth) => growth,
        Err(failure) => {
            let told = || failure.to_string();
            findings
                .borrow_mut()
                .failed(FailureKind::Ended, "the run was cut short", told);
            Vec::new()
        }
    };
    let mut lines = Vec::new();
    for (house, [before, after]) in houses.iter().zip(&growth) {
        let growth = ResourceGrowth {
            before,
            after,
            is_long_run: ask.is_long_run(),
        };
        for excess in growth.excesses() {
            findings
                .borrow_mut()
                .failed(FailureKind::Growth, &excess, || {
                    format!("mode {}: {growth}", house.mode.word())
                });
        }
        lines.push(format!("last third, mode {}: {growth}", house.mode.word()));
    }
    let starts: u64 = houses.iter().map(ServerUnderTest::agent_starts).sum();
    check_reach(ask, &findings, starts, hostile.asked());
    let findings = findings.borrow();
    println!("{findings}");
    for line in lines {
        println!("{line}");
    }
    let never = never_granted(&interface, &findings);
    println!(
        "operations granted: {} of {}; never: {}",
        interface.operations.len() - never.len(),
        interface.operations.len(),
        never.join(" ")
    );
    println!(
        "hostile agents started: {starts}, requests to the hostile server: {}",
        hostile.asked()
    );
    drop(all);
    for house in houses {
        if house.ended().is_none() {
            house.stop()?;
        }
    }
    println!(
        "fuzz: {}",
        if findings.is_clean() {
            "nothing failed"
        } else {
            "failed"
        }
    );
    Ok(findings.is_clean())
}

/// Sends requests for two thirds of the time, measures, and sends on; answers what each house held
/// at both moments.
///
/// In the second half few writes are granted, as rows are to stay what they are.
async fn thirds(all: &[RequestLoops<'_>], span: Duration) -> Result<Vec<[ResourceUsage; 2]>> {
    let half = Instant::now() + span / 2;
    let holding = async {
        // Nothing ends it before that moment.
        let _ = timeout_at(half, pending::<()>()).await;
        all.iter().for_each(RequestLoops::hold_rows);
        Ok(())
    };
    tokio::try_join!(send(all, span * 2 / 3), holding)?;
    let before = at_rest(all).await?;
    send(all, span / 3).await?;
    let after = at_rest(all).await?;
    let both = before.into_iter().zip(after);
    Ok(both.map(|(before, after)| [before, after]).collect())
}

/// Sends requests to all houses for so long.
async fn send(all: &[RequestLoops<'_>], span: Duration) -> Result<()> {
    let until = Instant::now() + span;
    // What waits by design is not waited for.
    let end = until + Duration::from_secs(HANG_S);
    let connections = all
        .iter()
        .flat_map(|driving| (0..CONNECTIONS).map(move |_| cut(end, driving.connection(until))));
    let peers = all
        .iter()
        .map(|driving| cut(until, peer_exposure::meet(driving, until)));
    tokio::try_join!(try_join_all(connections), try_join_all(peers))?;
    Ok(())
}

/// Does it, and leaves it at that moment where it is not done.
async fn cut(end: Instant, work: impl Future<Output = Result<()>>) -> Result<()> {
    timeout_at(end, work).await.unwrap_or(Ok(()))
}

/// What each house holds once nothing happens in it.
async fn at_rest(all: &[RequestLoops<'_>]) -> Result<Vec<ResourceUsage>> {
    try_join_all(all.iter().map(held)).await
}

async fn held(driving: &RequestLoops<'_>) -> Result<ResourceUsage> {
    let house = driving.house;
    let callers = driving.callers.borrow().clone();
    house.wait_until_idle(&callers).await?;
    let (mut last, mut same) = (0, 0);
    let deadline = Instant::now() + REST_MAX;
    while same < LOOKS_SAME && Instant::now() < deadline {
        let now = resource_usage::descriptors(house.process())?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
        // Nothing tells that a server is at rest.
        let _ = timeout(LOOK_EVERY, pending::<()>()).await;
    }
    ResourceUsage::of(house.process(), &house.database())
}

/// The operations that nobody was granted.
fn never_granted<'a>(interface: &'a ApiDocument, findings: &Findings) -> Vec<&'a str> {
    let ids = interface
        .operations
        .iter()
        .map(|operation| operation.id.as_str());
    ids.filter(|id| !findings.was_granted(id)).collect()
}

/// Holds it against the run where it did not reach what it is there for.
fn check_reach(ask: &FuzzArgs, findings: &RefCell<Findings>, starts: u64, asked: u64) {
    let attempts = findings.borrow().attempts();
    for (what, count, least) in [
        ("attempts", attempts, ask.attempts_min),
        ("starts of the hostile agent", starts, 1),
        ("requests to the hostile server", asked, 1),
    ] {
        if count < least {
            let told = || format!("{count}, at least {least} are wanted");
            findings
                .borrow_mut()
                .failed(FailureKind::TooLittle, what, told);
        }
    }
}
