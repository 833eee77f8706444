//! Git: what a working tree's own repository says of it. Asked of the program `git`, which may be
//! missing: then nothing is known.
//!
//! The repository may be one that an agent made. So git is given nothing of our environment and
//! no way to begin a program or a connection by that repository's configuration: no pager, no
//! transport, no lazy fetch, no monitor of files.

use std::{env, ffi::OsString, path::Path, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

/// Seconds that one question may take.
const ANSWER_S: u64 = 2;
/// Commits that are counted; there may be more.
const COMMITS_MAX: u32 = 9_999;
/// What the main branch may be, the likeliest first; the last one is what the repository's main
/// working tree has checked out.
const MAIN_BRANCHES: [&str; 3] = ["refs/heads/main", "refs/heads/master", "main-worktree/HEAD"];

/// The commits that the working tree around `folder` has and the main branch has not, at most
/// 9,999; `None` when that cannot be measured.
pub async fn ahead_of_main(folder: &Path) -> Option<u64> {
    let counted = async {
        for main in MAIN_BRANCHES {
            if let Some(count) = ahead_of(folder, main).await {
                return Some(count);
            }
        }
        None
    };
    timeout(Duration::from_secs(ANSWER_S), counted).await.ok()?
}

/// The commits ahead of `main`; `None` where there is no such branch.
async fn ahead_of(folder: &Path, main: &str) -> Option<u64> {
    let output = Command::new("git")
        .args(["--no-pager", "--no-optional-locks"])
        .args(["-c", "core.fsmonitor=false", "-c", "protocol.allow=never"])
        .args(["rev-list", "--count"])
        .arg(format!("--max-count={COMMITS_MAX}"))
        .args(["HEAD", "--not", main, "--"])
        .current_dir(folder)
        .env_clear()
        .env("PATH", absolute_path())
        .env("LC_ALL", "C")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    if !output.status.success() {
        return None;
    }
    str::from_utf8(&output.stdout).ok()?.trim().parse().ok()
}

/// The folders of `PATH` that are the same from wherever git begins.
fn absolute_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let absolute = env::split_paths(&path).filter(|folder| folder.is_absolute());
    env::join_paths(absolute).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::Scratch;

    fn git(folder: &Path, args: &[&str]) {
        let ended = std::process::Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{args:?}: {ended:?}");
    }

    #[tokio::test]
    async fn the_commits_of_a_linked_worktree_are_counted_against_main() {
        let base = Scratch::new("ahead");
        let (main, copy) = (base.path().join("main"), base.path().join("copy"));
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q", "-b", "main"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&main, &["worktree", "add", "-q", "-b", "work", "../copy"]);
        assert_eq!(ahead_of_main(&copy).await, Some(0));
        for message in ["second", "third"] {
            git(&copy, &["commit", "-q", "--allow-empty", "-m", message]);
        }
        git(&main, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
        assert_eq!(ahead_of_main(&copy).await, Some(2));
        // What the branch is called is not everywhere the same.
        git(&main, &["branch", "-q", "-m", "trunk"]);
        assert_eq!(ahead_of_main(&copy).await, Some(2));
    }

    #[tokio::test]
    async fn what_is_no_repository_is_not_measured() {
        let base = Scratch::new("no-repository");
        fs::write(base.path().join(".git"), "gitdir: /none/worktrees/x\n").unwrap();
        assert_eq!(ahead_of_main(base.path()).await, None);
    }
}
