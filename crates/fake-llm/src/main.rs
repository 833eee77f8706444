//! `fake-llm [--key KEY]…`: prints its port, then one line of JSON for each request, until its
//! standard input ends.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

use std::process::ExitCode;

use guildhall_fake_llm::{FakeLlm, FakeLlmOptions};

fn main() -> ExitCode {
    match settings(std::env::args().skip(1)).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Reads `--key KEY`, which may stand any number of times.
fn settings(mut words: impl Iterator<Item = String>) -> Result<FakeLlmOptions, String> {
    let mut keys = Vec::new();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--key", Some(key)) => keys.push(key),
            _ => return Err(format!("`{word}` is not understood; say `--key KEY`")),
        }
    }
    let usual = FakeLlmOptions::default();
    Ok(FakeLlmOptions {
        keys: if keys.is_empty() { usual.keys } else { keys },
        is_loud: true,
    })
}

fn serve(settings: FakeLlmOptions) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let server = FakeLlm::start_with(settings).map_err(told)?;
    println!("{}", server.port());
    // Whoever started this closes the input, or is gone and the system does.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(told)?;
    Ok(())
}
